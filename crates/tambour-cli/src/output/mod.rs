//! Where output goes: data to standard output, everything else to standard error.

pub(crate) mod failure;
pub(crate) mod grid;
pub(crate) mod progress;
pub(crate) mod stdout;

use crate::cli::{Global, ProgressWhen, When};
use owo_colors::{OwoColorize, Style};
use progress::Progress;
use std::error::Error;
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use tambour_report::quantity;

/// The user's terminal, or what stands in for it, and how much is said on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    progress: ProgressWhen,
    verbose: bool,
    quiet: bool,
}

impl Console {
    /// Applies the flags that every command has.
    pub(crate) fn new(global: &Global) -> Self {
        match global.color {
            When::Auto => {}
            When::Always => anstream::ColorChoice::Always.write_global(),
            When::Never => anstream::ColorChoice::Never.write_global(),
        }
        Self { progress: global.progress, verbose: global.verbose, quiet: global.quiet }
    }

    /// Tells something on standard error, unless it shall be quiet.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            say(text);
        }
    }

    /// Tells something that only `--verbose` asks for.
    pub(crate) fn detail(&self, text: impl Display) {
        if self.verbose {
            say(text);
        }
    }

    /// True if details are wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// True if only errors are wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A progress display for something that is `total` long.
    pub(crate) fn progress(&self, title: &'static str, total: progress::Total) -> Progress {
        Progress::new(title, total, if self.quiet { ProgressWhen::Never } else { self.progress })
    }
}

/// One line on standard error. That nobody may be reading there is no reason to stop.
fn say(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Whether errors are told as JSON: what the command asks for.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on errors are told as one JSON object.
pub(crate) fn errors_as_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Reports an error: the chain of its causes in one line, outermost first, or one JSON object.
pub(crate) fn report(error: &(dyn Error + 'static)) {
    if JSON.load(Ordering::Relaxed) {
        return say(failure::to_json(error));
    }
    say(format_args!(
        "{} {}",
        "error:".style(Style::new().red().bold()),
        failure::chain(error).join(": ")
    ));
}

/// Columns of the terminal that standard output is, if it is one.
pub(crate) fn terminal_width() -> Option<usize> {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let width =
        terminal_size::terminal_size_of(stdout).map_or(80, |(width, _)| usize::from(width.0));
    Some(width.max(20))
}
