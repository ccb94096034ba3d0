//! `ORDER BY … WITH FILL`: rows that are made up between those of a result. They come at equal distances from FROM or the first
//! value on; rows stay, on the grid or not. Columns before the filled one in the order begin the grid anew
//! where they change, and rows that are made up have their values; other columns have defaults, or with INTERPOLATE the
//! value of the row before.

use crate::SqlError;
use arrow::array::{Array, ArrayRef, AsArray, Datum, RecordBatch, Scalar, UInt32Array};
use arrow::compute::kernels::numeric;
use arrow::compute::{cast, interleave};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, SchemaRef};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use tambour_dialect::{Fill, Place};
use tambour_plan::default_of;

/// Rows of a batch that is made.
const BATCH_ROWS: usize = 8192;
/// Digits of a Decimal that holds every integer.
const DIGITS: u8 = 38;

/// A value of the filled column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn cmp(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(a), Self::Whole(b)) => a.cmp(&b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(&b),
            (Self::Whole(_), Self::Float(_)) => Ordering::Less,
            (Self::Float(_), Self::Whole(_)) => Ordering::Greater,
        }
    }
    fn is_positive(self) -> bool {
        match self {
            Self::Whole(number) => number > 0,
            Self::Float(number) => number > 0.0,
        }
    }
    fn is_zero(self) -> bool {
        self == Self::Whole(0) || self == Self::Float(0.0)
    }
}

/// From one value of the grid to the next.
#[derive(Clone, Debug)]
enum Step {
    Number(Number),
    Interval(ScalarValue),
}

/// The constants of a clause, evaluated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) from: Option<ScalarValue>,
    pub(crate) to: Option<ScalarValue>,
    pub(crate) step: Option<ScalarValue>,
}

/// What is known before there are rows.
#[derive(Debug)]
pub(crate) struct Filling {
    schema: SchemaRef,
    column: usize,
    groups: Vec<usize>,
    is_descending: bool,
    from: Option<Number>,
    to: Option<Number>,
    step: Step,
    interpolated: Vec<bool>,
    defaults: Vec<ArrayRef>,
    offset: u64,
    limit: Option<u64>,
}

fn place(place: &Place, schema: &SchemaRef) -> Result<usize, SqlError> {
    let found = match place {
        Place::Number(number) => (*number < schema.fields().len()).then_some(*number),
        Place::Name(name) => schema.fields().iter().position(|field| field.name() == name),
    };
    found.ok_or_else(|| {
        let name = match place {
            Place::Number(number) => (number + 1).to_string(),
            Place::Name(name) => name.clone(),
        };
        SqlError::refused(
            format!("ORDER BY {name} WITH FILL"),
            "it takes results: add it to the SELECT and order by its name",
        )
    })
}

/// Ticks of one second of an instant, 1 of all others.
fn ticks(data_type: &DataType) -> i128 {
    use arrow::datatypes::TimeUnit;
    match data_type {
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 1_000_000_000,
        _ => 1,
    }
}

/// The type in which values of a column are counted as integers; `None` for floats.
fn counted(data_type: &DataType) -> Result<Option<DataType>> {
    Ok(match data_type {
        DataType::Float32 | DataType::Float64 => None,
        DataType::Date32 => Some(DataType::Int32),
        DataType::Timestamp(..) => Some(DataType::Int64),
        other if other.is_integer() => Some(other.clone()),
        other => return plan_err!("WITH FILL takes numbers, dates and times, not {other}"),
    })
}

/// The values of a column as numbers.
fn numbers(values: &ArrayRef) -> Result<Vec<Option<Number>>> {
    let Some(whole) = counted(values.data_type())? else {
        let floats = cast(values, &DataType::Float64)?;
        let floats = floats.as_primitive::<Float64Type>();
        return Ok(floats.iter().map(|value| value.map(Number::Float)).collect());
    };
    let whole = cast(&cast(values, &whole)?, &DataType::Decimal128(DIGITS, 0))?;
    let whole = whole.as_primitive::<Decimal128Type>();
    Ok(whole.iter().map(|value| value.map(Number::Whole)).collect())
}

