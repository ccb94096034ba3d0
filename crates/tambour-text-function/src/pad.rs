//! The beginning and the end of strings: `left`, `right`, `leftPad`, `repeat`, `trim…`, `substringIndex`.

use arrow_array::ArrayRef;
use memchr::memmem;
use tambour_function::kit::{Call, letter_at, letter_from_end, letters, letters_end, rule, wrong};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("left", rule!(Text Integer => DataType::String), |c| end(c, false, true))
        .bytes()
        .any_case(),
    Function::new("right", rule!(Text Integer => DataType::String), |c| end(c, false, false))
        .bytes()
        .any_case(),
    Function::new("leftUTF8", rule!(Text Integer => DataType::String), |c| end(c, true, true)),
    Function::new("rightUTF8", rule!(Text Integer => DataType::String), |c| end(c, true, false)),
    Function::new("leftPad", rule!(Text Integer [Text] => DataType::String), |c| {
        pad(c, false, true)
    })
    .bytes()
    .aliases(&["lpad"]),
    Function::new("rightPad", rule!(Text Integer [Text] => DataType::String), |c| {
        pad(c, false, false)
    })
    .bytes()
    .aliases(&["rpad"]),
    Function::new("leftPadUTF8", rule!(Text Integer [Text] => DataType::String), |c| {
        pad(c, true, true)
    }),
    Function::new("rightPadUTF8", rule!(Text Integer [Text] => DataType::String), |c| {
        pad(c, true, false)
    }),
    Function::new("repeat", rule!(Text Integer => DataType::String), repeat).any_case(),
    Function::new("space", rule!(Integer => DataType::String), space).any_case(),
    Function::new("trimLeft", rule!(Text [ConstText] => DataType::String), |c| {
        trim(c, true, false)
    })
    .aliases(&["ltrim"]),
    Function::new("trimRight", rule!(Text [ConstText] => DataType::String), |c| {
        trim(c, false, true)
    })
    .aliases(&["rtrim"]),
    Function::new("trimBoth", rule!(Text [ConstText] => DataType::String), |c| trim(c, true, true))
        .aliases(&["trim", "btrim"]),
    Function::new("substringIndex", rule!(Text ConstText Integer => DataType::String), |c| {
        substring_index(c)
    })
    .any_case()
    .aliases(&["SUBSTRING_INDEX"]),
    Function::new("substringIndexUTF8", rule!(Text ConstText Integer => DataType::String), |c| {
        substring_index(c)
    }),
    Function::new("firstLine", rule!(String => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            let text = texts.get(row);
            let end = memchr::memchr2(b'\n', b'\r', text).unwrap_or(text.len());
            let line = text.get(..end).unwrap_or_default();
            out.extend_from_slice(line);
        })
    }),
    Function::new(
        "appendTrailingCharIfAbsent",
        rule!(String ConstText => DataType::String),
        append_trailing,
    ),
];

fn size(letters_count: bool, text: &[u8]) -> usize {
    if letters_count { letters(text) } else { text.len() }
}

fn place(letters_count: bool, text: &[u8], count: usize) -> usize {
    if letters_count { letter_at(text, count) } else { count.min(text.len()) }
}

/// A negative count leaves this many out at the other end.
fn end(call: &Call, letters_count: bool, is_left: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, counts) = (call.texts(0)?, call.integers(1)?);
    call.make_texts(|row, out| {
        let text = texts.get(row);
        let length = size(letters_count, text) as i128;
        let count = counts.place(row);
        let kept = if count >= 0 { count.min(length) } else { (length + count).max(0) };
        let piece = if is_left {
            // The count as it is: bytes that are not UTF-8 may be more letters than begin in them.
            let kept = if count >= 0 { count.min(text.len() as i128) } else { kept };
            text.get(..if letters_count { letters_end(text, kept as usize) } else { kept as usize })
        } else if letters_count {
            let letters = count.unsigned_abs().min(text.len() as u128) as usize;
            let from = if count >= 0 { letter_from_end } else { letters_end };
            text.get(from(text, letters)..)
        } else {
            text.get((length - kept) as usize..)
        };
        out.extend_from_slice(piece.unwrap_or_default());
    })
}

