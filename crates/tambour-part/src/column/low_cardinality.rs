//! Reading LowCardinality: indexes into a dictionary that many granules share, or into keys that a record brings along.

use super::bytes::{read_u64, read_values};
use super::fault::Fault;
use super::fixed::{self, Fixed};
use super::path::Path;
use super::string::read_run;
use super::tree::{Context, Decode};
use super::{DICTIONARY_VERSION, Source, Sources, StreamName};
use crate::types::{DataType, Strings};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int32Array, StringArray, new_empty_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

/// The indexes refer to the dictionary.
pub(super) const DICTIONARY: u64 = 0x100;
/// The record brings keys along.
pub(super) const ADDITIONAL_KEYS: u64 = 0x200;
/// The dictionary is a new one, the next of its stream.
pub(super) const NEW_DICTIONARY: u64 = 0x400;
/// Bits with the width of the indexes; above 3 there is none.
const WIDTH: u64 = 0xff;
/// The most keys that a dictionary can have in Arrow.
const KEYS_MAX: usize = i32::MAX as usize;

/// How the keys of a type lie in a stream.
#[derive(Debug)]
pub(super) enum Keys {
    Strings,
    Fixed(Box<dyn Fixed>),
}

impl Keys {
    /// For the type inside `LowCardinality`, or inside `Nullable` in it.
    pub(super) fn new(inner: &DataType) -> Result<Self, Fault> {
        match inner.unwrapped() {
            DataType::String => Ok(Self::Strings),
            other => match fixed::find(other) {
                Some(fixed) => Ok(Self::Fixed(fixed)),
                None => {
                    Err(Fault::Other { reason: format!("{other} cannot be inside LowCardinality") })
                }
            },
        }
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    prefix: StreamName,
    dictionary: StreamName,
    indexes: StreamName,
    keys: Keys,
    arrow: Arrow,
    strings: Strings,
    nullable: bool,
    compact: bool,
    kept: Kept,
}

/// The dictionary in use.
#[derive(Debug, Default)]
struct Kept {
    keys: Option<ArrayRef>,
    mark: Option<(u64, u64)>,
    /// There was a jump, and no dictionary was asked for since.
    stale: bool,
    /// The source stands before this dictionary, since it was kept over a jump.
    unread: bool,
}

impl Reader {
    pub(super) fn new(path: &Path, inner: &DataType, context: &Context<'_>) -> Result<Self, Fault> {
        let data_type = DataType::LowCardinality(Box::new(inner.clone()));
        Ok(Self {
            prefix: path.helper(".dict_prefix"),
            dictionary: path.helper(".dict"),
            indexes: path.values(),
            keys: Keys::new(inner)?,
            arrow: data_type.arrow(context.strings),
            strings: context.strings,
            nullable: inner.is_nullable(),
            compact: context.compact(),
            kept: Kept { stale: true, ..Kept::default() },
        })
    }

