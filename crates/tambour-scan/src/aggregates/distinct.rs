//! Different tuples, arrays and texts are counted by their bytes, and different values of groups listed.
//!
//! The engine keeps each as an array of one row and takes its size to be that of all buffers it shares: some thousand tuples with
//! a text came to hundreds of gigabytes, above any limit. Rows as bytes are hashed once and take what they are long. Two are
//! equal where ClickHouse's are, which compares bytes, too. Of many groups, the engine has a set for each, with room for a hundred values:
//! one set of all groups takes a tenth of the time.

use super::call_of;
use super::grouped::{Grouped, aggregate};
use super::unique::unique;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int64Array, LargeBinaryArray, LargeBinaryBuilder,
    ListArray, ListBuilder,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{HashSet, Result, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, ColumnarValue, EmitTo, Expr, ExprSchemable, GroupsAccumulator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::{Arc, LazyLock};

/// The calls of an aggregate, of which those that count or list different values do so by their bytes.
pub(super) fn calls(aggregate: &Aggregate) -> Result<Vec<Expr>> {
    let groups_twice = is_grouped_twice(&aggregate.aggr_expr);
    aggregate.aggr_expr.iter().map(|expr| by_bytes(expr, aggregate, groups_twice)).collect()
}

/// True if the engine groups by the keys and the only value that is counted, and then by the keys alone.
fn is_grouped_twice(calls: &[Expr]) -> bool {
    let mut counted: Option<&[Expr]> = None;
    calls.iter().all(|expr| {
        let Some(AggregateFunction { func, params }) = call_of(expr) else { return false };
        if params.filter.as_deref().is_some_and(|it| !is_true(it)) || !params.order_by.is_empty() {
            return false;
        }
        let same = !params.distinct || counted.is_none_or(|other| other == params.args);
        if params.distinct {
            counted = Some(&params.args);
        }
        same && (params.distinct || matches!(func.name(), "sum" | "min" | "max"))
    })
}

fn is_true(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _))
}

/// A call that counts different values by their bytes, if it counts any that have to be. A condition that is true is left out: the
/// engine would take it for one.
fn by_bytes(expr: &Expr, aggregate: &Aggregate, groups_twice: bool) -> Result<Expr> {
    let Some(found) = call_of(expr) else { return Ok(expr.clone()) };
    let mut call = found.clone();
    call.params.filter = call.params.filter.filter(|it| !is_true(it));
    let unless_same = |call: AggregateFunction| {
        if &call == found { expr.clone() } else { Expr::AggregateFunction(call) }
    };
    let [argument] = call.params.args.as_slice() else { return Ok(unless_same(call)) };
    let data_type = argument.get_type(aggregate.input.schema())?;
    if call.func.name() == "array_agg"
        && call.params.distinct
        && call.params.order_by.is_empty()
        && !aggregate.group_expr.is_empty()
        && is_told_by_bytes(&data_type)
        && (call.params.null_treatment == Some(NullTreatment::IgnoreNulls)
            || leaves_out(call.params.filter.as_deref(), argument)
            || !argument.nullable(aggregate.input.schema())?)
    {
        call.params.distinct = false;
        call.params.null_treatment = None;
        call.func = Arc::new(unique());
        return Ok(unless_same(call));
    }
    let is_it = call.func.name() == "count" && call.params.distinct && !data_type.is_null();
    // Numbers of many groups the engine has in one set itself; of other values, one set for each group.
    let is_of_sets = !groups_twice && !aggregate.group_expr.is_empty() && !data_type.is_integer();
    if !is_it || !(is_of_sets || data_type.is_nested()) || !is_told_by_bytes(&data_type) {
        return Ok(unless_same(call));
    }
    if data_type != DataType::LargeBinary {
        call.params.args = vec![ROW_BYTES.call(vec![argument.clone()])];
    }
    if is_of_sets {
        call.params.distinct = false;
        call.func = Arc::new(count_bytes());
    }
    Ok(Expr::AggregateFunction(call))
}

/// True if a condition leaves out rows where a value is NULL.
fn leaves_out(filter: Option<&Expr>, value: &Expr) -> bool {
    let is_it = |it: &&Expr| matches!(it, Expr::IsNotNull(inner) if **inner == *value);
    filter.is_some_and(|filter| split_conjunction(filter).iter().any(is_it))
}

/// True if rows of the type have a form in bytes.
pub(super) fn is_told_by_bytes(data_type: &DataType) -> bool {
    RowConverter::supports_fields(&[SortField::new(data_type.clone())])
}

static ROW_BYTES: LazyLock<ScalarUDF> = LazyLock::new(row_bytes);

