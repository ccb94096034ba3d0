//! Pieces of texts, and texts put together of values: `substring`, `concat`,
//! `arrayStringConcat`, `hex`. They are for queries only: a piece of text that ends within a letter has no form that both
//! texts and bytes have.

use super::access::as_texts;
use super::string;
use super::text::{Texts, push_all};
use super::{Call, Function, Operand, Signature, cast, expect_count, format, undress, wrong};
use crate::FunctionError;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use std::fmt::Write;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("substring", substring_type, |c| substring(c, bytes_of))
        .bytes()
        .any_case()
        .aliases(&["substr", "mid", "byteSlice"]),
    Function::new("substringUTF8", substring_type, |c| substring(c, letters_of)),
    Function::new("concat", concat_type, concat).any_case(),
    Function::new("arrayStringConcat", join_type, join),
    Function::new("hex", hex_type, hex).any_case(),
];

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::String | DataType::FixedString(_))
}

fn is_bytes(values: &ArrayRef) -> bool {
    matches!(values.data_type(), ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView)
}

/// Texts row by row, as bytes if an argument is, or if one of them is not a text.
struct Builder {
    bytes: BinaryViewBuilder,
    is_bytes: bool,
}

impl Builder {
    fn new(call: &Call) -> Self {
        Self::with(call.operands.iter().any(|operand| is_bytes(&operand.values)))
    }
    fn with(is_bytes: bool) -> Self {
        Self { bytes: BinaryViewBuilder::new(), is_bytes }
    }
    fn push(&mut self, text: Option<&[u8]>) {
        self.bytes.append_option(text);
    }
    fn finish(mut self) -> ArrayRef {
        as_texts(self.bytes.finish(), self.is_bytes)
    }
}

fn substring_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=3)?;
    let is_number =
        |argument: &Signature| super::arithmetic::integer(&argument.data_type).is_some();
    match s {
        [text, numbers @ ..] if is_text(&text.data_type) && numbers.iter().all(is_number) => {
            Ok(DataType::String)
        }
        _ => Err(wrong(name, "it takes a text, an offset and a length")),
    }
}

/// From where to where the piece goes: offsets count from 1, negative ones from the end, as negative lengths do.
fn piece(length: i64, offset: i64, wanted: Option<i64>) -> (i64, i64) {
    if offset == 0 {
        return (0, 0);
    }
    let start = if offset > 0 { offset - 1 } else { length.saturating_add(offset) };
    let end = match wanted {
        None => length,
        Some(wanted @ 0..) => start.saturating_add(wanted),
        Some(wanted) => length.saturating_add(wanted),
    };
    let start = start.clamp(0, length);
    (start, end.clamp(start, length))
}

fn bytes_of(text: &[u8], offset: i64, wanted: Option<i64>) -> &[u8] {
    let (start, end) = piece(text.len() as i64, offset, wanted);
    text.get(start as usize..end as usize).unwrap_or_default()
}

/// Letters are counted by the bytes that begin them, and skipped as wide as these tell: of UTF-8 that is the same.
fn letters_of(text: &[u8], offset: i64, wanted: Option<i64>) -> &[u8] {
    if text.is_ascii() {
        return bytes_of(text, offset, wanted);
    }
    let count = string::letters(text) as i64;
    let (start, rest) = match offset {
        0 => return &[],
        1.. => (offset - 1, text.get(string::letters_end(text, (offset - 1) as usize)..)),
        _ => {
            let from_end = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            let start = count.saturating_add(offset);
            (start, text.get(string::letter_from_end(text, from_end)..))
        }
    };
    let rest = rest.unwrap_or_default();
    let wanted = match wanted {
        None => return rest,
        // What lies before the text counts.
        Some(wanted @ 0..) => wanted.saturating_add(start.min(0)),
        Some(wanted) => count.saturating_add(wanted).saturating_sub(start.max(0)),
    };
    rest.get(..string::letters_end(rest, wanted.max(0) as usize)).unwrap_or_default()
}

/// Cuts a piece out of a text: from a position, of a length.
type Cut = fn(&[u8], i64, Option<i64>) -> &[u8];

