//! Ways to encode and decode columns of integers.

use bitpacking::{BitPacker, BitPacker4x};
use streamvbyte64::{Coder, Coder1234};
use tambour_int::{Reader, Writer};
use tambour_kernel::integer::leb128::{Form, Word};
use tambour_kernel::integer::packed::{self, Layout, Series};
use tambour_kernel::integer::stream_vbyte::Lengths;
use tambour_kernel::integer::{Decode, encode_length};
use tambour_kernel::variant::{Isa, Runnable, Variants};
use tambour_report::Tone;

/// Encodes values; returns the number of bytes.
type EncodeColumn = Box<dyn FnMut(&[u32], &mut [u8]) -> usize>;
/// Decodes all of the target. A failure shows in the comparison.
type DecodeColumn = Box<dyn FnMut(&[u8], &mut [u32])>;

/// A way to encode and a way to decode.
pub(super) struct Coding {
    pub(super) name: String,
    pub(super) tone: Tone,
    pub(super) encode: EncodeColumn,
    pub(super) decode: DecodeColumn,
}

pub(super) fn coding(
    name: impl Into<String>,
    tone: Tone,
    encode: impl FnMut(&[u32], &mut [u8]) -> usize + 'static,
    decode: impl FnMut(&[u8], &mut [u32]) + 'static,
) -> Coding {
    Coding { name: name.into(), tone, encode: Box::new(encode), decode: Box::new(decode) }
}

/// The variants of a table that take part, best first; the tone of the first says that it is the one in use.
fn variants<F: Copy>(
    table: &'static Variants<F>,
    isa: Isa,
) -> impl Iterator<Item = (Tone, Runnable<F>)> {
    let list = table.available().filter(move |variant| variant.isa() <= isa);
    let tone = |place| if place == 0 { Tone::First } else { Tone::Second };
    list.enumerate().map(move |(place, variant)| (tone(place), variant))
}

/// LEB128, one value at a time and whole columns; Xapian's `encode_length`.
pub(super) fn varints(isa: Isa) -> Vec<Coding> {
    let mut contenders = vec![prost(), single()];
    #[cfg(all(feature = "peers", target_arch = "x86_64"))]
    contenders.push(super::peers::varint_simd());
    for (tone, decoder) in variants(u32::decoders(), isa) {
        let encoder = u32::encoders().named(decoder.name());
        let encoder = encoder.unwrap_or_else(|| u32::encoders().best_at_most(isa));
        contenders.push(coding(
            format!("LEB128 {}", decoder.name()),
            tone,
            move |source, target| encoder.encode(source, target).unwrap_or(0),
            move |source, target| {
                let _length = decoder.decode(source, target, Form::Minimal);
            },
        ));
    }
    for (_, decoder) in variants(&encode_length::DECODE_VARIANTS, isa) {
        contenders.push(coding(
            format!("encode_length {}", decoder.name()),
            Tone::Quiet,
            |source, target| encode_length::encode(source, target).unwrap_or(0),
            plain(decoder),
        ));
    }
    contenders
}

fn prost() -> Coding {
    coding(
        "prost",
        Tone::Reference,
        |source, mut target| {
            let room = target.len();
            for &value in source {
                prost::encoding::encode_varint(value.into(), &mut target);
            }
            room - target.len()
        },
        |mut source, target| {
            for value in target {
                #[expect(clippy::cast_possible_truncation, reason = "32 bits were encoded")]
                let decoded = prost::encoding::decode_varint(&mut source).unwrap_or(0) as u32;
                *value = decoded;
            }
        },
    )
}

fn single() -> Coding {
    coding(
        "single values (Writer, Reader)",
        Tone::Third,
        |source, target| {
            let mut writer = Writer::new(target);
            for &value in source {
                writer.pack_uint(value.into()).unwrap_or_default();
            }
            writer.written()
        },
        |source, target| {
            let mut reader = Reader::new(source);
            for value in target {
                *value = reader.unpack_uint().unwrap_or_default();
            }
        },
    )
}

fn plain(decoder: Runnable<Decode<u32>>) -> impl FnMut(&[u8], &mut [u32]) {
    move |source, target| {
        let _length = decoder.decode(source, target);
    }
}

/// `StreamVByte` with both sets of lengths.
pub(super) fn stream_vbytes(isa: Isa) -> Vec<Coding> {
    let coder = Coder1234::new();
    let controls = |count: usize| count.div_ceil(4);
    let mut contenders = vec![coding(
        "streamvbyte64",
        Tone::Reference,
        move |source, target| {
            let (tags, data) = target.split_at_mut(controls(source.len()));
            tags.len() + coder.encode(source, tags, data)
        },
        move |source, target| {
            let (tags, data) = source.split_at(controls(target.len()));
            coder.decode(tags, data, target);
        },
    )];
    for lengths in Lengths::ALL {
        for (tone, decoder) in variants(lengths.decoders(), isa) {
            let encoder = lengths.encoders().named(decoder.name());
            let encoder = encoder.unwrap_or_else(|| lengths.encoders().best_at_most(isa));
            contenders.push(coding(
                format!("StreamVByte {lengths:?} {}", decoder.name()),
                tone,
                move |source, target| encoder.encode(source, target).unwrap_or(0),
                plain(decoder),
            ));
        }
    }
    contenders
}

/// Packed blocks, patched and not, of values or of the differences of sorted ones.
pub(super) fn packings(series: Series, isa: Isa) -> Vec<Coding> {
    let mut contenders = vec![bitpacking(series == Series::Differences)];
    #[cfg(feature = "peers")]
    if series == Series::Values {
        contenders.push(super::peers::fastpfor());
    }
    for layout in Layout::ALL {
        for (tone, decoder) in variants(layout.decoders(series), isa) {
            contenders.push(coding(
                format!("{layout:?} {}", decoder.name()),
                tone,
                move |source, target| packed::encode(source, target, layout, series).unwrap_or(0),
                plain(decoder),
            ));
        }
    }
    contenders
}

/// Blocks of 128 by the `bitpacking` crate, sorted or not, with a byte of width each.
fn bitpacking(sorted: bool) -> Coding {
    let packer = BitPacker4x::new();
    coding(
        "bitpacking 4x",
        Tone::Reference,
        move |source, target| {
            let (mut at, mut before) = (0, 0);
            for block in source.as_chunks::<128>().0 {
                let width = if sorted {
                    packer.num_bits_sorted(before, block)
                } else {
                    packer.num_bits(block)
                };
                target[at] = width;
                let target = &mut target[at + 1..];
                at += 1 + if sorted {
                    packer.compress_sorted(before, block, target, width)
                } else {
                    packer.compress(block, target, width)
                };
                before = block[127];
            }
            at
        },
        move |source, target| {
            let (mut at, mut before) = (0, 0);
            for block in target.as_chunks_mut::<128>().0 {
                let width = source[at];
                let source = &source[at + 1..];
                at += 1 + if sorted {
                    packer.decompress_sorted(before, source, block, width)
                } else {
                    packer.decompress(source, block, width)
                };
                before = block[127];
            }
        },
    )
}
