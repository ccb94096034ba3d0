//! Everything that is too slow for `make test`, in a given time: `cargo xtask nightly [MINUTES [STEP]...]`.
//!
//! Each step is another command of this program, with its output in `target/nightly/`. The table at the end says what ran,
//! how often, how it ended, and what was left out and why; it is also `target/nightly/table.md`.

use crate::programs::{self, Need};
use crate::{Outcome, fuzz, root};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A command of this program that is part of the night.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    needs: &'static [Need],
    /// Whether it runs tests, which are counted.
    is_test: bool,
}

/// All but the fuzzing, which gets the time that is left.
const STEPS: [Step; 9] = [
    Step { name: "deny", arguments: &["deny"], needs: &[programs::DENY], is_test: false },
    Step { name: "report", arguments: &["report"], needs: &[programs::CHROMIUM], is_test: true },
    Step { name: "miri", arguments: &["miri"], needs: &[programs::MIRI], is_test: true },
    Step { name: "aarch64", arguments: &["aarch64"], needs: AARCH64, is_test: true },
    Step { name: "vectors", arguments: &["vectors"], needs: &[programs::PYTHON], is_test: true },
    Step {
        name: "filesystems",
        arguments: &["filesystems"],
        needs: &[programs::ROOT],
        is_test: true,
    },
    Step { name: "oracle", arguments: &["oracle"], needs: &[programs::PYTHON], is_test: false },
    Step { name: "flips", arguments: &["flips"], needs: &[], is_test: true },
    Step { name: "kill", arguments: &["kill"], needs: &[], is_test: true },
];

#[cfg(target_arch = "aarch64")]
const AARCH64: &[Need] = &[];
#[cfg(not(target_arch = "aarch64"))]
const AARCH64: &[Need] = &[programs::CROSS_TARGET, programs::CROSS_LINKER, programs::EMULATOR];

/// The share of the whole time that goes to killing processes.
const KILL_SHARE: u32 = 10;
/// How a step says that a piece of it was left out.
const LEFT_OUT: &str = "left out: ";
/// The step after the others.
const FUZZ: &str = "fuzz";
/// Fuzzing a target for less says nothing.
const FUZZ_SECONDS_MIN: u64 = 2;

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed,
    LeftOut(String),
}

/// A line of the table.
struct Line {
    name: String,
    count: String,
    result: Ending,
    seconds: u64,
}

/// The whole night, with a deadline.
struct Night {
    start: Instant,
    whole: Duration,
    folder: PathBuf,
    lines: Vec<Line>,
}

/// Runs all of it, or the named steps, in about that many minutes. A step that has begun is not cut short.
pub(crate) fn run(minutes: &str, only: &[&str]) -> Outcome {
    let is_known = |name: &&str| *name == FUZZ || STEPS.iter().any(|step| step.name == *name);
    if let Some(name) = only.iter().find(|name| !is_known(name)) {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).chain([FUZZ]).collect();
        return Err(format!("{name:?} is not a step; steps are {}", names.join(", ")));
    }
    let is_wanted = |name: &str| only.is_empty() || only.contains(&name);
    let minutes: u32 = minutes.parse().map_err(|error| format!("minutes {minutes:?}: {error}"))?;
    let folder = root().join("target/nightly");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let whole = Duration::from_mins(u64::from(minutes));
    let mut night = Night { start: now(), whole, folder, lines: Vec::new() };
    for step in &STEPS {
        if is_wanted(step.name) {
            night.step(step)?;
        } else {
            night.leave_out(step.name);
        }
    }
    if is_wanted(FUZZ) {
        night.fuzz()?;
    } else {
        night.leave_out(FUZZ);
    }
    let table = table(&night.lines);
    println!("\n{table}");
    let path = night.folder.join("table.md");
    fs::write(&path, &table).map_err(|error| format!("{}: {error}", path.display()))?;
    let failed = night.lines.iter().filter(|line| line.result == Ending::Failed).count();
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("{failed} failed; the logs are in target/nightly"))
    }
}

#[expect(clippy::disallowed_methods, reason = "a night has an end")]
fn now() -> Instant {
    Instant::now()
}

impl Night {
    fn left(&self) -> Duration {
        self.whole.saturating_sub(now() - self.start)
    }

    fn step(&mut self, step: &Step) -> Outcome {
        let kill_seconds = (self.whole / KILL_SHARE).as_secs().max(1).to_string();
        let mut arguments = step.arguments.to_vec();
        if step.name == "kill" {
            arguments.push(&kill_seconds);
        }
        let missing = programs::check_all(step.needs).err();
        let late = self.left().is_zero().then(|| "the time was over".to_owned());
        if let Some(reason) = missing.or(late) {
            self.push(step.name, String::new(), Ending::LeftOut(reason), 0);
            return Ok(());
        }
        let (passed, log, seconds) = self.logged(step.name, &arguments)?;
        let count = tests(&log);
        // A filter that matches nothing is green, and tests nothing.
        let is_empty = step.is_test && count == 0;
        let result = if passed && !is_empty { Ending::Passed } else { Ending::Failed };
        let mut shown = if count == 0 { String::new() } else { format!("{count} tests") };
        for reason in log.lines().filter(|line| line.starts_with(LEFT_OUT)) {
            shown += &format!("; {reason}");
        }
        self.push(step.name, shown, result, seconds);
        Ok(())
    }

