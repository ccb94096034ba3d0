//! `tambour man` and `tambour completions`: both are made from the command line's own description.

use crate::cli::{Cli, CompletionsArguments, ManArguments};
use crate::output::{Console, stdout};
use anyhow::Context;
use clap::CommandFactory;
use std::io::Write;
use std::path::Path;

/// Prints a completion script.
pub(crate) fn completions(arguments: &CompletionsArguments) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "tambour", &mut script);
    print(&script)
}

/// Prints the main page, or writes every page into a directory.
pub(crate) fn run(arguments: &ManArguments, console: Console) -> anyhow::Result<()> {
    let Some(directory) = &arguments.directory else {
        return print(&page(Cli::command())?);
    };
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut command = Cli::command();
    command.build();
    let pages = write_pages(directory, "tambour", &command)?;
    console.note(format_args!("wrote {pages} pages into {}", directory.display()));
    Ok(())
}

/// Writes the page of a command and those of its commands, and counts them.
fn write_pages(directory: &Path, name: &str, command: &clap::Command) -> anyhow::Result<usize> {
    // The page's title is one word, the way other tools with commands name theirs.
    write(directory, name, &page(command.clone().display_name(name.to_owned()))?)?;
    let mut pages = 1;
    // `tambour help` repeats all of them.
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        pages += write_pages(directory, &format!("{name}-{}", sub.get_name()), sub)?;
    }
    Ok(pages)
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

fn write(directory: &Path, name: &str, page: &[u8]) -> anyhow::Result<()> {
    let path = directory.join(format!("{name}.1"));
    std::fs::write(&path, page).with_context(|| path.display().to_string())
}

fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut target = stdout::data();
    target.write_all(bytes)?;
    target.flush()?;
    Ok(())
}
