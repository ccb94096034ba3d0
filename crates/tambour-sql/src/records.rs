//! A log of records as a table: JSON lines with a schema on read.
//!
//! Each record is a row. `_id`, `_time` and `_record` are what the store knows of it; the other columns are the fields of
//! JSON objects, with types taken from a sample. Only the fields that a query names are parsed. Segments that have no
//! wanted time, and ids that are not wanted, are not read.

use arrow::array::{
    ArrayRef, BinaryBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use arrow_json::reader::infer_json_schema_from_iterator;
use arrow_json::{ReaderBuilder, reader::Decoder};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use tambour_part::types::Strings;
use tambour_store::record::{RecordError, Scanned, View};

/// Records whose fields decide over the columns: so many at the start,
const SAMPLE_FIRST: u64 = 1000;
/// and in so many places of the rest
const SAMPLE_PLACES: u64 = 64;
/// so many each.
const SAMPLE_EACH: u64 = 32;
/// Bytes of records in a batch, about, above which it gets no further one.
const BATCH_BYTES: usize = 16 << 20;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Id,
    Time,
    Record,
    Field,
}

/// The records of one category, as the SQL engine sees them.
#[derive(Debug)]
pub struct RecordTable {
    view: Arc<View>,
    schema: SchemaRef,
    sources: Vec<Source>,
    batch_rows: usize,
}

impl RecordTable {
    /// A provider for a view. The columns come from a sample of the records.
    pub fn new(view: Arc<View>, strings: Strings, batch_rows: usize) -> Result<Self> {
        let fields = sampled_fields(&view)?;
        let text = match strings {
            Strings::Utf8 => DataType::Utf8,
            Strings::Binary => DataType::Binary,
        };
        let known = [
            ("_id", DataType::UInt64, false, Source::Id),
            ("_time", DataType::Timestamp(TimeUnit::Microsecond, None), true, Source::Time),
            ("_record", text, false, Source::Record),
        ];
        let mut sources = Vec::new();
        let mut columns = Vec::new();
        for (name, data_type, nullable, source) in known {
            // What the records call so keeps its name.
            let mut name = name.to_owned();
            while fields.iter().any(|field| *field.name() == name) {
                name.insert(0, '_');
            }
            columns.push(Arc::new(Field::new(name, data_type, nullable)));
            sources.push(source);
        }
        sources.extend(fields.iter().map(|_| Source::Field));
        columns.extend(fields.iter().cloned());
        let schema = Arc::new(Schema::new(columns));
        Ok(Self { view, schema, sources, batch_rows })
    }

    /// The bounds that filters set.
    fn bounds(&self, filters: &[Expr]) -> Bounds {
        let mut bounds = Bounds { ids: self.view.ids(), times: None };
        for filter in filters {
            self.narrow(&mut bounds, filter);
        }
        bounds
    }

