//! Sealed segments: immutable, indexed, with their own dictionary. The format is described in `docs/format/record.md`.

pub(super) mod build;
pub(super) mod header;
pub(super) mod meta;

use super::RecordError;
use super::codec::{Decoder, GROUP_MARGIN};
use super::entry::Entry;
use super::error::Damage;
use super::guard;
use super::memory::{Budget, Resident};
use super::search::WordIndex;
use build::group_start;
use header::{BadHeader, HEADER_BYTES, Header};
use meta::Meta;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tambour_kernel::hash::{CRC32C_VARIANTS, Crc32c};
use tambour_kernel::variant::Runnable;
use tambour_storage::{ReadAt, Storage};

/// An open sealed segment.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) header: Header,
    pub(super) meta: Meta,
    pub(super) path: PathBuf,
    file: Arc<dyn ReadAt>,
    /// All groups in memory, from the first read on, if the budget allows it.
    data: OnceLock<Option<Resident>>,
    budget: Budget,
    crc: Runnable<Crc32c>,
    /// The index of words beside it, once somebody has asked.
    pub(super) words: OnceLock<Option<WordIndex>>,
    /// What was found damaged, and made good, when the segment was opened.
    pub(super) repairs: Vec<RecordError>,
}

/// Reads the header at either end; also what is wrong with the other one.
pub(super) fn read_header(
    file: &dyn ReadAt,
    path: &Path,
) -> Result<(Header, Option<RecordError>), RecordError> {
    let ends = [0, file.len().saturating_sub(HEADER_BYTES as u64)];
    let read = |at: u64| {
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, at).map_err(RecordError::file("read", path))?;
        let header = Header::parse(&bytes).map_err(|bad| match bad {
            BadHeader::Damaged(damage) => damage.within(path, at),
            BadHeader::Version(version) => {
                RecordError::Version { path: path.to_owned(), version: version.into() }
            }
        })?;
        let parts = header.data_bytes.checked_add(header.meta_bytes.into());
        let guard = guard::guard_bytes(header.meta_bytes as usize);
        let rest = guard as u64 + 2 * HEADER_BYTES as u64;
        if parts.and_then(|parts| parts.checked_add(rest)) == Some(file.len()) {
            return Ok(header);
        }
        let expected = parts.unwrap_or(u64::MAX).saturating_add(rest);
        Err(Damage::new(0, "length of the file", expected, file.len()).within(path, at))
    };
    match ends.map(read) {
        [Ok(first), Ok(last)] if first == last => Ok((first, None)),
        [Ok(first), Ok(_)] => {
            let damage = Damage::new(0, "header at the end", "that at the start", "another one");
            Ok((first, Some(damage.within(path, ends[1]))))
        }
        [Ok(header), Err(damage)] | [Err(damage), Ok(header)] => Ok((header, Some(damage))),
        [Err(damage), Err(_)] => Err(damage),
    }
}

