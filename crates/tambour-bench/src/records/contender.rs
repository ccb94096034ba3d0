//! Who reads records: libzstd with a frame per record, with and without a dictionary, and the record store.

use crate::BenchError;
use crate::measure::{seconds, timed};
use std::path::Path;
use std::sync::Arc;
use tambour_record::{
    Batch, Group, Reader, RecordStore, SealOptions, Settings, Storage, ViewOptions,
};
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Level of libzstd, and bytes of its dictionary: what the blog measured.
const BLOG_LEVEL: i32 = 1;
const BLOG_DICTIONARY_BYTES: usize = 112 << 10;
/// How far ahead the contenders' own loops fetch.
const AHEAD: usize = 8;

/// Something that reads records by id.
pub(super) trait Reads {
    /// Its name.
    fn name(&self) -> &str;
    /// Bytes that it keeps for all records, with all it needs to find and decode them.
    fn stored_bytes(&self) -> u64;
    /// Bytes per second of encoding, raw.
    fn write_rate(&self) -> f64;
    /// Reads one by one; `visit` gets the place in `ids` and the record.
    fn get(&mut self, ids: &[u64], visit: &mut dyn FnMut(usize, &[u8])) -> Result<(), BenchError>;
    /// Reads with whatever it has for many.
    fn get_many(
        &mut self,
        ids: &[u64],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), BenchError>;
}

/// Every record a frame in memory, side by side.
pub(super) struct Frames {
    name: &'static str,
    bytes: Vec<u8>,
    ends: Vec<u64>,
    dictionary: Option<DDict<'static>>,
    dictionary_bytes: usize,
    context: DCtx<'static>,
    target: Vec<u8>,
    write_rate: f64,
}

impl Frames {
    /// The frames of all records; with the dictionary trained from a sample of them, or without one.
    pub(super) fn new(records: &Batch, with_dictionary: bool) -> Result<Self, BenchError> {
        let name =
            if with_dictionary { "zstd-1 + dictionary (B)" } else { "zstd-1, no dictionary" };
        let failed = |code: usize| BenchError::Library {
            contender: name.to_owned(),
            reason: zstd_safe::get_error_name(code).to_owned(),
        };
        let dictionary = if with_dictionary { sample_dictionary(records) } else { Vec::new() };
        let encoder = (!dictionary.is_empty()).then(|| CDict::create(&dictionary, BLOG_LEVEL));
        let mut context = CCtx::create();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let mut frame = Vec::with_capacity(1 << 20);
        let seconds = seconds(|| {
            for record in records.iter() {
                frame.clear();
                frame.reserve(zstd_safe::compress_bound(record.len()));
                match &encoder {
                    Some(encoder) => context.compress_using_cdict(&mut frame, record, encoder),
                    None => context.compress(&mut frame, record, BLOG_LEVEL),
                }
                .map_err(failed)?;
                bytes.extend_from_slice(&frame);
                ends.push(bytes.len() as u64);
            }
            Ok(())
        })?;
        let write_rate = records.bytes().len() as f64 / seconds.max(1e-9);
        let longest = records.lengths().max().unwrap_or(0);
        Ok(Self {
            name,
            bytes,
            ends,
            dictionary: (!dictionary.is_empty()).then(|| DDict::create(&dictionary)),
            dictionary_bytes: dictionary.len(),
            context: DCtx::create(),
            target: Vec::with_capacity(longest),
            write_rate,
        })
    }

    fn start(&self, record: usize) -> usize {
        let end = record.checked_sub(1).and_then(|before| self.ends.get(before));
        end.map_or(0, |end| usize::try_from(*end).unwrap_or(0))
    }

    fn read(&mut self, id: u64) -> Result<(), BenchError> {
        let record = usize::try_from(id).unwrap_or(usize::MAX);
        let (start, end) = (self.start(record), self.start(record + 1));
        self.target.clear();
        let frame = &self.bytes[start..end];
        match &self.dictionary {
            Some(dictionary) => {
                self.context.decompress_using_ddict(&mut self.target, frame, dictionary)
            }
            None => self.context.decompress(&mut self.target, frame),
        }
        .map(|_| ())
        .map_err(|code| BenchError::Library {
            contender: self.name.to_owned(),
            reason: zstd_safe::get_error_name(code).to_owned(),
        })
    }
}

