//! Key expressions over rows, in a form that compares fast: a 64- or 128-bit number per row where all key columns fit
//! into one, else Arrow's row format.
//!
//! The numbers and rows of one [`Key`] compare with each other, whatever batches they come from.

use crate::TableError;
use crate::schema::expression::{Expression, sort_form};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_cast::cast;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{SchemaRef, SortOptions, TimeUnit};
use std::cmp::Ordering;
use tambour_part::types::{Column, DataType};

/// Ascending, NULL last: ClickHouse's order.
const ORDER: SortOptions = SortOptions { descending: false, nulls_first: false };

/// A list of expressions whose values order or tell apart rows.
#[derive(Debug)]
pub(super) struct Key {
    expressions: Vec<Expression>,
    types: Vec<DataType>,
    /// Arrow types of the sort forms.
    arrow: Vec<arrow_schema::DataType>,
    form: Form,
}

/// How the values of a row are put together.
#[derive(Debug)]
enum Form {
    /// No expressions: all rows are equal.
    None,
    /// One number of this many bits, made of fields, the first one highest.
    Packed { fields: Vec<Field>, bits: u32 },
    /// Arrow's row format.
    Rows(RowConverter),
}

/// One expression's part of a packed number.
#[derive(Clone, Debug)]
struct Field {
    bits: u32,
    /// One more bit in front, set for NULL.
    is_nullable: bool,
}

/// Keys of many rows.
#[derive(Debug)]
pub(super) enum Keys {
    /// This many equal ones.
    None(usize),
    /// Packed into 64 bits.
    Small(Vec<u64>),
    /// Packed into 128 bits.
    Large(Vec<u128>),
    /// In Arrow's row format.
    Rows(Rows),
}

/// The key of one row, on its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum OwnedKey {
    None,
    Small(u64),
    Large(u128),
    Row(Box<[u8]>),
}

impl Key {
    /// Prepares expressions over these columns, for batches of this Arrow schema.
    pub(super) fn new(
        expressions: &[Expression],
        columns: &[Column],
        schema: &SchemaRef,
    ) -> Result<Self, TableError> {
        let types = expressions
            .iter()
            .map(|expression| expression.data_type(columns))
            .collect::<Result<Vec<_>, _>>()?;
        let expressions = expressions.to_vec();
        let mut key = Self { expressions, types, arrow: Vec::new(), form: Form::None };
        let example = key.sort_forms(&RecordBatch::new_empty(SchemaRef::clone(schema)))?;
        key.arrow = example.iter().map(|array| array.data_type().clone()).collect();
        key.form = form(&example, &key.types)?;
        Ok(key)
    }

    /// True if there are no expressions.
    pub(super) fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    /// Names of the columns that the expressions read.
    pub(super) fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.expressions.iter().flat_map(Expression::columns) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Values of the expressions, in their own types.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, TableError> {
        self.expressions.iter().map(|expression| expression.evaluate(batch)).collect()
    }

    /// Types of the expressions.
    pub(super) fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Room for keys, none in it yet.
    pub(super) fn keys(&self, rows: usize) -> Keys {
        match &self.form {
            Form::None => Keys::None(0),
            Form::Packed { bits, .. } if *bits <= 64 => Keys::Small(Vec::with_capacity(rows)),
            Form::Packed { .. } => Keys::Large(Vec::with_capacity(rows)),
            Form::Rows(converter) => Keys::Rows(converter.empty_rows(rows, 0)),
        }
    }

    /// Keys of the rows of a batch.
    pub(super) fn evaluate(&self, batch: &RecordBatch) -> Result<Keys, TableError> {
        let mut keys = self.keys(batch.num_rows());
        self.append(&mut keys, batch)?;
        Ok(keys)
    }

