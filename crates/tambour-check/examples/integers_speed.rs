//! Speed and size of the integer kernels against other crates, on the data of the ticket and on document ids.
//!
//! `cargo run --release -p tambour-check --example integers_speed [-- ROUNDS [VALUES]]`
//!
//! All contenders run in one process, in turns; every output is compared with the source; figures are medians of thread CPU
//! time in million values per second. `x` is the ratio to the first contender of the table.
#![expect(clippy::print_stdout, reason = "a report for people")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::integer::{Spread, values};
use tambour_int::{Reader, Writer};
use tambour_kernel::integer::encode_length;
use tambour_kernel::integer::leb128::{Form, Word};
use tambour_kernel::integer::packed::{self, Layout, Series};
use tambour_kernel::integer::stream_vbyte::Lengths;

/// Encodes values; the number of bytes.
type Encode<'a> = Box<dyn FnMut(&[u32], &mut [u8]) -> usize + 'a>;
/// Decodes all of the target.
type Decode<'a> = Box<dyn FnMut(&[u8], &mut [u32]) + 'a>;

/// A way to encode and a way to decode.
struct Contender<'a> {
    name: String,
    encode: Encode<'a>,
    decode: Decode<'a>,
    bytes: Vec<u8>,
    encode_seconds: Vec<f64>,
    decode_seconds: Vec<f64>,
}

impl<'a> Contender<'a> {
    fn new(
        name: impl Into<String>,
        encode: impl FnMut(&[u32], &mut [u8]) -> usize + 'a,
        decode: impl FnMut(&[u8], &mut [u32]) + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            encode: Box::new(encode),
            decode: Box::new(decode),
            bytes: Vec::new(),
            encode_seconds: Vec::new(),
            decode_seconds: Vec::new(),
        }
    }
}

