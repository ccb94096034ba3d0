//! How functions are declared in one line each, and how they read arguments and write results: the types of arguments are a
//! [`rule!`], columns and constants are read alike ([`TextColumn`], [`Integers`], [`Floats`], [`Lists`]), texts are bytes.

use super::arithmetic::integer;
use super::text::Texts;
use super::{Call, Operand, Signature, cast, expect_count, undress, wrong};
use crate::FunctionError;
use arrow_array::builder::BinaryViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, FixedSizeBinaryArray, ListArray, PrimitiveArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::DataType as ArrowType;
use std::ops::Range;
use std::sync::Arc;
use tambour_kernel::text::texts;
use tambour_part::types::DataType;

/// Most bytes of one text that a function makes, and most elements of one array: beyond them it is an error.
pub const RESULT_MAX: usize = 1 << 28;

/// Most bytes of all texts that a function makes at a time.
const BATCH_MAX: usize = 1 << 32;

/// What a text that cannot be read becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An error that names the row.
    Error,
    /// The default of the type.
    Zero,
    /// NULL.
    Null,
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// String or FixedString.
    Text,
    /// String only.
    String,
    /// A constant text.
    ConstText,
    /// Integers up to 64 bits, Bool among them.
    Integer,
    /// A constant integer.
    ConstInteger,
    /// Integers and floats.
    Number,
    /// Integers, floats and decimals.
    Numeric,
    /// Any array.
    Array,
    /// An array of texts.
    Texts,
    /// Any map.
    Map,
    /// Any type.
    Any,
}

impl Kind {
    fn takes(self, argument: &Signature) -> bool {
        let data_type = &argument.data_type;
        let is_text = matches!(data_type, DataType::String | DataType::FixedString(_));
        let is_integer = integer(data_type).is_some();
        let is_number = is_integer || matches!(data_type, DataType::Float32 | DataType::Float64);
        match self {
            Self::Text => is_text,
            Self::String => *data_type == DataType::String,
            Self::ConstText => is_text && argument.constant.is_some(),
            Self::Integer => is_integer,
            Self::ConstInteger => is_integer && argument.constant.is_some(),
            Self::Number => is_number,
            Self::Numeric => is_number || matches!(data_type, DataType::Decimal { .. }),
            Self::Array => matches!(data_type, DataType::Array(_)),
            Self::Texts => match data_type {
                DataType::Array(item) => {
                    matches!(super::bare(item), DataType::String | DataType::FixedString(_))
                }
                _ => false,
            },
            Self::Map => matches!(data_type, DataType::Map(..)),
            Self::Any => true,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Text => "a String",
            Self::String => "a String of any length",
            Self::ConstText => "a constant String",
            Self::Integer => "an integer",
            Self::ConstInteger => "a constant integer",
            Self::Number => "an integer or a float",
            Self::Numeric => "a number",
            Self::Array => "an Array",
            Self::Texts => "an Array(String)",
            Self::Map => "a Map",
            Self::Any => "any type",
        }
    }
}

/// True for dates and times.
pub fn is_moment(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Date | DataType::Date32 | DataType::DateTime { .. } | DataType::DateTime64 { .. }
    )
}

/// An error unless the arguments are of these kinds; the last ones may be missing.
pub fn takes(
    name: &'static str,
    s: &[Signature],
    kinds: &[Kind],
    optional: &[Kind],
) -> Result<(), FunctionError> {
    expect_count(name, s, kinds.len()..=kinds.len() + optional.len())?;
    for (index, (argument, kind)) in s.iter().zip(kinds.iter().chain(optional)).enumerate() {
        if !kind.takes(argument) {
            return Err(wrong(
                name,
                format!(
                    "argument {} is {}, expected {}",
                    index + 1,
                    argument.data_type,
                    kind.words()
                ),
            ));
        }
    }
    Ok(())
}

/// The types of arguments, optional ones in brackets, and the type of the result:
/// `rule!(Text Text [Integer] => DataType::UInt64)`.
#[macro_export]
macro_rules! rule {
    ($($kind:ident)* [$($optional:ident)*] => $result:expr) => {
        |name, s| {
            $crate::kit::takes(
                name,
                s,
                &[$($crate::kit::Kind::$kind),*],
                &[$($crate::kit::Kind::$optional),*],
            )?;
            Ok($result)
        }
    };
    ($($kind:ident)* => $result:expr) => { $crate::rule!($($kind)* [] => $result) };
}
pub(super) use rule;

