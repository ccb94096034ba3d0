//! Reading LowCardinality: indexes into a dictionary that many granules share, or into keys that a record brings along.

use super::bytes::{Spare, read_u64};
use super::fault::Fault;
use super::fixed::{self, Fixed};
use super::gathered::Gathered;
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
    /// Keys of all records in one dictionary, while they are not too many; none for keys other than strings.
    gathered: Option<Gathered>,
    spare: Spare,
}

/// Keys that were read.
#[derive(Clone, Debug)]
enum Known {
    Keys(ArrayRef),
    /// They are gathered: the place of each.
    Places(Arc<[i32]>),
}

impl Known {
    fn len(&self) -> usize {
        match self {
            Self::Keys(keys) => keys.len(),
            Self::Places(places) => places.len(),
        }
    }
}

/// The dictionary in use.
#[derive(Debug, Default)]
struct Kept {
    keys: Option<Known>,
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
        let keys = Keys::new(inner)?;
        let gathered = matches!(keys, Keys::Strings).then(|| Gathered::new(context.strings));
        Ok(Self {
            prefix: path.helper(".dict_prefix"),
            dictionary: path.helper(".dict"),
            indexes: path.values(),
            keys,
            arrow: data_type.arrow(context.strings),
            strings: context.strings,
            nullable: inner.is_nullable(),
            compact: context.compact(),
            kept: Kept::default(),
            gathered,
            spare: Spare::default(),
        })
    }

    /// A number of keys and the keys, gathered while they may be.
    fn known(
        source: &mut dyn Source,
        keys: &Keys,
        strings: Strings,
        gathered: Option<&mut Gathered>,
        row: usize,
    ) -> Result<Known, Fault> {
        let claimed = read_u64(source)?;
        let limit = KEYS_MAX as u64;
        let over = Fault::Limit { field: "keys of a dictionary", limit, got: claimed };
        let count = usize::try_from(claimed).ok().filter(|&count| count <= KEYS_MAX).ok_or(over)?;
        if let Some(gathered) = gathered
            && gathered.takes(count)
        {
            return Ok(Known::Places(gathered.read(source, count, row)?.into()));
        }
        let keys: ArrayRef = match keys {
            Keys::Fixed(fixed) => fixed::read(fixed.as_ref(), source, count, None)?,
            Keys::Strings => {
                let (offsets, bytes) = read_run(source, count)?;
                let (offsets, bytes) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes));
                if strings == Strings::Binary {
                    Arc::new(BinaryArray::try_new(offsets, bytes, None)?)
                } else {
                    // Arrow looks at all bytes, and that no key starts within a character.
                    let keys = StringArray::try_new(offsets, bytes, None);
                    Arc::new(keys.map_err(|_not_utf8| Fault::Utf8 { row })?)
                }
            }
        };
        Ok(Known::Keys(keys))
    }

    fn read_keys(&mut self, source: &mut dyn Source, row: usize) -> Result<Known, Fault> {
        Self::known(source, &self.keys, self.strings, self.gathered.as_mut(), row)
    }

    /// The same keys as an array of their own.
    fn apart(&mut self, known: Known) -> Result<Known, Fault> {
        match (known, &mut self.gathered) {
            (Known::Places(places), Some(gathered)) => Ok(Known::Keys(gathered.keys_at(&places)?)),
            (known, _) => Ok(known),
        }
    }

    /// The dictionary for a record at `row`.
    fn dictionary(
        &mut self,
        sources: &mut dyn Sources,
        new: bool,
        row: usize,
    ) -> Result<Known, Fault> {
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
                self.kept.unread = sources.keep_dictionary(&self.dictionary);
                return Ok(keys.clone());
            }
            self.kept.unread = false;
        } else {
            if let Some(keys) = self.kept.keys.as_ref().filter(|_| !new) {
                return Ok(keys.clone());
            }
            // The dictionary of the record before comes first, if it is not read yet.
            if std::mem::take(&mut self.kept.unread) {
                self.read_keys(sources.dictionary(&self.dictionary)?, row)?;
            }
            self.kept.mark = None;
        }
        let keys = self.read_keys(sources.dictionary(&self.dictionary)?, row)?;
        self.kept.keys = Some(keys.clone());
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
        let mut additional = match flags & ADDITIONAL_KEYS {
            0 => None,
            _ => Some(self.read_keys(source, row)?),
        };
        let mut shared = match flags & DICTIONARY {
            0 => None,
            _ => Some(self.dictionary(sources, flags & NEW_DICTIONARY != 0, row)?),
        };
        // One of them may be the first that is not gathered any more.
        match (&shared, &additional) {
            (Some(Known::Keys(_)), Some(Known::Places(_))) => {
                additional = additional.map(|keys| self.apart(keys)).transpose()?;
            }
            (Some(Known::Places(_)), Some(Known::Keys(_))) => {
                shared = shared.map(|keys| self.apart(keys)).transpose()?;
                self.kept.keys.clone_from(&shared);
            }
            _ => {}
        }
        let source = sources.stream(&self.indexes)?;
        let claimed = read_u64(source)?;
        let Some(rows) = usize::try_from(claimed).ok().filter(|&rows| rows <= left) else {
            let reason = format!("a LowCardinality record of {claimed} rows where {left} are left");
            return Err(source.corrupt(&reason).into());
        };
        let width = 1 << (flags & WIDTH);
        let bytes = self.spare.read_values(source, rows, width)?;
        if !pieces.last().is_some_and(|last| last.takes(shared.as_ref(), additional.as_ref())) {
            pieces.push(Piece::new(shared.as_ref(), additional.as_ref(), self.nullable));
        }
        let Some(piece) = pieces.last_mut() else { return Ok(0) };
        let keys = piece.add_keys(shared, additional)?;
        let added = match width {
            1 => piece.add_indexes(bytes.as_slice(), &keys),
            2 => piece.add_indexes(bytes.typed_data::<u16>(), &keys),
            4 => piece.add_indexes(bytes.typed_data::<u32>(), &keys),
            _ => piece.add_indexes(bytes.typed_data::<u64>(), &keys),
        };
        added.map_err(|fault| fault.map_row(|at| row + at))?;
        self.spare.give_back(bytes);
        Ok(rows)
    }

    /// The array of rows with the same dictionary.
    fn array(&mut self, piece: Piece) -> Result<ArrayRef, Fault> {
        let keys = match self.gathered.as_mut().filter(|_| piece.is_gathered) {
            Some(gathered) => gathered.array()?,
            None => join(&piece.keys)?,
        };
        let mut indexes = piece.indexes;
        let has_nulls = piece.nullable && indexes.contains(&NULL);
        let nulls = has_nulls.then(|| {
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
    /// Keys are the gathered ones.
    is_gathered: bool,
    /// Else the dictionary, if there is one; then the additional keys of each record.
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
enum Meaning {
    /// Themselves, up to a number of keys.
    Own(usize),
    /// Up to `count`; the same is added to those from `shared` on.
    Shifted { count: usize, shared: usize, shift: usize },
    /// Each what the table says.
    Table(Vec<i32>),
}

impl Piece {
    fn new(shared: Option<&Known>, additional: Option<&Known>, nullable: bool) -> Self {
        let (is_gathered, keys) = match (shared, additional) {
            (Some(Known::Keys(keys)), _) => (false, vec![Arc::clone(keys)]),
            (Some(Known::Places(_)), _) | (None, Some(Known::Places(_))) => (true, Vec::new()),
            (None, _) => (false, Vec::new()),
        };
        let shared = keys.first().map_or(0, Array::len);
        Self {
            is_gathered,
            has_dictionary: !keys.is_empty(),
            keys,
            shared,
            count: shared,
            nullable,
            indexes: Vec::new(),
        }
    }

    /// True if rows with these keys can follow.
    fn takes(&self, shared: Option<&Known>, additional: Option<&Known>) -> bool {
        match (shared, additional) {
            (Some(Known::Keys(keys)), _) => {
                self.has_dictionary && self.keys.first().is_some_and(|own| Arc::ptr_eq(own, keys))
            }
            (Some(Known::Places(_)), _) | (None, Some(Known::Places(_))) => self.is_gathered,
            (None, _) => !self.is_gathered && !self.has_dictionary,
        }
    }

    /// Adds the keys of a record.
    fn add_keys(
        &mut self,
        shared: Option<Known>,
        additional: Option<Known>,
    ) -> Result<Meaning, Fault> {
        let own = shared.as_ref().map_or(0, Known::len);
        let count = own + additional.as_ref().map_or(0, Known::len);
        if self.is_gathered {
            let mut table = Vec::with_capacity(count);
            for known in [shared, additional].into_iter().flatten() {
                if let Known::Places(places) = known {
                    table.extend_from_slice(&places);
                }
            }
            let is_own = (0..).zip(&table).all(|(at, place)| at == *place);
            return Ok(if is_own { Meaning::Own(count) } else { Meaning::Table(table) });
        }
        let Some(Known::Keys(keys)) = additional else { return Ok(Meaning::Own(own)) };
        let shift = self.count - self.shared;
        self.count += keys.len();
        if self.count > KEYS_MAX {
            return Err(Fault::limit("keys of dictionaries", KEYS_MAX, self.count));
        }
        self.keys.push(keys);
        Ok(Meaning::Shifted { count, shared: own, shift })
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "an index is below the number of keys, and that is at most KEYS_MAX"
    )]
    fn add_indexes<T: Copy + Default + Into<u64> + Ord>(
        &mut self,
        found: &[T],
        meaning: &Meaning,
    ) -> Result<(), Fault> {
        let count = match meaning {
            Meaning::Own(count) | Meaning::Shifted { count, .. } => *count,
            Meaning::Table(table) => table.len(),
        };
        // The greatest is found many at a time; where the first wrong one is matters only if there is one.
        let greatest = found.iter().fold(T::default(), |greatest, index| greatest.max(*index));
        let is_wrong = |index: &T| (*index).into() >= count as u64;
        if !found.is_empty() && is_wrong(&greatest) {
            let at = found.iter().position(is_wrong).unwrap_or_default();
            let index = found[at].into();
            let reason = format!("index {index} into a dictionary of {count} keys");
            return Err(Fault::value(at, reason));
        }
        // Key 0 of a nullable column is NULL.
        let null = if self.nullable { 0 } else { u64::MAX };
        let indexes = found.iter().map(|&index| index.into());
        match meaning {
            Meaning::Own(_) if !self.nullable => self.indexes.extend(indexes.map(|it| it as i32)),
            Meaning::Own(_) => self.indexes.extend(indexes.map(|index| match index {
                0 => NULL,
                index => index as i32,
            })),
            Meaning::Shifted { shared, shift, .. } => {
                let (shared, shift) = (*shared as u64, *shift as u64);
                self.indexes.extend(indexes.map(|index| match index {
                    index if index == null => NULL,
                    index if index < shared => index as i32,
                    index => (index + shift) as i32,
                }));
            }
            Meaning::Table(table) => self.indexes.extend(indexes.map(|index| match index {
                index if index == null => NULL,
                index => table.get(index as usize).copied().unwrap_or(NULL),
            })),
        }
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
