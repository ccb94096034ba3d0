//! Speed of the LZ4 kernels against C lz4 and `lz4_flex`, on generated columns.
//!
//! `cargo run --release -p tambour-check --example lz4_speed [-- ROUNDS [BLOCK_BYTES [FILE...]]]`
//!
//! All contenders run in one process, in turns; every output is compared with the source; figures are medians of thread CPU
//! time in GB/s of uncompressed bytes, and ratios to C lz4.
#![expect(clippy::print_stdout, reason = "a report for people")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::generate::{Shape, bytes};
use tambour_check::oracle;
use tambour_kernel::hash::city_hash_128;
use tambour_kernel::lz4::{self, DECODE_VARIANTS};

/// Uncompressed bytes of a generated column.
const COLUMN_BYTES: usize = 8 << 20;

/// A column in blocks.
struct Column {
    name: String,
    blocks: Vec<Vec<u8>>,
    /// As C lz4 encodes them.
    encoded: Vec<Vec<u8>>,
}

impl Column {
    fn new(name: String, bytes: &[u8], block_bytes: usize) -> Self {
        let blocks: Vec<Vec<u8>> = bytes.chunks(block_bytes).map(<[u8]>::to_vec).collect();
        let encode = |block: &Vec<u8>| {
            let mut target = vec![0; lz4::bound(block.len())];
            let size = oracle::c_lz4_encode(block, &mut target, 1);
            target.truncate(size);
            target
        };
        let encoded = blocks.iter().map(encode).collect();
        Self { name, blocks, encoded }
    }

    fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    fn encoded_bytes(&self) -> usize {
        self.encoded.iter().map(Vec::len).sum()
    }
}

/// Turns source into target; how many bytes it wrote.
type Work<'a> = Box<dyn FnMut(&[u8], &mut [u8]) -> usize + 'a>;

/// A named way to do the work of a block.
struct Contender<'a> {
    name: &'a str,
    run: Work<'a>,
    seconds: Vec<f64>,
    written: usize,
}

impl<'a> Contender<'a> {
    fn new(name: &'a str, run: impl FnMut(&[u8], &mut [u8]) -> usize + 'a) -> Self {
        Self { name, run: Box::new(run), seconds: Vec::new(), written: 0 }
    }

