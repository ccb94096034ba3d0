//! The first tuple or array of each group in an order: `argMax((a, b), t)`, `max((a, b))`.
//!
//! The engine keeps the value of each group as an array of one row, which takes eight times as long as the same of numbers, and
//! counts the memory that these share once for each. Here a value is the bytes of its row, and so are the keys of its order.

use super::distinct::is_told_by_bytes;
use super::grouped::{Grouped, aggregate};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, LargeBinaryArray, LargeBinaryBuilder, UInt64Array,
    new_null_array,
};
use datafusion::arrow::compute::{SortOptions, take};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{
    HashMap, Result, ScalarValue, internal_datafusion_err, internal_err, plan_err,
};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment, Sort};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, ColumnarValue, EmitTo, Expr, ExprSchemable, GroupsAccumulator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use std::sync::Arc;

/// The call that takes the place of a `first_value` of rows in an order, or of a `min` or `max`, if values and keys have a form in
/// bytes.
pub(super) fn first_of(call: &AggregateFunction, aggregate: &Aggregate) -> Result<Option<Expr>> {
    let mut params = call.params.clone();
    let [value] = call.params.args.as_slice() else { return Ok(None) };
    match (call.func.name(), params.order_by.is_empty()) {
        ("first_value", false) if !params.distinct => {}
        // Inside of values NULL is the least of all.
        (name @ ("min" | "max"), true) => {
            params.order_by = vec![value.clone().sort(name == "min", name == "min")];
            params.null_treatment = Some(NullTreatment::IgnoreNulls);
            params.distinct = false;
        }
        _ => return Ok(None),
    }
    let keys: Vec<Expr> = params.order_by.iter().map(|it| it.expr.clone()).collect();
    let schema = aggregate.input.schema();
    for key in &keys {
        if !is_told_by_bytes(&key.get_type(schema)?) {
            return Ok(None);
        }
    }
    // Rows forget which values were in a dictionary.
    let plain = without_dictionaries(&value.get_type(schema)?);
    if !is_told_by_bytes(&plain) {
        return Ok(None);
    }
    let value = value.clone().cast_to(&plain, schema)?;
    let order = [lit(spelled(&params.order_by))].into_iter().chain(keys).collect();
    params.args = vec![value, order_bytes().call(order)];
    params.order_by = Vec::new();
    Ok(Some(Expr::AggregateFunction(AggregateFunction { func: Arc::new(first()), params })))
}

