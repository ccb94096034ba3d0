//! `quantileExact`: the value at a position of the sorted values, of their own type, without interpolation. `quantile` of
//! decimals, dates and times: between two values, of their type.
//!
//! Called as `quantileExact(x, level)` after [`tambour_dialect`] has moved the parameter into the list of arguments. Plain
//! `quantile` of numbers has accumulators of its own ([`super::interpolated`]).

use super::interpolated::{Grouped, Single};
use arrow::array::{Array, ArrayRef, BooleanArray, ListArray, UInt64Array, cast::AsArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, filter, sort_to_indices, take};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::{ScalarValue, internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
};
use datafusion::physical_expr::expressions::{CastExpr, Literal};
use std::sync::Arc;
use tambour_scan::aggregates::piled::Piled;

/// The name of the aggregate that interpolates.
pub(super) const BETWEEN: &str = "quantile";

/// The aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Quantile {
    is_between: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl Quantile {
    pub(super) fn exact() -> Self {
        Self {
            is_between: false,
            aliases: vec!["quantileexact".to_owned()],
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
    pub(super) fn between() -> Self {
        Self { is_between: true, aliases: Vec::new(), ..Self::exact() }
    }
}

/// Types whose values stay such between two of them.
pub(super) fn stays(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Decimal128(..) | ArrowType::Date32 | ArrowType::Timestamp(..))
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &'static str {
        if self.is_between { BETWEEN } else { "quantileExact" }
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        match arguments.first() {
            Some(first)
                if self.is_between && (first.is_numeric() || first.is_null()) && !stays(first) =>
            {
                Ok(ArrowType::Float64)
            }
            Some(first) if self.is_between && !stays(first) => {
                let what = match first {
                    ArrowType::FixedSizeBinary(32) => "an integer of 256 bits",
                    ArrowType::FixedSizeBinary(_) => "a FixedString or UUID",
                    ArrowType::List(_) => "an array",
                    ArrowType::Struct(_) => "a tuple",
                    ArrowType::Map(..) => "a map",
                    _ => "a text",
                };
                plan_err!("quantile does not take {what}: convert it, for example by toFloat64(x)")
            }
            Some(first) => Ok(first.clone()),
            None => plan_err!("{} takes an argument", self.name()),
        }
    }
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let level = level(&args)?;
        let data_type = args.return_field.data_type().clone();
        if self.is_between && !stays(&data_type) {
            return Ok(Box::new(Single::new(level, args.is_distinct)));
        }
        refuse_distinct(&args)?;
        Ok(Box::new(Values { level, is_between: self.is_between, data_type, chunks: Vec::new() }))
    }
    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let level = level(&args)?;
        let data_type = args.return_field.data_type().clone();
        if self.is_between && !stays(&data_type) {
            return Ok(Box::new(Grouped::new(level, args.is_distinct)));
        }
        refuse_distinct(&args)?;
        let (is_between, of) = (self.is_between, data_type.clone());
        Ok(Box::new(Piled::new(data_type, move |values| {
            let chunks = if values.is_empty() { Vec::new() } else { vec![values] };
            Values { level, is_between, data_type: of.clone(), chunks }.evaluate()
        })))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(args.return_field.data_type().clone(), true);
        let name = format!("{}[values]", args.name);
        Ok(vec![Arc::new(Field::new(name, ArrowType::List(Arc::new(item)), true))])
    }
}

fn refuse_distinct(args: &AccumulatorArgs) -> Result<()> {
    if args.is_distinct {
        return plan_err!("a quantile of DISTINCT values of this kind: put DISTINCT in a subquery");
    }
    Ok(())
}

/// The level that was written.
fn level(args: &AccumulatorArgs) -> Result<f64> {
    let level = args.exprs.get(1).and_then(|expr| {
        let bare = expr.downcast_ref::<CastExpr>().map_or(expr, CastExpr::expr);
        bare.downcast_ref::<Literal>().map(|literal| literal.value().clone())
    });
    match level.map(|value| value.cast_to(&ArrowType::Float64)).transpose()? {
        Some(ScalarValue::Float64(Some(level))) if (0.0..=1.0).contains(&level) => Ok(level),
        _ => plan_err!("the level of a quantile must be a number from 0 to 1"),
    }
}

/// All values seen, without NULLs.
#[derive(Debug)]
struct Values {
    level: f64,
    is_between: bool,
    data_type: ArrowType,
    chunks: Vec<ArrayRef>,
}

