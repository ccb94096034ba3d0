//! Writing LowCardinality: the keys of the whole part in one dictionary, a record of indexes per granule. Keys are numbered
//! as they come; those of values that are learned beforehand are sorted.

use super::bytes::put_varint;
use super::coerce::{logical_nulls, refuse_nulls};
use super::fault::Fault;
use super::fixed;
use super::intern::Interner;
use super::low_cardinality::{DICTIONARY, Keys, NEW_DICTIONARY};
use super::nullable::typed_nulls;
use super::path::Path;
use super::string_write::{each_value, string_form};
use super::tree::{Dictionary, Encode, Nulls};
use super::{DICTIONARY_VERSION, Sinks, StreamName};
use crate::types::{DataType, Strings};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

/// A dictionary of this many keys takes no further granule; the next one starts another dictionary.
const KEYS_MAX: usize = 1 << 16;
/// The same for the bytes of its keys.
const BYTES_MAX: usize = 64 << 20;
/// Marks a value of an Arrow dictionary that was not looked up yet.
const UNKNOWN: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Writer {
    dictionary: StreamName,
    indexes: StreamName,
    keys: Keys,
    nullable: bool,
    arrow: Arrow,
    order: Order,
    /// The keys without the one that stands for NULL.
    interner: Interner,
    /// No record refers to the dictionary under construction yet.
    fresh: bool,
    /// Keys of values that are still to be written are among the dictionary's: it is not closed before they are.
    learned: bool,
    known: Option<Known>,
}

/// An Arrow dictionary that granules share, and what its values are here.
#[derive(Debug)]
struct Known {
    values: ArrayRef,
    indexes: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Known {
    fn new(values: &ArrayRef) -> Result<Self, Fault> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(values.len()));
        each_value(values, |value| {
            bytes.extend_from_slice(value);
            ends.push(bytes.len());
        })?;
        Ok(Self { values: Arc::clone(values), indexes: vec![UNKNOWN; ends.len()], bytes, ends })
    }

    /// The same array, or one that shares its bytes.
    fn is_of(&self, values: &ArrayRef) -> bool {
        Arc::ptr_eq(&self.values, values) || self.values.to_data().ptr_eq(&values.to_data())
    }

    fn index(&mut self, key: usize, interner: &mut Interner) -> u32 {
        if self.indexes[key] == UNKNOWN {
            let start = if key == 0 { 0 } else { self.ends[key - 1] };
            self.indexes[key] = interner.insert(&self.bytes[start..self.ends[key]]);
        }
        self.indexes[key]
    }
}

/// How keys of a fixed width are sorted: as their values are, so that neighbouring values have neighbouring indexes.
#[derive(Clone, Copy, Debug)]
enum Order {
    Unsigned,
    Signed,
    Float,
}

impl Order {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32 => Self::Signed,
            DataType::Float32 | DataType::Float64 => Self::Float,
            _ => Self::Unsigned,
        }
    }

    /// Bytes that are in the order of the values; keys are little-endian.
    fn big_endian(self, key: &[u8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = key.iter().rev().copied().collect();
        let is_negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        match self {
            Self::Float if is_negative => bytes.iter_mut().for_each(|byte| *byte = !*byte),
            Self::Signed | Self::Float => bytes[0] ^= 0x80,
            Self::Unsigned => {}
        }
        bytes
    }
}

impl Writer {
    pub(super) fn new(path: &Path, inner: &DataType) -> Result<Self, Fault> {
        let mut writer = Self {
            dictionary: path.helper(".dict"),
            indexes: path.values(),
            keys: Keys::new(inner)?,
            nullable: inner.is_nullable(),
            arrow: inner.arrow(Strings::Binary),
            order: Order::of(inner.unwrapped()),
            interner: Interner::new(),
            fresh: true,
            learned: false,
            known: None,
        };
        writer.interner.insert(&writer.default_key());
        Ok(writer)
    }

    fn default_key(&self) -> Vec<u8> {
        match &self.keys {
            Keys::Strings => Vec::new(),
            Keys::Fixed(fixed) => vec![0; fixed.width()],
        }
    }

    /// The number of each value's key among those of the interner; any number for a NULL.
    fn look_up(&mut self, values: &ArrayRef) -> Result<Vec<u32>, Fault> {
        let mut found = Vec::with_capacity(values.len());
        match &self.keys {
            Keys::Fixed(fixed) => {
                let mut bytes = Vec::new();
                fixed::write(fixed.as_ref(), values, &mut bytes)?;
                found
                    .extend(bytes.chunks_exact(fixed.width()).map(|key| self.interner.insert(key)));
            }
            Keys::Strings => match values.as_any_dictionary_opt() {
                Some(dictionary)
                    if string_form(dictionary.values().data_type())
                        == *dictionary.values().data_type() =>
                {
                    let known = match self.known.take() {
                        Some(known) if known.is_of(dictionary.values()) => known,
                        _ => Known::new(dictionary.values())?,
                    };
                    let known = self.known.insert(known);
                    let keys = arrow_cast::cast(dictionary.keys(), &Arrow::UInt32)?;
                    let keys = keys.as_primitive::<UInt32Type>();
                    for (row, &key) in keys.values().iter().enumerate() {
                        let valid = keys.is_valid(row);
                        found.push(if valid {
                            known.index(key as usize, &mut self.interner)
                        } else {
                            0
                        });
                    }
                }
                Some(_) => {
                    let unpacked = super::coerce::coerce(values, &string_form(values.data_type()))?;
                    each_value(&unpacked, |value| found.push(self.interner.insert(value)))?;
                }
                None => each_value(values, |value| found.push(self.interner.insert(value)))?,
            },
        }
        Ok(found)
    }