/// The type with the values of dictionaries as they are.
fn without_dictionaries(data_type: &DataType) -> DataType {
    let plain = |field: &FieldRef| {
        let inner = without_dictionaries(field.data_type());
        Arc::new(field.as_ref().clone().with_data_type(inner))
    };
    match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::List(item) => DataType::List(plain(item)),
        DataType::LargeList(item) => DataType::LargeList(plain(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(plain(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// Two letters for each key of an order: whether it ascends or descends, and whether its NULLs are first or last.
pub(super) fn spelled(order: &[Sort]) -> String {
    let letters = order
        .iter()
        .flat_map(|it| [if it.asc { 'a' } else { 'd' }, if it.nulls_first { 'f' } else { 'l' }]);
    letters.collect()
}

/// The function that gives the keys of an order as bytes, of which those of the first row are the least. Nobody types its name.
pub(super) fn order_bytes() -> ScalarUDF {
    let signature = Signature::variadic_any(Volatility::Immutable);
    ScalarUDF::new_from_impl(OrderBytes { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderBytes {
    signature: Signature,
}

impl ScalarUDFImpl for OrderBytes {
    fn name(&self) -> &'static str {
        "\u{1f}order_bytes"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(ScalarValue::Utf8(Some(order))), keys @ ..] =
            args.args.as_slice()
        else {
            return internal_err!("order_bytes is told no order");
        };
        let keys = keys.iter().map(|key| key.to_array(args.number_rows));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let (letters, _) = order.as_bytes().as_chunks::<2>();
        let fields = keys.iter().zip(letters).map(|(key, [direction, nulls])| {
            let options =
                SortOptions { descending: *direction == b'd', nulls_first: *nulls == b'f' };
            SortField::new_with_options(key.data_type().clone(), options)
        });
        let rows = RowConverter::new(fields.collect())?.convert_columns(&keys)?;
        let mut bytes = LargeBinaryBuilder::with_capacity(rows.num_rows(), rows.size());
        rows.iter().for_each(|row| bytes.append_value(row.data()));
        Ok(ColumnarValue::Array(Arc::new(bytes.finish())))
    }
}

/// The aggregate that takes the value whose bytes of an order are the least. Nobody types its name.
pub(super) fn first() -> AggregateUDF {
    aggregate::<OfGroups>()
}

/// What is first in a group so far.
#[derive(Clone, Debug, Default)]
struct Best {
    order: Vec<u8>,
    /// The bytes of its row.
    value: Vec<u8>,
    is_there: bool,
}

#[derive(Debug)]
struct OfGroups {
    converter: RowConverter,
    /// The bytes of a NULL.
    null: Vec<u8>,
    ignores_nulls: bool,
    groups: Vec<Best>,
    bytes: usize,
}

impl OfGroups {
    /// Of each group the row that comes before all that it had, if there is one.
    fn winners(
        &mut self,
        orders: &LargeBinaryArray,
        groups: &[usize],
        is_in: impl Fn(usize) -> bool,
    ) -> HashMap<usize, usize> {
        let mut winners = HashMap::new();
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| is_in(*row)) {
            let Some(best) = self.groups.get_mut(*group) else { continue };
            let order = orders.value(row);
            if !best.is_there || order < best.order.as_slice() {
                self.bytes -= best.order.capacity();
                best.order.clear();
                best.order.extend_from_slice(order);
                self.bytes += best.order.capacity();
                best.is_there = true;
                winners.insert(*group, row);
            }
        }
        winners
    }

    fn set(&mut self, group: usize, value: &[u8]) {
        let Some(best) = self.groups.get_mut(group) else { return };
        self.bytes -= best.value.capacity();
        best.value.clear();
        best.value.extend_from_slice(value);
        self.bytes += best.value.capacity();
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Best> {
        let taken = emit_to.take_needed(&mut self.groups);
        let bytes: usize = taken.iter().map(|it| it.order.capacity() + it.value.capacity()).sum();
        self.bytes -= bytes;
        taken
    }
}

impl Grouped for OfGroups {
    const NAME: &'static str = "\u{1f}first";
    const ARGUMENTS: usize = 2;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self> {
        let data_type = args.return_field.data_type();
        let converter = RowConverter::new(vec![SortField::new(data_type.clone())])?;
        let null = converter.convert_columns(&[new_null_array(data_type, 1)])?;
        Ok(Self {
            null: null.row(0).data().to_vec(),
            converter,
            ignores_nulls: args.ignore_nulls,
            groups: Vec::new(),
            bytes: 0,
        })
    }
    fn result(types: &[DataType]) -> Result<DataType> {
        if let [value, _] = types { Ok(value.clone()) } else { plan_err!("it takes two arguments") }
    }
    fn states(_result: &DataType) -> Vec<(&'static str, DataType)> {
        vec![("value", DataType::LargeBinary), ("order", DataType::LargeBinary)]
    }
}

impl GroupsAccumulator for OfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Best::default());
        let [values, orders] = values else { return Ok(()) };
        let ignores_nulls = self.ignores_nulls;
        let winners = self.winners(orders.as_binary(), group_indices, |row| {
            filter.is_none_or(|it| it.is_valid(row) && it.value(row))
                && !(ignores_nulls && values.is_null(row))
        });
        let (groups, rows): (Vec<usize>, Vec<u64>) =
            winners.into_iter().map(|(group, row)| (group, row as u64)).unzip();
        let values = take(values, &UInt64Array::from(rows), None)?;
        let values = self.converter.convert_columns(&[values])?;
        for (group, value) in groups.into_iter().zip(&values) {
            self.set(group, value.data());
        }
        Ok(())
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Best::default());
        let [values, orders] = values else { return Ok(()) };
        let (values, orders) = (values.as_binary::<i64>(), orders.as_binary());
        let is_in = |row| values.is_valid(row);
        for (group, row) in self.winners(orders, group_indices, is_in) {
            self.set(group, values.value(row));
        }
        Ok(())
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let taken = self.take(emit_to);
        let parser = self.converter.parser();
        let rows = taken.iter().map(|it| {
            let value = if it.is_there { &it.value } else { &self.null };
            parser.parse(value)
        });
        let values = self.converter.convert_rows(rows)?.pop();
        values.ok_or_else(|| internal_datafusion_err!("rows of no column"))
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let taken = self.take(emit_to);
        let values = taken.iter().map(|it| it.is_there.then_some(&it.value));
        let orders = taken.iter().map(|it| it.is_there.then_some(&it.order));
        Ok(vec![
            Arc::new(values.collect::<LargeBinaryArray>()),
            Arc::new(orders.collect::<LargeBinaryArray>()),
        ])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values, orders] = values else { return Ok(Vec::new()) };
        let rows = self.converter.convert_columns(&[Arc::clone(values)])?;
        let mut bytes = LargeBinaryBuilder::with_capacity(values.len(), rows.size());
        for (at, row) in rows.iter().enumerate() {
            let is_in = filter.is_none_or(|it| it.is_valid(at) && it.value(at))
                && !(self.ignores_nulls && values.is_null(at));
            bytes.append_option(is_in.then(|| row.data()));
        }
        Ok(vec![Arc::new(bytes.finish()), Arc::clone(orders)])
    }
    fn size(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<Best>()
    }
}
