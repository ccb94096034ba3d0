//! Arrays and tuples from texts: `CAST('[1, 2]' AS Array(UInt8))`. The text is taken apart into those of single values, and each
//! of them is converted as any text is.

use super::retype::retyped;
use super::text::Texts;
use super::{Call, Operand, bare};
use crate::FunctionError;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use std::sync::Arc;
use tambour_part::types::DataType;

/// True for types whose values are read from texts: not for maps, as in ClickHouse.
pub(super) fn is_read(data_type: &DataType) -> bool {
    match bare(data_type) {
        DataType::Array(item) => is_read(item),
        DataType::Tuple(elements) => {
            !elements.is_empty() && elements.iter().all(|(_, it)| is_read(it))
        }
        DataType::Map(..) => false,
        _ => true,
    }
}

/// Values of a type, collected before they are converted.
enum Column<'a> {
    Single { data_type: &'a DataType, texts: Vec<Option<Vec<u8>>>, rows: Vec<usize> },
    Array { item: &'a DataType, lengths: Vec<usize>, items: Box<Column<'a>> },
    Tuple { names: Vec<Option<String>>, elements: Vec<Column<'a>> },
}

/// Nested values of a type from texts.
pub(super) fn nested(
    call: &Call,
    operand: &Operand,
    target: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let texts = Texts::of(&operand.values);
    let mut column = Column::of(target);
    for row in 0..texts.len() {
        let Some(text) = texts.value(row) else {
            return Err(call.value_error(row, format!("a NULL does not fit {target}")));
        };
        let mut reader = Reader { rest: text, after_comma: false };
        let is_read = column.read(&mut reader, row) && reader.rest.is_empty();
        if !is_read {
            let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
            return Err(call.value_error(row, format!("{shown:?} is not of type {target}")));
        }
    }
    column.finish(call)
}

/// True for types whose values have quotes within arrays.
fn is_quoted(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::String | T::FixedString(_) | T::Uuid | T::Ipv4 | T::Ipv6 | T::Enum8(_) | T::Enum16(_)
    ) || super::access::is_moment(data_type)
}

impl<'a> Column<'a> {
    fn of(data_type: &'a DataType) -> Self {
        match bare(data_type) {
            DataType::Array(item) => {
                Self::Array { item, lengths: Vec::new(), items: Box::new(Self::of(item)) }
            }
            DataType::Tuple(elements) => Self::Tuple {
                names: elements.iter().map(|(name, _)| name.clone()).collect(),
                elements: elements.iter().map(|(_, it)| Self::of(it)).collect(),
            },
            _ => Self::Single { data_type, texts: Vec::new(), rows: Vec::new() },
        }
    }

    /// Takes a value off the text; false if there is none.
    fn read(&mut self, reader: &mut Reader, row: usize) -> bool {
        match self {
            Self::Single { data_type, texts, rows } => {
                let is_null = data_type.is_nullable() && reader.null();
                let text = if is_null { None } else { reader.single(bare(data_type)) };
                if text.is_none() && !is_null {
                    return false;
                }
                texts.push(text);
                rows.push(row);
                true
            }
            Self::Array { lengths, items, .. } => {
                if !reader.take(b'[') {
                    return false;
                }
                let mut count = 0;
                loop {
                    reader.skip_spaces();
                    // A comma may stand after the last item.
                    if reader.take(b']') {
                        break;
                    }
                    if count > 0 && !reader.after_comma {
                        return false;
                    }
                    if !items.read(reader, row) {
                        return false;
                    }
                    count += 1;
                    reader.skip_spaces();
                    reader.after_comma = reader.take(b',');
                }
                lengths.push(count);
                true
            }
            Self::Tuple { elements, .. } => {
                if !reader.take(b'(') {
                    return false;
                }
                let is_single = elements.len() == 1;
                for (index, element) in elements.iter_mut().enumerate() {
                    reader.skip_spaces();
                    if index > 0 && !reader.take(b',') {
                        return false;
                    }
                    reader.skip_spaces();
                    if !element.read(reader, row) {
                        return false;
                    }
                }
                reader.skip_spaces();
                if is_single && reader.take(b',') {
                    reader.skip_spaces();
                }
                reader.take(b')')
            }
        }
    }

