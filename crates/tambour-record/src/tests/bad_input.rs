//! Each bad input by name: a clear error of the right kind.

use super::super::layout::NEXT_DICTIONARY;
use super::super::{
    Batch, Dictionary, RECORD_BYTES_MAX, RecordError, RecordStore, Retention, Settings,
    ViewOptions, verify,
};
use super::{PATH, disk, dynamic, options, reader, record, records, sealed_and_open, settings};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_storage::Storage;
use tambour_storage::memory::Fate;

#[test]
fn a_record_above_the_limit_is_refused_and_those_before_it_stay() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    let long = vec![0; RECORD_BYTES_MAX + 1];
    assert_eq!(writer.append(&long, None).unwrap_err().kind(), Kind::Limit);
    let mut batch = Batch::default();
    batch.push(b"short", None);
    batch.push(&long, None);
    assert_eq!(writer.append_batch(&batch).unwrap_err().kind(), Kind::Limit);
    assert_eq!(writer.end(), 0);
    batch.clear();
    batch.push(&long[..RECORD_BYTES_MAX], None);
    writer.append_batch(&batch).unwrap();
    assert_eq!(reader(&storage).unwrap().get(0).unwrap().len(), RECORD_BYTES_MAX);
}

#[test]
fn ids_beyond_the_end_are_not_found() {
    let storage = dynamic(&sealed_and_open(50, 5, 1));
    let mut reader = reader(&storage).unwrap();
    for id in [55, 56, u64::MAX] {
        let error = reader.get(id).unwrap_err();
        assert!(matches!(error, RecordError::NotFound { first: 0, end: 55, .. }));
        assert_eq!(error.kind(), Kind::NotFound);
    }
    assert!(reader.get_many(&[1, 2, 99], |_, _| ()).is_err());
    assert_eq!(reader.get(54).unwrap(), record(54));
}

#[test]
fn a_segment_dropped_under_a_reader_is_gone_or_still_readable() {
    let memory = sealed_and_open(900, 5, 1);
    let storage = dynamic(&memory);
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let mut old = reader(&storage).unwrap();
    assert_eq!(old.get(3).unwrap(), record(3));
    let writer = store.writer("default").unwrap();
    writer.retain(&Retention { before: None, bytes_max: Some(0) }).unwrap();
    // Opened before: the file is gone, what was opened is not.
    assert_eq!(old.get(4).unwrap(), record(4));
    old.refresh().unwrap();
    assert!(matches!(old.get(4), Err(RecordError::NotFound { first: 900, .. })));
}

#[test]
fn a_segment_of_another_store_is_refused() {
    let (one, other) = (sealed_and_open(50, 0, 1), sealed_and_open(50, 0, 1));
    let path = Path::new(PATH).join("default/00000000000000000000.sealed");
    let memory = one.crash(Fate::Kept);
    memory.put(&path, &other.read(&path, u64::MAX).unwrap());
    let error = reader(&dynamic(&memory)).unwrap().get(0).unwrap_err();
    assert!(matches!(error, RecordError::OtherStore { .. }), "{error}");
    assert!(!verify(&dynamic(&memory), Path::new(PATH)).unwrap().damage.is_empty());
}

#[test]
fn a_segment_of_another_category_is_refused() {
    for (sealed, open, name) in
        [(50, 0, "00000000000000000000.sealed"), (0, 50, "00000000000000000000.open")]
    {
        let memory = sealed_and_open(sealed, open, 1).crash(Fate::Kept);
        let file = memory.read(&Path::new(PATH).join("default").join(name), u64::MAX).unwrap();
        let other = Path::new(PATH).join("other");
        memory.put(&other.join(name), &file);
        let storage = dynamic(&memory);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let view = Arc::new(store.view("other", &ViewOptions::default()).unwrap());
        let error = view.reader().get(0).unwrap_err();
        assert!(matches!(error, RecordError::OtherCategory { .. }), "{error}");
        assert_eq!(error.kind(), Kind::Conflict);
        let error = store.writer("other").unwrap_err();
        assert!(matches!(error, RecordError::OtherCategory { .. }), "{error}");
        assert!(!verify(&storage, Path::new(PATH)).unwrap().damage.is_empty());
        assert_eq!(reader(&storage).unwrap().get(0).unwrap(), record(0));
    }
}

