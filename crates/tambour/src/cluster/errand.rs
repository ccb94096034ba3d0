//! What workers do beside queries: verify parts, write them anew, advise on columns, and import files into tables that the coordinator
//! puts together.

use super::advice::Question;
use super::parts::Partition;
use super::told::Told;
use crate::{Error, ImportOptions, import_with};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;
use tambour_cluster::{Errands, Root};
use tambour_files::Format;
use tambour_index::verify_parts;
use tambour_part::write::Dialect;
use tambour_table::insert::InsertSummary;
use tambour_table::schema::TableDefinition;
use tambour_table::store::storage_of;

/// The errands of [`Cluster`](super::Cluster)'s `verify`, `import`, `optimize`, `recompress` and `advise`, for
/// [`WorkerOptions::errands`](super::WorkerOptions).
#[derive(Clone, Copy, Debug)]
pub struct TableErrands {
    /// Whether the worker may write below its root.
    pub write: bool,
    /// The clock by which decoding is measured; libraries read none. One that stands still makes decoding free, so that advice
    /// counts bytes alone.
    pub clock: fn() -> Duration,
}

impl Default for TableErrands {
    /// Without writing, and with a clock that stands still.
    fn default() -> Self {
        Self { write: false, clock: || Duration::ZERO }
    }
}

/// An errand on its way.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Errand {
    /// Read and check some parts of a table.
    Verify { table: PathBuf, parts: Vec<String> },
    /// Import files into a new table.
    Import(Share),
    /// Write the parts of a partition anew.
    Partition(Partition),
    /// Measure what suits some columns of a table.
    Advise(Question),
}

impl Errand {
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("an errand has text keys and no NaN")
    }
}

/// Files for one worker, and how they are read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Share {
    pub(super) files: Vec<PathBuf>,
    /// The directory in which the worker makes a table, under a name of its own choice: a worker that was given up may still
    /// be writing.
    pub(super) staging: PathBuf,
    pub(super) statement: String,
    pub(super) format: Option<String>,
    pub(super) header: Option<bool>,
    pub(super) delimiter: Option<u8>,
    pub(super) skip_unknown_columns: bool,
    pub(super) record_bytes_max: usize,
    pub(super) is_old: bool,
    pub(super) rows_per_part: Option<u64>,
    pub(super) memory_bytes: u64,
}

/// What a worker has verified.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Verified {
    pub(super) parts: u64,
    pub(super) files: u64,
    pub(super) blocks: u64,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) damage: Vec<Told>,
    pub(super) notes: Vec<Told>,
    pub(super) replaced: Vec<String>,
}

/// What a worker has imported.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Imported {
    /// The table that it made.
    pub(super) table: PathBuf,
    pub(super) bytes_read: u64,
    pub(super) rows: u64,
    /// Bytes of its columns before compression.
    pub(super) uncompressed: u64,
}

impl Errands for TableErrands {
    fn run(&self, errand: &str, root: &Root) -> Result<String, String> {
        let errand: Errand =
            serde_json::from_str(errand).map_err(|error| format!("an errand: {error}"))?;
        match errand {
            Errand::Verify { table, parts } => {
                let table = root.existing(&table)?;
                let seen =
                    storage_of(&table).and_then(|storage| verify_parts(&storage, &table, &parts));
                let seen = seen.map_err(|it| chained(&it.into()))?;
                answer(&Verified {
                    parts: seen.parts,
                    files: seen.files,
                    blocks: seen.blocks,
                    bytes: seen.bytes,
                    rows: seen.rows,
                    damage: seen.damage.iter().map(Told::of).collect(),
                    notes: seen.notes.iter().map(Told::of).collect(),
                    replaced: seen.replaced,
                })
            }
            Errand::Advise(question) => question.run(root, self.clock),
            Errand::Import(_) | Errand::Partition(_) if !self.write => {
                Err("it may not write: start it with --write".to_owned())
            }
            Errand::Import(share) => import(&share, root),
            Errand::Partition(partition) => partition.run(root),
        }
    }
}

pub(super) fn answer(answer: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(answer).map_err(|error| error.to_string())
}

fn import(share: &Share, root: &Root) -> Result<String, String> {
    let files: Vec<PathBuf> =
        share.files.iter().map(|file| root.existing(file)).collect::<Result<_, _>>()?;
    let staging = root.existing(&share.staging)?;
    let table = free_name(&staging)?;
    let definition =
        TableDefinition::parse(&share.statement).map_err(|error| chained(&error.into()))?;
    let mut options = ImportOptions::default().definition(definition);
    options.format = share.format.as_deref().and_then(Format::from_name);
    options.header = share.header;
    options.delimiter = share.delimiter;
    options.skip_unknown_columns = share.skip_unknown_columns;
    options.record_bytes_max = share.record_bytes_max;
    options.dialect = if share.is_old { Dialect::Old } else { Dialect::New };
    options.rows_per_part = share.rows_per_part;
    options.memory_bytes = share.memory_bytes;
    options.threads = 1;
    let go_on = &mut |_: crate::ImportEvent<'_>| ControlFlow::Continue(());
    let summary = import_with(&files, &table, &options, go_on).map_err(|error| refusal(&error))?;
    let (bytes_read, written) = (summary.bytes_read, summary.written);
    let InsertSummary { rows, uncompressed, .. } = written;
    answer(&Imported { table, bytes_read, rows, uncompressed })
}

/// Why files were not imported. A table that rows do not fit is widened where all of them are seen, which no worker does.
fn refusal(error: &Error) -> String {
    let is_misfit = matches!(error, Error::File(reason) if reason.misfit().is_some());
    let way = if is_misfit {
        "; workers change no types: import without workers, or give a definition that has room for it"
    } else {
        ""
    };
    chained(error) + way
}

/// A name that no table in a directory has. The directory belongs to one operation: names are taken by making them.
pub(super) fn free_name(staging: &std::path::Path) -> Result<PathBuf, String> {
    for number in 0..u32::MAX {
        let claim = staging.join(format!("claim{number}"));
        match std::fs::File::create_new(&claim) {
            Ok(_) => return Ok(staging.join(format!("share{number}"))),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("{}: {error}", claim.display())),
        }
    }
    Err(format!("{}: no name is free", staging.display()))
}

/// An error and its causes in one line.
pub(super) fn chained(error: &Error) -> String {
    Told::of(error).to_string()
}