    /// Keys of values of the expressions that were read from somewhere else than rows.
    pub(super) fn of_values(&self, values: &[ArrayRef]) -> Result<Keys, TableError> {
        let rows = values.first().map_or(0, Array::len);
        let mut keys = self.keys(rows);
        let mut forms = Vec::with_capacity(values.len());
        for ((array, data_type), arrow) in values.iter().zip(&self.types).zip(&self.arrow) {
            let form = sort_form(array, data_type)?;
            forms.push(if form.data_type() == arrow {
                form
            } else {
                cast(&form, arrow).map_err(TableError::arrow("comparing key values"))?
            });
        }
        self.append_forms(&mut keys, &forms, rows)?;
        Ok(keys)
    }

    /// Appends the keys of the rows of a batch to keys made by [`Key::keys`].
    pub(super) fn append(&self, keys: &mut Keys, batch: &RecordBatch) -> Result<(), TableError> {
        self.append_forms(keys, &self.sort_forms(batch)?, batch.num_rows())
    }

    fn append_forms(
        &self,
        keys: &mut Keys,
        forms: &[ArrayRef],
        rows: usize,
    ) -> Result<(), TableError> {
        match (&self.form, keys) {
            (Form::None, Keys::None(target)) => *target += rows,
            (Form::Packed { fields, .. }, Keys::Small(target)) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "the fields have 64 bits or less"
                )]
                target.extend(pack(forms, fields, rows)?.iter().map(|word| *word as u64));
            }
            (Form::Packed { fields, .. }, Keys::Large(target)) => {
                target.extend(pack(forms, fields, rows)?);
            }
            (Form::Rows(converter), Keys::Rows(target)) => converter
                .append(target, forms)
                .map_err(TableError::arrow("making rows of key values"))?,
            _ => unreachable!("keys of another key"),
        }
        Ok(())
    }

    fn sort_forms(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, TableError> {
        let values = self.expressions.iter().zip(&self.types);
        values
            .map(|(expression, data_type)| sort_form(&expression.evaluate(batch)?, data_type))
            .collect()
    }
}

impl Keys {
    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::None(rows) => *rows,
            Self::Small(keys) => keys.len(),
            Self::Large(keys) => keys.len(),
            Self::Rows(keys) => keys.num_rows(),
        }
    }

    /// Compares a key with one of other keys of the same [`Key`].
    pub(super) fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        match (self, other) {
            (Self::None(_), Self::None(_)) => Ordering::Equal,
            (Self::Small(left), Self::Small(right)) => left[row].cmp(&right[other_row]),
            (Self::Large(left), Self::Large(right)) => left[row].cmp(&right[other_row]),
            (Self::Rows(left), Self::Rows(right)) => left.row(row).cmp(&right.row(other_row)),
            _ => unreachable!("keys of another key"),
        }
    }

    /// A key as a number in their order, if they are numbers.
    pub(super) fn number(&self, row: usize) -> Option<u128> {
        match self {
            Self::None(_) => Some(0),
            Self::Small(keys) => Some(u128::from(keys[row])),
            Self::Large(keys) => Some(keys[row]),
            Self::Rows(_) => None,
        }
    }

    /// True if two of them are the same.
    pub(super) fn are_equal(&self, row: usize, other: usize) -> bool {
        match self {
            Self::None(_) => true,
            Self::Small(keys) => keys[row] == keys[other],
            Self::Large(keys) => keys[row] == keys[other],
            Self::Rows(keys) => keys.row(row) == keys.row(other),
        }
    }

    /// Compares a key with one that stands on its own.
    pub(super) fn compare_owned(&self, row: usize, other: &OwnedKey) -> Ordering {
        match (self, other) {
            (Self::None(_), OwnedKey::None) => Ordering::Equal,
            (Self::Small(left), OwnedKey::Small(right)) => left[row].cmp(right),
            (Self::Large(left), OwnedKey::Large(right)) => left[row].cmp(right),
            (Self::Rows(left), OwnedKey::Row(right)) => left.row(row).data().cmp(right),
            _ => unreachable!("keys of another key"),
        }
    }

    /// A copy of one key.
    pub(super) fn owned(&self, row: usize) -> OwnedKey {
        match self {
            Self::None(_) => OwnedKey::None,
            Self::Small(keys) => OwnedKey::Small(keys[row]),
            Self::Large(keys) => OwnedKey::Large(keys[row]),
            Self::Rows(keys) => OwnedKey::Row(keys.row(row).data().into()),
        }
    }

    /// The bytes of one key, in `small` if they are not there already; `None` if there are no expressions.
    pub(super) fn bytes<'a>(&'a self, row: usize, small: &'a mut [u8; 16]) -> Option<&'a [u8]> {
        match self {
            Self::None(_) => None,
            Self::Small(keys) => {
                *small = u128::from(keys[row]).to_be_bytes();
                Some(small)
            }
            Self::Large(keys) => {
                *small = keys[row].to_be_bytes();
                Some(small)
            }
            Self::Rows(keys) => Some(keys.row(row).data()),
        }
    }

    /// The first row that is smaller than the one before it.
    pub(super) fn first_unsorted(&self) -> Option<usize> {
        let at = match self {
            Self::None(_) => None,
            Self::Small(keys) => keys.windows(2).position(|pair| pair[0] > pair[1]),
            Self::Large(keys) => keys.windows(2).position(|pair| pair[0] > pair[1]),
            Self::Rows(keys) => {
                (1..keys.num_rows()).position(|row| keys.row(row - 1) > keys.row(row))
            }
        };
        at.map(|before| before + 1)
    }

    /// Rows of the smallest and of the largest key, the first of equal ones; `None` if there are no rows.
    pub(super) fn extremes(&self) -> Option<(usize, usize)> {
        let smaller = |left: &usize, right: &usize| self.compare(*left, self, *right);
        let smallest = (0..self.len()).min_by(smaller)?;
        let largest = (0..self.len()).rev().max_by(smaller)?;
        Some((smallest, largest))
    }
}

