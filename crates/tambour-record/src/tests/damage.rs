//! Every bit of a store flipped, one at a time: the right record or an error, never a wrong one; `verify` finds each; and
//! `salvage` returns everything outside of the damaged group.

use super::super::{MARKER, Moved, RecordError, RecordStore, ViewOptions, salvage, verify};
use super::{PATH, dynamic, record, sealed_and_open};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};

/// All files of a store that hold anything.
pub(super) fn files(storage: &dyn Storage) -> Vec<PathBuf> {
    let mut files = vec![Path::new(PATH).join(MARKER)];
    let category = Path::new(PATH).join("default");
    for entry in storage.list(&category).unwrap() {
        if entry.is_file && entry.name != ".tambour.lock" {
            files.push(category.join(entry.name));
        }
    }
    files
}

/// How much a flip may cost.
pub(super) fn check(memory: &Memory, count: u64, lost_max: u64, what: &str) {
    let storage = dynamic(memory);
    let verified = verify(&storage, Path::new(PATH)).unwrap();
    assert!(!verified.damage.is_empty(), "{what}: not found");
    let mut bad = Vec::new();
    if let Ok(store) = RecordStore::open(&storage, Path::new(PATH)) {
        for memory_bytes in [0, 1 << 30] {
            let view = Arc::new(store.view("default", &ViewOptions { memory_bytes }).unwrap());
            let mut reader = view.reader();
            bad.clear();
            for id in 0..count {
                match reader.get(id) {
                    Ok(got) => assert_eq!(got, record(id), "{what}: record {id}"),
                    Err(_) => bad.push(id),
                }
            }
            let mut next = 0;
            let _ = reader.scan(0..count, |scanned| {
                assert_eq!(scanned.record, record(scanned.id), "{what}: record {}", scanned.id);
                assert_eq!(scanned.time, Some(scanned.id as i64 * 10), "{what}");
                next += 1;
                ControlFlow::Continue(())
            });
            assert!(next == count || !bad.is_empty(), "{what}: the scan stops at {next}");
        }
        assert!(bad.len() as u64 <= lost_max, "{what}: {} records lost", bad.len());
    }
    let target = Path::new("logs/saved");
    let saved = salvage(&storage, Path::new(PATH), target).unwrap();
    assert_eq!(saved.records, count - bad.len() as u64, "{what}");
    let copy = RecordStore::open(&storage, target).unwrap();
    let mut reader = Arc::new(copy.view("default", &ViewOptions::default()).unwrap()).reader();
    for (_, runs) in &saved.moved {
        for Moved { old, new, records } in runs {
            for k in 0..*records {
                assert_eq!(reader.get(new + k).unwrap(), record(old + k), "{what}");
            }
        }
    }
}

fn flip_all(memory: &Memory, count: u64, lost_max: u64, step: usize) {
    let storage = dynamic(memory);
    for path in files(&*storage) {
        let contents = storage.read(&path, u64::MAX).unwrap();
        for bit in (0..contents.len() * 8).step_by(step) {
            let mut damaged = contents.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let other = memory.crash(Fate::Kept);
            other.put(&path, &damaged);
            check(&other, count, lost_max, &format!("{}, bit {bit}", path.display()));
        }
    }
}

#[test]
fn every_flip_is_found_and_costs_no_more_than_its_group() {
    // Small enough for every flip of some bits in each byte; the slow tier flips all of more.
    let memory = sealed_and_open(70, 40, 4).crash(Fate::Kept);
    flip_all(&memory, 110, 16, 11);
}

