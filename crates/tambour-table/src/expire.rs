//! TTL at merge: rows whose time has come go, and values of columns become their DEFAULT.

use crate::TableError;
use crate::fill::Fill;
use crate::filter::RowFilter;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use crate::ttl::Ttl;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as Arrow, TimeUnit};
use arrow_select::filter::filter_record_batch;
use arrow_select::zip::zip;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tambour_part::Part;
use tambour_part::part::{Derive, ReadRequest};
use tambour_part::types::{Column, DataType, Strings};

/// Rows looked at together.
const BATCH_ROWS: usize = 65_536;
const DAY_SECONDS: i64 = 86_400;

/// What a merge at one moment takes out.
#[derive(Debug)]
pub(super) struct Expiry {
    /// Unix seconds.
    now: i64,
    rows: Vec<(Expression, Option<RowFilter>)>,
    values: Vec<Values>,
    /// Rows that were left out so far.
    gone: AtomicU64,
}

/// A column whose values go.
#[derive(Debug)]
struct Values {
    moment: Expression,
    place: usize,
    /// Columns that its DEFAULT reads, and the DEFAULT.
    from: Vec<usize>,
    fill: Fill,
}

impl Expiry {
    /// What goes at `now`; nothing if the table has no TTL that is carried out here.
    pub(super) fn new(definition: &TableDefinition, now: Option<i64>) -> Option<Self> {
        let now = now?;
        let ttl = Ttl::of(definition);
        let columns = definition.plain_columns();
        let is_moment = |it: &Expression| it.data_type(&columns).is_ok_and(|it| is_time(&it));
        let mut rows = Vec::new();
        for rule in ttl.rows.into_iter().filter(|rule| is_moment(&rule.moment)) {
            // A condition that is not understood is a server's to apply.
            if let Ok(condition) = rule.condition.map(|it| it.bind(&columns)).transpose() {
                rows.push((rule.moment, condition));
            }
        }
        let mut values = Vec::new();
        for (name, moment) in ttl.columns.into_iter().filter(|it| is_moment(&it.1)) {
            let found = definition.columns.iter().position(|it| it.column.name == name);
            let Some(place) = found else { continue };
            let column = &definition.columns[place];
            let default = column.clauses.default.as_deref();
            if let Ok((from, fill)) = Fill::new(&column.column, default, &columns) {
                values.push(Values { moment, place, from, fill });
            }
        }
        let is_any = !rows.is_empty() || !values.is_empty();
        is_any.then_some(Self { now, rows, values, gone: AtomicU64::new(0) })
    }

    /// Rows that were left out.
    pub(super) fn rows_gone(&self) -> u64 {
        self.gone.load(Ordering::Relaxed)
    }

    /// The rows that stay, with the values that they have now; all columns of the table.
    pub(super) fn apply(&self, batch: RecordBatch) -> Result<RecordBatch, TableError> {
        let gone = self.gone(&batch)?;
        self.gone.fetch_add(gone.count_set_bits() as u64, Ordering::Relaxed);
        self.kept(batch, &gone)
    }

    fn kept(&self, batch: RecordBatch, gone: &BooleanBuffer) -> Result<RecordBatch, TableError> {
        let mut batch = if gone.count_set_bits() == 0 {
            batch
        } else {
            filter_record_batch(&batch, &BooleanArray::new(!gone, None))
                .map_err(TableError::arrow("leaving out expired rows"))?
        };
        for values in &self.values {
            let expired = self.expired(&values.moment, &batch)?;
            if expired.count_set_bits() == 0 {
                continue;
            }
            let wrong = TableError::arrow("expired values");
            let stored = batch.project(&values.from).map_err(wrong)?;
            let default = values.fill.derive(&stored);
            let default = default.map_err(TableError::part(Path::new("TTL"), "new"))?;
            let mut arrays = batch.columns().to_vec();
            let old = &arrays[values.place];
            let default = crate::conform::conform(&default, old.data_type())?;
            let mask = BooleanArray::new(expired, None);
            arrays[values.place] =
                zip(&mask, &default, old).map_err(TableError::arrow("expired values"))?;
            batch = RecordBatch::try_new(batch.schema(), arrays)
                .map_err(TableError::arrow("expired values"))?;
        }
        Ok(batch)
    }

