//! Values of a column for rows that were written before the table had it.

use super::recast::converted;
use super::widen::widens;
use crate::schema::expression::Expression;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Date32Array, Int64Array, ListArray, RecordBatch, UInt32Array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::ArrowError;
use arrow_select::take::take;
use std::sync::Arc;
use tambour_part::part::Derive;
use tambour_part::types::{Column, DataType, Strings, arrow_schema};
use tambour_part::{PartError, Place};

/// What such rows have: the value of the DEFAULT expression, else NULL, zero or nothing.
#[derive(Debug)]
pub(super) enum Fill {
    /// One value for all rows.
    Constant(ArrayRef),
    /// An expression over other columns, its type, and that of the column.
    Computed(Expression, DataType, DataType),
    /// For a column of a Nested: arrays of this one value, as long as those of another column of it.
    Repeated(ArrayRef, DataType),
}

impl Fill {
    /// The fill of a column with this DEFAULT, and the stored columns that it reads. An error says why there is none.
    pub(super) fn new(
        column: &Column,
        default: Option<&str>,
        stored: &[Column],
    ) -> Result<(Vec<usize>, Self), String> {
        let data_type = &column.data_type;
        let Some(text) = default.filter(|text| !text.eq_ignore_ascii_case("null")) else {
            return match (sibling(column, stored), data_type) {
                (Some(other), DataType::Array(item)) => {
                    Ok((vec![other], Self::Repeated(zero(item)?, data_type.clone())))
                }
                _ => Ok((Vec::new(), Self::Constant(zero(data_type)?))),
            };
        };
        let refuse = |problem: String| {
            format!(
                "rows from before the column was added have its DEFAULT {text}, which cannot be computed here: {problem}"
            )
        };
        let expression = Expression::parse(text).map_err(|error| refuse(error.to_string()))?;
        let from = expression.data_type(stored).map_err(|error| refuse(error.to_string()))?;
        let names = expression.columns();
        let find = |name: &&str| stored.iter().position(|column| column.name == **name);
        let columns: Option<Vec<usize>> = names.iter().map(find).collect();
        let columns =
            columns.ok_or_else(|| refuse("it reads a column that is missing, too".to_owned()))?;
        let fill = Self::Computed(expression, from, data_type.clone());
        if !columns.is_empty() {
            // Of no rows, only what holds of all rows is wrong.
            let read: Vec<Column> = columns.iter().map(|place| stored[*place].clone()).collect();
            let none = RecordBatch::new_empty(Arc::new(arrow_schema(&read, Strings::Binary)));
            fill.derive(&none).map_err(|error| refuse(error.to_string()))?;
            return Ok((columns, fill));
        }
        // A constant is computed once, and what is wrong with it is known now.
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::new(arrow_schema::Schema::empty());
        let one = RecordBatch::try_new_with_options(schema, Vec::new(), &options)
            .map_err(|error| refuse(error.to_string()))?;
        let value = fill.derive(&one).map_err(|error| refuse(error.to_string()))?;
        Ok((Vec::new(), Self::Constant(value)))
    }
}

impl Derive for Fill {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let wrong = |error: &dyn std::fmt::Display| {
            PartError::value(Place::default(), format!("its DEFAULT: {error}"))
        };
        match self {
            Self::Constant(value) => {
                let rows = UInt32Array::from(vec![0; stored.num_rows()]);
                take(value.as_ref(), &rows, None).map_err(|error| wrong(&error))
            }
            Self::Repeated(item, data_type) => {
                repeated(item, data_type, stored).map_err(|error| wrong(&error))
            }
            Self::Computed(expression, from, to) => {
                let values = expression.evaluate(stored).map_err(|error| wrong(&error))?;
                let values = assigned(&values, from, to)?;
                if values.null_count() > 0 && !to.is_nullable() {
                    return Err(wrong(&format!("NULL in a column of type {to}")));
                }
                Ok(values)
            }
        }
    }
}

/// The place of another column of the same Nested, whose arrays are all of one length.
fn sibling(column: &Column, stored: &[Column]) -> Option<usize> {
    let (nested, _) = column.name.split_once('.')?;
    stored.iter().position(|other| {
        let is_of_it = other.name.split_once('.').is_some_and(|(name, _)| name == nested);
        is_of_it && other.name != column.name && matches!(other.data_type, DataType::Array(_))
    })
}

fn repeated(
    item: &ArrayRef,
    data_type: &DataType,
    stored: &RecordBatch,
) -> Result<ArrayRef, ArrowError> {
    let lists = stored.columns().first().and_then(|column| column.as_list_opt::<i32>());
    let lists =
        lists.ok_or_else(|| ArrowError::CastError("its Nested has no arrays".to_owned()))?;
    let lengths =
        lists.offsets().windows(2).map(|ends| (ends[1] - ends[0]).unsigned_abs() as usize);
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let count = offsets.last().map_or(0, |end| end.unsigned_abs() as usize);
    let values = take(item.as_ref(), &UInt32Array::from(vec![0; count]), None)?;
    let strings = match values.data_type() {
        arrow_schema::DataType::Utf8View => Strings::Utf8,
        _ => Strings::Binary,
    };
    match data_type.arrow(strings) {
        arrow_schema::DataType::List(field) => {
            Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
        }
        other => Err(ArrowError::CastError(format!("{other} is not a list"))),
    }
}

