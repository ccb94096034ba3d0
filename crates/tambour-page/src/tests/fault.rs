//! Calls that fail: a full disk, a failing sync, a second writer.

use super::*;
use crate::dictionary::Dictionary;
use tambour_storage::place::memory::{EIO, ENOSPC};

fn prepared(layout: Layout) -> (Memory, Store, Model) {
    let memory = Memory::default();
    let mut store = create(&memory, &options(layout));
    let mut model = Model::new();
    let steps: Vec<Step> = (0..6).map(|page| Step::Put(page, 1, page)).collect();
    commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
    store.checkpoint().unwrap();
    (memory, store, model)
}

/// Lets each change of a commit and a checkpoint fail. Returns how many there were.
fn fail_everywhere(layout: Layout, error: i32) -> u64 {
    let steps = [Step::Put(0, 2, 9), Step::Put(9, 2, 3), Step::Free(1), Step::Zero(2)];
    for number in 0.. {
        let (memory, mut store, before) = prepared(layout);
        let failing = memory.changes() + number;
        memory.fail_at(failing, error);
        let mut after = before.clone();
        let committed = commit(&mut store, &mut after, &steps, Durability::Sync);
        let finished = committed
            .as_ref()
            .map(|_| ())
            .map_err(|_| ())
            .and_then(|()| store.checkpoint().map_err(|_| ()));
        // That a mark could not be written is nobody's error.
        let failed = memory.changes() > failing;
        assert!(failed || (committed.is_ok() && finished.is_ok()));
        // A failed call changes nothing of what is read, or all of it.
        let model = if committed.is_ok() { &after } else { &before };
        assert!(everything(&mut store).unwrap() == *model, "{layout:?}, change {number}");
        memory.heal();
        // What the store says now must be true after it is opened again, too.
        let goes_on = store.checkpoint().is_ok();
        let poisoned = matches!(store.checkpoint(), Err(PageError::Poisoned { .. }));
        assert!(goes_on || poisoned, "{layout:?}, change {number}");
        drop(store);
        let mut store = open(&memory).unwrap();
        let found = everything(&mut store).unwrap();
        let uncertain = committed.is_err() && poisoned;
        assert!(
            found == *model || (uncertain && found == after),
            "{layout:?}, change {number}: after opening again"
        );
        if !failed {
            return number;
        }
    }
    unreachable!()
}

#[test]
fn enospc_at_each_change_loses_nothing() {
    for layout in [Layout::Packed, Layout::Holes] {
        assert!(fail_everywhere(layout, ENOSPC) > 5);
    }
}

#[test]
fn eio_at_each_change_loses_nothing() {
    for layout in [Layout::Packed, Layout::Holes] {
        assert!(fail_everywhere(layout, EIO) > 5);
    }
}

#[test]
fn enospc_comes_before_the_acknowledgement_and_the_store_goes_on() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (memory, mut store, mut model) = prepared(layout);
        let used = store.stat(false).unwrap().allocated_bytes();
        memory.limit(Some(used + 16384));
        let before = model.clone();
        let steps: Vec<Step> = (20..60).map(|page| Step::Put(page, 2, 9)).collect();
        let mut attempt = model.clone();
        let error = commit(&mut store, &mut attempt, &steps, Durability::Sync).unwrap_err();
        assert!(matches!(error, PageError::Full { .. }), "{layout:?}: {error}");
        assert!(everything(&mut store).unwrap() == before);
        // A batch for which there is room is taken, and what was acknowledged can be brought home.
        commit(&mut store, &mut model, &[Step::Put(2, 3, 0)], Durability::Sync).unwrap();
        memory.limit(None);
        store.checkpoint().unwrap();
        drop(store);
        assert!(everything(&mut open(&memory).unwrap()).unwrap() == model);
    }
}