    /// Narrows the bounds by a filter as far as it is understood; whether it is.
    fn narrow(&self, bounds: &mut Bounds, filter: &Expr) -> bool {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                // Both sides, even if only one of them is understood.
                self.narrow(bounds, left) | self.narrow(bounds, right)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
                (Expr::Column(column), Expr::Literal(value, _)) => {
                    self.compare(bounds, &column.name, *op, value)
                }
                (Expr::Literal(value, _), Expr::Column(column)) => {
                    let turned = op.swap();
                    turned.is_some_and(|op| self.compare(bounds, &column.name, op, value))
                }
                _ => false,
            },
            Expr::Between(between) if !between.negated => {
                let (Expr::Column(column), Expr::Literal(low, _), Expr::Literal(high, _)) =
                    (&*between.expr, &*between.low, &*between.high)
                else {
                    return false;
                };
                self.compare(bounds, &column.name, Operator::GtEq, low)
                    | self.compare(bounds, &column.name, Operator::LtEq, high)
            }
            _ => false,
        }
    }

    fn compare(&self, bounds: &mut Bounds, name: &str, op: Operator, value: &ScalarValue) -> bool {
        let Ok(index) = self.schema.index_of(name) else { return false };
        match (self.sources[index], value) {
            (Source::Id, ScalarValue::UInt64(Some(id))) => {
                let wanted = range(op, *id, 0, u64::MAX, |id| id.saturating_add(1));
                wanted.map(|wanted| meet(&mut bounds.ids, &wanted)).is_some()
            }
            (Source::Time, ScalarValue::TimestampMicrosecond(Some(time), _)) => {
                let next = |time: i64| time.saturating_add(1);
                let wanted = range(op, *time, i64::MIN, i64::MAX, next);
                let Some(wanted) = wanted else { return false };
                meet(bounds.times.get_or_insert(i64::MIN..i64::MAX), &wanted);
                true
            }
            _ => false,
        }
    }

    fn plan(&self, projection: &[usize], bounds: &Bounds, partitions: usize) -> Vec<Part> {
        let schema = Arc::new(Schema::new(
            projection.iter().map(|index| self.schema.field(*index).clone()).collect::<Vec<_>>(),
        ));
        let sources: Vec<Source> = projection.iter().map(|index| self.sources[*index]).collect();
        let part = |ids: Range<u64>| Part {
            view: Arc::clone(&self.view),
            schema: Arc::clone(&schema),
            sources: sources.clone(),
            ids,
            times: bounds.times.clone(),
            batch_rows: self.batch_rows,
        };
        if bounds.times.is_some() {
            // Times are found segment by segment, in one go.
            return vec![part(bounds.ids.clone())];
        }
        let Range { start, end } = bounds.ids;
        let count = end.saturating_sub(start);
        let partitions = (partitions as u64).clamp(1, (count / self.batch_rows as u64).max(1));
        let edge =
            |k: u64| if k == partitions { end.max(start) } else { start + count / partitions * k };
        (0..partitions).map(|k| part(edge(k)..edge(k + 1))).collect()
    }
}

/// What is wanted.
#[derive(Clone, Debug)]
struct Bounds {
    ids: Range<u64>,
    /// `None`: any time, or none.
    times: Option<Range<i64>>,
}

/// The values that a comparison lets through.
fn range<T: Copy>(
    op: Operator,
    value: T,
    min: T,
    max: T,
    next: impl Fn(T) -> T,
) -> Option<Range<T>> {
    match op {
        Operator::Eq => Some(value..next(value)),
        Operator::Lt => Some(min..value),
        Operator::LtEq => Some(min..next(value)),
        Operator::Gt => Some(next(value)..max),
        Operator::GtEq => Some(value..max),
        _ => None,
    }
}

fn meet<T: Ord + Copy>(range: &mut Range<T>, other: &Range<T>) {
    range.start = range.start.max(other.start);
    range.end = range.end.min(other.end).max(range.start);
}

