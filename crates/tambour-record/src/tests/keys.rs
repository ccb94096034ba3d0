//! Keys against a map in memory, and through damage, crashes and kills.

use super::super::{
    Batch, CompactOptions, Reader, RecordError, RecordStore, Retention, State, ViewOptions,
    salvage, verify,
};
use super::{PATH, disk, dynamic, options, reader, settings};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Calls, EIO, Fate, Memory};

/// Numbers that look like noise, the same for the same seed.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }
}

fn key(number: u64) -> Vec<u8> {
    match number % 7 {
        0 => format!("\u{fe}key-{number}").into_bytes(),
        1 => vec![0xff, number.to_le_bytes()[0], number.to_le_bytes()[1]],
        _ => format!("user:{number}").into_bytes(),
    }
}

fn value(key: &[u8], version: u64) -> Vec<u8> {
    let name = String::from_utf8_lossy(key);
    format!("{{\"key\":\"{name}\",\"version\":{version},\"state\":\"as it is\"}}").into_bytes()
}

/// A key and a record.
type Logged = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What a log should hold.
#[derive(Clone, Default)]
struct Model {
    /// All ids in order: the key, if there is one, and the record, if it is none of a deletion.
    log: Vec<Logged>,
    reclaimed: std::collections::BTreeSet<u64>,
}

impl Model {
    fn put(&mut self, key: Option<Vec<u8>>, record: Option<Vec<u8>>) {
        self.log.push((key, record));
    }

    fn latest(&self) -> BTreeMap<Vec<u8>, (u64, Option<Vec<u8>>)> {
        let keyed =
            self.log.iter().enumerate().filter_map(|(id, (key, record))| {
                Some((key.clone()?, (id as u64, record.clone())))
            });
        keyed.collect()
    }

