//! The mark of the last commit: what it tells apart, and that nobody takes it for more than it is.

use super::*;
use crate::Turns;
use tambour_codec::Kind;

/// The store that `golden/README.md` tells of.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/pages");

/// A store with two commits that nobody has closed, as it lies on the disk; what it holds after each.
fn left_open(layout: Layout, last: Durability) -> (Memory, [Model; 2]) {
    let memory = Memory::default();
    let mut store = create(&memory, &options(layout));
    let mut model = Model::new();
    let first = [Step::Put(0, 1, 0), Step::Put(1, 1, 3)];
    commit(&mut store, &mut model, &first, Durability::Sync).unwrap();
    let before = model.clone();
    commit(&mut store, &mut model, &[Step::Put(1, 2, 3), Step::Zero(2)], last).unwrap();
    (memory, [before, model])
}

/// Where the frames stand, marks included.
fn frames(memory: &Memory, layout: Layout) -> Vec<usize> {
    let bytes = memory.bytes(&pack_path(layout)).unwrap();
    let places = (8192..bytes.len()).step_by(64);
    places.filter(|at| bytes[*at..].starts_with(b"TPC1")).collect()
}

fn flip(memory: &Memory, layout: Layout, bit: usize) {
    let mut bytes = memory.bytes(&pack_path(layout)).unwrap();
    bytes[bit / 8] ^= 1 << (bit % 8);
    memory.set_bytes(&pack_path(layout), bytes);
}

#[test]
fn every_flip_in_the_last_commit_is_damage() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (memory, [_, model]) = left_open(layout, Durability::Sync);
        let [.., last, mark] = frames(&memory, layout)[..] else { panic!("no two frames") };
        let good = memory.bytes(&pack_path(layout)).unwrap();
        assert_eq!(mark + 64, good.len());
        // All of header and records; the image after them is in `damage`.
        for bit in last * 8..(last + 64 + 2 * 40) * 8 {
            flip(&memory, layout, bit);
            for access in [Access::Read, Access::Write] {
                let error = Store::open_on(&memory, &path(), access).unwrap_err();
                assert_eq!(error.kind(), Kind::Corrupt, "bit {bit}: {error}");
                let text = error.to_string();
                assert!(text.contains("the mark of commit 2 after it is intact"), "{text}");
            }
            memory.set_bytes(&pack_path(layout), good.clone());
        }
        assert!(everything(&mut open(&memory).unwrap()).unwrap() == model);
    }
}

/// Without a mark nobody was told that the commit is durable, or the power was cut before the mark was on the disk.
#[test]
fn a_last_commit_without_a_mark_may_be_torn() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (asynchronous, [before, _]) = left_open(layout, Durability::Async);
        let (lost, _) = left_open(layout, Durability::Sync);
        let mut bytes = lost.bytes(&pack_path(layout)).unwrap();
        bytes.truncate(bytes.len() - 64);
        lost.set_bytes(&pack_path(layout), bytes);
        for memory in [asynchronous, lost] {
            let last = *frames(&memory, layout).last().unwrap();
            flip(&memory, layout, (last + 70) * 8);
            assert!(everything(&mut open(&memory).unwrap()).unwrap() == before);
        }
    }
}

/// A commit over a mark, of which nothing, a part, or all has reached the disk: what was acknowledged is there.
#[test]
fn a_torn_commit_over_a_mark_is_none() {
    let (memory, [_, model]) = left_open(Layout::Packed, Durability::Sync);
    let good = memory.bytes(&path()).unwrap();
    let mark = good.len() - 64;
    for torn in 0..=64 {
        let mut bytes = good.clone();
        bytes[mark..mark + torn].fill(0x5a);
        memory.set_bytes(&path(), bytes);
        let mut store = open(&memory).unwrap();
        assert!(everything(&mut store).unwrap() == model, "{torn} bytes");
    }
}

/// A mark is not a leftover of a crash: turns that change nothing write nothing, and each sees the commits of the others.
#[test]
fn turns_make_no_checkpoint_for_a_mark() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let mut one = Turns::create(&path, &options(Layout::Packed)).unwrap();
    let mut other = Turns::open(&path).unwrap();
    for version in 1..20_u8 {
        let user = if version % 2 == 0 { &mut one } else { &mut other };
        user.take(Access::Write).unwrap();
        let mut batch = user.store().unwrap().batch().unwrap();
        batch.put(0, &[version; PAGE]).unwrap();
        batch.commit(Durability::Sync).unwrap();
        assert_eq!(user.store().unwrap().superblock.epoch, 1);
        user.give();
    }
}

/// What another process has committed, and the disk has changed since, is not taken for the end of the log.
#[test]
fn a_turn_notices_that_a_commit_of_another_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pages");
    let mut one = Turns::create(&path, &options(Layout::Packed)).unwrap();
    let mut other = Turns::open(&path).unwrap();
    for user in [&mut other, &mut one] {
        user.take(Access::Write).unwrap();
        let mut batch = user.store().unwrap().batch().unwrap();
        batch.put(0, &content(PAGE, 0, 1, 3)).unwrap();
        batch.commit(Durability::Sync).unwrap();
        user.give();
    }
    let good = std::fs::read(&path).unwrap();
    let last = (8192..good.len()).step_by(64).filter(|at| good[*at..].starts_with(b"TPC1"));
    let last = last.rev().nth(1).unwrap();
    for at in [last + 1, last + 20, last + 70, last + 200] {
        let mut wrong = good.clone();
        wrong[at] ^= 4;
        std::fs::write(&path, wrong).unwrap();
        let error = other.take(Access::Write).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "byte {at}: {error}");
    }
    std::fs::write(&path, good).unwrap();
    other.take(Access::Write).unwrap();
    assert_eq!(other.store().unwrap().generation(), 2);
}

/// What the golden store holds.
fn golden_model() -> Model {
    let mut model = Model::new();
    for page in 0..6 {
        model.insert(page, content(PAGE, page, 1 + page / 4, page % 3));
    }
    model
}

#[test]
fn a_store_that_was_never_closed_is_read() {
    let path = Path::new(GOLDEN).join("2026-11/left-open.pages");
    let good = std::fs::read(&path).unwrap();
    let mut store = Store::open(&path, Access::Read).unwrap();
    assert!(everything(&mut store).unwrap() == golden_model());
    assert_eq!((store.generation(), store.log.frames.len()), (2, 2));
    assert!(!store.has_leftovers().unwrap(), "the mark is known");
    let last = usize::try_from(store.log.frames[1].0).unwrap();
    drop(store);
    let memory = Memory::default();
    drop(tambour_storage::place::Storage::create(&memory, &super::path()).unwrap());
    memory.set_bytes(&super::path(), good);
    flip(&memory, Layout::Packed, last * 8 + 700);
    assert_eq!(open(&memory).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
#[ignore = "writes the store of golden/pages anew: GOLDEN=<file> cargo test -p tambour-page --lib -- --ignored write_a_golden_store"]
fn write_a_golden_store() {
    let path = std::env::var_os("GOLDEN").expect("GOLDEN names the file to be written");
    let mut store = Store::create(Path::new(&path), &options(Layout::Packed)).unwrap();
    for pages in [0..4, 4..6] {
        let mut batch = store.batch().unwrap();
        for page in pages {
            batch.put(page, &golden_model()[&page]).unwrap();
        }
        batch.commit(Durability::Sync).unwrap();
    }
}