/// The fields of JSON objects in a sample, by name; none if the first record is no object.
fn sampled_fields(view: &Arc<View>) -> Result<Fields> {
    let ids = view.ids();
    let count = ids.end - ids.start;
    let first = ids.start..ids.start + count.min(SAMPLE_FIRST);
    let mut stretches = Vec::from([first]);
    if count > SAMPLE_FIRST {
        let places = (0..SAMPLE_PLACES).map(|k| ids.start + count / SAMPLE_PLACES * k);
        stretches.extend(places.map(|start| start..(start + SAMPLE_EACH).min(ids.end)));
    }
    let mut reader = view.reader();
    let mut values = Vec::new();
    for stretch in stretches {
        let mut plain = false;
        let visit = |Scanned { record, .. }: Scanned<'_>| {
            match serde_json::from_slice(record) {
                Ok(value @ serde_json::Value::Object(_)) => values.push(value),
                // The first one decides; a later one is an error for those who ask for its fields.
                _ => plain = values.is_empty(),
            }
            if plain { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.scan(stretch, visit).map_err(external)?;
        if plain {
            return Ok(Fields::empty());
        }
    }
    Ok(inferred_fields(&values))
}

/// A column for each field of the objects, by name. A field that is an object here and a number there is left out; so is one
/// that was null everywhere.
fn inferred_fields(values: &[serde_json::Value]) -> Fields {
    let infer = |values: &mut dyn Iterator<Item = serde_json::Value>| {
        infer_json_schema_from_iterator(values.map(Ok::<_, ArrowError>))
    };
    let mut fields: Vec<FieldRef> = if let Ok(schema) = infer(&mut values.iter().cloned()) {
        schema.fields().iter().cloned().collect()
    } else {
        let objects = values.iter().filter_map(serde_json::Value::as_object);
        let names: BTreeSet<&String> = objects.flat_map(|object| object.keys()).collect();
        let alone = |name: &&String| {
            let mut own = values.iter().filter_map(|value| {
                Some(serde_json::json!({ name.as_str(): value.get(name.as_str())?.clone() }))
            });
            let schema = infer(&mut own).ok()?;
            schema.fields().first().cloned()
        };
        names.iter().filter_map(alone).collect()
    };
    fields.retain(|field| !is_null(field));
    for field in &mut fields {
        if has_large_numbers(field, values) {
            *field = Arc::new(field.as_ref().clone().with_data_type(DataType::UInt64));
        }
    }
    fields.sort_by(|a, b| a.name().cmp(b.name()));
    fields.into()
}

/// Whether all values of a field are whole and not negative, and one of them is above those of `Int64`: as floats they would
/// lose their last digits.
fn has_large_numbers(field: &Field, values: &[serde_json::Value]) -> bool {
    let mut own =
        values.iter().filter_map(|value| value.get(field.name())).filter(|v| !v.is_null());
    *field.data_type() == DataType::Float64 && own.all(serde_json::Value::is_u64)
}

/// A field that was null in every record: no type can be told.
fn is_null(field: &Field) -> bool {
    *field.data_type() == DataType::Null
}

fn external(error: RecordError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[async_trait]
impl TableProvider for RecordTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let bounds = self.bounds(filters);
        let parts = self.plan(projection, &bounds, state.config().target_partitions());
        let schema = Arc::clone(&parts[0].schema);
        let streams = parts.into_iter().map(|part| Arc::new(part) as Arc<dyn PartitionStream>);
        let limit = limit.filter(|_| filters.is_empty());
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            streams.collect(),
            None,
            [],
            false,
            limit,
        )?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            let mut bounds = Bounds { ids: 0..u64::MAX, times: None };
            if self.narrow(&mut bounds, filter) {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }
}

/// One partition of a scan.
#[derive(Clone, Debug)]
struct Part {
    view: Arc<View>,
    schema: SchemaRef,
    sources: Vec<Source>,
    ids: Range<u64>,
    times: Option<Range<i64>>,
    batch_rows: usize,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let (sender, part) = (stream.tx(), self.clone());
        stream.spawn_blocking(move || {
            // Nobody listens any more when the query was cancelled or has its rows.
            part.read(|batch| sender.blocking_send(Ok(batch)).is_ok())
        });
        stream.build()
    }
}

impl Part {
    /// Reads everything; `pass` takes a batch and says whether to go on.
    fn read(&self, mut pass: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        let mut reader = self.view.reader();
        let mut rows = Rows::new(self)?;
        let mut outcome = Ok(());
        let mut on = true;
        let visit = |scanned: Scanned<'_>| {
            if !self.ids.contains(&scanned.id) {
                return ControlFlow::Continue(());
            }
            let added = rows.add(scanned).and_then(|()| {
                if rows.are_full(self.batch_rows) {
                    on = pass(rows.finish()?);
                }
                Ok(())
            });
            if let Err(error) = added {
                outcome = Err(error);
                on = false;
            }
            if on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match &self.times {
            Some(times) => reader.scan_time(times.clone(), visit),
            None => reader.scan(self.ids.clone(), visit),
        }
        .map_err(external)?;
        outcome?;
        if on && rows.count > 0 {
            pass(rows.finish()?);
        }
        Ok(())
    }
}

/// Rows on their way into a batch.
struct Rows {
    schema: SchemaRef,
    sources: Vec<Source>,
    ids: UInt64Builder,
    times: TimestampMicrosecondBuilder,
    texts: StringBuilder,
    bytes: BinaryBuilder,
    /// Parses the fields that are wanted; `None` if none is.
    fields: Option<Decoder>,
    count: usize,
    size: usize,
    first: u64,
}

