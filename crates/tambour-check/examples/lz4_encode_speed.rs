//! Size and speed of our LZ4 encoders against C lz4, level by level.
//!
//! `cargo run --release -p tambour-check --example lz4_encode_speed -- ROUNDS BLOCK_BYTES LEVELS FILE...`
//!
//! `LEVELS` is `all` or a list like `a1,a4,3,9,12,d`: accelerations, high levels, decode speed. Each of our levels is
//! compared with C lz4 at the same one (`d` with level 10). `shapes` in place of a file is one generated source of each
//! shape that the laws know. Both run in one process, in turns; every block is decoded by C lz4 and compared; figures are
//! medians of thread CPU time.
#![expect(clippy::print_stdout, reason = "a report for people")]
#![expect(clippy::cast_precision_loss, reason = "sizes of a report")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::generate::{Shape, bytes};
use tambour_check::oracle;
use tambour_kernel::lz4::{self, DECODE_VARIANTS, Encoder, Level};

/// Bytes of a generated source.
const SHAPE_BYTES: usize = 1 << 19;

/// A file or a generated source in blocks.
struct Column {
    name: String,
    blocks: Vec<Vec<u8>>,
}

impl Column {
    fn read(path: &str, block_bytes: usize) -> std::io::Result<Self> {
        let name = std::path::Path::new(path).file_name().unwrap_or_default();
        Ok(Self::new(name.to_string_lossy().into_owned(), &std::fs::read(path)?, block_bytes))
    }

    fn new(name: String, source: &[u8], block_bytes: usize) -> Self {
        Self { name, blocks: source.chunks(block_bytes).map(<[u8]>::to_vec).collect() }
    }

    /// What an argument stands for.
    fn all(argument: &str, block_bytes: usize) -> std::io::Result<Vec<Self>> {
        if argument != "shapes" {
            return Ok(vec![Self::read(argument, block_bytes)?]);
        }
        let column = |&shape: &Shape| {
            Self::new(format!("{shape:?}"), &bytes(shape, SHAPE_BYTES, 3), block_bytes)
        };
        Ok(Shape::ALL.iter().map(column).collect())
    }

    fn bytes(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }
}

/// Turns source into target; how many bytes it wrote.
type Encode = Box<dyn FnMut(&[u8], &mut [u8]) -> usize>;

fn ours(level: Level) -> Encode {
    let mut encoder = Encoder::new(level);
    Box::new(move |source, target| encoder.encode(source, target).unwrap_or(0))
}

fn theirs(level: Level) -> Encode {
    match level {
        Level::Fast { acceleration } => {
            let acceleration = u16::try_from(acceleration).unwrap_or(u16::MAX);
            Box::new(move |source, target| oracle::c_lz4_encode(source, target, acceleration))
        }
        Level::High(level) => high(level),
        Level::DecodeSpeed => high(10),
    }
}

