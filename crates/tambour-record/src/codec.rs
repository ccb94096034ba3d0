//! How groups of records become bytes and back: one codec for a whole segment.

use super::RecordError;
use super::dictionary::{Dictionary, zstd};
use super::error::Damage;
use tambour_kernel::lz4::{self, Prepared, SHORT_MARGIN};
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, FrameFormat};

/// Bytes that must follow a group where it is decoded from.
pub(super) const GROUP_MARGIN: usize = SHORT_MARGIN;

/// A codec of segments.
///
/// ```
/// use tambour_record::Codec;
/// assert_eq!([Codec::Raw, Codec::Lz4, Codec::Zstd].map(Codec::name), ["raw", "lz4", "zstd"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Records as they are.
    Raw,
    /// LZ4 blocks with a dictionary: the fastest to read.
    Lz4,
    /// zstd blocks with a dictionary: the smallest.
    Zstd,
}

impl Codec {
    /// The number in files.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Lz4 => 1,
            Self::Zstd => 2,
        }
    }

    /// The codec of a number.
    pub(super) fn of(number: u8) -> Option<Self> {
        [Self::Raw, Self::Lz4, Self::Zstd].into_iter().find(|codec| codec.number() == number)
    }

    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// What the first byte of a zstd group says: how the rest is to be read.
mod tag {
    /// The records themselves.
    pub(super) const PLAIN: u8 = 0;
    /// One compressed block, without any header.
    pub(super) const BLOCK: u8 = 1;
    /// A whole frame without magic.
    pub(super) const FRAME: u8 = 2;
}

/// Frame header (no content size, no sum, no dictionary number) and window (128 KiB, more than a block can need), as they
/// are put in front of a bare block, before the three bytes of the block's own header.
const FRAME_START: [u8; 2] = [0, 0x38];
const BLOCK_START: usize = FRAME_START.len() + 3;
/// Longest block of zstd.
const ZSTD_BLOCK_MAX: usize = 128 << 10;

/// Encodes groups.
pub(super) enum Encoder {
    Raw,
    Lz4(Box<Prepared>),
    Zstd(CCtx<'static>),
}

impl Encoder {
    /// An encoder at a level of the codec.
    pub(super) fn new(
        codec: Codec,
        level: i32,
        dictionary: &Dictionary,
    ) -> Result<Self, RecordError> {
        Ok(match codec {
            Codec::Raw => Self::Raw,
            Codec::Lz4 => {
                let level = u8::try_from(level.clamp(1, 9)).unwrap_or(9);
                Self::Lz4(Box::new(Prepared::new(level, dictionary.bytes())))
            }
            Codec::Zstd => {
                let mut context = CCtx::create();
                for parameter in [
                    CParameter::CompressionLevel(level),
                    CParameter::Format(FrameFormat::Magicless),
                    CParameter::ContentSizeFlag(false),
                    CParameter::ChecksumFlag(false),
                    CParameter::DictIdFlag(false),
                ] {
                    context.set_parameter(parameter).map_err(zstd("set a parameter"))?;
                }
                context.load_dictionary(dictionary.bytes()).map_err(zstd("load a dictionary"))?;
                Self::Zstd(context)
            }
        })
    }

    /// Appends the encoding of one group.
    pub(super) fn encode(&mut self, group: &[u8], target: &mut Vec<u8>) -> Result<(), RecordError> {
        match self {
            Self::Raw => target.extend_from_slice(group),
            Self::Lz4(encoder) => {
                let start = target.len();
                target.resize(start + lz4::bound(group.len()), 0);
                let size = encoder
                    .encode(group, &mut target[start..])
                    .expect("a target of the bound holds every encoding");
                target.truncate(start + size);
            }
            Self::Zstd(context) => {
                let mut frame = Vec::with_capacity(zstd_safe::compress_bound(group.len()));
                context.compress2(&mut frame, group).map_err(zstd("compress a group"))?;
                put_zstd(&frame, group, target);
            }
        }
        Ok(())
    }
}

/// Appends a group that is `frame` or, where that is shorter, what can be told without its headers.
fn put_zstd(frame: &[u8], group: &[u8], target: &mut Vec<u8>) {
    let bare = match frame {
        [0, _, a, b, c, block @ ..] => {
            let header = u32::from_le_bytes([*a, *b, *c, 0]);
            // The last block, compressed, of this length.
            (header & 7 == 5 && (header >> 3) as usize == block.len()).then_some(block)
        }
        _ => None,
    };
    let (kind, bytes) = match bare {
        Some(block) if block.len() < group.len() => (tag::BLOCK, block),
        None if frame.len() < group.len() => (tag::FRAME, frame),
        _ => (tag::PLAIN, group),
    };
    target.push(kind);
    target.extend_from_slice(bytes);
}

/// Decodes groups of one dictionary, for one thread.
pub(super) enum Decoder {
    Raw,
    /// The dictionary, and after it room for a group.
    Lz4 {
        buffer: Vec<u8>,
        start: usize,
    },
    Zstd {
        context: DCtx<'static>,
        source: Vec<u8>,
        buffer: Vec<u8>,
    },
}

impl Decoder {
    /// A decoder for groups of up to `group_bytes_max`.
    pub(super) fn new(
        codec: Codec,
        dictionary: &Dictionary,
        group_bytes_max: usize,
    ) -> Result<Self, RecordError> {
        let mut decoder = match codec {
            Codec::Raw => Self::Raw,
            Codec::Lz4 => {
                let from = dictionary.bytes().len().saturating_sub(usize::from(u16::MAX));
                let buffer = dictionary.bytes()[from..].to_vec();
                let start = buffer.len();
                Self::Lz4 { buffer, start }
            }
            Codec::Zstd => {
                let mut context = DCtx::create();
                let magicless = DParameter::Format(FrameFormat::Magicless);
                context.set_parameter(magicless).map_err(zstd("set a parameter"))?;
                context.load_dictionary(dictionary.bytes()).map_err(zstd("load a dictionary"))?;
                Self::Zstd { context, source: Vec::new(), buffer: Vec::new() }
            }
        };
        decoder.reserve(group_bytes_max);
        Ok(decoder)
    }

