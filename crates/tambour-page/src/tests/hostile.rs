//! Stores whose checksums are right and whose content is meant to keep a reader busy or to fill its memory.

use super::*;
use crate::frame::{self, FrameHeader, Kind as What, Record};
use crate::map::{Entry, State};
use crate::options::PAGES_MAX;
use crate::{Level, superblock::Stretch};
use tambour_codec::Kind;

/// Nine KiB that say four thousand million pages: what is done for each of them alone would take minutes.
#[test]
fn a_map_of_all_pages_there_can_be_opens() {
    for layout in [Layout::Packed, Layout::Holes] {
        let memory = Memory::default();
        let mut store = create(&memory, &options(layout));
        let mut model = Model::new();
        commit(&mut store, &mut model, &[Step::Put(7, 1, 3)], Durability::Sync).unwrap();
        let zero = Entry { generation: 1, state: State::Zero, ..Entry::default() };
        store.map.fill(8, PAGES_MAX, zero);
        store.write_checkpoint().unwrap();
        store.close().unwrap();
        assert!(memory.bytes(&pack_path(layout)).unwrap().len() < 20_000);
        let mut store = open(&memory).unwrap();
        let stat = store.stat(true).unwrap();
        assert_eq!((stat.pages, stat.zero_pages), (PAGES_MAX - 7, PAGES_MAX - 8));
        let verified = store.verify(Level::Decode, &mut |_| {}).unwrap();
        assert!(verified.damage.is_empty() && verified.pages == PAGES_MAX - 7);
        let mut seen = Vec::new();
        store.reader().scan(0..20, &mut |page, _| seen.push(page)).unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (7..20).collect::<Vec<_>>());
        let mut content = vec![1; store.page_bytes()];
        store.read(PAGES_MAX - 1, &mut content).unwrap();
        assert!(content.iter().all(|byte| *byte == 0));
        commit(&mut store, &mut model, &[Step::Put(2000, 2, 3)], Durability::Sync).unwrap();
        store.close().unwrap();
    }
}

/// Blocks that zero pages are said to have at home are not given back one by one past the end of the file.
#[test]
fn zero_pages_with_blocks_behind_the_end_of_the_file_cost_nothing() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Holes));
    let blocks = Entry { generation: 0, state: State::Zero, home_blocks: 1, ..Entry::default() };
    store.map.fill(0, PAGES_MAX, blocks);
    store.write_checkpoint().unwrap();
    drop(store);
    let store = open(&memory).unwrap();
    assert!(store.vacated.is_empty(), "{} pages", store.vacated.len());
}

/// After a torn commit stand thousands of beginnings of commits, each of which claims all that follows.
#[test]
fn a_log_of_beginnings_is_not_read_again_and_again() {
    let memory = Memory::default();
    let store = create(&memory, &options(Layout::Packed));
    let (epoch, start) = (store.superblock.epoch, store.extents.tail());
    drop(store);
    let mut bytes = memory.bytes(&path()).unwrap();
    let end = usize::try_from(start).unwrap() + (1 << 20);
    bytes.resize(usize::try_from(start).unwrap() + 64, 0);
    while bytes.len() < end {
        let rest = u32::try_from((end - bytes.len()) / 40).unwrap();
        let header = FrameHeader {
            record_count: rest.saturating_sub(2),
            epoch,
            generation: 9,
            durable: 8,
            previous: 0,
            page_count: 1,
            inline_bytes: 0,
            checksum: 0,
        };
        let mut head = Vec::new();
        frame::encode(&header, &[], 1, 64, &mut head);
        bytes.extend_from_slice(&head[..64]);
    }
    memory.set_bytes(&path(), bytes);
    let error = open(&memory).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert!(error.to_string().contains("more beginnings of commits"), "{error}");
}

/// One image, named by every record of a commit, would be read and checked as often.
#[test]
fn a_commit_that_names_a_page_twice_is_none() {
    let record = |page| Record {
        kind: What::Image,
        page,
        generation: 1,
        offset: 8192,
        length: 100,
        checksum: 1,
    };
    let head = FrameHeader {
        record_count: 2,
        epoch: 1,
        generation: 1,
        durable: 0,
        previous: 0,
        page_count: 9,
        inline_bytes: 0,
        checksum: 0,
    };
    for (records, good) in [([3, 4], true), ([3, 3], false), ([4, 3], false)] {
        let mut bytes = Vec::new();
        let records = records.map(record);
        frame::encode(&head, &records, 5, 64, &mut bytes);
        let header = frame::header(&bytes).unwrap();
        assert_eq!(frame::records(&header, &bytes, 5).is_some(), good);
    }
}

/// A thousand dictionaries at one place would take a thousand times its bytes.
#[test]
fn dictionaries_of_more_than_the_file_are_refused_before_they_are_read() {
    let memory = Memory::default();
    let mut store = create(&memory, &options(Layout::Packed));
    let dictionary = crate::dictionary::Dictionary { id: 1, bytes: vec![7; 5000] };
    store.add_dictionary(dictionary).unwrap();
    let (_, stretch) = store.references[0];
    let again = |id| (id, Stretch { ..stretch });
    store.references = (1..1000).map(again).collect();
    store.write_checkpoint().unwrap();
    drop(store);
    let error = open(&memory).map(drop).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
}
