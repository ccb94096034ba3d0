//! Aggregates over windows whose frames move. The engine takes the values that leave a frame out of the sum, which floats do not
//! bear: a NaN would stay for ever, and what a large number has swallowed would not come back. Here each frame is added up anew, as
//! in ClickHouse (whose order of addition, and so the last digit, may be another); so is what the engine has no way of taking out. And the engine runs windows backwards to save a sort, which
//! gives other floats and other arrays: these aggregates may not be turned around.

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef, Schema};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use std::collections::VecDeque;
use std::sync::Arc;

/// Pieces of a frame that are put together when there are more.
const MOST_PIECES: usize = 64;

/// Replaces an aggregate over a window of which the engine's way is not the right one; true if it was such.
pub fn anew(function: &mut WindowFunctionDefinition, arguments: &[ArrowType]) -> bool {
    let WindowFunctionDefinition::AggregateUDF(inner) = function else { return false };
    let is_exact = matches!(inner.name(), "count" | "sum" | "min" | "max")
        && !arguments.iter().any(ArrowType::is_floating);
    if is_exact || inner.inner().downcast_ref::<Anew>().is_some() {
        return false;
    }
    *inner = Arc::new(AggregateUDF::new_from_impl(Anew { inner: Arc::clone(inner) }));
    true
}

/// An aggregate, forwards only, and over each frame anew.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Anew {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Anew {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn signature(&self) -> &Signature {
        self.inner.signature()
    }
    fn coerce_types(&self, types: &[ArrowType]) -> Result<Vec<ArrowType>> {
        self.inner.coerce_types(types)
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        self.inner.return_type(arguments)
    }
    fn return_field(&self, arguments: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arguments)
    }
    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }
    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }
    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Frame {
            call: Call::of(Arc::clone(&self.inner), &args),
            pieces: VecDeque::new(),
        }))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }
    fn default_value(&self, data_type: &ArrowType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }
    fn supports_null_handling_clause(&self) -> bool {
        self.inner.supports_null_handling_clause()
    }
}

/// What an accumulator is made from.
#[derive(Debug)]
struct Call {
    function: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    name: String,
    is_distinct: bool,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Call {
    fn of(function: Arc<AggregateUDF>, args: &AccumulatorArgs) -> Self {
        Self {
            function,
            return_field: Arc::clone(&args.return_field),
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            name: args.name.to_owned(),
            is_distinct: args.is_distinct,
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }
    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: false,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

/// The values of a frame, as they came: one array per argument and piece.
#[derive(Debug)]
struct Frame {
    call: Call,
    pieces: VecDeque<Vec<ArrayRef>>,
}

impl Frame {
    /// Makes one piece of many.
    fn put_together(&mut self) -> Result<()> {
        let Some(first) = self.pieces.front() else { return Ok(()) };
        let one = (0..first.len()).map(|at| {
            let columns: Vec<&dyn arrow::array::Array> =
                self.pieces.iter().map(|piece| piece[at].as_ref()).collect();
            Ok(concat(&columns)?)
        });
        let one = one.collect::<Result<Vec<_>>>()?;
        self.pieces = VecDeque::from([one]);
        Ok(())
    }
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.pieces.push_back(values.to_vec());
        if self.pieces.len() > MOST_PIECES { self.put_together() } else { Ok(()) }
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut left = values.first().map_or(0, |column| column.len());
        while left > 0 {
            let Some(first) = self.pieces.front_mut() else {
                return exec_err!("more values left a frame than were in it");
            };
            let rows = first.first().map_or(0, |column| column.len());
            if rows <= left {
                self.pieces.pop_front();
            } else {
                for column in first {
                    *column = column.slice(left, rows - left);
                }
            }
            left -= rows.min(left);
        }
        Ok(())
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut accumulator = self.call.accumulator()?;
        for piece in &self.pieces {
            accumulator.update_batch(piece)?;
        }
        accumulator.evaluate()
    }
    fn size(&self) -> usize {
        let columns = self.pieces.iter().flatten();
        columns.map(|column| column.get_array_memory_size()).sum::<usize>() + size_of_val(self)
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("frames of windows are not merged")
    }
    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        exec_err!("frames of windows are not merged")
    }
    fn supports_retract_batch(&self) -> bool {
        true
    }
}
