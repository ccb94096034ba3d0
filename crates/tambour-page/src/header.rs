//! The image of a page: 40 bytes of header, then the payload.

use super::options::{Generation, Method, PageId};
use tambour_kernel::hash::xxh3_64;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 40;

/// `TPG1`, little endian.
const MAGIC: u32 = 0x3147_5054;

/// What every image says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) method: Method,
    /// Logarithm of the page size.
    pub(crate) page_shift: u8,
    /// Number of the dictionary; 0 for none.
    pub(crate) dictionary: u16,
    pub(crate) page: PageId,
    pub(crate) generation: Generation,
    /// Bytes of the payload.
    pub(crate) payload_bytes: u32,
    pub(crate) checksum: u64,
}

/// Reads a number at a place that the caller has checked.
pub(crate) fn read_u16(source: &[u8], at: usize) -> u16 {
    source.get(at..at + 2).and_then(|it| it.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// Reads a number at a place that the caller has checked.
pub(crate) fn read_u32(source: &[u8], at: usize) -> u32 {
    source.get(at..at + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Reads a number at a place that the caller has checked.
pub(crate) fn read_u64(source: &[u8], at: usize) -> u64 {
    source.get(at..at + 8).and_then(|it| it.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The low half of a file's number, which images carry.
#[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
fn tag(file_id: u64) -> u32 {
    file_id as u32
}

/// The checksum of an image: of the payload, seeded by that of the header's other fields, seeded by the file's number.
fn checksum(file_id: u64, header: &[u8], payload: &[u8]) -> u64 {
    xxh3_64(payload, xxh3_64(&header[..32], file_id))
}

/// Fills in the header of an image whose payload stands after it.
pub(crate) fn seal(file_id: u64, image: &mut [u8], header: Header) -> u64 {
    let (head, payload) = image.split_at_mut(HEADER_BYTES);
    head[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    head[4] = header.method.byte();
    head[5] = header.page_shift;
    head[6..8].copy_from_slice(&header.dictionary.to_le_bytes());
    head[8..16].copy_from_slice(&header.page.to_le_bytes());
    head[16..24].copy_from_slice(&header.generation.to_le_bytes());
    head[24..28].copy_from_slice(&tag(file_id).to_le_bytes());
    head[28..32].copy_from_slice(&header.payload_bytes.to_le_bytes());
    let sum = checksum(file_id, head, payload);
    head[32..40].copy_from_slice(&sum.to_le_bytes());
    sum
}

/// Gives an image that is whole another generation; returns its checksum.
pub(crate) fn stamp(file_id: u64, image: &mut [u8], generation: Generation) -> u64 {
    let (head, payload) = image.split_at_mut(HEADER_BYTES);
    head[16..24].copy_from_slice(&generation.to_le_bytes());
    let sum = checksum(file_id, head, payload);
    head[32..40].copy_from_slice(&sum.to_le_bytes());
    sum
}

/// What an image must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) file_id: u64,
    pub(crate) page_shift: u8,
    pub(crate) page: PageId,
    pub(crate) generation: Generation,
}

/// Reads a header without the payload.
pub(crate) fn parse(image: &[u8], expected: Expected) -> Result<Header, String> {
    if image.len() < HEADER_BYTES {
        return Err(format!("{} bytes are too few for an image", image.len()));
    }
    let magic = read_u32(image, 0);
    if magic != MAGIC {
        return Err(format!("not an image: it begins with {magic:#010x}"));
    }
    let found = read_u32(image, 24);
    if found != tag(expected.file_id) {
        let wanted = tag(expected.file_id);
        return Err(format!("image of another file: number {found:08x}, expected {wanted:08x}"));
    }
    let page = read_u64(image, 8);
    if page != expected.page {
        return Err(format!("image of page {page}"));
    }
    let generation = read_u64(image, 16);
    if generation != expected.generation {
        let wanted = expected.generation;
        return Err(format!("image of generation {generation}, expected {wanted}"));
    }
    if image[5] != expected.page_shift {
        return Err(format!("page size 2^{}, expected 2^{}", image[5], expected.page_shift));
    }
    let Some(method) = Method::of(image[4]) else {
        return Err(format!("unknown codec {}", image[4]));
    };
    Ok(Header {
        method,
        page_shift: image[5],
        dictionary: read_u16(image, 6),
        page,
        generation,
        payload_bytes: read_u32(image, 28),
        checksum: read_u64(image, 32),
    })
}

/// Reads and checks a whole image; the payload is what stands after the header.
pub(crate) fn verify(image: &[u8], expected: Expected) -> Result<Header, String> {
    let header = parse(image, expected)?;
    let payload = &image[HEADER_BYTES..];
    if header.payload_bytes as usize != payload.len() {
        let got = header.payload_bytes;
        return Err(format!("payload of {got} bytes, expected {}", payload.len()));
    }
    let got = checksum(expected.file_id, image, payload);
    if got != header.checksum {
        let wanted = header.checksum;
        return Err(format!("checksum mismatch: expected {wanted:016x}, got {got:016x}"));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_an_image_counts() {
        let mut image = vec![7; HEADER_BYTES + 100];
        let header = Header {
            method: Method::Zlib,
            page_shift: 14,
            dictionary: 3,
            page: 12,
            generation: 99,
            payload_bytes: 100,
            checksum: 0,
        };
        seal(0x1234_5678_9abc_def0, &mut image, header);
        let expected =
            Expected { file_id: 0x1234_5678_9abc_def0, page_shift: 14, page: 12, generation: 99 };
        assert_eq!(verify(&image, expected).unwrap().method, Method::Zlib);
        for bit in 0..image.len() * 8 {
            let mut wrong = image.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&wrong, expected).is_err(), "bit {bit}");
        }
        for length in 0..image.len() {
            assert!(verify(&image[..length], expected).is_err());
        }
    }
}
