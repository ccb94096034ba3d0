//! Texts and numbers that are compared with a column of a type that SQL has no literals for: UUIDs, addresses, fixed
//! strings, instants. They are read as ClickHouse reads them, once, when the query is planned.

use arrow::array::{Array, StringViewArray, UInt8Array};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{Expr, ExprSchemable, ReturnFieldArgs, lit};
use std::sync::Arc;
use tambour_function::Operand;
use tambour_part::types::{DataType, Strings, TYPE_KEY};

/// The ClickHouse type of a field without `Nullable` and `LowCardinality`.
pub(super) fn bare_type(field: &Field) -> Option<DataType> {
    fn bare(data_type: DataType) -> DataType {
        match data_type {
            DataType::Nullable(inner) | DataType::LowCardinality(inner) => bare(*inner),
            other => other,
        }
    }
    DataType::from_field(field).ok().map(bare)
}

/// The text of a literal that is one.
pub(super) fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.as_deref()
        }
        _ => None,
    }
}

/// The field of an expression, without a name: the engine's `to_field` writes out the names of all that is inside, which in
/// a long chain of operators is the cube of its length.
pub(super) fn field_of(expr: &Expr, schema: &DFSchema) -> Result<FieldRef> {
    match expr {
        Expr::BinaryExpr(_) | Expr::Literal(_, None) => {
            Ok(Arc::new(Field::new("", expr.get_type(schema)?, true)))
        }
        Expr::Cast(cast) if matches!(*cast.expr, Expr::BinaryExpr(_) | Expr::Cast(_)) => {
            Ok(Arc::clone(&cast.field))
        }
        _ => nameless(expr, schema),
    }
}

/// The same with nullability and metadata, as `to_field` has them. Columns keep their names; calls have none.
pub(super) fn nameless(expr: &Expr, schema: &DFSchema) -> Result<FieldRef> {
    let named = || Ok(expr.to_field(schema)?.1);
    let Expr::ScalarFunction(call) = expr else { return named() };
    let fields: Vec<FieldRef> =
        call.args.iter().map(|argument| nameless(argument, schema)).collect::<Result<_>>()?;
    // The engine says best what is wrong with them.
    let Ok(fields) = fields_with_udf(&fields, call.func.as_ref()) else { return named() };
    let constants = call.args.iter().map(Expr::as_literal);
    let scalar_arguments: Vec<Option<&ScalarValue>> = constants.collect();
    call.func.return_field_from_args(ReturnFieldArgs {
        arg_fields: &fields,
        scalar_arguments: &scalar_arguments,
    })
}

/// A literal in the type of what it is compared with; `None` if it can stay what it is.
pub(super) fn fitted(expr: &Expr, other: &Field) -> Result<Option<Expr>> {
    if !matches!(expr, Expr::Literal(..)) {
        return Ok(None);
    }
    match bare_type(other) {
        Some(data_type) => fitted_to(expr, other, &data_type),
        None => Ok(None),
    }
}