impl Rows {
    fn new(part: &Part) -> Result<Self> {
        let columns = part.schema.fields().iter().zip(&part.sources);
        let wanted: Vec<_> = columns
            .filter(|(_, source)| **source == Source::Field)
            .map(|(field, _)| parsed_field(field))
            .collect();
        let fields = if wanted.is_empty() {
            None
        } else {
            let builder = ReaderBuilder::new(Arc::new(Schema::new(wanted)));
            // Numbers and booleans may stand where the sample had strings.
            let builder = builder.with_coerce_primitive(true);
            Some(builder.with_batch_size(part.batch_rows).build_decoder()?)
        };
        Ok(Self {
            schema: Arc::clone(&part.schema),
            sources: part.sources.clone(),
            ids: UInt64Builder::new(),
            times: TimestampMicrosecondBuilder::new(),
            texts: StringBuilder::new(),
            bytes: BinaryBuilder::new(),
            fields,
            count: 0,
            size: 0,
            first: 0,
        })
    }

    fn add(&mut self, scanned: Scanned<'_>) -> Result<()> {
        let Scanned { id, time, record } = scanned;
        if self.count == 0 {
            self.first = id;
        }
        for (at, source) in self.sources.iter().enumerate() {
            match source {
                Source::Id => self.ids.append_value(id),
                Source::Time => self.times.append_option(time),
                Source::Record if *self.schema.field(at).data_type() == DataType::Binary => {
                    self.bytes.append_value(record);
                }
                Source::Record => {
                    self.texts.append_value(std::str::from_utf8(record).map_err(|_| {
                        let hint = "is not UTF-8; --strings binary reads it as bytes";
                        DataFusionError::Execution(format!("record {id} {hint}"))
                    })?);
                }
                Source::Field => {}
            }
        }
        if let Some(fields) = &mut self.fields {
            let before = fields.len();
            let parsed = fields.decode(record).map_err(|error| at_record(id, &error))?;
            let whole = parsed == record.len() && !fields.has_partial_record();
            if !whole || fields.len() != before + 1 {
                let reason = "is not one JSON object; `_record` has it as it is";
                return Err(DataFusionError::Execution(format!("record {id} {reason}")));
            }
        }
        self.count += 1;
        self.size += record.len();
        Ok(())
    }

    fn are_full(&self, batch_rows: usize) -> bool {
        self.count >= batch_rows || self.size >= BATCH_BYTES
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let parsed = match &mut self.fields {
            Some(fields) => fields.flush().map_err(|error| at_record(self.first, &error))?,
            None => None,
        };
        let mut next_field = 0;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.sources.len());
        for (at, source) in self.sources.iter().enumerate() {
            columns.push(match source {
                Source::Id => Arc::new(self.ids.finish()),
                Source::Time => Arc::new(self.times.finish()),
                Source::Record if *self.schema.field(at).data_type() == DataType::Binary => {
                    Arc::new(self.bytes.finish())
                }
                Source::Record => Arc::new(self.texts.finish()),
                Source::Field => {
                    let Some(parsed) = &parsed else {
                        return Err(DataFusionError::Internal("fields without rows".to_owned()));
                    };
                    next_field += 1;
                    let (column, wanted) =
                        (parsed.column(next_field - 1), self.schema.field(at).data_type());
                    let whole = cast_with_options(column, wanted, &STRICT);
                    whole.map_err(|error| at_record(self.first, &error))?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        (self.count, self.size) = (0, 0);
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

/// A number that is not whole in a column of whole numbers is an error.
const STRICT: CastOptions<'_> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// As what a field is parsed: whole numbers as their text, since the parser would cut off fractions without a word.
fn parsed_field(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Int64 | DataType::UInt64 => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8))
        }
        _ => Arc::clone(field),
    }
}

/// What the parser says, with the place.
fn at_record(id: u64, error: &ArrowError) -> DataFusionError {
    let reason = error.to_string();
    let reason = reason.strip_prefix("Json error: ").unwrap_or(&reason);
    DataFusionError::Execution(format!(
        "records from {id} on: {reason}. Columns have the types of a sample; `_record` has each record as it is"
    ))
}
