//! Does a dictionary pay? Ratio and random reads of the user's own records, over sizes of blocks, dictionaries and levels.
//!
//! Half of a sample trains the dictionaries, the other half is measured: nothing is encoded with what it taught. Blocks are
//! frames of libzstd, as most stores have them; a read decodes the block that holds the record. Beside them, the record
//! store's own way: LZ4 after a dictionary, record by record.

use crate::clock::thread_seconds;
use crate::random::Random;
use crate::{
    Axis, Chart, Fact, Figure, Line, Lines, Machine, Page, ReportError, Section, Table, Tone,
};
use tambour_kernel::lz4::{self, Prepared, SHORT_MARGIN};
use tambour_record::{Batch, Dictionary};
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Sizes of blocks; 0 is a record.
const BLOCKS: [usize; 7] = [0, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];
/// Sizes of dictionaries; 0 is none.
const DICTIONARIES: [usize; 4] = [0, 16 << 10, 64 << 10, 112 << 10];
/// Levels of libzstd.
const LEVELS: [i32; 3] = [1, 3, 9];
/// Most raw bytes of the sample.
const SAMPLE_BYTES: usize = 16 << 20;
/// Processor time that the reads of a cell may take, in seconds.
const CELL_SECONDS: f64 = 0.05;
/// A dictionary that saves less than this part is not worth having.
const GAIN: f64 = 0.03;

/// A way to keep records, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Raw bytes of a block; 0 for single records.
    pub block_bytes: usize,
    /// Bytes of the dictionary; 0 for none.
    pub dictionary_bytes: usize,
    /// Level of libzstd; `None` for the record store's LZ4.
    pub level: Option<i32>,
    /// Raw bytes by stored bytes, two bytes of index per block and the dictionary included.
    pub ratio: f64,
    /// Single records read per second, in random order.
    pub reads: f64,
}

/// All ways.
#[derive(Clone, Debug, Default)]
pub struct TradeOffs {
    /// One per way.
    pub cells: Vec<Cell>,
    /// Records that were measured, and their bytes.
    pub records: usize,
    /// Their bytes.
    pub raw_bytes: usize,
}

/// Measures all ways on the records, of which a sample is taken when they are many.
pub fn trade_offs(
    records: &Batch,
    observe: &mut dyn FnMut(usize, usize),
) -> Result<TradeOffs, ReportError> {
    let (train, test) = halves(records);
    if test.len() < 32 {
        return Err(ReportError::NoInput {
            what: "fewer than 64 records: too few to measure".to_owned(),
        });
    }
    let lengths: Vec<usize> = train.lengths().collect();
    let dictionaries = DICTIONARIES.map(|bytes| Dictionary::train(train.bytes(), &lengths, bytes));
    let total = BLOCKS.len() * DICTIONARIES.len() * LEVELS.len();
    let mut found =
        TradeOffs { cells: Vec::new(), records: test.len(), raw_bytes: test.bytes().len() };
    for block_bytes in BLOCKS {
        for (dictionary, wanted) in dictionaries.iter().zip(DICTIONARIES) {
            for level in LEVELS {
                observe(found.cells.len(), total);
                // Too little to train from: the column would repeat that without one.
                if wanted == 0 || !dictionary.is_empty() {
                    found.cells.push(zstd_cell(&test, block_bytes, dictionary, level)?);
                }
            }
        }
    }
    for dictionary in [&dictionaries[0], &dictionaries[2]] {
        found.cells.push(lz4_cell(&test, dictionary)?);
    }
    Ok(found)
}

/// Runs of neighbours, by turns for the one and for the other.
fn halves(records: &Batch) -> (Batch, Batch) {
    const RUN: usize = 512;
    let every = records.bytes().len().div_ceil(2 * SAMPLE_BYTES).max(1);
    let (mut train, mut test) = (Batch::default(), Batch::default());
    // Few records are taken by turns, one each.
    let run = RUN.min(records.len() / 64).max(1);
    for (number, first) in (0..records.len()).step_by(run * every).enumerate() {
        let half = if number % 2 == 0 { &mut train } else { &mut test };
        for record in first..records.len().min(first + run) {
            half.push(records.get(record).unwrap_or_default(), None);
        }
    }
    (train, test)
}

/// Blocks side by side, and which records they hold.
struct Blocks {
    bytes: Vec<u8>,
    /// Where a block ends, and the first record after it.
    ends: Vec<(usize, usize)>,
    /// Block of each record.
    block_of: Vec<usize>,
}

