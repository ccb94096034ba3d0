//! Backups in memory: what is found, what is refused, what a check of the whole notices.

use crate::{Backup, BackupError, open};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_kernel::hash::FileHasher;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

const MONDAY: &str = "570972c3-49f6-4947-8d1b-531908fd2820";
const TUESDAY: &str = "37f7769c-285f-4aef-a1e8-03c22e9fd30c";

fn checksum(bytes: &[u8]) -> String {
    let mut hasher = FileHasher::default();
    hasher.update(bytes);
    crate::manifest::shown(hasher.finish())
}

/// The elements of a file that lies in the backup itself, and what is said of it on top.
fn file(name: &str, bytes: &[u8], more: &str) -> String {
    let (size, sum) = (bytes.len(), checksum(bytes));
    let checksum = if size > 0 { format!("<checksum>{sum}</checksum>") } else { String::new() };
    format!("<file><name>{name}</name><size>{size}</size>{checksum}{more}</file>")
}

fn manifest(uuid: &str, head: &str, files: &[String]) -> String {
    let files = files.concat();
    format!(
        "<config><version>1</version><uuid>{uuid}</uuid>{head}<contents>{files}</contents></config>"
    )
}

fn on_tuesday(files: &[String]) -> String {
    let head = format!(
        "<base_backup>File('/old/monday')</base_backup><base_backup_uuid>{MONDAY}</base_backup_uuid>"
    );
    manifest(TUESDAY, &head, files)
}

fn put(memory: &Memory, path: &str, bytes: &[u8]) {
    let mut whole = PathBuf::new();
    for piece in Path::new(path).parent().unwrap() {
        whole.push(piece);
        drop(memory.create_directory(&whole));
    }
    memory.put(Path::new(path), bytes);
}

fn opened(memory: &Memory, path: &str) -> Result<Backup, BackupError> {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    open(&storage, Path::new(path)).map(|backup| backup.expect("it is a backup"))
}

fn read(backup: &Backup, path: &str) -> Vec<u8> {
    backup.storage.read(Path::new(path), 1 << 20).unwrap()
}

/// Monday's backup: one file of its own, one kept under another name, one of no bytes.
fn monday(memory: &Memory, at: &str) {
    put(memory, &format!("{at}/data/a.bin"), b"first rows");
    let files = [
        file("data/a.bin", b"first rows", ""),
        file("data/b &amp; c.bin", b"first rows", "<data_file>data/a.bin</data_file>"),
        file("data/empty", b"", ""),
    ];
    put(memory, &format!("{at}/.backup"), manifest(MONDAY, "", &files).as_bytes());
}

/// Tuesday's: a file of Monday's, one that has grown since, and a new one under its checksum.
fn tuesday() -> (Memory, Vec<String>) {
    let memory = Memory::new();
    monday(&memory, "w/monday");
    let sum = checksum(b"first rows");
    let grown = format!(
        "<use_base>true</use_base><base_size>10</base_size><base_checksum>{sum}</base_checksum>"
    );
    put(&memory, "w/tuesday/data/log", b" and more");
    put(&memory, "w/tuesday/8b9/8f38", b"new");
    let files = vec![
        file("data/old.bin", b"first rows", "<use_base>true</use_base>"),
        file("data/log", b"first rows and more", &grown),
        file("data/new.bin", b"new", "<data_file>8b9/8f38</data_file>"),
    ];
    put(&memory, "w/tuesday/.backup", on_tuesday(&files).as_bytes());
    (memory, files)
}

#[test]
fn files_are_under_their_names() {
    let memory = Memory::new();
    monday(&memory, "w/monday");
    let backup = opened(&memory, "w/monday").unwrap();
    assert!(backup.has_manifest());
    assert_eq!(read(&backup, "w/monday/data/b & c.bin"), b"first rows");
    assert_eq!(read(&backup, "w/monday/data/empty"), b"");
    let names: Vec<_> = backup.storage.list(Path::new("w/monday/data")).unwrap();
    let names: Vec<_> = names.iter().map(|it| (it.name.as_str(), it.length)).collect();
    assert_eq!(names, [("a.bin", 10), ("b & c.bin", 10), ("empty", 0)]);
    assert_eq!(backup.verify(&mut |_| ()).len(), 0);
    assert!(
        backup.storage.open(Path::new("w/monday/.backup")).is_err(),
        "not a file of the backup"
    );
    assert!(backup.storage.create(Path::new("w/monday/x")).is_err());
}

