//! The store against a plain map of pages.

use super::*;
use crate::{Level, Method};

fn random(seed: &mut u64, end: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % end
}

fn random_steps(seed: &mut u64, version: u64, pages: u64) -> Vec<Step> {
    (0..=random(seed, 12))
        .map(|_| {
            let page = random(seed, pages);
            match random(seed, 10) {
                0 => Step::Free(page),
                1 => Step::Zero(page),
                _ => Step::Put(page, version, random(seed, 9)),
            }
        })
        .collect()
}

#[test]
fn agrees_with_a_map_over_many_commits_and_openings() {
    for layout in [Layout::Packed, Layout::Holes] {
        for codec in ["none", "lz4", "zstd", "zlib"] {
            let memory = Memory::default();
            let options = Options { codec: codec.parse().unwrap(), ..options(layout) };
            let mut store = create(&memory, &options);
            let mut model = Model::new();
            let mut seed = 42;
            for round in 0..150 {
                let steps = random_steps(&mut seed, round, 60);
                let durability = if round % 3 == 0 { Durability::Async } else { Durability::Sync };
                commit(&mut store, &mut model, &steps, durability).unwrap();
                match random(&mut seed, 12) {
                    0 => store.checkpoint().unwrap(),
                    1 => {
                        drop(store);
                        store = open(&memory).unwrap();
                    }
                    2 => {
                        store.compact(u64::MAX).unwrap();
                    }
                    _ => {}
                }
                assert!(everything(&mut store).unwrap() == model, "{layout:?} {codec} {round}");
            }
            let verified = store.verify(Level::Decode, &mut |_| {}).unwrap();
            assert!(verified.damage.is_empty(), "{:?}", verified.damage);
            assert_eq!(verified.pages, model.len() as u64);
            let mut scanned = Model::new();
            let mut reader = store.reader();
            reader
                .scan(0..u64::MAX, &mut |page, content| {
                    scanned.insert(page, content.to_vec());
                })
                .unwrap();
            assert!(scanned == model);
            drop(reader);
            store.close().unwrap();
            let mut again = Store::open_on(&memory, &path(), Access::Read).unwrap();
            assert!(everything(&mut again).unwrap() == model);
        }
    }
}

#[test]
fn pages_of_every_size() {
    for shift in 12..=20 {
        for layout in [Layout::Packed, Layout::Holes] {
            let memory = Memory::default();
            let options = Options { page_bytes: 1 << shift, ..options(layout) };
            let mut store = create(&memory, &options);
            let mut model = Model::new();
            let steps = [Step::Put(0, 1, 0), Step::Put(1, 1, 9), Step::Zero(2), Step::Put(9, 1, 3)];
            commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
            store.close().unwrap();
            let mut store = open(&memory).unwrap();
            assert!(everything(&mut store).unwrap() == model);
            assert_eq!(store.len(), 10);
        }
    }
}

#[test]
fn a_reader_sees_its_generation_across_commits_checkpoints_and_compaction() {
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Memory::default();
        let mut store = create(&memory, &options(layout));
        let mut model = Model::new();
        let first: Vec<Step> = (0..40).map(|page| Step::Put(page, 0, page % 9)).collect();
        commit(&mut store, &mut model, &first, Durability::Sync).unwrap();
        store.checkpoint().unwrap();
        let seen = model.clone();
        let mut reader = store.reader();
        let mut seed = 5;
        for round in 1..30 {
            let steps = random_steps(&mut seed, round, 40);
            commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
            store.checkpoint().unwrap();
            if round % 10 == 0 {
                store.compact(u64::MAX).unwrap();
            }
            let mut content = vec![0; store.page_bytes()];
            for (page, expected) in &seen {
                reader.read(*page, &mut content).unwrap();
                assert!(content == *expected, "{layout:?}: page {page} in round {round}");
            }
        }
        assert!(everything(&mut store).unwrap() == model);
        drop(reader);
        store.checkpoint().unwrap();
        let stat = store.stat(true).unwrap();
        assert_eq!(stat.waiting_bytes, 0);
        assert!(everything(&mut store).unwrap() == model);
    }
}

