//! Logs that change: the dictionary of the next open segment knows more than the last one.

use super::super::trial::{Way, encode};
use super::super::{Batch, Codec, Dictionary, RecordStore, Retention, Settings, next};
use super::{PATH, disk, dynamic, options};
use std::ops::ControlFlow;
use std::path::Path;

/// Events of one of several programs: each has fields and words of its own.
fn events(kind: u64, from: u64, count: u64) -> Batch {
    let word = |k: u64| {
        let noise = (kind * 64 + k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:x}", noise >> 12)
    };
    let mut batch = Batch::default();
    for id in from..from + count {
        let draw = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let fields = (0..6).map(|field| {
            format!("\"{}\":\"{}\"", word(field), word(6 + (draw >> (3 * field)) % 8 + 8 * field))
        });
        let fields: Vec<String> = fields.collect();
        batch.push(format!("{{\"id\":{id},{}}}", fields.join(",")).as_bytes(), None);
    }
    batch
}

fn size(records: &Batch, dictionary: &Dictionary) -> usize {
    let way = Way { codec: Codec::Lz4, level: 1, dictionary: dictionary.clone() };
    encode(records, &way, 1).unwrap().0.len()
}

#[test]
fn the_next_dictionary_knows_what_older_segments_held() {
    let memory = disk();
    let storage = dynamic(&memory);
    let settings = Settings { segment_bytes: 1 << 20, ..Settings::default() };
    let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
    let writer = store.writer("default").unwrap();
    let directory = Path::new(PATH).join("default");
    // Four programs write by turns, a segment each.
    let (mut from, mut own) = (0, Dictionary::default());
    for kind in 0..8 {
        let batch = events(kind % 4, from, 3000);
        let lengths: Vec<usize> = batch.lengths().collect();
        own = Dictionary::train(batch.bytes(), &lengths, 4096 * 4);
        from = writer.append_batch(&batch).unwrap().end;
        let options = super::SealOptions { dictionary_bytes: 4096 * 4, ..options(1) };
        assert!(writer.seal(&options, true).unwrap()[0].trained);
    }
    let learned = next::known(&store, &directory);
    let coming = events(0, from, 500);
    let (before, now) = (size(&coming, &own), size(&coming, &learned));
    assert!(now * 10 < before * 8, "{now} bytes, {before} with the last dictionary");
}

#[test]
fn a_dictionary_that_is_good_enough_stays() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
    let writer = store.writer("default").unwrap();
    let file = Path::new(PATH).join("default").join("next.dictionary");
    let mut files = Vec::new();
    for round in 0..3 {
        writer.append_batch(&events(0, round * 3000, 3000)).unwrap();
        writer.seal(&options(1), true).unwrap();
        files.push(storage.read(&file, u64::MAX).unwrap());
    }
    assert!(files[0] == files[1] && files[1] == files[2]);
}

#[test]
fn retention_does_not_wait_for_a_pass_of_sealing() {
    let storage = dynamic(&disk());
    let settings = Settings { segment_bytes: 20_000, ..Settings::default() };
    let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
    let writer = store.writer("default").unwrap();
    for round in 0..4 {
        writer.append_batch(&events(0, round * 200, 200)).unwrap();
    }
    let (mut sealed, mut dropped) = (0, 0);
    let mut report = |_| {
        sealed += 1;
        // In the midst of the pass.
        let retention = Retention { before: None, bytes_max: Some(0) };
        dropped += writer.retain(&retention).unwrap().segments;
        ControlFlow::Continue(())
    };
    writer.seal_each(&options(1), &mut report).unwrap();
    assert_eq!((sealed, dropped), (4, 3));
}
