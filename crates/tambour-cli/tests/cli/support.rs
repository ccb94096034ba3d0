//! A sandbox for one test, and runs of the program in it.

use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory that goes away with the test; commands run inside it.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is text"),
            stderr: String::from_utf8(output.stderr).expect("messages are text"),
        }
    }

    /// Fails the test unless the run ended with this code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless the messages hold all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not in: {}", self.stderr);
        }
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory for the test") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, contents).expect("a file for the test");
        path
    }

    /// The program, with nothing of the caller's environment that could change what it prints.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        self.prepare(&mut command);
        command.args(arguments);
        command
    }

    /// Gives a command the sandbox's directory and environment.
    pub(crate) fn prepare(&self, command: &mut Command) {
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("TERM", "xterm-256color")
            .env("COLUMNS", "80")
            .stdin(std::process::Stdio::null());
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().expect("the program starts"))
    }

    /// Runs a command that was put together by hand.
    pub(crate) fn run_command(mut command: Command) -> Run {
        Run::of(command.output().expect("the command starts"))
    }

    /// A shell that finds the program as `$TAMBOUR`.
    pub(crate) fn shell(&self, script: &str) -> Run {
        let mut command = Command::new("bash");
        self.prepare(&mut command);
        command.env("TAMBOUR", program()).args(["-c", script]);
        Self::run_command(command)
    }

    /// A small table `t`: numbers, strings, NULLs, sorted by `id`, in wide parts.
    pub(crate) fn table(&self) -> PathBuf {
        let mut csv = String::from("id,name,score,day\n");
        for id in 0..1000 {
            let score = if id % 10 == 3 { String::new() } else { format!("{}.5", id % 7) };
            csv += &format!("{id},name {},{score},2024-02-{:02}\n", id % 13, id % 28 + 1);
        }
        let file = self.file("t.csv", csv);
        self.run(&["import", file.to_str().unwrap(), "--into", "t", "--order-by", "id"]).expect(0);
        self.path().join("t")
    }

    /// The directory of the only part of a table.
    pub(crate) fn part(&self, table: &str) -> PathBuf {
        let entries =
            fs::read_dir(self.path().join(table)).unwrap().map(|entry| entry.unwrap().path());
        let parts: Vec<PathBuf> =
            entries.filter(|path| path.join("columns.txt").exists()).collect();
        assert_eq!(parts.len(), 1, "{parts:?}");
        parts.into_iter().next().unwrap()
    }
}

pub(crate) fn program() -> PathBuf {
    cargo_bin("tambour")
}

/// Every file below a directory with its contents, to compare before and after.
pub(crate) fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if !path.ends_with(".tambour.lock") {
                files.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Waits for something that a process does, minutes if need be.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("it does not happen");
}
