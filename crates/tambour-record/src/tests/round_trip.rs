//! What is appended is read, in every state, with every codec.

use super::super::trial::{Samples, group};
use super::super::{
    Batch, Codec, Group, RecordStore, Retention, SealOptions, SegmentState, Settings, ViewOptions,
    verify,
};
use super::{
    PATH, assert_holds, disk, dynamic, options, reader, record, records, sealed_and_open, settings,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn records_come_back_from_open_and_sealed_segments() {
    for group in [1, 3, 8, 16] {
        let storage = dynamic(&sealed_and_open(1000, 230, group));
        assert_holds(&storage, 1230);
        let verified = verify(&storage, Path::new(PATH)).unwrap();
        assert!(verified.damage.is_empty(), "{:?}", verified.damage);
        assert_eq!(verified.records, 1230);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let direct = Arc::new(store.view("default", &ViewOptions { memory_bytes: 0 }).unwrap());
        let mut reader = direct.reader();
        for id in (0..1230).rev().step_by(13) {
            let mut target = b"before".to_vec();
            reader.get_into(id, &mut target).unwrap();
            assert_eq!(target[6..], record(id));
        }
        let stat = direct.stat();
        assert_eq!(stat.records(), 1230);
        let raw: usize = (0..1230).map(|id| record(id).len()).sum();
        assert_eq!(stat.raw_bytes(), raw as u64);
        assert!(stat.segments.iter().any(|segment| segment.state == SegmentState::Open));
    }
}

#[test]
fn every_codec_and_records_of_every_length() {
    for codec in [Codec::Raw, Codec::Lz4, Codec::Zstd] {
        for group in [1, 5] {
            let storage = dynamic(&disk());
            let settings = Settings { segment_bytes: 8 << 20, codec };
            let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
            let writer = store.writer("a.b-c_d").unwrap();
            let all: Batch = [0, 1, 5, 13, 300, 70_000, 0, 200_000, 12]
                .into_iter()
                .map(|length| vec![b'x'; length])
                .chain((0..400).map(record))
                .collect::<Vec<_>>()
                .iter()
                .map(Vec::as_slice)
                .collect();
            writer.append_batch(&all).unwrap();
            let options = SealOptions { codec: None, level: Some(3), ..options(group) };
            for sealed in [false, true] {
                if sealed {
                    assert_eq!(writer.seal(&options, true).unwrap().len(), 1);
                }
                let view = Arc::new(store.view("a.b-c_d", &ViewOptions::default()).unwrap());
                let mut reader = view.reader();
                for (id, expected) in all.iter().enumerate() {
                    assert_eq!(reader.get(id as u64).unwrap(), expected);
                    assert_eq!(reader.time(id as u64).unwrap(), None);
                }
            }
        }
    }
}

#[test]
fn noise_is_sealed_raw() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("noise").unwrap();
    let mut state = 1_u64;
    for _ in 0..200 {
        let noise: Vec<u8> = (0..200)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        writer.append_later(&noise, None).unwrap();
    }
    writer.flush().unwrap();
    let reports = writer.seal(&options(1), true).unwrap();
    assert_eq!((reports[0].codec, reports[0].dictionary_bytes), (Codec::Raw, 0));
}

#[test]
fn ids_are_dense_over_restarts_and_small_segments_become_one() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    for first in (0..300).step_by(30) {
        let writer = store.writer("default").unwrap();
        assert_eq!(writer.end(), first);
        assert_eq!(writer.append_batch(&records(first..first + 30)).unwrap(), first..first + 30);
    }
    assert_holds(&storage, 300);
    let writer = store.writer("default").unwrap();
    let reports = writer.seal(&options(1), true).unwrap();
    assert_eq!(reports.iter().map(|report| report.records).sum::<u64>(), 300);
    assert_holds(&storage, 300);
}

#[test]
fn appends_of_many_threads_share_commits() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let writer = &writer;
            scope.spawn(move || {
                for k in 0..100 {
                    let text = format!("thread {thread} record {k}");
                    writer.append(text.as_bytes(), None).unwrap();
                }
            });
        }
    });
    let mut all = Vec::new();
    let mut reader = reader(&storage).unwrap();
    let keep = |scanned: super::super::Scanned<'_>| {
        all.push(scanned.record.to_vec());
        ControlFlow::Continue(())
    };
    reader.scan(0..u64::MAX, keep).unwrap();
    assert_eq!(all.len(), 400);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 400);
}

#[test]
fn readers_go_on_while_a_writer_appends_and_seals() {
    let storage = dynamic(&sealed_and_open(300, 0, 1));
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (store, done) = (&store, &done);
        for _ in 0..2 {
            let mut reader = reader(&storage).unwrap();
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    reader.refresh().unwrap();
                    let end = reader.view().ids().end;
                    for id in (0..end).step_by(7) {
                        assert_eq!(reader.get(id).unwrap(), record(id));
                    }
                }
            });
        }
        let writer = store.writer("default").unwrap();
        for round in 0..12_u64 {
            let first = 300 + round * 50;
            writer.append_batch(&records(first..first + 50)).unwrap();
            if round % 3 == 2 {
                writer.seal(&options(4), true).unwrap();
            }
        }
        done.store(true, Ordering::Release);
    });
    assert_holds(&storage, 900);
}

