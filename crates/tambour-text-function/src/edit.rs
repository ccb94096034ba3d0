//! Strings changed byte by byte or letter by letter: `reverse`, `initcap`, `translate`, `overlay`, `concatWithSeparator`,
//! `toValidUTF8`, `ascii`.

use arrow_array::ArrayRef;
use arrow_array::types::Int32Type;
use tambour_function::kit::texts_of;
use tambour_function::kit::{
    Call, Kind, Texts, expect_count, is_nested, letter_from_end, letter_width, letters,
    letters_end, rule, takes, wrong,
};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("reverseUTF8", rule!(Text => DataType::String), reverse_utf8),
    Function::new("initcap", rule!(String => DataType::String), initcap).any_case(),
    Function::new("toValidUTF8", rule!(String => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| to_valid_utf8(texts.get(row), out))
    }),
    Function::new("isValidUTF8", rule!(Text => DataType::UInt8), |c| {
        let texts = c.texts(0)?;
        c.make_flags(|row| std::str::from_utf8(texts.get(row)).is_ok())
    })
    .predicate(),
    Function::new("isValidASCII", rule!(Text => DataType::UInt8), |c| {
        let texts = c.texts(0)?;
        c.make_flags(|row| texts.get(row).is_ascii())
    })
    .predicate()
    .aliases(&["isASCII"]),
    Function::new("ascii", rule!(String => DataType::Int32), |c| {
        let texts = c.texts(0)?;
        c.make_numbers::<Int32Type>(|row| texts.get(row).first().map_or(0, |byte| i32::from(*byte)))
    })
    .any_case(),
    Function::new("concatWithSeparator", separated_type, separated).aliases(&["concat_ws"]),
    Function::new("concatWithSeparatorAssumeInjective", separated_type, separated),
    Function::new("concatAssumeInjective", concat_type, concat),
    Function::new("translate", rule!(Text ConstText ConstText => DataType::String), translate)
        .bytes(),
    Function::new("translateUTF8", rule!(Text ConstText ConstText => DataType::String), |c| {
        translate_utf8(c)
    }),
    Function::new("overlay", rule!(Text Text Integer [Integer] => DataType::String), |c| {
        overlay(c, false)
    })
    .bytes()
    .any_case(),
    Function::new("overlayUTF8", rule!(Text Text Integer [Integer] => DataType::String), |c| {
        overlay(c, true)
    }),
    Function::new("toStringCutToZero", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            let text = texts.get(row);
            let end = memchr::memchr(0, text).unwrap_or(text.len());
            out.extend_from_slice(text.get(..end).unwrap_or_default());
        })
    }),
    Function::new("stringBytesUniq", rule!(String => DataType::UInt16), |c| {
        let texts = c.texts(0)?;
        c.make_integers(|row| {
            let mut seen = [false; 256];
            texts.get(row).iter().for_each(|byte| seen[usize::from(*byte)] = true);
            seen.iter().filter(|is_there| **is_there).count() as i128
        })
    }),
    Function::new("stringBytesEntropy", rule!(String => DataType::Float64), |c| {
        let texts = c.texts(0)?;
        c.make_floats(|row| entropy(texts.get(row)))
    }),
    Function::new("basename", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            let text = texts.get(row);
            let start = text.iter().rposition(|byte| matches!(byte, b'/' | b'\\'));
            out.extend_from_slice(text.get(start.map_or(0, |at| at + 1)..).unwrap_or_default());
        })
    }),
];

fn reverse_utf8(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_texts(|row, out| {
        let mut rest = texts.get(row);
        let mut pieces = Vec::new();
        while let Some(first) = rest.first() {
            // Of a letter whose end is missing, each byte stands for itself.
            let width = if *first < 0xf0 { letter_width(*first) } else { 4 };
            let width = Some(width).filter(|width| *width <= rest.len());
            let (letter, after) = rest.split_at(width.unwrap_or(1));
            pieces.push(letter);
            rest = after;
        }
        pieces.iter().rev().for_each(|letter| out.extend_from_slice(letter));
    })
}

fn initcap(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.make_texts(|row, out| {
        let mut is_inside = false;
        for byte in texts.get(row) {
            let is_word = byte.is_ascii_alphanumeric();
            out.push(if is_inside { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() });
            is_inside = is_word;
        }
    })
}

/// One replacement character for each run of bytes that are not text.
fn to_valid_utf8(text: &[u8], out: &mut Vec<u8>) {
    let mut is_after_replacement = false;
    for chunk in text.utf8_chunks() {
        if !chunk.valid().is_empty() {
            out.extend_from_slice(chunk.valid().as_bytes());
            is_after_replacement = false;
        }
        if !chunk.invalid().is_empty() && !is_after_replacement {
            out.extend_from_slice("\u{fffd}".as_bytes());
            is_after_replacement = true;
        }
    }
}

