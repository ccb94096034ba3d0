//! Several users of one store, by turns: against a model, and in each other's way.

use crate::{Access, Durability, Layout, Level, Options, PageError, Store, Turns};
use std::collections::BTreeMap;

const PAGE: usize = 4096;

fn content(number: u64, version: u64) -> Vec<u8> {
    let mut content = vec![0; PAGE];
    // Between a seventh of the page and all of it is hard to compress.
    let hard = usize::try_from(600 + version * 37 % 3400).unwrap();
    let mut state = number << 32 | version;
    for byte in &mut content[..hard] {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = state.to_le_bytes()[7];
    }
    content
}

fn options(layout: Layout) -> Options {
    Options { page_bytes: PAGE, layout, checkpoint_bytes: Some(200_000), ..Options::default() }
}

#[test]
fn what_one_commits_the_others_see_in_their_next_turn() {
    for layout in [Layout::Packed, Layout::Holes] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pages");
        let mut users = vec![Turns::create(&path, &options(layout)).unwrap()];
        users.push(Turns::open(&path).unwrap());
        users.push(Turns::open(&path).unwrap());
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut state = 11_u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
            (state >> 33) % end
        };
        for step in 1..600_u64 {
            let who = usize::try_from(below(3)).unwrap();
            if below(40) == 0 {
                // One goes, and another one comes.
                users.remove(who).close().unwrap();
                users.push(Turns::open(&path).unwrap());
                continue;
            }
            let user = &mut users[who];
            user.take(Access::Read).unwrap();
            let store = user.store().unwrap();
            for _ in 0..5 {
                let page = below(60);
                let version = model.get(&page).copied();
                assert_eq!(store.contains(page), version.is_some(), "step {step}");
                if let Some(version) = version {
                    let mut found = vec![0; PAGE];
                    store.read(page, &mut found).unwrap();
                    assert!(found == content(page, version), "step {step}, page {page}");
                }
            }
            if below(3) > 0 {
                user.take(Access::Write).unwrap();
                let mut batch = user.store().unwrap().batch().unwrap();
                for _ in 0..=below(6) {
                    let page = below(60);
                    if below(5) == 0 && model.contains_key(&page) {
                        batch.free(page).unwrap();
                        model.remove(&page);
                    } else {
                        batch.put(page, &content(page, step)).unwrap();
                        model.insert(page, step);
                    }
                }
                let durability = if below(2) == 0 { Durability::Async } else { Durability::Sync };
                batch.commit(durability).unwrap();
            }
            user.give();
        }
        drop(users);
        let mut store = Store::open(&path, Access::Write).unwrap();
        assert!(store.pages().eq(model.keys().copied()));
        for (&page, &version) in &model {
            let mut found = vec![0; PAGE];
            store.read(page, &mut found).unwrap();
            assert!(found == content(page, version), "page {page} at the end");
        }
        assert!(store.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
    }
}

#[test]
fn a_turn_keeps_out_whom_it_must_and_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let mut one = Turns::create(&path, &options(Layout::Packed)).unwrap();
    let mut other = Turns::open(&path).unwrap();
    // Idle ones are in nobody's way.
    Store::open(&path, Access::Write).unwrap().close().unwrap();
    assert!(one.store().is_none());
    one.take(Access::Read).unwrap();
    other.take(Access::Read).unwrap();
    assert!(matches!(one.take(Access::Write), Err(PageError::Locked { .. })));
    // It is a turn for reading still.
    assert!(one.store().is_some());
    assert!(matches!(Store::open(&path, Access::Write), Err(PageError::Locked { .. })));
    other.give();
    one.take(Access::Write).unwrap();
    assert!(matches!(other.take(Access::Read), Err(PageError::Locked { .. })));
    assert!(matches!(Store::open(&path, Access::Read), Err(PageError::Locked { .. })));
    one.lower().unwrap();
    other.take(Access::Read).unwrap();
    one.give();
    other.give();
}

/// What many small commits have left is cut off when the last user goes, and not before.
#[test]
fn a_store_that_is_mostly_log_is_cut_by_its_last_user() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let options = Options { page_bytes: PAGE, ..Options::default() };
    let mut user = Turns::create(&path, &options).unwrap();
    let mut other = Turns::open(&path).unwrap();
    user.take(Access::Write).unwrap();
    for version in 0..1000 {
        let mut batch = user.store().unwrap().batch().unwrap();
        for page in 0..3 {
            batch.put(page * 7, &content(page, version)).unwrap();
        }
        batch.commit(Durability::Async).unwrap();
    }
    user.give();
    let length = || std::fs::metadata(&path).unwrap().len();
    assert!(length() > 2 << 20, "{}", length());
    // Who reads keeps it as it is.
    other.take(Access::Read).unwrap();
    user.close().unwrap();
    assert!(length() > 2 << 20, "{}", length());
    other.take(Access::Write).unwrap();
    other.close().unwrap();
    assert!(length() < 64 << 10, "{}", length());
    let mut store = Store::open(&path, Access::Write).unwrap();
    for page in 0..3 {
        let mut found = vec![0; PAGE];
        store.read(page * 7, &mut found).unwrap();
        assert!(found == content(page, 999), "page {page}");
    }
    assert!(store.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
}