#[test]
fn salvage_does_not_know_how_much_a_broken_last_segment_held() {
    for (open, name) in [(0, "00000000000000000000.sealed"), (40, "00000000000000000070.open")] {
        let memory = sealed_and_open(70, open, 4).crash(Fate::Kept);
        let storage = dynamic(&memory);
        let whole = salvage(&storage, Path::new(PATH), Path::new("logs/whole")).unwrap();
        assert!(!whole.unknown && whole.damage.is_empty());
        memory.put(&Path::new(PATH).join("default").join(name), &[0; 400]);
        let saved = salvage(&storage, Path::new(PATH), Path::new("logs/saved")).unwrap();
        assert!(saved.unknown && !saved.damage.is_empty(), "{name}");
        assert_eq!(saved.records, if open == 0 { 0 } else { 70 });
    }
}

/// The open segment of a store, damaged.
fn damaged(memory: &Memory, damage: impl FnOnce(&mut Vec<u8>)) -> Arc<dyn Storage> {
    let other = memory.crash(Fate::Kept);
    let path = Path::new(PATH).join("default").join("00000000000000000000.open");
    let mut contents = other.read(&path, u64::MAX).unwrap();
    damage(&mut contents);
    other.put(&path, &contents);
    dynamic(&other)
}

/// What is done to a file, and how many records are told to be lost.
type Damage<'a> = (&'a dyn Fn(&mut Vec<u8>), u64);

