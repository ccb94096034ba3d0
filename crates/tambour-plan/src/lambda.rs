//! Lambdas: `arrayMap` and `arrayFold`. All other functions with lambdas are functions of what `arrayMap` gives
//! ([`tambour_dialect`] writes them so), which need no lambda themselves.

use super::literal::nameless;
use super::scalar::{self, EXACT};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, cast_with_options, concat, interleave, take, take_arrays};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, exec_err, plan_err};
use datafusion::logical_expr::expr::HigherOrderFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
    HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, LogicalPlan, ValueOrLambda,
    Volatility,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;
use tambour_part::types::{DataType, TYPE_KEY};

/// A function that takes a lambda, arrays, and for `arrayFold` a first value.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Lambda {
    is_fold: bool,
    aliases: Vec<String>,
    signature: HigherOrderSignature,
}

/// All of them.
pub(super) fn all() -> [Lambda; 2] {
    [false, true].map(|is_fold| {
        let name = if is_fold { "arrayfold" } else { "arraymap" };
        let signature = HigherOrderSignature::variadic_any(Volatility::Immutable);
        Lambda { is_fold, aliases: vec![name.to_owned()], signature }
    })
}

/// `arrayMap` with the type of what its lambda gives: the engine does not say it.
pub(super) fn typed(call: HigherOrderFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if call.func.name() != "arrayMap" {
        return Ok(Transformed::no(Expr::HigherOrderFunction(call)));
    }
    // The arrays may have got their types just now.
    let call = Expr::HigherOrderFunction(call);
    let call = super::written::resolved(call.clone(), schema).map_or(call, |it| it.data);
    let Expr::HigherOrderFunction(mut resolved) = call else { return Ok(Transformed::no(call)) };
    let is_kept = keep_nullable(&mut resolved, schema)?;
    let call = Expr::HigherOrderFunction(resolved);
    let Expr::HigherOrderFunction(resolved) = &call else { return Ok(Transformed::no(call)) };
    let body = resolved.args.iter().find_map(|it| match it {
        Expr::Lambda(lambda) => Some(&lambda.body),
        _ => None,
    });
    let item = body.map(|body| nameless(body, schema)).transpose()?;
    let named = item.filter(|it| it.metadata().contains_key(TYPE_KEY));
    let data_type = named.and_then(|it| DataType::from_field(&it).ok());
    let list = data_type.map(|item| DataType::Array(Box::new(item)));
    let typed = super::keep::typed(call, list);
    Ok(Transformed::new_transformed(typed.data, typed.transformed || is_kept))
}

/// Keeps that what a lambda gives may be NULL: the engine computes a `toNullable(1)` in it before the query runs, and a number is
/// never NULL. True if the lambda was changed.
fn keep_nullable(call: &mut HigherOrderFunction, schema: &DFSchema) -> Result<bool> {
    let is_one =
        |expr: &Expr| matches!(expr, Expr::ScalarFunction(call) if call.name() == "toNullable");
    for argument in &mut call.args {
        let Expr::Lambda(lambda) = argument else { continue };
        let body = &lambda.body;
        if !is_one(body)
            && body.exists(|it| Ok(is_one(it)))?
            && nameless(body, schema)?.is_nullable()
        {
            let kept = scalar::call("toNullable", vec![body.as_ref().clone()]);
            *lambda.body = kept.unwrap_or_else(|| body.as_ref().clone());
            return Ok(true);
        }
    }
    Ok(false)
}

/// A rule after all others, which may have changed the types of arrays: parameters of lambdas get those of the items once more.
#[derive(Debug)]
pub(super) struct TypesOfParameters;

impl OptimizerRule for TypesOfParameters {
    fn name(&self) -> &'static str {
        "types_of_parameters"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let has_lambda = |expr: &Expr| expr.exists(|it| Ok(matches!(it, Expr::Lambda(_))));
        let mut is_one = false;
        plan.apply_expressions(|expr| {
            is_one |= has_lambda(expr)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !is_one {
            return Ok(Transformed::no(plan));
        }
        let schema = match &plan {
            LogicalPlan::TableScan(scan) => {
                DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
            }
            other => merge_schema(&other.inputs()),
        };
        let names = NamePreserver::new(&plan);
        let plan = plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let resolved = super::written::resolved(expr, &schema)?;
            Ok(resolved.update_data(|expr| name.restore(expr)))
        })?;
        plan.map_data(LogicalPlan::recompute_schema)
    }
}

