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
use tambour::{QueryBatches, Session, SessionOptions};

/// So often a query that computes looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a name of a query stands for.
enum Named {
    Table(tambour::Table),
    Records(Arc<tambour::record::View>),
    Batches(Box<Source>),
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
    if let Ok(view) = object.cast::<View>() {
        return Ok(Named::Records(view.get().view()));
    }
    Ok(Named::Batches(Box::new(Source::of(object)?)))
}

/// A result, as it comes.
fn streamed(mut result: QueryBatches) -> Stream {
    let schema = Arc::clone(result.schema());
    let batches = std::iter::from_fn(move || {
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
    });
    Stream::new(schema, Box::new(batches))
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
        if columns.is_empty() {
            return Err(argument("a scan without columns takes no condition of SQL"));
        }
        let columns: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let mut statement =
            format!("SELECT {} FROM {ROWS} WHERE ({})", columns.join(", "), self.text);
        if let Some(limit) = self.limit {
            statement += &format!(" LIMIT {limit}");
        }
        Ok(streamed(tambour::sql_in(&session, &statement)?))
    }
}

/// A name as ClickHouse quotes it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}
