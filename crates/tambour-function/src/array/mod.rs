//! Functions of arrays. Arrays are cut, ordered and compared here; lambdas are evaluated above, where expressions are known,
//! and hand their results over as one more array.

pub(super) mod by_keys;
pub(super) mod compare;
pub(super) mod cut;
pub(super) mod make;
pub(super) mod number;
pub(super) mod set;

use super::access::{Lists, list_array};
use super::{Call, take};
use crate::FunctionError;
use arrow_array::{Array, ArrayRef, UInt32Array};
use tambour_part::types::DataType;

/// Arrays made of items of the arrays of an argument, by their places among all items.
#[derive(Debug)]
pub struct Picks {
    indices: Vec<Option<u32>>,
    lengths: Vec<usize>,
}

impl Picks {
    /// No rows yet.
    pub fn new(call: &Call) -> Self {
        Self { indices: Vec::new(), lengths: Vec::with_capacity(call.rows) }
    }
    /// The next row: the items at these places; `None` is a NULL.
    pub fn row(&mut self, places: impl IntoIterator<Item = usize>) {
        let before = self.indices.len();
        self.indices.extend(places.into_iter().map(|place| Some(place as u32)));
        self.lengths.push(self.indices.len() - before);
    }
    /// The arrays, with items of this type. (Items of a `LowCardinality` come out plain.)
    pub fn arrays(self, lists: &Lists, item: &DataType) -> Result<ArrayRef, FunctionError> {
        self.arrays_of(&lists.items.values, item)
    }
    /// The same from these items.
    pub fn arrays_of(self, values: &ArrayRef, item: &DataType) -> Result<ArrayRef, FunctionError> {
        let values = take(values, &UInt32Array::from(self.indices))?;
        list_array(self.lengths, values, item)
    }
}

/// One item per row; the default of the type where there is none.
pub fn one_each(values: &ArrayRef, places: Vec<Option<usize>>) -> Result<ArrayRef, FunctionError> {
    let default = super::element::default_of(values)?;
    let places: Vec<(usize, usize)> =
        places.into_iter().map(|place| place.map_or((1, 0), |place| (0, place))).collect();
    arrow_select::interleave::interleave(&[values.as_ref(), default.as_ref()], &places)
        .map_err(FunctionError::arrow("take items"))
}

/// One item per row; NULL where there is none.
pub fn one_each_or_null(
    values: &ArrayRef,
    places: Vec<Option<usize>>,
) -> Result<ArrayRef, FunctionError> {
    let places: Vec<Option<u32>> =
        places.into_iter().map(|place| place.map(|place| place as u32)).collect();
    take(values, &UInt32Array::from(places))
}

/// One item per row; where there is none the default of the type, which is NULL for one that may be.
fn one_of_each(
    lists: &super::access::Lists,
    places: Vec<Option<usize>>,
) -> Result<ArrayRef, FunctionError> {
    if super::is_nullable(&lists.item_type) {
        return one_each_or_null(&lists.items.values, places);
    }
    one_each(&lists.items.values, places)
}

/// The item type of arrays that are made of those of an argument.
pub fn plain_item(item: &DataType) -> DataType {
    match item {
        DataType::LowCardinality(inner) => inner.as_ref().clone(),
        other => other.clone(),
    }
}

/// True if a row of an array is NULL.
pub fn null_at(values: &ArrayRef, row: usize) -> bool {
    row < values.len() && values.is_null(row)
}

/// Values in a form for a table of hashes, in which 0 and -0 are two values.
pub fn key_items(operand: &super::Operand) -> Result<compare::Comparable, FunctionError> {
    compare::Comparable::one_of_keys(operand)
}

/// Values of one type in a form that can be compared.
pub fn compare_items(
    operands: &[&super::Operand],
) -> Result<Vec<compare::Comparable>, FunctionError> {
    compare::Comparable::of(operands)
}