/// Chooses a form by the Arrow types of the sort forms.
fn form(example: &[ArrayRef], types: &[DataType]) -> Result<Form, TableError> {
    if example.is_empty() {
        return Ok(Form::None);
    }
    let fields: Option<Vec<Field>> = example
        .iter()
        .zip(types)
        .map(|(array, data_type)| {
            let bits = field_bits(array.data_type())?;
            Some(Field { bits, is_nullable: is_nullable(data_type) })
        })
        .collect();
    if let Some(fields) = fields {
        let bits = fields.iter().map(|field| field.bits + u32::from(field.is_nullable)).sum();
        if bits <= 128 {
            return Ok(Form::Packed { fields, bits });
        }
    }
    let fields = example
        .iter()
        .map(|array| SortField::new_with_options(array.data_type().clone(), ORDER))
        .collect();
    RowConverter::new(fields).map(Form::Rows).map_err(TableError::arrow("preparing key columns"))
}

fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => is_nullable(inner),
        _ => false,
    }
}

/// Calls a macro with the primitive type that belongs to an Arrow type and the way its values become ordered numbers.
macro_rules! with_primitive {
    ($data_type:expr, $call:ident, $otherwise:expr) => {{
        use arrow_schema::DataType as Arrow;
        match $data_type {
            Arrow::Boolean => $call!(boolean),
            Arrow::Int8 => $call!(Int8Type, |v: i8| u128::from(v.cast_unsigned() ^ 0x80), 8),
            Arrow::Int16 => $call!(Int16Type, |v: i16| u128::from(v.cast_unsigned() ^ 0x8000), 16),
            Arrow::Int32 => $call!(Int32Type, signed_32, 32),
            Arrow::Date32 => $call!(Date32Type, signed_32, 32),
            Arrow::Decimal32(..) => $call!(Decimal32Type, signed_32, 32),
            Arrow::Int64 => $call!(Int64Type, signed_64, 64),
            Arrow::Date64 => $call!(Date64Type, signed_64, 64),
            Arrow::Decimal64(..) => $call!(Decimal64Type, signed_64, 64),
            Arrow::Timestamp(TimeUnit::Second, _) => $call!(TimestampSecondType, signed_64, 64),
            Arrow::Timestamp(TimeUnit::Millisecond, _) => {
                $call!(TimestampMillisecondType, signed_64, 64)
            }
            Arrow::Timestamp(TimeUnit::Microsecond, _) => {
                $call!(TimestampMicrosecondType, signed_64, 64)
            }
            Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
                $call!(TimestampNanosecondType, signed_64, 64)
            }
            Arrow::Decimal128(..) => {
                $call!(Decimal128Type, |v: i128| v.cast_unsigned() ^ (1 << 127), 128)
            }
            Arrow::UInt8 => $call!(UInt8Type, u128::from, 8),
            Arrow::UInt16 => $call!(UInt16Type, u128::from, 16),
            Arrow::UInt32 => $call!(UInt32Type, u128::from, 32),
            Arrow::UInt64 => $call!(UInt64Type, u128::from, 64),
            Arrow::Float32 => $call!(Float32Type, float_32, 32),
            Arrow::Float64 => $call!(Float64Type, float_64, 64),
            _ => $otherwise,
        }
    }};
}

