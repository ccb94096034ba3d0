//! A real process, killed while it writes to a real directory.

use super::{assert_tidy, definition, insert, merge_all, options, read, rows, scratch};
use crate::insert::InsertOptions;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tambour_codec::Kind;
use tambour_storage::disk;

/// Set for the child: the table's directory.
const VARIABLE: &str = "TAMBOUR_TEST_KILL";

const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, id UInt64) ENGINE = MergeTree \
     PARTITION BY toYYYYMM(d) ORDER BY k";

/// Rows of one insert.
const ROWS: u64 = 3000;

fn batches(first: u64) -> Vec<arrow_array::RecordBatch> {
    let definition = definition(STATEMENT);
    let seeds: Vec<(u16, u32)> = (0..100_u32)
        .map(|at| (u16::from(at % 3 == 0) * 31, at.wrapping_mul(2_654_435_761) % 999))
        .collect();
    (0..ROWS / 100).map(|at| rows(&definition, first + 100 * at, &seeds)).collect()
}

/// Appends and merges until it is killed.
#[test]
#[ignore = "a process that the test below starts and kills"]
fn child() {
    let path = std::env::var_os(VARIABLE).expect("the test below sets it");
    let path = Path::new(&path);
    for round in 0.. {
        let options = InsertOptions { memory_bytes: 40_000, threads: 2, ..options() };
        insert(&disk(), path, &definition(STATEMENT), options, &batches(round * ROWS)).unwrap();
        if round % 2 == 1 {
            merge_all(&disk(), path, 1 << 20).unwrap();
        }
    }
}

#[test]
fn killed_writers_leave_whole_inserts() {
    let directory = scratch();
    let path = directory.path().join("t");
    let mut seen_rows = 0;
    // The name of the child as the harness knows it: without the crate.
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = format!("{module}::child");
    for round in 0..40_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &test, "--ignored", "--nocapture"])
            .env(VARIABLE, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // From the first calls to several inserts and merges later, in no order.
        std::thread::sleep(Duration::from_millis(10 + round * 7919 % 691));
        child.kill().unwrap();
        child.wait().unwrap();
        match read(&disk(), &path) {
            Ok(rows) => {
                let rows = rows.len() as u64;
                assert!(
                    rows.is_multiple_of(ROWS) && rows >= seen_rows,
                    "{rows} rows after {seen_rows}"
                );
                seen_rows = rows;
            }
            Err(error) => {
                assert!(seen_rows == 0 && error.kind() == Kind::NotFound, "{error:?}");
            }
        }
    }
    // The next writer is not held up by a lock, and tidies up.
    insert(&disk(), &path, &definition(STATEMENT), options(), &batches(1 << 40)).unwrap();
    assert_eq!(read(&disk(), &path).unwrap().len() as u64, seen_rows + ROWS);
    assert!(seen_rows > 0, "no insert was ever finished");
    assert_tidy(&disk(), &path);
}
