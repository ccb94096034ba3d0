//! Code in the documentation that is held against the program and against tests.
//!
//! - Every call of `tambour` in a code block of the README, the guides and the crates' READMEs names a command and flags
//!   that the program's `--help` has (`cargo xtask snippets`, part of `test`). Values of flags are not checked.
//! - The calls of the README and of docs/start.md are run in their order, each page in a directory of its own with the
//!   files of `data/`, and also in its `data/`; a line after a call that is not one itself must begin one of its output.
//! - The README's Rust is a copy of the lines between two marks of a test (tidy).

use crate::tidy::{directories, files, read};
use crate::{Outcome, output, root};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Pages whose calls are run.
const RUN: [&str; 2] = ["README.md", "docs/start.md"];

/// The test whose lines the README shows, and the marks around them.
const RUST: &str = "crates/tambour/tests/readme.rs";
const BEGIN: &str = "// README: begin";
const END: &str = "// README: end";

/// A call of the program, with the lines that follow it.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    place: String,
    command: String,
    expected: Vec<String>,
}

/// Checks the calls of all pages against a binary, and runs those of the README.
pub(crate) fn check(tambour: &Path) -> Outcome {
    let mut pages = files(&[root().join("docs")], "md")?;
    pages.push(root().join("README.md"));
    for member in directories(&root().join("crates"))? {
        pages.extend(Some(member.join("README.md")).filter(|path| path.exists()));
    }
    let mut help = Help { tambour: tambour.to_path_buf(), pages: BTreeMap::new() };
    let (mut count, mut found) = (0, Vec::new());
    for page in &pages {
        let place = page.strip_prefix(root()).unwrap_or(page).display().to_string();
        for call in calls(&place, &read(page)?) {
            for words in invocations(&call.command) {
                count += 1;
                found.extend(help.complaint(&words)?.map(|why| format!("{}: {why}", call.place)));
            }
        }
    }
    if !found.is_empty() {
        return Err(format!("snippets:\n  {}", found.join("\n  ")));
    }
    println!("snippets: {count} calls have commands and flags that exist");
    for page in RUN {
        run_all(tambour, &calls(page, &read(&root().join(page))?))?;
        println!("snippets: the calls of {page} ran");
    }
    Ok(())
}

/// Calls in the code blocks of a page: lines that begin with `tambour` or `$ tambour`.
fn calls(place: &str, text: &str) -> Vec<Call> {
    let (mut calls, mut block) = (Vec::<Call>::new(), None);
    for (number, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_none() { Some(language) } else { None };
            continue;
        }
        let Some(language) = block else { continue };
        if !matches!(language, "" | "console" | "sh" | "shell") {
            continue;
        }
        let line = line.trim_end();
        let command = line.strip_prefix("$ ").unwrap_or(line);
        let is_command = line.starts_with("$ ") || line.starts_with("tambour ");
        let place = format!("{place}:{}", number + 1);
        if is_command && (command.starts_with("tambour ") || command.contains("| tambour ")) {
            calls.push(Call { place, command: command.to_owned(), expected: Vec::new() });
        } else if let Some(call) = calls.last_mut() {
            let continues = call.expected.is_empty() && call.command.ends_with('\\');
            if continues {
                call.command.pop();
                call.command += line.trim_start();
            } else if !is_command && language == "console" && !line.is_empty() {
                call.expected.push(line.to_owned());
            }
        }
    }
    calls
}

/// The words of each call of `tambour` in a line of shell, without the program's name.
fn invocations(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut end = |words: &mut Vec<String>| {
        let words = std::mem::take(words);
        if words.first().is_some_and(|word| word == "tambour") {
            calls.push(words[1..].to_vec());
        }
    };
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), letter) => word.push(letter),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if word.is_empty() => break,
            (None, ' ' | '|' | '>' | '<' | ';' | '&' | '(' | ')') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if letter != ' ' {
                    end(&mut words);
                }
            }
            (None, letter) => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    end(&mut words);
    calls
}

/// Help texts of commands, as they were asked for.
struct Help {
    tambour: PathBuf,
    pages: BTreeMap<Vec<String>, Option<String>>,
}

impl Help {
    /// The help of a command, if there is such a command.
    fn of(&mut self, command: &[String]) -> Result<Option<&str>, String> {
        if !self.pages.contains_key(command) {
            // The benchmarks are a program of their own, beside the other.
            let (program, arguments) = match command {
                [bench, rest @ ..] if bench == "bench" => {
                    (self.tambour.with_file_name("tambour-bench"), rest)
                }
                _ => (self.tambour.clone(), command),
            };
            let answer = Command::new(&program)
                .args(arguments)
                .arg("--help")
                .env("COLUMNS", "200")
                .output()
                .map_err(|error| format!("{}: {error}", program.display()))?;
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            self.pages.insert(command.to_vec(), answer.status.success().then_some(text));
        }
        Ok(self.pages.get(command).and_then(Option::as_deref))
    }