/// Numbers as values of a column.
fn values(numbers: &[Number], data_type: &DataType) -> Result<ArrayRef> {
    let exact = arrow::compute::CastOptions { safe: false, ..Default::default() };
    let Some(whole) = counted(data_type)? else {
        let floats = numbers.iter().map(|number| match number {
            Number::Float(number) => *number,
            Number::Whole(_) => f64::NAN,
        });
        let floats = arrow::array::Float64Array::from_iter_values(floats);
        return Ok(cast(&(Arc::new(floats) as ArrayRef), data_type)?);
    };
    let wholes = numbers.iter().map(|number| match number {
        Number::Whole(number) => *number,
        Number::Float(_) => 0,
    });
    let wholes = arrow::array::Decimal128Array::from_iter_values(wholes)
        .with_precision_and_scale(DIGITS, 0)?;
    let wholes = arrow::compute::cast_with_options(&wholes, &whole, &exact)?;
    Ok(cast(&wholes, data_type)?)
}

/// A constant as a number of the column.
fn bound(value: &ScalarValue, data_type: &DataType) -> Result<Number> {
    let of = |value: &ScalarValue| -> Result<Number> {
        let Some(Some(number)) = numbers(&value.to_array_of_size(1)?)?.first().copied() else {
            return plan_err!("FROM, TO and STEP of WITH FILL are not NULL");
        };
        Ok(number)
    };
    let is_moment =
        |data_type: &DataType| matches!(data_type, DataType::Date32 | DataType::Timestamp(..));
    let have = value.data_type();
    if is_moment(&have) {
        if !is_moment(data_type) {
            return plan_err!("WITH FILL of {data_type} does not take {have}");
        }
        return of(&value.cast_to(data_type)?);
    }
    if !have.is_numeric() {
        return plan_err!("FROM, TO and STEP of WITH FILL are numbers, dates or times, not {have}");
    }
    if counted(data_type)?.is_none() {
        return of(&value.cast_to(&DataType::Float64)?);
    }
    if have.is_floating() {
        return plan_err!("WITH FILL of whole values takes whole numbers, not {value}");
    }
    match of(value)? {
        Number::Whole(number) if number < 0 && data_type.is_unsigned_integer() => {
            plan_err!("WITH FILL of unsigned values takes no {number}")
        }
        Number::Whole(number) => Ok(Number::Whole(number * ticks(data_type))),
        float @ Number::Float(_) => Ok(float),
    }
}

