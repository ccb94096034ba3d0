//! Readers beside writers, on a disk: who has a table open reads all of it, whatever is merged, appended or recompressed
//! meanwhile, and nothing is left in the end.

use super::{
    STATEMENT, assert_tidy, definition, insert, merge_all, options, read_part, rows, scratch,
};
use crate::Table;
use crate::recompress::recompress;
use crate::schema::TableDefinition;
use crate::verify::verify;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tambour_storage::{Storage, disk};

const ROWS: u64 = 60;

fn append(storage: &Arc<dyn Storage>, path: &Path, definition: &TableDefinition, round: u64) {
    let seed = |at: u64| {
        let at = u32::try_from(at + round).unwrap();
        (u16::try_from(at % 3 * 30).unwrap(), at * 7 % 50)
    };
    let seeds: Vec<(u16, u32)> = (0..ROWS).map(seed).collect();
    let batch = rows(definition, round * ROWS, &seeds);
    insert(storage, path, definition, options(), &[batch]).unwrap();
}

/// Reads a table to its end, slowly.
fn read_all(table: &Table) -> u64 {
    let parts = 0..table.parts().len();
    let rows = |part| {
        std::thread::yield_now();
        read_part(table, part).iter().map(|batch| batch.num_rows() as u64).sum::<u64>()
    };
    parts.map(rows).sum()
}

/// Writes with many files; each round removes parts that somebody has open.
fn write_rounds(storage: &Arc<dyn Storage>, path: &Path, rounds: u64) {
    let definition = definition(STATEMENT);
    for round in 1..=rounds {
        append(storage, path, &definition, round);
        if round % 3 == 0 {
            merge_all(storage, path, 1 << 20).unwrap();
        }
        if round % 5 == 0 {
            let codec = if round % 2 == 0 { "LZ4" } else { "ZSTD(1)" };
            recompress(storage, path, &|_| codec.parse().ok(), &mut |_| {}).unwrap();
        }
    }
}

#[test]
fn queries_beside_writers_read_all_rows_and_removal_waits() {
    let directory = scratch();
    let path = directory.path().join("t");
    let storage = disk();
    append(&storage, &path, &definition(STATEMENT), 0);
    let (is_over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut before = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let table = Table::open_on(&storage, &path).unwrap();
                    assert_eq!(read_all(&table), table.rows());
                    assert!(table.rows() >= before && table.rows().is_multiple_of(ROWS));
                    before = table.rows();
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let old = Table::open_on(&storage, &path).unwrap();
        write_rounds(&storage, &path, 12);
        assert_eq!(read_all(&old), ROWS, "the oldest snapshot is whole");
        drop(old);
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 3);
    write_rounds(&storage, &path, 3);
    assert_tidy(&storage, &path);
}

#[test]
fn verification_beside_writers_finds_nothing() {
    let directory = scratch();
    let path = directory.path().join("t");
    let storage = disk();
    append(&storage, &path, &definition(STATEMENT), 0);
    let (is_over, times) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let seen = verify(&storage, &path, &mut |_| {}).unwrap();
                    assert!(seen.damage.is_empty(), "{:?}", seen.damage);
                    assert!(seen.rows >= ROWS, "{} rows", seen.rows);
                    times.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        write_rounds(&storage, &path, 24);
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(times.load(Ordering::Relaxed) > 3);
}

#[test]
fn a_reader_of_very_many_parts_holds_all_of_them() {
    let directory = scratch();
    let path = directory.path().join("t");
    let (storage, definition) = (disk(), definition(STATEMENT));
    for round in 0..25 {
        append(&storage, &path, &definition, round);
    }
    let old = Table::open_on(&storage, &path).unwrap();
    assert!(old.parts().len() > 64, "{}", old.parts().len());
    merge_all(&storage, &path, 1 << 20).unwrap();
    assert_eq!(read_all(&old), 25 * ROWS);
    drop(old);
    write_rounds(&storage, &path, 1);
    assert_tidy(&storage, &path);
}
