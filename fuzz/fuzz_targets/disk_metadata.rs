//! Any bytes as the metadata of a file on an object-store disk: opened, listed and read, nothing outside of the bucket.
#![no_main]
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

/// A file of the same part, by which the others are known.
const KNOWN: &[u8] = b"5\n1\t4\n4\tpre/abc/one\n0\n1\n\n";

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let memory = Memory::new();
    for (name, contents) in [
        ("secret", &b"none"[..]),
        ("disk/part/columns.txt", KNOWN),
        ("disk/part/x.bin", input),
        ("disk/alone/x.bin", input),
        ("bucket/pre/abc/one", b"rows"),
        ("bucket/pre/two", b"rows"),
        ("bucket/pre/none", b""),
    ] {
        memory.put(Path::new(name), contents);
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let disk =
        tambour_object::disk_of(&storage, Path::new("disk"), &storage, Path::new("bucket/pre"));
    let lengths = disk.list(Path::new("disk/part")).map(|entries| entries[1].length);
    if let Ok(file) = disk.open(Path::new("disk/part/x.bin")) {
        assert_eq!(lengths.ok(), Some(file.len()));
        // Objects are rows again and again; other bytes are in the metadata itself.
        let length = usize::try_from(file.len()).expect("no more than is there");
        assert!(length <= 4 * input.len());
        let mut whole = vec![0; length];
        file.read_exact_at(&mut whole, 0).expect("all of it is there");
        assert!(whole.chunks(4).all(|it| it == b"rows") || length <= input.len());
        assert!(file.read_exact_at(&mut [0], file.len()).is_err());
        for start in [length / 3, length / 2] {
            let mut piece = vec![0; length - start];
            file.read_exact_at(&mut piece, start as u64).expect("its end is there");
            assert_eq!(piece, whole[start..]);
        }
    }
    let _ = disk.read(Path::new("disk/alone/x.bin"), 1 << 20);
    assert!(disk.open(Path::new("disk/../secret")).is_err());
});
