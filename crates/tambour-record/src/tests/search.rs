//! Search against a look at every record.

use super::super::{
    Batch, CompactOptions, Query, Reader, RecordError, RecordStore, Settings, ViewOptions, verify,
};
use super::{PATH, disk, dynamic, options, reader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};

/// A line of a log: some words of all records, some of few, numbers, names of traces.
fn line(id: u64) -> Vec<u8> {
    let noise = |k: u64| (id * 31 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
    let level = ["info", "WARN", "Error", "debug"][(noise(1) % 4) as usize];
    let verb = ["opened", "closed", "timed-out", "re_tried"][(noise(2) % 4) as usize];
    let long = "x".repeat((noise(3) % 90) as usize);
    format!(
        "{level} disk {verb} /dev/sd{} user={} trace={:016x} at {:013} {long} caf\u{e9}{} {}",
        noise(4) % 7,
        noise(5) % 1000,
        noise(6),
        1_700_000_000_000_u64 + id * 50,
        noise(7) % 3,
        if id % 250 == 7 { "needle in a haystack" } else { "hay" },
    )
    .into_bytes()
}

fn queries(count: u64) -> Vec<Query> {
    let mut queries: Vec<Query> = [
        "error",
        "error AND timed-out",
        "needle",
        "NEEDLE NOT debug",
        "needle OR (warn AND sd3 AND user=17)",
        "\"in a haystack\"",
        "\"haystack in\"",
        "nee*",
        "170000000*",
        "1700000001*",
        "opened /dev/sd2",
        "caf\u{e9}1",
        "NOT hay",
        "nothing",
        "NOT nothing",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx*",
    ]
    .into_iter()
    .map(|text| Query::parse(text).unwrap())
    .collect();
    for id in (0..count).step_by(97) {
        let text = String::from_utf8(line(id)).unwrap();
        for word in text.split([' ', '=', '/']).filter(|word| !word.is_empty()) {
            queries.push(Query::parse(word).unwrap());
            if word.len() > 5 && word.is_ascii() {
                queries.push(Query::parse(&format!("{}*", &word[..word.len() - 2])).unwrap());
                queries.push(Query::Bytes(word.as_bytes()[2..].to_vec()));
                queries.push(Query::Bytes(word.as_bytes()[1..5].to_vec()));
            }
        }
        queries.push(Query::Bytes(text.as_bytes()[3..20].to_vec()));
        queries.push(Query::words(&text[..12], true).unwrap());
    }
    queries
}

fn hits(reader: &mut Reader, query: &Query) -> (Vec<u64>, super::super::Searched) {
    let mut hits = Vec::new();
    let searched = reader.search(query, |scanned| {
        hits.push(scanned.id);
        ControlFlow::Continue(())
    });
    (hits, searched.unwrap())
}

/// The reference: a look at every record.
fn assert_same(reader: &mut Reader, queries: &[Query]) {
    for query in queries {
        let mut expected = Vec::new();
        reader
            .scan(0..u64::MAX, |scanned| {
                if query.matches(scanned.record) {
                    expected.push(scanned.id);
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(hits(reader, query).0, expected, "{query:?}");
        let candidates = reader.view().candidates(query);
        let is_in = |id: &u64| candidates.iter().any(|range| range.contains(id));
        assert!(expected.iter().all(is_in), "{query:?}");
    }
}

fn store(count: u64, group: usize) -> Memory {
    let memory = disk();
    let storage = dynamic(&memory);
    let settings = Settings { segment_bytes: 80_000, ..Settings::default() };
    let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
    let writer = store.writer("default").unwrap();
    assert_eq!(writer.index_words().unwrap(), 0);
    for first in (0..count).step_by(100) {
        let mut batch = Batch::default();
        (first..count.min(first + 100)).for_each(|id| batch.push(&line(id), None));
        writer.append_batch(&batch).unwrap();
    }
    writer.seal(&options(group), true).unwrap();
    writer.append(b"an open needle", None).unwrap();
    memory
}

fn index(memory: &Memory) -> PathBuf {
    let directory = Path::new(PATH).join("default");
    let names = memory.list(&directory).unwrap();
    let name = names
        .iter()
        .find(|entry| Path::new(&entry.name).extension().is_some_and(|it| it == "words"))
        .unwrap();
    directory.join(&name.name)
}

#[test]
fn a_search_finds_what_a_look_at_every_record_does() {
    let memory = store(1500, 4);
    let mut reader = reader(&dynamic(&memory)).unwrap();
    assert!(reader.view().segments() > 3 && reader.view().has_index());
    assert_same(&mut reader, &queries(1500));
    // Few records are looked at for a word of few.
    let (found, searched) = hits(&mut reader, &Query::parse("needle").unwrap());
    assert_eq!((found.len(), searched.without_index), (7, 0));
    assert!(searched.records < 1000, "{searched:?}");
}

#[test]
fn updated_and_deleted_records_are_not_found() {
    let storage = dynamic(&disk());
    let settings = Settings { segment_bytes: 40_000, ..Settings::default() };
    let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
    let writer = store.writer("default").unwrap();
    let put = |id: u64, text: &str| {
        writer.put_keyed(&(id % 50).to_le_bytes(), text.as_bytes(), None).unwrap()
    };
    for id in 0..200 {
        put(id, &format!("version{} of {}", id / 50, id % 50));
    }
    writer.delete(&3_u64.to_le_bytes()).unwrap();
    writer.seal(&options(4), true).unwrap();
    assert!(writer.index_words().unwrap() > 0);
    for _ in 0..3 {
        let mut reader = reader(&storage).unwrap();
        let count = |reader: &mut Reader, text| hits(reader, &Query::parse(text).unwrap()).0.len();
        assert_eq!(count(&mut reader, "version2"), 0);
        assert_eq!(count(&mut reader, "version3"), 49);
        assert_eq!(count(&mut reader, "version3 AND 3"), 0);
        let (_, searched) = hits(&mut reader, &Query::parse("version3").unwrap());
        assert_eq!(searched.without_index, 0);
        let options = CompactOptions { least: 0.0, seal: options(4) };
        writer.compact(&options).unwrap();
    }
    let verified = verify(&storage, Path::new(PATH)).unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}

#[test]
fn every_flip_of_an_index_is_found_and_changes_no_answer() {
    let memory = store(300, 2);
    let path = index(&memory);
    let bytes = memory.read(&path, u64::MAX).unwrap();
    let queries: Vec<Query> =
        ["needle", "nee*", "error AND sd3"].map(|text| Query::parse(text).unwrap()).to_vec();
    let mut reader = reader(&dynamic(&memory)).unwrap();
    let expected: Vec<_> = queries.iter().map(|query| hits(&mut reader, query).0).collect();
    let look = |other: &[u8], what: usize| {
        let memory = memory.crash(Fate::Kept);
        memory.put(&path, other);
        let storage = dynamic(&memory);
        let mut reader = super::reader(&storage).unwrap();
        for (query, expected) in queries.iter().zip(&expected) {
            assert_eq!(hits(&mut reader, query).0, *expected, "{what}");
        }
        let verified = verify(&storage, Path::new(PATH)).unwrap();
        assert_eq!(verified.damage.len(), 1, "{what}: {:?}", verified.damage);
    };
    for at in (0..bytes.len()).step_by(5).chain(0..70) {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        look(&other, at);
    }
    for cut in [0, 1, 63, 64, bytes.len() / 2, bytes.len() - 1] {
        look(&bytes[..cut], cut);
    }
    look(&[&bytes[..], b"x"].concat(), bytes.len());
}

#[test]
fn lost_and_foreign_indexes_are_told_and_made_again() {
    let memory = store(1000, 4);
    let storage = dynamic(&memory);
    let path = index(&memory);
    let whole = memory.read(&path, u64::MAX).unwrap();
    let directory = Path::new(PATH).join("default");
    let other = memory.list(&directory).unwrap().into_iter().rev();
    let other = other.map(|entry| directory.join(entry.name));
    let other = other.filter(|other| other.extension().is_some_and(|it| it == "words"));
    let other = memory.read(&other.into_iter().next().unwrap(), u64::MAX).unwrap();
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    for foreign in [Some(other), None] {
        match foreign {
            Some(bytes) => memory.put(&path, &bytes),
            None => memory.remove_file(&path).unwrap(),
        }
        let mut reader = reader(&storage).unwrap();
        let (found, searched) = hits(&mut reader, &Query::parse("needle").unwrap());
        assert_eq!((found.len(), searched.without_index), (5, 1));
        let verified = verify(&storage, Path::new(PATH)).unwrap();
        assert_eq!(verified.damage.len(), 1);
        let said = verified.damage[0].to_string();
        assert!(said.contains("segment of an index") || said.contains("--repair"), "{said}");
        assert_eq!(store.writer("default").unwrap().index_words().unwrap(), 1);
        assert!(memory.read(&path, u64::MAX).unwrap() == whole);
        assert!(verify(&storage, Path::new(PATH)).unwrap().damage.is_empty());
    }
    // Without its segment it goes.
    memory.remove_file(&path.with_extension("sealed")).unwrap();
    drop(store.writer("default").unwrap());
    assert!(!storage.exists(&path).unwrap());
    // Damage of a segment is an error for whoever searches in it.
    let view = store.view("default", &ViewOptions::default()).unwrap();
    let outcome = Arc::new(view)
        .reader()
        .search(&Query::parse("NOT a").unwrap(), |_| ControlFlow::Continue(()));
    assert!(outcome.is_ok() || matches!(outcome, Err(RecordError::Missing { .. })));
}
