//! Pages that are written again and again: their codec, and that nothing is lost by it.

use super::*;
use crate::{Level, Turns};
use tambour_storage::place::memory::{ENOSPC, Fate};

fn hot_options(layout: Layout, checkpoint_bytes: u64) -> Options {
    let checkpoint_bytes = Some(checkpoint_bytes);
    Options { codec: PageCodec::ZSTD, checkpoint_bytes, ..options(layout) }
}

/// Images per codec.
fn codecs(store: &mut Store) -> BTreeMap<&'static str, u64> {
    let stat = store.stat(true).unwrap();
    stat.codecs.iter().map(|(method, found)| (method.name(), found.images)).collect()
}

fn put(store: &mut Store, pages: &[PageId], version: u64) -> Result<u64, PageError> {
    let steps: Vec<Step> = pages.iter().map(|page| Step::Put(*page, version, 2)).collect();
    commit(store, &mut Model::new(), &steps, Durability::Sync)
}

#[test]
fn what_is_written_again_is_encoded_fast_until_the_checkpoint() {
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Memory::default();
        let mut store = create(&memory, &hot_options(layout, 1 << 30));
        store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
        put(&mut store, &[0, 1, 2, 3], 1).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]), "written once");
        put(&mut store, &[1, 2], 2).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 2), ("lz4", 2)]));
        let before = everything(&mut store).unwrap();
        store.checkpoint().unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]));
        assert!(everything(&mut store).unwrap() == before);
        // The first time after it, a page is as cold as all others.
        put(&mut store, &[1], 3).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]));
        store.set_hot_codec(None).unwrap();
        put(&mut store, &[1], 4).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]));
    }
}

#[test]
fn what_a_compaction_moves_is_no_longer_hot() {
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Memory::default();
        let mut store = create(&memory, &hot_options(layout, 1 << 30));
        store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
        put(&mut store, &[0, 1, 2, 3], 1).unwrap();
        put(&mut store, &[1, 3], 2).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 2), ("lz4", 2)]));
        let before = everything(&mut store).unwrap();
        store.compact(u64::MAX).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]));
        assert!(everything(&mut store).unwrap() == before);
    }
}

/// Who has not written them finds hot pages by their images.
#[test]
fn another_user_encodes_what_one_has_left_hot() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let options = hot_options(Layout::Packed, 1 << 30);
    let mut users =
        [Turns::create(&path, &options).unwrap(), Turns::open(&path).unwrap()].map(|mut turns| {
            turns.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
            turns
        });
    for version in 0..6 {
        users[0].take(Access::Write).unwrap();
        put(users[0].store().unwrap(), &[0, version % 3 + 1], version).unwrap();
        users[0].give();
        if version < 4 {
            // The other one follows some commits, and finds the rest when it writes.
            users[1].take(Access::Read).unwrap();
            users[1].give();
        }
    }
    users[1].take(Access::Write).unwrap();
    let store = users[1].store().unwrap();
    assert!(codecs(store).contains_key("lz4"));
    store.checkpoint().unwrap();
    assert_eq!(codecs(store), BTreeMap::from([("zstd", 4)]));
    users[1].give();
    // And so does who opens it after all of them have gone without a word.
    for version in 6..9 {
        users[0].take(Access::Write).unwrap();
        put(users[0].store().unwrap(), &[0], version).unwrap();
        users[0].give();
    }
    drop(users);
    let mut turns = Turns::open(&path).unwrap();
    turns.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
    turns.take(Access::Write).unwrap();
    assert_eq!(codecs(turns.store().unwrap())["lz4"], 1);
    turns.give();
    turns.close().unwrap();
    let mut store = Store::open(&path, Access::Read).unwrap();
    assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 4)]));
}

/// Against a map of pages, with checkpoints in the middle of commits.
#[test]
fn hot_pages_agree_with_a_map_over_many_commits() {
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Memory::default();
        let mut store = create(&memory, &hot_options(layout, 12_000));
        store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
        let mut model = Model::new();
        let mut seed = 5_u64;
        let mut below = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
            (seed >> 33) % end
        };
        let mut folded = 0;
        for round in 0..400 {
            let steps: Vec<Step> = (0..=below(5))
                .map(|_| match (below(12), below(14)) {
                    (0, page) => Step::Free(page),
                    (1, page) => Step::Zero(page),
                    (noise, page) => Step::Put(page, round, noise.min(8)),
                })
                .collect();
            let epoch = store.stat(false).unwrap().epoch;
            let generation = commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
            folded += u64::from(store.stat(false).unwrap().epoch > epoch);
            for step in &steps {
                if let Step::Put(page, ..) = step
                    && store.contains(*page)
                {
                    assert_eq!(store.written_at(*page), generation, "round {round}, page {page}");
                }
            }
            if below(30) == 0 {
                drop(store);
                store = open(&memory).unwrap();
                store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
            }
            assert!(everything(&mut store).unwrap() == model, "{layout:?}, round {round}");
        }
        assert!(folded > 20, "{folded} checkpoints");
        store.checkpoint().unwrap();
        assert!(!codecs(&mut store).contains_key("lz4"));
        assert!(store.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
    }
}

