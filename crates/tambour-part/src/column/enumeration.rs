//! Enums: the number in the stream, the name in Arrow.

use super::coerce::{coerce, shown};
use super::fault::Fault;
use super::fixed::Fixed;
use super::string_write::{each_value, string_form};
use crate::types::DataType;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, UInt32Type};
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, StringArray};
use arrow_buffer::{ArrowNativeType, MutableBuffer, NullBuffer};
use arrow_schema::DataType as Arrow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    Some(match data_type {
        DataType::Enum8(values) if !values.is_empty() => {
            let numbers = values.iter().map(|(_, number)| i16::from(*number)).collect();
            Box::new(Enumeration::new(
                data_type,
                values.iter().map(|(name, _)| name.as_str()),
                numbers,
                1,
            ))
        }
        DataType::Enum16(values) if !values.is_empty() => {
            let numbers = values.iter().map(|(_, number)| *number).collect();
            Box::new(Enumeration::new(
                data_type,
                values.iter().map(|(name, _)| name.as_str()),
                numbers,
                2,
            ))
        }
        _ => return None,
    })
}

/// Marks a number that no name has.
const UNKNOWN: u32 = u32::MAX;

struct Enumeration {
    width: usize,
    key: Arrow,
    names: ArrayRef,
    /// Number of each name, in the order of the names.
    numbers: Vec<i16>,
    /// Index of the name of a number, at the number as unsigned.
    indexes: Vec<u32>,
    by_name: HashMap<Box<[u8]>, i16>,
}

impl fmt::Debug for Enumeration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enumeration")
            .field("width", &self.width)
            .field("names", &self.names.len())
            .finish_non_exhaustive()
    }
}

impl Enumeration {
    fn new<'a>(
        data_type: &DataType,
        names: impl Iterator<Item = &'a str> + Clone,
        numbers: Vec<i16>,
        width: usize,
    ) -> Self {
        let mut indexes = vec![UNKNOWN; 1 << (8 * width)];
        for (index, &number) in (0..).zip(&numbers) {
            indexes[slot(number, width)] = index;
        }
        let key = match data_type.arrow(crate::types::Strings::Utf8) {
            Arrow::Dictionary(key, _) => *key,
            _ => Arrow::Int32,
        };
        let by_name =
            names.clone().map(|name| name.as_bytes().into()).zip(numbers.iter().copied()).collect();
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
        Self { width, key, names, numbers, indexes, by_name }
    }

    fn keyed<K: ArrowDictionaryKeyType>(
        &self,
        indexes: &[u32],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let keys: Vec<K::Native> =
            indexes.iter().map(|&index| K::Native::usize_as(index as usize)).collect();
        let keys = PrimitiveArray::<K>::try_new(keys.into(), nulls)?;
        Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(&self.names))?))
    }

    fn number(&self, bytes: &[u8], row: usize) -> usize {
        if self.width == 1 {
            usize::from(bytes[row])
        } else {
            usize::from(u16::from_le_bytes([bytes[2 * row], bytes[2 * row + 1]]))
        }
    }

    /// The numbers of an array of names; `None` for a name that the type does not have, and under a NULL.
    fn numbers_of(&self, names: &ArrayRef) -> Result<Vec<Option<i16>>, Fault> {
        let names = coerce(names, &string_form(names.data_type()))?;
        let mut numbers = Vec::with_capacity(names.len());
        each_value(&names, |name| numbers.push(self.by_name.get(name).copied()))?;
        Ok(numbers)
    }

    fn put(&self, number: i16, target: &mut Vec<u8>) {
        target.extend_from_slice(&number.to_le_bytes()[..self.width]);
    }

    fn unknown(values: &dyn Array, row: usize) -> Fault {
        Fault::value(row, format!("{:?} is not a value of the Enum", shown(values, row)))
    }
}

/// Where the index of a number's name is kept.
fn slot(number: i16, width: usize) -> usize {
    let number = number.cast_unsigned();
    usize::from(if width == 1 { number & 0xff } else { number })
}

impl Fixed for Enumeration {
    fn width(&self) -> usize {
        self.width
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let bytes = bytes.as_slice();
        let mut indexes: Vec<u32> =
            (0..rows).map(|row| self.indexes[self.number(bytes, row)]).collect();
        if let Some(nulls) = &nulls {
            for (index, valid) in indexes.iter_mut().zip(nulls) {
                *index *= u32::from(valid);
            }
        }
        if indexes.iter().fold(0, |wrong, &index| wrong | u32::from(index == UNKNOWN)) != 0 {
            let row = indexes.iter().position(|&index| index == UNKNOWN).unwrap_or_default();
            let number = self.number(bytes, row);
            #[expect(clippy::cast_possible_truncation, reason = "as wide as the stream has it")]
            let number = if self.width == 1 { i16::from(number as i8) } else { number as i16 };
            return Err(Fault::value(row, format!("the Enum has no name for the number {number}")));
        }
        match self.key {
            Arrow::Int8 => self.keyed::<Int8Type>(&indexes, nulls),
            Arrow::Int16 => self.keyed::<Int16Type>(&indexes, nulls),
            _ => self.keyed::<Int32Type>(&indexes, nulls),
        }
    }

    /// Dictionaries are kept: each of their values is looked up once.
    fn wants(&self, given: &Arrow) -> Arrow {
        given.clone()
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let nulls = super::coerce::logical_nulls(values);
        let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let first = self.numbers[0];
        let Some(dictionary) = values.as_any_dictionary_opt() else {
            for (row, number) in self.numbers_of(values)?.into_iter().enumerate() {
                match number {
                    Some(number) => self.put(number, target),
                    None if valid(row) => return Err(Self::unknown(values, row)),
                    None => self.put(first, target),
                }
            }
            return Ok(());
        };
        let numbers = self.numbers_of(dictionary.values())?;
        let keys = arrow_cast::cast(dictionary.keys(), &Arrow::UInt32)?;
        for (row, &key) in keys.as_primitive::<UInt32Type>().values().iter().enumerate() {
            match numbers.get(key as usize).copied().flatten() {
                Some(number) if valid(row) => self.put(number, target),
                _ if !valid(row) => self.put(first, target),
                _ => return Err(Self::unknown(values, row)),
            }
        }
        Ok(())
    }

    fn default_bytes(&self) -> Option<Vec<u8>> {
        Some(self.numbers[0].to_le_bytes()[..self.width].to_vec())
    }
}
