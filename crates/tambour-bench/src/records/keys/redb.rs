//! redb: a B-tree of pages, with values that are compressed before.

use super::Maker;
use super::contender::{Looks, Values, Visit};
use crate::BenchError;
use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::path::Path;

const NAME: &str = "redb, values by zstd + dictionary";
const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

/// A redb with all records, and a table of it that is open for reading.
pub(super) struct Redb {
    _database: Database,
    table: ReadOnlyTable<&'static [u8], &'static [u8]>,
    values: Values,
    stored_bytes: u64,
}

fn failed(error: impl Into<redb::Error>) -> BenchError {
    BenchError::Library { contender: NAME.to_owned(), reason: error.into().to_string() }
}

impl Redb {
    /// The records, put in the order of their keys and compacted; their number, and the bytes of the cache.
    pub(super) fn new(
        path: &Path,
        maker: Maker,
        (records, memory): (u64, u64),
        dictionary: &[u8],
    ) -> Result<Self, BenchError> {
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let mut database =
            Database::builder().set_cache_size(memory).create(path).map_err(failed)?;
        let mut order: Vec<(String, u64)> = Vec::new();
        for number in 0..records {
            let mut key = String::new();
            maker.key(number, &mut key);
            order.push((key, number));
        }
        order.sort_unstable();
        let mut encode = Values::encoder(NAME, dictionary);
        let (mut record, mut frame) = (String::new(), Vec::new());
        let transaction = database.begin_write().map_err(failed)?;
        {
            let mut table = transaction.open_table(TABLE).map_err(failed)?;
            for (key, number) in &order {
                maker.record(*number, &mut record);
                encode(record.as_bytes(), &mut frame)?;
                table.insert(key.as_bytes(), frame.as_slice()).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
        drop(order);
        database.compact().map_err(failed)?;
        let length = std::fs::metadata(path);
        let length = length.map_err(|source| BenchError::Io { path: path.to_owned(), source })?;
        let table = database.begin_read().map_err(failed)?.open_table(TABLE).map_err(failed)?;
        let values = Values::new(dictionary);
        Ok(Self { _database: database, table, values, stored_bytes: length.len() })
    }
}

impl Looks for Redb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    fn single(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        for (k, key) in keys.iter().enumerate() {
            match self.table.get(*key).map_err(failed)? {
                Some(found) => visit(k, Some(self.values.decode(NAME, found.value())?)),
                None => visit(k, None),
            }
        }
        Ok(())
    }
}