/// Every size of disk, from one that takes nothing to one that takes all.
#[test]
fn enospc_at_each_allocation_loses_nothing() {
    for layout in [Layout::Packed, Layout::Holes] {
        for more in (0..60).map(|blocks| blocks * 4096) {
            let (memory, mut store, before) = prepared(layout);
            let used = store.stat(false).unwrap().allocated_bytes();
            memory.limit(Some(used + more));
            let mut model = before;
            let mut acknowledged = model.clone();
            for version in 2..8 {
                let steps: Vec<Step> =
                    (0..6).map(|page| Step::Put(page * version, version, 9)).collect();
                let committed = commit(&mut store, &mut model, &steps, Durability::Sync);
                let done = committed.is_ok() && store.checkpoint().is_ok();
                if committed.is_ok() {
                    acknowledged = model.clone();
                }
                if !done {
                    break;
                }
            }
            drop(store);
            memory.limit(None);
            let found = everything(&mut open(&memory).unwrap()).unwrap();
            assert!(found == acknowledged, "{layout:?}, {more} bytes more");
        }
    }
}

#[test]
fn eio_on_sync_poisons_the_store_and_says_so() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (memory, mut store, mut model) = prepared(layout);
        let before = model.clone();
        // The sync is the last change of a commit but one: the mark follows.
        let start = memory.changes();
        commit(&mut store, &mut model.clone(), &[Step::Put(0, 2, 0)], Durability::Sync).unwrap();
        let changes = memory.changes() - start;
        drop(store);
        let (memory, mut store, _) = prepared(layout);
        memory.fail_at(memory.changes() + changes - 2, EIO);
        let error = commit(&mut store, &mut model, &[Step::Put(0, 2, 0)], Durability::Sync);
        assert!(error.unwrap_err().to_string().starts_with("cannot sync"));
        memory.heal();
        for _ in 0..2 {
            let error = store.batch().map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("an earlier sync failed"), "{error}");
        }
        // Reading goes on.
        assert!(everything(&mut store).unwrap() == before);
    }
}

#[test]
fn a_second_writer_is_refused() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (memory, store, _) = prepared(layout);
        assert!(matches!(open(&memory), Err(PageError::Locked { .. })));
        let reader = Store::open_on(&memory, &path(), Access::Read);
        assert!(matches!(reader, Err(PageError::Locked { .. })));
        drop(store);
        let one = Store::open_on(&memory, &path(), Access::Read).unwrap();
        let other = Store::open_on(&memory, &path(), Access::Read).unwrap();
        assert!(matches!(open(&memory), Err(PageError::Locked { .. })));
        drop((one, other));
        open(&memory).unwrap();
    }
}

#[test]
fn a_second_writer_is_refused_on_the_disk_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let store = Store::create(&path, &options(Layout::Holes)).unwrap();
    assert!(matches!(Store::open(&path, Access::Write), Err(PageError::Locked { .. })));
    assert!(matches!(
        Store::create(&path, &options(Layout::Packed)),
        Err(PageError::Exists { .. })
    ));
    store.close().unwrap();
    Store::open(&path, Access::Write).unwrap().close().unwrap();
}

/// A dictionary is written, and then its checkpoint or a later one fails: what is committed afterwards must be found again.
#[test]
fn enospc_behind_a_dictionary_loses_no_later_commit() {
    for layout in [Layout::Packed, Layout::Holes] {
        for number in 0..4 {
            let (memory, mut store, mut model) = prepared(layout);
            memory.fail_at(memory.changes() + number, ENOSPC);
            let bytes = content(9000, 1, 1, 9);
            let added = store.add_dictionary(Dictionary { id: 1, bytes });
            let kept = added.and_then(|()| store.checkpoint());
            memory.heal();
            let committed = commit(&mut store, &mut model, &[Step::Put(2, 3, 0)], Durability::Sync);
            assert!(committed.is_ok() || kept.is_err(), "{layout:?}, change {number}");
            drop(store);
            if committed.is_ok() {
                let found = everything(&mut open(&memory).unwrap()).unwrap();
                assert!(found == model, "{layout:?}, change {number}");
            }
        }
    }
}

#[test]
fn of_many_who_make_a_store_one_does() {
    for layout in [Layout::Packed, Layout::Holes] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pages");
        let made = std::thread::scope(|scope| {
            let make = || Store::create(&path, &options(layout)).ok();
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            let made = makers.into_iter().map(|maker| maker.join().unwrap());
            made.collect::<Vec<_>>()
        });
        assert_eq!(made.iter().flatten().count(), 1, "{layout:?}");
        drop(made);
        Store::open(&path, Access::Write).unwrap().close().unwrap();
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, if layout == Layout::Holes { 2 } else { 1 }, "{layout:?}");
    }
}
