//! Numbers that are written out where one of them is chosen, or where they are put into an array or a tuple: they have the type
//! that they have in ClickHouse, with as few bits as they need. Elsewhere the functions know it of their constants.

use super::integer::{common, of_choice};
use super::literal::{bare_type, field_of, nameless};
use super::typed::{of_call, of_case};
use super::{alike, operators, scalar};
use crate::walk::Walk;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use tambour_part::types::DataType;

/// Rounds of types, since what a lambda is given depends on the arrays, and what it makes on that. Each settles one more of the
/// calls in one another.
const ROUNDS_MAX: usize = 8;

/// Gives those of an expression their types.
pub(super) fn narrowed(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut narrowed = narrowed_once(expr, schema)?;
    for _ in 0..ROUNDS_MAX {
        let resolved = resolved(narrowed.data, schema)?;
        if !resolved.transformed {
            return Ok(Transformed::new(resolved.data, narrowed.transformed, narrowed.tnr));
        }
        let again = resolved.data.up(&mut |expr| planned_again(expr, schema))?.data;
        narrowed = Transformed::yes(narrowed_once(again, schema)?.data);
    }
    Ok(narrowed)
}

/// What a lambda computes, by the types that it is given now.
fn planned_again(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let planned = match &expr {
        Expr::BinaryExpr(binary) => operators::planned_again(binary, schema)?,
        Expr::ScalarFunction(call) => operators::wrapping_again(call, schema)?,
        Expr::Cast(_) => operators::remainder_again(&expr, schema)?,
        _ => None,
    };
    Ok(planned.map_or_else(|| Transformed::no(expr), Transformed::yes))
}

fn narrowed_once(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.up(&mut |mut expr| {
        let is_changed = match &mut expr {
            Expr::Case(case) => {
                let results = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
                let mut results: Vec<&mut Expr> =
                    results.chain(case.else_expr.as_deref_mut()).collect();
                of_all(&mut results, schema)? || alike::lists(&mut results, schema)?
            }
            Expr::ScalarFunction(call) => match call.name() {
                "coalesce" | "nvl" => {
                    let is_cut = cut(&mut call.args, schema)?;
                    if let [only] = call.args.as_mut_slice() {
                        of_each(std::slice::from_mut(only), schema)?;
                        return Ok(Transformed::yes(std::mem::take(only)));
                    }
                    of_all(&mut call.args.iter_mut().collect::<Vec<_>>(), schema)? | is_cut
                }
                "greatest" | "least" | "make_array" => {
                    of_all(&mut call.args.iter_mut().collect::<Vec<_>>(), schema)?
                }
                "struct" => of_each(&mut call.args, schema)?,
                _ => false,
            },
            _ => false,
        };
        Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
    })
}

/// Gives what lambdas take the types of the items, which may be those of a column below, or of what was rewritten. Arrays that
/// are made by lambdas themselves go first, which the engine's pass does for those inside of lambdas only.
pub(super) fn resolved(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.down(&mut |expr| {
        let Expr::HigherOrderFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
        let mut is_changed = false;
        for argument in call.args.iter_mut().filter(|it| !matches!(it, Expr::Lambda(_))) {
            let done = resolved(std::mem::take(argument), schema)?;
            is_changed |= done.transformed;
            *argument = done.data;
        }
        let whole = Expr::HigherOrderFunction(call).resolve_lambda_variables(schema)?;
        Ok(Transformed::new(whole.data, is_changed | whole.transformed, TreeNodeRecursion::Jump))
    })
}

