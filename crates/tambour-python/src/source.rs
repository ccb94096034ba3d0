//! Batches that Python hands over: anything with `__arrow_c_stream__` or `__arrow_c_array__`.

use crate::carrow::capsule::{self, Handed};
use crate::failure::{Failure, argument};
use crate::work;
use pyo3::prelude::*;
use tambour::BatchSource;
use tambour::arrow_array::RecordBatch;
use tambour::arrow_schema::SchemaRef;

/// An object's batches.
pub(crate) struct Source {
    object: Py<PyAny>,
    handed: Handed,
    schema: SchemaRef,
    /// The object gives a new stream each time it is asked.
    again: bool,
    /// Something was read of the present one.
    begun: bool,
    /// What is left of the last batch.
    rest: Option<RecordBatch>,
}

/// Rows of a piece. A data frame may be one batch of all its rows, and between pieces is when Ctrl-C is looked for.
const PIECE_ROWS: usize = 1 << 16;

impl Source {
    /// The batches of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Some(handed) = capsule::ask(object)? else {
            let got = object.get_type();
            return Err(argument(format!(
                "{got} has neither __arrow_c_stream__ nor __arrow_c_array__: hand over an Arrow table, a data frame, or what reads one"
            ))
            .into());
        };
        let schema = handed.schema()?;
        // Readers are used up; tables and data frames are not. A relation of DuckDB is a query: it would run once more, and its rows
        // might be others.
        let is_reader = object.hasattr("read_next_batch")? || object.hasattr("__next__")?;
        let module: String = object.get_type().getattr("__module__")?.extract()?;
        let is_query =
            module.split('.').next().is_some_and(|it| it.trim_start_matches('_') == "duckdb");
        let again = !is_reader && !is_query && !object.is_instance_of::<crate::stream::Stream>();
        Ok(Self {
            object: object.clone().unbind(),
            handed,
            schema,
            again,
            begun: false,
            rest: None,
        })
    }
}

impl BatchSource<Failure> for Source {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Failure> {
        work::check_signals()?;
        self.begun = true;
        let next = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.handed.next_batch(&self.schema)?,
        };
        Ok(next.map(|batch| {
            let rows = batch.num_rows();
            if rows <= PIECE_ROWS {
                return batch;
            }
            self.rest = Some(batch.slice(PIECE_ROWS, rows - PIECE_ROWS));
            batch.slice(0, PIECE_ROWS)
        }))
    }

    fn restart(&mut self) -> Result<bool, Failure> {
        if !self.again || !self.begun {
            return Ok(self.again);
        }
        // Some have one stream at a time only.
        self.handed = Handed::nothing();
        (self.begun, self.rest) = (false, None);
        let handed = Python::attach(|py| capsule::ask(self.object.bind(py)))?;
        let handed = handed.ok_or_else(|| argument("the data were a stream and are none now"))?;
        let schema = handed.schema()?;
        if schema != self.schema {
            return Err(argument("the data have other columns when they are read again"));
        }
        self.handed = handed;
        Ok(true)
    }
}
