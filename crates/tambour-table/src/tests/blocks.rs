//! The cache of decoded blocks: the same rows with it and without, for small reads only.

use super::{STATEMENT, definition, insert, options, rows};
use crate::Table;
use arrow_array::RecordBatch;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::ReadRequest;
use tambour_part::types::Strings;
use tambour_part::{BlockCache, Part};
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

fn table(storage: &Arc<dyn Storage>) -> Table {
    let definition = definition(STATEMENT);
    let seeds: Vec<(u16, u32)> = (0..600).map(|at| (0, at * 7 % 500)).collect();
    insert(storage, Path::new("t"), &definition, options(), &[rows(&definition, 0, &seeds)])
        .unwrap();
    Table::open_on(storage, Path::new("t")).unwrap()
}

/// Some granules of all columns.
fn read(part: &Arc<Part>, granules: std::ops::Range<usize>) -> Vec<RecordBatch> {
    let columns = (0..part.columns().len()).collect();
    let granules = vec![granules];
    let request = ReadRequest { columns, granules, batch_rows: 50, strings: Strings::Utf8 };
    part.read(request).unwrap().map(Result::unwrap).collect()
}

#[test]
fn small_reads_find_their_blocks_again() {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let (plain, cached) = (table(&storage), Table::open_on(&storage, Path::new("t")).unwrap());
    let cache = BlockCache::new(8 << 20);
    cached.cache_blocks(&cache);
    let (plain, part) = (&plain.parts()[0], &cached.parts()[0]);
    let granules = part.granules().len();
    assert!(granules > 20);
    for first in [0, 5, granules - 2] {
        let expected = read(plain, first..first + 2);
        assert_eq!(read(part, first..first + 2), expected);
        let before = cache.counts();
        assert_eq!(read(part, first..first + 2), expected);
        let after = cache.counts();
        assert_eq!(after.misses, before.misses, "all blocks were there");
        assert!(after.hits > before.hits);
    }
    // Of several rows apart, each in the other's blocks, in any order.
    for first in (0..granules - 3).rev() {
        assert_eq!(read(part, first..first + 3), read(plain, first..first + 3));
    }
    let before = cache.counts();
    assert_eq!(read(part, 0..granules), read(plain, 0..granules));
    assert_eq!(cache.counts(), before, "scans leave it alone");
}

#[test]
fn blocks_outlive_the_table_that_read_them_and_no_budget_keeps_none() {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let first = table(&storage);
    let cache = BlockCache::new(8 << 20);
    first.cache_blocks(&cache);
    let expected = read(&first.parts()[0], 3..4);
    drop(first);
    let again = Table::open_on(&storage, Path::new("t")).unwrap();
    again.cache_blocks(&cache);
    let before = cache.counts();
    assert_eq!(read(&again.parts()[0], 3..4), expected);
    assert_eq!(cache.counts().misses, before.misses);

    let none = BlockCache::new(0);
    let other = Table::open_on(&storage, Path::new("t")).unwrap();
    other.cache_blocks(&none);
    for _ in 0..2 {
        assert_eq!(read(&other.parts()[0], 3..4), expected);
    }
    assert_eq!((none.counts().hits, none.bytes()), (0, 0));
}

#[test]
fn what_is_damaged_does_not_come_into_it() {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    drop(table(&storage));
    let path = Table::open_on(&storage, Path::new("t")).unwrap().parts()[0].path().join("id.bin");
    let file = memory.open(&path).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len()).unwrap()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes[30] ^= 1;
    memory.put(&path, &bytes);
    let table = Table::open_on(&storage, Path::new("t")).unwrap();
    let cache = BlockCache::new(8 << 20);
    table.cache_blocks(&cache);
    let part = &table.parts()[0];
    let id = part.columns().iter().position(|column| column.name == "id").unwrap();
    for _ in 0..2 {
        let request = ReadRequest {
            columns: vec![id],
            granules: std::iter::once(0..1).collect(),
            batch_rows: 50,
            strings: Strings::Utf8,
        };
        assert!(part.read(request).unwrap().next().unwrap().is_err());
    }
    assert_eq!(cache.counts().hits, 0);
}