    fn assert(&self, reader: &mut Reader, first: u64) {
        let latest = self.latest();
        let keys: Vec<Vec<u8>> = (0..80).map(key).collect();
        for key in &keys {
            let expected = latest
                .get(key)
                .filter(|(id, _)| *id >= first)
                .and_then(|(_, record)| record.clone());
            assert_eq!(reader.get_by_key(key).unwrap(), expected.as_deref());
            let id = latest.get(key).filter(|_| expected.is_some()).map(|(id, _)| *id);
            assert_eq!(reader.find(key).unwrap(), id);
            let mut versions: Vec<u64> = Vec::new();
            for (id, (other, record)) in self.log.iter().enumerate() {
                let id = id as u64;
                if other.as_ref() == Some(key) && id >= first && !self.reclaimed.contains(&id) {
                    versions.extend(record.is_some().then_some(id));
                }
            }
            assert_eq!(reader.versions(key).unwrap(), versions);
        }
        let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut seen = 0;
        reader
            .get_many_by_key(&borrowed, |k, record| {
                let found = latest.get(&keys[k]).filter(|(id, _)| *id >= first);
                assert_eq!(record, found.and_then(|(_, record)| record.as_deref()));
                seen += 1;
            })
            .unwrap();
        assert_eq!(seen, keys.len());
        let is_live = |id: u64, key: &Option<Vec<u8>>| {
            key.as_ref().is_none_or(|key| latest.get(key).is_some_and(|latest| latest.0 == id))
        };
        let expected: Vec<(u64, Vec<u8>)> = self
            .log
            .iter()
            .enumerate()
            .filter(|(id, (key, _))| *id as u64 >= first && is_live(*id as u64, key))
            .filter_map(|(id, (_, record))| Some((id as u64, record.clone()?)))
            .collect();
        let mut found = Vec::new();
        reader
            .scan(0..u64::MAX, |scanned| {
                found.push((scanned.id, scanned.record.to_vec()));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(found, expected);
        for (id, record) in &expected {
            assert_eq!(reader.get(*id).unwrap(), record);
        }
    }
}

/// A few records with keys and without, and deletions.
fn some(noise: &mut Noise, model: &mut Model) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..=noise.below(40) {
        let version = model.log.len() as u64;
        let (key, time) =
            (key(noise.below(70)), (!version.is_multiple_of(3)).then_some(version as i64));
        match noise.below(10) {
            0 => {
                let record = value(b"none", version);
                batch.push_mixed(&record, time);
                model.put(None, Some(record));
            }
            1 | 2 => {
                batch.push_deletion(&key, time).unwrap();
                model.put(Some(key), None);
            }
            _ => {
                let record = value(&key, version);
                batch.push_keyed(&key, &record, time).unwrap();
                model.put(Some(key), Some(record));
            }
        }
    }
    batch
}

/// Which of the records of a reader were reclaimed.
fn reclaimed(reader: &mut Reader) -> std::collections::BTreeSet<u64> {
    let mut ids = std::collections::BTreeSet::new();
    reader
        .scan_all(0..u64::MAX, |scanned| {
            ids.extend((scanned.state == State::Reclaimed).then_some(scanned.id));
            ControlFlow::Continue(())
        })
        .unwrap();
    ids
}

#[test]
fn a_log_with_keys_is_what_a_map_would_be() {
    for seed in 0..6 {
        let (storage, mut noise) = (dynamic(&disk()), Noise(seed));
        let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
        let mut writer = store.writer("default").unwrap();
        let mut model = Model::default();
        if seed % 2 == 0 {
            // Records without keys in front: a log may get keys later.
            writer.append(b"plain", Some(7)).unwrap();
            model.put(None, Some(b"plain".to_vec()));
        }
        let mut compacted = 0;
        for round in 0..40 {
            let batch = some(&mut noise, &mut model);
            assert_eq!(writer.append_batch(&batch).unwrap().end, model.log.len() as u64);
            match noise.below(6) {
                0 => drop(writer.seal(&options(1 + round % 5), true).unwrap()),
                1 => {
                    let options = CompactOptions { least: 0.0, seal: options(4) };
                    let done = writer.compact(&options).unwrap();
                    compacted += done.iter().map(|done| done.reclaimed).sum::<u64>();
                }
                2 => {
                    drop(writer);
                    writer = store.writer("default").unwrap();
                    assert!(writer.take_found().is_empty());
                }
                _ => {}
            }
            let mut reader = reader(&storage).unwrap();
            model.reclaimed = reclaimed(&mut reader);
            model.assert(&mut reader, 0);
        }
        assert!(compacted > 0);
        let verified = verify(&storage, Path::new(PATH)).unwrap();
        assert!(verified.damage.is_empty(), "{:?}", verified.damage);
        // A copy has the keys, too; what was reclaimed is not missed.
        let salvaged = salvage(&storage, Path::new(PATH), Path::new("logs/copy")).unwrap();
        assert_eq!((salvaged.lost, salvaged.unknown), (0, false));
        let copy = RecordStore::open(&storage, Path::new("logs/copy")).unwrap();
        let view = Arc::new(copy.view("default", &ViewOptions::default()).unwrap());
        let (mut copied, mut original) = (view.reader(), reader(&storage).unwrap());
        for number in 0..80 {
            let key = key(number);
            assert_eq!(copied.get_by_key(&key).unwrap(), original.get_by_key(&key).unwrap());
        }
        // What is dropped is gone, and nothing older shows.
        writer.seal(&options(4), true).unwrap();
        writer.append(b"the last", None).unwrap();
        model.put(None, Some(b"the last".to_vec()));
        writer.retain(&Retention { before: None, bytes_max: Some(6_000) }).unwrap();
        let mut reader = reader(&storage).unwrap();
        model.reclaimed = reclaimed(&mut reader);
        let first = reader.view().ids().start;
        model.assert(&mut reader, first);
    }
}

#[test]
fn compaction_reclaims_what_updates_and_deletions_left() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    for version in 0..30 {
        let mut batch = Batch::default();
        for number in 0..50 {
            batch.push_keyed(&key(number), &value(&key(number), version), None).unwrap();
        }
        writer.append_batch(&batch).unwrap();
    }
    (0..50).for_each(|number| writer.delete(&key(number)).unwrap());
    writer.seal(&options(16), true).unwrap();
    let bytes = || {
        let view = store.view("default", &ViewOptions::default()).unwrap();
        let stat = view.stat();
        (stat.file_bytes(), stat.raw_bytes(), stat.records())
    };
    let before = bytes();
    let options = CompactOptions { least: 0.0, seal: options(16) };
    let reclaimed = |done: Vec<super::super::Compacted>| -> u64 {
        done.iter().map(|done| done.reclaimed).sum()
    };
    assert_eq!(reclaimed(writer.compact(&options).unwrap()), 1500);
    // Then the deletions, of which nothing is left to delete.
    assert_eq!(reclaimed(writer.compact(&options).unwrap()), 50);
    assert_eq!(reclaimed(writer.compact(&options).unwrap()), 0);
    let after = bytes();
    assert_eq!((after.1, after.2), (before.2, before.2));
    assert!(after.0 < before.0 / 2, "{} of {}", after.0, before.0);
    let mut reader = reader(&storage).unwrap();
    assert!((0..50).all(|number| reader.get_by_key(&key(number)).unwrap().is_none()));
    assert!(matches!(reader.get(3), Err(RecordError::Deleted { id: 3 })));
    writer.put_keyed(&key(3), b"again", None).unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.get_by_key(&key(3)).unwrap(), Some(&b"again"[..]));
}