#[test]
fn damage_at_the_end_of_an_open_segment_is_told_from_a_commit_that_was_cut_off() {
    let memory = sealed_and_open(0, 60, 1).crash(Fate::Kept);
    let saved = |storage: &Arc<dyn Storage>| {
        salvage(storage, Path::new(PATH), Path::new("logs/saved")).unwrap()
    };
    let head = |contents: &[u8], magic: &[u8]| memchr::memmem::rfind(contents, magic).unwrap();
    // The last frame, ten records after fifty, loses both of its heads, or all of it is overwritten.
    let both_heads = |contents: &mut Vec<u8>| {
        for magic in [&b"TRF1"[..], b"TRF2"] {
            let at = head(contents, magic);
            contents[at + 9] ^= 1;
        }
    };
    let overwritten = |contents: &mut Vec<u8>| {
        let at = head(contents, b"TRF1");
        contents[at..].fill(0xa5);
    };
    // One head is there and tells of ten records, but the last block and the other head are gone.
    let one_head = |contents: &mut Vec<u8>| {
        let at = head(contents, b"TRF2");
        contents[at - 8..].fill(0xff);
    };
    let damages: [Damage<'_>; 3] = [(&both_heads, 0), (&overwritten, 0), (&one_head, 10)];
    for (damage, told) in damages {
        let storage = damaged(&memory, damage);
        let salvaged = saved(&storage);
        assert_eq!((salvaged.records, salvaged.lost), (50, told));
        assert!(salvaged.unknown && salvaged.cut.is_empty());
        assert_eq!(salvaged.damage.len(), 1, "{:?}", salvaged.damage);
        assert_eq!(verify(&storage, Path::new(PATH)).unwrap().damage.len(), 1);
        let mut reader = super::reader(&storage).unwrap();
        assert!(matches!(reader.get(55), Err(RecordError::Corrupt { .. })));
        assert!(reader.scan(0..u64::MAX, |_| ControlFlow::Continue(())).is_err());
        assert_eq!(reader.get(49).unwrap(), record(49));
        // A writer goes on after it, says what it found, and leaves it there.
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let writer = store.writer("default").unwrap();
        assert_eq!((writer.end(), writer.take_found().len()), (50, 1));
        writer.append_batch(&super::records(50..51)).unwrap();
        assert!(matches!(writer.seal(&super::options(1), true), Err(RecordError::Corrupt { .. })));
        assert!(!verify(&storage, Path::new(PATH)).unwrap().damage.is_empty());
        let mut reader = super::reader(&storage).unwrap();
        reader.scan(0..u64::MAX, |_| ControlFlow::Continue(())).unwrap();
    }
    // Where nothing can be read, the next segment has the same name: the damaged file is kept under another one.
    let storage = damaged(&memory, |contents| {
        let at = memchr::memmem::find(contents, b"TRF1").unwrap();
        contents[at..].fill(0xa5);
    });
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let writer = store.writer("default").unwrap();
    assert_eq!(writer.append_batch(&super::records(0..1)).unwrap(), 0..1);
    let kept = Path::new(PATH).join("default/00000000000000000000.open.damaged-1");
    assert!(storage.exists(&kept).unwrap());
    assert_eq!(super::reader(&storage).unwrap().get(0).unwrap(), record(0));
    drop(writer);
}

#[test]
fn commits_that_were_cut_off_are_no_damage() {
    let memory = sealed_and_open(0, 60, 1).crash(Fate::Kept);
    let saved = |storage: &Arc<dyn Storage>| {
        salvage(storage, Path::new(PATH), Path::new("logs/saved")).unwrap()
    };
    let head = |contents: &[u8], magic: &[u8]| memchr::memmem::rfind(contents, magic).unwrap();
    // What crashes leave: the beginning of a frame, with and without zeros behind it, or nothing but zeros.
    let whole = memory.read(&Path::new(PATH).join("default/00000000000000000000.open"), u64::MAX);
    let whole = whole.unwrap();
    let (start, behind) = (head(&whole, b"TRF1"), head(&whole, b"TRF2"));
    for length in [start + 3, start + 20, start + 45, behind - 8] {
        for zeros in [0, 4096] {
            let storage = damaged(&memory, |contents| {
                contents.truncate(length);
                contents.resize(length + zeros, 0);
            });
            let salvaged = saved(&storage);
            assert_eq!((salvaged.records, salvaged.lost), (50, 0));
            assert!(!salvaged.unknown && salvaged.damage.is_empty(), "{length} {zeros}");
            let cut = &salvaged.cut[0];
            assert_eq!((cut.offset, cut.bytes), (start as u64, (length - start + zeros) as u64));
            assert_eq!(cut.records, (length == behind - 8).then_some(10));
        }
    }
    let storage = damaged(&memory, |contents| contents[start..].fill(0));
    assert_eq!(saved(&storage).cut[0].records, None);
}

#[test]
fn a_damaged_open_segment_is_not_sealed_away() {
    let memory = sealed_and_open(0, 60, 1).crash(Fate::Kept);
    let path = Path::new(PATH).join("default").join("00000000000000000000.open");
    let contents = memory.read(&path, u64::MAX).unwrap();
    let storage = dynamic(&memory);
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let writer = store.writer("default").unwrap();
    // Cut in its first frame, and in its last.
    for length in [contents.len() / 3, contents.len() - 1] {
        memory.put(&path, &contents[..length]);
        let error = writer.seal(&super::options(1), true).unwrap_err();
        assert!(matches!(error, RecordError::Missing { end: 60, .. }), "{error}");
        assert_eq!(memory.read(&path, u64::MAX).unwrap(), contents[..length]);
    }
    memory.put(&path, &contents);
    assert_eq!(writer.seal(&super::options(1), true).unwrap()[0].records, 60);
}

#[test]
fn every_truncation_is_found_and_a_reopened_log_goes_on() {
    let memory = sealed_and_open(0, 60, 1).crash(Fate::Kept);
    let storage = dynamic(&memory);
    let path = Path::new(PATH).join("default").join("00000000000000000000.open");
    let contents = storage.read(&path, u64::MAX).unwrap();
    let mut ends = std::collections::BTreeSet::new();
    for length in 0..contents.len() {
        let other = memory.crash(Fate::Kept);
        other.put(&path, &contents[..length]);
        let storage = dynamic(&other);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let Ok(writer) = store.writer("default") else {
            // The start of the file is written before its name is there: such a file never comes from a crash.
            assert!(verify(&storage, Path::new(PATH)).unwrap().records == 0);
            continue;
        };
        let end = writer.end();
        ends.insert(end);
        let mut batch = super::Batch::default();
        batch.push(b"after", Some(1));
        writer.append_batch(&batch).unwrap();
        drop(writer);
        let mut reader = super::reader(&storage).unwrap();
        for id in 0..end {
            assert_eq!(reader.get(id).unwrap(), record(id));
        }
        assert_eq!(reader.get(end).unwrap(), b"after");
        assert!(verify(&storage, Path::new(PATH)).unwrap().damage.is_empty(), "cut at {length}");
    }
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), [0, 50]);
}

