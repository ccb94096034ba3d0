//! Running queries: statements in, results out. `tambour sql` and the shell both stand on this.

pub(crate) mod cells;
pub(crate) mod confirm;
mod outfile;
pub(crate) mod outside;
pub(crate) mod parameter;
pub(crate) mod sink;
pub(crate) mod statement;

use crate::cli::ResultFormat;
use crate::clock::Start;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{failure, quantity};
use clap::ValueEnum;
use futures::future::{Either, select};
use sink::Sink;
use std::io::Write;
use std::pin::pin;
use std::time::Duration;
use tambour::files;
use tambour::part::{BlockCache, CacheCounts};
use tambour::sql::ScanStatistics;
use tambour::sql::{Execution, Session};
use tambour::table::scan::Pruned;

/// How results look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// The format, unless the query names one.
    pub(crate) format: ResultFormat,
    /// Whether CSV and TSV begin with the names; `None`: CSV does, TSV does not.
    pub(crate) header: Option<bool>,
    /// Rows that are shown at most in formats for people; `usize::MAX` for all.
    pub(crate) rows_max: usize,
    /// Columns of the terminal, if it is one.
    pub(crate) width: Option<usize>,
    /// Whether a person is there who says if all rows of a table shall be removed.
    pub(crate) asks: bool,
}

/// What a query did.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Rows of the result.
    pub(crate) rows: u64,
    /// What was read for it.
    pub(crate) read: ScanStatistics,
    /// What of it was asked of the cache of decoded blocks, if there is one.
    pub(crate) cached: Option<CacheCounts>,
    /// How long it took.
    pub(crate) time: Duration,
    /// What of the statement had no effect.
    pub(crate) notes: Vec<String>,
}

/// Runs one statement and writes its result.
pub(crate) async fn run(
    session: &Session,
    statement: &str,
    style: Style,
    target: &mut (dyn Write + Send),
    interrupt: &Interrupt,
) -> anyhow::Result<Outcome> {
    let start = Start::now();
    let (statement, vertical) = match statement.trim_end().strip_suffix("\\G") {
        Some(statement) => (statement, true),
        None => (statement, false),
    };
    let (statement, file) = outfile::split(statement)?;
    let before = session.block_cache().map(BlockCache::counts);
    let statement = outside::named(&statement);
    // A change that is dropped before its commit has not happened.
    let query = match select(pin!(session.sql(&statement)), pin!(interrupt.raised())).await {
        Either::Left((query, _)) => query?,
        Either::Right(((), _)) => return Err(Failure::Interrupted.into()),
    };
    let mut style = style;
    if let Some(file) = &file {
        style.format = file.format()?;
    }
    if let Some(name) = query.format() {
        style.format = named_format(name)?;
    } else if vertical {
        style.format = ResultFormat::Vertical;
    }
    let notes = query.notes().to_vec();
    let mut opened = file.map(outfile::Target::open).transpose()?;
    let target = match &mut opened {
        Some(file) => file as &mut (dyn Write + Send),
        None => target,
    };
    let mut sink = Sink::new(&query.schema(), style, target)?;
    // Of what is done, no Ctrl-C says that it is not.
    let is_done = query.schema().fields().is_empty();
    let mut execution = query.execute().await?;
    while !is_done && let Some(batch) = next(&mut execution, interrupt).await? {
        sink.write(&batch)?;
    }
    if let Some(row) = execution.totals().await? {
        sink.totals(&row)?;
    }
    let (read, time) = (execution.statistics(), start.elapsed());
    let effort = files::Effort { elapsed: time, rows: read.rows, bytes: read.bytes };
    let rows = sink.finish(&effort)?;
    let after = session.block_cache().map(BlockCache::counts);
    let cached = after.zip(before).map(|(after, before)| after.since(before));
    Ok(Outcome { rows, read, cached, time: start.elapsed(), notes })
}

/// The next batch, unless the user says stop first.
async fn next(
    execution: &mut Execution,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<arrow::array::RecordBatch>> {
    match select(pin!(execution.next()), pin!(interrupt.raised())).await {
        Either::Left((batch, _)) => Ok(batch?),
        Either::Right(((), _)) => Err(Failure::Interrupted.into()),
    }
}

/// The format of a FORMAT clause: ClickHouse's in its bytes, or a word of ours.
fn named_format(name: &str) -> Result<ResultFormat, Failure> {
    if let Some(format) = files::ResultFormat::of(name) {
        return Ok(ResultFormat::ClickHouse(format));
    }
    ResultFormat::from_str(name, true)
        .map_err(|_| Failure::Unsupported(format!("FORMAT {name}: unknown format")))
}

/// The lines after a result: ClickHouse's own, and with `detailed` what pruning did.
pub(crate) fn summary(outcome: &Outcome, detailed: bool) -> String {
    let rows = quantity::counted(outcome.rows, "row", "rows");
    let seconds = outcome.time.as_secs_f64();
    let mut text = format!("{rows} in set. Elapsed: {seconds:.3} sec.");
    let read = &outcome.read;
    if read.rows > 0 {
        text += &format!(
            " Processed {} rows, {} ({} rows/s., {})",
            quantity::count(read.rows),
            quantity::bytes(read.bytes),
            quantity::rate(quantity::per_second(read.rows, outcome.time)),
            quantity::byte_rate(quantity::per_second(read.bytes, outcome.time)),
        );
    }
    if detailed {
        text += &format!(
            "\nRead {} of {}, {} of {}, {} before decompression.",
            quantity::grouped(read.parts.1),
            quantity::counted(read.parts.0, "part", "parts"),
            quantity::grouped(read.granules.1),
            quantity::counted(read.granules.0, "granule", "granules"),
            quantity::bytes(read.compressed),
        );
        let by = Pruned::default().left_out().map(|(by, _)| by).zip(read.left_out);
        let by = by.filter(|(_, granules)| *granules > 0);
        let by: Vec<String> =
            by.map(|(by, granules)| format!("{} by {by}", quantity::grouped(granules))).collect();
        if !by.is_empty() {
            text += &format!("\nGranules left out: {}.", by.join(", "));
        }
        if let Some(CacheCounts { hits, misses }) = outcome.cached {
            let blocks = quantity::counted(hits + misses, "block", "blocks");
            text += &format!("\nFound {} of {blocks} in the cache.", quantity::grouped(hits));
        }
    }
    text
}

/// The place in a statement at which a syntax error points.
pub(crate) fn excerpt(error: &anyhow::Error, statement: &str) -> Option<String> {
    let messages = failure::chain(error.as_ref());
    failure::excerpt(statement, failure::position(&messages)?, 76)
}
