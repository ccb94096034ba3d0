//! Progress on standard error: a bar on a terminal after about a second, or lines, or nothing.

use super::quantity;
use crate::cli::ProgressWhen;
use crate::clock::Start;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Work that is over within this time shows nothing.
const DELAY: Duration = Duration::from_secs(1);
/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Time between two pictures of the bar.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// How much there is to do, in the unit that the bar measures.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Total {
    /// Bytes.
    Bytes(u64),
    /// Rows.
    Rows(u64),
    /// Files, which are told in place of bytes.
    Files(u64),
    /// Nobody knows.
    Unknown,
}

/// Where progress goes.
#[derive(Debug)]
enum Form {
    Nothing,
    Bar(ProgressBar),
    Lines,
    Json,
}

/// A progress display.
#[derive(Debug)]
pub(crate) struct Progress {
    title: &'static str,
    total: Total,
    form: Form,
    start: Start,
    shown: Option<Duration>,
}

impl Progress {
    pub(super) fn new(title: &'static str, total: Total, when: ProgressWhen) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let form = match (when, terminal) {
            (ProgressWhen::Never, _) | (ProgressWhen::Auto, false) => Form::Nothing,
            (ProgressWhen::Json, _) => Form::Json,
            (ProgressWhen::Always, false) => Form::Lines,
            (ProgressWhen::Auto | ProgressWhen::Always, true) => Form::Bar(bar(total)),
        };
        Self { title, total, form, start: Start::now(), shown: None }
    }

    /// Time since it began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Tells how far the work is. Cheap enough for every batch.
    pub(crate) fn update(&mut self, bytes: u64, rows: u64) {
        let elapsed = self.start.elapsed();
        let (first, every) = match &self.form {
            Form::Nothing => return,
            Form::Bar(_) => (DELAY, DRAW_EVERY),
            Form::Lines | Form::Json => (LINE_EVERY, LINE_EVERY),
        };
        if elapsed < self.shown.map_or(first, |shown| shown + every) {
            return;
        }
        let begin = self.shown.replace(elapsed).is_none();
        match &self.form {
            Form::Nothing => {}
            Form::Bar(bar) => {
                if begin {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.set_position(if matches!(self.total, Total::Rows(_)) { rows } else { bytes });
                bar.set_message(self.message(bytes, rows, elapsed));
            }
            Form::Lines => line(&self.message(bytes, rows, elapsed)),
            Form::Json => line(&self.to_json(bytes, rows, elapsed)),
        }
    }

    /// The work goes on with something whose length nobody knows.
    pub(crate) fn phase(&mut self, text: &'static str) {
        match &self.form {
            Form::Bar(bar) => {
                let style = ProgressStyle::with_template("{msg} {spinner} {elapsed}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
                bar.set_message(format!("{}: {text}", self.title));
                if self.start.elapsed() >= DELAY {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                bar.enable_steady_tick(DRAW_EVERY);
            }
            Form::Lines if self.shown.is_some() => line(&format!("{}: {text}", self.title)),
            Form::Nothing | Form::Lines | Form::Json => {}
        }
    }

    fn message(&self, bytes: u64, rows: u64, elapsed: Duration) -> String {
        let mut text = format!("{}: ", self.title);
        if let Total::Files(total) = self.total {
            return text + &format!("{bytes} of {}", quantity::counted(total, "file", "files"));
        }
        match self.total {
            Total::Bytes(total) => {
                text += &format!("{} of {}, ", quantity::bytes(bytes), quantity::bytes(total));
            }
            Total::Unknown if bytes > 0 => text += &format!("{}, ", quantity::bytes(bytes)),
            Total::Rows(_) | Total::Files(_) | Total::Unknown => {}
        }
        let speed = quantity::rate(quantity::per_second(rows, elapsed));
        text + &format!("{} rows, {speed} rows/s", quantity::count(rows))
    }

    fn to_json(&self, bytes: u64, rows: u64, elapsed: Duration) -> String {
        if let Total::Files(total) = self.total {
            return serde_json::json!({
                "schema": "tambour/progress/1",
                "phase": self.title,
                "files": bytes,
                "files_total": total,
                "seconds": elapsed.as_secs_f64(),
            })
            .to_string();
        }
        let (bytes_total, rows_total) = match self.total {
            Total::Bytes(total) => (Some(total), None),
            Total::Rows(total) => (None, Some(total)),
            Total::Files(_) | Total::Unknown => (None, None),
        };
        serde_json::json!({
            "schema": "tambour/progress/1",
            "phase": self.title,
            "bytes": bytes,
            "bytes_total": bytes_total,
            "rows": rows,
            "rows_total": rows_total,
            "seconds": elapsed.as_secs_f64(),
        })
        .to_string()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Form::Bar(bar) = &self.form {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Total) -> ProgressBar {
    let (length, template) = match total {
        Total::Bytes(total) | Total::Rows(total) | Total::Files(total) => {
            (Some(total), "{bar:12} {percent:>3}% {msg}")
        }
        Total::Unknown => (None, "{spinner} {msg}"),
    };
    let style = ProgressStyle::with_template(template).map(|style| style.progress_chars("=> "));
    ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// One line on standard error; nobody may be reading there.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
