//! Reading LowCardinality: indexes into a dictionary that many granules share, or into keys that a record brings along.

use super::bytes::{read_u64, read_values};
use super::fault::Fault;
use super::fixed::{self, Fixed};
use super::join::join;
use super::path::Path;
use super::string::read_run;
use super::tree::{Context, Decode};
use super::{DICTIONARY_VERSION, Source, Sources, StreamName};
use crate::types::{DataType, Strings};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int32Array, StringArray, new_empty_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
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
    /// The mark that led to it.
    mark: Option<(u64, u64)>,
    /// There was a jump since it was used.
    stale: bool,
    /// No record of the granule asked for a dictionary yet.
    untouched: bool,
    /// It was kept from an earlier granule: the source still stands before it.
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
            kept: Kept::default(),
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
        if std::mem::take(&mut self.kept.untouched) {
            // The granule's mark leads to the dictionary of this record, whether that is a new one or not.
            let stale = std::mem::take(&mut self.kept.stale);
            let mark = sources.dictionary_mark(&self.dictionary);
            let same = mark.is_some() && mark == self.kept.mark;
            self.kept.mark = mark;
            if let Some(keys) = self.kept.keys.as_ref().filter(|_| same || !(stale || new)) {
                self.kept.unread = true;
                return Ok(Arc::clone(keys));
            }
            self.kept.unread = false;
        } else {
            if let Some(keys) = self.kept.keys.as_ref().filter(|_| !new) {
                return Ok(Arc::clone(keys));
            }
            // The dictionary of the record before comes first, if it is not read yet.
            if std::mem::take(&mut self.kept.unread) {
                self.read_keys(sources.dictionary(&self.dictionary)?, row)?;
            }
            self.kept.mark = None;
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
            let reason = format!("flags {flags:#x} of a LowCardinality record");
            return Err(source.corrupt(&reason).into());
        }
        let additional = match flags & ADDITIONAL_KEYS {
            0 => None,
            _ => Some(self.read_keys(source, row)?),
        };
        let shared = match flags & DICTIONARY {
            0 => None,
            _ => Some(self.dictionary(sources, flags & NEW_DICTIONARY != 0, row)?),
        };
        let source = sources.stream(&self.indexes)?;
        let claimed = read_u64(source)?;
        let Some(rows) = usize::try_from(claimed).ok().filter(|&rows| rows <= left) else {
            let reason = format!("a LowCardinality record of {claimed} rows where {left} are left");
            return Err(source.corrupt(&reason).into());
        };
        let width = 1 << (flags & WIDTH);
        let bytes = read_values(source, rows, width)?;
        if !pieces.last().is_some_and(|last| last.refers_to(shared.as_ref())) {
            pieces.push(Piece::new(shared, self.nullable));
        }
        let Some(piece) = pieces.last_mut() else { return Ok(0) };
        let keys = piece.add_keys(additional)?;
        let added = match width {
            1 => piece.add_indexes(bytes.as_slice(), &keys),
            2 => piece.add_indexes(bytes.typed_data::<u16>(), &keys),
            4 => piece.add_indexes(bytes.typed_data::<u32>(), &keys),
            _ => piece.add_indexes(bytes.typed_data::<u64>(), &keys),
        };
        added.map_err(|fault| fault.map_row(|at| row + at))?;
        Ok(rows)
    }

    /// The array of rows with the same dictionary.
    fn array(&self, piece: Piece) -> Result<ArrayRef, Fault> {
        let keys = join(&piece.keys)?;
        let mut indexes = piece.indexes;
        let nulls = indexes.contains(&NULL).then(|| {
            let valid = |row: usize| indexes[row] != NULL;
            let nulls = NullBuffer::new(BooleanBuffer::collect_bool(indexes.len(), valid));
            for index in &mut indexes {
                *index = (*index).max(0);
            }
            nulls
        });
        let indexes = Int32Array::try_new(indexes.into(), nulls)?;
        if matches!(self.arrow, Arrow::Dictionary(..)) {
            return Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(indexes, keys)?));
        }
        Ok(arrow_select::take::take(&keys, &indexes, None)?)
    }
}

/// Stands for NULL among the indexes of a piece.
const NULL: i32 = -1;

/// Rows of records that refer to the same dictionary, or to none.
struct Piece {
    /// The dictionary, if there is one; then the additional keys of each record.
    keys: Vec<ArrayRef>,
    has_dictionary: bool,
    /// Keys of the dictionary.
    shared: usize,
    /// All keys.
    count: usize,
    nullable: bool,
    indexes: Vec<i32>,
}

/// What the indexes of one record mean.
struct RecordKeys {
    /// Keys to which the record can refer.
    count: usize,
    /// What is added to an index that is not one of the dictionary.
    shift: usize,
}

impl Piece {
    fn new(shared: Option<ArrayRef>, nullable: bool) -> Self {
        let count = shared.as_ref().map_or(0, Array::len);
        Self {
            has_dictionary: shared.is_some(),
            keys: shared.into_iter().collect(),
            shared: count,
            count,
            nullable,
            indexes: Vec::new(),
        }
    }

    fn refers_to(&self, shared: Option<&ArrayRef>) -> bool {
        match (self.keys.first().filter(|_| self.has_dictionary), shared) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (None, None) => true,
            _ => false,
        }
    }

    fn add_keys(&mut self, additional: Option<ArrayRef>) -> Result<RecordKeys, Fault> {
        let shift = self.count - self.shared;
        let Some(additional) = additional else {
            return Ok(RecordKeys { count: self.shared, shift });
        };
        let count = self.count + additional.len();
        if count > KEYS_MAX {
            return Err(Fault::limit("keys of dictionaries", KEYS_MAX, count));
        }
        self.count = count;
        let count = self.shared + additional.len();
        self.keys.push(additional);
        Ok(RecordKeys { count, shift })
    }

    #[expect(clippy::cast_possible_truncation, reason = "an index is below the number of keys")]
    fn add_indexes<T: Copy + Into<u64>>(
        &mut self,
        found: &[T],
        keys: &RecordKeys,
    ) -> Result<(), Fault> {
        if let Some(at) = found.iter().position(|&index| index.into() >= keys.count as u64) {
            let index = found[at].into();
            let reason = format!("index {index} into a dictionary of {} keys", keys.count);
            return Err(Fault::value(at, reason));
        }
        // Key 0 of a nullable column is NULL.
        let null = if self.nullable { 0 } else { u64::MAX };
        let (shared, shift) = (self.shared as u64, keys.shift as u64);
        self.indexes.extend(found.iter().map(|&index| match index.into() {
            index if index == null => NULL,
            index if index < shared => index as i32,
            index => (index + shift) as i32,
        }));
        Ok(())
    }
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
            self.kept.untouched = true;
            let end = row + rows;
            while row < end {
                row += self.record(sources, row, end - row, &mut pieces)?;
            }
        }
        if pieces.is_empty() {
            return Ok(new_empty_array(&self.arrow));
        }
        let arrays = pieces.into_iter().map(|piece| self.array(piece));
        join(&arrays.collect::<Result<Vec<_>, Fault>>()?)
    }

    fn seek(&mut self) {
        self.kept.stale = true;
    }
}
