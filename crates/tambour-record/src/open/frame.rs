//! Frames of an open segment: what one commit wrote, front to back, found again after any damage.
//!
//! A frame is head, payload, and the head once more; the two heads differ in their magic only. The payload is blocks of up
//! to sixteen records, each with its sum, so that a damaged one takes no other with it. A large commit is several frames;
//! all but the first say that they go on with it.

use crate::batch::Batch;
use crate::bytes::{Parser, put_length, put_varint, unzigzag, zigzag};
use crate::codec::Encoder;
use crate::entry::ENTRY_BYTES_MAX;
use crate::error::Damage;
use crate::{GROUP_RECORDS_MAX, RECORD_BYTES_MAX, RecordError};
use std::ops::Range;
use tambour_kernel::hash::crc32c;

/// Magic of the head in front, and of the one after.
pub(super) const MAGICS: [[u8; 4]; 2] = [*b"TRF1", *b"TRF2"];
/// Bytes of a head without its directory: magic, length of the directory, of the payload, records, id, sum.
pub(super) const HEAD_BYTES: usize = 28;
/// Most records of a frame, and most bytes of a directory.
pub(crate) const FRAME_RECORDS_MAX: usize = 1 << 16;
pub(super) const DIRECTORY_BYTES_MAX: usize = 32 * FRAME_RECORDS_MAX;
/// Most raw bytes of a frame before the next record begins another one.
pub(crate) const FRAME_BYTES_MAX: usize = 256 << 10;
/// Most raw bytes of a block before the next record begins another one.
const BLOCK_BYTES_MAX: usize = 64 << 10;
/// Most bytes of a payload.
pub(super) const PAYLOAD_BYTES_MAX: usize = 2 * RECORD_BYTES_MAX;

/// Bits of the first byte of a directory.
mod flag {
    /// Records have times.
    pub(super) const TIMED: u8 = 1;
    /// Belongs to the commit of the frame before.
    pub(super) const GOES_ON: u8 = 2;
}

/// A block of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its records, counted in the frame.
    pub(crate) records: Range<usize>,
    /// Its bytes in the payload.
    pub(crate) place: Range<usize>,
    pub(crate) sum: u32,
}

/// The head of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Id of the first record.
    pub(crate) first: u64,
    pub(crate) lengths: Vec<usize>,
    /// One per record, or none.
    pub(crate) times: Vec<i64>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) payload_bytes: usize,
    /// Whether the frame before belongs to the same commit.
    pub(crate) goes_on: bool,
    /// Bytes of this head.
    pub(crate) own_bytes: usize,
}

impl Head {
    /// Bytes of the whole frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        2 * self.own_bytes + self.payload_bytes
    }

    /// Reads a head at the start of `bytes`, whose magic is one of the two.
    pub(crate) fn parse(bytes: &[u8], seed: u32) -> Result<(Self, usize), Damage> {
        let mut parser = Parser::new(bytes);
        let magic: [u8; 4] = parser.array()?;
        let side = MAGICS.iter().position(|known| *known == magic);
        let side = side.ok_or_else(|| Damage::new(0, "magic of a frame", "TRF1", hex(&magic)))?;
        let (directory_bytes, payload_bytes) = (parser.length()?, parser.length()?);
        let (records, first, expected) = (parser.length()?, parser.u64()?, parser.u32()?);
        let limits = directory_bytes <= DIRECTORY_BYTES_MAX
            && payload_bytes <= PAYLOAD_BYTES_MAX
            && (1..=FRAME_RECORDS_MAX).contains(&records)
            && first <= u64::MAX / 2;
        if !limits {
            return Err(Damage::new(4, "lengths of a frame", "within the limits", "more"));
        }
        let directory = parser.take(directory_bytes)?;
        let got = crc32c(crc32c(seed, &bytes[4..HEAD_BYTES - 4]), directory);
        if got != expected {
            return Err(Damage::sum(0, "head of a frame", expected, got));
        }
        let head_bytes = HEAD_BYTES + directory_bytes;
        let mut head = Self {
            first,
            lengths: Vec::with_capacity(records),
            times: Vec::new(),
            blocks: Vec::new(),
            payload_bytes,
            goes_on: false,
            own_bytes: head_bytes,
        };
        head.read_directory(directory, records)?;
        Ok((head, side))
    }

    fn read_directory(&mut self, directory: &[u8], records: usize) -> Result<(), Damage> {
        let mut parser = Parser::new(directory);
        let flags = parser.u8()?;
        if flags & !(flag::TIMED | flag::GOES_ON) != 0 {
            return Err(Damage::new(HEAD_BYTES, "flags of a frame", "0 to 3", flags));
        }
        self.goes_on = goes_on(flags);
        for _ in 0..records {
            self.lengths.push(parser.varint_up_to(ENTRY_BYTES_MAX)?);
        }
        if flags & flag::TIMED != 0 {
            let mut time = 0_i64;
            for _ in 0..records {
                time = time.wrapping_add(unzigzag(parser.varint()?));
                self.times.push(time);
            }
        }
        let (mut record, mut at) = (0, 0);
        while record < records {
            let count = parser.varint_up_to(GROUP_RECORDS_MAX.min(records - record))?;
            let length = parser.varint_up_to(self.payload_bytes - at)?;
            let sum = parser.u32()?;
            if count == 0 {
                return Err(Damage::new(parser.at(), "records of a block", "1 at least", 0));
            }
            let (records, place) = (record..record + count, at..at + length);
            (record, at) = (records.end, place.end);
            self.blocks.push(Block { records, place, sum });
        }
        if at != self.payload_bytes {
            return Err(Damage::new(0, "bytes of blocks", self.payload_bytes, at));
        }
        parser.end()
    }
}