    /// Values as an array that can be looked up, without NULLs where the type has none.
    fn checked(&self, values: &ArrayRef) -> Result<ArrayRef, Fault> {
        let values = typed_nulls(values, &self.arrow);
        if !self.nullable {
            refuse_nulls(&values, Nulls::Refused)?;
        }
        Ok(values)
    }

    fn is_full(&self) -> bool {
        self.interner.len() >= KEYS_MAX || self.interner.bytes() >= BYTES_MAX
    }

    /// Appends the dictionary, if a record refers to it, and starts another.
    fn close(&mut self, sinks: &mut dyn Sinks) {
        if std::mem::replace(&mut self.fresh, true) {
            return;
        }
        let target = sinks.stream(&self.dictionary);
        let count = self.interner.len() as u64 + u64::from(self.nullable);
        target.extend_from_slice(&count.to_le_bytes());
        let null = self.nullable.then(|| self.default_key());
        for key in null.as_deref().into_iter().chain(self.interner.keys()) {
            if matches!(self.keys, Keys::Strings) {
                put_varint(target, key.len() as u64);
            }
            target.extend_from_slice(key);
        }
        self.interner.clear();
        let default = self.default_key();
        self.interner.insert(&default);
        self.known = None;
    }
}

impl Encode for Writer {
    fn prefix(&mut self, sinks: &mut dyn Sinks) {
        sinks.stream(&self.dictionary).extend_from_slice(&DICTIONARY_VERSION.to_le_bytes());
    }

    fn write(
        &mut self,
        values: &ArrayRef,
        _nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        if values.is_empty() {
            return Ok(());
        }
        let values = self.checked(values)?;
        let mut indexes = self.look_up(&values)?;
        if self.nullable {
            for index in &mut indexes {
                *index += 1;
            }
            if let Some(nulls) = logical_nulls(&values) {
                indexes
                    .iter_mut()
                    .zip(&nulls)
                    .for_each(|(index, valid)| *index *= u32::from(valid));
            }
        }
        let target = sinks.stream(&self.indexes);
        let new = if std::mem::replace(&mut self.fresh, false) { NEW_DICTIONARY } else { 0 };
        put_record(target, &indexes, new);
        // Only between granules: the mark of the next one in the stream of dictionaries is taken after this one.
        if !self.learned && self.is_full() {
            self.close(sinks);
        }
        Ok(())
    }

    fn finish(&mut self, sinks: &mut dyn Sinks) {
        self.close(sinks);
    }

    fn dictionary(&mut self) -> Option<&mut dyn Dictionary> {
        Some(self)
    }
}

impl Dictionary for Writer {
    fn is_fresh(&self) -> bool {
        self.fresh
    }

    fn learn(&mut self, values: &ArrayRef) -> Result<bool, Fault> {
        let values = self.checked(values)?;
        self.look_up(&values)?;
        self.learned = true;
        Ok(self.is_full())
    }

    fn sort(&mut self) {
        assert!(self.fresh, "records refer to keys by their number");
        let mut keys: Vec<Box<[u8]>> = self.interner.keys().skip(1).map(Into::into).collect();
        match &self.keys {
            Keys::Strings => keys.sort_unstable(),
            Keys::Fixed(_) => {
                let order = self.order;
                keys.sort_by_cached_key(|key| order.big_endian(key));
            }
        }
        self.interner.clear();
        let default = self.default_key();
        self.interner.insert(&default);
        for key in &keys {
            self.interner.insert(key);
        }
        self.known = None;
    }

    fn settle(&mut self, sinks: &mut dyn Sinks) {
        self.learned = false;
        if self.is_full() {
            self.close(sinks);
        }
    }
}

/// Appends a record; each has indexes as wide as it needs.
#[expect(clippy::cast_possible_truncation, reason = "the width is chosen by the largest index")]
fn put_record(target: &mut Vec<u8>, indexes: &[u32], new: u64) {
    let width_code = match indexes.iter().fold(0, |all, index| all | index) {
        0..0x100 => 0,
        0x100..0x1_0000 => 1,
        _ => 2,
    };
    target.extend_from_slice(&(DICTIONARY | new | width_code).to_le_bytes());
    target.extend_from_slice(&(indexes.len() as u64).to_le_bytes());
    target.reserve(indexes.len() << width_code);
    match width_code {
        0 => target.extend(indexes.iter().map(|&index| index as u8)),
        1 => {
            for &index in indexes {
                target.extend_from_slice(&(index as u16).to_le_bytes());
            }
        }
        _ => {
            for index in indexes {
                target.extend_from_slice(&index.to_le_bytes());
            }
        }
    }
}
