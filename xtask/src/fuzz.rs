//! Fuzzing: every target for a time, and how many executions each has had over all runs, in `fuzz/COUNTS.tsv`.

use crate::{Outcome, output, root};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Where executions add up over runs. It is committed.
const COUNTS: &str = "fuzz/COUNTS.tsv";
/// Executions that each target should have had at least.
pub(crate) const GOAL: u64 = 1_000_000;
/// The first line of the counts.
const HEAD: &str = "target\texecutions\tseconds\tlast run";

/// What one target has had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Count {
    executions: u64,
    seconds: u64,
    last: String,
}

/// Every target for some seconds each.
pub(crate) fn all(seconds: &str) -> Outcome {
    let seconds = seconds.parse().map_err(|error| format!("seconds {seconds:?}: {error}"))?;
    for target in targets()? {
        let executions = run(&target, seconds)?;
        println!("{target}: {executions} executions, {} in all", total(&target)?);
    }
    Ok(())
}

/// Names of the targets.
pub(crate) fn targets() -> Result<Vec<String>, String> {
    let list = output("cargo", &["+nightly", "fuzz", "list"])?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// Executions of a target over all runs.
pub(crate) fn total(target: &str) -> Result<u64, String> {
    Ok(read_counts()?.get(target).map_or(0, |count| count.executions))
}

/// Compiles every target.
pub(crate) fn build() -> Outcome {
    crate::run("cargo", &["+nightly", "fuzz", "build"])
}

/// Runs one target and adds to its count; the executions of this run.
pub(crate) fn run(target: &str, seconds: u64) -> Result<u64, String> {
    // New finds go to the corpus, which is not committed; the seeds are.
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    for directory in [&corpus, &seeds] {
        fs::create_dir_all(root().join(directory))
            .map_err(|error| format!("{directory}: {error}"))?;
    }
    let time = format!("-max_total_time={seconds}");
    let arguments = ["+nightly", "fuzz", "run", target, &corpus, &seeds, "--", &time];
    println!("$ cargo {} -print_final_stats=1", arguments.join(" "));
    let output = Command::new("cargo")
        .args(arguments)
        .arg("-print_final_stats=1")
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo fuzz run {target}: {error}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("fuzz target {target}: {}\n{log}", output.status));
    }
    let executions = executions(&log)
        .ok_or_else(|| format!("fuzz target {target}: told no number of executions\n{log}"))?;
    add(target, executions, seconds)?;
    Ok(executions)
}

/// The number in libFuzzer's last words.
fn executions(log: &str) -> Option<u64> {
    let line = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

fn add(target: &str, executions: u64, seconds: u64) -> Outcome {
    let mut counts = read_counts()?;
    let count = counts.entry(target.to_owned()).or_default();
    count.executions += executions;
    count.seconds += seconds;
    output("date", &["-u", "+%F"])?.trim().clone_into(&mut count.last);
    fs::write(root().join(COUNTS), to_text(&counts)).map_err(|error| format!("{COUNTS}: {error}"))
}

fn read_counts() -> Result<BTreeMap<String, Count>, String> {
    let path = root().join(COUNTS);
    if path.exists() { from_text(&crate::tidy::read(&path)?) } else { Ok(BTreeMap::new()) }
}

fn from_text(text: &str) -> Result<BTreeMap<String, Count>, String> {
    let mut counts = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let count = match fields[..] {
            [target, executions, seconds, last] => {
                executions.parse().ok().zip(seconds.parse().ok()).map(|(executions, seconds)| {
                    (target.to_owned(), Count { executions, seconds, last: last.to_owned() })
                })
            }
            _ => None,
        };
        let (target, count) = count.ok_or_else(|| format!("{COUNTS}: not a count: {line:?}"))?;
        counts.insert(target, count);
    }
    Ok(counts)
}

fn to_text(counts: &BTreeMap<String, Count>) -> String {
    let mut text = format!("{HEAD}\n");
    for (target, Count { executions, seconds, last }) in counts {
        text += &format!("{target}\t{executions}\t{seconds}\t{last}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{executions, from_text, to_text};

    #[test]
    fn counts_survive_being_written() {
        let text =
            "target\texecutions\tseconds\tlast run\na\t12\t3\t2026-11-22\nb\t4\t5\t2026-11-21\n";
        let counts = from_text(text).unwrap();
        assert_eq!(counts["a"].executions, 12);
        assert_eq!(to_text(&counts), text);
        assert!(from_text("head\na\tmany\t3\t2026-11-22\n").is_err());
    }

    #[test]
    fn libfuzzer_tells_its_executions() {
        let log = "Done 5 runs\nstat::number_of_executed_units: 48213\nstat::peak_rss_mb: 60\n";
        assert_eq!(executions(log), Some(48_213));
        assert_eq!(executions("SUMMARY: libFuzzer: deadly signal"), None);
    }
}