fn pad(call: &Call, letters_count: bool, is_left: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, counts) = (call.texts(0)?, call.integers(1)?);
    let fillings = call.optional_texts(2)?;
    call.try_texts(|row, out| {
        let text = texts.get(row);
        let filling = fillings.as_ref().map_or(&b" "[..], |fillings| fillings.get(row));
        let filling = if filling.is_empty() { b" " } else { filling };
        let have = size(letters_count, text);
        let wanted = counts.get(row);
        if wanted < 0 && !call.is_null(row) {
            return Err(call.value_error(row, format!("the length {wanted} is negative")));
        }
        let wanted = usize::try_from(wanted.max(0)).unwrap_or(usize::MAX);
        call.check_size(row, wanted)?;
        if wanted <= have {
            out.extend_from_slice(
                text.get(..place(letters_count, text, wanted)).unwrap_or_default(),
            );
            return Ok(());
        }
        if !is_left {
            out.extend_from_slice(text);
        }
        let missing = wanted - have;
        let whole = size(letters_count, filling).max(1);
        for _ in 0..missing / whole {
            out.extend_from_slice(filling);
        }
        let part = place(letters_count, filling, missing % whole);
        out.extend_from_slice(filling.get(..part).unwrap_or_default());
        if is_left {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}

fn repeat(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, counts) = (call.texts(0)?, call.integers(1)?);
    call.try_texts(|row, out| {
        let text = texts.get(row);
        let count = usize::try_from(counts.get(row).max(0)).unwrap_or(usize::MAX);
        call.check_size(row, text.len().saturating_mul(count))?;
        if !text.is_empty() {
            for _ in 0..count {
                out.extend_from_slice(text);
            }
        }
        Ok(())
    })
}

fn space(call: &Call) -> Result<ArrayRef, FunctionError> {
    let counts = call.integers(0)?;
    call.try_texts(|row, out| {
        let count = usize::try_from(counts.get(row).max(0)).unwrap_or(usize::MAX);
        call.check_size(row, count)?;
        out.resize(count, b' ');
        Ok(())
    })
}

fn trim(call: &Call, from_left: bool, from_right: bool) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let letters = match call.optional_texts(1)? {
        Some(letters) => letters.get(0).to_vec(),
        None => b" ".to_vec(),
    };
    let is_trimmed = |byte: &u8| letters.contains(byte);
    call.make_texts(|row, out| {
        let mut text = texts.get(row);
        if from_left {
            let kept = text.iter().position(|byte| !is_trimmed(byte)).unwrap_or(text.len());
            text = text.get(kept..).unwrap_or_default();
        }
        if from_right {
            let kept = text.iter().rposition(|byte| !is_trimmed(byte)).map_or(0, |at| at + 1);
            text = text.get(..kept).unwrap_or_default();
        }
        out.extend_from_slice(text);
    })
}

/// What stands before the n-th delimiter, or after the n-th from the end.
fn substring_index(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (texts, counts) = (call.texts(0)?, call.integers(2)?);
    let delimiter = call.constant_text(1)?;
    let is_utf8 = call.name.ends_with("UTF8");
    if is_utf8 && letters(&delimiter) != 1 || !is_utf8 && delimiter.len() != 1 {
        return Err(wrong(call.name, "the second argument must be one character"));
    }
    call.make_texts(|row, out| {
        let text = texts.get(row);
        let count = counts.get(row);
        if count == 0 || delimiter.is_empty() {
            return;
        }
        let nth = usize::try_from(count.unsigned_abs() - 1).unwrap_or(usize::MAX);
        let piece = if count > 0 {
            let end = memmem::find_iter(text, &delimiter).nth(nth).unwrap_or(text.len());
            text.get(..end)
        } else {
            let start = memmem::rfind_iter(text, &delimiter).nth(nth);
            text.get(start.map_or(0, |at| at + delimiter.len())..)
        };
        out.extend_from_slice(piece.unwrap_or_default());
    })
}

fn append_trailing(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let tail = call.constant_text(1)?;
    if tail.len() != 1 {
        return Err(wrong(call.name, "the second argument must be one byte"));
    }
    call.make_texts(|row, out| {
        let text = texts.get(row);
        out.extend_from_slice(text);
        if !text.is_empty() && !text.ends_with(&tail) {
            out.extend_from_slice(&tail);
        }
    })
}
