//! Disks in memory: what is read, listed and refused.

use super::*;
use tambour_storage::disk;
use tambour_storage::memory::Memory;

fn text(pieces: &[(u64, &str)]) -> String {
    let total: u64 = pieces.iter().map(|it| it.0).sum();
    let lines: Vec<String> = pieces.iter().map(|(size, key)| format!("{size}\t{key}\n")).collect();
    format!("5\n{}\t{total}\n{}0\n1\n\n", pieces.len(), lines.concat())
}

fn disk_with(files: &[(&str, &str)]) -> Arc<dyn Storage> {
    let memory = Memory::new();
    for (name, contents) in files {
        memory.put(Path::new(name), contents.as_bytes());
    }
    let memory: Arc<dyn Storage> = Arc::new(memory);
    disk_of(&memory, Path::new("disk"), &memory, Path::new("bucket/pre"))
}

fn read(storage: &Arc<dyn Storage>, name: &str) -> Result<Vec<u8>, String> {
    storage.read(Path::new(name), 100).map_err(|error| error.to_string())
}

#[test]
fn files_have_the_bytes_of_their_objects() {
    let one = text(&[(3, "pre/a")]);
    let (two, none) = (text(&[(3, "pre/a"), (0, "pre/none"), (4, "pre/b")]), text(&[]));
    let disk = disk_with(&[
        ("bucket/pre/a", "abc"),
        ("bucket/pre/b", "defg"),
        ("bucket/pre/none", ""),
        ("disk/part/columns.txt", &one),
        ("disk/part/x.bin", &two),
        ("disk/part/y.bin", &none),
        ("disk/part/z.bin", "4\n0\t0\n0\n0\na\\tb\n"),
        ("disk/other/mutation_5.txt", &one),
        ("disk/other/note.txt", "like others"),
    ]);
    let part = "disk/part/x.bin";
    assert_eq!(read(&disk, part).unwrap(), b"abcdefg");
    let file = disk.open(Path::new(part)).unwrap();
    for start in 0..=7_usize {
        for end in start..=7 {
            let mut target = vec![0; end - start];
            file.read_exact_at(&mut target, start as u64).unwrap();
            assert_eq!(target, &b"abcdefg"[start..end]);
        }
    }
    assert_eq!(file.read_exact_at(&mut [0; 2], 6).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    assert_eq!(
        file.read_exact_at(&mut [0; 1], u64::MAX).unwrap_err().kind(),
        ErrorKind::UnexpectedEof
    );
    assert_eq!(read(&disk, "disk/part/y.bin").unwrap(), b"");
    assert_eq!(read(&disk, "disk/part/z.bin").unwrap(), b"a\tb");
    assert_eq!(read(&disk, "disk/other/mutation_5.txt").unwrap(), b"abc");
    assert_eq!(read(&disk, "disk/other/note.txt").unwrap(), b"like others");
    let lengths = disk.list(Path::new("disk/part")).unwrap().into_iter().map(|it| it.length);
    assert_eq!(lengths.collect::<Vec<_>>(), [3, 7, 0, 3]);
    assert!(disk.exists(Path::new("disk/part")).unwrap());
    assert!(disk.create(Path::new("disk/part/new")).is_err());
    assert!(disk.remove_directory(Path::new("disk/part")).is_err());
}

#[test]
fn what_is_wrong_names_the_file_and_the_object() {
    let good = text(&[(3, "pre/a")]);
    let of = |wrong: &str| {
        let disk = disk_with(&[
            ("bucket/pre/a", "abc"),
            ("secret", "abc"),
            ("disk/columns.txt", &good),
            ("disk/x.bin", wrong),
        ]);
        let error = read(&disk, "disk/x.bin").unwrap_err();
        assert!(error.contains("\"disk/x.bin\""), "{error}");
        assert!(error.contains("on an object-store disk"), "{error}");
        error
    };
    assert!(of(&text(&[(3, "pre/b")])).contains("bucket/pre/b does not exist"));
    assert!(of(&text(&[(4, "pre/a")])).contains("bucket/pre/a has 3 bytes, not 4"));
    assert!(of(&text(&[(3, "../secret")])).contains("../secret"));
    assert!(of(&text(&[(3, "/secret")])).contains("/secret"));
    assert!(of("").contains("ends before the version"));
    assert!(of(&good[..good.len() - 3]).contains("ends before"));
    assert!(of(&"5\n".repeat(1 << 20)).contains("more than 1048576"));
}

#[test]
fn a_server_shows_what_all_of_its_disks_have() {
    let server = tempfile::tempdir().unwrap();
    let root = server.path().canonicalize().unwrap();
    let put = |name: &str, contents: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    };
    put("metadata/d/t.sql", "ATTACH");
    put("store/abc/t/all_1_1_0/columns.txt", "columns");
    put("disks/cold/store/abc/t/all_2_2_0/columns.txt", &text(&[(3, "pre/a")]));
    put("disks/hdd/store/abc/t/all_3_3_0/columns.txt", "plain");
    let disks = with_disks(disk(), &root);
    let names = |name: &str| {
        let entries = disks.list(&root.join(name)).unwrap();
        entries.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names("store/abc/t"), ["all_1_1_0", "all_2_2_0", "all_3_3_0"]);
    assert_eq!(names("disks/cold/metadata/d"), ["t.sql"]);
    assert_eq!(names("disks/cold/store/abc/t"), ["all_2_2_0"]);
    let columns =
        |part: &str| disks.read(&root.join("store/abc/t").join(part).join("columns.txt"), 99);
    assert_eq!(columns("all_1_1_0").unwrap(), b"columns");
    assert_eq!(columns("all_3_3_0").unwrap(), b"plain");
    let error = columns("all_2_2_0").unwrap_err().to_string();
    let file = root.join("disks/cold/store/abc/t/all_2_2_0/columns.txt");
    assert!(
        error.contains(&format!("{file:?}")) && error.contains("TAMBOUR_DISK_COLD=s3://"),
        "{error}"
    );
    disks.create(&root.join("store/abc/t/note")).unwrap();
    assert!(disks.create(&root.join("disks/cold/note")).is_err());
    assert!(
        is_on_disk(&root.join("disks/cold"))
            && is_on_disk(&root.join("disks/cold/store/abc/t/all_2_2_0"))
    );
    assert!(!is_on_disk(&root.join("store/abc/t")) && !is_on_disk(&root.join("none")));
    // Without a server around it, a disk is known by its files.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("part");
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(&file, copy.join("columns.txt")).unwrap();
    assert_eq!(with_disks(disk(), &copy).list(&copy).unwrap()[0].length, 3);
    assert!(
        with_disks(disk(), &copy)
            .read(&copy.join("columns.txt"), 9)
            .unwrap_err()
            .to_string()
            .contains("TAMBOUR_DISK=s3")
    );
}
