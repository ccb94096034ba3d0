//! `tambour sql`: queries from the command line, a file, a pipe, or the shell.

use super::threads;
use crate::argument::ByteSize;
use crate::cli::{ResultFormat, SqlArguments, StringsName};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{self, Console, quantity, stdout, terminal_width};
use crate::query::{self, Style, confirm, outside, parameter, statement};
use crate::shell;
use anyhow::Context;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tambour::codec::kernels;
use tambour::record::{RecordStore, ViewOptions};
use tambour::sql::{Session, SessionOptions};
use tambour::storage::{self, Storage};
use tambour::table::Table;
use tambour::table::server::{ServerDisk, is_archive};
use tambour::table::store::{Traffic, is_url, refuse_url, traffic};
use tambour_report::machine;
use tokio::runtime::Runtime;

/// How long what still computes after an error or Ctrl-C may take to put its files away.
const ORDERLY_END: Duration = Duration::from_secs(1);

/// Runs what was given, or the shell.
pub(crate) fn run(arguments: SqlArguments, console: Console) -> anyhow::Result<()> {
    let (tables, query) = tables_and_query(&arguments)?;
    let threads = threads(arguments.threads);
    let session = session(&tables, &arguments, threads, console)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name("query")
        .enable_all()
        .build()?;
    let interrupt = Interrupt::listen();
    let style = style(&arguments);
    let scripts = scripts(&arguments, query)?;
    if scripts.is_empty() {
        return shell::run(&session, &runtime, style, &interrupt, console);
    }
    let work = Work { session: &session, runtime: &runtime, interrupt: &interrupt, style };
    let ended = work.scripts(&scripts, &arguments, console);
    runtime.shutdown_timeout(ORDERLY_END);
    ended
}

/// What scripts are run with.
struct Work<'a> {
    session: &'a Session,
    runtime: &'a Runtime,
    interrupt: &'a Interrupt,
    style: Style,
}

impl Work<'_> {
    fn scripts(
        &self,
        scripts: &[String],
        arguments: &SqlArguments,
        console: Console,
    ) -> anyhow::Result<()> {
        let mut failed = 0;
        let mut exit = Exit::Error;
        for statement in scripts.iter().flat_map(|script| statement::split(script)) {
            let Err(error) = self.statement(statement, arguments, console) else { continue };
            let class = Exit::of(error.as_ref());
            if !arguments.ignore_error || class == Exit::Interrupted || stdout::is_closed() {
                return Err(error);
            }
            output::report(error.as_ref());
            (failed, exit) = (failed + 1, class);
        }
        if failed == 0 {
            return Ok(());
        }
        let summary = format!("{failed} statement{} failed", if failed == 1 { "" } else { "s" });
        Err(Failure::Listed { summary, exit }.into())
    }

    fn statement(
        &self,
        statement: &str,
        arguments: &SqlArguments,
        console: Console,
    ) -> anyhow::Result<()> {
        let Self { session, runtime, interrupt, style } = *self;
        let mut target = stdout::data();
        let before = traffic();
        let statement = parameter::substituted(statement, &arguments.param)?;
        let statement = statement.as_ref();
        confirm::removal(statement, style)?;
        let work = query::run(session, statement, style, &mut target, interrupt);
        let outcome = runtime.block_on(work).map_err(|error| with_excerpt(error, statement))?;
        target.flush()?;
        outcome.notes.iter().for_each(|note| console.note(note));
        if arguments.stats || (is_for_people(style) && style.width.is_some()) {
            console.note(query::summary(&outcome, arguments.stats));
        }
        if arguments.stats {
            tell_traffic(before, console);
        }
        Ok(())
    }
}

/// What stores were asked for a statement, if any was.
fn tell_traffic(before: Traffic, console: Console) {
    let now = traffic();
    if now.requests > 0 {
        let requests = quantity::counted(now.requests - before.requests, "request", "requests");
        let bytes = quantity::bytes(now.bytes - before.bytes);
        console.note(format!("object stores: {requests}, {bytes} ({} to open)", before.requests));
    }
}

