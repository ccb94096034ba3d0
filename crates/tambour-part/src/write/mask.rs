//! The same part with some of its rows hidden: a lightweight delete. The column `_row_exists` says which rows are there; all other
//! files are those of the old part, under another name.

use super::amend::{Amender, Amendment, can_amend, read_mask};
use crate::PartError;
use crate::part::{Part, ROW_EXISTS};
use crate::types::{Column, DataType, Strings, arrow_schema};
use arrow_array::{ArrayRef, RecordBatch, UInt8Array};
use arrow_buffer::BooleanBuffer;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_storage::Storage;

/// True of a part that can have a mask: a wide one of the new dialect, without projections (they would show the rows).
pub fn can_mask(part: &Part) -> bool {
    part.has_final_mark() && can_amend(part, &amendment())
}

fn amendment() -> Amendment {
    let column = Column { name: ROW_EXISTS.to_owned(), data_type: DataType::UInt8 };
    Amendment { written: vec![(column, CodecSpec::lz4())], ..Amendment::default() }
}

/// Writes a part into a new directory in which rows are hidden: those whose bit is set, counted over the rows that the part shows.
/// The rows that are left. On an error the directory is left as it is, for the caller to remove. Files that are only linked are
/// not synced.
pub fn mask(
    part: &Arc<Part>,
    storage: &Arc<dyn Storage>,
    target: &Path,
    deleted: &BooleanBuffer,
) -> Result<u64, PartError> {
    let exists = exists(part, deleted)?;
    let left = exists.iter().map(|exists| u64::from(*exists)).sum();
    let amendment = amendment();
    let columns: Vec<Column> = amendment.written.iter().map(|(it, _)| it.clone()).collect();
    let mut amender = Amender::over_stored_rows(part, storage, target, amendment)?;
    let values: ArrayRef = Arc::new(UInt8Array::from(exists));
    let schema = Arc::new(arrow_schema(&columns, Strings::Binary));
    let batch = RecordBatch::try_new(schema, vec![values]);
    amender.write(&batch.map_err(|error| PartError::argument(error.to_string()))?)?;
    amender.finish()?;
    Ok(left)
}

/// One for each stored row that is there, zero for one that is not.
fn exists(part: &Arc<Part>, deleted: &BooleanBuffer) -> Result<Vec<u8>, PartError> {
    let rows = usize::try_from(part.rows()).unwrap_or(usize::MAX);
    let mut exists = match &part.row_exists {
        None => vec![1; rows],
        Some(mask) => read_mask(part, mask)?,
    };
    let mut shown = 0;
    for exists in exists.iter_mut().filter(|exists| **exists != 0) {
        if shown < deleted.len() && deleted.value(shown) {
            *exists = 0;
        }
        shown += 1;
    }
    if exists.len() != rows || deleted.len() > shown {
        let reason = format!("a mask of {} rows for a part that shows {shown}", deleted.len());
        return Err(PartError::argument(reason));
    }
    Ok(exists)
}
