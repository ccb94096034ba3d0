//! Advice: which codecs and types suit the columns of a table or a file, measured on its rows. `docs/advise.md` explains it.
//!
//! An [`Intake`] takes rows and keeps a sample, in runs that are spread over all of them; facts that decide about types come
//! from every row that it sees. [`advise`] encodes the sample with the chains that `tambour_codec::choose` ranks first,
//! decodes and compares each, and tells what they make of the whole.
//!
//! - [`Advice`]: what comes of it, per column and in total
//! - [`server`]: which ClickHouse has a chain, and which one breaks it
//! - [`alter`]: the advice as statements
#![forbid(unsafe_code)]

pub mod alter;
mod chains;
mod order;
mod sample;
pub mod server;
mod streams;
#[cfg(test)]
mod tests;
mod types;

pub use order::OrderAdvice;
pub use sample::{Intake, Sample};
pub use server::Version;
pub use streams::SampleStream;
use tambour_part::choose::side_by_side;
pub use types::TypeAdvice;

use std::time::Duration;
use streams::Streams;
use tambour_codec::choose::Objective;
use tambour_codec::spec::CodecSpec;
use tambour_part::types::Column;
use tambour_table::TableError;

/// How advice is made.
#[derive(Clone, Copy, Debug)]
pub struct AdviseOptions {
    /// What counts where one answer is wanted: for types, for the order of rows, for statements.
    pub goal: Objective,
    /// The ClickHouse that shall take the advice; `None` is the newest that is known.
    pub server: Option<Version>,
    /// ClickHouse has to read what is recommended; otherwise codecs of Tambour's own are measured, too.
    pub portable: bool,
    /// The clock by which decoding is measured; libraries read none.
    pub clock: fn() -> Duration,
    /// Threads; columns are worked on side by side.
    pub threads: usize,
    /// Blocks of a stream that are encoded, spread over the sample.
    pub blocks_max: usize,
    /// Chains that are encoded in full for each goal, by their rank on samples of blocks.
    pub candidates_max: usize,
    /// Whether other orders of the rows are tried.
    pub orders: bool,
}

impl AdviseOptions {
    /// What the command line does without flags.
    pub fn new(clock: fn() -> Duration) -> Self {
        Self {
            goal: Objective::Balance,
            server: None,
            portable: true,
            clock,
            threads: 1,
            blocks_max: 8,
            candidates_max: 2,
            orders: true,
        }
    }

    /// The server that is written for.
    pub(crate) fn server(&self) -> Version {
        self.server.unwrap_or(Version::NEWEST)
    }

    /// The same with every chain of the list, each on all blocks of the sample.
    #[must_use]
    pub fn exhaustive(self) -> Self {
        Self { blocks_max: usize::MAX, candidates_max: usize::MAX, ..self }
    }
}

/// What a chain makes of a column. Bytes are those of all rows, by the ratio of the sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The chain.
    pub spec: CodecSpec,
    /// Bytes before ...
    pub raw_bytes: u64,
    /// ... and after, with the headers of blocks.
    pub stored_bytes: u64,
    /// Time of decoding all of it on one thread.
    pub decode: Duration,
    /// The values are texts, whose bytes count more.
    pub is_text: bool,
}

impl Measure {
    /// Raw bytes per stored byte.
    pub fn ratio(&self) -> f64 {
        self.raw_bytes as f64 / (self.stored_bytes as f64).max(1.0)
    }

    /// Raw bytes per second of decoding, in units of 10^9.
    pub fn decode_gbps(&self) -> f64 {
        self.raw_bytes as f64 / (self.decode.as_nanos() as f64).max(1.0)
    }

    /// What it costs by a goal.
    pub fn cost(&self, goal: Objective) -> f64 {
        let bytes = usize::try_from(self.stored_bytes).unwrap_or(usize::MAX);
        goal.cost(self.is_text, bytes, self.decode.as_nanos() as f64)
    }
}

/// What a column gets.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnAdvice {
    /// The column.
    pub column: Column,
    /// With its present codec.
    pub now: Measure,
    /// Bytes that its files take, if there are any.
    pub on_disk: Option<u64>,
    /// All chains that were measured, the smallest first.
    pub measured: Vec<Measure>,
    /// The best of them for each goal, in the order of [`Objective::ALL`].
    pub best: [Measure; 3],
    /// Types that would hold the values, too.
    pub types: Vec<TypeAdvice>,
    /// Chains that would have been better, and why they are not recommended.
    pub refused: Vec<(CodecSpec, String)>,
}

