//! What values look like, and which type holds all that look so.

use super::json::{self, Bad, Value};
use arrow::datatypes::{DataType, Field, Fields};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values that are nested deeper have the type of a text: what calls itself must end.
const DEPTH_MAX: usize = 32;
/// Up to here every whole number is a float, too.
const EXACT_MAX: u128 = 1 << 53;

/// What all values of a field have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Null, in all of them.
    Nothing,
    Bool,
    Number(Numbers),
    /// Texts, or values that no other type holds: they are shown as they are written.
    Text,
    List(Box<Shape>),
    Object(BTreeMap<String, Shape>),
}

/// Which numbers are among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    float: bool,
    negative: bool,
    /// Whole, and not exact as a float.
    long: bool,
    /// Above those of `Int64`,
    large: bool,
    /// outside of all types.
    huge: bool,
}

impl Numbers {
    fn of(digits: &str) -> Self {
        if digits.contains(['.', 'e', 'E']) {
            // What is past all floats is only what is written.
            let huge = !digits.parse::<f64>().is_ok_and(f64::is_finite);
            return Self { float: true, huge, ..Self::default() };
        }
        let Ok(number) = digits.parse::<i128>() else {
            return Self { huge: true, ..Self::default() };
        };
        let large = number > i128::from(i64::MAX);
        Self {
            float: false,
            negative: number < 0,
            long: number.unsigned_abs() > EXACT_MAX,
            large,
            huge: number < i128::from(i64::MIN) || number > i128::from(u64::MAX),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            float: self.float | other.float,
            negative: self.negative | other.negative,
            long: self.long | other.long,
            large: self.large | other.large,
            huge: self.huge | other.huge,
        }
    }

    /// The type that shows each of them with all of its digits.
    fn data_type(self) -> DataType {
        match self {
            Self { huge: true, .. }
            | Self { float: true, long: true, .. }
            | Self { negative: true, large: true, .. } => DataType::Utf8,
            Self { float: true, .. } => DataType::Float64,
            Self { large: true, .. } => DataType::UInt64,
            _ => DataType::Int64,
        }
    }
}

impl Shape {
    /// The shape of a value.
    pub(super) fn of(raw: &[u8], depth: usize) -> Result<Self, Bad> {
        Ok(match Value::of(raw)? {
            Value::Null => Self::Nothing,
            Value::Bool(_) => Self::Bool,
            Value::Number(digits) => Self::Number(Numbers::of(digits)),
            Value::Text(_) => Self::Text,
            Value::List(_) | Value::Object(_) if depth >= DEPTH_MAX => Self::Text,
            Value::List(list) => {
                let mut shape = Self::Nothing;
                json::elements(list, |element| {
                    shape.join(Self::of(element, depth + 1)?);
                    Ok::<(), Bad>(())
                })?;
                Self::List(Box::new(shape))
            }
            Value::Object(object) => {
                let mut shapes = BTreeMap::new();
                json::members(object, |name, value| {
                    add(&mut shapes, &name, Self::of(value, depth + 1)?);
                    Ok::<(), Bad>(())
                })?;
                Self::Object(shapes)
            }
        })
    }

    /// Takes in a further value.
    pub(super) fn join(&mut self, other: Self) {
        *self = match (std::mem::replace(self, Self::Nothing), other) {
            (Self::Nothing, shape) | (shape, Self::Nothing) => shape,
            (Self::Bool, Self::Bool) => Self::Bool,
            (Self::Number(one), Self::Number(other)) => Self::Number(one.and(other)),
            (Self::List(mut one), Self::List(other)) => {
                one.join(*other);
                Self::List(one)
            }
            (Self::Object(mut one), Self::Object(other)) => {
                for (name, shape) in other {
                    add(&mut one, &name, shape);
                }
                Self::Object(one)
            }
            _ => Self::Text,
        };
    }

    /// The type that holds all values of the shape.
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Number(numbers) => numbers.data_type(),
            Self::List(shape) => {
                DataType::List(Arc::new(Field::new_list_field(shape.data_type(), true)))
            }
            Self::Object(shapes) if !shapes.is_empty() => {
                let fields =
                    shapes.iter().map(|(name, shape)| Field::new(name, shape.data_type(), true));
                DataType::Struct(fields.collect::<Fields>())
            }
            // An object without fields is not a type; a text holds whatever comes.
            Self::Nothing | Self::Text | Self::Object(_) => DataType::Utf8,
        }
    }
}

/// Adds a value of a name.
pub(super) fn add(shapes: &mut BTreeMap<String, Shape>, name: &str, shape: Shape) {
    match shapes.get_mut(name) {
        Some(known) => known.join(shape),
        None => drop(shapes.insert(name.to_owned(), shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(values: &[&str]) -> String {
        let mut shape = Shape::Nothing;
        for value in values {
            shape.join(Shape::of(value.as_bytes(), 0).unwrap());
        }
        shape.data_type().to_string()
    }

    #[test]
    fn a_type_holds_all_digits_of_all_values() {
        for (values, wanted) in [
            (&["1", "-2", "null"][..], "Int64"),
            (&["1", "1.5"], "Float64"),
            (&["9007199254740992", "1.5"], "Float64"),
            (&["9007199254740993", "1.5"], "Utf8"),
            (&["1", "18446744073709551615"], "UInt64"),
            (&["-1", "18446744073709551615"], "Utf8"),
            (&["123456789012345678901234567890"], "Utf8"),
            (&["true", "1"], "Utf8"),
            (&["\"x\"", "[1]"], "Utf8"),
            (&["{\"a\":1}", "7"], "Utf8"),
            (&["{}", "null"], "Utf8"),
            (&["null"], "Utf8"),
        ] {
            assert_eq!(type_of(values), wanted, "{values:?}");
        }
        assert!(type_of(&["[1]", "[18446744073709551615, null]"]).contains("UInt64"));
        let nested = type_of(&["[{\"p\":1},null]", "[{\"q\":[9223372036854775808]}]"]);
        assert!(nested.contains("Struct") && nested.contains("UInt64"), "{nested}");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(type_of(&[&deep]).contains("Utf8"));
    }
}