#[test]
fn keys_that_cannot_be_are_refused() {
    let mut batch = Batch::default();
    assert!(matches!(batch.push_keyed(b"", b"record", None), Err(RecordError::Argument { .. })));
    assert!(matches!(batch.push_deletion(b"", None), Err(RecordError::Argument { .. })));
    let huge = vec![b'k'; super::super::KEY_BYTES_MAX + 1];
    let refused = batch.push_keyed(&huge, b"record", None);
    assert!(matches!(refused, Err(RecordError::TooLarge { what: "a key", .. })));
    assert!(batch.is_empty() && !batch.is_keyed());
    // The largest of all is written and read, sealed and not.
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    let large: Vec<u8> = (0..super::super::RECORD_BYTES_MAX).map(|k| k.to_le_bytes()[0]).collect();
    writer.put_keyed(&huge[1..], &large, None).unwrap();
    writer.append(&large, None).unwrap();
    for _ in 0..2 {
        let mut reader = reader(&storage).unwrap();
        assert!(reader.get_by_key(&huge[1..]).unwrap() == Some(&large));
        assert!(reader.get_by_key(b"").unwrap().is_none());
        assert!(reader.get(1).unwrap() == large);
        writer.seal(&options(2), true).unwrap();
    }
}

/// A store of one sealed segment and one that is open, with an update in the open one.
fn two_segments() -> (Memory, Model) {
    let memory = disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    let (mut noise, mut model) = (Noise(3), Model::default());
    for _ in 0..3 {
        writer.append_batch(&some(&mut noise, &mut model)).unwrap();
    }
    writer.seal(&options(4), true).unwrap();
    writer.append_batch(&some(&mut noise, &mut model)).unwrap();
    drop(writer);
    (memory, model)
}

#[test]
fn no_flip_brings_an_older_record_back() {
    let (memory, model) = two_segments();
    let latest = model.latest();
    let directory = Path::new(PATH).join("default");
    let names = memory.list(&directory).unwrap();
    let mut flips = 0;
    for entry in names.iter().filter(|entry| entry.name.starts_with('0')) {
        let path = directory.join(&entry.name);
        let bytes = memory.read(&path, u64::MAX).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1 << (at % 8);
            let memory = memory.crash(Fate::Kept);
            memory.put(&path, &other);
            let storage = dynamic(&memory);
            let Ok(mut reader) = reader(&storage) else { continue };
            for (key, (_, expected)) in &latest {
                match reader.get_by_key(key) {
                    Ok(found) => assert_eq!(found, expected.as_deref(), "{} {at}", entry.name),
                    Err(_) => flips += 1,
                }
            }
            let verified = verify(&storage, Path::new(PATH)).unwrap();
            assert!(!verified.damage.is_empty(), "{} {at}", entry.name);
        }
    }
    assert!(flips > 0);
}

#[test]
fn an_older_program_refuses_keys_by_the_version() {
    let (memory, _) = two_segments();
    let directory = Path::new(PATH).join("default");
    for entry in memory.list(&directory).unwrap() {
        let bytes = memory.read(&directory.join(&entry.name), u64::MAX).unwrap();
        // What stands where programs without keys look for 1, and for 1 or 2.
        match entry.name.split_once('.').map(|name| name.1) {
            Some("sealed") => assert_eq!(bytes[8..10], [2, 0]),
            Some("open") => assert_eq!(bytes[8..10], [3, 0]),
            _ => {}
        }
    }
}

#[test]
fn a_crash_during_compaction_leaves_every_key_as_it_was() {
    let (memory, model) = two_segments();
    let latest = model.latest();
    let mut cuts = 0;
    for calls in 0.. {
        let memory = memory.crash(Fate::Kept);
        memory.fail_from(Calls::Writes, calls, EIO);
        let storage = dynamic(&memory);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let done = store.writer("default").and_then(|writer| {
            let options = CompactOptions { least: 0.0, seal: options(4) };
            writer.seal(&options.seal, true)?;
            writer.compact(&options)?;
            writer.compact(&options)
        });
        for fate in [Fate::Kept, Fate::Lost] {
            let storage = dynamic(&memory.crash(fate));
            let mut reader = reader(&storage).unwrap();
            for (key, (_, expected)) in &latest {
                assert_eq!(reader.get_by_key(key).unwrap(), expected.as_deref(), "{calls}");
            }
        }
        if done.is_ok() {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 10, "{cuts}");
}