#[test]
fn times_select_records() {
    let storage = dynamic(&sealed_and_open(500, 100, 4));
    let mut reader = reader(&storage).unwrap();
    for (times, expected) in [
        (0..10, vec![0]),
        (995..1021, vec![100, 101, 102]),
        (4990..5015, vec![499, 500, 501]),
        (5985..i64::MAX, vec![599]),
        (6000..7000, vec![]),
        (-50..0, vec![]),
    ] {
        let mut ids = Vec::new();
        let keep = |scanned: super::super::Scanned<'_>| {
            assert_eq!(scanned.record, record(scanned.id));
            ids.push(scanned.id);
            ControlFlow::Continue(())
        };
        reader.scan_time(times.clone(), keep).unwrap();
        assert_eq!(ids, expected, "{times:?}");
    }
    let mut first = None;
    reader
        .scan_time(100..5000, |scanned| {
            first = Some(scanned.id);
            ControlFlow::Break(())
        })
        .unwrap();
    assert_eq!(first, Some(10));
}

#[test]
fn records_with_and_without_times_live_together() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    for id in 0..60 {
        writer.append_later(&record(id), (id % 3 == 1).then_some(id as i64)).unwrap();
    }
    writer.flush().unwrap();
    writer.append(b"last", None).unwrap();
    for sealed in [false, true] {
        if sealed {
            writer.seal(&options(2), true).unwrap();
        }
        let mut reader = reader(&storage).unwrap();
        for id in 0..60 {
            assert_eq!(reader.time(id).unwrap(), (id % 3 == 1).then_some(id as i64));
        }
        assert_eq!(reader.time(60).unwrap(), None);
        let mut count = 0;
        reader
            .scan_time(i64::MIN..i64::MAX, |_| {
                count += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(count, 20);
    }
}

#[test]
fn retention_drops_whole_segments_from_the_front() {
    let storage = dynamic(&sealed_and_open(1500, 20, 1));
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let writer = store.writer("default").unwrap();
    let before = Arc::new(store.view("default", &ViewOptions { memory_bytes: 0 }).unwrap());
    let ends: Vec<u64> = before.stat().segments.iter().map(|segment| segment.ids.end).collect();
    assert!(ends.len() >= 4, "{ends:?}");
    let old = Retention { before: Some(ends[0] as i64 * 10), bytes_max: None };
    assert_eq!(writer.retain(&old).unwrap().records, ends[0]);
    let view = store.view("default", &ViewOptions::default()).unwrap();
    assert_eq!(view.ids(), ends[0]..1520);
    assert_eq!(writer.retain(&old).unwrap().segments, 0);
    let all = Retention { before: None, bytes_max: Some(0) };
    writer.retain(&all).unwrap();
    let view = Arc::new(store.view("default", &ViewOptions::default()).unwrap());
    assert_eq!(view.ids(), 1500..1520);
    assert_eq!(view.reader().get(1519).unwrap(), record(1519));
    assert_eq!(writer.append_batch(&records(1520..1521)).unwrap(), 1520..1521);
}

#[test]
fn a_dictionary_is_taken_only_where_it_helps() {
    let storage = dynamic(&sealed_and_open(3000, 0, 1));
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let view = store.view("default", &ViewOptions::default()).unwrap();
    let stat = view.stat();
    assert!(stat.segments.iter().all(|segment| segment.dictionary != 0));
    // The same log goes on: the dictionary of before is as good as a new one would be.
    let writer = store.writer("default").unwrap();
    writer.append_batch(&records(3000..4000)).unwrap();
    let reports = writer.seal(&options(1), true).unwrap();
    assert!(reports.iter().all(|report| !report.trained && report.dictionary_bytes > 0));
}

#[test]
fn the_index_takes_two_bytes_a_record_at_most() {
    for group in [1, 2, 4, 16] {
        let storage = dynamic(&sealed_and_open(2000, 0, group));
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        for segment in store.view("default", &ViewOptions::default()).unwrap().stat().segments {
            let records = segment.ids.end - segment.ids.start;
            assert!(segment.index_bytes <= 2 * records, "{group}: {segment:?}");
        }
    }
}

#[test]
fn groups_grow_while_reads_stay_above_the_floor() {
    fn slow() -> f64 {
        // Every look at this clock is a second later: whatever is timed took one.
        thread_local!(static NOW: std::cell::Cell<f64> = const { std::cell::Cell::new(0.0) });
        NOW.with(|now| {
            now.set(now.get() + 1.0);
            now.get()
        })
    }
    let all = records(0..2000);
    let samples = Samples::of(&all);
    let way =
        super::super::trial::Way { codec: Codec::Lz4, level: 6, dictionary: samples.train(4096) };
    let floor = |reads_per_second| Group::Floor { reads_per_second, clock: slow };
    let chosen = |floor| group(&samples.held_out, &way, floor).unwrap();
    assert_eq!(chosen(floor(1e12)), 1);
    assert!(chosen(floor(1.0)) > 1);
    assert_eq!(chosen(Group::Fixed(99)), 16);
}
