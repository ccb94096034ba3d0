//! Standard error: notes, progress, errors.

use super::arguments::{Global, ProgressWhen, When};
use owo_colors::{OwoColorize, Style};
use serde_json::json;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

/// The user's terminal, or what stands in for it, and how much is said on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console {
    global: Global,
}

/// One line on standard error. That nobody may be reading there is no reason to stop.
pub(super) fn say(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

impl Console {
    /// Applies the flags that every benchmark has.
    pub(super) fn new(global: Global) -> Self {
        match global.color {
            When::Auto => {}
            When::Always => anstream::ColorChoice::Always.write_global(),
            When::Never => anstream::ColorChoice::Never.write_global(),
        }
        Self { global }
    }

    /// Tells something, unless it shall be quiet.
    pub(super) fn note(self, text: impl Display) {
        if !self.global.quiet {
            say(text);
        }
    }

    /// Tells something that only `--verbose` asks for.
    pub(super) fn detail(self, text: impl Display) {
        if self.global.verbose {
            say(text);
        }
    }

    /// Tells what went wrong.
    pub(super) fn error(text: &str) {
        say(format_args!("{} {text}", "error:".style(Style::new().red().bold())));
    }

    /// Tells how many things of all are done. A line that is written over on a terminal; `--progress` chooses.
    pub(super) fn progress(self, done: usize, total: usize) {
        let is_terminal = std::io::stderr().is_terminal();
        match self.global.progress {
            _ if self.global.quiet => {}
            ProgressWhen::Never => {}
            ProgressWhen::Auto if !is_terminal => {}
            ProgressWhen::Json => say(json!({
                "schema": "tambour/progress/1",
                "phase": "bench",
                "files": done,
                "files_total": total,
            })),
            ProgressWhen::Always if !is_terminal => say(format_args!("bench: {done} of {total}")),
            ProgressWhen::Auto | ProgressWhen::Always => {
                let end = if done == total { "\r\u{1b}[K" } else { "" };
                let mut target = std::io::stderr();
                let _ = write!(target, "\rbench: {done} of {total}{end}");
            }
        }
    }
}
