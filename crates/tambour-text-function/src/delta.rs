//! Spans of time and sizes as people write them: `formatReadableTimeDelta`, `parseTimeDelta`, `parseReadableSize`.

use arrow_array::types::Float64Type;
use arrow_array::{ArrayRef, BooleanArray};
use tambour_function::kit::{Call, Failure, Kind, Texts, rule, takes, wrong};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;
use tambour_value::delta::{self, Unit};

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("formatReadableTimeDelta", format_type, format),
    Function::new("parseTimeDelta", rule!(Text => DataType::Float64), |c| {
        let texts = c.texts(0)?;
        let mut spans = Vec::with_capacity(c.rows);
        for row in 0..c.rows {
            let span = delta::parse(texts.get(row));
            if span.is_none() && !c.is_null(row) {
                return Err(c.value_error(row, "the text is not numbers with units of time"));
            }
            spans.push(span.unwrap_or(0.0));
        }
        c.make_numbers::<Float64Type>(|row| spans[row])
    }),
    Function::new("parseReadableSize", rule!(Text => DataType::UInt64), |c| {
        size(c, Failure::Error)
    }),
    Function::new("parseReadableSizeOrZero", rule!(Text => DataType::UInt64), |c| {
        size(c, Failure::Zero)
    }),
    Function::new(
        "parseReadableSizeOrNull",
        rule!(Text => DataType::UInt64.made_nullable()),
        |c| size(c, Failure::Null),
    ),
];

/// The units that a call names: the largest and the smallest.
fn units(name: &'static str, s: &[Signature]) -> Result<(Unit, Unit), FunctionError> {
    let named = |index: usize, otherwise: Unit| match s.get(index) {
        None => Ok(otherwise),
        Some(argument) => {
            let text = argument.constant.as_ref().and_then(|text| Texts::of(text).first());
            text.and_then(|text| Unit::named(&text)).ok_or_else(|| {
                wrong(name, "a unit is one of nanoseconds, microseconds, milliseconds, seconds, minutes, hours, days, months, years")
            })
        }
    };
    let largest = named(1, Unit::YEARS)?;
    let smallest = named(2, Unit::SECONDS.min(largest))?;
    if smallest > largest {
        return Err(wrong(name, "the smallest unit is larger than the largest"));
    }
    Ok((largest, smallest))
}

fn format_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number], &[Kind::ConstText, Kind::ConstText])?;
    units(name, s)?;
    Ok(DataType::String)
}

fn format(call: &Call) -> Result<ArrayRef, FunctionError> {
    let signatures: Vec<Signature> =
        call.operands.iter().map(tambour_function::Operand::signature).collect();
    let (largest, smallest) = units(call.name, &signatures)?;
    let seconds = call.floats(0)?;
    call.try_texts(|row, out| {
        if seconds.get(row).is_finite() && seconds.get(row).abs() > delta::SECONDS_MAX {
            return Err(call.value_error(row, "the span is longer than 2^53 seconds"));
        }
        out.extend_from_slice(delta::readable(seconds.get(row), largest, smallest).as_bytes());
        Ok(())
    })
}

fn size(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let sizes: Vec<Option<u64>> =
        (0..call.rows).map(|row| delta::parse_size(texts.get(row))).collect();
    let is_wrong = |row: &usize| sizes[*row].is_none() && !call.is_null(*row);
    if let Some(row) = (0..call.rows).find(|row| failure == Failure::Error && is_wrong(row)) {
        return Err(call.value_error(row, "the text is not a size like 1.5 KiB"));
    }
    let numbers =
        call.make_numbers::<arrow_array::types::UInt64Type>(|row| sizes[row].unwrap_or(0))?;
    if failure != Failure::Null {
        return Ok(numbers);
    }
    let is_absent = sizes.iter().map(|size| Some(size.is_none())).collect::<BooleanArray>();
    arrow_select::nullif::nullif(&numbers, &is_absent)
        .map_err(FunctionError::arrow("marking NULLs"))
}
