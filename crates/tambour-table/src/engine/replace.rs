//! `ReplacingMergeTree`: one row of each key stays.

use super::places::only;
use crate::TableError;
use crate::key::{Key, Keys, OwnedKey};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, RecordBatch};

/// The state between batches.
#[derive(Debug)]
pub(super) struct Replacing {
    /// What tells the newer of two rows; without it, the later one is.
    version: Option<Key>,
    /// The place of the column that tells deleted rows.
    is_deleted: Option<usize>,
    /// True if deleted rows are left out, as FINAL does it.
    drops_deleted: bool,
    pending: Option<Pending>,
}

/// Rows that stay, but for the last one, which a later row may replace.
#[derive(Debug)]
struct Pending {
    rows: RecordBatch,
    key: OwnedKey,
    version: OwnedKey,
}

impl Replacing {
    pub(super) fn new(
        version: Option<Key>,
        is_deleted: Option<usize>,
        drops_deleted: bool,
    ) -> Self {
        Self { version, is_deleted, drops_deleted, pending: None }
    }

    pub(super) fn push(
        &mut self,
        batch: &RecordBatch,
        keys: &Keys,
    ) -> Result<Vec<RecordBatch>, TableError> {
        let count = batch.num_rows();
        let versions = match &self.version {
            Some(version) => version.evaluate(batch)?,
            None => Keys::None(count),
        };
        let mut ready = Vec::new();
        // Rows at the beginning that lost to one of an earlier batch.
        let mut lost = 0;
        if let Some(pending) = self.pending.take() {
            let same = (0..count).take_while(|row| keys.compare_owned(*row, &pending.key).is_eq());
            let same = same.count();
            let newer = (0..same).max_by(|a, b| versions.compare(*a, &versions, *b));
            let wins = newer.is_some_and(|it| versions.compare_owned(it, &pending.version).is_ge());
            if wins {
                ready.push(pending.rows.slice(0, pending.rows.num_rows() - 1));
            } else if same == count {
                self.pending = Some(pending);
                return Ok(ready);
            } else {
                ready.push(pending.rows);
                lost = same;
            }
        }
        let (mask, last) = winners(keys, &versions, lost..count);
        let rows = only(batch, mask)?;
        let (key, version) = (keys.owned(last), versions.owned(last));
        self.pending = Some(Pending { rows, key, version });
        self.told(ready)
    }

    pub(super) fn finish(&mut self) -> Result<Vec<RecordBatch>, TableError> {
        let rows = self.pending.take().map(|pending| pending.rows);
        self.told(rows.into_iter().collect())
    }

    /// Looks at the flags of rows that stay.
    fn told(&self, rows: Vec<RecordBatch>) -> Result<Vec<RecordBatch>, TableError> {
        let rows = rows.into_iter().filter(|it| it.num_rows() > 0);
        let Some(is_deleted) = self.is_deleted else { return Ok(rows.collect()) };
        rows.map(|batch| {
            let flags = flags(batch.column(is_deleted))?;
            if self.drops_deleted {
                only(&batch, flags.iter().map(|it| !it).collect())
            } else {
                Ok(batch)
            }
        })
        .collect()
    }
}

/// The row of each key that stays, and the last one of them.
fn winners(keys: &Keys, versions: &Keys, rows: std::ops::Range<usize>) -> (Vec<bool>, usize) {
    let mut mask = vec![false; rows.end];
    let mut best = rows.start;
    for row in rows.skip(1) {
        if !keys.are_equal(row - 1, row) {
            mask[best] = true;
            best = row;
        } else if versions.compare(row, versions, best).is_ge() {
            best = row;
        }
    }
    mask[best] = true;
    (mask, best)
}

fn flags(column: &ArrayRef) -> Result<Vec<bool>, TableError> {
    let values = column.as_primitive::<UInt8Type>().values();
    let flag = |value: &u8| match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(TableError::Rows {
            field: "the column of deleted rows",
            expected: "0 or 1".to_owned(),
            got: other.to_string(),
        }),
    };
    values.iter().map(flag).collect()
}
