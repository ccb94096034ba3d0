//! Aggregates that are one accumulator of many groups, of all rows as of one group.

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

/// An accumulator of many groups, and what the engine asks of its aggregate.
pub(super) trait Grouped: GroupsAccumulator + Debug + Sized + Sync + 'static {
    /// Nobody types it.
    const NAME: &'static str;
    const ARGUMENTS: usize;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self>;
    /// The type of the values of groups, for the types of the arguments.
    fn result(types: &[DataType]) -> Result<DataType>;
    /// Names and types of the columns of states, for the type of the values.
    fn states(result: &DataType) -> Vec<(&'static str, DataType)>;
    /// Takes rows of the only group there is.
    fn update_whole(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, Array::len);
        self.update_batch(values, &vec![0; rows], None, 1)
    }
    /// The value of a group without rows, if it is not NULL.
    fn of_nothing() -> Option<ScalarValue> {
        None
    }
}

/// The aggregate with this accumulator.
pub(super) fn aggregate<A: Grouped>() -> AggregateUDF {
    let signature = Signature::any(A::ARGUMENTS, Volatility::Immutable);
    AggregateUDF::new_from_impl(Of { signature, accumulator: PhantomData::<fn() -> A> })
}

struct Of<A> {
    signature: Signature,
    accumulator: PhantomData<fn() -> A>,
}

impl<A: Grouped> Debug for Of<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(A::NAME)
    }
}

impl<A> PartialEq for Of<A> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<A> Eq for Of<A> {}

impl<A: Grouped> Hash for Of<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        A::NAME.hash(state);
    }
}

impl<A: Grouped> AggregateUDFImpl for Of<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        A::result(types)
    }
    fn is_nullable(&self) -> bool {
        A::of_nothing().is_none()
    }
    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        A::of_nothing().map_or_else(|| ScalarValue::try_from(data_type), Ok)
    }
    fn supports_null_handling_clause(&self) -> bool {
        true
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let states = A::states(args.return_field.data_type()).into_iter();
        let field = |(part, data_type)| {
            Arc::new(Field::new(format_state_name(args.name, part), data_type, true))
        };
        Ok(states.map(field).collect())
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(A::new(&args)?)))
    }
    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(A::new(&args)?))
    }
}

/// The accumulator of many groups, of all rows as of one group.
#[derive(Debug)]
struct OneGroup<A>(A);

impl<A: Grouped> Accumulator for OneGroup<A> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_whole(values)
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, Array::len);
        self.0.merge_batch(states, &vec![0; rows], 1)
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        // There may have been no row.
        self.0.update_batch(&[], &[], None, 1)?;
        ScalarValue::try_from_array(&self.0.evaluate(EmitTo::All)?, 0)
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.update_batch(&[], &[], None, 1)?;
        let states = self.0.state(EmitTo::All)?;
        states.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
}