impl Sealed {
    /// Opens a segment: reads its header and its index.
    pub(super) fn open(
        storage: &dyn Storage,
        path: &Path,
        store: Option<u64>,
        budget: Budget,
    ) -> Result<Self, RecordError> {
        let file = storage.open(path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => RecordError::Gone { path: path.to_owned() },
            _ => RecordError::file("open", path)(cause),
        })?;
        let (header, repair) = read_header(&*file, path)?;
        if let Some(store) = store {
            header.check_owner(path, store)?;
        }
        let mut repairs: Vec<RecordError> = repair.into_iter().collect();
        let meta_at = HEADER_BYTES as u64 + header.data_bytes;
        let guard_bytes = guard::guard_bytes(header.meta_bytes as usize);
        let mut bytes = vec![0; header.meta_bytes as usize + guard_bytes];
        file.read_exact_at(&mut bytes, meta_at).map_err(RecordError::file("read", path))?;
        let guard = bytes.split_off(header.meta_bytes as usize);
        let before = guard::repair(&mut bytes, &guard, header.meta_sum)
            .map_err(|damage| damage.within(path, meta_at))?;
        if before {
            let damage =
                Damage::new(0, "index and dictionary", "what was written", "repairable damage");
            repairs.push(damage.within(path, meta_at));
        }
        let meta = Meta::parse(bytes, &header).map_err(|damage| damage.within(path, meta_at))?;
        let crc = CRC32C_VARIANTS.best();
        let (path, data) = (path.to_owned(), OnceLock::new());
        let words = OnceLock::new();
        Ok(Self { header, meta, path, file, data, budget, crc, words, repairs })
    }

    /// A decoder for the groups of this segment.
    pub(super) fn decoder(&self) -> Result<Decoder, RecordError> {
        Decoder::new(self.header.codec, &self.meta.dictionary, self.header.group_bytes_max as usize)
    }

    /// Whether decoders of the two segments are the same, but for their room.
    pub(super) fn shares_decoder(&self, other: &Self) -> bool {
        self.header.codec == other.header.codec && self.meta.dictionary == other.meta.dictionary
    }

    /// All groups, if they are or can be held in memory.
    #[inline]
    pub(super) fn resident(&self) -> Option<&[u8]> {
        if let Some(data) = self.data.get() {
            return data.as_ref().map(Resident::bytes);
        }
        self.load()
    }

    /// Reads all groups into memory. An error is left to the read of the group that is wanted.
    #[cold]
    fn load(&self) -> Option<&[u8]> {
        let load = || {
            let length = usize::try_from(self.header.data_bytes).ok()?;
            let mut data = Resident::new(length + GROUP_MARGIN, &self.budget)?;
            let target = data.bytes_mut().get_mut(..length)?;
            self.file.read_exact_at(target, HEADER_BYTES as u64).ok()?;
            Some(data)
        };
        self.data.get_or_init(load).as_ref().map(Resident::bytes)
    }

    /// Where a group is in the data.
    #[inline]
    pub(super) fn group(&self, group: usize) -> Result<Range<usize>, RecordError> {
        self.meta.group(group).ok_or_else(|| self.bad_index(group))
    }

    #[cold]
    fn bad_index(&self, group: usize) -> RecordError {
        let at = HEADER_BYTES as u64 + self.header.data_bytes;
        let what = format!("an entry for group {group} within the data");
        Damage::new(0, "the index", what, "none").within(&self.path, at)
    }

    /// Checks the sum of a group and decodes what of it reaches up to the record, counted in the segment.
    #[inline]
    pub(super) fn get<'a>(
        &'a self,
        record: usize,
        place: Range<usize>,
        decoder: &'a mut Decoder,
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], RecordError> {
        let group = record / self.header.group;
        let (start, end) = self.meta.place(record).ok_or_else(|| self.bad_index(group))?;
        let decoded =
            self.decode(group, place.clone(), end.unwrap_or(usize::MAX), decoder, spare)?;
        let end = end.unwrap_or(decoded.len());
        decoded.get(start..end).ok_or_else(|| self.bad_length(place.start, end))
    }

    /// Lengths of records that are not those of their group.
    #[cold]
    pub(super) fn bad_lengths(&self, group: usize) -> RecordError {
        let at = self.meta.group(group).map_or(0, |place| place.start);
        self.bad_length(at, 0)
    }

    #[cold]
    fn bad_length(&self, at: usize, end: usize) -> RecordError {
        let what = format!("{end} bytes at least");
        Damage::new(at, "a group", what, "less").within(&self.path, HEADER_BYTES as u64)
    }

    /// Checks the sum of a group and decodes it, at least its first `wanted` bytes.
    #[inline]
    pub(super) fn decode<'a>(
        &'a self,
        group: usize,
        place: Range<usize>,
        wanted: usize,
        decoder: &'a mut Decoder,
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], RecordError> {
        let stored = match self.resident() {
            Some(data) => data.get(place.start..).unwrap_or_default(),
            None => self.read_group(place.clone(), spare)?,
        };
        let at = place.start;
        let length = place.len() - 4;
        let Some((bytes, sum)) = stored.get(..length + 4).and_then(<[u8]>::split_last_chunk::<4>)
        else {
            return Err(self.bad_index(group));
        };
        let (got, expected) =
            (self.crc.sum(group_start(self.header.seed, group), bytes), u32::from_le_bytes(*sum));
        if got != expected {
            return Err(self.damaged(Damage::sum(at, "a group", expected, got)));
        }
        decoder
            .decode(stored, length, wanted)
            .map_err(|damage| self.damaged(Damage { at: damage.at + at as u64, ..damage }))
    }

    #[cold]
    fn damaged(&self, damage: Damage) -> RecordError {
        damage.within(&self.path, HEADER_BYTES as u64)
    }

    /// Reads one group from the file.
    fn read_group<'a>(
        &self,
        place: Range<usize>,
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], RecordError> {
        spare.clear();
        spare.resize(place.len() + GROUP_MARGIN, 0);
        let at = HEADER_BYTES as u64 + place.start as u64;
        self.file
            .read_exact_at(&mut spare[..place.len()], at)
            .map_err(RecordError::file("read", &self.path))?;
        Ok(spare)
    }

    /// Checks what [`Sealed::open`] does not need: the guard of the index.
    pub(super) fn check_guard(&self) -> Result<(), RecordError> {
        let meta_at = HEADER_BYTES as u64 + self.header.data_bytes;
        let length = self.header.meta_bytes as usize;
        let mut bytes = vec![0; length + guard::guard_bytes(length)];
        self.file
            .read_exact_at(&mut bytes, meta_at)
            .map_err(RecordError::file("read", &self.path))?;
        let (payload, guard) = bytes.split_at(length);
        guard::check(payload, guard).map_err(|damage| damage.within(&self.path, meta_at))
    }

    /// An index of keys that names others than there are.
    pub(super) fn bad_keys(&self) -> RecordError {
        let at = HEADER_BYTES as u64 + self.header.data_bytes;
        Damage::new(0, "the index of keys", "those of the records", "others").within(&self.path, at)
    }

    /// Stored bytes of a record, taken apart.
    #[inline]
    pub(super) fn entry<'a>(&self, stored: &'a [u8]) -> Result<Entry<'a>, RecordError> {
        Entry::of(stored, self.header.keyed)
            .map_err(|damage| damage.within(&self.path, HEADER_BYTES as u64))
    }

    /// Length of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file.len()
    }
}
