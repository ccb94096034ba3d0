//! Arrays of several granules as one.

use super::fault::{Fault, Way};
use crate::PartError;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

/// The most bytes that the strings of an array with offsets can have.
const BYTES_MAX: usize = i32::MAX as usize;

/// Arrays of one column, at least one, as one array. Those that share their dictionary go on sharing it. Unlike Arrow's
/// own function it does not panic when the dictionaries of the arrays are too large together: that is an error of kind
/// Limit.
pub fn concat(column: &str, arrays: &[ArrayRef]) -> Result<ArrayRef, PartError> {
    join(arrays).map_err(|fault| fault.into_error(column, 0, Way::Read))
}

/// At least one array, all of one type, as one.
pub(super) fn join(arrays: &[ArrayRef]) -> Result<ArrayRef, Fault> {
    if let [one] = arrays {
        return Ok(Arc::clone(one));
    }
    if let Some(joined) = join_keys(arrays)? {
        return Ok(joined);
    }
    let bytes = arrays.iter().map(|array| bytes_with_offsets(array)).fold(0, usize::saturating_add);
    if bytes > BYTES_MAX {
        return Err(Fault::limit("bytes of dictionaries read at once", BYTES_MAX, bytes));
    }
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    Ok(arrow_select::concat::concat(&arrays)?)
}

/// Arrays with one dictionary: the very same stays, so that whoever comes later sees that it is.
fn join_keys(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>, Fault> {
    let dictionaries = arrays.iter().map(|array| array.as_dictionary_opt::<Int32Type>());
    let Some(dictionaries) = dictionaries.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let Some(values) = dictionaries.first().map(|first| first.values()) else { return Ok(None) };
    if !dictionaries.iter().all(|dictionary| Arc::ptr_eq(dictionary.values(), values)) {
        return Ok(None);
    }
    let keys: Vec<&dyn Array> =
        dictionaries.iter().map(|dictionary| dictionary.keys() as _).collect();
    let keys = arrow_select::concat::concat(&keys)?;
    let keys = keys.as_primitive::<Int32Type>().clone();
    Ok(Some(Arc::new(DictionaryArray::try_new(keys, Arc::clone(values))?)))
}

/// Bytes of all strings in it that are kept with offsets of 32 bits: those of dictionaries.
fn bytes_with_offsets(array: &dyn Array) -> usize {
    match array.data_type() {
        Arrow::Utf8 => array.as_string::<i32>().value_data().len(),
        Arrow::Binary => array.as_binary::<i32>().value_data().len(),
        Arrow::Dictionary(..) => array
            .as_any_dictionary_opt()
            .map_or(0, |dictionary| bytes_with_offsets(dictionary.values())),
        Arrow::List(_) => bytes_with_offsets(array.as_list::<i32>().values()),
        Arrow::Map(..) => bytes_with_offsets(array.as_map().entries()),
        Arrow::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(|column| bytes_with_offsets(column)).fold(0, usize::saturating_add)
        }
        _ => 0,
    }
}
