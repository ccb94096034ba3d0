//! Functions of texts, which are bytes: `lower`, `length`, `position`; and access to texts in all their Arrow forms.

use super::string::change_utf8;
use super::{Call, Function, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryViewArray, PrimitiveArray, StringArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use std::sync::Arc;
use tambour_part::types::DataType;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("lower", same_type, |c| case(c, u8::to_ascii_lowercase))
        .any_case()
        .aliases(&["lcase"]),
    Function::new("upper", same_type, |c| case(c, u8::to_ascii_uppercase))
        .any_case()
        .aliases(&["ucase"]),
    Function::new(
        "lowerUTF8",
        |n, s| text_type(n, s, 1, DataType::String),
        |c| case_utf8(c, str::to_lowercase),
    ),
    Function::new(
        "upperUTF8",
        |n, s| text_type(n, s, 1, DataType::String),
        |c| case_utf8(c, str::to_uppercase),
    ),
    Function::new(
        "length",
        |n, s| sized_type(n, s, DataType::UInt64),
        |c| sizes::<UInt64Type>(c, |n| n as u64),
    )
    .any_case()
    .aliases(&["octet_length"]),
    Function::new("lengthUTF8", |n, s| text_type(n, s, 1, DataType::UInt64), length_utf8)
        .aliases(&["char_length", "character_length"]),
    Function::new("empty", |n, s| sized_type(n, s, DataType::UInt8), |c| emptiness(c, true))
        .predicate(),
    Function::new("notEmpty", |n, s| sized_type(n, s, DataType::UInt8), |c| emptiness(c, false))
        .predicate(),
    Function::new(
        "startsWith",
        |n, s| text_type(n, s, 2, DataType::UInt8),
        |c| pairs::<UInt8Type>(c, |text, start| u8::from(text.starts_with(start))),
    )
    .predicate(),
    Function::new(
        "endsWith",
        |n, s| text_type(n, s, 2, DataType::UInt8),
        |c| pairs::<UInt8Type>(c, |text, end| u8::from(text.ends_with(end))),
    )
    .predicate(),
];

/// Texts in any of their Arrow forms.
#[derive(Debug)]
pub struct Texts {
    values: ArrayRef,
    form: Form,
}

/// The forms that are read row by row without a look at the type.
#[derive(Debug)]
enum Form {
    Views(StringViewArray),
    Bytes(BinaryViewArray),
    /// What constants are.
    Strings(StringArray),
    Other,
}