/// Whether bytes are the beginning of a head in front of a frame, and not all of it.
pub(super) fn starts_like_head(bytes: &[u8]) -> bool {
    let magic = &MAGICS[0][..bytes.len().min(MAGICS[0].len())];
    if !bytes.starts_with(magic) {
        return false;
    }
    let Some(directory) = bytes.get(4..8).and_then(<[u8]>::first_chunk::<4>) else { return true };
    let directory = u32::from_le_bytes(*directory) as usize;
    directory <= DIRECTORY_BYTES_MAX && HEAD_BYTES + directory > bytes.len()
}

/// Whether the first byte of a directory says that the frame before belongs to the same commit.
pub(super) fn goes_on(flags: u8) -> bool {
    flags & flag::GOES_ON != 0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Where the sum of a block starts.
pub(crate) fn block_start(seed: u32, first: u64, block: usize) -> u32 {
    crc32c(seed, &first.wrapping_add((block as u64) << 48).to_le_bytes())
}

/// Appends the frame of records, of which the first has the id `first`; they are within the limits. `target` holds the frames
/// of the same commit.
pub(crate) fn write(
    records: &Batch,
    range: Range<usize>,
    first: u64,
    seed: u32,
    encoder: &mut Encoder,
    target: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let lengths: Vec<usize> = records.lengths().skip(range.start).take(range.len()).collect();
    let (mut blocks, mut payload) = (Vec::new(), Vec::new());
    let mut start = range.start;
    while start < range.end {
        let mut end = start + 1;
        let mut bytes = lengths[start - range.start];
        while end < range.end && end - start < GROUP_RECORDS_MAX && bytes < BLOCK_BYTES_MAX {
            bytes += lengths[end - range.start];
            end += 1;
        }
        let at = payload.len();
        encoder.encode(records.bytes_of(start..end), &mut payload)?;
        let sum = crc32c(block_start(seed, first, blocks.len()), &payload[at..]);
        blocks.push((end - start, payload.len() - at, sum));
        start = end;
    }
    let times = records.times().get(range).unwrap_or_default();
    let timed = if times.is_empty() { 0 } else { flag::TIMED };
    let goes_on = if target.is_empty() { 0 } else { flag::GOES_ON };
    let mut directory = vec![timed | goes_on];
    for length in &lengths {
        put_varint(&mut directory, *length as u64);
    }
    let mut before = 0_i64;
    for time in times {
        put_varint(&mut directory, zigzag(time.wrapping_sub(before)));
        before = *time;
    }
    for (count, length, sum) in blocks {
        put_varint(&mut directory, count as u64);
        put_varint(&mut directory, length as u64);
        directory.extend_from_slice(&sum.to_le_bytes());
    }
    let mut fields = Vec::with_capacity(HEAD_BYTES);
    put_length(&mut fields, directory.len());
    put_length(&mut fields, payload.len());
    put_length(&mut fields, lengths.len());
    fields.extend_from_slice(&first.to_le_bytes());
    let sum = crc32c(crc32c(seed, &fields), &directory);
    fields.extend_from_slice(&sum.to_le_bytes());
    for (magic, behind) in MAGICS.iter().zip([&payload[..], &[]]) {
        for piece in [magic, &fields[..], &directory, behind] {
            target.extend_from_slice(piece);
        }
    }
    Ok(())
}
