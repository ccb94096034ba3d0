//! Builders of strings: plain, of fixed length, in dictionaries, enumerated.

use super::{Build, Context, NOT_UTF8, as_text};
use crate::error::{NOT_NULLABLE, Reject};
use crate::literal::Cursor;
use arrow_array::builder::{
    FixedSizeBinaryDictionaryBuilder, StringDictionaryBuilder, StringViewBuilder,
};
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type};
use arrow_array::{ArrayRef, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBufferBuilder};
use arrow_schema::{ArrowError, DataType as Arrow};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::DataType;
use tambour_part::types::Strings;

pub(super) fn build(
    data_type: &DataType,
    nullable: bool,
    context: Context,
) -> Result<Box<dyn Build>, ArrowError> {
    Ok(match data_type {
        DataType::String => {
            Box::new(Text { values: StringViewBuilder::with_capacity(context.capacity), nullable })
        }
        DataType::FixedString(width) => Box::new(Padded {
            width: *width,
            values: Vec::new(),
            nulls: NullBufferBuilder::new(context.capacity),
            nullable,
        }),
        DataType::Enum8(values) => {
            let names = values.iter().map(|(name, number)| (name.as_str(), i32::from(*number)));
            enumerated(data_type, &names.collect::<Vec<_>>(), nullable)
        }
        DataType::Enum16(values) => {
            let names = values.iter().map(|(name, number)| (name.as_str(), i32::from(*number)));
            enumerated(data_type, &names.collect::<Vec<_>>(), nullable)
        }
        DataType::LowCardinality(inner) => match inner.as_ref() {
            DataType::Nullable(inner) => low_cardinality(inner, true, context)?,
            inner => low_cardinality(inner, nullable, context)?,
        },
        other => return Err(ArrowError::NotYetImplemented(format!("{other} as a string"))),
    })
}

fn low_cardinality(
    inner: &DataType,
    nullable: bool,
    context: Context,
) -> Result<Box<dyn Build>, ArrowError> {
    match inner {
        DataType::String => {
            Ok(Box::new(Dictionary { values: StringDictionaryBuilder::new(), nullable }))
        }
        DataType::FixedString(width) => {
            let arrow_width = i32::try_from(*width).or(Err(too_long(*width)))?;
            let values = FixedSizeBinaryDictionaryBuilder::new(arrow_width);
            Ok(Box::new(PaddedDictionary { width: *width, values, nullable }))
        }
        other => super::build(other, nullable, context),
    }
}

fn too_long(width: usize) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("FixedString({width}) is too long"))
}

fn utf8(text: &[u8]) -> Result<&str, Reject> {
    simdutf8::basic::from_utf8(text).or(Err(NOT_UTF8))
}

/// `String`.
struct Text {
    values: StringViewBuilder,
    nullable: bool,
}

impl Build for Text {
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        self.values.append_value(utf8(text)?);
        Ok(())
    }

    #[inline]
    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.values.append_null();
        Ok(())
    }

    fn blank(&mut self) {
        if self.nullable {
            self.values.append_null();
        } else {
            self.values.append_value("");
        }
    }

    fn takes_any_text(&self) -> bool {
        true
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        as_text(cursor, |text| match text {
            Some(text) => self.text(text),
            None => self.null(),
        })?
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.values.finish()))
    }
}

/// Text padded with zeros.
fn pad(text: &[u8], width: usize) -> Result<impl Iterator<Item = u8> + '_, Reject> {
    let missing = width.checked_sub(text.len()).ok_or(Reject::new("longer than the type"))?;
    Ok(text.iter().copied().chain(std::iter::repeat_n(0, missing)))
}

/// `FixedString(N)`: any bytes.
struct Padded {
    width: usize,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
    nullable: bool,
}

impl Build for Padded {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        self.values.extend(pad(text, self.width)?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        self.values.extend(std::iter::repeat_n(0, self.width));
        if self.nullable {
            self.nulls.append_null();
        } else {
            self.nulls.append_non_null();
        }
    }

