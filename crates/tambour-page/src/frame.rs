//! The frame of a commit: a header and a record per page. The images that found no gap stand directly after it.

use super::header::{read_u32, read_u64};
use super::options::{GENERATION_MAX, Generation, PAGES_MAX, PageId};
use tambour_kernel::hash::xxh3_64;

/// Bytes of a frame's header.
pub(crate) const FRAME_HEADER_BYTES: usize = 64;
/// Bytes of a record.
pub(crate) const RECORD_BYTES: usize = 40;
/// `TPC1`, little endian.
pub(crate) const MAGIC: u32 = 0x3143_5054;

/// What a commit does to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has an image at an offset.
    Image,
    /// It is all zeros.
    Zero,
    /// It is gone.
    Free,
}

/// What a commit says of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: Kind,
    pub(crate) page: PageId,
    /// Of the image: that of the commit which wrote it, also if a later one moved it.
    pub(crate) generation: Generation,
    pub(crate) offset: u64,
    /// Bytes of the image with its header; 0 if there is none.
    pub(crate) length: u32,
    /// Checksum that stands in the image.
    pub(crate) checksum: u64,
}

/// The head of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) record_count: u32,
    pub(crate) epoch: u64,
    pub(crate) generation: Generation,
    /// All commits up to this one were durable when this one was written.
    pub(crate) durable: Generation,
    /// Checksum of the frame before it; that of the map snapshot for the first one.
    pub(crate) previous: u64,
    /// Pages of the store after the commit.
    pub(crate) page_count: u64,
    /// Bytes of images directly after the frame.
    pub(crate) inline_bytes: u64,
    pub(crate) checksum: u64,
}

/// Bytes of a frame, padded to the granule.
pub(crate) fn frame_bytes(records: usize, granule: u64) -> u64 {
    ((FRAME_HEADER_BYTES + records * RECORD_BYTES) as u64).next_multiple_of(granule)
}

fn checksum(file_id: u64, bytes: &[u8]) -> u64 {
    let (head, rest) = bytes.split_at(FRAME_HEADER_BYTES);
    xxh3_64(rest, xxh3_64(&head[..FRAME_HEADER_BYTES - 8], file_id))
}

/// Writes a frame; returns its checksum.
pub(crate) fn encode(
    header: &FrameHeader,
    records: &[Record],
    file_id: u64,
    granule: u64,
    target: &mut Vec<u8>,
) -> u64 {
    target.clear();
    target.extend(MAGIC.to_le_bytes());
    target.extend(header.record_count.to_le_bytes());
    target.extend(header.epoch.to_le_bytes());
    target.extend(header.generation.to_le_bytes());
    target.extend(header.durable.to_le_bytes());
    target.extend(header.previous.to_le_bytes());
    target.extend(header.page_count.to_le_bytes());
    target.extend(header.inline_bytes.to_le_bytes());
    target.extend([0; 8]);
    for record in records {
        target.extend(record.page.to_le_bytes());
        target.extend(record.offset.to_le_bytes());
        target.extend(record.generation.to_le_bytes());
        target.extend(record.length.to_le_bytes());
        target.extend([record.kind as u8, 0, 0, 0]);
        target.extend(record.checksum.to_le_bytes());
    }
    let sum = checksum(file_id, target);
    target[FRAME_HEADER_BYTES - 8..FRAME_HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    let bytes = frame_bytes(records.len(), granule);
    target.resize(usize::try_from(bytes).unwrap_or(usize::MAX), 0);
    sum
}

/// Reads a header; `None` if there is no frame.
pub(crate) fn header(bytes: &[u8]) -> Option<FrameHeader> {
    if bytes.len() < FRAME_HEADER_BYTES || read_u32(bytes, 0) != MAGIC {
        return None;
    }
    Some(FrameHeader {
        record_count: read_u32(bytes, 4),
        epoch: read_u64(bytes, 8),
        generation: read_u64(bytes, 16),
        durable: read_u64(bytes, 24),
        previous: read_u64(bytes, 32),
        page_count: read_u64(bytes, 40),
        inline_bytes: read_u64(bytes, 48),
        checksum: read_u64(bytes, 56),
    })
}

/// Reads the records of a frame whose bytes (without padding) are all there; `None` if the checksum or a record is wrong.
pub(crate) fn records(header: &FrameHeader, bytes: &[u8], file_id: u64) -> Option<Vec<Record>> {
    let wanted = FRAME_HEADER_BYTES + header.record_count as usize * RECORD_BYTES;
    let bytes = bytes.get(..wanted)?;
    if checksum(file_id, bytes) != header.checksum
        || header.page_count > PAGES_MAX
        || header.generation > GENERATION_MAX
    {
        return None;
    }
    let records: Option<Vec<Record>> =
        bytes[FRAME_HEADER_BYTES..].chunks_exact(RECORD_BYTES).map(record).collect();
    // Each page once: so that a commit cannot have one image looked at again and again.
    records.filter(|records| records.is_sorted_by(|one, other| one.page < other.page))
}

fn record(bytes: &[u8]) -> Option<Record> {
    let kind = match bytes[28] {
        0 => Kind::Image,
        1 => Kind::Zero,
        2 => Kind::Free,
        _ => return None,
    };
    let record = Record {
        kind,
        page: read_u64(bytes, 0),
        offset: read_u64(bytes, 8),
        generation: read_u64(bytes, 16),
        length: read_u32(bytes, 24),
        checksum: read_u64(bytes, 32),
    };
    (record.page < PAGES_MAX).then_some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_and_every_bit_counts() {
        let record = |page, kind| Record {
            kind,
            page,
            generation: 9,
            offset: 8192,
            length: 700,
            checksum: 0xabcd,
        };
        let all = vec![record(3, Kind::Image), record(4, Kind::Zero), record(5, Kind::Free)];
        let head = FrameHeader {
            record_count: 3,
            epoch: 2,
            generation: 9,
            durable: 8,
            previous: 1,
            page_count: 6,
            inline_bytes: 704,
            checksum: 0,
        };
        let mut bytes = Vec::new();
        let sum = encode(&head, &all, 55, 64, &mut bytes);
        assert_eq!(bytes.len() as u64, frame_bytes(3, 64));
        let found = header(&bytes).unwrap();
        assert_eq!(found, FrameHeader { checksum: sum, ..head });
        assert_eq!(records(&found, &bytes, 55), Some(all));
        assert_eq!(records(&found, &bytes, 56), None);
        let used = FRAME_HEADER_BYTES + 3 * RECORD_BYTES;
        for bit in 0..used * 8 {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let read = header(&wrong).and_then(|found| records(&found, &wrong, 55));
            assert_eq!(read, None, "bit {bit}");
        }
    }
}
