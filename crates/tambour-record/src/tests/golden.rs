//! A store that an earlier program wrote: what is on disks stays readable. `golden/README.md` tells how it was made.

use super::super::{
    Batch, Codec, RecordStore, SealOptions, SegmentState, Settings, ViewOptions, verify,
};
use super::dynamic;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::disk;
use tambour_storage::memory::Memory;

/// Records that are sealed, and the commits after them.
const SEALED: u64 = 60;
const COMMITS: [u64; 3] = [3, 150, 1];
/// The last commit but one is of this many bytes a record that it takes two frames.
const LARGE: u64 = 3000;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/records/2026-11")
}

/// A record of that store, and its time.
fn record(id: u64) -> (Vec<u8>, Option<i64>) {
    let is_large = (SEALED + COMMITS[0]..SEALED + COMMITS[0] + COMMITS[1]).contains(&id);
    let mut text = format!("{{\"id\":{id},\"path\":\"").into_bytes();
    let path = b"/drum/tambour";
    let bytes = if is_large { LARGE } else { id % 40 };
    text.extend(path.iter().cycle().take(usize::try_from(bytes).unwrap()));
    text.extend_from_slice(b"\"}");
    // One of them has no time.
    (text, (id != 7).then(|| 1_700_000_000 + (id / 4) as i64))
}

fn batch(ids: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::default();
    for id in ids {
        let (record, time) = record(id);
        batch.push_mixed(&record, time);
    }
    batch
}

#[test]
fn records_of_the_golden_store_are_read() {
    let storage = disk();
    assert_holds(&storage, &golden());
    let store = RecordStore::open(&storage, &golden()).unwrap();
    let view = store.view("default", &ViewOptions::default()).unwrap();
    let states: Vec<_> = view.stat().segments.iter().map(|segment| segment.state).collect();
    assert_eq!(states, [SegmentState::Sealed, SegmentState::Open]);
    let open = golden().join("default").join(format!("{SEALED:020}.open"));
    let bytes = storage.read(&open, u64::MAX).unwrap();
    // One frame for the small commits, two for the large one, of which the second goes on with it.
    let heads: Vec<usize> = memchr::memmem::find_iter(&bytes, b"TRF1").collect();
    assert_eq!(heads.iter().map(|at| bytes[at + 28]).collect::<Vec<_>>(), [1, 1, 3, 1]);
    // Whoever writes goes on with it.
    let memory = Memory::new();
    memory.put(Path::new("store/other"), b"");
    memory.copy_from(&*storage, &golden(), Path::new("store/golden")).unwrap();
    let storage = dynamic(&memory);
    let store = RecordStore::open(&storage, Path::new("store/golden")).unwrap();
    let writer = store.writer("default").unwrap();
    assert_eq!(writer.end(), SEALED + COMMITS.iter().sum::<u64>());
    assert!(writer.take_found().is_empty() && writer.take_cut().is_none());
}

fn assert_holds(storage: &Arc<dyn Storage>, path: &Path) {
    let end = SEALED + COMMITS.iter().sum::<u64>();
    let store = RecordStore::open(storage, path).unwrap();
    let view = Arc::new(store.view("default", &ViewOptions::default()).unwrap());
    assert_eq!(view.ids(), 0..end);
    let mut next = 0;
    let scanned = view.reader().scan(0..end, |scanned| {
        let (expected, time) = record(next);
        assert_eq!((scanned.id, scanned.time), (next, time));
        assert_eq!(scanned.record, expected);
        next += 1;
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    assert_eq!(next, end);
    let verified = verify(storage, path).unwrap();
    assert_eq!((verified.records, verified.damage.len()), (end, 0), "{:?}", verified.damage);
}

/// Makes the store anew, in the directory that the variable `GOLDEN` names.
#[test]
#[ignore = "writes files; only for a new golden store"]
fn write_a_golden_store() {
    let target = PathBuf::from(std::env::var_os("GOLDEN").unwrap());
    let storage = disk();
    let settings = Settings { segment_bytes: 16 << 20, codec: Codec::Lz4 };
    let store = RecordStore::create(&storage, &target, &settings).unwrap();
    let writer = store.writer("default").unwrap();
    writer.append_batch(&batch(0..SEALED)).unwrap();
    let options = SealOptions { dictionary_bytes: 1024, ..SealOptions::default() };
    writer.seal(&options, true).unwrap();
    for count in COMMITS {
        writer.append_batch(&batch(writer.end()..writer.end() + count)).unwrap();
    }
    assert_holds(&storage, &target);
}

fn keyed() -> PathBuf {
    golden().with_file_name("2026-11-keys")
}

/// What the store with keys holds: 40 records sealed, of which 20 were updated in 5 that are open, then a deletion.
fn keyed_batches() -> [Batch; 3] {
    let key = |number: u64| format!("user:{number}").into_bytes();
    let mut batches = [Batch::default(), Batch::default(), Batch::default()];
    for id in 0..60 {
        let (record, time) = record(id);
        batches[usize::from(id >= 55)].push_keyed(&key(id % 40), &record, time).unwrap();
    }
    batches[1].push_mixed(b"a record without a key", None);
    batches[2].push_deletion(&key(39), Some(5)).unwrap();
    batches
}

#[test]
fn keys_of_the_golden_store_are_found() {
    let storage = disk();
    let store = RecordStore::open(&storage, &keyed()).unwrap();
    let view = Arc::new(store.view("default", &ViewOptions::default()).unwrap());
    let mut reader = view.reader();
    assert_eq!(view.ids(), 0..62);
    for number in 0..39 {
        let id = if number < 20 { number + 40 } else { number };
        let key = format!("user:{number}");
        assert_eq!(reader.find(key.as_bytes()).unwrap(), Some(id));
        assert_eq!(reader.get_by_key(key.as_bytes()).unwrap(), Some(&record(id).0[..]));
    }
    assert_eq!(reader.find(b"user:39").unwrap(), None);
    assert_eq!(reader.get(60).unwrap(), b"a record without a key");
    let verified = verify(&storage, &keyed()).unwrap();
    assert_eq!((verified.records, verified.damage.len()), (62, 0), "{:?}", verified.damage);
}

/// Makes the store with keys anew, in the directory that the variable `GOLDEN` names.
#[test]
#[ignore = "writes files; only for a new golden store"]
fn write_a_golden_store_with_keys() {
    let target = PathBuf::from(std::env::var_os("GOLDEN").unwrap());
    let store = RecordStore::create(&disk(), &target, &Settings::default()).unwrap();
    let writer = store.writer("default").unwrap();
    let [sealed, open, deletion] = keyed_batches();
    writer.append_batch(&sealed).unwrap();
    let options = SealOptions { dictionary_bytes: 1024, ..SealOptions::default() };
    writer.seal(&options, true).unwrap();
    writer.append_batch(&open).unwrap();
    writer.append_batch(&deletion).unwrap();
}