    fn takes_any_text(&self) -> bool {
        true
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let width = i32::try_from(self.width).or(Err(too_long(self.width)))?;
        let values = Buffer::from_vec(self.values);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(width, values, self.nulls.finish())?))
    }
}

/// `LowCardinality(String)`.
struct Dictionary {
    values: StringDictionaryBuilder<Int32Type>,
    nullable: bool,
}

impl Build for Dictionary {
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        // Fails only when the keys run out, after two milliards of values.
        let full = Reject::new("too many different values");
        self.values.append(utf8(text)?).map(drop).or(Err(full))
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.values.append_null();
        Ok(())
    }

    fn blank(&mut self) {
        if self.nullable {
            self.values.append_null();
        } else {
            self.values.append_value("");
        }
    }

    fn takes_any_text(&self) -> bool {
        true
    }

    fn literal(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reject> {
        as_text(cursor, |text| match text {
            Some(text) => self.text(text),
            None => self.null(),
        })?
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.values.finish()))
    }
}

/// `LowCardinality(FixedString(N))`.
struct PaddedDictionary {
    width: usize,
    values: FixedSizeBinaryDictionaryBuilder<Int32Type>,
    nullable: bool,
}

impl Build for PaddedDictionary {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        let value: Vec<u8> = pad(text, self.width)?.collect();
        let full = Reject::new("too many different values");
        self.values.append(value).map(drop).or(Err(full))
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.values.append_null();
        Ok(())
    }

    fn blank(&mut self) {
        if self.nullable {
            self.values.append_null();
        } else {
            self.values.append_value(vec![0; self.width]);
        }
    }

    fn takes_any_text(&self) -> bool {
        true
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(self.values.finish()))
    }
}

/// `Enum8`, `Enum16`: names, or their numbers.
struct Enumerated<K: ArrowDictionaryKeyType> {
    /// Keys by name and by number.
    names: HashMap<Vec<u8>, K::Native>,
    numbers: HashMap<i32, K::Native>,
    values: StringArray,
    keys: Vec<K::Native>,
    nulls: NullBufferBuilder,
    nullable: bool,
}

fn enumerated(data_type: &DataType, names: &[(&str, i32)], nullable: bool) -> Box<dyn Build> {
    let arrow = data_type.arrow(Strings::Utf8);
    match &arrow {
        Arrow::Dictionary(key, _) if **key == Arrow::Int8 => {
            Box::new(Enumerated::<Int8Type>::new(names, nullable))
        }
        Arrow::Dictionary(key, _) if **key == Arrow::Int16 => {
            Box::new(Enumerated::<Int16Type>::new(names, nullable))
        }
        _ => Box::new(Enumerated::<Int32Type>::new(names, nullable)),
    }
}

impl<K: ArrowDictionaryKeyType> Enumerated<K> {
    fn new(names: &[(&str, i32)], nullable: bool) -> Self {
        let key = |index: usize| K::Native::usize_as(index);
        let by_name =
            |(index, (name, _)): (usize, &(&str, i32))| (name.as_bytes().to_vec(), key(index));
        let by_number = |(index, (_, number)): (usize, &(&str, i32))| (*number, key(index));
        Self {
            names: names.iter().enumerate().map(by_name).collect(),
            numbers: names.iter().enumerate().map(by_number).collect(),
            values: names.iter().map(|(name, _)| Some(*name)).collect(),
            keys: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            nullable,
        }
    }
}

impl<K: ArrowDictionaryKeyType> Build for Enumerated<K> {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        let key = self.names.get(text).or_else(|| {
            let number = tambour_function::value::number::integer::<i32>(text, true).ok()?;
            self.numbers.get(&number)
        });
        self.keys.push(*key.ok_or(Reject::new("not a name of the enumeration"))?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        self.keys.push(K::Native::usize_as(0));
        if self.nullable {
            self.nulls.append_null();
        } else {
            self.nulls.append_non_null();
        }
    }

    fn takes_any_text(&self) -> bool {
        true
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let keys = PrimitiveArray::<K>::try_new(self.keys.into(), self.nulls.finish())?;
        Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(self.values))?))
    }
}
