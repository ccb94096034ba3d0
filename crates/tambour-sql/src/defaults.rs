//! DEFAULTs of columns that a part lacks, computed as queries compute them: a server's tables have columns that were added with any
//! expression.

use crate::SqlError;
use crate::context::{Session, SessionOptions};
use crate::write::derived::{Derived, Step};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType as ArrowType, Schema};
use datafusion::error::DataFusionError;
use futures::task::noop_waker_ref;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tambour_dialect as dialect;
use tambour_files::Handed;
use tambour_part::part::Derive;
use tambour_part::types::{Column, Strings};
use tambour_part::{PartError, Place};
use tambour_table::compute_defaults_by;

/// What errors call the rows.
const SOURCE: &str = "DEFAULT";

/// Lets tables that are opened from now on fill columns that a part lacks with whatever DEFAULT they have; without this, only what
/// keys may compute is known there.
pub fn compute_defaults() {
    compute_defaults_by(|column, default, stored| {
        let reads = dialect::columns_of(default).map_err(|error| error.to_string())?;
        // `t.y` may be of the tuple `t`.
        let is_of = |read: &String, name: &str| {
            read.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_read = |column: &Column| reads.iter().any(|read| is_of(read, &column.name));
        let read = stored.iter().enumerate().filter(|(_, column)| is_read(column));
        let (places, given): (Vec<usize>, Vec<Column>) =
            read.map(|(place, column)| (place, column.clone())).unzip();
        let sql = format!("CAST({default} AS {})", column.data_type);
        let step = Step { name: column.name.clone(), sql, reads };
        let filling = Filling { column: column.clone(), step, given, query: Mutex::default() };
        Ok((places, Arc::new(filling) as Arc<dyn Derive>))
    });
}

/// The values of one column for the rows of one part.
#[derive(Debug)]
struct Filling {
    column: Column,
    step: Step,
    /// The columns that it reads.
    given: Vec<Column>,
    /// Planned when the first rows are read.
    query: Mutex<Option<Derived>>,
}

impl Filling {
    /// A session without tables. What is text for it may be any bytes.
    fn session() -> Result<Session, SqlError> {
        Session::new(&SessionOptions {
            threads: 1,
            binary_strings: true,
            ..SessionOptions::default()
        })
    }

    async fn values(
        &self,
        query: &mut Option<Derived>,
        stored: &RecordBatch,
    ) -> Result<ArrayRef, SqlError> {
        let mut fields = Vec::with_capacity(self.given.len());
        let mut columns = Vec::with_capacity(self.given.len());
        for column in &self.given {
            let at = stored.schema_ref().index_of(&column.name).map_err(DataFusionError::from)?;
            fields.push(stored.schema_ref().fields()[at].clone());
            columns.push(Arc::clone(stored.column(at)));
        }
        let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(stored.num_rows()));
        let given =
            RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)
                .map_err(DataFusionError::from)?;
        if query.is_none() {
            let steps = [vec![self.step.clone()]];
            *query = Some(Derived::new(&Self::session()?, SOURCE, &self.given, &steps).await?);
        }
        let Some(query) = query.as_ref() else { return Err(SqlError::refused(SOURCE, "no query")) };
        let place = query.place(&self.column.name)?;
        let made = query.of(&given).await?;
        let column = std::slice::from_ref(&self.column);
        let mut handed = Handed::placed_as(SOURCE, column, vec![Some(place)], Strings::Binary);
        let made = handed.batch(&made).map_err(crate::write::of_rows(SOURCE))?;
        let has_text =
            |field: &Arc<arrow::datatypes::Field>| *field.data_type() == ArrowType::Utf8View;
        let strings = match stored.schema_ref().fields().iter().any(has_text) {
            true => Strings::Utf8,
            false => Strings::Binary,
        };
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let wanted = self.column.data_type.arrow(strings);
        let values = cast_with_options(made.column(0), &wanted, &strict);
        Ok(values.map_err(DataFusionError::from)?)
    }
}

impl Derive for Filling {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let mut query = self.query.lock().unwrap_or_else(PoisonError::into_inner);
        finished(self.values(&mut query, stored))
            .map_err(|error| PartError::value(Place::default(), format!("its DEFAULT: {error}")))
    }
}

/// Runs to its end what waits for nothing but itself: no file and no other task. It may run within a task, so no runtime can.
fn finished<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut Context::from_waker(noop_waker_ref())) {
            Poll::Ready(done) => return done,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
