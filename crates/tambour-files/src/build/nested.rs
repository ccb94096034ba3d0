//! Builders of arrays, tuples and maps, from JSON or from ClickHouse's literals.

use super::{Build, Context};
use crate::error::Reject;
use crate::literal::{Cursor, Syntax, Token};
use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType as Arrow, FieldRef, Fields};
use std::sync::Arc;
use tambour_part::DataType;
use tambour_part::types::Strings;

const NOT_LIST: Reject = Reject::new("not a list");
const NOT_TUPLE: Reject = Reject::new("neither an object nor a tuple");
const NOT_MAP: Reject = Reject::new("not a map");
const TOO_LONG: Reject = Reject::new("too many elements");
const WRONG_LENGTH: Reject = Reject::new("more or fewer elements than the tuple has");
const UNKNOWN_ELEMENT: Reject = Reject::new("an element that the tuple does not have");
const TWICE: Reject = Reject::new("an element of the tuple appears twice");

pub(super) fn build(data_type: &DataType, context: Context) -> Result<Box<dyn Build>, ArrowError> {
    let child = |inner: &DataType| super::build(inner, false, Context { capacity: 0, ..context });
    let arrow = data_type.arrow(Strings::Utf8);
    Ok(match (data_type, arrow) {
        (DataType::Array(inner), Arrow::List(field)) => {
            Box::new(List { field, offsets: vec![0], length: 0, values: child(inner)? })
        }
        (DataType::Tuple(elements), Arrow::Struct(fields)) => {
            let children = elements.iter().map(|(_, inner)| child(inner));
            Box::new(Tuple { fields, rows: 0, values: children.collect::<Result<_, _>>()? })
        }
        (DataType::Map(key, value), Arrow::Map(entries, _)) => Box::new(Map {
            entries,
            offsets: vec![0],
            length: 0,
            keys: child(key)?,
            values: child(value)?,
        }),
        (other, _) => return Err(ArrowError::NotYetImplemented(format!("{other} from text"))),
    })
}

/// Reads a value that fills the whole text.
fn whole(build: &mut dyn Build, text: &[u8]) -> Result<(), Reject> {
    let mut cursor = Cursor::new(text, Syntax::ClickHouse);
    build.literal(&mut cursor)?;
    cursor.end()
}

fn offset(length: usize) -> Result<i32, Reject> {
    i32::try_from(length).or(Err(TOO_LONG))
}

/// `Array(T)`.
struct List {
    field: FieldRef,
    offsets: Vec<i32>,
    length: usize,
    values: Box<dyn Build>,
}

impl Build for List {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        whole(self, text)
    }

    fn null(&mut self) -> Result<(), Reject> {
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        let last = self.offsets[self.offsets.len() - 1];
        self.offsets.push(last);
    }

    fn takes_literals(&self) -> bool {
        true
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        match cursor.token()? {
            Token::Null => return self.null(),
            Token::Open(b'[') => {
                let (values, length) = (&mut self.values, &mut self.length);
                cursor.elements(b'[', |cursor, _| {
                    *length += 1;
                    values.literal(cursor)
                })?;
            }
            _ => return Err(NOT_LIST),
        }
        self.offsets.push(offset(self.length)?);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let values = self.values.finish()?;
        Ok(Arc::new(ListArray::try_new(self.field, offsets, values, None)?))
    }
}

/// `Tuple(…)`: an object by names, a list or a ClickHouse tuple by position.
struct Tuple {
    fields: Fields,
    rows: usize,
    values: Vec<Box<dyn Build>>,
}

impl Tuple {
    fn by_name(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        let mut given = vec![false; self.values.len()];
        let mut expected = 0;
        cursor.entries(|cursor, key| {
            let is_key = |index: usize| {
                self.fields.get(index).is_some_and(|field| field.name().as_bytes() == key.as_ref())
            };
            let found = if is_key(expected) {
                Some(expected)
            } else {
                (0..self.fields.len()).find(|&index| is_key(index))
            };
            let index = found.ok_or(UNKNOWN_ELEMENT)?;
            expected = index + 1;
            if std::mem::replace(&mut given[index], true) {
                return Err(TWICE);
            }
            self.values[index].literal(cursor)
        })?;
        for (value, _) in self.values.iter_mut().zip(&given).filter(|(_, given)| !**given) {
            value.null()?;
        }
        Ok(())
    }

    fn by_position(&mut self, open: u8, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        let values = &mut self.values;
        let mut count = 0;
        cursor.elements(open, |cursor, index| {
            count = index + 1;
            values.get_mut(index).ok_or(WRONG_LENGTH)?.literal(cursor)
        })?;
        if count == self.values.len() { Ok(()) } else { Err(WRONG_LENGTH) }
    }
}

impl Build for Tuple {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        whole(self, text)
    }

    fn null(&mut self) -> Result<(), Reject> {
        self.rows += 1;
        self.values.iter_mut().try_for_each(|value| value.null())
    }

    fn blank(&mut self) {
        self.rows += 1;
        self.values.iter_mut().for_each(|value| value.blank());
    }

    fn takes_literals(&self) -> bool {
        true
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        match cursor.token()? {
            Token::Null => return self.null(),
            Token::Open(b'{') => self.by_name(cursor)?,
            Token::Open(open) => self.by_position(open, cursor)?,
            _ => return Err(NOT_TUPLE),
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let arrays: Result<Vec<_>, _> = self.values.into_iter().map(Build::finish).collect();
        let arrays = arrays?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields, arrays, None, self.rows)?))
    }
}

/// `Map(K, V)`.
struct Map {
    entries: FieldRef,
    offsets: Vec<i32>,
    length: usize,
    keys: Box<dyn Build>,
    values: Box<dyn Build>,
}

impl Build for Map {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        whole(self, text)
    }

    fn null(&mut self) -> Result<(), Reject> {
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        let last = self.offsets[self.offsets.len() - 1];
        self.offsets.push(last);
    }

    fn takes_literals(&self) -> bool {
        true
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        match cursor.token()? {
            Token::Null => return self.null(),
            Token::Open(b'{') => {
                let Self { keys, values, length, .. } = self;
                cursor.entries(|cursor, key| {
                    *length += 1;
                    keys.text(&key)?;
                    values.literal(cursor)
                })?;
            }
            _ => return Err(NOT_MAP),
        }
        self.offsets.push(offset(self.length)?);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let Arrow::Struct(fields) = self.entries.data_type() else {
            return Err(ArrowError::SchemaError("a map without entries".to_owned()));
        };
        let (keys, values) = (self.keys.finish()?, self.values.finish()?);
        let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(MapArray::try_new(self.entries, offsets, entries, None, false)?))
    }
}