fn substring(call: &Call, cut: Cut) -> Result<ArrayRef, FunctionError> {
    let texts = Texts::of(&call.values(0)?);
    let (offsets, lengths) = (call.integers(1)?, call.optional_integers(2)?);
    let mut builder = Builder::new(call);
    for row in 0..call.rows {
        let wanted = lengths.as_ref().map(|lengths| lengths.place(row) as i64);
        builder.push(texts.value(row).map(|text| cut(text, offsets.place(row) as i64, wanted)));
    }
    Ok(builder.finish())
}

/// The function that makes a text of a single argument, as `concat` of one does.
fn of_one() -> Option<&'static Function> {
    super::find_in_queries("toString")
}

fn concat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    if let (1, Some(one)) = (s.len(), of_one()) {
        return one.data_type(s);
    }
    if let (true, Some(arrays)) = (are_arrays(s.iter().map(|it| &it.data_type)), of_arrays()) {
        return arrays.data_type(s);
    }
    expect_count(name, s, 1..=usize::MAX)?;
    for argument in s {
        scalar_type(name, &argument.data_type)?;
    }
    Ok(DataType::String)
}

fn are_arrays<'a>(mut types: impl Iterator<Item = &'a DataType>) -> bool {
    types.all(|data_type| matches!(data_type, DataType::Array(_)))
}

/// The function that joins arrays.
fn of_arrays() -> Option<&'static Function> {
    super::find_in_queries("arrayConcat")
}

fn scalar_type(name: &'static str, data_type: &DataType) -> Result<(), FunctionError> {
    match data_type {
        DataType::Array(_) => Err(wrong(name, "arrays are joined by arrayConcat")),
        nested @ (DataType::Tuple(_) | DataType::Map(..)) => {
            Err(wrong(name, format!("it does not take {nested}")))
        }
        _ => Ok(()),
    }
}

/// The values of an operand as texts, one for each of `rows` rows.
pub fn texts_of(operand: &Operand, rows: usize) -> Result<ArrayRef, FunctionError> {
    // A FixedString keeps its zeros.
    if is_text(&operand.data_type) {
        return operand.expanded(rows);
    }
    shown(operand, rows)
}

/// The same as `toString` gives them: a FixedString loses the zeros at its end.
pub fn shown(operand: &Operand, rows: usize) -> Result<ArrayRef, FunctionError> {
    let operands = std::slice::from_ref(operand);
    format::to_string(&Call { name: "toString", operands, result: &DataType::String, rows })
}

fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    if let (1, Some(one)) = (call.operands.len(), of_one()) {
        return one.evaluate(call.operands)?.expanded(call.rows);
    }
    let types = call.operands.iter().map(|operand| &operand.data_type);
    if let (true, false, Some(arrays)) = (are_arrays(types), call.operands.is_empty(), of_arrays())
    {
        return arrays.evaluate(call.operands)?.expanded(call.rows);
    }
    let columns: Vec<Texts> = call
        .operands
        .iter()
        .map(|operand| Ok(Texts::of(&texts_of(operand, call.rows)?)))
        .collect::<Result<_, FunctionError>>()?;
    let mut builder = Builder::new(call);
    let mut text = Vec::new();
    for row in 0..call.rows {
        text.clear();
        for column in &columns {
            text.extend_from_slice(column.value(row).unwrap_or_default());
        }
        builder.push(Some(&text));
    }
    Ok(builder.finish())
}

fn join_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=2)?;
    match s {
        [Signature { data_type: DataType::Array(item), .. }, separators @ ..]
            if separators.iter().all(|it| is_text(&it.data_type) && it.constant.is_some()) =>
        {
            scalar_type(name, item).map(|()| DataType::String)
        }
        _ => Err(wrong(name, "it takes an array and a constant separator")),
    }
}

