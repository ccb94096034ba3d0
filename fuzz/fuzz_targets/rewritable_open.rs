//! Any bytes as the names of directories on a disk of the type `s3_plain_rewritable`: opened, listed, every file read, nothing outside.
#![no_main]
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

/// Directories that have names.
const NAMED: [&str; 4] = ["w", "x", "y", "z"];

fn walk(storage: &dyn Storage, path: &Path) {
    for entry in storage.list(path).into_iter().flatten() {
        let below: PathBuf = path.join(&entry.name);
        assert!(below.components().all(|it| matches!(it, Component::Normal(_))), "{below:?}");
        if entry.is_directory {
            walk(storage, &below);
        } else {
            assert_eq!(storage.read(&below, 4).ok().as_deref(), Some(&b"rows"[..]), "{below:?}");
        }
    }
}

// Each name is a length of one byte and this many bytes.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let memory = Memory::new();
    memory.put(Path::new("secret"), b"none");
    let mut rest = input;
    for name in NAMED {
        let [length, tail @ ..] = rest else { break };
        let (prefix, next) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = next;
        memory.put(&Path::new("disk/__meta").join(name).join("prefix.path"), prefix);
        memory.put(&Path::new("disk").join(name).join("a.bin"), b"rows");
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    if let Ok(Some(disk)) = tambour_backup::open(&storage, Path::new("disk")) {
        walk(disk.storage.as_ref(), Path::new("disk"));
    }
});
