//! Arrays of integers that are written out have the narrowest type in ClickHouse and 64 bits here. Where the type decides which
//! values go together, it is said.

use super::call::{arguments, call, set_arguments, take};
use datafusion::sql::sqlparser::ast::{Expr, Function, UnaryOperator, Value};

/// Says the types of both arrays of `transform(x, [1, 2], [3, 4])`.
pub(super) fn arrays(function: &mut Function, written: &str) {
    if written != "transform" {
        return;
    }
    let mut list = arguments(function).unwrap_or_default();
    for (place, argument) in list.iter_mut().enumerate().skip(1).take(2) {
        // Numbers below zero may be looked for among those without a sign.
        let item = narrowest(argument).filter(|item| place == 2 || item.starts_with('U'));
        if let Some(item) = item {
            let name = Expr::value(Value::SingleQuotedString(format!("Array({item})")));
            *argument = Expr::Function(call("CAST", vec![take(argument), name]));
        }
    }
    set_arguments(function, list);
}

fn integer(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Nested(inner) => integer(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(-integer(expr)?),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The type of the items; `None` if they are not integers that are written out, or if no type of 64 bits has room for them.
fn narrowest(array: &Expr) -> Option<String> {
    let Expr::Array(list) = array else { return None };
    let numbers = list.elem.iter().map(integer).collect::<Option<Vec<i128>>>()?;
    let (least, most) = (*numbers.iter().min()?, *numbers.iter().max()?);
    let bits = |needed: u32| [8, 16, 32, 64].into_iter().find(|bits| needed <= *bits);
    let width = |number: i128| 128 - number.leading_zeros();
    if least >= 0 {
        return bits(width(most)).map(|bits| format!("UInt{bits}"));
    }
    let below = bits(width(-1 - least) + 1)?;
    // A type with a sign for each without one is twice as wide.
    let above = if most < 0 { 0 } else { 2 * bits(width(most))? };
    bits(below.max(above)).map(|bits| format!("Int{bits}"))
}

#[cfg(test)]
mod tests {
    use super::narrowest;
    use datafusion::sql::sqlparser::dialect::ClickHouseDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    #[test]
    fn items_have_the_narrowest_type() {
        for (written, wanted) in [
            ("[1, 255]", Some("UInt8")),
            ("[1, 256]", Some("UInt16")),
            ("[-1, 1]", Some("Int16")),
            ("[-129, -1]", Some("Int16")),
            ("[18446744073709551615]", Some("UInt64")),
            ("[-1, 4294967296]", None),
            ("[1.5]", None),
            ("[x]", None),
            ("[]", None),
        ] {
            let mut parser =
                Parser::new(&ClickHouseDialect {}).try_with_sql(written).expect(written);
            let array = parser.parse_expr().expect(written);
            assert_eq!(narrowest(&array).as_deref(), wanted, "{written}");
        }
    }
}
