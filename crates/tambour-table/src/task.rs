//! What writers do to a table or wait for, as they tell other processes by [signs](tambour_storage::sign).

use serde::{Deserialize, Serialize};
use std::path::Path;
use tambour_storage::Storage;
use tambour_storage::sign::{self, WAIT, WORK};

/// Work on a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Parts become one.
    Merge(MergeTask),
    /// Rows are changed or removed, part by part.
    Mutation(MutationTask),
    /// Anything else: rows are added, parts come or go.
    Other(String),
}

/// A merge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeTask {
    /// ID of the partition.
    pub partition: String,
    /// Names of the parts that are merged.
    pub sources: Vec<String>,
    /// Name of the part that they become.
    pub result: String,
    /// Bytes of the sources on disk.
    pub bytes: u64,
    /// Rows of the sources.
    pub rows: u64,
    /// Rows that are written.
    pub rows_written: u64,
}

/// A mutation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutationTask {
    /// What it does: `DELETE WHERE …`.
    pub command: String,
    /// The part that is looked at or written.
    pub part: String,
    /// The parts that come after it.
    pub parts_to_do: Vec<String>,
    /// The number that the mutation has; 0 while it waits.
    pub number: u64,
}

/// Work, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// The process.
    pub process: u32,
    /// When it began to do this or to wait for it, in milliseconds since 1970.
    pub since_ms: u64,
    /// True if it waits for another writer.
    pub is_waiting: bool,
    /// What it is.
    pub task: Task,
}

impl Task {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the writer of a table does in this moment, and what the first of those does that wait for it. Other processes may
/// be further than they tell.
pub fn tasks(storage: &dyn Storage, path: &Path) -> Vec<Doing> {
    let doing = |name, is_waiting| {
        let said = sign::read(storage, path, name)?;
        let task = serde_json::from_str(&said.text).ok()?;
        Some(Doing { process: said.process, since_ms: said.since_ms, is_waiting, task })
    };
    [doing(WORK, false), doing(WAIT, true)].into_iter().flatten().collect()
}
