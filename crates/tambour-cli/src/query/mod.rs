//! Running queries: statements in, results out. `tambour sql` and the shell both stand on this.

pub(crate) mod cells;
pub(crate) mod sink;
pub(crate) mod statement;

use crate::cli::ResultFormat;
use crate::clock::Start;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::{failure, quantity};
use futures::future::{Either, select};
use sink::Sink;
use std::io::Write;
use std::pin::pin;
use std::time::Duration;
use tambour::sql::context::ScanStatistics;
use tambour::sql::{Execution, Session};

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
}

/// What a query did.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Rows of the result.
    pub(crate) rows: u64,
    /// What was read for it.
    pub(crate) read: ScanStatistics,
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
    let query = session.sql(statement).await?;
    let mut style = style;
    if let Some(name) = query.format() {
        (style.format, style.header) = named_format(name)?;
    } else if vertical {
        style.format = ResultFormat::Vertical;
    }
    let notes = query.notes().to_vec();
    let mut sink = Sink::new(&query.schema(), style, target)?;
    let mut execution = query.execute().await?;
    while let Some(batch) = next(&mut execution, interrupt).await? {
        sink.write(&batch)?;
    }
    let rows = sink.finish()?;
    Ok(Outcome { rows, read: execution.statistics(), time: start.elapsed(), notes })
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

/// ClickHouse's names of formats, and whether they begin with the names of the columns.
fn named_format(name: &str) -> Result<(ResultFormat, Option<bool>), Failure> {
    let lower = name.to_ascii_lowercase();
    let (base, header) = match lower.strip_suffix("withnames") {
        Some(base) => (base, true),
        None => (lower.as_str(), false),
    };
    let format = match base {
        "csv" => ResultFormat::Csv,
        "tsv" | "tabseparated" => ResultFormat::Tsv,
        _ => match lower.as_str() {
            "vertical" => ResultFormat::Vertical,
            "json" => ResultFormat::Json,
            "jsoneachrow" | "jsonlines" | "jsonl" | "ndjson" => ResultFormat::Jsonl,
            "markdown" => ResultFormat::Markdown,
            "arrow" | "arrowstream" => ResultFormat::Arrow,
            "parquet" => ResultFormat::Parquet,
            "null" => ResultFormat::Null,
            "table" => ResultFormat::Table,
            pretty if pretty.starts_with("pretty") => ResultFormat::Table,
            _ => return Err(Failure::Unsupported(format!("FORMAT {name}: unknown format"))),
        },
    };
    Ok((format, Some(header)))
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
    }
    text
}

/// The place in a statement at which a syntax error points.
pub(crate) fn excerpt(error: &anyhow::Error, statement: &str) -> Option<String> {
    let messages = failure::chain(error.as_ref());
    failure::excerpt(statement, failure::position(&messages)?, 76)
}
