//! `quantileExact`: the value at a position of the sorted values, of their own type, without interpolation.
//!
//! Called as `quantileExact(x, level)` after [`tambour_dialect`] has moved the parameter into the list of arguments. (Plain
//! `quantile` interpolates and is DataFusion's `percentile_cont`.)

use arrow::array::{Array, ArrayRef, BooleanArray, ListArray, UInt64Array, cast::AsArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, filter, sort_to_indices, take};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float32Type, Float64Type};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::{CastExpr, Literal};
use std::sync::Arc;

/// The aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct QuantileExact {
    aliases: Vec<String>,
    signature: Signature,
}

impl QuantileExact {
    pub(super) fn new() -> Self {
        Self {
            aliases: vec!["quantileexact".to_owned()],
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for QuantileExact {
    fn name(&self) -> &'static str {
        "quantileExact"
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        if let Some(first) = arguments.first() {
            Ok(first.clone())
        } else {
            plan_err!("quantileExact takes an argument")
        }
    }
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let level = args.exprs.get(1).and_then(|expr| {
            let bare = expr.downcast_ref::<CastExpr>().map_or(expr, CastExpr::expr);
            bare.downcast_ref::<Literal>().map(|literal| literal.value().clone())
        });
        let level = match level.map(|value| value.cast_to(&ArrowType::Float64)).transpose()? {
            Some(ScalarValue::Float64(Some(level))) if (0.0..=1.0).contains(&level) => level,
            _ => return plan_err!("the level of a quantile must be a number from 0 to 1"),
        };
        let data_type = args.return_field.data_type().clone();
        Ok(Box::new(Values { level, data_type, chunks: Vec::new() }))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let item = Field::new_list_field(args.return_field.data_type().clone(), true);
        let name = format!("{}[values]", args.name);
        Ok(vec![Arc::new(Field::new(name, ArrowType::List(Arc::new(item)), true))])
    }
}

/// All values seen, without NULLs.
#[derive(Debug)]
struct Values {
    level: f64,
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
