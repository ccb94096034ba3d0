//! Speed of the column codecs' decoders: every kernel variant, and whole blocks, against naive and scalar ones.
//!
//! `cargo run --release -p tambour-check --example column_speed [-- ROUNDS]`
//!
//! Contenders run in one process, in turns; every output is compared; figures are medians of thread CPU time in GB/s of
//! uncompressed bytes. Blocks are 64 KiB of a column of 4 MiB, so that source and target stay in the cache.
#![expect(clippy::print_stdout, reason = "a report for people")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::generate::Random;
use tambour_check::naive;
use tambour_codec::block::{Block, Decoder, Encoder};
use tambour_codec::codec::{Class, Element};
use tambour_kernel::column::{Width, delta};
use tambour_kernel::variant::Isa;

const COLUMN_BYTES: usize = 4 << 20;
const BLOCK_BYTES: usize = 64 << 10;

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A column and the codecs to try on it.
struct Column {
    name: &'static str,
    element: Element,
    bytes: Vec<u8>,
    specs: &'static [&'static str],
}

fn column(
    name: &'static str,
    (class, width): (Class, u8),
    specs: &'static [&'static str],
    mut value: impl FnMut(usize) -> u64,
) -> Column {
    let count = COLUMN_BYTES / usize::from(width);
    let bytes = (0..count).flat_map(|k| value(k).to_le_bytes().into_iter().take(width.into()));
    Column { name, element: Element { width, class }, bytes: bytes.collect(), specs }
}

fn columns() -> Vec<Column> {
    let (mut random, mut clock, mut ids, mut walk) = (Random::new(1), 1_700_000_000_000, 0, 0.0);
    let mut gaps = Random::new(2);
    let mut decimals = Random::new(3);
    let mut steps = Random::new(4);
    vec![
        column(
            "ids, sorted",
            (Class::Unsigned, 4),
            &["Delta", "DoubleDelta", "T64", "T64('bit')", "Delta, T64", "Delta, LZ4", "GCD"],
            |_| {
                ids += 1 + random.number() % 80;
                ids
            },
        ),
        column("gaps", (Class::Unsigned, 4), &["T64", "T64, LZ4", "Gorilla(4)"], |_| {
            gaps.number() % 400
        }),
        column(
            "clock in ms",
            (Class::Signed, 8),
            &["Delta", "DoubleDelta", "T64", "T64('bit')", "GCD"],
            |_| {
                clock += 997 + steps.number() % 7;
                clock
            },
        ),
        column("clock in s", (Class::Unsigned, 4), &["DoubleDelta", "Delta, LZ4"], |k| {
            1_700_000_000 + k as u64
        }),
        column("bytes", (Class::Unsigned, 1), &["Delta", "T64"], |k| (k as u64 * 37) % 11),
        column("words", (Class::Signed, 2), &["Delta", "T64", "GCD"], |k| {
            ((k as u64 * 37) % 301) * 100
        }),
        column("decimals", (Class::Float, 8), &["ALP", "Gorilla", "FPC", "ALP, LZ4"], |_| {
            walk += (decimals.number() % 11) as f64 / 100.0 - 0.05;
            f64::to_bits((walk * 100.0_f64).round() / 100.0)
        }),
        column("slow floats", (Class::Float, 8), &["Gorilla", "FPC"], |k| {
            f64::to_bits(20.0 + (k / 9) as f64 / 4.0)
        }),
        column("singles", (Class::Float, 4), &["ALP", "Gorilla", "FPC"], |k| {
            u64::from(f32::to_bits((k * 7 % 1000) as f32 / 100.0))
        }),
    ]
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Decodes all blocks of a column into one target; the median of the time for it.
fn measure(blocks: &[Vec<u8>], rounds: usize, mut run: impl FnMut(&Block<'_>, &mut [u8])) -> f64 {
    let parsed: Vec<_> = blocks.iter().filter_map(|block| Block::parse(block).ok()).collect();
    let mut target = vec![0; BLOCK_BYTES];
    let mut seconds = Vec::new();
    for _ in 0..rounds {
        let start = cpu_seconds();
        for block in &parsed {
            run(black_box(block), &mut target);
            black_box(&target);
        }
        seconds.push(cpu_seconds() - start);
    }
    median(seconds)
}

fn report(column: &Column, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    for spec in column.specs {
        let mut encoder = Encoder::new(&spec.parse()?, column.element)?;
        let mut encoded_bytes = 0;
        let mut blocks = Vec::new();
        let start = cpu_seconds();
        for piece in column.bytes.chunks(BLOCK_BYTES) {
            let mut block = Vec::new();
            encoder.encode(piece, &mut block)?;
            encoded_bytes += block.len();
            blocks.push(block);
        }
        let encode = column.bytes.len() as f64 / (cpu_seconds() - start) / 1e9;
        let mut decoder = Decoder::new();
        for (block, piece) in blocks.iter().zip(column.bytes.chunks(BLOCK_BYTES)) {
            let mut target = vec![0xaa; piece.len()];
            decoder.decode(&Block::parse(block)?, &mut target)?;
            assert!(target == piece, "{spec}: other bytes");
        }
        let ours = measure(&blocks, rounds, |block, target| {
            let _verdict = decoder.decode(block, target);
        });
        let naive = naive::METHODS.contains(&blocks[0][16]).then(|| {
            measure(&blocks[..4], 3, |block, _| {
                black_box(naive::decode(block.header.method, block.payload, BLOCK_BYTES));
            })
        });
        let speed = |seconds: f64, blocks: usize| (blocks * BLOCK_BYTES) as f64 / seconds / 1e9;
        let naive = naive.map_or(String::new(), |naive| format!("{:8.3}", speed(naive, 4)));
        let ratio = column.bytes.len() as f64 / encoded_bytes as f64;
        println!(
            "{:<14} {spec:<14} {ratio:7.2} {encode:8.2} {:9.2} {naive}",
            column.name,
            speed(ours, blocks.len()),
        );
    }
    Ok(())
}

/// The variants of the running sum, side by side.
fn sums(rounds: usize) {
    let source = vec![3; BLOCK_BYTES];
    for &width in Width::ALL {
        let mut line = format!("sums of {width:?}:");
        for variant in delta::DECODE_VARIANTS.available() {
            let mut target = vec![0; BLOCK_BYTES];
            let mut seconds = Vec::new();
            for _ in 0..rounds {
                let start = cpu_seconds();
                for _ in 0..64 {
                    variant.decode(width, black_box(&source), &mut target);
                    black_box(&target);
                }
                seconds.push(cpu_seconds() - start);
            }
            let speed = (64 * BLOCK_BYTES) as f64 / median(seconds) / 1e9;
            line += &format!("  {} {speed:.2}", variant.name());
        }
        println!("{line}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |text| text.parse())?;
    println!("{rounds} rounds, {} at best, GB/s of uncompressed bytes", Isa::best());
    println!(
        "{:<14} {:<14} {:>7} {:>8} {:>9} {:>8}",
        "column", "codec", "ratio", "encode", "decode", "naive"
    );
    for column in columns() {
        report(&column, rounds)?;
    }
    sums(rounds);
    Ok(())
}