/// The same with the type of the other side, for those that have it at hand.
pub(super) fn fitted_to(expr: &Expr, other: &Field, data_type: &DataType) -> Result<Option<Expr>> {
    let Expr::Literal(value, _) = expr else { return Ok(None) };
    let fitted = match (data_type, text(value), value) {
        (DataType::Enum8(_) | DataType::Enum16(_), Some(text), _) => {
            return Ok(enum_name(data_type, text).map(lit));
        }
        (DataType::Uuid, Some(text), _) => Some(read("toUUID", text)?),
        (DataType::Ipv4, Some(text), _) => Some(read("toIPv4", text)?),
        (DataType::Ipv6, Some(text), _) => Some(read("toIPv6", text)?),
        // Zeros at its end are none of the text.
        (DataType::FixedString(width), Some(text), _)
            if text.trim_end_matches('\0').len() <= *width =>
        {
            let mut bytes = text.trim_end_matches('\0').as_bytes().to_vec();
            bytes.resize(*width, 0);
            let ArrowType::FixedSizeBinary(size) = data_type.arrow(Strings::Utf8) else {
                return Ok(None);
            };
            Some(ScalarValue::FixedSizeBinary(size, Some(bytes)))
        }
        (DataType::Float32 | DataType::Float64, Some(text), _)
            if text.bytes().all(|it| it.is_ascii_digit() || matches!(it, b'-' | b'.')) =>
        {
            let Ok(number) = text.parse::<f64>() else { return Ok(None) };
            return Ok(Some(lit(ScalarValue::Float64(Some(number)).cast_to(other.data_type())?)));
        }
        // Digits past those of the type do not count, nor do they round up.
        (DataType::Decimal { scale, .. }, Some(text), _)
            if text.split_once('.').is_some_and(|(whole, digits)| {
                let whole = whole.trim_start_matches(['-', '+']);
                digits.len() > usize::from(*scale)
                    && whole.bytes().chain(digits.bytes()).all(|it| it.is_ascii_digit())
            }) =>
        {
            Some(super::decimals::of_text(text, other.data_type())?)
        }
        (DataType::DateTime64 { precision, .. }, Some(text), _)
            if let Some((seconds, digits)) = text.split_once('.')
                && digits.len() > usize::from(*precision)
                && digits.bytes().all(|it| it.is_ascii_digit()) =>
        {
            let digits = &digits[..usize::from(*precision)];
            let cut =
                if digits.is_empty() { seconds.to_owned() } else { format!("{seconds}.{digits}") };
            return Ok(Some(lit(cut)));
        }
        // A time that the zone's clocks leave out or show twice.
        (DataType::DateTime { zone } | DataType::DateTime64 { zone, .. }, Some(text), _)
            if zone.is_some() && value.cast_to(other.data_type()).is_err() =>
        {
            return local_time(text, data_type, other);
        }
        (DataType::Int64 | DataType::UInt64, _, ScalarValue::Float64(Some(float))) => {
            return Ok(whole(*float, data_type).map(lit));
        }
        (DataType::Int256, _, ScalarValue::Int64(Some(number))) => Some(wide(*number)),
        (DataType::UInt256, _, ScalarValue::Int64(Some(number @ 0..))) => Some(wide(*number)),
        (DataType::Bool, Some("true" | "1"), _) => Some(ScalarValue::Boolean(Some(true))),
        (DataType::Bool, Some("false" | "0"), _) => Some(ScalarValue::Boolean(Some(false))),
        (DataType::Bool, _, ScalarValue::Int64(Some(number @ (0 | 1)))) => {
            Some(ScalarValue::Boolean(Some(*number == 1)))
        }
        (
            DataType::DateTime { .. } | DataType::DateTime64 { .. },
            _,
            ScalarValue::Int64(Some(seconds)),
        ) => ticks_per_second(other.data_type())
            .and_then(|per_second| seconds.checked_mul(per_second))
            .map(|ticks| ScalarValue::Int64(Some(ticks)).cast_to(other.data_type()))
            .transpose()?,
        _ => None,
    };
    Ok(fitted.map(|value| Expr::Literal(value, Some(named(data_type)))))
}

/// The integer that a float is, where the type has it. An integer of 64 bits may have no float of its value, which the engine compares.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is within the range"
)]
pub(super) fn whole(float: f64, data_type: &DataType) -> Option<ScalarValue> {
    const END: f64 = 18_446_744_073_709_551_616.0;
    let is_whole = float.fract() == 0.0;
    match data_type {
        DataType::UInt64 if is_whole && (0.0..END).contains(&float) => {
            Some(ScalarValue::UInt64(Some(float as u64)))
        }
        DataType::Int64 if is_whole && (-END / 2.0..END / 2.0).contains(&float) => {
            Some(ScalarValue::Int64(Some(float as i64)))
        }
        _ => None,
    }
}

/// The name of the value whose number a text is, unless it is a name itself.
pub(super) fn enum_name<'a>(data_type: &'a DataType, text: &str) -> Option<&'a str> {
    let known: Vec<(&str, i16)> = match data_type {
        DataType::Enum8(known) => known.iter().map(|(it, n)| (&**it, i16::from(*n))).collect(),
        DataType::Enum16(known) => known.iter().map(|(it, n)| (&**it, *n)).collect(),
        _ => Vec::new(),
    };
    let number = text.parse::<i16>().ok()?;
    let is_name = known.iter().any(|it| it.0 == text);
    known.iter().find(|it| !is_name && it.1 == number).map(|it| it.0)
}

