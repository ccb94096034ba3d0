//! RocksDB: blocks of 4 KiB with a dictionary of 64 KiB, no cache of decompressed blocks.
//!
//! It does more than a log: keys in any order, updates, deletes, snapshots. Only reads by id are compared.

use super::contender::Reads;
use crate::BenchError;
use rocksdb::{BlockBasedOptions, DB, DBCompressionType, Options, WriteBatch};
use std::path::{Path, PathBuf};
use tambour_record::Batch;
use tambour_report::clock::process_seconds;

/// A RocksDB with records under their ids.
pub(super) struct Rocks {
    db: DB,
    path: PathBuf,
    stored_bytes: u64,
    write_rate: f64,
}

fn failed(error: rocksdb::Error) -> BenchError {
    BenchError::Library { contender: "RocksDB".to_owned(), reason: error.into_string() }
}

impl Rocks {
    /// The records in one compacted level. Flush and compaction work in threads of their own, so that the rate of writing
    /// counts all threads; compaction stands for sealing.
    pub(super) fn new(path: &Path, records: &Batch) -> Result<Self, BenchError> {
        let mut blocks = BlockBasedOptions::default();
        blocks.set_block_size(4096);
        blocks.disable_cache();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&blocks);
        options.set_compression_type(DBCompressionType::Zstd);
        options.set_compression_options(-14, 1, 0, 64 << 10);
        options.set_bottommost_compression_type(DBCompressionType::Zstd);
        options.set_bottommost_compression_options(-14, 1, 0, 64 << 10, true);
        options.set_zstd_max_train_bytes(100 * (64 << 10));
        options.set_allow_mmap_reads(true);
        let db = DB::open(&options, path).map_err(failed)?;
        let before = process_seconds();
        let mut batch = WriteBatch::default();
        for (id, record) in records.iter().enumerate() {
            batch.put((id as u64).to_be_bytes(), record);
            if batch.len() >= 100 {
                db.write(std::mem::take(&mut batch)).map_err(failed)?;
            }
        }
        db.write(batch).map_err(failed)?;
        db.flush().map_err(failed)?;
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let write_rate = records.bytes().len() as f64 / (process_seconds() - before).max(1e-9);
        let files = db.live_files().map_err(failed)?;
        let stored_bytes = files.iter().map(|file| file.size as u64).sum();
        Ok(Self { db, path: path.to_owned(), stored_bytes, write_rate })
    }
}

impl Reads for Rocks {
    fn name(&self) -> &'static str {
        "RocksDB, 4 KiB + dictionary"
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    fn write_rate(&self) -> f64 {
        self.write_rate
    }

    fn get(&mut self, ids: &[u64], visit: &mut dyn FnMut(usize, &[u8])) -> Result<(), BenchError> {
        for (k, id) in ids.iter().enumerate() {
            let record = self.db.get_pinned(id.to_be_bytes()).map_err(failed)?;
            let missing = || BenchError::NoInput { what: self.path.display().to_string() };
            visit(k, &record.ok_or_else(missing)?);
        }
        Ok(())
    }

    fn get_many(
        &mut self,
        ids: &[u64],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), BenchError> {
        for (number, some) in ids.chunks(32).enumerate() {
            let records = self.db.multi_get(some.iter().map(|id| id.to_be_bytes()));
            for (k, record) in records.into_iter().enumerate() {
                let missing = || BenchError::NoInput { what: self.path.display().to_string() };
                visit(number * 32 + k, &record.map_err(failed)?.ok_or_else(missing)?);
            }
        }
        Ok(())
    }
}
