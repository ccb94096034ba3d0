//! What aggregates take: `sum` and `avg` count conditions as 0 and 1, `avg` takes dates and instants as numbers. Integers of 256 bits are
//! bytes to the engine: `sum` takes them as decimals of the same bits, whose additions wrap around as ClickHouse's do, `avg` as floats.
//!
//! The planner does not know types when it meets an aggregate. So the argument is wrapped in [`Summand`], whose type is known
//! in time, and [`super::keep`] takes the wrapping off before anything else sees it.

use super::literal::bare_type;
use super::order::Order;
use super::scalar;
use arrow::datatypes::{
    DECIMAL256_MAX_PRECISION, DataType as ArrowType, Field, FieldRef, TimeUnit,
};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ExprSchemable,
    GroupsAccumulator, ReturnFieldArgs, ReversedUDAF, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TypeSignature, Volatility, cast,
};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The arguments that an aggregate gets instead of those that were written.
pub(super) fn arguments(aggregate: &str, written: Vec<Expr>) -> Vec<Expr> {
    if !matches!(aggregate, "sum" | "avg") || written.len() != 1 {
        return written;
    }
    vec![ScalarUDF::new_from_impl(Summand::new(aggregate == "avg")).call(written)]
}

/// Its argument; a number if that is a condition, or a moment whose average is asked for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Summand {
    is_averaged: bool,
    signature: Signature,
}

impl Summand {
    /// Its name.
    pub(super) const NAME: &str = "summand";

    fn new(is_averaged: bool) -> Self {
        Self { is_averaged, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl Summand {
    /// The type in which values of another one are added.
    pub(super) fn added(&self, data_type: &ArrowType) -> ArrowType {
        match data_type {
            // Texts of 32 bytes are found out when types have names.
            ArrowType::FixedSizeBinary(32) if self.is_averaged => ArrowType::Float64,
            ArrowType::Boolean => ArrowType::UInt64,
            moment if self.is_averaged && is_moment(moment) => ArrowType::Int64,
            other => other.clone(),
        }
    }
    /// The summand that a call is.
    pub(super) fn of(call: &ScalarFunction) -> Option<&Self> {
        call.func.inner().downcast_ref::<Self>()
    }
}

/// The argument itself, in the form in which the engine adds it up.
pub(super) fn unwrapped(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some(inner) = call.args.first().cloned() else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    let field = inner.to_field(schema)?.1;
    let have = field.data_type().clone();
    let wanted = Summand::of(&call).map_or_else(|| have.clone(), |it| it.added(&have));
    if have == ArrowType::FixedSizeBinary(32) {
        let is_sum = wanted == have;
        return match scalar::call("toFloat64", vec![inner.clone()]) {
            _ if !is_widest(&field) => {
                let name = if is_sum { "sum" } else { "avg" };
                plan_err!(
                    "{name} does not take FixedString: convert it, for example by toFloat64(x)"
                )
            }
            Some(float) if !is_sum => Ok(Transformed::yes(float)),
            _ => Ok(Transformed::yes(Order::Summed.udf().call(vec![inner]))),
        };
    }
    let inner = if have == ArrowType::Date32 && wanted != have {
        cast(inner, ArrowType::Int32)
    } else {
        inner
    };
    Ok(Transformed::yes(if have == wanted { inner } else { cast(inner, wanted) }))
}

/// `sum` while a query is planned: that of integers of 256 bits is one, too. [`super::keep`] puts the engine's in its place, over
/// [`WIDEST`] for those.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Sum {
    engine: Arc<AggregateUDF>,
    signature: Signature,
}

impl Sum {
    /// This one in the place of the engine's. (It is in no registry: workers know the engine's.)
    pub(super) fn put(function: &mut Arc<AggregateUDF>) {
        if *function == sum_udaf() {
            let engine = Arc::clone(function);
            let widest = TypeSignature::Exact(vec![ArrowType::FixedSizeBinary(32)]);
            let taken = vec![widest, engine.signature().type_signature.clone()];
            let signature = Signature::one_of(taken, Volatility::Immutable);
            *function = Arc::new(AggregateUDF::new_from_impl(Self { engine, signature }));
        }
    }
    /// The engine's in the place of this one.
    pub(super) fn replaced(function: &mut Arc<AggregateUDF>) -> bool {
        let engine = function.inner().downcast_ref::<Self>().map(|it| Arc::clone(&it.engine));
        match engine {
            Some(engine) => *function = engine,
            None => return false,
        }
        true
    }
}

impl AggregateUDFImpl for Sum {
    fn name(&self) -> &str {
        self.engine.name()
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        match types {
            [widest @ ArrowType::FixedSizeBinary(32)] => Ok(widest.clone()),
            _ => self.engine.return_type(types),
        }
    }
    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        // What it is in ClickHouse may be known only later.
        let is_widest = |it: &FieldRef| *it.data_type() == ArrowType::FixedSizeBinary(32);
        match fields {
            [wide] if is_widest(wide) || is_wide(wide) => {
                let field = Field::new(self.name(), wide.data_type().clone(), true);
                Ok(Arc::new(field.with_metadata(wide.metadata().clone())))
            }
            _ => self.engine.return_field(fields),
        }
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.engine.accumulator(args)
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.engine.state_fields(args)
    }
    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.engine.groups_accumulator_supported(args)
    }
    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.engine.create_groups_accumulator(args)
    }
    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        self.engine.create_sliding_accumulator(args)
    }
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.engine.order_sensitivity()
    }
    fn reverse_expr(&self) -> ReversedUDAF {
        self.engine.reverse_udf()
    }
}

/// The engine's type in which integers of 256 bits are added.
pub(super) const WIDEST: ArrowType = ArrowType::Decimal256(DECIMAL256_MAX_PRECISION, 0);

/// True for integers of 256 bits.
pub(super) fn is_widest(field: &Field) -> bool {
    matches!(bare_type(field), Some(DataType::Int256 | DataType::UInt256))
}

/// True for integers of 128 bits, whose sums are cut to as many.
fn is_wide(field: &Field) -> bool {
    matches!(bare_type(field), Some(DataType::Int128 | DataType::UInt128))
}

/// True for dates and instants without fractions.
pub(super) fn is_moment(data_type: &ArrowType) -> bool {
    matches!(data_type, ArrowType::Date32 | ArrowType::Timestamp(TimeUnit::Second, _))
}

impl ScalarUDFImpl for Summand {
    fn name(&self) -> &'static str {
        Self::NAME
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!("the type is that of the argument")
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        if let [only] = args.arg_fields {
            let added = self.added(only.data_type());
            let is_same = added == *only.data_type();
            let field = Field::new(Self::NAME, added, only.is_nullable());
            let metadata = if is_same { only.metadata().clone() } else { HashMap::new() };
            Ok(Arc::new(field.with_metadata(metadata)))
        } else {
            plan_err!("it takes an argument")
        }
    }
    /// Columns are called what was written.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names: Vec<String> =
            arguments.iter().map(|argument| argument.schema_name().to_string()).collect();
        Ok(names.join(","))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [only] = args.args.as_slice() {
            let wanted = args.return_field.data_type();
            // The engine knows dates as numbers of 32 bits only.
            let days = (only.data_type() == ArrowType::Date32 && *wanted != ArrowType::Date32)
                .then(|| only.cast_to(&ArrowType::Int32, None));
            days.transpose()?.as_ref().unwrap_or(only).cast_to(wanted, None)
        } else {
            exec_err!("it takes an argument")
        }
    }
}