#[test]
fn an_increment_reads_its_base() {
    let (memory, _) = tuesday();
    let check = |memory: &Memory| {
        let backup = opened(memory, "w/tuesday").unwrap();
        assert_eq!(read(&backup, "w/tuesday/data/old.bin"), b"first rows");
        assert_eq!(read(&backup, "w/tuesday/data/log"), b"first rows and more");
        assert_eq!(read(&backup, "w/tuesday/data/new.bin"), b"new");
        let mut bytes = 0;
        assert_eq!(backup.verify(&mut |more| bytes += more).len(), 0);
        assert_eq!(bytes, 10 + 19 + 3);
    };
    check(&memory);
    // The base is known by its UUID, whatever it is called.
    memory.rename(Path::new("w/monday"), Path::new("w/renamed")).unwrap();
    check(&memory);
}

#[test]
fn a_base_that_is_missing_or_another_is_told() {
    for wrong in [false, true] {
        let (memory, _) = tuesday();
        if wrong {
            let text = manifest(TUESDAY, "", &[file("data/a.bin", b"first rows", "")]);
            put(&memory, "w/monday/.backup", text.as_bytes());
        } else {
            memory.remove_directory(Path::new("w/monday")).unwrap();
        }
        let error = opened(&memory, "w/tuesday").unwrap_err();
        assert_eq!(error.kind(), Kind::NotFound, "{error}");
        assert!(error.to_string().contains("File('/old/monday')"), "{error}");
    }
    // A base that is its own increment.
    let (memory, files) = tuesday();
    let head = format!(
        "<base_backup>File('tuesday')</base_backup><base_backup_uuid>{TUESDAY}</base_backup_uuid>"
    );
    put(&memory, "w/tuesday/.backup", manifest(TUESDAY, &head, &files).as_bytes());
    let error = opened(&memory, "w/tuesday").unwrap_err();
    assert!(error.to_string().contains("circle"), "{error}");
}

#[test]
fn a_check_finds_every_flipped_bit_and_every_cut() {
    let (memory, _) = tuesday();
    for (path, damaged) in
        [("monday/data/a.bin", 2), ("tuesday/data/log", 1), ("tuesday/8b9/8f38", 1)]
    {
        let path = format!("w/{path}");
        let bytes = memory.read(Path::new(&path), 100).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            put(&memory, &path, &flipped);
            let damage = opened(&memory, "w/tuesday").unwrap().verify(&mut |_| ());
            assert_eq!(damage.len(), damaged, "{path}, bit {bit}");
            assert!(damage.iter().all(|error| error.kind() == Kind::Corrupt));
        }
        put(&memory, &path, &bytes[1..]);
        let damage = opened(&memory, "w/tuesday").unwrap().verify(&mut |_| ());
        assert_eq!(damage.len(), damaged, "{path}, cut");
        assert!(damage.iter().all(|error| error.kind() == Kind::Corrupt), "{damage:?}");
        put(&memory, &path, &bytes);
    }
    assert_eq!(opened(&memory, "w/tuesday").unwrap().verify(&mut |_| ()).len(), 0);
    // A file of the base that is gone is missed, too.
    memory.remove_file(Path::new("w/monday/data/a.bin")).unwrap();
    let damage = opened(&memory, "w/tuesday").unwrap().verify(&mut |_| ());
    assert_eq!(damage.len(), 2);
}