fn median(seconds: &[f64]) -> f64 {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// How often a round repeats its work: a million values.
fn repeats(count: usize) -> usize {
    (1_usize << 20).div_ceil(count)
}

/// Checks all contenders, then times them in turns.
fn time(column: &[u32], contenders: &mut [Contender<'_>], rounds: usize) {
    let mut room = vec![0; 8 * column.len() + 4096];
    let mut target = vec![0; column.len()];
    for contender in &mut *contenders {
        let length = (contender.encode)(column, &mut room);
        contender.bytes = room[..length].to_vec();
        // Some peers read beyond the end.
        let mut padded = contender.bytes.clone();
        padded.resize(length + 64, 0);
        target.fill(0xaaaa_aaaa);
        (contender.decode)(&padded[..length], &mut target);
        assert!(target == column, "{}", contender.name);
    }
    for _ in 0..rounds {
        for contender in &mut *contenders {
            let start = cpu_seconds();
            for _ in 0..repeats(column.len()) {
                black_box((contender.encode)(black_box(column), &mut room));
            }
            contender.encode_seconds.push(cpu_seconds() - start);
            let start = cpu_seconds();
            for _ in 0..repeats(column.len()) {
                (contender.decode)(black_box(&contender.bytes), &mut target);
                black_box(&target);
            }
            contender.decode_seconds.push(cpu_seconds() - start);
        }
    }
}

fn report(title: &str, column: &[u32], mut contenders: Vec<Contender<'_>>, rounds: usize) {
    time(column, &mut contenders, rounds);
    println!("\n{title:<34} {:>6} {:>8} {:>6} {:>8} {:>6}", "bits", "encode", "x", "decode", "x");
    let work = (column.len() * repeats(column.len())) as f64 / 1e6;
    let first = [median(&contenders[0].encode_seconds), median(&contenders[0].decode_seconds)];
    for contender in &contenders {
        let seconds = [median(&contender.encode_seconds), median(&contender.decode_seconds)];
        let bits = 8.0 * contender.bytes.len() as f64 / column.len() as f64;
        print!("{:<34} {bits:>6.2}", contender.name);
        for (first, seconds) in first.iter().zip(seconds) {
            print!(" {:>8.0} {:>6.2}", work / seconds, first / seconds);
        }
        println!();
    }
}

fn varints<'a>() -> Vec<Contender<'a>> {
    let mut contenders = vec![Contender::new(
        "prost",
        |source, mut target| {
            let room = target.len();
            for &value in source {
                prost::encoding::encode_varint(value.into(), &mut target);
            }
            room - target.len()
        },
        |mut source, target| {
            for value in target {
                *value = prost::encoding::decode_varint(&mut source).map_or(0, u32::truncate);
            }
        },
    )];
    contenders.push(Contender::new(
        "single values (Writer, Reader)",
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
    ));
    for decoder in u32::decoders().available() {
        let encoder = u32::encoders().named(decoder.name());
        let encoder = encoder.unwrap_or_else(|| u32::encoders().best());
        contenders.push(Contender::new(
            format!("LEB128 {}", decoder.name()),
            move |source, target| encoder.encode(source, target).unwrap_or(0),
            move |source, target| {
                let _length = decoder.decode(source, target, Form::Minimal);
            },
        ));
    }
    for decoder in encode_length::DECODE_VARIANTS.available() {
        contenders.push(Contender::new(
            format!("encode_length {}", decoder.name()),
            |source, target| encode_length::encode(source, target).unwrap_or(0),
            move |source, target| {
                let _length = decoder.decode(source, target);
            },
        ));
    }
    contenders
}

fn stream_vbytes<'a>() -> Vec<Contender<'a>> {
    use streamvbyte64::{Coder, Coder1234};
    let coder = Coder1234::new();
    let controls = |count: usize| count.div_ceil(4);
    let mut contenders = vec![Contender::new(
        "streamvbyte64",
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
        for decoder in lengths.decoders().available() {
            let encoder = lengths.encoders().named(decoder.name());
            let encoder = encoder.unwrap_or_else(|| lengths.encoders().best());
            contenders.push(Contender::new(
                format!("StreamVByte {lengths:?} {}", decoder.name()),
                move |source, target| encoder.encode(source, target).unwrap_or(0),
                move |source, target| {
                    let _length = decoder.decode(source, target);
                },
            ));
        }
    }
    contenders
}

/// Blocks of 128 by the `bitpacking` crate, sorted or not, with a byte of width each.
fn bitpacking<'a>(sorted: bool) -> Contender<'a> {
    use bitpacking::{BitPacker, BitPacker4x};
    let packer = BitPacker4x::new();
    Contender::new(
        "bitpacking 4x",
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

fn packings<'a>(series: Series) -> Vec<Contender<'a>> {
    let mut contenders = vec![bitpacking(series == Series::Differences)];
    for layout in Layout::ALL {
        for decoder in layout.decoders(series).available() {
            contenders.push(Contender::new(
                format!("{layout:?} {}", decoder.name()),
                move |source, target| packed::encode(source, target, layout, series).unwrap_or(0),
                move |source, target| {
                    let _length = decoder.decode(source, target);
                },
            ));
        }
    }
    contenders
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(15), |text| text.parse())?;
    let count: usize = arguments.next().map_or(Ok(65_536), |text| text.parse())?;
    println!("{rounds} rounds, {count} values, million values per second");
    for spread in [Spread::Ticket, Spread::Reporter, Spread::Byte, Spread::LogUniform, Spread::Gaps]
    {
        let column = values(spread, count, 11);
        report(&format!("varints, {spread:?}"), &column, varints(), rounds);
        report(&format!("StreamVByte, {spread:?}"), &column, stream_vbytes(), rounds);
        report(&format!("packed, {spread:?}"), &column, packings(Series::Values), rounds);
    }
    let sum = |sum: &mut u32, gap: u32| {
        *sum = sum.wrapping_add(gap);
        Some(*sum)
    };
    let ids: Vec<u32> = values(Spread::Gaps, count, 11).into_iter().scan(0, sum).collect();
    report("packed, sorted ids", &ids, packings(Series::Differences), rounds);
    Ok(())
}
