//! Statements on file systems that are nearly full: `cargo xtask filesystems` runs this on images of ext4, xfs and btrfs, and on a
//! small tmpfs.

use crate::support::{Run, Sandbox};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Names an empty directory on a small file system.
const DIRECTORY: &str = "TAMBOUR_TABLES_DIRECTORY";

const STATEMENTS: [&str; 10] = [
    "INSERT INTO t (b, k, v, s) SELECT 9 AS b, k, v, s FROM t",
    "ALTER TABLE t UPDATE v = v * 31 + 7 WHERE k % 2 = 0",
    "ALTER TABLE t DELETE WHERE k % 3 = 0",
    "DELETE FROM t WHERE k % 7 = 1",
    "OPTIMIZE TABLE t FINAL",
    "ALTER TABLE t MODIFY COLUMN v String",
    "ALTER TABLE t ADD COLUMN c UInt64 DEFAULT b * 3",
    "ALTER TABLE t CLEAR COLUMN s",
    "ALTER TABLE t DETACH PARTITION ALL",
    "TRUNCATE TABLE t",
];
const ROWS: &str = "SELECT count(), sum(k), groupBitXor(cityHash64(b)), \
    groupBitXor(cityHash64(toString(v))), groupBitXor(cityHash64(s)) FROM t";
const KIB: u64 = 1024;
/// What is left free, in KiB: from nothing to more than any of these statements writes.
const FREE: [u64; 19] =
    [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 384, 512, 1024, 1536, 2048, 4096, 16384];

/// A file that leaves this many bytes of the file system free.
fn ballast(path: &Path, free: u64) {
    let mut file = File::create(path).unwrap();
    let zeros = vec![0; 64 << 10];
    let mut length = 0;
    for piece in [zeros.len(), 512] {
        while file.write_all(&zeros[..piece]).and_then(|()| file.sync_data()).is_ok() {
            length += piece as u64;
        }
    }
    file.set_len(length.saturating_sub(free)).unwrap();
    file.sync_all().unwrap();
}

struct Table {
    sandbox: Sandbox,
    path: String,
}

impl Table {
    fn new(directory: &Path) -> Self {
        let sandbox = Sandbox::new();
        let path = directory.join("t").to_str().unwrap().to_owned();
        let _ = std::fs::remove_dir_all(&path);
        let create = "CREATE TABLE t (b UInt64, k UInt64, v UInt64, s String) ENGINE = MergeTree ORDER BY (b, k)";
        sandbox.file("none.csv", "b,k,v,s\n");
        sandbox.run(&["import", "none.csv", "--into", &path, "--create", create]).expect(0);
        let table = Self { sandbox, path };
        for part in 0..3 {
            let rows = format!(
                "SELECT {part} AS b, number AS k, cityHash64(number) AS v, hex(MD5(toString(number))) AS s FROM numbers(8000)"
            );
            table.run(&format!("INSERT INTO t (b, k, v, s) {rows}")).expect(0);
        }
        table
    }

    fn run(&self, statement: &str) -> Run {
        self.sandbox.run(&["sql", &self.path, "--write", "--yes", "--format", "tsv", statement])
    }

    fn rows(&self) -> String {
        self.sandbox.run(&["sql", &self.path, "--format", "tsv", ROWS]).expect(0).stdout
    }
}

#[test]
#[ignore = "fills a file system; cargo xtask filesystems gives it small ones"]
fn a_full_disk_leaves_the_table_as_it_was() {
    let directory = std::env::var_os(DIRECTORY).expect("TAMBOUR_TABLES_DIRECTORY is set");
    let directory = Path::new(&directory);
    let filler = directory.join("ballast");
    let mut refused = 0;
    for statement in STATEMENTS {
        let table = Table::new(directory);
        let before = table.rows();
        let succeeded = FREE.iter().any(|free| {
            ballast(&filler, free * KIB);
            let run = table.run(statement);
            std::fs::remove_file(&filler).unwrap();
            table.sandbox.run(&["verify", &table.path]).expect(0);
            if run.code == Some(0) {
                return true;
            }
            refused += 1;
            assert!(run.stderr.contains("No space left on device"), "{statement}: {}", run.stderr);
            assert_eq!(table.rows(), before, "{statement} with {free} KiB left");
            false
        });
        assert!(succeeded, "{statement} needs more than {FREE:?} KiB");
        for entry in std::fs::read_dir(&table.path).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with("tmp_"), "{statement} left {name}");
        }
    }
    println!("{refused} statements were refused");
    assert!(refused >= STATEMENTS.len(), "the disk was hardly ever full");
}