/// The field of the items of an array, with their ClickHouse type.
fn item_field(list: &Field) -> Result<FieldRef> {
    let (ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _)) =
        list.data_type()
    else {
        return plan_err!("a lambda takes the items of arrays, not {}", list.data_type());
    };
    let field = item.as_ref().clone();
    Ok(Arc::new(match DataType::from_field(list) {
        Ok(DataType::Array(inner)) if inner.accepts(item.data_type()) => {
            field.with_metadata([(TYPE_KEY.to_owned(), inner.to_string())].into())
        }
        _ => field,
    }))
}

/// Arrays with 32-bit offsets that begin at 0 and end where the items end: of what a limit has cut, the others are left out.
fn as_list(value: &ColumnarValue, rows: usize) -> Result<ListArray> {
    let array = value.to_array(rows)?;
    let list = match array.data_type() {
        ArrowType::List(_) => array.as_list::<i32>().clone(),
        ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _) => {
            cast(&array, &ArrowType::List(Arc::clone(item)))?.as_list::<i32>().clone()
        }
        other => return exec_err!("a lambda takes the items of arrays, not {other}"),
    };
    let ArrowType::List(item) = list.data_type() else {
        return exec_err!("it is not an array");
    };
    let has_hidden = list.nulls().is_some_and(|nulls| nulls.null_count() > 0);
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(rows));
    let ends = (list.value_offsets().first(), list.value_offsets().last());
    let is_whole = ends.0 == Some(&0)
        && ends.1.is_some_and(|end| usize::try_from(*end) == Ok(list.values().len()));
    if !has_hidden && is_whole {
        return Ok(list);
    }
    for row in 0..list.len() {
        let offsets = list.value_offsets();
        let range = if list.is_null(row) { 0..0 } else { offsets[row]..offsets[row + 1] };
        lengths.push(range.len());
        places.extend(range.map(i32::cast_unsigned));
    }
    let values = take(list.values(), &UInt32Array::from(places), None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(ListArray::try_new(Arc::clone(item), offsets, values, list.nulls().cloned())?)
}

fn length(list: &ListArray, row: usize) -> usize {
    usize::try_from(list.value_length(row)).unwrap_or(0)
}

fn start(list: &ListArray, row: usize) -> usize {
    usize::try_from(list.value_offsets()[row]).unwrap_or(0)
}

