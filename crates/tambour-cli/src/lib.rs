//! The `tambour` command as a library: a thin edge over the library `tambour`.
//!
//! The way of a call: [`cli`] says what may be written, [`command`] has one room per command, [`output`] knows where text
//! goes and how it looks, [`query`] runs SQL, [`shell`] is its interactive side, [`exit`] says which error ends with which
//! code.
#![forbid(unsafe_code)]

mod argument;
mod blocks;
mod cli;
mod clock;
mod command;
mod exit;
mod interrupt;
mod output;
mod query;
mod shell;

use clap::Parser;
use cli::{Cli, Command, MessagesAction};
use exit::Exit;
use output::Console;
use std::ffi::OsString;

/// Runs a call: the name of the program and its arguments. The exit code.
///
/// The program `tambour` is this, and so is `python -m tambour`.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error).code(),
    };
    let console = Console::new(&cli.global);
    // A wide table has a file or two per column and part; the usual soft limit of 1024 is soon met. If it cannot be raised,
    // whoever needs the next file says so.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let json = wants_json(&cli.command);
    if json {
        output::errors_as_json();
    }
    let ended = if matches!(cli.command, Command::Bench(_)) {
        command::bench::run()
    } else {
        check_processor().and_then(|()| command_of(cli.command, console)).map(|()| Exit::Ok.code())
    };
    ended.unwrap_or_else(|error| end(&error, json).code())
}

/// The table of contents.
fn command_of(command: Command, console: Console) -> anyhow::Result<()> {
    tambour::sql::compute_defaults();
    match &command {
        Command::Import(arguments) => arguments.lock.apply(),
        Command::Sql(arguments) => arguments.lock.apply(),
        Command::Optimize(arguments) => arguments.lock.apply(),
        Command::Recompress(arguments) => arguments.lock.apply(),
        _ => {}
    }
    match command {
        Command::Import(arguments) => command::import::run(&arguments, console),
        Command::Export(arguments) => command::export::run(&arguments, console),
        Command::Sql(arguments) => command::sql::run(arguments, console),
        #[cfg(feature = "cluster")]
        Command::Worker(arguments) => command::worker::run(&arguments, console),
        Command::Optimize(arguments) => command::optimize::run(&arguments, console),
        Command::Salvage(arguments) => command::salvage::run(&arguments, console),
        Command::Recompress(arguments) => command::recompress::run(&arguments, console),
        Command::Verify(arguments) => command::verify::run(&arguments, console),
        Command::Inspect(arguments) => command::inspect::run(&arguments),
        Command::Advise(arguments) => command::advise::run(&arguments, console),
        Command::AttachScript(arguments) => command::attach_script::run(&arguments),
        Command::Compress(arguments) => command::compress::run(&arguments, console),
        Command::Decompress(arguments) => command::decompress::run(&arguments, console),
        Command::Records(arguments) => command::records::run(&arguments.action, console),
        Command::Codecs(arguments) => command::codecs::run(&arguments),
        Command::Messages(arguments) => command::messages::run(&arguments.action, console),
        // Another program does this; it has the processor checked, too.
        Command::Bench(_) => command::bench::run().map(drop),
        Command::Pages(arguments) => command::pages::run(&arguments.action, console),
        Command::Completions(arguments) => command::manual::completions(&arguments),
        Command::Man(arguments) => command::manual::run(&arguments, console),
    }
}

/// Help and version are not errors, all else that clap objects to is.
fn usage(error: &clap::Error) -> Exit {
    // A reader that went away has seen enough of the help.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Ok }
}

/// An unknown or unavailable level in TAMBOUR_ISA is a wrong call, not something to find out in the middle of the work.
fn check_processor() -> anyhow::Result<()> {
    tambour::codec::kernels::isa()
        .map(|_| ())
        .map_err(|error| exit::Failure::Usage(error.to_string()).into())
}

fn wants_json(command: &Command) -> bool {
    match command {
        Command::Import(arguments) => arguments.json,
        Command::Export(arguments) => arguments.json,
        Command::Optimize(arguments) => arguments.json,
        Command::Salvage(arguments) => arguments.json,
        Command::Recompress(arguments) => arguments.json,
        Command::Verify(arguments) => arguments.json,
        Command::Inspect(arguments) => arguments.json,
        Command::Advise(arguments) => arguments.json,
        Command::Compress(arguments) => arguments.place.json,
        Command::Decompress(arguments) => arguments.place.json,
        Command::Records(arguments) => arguments.action.json(),
        Command::Codecs(arguments) => arguments.json,
        Command::Messages(arguments) => match &arguments.action {
            MessagesAction::Train(arguments) => arguments.json,
            MessagesAction::Encode(arguments) | MessagesAction::Decode(arguments) => arguments.json,
        },
        Command::Bench(arguments) => arguments.words.iter().any(|word| word == "--json"),
        Command::Pages(arguments) => arguments.action.json(),
        #[cfg(feature = "cluster")]
        Command::Worker(_) => false,
        Command::Sql(_) | Command::AttachScript(_) | Command::Completions(_) | Command::Man(_) => {
            false
        }
    }
}

/// Reports what went wrong, unless it is only that nobody reads our output any more.
fn end(error: &anyhow::Error, json: bool) -> Exit {
    let exit = Exit::of(error.as_ref());
    if output::stdout::is_closed() && exit == Exit::Error {
        return Exit::Ok;
    }
    let told = matches!(error.downcast_ref(), Some(exit::Failure::Listed { .. }));
    // With JSON the object on standard output has it all.
    if !(json && told) {
        output::report(error.as_ref());
    }
    exit
}