    /// A number of keys and the keys.
    fn read_keys(&self, source: &mut dyn Source, row: usize) -> Result<ArrayRef, Fault> {
        let claimed = read_u64(source)?;
        let count = usize::try_from(claimed).ok().filter(|&count| count <= KEYS_MAX);
        let Some(count) = count else {
            return Err(Fault::Limit {
                field: "keys of a dictionary",
                limit: KEYS_MAX as u64,
                got: claimed,
            });
        };
        match &self.keys {
            Keys::Fixed(fixed) => fixed::read(fixed.as_ref(), source, count, None),
            Keys::Strings => {
                let (offsets, bytes) = read_run(source, count)?;
                let (offsets, bytes) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes));
                if self.strings == Strings::Binary {
                    return Ok(Arc::new(BinaryArray::try_new(offsets, bytes, None)?));
                }
                // Arrow looks at all bytes, and that no key starts within a character.
                match StringArray::try_new(offsets, bytes, None) {
                    Ok(keys) => Ok(Arc::new(keys)),
                    Err(_not_utf8) => Err(Fault::Utf8 { row }),
                }
            }
        }
    }

    /// The dictionary for a record at `row`.
    fn dictionary(
        &mut self,
        sources: &mut dyn Sources,
        new: bool,
        row: usize,
    ) -> Result<ArrayRef, Fault> {
        if self.compact {
            let source = sources.stream(&self.indexes)?;
            return Err(source.corrupt("a shared dictionary in a compact part").into());
        }
        let stale = std::mem::take(&mut self.kept.stale);
        if let Some(keys) = &self.kept.keys {
            let same = stale
                && self.kept.mark.is_some()
                && sources.dictionary_mark(&self.dictionary) == self.kept.mark;
            if same {
                self.kept.unread = true;
            }
            if same || (!stale && !new) {
                return Ok(Arc::clone(keys));
            }
        }
        if stale {
            self.kept.mark = sources.dictionary_mark(&self.dictionary);
            self.kept.unread = false;
        } else {
            self.kept.mark = None;
        }
        if std::mem::take(&mut self.kept.unread) {
            self.read_keys(sources.dictionary(&self.dictionary)?, row)?;
        }
        let keys = self.read_keys(sources.dictionary(&self.dictionary)?, row)?;
        self.kept.keys = Some(Arc::clone(&keys));
        Ok(keys)
    }

    /// Reads one record of at most `left` rows, the first of them being `row`; says how many it has.
    fn record(
        &mut self,
        sources: &mut dyn Sources,
        row: usize,
        left: usize,
        pieces: &mut Vec<Piece>,
    ) -> Result<usize, Fault> {
        let source = sources.stream(&self.indexes)?;
        let flags = read_u64(source)?;
        let known = WIDTH | DICTIONARY | ADDITIONAL_KEYS | NEW_DICTIONARY;
        if flags & !known != 0 || flags & WIDTH > 3 || flags & (DICTIONARY | ADDITIONAL_KEYS) == 0 {
            return Err(source
                .corrupt(&format!("flags {flags:#x} of a LowCardinality record"))
                .into());
        }
        let additional = match flags & ADDITIONAL_KEYS {
            0 => None,
            _ => Some(self.read_keys(source, row)?),
        };
        let shared = match flags & DICTIONARY {
            0 => None,
            _ => Some(self.dictionary(sources, flags & NEW_DICTIONARY != 0, row)?),
        };
        let keys = match (shared, additional) {
            (Some(shared), Some(additional)) => {
                arrow_select::concat::concat(&[shared.as_ref(), additional.as_ref()])?
            }
            (Some(keys), None) | (None, Some(keys)) => keys,
            (None, None) => new_empty_array(&self.arrow),
        };
        if keys.len() > KEYS_MAX {
            return Err(Fault::limit("keys of a dictionary", KEYS_MAX, keys.len()));
        }
        let source = sources.stream(&self.indexes)?;
        let claimed = read_u64(source)?;
        let Some(rows) = usize::try_from(claimed).ok().filter(|&rows| rows <= left) else {
            return Err(source
                .corrupt(&format!(
                    "a LowCardinality record of {claimed} rows where {left} are left"
                ))
                .into());
        };
        let width = 1 << (flags & WIDTH);
        let bytes = read_values(source, rows, width)?;
        let indexes = match width {
            1 => Self::indexes(bytes.as_slice(), keys.len()),
            2 => Self::indexes(bytes.typed_data::<u16>(), keys.len()),
            4 => Self::indexes(bytes.typed_data::<u32>(), keys.len()),
            _ => Self::indexes(bytes.typed_data::<u64>(), keys.len()),
        };
        let indexes = indexes.map_err(|fault| fault.map_row(|at| row + at))?;
        match pieces.last_mut().filter(|last| Arc::ptr_eq(&last.keys, &keys)) {
            Some(last) => last.indexes.extend_from_slice(&indexes),
            None => pieces.push(Piece { keys, indexes }),
        }
        Ok(rows)
    }

    fn indexes<T: Copy + Into<u64>>(found: &[T], keys: usize) -> Result<Vec<i32>, Fault> {
        let wrong = |&index: &T| index.into() >= keys as u64;
        if let Some(at) = found.iter().position(wrong) {
            let index = found[at].into();
            return Err(Fault::value(
                at,
                format!("index {index} into a dictionary of {keys} keys"),
            ));
        }
        Ok(found.iter().map(|&index| index.into() as i32).collect())
    }

    /// The array of a run of rows with the same keys.
    fn array(&self, piece: Piece) -> Result<ArrayRef, Fault> {
        // Key 0 of a nullable column is NULL.
        let nulls = self
            .nullable
            .then(|| NullBuffer::from_iter(piece.indexes.iter().map(|&index| index != 0)));
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        let indexes = Int32Array::try_new(piece.indexes.into(), nulls)?;
        if matches!(self.arrow, Arrow::Dictionary(..)) {
            return Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(indexes, piece.keys)?));
        }
        Ok(arrow_select::take::take(&piece.keys, &indexes, None)?)
    }
}

/// Rows with the same keys.
struct Piece {
    keys: ArrayRef,
    indexes: Vec<i32>,
}

impl Decode for Reader {
    fn prefix(&mut self, sources: &mut dyn Sources) -> Result<(), Fault> {
        let source = sources.stream(&self.prefix)?;
        match read_u64(source)? {
            DICTIONARY_VERSION => Ok(()),
            other => Err(source
                .corrupt(&format!("version {other} of a LowCardinality dictionary"))
                .into()),
        }
    }

    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let mut pieces = Vec::new();
        let mut row = 0;
        for &rows in rows {
            // Records end with their granules.
            let end = row + rows;
            while row < end {
                row += self.record(sources, row, end - row, &mut pieces)?;
            }
        }
        let arrays =
            pieces.into_iter().map(|piece| self.array(piece)).collect::<Result<Vec<_>, Fault>>()?;
        match arrays.as_slice() {
            [] => Ok(new_empty_array(&self.arrow)),
            [one] => Ok(Arc::clone(one)),
            several => {
                let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
                Ok(arrow_select::concat::concat(&several)?)
            }
        }
    }

    fn seek(&mut self) {
        self.kept.stale = true;
    }
}