    /// What is wrong with a call.
    fn complaint(&mut self, words: &[String]) -> Result<Option<String>, String> {
        let (mut command, mut rest) = (Vec::new(), words);
        while let [first, others @ ..] = rest {
            let page = self.of(&command)?.unwrap_or_default();
            if first.starts_with('-') || !has_commands(page) {
                break;
            }
            command.push(first.clone());
            if self.of(&command)?.is_none() {
                return Ok(Some(format!("`tambour {}` is not a command", command.join(" "))));
            }
            rest = others;
        }
        let page = self.of(&command)?.unwrap_or_default();
        let flags = rest.iter().filter(|word| word.len() > 1 && word.starts_with('-'));
        let unknown = flags.map(|flag| flag.split('=').next().unwrap_or(flag)).find(|flag| {
            !page.split([' ', ',', '\n', '=', '[', ']']).any(|word| word == *flag)
                && flag.parse::<f64>().is_err()
        });
        Ok(unknown.map(|flag| format!("`tambour {}` has no flag {flag}", command.join(" "))))
    }
}

/// Whether a help text lists commands.
fn has_commands(page: &str) -> bool {
    page.lines().any(|line| line == "Commands:")
}

/// Runs the calls one after the other in a directory of their own.
fn run_all(tambour: &Path, calls: &[Call]) -> Outcome {
    let folder = tambour.parent().unwrap_or(tambour).join("readme-snippets");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(folder.join("data")).map_err(failed)?;
    for file in files(&[root().join("data")], "")? {
        let name = crate::tidy::file_name(&file);
        fs::copy(&file, folder.join(&name)).map_err(failed)?;
        fs::copy(&file, folder.join("data").join(&name)).map_err(failed)?;
    }
    let program = std::path::absolute(tambour).map_err(failed)?;
    for call in calls {
        println!("$ {}", call.command);
        let run = Command::new("bash")
            .args([
                "-c",
                &format!(
                    "set -euo pipefail; tambour() {{ \"$TAMBOUR\" \"$@\"; }}; {} 2>&1",
                    call.command
                ),
            ])
            .env("TAMBOUR", &program)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        if !run.status.success() {
            return Err(format!("{}: {}: {}\n{text}", call.place, call.command, run.status));
        }
        for line in &call.expected {
            if !text.lines().any(|it| it.starts_with(line.as_str())) {
                return Err(format!(
                    "{}: `{}` did not print {line:?}:\n{text}",
                    call.place, call.command
                ));
            }
        }
    }
    Ok(())
}

/// The README's Rust is what the test runs.
pub(crate) fn rust(root: &Path, found: &mut Vec<String>) -> Outcome {
    let test = read(&root.join(RUST))?;
    let inside = test.split(BEGIN).nth(1).and_then(|rest| rest.split(END).next());
    let inside = inside.ok_or_else(|| format!("{RUST}: lacks the marks {BEGIN:?} and {END:?}"))?;
    let readme = read(&root.join("README.md"))?;
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines = |text: &str| {
        text.lines()
            .map(|line| line.trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
    };
    if lines(inside) != lines(shown.unwrap_or_default()) {
        found.push(format!("README.md: its Rust is not what {RUST} runs between its marks"));
    }
    Ok(())
}

/// The command: with the binary in `TAMBOUR`, or the one that `cargo test` built.
pub(crate) fn command() -> Outcome {
    let tambour =
        std::env::var_os("TAMBOUR").map_or_else(|| crate::test::binary("debug"), PathBuf::from);
    output(&tambour.display().to_string(), &["--version"])?;
    check(&tambour)
}

#[cfg(test)]
mod tests {
    use super::{Help, calls, invocations};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn calls_are_found_in_blocks() {
        let text = "tambour no\n```console\n$ tambour a \\\n    --b\none line\n$ ls\n```\n```rust\ntambour c\n```\n```\ntambour d\n```\n";
        let calls = calls("p.md", text);
        let commands: Vec<&str> = calls.iter().map(|call| call.command.as_str()).collect();
        assert_eq!(commands, ["tambour a --b", "tambour d"]);
        assert_eq!(
            (calls[0].place.as_str(), &calls[0].expected[..]),
            ("p.md:3", &["one line".to_owned()][..])
        );
    }

    #[test]
    fn a_line_of_shell_has_several_calls() {
        let line = "pg_dump shop | tambour compress --level 9 > x; tambour sql t 'SELECT \"a\" | b' # tambour no";
        assert_eq!(
            invocations(line),
            [
                words("compress --level 9"),
                vec!["sql".into(), "t".into(), "SELECT \"a\" | b".into()]
            ]
        );
    }

    #[test]
    fn commands_and_flags_that_are_not_there_are_told() {
        let page = |command: &str, text: Option<&str>| {
            let command = if command.is_empty() { Vec::new() } else { words(command) };
            (command, text.map(str::to_owned))
        };
        let pages = BTreeMap::from([
            page("", Some("Commands:\n  sql  Query")),
            page("sql", Some("Options:\n  -f, --file <FILE>  a file\n      --stats")),
            page("sqll", None),
        ]);
        let mut help = Help { tambour: PathBuf::from("none"), pages };
        assert_eq!(help.complaint(&words("sql t -f x --stats")), Ok(None));
        let unknown = help.complaint(&words("sql t --stat")).unwrap().unwrap();
        assert!(unknown.contains("--stat"), "{unknown}");
        assert!(help.complaint(&words("sqll t")).unwrap().is_some());
    }
}