#[test]
fn pages_are_given_out_once() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let first = store.alloc().unwrap();
    let second = store.alloc().unwrap();
    assert_eq!((first, second), (0, 1));
    let mut batch = store.batch().unwrap();
    batch.put(first, &[1; PAGE]).unwrap();
    batch.put(second, &[2; PAGE]).unwrap();
    batch.commit(Durability::Sync).unwrap();
    store.free(first, Durability::Sync).unwrap();
    assert_eq!(store.alloc().unwrap(), 0);
    assert_eq!(store.alloc().unwrap(), 2);
    let missing = store.free(77, Durability::Sync).unwrap_err();
    assert_eq!(missing.page(), Some(77));
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    use tambour_codec::Kind;
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut batch = store.batch().unwrap();
    assert_eq!(batch.put(0, &[1; 17]).unwrap_err().kind(), Kind::Argument);
    assert_eq!(batch.put(u64::MAX, &[1; PAGE]).unwrap_err().kind(), Kind::Limit);
    drop(batch);
    assert_eq!(store.read(0, &mut [0; PAGE]).unwrap_err().kind(), Kind::NotFound);
    assert!(store.set_codec(PageCodec { level: 99, ..PageCodec::ZSTD }).is_err());
    drop(store);
    let mut reader = Store::open_on(&memory, &path(), Access::Read).unwrap();
    assert!(matches!(reader.batch().map(|_| ()), Err(PageError::ReadOnly { .. })));
    assert!(matches!(reader.checkpoint(), Err(PageError::ReadOnly { .. })));
    assert_eq!(reader.alloc().unwrap_err().kind(), Kind::Argument);
}

#[test]
fn codecs_can_change_and_dictionaries_are_kept_when_they_help() {
    let memory = Memory::default();
    let options = Options { page_bytes: 8192, codec: PageCodec::ZSTD, ..options(Layout::Packed) };
    let mut store = create(&memory, &options);
    // Pages that have little of their own in common, and much with each other.
    let page = |number: u64| -> Vec<u8> {
        let mut text = String::new();
        let mut line = number;
        while text.len() < 8192 {
            line = line.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
            let host = (line >> 40) % 900;
            text.push_str(&format!(
                "host-{host:03}.rack-{:02}.example.org metric_{}_seconds_total{{}} {}\n",
                host % 37,
                ["read", "write", "sync", "wait", "open", "close"][(line >> 33) as usize % 6],
                line >> 20
            ));
        }
        text.truncate(8192);
        text.into_bytes()
    };
    let mut model = Model::new();
    for number in 0..300 {
        let mut batch = store.batch().unwrap();
        batch.put(number, &page(number)).unwrap();
        batch.commit(Durability::Async).unwrap();
        model.insert(number, page(number));
    }
    store.checkpoint().unwrap();
    let before = store.stat(false).unwrap().image_bytes;
    let report = store.train_dict(&[]).unwrap();
    assert!(report.kept.is_some(), "{report:?}");
    store.recode(16).unwrap();
    let after = store.stat(false).unwrap();
    assert_eq!(after.dictionaries.0, 1);
    assert!(after.image_bytes < before * 99 / 100, "{before} {}", after.image_bytes);
    store.close().unwrap();
    let mut store = open(&memory).unwrap();
    assert!(everything(&mut store).unwrap() == model);
    assert_eq!(store.codec(), PageCodec::ZSTD);
    store.set_codec(PageCodec::ZLIB).unwrap();
    store.recode(16).unwrap();
    store.close().unwrap();
    let mut store = open(&memory).unwrap();
    assert_eq!(store.codec(), PageCodec::ZLIB);
    assert!(everything(&mut store).unwrap() == model);
    // Noise has nothing in common with other noise: no dictionary is kept for it.
    let mut seed = 1_u64;
    let mut byte = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
        (seed >> 56) as u8
    };
    let noise: Vec<Vec<u8>> = (0..60).map(|_| (0..8192).map(|_| byte()).collect()).collect();
    assert_eq!(store.train_dict(&noise).unwrap().kept, None);
    assert_eq!(store.stat(false).unwrap().dictionaries.0, 1);
}