/// `Array(T)`.
pub fn array_of(item: DataType) -> DataType {
    DataType::Array(Box::new(item))
}

/// `Nullable(T)`, where there is such a type.
pub fn nullable(data_type: DataType) -> DataType {
    data_type.made_nullable()
}

/// The type of an argument; the count of arguments is checked before.
pub fn type_at(s: &[Signature], index: usize) -> &DataType {
    s.get(index).map_or(&DataType::String, |argument| &argument.data_type)
}

/// The items of an array type.
pub fn item_of(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Array(item) => item,
        other => other,
    }
}

/// Texts of an argument.
#[derive(Debug)]
pub struct TextColumn {
    texts: Texts,
    is_constant: bool,
}

impl TextColumn {
    /// True if each text is known to be UTF-8 by its type.
    pub fn are_letters(&self) -> bool {
        self.texts.are_letters()
    }
    /// The bytes of a row; none of a NULL.
    pub fn get(&self, row: usize) -> &[u8] {
        self.texts.value(if self.is_constant { 0 } else { row }).unwrap_or_default()
    }
    /// True if every row has the same text.
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }
}

/// Integers of an argument, 0 for NULL.
#[derive(Debug)]
pub struct Integers {
    values: Vec<i128>,
    is_constant: bool,
}

impl Integers {
    /// The integer of a row.
    pub fn get(&self, row: usize) -> i128 {
        let row = if self.is_constant { 0 } else { row };
        self.values.get(row).copied().unwrap_or(0)
    }
    /// The same as numbers of places, which have a sign there: a UInt64 past the half counts from the end.
    pub fn place(&self, row: usize) -> i128 {
        i128::from(self.get(row) as i64)
    }
}

/// Floats of an argument, 0 for NULL.
#[derive(Debug)]
pub struct Floats {
    values: Vec<f64>,
    is_constant: bool,
}

impl Floats {
    /// The float of a row.
    pub fn get(&self, row: usize) -> f64 {
        let row = if self.is_constant { 0 } else { row };
        self.values.get(row).copied().unwrap_or(0.0)
    }
}

/// Arrays of an argument: all items, and which are those of a row.
#[derive(Debug)]
pub struct Lists {
    /// The items without `Nullable` and `LowCardinality` around their type.
    pub items: Operand,
    /// The type of the items as it was.
    pub item_type: DataType,
    offsets: Vec<i32>,
    is_constant: bool,
}

impl Lists {
    /// Where the items of a row are.
    pub fn range(&self, row: usize) -> Range<usize> {
        let row = if self.is_constant { 0 } else { row };
        match self.offsets.get(row..row + 2) {
            Some([from, to]) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }
    /// True if every row has the same array.
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }
    /// The items as texts.
    pub fn texts(&self) -> Texts {
        Texts::of(&self.items.values)
    }
    /// True if the item at this place is NULL.
    pub fn is_null(&self, at: usize) -> bool {
        self.items.values.is_null(at)
    }
}