impl Values {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        if values.null_count() == 0 {
            if !values.is_empty() {
                self.chunks.push(Arc::clone(values));
            }
            return Ok(());
        }
        let kept: UInt64Array = (0_u64..)
            .zip(0..values.len())
            .filter(|(_, row)| values.is_valid(*row))
            .map(|(row, _)| row)
            .collect::<Vec<_>>()
            .into();
        if !kept.is_empty() {
            self.chunks.push(take(values, &kept, None)?);
        }
        Ok(())
    }
    fn joined(&self) -> Result<Option<ArrayRef>> {
        let chunks: Vec<&dyn Array> =
            self.chunks.iter().map(|chunk| &**chunk as &dyn Array).collect();
        Ok(if chunks.is_empty() { None } else { Some(concat(&chunks)?) })
    }
}

/// Digits, days or ticks.
fn ticks(value: &ScalarValue) -> Result<f64> {
    let whole = match value.data_type() {
        ArrowType::Date32 => value.cast_to(&ArrowType::Int32)?,
        ArrowType::Timestamp(..) => value.cast_to(&ArrowType::Int64)?,
        _ => value.clone(),
    };
    #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse, what is between is a float")]
    match whole {
        ScalarValue::Decimal128(Some(digits), ..) => Ok(digits as f64),
        ScalarValue::Int32(Some(days)) => Ok(days.into()),
        ScalarValue::Int64(Some(ticks)) => Ok(ticks as f64),
        other => internal_err!("{other} is not a value of a quantile"),
    }
}

/// The value at a place between two, of their type; what follows its last digit is cut off.
fn between(left: &ScalarValue, right: &ScalarValue, place: f64) -> Result<ScalarValue> {
    let part = place.fract();
    let ticks = ticks(left)? * (1.0 - part) + ticks(right)? * part;
    #[expect(clippy::cast_possible_truncation, reason = "it is between two values of the type")]
    match left {
        ScalarValue::Decimal128(_, precision, scale) => {
            Ok(ScalarValue::Decimal128(Some(ticks as i128), *precision, *scale))
        }
        ScalarValue::Date32(_) => Ok(ScalarValue::Date32(Some(ticks as i32))),
        other => ScalarValue::Int64(Some(ticks as i64)).cast_to(&other.data_type()),
    }
}

/// Which values are not NaN.
fn numbers(values: &ArrayRef) -> BooleanArray {
    match values.data_type() {
        ArrowType::Float32 => {
            let floats = values.as_primitive::<Float32Type>();
            floats.values().iter().map(|float| Some(!float.is_nan())).collect()
        }
        ArrowType::Float64 => {
            let floats = values.as_primitive::<Float64Type>();
            floats.values().iter().map(|float| Some(!float.is_nan())).collect()
        }
        _ => BooleanArray::from(vec![true; values.len()]),
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.first().map_or(Ok(()), |first| self.push(first))
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else {
            return Ok(());
        };
        for list in lists.iter().flatten() {
            self.push(&list)?;
        }
        Ok(())
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(values) = self.joined()? else { return ScalarValue::try_from(&self.data_type) };
        let numbers = filter(&values, &numbers(&values))?;
        // Of NaNs alone there is no other answer.
        let values = if numbers.is_empty() { values } else { numbers };
        let options = SortOptions { descending: false, nulls_first: false };
        let sorted = sort_to_indices(&values, Some(options), None)?;
        if self.is_between {
            #[expect(clippy::cast_precision_loss, reason = "fewer values than a float counts")]
            let place = self.level * (values.len() - 1) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "a level is at most 1")]
            let row = place as usize;
            let value = |row: usize| {
                ScalarValue::try_from_array(
                    &values,
                    sorted.value(row.min(sorted.len() - 1)) as usize,
                )
            };
            return between(&value(row)?, &value(row + 1)?, place);
        }
        // ClickHouse: the element number level * count, the last one at most.
        #[expect(clippy::cast_possible_truncation, reason = "a level is at most 1")]
        let position = (self.level * values.len() as f64) as usize;
        let row = sorted.value(position.min(values.len() - 1)) as usize;
        ScalarValue::try_from_array(&values, row)
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = match self.joined()? {
            Some(values) => values,
            None => arrow::array::new_empty_array(&self.data_type),
        };
        let item = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let list =
            ListArray::try_new(item, OffsetBuffer::from_lengths([values.len()]), values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }
    fn size(&self) -> usize {
        size_of_val(self)
            + self.chunks.iter().map(arrow::array::Array::get_array_memory_size).sum::<usize>()
    }
}
