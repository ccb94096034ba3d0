//! Arrays, tuples and maps as texts, as `toString` writes them: what would not be read back without quotes has quotes.

use super::access::as_list;
use super::text::Texts;
use super::{Operand, bare, piece, undress, wrong};
use crate::FunctionError;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use tambour_part::types::DataType;

/// The texts of nested values, one per row.
pub(super) fn texts(operand: &Operand) -> Result<ArrayRef, FunctionError> {
    let mut builder = BinaryViewBuilder::with_capacity(operand.values.len());
    for text in written(operand)? {
        builder.append_value(text);
    }
    Ok(super::access::as_texts(builder.finish(), false))
}

fn is_quoted(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::String
            | DataType::FixedString(_)
            | DataType::Date
            | DataType::Date32
            | DataType::DateTime { .. }
            | DataType::DateTime64 { .. }
            | DataType::Uuid
            | DataType::Ipv4
            | DataType::Ipv6
            | DataType::Enum8(_)
            | DataType::Enum16(_)
    )
}

fn element(data_type: &DataType, values: &ArrayRef) -> Operand {
    Operand { data_type: data_type.clone(), values: values.clone(), is_constant: false }
}

fn written(operand: &Operand) -> Result<Vec<Vec<u8>>, FunctionError> {
    let operand = undress(operand)?;
    let values = &operand.values;
    let rows = values.len();
    let mut all: Vec<Vec<u8>> = Vec::with_capacity(rows);
    match &operand.data_type {
        DataType::Array(item) => {
            let list = as_list(values).ok_or_else(|| wrong("toString", "it takes arrays"))?;
            let items = written(&element(item, list.values()))?;
            for ends in list.value_offsets().windows(2) {
                let items = &items[ends[0] as usize..ends[1] as usize];
                all.push([b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat());
            }
        }
        DataType::Tuple(elements) => {
            let tuples = values.as_struct();
            let columns = elements
                .iter()
                .zip(tuples.columns())
                .map(|((_, data_type), column)| written(&element(data_type, column)))
                .collect::<Result<Vec<_>, _>>()?;
            for row in 0..rows {
                let items: Vec<&[u8]> =
                    columns.iter().map(|column| column[row].as_slice()).collect();
                all.push([b"(".as_slice(), &items.join(b",".as_slice()), b")"].concat());
            }
        }
        DataType::Map(key, value) => {
            let map = values.as_map();
            let keys = written(&element(key, map.keys()))?;
            let values = written(&element(value, map.values()))?;
            for ends in map.value_offsets().windows(2) {
                let pairs: Vec<Vec<u8>> = (ends[0] as usize..ends[1] as usize)
                    .map(|at| [keys[at].as_slice(), b":", &values[at]].concat())
                    .collect();
                all.push([b"{".as_slice(), &pairs.join(b",".as_slice()), b"}"].concat());
            }
        }
        data_type => {
            let is_quoted = is_quoted(bare(data_type));
            let plain = match data_type {
                // With the zero bytes at the end.
                DataType::FixedString(_) => values.clone(),
                _ => piece::texts_of(&operand, rows)?,
            };
            let plain = Texts::of(&plain);
            for row in 0..rows {
                all.push(match plain.value(row).filter(|_| !values.is_null(row)) {
                    None => b"NULL".to_vec(),
                    Some(text) if is_quoted => quoted(text),
                    Some(text) => text.to_vec(),
                });
            }
        }
    }
    Ok(all)
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'\'');
    for byte in text {
        let escaped = match byte {
            b'\\' | b'\'' => *byte,
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            0 => b'0',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                out.push(*byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
    out.push(b'\'');
    out
}
