//! The edge of the program: arguments, the terminal, exit codes.

mod arguments;
mod console;
mod run;

pub(crate) use arguments::Cli;

use console::Console;
use serde_json::json;
use std::error::Error;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use tambour_bench::BenchError;
use tambour_codec::Kind;
use tambour_report::ReportError;

/// Measures, and reports what went wrong.
pub(crate) fn main(cli: &Cli) -> ExitCode {
    let console = Console::new(cli.global);
    match run::run(&cli.benchmark, console) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads the output any more.
        Err(error) if is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = code(error.as_ref());
            if cli.benchmark.output().json {
                console::say(to_json(error.as_ref(), code));
            } else {
                Console::error(&messages(error.as_ref()).join(": "));
            }
            ExitCode::from(code)
        }
    }
}

fn is_closed(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// The messages of an error and its causes, outermost first, each once.
fn messages(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for message in tambour::chain(error).map(ToString::to_string) {
        if messages.last().is_none_or(|last| !last.contains(&message)) {
            messages.push(message);
        }
    }
    messages
}

/// The kind of the first error in a chain that has one.
fn kind(error: &(dyn Error + 'static)) -> Option<Kind> {
    tambour::chain(error).find_map(|link| {
        if let Some(error) = link.downcast_ref::<BenchError>() {
            return Some(error.kind());
        }
        let report = link.downcast_ref::<ReportError>().map(ReportError::kind);
        report.or_else(|| tambour::kind_of_link(link))
    })
}

/// The exit code, as `tambour` has them.
fn code(error: &(dyn Error + 'static)) -> u8 {
    if error.is::<Usage>() {
        return 2;
    }
    match kind(error) {
        Some(Kind::Corrupt) => 3,
        Some(Kind::Limit) => 4,
        Some(Kind::Unsupported) => 5,
        _ => 1,
    }
}

/// A call that cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// An error as one JSON object, as `tambour` tells it.
fn to_json(error: &(dyn Error + 'static), code: u8) -> serde_json::Value {
    let (messages, place) = (messages(error), tambour::place_of(error));
    let place = place.as_ref();
    json!({
        "schema": "tambour/error/1",
        "exit": code,
        "kind": kind(error).map(|kind| format!("{kind:?}").to_ascii_lowercase()),
        "message": messages.join(": "),
        "chain": messages,
        "path": place.map(|place| place.path.display().to_string()),
        "column": place.and_then(|place| place.column.clone()),
        "row": place.and_then(|place| place.row),
        "offset": place.and_then(|place| place.offset),
    })
}

/// Text on standard output.
fn print(text: &str) -> std::io::Result<()> {
    let mut target = std::io::stdout().lock();
    target.write_all(text.as_bytes())?;
    target.flush()
}