impl Filling {
    pub(crate) fn new(fill: &Fill, bounds: &Bounds, schema: SchemaRef) -> Result<Self, SqlError> {
        let mut places = fill
            .columns
            .iter()
            .map(|column| place(column, &schema))
            .collect::<Result<Vec<_>, _>>()?;
        let column = places.pop().unwrap_or(0);
        let data_type = schema.field(column).data_type().clone();
        counted(&data_type)?;
        if schema.field(column).is_nullable() && (bounds.to.is_some() || bounds.from.is_some()) {
            return Err(SqlError::refused(
                "WITH FILL FROM ... TO ... of a column that may be NULL",
                "leave the NULLs out, with assumeNotNull(...)",
            ));
        }
        let limit = |value: &Option<ScalarValue>| {
            value.as_ref().map(|value| bound(value, &data_type)).transpose()
        };
        let step = step(bounds.step.as_ref(), &data_type, fill.is_descending)?;
        let names = fill.interpolated.as_ref();
        let is_interpolated =
            |name: &String| names.is_some_and(|names| names.is_empty() || names.contains(name));
        let interpolated =
            schema.fields().iter().map(|field| is_interpolated(field.name())).collect();
        let defaults = schema
            .fields()
            .iter()
            .map(|field| default_of(field)?.to_array_of_size(1))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            column,
            groups: places,
            is_descending: fill.is_descending,
            from: limit(&bounds.from)?,
            to: limit(&bounds.to)?,
            step,
            interpolated,
            defaults,
            offset: fill.offset,
            limit: fill.limit,
            schema,
        })
    }

    /// True if one value comes before another in the order.
    fn is_before(&self, one: Number, other: Number) -> bool {
        let order = if self.is_descending { other.cmp(one) } else { one.cmp(other) };
        order == Ordering::Less
    }

    /// The next value of the grid; `None` past the last that there can be.
    fn after(&self, number: Number) -> Result<Option<Number>> {
        match &self.step {
            Step::Number(step) => Ok(match (number, *step) {
                (Number::Whole(number), Number::Whole(step)) => {
                    number.checked_add(step).map(Number::Whole)
                }
                (Number::Float(number), Number::Float(step)) => Some(Number::Float(number + step)),
                _ => None,
            }),
            Step::Interval(interval) => {
                let data_type = self.schema.field(self.column).data_type();
                let value = Scalar::new(values(&[number], data_type)?);
                let interval = Scalar::new(interval.to_array_of_size(1)?);
                let moved = numeric::add(&value as &dyn Datum, &interval as &dyn Datum)?;
                let moved = numbers(&cast(&moved, data_type)?)?;
                Ok(moved.first().copied().flatten())
            }
        }
    }

    /// The rows with those that are made up.
    pub(crate) fn stream(self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let work = Work {
            left: self.limit,
            skip: self.offset,
            filling: self,
            rows: Some(rows),
            current: None,
            carried: None,
            group: None,
            next: None,
            is_open: false,
            ready: VecDeque::new(),
        };
        let batches = stream::unfold(Some(work), |work| async move {
            let mut work = work?;
            match work.batch().await {
                Ok(Some(batch)) => Some((Ok(batch), Some(work))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

fn step(
    value: Option<&ScalarValue>,
    data_type: &DataType,
    is_descending: bool,
) -> Result<Step, SqlError> {
    let wrong = |reason: &str| SqlError::refused("the STEP of WITH FILL", reason);
    let Some(value) = value else {
        return Ok(Step::Number(match (counted(data_type)?, is_descending) {
            (Some(_), false) => Number::Whole(ticks(data_type)),
            (Some(_), true) => Number::Whole(-ticks(data_type)),
            (None, false) => Number::Float(1.0),
            (None, true) => Number::Float(-1.0),
        }));
    };
    if matches!(value.data_type(), DataType::Interval(_)) {
        let ScalarValue::IntervalMonthDayNano(Some(interval)) = value else {
            return Err(wrong("it is a number or an interval like INTERVAL 1 DAY"));
        };
        let parts = [i64::from(interval.months), i64::from(interval.days), interval.nanoseconds];
        let sign = if is_descending { -1 } else { 1 };
        let is_forward =
            parts.iter().all(|part| part * sign >= 0) && parts.iter().any(|it| *it != 0);
        if !is_forward {
            return Err(wrong("it goes the way of the order: below zero for DESC, else above"));
        }
        if *data_type == DataType::Date32 && interval.nanoseconds != 0 {
            return Err(wrong("a date takes days and more"));
        }
        if !matches!(data_type, DataType::Date32 | DataType::Timestamp(..)) {
            return Err(wrong("an interval is for dates and times"));
        }
        return Ok(Step::Interval(value.clone()));
    }
    if !value.data_type().is_numeric() {
        return Err(wrong("it is a number or an interval like INTERVAL 1 DAY"));
    }
    let number = match counted(data_type)? {
        None => match value.cast_to(&DataType::Float64)? {
            ScalarValue::Float64(Some(number)) => Number::Float(number),
            _ => return Err(wrong("it is not NULL")),
        },
        Some(_) if value.data_type().is_floating() => {
            return Err(wrong("whole values take whole steps"));
        }
        Some(_) => match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(Some(number)) => {
                Number::Whole(i128::from(number) * ticks(data_type))
            }
            _ => return Err(wrong("it is not NULL")),
        },
    };
    if number.is_zero() || number.is_positive() == is_descending {
        return Err(wrong("it goes the way of the order: below zero for DESC, else above"));
    }
    Ok(Step::Number(number))
}

/// Rows that came, and how far they are looked at.
struct Current {
    batch: RecordBatch,
    values: Vec<Option<Number>>,
    groups: Vec<OwnedRow>,
    row: usize,
}

/// Where a row of the result comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A row that came.
    Row(usize),
    /// A value that is made up, beside the values of a row's group and the row before.
    Made { value: Number, group: Origin, before: Option<Origin> },
}

/// A row that came: of these rows, or the last one of those before.
#[derive(Clone, Copy)]
enum Origin {
    Carried,
    Row(usize),
}

struct Work {
    filling: Filling,
    rows: Option<SendableRecordBatchStream>,
    current: Option<Current>,
    /// The last row of those before.
    carried: Option<RecordBatch>,
    group: Option<OwnedRow>,
    /// The next value of the grid.
    next: Option<Number>,
    /// True within a group whose end was not reached.
    is_open: bool,
    skip: u64,
    left: Option<u64>,
    ready: VecDeque<RecordBatch>,
}

impl Work {
    /// The next batch, cut by OFFSET and LIMIT.
    async fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            if let Some(batch) = self.ready.pop_front() {
                let rows = batch.num_rows() as u64;
                let skipped = self.skip.min(rows);
                self.skip -= skipped;
                let kept = self.left.map_or(rows - skipped, |left| left.min(rows - skipped));
                self.left = self.left.map(|left| left - kept);
                if kept > 0 {
                    // Both are at most the rows of the batch.
                    let size = |rows| usize::try_from(rows).unwrap_or(usize::MAX);
                    return Ok(Some(batch.slice(size(skipped), size(kept))));
                }
                continue;
            }
            if self.current.is_none() && !self.receive().await? {
                return Ok(None);
            }
            self.work()?;
        }
    }

    /// Takes the next rows; an empty batch stands for the end. False past it.
    async fn receive(&mut self) -> Result<bool> {
        let Some(rows) = &mut self.rows else { return Ok(false) };
        let batch = loop {
            match rows.next().await.transpose()? {
                Some(batch) if batch.num_rows() == 0 => {}
                other => break other,
            }
        };
        let batch = if let Some(batch) = batch {
            batch
        } else {
            self.rows = None;
            // No rows at all: the grid of FROM and TO alone.
            if self.carried.is_none() {
                self.is_open = self.filling.from.is_some();
                self.next = self.filling.from;
            }
            RecordBatch::new_empty(Arc::clone(&self.filling.schema))
        };
        let values = numbers(batch.column(self.filling.column))?;
        let groups = groups(&batch, &self.filling.groups)?;
        self.current = Some(Current { batch, values, groups, row: 0 });
        Ok(true)
    }

    /// Makes a batch of the rows that came, as far as one goes.
    fn work(&mut self) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        let mut sources = Vec::new();
        while sources.len() < BATCH_ROWS {
            let before = match current.row.checked_sub(1) {
                Some(row) => Some(Origin::Row(row)),
                None => self.carried.as_ref().map(|_| Origin::Carried),
            };
            let is_end = current.row == current.batch.num_rows();
            let is_new = !is_end && self.group.as_ref() != current.groups.get(current.row);
            if is_new || (is_end && self.rows.is_none()) {
                // The rest of the group that ends here.
                if self.is_open
                    && let (Some(value), Some(to)) = (self.next, self.filling.to)
                    && self.filling.is_before(value, to)
                {
                    let group = before.unwrap_or(Origin::Carried);
                    sources.push(Source::Made { value, group, before });
                    self.next = self.filling.after(value)?;
                    continue;
                }
                if is_end {
                    break;
                }
                self.group = current.groups.get(current.row).cloned();
                (self.next, self.is_open) = (self.filling.from, true);
            } else if is_end {
                break;
            }
            let Some(value) = current.values[current.row] else {
                sources.push(Source::Row(current.row));
                current.row += 1;
                continue;
            };
            let next = self.next.unwrap_or(value);
            let ends = self.filling.to.is_some_and(|to| !self.filling.is_before(next, to));
            if self.filling.is_before(next, value) && !ends {
                let group = Origin::Row(current.row);
                sources.push(Source::Made { value: next, group, before });
                match self.filling.after(next)? {
                    Some(after) => self.next = Some(after),
                    None => return exec_err!("the values of WITH FILL do not fit the type"),
                }
                continue;
            }
            sources.push(Source::Row(current.row));
            current.row += 1;
            // The value is there, so the grid goes on past it.
            self.next = if self.filling.is_before(value, next) || ends {
                Some(next)
            } else {
                self.filling.after(next)?
            };
        }
        if !sources.is_empty() {
            let batch = self.made(&current.batch, &sources)?;
            self.ready.push_back(batch);
        }
        if current.row == current.batch.num_rows() && (sources.len() < BATCH_ROWS) {
            if current.row > 0 {
                self.carried = Some(current.batch.slice(current.row - 1, 1));
            }
        } else {
            self.current = Some(current);
        }
        Ok(())
    }

    /// The rows of some sources.
    fn made(&self, batch: &RecordBatch, sources: &[Source]) -> Result<RecordBatch> {
        let filling = &self.filling;
        let made: Vec<Number> = sources
            .iter()
            .filter_map(|source| match source {
                Source::Made { value, .. } => Some(*value),
                Source::Row(_) => None,
            })
            .collect();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (index, column) in batch.columns().iter().enumerate() {
            if index == filling.column {
                let mut count = 0;
                let places: Vec<(usize, usize)> = sources
                    .iter()
                    .map(|source| match source {
                        Source::Row(row) => (0, *row),
                        Source::Made { .. } => {
                            count += 1;
                            (1, count - 1)
                        }
                    })
                    .collect();
                let grid = values(&made, column.data_type())?;
                columns.push(interleave(&[column.as_ref(), grid.as_ref()], &places)?);
                continue;
            }
            let default = &filling.defaults[index];
            let carried = self.carried.as_ref().map_or(default, |row| row.column(index));
            let place = |origin: Origin| match origin {
                Origin::Carried => (1, 0),
                Origin::Row(row) => (0, row),
            };
            let is_key = filling.groups.contains(&index);
            let places: Vec<(usize, usize)> = sources
                .iter()
                .map(|source| match source {
                    Source::Row(row) => (0, *row),
                    Source::Made { group, .. } if is_key => place(*group),
                    Source::Made { before: Some(before), .. } if filling.interpolated[index] => {
                        place(*before)
                    }
                    Source::Made { .. } => (2, 0),
                })
                .collect();
            let of = [column.as_ref(), carried.as_ref(), default.as_ref()];
            columns.push(interleave(&of, &places)?);
        }
        RecordBatch::try_new(Arc::clone(&filling.schema), columns).map_err(DataFusionError::from)
    }
}

/// The values of some columns, to compare.
fn groups(batch: &RecordBatch, columns: &[usize]) -> Result<Vec<OwnedRow>> {
    let (fields, arrays): (Vec<SortField>, Vec<ArrayRef>) = if columns.is_empty() {
        let zeros: ArrayRef = Arc::new(UInt32Array::from(vec![0; batch.num_rows()]));
        (vec![SortField::new(DataType::UInt32)], vec![zeros])
    } else {
        columns
            .iter()
            .map(|index| {
                let column = Arc::clone(batch.column(*index));
                (SortField::new(column.data_type().clone()), column)
            })
            .unzip()
    };
    let rows = RowConverter::new(fields)?.convert_columns(&arrays)?;
    Ok(rows.iter().map(|row| row.owned()).collect())
}