/// Values of an expression as those of a column.
fn assigned(values: &ArrayRef, from: &DataType, to: &DataType) -> Result<ArrayRef, PartError> {
    if from == to || widens(from, to).is_some_and(|it| it.keeps_order) {
        return converted(values, from, to);
    }
    let refuse = |reason: &dyn std::fmt::Display| {
        PartError::value(Place::default(), format!("{from} as {to}: {reason}"))
    };
    let is_number = |it: &DataType| {
        it.unwrapped().fixed_width().is_some() && it.unwrapped().arrow(Strings::Binary).is_numeric()
    };
    let is_decimal = |it: &DataType| matches!(it.unwrapped(), DataType::Decimal { .. });
    let are_numbers = is_number(from) && is_number(to);
    if are_numbers && is_decimal(to) {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        return cast_with_options(values, &to.arrow(Strings::Binary), &strict)
            .map_err(|error| refuse(&error));
    }
    if let (DataType::String, DataType::Enum8(_) | DataType::Enum16(_)) =
        (from.unwrapped(), to.unwrapped())
    {
        return converted(values, from, to);
    }
    let function = match (from.unwrapped(), to.unwrapped()) {
        // Numbers wrap around, as in ClickHouse.
        (_, number) if are_numbers => &format!("to{number}"),
        (_, DataType::String) => "toString",
        (DataType::String, DataType::Date) => "toDate",
        (DataType::String, DataType::Date32) => "toDate32",
        (DataType::String, DataType::DateTime { .. }) => "toDateTime",
        (DataType::String, DataType::Uuid) => "toUUID",
        _ => return Err(refuse(&"no conversion is known")),
    };
    let column = Column { name: "x".to_owned(), data_type: from.clone() };
    let strings = match values.data_type() {
        arrow_schema::DataType::BinaryView => Strings::Binary,
        _ => Strings::Utf8,
    };
    let schema = Arc::new(arrow_schema(&[column], strings));
    let batch =
        RecordBatch::try_new(schema, vec![Arc::clone(values)]).map_err(|error| refuse(&error))?;
    let call = Expression::Call {
        function: function.to_owned(),
        arguments: vec![Expression::Column("x".to_owned())],
    };
    let made = call.data_type(&[Column { name: "x".to_owned(), data_type: from.clone() }]);
    let made = made.map_err(|error| refuse(&error))?;
    let values = call.evaluate(&batch).map_err(|error| refuse(&error))?;
    if made.unwrapped() == to.unwrapped()
        || matches!(to.unwrapped(), DataType::DateTime { zone: None })
    {
        converted(&values, &made, to)
    } else {
        Err(refuse(&"no conversion is known"))
    }
}

/// 1900-01-01, ClickHouse's default of a Date32: it is the first date of the type, not its zero.
const FIRST_DATE32: i32 = -25_567;

/// One value: NULL, zero, or what is empty.
pub(super) fn zero(data_type: &DataType) -> Result<ArrayRef, String> {
    let wanted = data_type.arrow(Strings::Binary);
    if data_type.is_nullable() {
        return Ok(new_null_array(&wanted, 1));
    }
    let cast = |values: ArrayRef, wanted: &arrow_schema::DataType| {
        arrow_cast::cast(&values, wanted).map_err(|error| error.to_string())
    };
    let number = || -> ArrayRef { Arc::new(Int64Array::from(vec![0])) };
    let text = || -> ArrayRef { Arc::new(arrow_array::BinaryArray::from(vec![&b""[..]])) };
    match data_type {
        DataType::LowCardinality(inner) => {
            let inner = zero(inner)?;
            converted(&inner, data_type.unwrapped(), data_type).map_err(|error| error.to_string())
        }
        DataType::String => cast(text(), &wanted),
        DataType::Date32 => Ok(Arc::new(Date32Array::from(vec![FIRST_DATE32]))),
        DataType::Enum8(_) | DataType::Enum16(_) => {
            let keys: ArrayRef =
                Arc::new(arrow_array::StringArray::from(vec![first_name(data_type)?]));
            converted(&keys, data_type, data_type).map_err(|error| error.to_string())
        }
        DataType::FixedString(_)
        | DataType::Uuid
        | DataType::Ipv6
        | DataType::Int256
        | DataType::UInt256 => {
            let bytes = vec![0; data_type.fixed_width().unwrap_or_default()];
            let values = arrow_array::FixedSizeBinaryArray::try_from_iter(std::iter::once(bytes));
            values.map(|values| Arc::new(values) as ArrayRef).map_err(|error| error.to_string())
        }
        DataType::Array(_) | DataType::Map(..) => empty_list(&wanted),
        DataType::Tuple(elements) => {
            let values = elements.iter().map(|(_, inner)| zero(inner)).collect::<Result<_, _>>()?;
            let arrow_schema::DataType::Struct(fields) = &wanted else {
                return Err("a tuple is a struct".to_owned());
            };
            let values = arrow_array::StructArray::try_new(fields.clone(), values, None);
            values.map(|values| Arc::new(values) as ArrayRef).map_err(|error| error.to_string())
        }
        DataType::Bool => Ok(Arc::new(arrow_array::BooleanArray::from(vec![false]))),
        _ => {
            let days: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![0]));
            let from = if wanted == arrow_schema::DataType::Date32 { days } else { number() };
            cast(from, &wanted)
        }
    }
}