fn zstd_cell(
    records: &Batch,
    block_bytes: usize,
    dictionary: &Dictionary,
    level: i32,
) -> Result<Cell, ReportError> {
    let failed = |code: usize| ReportError::Library {
        library: "libzstd",
        reason: zstd_safe::get_error_name(code).to_owned(),
    };
    let mut encoder = CCtx::create();
    let encoding = CDict::create(dictionary.bytes(), level);
    let mut blocks = Blocks { bytes: Vec::new(), ends: Vec::new(), block_of: Vec::new() };
    let (mut block, mut frame) = (Vec::new(), Vec::new());
    let mut longest = 0;
    for (number, record) in records.iter().enumerate() {
        block.extend_from_slice(record);
        blocks.block_of.push(blocks.ends.len());
        if block.len() >= block_bytes || number + 1 == records.len() {
            frame.clear();
            frame.reserve(zstd_safe::compress_bound(block.len()));
            if dictionary.is_empty() {
                encoder.compress(&mut frame, &block, level).map_err(failed)?;
            } else {
                encoder.compress_using_cdict(&mut frame, &block, &encoding).map_err(failed)?;
            }
            blocks.bytes.extend_from_slice(&frame);
            blocks.ends.push((blocks.bytes.len(), number + 1));
            longest = longest.max(block.len());
            block.clear();
        }
    }
    let mut decoder = DCtx::create();
    let decoding = DDict::create(dictionary.bytes());
    let mut target = Vec::with_capacity(longest);
    let mut read = |record: usize| {
        let block = blocks.block_of[record];
        let start = block.checked_sub(1).map_or(0, |before| blocks.ends[before].0);
        let frame = &blocks.bytes[start..blocks.ends[block].0];
        target.clear();
        let done = if dictionary.is_empty() {
            decoder.decompress(&mut target, frame)
        } else {
            decoder.decompress_using_ddict(&mut target, frame, &decoding)
        };
        done.map_err(failed)
    };
    let reads = rate(records.len(), &mut read)?;
    let stored = blocks.bytes.len() + 2 * blocks.ends.len() + dictionary.bytes().len();
    let ratio = records.bytes().len() as f64 / stored.max(1) as f64;
    let dictionary_bytes = dictionary.bytes().len();
    Ok(Cell { block_bytes, dictionary_bytes, level: Some(level), ratio, reads })
}

/// What the record store does: LZ4 after the dictionary, with a sum of four bytes.
fn lz4_cell(records: &Batch, dictionary: &Dictionary) -> Result<Cell, ReportError> {
    let mut encoder = Prepared::new(9, dictionary.bytes());
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in records.iter() {
        let start = bytes.len();
        bytes.resize(start + lz4::bound(record.len()), 0);
        let size = encoder.encode(record, &mut bytes[start..]).unwrap_or_default();
        bytes.truncate(start + size);
        ends.push(bytes.len());
    }
    let stored = bytes.len() + (2 + 4) * ends.len() + dictionary.bytes().len();
    bytes.resize(bytes.len() + SHORT_MARGIN, 0);
    let mut buffer = encoder.dictionary().to_vec();
    let start = buffer.len();
    buffer.resize(start + records.lengths().max().unwrap_or(0) + SHORT_MARGIN, 0);
    let mut read = |record: usize| {
        let from = record.checked_sub(1).map_or(0, |before| ends[before]);
        let block = &bytes[from..];
        lz4::decode_short(block, ends[record] - from, &mut buffer, start, usize::MAX)
            .map_err(|error| ReportError::Library { library: "LZ4", reason: error.to_string() })
    };
    let reads = rate(records.len(), &mut read)?;
    let ratio = records.bytes().len() as f64 / stored.max(1) as f64;
    let dictionary_bytes = dictionary.bytes().len();
    Ok(Cell { block_bytes: 0, dictionary_bytes, level: None, ratio, reads })
}

/// Reads per second, in random order.
fn rate(
    records: usize,
    read: &mut dyn FnMut(usize) -> Result<usize, ReportError>,
) -> Result<f64, ReportError> {
    let mut random = Random::new(7);
    let (before, mut count) = (thread_seconds(), 0_u32);
    loop {
        for _ in 0..64 {
            read(random.index(records))?;
        }
        count += 64;
        let seconds = thread_seconds() - before;
        if seconds >= CELL_SECONDS {
            return Ok(f64::from(count) / seconds);
        }
    }
}