/// The function that gives each value as bytes. Nobody types its name.
pub(super) fn row_bytes() -> ScalarUDF {
    ScalarUDF::new_from_impl(RowBytes { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RowBytes {
    signature: Signature,
}

impl ScalarUDFImpl for RowBytes {
    fn name(&self) -> &'static str {
        "\u{1f}row_bytes"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&args.args)?;
        let [values] = values.as_slice() else {
            return Err(DataFusionError::Internal("row_bytes takes one value".to_owned()));
        };
        Ok(ColumnarValue::Array(Arc::new(bytes_of(values)?)))
    }
}

/// The bytes of each value; NULL of a NULL.
pub(super) fn bytes_of(values: &ArrayRef) -> Result<LargeBinaryArray> {
    if let Ok(texts) = as_bytes(values) {
        return Ok(texts.as_binary().clone());
    }
    let field = SortField::new(values.data_type().clone());
    let rows = RowConverter::new(vec![field])?.convert_columns(&[Arc::clone(values)])?;
    let mut bytes = LargeBinaryBuilder::with_capacity(rows.num_rows(), rows.size());
    for (at, row) in rows.iter().enumerate() {
        bytes.append_option(values.is_valid(at).then(|| row.data()));
    }
    Ok(bytes.finish())
}

/// Texts as they are.
fn as_bytes(values: &ArrayRef) -> Result<ArrayRef> {
    let bytes = match values.data_type() {
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => {
            cast(values, &DataType::BinaryView)?
        }
        DataType::Binary | DataType::BinaryView => Arc::clone(values),
        other => return Err(DataFusionError::Internal(format!("{other} as bytes"))),
    };
    Ok(cast(&bytes, &DataType::LargeBinary)?)
}

/// The aggregate that counts different bytes. Nobody types its name.
pub(super) fn count_bytes() -> AggregateUDF {
    aggregate::<Different>()
}

/// What was seen of all groups: the number of the group and the bytes after it.
#[derive(Debug, Default)]
pub(super) struct Different {
    seen: HashSet<Box<[u8]>>,
    counts: Vec<i64>,
    bytes: usize,
    scratch: Vec<u8>,
}

const GROUP_BYTES: usize = size_of::<u64>();

impl Different {
    /// Makes room for this many groups.
    pub(super) fn resize(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    /// True if the value is new to the group.
    pub(super) fn see(&mut self, group: usize, value: &[u8]) -> bool {
        self.scratch.clear();
        self.scratch.extend_from_slice(&(group as u64).to_le_bytes());
        self.scratch.extend_from_slice(value);
        if self.seen.contains(self.scratch.as_slice()) {
            return false;
        }
        self.seen.insert(self.scratch.as_slice().into());
        self.bytes += self.scratch.len();
        if let Some(count) = self.counts.get_mut(group) {
            *count += 1;
        }
        true
    }

    /// How many values there were of the groups that are handed out.
    pub(super) fn counted(&mut self, emit_to: EmitTo) -> Vec<i64> {
        drop(self.take(emit_to));
        emit_to.take_needed(&mut self.counts)
    }

    /// Takes out what was seen of the groups that are handed out; the others move to the front.
    fn take(&mut self, emit_to: EmitTo) -> Vec<(usize, Box<[u8]>)> {
        let emitted = match emit_to {
            EmitTo::All => self.counts.len(),
            EmitTo::First(count) => count,
        };
        let mut taken = Vec::new();
        for mut entry in std::mem::take(&mut self.seen) {
            let Some((number, value)) = entry.split_first_chunk_mut::<GROUP_BYTES>() else {
                continue;
            };
            let group = usize::try_from(u64::from_le_bytes(*number)).unwrap_or(usize::MAX);
            if group < emitted {
                self.bytes -= GROUP_BYTES + value.len();
                taken.push((group, entry));
            } else {
                *number = ((group - emitted) as u64).to_le_bytes();
                self.seen.insert(entry);
            }
        }
        taken
    }
}

impl Grouped for Different {
    const NAME: &'static str = "\u{1f}count_bytes";
    const ARGUMENTS: usize = 1;

    fn new(_args: &AccumulatorArgs<'_>) -> Result<Self> {
        Ok(Self::default())
    }
    fn result(_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }
    fn states(_result: &DataType) -> Vec<(&'static str, DataType)> {
        vec![("count bytes", DataType::new_list(DataType::LargeBinary, true))]
    }
    fn of_nothing() -> Option<ScalarValue> {
        Some(ScalarValue::Int64(Some(0)))
    }
}

impl GroupsAccumulator for Different {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [values] = values else { return Ok(()) };
        let values = values.as_binary::<i64>();
        for (row, group) in group_indices.iter().enumerate() {
            let is_in = filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            if is_in && values.is_valid(row) {
                self.see(*group, values.value(row));
            }
        }
        Ok(())
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [lists] = values else { return Ok(()) };
        for (list, group) in lists.as_list::<i32>().iter().zip(group_indices) {
            let Some(list) = list else { continue };
            for value in list.as_binary::<i64>().iter().flatten() {
                self.see(*group, value);
            }
        }
        Ok(())
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(self.counted(emit_to))))
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut taken = self.take(emit_to);
        taken.sort_unstable_by_key(|(group, _)| *group);
        let counts = emit_to.take_needed(&mut self.counts);
        let values = taken.iter().map(|(_, entry)| entry.get(GROUP_BYTES..));
        let values: LargeBinaryArray = values.collect();
        let lengths = counts.into_iter().map(|count| usize::try_from(count).unwrap_or(0));
        let offsets = OffsetBuffer::from_lengths(lengths);
        let item = Arc::new(Field::new_list_field(DataType::LargeBinary, true));
        Ok(vec![Arc::new(ListArray::try_new(item, offsets, Arc::new(values), None)?)])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return Ok(Vec::new()) };
        let values = values.as_binary::<i64>();
        let mut lists = ListBuilder::new(LargeBinaryBuilder::new());
        for row in 0..values.len() {
            let is_in = filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            if is_in && values.is_valid(row) {
                lists.values().append_value(values.value(row));
            }
            lists.append(true);
        }
        Ok(vec![Arc::new(lists.finish())])
    }
    fn size(&self) -> usize {
        let entry = size_of::<Box<[u8]>>() + 1;
        self.seen.capacity() * entry + self.bytes + self.counts.capacity() * size_of::<i64>()
    }
}