    fn median(&self) -> f64 {
        let mut seconds = self.seconds.clone();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds of one process")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9;
    seconds
}

fn decoders<'a>() -> Vec<Contender<'a>> {
    let mut contenders = vec![Contender::new("C lz4", |source, target| {
        if oracle::c_lz4_decode(source, target) { target.len() } else { 0 }
    })];
    for variant in DECODE_VARIANTS.available() {
        contenders.push(Contender::new(variant.name(), move |source, target| {
            variant.decode(source, target).map_or(0, |()| target.len())
        }));
    }
    contenders.push(Contender::new("lz4_flex", |source, target| {
        lz4_flex::block::decompress_into(source, target).unwrap_or(0)
    }));
    contenders
}

fn encoders<'a>() -> Vec<Contender<'a>> {
    let mut table = Box::new(lz4::Table::new());
    vec![
        Contender::new("C lz4", |source, target| oracle::c_lz4_encode(source, target, 1)),
        Contender::new("fast", move |source, target| {
            lz4::encode(source, target, &mut table, 1).unwrap_or(0)
        }),
        Contender::new("lz4_flex", |source, target| {
            lz4_flex::block::compress_into(source, target).unwrap_or(0)
        }),
    ]
}

/// Decodes every block into the same target, which stays in the cache.
fn time_decoders(column: &Column, contenders: &mut [Contender<'_>], rounds: usize) {
    let longest = column.blocks.iter().map(Vec::len).max().unwrap_or(0);
    let mut target = vec![0; longest];
    for contender in &mut *contenders {
        for (source, block) in column.encoded.iter().zip(&column.blocks) {
            target.fill(0xaa);
            let written = (contender.run)(source, &mut target[..block.len()]);
            assert!(written == block.len() && target[..written] == block[..], "{}", contender.name);
        }
    }
    for _ in 0..rounds {
        for contender in &mut *contenders {
            let start = cpu_seconds();
            for (source, block) in column.encoded.iter().zip(&column.blocks) {
                black_box((contender.run)(black_box(source), &mut target[..block.len()]));
            }
            contender.seconds.push(cpu_seconds() - start);
        }
    }
}

/// Encodes every block into the same target.
fn time_encoders(column: &Column, contenders: &mut [Contender<'_>], rounds: usize) {
    let longest = column.blocks.iter().map(Vec::len).max().unwrap_or(0);
    let room = lz4::bound(longest).max(lz4_flex::block::get_maximum_output_size(longest));
    let mut target = vec![0; room];
    let mut decoded = vec![0; longest];
    for contender in &mut *contenders {
        for block in &column.blocks {
            let size = (contender.run)(block, &mut target);
            let decoded = &mut decoded[..block.len()];
            assert!(oracle::c_lz4_decode(&target[..size], decoded), "{}", contender.name);
            assert!(decoded == block, "{}", contender.name);
            contender.written += size;
        }
    }
    for _ in 0..rounds {
        for contender in &mut *contenders {
            let start = cpu_seconds();
            for block in &column.blocks {
                black_box((contender.run)(black_box(block), &mut target));
            }
            contender.seconds.push(cpu_seconds() - start);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes of a report")]
fn report(column: &Column, contenders: &[Contender<'_>], logs: &mut [f64], sizes: bool) {
    print!("{:<14} {:>7.2}", column.name, column.bytes() as f64 / column.encoded_bytes() as f64);
    let reference = contenders[0].median();
    for (contender, log) in contenders.iter().zip(logs) {
        let ratio = reference / contender.median();
        *log += ratio.ln();
        let speed = column.bytes() as f64 / contender.median() / 1e9;
        print!("  {speed:>8.2} {ratio:>5.2}");
        if sizes {
            print!(" {:>6.3}", contender.written as f64 / column.encoded_bytes() as f64);
        }
    }
    println!();
}

#[expect(clippy::cast_precision_loss, reason = "a few columns")]
fn table(
    title: &str,
    columns: &[Column],
    make: fn() -> Vec<Contender<'static>>,
    time: fn(&Column, &mut [Contender<'_>], usize),
    rounds: usize,
) {
    let sizes = title == "encode";
    print!("\n{title:<14} {:>7}", "ratio");
    let names = make();
    for contender in &names {
        print!("  {:>8} {:>5}", contender.name, "x");
        if sizes {
            print!(" {:>6}", "size");
        }
    }
    println!();
    let mut logs = vec![0.0; names.len()];
    for column in columns {
        let mut contenders = make();
        time(column, &mut contenders, rounds);
        report(column, &contenders, &mut logs, sizes);
    }
    let means = logs.iter().map(|log| format!("{:.2}", (log / columns.len() as f64).exp()));
    println!("geometric mean of x: {}", means.collect::<Vec<_>>().join(", "));
}

#[expect(clippy::cast_precision_loss, reason = "sizes of a report")]
fn time_hash(columns: &[Column], rounds: usize) {
    let mut speeds = Vec::new();
    for _ in 0..rounds {
        let start = cpu_seconds();
        for block in columns.iter().flat_map(|column| &column.blocks) {
            black_box(city_hash_128(black_box(block)));
        }
        let bytes: usize = columns.iter().map(Column::bytes).sum();
        speeds.push(bytes as f64 / (cpu_seconds() - start) / 1e9);
    }
    speeds.sort_by(f64::total_cmp);
    println!("\nCityHash128: {:.2} GB/s", speeds[speeds.len() / 2]);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let block_bytes: usize = arguments.next().map_or(Ok(65_536), |text| text.parse())?;
    let mut columns = Vec::new();
    for path in arguments {
        let name = std::path::Path::new(&path).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        columns.push(Column::new(name, &std::fs::read(path)?, block_bytes));
    }
    if columns.is_empty() {
        for &shape in Shape::ALL {
            let source = bytes(shape, COLUMN_BYTES, 11);
            columns.push(Column::new(format!("{shape:?}"), &source, block_bytes));
        }
    }
    println!("{rounds} rounds, blocks of {block_bytes} bytes, GB/s of uncompressed bytes");
    table("decode", &columns, decoders, time_decoders, rounds);
    table("encode", &columns, encoders, time_encoders, rounds);
    time_hash(&columns, rounds);
    Ok(())
}
