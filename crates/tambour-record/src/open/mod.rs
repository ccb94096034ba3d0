//! Open segments: written frame by frame, one frame per commit or more. The format is described in `docs/format/record.md`.

mod cache;
pub(super) mod frame;
mod header;
mod lost;
mod search;
mod tail;
mod torn;

use super::codec::{Codec, Decoder, GROUP_MARGIN};
use super::dictionary::Dictionary;
use super::entry::{ENTRY_BYTES_MAX, Entry};
use super::error::Damage;
use super::keys::index::KeyIndex;
use super::scan::Scanned;
use super::sealed::header::check_owner;
use super::{RecordError, guard};
pub(super) use cache::HeadCache;
use frame::{HEAD_BYTES, Head, MAGICS, block_start};
use header::{HEADER_BYTES, read_header};
pub(super) use header::{OpenHeader, start};
use search::Candidates;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
pub(super) use tail::Tail;
use tambour_kernel::hash::crc32c;
use tambour_storage::Storage;

/// Longest group that a block of an open segment decodes to.
const GROUP_BYTES_MAX: usize = (64 << 10) + ENTRY_BYTES_MAX;
/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Where a frame is.
#[derive(Clone, Copy, Debug)]
struct Frame {
    first: u64,
    records: u64,
    /// First byte in the file.
    at: usize,
    /// The head that can be read: the one before the frame, or the one after it.
    head_at: usize,
    /// Whether the frame before belongs to the same commit.
    goes_on: bool,
}

/// An open segment as it was when its file was read.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) path: PathBuf,
    pub(super) header: OpenHeader,
    pub(super) dictionary: Dictionary,
    bytes: Vec<u8>,
    frames: Vec<Frame>,
    /// Where the last frame ends.
    pub(super) frames_end: usize,
    /// Length of the file, without the margin that follows in `bytes`.
    pub(super) file_bytes: usize,
    /// What is damaged; a torn tail is not.
    pub(super) damage: Vec<RecordError>,
    /// Whether something is after the last frame that is none: a commit that was cut off, or damage.
    pub(super) torn: bool,
    /// What that is.
    pub(super) tail: Tail,
    /// Where keys are, once somebody has asked.
    pub(super) key_index: OnceLock<Box<KeyIndex>>,
}

