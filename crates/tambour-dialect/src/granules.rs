//! `mergeTreeIndex(database, table, with_marks = true)` in FROM: names become texts, and the switch its value, since the engine takes
//! constants alone.

use super::refused;
use crate::{DATABASE, DialectError};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, TableFactor, Value,
};

/// Its name.
const NAME: &str = "mergeTreeIndex";
/// The switch that is known.
const MARKS: &str = "with_marks";

/// Gives the function constants.
pub(super) fn rewrite(table: &mut TableFactor) -> Result<(), DialectError> {
    let TableFactor::Table { name, args: Some(arguments), .. } = table else { return Ok(()) };
    let is_it = name.0.first().and_then(|part| part.as_ident());
    if name.0.len() != 1 || is_it.is_none_or(|it| it.value != NAME) {
        return Ok(());
    }
    for argument in &mut arguments.args {
        let text = argument.to_string();
        let constant = constant(argument).ok_or_else(|| {
            refused(
                format!("{NAME}(... {text} ...)"),
                format!("it takes a database, a table and {MARKS} = true or false"),
            )
        })?;
        *argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(constant)));
    }
    Ok(())
}

fn constant(argument: &FunctionArg) -> Option<Value> {
    let expr = match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => expr,
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(arg),
            operator: FunctionArgOperator::Equals,
        } if name.value == MARKS => return switch(arg),
        _ => return None,
    };
    match expr {
        Expr::Identifier(name) => Some(Value::SingleQuotedString(name.value.clone())),
        Expr::Function(call) => {
            let name = call.name.to_string().to_ascii_lowercase();
            let is_own = ["currentdatabase", "database"].contains(&name.as_str());
            is_own.then(|| Value::SingleQuotedString(DATABASE.to_owned()))
        }
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(Value::SingleQuotedString(text.clone())),
            _ => None,
        },
        Expr::BinaryOp { left, right, .. } => match &**left {
            Expr::Identifier(name) if name.value == MARKS => switch(right),
            _ => None,
        },
        _ => None,
    }
}

fn switch(expr: &Expr) -> Option<Value> {
    let Expr::Value(value) = expr else { return None };
    match &value.value {
        Value::Boolean(value) => Some(Value::Boolean(*value)),
        Value::Number(number, _) => match number.as_str() {
            "0" => Some(Value::Boolean(false)),
            "1" => Some(Value::Boolean(true)),
            _ => None,
        },
        _ => None,
    }
}