/// A dictionary from a sample spread over all records.
fn sample_dictionary(records: &Batch) -> Vec<u8> {
    let every = (records.bytes().len() / (100 * BLOG_DICTIONARY_BYTES)).max(1);
    let (mut sample, mut lengths) = (Vec::new(), Vec::new());
    for record in records.iter().step_by(every) {
        sample.extend_from_slice(record);
        lengths.push(record.len());
    }
    let mut dictionary = Vec::with_capacity(BLOG_DICTIONARY_BYTES);
    match zstd_safe::train_from_buffer(&mut dictionary, &sample, &lengths) {
        Ok(_) => dictionary,
        Err(_) => Vec::new(),
    }
}

impl Reads for Frames {
    fn name(&self) -> &str {
        self.name
    }

    fn stored_bytes(&self) -> u64 {
        // Two bytes are enough to find a record.
        (self.bytes.len() + self.dictionary_bytes + 2 * self.ends.len()) as u64
    }

    fn write_rate(&self) -> f64 {
        self.write_rate
    }

    fn get(&mut self, ids: &[u64], visit: &mut dyn FnMut(usize, &[u8])) -> Result<(), BenchError> {
        for (k, id) in ids.iter().enumerate() {
            self.read(*id)?;
            visit(k, &self.target);
        }
        Ok(())
    }

    fn get_many(
        &mut self,
        ids: &[u64],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), BenchError> {
        for (k, id) in ids.iter().enumerate() {
            if let Some(ahead) = ids.get(k + AHEAD) {
                let record = usize::try_from(*ahead).unwrap_or(usize::MAX);
                let (start, end) = (self.start(record), self.start(record + 1));
                tambour_kernel::prefetch(&self.bytes, start);
                tambour_kernel::prefetch(&self.bytes, (start + 64).min(end - 1));
            }
            self.read(*id)?;
            visit(k, &self.target);
        }
        Ok(())
    }
}

/// The record store, sealed, in memory.
pub(super) struct Store {
    name: String,
    reader: Reader,
    stored_bytes: u64,
    write_rate: f64,
}

impl Store {
    /// A sealed store of all records in `directory`, which is made.
    pub(super) fn new(
        storage: &Arc<dyn Storage>,
        directory: &Path,
        records: &Batch,
        group: Group,
    ) -> Result<Self, BenchError> {
        let store = RecordStore::create(storage, directory, &Settings::default())?;
        let writer = store.writer("default")?;
        let mut batch = Batch::default();
        let options = SealOptions { group, ..SealOptions::default() };
        for record in records.iter() {
            batch.push(record, None);
            if batch.bytes().len() >= 1 << 20 {
                writer.append_batch(&batch)?;
                batch.clear();
            }
        }
        writer.append_batch(&batch)?;
        let (sealed, seconds) = timed(|| writer.seal(&options, true));
        let group_size = sealed?.last().map_or(0, |sealed| sealed.group);
        drop(writer);
        let view = Arc::new(store.view("default", &ViewOptions { memory_bytes: 1 << 32 })?);
        let stored_bytes = view.stat().file_bytes();
        let name =
            if group_size == 1 { "records".to_owned() } else { format!("records x{group_size}") };
        let write_rate = records.bytes().len() as f64 / seconds.max(1e-9);
        Ok(Self { name, reader: view.reader(), stored_bytes, write_rate })
    }
}

impl Reads for Store {
    fn name(&self) -> &str {
        &self.name
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    fn write_rate(&self) -> f64 {
        self.write_rate
    }

    fn get(&mut self, ids: &[u64], visit: &mut dyn FnMut(usize, &[u8])) -> Result<(), BenchError> {
        for (k, id) in ids.iter().enumerate() {
            visit(k, self.reader.get(*id)?);
        }
        Ok(())
    }

    fn get_many(
        &mut self,
        ids: &[u64],
        visit: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), BenchError> {
        Ok(self.reader.get_many(ids, |k, record| visit(k, record))?)
    }
}