/// Of noise with words between, LZ4 makes about what zstd does; hexadecimal digits are half as large by zstd and not by LZ4.
#[test]
fn the_codec_that_is_decoded_faster_is_taken_where_it_costs_little() {
    let quick: PageCodec = "lz4:5".parse().unwrap();
    let mut seed = 7_u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
        seed >> 33
    };
    let mut pages_of = |piece: fn([u64; 12]) -> Vec<u8>| -> Vec<Vec<u8>> {
        let mut page = || {
            let pieces = (0..PAGE).map(|_| piece(std::array::from_fn(|_| number())));
            let mut page = Vec::new();
            pieces
                .take_while(|piece| {
                    page.extend_from_slice(piece);
                    page.len() < PAGE
                })
                .count();
            page.truncate(PAGE);
            page
        };
        (0..120).map(|_| page()).collect()
    };
    let alike = pages_of(|numbers| {
        let noise = numbers.iter().flat_map(|number| number.to_be_bytes().into_iter().skip(4));
        noise.chain(*b", and a drum of maple with hoops of steel; ").collect()
    });
    let distinct =
        pages_of(|numbers| numbers.map(|number| format!("{number:08x}")).concat().into_bytes());
    for (pages, method) in [(&alike, Method::Lz4), (&distinct, Method::Zstd)] {
        let memory = Memory::default();
        let mut store = create(&memory, &options(Layout::Packed));
        store.set_codec(PageCodec::ZSTD).unwrap();
        let report = store.train_dict_or(quick, pages).unwrap();
        assert_eq!(store.codec().method, method, "{report:?}");
        assert!(report.best_bytes() <= report.bytes_without);
        let mut model = Model::new();
        let mut batch = store.batch().unwrap();
        for (number, page) in (0..).zip(pages) {
            batch.put(number, page).unwrap();
            model.insert(number, page.clone());
        }
        batch.commit(Durability::Sync).unwrap();
        store.close().unwrap();
        let mut store = open(&memory).unwrap();
        assert_eq!(store.codec().method, method);
        assert!(everything(&mut store).unwrap() == model);
    }
}

#[test]
fn a_batch_that_is_dropped_changes_nothing() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut batch = store.batch().unwrap();
    batch.put(3, &[1; PAGE]).unwrap();
    drop(batch);
    assert!(store.is_empty());
    assert_eq!(store.generation(), 0);
    let before = store.counts();
    store.checkpoint().unwrap();
    assert_eq!(store.counts(), before);
}

#[test]
fn counts_are_those_that_were_promised() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let mut model = Model::new();
    let steps: Vec<Step> = (0..16).map(|page| Step::Put(page, 0, 3)).collect();
    let before = store.counts();
    commit(&mut store, &mut model, &steps, Durability::Sync).unwrap();
    let after = store.counts();
    assert_eq!(after.syncs - before.syncs, 1);
    // The commit, and its mark after the sync.
    assert_eq!(after.writes - before.writes, 2);

    // Holes: no punch when the number of blocks stays, one when it shrinks, none when it grows.
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Holes));
    let mut model = Model::new();
    let mut punches = |store: &mut Store, version, noise| {
        commit(store, &mut model, &[Step::Put(0, version, noise)], Durability::Sync).unwrap();
        let before = store.counts();
        store.checkpoint().unwrap();
        store.counts().punches - before.punches
    };
    assert_eq!(punches(&mut store, 1, 3), 0);
    assert_eq!(punches(&mut store, 1, 3), 0);
    assert_eq!(punches(&mut store, 3, 0), 1);
    assert_eq!(punches(&mut store, 4, 3), 0);
    let stat = store.stat(true).unwrap();
    let home = stat.home_file.unwrap();
    assert_eq!(home.allocated, stat.rounded_bytes);
}

#[test]
fn without_holes_ranges_are_padded_with_zeros() {
    let memory = Memory::default();
    memory.without_punches();
    let mut store = create(&memory, &options(Layout::Holes));
    let mut model = Model::new();
    for (version, noise) in [(1, 9), (2, 0)] {
        commit(&mut store, &mut model, &[Step::Put(0, version, noise)], Durability::Sync).unwrap();
        store.checkpoint().unwrap();
    }
    assert!(!store.has_holes());
    assert!(everything(&mut store).unwrap() == model);
    let bytes = memory.bytes(&path()).unwrap();
    assert!(bytes[PAGE..4 * PAGE].iter().all(|byte| *byte == 0));
}