/// Gives integers and floats one type, if there is nothing else but NULLs: the engine gives all of them the type of the first.
/// True if it did. Integers of which one has 64 bits and no sign, and another has a sign, stay what they are, and so do those
/// of more bits than a float holds.
pub(super) fn of_all(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    if let Some(conversion) = widest(expressions, schema)? {
        for expr in expressions {
            let is_null = matches!(&**expr, Expr::Literal(value, _) if value.is_null());
            if let Some(wide) = scalar::call(conversion, vec![expr.clone()]).filter(|_| !is_null) {
                **expr = wide;
            }
        }
        return Ok(true);
    }
    if let Some(decimal) = Decimal::of_all(expressions, schema)? {
        return decimal.take(expressions, schema);
    }
    let mut widths = Vec::with_capacity(expressions.len());
    let mut float = None;
    for expr in expressions.iter() {
        let field = match &**expr {
            Expr::Literal(value, _) if value.is_null() => continue,
            other => field_of(other, schema)?,
        };
        match (of_choice(expr, &field), field.data_type()) {
            (Some(width), _) => widths.push(width),
            (None, ArrowType::Float32) => float = float.or(Some(ArrowType::Float32)),
            (None, ArrowType::Float64) => float = Some(ArrowType::Float64),
            _ => return Ok(false),
        }
    }
    let wanted = match float {
        Some(_) if widths.iter().any(|it| !it.is_exact()) => return Ok(false),
        Some(ArrowType::Float32) if widths.iter().any(|it| !it.is_short()) => {
            Some(ArrowType::Float64)
        }
        Some(float) => Some(float),
        None => common(&widths),
    };
    let Some(wanted) = wanted else { return Ok(false) };
    let mut is_changed = false;
    for expr in expressions {
        match &**expr {
            Expr::Literal(value, _) if value.is_null() => {}
            Expr::Literal(value @ ScalarValue::Int64(Some(_)), None) => {
                if let Ok(value) = value.cast_to(&wanted) {
                    is_changed |= value.data_type() != ArrowType::Int64;
                    **expr = Expr::Literal(value, None);
                }
            }
            other if *field_of(other, schema)?.data_type() != wanted => {
                // A cast of the engine would keep the name of the type before.
                let Some(converted) = scalar::call(&format!("to{wanted}"), vec![other.clone()])
                else {
                    return Ok(is_changed);
                };
                **expr = converted;
                is_changed = true;
            }
            _ => {}
        }
    }
    Ok(is_changed)
}

/// The conversion to the type of integers of which one has 128 bits and not all do; `None` if there is another value, or none is
/// that wide.
fn widest(expressions: &[&mut Expr], schema: &DFSchema) -> Result<Option<&'static str>> {
    let mut types = Vec::with_capacity(expressions.len());
    let (mut has_sign, mut has_wide) = (false, false);
    for expr in expressions {
        let field = match &**expr {
            Expr::Literal(value, _) if value.is_null() => continue,
            other => field_of(other, schema)?,
        };
        // A choice inside has lost the name of its type.
        let chosen = match &**expr {
            Expr::Case(case) => of_case(case, schema),
            Expr::ScalarFunction(call) => of_call(call, schema),
            _ => None,
        };
        let data_type = chosen.or_else(|| bare_type(&field));
        match (of_choice(expr, &field), &data_type) {
            (Some(width), _) => has_sign |= width.is_signed(),
            (None, Some(DataType::Int128)) => (has_sign, has_wide) = (true, true),
            (None, Some(DataType::UInt128)) => has_wide = true,
            _ => return Ok(None),
        }
        types.push(data_type);
    }
    if !has_wide || types.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(None);
    }
    if has_sign && types.contains(&Some(DataType::UInt128)) {
        return plan_err!(
            "a UInt128 and an integer with a sign have no common type here: convert them"
        );
    }
    Ok(Some(if has_sign { "toInt128" } else { "toUInt128" }))
}

/// The type that decimals and integers have together.
#[derive(Clone, Copy)]
struct Decimal {
    name: &'static str,
    scale: i8,
}

impl Decimal {
    /// That of decimals of different types, or of such and integers; `None` if there is another value, or nothing to do.
    fn of_all(expressions: &[&mut Expr], schema: &DFSchema) -> Result<Option<Self>> {
        let (mut digits, mut widest, mut scale) = (0_u32, 0_u32, None::<i8>);
        let mut types = Vec::with_capacity(expressions.len());
        for expr in expressions {
            let field = match &**expr {
                Expr::Literal(value, _) if value.is_null() => continue,
                other => field_of(other, schema)?,
            };
            match (of_choice(expr, &field), field.data_type()) {
                (Some(width), _) => digits = digits.max(width.digits()),
                (None, ArrowType::Decimal128(precision, of)) => {
                    scale = scale.max(Some(*of));
                    widest = widest.max(u32::from(*precision));
                }
                _ => return Ok(None),
            }
            types.push(field.data_type().clone());
        }
        let is_one = types.windows(2).all(|pair| pair[0] == pair[1]);
        let Some(scale) = scale.filter(|_| !is_one) else { return Ok(None) };
        let needed = if digits == 0 { 0 } else { digits + u32::from(scale.unsigned_abs()) };
        Ok(match widest.max(needed) {
            0..=9 => Some(Self { name: "toDecimal32", scale }),
            10..=18 => Some(Self { name: "toDecimal64", scale }),
            19..=38 => Some(Self { name: "toDecimal128", scale }),
            _ => None,
        })
    }
    /// Gives it to all.
    fn take(self, expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
        let precision = match self.name {
            "toDecimal32" => 9,
            "toDecimal64" => 18,
            _ => 38,
        };
        let wanted = ArrowType::Decimal128(precision, self.scale);
        for expr in expressions {
            let is_null = matches!(&**expr, Expr::Literal(value, _) if value.is_null());
            if is_null || *field_of(expr, schema)?.data_type() == wanted {
                continue;
            }
            let scale = lit(i64::from(self.scale));
            if let Some(decimal) = scalar::call(self.name, vec![expr.clone(), scale]) {
                **expr = decimal;
            }
        }
        Ok(true)
    }
}