#[test]
fn manifests_that_cannot_be_are_refused() {
    let good = manifest(MONDAY, "", &[file("data/a.bin", b"first rows", "")]);
    let cases = [
        (good.replace("<version>1", "<version>2"), Kind::Unsupported, "version 2"),
        (
            good.replace("</file>", "<encrypted_by_disk>true</encrypted_by_disk></file>"),
            Kind::Unsupported,
            "encrypted_by_disk",
        ),
        (good.replace("<name>data/a.bin", "<name>../a.bin"), Kind::Corrupt, "outside"),
        (
            good.replace("</size>", "</size><data_file>../../etc/passwd</data_file>"),
            Kind::Corrupt,
            "outside",
        ),
        (good.replace("<size>10", "<size>-1"), Kind::Corrupt, "the size"),
        (good.replace("<checksum>", "<checksum>x"), Kind::Corrupt, "the checksum"),
        (good.replace("</size>", "</size><base_size>11</base_size>"), Kind::Corrupt, "above"),
        (good[..good.len() - 20].to_owned(), Kind::Corrupt, "manifest"),
        (String::new(), Kind::Corrupt, "cut off"),
        (
            good.replace("</contents>", &format!("{}</contents>", file("data/a.bin", b"x", ""))),
            Kind::Corrupt,
            "twice",
        ),
        ("\0\u{1}<<".to_owned(), Kind::Corrupt, "manifest"),
    ];
    for (text, kind, said) in cases {
        let memory = Memory::new();
        put(&memory, "m/.backup", text.as_bytes());
        let error = opened(&memory, "m").unwrap_err();
        assert_eq!(error.kind(), kind, "{text}: {error}");
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
}

/// The files of a directory in memory, packed.
fn tarball(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zipped(files: &[(&str, &[u8])], method: rawzip::CompressionMethod) -> Vec<u8> {
    let mut target = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut target);
    for (name, bytes) in files {
        let (mut entry, config) =
            archive.new_file(name).compression_method(method).start().unwrap();
        let descriptor = if method == rawzip::CompressionMethod::DEFLATE {
            let encoder =
                flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
            let mut writer = config.wrap(encoder);
            writer.write_all(bytes).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(bytes).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    target
}

/// All archives that hold the same files.
fn archives(files: &[(&str, &[u8])]) -> Vec<(&'static str, Vec<u8>)> {
    let tar = tarball(files);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&tar).unwrap();
    let mut zstd = Vec::new();
    let options = tambour_codec::frame::CompressOptions::new(tambour_codec::frame::Format::Zstd);
    tambour_codec::frame::compress(&mut tar.as_slice(), &mut zstd, &options).unwrap();
    vec![
        ("tar.gz", gzip.finish().unwrap()),
        ("tar.zst", zstd),
        ("tar", tar),
        ("stored.zip", zipped(files, rawzip::CompressionMethod::STORE)),
        ("zip", zipped(files, rawzip::CompressionMethod::DEFLATE)),
    ]
}

#[test]
fn archives_are_directories() {
    let long = vec![7; 100_000];
    let text = manifest(MONDAY, "", &[file("data/a.bin", &long, "")]);
    for (kind, bytes) in archives(&[("data/a.bin", &long), (".backup", text.as_bytes())]) {
        let memory = Memory::new();
        put(&memory, "b.archive", &bytes);
        let backup = opened(&memory, "b.archive").unwrap();
        assert_eq!(read(&backup, "b.archive/data/a.bin"), long, "{kind}");
        assert_eq!(backup.verify(&mut |_| ()).len(), 0, "{kind}");
        // Cut anywhere, it is refused or a file is missed; nothing panics and nothing else is read.
        for cut in (0..bytes.len()).step_by(bytes.len() / 50 + 1) {
            put(&memory, "b.archive", &bytes[..cut]);
            let storage: Arc<dyn Storage> = Arc::new(memory.clone());
            if let Ok(Some(backup)) = open(&storage, Path::new("b.archive"))
                && let Ok(content) = backup.storage.read(Path::new("b.archive/data/a.bin"), 1 << 20)
            {
                assert_eq!(content, long, "{kind}, {cut} bytes");
            }
        }
    }
}

#[test]
fn a_zip_that_lies_about_sizes_is_told() {
    let bytes = zipped(&[("a", &[7; 5000])], rawzip::CompressionMethod::DEFLATE);
    let directory = bytes.windows(4).rposition(|it| it == b"PK\x01\x02").unwrap();
    for said in [4999_u32, 5001, 0, u32::MAX - 1] {
        let mut bytes = bytes.clone();
        bytes[directory + 24..directory + 28].copy_from_slice(&said.to_le_bytes());
        let memory = Memory::new();
        put(&memory, "b.zip", &bytes);
        let backup = opened(&memory, "b.zip").unwrap();
        let answer = backup.storage.open(Path::new("b.zip/a")).map(|file| file.len());
        assert!(answer.is_err(), "{said}: {answer:?}");
    }
}

#[test]
fn other_archives_and_other_files_are_known() {
    let memory = Memory::new();
    for (bytes, name) in [(&b"BZh91AY"[..], "bzip2"), (b"\xfd7zXZ\0\0", "xz")] {
        put(&memory, "b", bytes);
        let error = opened(&memory, "b").unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
    }
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    put(&memory, "d/x", b"");
    for plain in ["d", "d/x", "nowhere"] {
        assert!(open(&storage, Path::new(plain)).unwrap().is_none(), "{plain}");
    }
    for name in ["../out", "/etc/passwd", "a//../b"] {
        let mut builder = tarball(&[("12345678901", b"x")]);
        builder[..11].fill(0);
        builder[..name.len()].copy_from_slice(name.as_bytes());
        let sum: u64 = builder[..512]
            .iter()
            .enumerate()
            .map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u64::from(byte) })
            .sum();
        builder[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        put(&memory, "b", &builder);
        let error = opened(&memory, "b").unwrap_err();
        assert!(error.to_string().contains("outside"), "{name}: {error}");
    }
}