    fn finish(self, call: &Call) -> Result<ArrayRef, FunctionError> {
        match self {
            Self::Single { data_type, texts, rows } => {
                let mut builder = BinaryViewBuilder::with_capacity(texts.len());
                for text in &texts {
                    builder.append_option(text.as_ref());
                }
                let values = super::access::as_texts(builder.finish(), false);
                let operand = Operand { data_type: DataType::String, values, is_constant: false };
                retyped(call, &operand, data_type).map_err(|error| match error {
                    FunctionError::Value { function, row, problem } => FunctionError::Value {
                        function,
                        row: rows.get(row).copied().unwrap_or(row),
                        problem,
                    },
                    other => other,
                })
            }
            Self::Array { item, lengths, items } => {
                let values = items.finish(call)?;
                let field = super::access::item_field(item, &values);
                let offsets = OffsetBuffer::from_lengths(lengths);
                let list = ListArray::try_new(field, offsets, values, None);
                Ok(Arc::new(list.map_err(FunctionError::arrow("read arrays"))?))
            }
            Self::Tuple { names, elements } => {
                let columns = elements.into_iter().map(|element| element.finish(call));
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                let fields =
                    names.into_iter().zip(&columns).enumerate().map(|(index, (name, column))| {
                        let name = name.unwrap_or_else(|| (index + 1).to_string());
                        Field::new(name, column.data_type().clone(), column.is_nullable())
                    });
                let fields: Vec<Field> = fields.collect();
                let tuples = StructArray::try_new(fields.into(), columns, None);
                Ok(Arc::new(tuples.map_err(FunctionError::arrow("read tuples"))?))
            }
        }
    }
}

/// What is left of a text.
struct Reader<'a> {
    rest: &'a [u8],
    after_comma: bool,
}

impl Reader<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes NULL off, if it is there.
    fn null(&mut self) -> bool {
        let is_null = self.rest.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"null"));
        if is_null {
            self.rest = self.rest.get(4..).unwrap_or_default();
        }
        is_null
    }

    /// The text of a single value.
    fn single(&mut self, plain: &DataType) -> Option<Vec<u8>> {
        if is_quoted(plain) {
            return self.quoted();
        }
        let is_end =
            |byte: &u8| matches!(byte, b',' | b']' | b')' | b'\'') || byte.is_ascii_whitespace();
        let end = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        let is_unsigned = super::arithmetic::integer(plain).is_some_and(|it| !it.is_signed);
        if text.is_empty() || is_unsigned && text.starts_with(b"-") {
            return None;
        }
        self.rest = rest;
        Some(text.to_vec())
    }

    fn quoted(&mut self) -> Option<Vec<u8>> {
        let mut rest = self.rest.strip_prefix(b"'")?;
        let mut text = Vec::new();
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            match byte {
                b'\'' => match rest.strip_prefix(b"'") {
                    Some(after) => {
                        text.push(b'\'');
                        rest = after;
                    }
                    None => break,
                },
                b'\\' => {
                    let (escaped, after) = rest.split_first()?;
                    rest = after;
                    if *escaped == b'x' {
                        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
                        text.push((digit(0)? << 4 | digit(1)?) as u8);
                        rest = after.get(2..)?;
                    } else {
                        unescape(*escaped, &mut text);
                    }
                }
                other => text.push(*other),
            }
        }
        self.rest = rest;
        Some(text)
    }
}

/// What a byte after a backslash means; an unknown one keeps its backslash.
fn unescape(byte: u8, text: &mut Vec<u8>) {
    let meant = match byte {
        b'a' => 7,
        b'b' => 8,
        b'e' => 27,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'0' => 0,
        b'\\' | b'\'' | b'"' | b'`' | b'/' => byte,
        other => {
            text.push(b'\\');
            other
        }
    };
    text.push(meant);
}
