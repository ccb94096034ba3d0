//! A record store with any bytes anywhere in its files: the right record or an error, and no panic.
#![no_main]
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};
use tambour_record::{Batch, RecordStore, SealOptions, Settings, ViewOptions, salvage, verify};

const PATH: &str = "logs/events";
const COUNT: u64 = 90;

fn record(id: u64) -> Vec<u8> {
    format!("{{\"id\":{id},\"host\":\"h{}\",\"path\":\"{}\"}}", id % 7, "/drum".repeat((id % 5) as usize)).into_bytes()
}

fn batch(ids: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::default();
    ids.for_each(|id| batch.push(&record(id), Some(id as i64)));
    batch
}

fn original() -> &'static Memory {
    static STORE: OnceLock<Memory> = OnceLock::new();
    STORE.get_or_init(|| {
        let memory = Memory::new();
        memory.put(Path::new("logs/other"), b"");
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
        let writer = store.writer("default").unwrap();
        writer.append_batch(&batch(0..60)).unwrap();
        writer.seal(&SealOptions::default(), true).unwrap();
        writer.append_batch(&batch(60..COUNT)).unwrap();
        drop(writer);
        memory.crash(Fate::Kept)
    })
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&[which, a, b], bytes)) = input.split_first_chunk::<3>() else { return };
    let memory = original().crash(Fate::Kept);
    let directory = Path::new(PATH).join("default");
    let names: Vec<_> = memory.list(&directory).unwrap().into_iter().filter(|e| e.is_file && e.length > 8).collect();
    let path = directory.join(&names[which as usize % names.len()].name);
    let mut contents = memory.read(&path, u64::MAX).unwrap();
    let at = usize::from(u16::from_le_bytes([a, b])) % contents.len();
    for (byte, other) in contents[at..].iter_mut().zip(bytes) {
        *byte ^= other;
    }
    memory.put(&path, &contents);
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let mut reader = Arc::new(store.view("default", &ViewOptions::default()).unwrap()).reader();
    for id in 0..COUNT {
        if let Ok(got) = reader.get(id) {
            assert_eq!(got, record(id));
        }
    }
    verify(&storage, Path::new(PATH)).unwrap();
    salvage(&storage, Path::new(PATH), Path::new("logs/saved")).unwrap();
});