impl Call<'_> {
    /// An argument.
    pub fn operand(&self, index: usize) -> Result<&Operand, FunctionError> {
        self.operands.get(index).ok_or_else(|| wrong(self.name, "an argument is missing"))
    }
    /// The texts of an argument.
    pub fn texts(&self, index: usize) -> Result<TextColumn, FunctionError> {
        let operand = self.operand(index)?;
        Ok(TextColumn { texts: Texts::of(&operand.values), is_constant: operand.is_constant })
    }
    /// The texts of an argument, if it is there.
    pub fn optional_texts(&self, index: usize) -> Result<Option<TextColumn>, FunctionError> {
        if index < self.operands.len() { self.texts(index).map(Some) } else { Ok(None) }
    }
    /// The integers of an argument.
    pub fn integers(&self, index: usize) -> Result<Integers, FunctionError> {
        let operand = self.operand(index)?;
        Ok(Integers { values: wide_integers(&operand.values)?, is_constant: operand.is_constant })
    }
    /// The integers of an argument, if it is there.
    pub fn optional_integers(&self, index: usize) -> Result<Option<Integers>, FunctionError> {
        if index < self.operands.len() { self.integers(index).map(Some) } else { Ok(None) }
    }
    /// The floats of an argument.
    pub fn floats(&self, index: usize) -> Result<Floats, FunctionError> {
        let operand = self.operand(index)?;
        let wide = cast(&operand.values, &ArrowType::Float64)?;
        let values = wide.as_primitive::<Float64Type>().iter().map(Option::unwrap_or_default);
        Ok(Floats { values: values.collect(), is_constant: operand.is_constant })
    }
    /// The arrays of an argument.
    pub fn lists(&self, index: usize) -> Result<Lists, FunctionError> {
        let operand = self.operand(index)?;
        let item_type = item_of(&operand.data_type).clone();
        let list = as_list(&operand.values)
            .ok_or_else(|| wrong(self.name, format!("it does not take {}", operand.data_type)))?;
        let items = Operand {
            data_type: item_type.clone(),
            values: list.values().clone(),
            is_constant: false,
        };
        // Nothing may stand under a NULL.
        let offsets = list.value_offsets();
        let offsets = match list.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => offsets.to_vec(),
            Some(_) => return Self::lists_of(&dense(&list)?, item_type, operand.is_constant),
        };
        Ok(Lists { items: undress(&items)?, item_type, offsets, is_constant: operand.is_constant })
    }
    /// The same, and an error if an item is NULL.
    pub fn full_lists(&self, index: usize) -> Result<Lists, FunctionError> {
        let lists = self.lists(index)?;
        if lists.items.values.null_count() > 0 {
            return Err(wrong(self.name, "it does not take NULLs in arrays"));
        }
        Ok(lists)
    }
    fn lists_of(
        list: &ListArray,
        item_type: DataType,
        is_constant: bool,
    ) -> Result<Lists, FunctionError> {
        let values = list.values().clone();
        let items = Operand { data_type: item_type.clone(), values, is_constant: false };
        let offsets = list.value_offsets().to_vec();
        Ok(Lists { items: undress(&items)?, item_type, offsets, is_constant })
    }
    /// The constant text of an argument.
    pub fn constant_text(&self, index: usize) -> Result<Vec<u8>, FunctionError> {
        Ok(self.texts(index)?.get(0).to_vec())
    }
    /// True if any row has a NULL in any argument.
    pub fn has_nulls(&self) -> bool {
        self.operands.iter().any(|operand| operand.values.null_count() > 0)
    }
    /// An error if there is a NULL: a tuple of one is a NULL in ClickHouse, and an array is made of what stands under it.
    pub fn refuse_nulls(&self) -> Result<(), FunctionError> {
        if self.has_nulls() { Err(wrong(self.name, "it does not take NULLs")) } else { Ok(()) }
    }
    /// True if a row has a NULL in any argument, so that its result counts for nothing.
    pub fn is_null(&self, row: usize) -> bool {
        self.operands.iter().any(|operand| {
            let row = if operand.is_constant { 0 } else { row };
            row < operand.values.len() && operand.values.is_null(row)
        })
    }
    /// True if texts of the result may be any bytes, as those of an argument may.
    pub fn wants_bytes(&self) -> bool {
        self.operands.iter().any(|operand| has_bytes(operand.values.data_type()))
    }

    /// A text per row.
    pub fn make_texts(
        &self,
        mut make: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<ArrayRef, FunctionError> {
        self.try_texts(|row, out| {
            make(row, out);
            Ok(())
        })
    }
    /// A text per row, or an error.
    pub fn try_texts(
        &self,
        mut make: impl FnMut(usize, &mut Vec<u8>) -> Result<(), FunctionError>,
    ) -> Result<ArrayRef, FunctionError> {
        let mut builder = BinaryViewBuilder::with_capacity(self.rows);
        let mut out = Vec::new();
        let mut total = 0_usize;
        for row in 0..self.rows {
            out.clear();
            make(row, &mut out)?;
            self.check_size(row, out.len())?;
            total += out.len();
            if total > BATCH_MAX {
                return Err(self.value_error(row, "the texts of a batch are larger than 4 GiB"));
            }
            builder.append_value(&out);
        }
        Ok(as_texts(builder.finish(), self.wants_bytes()))
    }
    /// An error if a row has more bytes or items than a result may have.
    pub fn check_size(&self, row: usize, size: usize) -> Result<(), FunctionError> {
        if size <= RESULT_MAX {
            return Ok(());
        }
        Err(self.value_error(row, format!("the result is larger than {RESULT_MAX}")))
    }
    /// An array of texts per row.
    pub fn make_text_lists(
        &self,
        mut make: impl FnMut(usize, &mut TextList),
    ) -> Result<ArrayRef, FunctionError> {
        let mut list = TextList { builder: BinaryViewBuilder::new(), count: 0 };
        let mut lengths = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            list.count = 0;
            make(row, &mut list);
            self.check_size(row, list.count)?;
            lengths.push(list.count);
        }
        let values = as_texts(list.builder.finish(), self.wants_bytes());
        list_array(lengths, values, &DataType::String)
    }
    /// Bytes of the fixed width of the result.
    pub fn make_fixed(
        &self,
        width: usize,
        mut make: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<ArrayRef, FunctionError> {
        let mut all = Vec::with_capacity(self.rows * width);
        for row in 0..self.rows {
            make(row, &mut all);
            all.resize((row + 1) * width, 0);
        }
        let width = i32::try_from(width).unwrap_or(i32::MAX);
        let array = FixedSizeBinaryArray::try_new(width, all.into(), None);
        Ok(Arc::new(array.map_err(FunctionError::arrow("make fixed strings"))?))
    }
    /// A number per row.
    pub fn make_numbers<T: ArrowPrimitiveType>(
        &self,
        make: impl FnMut(usize) -> T::Native,
    ) -> Result<ArrayRef, FunctionError> {
        Ok(Arc::new(PrimitiveArray::<T>::from_iter_values((0..self.rows).map(make))))
    }
    /// A flag per row.
    pub fn make_flags(
        &self,
        mut make: impl FnMut(usize) -> bool,
    ) -> Result<ArrayRef, FunctionError> {
        self.make_numbers::<UInt8Type>(|row| u8::from(make(row)))
    }
    /// Numbers of the type of the result; bits that do not fit are dropped.
    pub fn make_integers(
        &self,
        make: impl FnMut(usize) -> i128,
    ) -> Result<ArrayRef, FunctionError> {
        integer_array(self.name, self.result, (0..self.rows).map(make))
    }
    /// Numbers or NULLs of the type of the result.
    pub fn make_optional_integers(
        &self,
        make: impl FnMut(usize) -> Option<i128>,
    ) -> Result<ArrayRef, FunctionError> {
        optional_integers(self.name, super::bare(self.result), (0..self.rows).map(make))
    }
    /// Floats of the type of the result.
    pub fn make_floats(&self, make: impl FnMut(usize) -> f64) -> Result<ArrayRef, FunctionError> {
        match self.result {
            DataType::Float32 => {
                let floats = (0..self.rows).map(make).map(|float| float as f32);
                Ok(Arc::new(PrimitiveArray::<Float32Type>::from_iter_values(floats)))
            }
            _ => self.make_numbers::<Float64Type>(make),
        }
    }
}