/// NULLs in arrays are left out.
fn join(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let Some(list) = values.as_list_opt::<i32>() else {
        return Err(wrong(call.name, format!("it does not take {}", values.data_type())));
    };
    let item = match call.operands.first().map(|operand| &operand.data_type) {
        Some(DataType::Array(item)) => item.as_ref().clone(),
        _ => return Err(wrong(call.name, "it takes an array")),
    };
    let operand = Operand { data_type: item, values: list.values().clone(), is_constant: false };
    let items = undress(&operand)?;
    let texts = Texts::of(&texts_of(&items, items.values.len())?);
    let separator = match call.operands.get(1) {
        Some(separator) => Texts::of(&separator.values).value(0).unwrap_or_default().to_vec(),
        None => Vec::new(),
    };
    let mut builder = Builder::with(is_bytes(&items.values));
    let mut text = Vec::new();
    for pair in list.value_offsets().windows(2) {
        text.clear();
        let range = pair[0] as usize..pair[1] as usize;
        let there = range.filter(|at| !items.values.is_null(*at));
        for (index, part) in there.filter_map(|at| texts.value(at)).enumerate() {
            if index > 0 {
                text.extend_from_slice(&separator);
            }
            text.extend_from_slice(part);
        }
        builder.push(Some(&text));
    }
    Ok(builder.finish())
}

fn hex_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(
            DataType::Float32
            | DataType::Float64
            | DataType::Date
            | DataType::DateTime { .. }
            | DataType::Uuid
            | DataType::Ipv4
            | DataType::Ipv6,
        ) => Ok(DataType::String),
        Some(other) if is_text(other) || super::wide::Wide::of(other).is_some() => {
            Ok(DataType::String)
        }
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

/// Numbers without zero bytes before them, texts byte by byte, floats as they lie in memory.
fn hex(call: &Call) -> Result<ArrayRef, FunctionError> {
    if let Some(numbers) = super::wide::significant_bytes(call)? {
        return Ok(push_all(numbers.len(), |row, text| {
            for byte in numbers.get(row).into_iter().flatten() {
                let _ = write!(text, "{byte:02X}");
            }
        }));
    }
    let values = call.values(0)?;
    let width = match call.operands.first().map(|operand| &operand.data_type) {
        Some(DataType::Float32 | DataType::Float64) => return float_hex(&values),
        Some(DataType::UInt8 | DataType::Int8 | DataType::Bool) => 1,
        Some(DataType::UInt16 | DataType::Int16 | DataType::Date) => 2,
        Some(DataType::UInt64 | DataType::Int64) => 8,
        Some(DataType::UInt32 | DataType::Int32 | DataType::Ipv4 | DataType::DateTime { .. }) => 4,
        _ => {
            let texts = Texts::of(&values);
            return Ok(push_all(texts.len(), |row, text| {
                for byte in texts.value(row).unwrap_or_default() {
                    let _ = write!(text, "{byte:02X}");
                }
            }));
        }
    };
    let numbers: Vec<i64> =
        if let Some(unsigned) = values.as_primitive_opt::<arrow_array::types::UInt64Type>() {
            unsigned.values().iter().map(|number| number.cast_signed()).collect()
        } else {
            let narrow = match values.data_type() {
                ArrowType::Date32 => cast(&values, &ArrowType::Int32)?,
                _ => values.clone(),
            };
            cast(&narrow, &ArrowType::Int64)?.as_primitive::<Int64Type>().values().to_vec()
        };
    Ok(push_all(numbers.len(), |row, text| {
        let bytes = numbers[row].to_be_bytes();
        let bytes = bytes.get(8 - width..).unwrap_or_default();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(width - 1);
        for byte in bytes.iter().skip(first) {
            let _ = write!(text, "{byte:02X}");
        }
    }))
}

fn float_hex(values: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    let is_narrow = *values.data_type() == ArrowType::Float32;
    let floats = cast(values, &ArrowType::Float64)?;
    let floats = floats.as_primitive::<arrow_array::types::Float64Type>();
    Ok(push_all(floats.len(), |row, text| {
        let float = floats.value(row);
        let narrow = (float as f32).to_le_bytes();
        let wide = float.to_le_bytes();
        for byte in if is_narrow { &narrow[..] } else { &wide[..] } {
            let _ = write!(text, "{byte:02X}");
        }
    }))
}