    /// Rows that go.
    fn gone(&self, batch: &RecordBatch) -> Result<BooleanBuffer, TableError> {
        let mut gone = BooleanBuffer::new_unset(batch.num_rows());
        for (moment, condition) in &self.rows {
            let mut expired = self.expired(moment, batch)?;
            if let Some(condition) = condition {
                expired = &expired & condition.matches(batch)?.values();
            }
            gone = &gone | &expired;
        }
        Ok(gone)
    }

    /// Rows whose moment has come. As ClickHouse has it, the time 0 is none; nor is one past the end of its type, which wraps around.
    fn expired(
        &self,
        moment: &Expression,
        batch: &RecordBatch,
    ) -> Result<BooleanBuffer, TableError> {
        let moments = seconds(&moment.evaluate(batch)?);
        let is_past = |row: usize| moments[row] != 0 && moments[row] <= self.now;
        let mut expired = BooleanBuffer::collect_bool(moments.len(), is_past);
        let mut later = moment.clone();
        let mut moments = moments;
        while let Expression::Call { function, mut arguments } = later {
            if !function.starts_with("add") {
                break;
            }
            later = arguments.swap_remove(0);
            let earlier = seconds(&later.evaluate(batch)?);
            let is_sound = |row: usize| moments[row] >= earlier[row];
            expired = &expired & &BooleanBuffer::collect_bool(moments.len(), is_sound);
            moments = earlier;
        }
        Ok(expired)
    }

    /// True if something of a part would go.
    pub(super) fn concerns(
        &self,
        table: &Path,
        part: &Arc<Part>,
        columns: &[Column],
    ) -> Result<bool, TableError> {
        let mut names: Vec<&str> = self.rows.iter().flat_map(|it| it.0.columns()).collect();
        let conditions = self.rows.iter().filter_map(|it| it.1.as_ref());
        names.extend(conditions.flat_map(|it| it.columns().iter().map(String::as_str)));
        // Whether values have gone before is seen in them.
        let is_wanted = |it: &Column| !self.values.is_empty() || names.contains(&it.name.as_str());
        let places = columns.iter().enumerate().filter(|(_, it)| is_wanted(it));
        let request = ReadRequest {
            columns: places.map(|(place, _)| place).collect(),
            granules: std::iter::once(0..part.granules().len()).collect(),
            batch_rows: BATCH_ROWS,
            strings: Strings::Binary,
        };
        let error = || TableError::part(table, part.name());
        for batch in part.read(request).map_err(error())? {
            let batch = batch.map_err(error())?;
            let is_any = if self.values.is_empty() {
                self.gone(&batch)?.count_set_bits() > 0
            } else {
                let gone = self.gone(&batch)?;
                self.kept(batch.clone(), &gone)? != batch
            };
            if is_any {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is_time(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date | DataType::Date32 | DataType::DateTime { .. } | DataType::DateTime64 { .. }
    )
}

/// Dates and times as Unix seconds; 0 for values of other types, which are left out when this is made.
fn seconds(values: &ArrayRef) -> Vec<i64> {
    fn each<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        second: impl Fn(T::Native) -> i64,
    ) -> Vec<i64> {
        values.as_primitive::<T>().values().iter().map(|value| second(*value)).collect()
    }
    match values.data_type() {
        Arrow::Date32 => {
            each::<Date32Type>(values, |days| i64::from(days).saturating_mul(DAY_SECONDS))
        }
        Arrow::Timestamp(TimeUnit::Second, _) => each::<TimestampSecondType>(values, |it| it),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            each::<TimestampMillisecondType>(values, |it| it.div_euclid(1_000))
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            each::<TimestampMicrosecondType>(values, |it| it.div_euclid(1_000_000))
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            each::<TimestampNanosecondType>(values, |it| it.div_euclid(1_000_000_000))
        }
        _ => vec![0; values.len()],
    }
}