fn high(level: u8) -> Encode {
    let mut encoder = oracle::CHigh::new(level);
    Box::new(move |source, target| encoder.encode(source, target))
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// What one encoder makes of a column.
struct Outcome {
    bytes: usize,
    seconds: f64,
    decode_seconds: f64,
}

/// Encodes all blocks with both, in turns.
fn measure(column: &Column, encoders: &mut [Encode; 2], rounds: usize) -> [Outcome; 2] {
    let longest = column.blocks.iter().map(Vec::len).max().unwrap_or(0);
    let mut target = vec![0; lz4::bound(longest)];
    let mut decoded = vec![0; longest];
    let mut encoded = [Vec::new(), Vec::new()];
    for (encode, encoded) in encoders.iter_mut().zip(&mut encoded) {
        for block in &column.blocks {
            let size = encode(block, &mut target);
            let decoded = &mut decoded[..block.len()];
            assert!(oracle::c_lz4_decode(&target[..size], decoded), "{} {size}", column.name);
            assert!(decoded == block, "{}", column.name);
            encoded.push(target[..size].to_vec());
        }
    }
    let (mut seconds, mut decode_seconds) = ([vec![], vec![]], [vec![], vec![]]);
    let decoder = DECODE_VARIANTS.best();
    for _ in 0..rounds {
        for (k, encode) in encoders.iter_mut().enumerate() {
            let start = cpu_seconds();
            for block in &column.blocks {
                black_box(encode(black_box(block), &mut target));
            }
            seconds[k].push(cpu_seconds() - start);
            let start = cpu_seconds();
            for (block, encoded) in column.blocks.iter().zip(&encoded[k]) {
                let result = decoder.decode(black_box(encoded), &mut decoded[..block.len()]);
                black_box(result).unwrap_or(());
            }
            decode_seconds[k].push(cpu_seconds() - start);
        }
    }
    let [ours, theirs] = seconds;
    let [ours_decode, theirs_decode] = decode_seconds;
    let bytes = encoded.map(|blocks| blocks.iter().map(Vec::len).sum());
    [
        Outcome { bytes: bytes[0], seconds: median(ours), decode_seconds: median(ours_decode) },
        Outcome { bytes: bytes[1], seconds: median(theirs), decode_seconds: median(theirs_decode) },
    ]
}

fn table(level: Level, columns: &[Column], rounds: usize) {
    println!("\n{level:?}: ratio, MB/s, and to C lz4: size, speed, decoding speed");
    let mut logs = [0.0; 3];
    let (mut total, mut total_theirs) = (0, 0);
    let (mut largest, mut slowest) = ((0.0, ""), (f64::INFINITY, ""));
    let mut encoders = [ours(level), theirs(level)];
    for column in columns {
        let [ours, theirs] = measure(column, &mut encoders, rounds);
        let ratios = [
            ours.bytes as f64 / theirs.bytes as f64,
            theirs.seconds / ours.seconds,
            theirs.decode_seconds / ours.decode_seconds,
        ];
        for (log, ratio) in logs.iter_mut().zip(ratios) {
            *log += ratio.ln();
        }
        if ratios[0] > largest.0 {
            largest = (ratios[0], &column.name);
        }
        if ratios[1] < slowest.0 {
            slowest = (ratios[1], &column.name);
        }
        total += ours.bytes;
        total_theirs += theirs.bytes;
        let ratio = column.bytes() as f64 / ours.bytes as f64;
        let speed = column.bytes() as f64 / ours.seconds / 1e6;
        let [size, time, decode] = ratios;
        println!("{:<28} {ratio:>7.2} {speed:>7.1}  {size:.4} {time:.2} {decode:.2}", column.name);
    }
    let [size, time, decode] = logs.map(|log| (log / columns.len() as f64).exp());
    let sum = total as f64 / total_theirs as f64;
    println!("{level:?} geometric mean: {size:.4} {time:.2} {decode:.2}; all bytes: {sum:.4}");
    println!(
        "{level:?} worst: size {:.4} ({}), speed {:.2} ({})",
        largest.0, largest.1, slowest.0, slowest.1
    );
}

/// The processor's name, family and model, as far as the system tells them.
fn machine() -> String {
    let all = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut lines = all.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| key.trim() == name);
        found.map_or("?", |(_, value)| value.trim()).to_owned()
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    format!("{name}, family {family} model {model}")
}

fn parse_level(text: &str) -> Result<Level, std::num::ParseIntError> {
    Ok(match text.strip_prefix('a') {
        Some(acceleration) => Level::Fast { acceleration: acceleration.parse()? },
        None if text == "d" => Level::DecodeSpeed,
        None => Level::High(text.parse()?),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let rounds = arguments.next().ok_or("rounds?")?.parse()?;
    let block_bytes = arguments.next().ok_or("block bytes?")?.parse()?;
    let mut levels = arguments.next().ok_or("levels?")?;
    if levels == "all" {
        "a1,a4,a16,3,4,5,6,7,8,9,10,11,12,d".clone_into(&mut levels);
    }
    let mut columns = Vec::new();
    for argument in arguments {
        columns.extend(Column::all(&argument, block_bytes)?);
    }
    println!("{}, blocks of {block_bytes} bytes, {} sources", machine(), columns.len());
    for level in levels.split(',') {
        table(parse_level(level)?, &columns, rounds);
    }
    Ok(())
}