/// Where the texts of an array are pushed to.
#[derive(Debug)]
pub struct TextList {
    builder: BinaryViewBuilder,
    count: usize,
}

impl TextList {
    /// One more text.
    pub fn push(&mut self, text: &[u8]) {
        self.count += 1;
        // The limit of a row is checked when the row is done.
        if self.count <= RESULT_MAX {
            self.builder.append_value(text);
        }
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }
}

/// Texts if all of them are, and bytes are not wanted.
pub fn as_texts(bytes: BinaryViewArray, wants_bytes: bool) -> ArrayRef {
    if wants_bytes {
        return Arc::new(bytes);
    }
    let (views, buffers, nulls) = bytes.clone().into_parts();
    match texts(&views, &buffers, nulls.as_ref()) {
        Some(texts) => Arc::new(texts),
        None => Arc::new(bytes),
    }
}

/// True if there are strings among the values that are held as bytes.
pub(super) fn has_bytes(arrow: &ArrowType) -> bool {
    match arrow {
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => true,
        ArrowType::Dictionary(_, inner) => has_bytes(inner),
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::Map(item, _) => {
            has_bytes(item.data_type())
        }
        ArrowType::Struct(fields) => fields.iter().any(|field| has_bytes(field.data_type())),
        _ => false,
    }
}

/// The array as a list with 32-bit offsets.
pub fn as_list(values: &ArrayRef) -> Option<ListArray> {
    match values.data_type() {
        ArrowType::List(_) => Some(values.as_list::<i32>().clone()),
        ArrowType::LargeList(item) | ArrowType::FixedSizeList(item, _) => {
            let cast = cast(values, &ArrowType::List(item.clone())).ok()?;
            Some(cast.as_list::<i32>().clone())
        }
        _ => None,
    }
}