    /// Makes room for longer groups.
    pub(super) fn reserve(&mut self, group_bytes_max: usize) {
        match self {
            Self::Raw => {}
            Self::Lz4 { buffer, start } => {
                let wanted = *start + group_bytes_max + SHORT_MARGIN;
                if buffer.len() < wanted {
                    buffer.resize(wanted, 0);
                }
            }
            Self::Zstd { buffer, .. } => {
                if buffer.capacity() < group_bytes_max {
                    buffer.reserve(group_bytes_max - buffer.len());
                }
            }
        }
    }

    /// Decodes the group in the first `length` bytes of `source`, at least its first `wanted` bytes; [`GROUP_MARGIN`] bytes
    /// follow it.
    #[inline]
    pub(super) fn decode<'a>(
        &'a mut self,
        source: &'a [u8],
        length: usize,
        wanted: usize,
    ) -> Result<&'a [u8], Damage> {
        match self {
            Self::Raw => Ok(&source[..length]),
            Self::Lz4 { buffer, start } => {
                match lz4::decode_short(source, length, buffer, *start, wanted) {
                    Ok(written) => Ok(&buffer[*start..*start + written]),
                    Err(error) => Err(Damage::new(0, "a group", "an LZ4 block", error)),
                }
            }
            Self::Zstd { context, source: joined, buffer } => {
                unzstd(context, &source[..length], joined, buffer)
            }
        }
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

/// Decodes a group that [`put_zstd`] wrote.
fn unzstd<'a>(
    context: &mut DCtx<'static>,
    group: &'a [u8],
    joined: &mut Vec<u8>,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8], Damage> {
    let (kind, rest) = group.split_first().unwrap_or((&u8::MAX, &[]));
    let frame = match *kind {
        tag::PLAIN => return Ok(rest),
        tag::FRAME => rest,
        tag::BLOCK if rest.len() <= ZSTD_BLOCK_MAX => {
            joined.clear();
            joined.extend_from_slice(&FRAME_START);
            #[expect(clippy::cast_possible_truncation, reason = "just limited")]
            let header = (rest.len() as u32) << 3 | 5;
            joined.extend_from_slice(&header.to_le_bytes()[..BLOCK_START - FRAME_START.len()]);
            joined.extend_from_slice(rest);
            joined
        }
        _ => return Err(Damage::new(0, "tag of a group", "0 to 2", kind)),
    };
    buffer.clear();
    match context.decompress(buffer, frame) {
        Ok(_) => Ok(buffer),
        Err(code) => {
            let reason = zstd_safe::get_error_name(code);
            Err(Damage::new(0, "a group", "a zstd block", reason))
        }
    }
}

/// Whether libzstd takes a dictionary: what begins like one of its own has to be one.
pub(super) fn check(dictionary: &Dictionary) -> Result<(), RecordError> {
    Decoder::new(Codec::Zstd, dictionary, 0)?;
    Encoder::new(Codec::Zstd, 1, dictionary)?.encode(b"a record", &mut Vec::new())
}

#[cfg(test)]
mod tests {
    use super::{Codec, Decoder, Dictionary, Encoder, GROUP_MARGIN};

    fn record(k: usize) -> Vec<u8> {
        format!(
            "{{\"id\":{k},\"host\":\"web-{}\",\"path\":\"/drum/{}\",\"ok\":true}}",
            k % 7,
            k * k
        )
        .into_bytes()
    }

    #[test]
    fn groups_come_back_with_every_codec() {
        let records: Vec<Vec<u8>> = (0..2000).map(record).collect();
        let lengths: Vec<usize> = records.iter().map(Vec::len).collect();
        let trained = Dictionary::train(&records.concat(), &lengths, 8192);
        assert!(!trained.is_empty());
        let noise: Vec<u8> = (0..300_000_u64)
            .map(|k| (k.wrapping_mul(k) >> 7).to_le_bytes()[0] ^ k.to_le_bytes()[0])
            .collect();
        let groups = [
            record(5),
            records[..16].concat(),
            Vec::new(),
            noise.clone(),
            vec![b'a'; 400],
            records[..1000].concat().repeat(8),
            b"x".to_vec(),
        ];
        for codec in [Codec::Raw, Codec::Lz4, Codec::Zstd] {
            for dictionary in [&Dictionary::default(), &trained] {
                let mut encoder = Encoder::new(codec, 3, dictionary).unwrap();
                let mut decoder = Decoder::new(codec, dictionary, 1 << 20).unwrap();
                for group in &groups {
                    let mut stored = Vec::new();
                    encoder.encode(group, &mut stored).unwrap();
                    let length = stored.len();
                    stored.resize(length + GROUP_MARGIN, 0);
                    let got = decoder.decode(&stored, length, usize::MAX).unwrap();
                    assert!(got == group, "{codec:?} {}", group.len());
                }
                let mut stored = Vec::new();
                encoder.encode(&groups[0], &mut stored).unwrap();
                if codec != Codec::Raw && !dictionary.is_empty() {
                    assert!(stored.len() < groups[0].len() / 2, "{codec:?}: {}", stored.len());
                }
            }
        }
    }
}
