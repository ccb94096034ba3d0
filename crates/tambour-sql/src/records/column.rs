//! Columns that are filled with values of JSON, each of which fits as it is or is refused.

use super::json::{self, Bad, Value};
use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListArray, NullBufferBuilder,
    StringBuilder, StructArray, UInt64Builder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use arrow::error::ArrowError;
use std::borrow::Cow;
use std::sync::Arc;

/// Most bytes of a value that a message shows.
const SHOWN_BYTES: usize = 60;
/// This many digits are exact as a float, whatever they are.
const EXACT_DIGITS: usize = 15;

/// Why a value does not fit its column.
#[derive(Debug)]
pub(super) struct Misfit(pub(super) String);

impl From<Bad> for Misfit {
    fn from(Bad(what): Bad) -> Self {
        Self(format!("is not JSON: {what}"))
    }
}

impl From<ArrowError> for Misfit {
    fn from(error: ArrowError) -> Self {
        Self(format!("cannot be read: {error}"))
    }
}

/// Values of one type on their way into an array.
#[derive(Debug)]
pub(super) enum Column {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    UInt(UInt64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    List { field: FieldRef, ends: Vec<i32>, valid: NullBufferBuilder, values: Box<Column> },
    Object { fields: Fields, valid: NullBufferBuilder, columns: Vec<Column> },
}

impl Column {
    /// An empty column of a type that a [shape](super::shape::Shape) has.
    pub(super) fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::UInt64 => Self::UInt(UInt64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            DataType::List(field) => Self::List {
                field: Arc::clone(field),
                ends: vec![0],
                valid: NullBufferBuilder::new(0),
                values: Box::new(Self::new(field.data_type())),
            },
            DataType::Struct(fields) => Self::Object {
                fields: fields.clone(),
                valid: NullBufferBuilder::new(0),
                columns: fields.iter().map(|field| Self::new(field.data_type())).collect(),
            },
            _ => Self::Text(StringBuilder::new()),
        }
    }

    /// Adds a value as it is written; `None` where there is none.
    pub(super) fn add(&mut self, raw: Option<&[u8]>) -> Result<(), Misfit> {
        let value = raw.map(Value::of).transpose()?.unwrap_or(Value::Null);
        let misfit = |what: &str| Misfit(format!("is {}, {what}", shown(raw.unwrap_or_default())));
        match (self, value) {
            (column, Value::Null) => column.add_null(),
            (Self::Bool(target), Value::Bool(value)) => target.append_value(value),
            (Self::Bool(_), _) => return Err(misfit("which is not a Bool")),
            (Self::Int(target), value) => {
                let number = whole(value).and_then(|number| i64::try_from(number).ok());
                target.append_value(
                    number.ok_or_else(|| misfit("which is not a whole number of type Int64"))?,
                );
            }
            (Self::UInt(target), value) => {
                let number = whole(value).and_then(|number| u64::try_from(number).ok());
                target.append_value(
                    number.ok_or_else(|| misfit("which is not a whole number of type UInt64"))?,
                );
            }
            (Self::Float(target), value) => {
                let what = "which is not a number of type Float64 with all of its digits";
                target.append_value(float(value).ok_or_else(|| misfit(what))?);
            }
            (Self::Text(target), Value::Text(text)) => target.append_value(json::text(text)?),
            (Self::Text(target), _) => {
                let raw = std::str::from_utf8(raw.unwrap_or_default());
                target.append_value(raw.map_err(|_| Bad("it is not UTF-8"))?);
            }
            (Self::List { ends, valid, values, .. }, Value::List(list)) => {
                let mut end = ends.last().copied().unwrap_or(0);
                json::elements(list, |element| {
                    end = end.checked_add(1).ok_or_else(|| misfit("which is too long"))?;
                    values.add(Some(element))
                })?;
                ends.push(end);
                valid.append_non_null();
            }
            (Self::List { .. }, _) => return Err(misfit("which is not an array")),
            (Self::Object { fields, valid, columns }, Value::Object(object)) => {
                let mut found = vec![None; columns.len()];
                json::members(object, |name, value| {
                    if let Some((at, _)) = fields.find(&name) {
                        found[at] = Some(value);
                    }
                    Ok::<(), Misfit>(())
                })?;
                for (column, value) in columns.iter_mut().zip(found) {
                    column.add(value)?;
                }
                valid.append_non_null();
            }
            (Self::Object { .. }, _) => return Err(misfit("which is not an object")),
        }
        Ok(())
    }

