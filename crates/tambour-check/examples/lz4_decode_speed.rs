//! Speed of the LZ4 decoders and of the selector against C lz4 and `lz4_flex`, on files cut into blocks of 64 KiB, or as long
//! as `--block` says.
//!
//! `cargo run --release -p tambour-check --example lz4_decode_speed -- [--rounds=N] [--batch=N] [--cap=ISA] [--block=BYTES] [--brief] FILE...`
//!
//! All contenders run in one process, in turns, their order turning with the rounds; every output is compared with the
//! source; figures are medians of thread CPU time. The last table has geometric means of the ratio to C lz4 over all files,
//! over those that compress 1.05 to 60 times ("mid"), and over those above 80 the speed against a copy of the memory; and
//! what the selector lost against the best single variant of each file, chosen afterwards.
#![expect(clippy::print_stdout, reason = "a report for people")]

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use tambour_check::oracle;
use tambour_kernel::lz4::{self, Block, DECODE_VARIANTS, Decode, Policy, Selector};
use tambour_kernel::variant::{Isa, Runnable};

/// Blocks after which a cold batch starts anew.
const COLD: usize = 8;

/// What the command line says.
#[derive(Clone, Copy)]
struct Settings {
    rounds: usize,
    /// Blocks of a batch: each has a target of its own, so many of them do not stay in the near caches.
    batch: usize,
    cap: Isa,
    /// Bytes of a block before compression.
    block: usize,
    /// Only the variants of the level in use.
    brief: bool,
}

struct Column {
    name: String,
    blocks: Vec<Vec<u8>>,
    encoded: Vec<Vec<u8>>,
}

impl Column {
    fn new(path: &str, block: usize) -> std::io::Result<Self> {
        let bytes = std::fs::read(path)?;
        let blocks: Vec<Vec<u8>> = bytes.chunks(block).map(<[u8]>::to_vec).collect();
        let encode = |block: &Vec<u8>| {
            let mut target = vec![0; lz4::bound(block.len())];
            let size = oracle::c_lz4_encode(block, &mut target, 1);
            target.truncate(size);
            target
        };
        let encoded = blocks.iter().map(encode).collect();
        let name = std::path::Path::new(path).file_name().unwrap_or_default();
        Ok(Self { name: name.to_string_lossy().into_owned(), blocks, encoded })
    }

    fn bytes(&self) -> f64 {
        self.blocks.iter().map(Vec::len).sum::<usize>() as f64
    }

    fn ratio(&self) -> f64 {
        self.bytes() / self.encoded.iter().map(Vec::len).sum::<usize>() as f64
    }
}

/// What decodes a column.
#[derive(Clone, Copy)]
enum Way {
    /// A copy of the decoded bytes.
    Copy,
    /// One block at a time into one target.
    One(fn(&[u8], &mut [u8]) -> bool),
    /// The same, into the targets in turns, as a batch has them.
    OneInTurns(fn(&[u8], &mut [u8]) -> bool),
    Single(Runnable<Decode>),
    Pairs(Runnable<Decode>),
    /// A selector that starts cold with every column.
    Selected(Policy),
    /// A selector, this many blocks in a call, starting cold after this many blocks.
    Batches(usize),
}

struct Contender {
    name: String,
    way: Way,
}

/// Decodes a whole column into the targets.
fn decode(way: Way, settings: Settings, column: &Column, targets: &mut [Vec<u8>]) -> bool {
    let mut good = true;
    let pieces = column.encoded.iter().zip(&column.blocks);
    match way {
        Way::Copy => {
            for block in &column.blocks {
                black_box(&mut targets[0])[..block.len()].copy_from_slice(black_box(block));
            }
        }
        Way::One(run) => {
            pieces.for_each(|(source, block)| good &= run(source, &mut targets[0][..block.len()]));
        }
        Way::OneInTurns(run) => pieces.enumerate().for_each(|(k, (source, block))| {
            good &= run(source, &mut targets[k % settings.batch][..block.len()]);
        }),
        Way::Single(variant) => pieces.for_each(|(source, block)| {
            good &= variant.decode(source, &mut targets[0][..block.len()]).is_ok();
        }),
        Way::Selected(policy) => {
            let mut selector = Selector::new(policy, settings.cap, lz4::ticks);
            pieces.for_each(|(source, block)| {
                good &= selector.decode(source, &mut targets[0][..block.len()]).is_ok();
            });
        }
        Way::Pairs(variant) => {
            in_batches(column, targets, settings.batch, |_, blocks| variant.decode_batch(blocks));
        }
        Way::Batches(cold) => {
            let mut selector = Selector::new(Policy::Adaptive, settings.cap, lz4::ticks);
            in_batches(column, targets, cold.min(settings.batch), |start, blocks| {
                if start % cold == 0 {
                    selector.reset();
                }
                selector.decode_batch(blocks);
                assert!(blocks.iter().all(|block| block.result.is_ok()));
            });
        }
    }
    good
}