    /// Runs a command of this program with its output in a log; whether it succeeded, the log, and seconds.
    fn logged(&self, name: &str, arguments: &[&str]) -> Result<(bool, String, u64), String> {
        let path = self.folder.join(format!("{name}.log"));
        println!("== {name}: cargo xtask {} > {}", arguments.join(" "), path.display());
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let log = File::create(&path).map_err(failed)?;
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let begin = now();
        let status = Command::new(program)
            .args(arguments)
            .stderr(log.try_clone().map_err(failed)?)
            .stdout(log)
            .status()
            .map_err(|error| format!("cargo xtask {name}: {error}"))?;
        let log = String::from_utf8_lossy(&fs::read(&path).map_err(failed)?).into_owned();
        Ok((status.success(), log, (now() - begin).as_secs()))
    }

    /// Builds the targets and gives each its share of the time that is left.
    fn fuzz(&mut self) -> Outcome {
        if let Err(reason) = programs::FUZZ.check() {
            self.push(FUZZ, String::new(), Ending::LeftOut(reason), 0);
            return Ok(());
        }
        let (built, _, seconds) = self.logged("fuzz-build", &["fuzz-build"])?;
        if !built {
            self.push(FUZZ, "the build".to_owned(), Ending::Failed, seconds);
            return Ok(());
        }
        let targets = fuzz::targets()?;
        for (place, target) in targets.iter().enumerate() {
            let name = format!("fuzz {target}");
            let share = self.left().as_secs() / (targets.len() - place) as u64;
            if share < FUZZ_SECONDS_MIN {
                let total = format!("0, {} in all", grouped(fuzz::total(target)?));
                let reason = Ending::LeftOut("the time was over".to_owned());
                self.push(&name, total, reason, 0);
                continue;
            }
            let (result, executions) = match fuzz::run(target, share) {
                Ok(executions) => (Ending::Passed, executions),
                Err(reason) => {
                    let path = self.folder.join(format!("fuzz-{target}.log"));
                    fs::write(&path, reason)
                        .map_err(|error| format!("{}: {error}", path.display()))?;
                    (Ending::Failed, 0)
                }
            };
            let total = fuzz::total(target)?;
            let goal = if total < fuzz::GOAL {
                format!(" of {}", grouped(fuzz::GOAL))
            } else {
                String::new()
            };
            let count = format!("{}, {}{goal} in all", grouped(executions), grouped(total));
            self.push(&name, count, result, share);
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str) {
        let reason = "it was not asked for".to_owned();
        self.push(name, String::new(), Ending::LeftOut(reason), 0);
    }

    fn push(&mut self, name: &str, count: String, result: Ending, seconds: u64) {
        self.lines.push(Line { name: name.to_owned(), count, result, seconds });
    }
}

/// Tests that passed, by the words of their harness.
fn tests(log: &str) -> u64 {
    let results = log.lines().filter_map(|line| line.trim().strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The table, as Markdown.
fn table(lines: &[Line]) -> String {
    let mut text = "| what | ran | result | seconds |\n|---|---|---|---|\n".to_owned();
    for Line { name, count, result, seconds } in lines {
        let result = match result {
            Ending::Passed => "ok".to_owned(),
            Ending::Failed => "**failed**".to_owned(),
            Ending::LeftOut(reason) => format!("left out: {reason}"),
        };
        text += &format!("| {name} | {count} | {result} | {seconds} |\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Ending, Line, grouped, table, tests};

    #[test]
    fn passed_tests_add_up() {
        let log = "test result: ok. 3 passed; 0 failed; 1 ignored\n\
                   test result: FAILED. 9 passed; 1 failed\ntest result: ok. 14 passed; 0 failed\n";
        assert_eq!(tests(log), 17);
    }

    #[test]
    fn the_table_says_what_was_left_out() {
        let line = |result| Line { name: "miri".into(), count: grouped(1_234), result, seconds: 5 };
        let text = table(&[line(Ending::Passed), line(Ending::LeftOut("no Miri".into()))]);
        assert!(text.contains("| miri | 1,234 | ok | 5 |"), "{text}");
        assert!(text.contains("| miri | 1,234 | left out: no Miri | 5 |"), "{text}");
        assert_eq!((grouped(999), grouped(1_000_000)), ("999".into(), "1,000,000".into()));
    }
}