fn signed_32(value: i32) -> u128 {
    u128::from(value.cast_unsigned() ^ (1 << 31))
}

fn signed_64(value: i64) -> u128 {
    u128::from(value.cast_unsigned() ^ (1 << 63))
}

/// Arrow's total order of floats.
fn float_32(value: f32) -> u128 {
    let bits = value.to_bits();
    u128::from(if bits >> 31 == 1 { !bits } else { bits | (1 << 31) })
}

/// Arrow's total order of floats.
fn float_64(value: f64) -> u128 {
    let bits = value.to_bits();
    u128::from(if bits >> 63 == 1 { !bits } else { bits | (1 << 63) })
}

/// Bits that values of an Arrow type need, if they can be packed.
fn field_bits(data_type: &arrow_schema::DataType) -> Option<u32> {
    macro_rules! bits {
        (boolean) => {
            Some(1)
        };
        ($type:ty, $order:expr, $bits:expr) => {
            Some($bits)
        };
    }
    with_primitive!(data_type, bits, None)
}

/// Packs the fields of each row, the first one highest.
fn pack(arrays: &[ArrayRef], fields: &[Field], rows: usize) -> Result<Vec<u128>, TableError> {
    let mut words = vec![0_u128; rows];
    for (array, field) in arrays.iter().zip(fields) {
        if array.null_count() > 0 && !field.is_nullable {
            let (expected, got) = ("no NULL".to_owned(), "NULL".to_owned());
            return Err(TableError::Rows { field: "a key that is not Nullable", expected, got });
        }
        macro_rules! add {
            (boolean) => {{
                let values = array.as_boolean();
                let value = |row: usize| u128::from(values.value(row));
                add_field(&mut words, array.as_ref(), field, value);
            }};
            ($type:ty, $order:expr, $bits:expr) => {{
                let values = array.as_primitive::<$type>().values();
                let order: fn(<$type as ArrowPrimitiveType>::Native) -> u128 = $order;
                add_field(&mut words, array.as_ref(), field, |row| order(values[row]));
            }};
        }
        with_primitive!(array.data_type(), add, unreachable!("only primitives are packed"));
    }
    Ok(words)
}

fn add_field(words: &mut [u128], array: &dyn Array, field: &Field, value: impl Fn(usize) -> u128) {
    let shift = |word: &mut u128, bits: u32| *word = word.checked_shl(bits).unwrap_or(0);
    if !field.is_nullable {
        for (row, word) in words.iter_mut().enumerate() {
            shift(word, field.bits);
            *word |= value(row);
        }
        return;
    }
    for (row, word) in words.iter_mut().enumerate() {
        shift(word, field.bits + 1);
        *word |= if array.is_null(row) { 1 << field.bits } else { value(row) };
    }
}