    fn add_null(&mut self) {
        match self {
            Self::Bool(target) => target.append_null(),
            Self::Int(target) => target.append_null(),
            Self::UInt(target) => target.append_null(),
            Self::Float(target) => target.append_null(),
            Self::Text(target) => target.append_null(),
            Self::List { ends, valid, .. } => {
                ends.push(ends.last().copied().unwrap_or(0));
                valid.append_null();
            }
            Self::Object { valid, columns, .. } => {
                columns.iter_mut().for_each(Self::add_null);
                valid.append_null();
            }
        }
    }

    /// The values so far; it is empty again then.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, Misfit> {
        Ok(match self {
            Self::Bool(source) => Arc::new(source.finish()),
            Self::Int(source) => Arc::new(source.finish()),
            Self::UInt(source) => Arc::new(source.finish()),
            Self::Float(source) => Arc::new(source.finish()),
            Self::Text(source) => Arc::new(source.finish()),
            Self::List { field, ends, valid, values } => {
                let ends = OffsetBuffer::new(std::mem::replace(ends, vec![0]).into());
                let (field, values) = (Arc::clone(field), values.finish()?);
                Arc::new(ListArray::try_new(field, ends, values, valid.finish())?)
            }
            Self::Object { fields, valid, columns } => {
                let columns = columns.iter_mut().map(Self::finish).collect::<Result<_, _>>()?;
                Arc::new(StructArray::try_new(fields.clone(), columns, valid.finish())?)
            }
        })
    }
}

/// The digits of a number, also of one in quotes.
fn digits(value: Value<'_>) -> Option<Cow<'_, str>> {
    match value {
        Value::Number(digits) => Some(Cow::Borrowed(digits)),
        Value::Text(raw) => {
            let text = json::text(raw).ok()?;
            matches!(Value::of(text.as_bytes()), Ok(Value::Number(_))).then_some(text)
        }
        _ => None,
    }
}

/// A number that is whole, however it is written.
fn whole(value: Value<'_>) -> Option<i128> {
    let digits = digits(value)?;
    if let Ok(number) = digits.parse() {
        return Some(number);
    }
    let number: f64 = digits.parse().ok()?;
    let is_exact = number.fract() == 0.0 && number.abs() < (1_i64 << 53) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "below 2^53 and whole")]
    let whole = number as i128;
    is_exact.then_some(whole)
}

/// A number as a float. One that is whole keeps all of its digits, or is none.
fn float(value: Value<'_>) -> Option<f64> {
    let digits = digits(value)?;
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    if digits.len() > EXACT_DIGITS && !digits.contains(['.', 'e', 'E']) {
        let whole: i128 = digits.parse().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "compared with what it was")]
        let back = number as i128;
        return (back == whole && back != i128::MAX).then_some(number);
    }
    Some(number)
}

/// A value in a message.
fn shown(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw.get(..SHOWN_BYTES).unwrap_or(raw)).into_owned();
    if raw.len() > SHOWN_BYTES { format!("{text}...") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::util::display::array_value_to_string;

    fn read(data_type: &DataType, values: &[&str]) -> Result<Vec<String>, String> {
        let mut column = Column::new(data_type);
        for value in values {
            column.add(Some(value.as_bytes())).map_err(|Misfit(what)| what)?;
        }
        let array = column.finish().map_err(|Misfit(what)| what)?;
        Ok((0..values.len()).map(|row| array_value_to_string(&array, row).unwrap()).collect())
    }

    #[test]
    fn numbers_fit_or_are_refused() {
        let got = read(&DataType::Int64, &["1e2", "\"12\"", "3.0", "-9223372036854775808"]);
        assert_eq!(got.unwrap(), ["100", "12", "3", "-9223372036854775808"]);
        for bad in ["9223372036854775808", "1.5", "\"x\"", "true", "[1]", "{}", "1e300"] {
            let error = read(&DataType::Int64, &[bad]).unwrap_err();
            assert!(error.contains(bad) && error.contains("Int64"), "{error}");
        }
        assert_eq!(
            read(&DataType::UInt64, &["18446744073709551615"]).unwrap(),
            ["18446744073709551615"]
        );
        assert!(read(&DataType::UInt64, &["-1"]).is_err());
        assert_eq!(
            read(&DataType::Float64, &["9007199254740992"]).unwrap(),
            ["9007199254740992.0"]
        );
        for bad in ["9007199254740993", "123456789012345678901234567890", "1e999"] {
            assert!(read(&DataType::Float64, &[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_hold_whatever_is_written() {
        let got = read(&DataType::Utf8, &["\"a\\n\"", "1.50", "[\"x\", 1]", "{\"a\":{}}"]);
        assert_eq!(got.unwrap(), ["a\n", "1.50", "[\"x\", 1]", "{\"a\":{}}"]);
        let error = read(&DataType::Utf8, &["\"\\ud83d\""]).unwrap_err();
        assert!(error.contains("escape"), "{error}");
    }
}
