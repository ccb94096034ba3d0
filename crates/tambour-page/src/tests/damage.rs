//! Damage: every bit, cuts, images of other pages, files and times.

#![expect(clippy::cast_possible_truncation, reason = "files of tests are small")]

use super::*;
use crate::Level;
use tambour_codec::Kind;

/// A small store with every kind of page, closed.
fn small(layout: Layout) -> (Memory, Model) {
    let memory = Memory::default();
    let options = Options { page_bytes: 4096, ..options(layout) };
    let options =
        if layout == Layout::Holes { Options { page_bytes: 8192, ..options } } else { options };
    let mut store = create(&memory, &options);
    let mut model = Model::new();
    let steps = [Step::Put(0, 1, 0), Step::Zero(1), Step::Put(2, 1, 0), Step::Put(3, 1, 0)];
    commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
    store.close().unwrap();
    (memory, model)
}

/// What became of a store: silently wrong is the one thing that must not be.
fn outcome(memory: &Memory, model: &Model) -> Result<bool, PageError> {
    let mut store = open(memory)?;
    let repaired = store.repaired().is_some();
    let found = everything(&mut store)?;
    assert!(found == *model, "silently wrong");
    Ok(repaired)
}

fn flip_every_bit(layout: Layout, file: &Path) {
    let (memory, model) = small(layout);
    let good = memory.bytes(file).unwrap();
    let mut noticed = 0;
    for bit in 0..good.len() * 8 {
        if layout == Layout::Packed && (512..4096).contains(&(bit / 8)) && bit % 61 != 0 {
            // The rest of the superblock's block is not used; some of it is enough.
            continue;
        }
        let mut wrong = good.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        memory.set_bytes(file, wrong);
        match outcome(&memory, &model) {
            Ok(repaired) => noticed += u64::from(repaired),
            Err(error) => {
                assert!(
                    matches!(error.kind(), Kind::Corrupt | Kind::Unsupported),
                    "bit {bit}: {error}"
                );
                noticed += 1;
            }
        }
    }
    assert!(noticed > 0);
}

#[test]
fn every_flipped_bit_of_a_packed_file_is_noticed_or_harmless() {
    flip_every_bit(Layout::Packed, &path());
}

#[test]
fn every_flipped_bit_of_the_map_of_holes_is_noticed_or_harmless() {
    flip_every_bit(Layout::Holes, &pack_path(Layout::Holes));
}

