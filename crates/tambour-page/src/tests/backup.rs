//! Backups, restores, conversions.

use super::*;
use crate::dictionary::Dictionary;
use crate::map::{Entry, State};
use crate::{BackupReport, convert, restore};
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::place::{File, Storage};

fn filled(layout: Layout) -> (Memory, Store, Model) {
    let memory = Memory::default();
    let mut store = create(&memory, &Options { page_bytes: 16384, ..options(layout) });
    let mut model = Model::new();
    let mut steps: Vec<Step> = (0..200).map(|page| Step::Put(page, 1, page % 9)).collect();
    steps.extend([Step::Zero(50), Step::Zero(300)]);
    commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
    let steps: Vec<Step> = (0..200).step_by(7).map(|page| Step::Put(page, 2, 4)).collect();
    commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
    commit(&mut store, &mut model, &[Step::Free(3)], Durability::Sync).unwrap();
    (memory, store, model)
}

fn restored(stream: &[u8], layout: Layout) -> Result<(Memory, BackupReport), PageError> {
    let memory = Memory::default();
    let report = restore(&memory, &mut &stream[..], &path(), &options(layout))?;
    Ok((memory, report))
}

#[test]
fn a_backup_restores_to_either_layout() {
    for from in [Layout::Packed, Layout::Holes] {
        let (_, mut store, model) = filled(from);
        for checkpointed in [false, true] {
            if checkpointed {
                store.checkpoint().unwrap();
            }
            let mut stream = Vec::new();
            let saved = store.backup(&mut stream, 0).unwrap();
            assert_eq!(saved.bytes, stream.len() as u64);
            assert_eq!(saved.pages, model.len() as u64);
            for to in [Layout::Packed, Layout::Holes] {
                let (memory, report) = restored(&stream, to).unwrap();
                assert_eq!(report, saved);
                let mut copy = open(&memory).unwrap();
                assert!(everything(&mut copy).unwrap() == model);
                assert_eq!(copy.generation(), store.generation());
                assert_eq!(copy.len(), store.len());
                let mut again = Vec::new();
                copy.backup(&mut again, 0).unwrap();
                assert!(again == stream, "the stream does not depend on the layout");
            }
        }
    }
}

#[test]
fn increments_follow_each_other_and_nothing_else() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (_, mut store, mut model) = filled(layout);
        let mut full = Vec::new();
        store.backup(&mut full, 0).unwrap();
        let (memory, first) = restored(&full, layout).unwrap();
        let steps = [Step::Put(5, 9, 2), Step::Free(7), Step::Zero(8), Step::Put(500, 9, 1)];
        commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
        commit(&mut store, &mut model, &[Step::Put(9, 9, 9)], Durability::Sync).unwrap();
        let mut increment = Vec::new();
        let saved = store.backup(&mut increment, first.generation).unwrap();
        assert_eq!(saved.pages, 4);
        assert!(increment.len() < full.len() / 4);
        restore(&memory, &mut &increment[..], &path(), &options(layout)).unwrap();
        let mut copy = open(&memory).unwrap();
        assert!(everything(&mut copy).unwrap() == model);
        assert_eq!(copy.generation(), store.generation());
        drop(copy);
        let twice = restore(&memory, &mut &increment[..], &path(), &options(layout));
        assert!(matches!(twice, Err(PageError::Mismatch { .. })));
        assert!(store.backup(&mut Vec::new(), 999).is_err());
    }
}

#[test]
fn damaged_streams_are_refused_and_leave_nothing() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let steps = [Step::Put(0, 1, 0), Step::Zero(1), Step::Put(2, 1, 0)];
    commit(&mut store, &mut Model::new(), &steps, Durability::Sync).unwrap();
    let mut stream = Vec::new();
    store.backup(&mut stream, 0).unwrap();
    for bit in 0..stream.len() * 8 {
        let mut wrong = stream.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        let target = Memory::default();
        let error = restore(&target, &mut &wrong[..], &path(), &options(Layout::Packed));
        let error = error.expect_err(&format!("bit {bit}"));
        assert!(
            matches!(error.kind(), Kind::Corrupt | Kind::Unsupported | Kind::NotFound),
            "bit {bit}: {error}"
        );
        assert!(target.bytes(&path()).is_none());
    }
    for length in 0..stream.len() {
        assert!(restored(&stream[..length], Layout::Packed).is_err(), "{length}");
    }
}

#[test]
fn a_backup_holds_its_generation_while_the_store_goes_on() {
    let (_, mut store, model) = filled(Layout::Packed);
    let seen = model.clone();
    let mut reader = store.reader();
    let mut model = model;
    for version in 3..9 {
        let steps: Vec<Step> = (0..200).map(|page| Step::Put(page, version, 3)).collect();
        commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
        store.checkpoint().unwrap();
    }
    let mut stream = Vec::new();
    reader.backup(&mut stream, 0, store.codec()).unwrap();
    let (memory, _) = restored(&stream, Layout::Packed).unwrap();
    assert!(everything(&mut open(&memory).unwrap()).unwrap() == seen);
}

#[test]
fn conversion_there_and_back_is_the_same() {
    let (memory, mut store, model) = filled(Layout::Packed);
    store.checkpoint().unwrap();
    let holes = PathBuf::from("/holes");
    convert(&memory, &store, &holes, &options(Layout::Holes)).unwrap();
    let mut other = Store::open_on(&memory, &holes, Access::Write).unwrap();
    assert_eq!(other.layout(), Layout::Holes);
    assert!(everything(&mut other).unwrap() == model);
    let back = PathBuf::from("/back");
    convert(&memory, &other, &back, &options(Layout::Packed)).unwrap();
    let mut last = Store::open_on(&memory, &back, Access::Write).unwrap();
    assert!(everything(&mut last).unwrap() == model);
    let taken = convert(&memory, &other, &back, &options(Layout::Packed));
    assert!(matches!(taken, Err(PageError::Exists { .. })));
}

