//! What the model promises, and that it behaves like the disk.

use super::*;

fn write(memory: &Memory, path: &str, contents: &[u8], sync: bool) {
    let mut file = memory.create(Path::new(path)).unwrap();
    file.write_all(contents).unwrap();
    if sync {
        file.sync().unwrap();
    }
}

fn contents(memory: &Memory, path: &str) -> Option<Vec<u8>> {
    memory.read(Path::new(path), u64::MAX).ok()
}

#[test]
fn a_name_needs_its_directory_synced_and_contents_need_the_file_synced() {
    let memory = Memory::new();
    memory.create_directory(Path::new("t")).unwrap();
    write(&memory, "t/a", b"aaaa", true);
    write(&memory, "t/b", b"bbbb", false);
    assert_eq!(contents(&memory.crash(Fate::Lost), "t/a"), None);
    assert_eq!(contents(&memory.crash(Fate::Kept), "t/b").unwrap(), b"bbbb");
    memory.sync_directory(Path::new("t")).unwrap();
    assert!(!memory.crash(Fate::Lost).exists(Path::new("t")).unwrap());
    memory.sync_directory(Path::new("")).unwrap();
    let after = memory.crash(Fate::Lost);
    assert_eq!(contents(&after, "t/a").unwrap(), b"aaaa");
    assert_eq!(contents(&after, "t/b").unwrap(), b"");
}

#[test]
fn a_rename_is_atomic_whatever_the_fate() {
    let memory = Memory::new();
    memory.put(Path::new("t/old"), b"1");
    write(&memory, "t/new", b"2", true);
    memory.sync_directory(Path::new("t")).unwrap();
    memory.rename(Path::new("t/new"), Path::new("t/old")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..32 {
        let after = memory.crash(Fate::Drawn(seed));
        seen.insert((contents(&after, "t/old").unwrap(), contents(&after, "t/new")));
    }
    let kept = (b"2".to_vec(), None);
    let lost = (b"1".to_vec(), Some(b"2".to_vec()));
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [lost, kept]);
}

#[test]
fn drawn_fates_keep_what_was_synced() {
    let memory = Memory::new();
    let mut file = memory.create(Path::new("log")).unwrap();
    file.write_all(b"durable").unwrap();
    file.sync().unwrap();
    file.write_all(b" and not").unwrap();
    memory.sync_directory(Path::new("/")).unwrap();
    for seed in 0..100 {
        let after = contents(&memory.crash(Fate::Drawn(seed)), "log").unwrap();
        assert!(after.starts_with(b"durable") && after.len() <= 15);
    }
}

#[test]
fn errors_come_at_the_call_that_was_asked_for() {
    let memory = Memory::new();
    memory.fail_at(Calls::Writes, 1, ENOSPC);
    let mut file = memory.create(Path::new("a")).unwrap();
    let error = file.write_all(b"12345678").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(contents(&memory, "a").unwrap(), b"1234");
    file.write_all(b"x").unwrap();
    memory.fail_from(Calls::Reads, 0, EIO);
    assert!(memory.open(Path::new("a")).is_err() && memory.list(Path::new("")).is_err());
    memory.heal();
    assert_eq!(contents(&memory, "a").unwrap(), b"1234x");
}

#[test]
fn it_behaves_like_a_disk() {
    let memory = Memory::new();
    memory.put(Path::new("/t/p/a"), b"1");
    memory.put(Path::new("/t/p/b"), b"22");
    let path = Path::new("/t/p");
    let names: Vec<_> = memory.list(path).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(memory.create_directory(path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    memory.rename(path, Path::new("/t/q")).unwrap();
    assert!(!memory.exists(path).unwrap());
    memory.remove_directory(Path::new("/t/q")).unwrap();
    assert!(memory.list(Path::new("/t")).unwrap().is_empty());
    assert_eq!(memory.open(path).unwrap_err().kind(), io::ErrorKind::NotFound);
}