impl Lambda {
    /// The lambda, and the values after it.
    fn parts<'a, V, L>(&self, all: &'a [ValueOrLambda<V, L>]) -> Result<(&'a L, Vec<&'a V>)> {
        let least = if self.is_fold { 2 } else { 1 };
        let mut rest = all.iter();
        let Some(ValueOrLambda::Lambda(lambda)) = rest.next() else {
            return plan_err!("{}: the first argument must be a lambda (x -> ...)", self.name());
        };
        let values = rest
            .map(|argument| match argument {
                ValueOrLambda::Value(value) => Ok(value),
                ValueOrLambda::Lambda(_) => plan_err!("{} takes one lambda", self.name()),
            })
            .collect::<Result<Vec<_>>>()?;
        if values.len() < least {
            return plan_err!("{} takes a lambda and {least} values at least", self.name());
        }
        Ok((lambda, values))
    }

    fn map(
        &self,
        lambda: &LambdaArgument,
        lists: &[ListArray],
        result: &Field,
    ) -> Result<ArrayRef> {
        let ArrowType::List(item) = result.data_type() else {
            return exec_err!("{} gives arrays", self.name());
        };
        let first = &lists[0];
        let values: Vec<ArrayRef> = lists.iter().map(|list| Arc::clone(list.values())).collect();
        let getters: Vec<_> = values.iter().map(|values| move || Ok(Arc::clone(values))).collect();
        let getters: Vec<&dyn Fn() -> Result<ArrayRef>> =
            getters.iter().map(|getter| getter as &dyn Fn() -> Result<ArrayRef>).collect();
        let rows = (0..first.len()).flat_map(|row| {
            std::iter::repeat_n(u32::try_from(row).unwrap_or(u32::MAX), length(first, row))
        });
        let rows = UInt32Array::from_iter_values(rows);
        let made = lambda
            .evaluate(&getters, |captures| Ok(take_arrays(captures, &rows, None)?))?
            .into_array(rows.len())?;
        let made = if made.data_type() == item.data_type() {
            made
        } else {
            cast_with_options(&made, item.data_type(), &EXACT)?
        };
        let offsets = first.offsets().clone();
        Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, made, first.nulls().cloned())?))
    }

    /// One step for the first items of all rows, one for the second items, and so on.
    fn fold(
        lambda: &LambdaArgument,
        lists: &[ListArray],
        from: ArrayRef,
        result: &Field,
    ) -> Result<ArrayRef> {
        let mut state = from;
        let longest = (0..state.len()).map(|row| length(&lists[0], row)).max().unwrap_or(0);
        for step in 0..longest {
            let rows: Vec<usize> =
                (0..state.len()).filter(|row| length(&lists[0], *row) > step).collect();
            let index = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
            let indices = UInt32Array::from_iter_values(rows.iter().map(|row| index(*row)));
            let mut values = vec![take(&state, &indices, None)?];
            for list in lists {
                let places = rows.iter().map(|row| index(start(list, *row) + step));
                let places = UInt32Array::from_iter_values(places);
                values.push(take(list.values(), &places, None)?);
            }
            let getters: Vec<_> =
                values.iter().map(|values| move || Ok(Arc::clone(values))).collect();
            let getters: Vec<&dyn Fn() -> Result<ArrayRef>> =
                getters.iter().map(|getter| getter as &dyn Fn() -> Result<ArrayRef>).collect();
            let made = lambda
                .evaluate(&getters, |captures| Ok(take_arrays(captures, &indices, None)?))?
                .into_array(rows.len())?;
            let made = cast_with_options(&made, state.data_type(), &EXACT)?;
            if !result.is_nullable() && made.null_count() > 0 {
                return exec_err!(
                    "the lambda of arrayFold gives a NULL, and its first value cannot be one: write toNullable"
                );
            }
            let mut places: Vec<(usize, usize)> = (0..state.len()).map(|row| (0, row)).collect();
            for (at, row) in rows.iter().enumerate() {
                places[*row] = (1, at);
            }
            state = interleave(&[state.as_ref(), made.as_ref()], &places)?;
        }
        Ok(state)
    }
}

impl HigherOrderUDFImpl for Lambda {
    fn name(&self) -> &'static str {
        if self.is_fold { "arrayFold" } else { "arrayMap" }
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }
    fn lambda_parameters(
        &self,
        _: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let (_, values) = self.parts(fields)?;
        let mut parameters = Vec::new();
        let arrays = if self.is_fold {
            let state = values[values.len() - 1];
            parameters.push(Arc::clone(state));
            &values[..values.len() - 1]
        } else {
            &values[..]
        };
        for array in arrays {
            parameters.push(item_field(array)?);
        }
        Ok(LambdaParametersProgress::Complete(vec![parameters]))
    }
    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs) -> Result<FieldRef> {
        let (lambda, values) = self.parts(args.arg_fields)?;
        if self.is_fold {
            return Ok(Arc::clone(values[values.len() - 1]));
        }
        let item = Field::new("item", lambda.data_type().clone(), lambda.is_nullable());
        let is_nullable = values.iter().any(|value| value.is_nullable());
        let field = Field::new("", ArrowType::List(Arc::new(item)), is_nullable);
        let named = lambda.metadata().get(TYPE_KEY).and_then(|_| DataType::from_field(lambda).ok());
        Ok(Arc::new(match named {
            Some(item) => {
                let data_type = DataType::Array(Box::new(item)).to_string();
                field.with_metadata([(TYPE_KEY.to_owned(), data_type)].into())
            }
            None => field,
        }))
    }
    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let (lambda, values) = self.parts(&args.args)?;
        let count = values.len() - usize::from(self.is_fold);
        let lists = values[..count].iter().map(|value| as_list(value, args.number_rows));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        for row in 0..args.number_rows {
            if lists.iter().any(|list| length(list, row) != length(&lists[0], row)) {
                let lengths: Vec<usize> = lists.iter().map(|list| length(list, row)).collect();
                return exec_err!("{}: the arrays have {lengths:?} items", self.name());
            }
        }
        Ok(ColumnarValue::Array(if self.is_fold {
            let from = values[count].to_array(args.number_rows)?;
            Self::fold(lambda, &lists, concat(&[&from])?, &args.return_field)?
        } else {
            self.map(lambda, &lists, &args.return_field)?
        }))
    }
}