impl Texts {
    /// The texts of an array; one that holds none is taken as texts of no rows when read.
    pub fn of(values: &ArrayRef) -> Self {
        let form = match values.data_type() {
            ArrowType::Utf8View => Form::Views(values.as_string_view().clone()),
            ArrowType::BinaryView => Form::Bytes(values.as_binary_view().clone()),
            ArrowType::Utf8 => Form::Strings(values.as_string::<i32>().clone()),
            _ => Form::Other,
        };
        Self { values: values.clone(), form }
    }
    /// True if each text is known to be UTF-8 by its type.
    pub fn are_letters(&self) -> bool {
        matches!(self.form, Form::Views(_) | Form::Strings(_))
    }
    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }
    /// The bytes of a row, if it is not NULL.
    #[inline]
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        match &self.form {
            Form::Views(array) => (!array.is_null(index)).then(|| array.value(index).as_bytes()),
            Form::Bytes(array) => (!array.is_null(index)).then(|| array.value(index)),
            Form::Strings(array) => (!array.is_null(index)).then(|| array.value(index).as_bytes()),
            Form::Other => (!self.values.is_null(index)).then(|| self.other(index)),
        }
    }
    fn other(&self, index: usize) -> &[u8] {
        let values = &self.values;
        match values.data_type() {
            ArrowType::LargeUtf8 => values.as_string::<i64>().value(index).as_bytes(),
            ArrowType::Binary => values.as_binary::<i32>().value(index),
            ArrowType::LargeBinary => values.as_binary::<i64>().value(index),
            ArrowType::FixedSizeBinary(_) => values.as_fixed_size_binary().value(index),
            _ => &[],
        }
    }
    /// The first text, if it is valid UTF-8: a constant.
    pub fn first(&self) -> Option<String> {
        (!self.is_empty())
            .then(|| self.value(0))
            .flatten()
            .and_then(|text| std::str::from_utf8(text).ok().map(str::to_owned))
    }
    fn nulls(&self) -> Option<NullBuffer> {
        self.values.logical_nulls()
    }
    fn is_utf8(&self) -> bool {
        matches!(
            self.values.data_type(),
            ArrowType::Utf8View | ArrowType::Utf8 | ArrowType::LargeUtf8
        )
    }
    /// Reads every text; one that cannot be read is an error that names the row.
    pub fn map_to<T: ArrowPrimitiveType>(
        &self,
        call: &Call,
        expected: &str,
        read: impl Fn(&[u8]) -> Option<T::Native>,
    ) -> Result<PrimitiveArray<T>, FunctionError> {
        let mut values = Vec::with_capacity(self.len());
        for index in 0..self.len() {
            values.push(match self.value(index) {
                None => T::Native::default(),
                Some(text) => read(text).ok_or_else(|| {
                    let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
                    call.value_error(index, format!("{shown:?} is not {expected}"))
                })?,
            });
        }
        Ok(PrimitiveArray::new(values.into(), self.nulls()))
    }
    /// Makes a text from every text. `make` must keep UTF-8 valid.
    pub fn map_texts(&self, make: impl Fn(&[u8], &mut Vec<u8>)) -> ArrayRef {
        let mut scratch = Vec::new();
        let mut next = |index: usize| {
            scratch.clear();
            make(self.value(index).unwrap_or_default(), &mut scratch);
            std::mem::take(&mut scratch)
        };
        if self.is_utf8() {
            let mut builder = StringViewBuilder::with_capacity(self.len());
            for index in 0..self.len() {
                let bytes = next(index);
                builder.append_option(self.value(index).map(|_| String::from_utf8_lossy(&bytes)));
            }
            return Arc::new(builder.finish());
        }
        let mut builder = BinaryViewBuilder::with_capacity(self.len());
        for index in 0..self.len() {
            let bytes = next(index);
            builder.append_option(self.value(index).map(|_| bytes));
        }
        Arc::new(builder.finish())
    }
}

/// An array of texts, each written by `push`.
pub(super) fn push_all(rows: usize, push: impl Fn(usize, &mut String)) -> ArrayRef {
    let mut builder = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        push(row, &mut text);
        builder.append_value(&text);
    }
    Arc::new(builder.finish())
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::String | DataType::FixedString(_))
}

fn same_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    text_type(name, s, 1, DataType::String)?;
    Ok(s.first().map_or(DataType::String, |first| first.data_type.clone()))
}

fn text_type(
    name: &'static str,
    s: &[Signature],
    count: usize,
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, count..=count)?;
    match s.iter().find(|argument| !is_text(&argument.data_type)) {
        Some(other) => Err(wrong(name, format!("it takes texts, not {}", other.data_type))),
        None => Ok(result),
    }
}

/// Texts, arrays and maps have a length.
fn sized_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    match s {
        [Signature { data_type: DataType::Array(_) | DataType::Map(..), .. }] => Ok(result),
        [Signature { data_type: DataType::Uuid | DataType::Ipv4 | DataType::Ipv6, .. }]
            if name != "length" =>
        {
            Ok(result)
        }
        _ => text_type(name, s, 1, result),
    }
}