impl OpenSegment {
    /// Reads a segment; records from `limit` on are in later segments.
    pub(super) fn read(
        storage: &dyn Storage,
        path: &Path,
        store: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Self, RecordError> {
        let bytes = storage.read(path, FILE_BYTES_MAX).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => RecordError::Gone { path: path.to_owned() },
            _ => RecordError::file("read", path)(cause),
        })?;
        Self::parse(bytes, path, store, limit)
    }

    fn parse(
        mut bytes: Vec<u8>,
        path: &Path,
        store: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Self, RecordError> {
        let mut damage = Vec::new();
        let (header, stored_bytes, sum) = read_header(&bytes, path, &mut damage)?;
        if let Some(store) = store {
            check_owner(path, store, (header.store, header.base, header.seed))?;
        }
        let at = 2 * HEADER_BYTES;
        let guard_at = at + stored_bytes;
        let frames_at = guard_at + guard::guard_bytes(stored_bytes);
        let cut = |got| Damage::new(at, "a dictionary", frames_at, got).within(path, 0);
        let mut stored = bytes.get(at..guard_at).ok_or_else(|| cut(bytes.len()))?.to_vec();
        let guard = bytes.get(guard_at..frames_at).ok_or_else(|| cut(bytes.len()))?;
        let within = |damage: Damage| damage.within(path, at as u64);
        if guard::repair(&mut stored, guard, sum).map_err(within)? {
            damage.push(within(Damage::new(
                0,
                "a dictionary",
                "what was written",
                "repairable damage",
            )));
        } else if let Err(found) = guard::check(&stored, guard) {
            damage.push(within(found));
        }
        let dictionary = Dictionary::restore(&stored).map_err(within)?;
        let file_bytes = bytes.len();
        bytes.resize(file_bytes + GROUP_MARGIN, 0);
        let mut segment = Self {
            path: path.to_owned(),
            header,
            dictionary,
            bytes,
            frames: Vec::new(),
            frames_end: frames_at,
            file_bytes,
            damage,
            torn: false,
            tail: Tail::Nothing,
            key_index: OnceLock::new(),
        };
        segment.find_frames(limit.unwrap_or(u64::MAX));
        Ok(segment)
    }

    /// Walks over the file, from frame to frame, and over damage to the next one.
    fn find_frames(&mut self, limit: u64) {
        let frames_at = self.frames_end;
        let mut at = frames_at;
        // Made at the first damage: where a head after a frame is not, the payload decides, and what follows.
        let mut candidates = None;
        let mut at_limit = false;
        while at < self.file_bytes {
            let found = self.frame_at(at).or_else(|| {
                let known = candidates.get_or_insert_with(|| Candidates::find(self, at));
                known.at(at).or_else(|| known.behind(at))
            });
            let Some((frame, next)) = found else { break };
            if frame.first >= limit {
                at_limit = true;
                break;
            }
            if frame.at > at {
                let bytes = frame.at - at;
                let found =
                    Damage::new(at, "a frame", "one", format!("{bytes} bytes of something else"));
                self.damage.push(found.within(&self.path, 0));
            } else if frame.head_at > frame.at {
                let found = Damage::new(at, "head of a frame", "the one after it", "another one");
                self.damage.push(found.within(&self.path, 0));
            }
            at = next;
            if frame.first < self.end() {
                let found = Damage::new(frame.at, "first id of a frame", self.end(), frame.first);
                self.damage.push(found.within(&self.path, 0));
                continue;
            }
            self.frames.push(frame);
            self.frames_end = next;
        }
        // Where another segment follows, what is below its first id was taken for good when that began.
        let settled = if limit == u64::MAX { torn::settle(self, frames_at) } else { None };
        // Frames of later segments are those of a commit that failed.
        self.tail = match settled {
            Some(tail) => tail,
            None if at_limit => Tail::Nothing,
            None => Tail::of(self),
        };
        self.torn = self.end() < limit && self.frames_end < self.file_bytes;
    }

    /// What is wrong after the last frame, if that is not a commit that was cut off.
    pub(super) fn tail_damage(&self) -> Option<RecordError> {
        let Tail::Damaged { records } = self.tail else { return None };
        let bytes = self.file_bytes - self.frames_end;
        let got = format!(
            "{bytes} bytes that no crash leaves: {records} or more records may be lost after {}",
            self.end()
        );
        let found = Damage::new(
            self.frames_end,
            "the end of an open segment",
            "a frame, or its beginning",
            got,
        );
        Some(found.within(&self.path, 0))
    }

    /// The whole frame whose heads are both there, and where the next one would start.
    fn frame_at(&self, at: usize) -> Option<(Frame, usize)> {
        let (head, side) = self.head(at)?;
        let end = at.checked_add(head.frame_bytes())?;
        // What comes last is written last: where it is, all is.
        if side != 0 || end > self.file_bytes || !self.has_twin(&head, end - head.own_bytes) {
            return None;
        }
        let records = head.lengths.len() as u64;
        let Head { first, goes_on, .. } = head;
        Some((Frame { first, records, at, head_at: at, goes_on }, end))
    }

    /// Whether the head after a frame is that in front of it.
    fn has_twin(&self, head: &Head, behind_at: usize) -> bool {
        self.head(behind_at).is_some_and(|(behind, side)| side == 1 && behind == *head)
    }

    fn head(&self, at: usize) -> Option<(Head, usize)> {
        let rest = self.bytes.get(at..self.file_bytes)?;
        if rest.len() < HEAD_BYTES {
            return None;
        }
        Head::parse(rest, self.header.seed).ok()
    }

    fn payload_is_whole(&self, head: &Head, at: usize) -> bool {
        (0..head.blocks.len()).all(|block| self.block(head, at, block).is_ok())
    }

    /// The bytes of a block, checked, and all that follows.
    fn block(
        &self,
        head: &Head,
        payload_at: usize,
        block: usize,
    ) -> Result<(&[u8], usize), Damage> {
        let Some(entry) = head.blocks.get(block) else {
            return Err(Damage::new(payload_at, "a block", block, head.blocks.len()));
        };
        let at = payload_at + entry.place.start;
        let rest = self.bytes.get(at..).unwrap_or_default();
        let length = entry.place.len();
        let start = block_start(self.header.seed, head.first, block);
        let got = crc32c(start, rest.get(..length).unwrap_or_default());
        if got != entry.sum {
            return Err(Damage::sum(at, "a block of records", entry.sum, got));
        }
        Ok((rest, length))
    }

    /// The id after the last record.
    pub(super) fn end(&self) -> u64 {
        self.frames.last().map_or(self.header.base, |frame| frame.first + frame.records)
    }

    /// Checks what reading does not: the second heads of frames, and that nothing follows them. What a commit that was cut
    /// off left is reported, too: so does a file whose end is missing look. Damage behind the last frame is reported by scans.
    pub(super) fn check(&self) -> Result<(), RecordError> {
        for frame in &self.frames {
            let head = self.head(frame.at).map(|(head, _)| head);
            let behind_at =
                head.as_ref().map(|head| frame.at + head.own_bytes + head.payload_bytes);
            let behind = behind_at.and_then(|at| self.head(at));
            let same = match (&head, &behind) {
                (Some(head), Some((behind, 1))) => head == behind,
                _ => false,
            };
            if !same {
                let found =
                    Damage::new(frame.at, "heads of a frame", "two equal ones", "a damaged one");
                return Err(found.within(&self.path, 0));
            }
        }
        if self.torn && !matches!(self.tail, Tail::Damaged { .. }) {
            let bytes = format!("{} bytes of none", self.file_bytes - self.frames_end);
            let found = Damage::new(self.frames_end, "a frame", "the end, or one", bytes);
            return Err(found.within(&self.path, 0));
        }
        Ok(())
    }

    /// Bytes that all frames take.
    pub(super) fn frames_bytes(&self) -> usize {
        self.frames_end - self.frames.first().map_or(self.frames_end, |frame| frame.at)
    }

    /// All frames, each with both of its heads, also where a crash left one.
    pub(super) fn whole_frames(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.frames_bytes());
        for frame in &self.frames {
            let Some((head, _)) = self.head(frame.head_at) else { continue };
            let fields =
                &self.bytes[frame.head_at + MAGICS[0].len()..][..head.own_bytes - MAGICS[0].len()];
            let payload = &self.bytes[frame.at + head.own_bytes..][..head.payload_bytes];
            for (magic, behind) in MAGICS.iter().zip([payload, &[]]) {
                for piece in [magic, fields, behind] {
                    bytes.extend_from_slice(piece);
                }
            }
        }
        bytes
    }

    /// Bytes of all records.
    pub(super) fn raw_bytes(&self) -> Result<u64, RecordError> {
        let mut cache = HeadCache::default();
        let mut bytes = 0;
        for (number, frame) in self.frames.iter().enumerate() {
            bytes += cache.of(self, number, *frame)?.lengths.iter().sum::<usize>() as u64;
        }
        Ok(bytes)
    }

    /// A decoder for its blocks.
    pub(super) fn decoder(&self) -> Result<Decoder, RecordError> {
        // Blocks are decoded in the room that they need: see `block_of`.
        Decoder::new(Codec::Lz4, &self.dictionary, 0)
    }

    /// Frame and head that hold a record.
    fn find(&self, id: u64) -> Result<(usize, Frame), RecordError> {
        let behind = self.frames.partition_point(|frame| frame.first <= id);
        let frame = behind.checked_sub(1).and_then(|at| self.frames.get(at));
        match frame {
            Some(frame) if id - frame.first < frame.records => Ok((behind - 1, *frame)),
            _ => {
                let at = frame.map_or(0, |frame| frame.at);
                let what = format!("record {id} after this place");
                Err(Damage::new(at, "a frame", what, "damage").within(&self.path, 0))
            }
        }
    }

    /// Decodes the block that holds a record; `cache` remembers the head of the last frame.
    pub(super) fn get<'a>(
        &'a self,
        id: u64,
        cache: &mut HeadCache,
        decoder: &'a mut Decoder,
    ) -> Result<&'a [u8], RecordError> {
        let (number, frame) = self.find(id)?;
        let head = cache.of(self, number, frame)?;
        let record = usize::try_from(id - frame.first).unwrap_or(usize::MAX);
        let block = head.blocks.partition_point(|block| block.records.end <= record);
        let Some(entry) = head.blocks.get(block) else {
            return Err(
                Damage::new(frame.at, "blocks of a frame", record, block).within(&self.path, 0)
            );
        };
        let before = |records: Range<usize>| head.lengths[records].iter().sum::<usize>();
        let start = before(entry.records.start..record);
        let end = start + head.lengths[record];
        let room = before(entry.records.clone());
        let within = |damage: Damage| damage.within(&self.path, 0);
        if room > GROUP_BYTES_MAX {
            return Err(within(Damage::new(frame.at, "bytes of a block", GROUP_BYTES_MAX, room)));
        }
        let payload_at = frame.at + head.own_bytes;
        let (stored, length) = self.block(head, payload_at, block).map_err(within)?;
        decoder.reserve(room);
        let decoded = decoder.decode(stored, length, end).map_err(within)?;
        let got = decoded.len();
        decoded.get(start..end).ok_or_else(|| {
            Damage::new(payload_at, "bytes of a block", end, got).within(&self.path, 0)
        })
    }

    /// Calls `visit` with the records of a range of ids, or the errors in their place, until it breaks; every block is decoded
    /// once.
    pub(super) fn scan<B>(
        &self,
        ids: Range<u64>,
        decoder: &mut Decoder,
        mut visit: impl FnMut(Result<Scanned<'_>, RecordError>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut cache = HeadCache::default();
        let mut id = ids.start;
        while id < ids.end {
            let found = self
                .find(id)
                .and_then(|(number, frame)| Ok((frame, cache.of(self, number, frame)?.clone())));
            let (frame, head) = match found {
                Ok(found) => found,
                Err(error) => {
                    visit(Err(error))?;
                    // On to the next frame that is there.
                    let behind = self.frames.partition_point(|frame| frame.first <= id);
                    id = self.frames.get(behind).map_or(ids.end, |frame| frame.first);
                    continue;
                }
            };
            for (number, block) in head.blocks.iter().enumerate() {
                let first = frame.first + block.records.start as u64;
                let end = frame.first + block.records.end as u64;
                if end <= id || first >= ids.end {
                    continue;
                }
                let bytes = match self.whole_block(&head, frame, number, decoder) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        visit(Err(error))?;
                        continue;
                    }
                };
                let mut at = 0;
                for record in block.records.clone() {
                    let start = at;
                    at += head.lengths[record];
                    let id = frame.first + record as u64;
                    if !ids.contains(&id) {
                        continue;
                    }
                    let time = head.times.get(record).copied();
                    let time = time.filter(|time| *time != super::seal::NO_TIME);
                    visit(Ok(Scanned {
                        id,
                        time,
                        record: &bytes[start..at],
                        ..Scanned::default()
                    }))?;
                }
            }
            id = frame.first + frame.records;
        }
        ControlFlow::Continue(())
    }

    /// A block, checked and decoded to the length that its records have.
    fn whole_block<'a>(
        &'a self,
        head: &Head,
        frame: Frame,
        block: usize,
        decoder: &'a mut Decoder,
    ) -> Result<&'a [u8], RecordError> {
        let within = |damage: Damage| damage.within(&self.path, 0);
        let records = head.blocks.get(block).map_or(0..0, |block| block.records.clone());
        let room: usize = head.lengths[records].iter().sum();
        if room > GROUP_BYTES_MAX {
            return Err(within(Damage::new(frame.at, "bytes of a block", GROUP_BYTES_MAX, room)));
        }
        let payload_at = frame.at + head.own_bytes;
        let (stored, length) = self.block(head, payload_at, block).map_err(within)?;
        decoder.reserve(room);
        let decoded = decoder.decode(stored, length, usize::MAX).map_err(within)?;
        let got = decoded.len();
        let wrong = || Damage::new(payload_at, "bytes of a block", room, got).within(&self.path, 0);
        if got == room { Ok(decoded) } else { Err(wrong()) }
    }

    /// Stored bytes of a record, taken apart.
    pub(super) fn entry<'a>(&self, stored: &'a [u8]) -> Result<Entry<'a>, RecordError> {
        Entry::of(stored, self.header.keyed).map_err(|damage| damage.within(&self.path, 0))
    }

    /// Time of a record, if it has one.
    pub(super) fn time(&self, id: u64, cache: &mut HeadCache) -> Result<Option<i64>, RecordError> {
        let (number, frame) = self.find(id)?;
        let record = usize::try_from(id - frame.first).unwrap_or(usize::MAX);
        let time = cache.of(self, number, frame)?.times.get(record).copied();
        Ok(time.filter(|time| *time != super::seal::NO_TIME))
    }
}
