//! Functions that are made while a query is planned and that no session has by name: what they are, as a text.

use super::comparison::Ieee;
use super::order::{Order, Ordered};
use super::typed::Typed;
use datafusion::logical_expr::{Operator, ScalarUDF};
use serde::{Deserialize, Serialize};

/// A function with what it was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Made {
    /// A value with a ClickHouse type.
    Typed(String),
    /// The form of values that has ClickHouse's order.
    Ordered(Order),
    /// A comparison of floats, by the sign of it.
    Ieee(String),
}

/// The comparisons.
const SIGNS: [Operator; 6] =
    [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];

/// What a function was made from; `None` of those that sessions have by name.
fn made(function: &ScalarUDF) -> Option<Made> {
    let inner = function.inner();
    if let Some(typed) = inner.downcast_ref::<Typed>() {
        return Some(Made::Typed(typed.data_type().to_owned()));
    }
    if let Some(ordered) = inner.downcast_ref::<Ordered>() {
        return Some(Made::Ordered(ordered.order().clone()));
    }
    inner.downcast_ref::<Ieee>().map(|ieee| Made::Ieee(ieee.operator().to_string()))
}

/// The function again; `None` where it cannot be one.
fn make(made: Made) -> Option<ScalarUDF> {
    Some(match made {
        Made::Typed(data_type) => ScalarUDF::new_from_impl(Typed::new(data_type)),
        Made::Ordered(order) => order.udf(),
        Made::Ieee(sign) => {
            let operator = SIGNS.into_iter().find(|it| it.to_string() == sign)?;
            ScalarUDF::new_from_impl(Ieee::new(operator))
        }
    })
}

/// What a function was made from, as a text; `None` of those that sessions have by name.
pub fn text_of(function: &ScalarUDF) -> Option<String> {
    made(function).and_then(|made| serde_json::to_string(&made).ok())
}

/// The function of such a text.
pub fn function_of(text: &str) -> Option<ScalarUDF> {
    serde_json::from_str(text).ok().and_then(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_that_is_made_comes_back_equal() {
        let signs = SIGNS.iter().map(|sign| Made::Ieee(sign.to_string()));
        let orders = [
            Order::NanLeast,
            Order::Float,
            Order::Sorted { nan_least: true },
            Order::Wide { is_signed: true },
            Order::Name(vec![("a".to_owned(), 1)]),
        ];
        let all = signs
            .chain(orders.map(Made::Ordered))
            .chain([Made::Typed("Enum8('a' = 1)".to_owned())]);
        for what in all {
            let function = make(what.clone()).unwrap();
            assert_eq!(made(&function), Some(what.clone()));
            let text = serde_json::to_string(&what).unwrap();
            assert_eq!(make(serde_json::from_str(&text).unwrap()), Some(function));
        }
        assert_eq!(make(Made::Ieee("+".to_owned())), None);
        assert_eq!(made(&datafusion::functions::string::upper()), None);
    }
}