fn case(call: &Call, change: fn(&u8) -> u8) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let texts = Texts::of(&values);
    if let ArrowType::FixedSizeBinary(width) = values.data_type() {
        let bytes: Vec<u8> =
            values.as_fixed_size_binary().value_data().iter().map(change).collect();
        let array = arrow_array::FixedSizeBinaryArray::try_new(*width, bytes.into(), texts.nulls());
        let array =
            array.map_err(|cause| FunctionError::Arrow { operation: "changing case", cause })?;
        return Ok(Arc::new(array));
    }
    // Only ASCII letters change, so valid UTF-8 stays valid.
    Ok(texts.map_texts(|text, out| out.extend(text.iter().map(change))))
}

/// Letters of all scripts; bytes that are no text stay as they are.
fn case_utf8(call: &Call, change: fn(&str) -> String) -> Result<ArrayRef, FunctionError> {
    Ok(Texts::of(&call.values(0)?).map_texts(|text, out| {
        change_utf8(text, out, |text, out| out.extend_from_slice(change(text).as_bytes()));
    }))
}

fn sizes<T: ArrowPrimitiveType>(
    call: &Call,
    number: impl Fn(usize) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    let lengths: Vec<T::Native> = match values.data_type() {
        ArrowType::List(_) => values.as_list::<i32>().offsets().lengths().map(number).collect(),
        ArrowType::LargeList(_) => {
            values.as_list::<i64>().offsets().lengths().map(number).collect()
        }
        ArrowType::Map(..) => values.as_map().offsets().lengths().map(number).collect(),
        ArrowType::Utf8View => view_lengths(values.as_string_view().views()).map(number).collect(),
        ArrowType::BinaryView => {
            view_lengths(values.as_binary_view().views()).map(number).collect()
        }
        _ => {
            let texts = Texts::of(&values);
            (0..texts.len())
                .map(|index| number(texts.value(index).map_or(0, <[u8]>::len)))
                .collect()
        }
    };
    Ok(Arc::new(PrimitiveArray::<T>::new(lengths.into(), values.logical_nulls())))
}

/// A view begins with the length of its text.
#[expect(clippy::cast_possible_truncation, reason = "the length is the low 32 bits")]
fn view_lengths(views: &[u128]) -> impl Iterator<Item = usize> {
    views.iter().map(|view| *view as u32 as usize)
}

/// Whether values are empty; a fixed string is if it holds zero bytes only.
fn emptiness(call: &Call, wanted: bool) -> Result<ArrayRef, FunctionError> {
    let values = call.values(0)?;
    if let Some(addresses) = values.as_primitive_opt::<UInt32Type>() {
        let flag = |address: u32| u8::from((address == 0) == wanted);
        return Ok(Arc::new(addresses.unary::<_, UInt8Type>(flag)));
    }
    if !matches!(values.data_type(), ArrowType::FixedSizeBinary(_)) {
        return sizes::<UInt8Type>(call, |length| u8::from((length == 0) == wanted));
    }
    let texts = Texts::of(&values);
    let is_empty = |text: &[u8]| text.iter().all(|byte| *byte == 0);
    let flag = |text: &[u8]| Some(u8::from(is_empty(text) == wanted));
    Ok(Arc::new(texts.map_to::<UInt8Type>(call, "a text", flag)?))
}

/// Code points: bytes that do not continue one.
fn length_utf8(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = Texts::of(&call.values(0)?);
    let count = |text: &[u8]| text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
    Ok(Arc::new(texts.map_to::<UInt64Type>(call, "a text", |text| Some(count(text)))?))
}

fn pairs<T: ArrowPrimitiveType>(
    call: &Call,
    number: impl Fn(&[u8], &[u8]) -> T::Native,
) -> Result<ArrayRef, FunctionError> {
    let (left, right) = (Texts::of(&call.values(0)?), Texts::of(&call.values(1)?));
    let of_row = |index: usize| match (left.value(index), right.value(index)) {
        (Some(left), Some(right)) => Some(number(left, right)),
        _ => None,
    };
    Ok(Arc::new((0..call.rows).map(of_row).collect::<PrimitiveArray<T>>()))
}
