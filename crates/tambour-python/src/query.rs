//! SQL over tables, record stores and batches.

use crate::failure::{Failure, argument};
use crate::records::View;
use crate::source::Source;
use crate::stream::Stream;
use crate::table::Table;
use crate::work;
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use tambour::arrow_array::{RecordBatch, RecordBatchOptions};
use tambour::arrow_schema::{Schema, SchemaRef};
use tambour::{QueryBatches, Session, SessionOptions};

/// So often a query that computes looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a name of a query stands for.
enum Named {
    Table(tambour::Table),
    Records(Arc<tambour::record::View>),
    Batches(Box<Source>),
    Collected(SchemaRef, Vec<RecordBatch>),
}

/// The rows of a reader, which can be read once, for queries that are run again.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Collected {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// Takes in all rows of a reader.
#[pyfunction]
pub(crate) fn collect(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Collected> {
    let mut source = Source::of(data)?;
    work::detached(py, |_| {
        let (schema, batches) = tambour::collect_batches(&mut source)?;
        Ok(Collected { schema, batches })
    })
}

/// Runs a statement over what names stand for.
#[pyfunction]
pub(crate) fn sql(
    py: Python<'_>,
    statement: String,
    tables: Vec<(String, Bound<'_, PyAny>)>,
    threads: Option<usize>,
    memory_bytes: Option<u64>,
) -> PyResult<Stream> {
    let mut named = Vec::with_capacity(tables.len());
    for (name, object) in tables {
        named.push((name, what(&object)?));
    }
    let mut options = SessionOptions { memory_bytes, ..SessionOptions::default() };
    if let Some(threads) = threads {
        options.threads = threads;
    }
    work::detached(py, |_| {
        let session = Session::new(&options)?;
        for (name, what) in named {
            match what {
                Named::Table(table) => session.register_as(&name, table.snapshot())?,
                Named::Records(view) => session.register_records(&name, view)?,
                Named::Collected(schema, batches) => {
                    session.register_batches(&name, schema, batches)?;
                }
                Named::Batches(mut source) => {
                    let (schema, batches) = tambour::collect_batches(&mut *source)?;
                    session.register_batches(&name, schema, batches)?;
                }
            }
        }
        Ok(streamed(tambour::sql_in(&session, &statement)?))
    })
}

fn what(object: &Bound<'_, PyAny>) -> PyResult<Named> {
    if let Ok(table) = object.cast::<Table>() {
        return Ok(Named::Table(table.get().snapshot()));
    }
    if let Ok(collected) = object.cast::<Collected>() {
        let Collected { schema, batches } = collected.get();
        return Ok(Named::Collected(Arc::clone(schema), batches.clone()));
    }
    if let Ok(view) = object.cast::<View>() {
        return Ok(Named::Records(view.get().view()));
    }
    Ok(Named::Batches(Box::new(Source::of(object)?)))
}

/// A result, as it comes.
fn streamed(result: QueryBatches) -> Stream {
    let schema = Arc::clone(result.schema());
    Stream::new(schema, Box::new(batches_of(result)))
}

/// The batches of a result, between which Ctrl-C is looked for.
fn batches_of(
    mut result: QueryBatches,
) -> impl Iterator<Item = Result<RecordBatch, Failure>> + Send {
    std::iter::from_fn(move || {
        loop {
            match result.next_within(PATIENCE) {
                Some(came) => return came.map(|batch| batch.map_err(Failure::from)),
                None => {
                    if let Err(failure) = work::check_signals() {
                        return Some(Err(failure));
                    }
                }
            }
        }
    })
}

/// Rows of one table by a condition that only SQL understands.
pub(crate) struct Rows<'a> {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) text: &'a str,
    pub(crate) limit: Option<u64>,
    pub(crate) binary: bool,
}

/// The name of the table in such a query.
const ROWS: &str = "t";

impl Rows<'_> {
    /// The rows.
    pub(crate) fn of(self, table: &tambour::Table) -> Result<Stream, Failure> {
        let options = SessionOptions { binary_strings: self.binary, ..SessionOptions::default() };
        let session = Session::new(&options)?;
        session.register_as(ROWS, table.snapshot())?;
        let all = || table.columns().iter().map(|column| column.name.clone()).collect();
        let columns = self.columns.unwrap_or_else(all);
        check_closed(self.text)?;
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        // Only the number of rows counts where no column is wanted.
        let names = if names.is_empty() { "1".to_owned() } else { names.join(", ") };
        // The condition has lines of its own, so that errors can say where in it they are.
        let mut statement = format!("SELECT {names} FROM {ROWS} WHERE (\n{}\n)", self.text);
        if let Some(limit) = self.limit {
            statement += &format!(" LIMIT {limit}");
        }
        let result = tambour::sql_in(&session, &statement);
        let result = result.map_err(|error| placed(error, self.text.lines().count()))?;
        Ok(if columns.is_empty() { counted(result) } else { streamed(result) })
    }
}

/// Rows without columns.
fn counted(result: QueryBatches) -> Stream {
    let schema = Arc::new(Schema::empty());
    let empty = Arc::clone(&schema);
    let batches = batches_of(result).map(move |batch| {
        let options = RecordBatchOptions::new().with_row_count(Some(batch?.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&empty), Vec::new(), &options)?)
    });
    Stream::new(schema, Box::new(batches))
}

/// An error with its place in the condition instead of the statement around it.
fn placed(error: tambour::Error, lines: usize) -> Failure {
    let failure = Failure::from(error);
    let Failure::Ours(error) = &failure else { return failure };
    let text = failure.to_string();
    let Some((before, rest)) = text.split_once("line ") else { return failure };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(line) = rest[..digits].parse::<usize>() else { return failure };
    let rest = &rest[digits..];
    let text = if line > lines + 1 {
        // Past the place: what is found there is not of the condition.
        let what = rest.split_once(": ").map_or("", |(_, what)| what);
        let what = what.split(", found ").next().unwrap_or(what);
        format!("{before}the end of the filter: {what}")
    } else {
        format!("{before}line {}{rest}", line.saturating_sub(1))
    };
    Failure::Said(error.kind(), text)
}

/// Refuses a condition that is empty, or that closes a parenthesis which it has not opened: it would end the one around it.
fn check_closed(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(argument("the filter is empty"));
    }
    let (mut depth, mut quote) = (0, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => drop(characters.next()),
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => {
                return Err(argument("the filter closes a parenthesis that it has not opened"));
            }
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    Ok(())
}

/// A name as SQL quotes it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "``"))
}
