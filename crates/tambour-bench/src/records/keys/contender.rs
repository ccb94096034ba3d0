//! Who finds records by key: the record store, and, as a bound from above, a map in memory of frames of libzstd.

use super::{LEVEL, Maker};
use crate::BenchError;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tambour_record::{Batch, Reader, RecordStore, SealOptions, Settings, ViewOptions, disk};
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Longest record.
const RECORD_BYTES_MAX: usize = 1 << 10;

/// Gets the place of a key in a list, and its record if there is one.
pub(super) type Visit<'a> = &'a mut dyn FnMut(usize, Option<&[u8]>);

/// Something that finds records by key.
pub(super) trait Looks {
    /// Its name.
    fn name(&self) -> &str;
    /// Bytes that it keeps, with all that it needs to find a record.
    fn stored_bytes(&self) -> u64;
    /// Finds them one by one.
    fn single(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError>;
    /// Whether it has a call for many.
    fn has_many(&self) -> bool {
        false
    }
    /// Finds them by a call for many; one by one where there is none.
    fn many(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        self.single(keys, visit)
    }
}

/// The error of a call of libzstd's.
pub(super) fn zstd_failed(contender: &str, code: usize) -> BenchError {
    let reason = zstd_safe::get_error_name(code).to_owned();
    BenchError::Library { contender: contender.to_owned(), reason }
}

/// The record store, sealed, in memory.
pub(super) struct Store {
    reader: Reader,
    stored_bytes: u64,
}

impl Store {
    /// A sealed store of all records in `directory`, which is made; and the bytes of the records.
    pub(super) fn new(
        directory: &Path,
        maker: Maker,
        records: u64,
    ) -> Result<(Self, u64), BenchError> {
        let store = RecordStore::create(&disk(), directory, &Settings::default())?;
        let writer = store.writer("default")?;
        let (mut batch, mut raw_bytes) = (Batch::default(), 0);
        let (mut key, mut record) = (String::new(), String::new());
        for number in 0..records {
            maker.key(number, &mut key);
            maker.record(number, &mut record);
            batch.push_keyed(key.as_bytes(), record.as_bytes(), None)?;
            raw_bytes += record.len() as u64;
            if batch.bytes().len() >= 1 << 20 {
                writer.append_batch(&batch)?;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            writer.append_batch(&batch)?;
        }
        writer.seal(&SealOptions::default(), true)?;
        drop(writer);
        let view = Arc::new(store.view("default", &ViewOptions { memory_bytes: 1 << 33 })?);
        let stored_bytes = view.stat().file_bytes();
        Ok((Self { reader: view.reader(), stored_bytes }, raw_bytes))
    }
}

impl Looks for Store {
    fn name(&self) -> &'static str {
        "records"
    }

    fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    fn single(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        for (k, key) in keys.iter().enumerate() {
            visit(k, self.reader.get_by_key(key)?);
        }
        Ok(())
    }

    fn has_many(&self) -> bool {
        true
    }

    fn many(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        Ok(self.reader.get_many_by_key(keys, visit)?)
    }
}

/// Values compressed by libzstd with a dictionary, for contenders that do not compress by themselves.
pub(super) struct Values {
    context: DCtx<'static>,
    dictionary: DDict<'static>,
    target: Vec<u8>,
}

impl Values {
    pub(super) fn new(dictionary: &[u8]) -> Self {
        let target = Vec::with_capacity(RECORD_BYTES_MAX);
        Self { context: DCtx::create(), dictionary: DDict::create(dictionary), target }
    }

    /// Something that compresses one value after another.
    pub(super) fn encoder(
        contender: &'static str,
        dictionary: &[u8],
    ) -> impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), BenchError> {
        let dictionary = CDict::create(dictionary, LEVEL);
        let mut context = CCtx::create();
        move |value, frame| {
            frame.clear();
            frame.reserve(zstd_safe::compress_bound(value.len()));
            let written = context.compress_using_cdict(frame, value, &dictionary);
            written.map(|_| ()).map_err(|code| zstd_failed(contender, code))
        }
    }

    pub(super) fn decode(&mut self, contender: &str, frame: &[u8]) -> Result<&[u8], BenchError> {
        self.target.clear();
        let decoded =
            self.context.decompress_using_ddict(&mut self.target, frame, &self.dictionary);
        decoded.map_err(|code| zstd_failed(contender, code))?;
        Ok(&self.target)
    }
}

/// A hash map from keys to frames in memory: nothing that is durable can be as fast with the same codec.
pub(super) struct Frames {
    places: HashMap<[u8; 20], (u64, u32)>,
    bytes: Vec<u8>,
    values: Values,
}

const FRAMES: &str = "zstd frames in a HashMap, not durable";

impl Frames {
    pub(super) fn new(maker: Maker, records: u64, dictionary: &[u8]) -> Result<Self, BenchError> {
        let mut encode = Values::encoder(FRAMES, dictionary);
        let (mut places, mut bytes) = (HashMap::new(), Vec::new());
        let (mut key, mut record, mut frame) = (String::new(), String::new(), Vec::new());
        for number in 0..records {
            maker.key(number, &mut key);
            maker.record(number, &mut record);
            encode(record.as_bytes(), &mut frame)?;
            let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
            if let Ok(key) = key.as_bytes().try_into() {
                places.insert(key, (bytes.len() as u64, length));
            }
            bytes.extend_from_slice(&frame);
        }
        Ok(Self { places, bytes, values: Values::new(dictionary) })
    }
}

impl Looks for Frames {
    fn name(&self) -> &'static str {
        FRAMES
    }

    fn stored_bytes(&self) -> u64 {
        let slots = self.places.capacity() * 8 / 7 * (size_of::<([u8; 20], (u64, u32))>() + 1);
        (self.bytes.len() + slots) as u64
    }

    fn single(&mut self, keys: &[&[u8]], visit: Visit<'_>) -> Result<(), BenchError> {
        for (k, key) in keys.iter().enumerate() {
            let Some((start, length)) = self.places.get(*key) else {
                visit(k, None);
                continue;
            };
            let start = usize::try_from(*start).unwrap_or(usize::MAX);
            let frame = &self.bytes[start..start + *length as usize];
            visit(k, Some(self.values.decode(FRAMES, frame)?));
        }
        Ok(())
    }
}