fn is_for_people(style: Style) -> bool {
    matches!(style.format, ResultFormat::Table | ResultFormat::Vertical)
}

/// A syntax error points at its place; the excerpt goes to standard error ahead of the message.
fn with_excerpt(error: anyhow::Error, statement: &str) -> anyhow::Error {
    if let Some(excerpt) = query::excerpt(&error, statement) {
        let _ = writeln!(anstream::stderr(), "{excerpt}");
    }
    error
}

/// The texts with statements, in the order of running; empty for the shell.
fn scripts(arguments: &SqlArguments, query: Option<String>) -> anyhow::Result<Vec<String>> {
    let mut scripts: Vec<String> =
        query.into_iter().chain(arguments.commands.iter().cloned()).collect();
    match &arguments.file {
        Some(path) if path == Path::new("-") => scripts.push(standard_input()?),
        Some(path) => {
            scripts
                .push(std::fs::read_to_string(path).with_context(|| path.display().to_string())?);
        }
        None if scripts.is_empty() && !std::io::stdin().is_terminal() => {
            // A pipe is a script; what comes back must not be taken for "no script".
            scripts.push(standard_input()?);
        }
        None => {}
    }
    Ok(scripts)
}

fn standard_input() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input")?;
    Ok(text)
}

fn style(arguments: &SqlArguments) -> Style {
    let width = terminal_width();
    let piped = if width.is_some() { ResultFormat::Table } else { ResultFormat::Tsv };
    Style {
        format: arguments.format.unwrap_or(piped),
        header: match (arguments.header, arguments.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        },
        rows_max: if arguments.rows_max == 0 { usize::MAX } else { arguments.rows_max },
        width,
        asks: arguments.write && !arguments.yes && std::io::stdin().is_terminal(),
    }
}

/// A table to open, and its name in SQL if that is not its directory's.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    name: Option<String>,
    path: PathBuf,
}

/// Which arguments are tables, and whether the last one is the query.
fn tables_and_query(arguments: &SqlArguments) -> Result<(Vec<Named>, Option<String>), Failure> {
    let mut tables = Vec::new();
    let mut query = None;
    for (index, argument) in arguments.arguments.iter().enumerate() {
        let last = index + 1 == arguments.arguments.len();
        match named_table(argument) {
            Some(table) => tables.push(table),
            None if last && looks_like_sql(argument) => query = Some(argument.clone()),
            None => return Err(Failure::NotFound(format!("{argument}: no such directory"))),
        }
    }
    Ok((tables, query))
}

/// `DIRECTORY` or `NAME=DIRECTORY`, if that is one; archives are directories.
fn named_table(argument: &str) -> Option<Named> {
    let is_tables = |path: &Path| is_url(path) || path.is_dir() || is_archive(path);
    if is_tables(Path::new(argument)) {
        return Some(Named { name: None, path: argument.into() });
    }
    let (name, path) = argument.split_once('=')?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && is_tables(Path::new(path)))
        .then(|| Named { name: Some(name.to_owned()), path: path.into() })
}

/// A query has more than one word; a single word is a table that is not there.
fn looks_like_sql(argument: &str) -> bool {
    argument.trim().contains(|c: char| c.is_whitespace() || c == '(' || c == ';')
}

/// Memory for the operators of a query; `None` where the machine does not tell how much it has.
fn memory(arguments: &SqlArguments) -> Option<u64> {
    match arguments.memory {
        Some(ByteSize(bytes)) => Some(bytes),
        None => Some(machine::total_memory() / 2).filter(|&bytes| bytes > 0),
    }
}

