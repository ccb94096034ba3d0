//! `toJSONString`: any value as JSON, as ClickHouse writes it with its default settings.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use tambour_function::kit::{
    Call, Texts, as_list, expect_count, integer, texts_of, undress, wrong,
};
use tambour_function::{Function, FunctionError, Operand, Signature, bare};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[Function::new("toJSONString", shown_type, shown)];

fn shown_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(data_type) => check(name, data_type).map(|()| DataType::String),
        None => Err(wrong(name, "an argument is missing")),
    }
}

fn check(name: &str, data_type: &DataType) -> Result<(), FunctionError> {
    match bare(data_type) {
        DataType::Array(item) => check(name, item),
        DataType::Map(key, value) => check(name, key).and_then(|()| check(name, value)),
        DataType::Tuple(elements) => elements.iter().try_for_each(|(_, it)| check(name, it)),
        DataType::String
        | DataType::Bool
        | DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. }
        | DataType::Decimal { .. }
        | DataType::Enum8(_)
        | DataType::Enum16(_)
        | DataType::FixedString(_)
        | DataType::Float32
        | DataType::Float64
        | DataType::Ipv4
        | DataType::Ipv6
        | DataType::Uuid => Ok(()),
        number if integer(number).is_some() => Ok(()),
        other => Err(wrong(name, format!("it does not write {other} as JSON"))),
    }
}

fn shown(call: &Call) -> Result<ArrayRef, FunctionError> {
    let operand = call.operand(0)?;
    let texts = written(operand)?;
    call.make_texts(|row, out| {
        let row = if operand.is_constant { 0 } else { row };
        out.extend_from_slice(texts.get(row).map_or(b"null", Vec::as_slice));
    })
}

fn element(data_type: &DataType, values: &ArrayRef) -> Operand {
    Operand { data_type: data_type.clone(), values: values.clone(), is_constant: false }
}

fn written(operand: &Operand) -> Result<Vec<Vec<u8>>, FunctionError> {
    let operand = undress(operand)?;
    let values = &operand.values;
    match &operand.data_type {
        DataType::Array(item) => {
            let list = as_list(values).ok_or_else(|| wrong("toJSONString", "it takes arrays"))?;
            let items = written(&element(item, list.values()))?;
            let of_row = |ends: &[i32]| {
                let items = &items[ends[0] as usize..ends[1] as usize];
                [b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat()
            };
            Ok(list.value_offsets().windows(2).map(of_row).collect())
        }
        DataType::Tuple(elements) => of_tuples(elements, values),
        DataType::Map(key, value) => {
            let map = values.as_map();
            let keys = written(&element(key, map.keys()))?;
            let values = written(&element(value, map.values()))?;
            let pair = |at: usize| [name(&keys[at]).as_slice(), b":", &values[at]].concat();
            let of_row = |ends: &[i32]| {
                let pairs: Vec<Vec<u8>> = (ends[0] as usize..ends[1] as usize).map(pair).collect();
                [b"{".as_slice(), &pairs.join(b",".as_slice()), b"}"].concat()
            };
            Ok(map.value_offsets().windows(2).map(of_row).collect())
        }
        plain => of_scalars(plain, &operand),
    }
}

/// A key, which always is a text.
fn name(key: &[u8]) -> Vec<u8> {
    if key.first() == Some(&b'"') { key.to_vec() } else { [b"\"", key, b"\""].concat() }
}

/// Tuples whose elements all have names are objects, the others arrays.
fn of_tuples(
    elements: &[(Option<String>, DataType)],
    values: &ArrayRef,
) -> Result<Vec<Vec<u8>>, FunctionError> {
    let tuples = values.as_struct();
    let columns = elements.iter().zip(tuples.columns());
    let columns = columns.map(|((_, data_type), column)| written(&element(data_type, column)));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let names = elements.iter().map(|(name, _)| {
        let name = name.as_ref()?;
        let mut out = Vec::new();
        quoted(name.as_bytes(), &mut out);
        Some(out)
    });
    let names: Option<Vec<Vec<u8>>> = names.collect();
    let of_row = |row: usize| {
        if let Some(names) = &names {
            let members = names.iter().zip(&columns);
            let member = |(name, column): (&Vec<u8>, &Vec<Vec<u8>>)| {
                [name, b":".as_slice(), &column[row]].concat()
            };
            let members: Vec<Vec<u8>> = members.map(member).collect();
            [b"{".as_slice(), &members.join(b",".as_slice()), b"}"].concat()
        } else {
            let items: Vec<&[u8]> = columns.iter().map(|column| column[row].as_slice()).collect();
            [b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat()
        }
    };
    Ok((0..values.len()).map(of_row).collect())
}

fn of_scalars(data_type: &DataType, operand: &Operand) -> Result<Vec<Vec<u8>>, FunctionError> {
    let rows = operand.values.len();
    let plain = match data_type {
        // With the zero bytes at the end.
        DataType::FixedString(_) => operand.values.clone(),
        _ => texts_of(operand, rows)?,
    };
    let texts = Texts::of(&plain);
    let is_number = integer(data_type).is_some()
        || matches!(
            data_type,
            DataType::Bool | DataType::Float32 | DataType::Float64 | DataType::Decimal { .. }
        );
    let of_row = |row: usize| match texts.value(row).filter(|_| !operand.values.is_null(row)) {
        None | Some(b"nan" | b"inf" | b"-inf") if is_number => b"null".to_vec(),
        None => b"null".to_vec(),
        Some(text) if is_number => text.to_vec(),
        Some(text) => {
            let mut out = Vec::with_capacity(text.len() + 2);
            quoted(text, &mut out);
            out
        }
    };
    Ok((0..rows).map(of_row).collect())
}

/// A text in quotes. Slashes are escaped, and the two separators of lines that scripts do not take.
fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        match byte {
            b'"' | b'\\' | b'/' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control @ 0..=0x1f => out.extend_from_slice(format!("\\u{control:04X}").as_bytes()),
            0xe2 if matches!(after, [0x80, 0xa8 | 0xa9, ..]) => {
                out.extend_from_slice(if after[1] == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                rest = &after[2..];
                continue;
            }
            other => out.push(*other),
        }
        rest = after;
    }
    out.push(b'"');
}