/// The greatest and the least of a UInt64 and an integer with a sign are an Int128.
pub(super) fn made_wide(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    if !matches!(call.name(), "greatest" | "least") {
        return Ok(false);
    }
    let mut widths = Vec::with_capacity(call.args.len());
    for value in &call.args {
        let field = field_of(value, schema)?;
        match of_choice(value, &field) {
            Some(width) => widths.push(width),
            None if field.data_type().is_null() => {}
            None => return Ok(false),
        }
    }
    if widths.is_empty() || common(&widths).is_some() {
        return Ok(false);
    }
    for value in &mut call.args {
        if let Some(wide) = scalar::call("toInt128", vec![value.clone()]) {
            *value = wide;
        }
    }
    Ok(true)
}

/// A choice without what it never comes to, where the engine has not yet found out what types go together.
pub(super) fn chosen(mut expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if let Expr::ScalarFunction(call) = &mut expr
        && matches!(call.name(), "coalesce" | "nvl")
        && cut(&mut call.args, schema)?
        && let [only] = call.args.as_mut_slice()
    {
        return Ok(std::mem::take(only));
    }
    Ok(expr)
}

/// Takes off what a choice of the first value that is not NULL never comes to, and NULLs that are written out: neither has a
/// say in the type. True if there was any.
fn cut(choices: &mut Vec<Expr>, schema: &DFSchema) -> Result<bool> {
    let before = choices.len();
    let is_null = |it: &Expr| matches!(it, Expr::Literal(value, _) if value.is_null());
    if !choices.iter().all(is_null) {
        choices.retain(|it| !is_null(it));
    }
    for (place, choice) in choices.iter().enumerate() {
        // A subquery may have no row, whatever its column says.
        let is_query = choice.exists(|it| Ok(matches!(it, Expr::ScalarSubquery(_))))?;
        if !is_query && !nameless(choice, schema)?.is_nullable() {
            choices.truncate(place + 1);
            break;
        }
    }
    Ok(choices.len() < before)
}

/// Gives each of some expressions that is a number its own type. True if one was.
pub(super) fn of_each(expressions: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let literals = expressions.iter_mut().filter(|it| matches!(it, Expr::Literal(..)));
    literals.map(|it| of_all(&mut [it], schema)).try_fold(false, |any, it| Ok(any | it?))
}

/// The columns of projections that are numbers, whose types are asked for by what stands above. Those of recursive queries
/// stay as wide as they are: rows that are found later may not fit.
pub(super) fn shown(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if matches!(plan, LogicalPlan::RecursiveQuery(_)) {
        return Ok(Transformed::new(plan, false, TreeNodeRecursion::Jump));
    }
    let is_number = |expr: &Expr| match expr {
        Expr::Alias(alias) => matches!(*alias.expr, Expr::Literal(..)),
        other => matches!(other, Expr::Literal(..)),
    };
    let schema = DFSchema::empty();
    match plan {
        LogicalPlan::Projection(shown) if shown.expr.iter().any(is_number) => {
            let names = NamePreserver::new_for_projection();
            LogicalPlan::Projection(shown).map_expressions(|mut expr| {
                let name = names.save(&expr);
                let is_changed = match &mut expr {
                    Expr::Alias(alias) => of_each(std::slice::from_mut(&mut *alias.expr), &schema)?,
                    other => of_each(std::slice::from_mut(other), &schema)?,
                };
                Ok(if is_changed {
                    Transformed::yes(name.restore(expr))
                } else {
                    Transformed::no(expr)
                })
            })
        }
        other => Ok(Transformed::no(other)),
    }
}
