//! The program `tambour-bench`: what `tambour bench` runs.
#![forbid(unsafe_code)]

mod program;

use clap::Parser;
use program::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => program::main(&cli),
        Err(error) => {
            // A reader that went away has seen enough of the help.
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { 2 } else { 0 })
        }
    }
}
