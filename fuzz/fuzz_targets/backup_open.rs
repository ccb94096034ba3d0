//! Any bytes as an archive, and as the manifest of a backup in a directory: opened, listed, every file read.
#![no_main]
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

/// Bytes of a file that are read: the rest is as good or as bad.
const READ_MAX: u64 = 1 << 20;

fn walk(storage: &dyn Storage, path: &Path) {
    for entry in storage.list(path).into_iter().flatten() {
        let below: PathBuf = path.join(&entry.name);
        if entry.is_directory {
            walk(storage, &below);
        } else if let Ok(file) = storage.open(&below) {
            let mut target = vec![0; usize::try_from(file.len().min(READ_MAX)).unwrap_or_default()];
            if file.read_exact_at(&mut target, 0).is_ok() {
                assert_eq!(file.len(), entry.length, "{below:?}");
            }
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let memory = Memory::new();
    memory.put(Path::new("archive"), input);
    for directory in ["w", "w/b"] {
        memory.create_directory(Path::new(directory)).expect("nothing is there yet");
    }
    memory.put(Path::new("w/b/.backup"), input);
    memory.put(Path::new("w/b/a"), b"rows");
    let storage: Arc<dyn Storage> = Arc::new(memory);
    for path in ["archive", "w/b"] {
        if let Ok(Some(backup)) = tambour_backup::open(&storage, Path::new(path)) {
            walk(backup.storage.as_ref(), Path::new(path));
            backup.verify(&mut |_| ());
        }
    }
});