/// The name of a size.
fn size(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1 << 10))
}

fn block_name(bytes: usize) -> String {
    if bytes == 0 { "record".to_owned() } else { size(bytes) }
}

impl TradeOffs {
    /// The best ratio among some of the cells, and its cell.
    fn best(&self, wanted: impl Fn(&Cell) -> bool) -> Option<&Cell> {
        let cells = self.cells.iter().filter(|cell| wanted(cell));
        cells.max_by(|one, other| one.ratio.total_cmp(&other.ratio))
    }

    /// What to do, in words; also that it is not worth it.
    pub fn recommendation(&self) -> String {
        let at_level_one = |cell: &Cell| cell.level == Some(1);
        let bare = self
            .best(|cell| at_level_one(cell) && cell.block_bytes == 0 && cell.dictionary_bytes == 0);
        let best = self
            .best(|cell| at_level_one(cell) && cell.block_bytes == 0 && cell.dictionary_bytes > 0);
        let (Some(bare), Some(best)) = (bare, best) else {
            return "No: there are too few records to train a dictionary from. Keep them in blocks, and \
                    look again when there are some thousands."
                .to_owned();
        };
        // The smallest dictionary that is nearly as good as the best.
        let enough = self
            .cells
            .iter()
            .filter(|cell| at_level_one(cell) && cell.block_bytes == 0 && cell.dictionary_bytes > 0)
            .find(|cell| cell.ratio >= best.ratio * (1.0 - GAIN))
            .unwrap_or(best);
        if best.ratio <= bare.ratio * (1.0 + GAIN) {
            return format!(
                "No: record by record, a dictionary makes {:.2} of a ratio of {:.2}; that is not worth one more \
                 thing to keep. {}",
                best.ratio,
                bare.ratio,
                self.without(bare),
            );
        }
        let blocks = self.best(|cell| {
            at_level_one(cell) && cell.dictionary_bytes == 0 && cell.reads >= enough.reads / 4.0
        });
        let lz4 = self.best(|cell| cell.level.is_none());
        let mut words = format!(
            "Yes: with a dictionary of {}, records that are kept one by one shrink {:.2} times instead of {:.2}, and \
             {} are read per second instead of {}.",
            size(enough.dictionary_bytes),
            enough.ratio,
            bare.ratio,
            told(enough.reads),
            told(bare.reads),
        );
        if let Some(lz4) = lz4 {
            words.push_str(&format!(
                " A record store keeps them {:.2} times smaller and reads {} per second.",
                lz4.ratio,
                told(lz4.reads)
            ));
        }
        let smallest = self.best(|cell| cell.dictionary_bytes == 0 && cell.level == Some(1));
        if let Some(large) = smallest.filter(|large| large.ratio > enough.ratio * 1.5) {
            words.push_str(&format!(
                " Neighbours are much alike: blocks of {} without a dictionary reach {:.2}, at {} reads per second. Where \
                 reads are rare, take larger groups.",
                block_name(large.block_bytes),
                large.ratio,
                told(large.reads),
            ));
        } else if let Some(blocks) = blocks.filter(|blocks| blocks.ratio >= enough.ratio) {
            words.push_str(&format!(
                " Blocks of {} do as well without one, at {} reads per second.",
                block_name(blocks.block_bytes),
                told(blocks.reads)
            ));
        }
        words
    }

    fn without(&self, bare: &Cell) -> String {
        match self.best(|cell| cell.dictionary_bytes == 0 && cell.level == Some(1)) {
            Some(best) if best.ratio > bare.ratio * (1.0 + GAIN) => format!(
                "Blocks of {} reach {:.2} at {} reads per second.",
                block_name(best.block_bytes),
                best.ratio,
                told(best.reads)
            ),
            _ => "Nor do blocks: these records are best kept as they are.".to_owned(),
        }
    }

    /// All cells.
    pub fn table(&self) -> Table {
        let title = format!("{} records, {} bytes", self.records, self.raw_bytes);
        Table::of(title, &self.cells)
            .text("block", |cell| block_name(cell.block_bytes))
            .text("dictionary", |cell| match cell.dictionary_bytes {
                0 => "none".to_owned(),
                bytes => size(bytes),
            })
            .text("codec", |cell| match cell.level {
                None => "LZ4 (record store)".to_owned(),
                Some(level) => format!("zstd-{level}"),
            })
            .number("ratio", |cell| format!("{:.2}", cell.ratio))
            .number("reads/s", |cell| format!("{:.0}", cell.reads))
            .build()
    }