#[test]
fn more_zero_pages_than_a_batch_takes_are_restored() {
    let count = (1 << 20) + 9;
    let zero = |generation| Entry { generation, state: State::Zero, ..Entry::default() };
    let mut store = create(&Memory::default(), &options(Layout::Packed));
    let mut saved = |generation| {
        store.map.fill(0, count, zero(generation));
        store.generation = generation;
        let mut stream = Vec::new();
        store.backup(&mut stream, generation - 1).unwrap();
        stream
    };
    let (memory, _) = restored(&saved(1), Layout::Packed).unwrap();
    assert_eq!(open(&memory).unwrap().pages().count() as u64, count);
    // An increment is one commit.
    restore(&memory, &mut &saved(2)[..], &path(), &options(Layout::Packed)).unwrap();
    let copy = open(&memory).unwrap();
    assert_eq!((copy.generation(), copy.len()), (2, count));
}

#[test]
fn an_increment_with_another_dictionary_is_refused() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut model = Model::new();
    commit(&mut store, &mut model, &[Step::Put(0, 1, 0)], Durability::Sync).unwrap();
    let mut full = Vec::new();
    store.backup(&mut full, 0).unwrap();
    let (copy, _) = restored(&full, Layout::Packed).unwrap();
    let mut other = open(&copy).unwrap();
    other.add_dictionary(Dictionary { id: 1, bytes: vec![1; 500] }).unwrap();
    other.close().unwrap();
    store.add_dictionary(Dictionary { id: 1, bytes: vec![2; 500] }).unwrap();
    commit(&mut store, &mut model, &[Step::Put(0, 2, 0)], Durability::Sync).unwrap();
    let mut increment = Vec::new();
    store.backup(&mut increment, 1).unwrap();
    let refused = restore(&copy, &mut &increment[..], &path(), &options(Layout::Packed));
    assert!(matches!(refused, Err(PageError::Mismatch { .. })), "{refused:?}");
    assert_eq!(open(&copy).unwrap().generation(), 1);
}

#[test]
fn a_restore_removes_no_other_file() {
    let (_, store, _) = filled(Layout::Packed);
    let mut stream = Vec::new();
    store.backup(&mut stream, 0).unwrap();
    let memory = Memory::default();
    let other = PathBuf::from("/store.restore");
    Store::create_on(&memory, &other, &options(Layout::Packed)).unwrap().close().unwrap();
    restore(&memory, &mut &stream[..], &path(), &options(Layout::Holes)).unwrap();
    assert!(memory.bytes(&other).is_some());
}

/// What an interrupted restore has left goes when the next one begins, or the store is opened for writing; but not what
/// somebody is at work on.
#[test]
fn leftovers_of_interrupted_work_are_removed() {
    let memory = Memory::default();
    let left =
        |purpose: &str, number: u64| PathBuf::from(format!("/.store.{purpose}-{number:016x}"));
    let make = |path: &Path| tambour_storage::place::Storage::create(&memory, path).unwrap();
    for layout in [Layout::Packed, Layout::Holes] {
        let busy = make(&left("restore", 99));
        drop(make(&left("new", 1)));
        drop(make(&left("restore", 2)));
        drop(make(&super::super::shared::map_path(&left("restore", 2))));
        let mut store = Store::create_on(&memory, &path(), &options(layout)).unwrap();
        commit(&mut store, &mut Model::new(), &[Step::Put(0, 1, 1)], Durability::Sync).unwrap();
        store.close().unwrap();
        for gone in [left("new", 1), left("restore", 2)] {
            assert!(memory.bytes(&gone).is_none(), "{gone:?}");
        }
        drop(make(&left("new", 3)));
        drop(Store::open_on(&memory, &path(), Access::Read).unwrap());
        assert!(memory.bytes(&left("new", 3)).is_some(), "reading changes nothing");
        drop(open(&memory).unwrap());
        assert!(memory.bytes(&left("new", 3)).is_none());
        assert!(memory.bytes(&left("restore", 99)).is_some(), "it is in use");
        drop(busy);
        for path in [left("restore", 99), path(), super::pack_path(layout)] {
            let _ = tambour_storage::place::Storage::remove(&memory, &path);
        }
    }
}

/// A storage beside which another process looks for what was left over, whenever a file is about to get its name.
#[derive(Debug)]
struct Swept(Memory);

impl Storage for Swept {
    fn open(&self, path: &Path, access: Access) -> std::io::Result<Arc<dyn File>> {
        self.0.open(path, access)
    }

    fn create(&self, path: &Path) -> std::io::Result<Arc<dyn File>> {
        self.0.create(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        crate::aside::sweep(&self.0, &path());
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> std::io::Result<()> {
        self.0.remove(path)
    }

    fn beside(&self, path: &Path) -> std::io::Result<Vec<PathBuf>> {
        self.0.beside(path)
    }

    fn exists(&self, path: &Path) -> std::io::Result<bool> {
        self.0.exists(path)
    }

    fn sync_directory_of(&self, path: &Path) -> std::io::Result<()> {
        self.0.sync_directory_of(path)
    }
}

#[test]
fn a_restore_is_not_taken_for_left_over_before_it_has_its_name() {
    let (_, store, model) = filled(Layout::Packed);
    let mut stream = Vec::new();
    store.backup(&mut stream, 0).unwrap();
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Swept(Memory::default());
        restore(&memory, &mut &stream[..], &path(), &options(layout)).unwrap();
        let mut copy = open(&memory.0).unwrap();
        assert!(everything(&mut copy).unwrap() == model);
    }
}