/// In the file with holes every bit of every image counts; the rest of a range is never looked at.
#[test]
fn every_flipped_bit_of_an_image_at_home_names_its_page() {
    let (memory, _) = small(Layout::Holes);
    let good = memory.bytes(&path()).unwrap();
    let length = 300.min(good.len());
    for bit in 0..length * 8 {
        let mut wrong = good.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        memory.set_bytes(&path(), wrong);
        let mut store = open(&memory).unwrap();
        let mut content = vec![0; store.page_bytes()];
        match store.read(0, &mut content) {
            Ok(()) => assert!(bit / 8 >= 40, "bit {bit} of the header"),
            Err(error) => {
                assert_eq!(error.page(), Some(0));
                let verified = store.verify(Level::Checksums, &mut |_| {}).unwrap();
                assert_eq!(verified.damage.len(), 1);
                assert_eq!(verified.damage[0].page(), Some(0));
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_packed_image_names_its_page() {
    let (memory, _) = small(Layout::Packed);
    let entry = open(&memory).unwrap().map.get(2);
    let good = memory.bytes(&path()).unwrap();
    for bit in 0..entry.length as usize * 8 {
        let mut wrong = good.clone();
        wrong[entry.offset as usize + bit / 8] ^= 1 << (bit % 8);
        memory.set_bytes(&path(), wrong);
        let mut store = open(&memory).unwrap();
        let error = store.read(2, &mut [0; PAGE]).unwrap_err();
        assert_eq!(error.page(), Some(2), "{error}");
        assert_eq!(error.kind(), Kind::Corrupt);
        store.read(0, &mut [0; PAGE]).unwrap();
    }
}

/// A damaged commit that was acknowledged is not taken for the end of the log: a later one knows of it, or the mark after it.
#[test]
fn every_flipped_bit_of_an_acknowledged_commit_is_noticed() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut model = Model::new();
    for version in 1..4 {
        commit(&mut store, &mut model, &[Step::Put(version, version, 0)], Durability::Sync)
            .unwrap();
    }
    drop(store);
    let good = memory.bytes(&path()).unwrap();
    let mut refused = 0;
    for bit in 8192 * 8..good.len() * 8 {
        let mut wrong = good.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        memory.set_bytes(&path(), wrong);
        let opened = Store::open_on(&memory, &path(), Access::Read);
        match opened {
            Ok(mut store) => {
                let found = everything(&mut store).unwrap();
                // Padding counts for nothing, nor does the mark by itself.
                assert!(found == model, "bit {bit}");
            }
            Err(error) => {
                assert_eq!(error.kind(), Kind::Corrupt, "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    for layout in [Layout::Packed, Layout::Holes] {
        let (memory, model) = small(layout);
        let file = pack_path(layout);
        let good = memory.bytes(&file).unwrap();
        for length in 0..good.len() {
            memory.set_bytes(&file, good[..length].to_vec());
            match outcome(&memory, &model) {
                // Only padding is missing.
                Ok(_) => assert!(length + 64 > good.len(), "{length}"),
                Err(error) => assert!(
                    matches!(error.kind(), Kind::Corrupt | Kind::Unsupported),
                    "{length}: {error}"
                ),
            }
        }
    }
    let (memory, _) = small(Layout::Holes);
    memory.set_bytes(&path(), vec![0; 100]);
    assert!(matches!(open(&memory), Err(PageError::Truncated { .. })));
}

/// Puts bytes over the image of page 2 and says what reading it answers.
fn over_page_2(memory: &Memory, image: &[u8]) -> PageError {
    let entry = open(memory).unwrap().map.get(2);
    let mut bytes = memory.bytes(&path()).unwrap();
    let start = entry.offset as usize;
    bytes[start..start + image.len()].copy_from_slice(image);
    memory.set_bytes(&path(), bytes);
    let mut store = open(memory).unwrap();
    let error = store.read(2, &mut [0; PAGE]).unwrap_err();
    assert_eq!((error.page(), error.kind()), (Some(2), Kind::Corrupt));
    error
}

fn image_of(memory: &Memory, page: PageId) -> Vec<u8> {
    let entry = open(memory).unwrap().map.get(page);
    let bytes = memory.bytes(&path()).unwrap();
    bytes[entry.offset as usize..entry.offset as usize + entry.length as usize].to_vec()
}

#[test]
fn a_page_of_another_file_is_noticed() {
    let (memory, _) = small(Layout::Packed);
    let other = Memory::default();
    let options = Options { file_id: Some(0xffff_0001), ..options(Layout::Packed) };
    let mut store = create(&other, &options);
    let steps = [Step::Put(0, 1, 0), Step::Zero(1), Step::Put(2, 1, 0), Step::Put(3, 1, 0)];
    commit(&mut store, &mut Model::new(), &steps, Durability::Sync).unwrap();
    store.close().unwrap();
    let error = over_page_2(&memory, &image_of(&other, 2));
    assert!(error.to_string().contains("image of another file"), "{error}");
}

#[test]
fn another_page_of_the_same_file_is_noticed() {
    let (memory, _) = small(Layout::Packed);
    let error = over_page_2(&memory, &image_of(&memory, 3));
    assert!(error.to_string().contains("image of page 3"), "{error}");
}

#[test]
fn an_older_generation_of_a_page_is_noticed() {
    let (memory, mut model) = small(Layout::Packed);
    let old = image_of(&memory, 2);
    let mut store = open(&memory).unwrap();
    commit(&mut store, &mut model, &[Step::Put(2, 2, 0)], Durability::Sync).unwrap();
    store.close().unwrap();
    let error = over_page_2(&memory, &old);
    assert!(error.to_string().contains("image of generation 1, expected 2"), "{error}");
}

#[test]
fn an_older_generation_at_home_is_noticed() {
    let (memory, mut model) = small(Layout::Holes);
    let old = memory.bytes(&path()).unwrap();
    let mut store = open(&memory).unwrap();
    commit(&mut store, &mut model, &[Step::Put(2, 2, 0)], Durability::Sync).unwrap();
    store.close().unwrap();
    let length = memory.bytes(&path()).unwrap().len();
    let mut lost = old;
    lost.resize(length, 0);
    memory.set_bytes(&path(), lost);
    let mut store = open(&memory).unwrap();
    let error = store.read(2, &mut vec![0; 8192]).unwrap_err();
    assert!(error.to_string().contains("image of generation 1, expected 2"), "{error}");
}

#[test]
fn a_file_from_a_newer_version_is_refused() {
    use tambour_kernel::hash::xxh3_64;
    for copy in [0, 4096] {
        let (memory, _) = small(Layout::Packed);
        let mut bytes = memory.bytes(&path()).unwrap();
        bytes[copy + 8] = 9;
        let sum = xxh3_64(&bytes[copy..copy + 504], 0);
        bytes[copy + 504..copy + 512].copy_from_slice(&sum.to_le_bytes());
        memory.set_bytes(&path(), bytes);
        let error = open(&memory).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains("version 9"), "{error}");
    }
}

#[test]
fn other_files_are_no_stores() {
    let memory = Memory::default();
    drop(tambour_storage::place::Storage::create(&memory, &path()).unwrap());
    for bytes in [vec![], b"TAMB".to_vec(), vec![0; 10_000], vec![0xff; 9000]] {
        memory.set_bytes(&path(), bytes);
        assert!(matches!(open(&memory), Err(PageError::NotAStore { .. })));
    }
    assert_eq!(
        Store::open_on(&memory, Path::new("/none"), Access::Read).unwrap_err().kind(),
        Kind::NotFound
    );
}

/// A damaged copy of the superblock is told, and written again.
#[test]
fn one_copy_of_the_superblock_is_enough() {
    for copy in [0, 4096] {
        let (memory, model) = small(Layout::Packed);
        let mut bytes = memory.bytes(&path()).unwrap();
        bytes[copy + 100] ^= 1;
        memory.set_bytes(&path(), bytes);
        let mut store = Store::open_on(&memory, &path(), Access::Read).unwrap();
        assert!(everything(&mut store).unwrap() == model);
        assert_eq!(store.verify(Level::Decode, &mut |_| {}).unwrap().damage.len(), 1);
        drop(store);
        assert!(outcome(&memory, &model).unwrap());
        assert!(!outcome(&memory, &model).unwrap());
    }
}

/// Blocks after the range of a page are those of the next one: a map that counts them in would have them punched.
#[test]
fn a_map_that_gives_a_page_too_many_blocks_is_refused() {
    let (memory, _) = small(Layout::Holes);
    let mut store = open(&memory).unwrap();
    let entry = store.map.get(1);
    store.map.set(1, crate::map::Entry { home_blocks: 3, ..entry });
    store.write_checkpoint().unwrap();
    drop(store);
    let error = open(&memory).unwrap_err();
    assert_eq!((error.page(), error.kind()), (Some(1), Kind::Corrupt), "{error}");
}

/// A store whose last checkpoint was cut short between the copies of the superblock.
fn half_a_checkpoint(layout: Layout) -> (Memory, Model) {
    for number in 0.. {
        let (memory, mut model) = small(layout);
        let mut store = open(&memory).unwrap();
        commit(&mut store, &mut model, &[Step::Put(2, 2, 0)], Durability::Sync).unwrap();
        memory.fail_at(memory.changes() + number, tambour_storage::place::memory::EIO);
        let failed = store.checkpoint().is_err();
        memory.heal();
        drop(store);
        let bytes = memory.bytes(&pack_path(layout)).unwrap();
        if failed && bytes[..512] != bytes[4096..4608] {
            return (memory, model);
        }
        assert!(failed, "no change of the checkpoint left the copies different");
    }
    unreachable!()
}

/// What opening does then must leave each copy leading to a whole store, so that the other may be torn.
#[test]
fn after_half_a_checkpoint_either_superblock_is_enough() {
    for layout in [Layout::Packed, Layout::Holes] {
        for number in 0.. {
            let (memory, model) = half_a_checkpoint(layout);
            memory.fail_at(memory.changes() + number, tambour_storage::place::memory::EIO);
            let opened = open(&memory).is_ok();
            memory.heal();
            let file = pack_path(layout);
            let mut bytes = memory.bytes(&file).unwrap();
            bytes[..512].fill(0xff);
            memory.set_bytes(&file, bytes);
            outcome(&memory, &model).unwrap();
            if opened {
                break;
            }
        }
    }
}