/// A list or map without entries.
fn empty_list(wanted: &arrow_schema::DataType) -> Result<ArrayRef, String> {
    let data = arrow_data::ArrayData::new_null(wanted, 1).into_builder().nulls(None);
    data.build().map(arrow_array::make_array).map_err(|error| error.to_string())
}

/// The default of an Enum: the name of its least number, which is first in its list.
fn first_name(data_type: &DataType) -> Result<&str, String> {
    match data_type {
        DataType::Enum8(values) => values.first().map(|(name, _)| name.as_str()),
        DataType::Enum16(values) => values.first().map(|(name, _)| name.as_str()),
        _ => None,
    }
    .ok_or_else(|| "an Enum without values has no default".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;

    fn filled(data_type: &str, default: Option<&str>) -> Result<String, String> {
        let stored = [Column { name: "n".to_owned(), data_type: DataType::UInt16 }];
        let column = Column { name: "c".to_owned(), data_type: data_type.parse().unwrap() };
        let (from, fill) = Fill::new(&column, default, &stored)?;
        let schema = Arc::new(tambour_part::types::arrow_schema(&stored, Strings::Utf8));
        let numbers: ArrayRef = Arc::new(arrow_array::UInt16Array::from(vec![7, 8]));
        let batch = RecordBatch::try_new(schema, vec![numbers]).unwrap();
        let values =
            fill.derive(&batch.project(&from).unwrap()).map_err(|error| error.to_string())?;
        assert_eq!(values.len(), 2);
        let values = arrow_cast::cast(&values, &arrow_schema::DataType::Utf8).unwrap();
        let values = values.as_string::<i32>();
        Ok(if values.is_null(1) { "NULL".to_owned() } else { values.value(1).to_owned() })
    }

    #[test]
    fn old_rows_have_defaults() {
        for (data_type, default, expected) in [
            ("UInt8", None, "0"),
            ("Float64", None, "0.0"),
            ("Nullable(Int64)", None, "NULL"),
            ("Nullable(Int64)", Some("NULL"), "NULL"),
            ("String", None, ""),
            ("LowCardinality(String)", None, ""),
            ("LowCardinality(Nullable(String))", None, "NULL"),
            ("Date", None, "1970-01-01"),
            ("DateTime", None, "1970-01-01T00:00:00Z"),
            ("DateTime64(3)", None, "1970-01-01T00:00:00Z"),
            ("Decimal(9, 2)", None, "0.00"),
            ("Int128", None, "0"),
            ("Bool", None, "false"),
            ("Enum8('b' = 2, 'a' = 1)", None, "a"),
            ("Array(String)", None, "[]"),
            ("UInt64", Some("42"), "42"),
            ("Int8", Some("-3"), "-3"),
            ("UInt8", Some("300"), "44"),
            ("UInt8", Some("n * 100"), "32"),
            ("String", Some("'x'"), "x"),
            ("LowCardinality(String)", Some("'x'"), "x"),
            ("UInt64", Some("n * 10"), "80"),
            ("String", Some("toString(n)"), "8"),
            ("String", Some("n"), "8"),
            ("Date", Some("'2024-02-29'"), "2024-02-29"),
            ("Enum8('b' = 2, 'a' = 1)", Some("'b'"), "b"),
        ] {
            let got = filled(data_type, default).unwrap_or_else(|error| error);
            assert_eq!(got, expected, "{data_type} {default:?}");
        }
        let map = Column { name: "c".to_owned(), data_type: "Map(String, UInt8)".parse().unwrap() };
        let (_, Fill::Constant(value)) = Fill::new(&map, None, &[]).unwrap() else { panic!() };
        assert_eq!((value.len(), value.as_map().value(0).len()), (1, 0));
        for (data_type, default) in [
            ("Decimal(4, 2)", "300"),
            ("String", "now()"),
            ("UInt8", "m + 1"),
            ("Enum8('a' = 1)", "'b'"),
        ] {
            assert!(filled(data_type, Some(default)).is_err(), "{data_type} {default}");
        }
    }
}