    /// The curves of one value over the size of blocks, at level 1: one per dictionary.
    fn chart(&self, axis: Axis, value: fn(&Cell) -> f64) -> Chart {
        let tones = [Tone::Reference, Tone::Second, Tone::Third, Tone::First];
        let mut sizes: Vec<usize> = self.cells.iter().map(|cell| cell.dictionary_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let lines = sizes.iter().zip(tones).map(|(dictionary, tone)| {
            let cells = self
                .cells
                .iter()
                .filter(|cell| cell.level == Some(1) && cell.dictionary_bytes == *dictionary);
            let points = cells.map(|cell| {
                // A record stands at its mean length.
                let x = if cell.block_bytes == 0 {
                    self.raw_bytes / self.records.max(1)
                } else {
                    cell.block_bytes
                };
                let text = format!("{}: {:.2}", block_name(cell.block_bytes), value(cell));
                (x.max(1) as f64 / 1024.0, value(cell), text)
            });
            Line { label: dictionary_name(*dictionary), tone, points: points.collect() }
        });
        let x = Axis::log("block, KiB (the first point: single records)");
        Chart::Lines(Lines { x, y: axis, line: None, lines: lines.collect() })
    }

    /// The page with both plots.
    pub fn page(&self, machine: Machine) -> Page {
        let ratio = self.chart(Axis::linear("ratio"), |cell| cell.ratio);
        let reads = self.chart(Axis::log("reads per second"), |cell| cell.reads);
        let best = self.best(|cell| cell.level.is_none());
        let facts = best.map(|cell| {
            let reads = told(cell.reads);
            let label = format!("ratio of a record store, at {reads} reads per second");
            Fact::new(format!("{:.2}", cell.ratio), label)
        });
        Page {
            title: "Does a dictionary pay?".to_owned(),
            lead: self.recommendation(),
            facts: facts.into_iter().collect(),
            sections: vec![Section {
                title: "Trade-offs".to_owned(),
                text: "zstd at level 1; the table below each plot has the other levels. Dictionaries were trained on one half \
                       of the sample and measured on the other."
                    .to_owned(),
                figures: vec![
                    Figure::new("ratio", "Ratio against block size", ratio, self.table())
                        .caption("Higher is smaller."),
                    Figure::new("reads", "Single-record reads against block size", reads, self.table())
                        .caption("A read decodes the block that holds the record."),
                ],
                ..Section::default()
            }],
            machine,
        }
    }
}

fn dictionary_name(bytes: usize) -> String {
    if bytes == 0 { "no dictionary".to_owned() } else { format!("{} dictionary", size(bytes)) }
}

/// A number of reads for people.
fn told(reads: f64) -> String {
    if reads >= 1e6 {
        format!("{:.1} million", reads / 1e6)
    } else {
        format!("{:.0} thousand", reads / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, Machine, trade_offs};

    /// Lines as a service logs them.
    fn log(bytes: usize) -> Batch {
        let mut random = crate::random::Random::new(3);
        let mut log = Batch::default();
        while log.bytes().len() < bytes {
            let (user, host) = (random.below(5000), random.below(12));
            let (path, took) = (["cart", "login", "search"][random.index(3)], random.below(900));
            let line = format!(
                "{{\"level\":\"info\",\"host\":\"web-{host:02}\",\"path\":\"/shop/{path}\",\"user\":{user},\"took_ms\":{took}}}"
            );
            log.push(line.as_bytes(), None);
        }
        log
    }

    #[test]
    fn logs_want_a_dictionary_and_noise_does_not() {
        let log = trade_offs(&log(1_500_000), &mut |_, _| ()).unwrap();
        assert!(log.recommendation().starts_with("Yes"), "{}", log.recommendation());
        let html = log.page(Machine::default()).render().unwrap();
        assert!(html.contains("Ratio against block size") && html.contains("<svg"));
        let mut random = crate::random::Random::new(1);
        let mut noise = Batch::default();
        for _ in 0..1000 {
            let record: Vec<u8> = (0..40).flat_map(|_| random.number().to_le_bytes()).collect();
            noise.push(&record, None);
        }
        let noise = trade_offs(&noise, &mut |_, _| ()).unwrap();
        assert!(noise.recommendation().starts_with("No"), "{}", noise.recommendation());
    }
}
