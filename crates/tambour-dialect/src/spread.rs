//! Variances, correlations and regressions at their edges: of one row, or of values that are all the same, DataFusion's are
//! NULL and ClickHouse's NaN; where a value is infinite or NaN, ClickHouse's variances are 0. And averages of pairs, where a value is infinite.

use super::call::{arguments, call, choice, is_null, rename, rewrite_plain, set_arguments};
use super::combinator::{Mark, split_mark};
use crate::marks::Otherwise;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Function, Value};

/// Aggregates that may be NaN of rows that there are, and one that is NULL only if there are none.
const LONE: &[(&str, &str)] = &[
    ("varSampStable", "var_pop"),
    ("stddevSampStable", "var_pop"),
    ("covarSampStable", "covar_pop"),
    ("corrStable", "covar_pop"),
    ("regr_slope", "covar_pop"),
    ("regr_intercept", "covar_pop"),
    ("regr_r2", "covar_pop"),
];

/// Aggregates that are 0 where they would be NaN.
const NEVER_NAN: &[&str] = &["regr_sxx", "regr_syy"];

/// For an aggregate that is NaN, and not NULL, of some rows: one that is NULL of the same rows, and never NaN of none.
pub(super) fn witness(name: &str) -> Option<&'static str> {
    let (_, witness) = LONE.iter().find(|(lone, _)| *lone == name)?;
    Some(if *witness == "var_pop" { "varPop" } else { "covarPop" })
}

/// 1, or NULL as `nothing` is, where the sum of squares of x is above 0.
fn one_if_x_varies(squares: &Expr, nothing: Expr, otherwise: Expr) -> Expr {
    let number = |text: &str| Box::new(Expr::value(Value::Number(text.to_owned(), false)));
    let condition = Expr::BinaryOp {
        left: Box::new(squares.clone()),
        op: BinaryOperator::Gt,
        right: number("0"),
    };
    let one =
        Expr::BinaryOp { left: Box::new(nothing), op: BinaryOperator::Plus, right: number("1.0") };
    choice(condition, Expr::Nested(Box::new(one)), otherwise)
}

/// The average of one of two arguments, over rows where both are known. ClickHouse averages what is left after the first value is taken
/// away, and adds that value again: if it is infinite, NaN is what comes of it.
fn average_of_pairs(function: &Function, is_of_first: bool) -> Option<Expr> {
    let mut average = function.clone();
    let [first, second] = arguments(&mut average)?.try_into().ok()?;
    let (first, mark) = split_mark(first);
    let mark = mark.unwrap_or_else(|| Mark::new(Otherwise::Usual));
    let (averaged, other) = if is_of_first { (first, second) } else { (second, first) };
    let zero = || Box::new(Expr::value(Value::Number("0.0".to_owned(), false)));
    let op = BinaryOperator::Multiply;
    // Only numbers have a product.
    let product = Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(other.clone()))),
        op: op.clone(),
        right: zero(),
    };
    let known = Expr::IsNotNull(Box::new(Expr::Nested(Box::new(product))));
    let filter = match average.filter.take() {
        None => known,
        Some(filter) => Expr::BinaryOp {
            left: Box::new(Expr::Nested(filter)),
            op: BinaryOperator::And,
            right: Box::new(known),
        },
    };
    average.filter = Some(Box::new(filter));
    let mut first = average.clone();
    let float = Expr::Function(call("toFloat64", vec![averaged.clone()]));
    set_arguments(&mut first, vec![float.clone()]);
    rename(&mut first, "any_value");
    // Only numbers have an average, and NULL without a type has none.
    let averaged = if is_null(&averaged) { float } else { averaged };
    set_arguments(&mut average, vec![mark.beside(other).around(averaged)]);
    rename(&mut average, "avg");
    let nothing = Expr::BinaryOp { left: Box::new(Expr::Function(first)), op, right: zero() };
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(Expr::Function(average)),
        op: BinaryOperator::Plus,
        right: Box::new(nothing),
    })))
}

/// Aggregates whose answers for infinite values hang on the order of their sums.
const FINITE: [&str; 6] =
    ["regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_sxy", "regr_syy"];

/// Lets no infinite value in.
fn finite(function: &mut Function) {
    let list = arguments(function).unwrap_or_default().into_iter().map(|argument| {
        let (argument, mark) = split_mark(argument);
        let argument = Expr::Function(call("finiteOnly", vec![argument]));
        mark.map_or(argument.clone(), |mark| mark.around(argument))
    });
    let list = list.collect();
    set_arguments(function, list);
}

/// What such a call is.
pub(super) fn rewrite(function: &Function, written: &str) -> Option<Expr> {
    if matches!(written, "regr_avgy" | "regr_avgx") {
        return average_of_pairs(function, written == "regr_avgy");
    }
    let mut own = function.clone();
    if FINITE.contains(&written) {
        finite(&mut own);
    }
    let function = &own;
    let lone = LONE.iter().find(|(name, _)| *name == written);
    let is_never_nan = NEVER_NAN.contains(&written);
    if lone.is_none() && !is_never_nan {
        return FINITE.contains(&written).then(|| Expr::Function(own.clone()));
    }
    let renamed = |name: &str| {
        let mut other = function.clone();
        rename(&mut other, name);
        Expr::Function(other)
    };
    let zero = || Expr::value(Value::Number("0.0".to_owned(), false));
    let mut plain = function.clone();
    if lone.is_some() {
        // What stands for no rows is for the witness to say: this one is NULL of some rows, too.
        super::combinator::mark(&mut plain, Otherwise::Null);
    }
    rewrite_plain(&mut plain, written);
    let mut value = Expr::Function(plain);
    if is_never_nan {
        // What stands for no rows may be NaN, and stays it.
        let count = if written.starts_with("regr_") { "regr_count" } else { "count" };
        let (left, right) = (Box::new(zero()), Box::new(renamed(count)));
        let op = BinaryOperator::Divide;
        let instead = Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }));
        value = Expr::Function(call("nanvl", vec![value, instead]));
    }
    let Some((_, witness)) = lone else { return Some(value) };
    let over_zero = |left: Expr, op: BinaryOperator| {
        Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(zero()) }))
    };
    let nothing = over_zero(renamed(witness), BinaryOperator::Multiply);
    let nan = over_zero(nothing.clone(), BinaryOperator::Divide);
    // What does not vary is explained in full by what does.
    let nan = if written == "regr_r2" {
        one_if_x_varies(&renamed("regr_sxx"), nothing, nan)
    } else {
        nan
    };
    let value = Expr::Function(call("coalesce", vec![value, nan]));
    if !written.ends_with("Stable") {
        return Some(value);
    }
    // These are infinite if there is only one row, whatever it holds.
    let is_of_two = written.starts_with("co");
    let count = renamed(if is_of_two { "regr_count" } else { "count" });
    let number = |text: &str| Expr::value(Value::Number(text.to_owned(), false));
    let condition = Expr::BinaryOp {
        left: Box::new(count.clone()),
        op: BinaryOperator::Eq,
        right: Box::new(number("1")),
    };
    let infinite = Expr::BinaryOp {
        left: Box::new(number("1.0")),
        op: BinaryOperator::Divide,
        right: Box::new(zero()),
    };
    let value = choice(condition, Expr::Nested(Box::new(infinite)), value);
    // Of no rows they are what their witness is, NULL or infinite.
    let condition = Expr::BinaryOp {
        left: Box::new(count),
        op: BinaryOperator::Eq,
        right: Box::new(number("0")),
    };
    Some(choice(condition, renamed(witness), value))
}
