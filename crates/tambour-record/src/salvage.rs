//! Copies what is whole of a damaged store into a new one.

mod doubtful;

pub use doubtful::Doubtful;

use super::RecordError;
use super::batch::Batch;
use super::layout::{RecordStore, Settings};
use super::open::Tail;
use super::view::{Segment, View, ViewOptions};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;

/// Raw bytes that are copied at once.
const COPY_BYTES: usize = 8 << 20;

/// What was saved.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Records that were copied.
    pub records: u64,
    /// Records that were lost; ids of the copies do not leave gaps for them.
    pub lost: u64,
    /// Whether more may be lost: the last segment of a category cannot be opened, or has something after its last frame that
    /// no crash leaves, and nothing tells how many records that was.
    pub unknown: bool,
    /// Commits that were cut off: by a crash, and then none of their records was acknowledged, or because the end of a file is
    /// missing. Their records are not counted as lost, unless there is more to read after what is missing: then what is whole is
    /// copied, and the others are.
    pub cut: Vec<CutOff>,
    /// What was wrong.
    pub damage: Vec<RecordError>,
    /// Which ids the copied records of each category had, and which they have.
    pub moved: Vec<(String, Vec<Moved>)>,
    /// Records of each category that are the latest of their keys now, and were not: what replaced or deleted them is lost.
    pub doubtful: Vec<(String, Vec<Doubtful>)>,
    /// Whether further records with keys may be as doubtful: of something that was lost after them no key is known.
    pub blind: bool,
}

/// A commit at the end of a file, or the end of one, of which pieces are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOff {
    /// The open segment.
    pub path: PathBuf,
    /// Where the beginning starts.
    pub offset: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// Records that the frames had of which a head is there.
    pub records: Option<u64>,
    /// Whether a head or a block is whole after the first piece that is missing.
    pub whole_behind: bool,
    /// The copy of the file that a writer kept.
    pub copy: Option<PathBuf>,
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
///
/// ```
/// # use std::ops::ControlFlow;
/// # use std::sync::Arc;
/// # use tambour_record::*;
/// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
/// # let writer = store.writer("default")?;
/// writer.append_batch(&[&b"first"[..], b"second"].into_iter().collect())?;
/// drop(writer);
/// storage.remove_file("events/tambour-records.json".as_ref())?;
/// let salvaged = salvage(&storage, "events".as_ref(), "saved".as_ref())?;
/// assert_eq!((salvaged.records, salvaged.lost), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    let before = std::mem::take(&mut salvaged.unknown);
    let mut view = store.view(category, &ViewOptions { memory_bytes: 0 })?;
    // Before any of its frames counts.
    let cut_off = view.slots.last().and_then(|slot| match &slot.segment {
        Segment::Open(open) => open.cut_off(),
        _ => None,
    });
    if let Some(slot) = view.slots.last_mut()
        && let Segment::Open(open) = &mut slot.segment
    {
        salvaged.unknown |= open.take_back();
        slot.ids.end = open.end();
    }
    salvaged.cut.extend(cut_off);
    let view = Arc::new(view);
    let writer = copy.writer(category)?;
    let Range { start: first, end } = view.ids();
    let (mut batch, mut runs) = (Batch::default(), Vec::<Moved>::new());
    let (mut copied, mut failure) = (0, None);
    let told = tell_ends(&view, salvaged);
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
                batch.push_mixed_entry(scanned.entry(), time);
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
    let lost = (end - first).saturating_sub(copied) + told;
    salvaged.records += copied;
    salvaged.lost += lost;
    let is_open = told > 0 || salvaged.unknown;
    if lost > 0 || is_open {
        let (found, blind) = doubtful::find(&view, &mut reader, &runs, is_open)?;
        salvaged.blind |= blind;
        if !found.is_empty() {
            salvaged.doubtful.push((category.to_owned(), found));
        }
    }
    salvaged.unknown |= before;
    salvaged.moved.push((category.to_owned(), runs));
    Ok(())
}

/// Tells what follows the last frames of segments; how many records are known to be lost there beyond those that ids tell of.
fn tell_ends(view: &View, salvaged: &mut Salvaged) -> u64 {
    let mut told = 0;
    for (number, slot) in view.slots.iter().enumerate() {
        // Ids up to the next segment were given out; those that are not there are counted as such.
        let missing = |end: u64| {
            view.slots.get(number + 1).map_or(0, |next| next.ids.start.saturating_sub(end))
        };
        match &slot.segment {
            Segment::Broken(..) => salvaged.unknown |= slot.ids.is_empty(),
            Segment::Open(open) => match &open.tail {
                Tail::Damaged { records } => {
                    let known = missing(open.end());
                    salvaged.unknown |= known == 0;
                    told += records.saturating_sub(known);
                }
                // That of the last one has been told.
                Tail::Cut(_) if number + 1 < view.slots.len() && missing(open.end()) == 0 => {
                    salvaged.cut.extend(open.cut_off());
                }
                Tail::Cut(_) | Tail::Nothing => {}
            },
            Segment::Sealed(_) => {}
        }
    }
    told
}
