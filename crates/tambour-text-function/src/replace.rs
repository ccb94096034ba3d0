//! Strings with parts replaced or filled in: `replaceAll`, `format`, `regexpQuoteMeta`.

use arrow_array::ArrayRef;
use memchr::memmem;
use tambour_function::kit::texts_of;
use tambour_function::kit::{Call, Kind, Texts, expect_count, is_nested, rule, takes, wrong};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("replaceAll", rule!(Text Text Text => DataType::String), |c| replace(c, false))
        .aliases(&["replace"]),
    Function::new("replaceOne", rule!(Text Text Text => DataType::String), |c| replace(c, true)),
    Function::new("format", format_type, format),
    Function::new("regexpQuoteMeta", rule!(String => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            for byte in texts.get(row) {
                match byte {
                    0 => out.extend([b'\\', 0]),
                    b'\\' | b'(' | b')' | b'^' | b'$' | b'.' | b'[' | b']' | b'?' | b'*' | b'+'
                    | b'{' | b':' | b'-' | b'|' => out.extend([b'\\', *byte]),
                    other => out.push(*other),
                }
            }
        })
    }),
];

fn replace(call: &Call, only_first: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, needles, others) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    call.try_texts(|row, out| {
        let (text, needle, other) = (texts.get(row), needles.get(row), others.get(row));
        let mut from = 0;
        if !needle.is_empty() {
            let count = if only_first { 1 } else { usize::MAX };
            for at in memmem::find_iter(text, needle).take(count) {
                out.extend_from_slice(text.get(from..at).unwrap_or_default());
                out.extend_from_slice(other);
                call.check_size(row, out.len())?;
                from = at + needle.len();
            }
        }
        out.extend_from_slice(text.get(from..).unwrap_or_default());
        Ok(())
    })
}

fn format_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s.get(..1).unwrap_or_default(), &[Kind::ConstText], &[])?;
    if let Some(nested) = s.iter().find(|argument| is_nested(&argument.data_type)) {
        return Err(wrong(name, format!("it does not take {}", nested.data_type)));
    }
    let pattern = s.first().and_then(|first| first.constant.as_ref()).map(Texts::of);
    let pattern = pattern.as_ref().and_then(|pattern| pattern.value(0)).unwrap_or_default();
    pieces(name, pattern, s.len() - 1)?;
    Ok(DataType::String)
}

/// A piece of a pattern.
enum Piece {
    Text(Vec<u8>),
    Argument(usize),
}

/// `{}` stands for the next argument, `{1}` for the second, `{{` for a brace.
fn pieces(
    name: &'static str,
    pattern: &[u8],
    arguments: usize,
) -> Result<Vec<Piece>, FunctionError> {
    let refuse = |problem: &str| wrong(name, format!("the pattern: {problem}"));
    let (mut found, mut text) = (Vec::new(), Vec::new());
    let (mut next, mut is_numbered, mut is_plain) = (0, false, false);
    let mut rest = pattern;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after.first()) {
            (b'{', Some(b'{')) | (b'}', Some(b'}')) => {
                text.push(*byte);
                rest = after.get(1..).unwrap_or_default();
            }
            (b'{', _) => {
                let end =
                    memchr::memchr(b'}', after).ok_or_else(|| refuse("a `{` is not closed"))?;
                let (inside, behind) = after.split_at(end);
                rest = behind.get(1..).unwrap_or_default();
                let index = if inside.is_empty() {
                    is_plain = true;
                    next += 1;
                    next - 1
                } else {
                    is_numbered = true;
                    let number = std::str::from_utf8(inside).ok().and_then(|it| it.parse().ok());
                    number.ok_or_else(|| refuse("between braces there must be a number"))?
                };
                if is_plain && is_numbered {
                    return Err(refuse("either all places have numbers or none"));
                }
                if index >= arguments {
                    return Err(refuse("there are more places than arguments"));
                }
                found.push(Piece::Text(std::mem::take(&mut text)));
                found.push(Piece::Argument(index));
            }
            (b'}', _) => return Err(refuse("a `}` has no `{`")),
            (other, _) => text.push(*other),
        }
    }
    found.push(Piece::Text(text));
    Ok(found)
}

fn format(call: &Call) -> Result<ArrayRef, FunctionError> {
    let pieces = pieces(call.name, &call.constant_text(0)?, call.operands.len() - 1)?;
    let operands = call.operands.iter().skip(1);
    let columns: Vec<Texts> = operands
        .map(|operand| Ok(Texts::of(&texts_of(operand, call.rows)?)))
        .collect::<Result<_, FunctionError>>()?;
    call.make_texts(|row, out| {
        for piece in &pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Argument(index) => {
                    let column = columns.get(*index);
                    out.extend_from_slice(column.and_then(|it| it.value(row)).unwrap_or_default());
                }
            }
        }
    })
}
