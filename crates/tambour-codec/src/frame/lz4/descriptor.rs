//! The frame header: flags, block size, content size, dictionary, checksum.

use super::{MAGIC, hash};
use crate::Kind;
use crate::frame::FrameError;
use crate::frame::ends::Source;

/// Version of the format in the upper two bits of the flags.
const VERSION: u8 = 0b01;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUMS: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const RESERVED: u8 = 1 << 1;
const DICTIONARY: u8 = 1;

/// Largest block of a frame: one of four sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::frame) struct BlockBytes {
    /// The field of the format, 4 to 7.
    code: u8,
}

impl BlockBytes {
    /// The largest, which the `lz4` program takes as well.
    pub(in crate::frame) const MAX: Self = Self { code: 7 };

    /// The number of bytes.
    pub(in crate::frame) fn bytes(self) -> usize {
        1 << (8 + 2 * self.code)
    }

    /// The smallest that holds this much content in one block, or the largest: readers may take that much memory.
    pub(in crate::frame) fn holding(content: u64) -> Self {
        let enough = |size: &Self| size.bytes() as u64 >= content;
        (4..=7).map(|code| Self { code }).find(enough).unwrap_or(Self::MAX)
    }

    /// The size of exactly this many bytes, if the format has it.
    pub(in crate::frame) fn exactly(bytes: usize) -> Option<Self> {
        (4..=7).map(|code| Self { code }).find(|size| size.bytes() == bytes)
    }
}

/// What a frame header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::frame) struct Descriptor {
    /// No block needs an earlier one.
    pub(in crate::frame) independent: bool,
    /// Every block has a checksum.
    pub(in crate::frame) block_checksums: bool,
    /// The frame ends with a checksum of its content.
    pub(in crate::frame) content_checksum: bool,
    /// Bytes of the content.
    pub(in crate::frame) content_size: Option<u64>,
    /// Identity of the dictionary.
    pub(in crate::frame) dictionary: Option<u32>,
    /// Largest block.
    pub(in crate::frame) block_bytes: BlockBytes,
}

impl Descriptor {
    /// Reads what follows the magic number; `start` is the offset of that number.
    pub(in crate::frame) fn read(source: &mut Source<'_>, start: u64) -> Result<Self, FrameError> {
        const WHAT: &str = "frame header";
        let wrong =
            |reason, kind| Err::<Self, _>(FrameError::Header { offset: start, reason, kind });
        let [flags, sizes] = source.array(WHAT, start)?;
        if flags >> 6 != VERSION {
            return wrong("version of the format is unknown", Kind::Unsupported);
        }
        let mut bytes = vec![flags, sizes];
        let mut content_size = None;
        if flags & CONTENT_SIZE != 0 {
            let field: [u8; 8] = source.array(WHAT, start)?;
            bytes.extend(field);
            content_size = Some(u64::from_le_bytes(field));
        }
        let mut dictionary = None;
        if flags & DICTIONARY != 0 {
            let field: [u8; 4] = source.array(WHAT, start)?;
            bytes.extend(field);
            dictionary = Some(u32::from_le_bytes(field));
        }
        // The checksum comes first: with it wrong, nothing else can be believed.
        let [expected] = source.array(WHAT, start)?;
        let got = header_checksum(&bytes);
        if got != expected {
            let (expected, got) = (expected.into(), got.into());
            return Err(FrameError::Checksum {
                what: "header checksum",
                offset: start,
                expected,
                got,
            });
        }
        if flags & RESERVED != 0 || sizes & 0x8f != 0 {
            return wrong("reserved bits are set", Kind::Unsupported);
        }
        let code = sizes >> 4;
        if code < 4 {
            return wrong("block size code is below 4", Kind::Corrupt);
        }
        Ok(Self {
            independent: flags & INDEPENDENT != 0,
            block_checksums: flags & BLOCK_CHECKSUMS != 0,
            content_checksum: flags & CONTENT_CHECKSUM != 0,
            content_size,
            dictionary,
            block_bytes: BlockBytes { code },
        })
    }

    /// The whole header with its magic number, 7 to 19 bytes.
    pub(in crate::frame) fn to_bytes(self) -> Vec<u8> {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = VERSION << 6
            | flag(self.independent, INDEPENDENT)
            | flag(self.block_checksums, BLOCK_CHECKSUMS)
            | flag(self.content_size.is_some(), CONTENT_SIZE)
            | flag(self.content_checksum, CONTENT_CHECKSUM)
            | flag(self.dictionary.is_some(), DICTIONARY);
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([flags, self.block_bytes.code << 4]);
        bytes.extend(self.content_size.map(u64::to_le_bytes).into_iter().flatten());
        bytes.extend(self.dictionary.map(u32::to_le_bytes).into_iter().flatten());
        bytes.push(header_checksum(&bytes[4..]));
        bytes
    }
}

/// The second byte of the hash of everything between magic number and checksum.
fn header_checksum(bytes: &[u8]) -> u8 {
    hash(bytes).to_le_bytes()[1]
}