impl ColumnAdvice {
    /// The best for a goal.
    pub fn best(&self, goal: Objective) -> &Measure {
        let index = Objective::ALL.iter().position(|known| *known == goal).unwrap_or_default();
        &self.best[index.min(2)]
    }
}

/// What a table gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What counts.
    pub goal: Objective,
    /// Rows of all.
    pub rows: u64,
    /// Rows that chains were measured on.
    pub rows_sampled: u64,
    /// Every row was seen, so that what is said of types holds.
    pub complete: bool,
    /// The columns.
    pub columns: Vec<ColumnAdvice>,
    /// An order of rows that would pay, if one was tried that does.
    pub order: Option<OrderAdvice>,
}

impl Advice {
    /// Stored bytes of all columns: with present codecs.
    pub fn now_bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.now.stored_bytes).sum()
    }

    /// Stored bytes of all columns with the best chains for a goal.
    pub fn best_bytes(&self, goal: Objective) -> u64 {
        self.columns.iter().map(|column| column.best(goal).stored_bytes).sum()
    }

    /// Raw bytes of all columns.
    pub fn raw_bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.now.raw_bytes).sum()
    }

    /// Raw bytes per second of decoding all columns on one thread, in units of 10^9; `None` is for present codecs.
    pub fn decode_gbps(&self, goal: Option<Objective>) -> f64 {
        let of = |column: &ColumnAdvice| match goal {
            Some(goal) => column.best(goal).decode,
            None => column.now.decode,
        };
        let time: Duration = self.columns.iter().map(of).sum();
        self.raw_bytes() as f64 / (time.as_nanos() as f64).max(1.0)
    }
}

/// What is known of a column before.
#[derive(Clone, Debug, Default)]
pub struct Present {
    /// Its codec; `None` is ClickHouse's default, LZ4.
    pub codec: Option<CodecSpec>,
    /// Bytes of its files.
    pub on_disk: Option<u64>,
}

/// Advises on a sample; `present` tells of its columns, in their order.
pub fn advise(
    sample: &Sample,
    present: &[Present],
    options: &AdviseOptions,
) -> Result<Advice, TableError> {
    advise_whole(sample, advise_columns(sample, present, options)?, options)
}

/// What [`advise`] says of each column.
pub fn advise_columns(
    sample: &Sample,
    present: &[Present],
    options: &AdviseOptions,
) -> Result<Vec<ColumnAdvice>, TableError> {
    side_by_side(options.threads, sample.columns.len(), |index| {
        let present = present.get(index).cloned().unwrap_or_default();
        advise_column(sample, index, present, options)
    })
}

/// What [`advise`] makes of all columns, each of which was advised on by itself.
pub fn advise_whole(
    sample: &Sample,
    columns: Vec<ColumnAdvice>,
    options: &AdviseOptions,
) -> Result<Advice, TableError> {
    let order = if options.orders { order::advise(sample, &columns, options)? } else { None };
    Ok(Advice {
        goal: options.goal,
        rows: sample.rows_total,
        rows_sampled: sample.rows(),
        complete: sample.complete,
        columns,
        order,
    })
}

fn advise_column(
    sample: &Sample,
    index: usize,
    present: Present,
    options: &AdviseOptions,
) -> Result<ColumnAdvice, TableError> {
    let column = &sample.columns[index];
    let arrays = sample.arrays(index);
    let streams = Streams::of(column, &arrays, options.server())?;
    let scale = sample.scale();
    let spec = present.codec.unwrap_or_else(CodecSpec::lz4);
    let now = chains::measure(&streams, &spec, scale, options)?;
    let (measured, refused) = chains::rank(&streams, &column.data_type, scale, options)?;
    let best = chains::best(&measured, &now);
    let types = types::advise(sample, index, &best, options)?;
    Ok(ColumnAdvice {
        column: column.clone(),
        now,
        on_disk: present.on_disk,
        measured,
        best,
        types,
        refused,
    })
}