fn in_batches(
    column: &Column,
    targets: &mut [Vec<u8>],
    count: usize,
    mut run: impl FnMut(usize, &mut [Block<'_>]),
) {
    let sources = column.encoded.chunks(count).zip(column.blocks.chunks(count));
    for (k, (sources, blocks)) in sources.enumerate() {
        let pieces = sources.iter().zip(blocks).zip(&mut *targets);
        let mut batch: Vec<Block<'_>> = pieces
            .map(|((source, block), target)| Block::new(source, &mut target[..block.len()]))
            .collect();
        run(k * count, black_box(&mut batch));
    }
}

/// Every block of the column comes out right, whichever way.
fn check(contender: &Contender, settings: Settings, column: &Column, targets: &mut [Vec<u8>]) {
    for (source, block) in
        column.encoded.chunks(settings.batch).zip(column.blocks.chunks(settings.batch))
    {
        let part = Column { name: String::new(), blocks: block.to_vec(), encoded: source.to_vec() };
        for target in &mut *targets {
            target.fill(0xaa);
        }
        assert!(decode(contender.way, settings, &part, targets), "{}", contender.name);
        if let Way::Batches(usize::MAX) | Way::Pairs(_) = contender.way {
            for (target, block) in targets.iter().zip(&part.blocks) {
                assert!(target[..block.len()] == block[..], "{}", contender.name);
            }
        } else if let Way::One(_) | Way::Single(_) | Way::Selected(_) = contender.way {
            let last = &part.blocks[part.blocks.len() - 1];
            assert!(targets[0][..last.len()] == last[..], "{}", contender.name);
        }
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Median seconds of each contender.
fn time(contenders: &[Contender], settings: Settings, column: &Column) -> Vec<f64> {
    let mut targets = vec![vec![0; settings.block]; settings.batch];
    let mut seconds = vec![Vec::new(); contenders.len()];
    for contender in contenders {
        check(contender, settings, column, &mut targets);
    }
    for round in 0..settings.rounds {
        for k in 0..contenders.len() {
            let k = (k + round * 7) % contenders.len();
            let start = cpu_seconds();
            black_box(decode(contenders[k].way, settings, black_box(column), &mut targets));
            seconds[k].push(cpu_seconds() - start);
        }
    }
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    seconds.into_iter().map(median).collect()
}

fn contenders(settings: Settings) -> Vec<Contender> {
    let new = |name: &str, way| Contender { name: name.to_owned(), way };
    let mut list = vec![
        new("C lz4", Way::One(oracle::c_lz4_decode)),
        new(
            "lz4_flex",
            Way::One(|source, target| lz4_flex::block::decompress_into(source, target).is_ok()),
        ),
        new("memcpy", Way::Copy),
        new("C lz4, in turns", Way::OneInTurns(oracle::c_lz4_decode)),
    ];
    let level = DECODE_VARIANTS.best_at_most(settings.cap).isa();
    for variant in DECODE_VARIANTS.available() {
        if if settings.brief { variant.isa() == level } else { variant.isa() <= settings.cap } {
            list.push(new(variant.name(), Way::Single(variant)));
            if !variant.name().starts_with("copy") {
                list.push(new(&format!("{} x2", variant.name()), Way::Pairs(variant)));
            }
        }
    }
    list.push(new("adaptive", Way::Selected(Policy::Adaptive)));
    list.push(new("thompson", Way::Selected(Policy::Thompson)));
    list.push(new("batch", Way::Batches(usize::MAX)));
    list.push(new("batch, cold 8", Way::Batches(COLD)));
    list
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value.ln(), n + 1.0));
    f64::exp(sum / count)
}

/// A column, its ratio, and the seconds of each contender.
struct Row {
    name: String,
    ratio: f64,
    seconds: Vec<f64>,
}

impl Row {
    fn against(&self, k: usize, reference: usize) -> f64 {
        self.seconds[reference] / self.seconds[k]
    }

    fn is_mid(&self) -> bool {
        (1.05..=60.0).contains(&self.ratio)
    }
}

fn summary(contenders: &[Contender], rows: &[Row]) {
    println!("\nx C lz4; then x C lz4 into as many targets as a batch has");
    println!("{:<20} {:>6} {:>6} {:>6}  {:>6} {:>6}", "", "all", "mid", "worst", "all", "mid");
    for (k, contender) in contenders.iter().enumerate() {
        let means = |reference: usize| {
            let all = mean(rows.iter().map(|row| row.against(k, reference)));
            let mid = rows.iter().filter(|row| row.is_mid());
            (all, mean(mid.map(|row| row.against(k, reference))))
        };
        let ((all, mid), (all_turns, mid_turns)) = (means(0), means(3));
        let worst = rows.iter().min_by(|a, b| a.against(k, 0).total_cmp(&b.against(k, 0)));
        let (least, name) = worst.map_or((0.0, ""), |row| (row.against(k, 0), row.name.as_str()));
        print!("{:<20} {all:>6.3} {mid:>6.3} {least:>6.2}", contender.name);
        println!("  {all_turns:>6.3} {mid_turns:>6.3}  {name}");
    }
    let find = |name: &str| contenders.iter().position(|contender| contender.name == name);
    for (name, paired) in [("adaptive", false), ("batch", true), ("batch, cold 8", true)] {
        let Some(k) = find(name) else { continue };
        let fixed = |contender: &Contender| match contender.way {
            Way::Single(_) => !paired,
            Way::Pairs(_) => paired,
            _ => false,
        };
        let best = |row: &Row| {
            let times = contenders.iter().zip(&row.seconds);
            times.filter(|(one, _)| fixed(one)).map(|(_, s)| *s).fold(f64::MAX, f64::min)
        };
        let regret = |row: &Row| row.seconds[k] / best(row);
        let most = rows.iter().max_by(|a, b| regret(a).total_cmp(&regret(b)));
        let (most, file) = most.map_or((0.0, ""), |row| (regret(row), row.name.as_str()));
        let all = mean(rows.iter().map(regret));
        let mid = mean(rows.iter().filter(|row| row.is_mid()).map(regret));
        println!("{name}: time / best fixed: all {all:.3}, mid {mid:.3}, most {most:.2} ({file})");
        let flex = mean(rows.iter().map(|row| row.against(k, 1)));
        let flex_mid = mean(rows.iter().filter(|row| row.is_mid()).map(|row| row.against(k, 1)));
        println!("{name}: x lz4_flex: all {flex:.2}, mid {flex_mid:.2}");
        for row in rows.iter().filter(|row| row.ratio > 80.0) {
            println!("{name}: x memcpy: {:.2} ({})", row.against(k, 2), row.name);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings =
        Settings { rounds: 5, batch: 16, cap: Isa::best(), block: 64 << 10, brief: false };
    let mut rows: Vec<Row> = Vec::new();
    for argument in std::env::args().skip(1) {
        if let Some(text) = argument.strip_prefix("--rounds=") {
            settings.rounds = text.parse()?;
        } else if let Some(text) = argument.strip_prefix("--batch=") {
            settings.batch = text.parse::<usize>()?.max(2);
        } else if let Some(text) = argument.strip_prefix("--cap=") {
            let level = Isa::named(text).filter(|isa| isa.is_available());
            settings.cap = level.ok_or("no such level here")?;
        } else if let Some(text) = argument.strip_prefix("--block=") {
            settings.block = text.parse::<usize>()?.max(1);
        } else if argument == "--brief" {
            settings.brief = true;
        } else {
            let list = contenders(settings);
            if rows.is_empty() {
                let names: Vec<_> = list.iter().map(|one| one.name.as_str()).collect();
                println!("GB/s: {}", names.join(", "));
            }
            let column = Column::new(&argument, settings.block)?;
            let seconds = time(&list, settings, &column);
            let bytes = column.bytes();
            let speeds: Vec<_> =
                seconds.iter().map(|s| format!("{:.2}", bytes / s / 1e9)).collect();
            println!("{:<28} {:>7.2} {}", column.name, column.ratio(), speeds.join(" "));
            rows.push(Row { ratio: column.ratio(), name: column.name, seconds });
        }
    }
    summary(&contenders(settings), &rows);
    Ok(())
}