fn session(
    tables: &[Named],
    arguments: &SqlArguments,
    threads: usize,
    console: Console,
) -> anyhow::Result<Session> {
    if arguments.deterministic {
        kernels::be_deterministic();
    }
    arguments.database.as_deref().map_or(Ok(()), refuse_url)?;
    let options = SessionOptions {
        threads,
        memory_bytes: memory(arguments),
        deterministic: arguments.deterministic,
        binary_strings: arguments.strings == StringsName::Binary,
        write: arguments.write,
        database: arguments.database.clone(),
        block_cache_bytes: arguments.block_cache.map(|size| size.0),
        input: (!std::io::stdin().is_terminal()).then(|| PathBuf::from("-")),
        ..SessionOptions::default()
    };
    #[cfg(feature = "cluster")]
    let session = super::worker::session(&arguments.cluster, &options)?;
    #[cfg(not(feature = "cluster"))]
    let session = Session::new(&options)?;
    outside::register(&session, threads);
    session.register_database()?;
    for Named { name, path } in tables {
        if !is_url(path) && RecordStore::is_at(storage::disk().as_ref(), path) {
            register_records(&session, name.as_deref(), path)?;
            continue;
        }
        let storage = arguments.reading.storage_of(path)?;
        if register_server(&session, &storage, path, console)? {
            continue;
        }
        let table = Arc::new(Table::open_on(&storage, path)?);
        tell_unproven(&table, console);
        let name = name.clone().unwrap_or_else(|| table.name().to_owned());
        if session.tables().iter().any(|(taken, _)| *taken == name) {
            return Err(Failure::Usage(format!(
                "two tables are named {name:?}: give one another name, like other={}",
                path.display()
            ))
            .into());
        }
        session.register_as(&name, table)?;
    }
    Ok(session)
}

/// Says what rests on a file without a checksum alone.
pub(super) fn tell_unproven(table: &Table, console: Console) {
    let unproven = table.unproven();
    if !unproven.is_empty() {
        console.note(format!(
            "{}: only columns.txt, which has no checksum, says {}; a create.sql beside the part would confirm it",
            table.path().display(),
            unproven.join(", "),
        ));
    }
}

/// Registers all tables of a server's disk by database and name; false if the directory is none. A table that cannot be opened
/// hinders no other.
fn register_server(
    session: &Session,
    storage: &Arc<dyn Storage>,
    path: &Path,
    console: Console,
) -> anyhow::Result<bool> {
    let Some(found) = ServerDisk::open(storage, path)? else { return Ok(false) };
    for table in &found.tables {
        match found.table(table) {
            Ok(opened) => session.register_in_database(Arc::new(opened))?,
            Err(error) => {
                let error = anyhow::Error::from(error);
                console.note(format!("{}.{} is left out: {error:#}", table.database, table.name));
            }
        }
    }
    if !found.others.is_empty() {
        console.note(format!("left out, without parts: {}", found.others.join(", ")));
    }
    Ok(true)
}

/// Registers the categories of a record store: the only one, or the one called `default`, has the name of the store, others
/// have theirs after it.
fn register_records(session: &Session, name: Option<&str>, path: &Path) -> anyhow::Result<()> {
    let store = RecordStore::open(&storage::disk(), path)?;
    let own = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.unwrap_or(&own);
    let mut categories = store.categories()?;
    if categories.is_empty() {
        // One that was just made is a table without rows.
        categories.push("default".to_owned());
    }
    for category in &categories {
        let view = Arc::new(store.view(category, &ViewOptions::default())?);
        if categories.len() == 1 || category == "default" {
            session.register_records(name, view)?;
        } else {
            session.register_records(&format!("{name}_{category}"), view)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_words() {
        assert!(looks_like_sql("SELECT 1"));
        assert!(looks_like_sql("select(1)"));
        assert!(!looks_like_sql("flihgts"));
        assert_eq!(named_table("/nonexistent"), None);
        assert_eq!(
            named_table("t=/"),
            Some(Named { name: Some("t".to_owned()), path: PathBuf::from("/") })
        );
        assert_eq!(named_table("select 1=/"), None);
    }
}