/// One key is updated, one deleted, one neither; each change is in a segment of its own, of which a group is lost.
#[test]
fn records_that_come_back_are_named() {
    let memory = super::disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &super::settings()).unwrap();
    let writer = store.writer("default").unwrap();
    for key in ["updated", "deleted", "other"] {
        writer.put_keyed(key.as_bytes(), b"old", None).unwrap();
    }
    writer.seal(&super::options(1), true).unwrap();
    let first = writer.put_keyed(b"updated", b"the new record", None).unwrap();
    writer.put_keyed(b"beside", b"new", None).unwrap();
    writer.delete(b"deleted").unwrap();
    let end = writer.end();
    writer.seal(&super::options(1), true).unwrap();
    drop(writer);
    let saved = |storage: &Arc<dyn Storage>| {
        salvage(storage, Path::new(PATH), Path::new("logs/saved")).unwrap()
    };
    let whole = saved(&dynamic(&memory.crash(Fate::Kept)));
    assert!(whole.doubtful.is_empty() && !whole.blind, "{whole:?}");
    let path = Path::new(PATH).join(format!("default/{first:020}.sealed"));
    let contents = memory.read(&path, u64::MAX).unwrap();
    let (mut named, mut blind) = (std::collections::BTreeSet::new(), 0);
    for at in 0..contents.len() {
        let other = memory.crash(Fate::Kept);
        let mut contents = contents.clone();
        contents[at] ^= 1;
        other.put(&path, &contents);
        let storage = dynamic(&other);
        let salvaged = saved(&storage);
        if salvaged.lost == 0 {
            assert!(salvaged.doubtful.is_empty() && !salvaged.blind, "{at}");
            continue;
        }
        if salvaged.blind {
            blind += 1;
            continue;
        }
        // Nothing but what was lost: each older record of it is named.
        let copy = RecordStore::open(&storage, Path::new("logs/saved")).unwrap();
        let view = copy.view("default", &ViewOptions::default()).unwrap();
        let mut reader = Arc::new(view).reader();
        let found: Vec<_> = salvaged.doubtful.iter().flat_map(|it| it.1.iter()).collect();
        for (key, now) in [("updated", &b"the new record"[..]), ("deleted", b""), ("other", b"old")]
        {
            let got = reader.get_by_key(key.as_bytes()).unwrap().unwrap_or_default();
            let is_named = found.iter().any(|it| it.key == key.as_bytes());
            assert_eq!(got != now, is_named, "{at} {key}");
        }
        for doubtful in found {
            assert!(doubtful.lost >= first && doubtful.lost < end && doubtful.old < first);
            assert_eq!(reader.get(doubtful.new).unwrap(), b"old");
            named.insert(doubtful.key.clone());
        }
    }
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(2 * blind < contents.len(), "{blind} flips lost the index, too");
}

#[test]
fn a_store_that_was_just_made_is_read_as_an_empty_one() {
    let memory = super::disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &super::settings()).unwrap();
    let view = store.view("default", &ViewOptions::default()).unwrap();
    assert_eq!((view.ids(), view.has_changed().unwrap()), (0..0, false));
    assert_eq!(view.refresh().unwrap().ids(), 0..0);
    let other = store.view("other", &ViewOptions::default());
    assert!(matches!(other, Err(RecordError::NoCategory { .. })));
    store.writer("default").unwrap().append(b"first", None).unwrap();
    assert!(view.has_changed().unwrap());
    assert_eq!(view.refresh().unwrap().ids(), 0..1);
}
