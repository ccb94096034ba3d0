//! What a scan of each column costs: with its present codec, with the advisor's best chains, with plain LZ4 and ZSTD(1).
//!
//! Chains come from the advisor's search. All streams of a column are encoded in blocks, decoded and compared; then the
//! chains of a column are decoded in turns. Figures are medians of processor time of one thread, blocks in memory.

mod output;

use crate::BenchError;
use crate::chain::{Chain, cut};
use crate::race::Group;
use tambour_advise::{AdviseOptions, Present, Sample, SampleStream, advise};
use tambour_codec::choose::Objective;
use tambour_codec::spec::CodecSpec;
use tambour_kernel::variant::Isa;
use tambour_report::clock::thread_time;

/// What to measure, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Turns of every chain.
    pub rounds: usize,
    /// Threads of the search.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 7, threads: 1 }
    }
}

/// Rows of a table, a part or a file, and what is known of their columns.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Its name.
    pub name: String,
    /// A sample of its rows.
    pub sample: Sample,
    /// Present codecs, in the order of the columns; without any, LZ4 is what they have.
    pub present: Vec<Present>,
}

/// A chain, and what it is on this column: `now`, `size`, `speed`, `balance`, `plain`, or several of these.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The chain.
    pub spec: CodecSpec,
    /// Why it is here.
    pub roles: Vec<&'static str>,
    /// Bytes of all rows, by the ratio of the sample.
    pub stored_bytes: u64,
    /// Uncompressed bytes per second, in 10^9.
    pub decode: f64,
}

/// A column that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// Bytes of all rows before compression.
    pub raw_bytes: u64,
    /// Bytes that its files take, if there are any.
    pub on_disk: Option<u64>,
    /// The present codec first, then by size.
    pub entries: Vec<Entry>,
}

/// A table that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Rows of all ...
    pub rows: u64,
    /// ... and of the sample.
    pub rows_sampled: u64,
    /// Its columns.
    pub columns: Vec<Measured>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Turns of each chain.
    pub rounds: usize,
    /// In the order in which they were given.
    pub tables: Vec<Table>,
}

/// The role of the present codec ...
pub const NOW: &str = "now";
/// ... and of codecs that are only there to compare with.
const PLAIN: &str = "plain";

impl Measured {
    /// The chain of a role.
    pub fn with_role(&self, role: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.roles.contains(&role))
    }

    /// Seconds that one thread takes to decode all rows.
    pub fn scan_seconds(&self, entry: &Entry) -> f64 {
        self.raw_bytes as f64 / 1e9 / entry.decode.max(1e-9)
    }
}

/// Measures; `observe` is told which table is next.
pub fn run(
    tables: &[Rows],
    settings: &Settings,
    observe: &mut dyn FnMut(&str),
) -> Result<Results, BenchError> {
    let mut measured = Vec::with_capacity(tables.len());
    for rows in tables {
        observe(&rows.name);
        measured.push(table(rows, settings)?);
    }
    Ok(Results { rounds: settings.rounds, tables: measured })
}

fn table(rows: &Rows, settings: &Settings) -> Result<Table, BenchError> {
    let failed = |error: tambour_table::TableError| BenchError::Library {
        contender: rows.name.clone(),
        reason: error.to_string(),
    };
    let options = AdviseOptions {
        orders: false,
        threads: settings.threads,
        ..AdviseOptions::new(thread_time)
    };
    let advice = advise(&rows.sample, &rows.present, &options).map_err(failed)?;
    let mut columns = Vec::new();
    for (index, column) in advice.columns.iter().enumerate() {
        let mut wanted: Vec<(CodecSpec, &'static str)> = vec![(column.now.spec.clone(), NOW)];
        for goal in Objective::ALL {
            wanted.push((column.best(*goal).spec.clone(), goal.name()));
        }
        for text in ["LZ4", "ZSTD(1)"] {
            // Both are words that the specification knows.
            wanted.extend(text.parse().ok().map(|spec| (spec, PLAIN)));
        }
        let streams = rows.sample.streams(index).map_err(failed)?;
        let entries = race(&column.column.name, &streams, wanted, settings.rounds)?;
        let scale = rows.sample.scale();
        columns.push(Measured {
            name: column.column.name.clone(),
            data_type: column.column.data_type.to_string(),
            raw_bytes: column.now.raw_bytes,
            on_disk: column.on_disk,
            entries: entries
                .into_iter()
                .map(|entry| Entry { stored_bytes: scaled(entry.stored_bytes, scale), ..entry })
                .collect(),
        });
    }
    let (rows_all, rows_sampled) = (advice.rows, advice.rows_sampled);
    Ok(Table { name: rows.name.clone(), rows: rows_all, rows_sampled, columns })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` keeps to the limits, and an estimate is never negative"
)]
fn scaled(bytes: u64, scale: f64) -> u64 {
    (bytes as f64 * scale).round() as u64
}

/// Encodes the streams with each chain, compares, and times decoding in turns.
fn race(
    column: &str,
    streams: &[SampleStream],
    wanted: Vec<(CodecSpec, &'static str)>,
    rounds: usize,
) -> Result<Vec<Entry>, BenchError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (spec, role) in wanted {
        match entries.iter_mut().find(|entry| entry.spec == spec) {
            Some(known) => known.roles.push(role),
            None => {
                entries.push(Entry { spec, roles: vec![role], stored_bytes: 0, decode: 0.0 });
            }
        }
    }
    let bytes: usize = streams.iter().map(|stream| stream.bytes.len()).sum();
    let blocks = || streams.iter().flat_map(|stream| cut(&stream.bytes, stream.element));
    let room = blocks().map(<[u8]>::len).max().unwrap_or(0);
    let mut runners = Vec::new();
    for entry in &mut entries {
        let own = |stream: &SampleStream| {
            if stream.holds_values { entry.spec.clone() } else { entry.spec.generic_only() }
        };
        let parts = streams.iter().map(|stream| (own(stream), stream.element, &stream.bytes[..]));
        let chain = Chain::new(entry.spec.clone(), column, parts)?;
        chain.check(Isa::best(), blocks())?;
        entry.stored_bytes = chain.stored_bytes() as u64;
        runners.push(chain.decoding(Isa::best(), room));
    }
    let amount = (bytes as f64 / 1e9, 1);
    let group = Group::run(column, (&["decode"], "GB/s"), amount, runners, rounds)?;
    for (entry, timed) in entries.iter_mut().zip(&group.entries) {
        entry.decode = timed.speeds[0];
    }
    entries.sort_by_key(|entry| (!entry.roles.contains(&NOW), entry.stored_bytes));
    Ok(entries)
}
