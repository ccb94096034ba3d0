//! Commands of the shell itself: `.help`, `.tables`, `\d`, `.mode csv`.

use crate::cli::ResultFormat;
use crate::exit::Failure;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::{quantity, stdout};
use crate::query::Style;
use clap::ValueEnum;
use std::io::Write;
use std::sync::Arc;
use tambour::sql::Session;
use tambour::table::Table;

/// What the user may change while the shell runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// How results look.
    pub(super) style: Style,
    /// Whether the line with time and speed is shown.
    pub(super) timing: bool,
}

/// What comes after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Continue,
    Exit,
}

/// The commands, for completion and help.
pub(super) const DIRECTIVES: [(&str, &str); 9] = [
    (".help", "this list"),
    (".tables", "the tables; also \\d"),
    (".schema [TABLE]", "columns or statement of a table; also \\d TABLE"),
    (".functions [TEXT]", "functions whose name contains the text"),
    (".mode [FORMAT]", "table, vertical, csv, tsv, json, jsonl, markdown"),
    (".open DIRECTORY", "one more table"),
    (".timer on|off", "the line with time and speed"),
    (".workers", "the workers of --workers: version, threads, root"),
    (".exit", "leave; also exit, quit, \\q, Ctrl-D"),
];

/// True if an entry is not SQL.
pub(super) fn is_one(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';');
    text.starts_with('.')
        || text.starts_with('\\')
        || ["exit", "quit", "help"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Obeys one.
pub(super) fn run(text: &str, session: &Session, settings: &mut Settings) -> anyhow::Result<After> {
    let text = text.trim_end_matches(';').trim();
    let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let argument = argument.trim();
    match word.to_ascii_lowercase().as_str() {
        ".exit" | ".quit" | "exit" | "quit" | "\\q" => return Ok(After::Exit),
        ".help" | "help" | "\\?" => help()?,
        ".tables" | "\\l" | "\\dt" => tables(session)?,
        ".schema" | "\\d" if argument.is_empty() => tables(session)?,
        ".schema" | "\\d" => schema(session, argument)?,
        ".functions" => functions(session, argument)?,
        ".mode" => mode(argument, settings)?,
        ".open" => open(session, argument)?,
        ".workers" => workers(session)?,
        ".timer" => settings.timing = argument != "off",
        _ => {
            return Err(Failure::Usage(format!("{word}: unknown command; .help lists them")).into());
        }
    }
    Ok(After::Continue)
}

fn print(grid: &Grid) -> anyhow::Result<()> {
    let mut target = stdout::text();
    if let Some(widths) = grid.widths(Frame::Plain, None) {
        grid.write(&mut target, Frame::Plain, &widths, None)?;
    }
    Ok(target.flush()?)
}

fn help() -> anyhow::Result<()> {
    let mut target = stdout::text();
    writeln!(
        target,
        "A statement may have many lines and ends with `;`, or with `\\G` for vertical output."
    )?;
    for (directive, meaning) in DIRECTIVES {
        writeln!(target, "  {directive:<18} {meaning}")?;
    }
    Ok(target.flush()?)
}

fn tables(session: &Session) -> anyhow::Result<()> {
    let mut grid = Grid::new(vec![
        Heading::text("table"),
        Heading::number("rows"),
        Heading::number("parts"),
        Heading::number("on disk"),
    ]);
    for (name, table) in session.tables() {
        let bytes = table.parts().iter().map(|part| part.bytes_on_disk()).sum();
        grid.push([
            name,
            quantity::grouped(table.rows()),
            quantity::grouped(table.parts().len() as u64),
            quantity::bytes(bytes),
        ]);
    }
    print(&grid)
}

/// What the workers say of themselves, now.
#[cfg(feature = "cluster")]
fn workers(session: &Session) -> anyhow::Result<()> {
    let Some(cluster) = tambour::Cluster::of(session) else { return no_workers() };
    let mut grid = Grid::new(vec![
        Heading::text("worker"),
        Heading::text("version"),
        Heading::number("threads"),
        Heading::text("root"),
    ]);
    for worker in cluster.workers()? {
        grid.push([worker.address, worker.version, worker.threads.to_string(), worker.root]);
    }
    print(&grid)
}

#[cfg(not(feature = "cluster"))]
fn workers(_session: &Session) -> anyhow::Result<()> {
    no_workers()
}

fn no_workers() -> anyhow::Result<()> {
    Err(Failure::NotFound("no workers: start the shell with --workers".to_owned()).into())
}

fn schema(session: &Session, name: &str) -> anyhow::Result<()> {
    let found = session.tables().into_iter().find(|(known, _)| known == name);
    let Some((_, table)) = found else {
        return Err(Failure::NotFound(format!("{name}: no such table; .tables lists them")).into());
    };
    if let Some(definition) = table.definition() {
        let mut target = stdout::text();
        writeln!(target, "{definition}")?;
        return Ok(target.flush()?);
    }
    let mut grid = Grid::new(vec![Heading::text("column"), Heading::text("type")]);
    for column in table.columns() {
        grid.push([column.name.clone(), column.data_type.to_string()]);
    }
    print(&grid)
}

fn functions(session: &Session, text: &str) -> anyhow::Result<()> {
    let mut target = stdout::text();
    let text = text.to_ascii_lowercase();
    for name in session.function_names() {
        if name.to_ascii_lowercase().contains(&text) {
            writeln!(target, "{name}")?;
        }
    }
    Ok(target.flush()?)
}

fn mode(argument: &str, settings: &mut Settings) -> anyhow::Result<()> {
    if argument.is_empty() {
        let mut target = stdout::text();
        let name = settings.style.format.to_possible_value();
        writeln!(target, "{}", name.as_ref().map_or("", |value| value.get_name()))?;
        return Ok(target.flush()?);
    }
    let format = ResultFormat::from_str(argument, true)
        .map_err(|_| Failure::Usage(format!("{argument}: unknown format; .help lists them")))?;
    if matches!(format, ResultFormat::Arrow | ResultFormat::Parquet) {
        return Err(
            Failure::Usage("binary formats cannot be shown on a terminal".to_owned()).into()
        );
    }
    settings.style.format = format;
    Ok(())
}

fn open(session: &Session, argument: &str) -> anyhow::Result<()> {
    let table = Arc::new(Table::open(std::path::Path::new(argument))?);
    if session.tables().iter().any(|(name, _)| name == table.name()) {
        return Err(
            Failure::Conflict(format!("there is a table {:?} already", table.name())).into()
        );
    }
    Ok(session.register(table)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sql() {
        for text in [".help", "\\d t", "exit;", "QUIT", " .mode csv "] {
            assert!(is_one(text), "{text}");
        }
        for text in ["select 1;", "exit_code", "explain select 1"] {
            assert!(!is_one(text), "{text}");
        }
    }
}