fn concat_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    match s.iter().find(|argument| is_nested(&argument.data_type)) {
        Some(nested) => Err(wrong(name, format!("it does not take {}", nested.data_type))),
        None => Ok(DataType::String),
    }
}

fn concat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let columns = columns(call, 0)?;
    call.make_texts(|row, out| {
        for column in &columns {
            out.extend_from_slice(column.value(row).unwrap_or_default());
        }
    })
}

fn columns(call: &Call, from: usize) -> Result<Vec<Texts>, FunctionError> {
    let operands = call.operands.iter().skip(from);
    operands.map(|operand| Ok(Texts::of(&texts_of(operand, call.rows)?))).collect()
}

fn separated_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s.get(..1).unwrap_or_default(), &[Kind::ConstText], &[])?;
    concat_type(name, s)
}

fn separated(call: &Call) -> Result<ArrayRef, FunctionError> {
    let separator = call.constant_text(0)?;
    let columns = columns(call, 1)?;
    call.make_texts(|row, out| {
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(&separator);
            }
            out.extend_from_slice(column.value(row).unwrap_or_default());
        }
    })
}

/// Bytes of the second argument become those of the third, the last partner counts; those that have none go.
fn translate(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let (from, to) = (call.constant_text(1)?, call.constant_text(2)?);
    if !from.is_ascii() || !to.is_ascii() {
        return Err(wrong(call.name, "both lists of letters must be ASCII; use translateUTF8"));
    }
    let mut table: [Option<u8>; 256] = std::array::from_fn(|byte| Some(byte as u8));
    for (index, byte) in from.iter().enumerate() {
        table[usize::from(*byte)] = to.get(index).copied();
    }
    call.make_texts(|row, out| {
        out.extend(texts.get(row).iter().filter_map(|byte| table[usize::from(*byte)]));
    })
}

fn translate_utf8(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let (from, to) = (call.constant_text(1)?, call.constant_text(2)?);
    let not_text = |_| wrong(call.name, "both lists of letters must be UTF-8");
    let from: Vec<char> = std::str::from_utf8(&from).map_err(not_text)?.chars().collect();
    let to: Vec<char> = std::str::from_utf8(&to).map_err(not_text)?.chars().collect();
    call.make_texts(|row, out| {
        for chunk in texts.get(row).utf8_chunks() {
            for letter in chunk.valid().chars() {
                let changed = match from.iter().rposition(|other| *other == letter) {
                    Some(index) => to.get(index).copied(),
                    None => Some(letter),
                };
                if let Some(changed) = changed {
                    out.extend_from_slice(changed.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            out.extend_from_slice(chunk.invalid());
        }
    })
}

/// Puts a text over a part of another one: from a place (from 1, or from the end), of a length.
fn overlay(call: &Call, letters_count: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, others, offsets) = (call.texts(0)?, call.texts(1)?, call.integers(2)?);
    let lengths = call.optional_integers(3)?;
    let size = |text: &[u8]| if letters_count { letters(text) } else { text.len() } as i128;
    // Of texts that are not UTF-8, the letters before are as long as their first bytes say, and those after as many as begin there.
    let before = |text: &[u8], count: usize| {
        if letters_count { letters_end(text, count) } else { count.min(text.len()) }
    };
    let after = |text: &[u8], count: usize| {
        if letters_count { letter_from_end(text, count) } else { text.len().saturating_sub(count) }
    };
    call.make_texts(|row, out| {
        let (text, other) = (texts.get(row), others.get(row));
        let have = size(text);
        let offset = offsets.get(row);
        let start = match offset {
            1.. => (offset - 1).min(have),
            0 => have,
            _ => (have + offset).max(0),
        };
        let length = match lengths.as_ref().map(|lengths| lengths.get(row)) {
            Some(length) if length >= 0 => length,
            _ => size(other),
        };
        out.extend_from_slice(text.get(..before(text, start as usize)).unwrap_or_default());
        out.extend_from_slice(other);
        let left = (have - start.saturating_add(length)).max(0);
        out.extend_from_slice(text.get(after(text, left as usize)..).unwrap_or_default());
    })
}

fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u64; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let total = text.len() as f64;
    let share = |count: &u64| *count as f64 / total;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(share)
        .map(|p| -p * p.log2())
        .fold(0.0, |sum, part| sum + part)
}
