//! Strings taken apart into arrays: `splitByWhitespace`, `alphaTokens`, `ngrams`, and with a limit `splitByChar` and
//! `splitByString`.

use arrow_array::ArrayRef;
use memchr::memmem;
use tambour_function::kit::{Call, TextList, array_of, is_letter_start, rule, wrong};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "splitByChar",
        rule!(ConstText Text [ConstInteger] => array_of(DataType::String)),
        |c| {
            let separator = c.constant_text(0)?;
            if separator.len() != 1 {
                return Err(wrong(c.name, "the separator must be one byte"));
            }
            split(c, 1, 2, |text, push| by_string(text, &separator, push))
        },
    ),
    Function::new(
        "splitByString",
        rule!(ConstText Text [ConstInteger] => array_of(DataType::String)),
        |c| {
            let separator = c.constant_text(0)?;
            split(c, 1, 2, |text, push| by_string(text, &separator, push))
        },
    ),
    Function::new(
        "splitByWhitespace",
        rule!(Text [ConstInteger] => array_of(DataType::String)),
        |c| split(c, 0, 1, |text, push| by_bytes(text, is_space, push)),
    ),
    Function::new(
        "splitByNonAlpha",
        rule!(Text [ConstInteger] => array_of(DataType::String)),
        |c| {
            split(c, 0, 1, |text, push| {
                by_bytes(text, |byte| is_space(byte) || byte.is_ascii_punctuation(), push);
            })
        },
    ),
    Function::new("alphaTokens", rule!(Text [ConstInteger] => array_of(DataType::String)), |c| {
        split(c, 0, 1, |text, push| by_bytes(text, |byte| !byte.is_ascii_alphabetic(), push))
    })
    .aliases(&["splitByAlpha"]),
    Function::new("tokens", rule!(Text => array_of(DataType::String)), |c| {
        let texts = c.texts(0)?;
        c.make_text_lists(|row, list| {
            let is_apart = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
            let pieces = texts.get(row).split(is_apart);
            pieces.filter(|piece| !piece.is_empty()).for_each(|piece| list.push(piece));
        })
    }),
    Function::new("ngrams", rule!(Text ConstInteger => array_of(DataType::String)), ngrams),
    Function::new("reverseBySeparator", rule!(String [ConstText] => DataType::String), |c| {
        let texts = c.texts(0)?;
        let separator = match c.optional_texts(1)? {
            Some(separator) => separator.get(0).to_vec(),
            None => b".".to_vec(),
        };
        c.make_texts(|row, out| {
            let mut pieces = Vec::new();
            by_string(texts.get(row), &separator, &mut |_, piece| pieces.push(piece.to_vec()));
            for (index, piece) in pieces.iter().rev().enumerate() {
                if index > 0 {
                    out.extend_from_slice(&separator);
                }
                out.extend_from_slice(piece);
            }
        })
    }),
];

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Takes a text apart, at most into this many pieces as the limit says (what is left over goes away); 0: all.
fn split(
    call: &Call,
    text: usize,
    limit: usize,
    cut: impl Fn(&[u8], &mut dyn FnMut(usize, &[u8])),
) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(text)?;
    let limit = call.optional_integers(limit)?.map_or(0, |limits| limits.get(0));
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    call.make_text_lists(|row, list: &mut TextList| {
        cut(texts.get(row), &mut |_, piece| {
            if list.len() < limit {
                list.push(piece);
            }
        });
    })
}

/// No separator: byte by byte.
fn by_string(text: &[u8], separator: &[u8], push: &mut dyn FnMut(usize, &[u8])) {
    if separator.is_empty() {
        for (at, _) in text.iter().enumerate() {
            push(at, text.get(at..=at).unwrap_or_default());
        }
        return;
    }
    let mut from = 0;
    for at in memmem::find_iter(text, separator) {
        push(from, text.get(from..at).unwrap_or_default());
        from = at + separator.len();
    }
    push(from, text.get(from..).unwrap_or_default());
}

fn by_bytes(text: &[u8], is_apart: impl Fn(u8) -> bool, push: &mut dyn FnMut(usize, &[u8])) {
    for piece in text.split(|byte| is_apart(*byte)) {
        if !piece.is_empty() {
            push(0, piece);
        }
    }
}

fn ngrams(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    let size = usize::try_from(call.integers(1)?.get(0)).unwrap_or(0);
    if size == 0 {
        return Err(wrong(call.name, "the size of the pieces must be greater than 0"));
    }
    call.make_text_lists(|row, list| {
        let text = texts.get(row);
        let starts: Vec<usize> = text
            .iter()
            .enumerate()
            .filter(|(_, byte)| is_letter_start(**byte))
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        if starts.len() > size {
            for pair in 0..starts.len() - size {
                list.push(text.get(starts[pair]..starts[pair + size]).unwrap_or_default());
            }
        }
    })
}