/// The bytes of an integer of 256 bits, the lowest first.
fn wide(number: i64) -> ScalarValue {
    let mut bytes = vec![if number < 0 { 0xff } else { 0 }; 32];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    ScalarValue::FixedSizeBinary(32, Some(bytes))
}

/// The field of a result that is NULL where an argument is. The engine's own would be one that may always be.
pub(super) fn null_of_null(name: &str, data_type: ArrowType, args: &ReturnFieldArgs) -> FieldRef {
    let may_be_null = args.arg_fields.iter().any(|it| it.is_nullable());
    Arc::new(Field::new(name, data_type, may_be_null))
}

/// The metadata that says the ClickHouse type.
pub(super) fn named(data_type: &DataType) -> FieldMetadata {
    std::collections::BTreeMap::from([(TYPE_KEY.to_owned(), data_type.to_string())]).into()
}

/// How many ticks of an instant make a second.
pub(super) fn ticks_per_second(arrow: &ArrowType) -> Option<i64> {
    use arrow::datatypes::TimeUnit;
    let ArrowType::Timestamp(unit, _) = arrow else { return None };
    Some(match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    })
}

/// A local time as ClickHouse takes it; `None` if the text is none.
fn local_time(text: &str, data_type: &DataType, other: &Field) -> Result<Option<Expr>> {
    let (name, zone, precision) = match data_type {
        DataType::DateTime { zone } => ("toDateTime", zone, None),
        DataType::DateTime64 { precision, zone } => ("toDateTime64", zone, Some(*precision)),
        _ => return Ok(None),
    };
    let constant = |data_type, values| Operand { data_type, values, is_constant: true };
    let text_of = |text: &str| {
        let values: Arc<dyn Array> = Arc::new(StringViewArray::from_iter_values([text]));
        constant(DataType::String, values)
    };
    let mut operands = vec![text_of(text)];
    if let Some(precision) = precision {
        operands.push(constant(DataType::UInt8, Arc::new(UInt8Array::from(vec![precision]))));
    }
    operands.extend(zone.as_deref().map(text_of));
    let function = tambour_aggregate::find_in_queries(name);
    let Some(Ok(result)) = function.map(|function| function.evaluate(&operands)) else {
        return Ok(None);
    };
    let value = ScalarValue::try_from_array(&result.values, 0)?.cast_to(other.data_type())?;
    Ok(Some(Expr::Literal(value, Some(named(data_type)))))
}

/// What a conversion of the store makes of a text.
fn read(conversion: &str, text: &str) -> Result<ScalarValue> {
    let Some(function) = tambour_aggregate::find_in_queries(conversion) else {
        return datafusion::common::plan_err!("there is no function {conversion}");
    };
    let values: Arc<dyn Array> = Arc::new(StringViewArray::from_iter_values([text]));
    let operand = Operand { data_type: DataType::String, values, is_constant: true };
    let result = function
        .evaluate(&[operand])
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    ScalarValue::try_from_array(&result.values, 0)
}

/// The narrowest type of a number.
pub fn narrowest(number: i64) -> String {
    let bits = [8_u32, 16, 32, 64];
    let (letter, needed) = match u64::try_from(number) {
        Ok(number) => ("U", u64::BITS - number.leading_zeros()),
        Err(_) => ("", i64::BITS - number.leading_ones() + 1),
    };
    let bits = bits.into_iter().find(|bits| needed <= *bits).unwrap_or(64);
    format!("{letter}Int{bits}")
}

#[cfg(test)]
mod tests {
    use super::narrowest;

    #[test]
    fn numbers_are_as_narrow_as_they_can_be() {
        for (number, name) in [
            (0, "UInt8"),
            (255, "UInt8"),
            (256, "UInt16"),
            (65_536, "UInt32"),
            (1 << 32, "UInt64"),
            (-1, "Int8"),
            (-128, "Int8"),
            (-129, "Int16"),
            (-32_769, "Int32"),
            (i64::MIN, "Int64"),
        ] {
            assert_eq!(narrowest(number), name, "{number}");
        }
    }
}