/// The same list with empty arrays in place of NULLs.
fn dense(list: &ListArray) -> Result<ListArray, FunctionError> {
    let mut indices = Vec::new();
    let mut lengths = Vec::with_capacity(list.len());
    for row in 0..list.len() {
        let offsets = list.value_offsets();
        let range = if list.is_null(row) { 0..0 } else { offsets[row]..offsets[row + 1] };
        lengths.push(range.len());
        indices.extend(range.map(|at| at as u32));
    }
    let values = super::take(list.values(), &indices.into())?;
    let item = match list.data_type() {
        ArrowType::List(item) => item.clone(),
        _ => return Err(wrong("arrays", "they have no items")),
    };
    ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), values, None)
        .map_err(FunctionError::arrow("leave out what is under NULL"))
}

/// A list of items, in the form of `Array(item)`.
pub fn list_array(
    lengths: Vec<usize>,
    values: ArrayRef,
    item: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let total: usize = lengths.iter().sum();
    if total > i32::MAX as usize {
        return Err(wrong("arrays", "they hold more than 2147483647 items together"));
    }
    let field = item_field(item, &values);
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, None);
    Ok(Arc::new(list.map_err(FunctionError::arrow("make arrays"))?))
}

/// The field of items of this type, as these values are.
pub fn item_field(item: &DataType, values: &ArrayRef) -> arrow_schema::FieldRef {
    let nullable = matches!(item, DataType::Nullable(_))
        || matches!(item, DataType::LowCardinality(inner) if matches!(**inner, DataType::Nullable(_)))
        || values.null_count() > 0;
    Arc::new(arrow_schema::Field::new("item", values.data_type().clone(), nullable))
}

/// All integers as 128 bits, 0 for NULL.
pub fn wide_integers(values: &ArrayRef) -> Result<Vec<i128>, FunctionError> {
    if let Some(unsigned) = values.as_primitive_opt::<UInt64Type>() {
        return Ok(unsigned.iter().map(|number| i128::from(number.unwrap_or(0))).collect());
    }
    let wide = cast(values, &ArrowType::Int64)?;
    Ok(wide.as_primitive::<Int64Type>().iter().map(|n| i128::from(n.unwrap_or(0))).collect())
}

/// Integers as the array of a type.
pub fn integer_array(
    name: &str,
    data_type: &DataType,
    values: impl Iterator<Item = i128>,
) -> Result<ArrayRef, FunctionError> {
    fn typed<T: ArrowPrimitiveType>(
        values: impl Iterator<Item = i128>,
        cut: impl Fn(i128) -> T::Native,
    ) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::from_iter_values(values.map(cut)))
    }
    Ok(match super::bare(data_type) {
        DataType::UInt8 => typed::<UInt8Type>(values, |v| v as u8),
        DataType::UInt16 => typed::<UInt16Type>(values, |v| v as u16),
        DataType::UInt32 | DataType::Ipv4 => typed::<UInt32Type>(values, |v| v as u32),
        DataType::UInt64 => typed::<UInt64Type>(values, |v| v as u64),
        DataType::Int8 => typed::<Int8Type>(values, |v| v as i8),
        DataType::Int16 => typed::<Int16Type>(values, |v| v as i16),
        DataType::Int32 => typed::<Int32Type>(values, |v| v as i32),
        DataType::Int64 => typed::<Int64Type>(values, |v| v as i64),
        DataType::Float32 => typed::<Float32Type>(values, |v| v as f32),
        DataType::Float64 => typed::<Float64Type>(values, |v| v as f64),
        other => return Err(wrong(name, format!("it cannot give {other}"))),
    })
}

/// The same with NULLs.
pub fn optional_integers(
    name: &str,
    data_type: &DataType,
    values: impl Iterator<Item = Option<i128>>,
) -> Result<ArrayRef, FunctionError> {
    let values: Vec<Option<i128>> = values.collect();
    let nulls: NullBuffer = values.iter().map(Option::is_some).collect::<Vec<bool>>().into();
    let array = integer_array(name, data_type, values.iter().map(|value| value.unwrap_or(0)))?;
    let data = array.to_data().into_builder().nulls(Some(nulls)).build();
    Ok(arrow_array::make_array(data.map_err(FunctionError::arrow("mark NULLs"))?))
}

/// True for arrays, tuples and maps, of which there are no NULLs.
pub fn is_nested(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..))
}

/// The sum of floats: 0 if there are none, where the library's is -0.
pub fn total(floats: impl Iterator<Item = f64>) -> f64 {
    floats.reduce(|sum, float| sum + float).unwrap_or(0.0)
}
