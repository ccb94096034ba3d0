//! Copies what is whole of a damaged store into a new one.

use super::RecordError;
use super::batch::Batch;
use super::layout::{RecordStore, Settings};
use super::view::{Segment, ViewOptions};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use tambour_part::storage::Storage;

/// Raw bytes that are copied at once.
const COPY_BYTES: usize = 8 << 20;

/// What was saved.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Records that were copied.
    pub records: u64,
    /// Records that were lost; ids of the copies do not leave gaps for them.
    pub lost: u64,
    /// Whether more may be lost: the last segment of a category cannot be opened, and nothing tells how many records it held.
    pub unknown: bool,
    /// What was wrong.
    pub damage: Vec<RecordError>,
    /// Which ids the copied records of each category had, and which they have.
    pub moved: Vec<(String, Vec<Moved>)>,
}

/// Neighbours that were copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Id that the first of them had.
    pub old: u64,
    /// Id that it has.
    pub new: u64,
    /// How many they are.
    pub records: u64,
}

/// Copies every readable record of the store at `path` into a new store at `target`. Works without the marker.
pub fn salvage(
    storage: &Arc<dyn Storage>,
    path: &Path,
    target: &Path,
) -> Result<Salvaged, RecordError> {
    let mut salvaged = Salvaged::default();
    let store = match RecordStore::open(storage, path) {
        Ok(store) => store,
        Err(error) => {
            let store = RecordStore::guess(storage, path)?;
            let Some(store) = store else { return Err(error) };
            salvaged.damage.push(error);
            store
        }
    };
    let settings: &Settings = store.settings();
    let copy = RecordStore::create(storage, target, settings)?;
    for category in store.categories()? {
        salvage_category(&store, &copy, &category, &mut salvaged)?;
    }
    Ok(salvaged)
}

fn salvage_category(
    store: &RecordStore,
    copy: &RecordStore,
    category: &str,
    salvaged: &mut Salvaged,
) -> Result<(), RecordError> {
    let view = Arc::new(store.view(category, &ViewOptions { memory_bytes: 0 })?);
    let writer = copy.writer(category)?;
    let Range { start: first, end } = view.ids();
    let (mut batch, mut runs) = (Batch::default(), Vec::<Moved>::new());
    let (mut copied, mut failure) = (0, None);
    salvaged.unknown |= view
        .slots
        .iter()
        .any(|slot| matches!(slot.segment, Segment::Broken(..)) && slot.ids.is_empty());
    let mut reader = view.reader();
    // Beyond the end: a broken segment there is to be reported.
    let stopped = reader.scan_each(first..u64::MAX, |scanned| {
        match scanned {
            Ok(scanned) => {
                match runs.last_mut() {
                    Some(run) if run.old + run.records == scanned.id => run.records += 1,
                    _ => runs.push(Moved { old: scanned.id, new: copied, records: 1 }),
                }
                copied += 1;
                let time = Some(scanned.time.unwrap_or(super::seal::NO_TIME));
                batch.push(scanned.record, time);
            }
            Err(error) => salvaged.damage.push(error),
        }
        if batch.bytes().len() >= COPY_BYTES {
            if let Err(error) = writer.append_batch(&batch) {
                failure = Some(error);
                return ControlFlow::Break(());
            }
            batch.clear();
        }
        ControlFlow::Continue(())
    });
    if let (Some(()), Some(error)) = (stopped, failure) {
        return Err(error);
    }
    if !batch.is_empty() {
        writer.append_batch(&batch)?;
    }
    salvaged.records += copied;
    salvaged.lost += (end - first).saturating_sub(copied);
    salvaged.moved.push((category.to_owned(), runs));
    Ok(())
}