/// A page that nobody can read any more must not keep the others from being written.
#[test]
fn a_damaged_page_is_in_no_checkpoints_way() {
    let memory = Memory::default();
    let mut store = create(&memory, &hot_options(Layout::Packed, 1 << 30));
    store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
    for version in 0..3 {
        put(&mut store, &[0, 1], version).unwrap();
    }
    let mut bytes = memory.bytes(&path()).unwrap();
    let image = bytes.windows(4).rposition(|bytes| bytes == b"TPG1").unwrap();
    bytes[image + 50] ^= 1;
    memory.set_bytes(&path(), bytes);
    store.checkpoint().unwrap();
    let mut content = vec![0; PAGE];
    store.read(0, &mut content).unwrap();
    assert!(matches!(store.read(1, &mut content), Err(PageError::Page { page: 1, .. })));
    assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 1), ("lz4", 1)]));
}

/// Commits of page 0 and of one of two groups, by turns: what a page has tells which commit wrote it. Returns the last commit
/// that was acknowledged, and the last that was begun.
fn script(memory: &Memory, layout: Layout) -> (u64, u64) {
    let (mut acknowledged, mut begun) = (0, 0);
    let Ok(mut store) = Store::create_on(memory, &path(), &hot_options(layout, 5000)) else {
        return (0, 0);
    };
    store.set_hot_codec(Some(PageCodec::LZ4)).unwrap();
    for version in 1..=14 {
        begun = version;
        let group: &[PageId] = if version % 2 == 0 { &[0, 1, 2] } else { &[0, 3, 4] };
        if put(&mut store, group, version).is_err() {
            return (acknowledged, begun);
        }
        acknowledged = version;
        if version == 9 && store.checkpoint().is_err() {
            return (acknowledged, begun);
        }
    }
    let _ = store.close();
    (acknowledged, begun)
}

/// Finds the pages as one of the commits from the last acknowledged to the last begun has left them.
fn check(memory: &Memory, (acknowledged, begun): (u64, u64), place: &str) {
    let mut store = match open(memory) {
        Ok(store) => store,
        Err(error) => {
            assert_eq!(acknowledged, 0, "{place}: {error}");
            return;
        }
    };
    let found = everything(&mut store).unwrap_or_else(|error| panic!("{place}: {error}"));
    let bytes = store.page_bytes();
    let is_state = |version: u64| {
        let mut model = Model::new();
        let (even, odd) = (version / 2 * 2, version.div_ceil(2) * 2);
        let groups = [(version, [0, 0]), (even, [1, 2]), (odd.saturating_sub(1), [3, 4])];
        for (last, group) in groups.into_iter().filter(|(last, _)| *last > 0) {
            for page in group {
                model.insert(page, content(bytes, page, last, 2));
            }
        }
        model == found
    };
    assert!((acknowledged..=begun).any(is_state), "{place}: commits {acknowledged} to {begun}");
    put(&mut store, &[0, 1], 99).unwrap_or_else(|error| panic!("{place}: goes on: {error}"));
}

#[test]
fn a_power_cut_or_a_full_disk_at_any_change_loses_no_commit() {
    for layout in [Layout::Packed, Layout::Holes] {
        let whole = Memory::default();
        assert_eq!(script(&whole, layout), (14, 14));
        let mut store = open(&whole).unwrap();
        assert_eq!(codecs(&mut store), BTreeMap::from([("zstd", 5)]));
        drop(store);
        check(&whole, (14, 14), "without a cut");
        for change in 0..whole.changes() {
            let memory = Memory::default();
            memory.cut_at(change);
            let reached = script(&memory, layout);
            for seed in 0..4 {
                for fate in [Fate::Lost, Fate::Kept, Fate::Drawn { sector: 512, seed }] {
                    let place = format!("{layout:?}, cut at {change}, {fate:?}");
                    check(&memory.crash(fate), reached, &place);
                }
            }
            let memory = Memory::default();
            memory.fail_at(change, ENOSPC);
            let reached = script(&memory, layout);
            memory.heal();
            check(&memory, reached, &format!("{layout:?}, full at {change}"));
        }
    }
}
