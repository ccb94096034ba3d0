//! RocksDB: blocks of 4 KiB by zstd with a dictionary, a bloom filter, and a cache of blocks as large as what the record
//! store holds in memory.

use super::contender::{Looks, Visit};
use super::{DICTIONARY_BYTES, LEVEL, Maker};
use crate::BenchError;
use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, WriteBatch};
use std::path::Path;

const NAME: &str = "RocksDB, 4 KiB + dictionary, bloom";
const MANY: usize = 32;

/// A RocksDB with all records in one compacted level.
pub(super) struct Rocks {
    db: DB,
    stored_bytes: u64,
}

fn failed(error: rocksdb::Error) -> BenchError {
    BenchError::Library { contender: NAME.to_owned(), reason: error.into_string() }
}

impl Rocks {
    /// The records; their number, and the bytes of the cache.
    pub(super) fn new(
        path: &Path,
        maker: Maker,
        (records, memory): (u64, u64),
    ) -> Result<Self, BenchError> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_size(4096);
        blocks.set_bloom_filter(10.0, false);
        blocks
            .set_block_cache(&Cache::new_lru_cache(usize::try_from(memory).unwrap_or(usize::MAX)));
        let dictionary = i32::try_from(DICTIONARY_BYTES).unwrap_or(i32::MAX);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::Zstd);
        options.set_compression_options(-14, LEVEL, 0, dictionary);
        options.set_bottommost_compression_type(DBCompressionType::Zstd);
        options.set_bottommost_compression_options(-14, LEVEL, 0, dictionary, true);
        options.set_zstd_max_train_bytes(100 * dictionary);
        options.set_allow_mmap_reads(true);
        let db = DB::open(&options, path).map_err(failed)?;
        let mut batch = WriteBatch::default();
        let (mut key, mut record) = (String::new(), String::new());
        for number in 0..records {
            maker.key(number, &mut key);
            maker.record(number, &mut record);
            batch.put(&key, &record);
            if batch.len() >= 1000 {
                db.write(std::mem::take(&mut batch)).map_err(failed)?;
            }
        }
        db.write(batch).map_err(failed)?;
        db.flush().map_err(failed)?;
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let files = db.live_files().map_err(failed)?;
        let stored_bytes = files.iter().map(|file| file.size as u64).sum();
        Ok(Self { db, stored_bytes })
    }
}

impl Looks for Rocks {
    fn name(&self) -> &'static str {
        NAME
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    fn single(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        for (k, key) in keys.iter().enumerate() {
            let found = self.db.get_pinned(key).map_err(failed)?;
            visit(k, found.as_deref());
        }
        Ok(())
    }

    fn has_many(&self) -> bool {
        true
    }

    fn many(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        for (number, some) in keys.chunks(MANY).enumerate() {
            for (k, found) in self.db.multi_get(some).into_iter().enumerate() {
                visit(number * MANY + k, found.map_err(failed)?.as_deref());
            }
        }
        Ok(())
    }
}
