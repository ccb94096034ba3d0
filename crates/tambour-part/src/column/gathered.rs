//! Keys of many dictionaries, gathered in one.
//!
//! A column with more values than a dictionary may have begins a new one again and again, and brings the values that it has no room for
//! along with the rows. Each key is kept once here, so that all granules hand out one dictionary, and those above look at a key
//! once instead of once per granule.

use super::Source;
use super::bytes::{append_bytes, read_varint};
use super::fault::Fault;
use super::intern::Interner;
use super::string::{BYTES_MAX, length_of, next_string};
use crate::types::Strings;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use std::sync::Arc;

/// Keys up to which they are gathered: a dictionary that grows with every granule is built again every time.
const KEYS_MAX: usize = 1 << 16;
/// Bytes of keys, the same.
const KEY_BYTES_MAX: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct Gathered {
    strings: Strings,
    keys: Interner,
    is_full: bool,
    built: Option<Built>,
}

/// The dictionary that was handed out last.
#[derive(Debug)]
struct Built {
    count: usize,
    array: ArrayRef,
}

impl Gathered {
    pub(super) fn new(strings: Strings) -> Self {
        Self { strings, keys: Interner::new(), is_full: false, built: None }
    }

    /// True if `count` more keys may be added. After the first refusal it refuses all.
    pub(super) fn takes(&mut self, count: usize) -> bool {
        self.is_full |=
            self.keys.len().saturating_add(count) > KEYS_MAX || self.keys.bytes() > KEY_BYTES_MAX;
        !self.is_full
    }

    /// Reads keys for a record whose first row is `row`, and says the place of each.
    pub(super) fn read(
        &mut self,
        source: &mut dyn Source,
        count: usize,
        row: usize,
    ) -> Result<Vec<i32>, Fault> {
        let mut places = Vec::with_capacity(count);
        let mut straddling = Vec::new();
        while places.len() < count {
            let mut used = 0;
            if let Some((block, start)) = source.block()? {
                let bytes = &block.as_slice()[start..];
                while places.len() < count
                    && let Some(key) = next_string(bytes, &mut used)
                {
                    places.push(self.place(key, row)?);
                }
            }
            source.consume(used);
            if places.len() < count {
                let length = length_of(read_varint(source)?)?;
                straddling.clear();
                append_bytes(source, length, &mut straddling)?;
                places.push(self.place(&straddling, row)?);
            }
        }
        Ok(places)
    }

    #[expect(clippy::cast_possible_wrap, reason = "at most KEYS_MAX")]
    fn place(&mut self, key: &[u8], row: usize) -> Result<i32, Fault> {
        let known = self.keys.len();
        let place = self.keys.insert(key);
        let is_new = self.keys.len() > known;
        if is_new && self.strings == Strings::Utf8 && simdutf8::basic::from_utf8(key).is_err() {
            return Err(Fault::Utf8 { row });
        }
        Ok(place as i32)
    }

    /// The keys so far; the same array as long as they are the same.
    pub(super) fn array(&mut self) -> Result<ArrayRef, Fault> {
        let count = self.keys.len();
        if let Some(built) = self.built.as_ref().filter(|built| built.count == count) {
            return Ok(Arc::clone(&built.array));
        }
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        let mut bytes = Vec::with_capacity(self.keys.bytes());
        for key in self.keys.keys() {
            bytes.extend_from_slice(key);
            match i32::try_from(bytes.len()) {
                Ok(offset) => offsets.push(offset),
                Err(_) => {
                    return Err(Fault::limit("bytes of a dictionary", BYTES_MAX, bytes.len()));
                }
            }
        }
        let (offsets, bytes) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes));
        let array: ArrayRef = match self.strings {
            Strings::Binary => Arc::new(BinaryArray::try_new(offsets, bytes, None)?),
            Strings::Utf8 => Arc::new(StringArray::try_new(offsets, bytes, None)?),
        };
        self.built = Some(Built { count, array: Arc::clone(&array) });
        Ok(array)
    }

    /// The keys at some places, for those who go on without what is gathered.
    pub(super) fn keys_at(&mut self, places: &[i32]) -> Result<ArrayRef, Fault> {
        let places = Int32Array::from(places.to_vec());
        Ok(arrow_select::take::take(&self.array()?, &places, None)?)
    }
}