#[test]
fn a_segment_under_the_name_of_another_is_refused() {
    let memory = sealed_and_open(900, 0, 1).crash(Fate::Kept);
    let directory = Path::new(PATH).join("default");
    let names: Vec<String> = memory.list(&directory).unwrap().into_iter().map(|e| e.name).collect();
    let sealed: Vec<&String> = names.iter().filter(|name| name.ends_with(".sealed")).collect();
    let first = memory.read(&directory.join(sealed[0]), u64::MAX).unwrap();
    memory.put(&directory.join(sealed[1]), &first);
    let mut reader = reader(&dynamic(&memory)).unwrap();
    let id: u64 = sealed[1].split('.').next().unwrap().parse().unwrap();
    assert_eq!(reader.get(id).unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(reader.get(0).unwrap(), record(0));
}

#[test]
fn a_missing_segment_is_named() {
    let memory = sealed_and_open(900, 5, 1);
    let storage = dynamic(&memory);
    let ids = {
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        store.view("default", &ViewOptions::default()).unwrap().stat().segments[1].ids.clone()
    };
    let name = format!("default/{:020}.sealed", ids.start);
    storage.remove_file(&Path::new(PATH).join(name)).unwrap();
    let error = reader(&storage).unwrap().get(ids.start + 1).unwrap_err();
    let RecordError::Missing { first, end, .. } = error else { panic!("{error}") };
    assert_eq!(first..end, ids);
    assert!(!verify(&storage, Path::new(PATH)).unwrap().damage.is_empty());
}

#[test]
fn a_dictionary_from_another_store_or_damaged_is_found_and_not_used() {
    let memory = sealed_and_open(400, 0, 1);
    let other = sealed_and_open(400, 0, 1);
    let path = Path::new(PATH).join("default").join(NEXT_DICTIONARY);
    let foreign = other.read(&path, u64::MAX).unwrap();
    for bytes in [foreign, b"no dictionary".to_vec()] {
        let memory = memory.crash(Fate::Kept);
        memory.put(&path, &bytes);
        let storage = dynamic(&memory);
        assert_eq!(verify(&storage, Path::new(PATH)).unwrap().damage.len(), 1);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let writer = store.writer("default").unwrap();
        writer.append_batch(&records(400..450)).unwrap();
        assert_eq!(reader(&storage).unwrap().get(449).unwrap(), record(449));
    }
}

#[test]
fn a_wrong_dictionary_given_by_hand_costs_size_and_nothing_else() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    let foreign = Dictionary::new(b"lorem ipsum dolor sit amet ".repeat(300)).unwrap();
    writer.use_dictionary(&foreign).unwrap();
    writer.append_batch(&records(0..300)).unwrap();
    assert_eq!(reader(&storage).unwrap().get(123).unwrap(), record(123));
    let report = &writer.seal(&options(1), true).unwrap()[0];
    assert!(report.trained, "a better one is found when sealing");
    assert!(Dictionary::new(vec![0; (256 << 10) + 1]).is_err());
}

#[test]
fn a_second_writer_is_refused() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let first = store.writer("default").unwrap();
    let error = store.writer("default").unwrap_err();
    assert!(matches!(error, RecordError::Locked { .. }));
    assert_eq!(error.kind(), Kind::Conflict);
    store.writer("another").unwrap();
    drop(first);
    store.writer("default").unwrap();
}

#[test]
fn stores_and_categories_that_are_not_there() {
    let storage = dynamic(&disk());
    let path = Path::new(PATH);
    assert_eq!(RecordStore::open(&storage, path).unwrap_err().kind(), Kind::NotFound);
    assert_eq!(verify(&storage, path).unwrap_err().kind(), Kind::NotFound);
    let store = RecordStore::create(&storage, path, &Settings::default()).unwrap();
    assert!(matches!(
        RecordStore::create(&storage, path, &settings()),
        Err(RecordError::Exists { .. })
    ));
    let error = store.view("nothing", &ViewOptions::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
    for name in ["", ".", "..", "a/b", "a b", "\u{fc}", &"x".repeat(65)] {
        assert_eq!(store.writer(name).unwrap_err().kind(), Kind::Argument, "{name:?}");
    }
    let tiny = Settings { segment_bytes: 1, ..settings() };
    assert!(RecordStore::create(&storage, Path::new("logs/tiny"), &tiny).is_err());
    store.writer("empty").unwrap();
    let view = Arc::new(store.view("empty", &ViewOptions::default()).unwrap());
    assert!(view.reader().get(0).is_err());
}

#[test]
fn a_version_from_the_future_is_unsupported() {
    let memory = sealed_and_open(50, 0, 1).crash(Fate::Kept);
    let path = Path::new(PATH).join("default/00000000000000000000.sealed");
    let mut bytes = memory.read(&path, u64::MAX).unwrap();
    let end = bytes.len();
    for at in [0, end - 96] {
        bytes[at + 8] = 3;
        let sum = tambour_kernel::hash::crc32c(0, &bytes[at..at + 92]);
        bytes[at + 92..at + 96].copy_from_slice(&sum.to_le_bytes());
    }
    memory.put(&path, &bytes);
    let error = reader(&dynamic(&memory)).unwrap().get(0).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsupported);
    assert!(error.to_string().contains("version 3"), "{error}");
}
