//! DEFAULTs of columns that a part lacks, computed as queries compute them: a server's tables have columns that were added with any
//! expression.

use crate::SqlError;
use crate::context::{Session, SessionOptions};
use crate::write::complete::step;
use crate::write::derived::{Derived, Step, ordered, read_by};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType as ArrowType, Schema};
use datafusion::error::DataFusionError;
use futures::task::noop_waker_ref;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tambour_files::Handed;
use tambour_part::part::Derive;
use tambour_part::types::{Column, Strings};
use tambour_part::{PartError, Place};
use tambour_table::compute_defaults_by;
use tambour_table::schema::ColumnDefinition;

/// What errors call the rows.
const SOURCE: &str = "DEFAULT";

/// Lets tables that are opened from now on fill columns that a part lacks with whatever DEFAULT they have; without this, only what
/// keys may compute is known there.
pub fn compute_defaults() {
    compute_defaults_by(|column, others, stored| {
        let steps = steps(column, others).map_err(|error| error.to_string())?;
        let (places, given) = read_by(&steps, stored);
        let column = column.column.clone();
        let filling = Filling { column, steps, given, query: Mutex::default() };
        Ok((places, Arc::new(filling) as Arc<dyn Derive>))
    });
}

/// A column and those without which it cannot be computed.
fn steps(
    column: &ColumnDefinition,
    others: &[&ColumnDefinition],
) -> Result<Vec<Vec<Step>>, SqlError> {
    let mut waiting = vec![column];
    let mut steps = BTreeMap::new();
    while let Some(column) = waiting.pop() {
        let name = &column.column.name;
        let Some(default) = &column.clauses.default else {
            let reason = format!("it reads the column {name:?}, which the part has not either");
            return Err(SqlError::refused("its DEFAULT", reason));
        };
        let step = step(column, default)?;
        let is_needed = |it: &&&ColumnDefinition| {
            step.reads.contains(&it.column.name) && !steps.contains_key(&it.column.name)
        };
        waiting.extend(others.iter().filter(is_needed).copied());
        steps.insert(name.clone(), step);
    }
    ordered(steps)
}

/// The values of one column for the rows of one part.
#[derive(Debug)]
struct Filling {
    column: Column,
    steps: Vec<Vec<Step>>,
    /// The columns that are read.
    given: Vec<Column>,
    /// Planned when the first rows are read.
    query: Mutex<Option<Derived>>,
}

/// Plans all of these queries. One after another: they register their rows under one name.
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

impl Filling {
    /// A session without tables. What is text for it may be any bytes.
    fn session() -> Result<Session, SqlError> {
        Session::new(&SessionOptions {
            threads: 1,
            binary_strings: true,
            ..SessionOptions::default()
        })
    }

    /// Plans the query.
    fn plan(&self) -> Result<Derived, SqlError> {
        let mut session = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &mut *session {
            Some(session) => session,
            empty => empty.insert(Self::session()?),
        };
        finished(Derived::new(session, SOURCE, &self.given, &self.steps))?
    }

    async fn values(&self, query: &Derived, stored: &RecordBatch) -> Result<ArrayRef, SqlError> {
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
        let place = query.place(&self.column.name)?;
        let made = query.of(&given).await?;
        let column = std::slice::from_ref(&self.column);
        let mut handed = Handed::placed_as(SOURCE, column, vec![Some(place)], Strings::Binary);
        let made = handed.batch(&made).map_err(crate::write::of_rows(SOURCE))?;
        let has_text =
            |field: &Arc<arrow::datatypes::Field>| *field.data_type() == ArrowType::Utf8View;
        let is_text = stored.schema_ref().fields().iter().any(has_text);
        let strings = if is_text { Strings::Utf8 } else { Strings::Binary };
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let wanted = self.column.data_type.arrow(strings);
        let values = cast_with_options(made.column(0), &wanted, &strict);
        Ok(values.map_err(DataFusionError::from)?)
    }
}

impl Derive for Filling {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let mut query = self.query.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = || {
            let query = match &mut *query {
                Some(query) => query,
                empty => empty.insert(self.plan()?),
            };
            finished(self.values(query, stored))?
        };
        values()
            .map_err(|error| PartError::value(Place::default(), format!("its DEFAULT: {error}")))
    }
}

/// Runs to its end what waits for nothing but itself: no file and no other task. It may run within a task, so no runtime can, and takes
/// no share of that task's turn.
fn finished<T>(work: impl Future<Output = T>) -> Result<T, SqlError> {
    let work = pin!(tokio::task::unconstrained(work));
    match work.poll(&mut Context::from_waker(noop_waker_ref())) {
        Poll::Ready(done) => Ok(done),
        Poll::Pending => Err(SqlError::refused(SOURCE, "it waits for something else")),
    }
}
