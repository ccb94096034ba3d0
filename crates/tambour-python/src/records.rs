//! Record stores: small records appended, sealed with dictionaries, and found again.

use crate::buffer::{Bytes, PathArgument};
use crate::column::{Array, Column};
use crate::failure::{Failure, argument};
use crate::owned::Owned;
use crate::work;
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};
use tambour::arrow_array::{Array as _, Int64Array, LargeBinaryArray};
use tambour::record::{Batch, Codec, Group, Reader, Retention, SealOptions, ViewOptions, verify};
use tambour::storage::disk;
use tambour::{Kind, RecordOptions, RecordStore};

fn codec(word: &str) -> Result<Codec, Failure> {
    [Codec::Raw, Codec::Lz4, Codec::Zstd]
        .into_iter()
        .find(|codec| codec.name() == word)
        .ok_or_else(|| argument(format!("codec {word:?}: records have raw, lz4 and zstd")))
}

/// A store.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Records {
    store: Owned<RecordStore>,
}

#[pymethods]
impl Records {
    /// Makes a store in a new or empty directory.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathArgument,
        codec_name: &str,
        segment_bytes: u64,
    ) -> PyResult<Self> {
        let options = RecordOptions { segment_bytes, codec: codec(codec_name)? };
        let store = work::detached(py, |_| Ok(RecordStore::create(&disk(), &path, &options)?))?;
        Ok(Self { store: Owned::new("record store", store) })
    }

    /// Opens a store.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathArgument) -> PyResult<Self> {
        let store = work::detached(py, |_| Ok(RecordStore::open(&disk(), &path)?))?;
        Ok(Self { store: Owned::new("record store", store) })
    }

    /// True if there is a store.
    #[staticmethod]
    fn is_at(py: Python<'_>, path: PathArgument) -> bool {
        py.detach(|| RecordStore::is_at(&*disk(), &path))
    }

    /// Checks all of a store: counts, and the damage as exceptions.
    #[staticmethod]
    fn verify(py: Python<'_>, path: PathArgument) -> PyResult<(Bound<'_, PyDict>, Vec<Py<PyAny>>)> {
        let seen = work::detached(py, |_| Ok(verify(&disk(), &path)?))?;
        let counts = PyDict::new(py);
        counts.set_item("categories", seen.categories)?;
        counts.set_item("records", seen.records)?;
        counts.set_item("bytes", seen.raw_bytes)?;
        let raised = |error| PyErr::from(Failure::from(error)).into_value(py).into_any();
        Ok((counts, seen.damage.into_iter().map(raised).collect()))
    }

    /// The categories.
    fn categories(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.store.with(py, |store| Ok(store.categories()?))
    }

    /// What can be read of a category now.
    fn view(&self, py: Python<'_>, category: &str, memory_bytes: u64) -> PyResult<View> {
        let options = ViewOptions { memory_bytes };
        let reader =
            self.store.with(py, |store| Ok(Arc::new(store.view(category, &options)?).reader()))?;
        Ok(View::new(reader))
    }

    /// Who appends to a category; alone.
    fn writer(&self, py: Python<'_>, category: &str) -> PyResult<Writer> {
        let writer = self.store.with(py, |store| Ok(store.writer(category)?))?;
        Ok(Writer { writer: Owned::new("writer of records", Arc::new(writer)) })
    }

    /// Closes the store; views and writers stay.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.store.close(py, |_| Ok(()))
    }
}

/// The records of a category.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct View {
    reader: Owned<Reader>,
    /// The same, for queries.
    view: RwLock<Arc<tambour::record::View>>,
}

impl View {
    fn new(reader: Reader) -> Self {
        let view = RwLock::new(Arc::clone(reader.view()));
        Self { reader: Owned::new("reader of records", reader), view }
    }

    /// What a query reads.
    pub(crate) fn view(&self) -> Arc<tambour::record::View> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Records side by side, as Arrow has them.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    offsets: Vec<i64>,
}

impl Gathered {
    fn with_capacity(records: usize) -> Self {
        let mut offsets = Vec::with_capacity(records + 1);
        offsets.push(0);
        Self { bytes: Vec::new(), offsets }
    }

    fn push(&mut self, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.offsets.push(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX));
    }

    fn array(self) -> Result<LargeBinaryArray, Failure> {
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(LargeBinaryArray::try_new(offsets, Buffer::from_vec(self.bytes), None)?)
    }
}

#[pymethods]
impl View {
    /// The first id, and the one after the last.
    fn ids(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let ids = self.reader.with(py, |reader| Ok(reader.view().ids()))?;
        Ok((ids.start, ids.end))
    }

    /// How many records there are: of those with keys, the latest of each key.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.reader.with(py, |reader| {
            let ids = reader.view().ids();
            if !reader.view().is_keyed() {
                return Ok(ids.end - ids.start);
            }
            let mut count = 0;
            reader.scan(ids, |_| {
                count += 1;
                ControlFlow::Continue(())
            })?;
            Ok(count)
        })
    }

    /// True if records have keys, so that some of the ids stand for nothing any more.
    fn is_keyed(&self, py: Python<'_>) -> PyResult<bool> {
        self.reader.with(py, |reader| Ok(reader.view().is_keyed()))
    }

    /// A record.
    fn get<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyBytes>> {
        let record = self.reader.with(py, |reader| Ok(reader.get(id)?.to_vec()))?;
        Ok(PyBytes::new(py, &record))
    }

    /// The time of a record.
    fn time(&self, py: Python<'_>, id: u64) -> PyResult<Option<i64>> {
        self.reader.with(py, |reader| Ok(reader.time(id)?))
    }

    /// The records with these ids, in their order.
    fn get_many(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<Array> {
        let ids = Column::of(ids)?;
        let records = self.reader.with(py, |reader| {
            let ids = ids.ids()?;
            let mut records = Gathered::with_capacity(ids.len());
            reader.get_many(&ids, |_, record| records.push(record))?;
            records.array()
        })?;
        Ok(Array::new(&records))
    }

    /// Ids, times and records of a range of ids, at most this many bytes of them but one at least.
    fn scan(
        &self,
        py: Python<'_>,
        start: u64,
        end: u64,
        bytes_max: usize,
    ) -> PyResult<(Array, Array, Array)> {
        self.reader.with(py, |reader| {
            let mut found = Found::new();
            reader.scan(start..end, |scanned| {
                found.push(scanned);
                if found.records.bytes.len() < bytes_max {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
            found.arrays()
        })
    }

    /// The same for a range of times.
    fn scan_time(&self, py: Python<'_>, start: i64, end: i64) -> PyResult<(Array, Array, Array)> {
        self.reader.with(py, |reader| {
            let mut found = Found::new();
            reader.scan_time(start..end, |scanned| {
                found.push(scanned);
                ControlFlow::Continue(())
            })?;
            found.arrays()
        })
    }

    /// Takes in what was appended, sealed or dropped.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        let view = self.reader.with(py, |reader| {
            reader.refresh()?;
            Ok(Arc::clone(reader.view()))
        })?;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view;
        Ok(())
    }

    /// Bytes of files and of records, segments.
    fn stat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stat = self.reader.with(py, |reader| Ok(reader.view().stat()))?;
        let figures = PyDict::new(py);
        figures.set_item("records", stat.records())?;
        figures.set_item("bytes", stat.raw_bytes())?;
        figures.set_item("bytes_on_disk", stat.file_bytes())?;
        figures.set_item("segments", stat.segments.len())?;
        Ok(figures)
    }

    /// Closes the reader.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.reader.close(py, |_| Ok(()))
    }
}

/// What a scan found.
struct Found {
    ids: Vec<i64>,
    times: Vec<Option<i64>>,
    records: Gathered,
}

impl Found {
    fn new() -> Self {
        Self { ids: Vec::new(), times: Vec::new(), records: Gathered::with_capacity(0) }
    }

    fn push(&mut self, scanned: tambour::record::Scanned<'_>) {
        self.ids.push(i64::try_from(scanned.id).unwrap_or(i64::MAX));
        self.times.push(scanned.time);
        self.records.push(scanned.record);
    }

    fn arrays(self) -> Result<(Array, Array, Array), Failure> {
        let (ids, times) = (Int64Array::from(self.ids), Int64Array::from(self.times));
        Ok((Array::new(&ids), Array::new(&times), Array::new(&self.records.array()?)))
    }
}

/// Who appends.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Writer {
    writer: Owned<Arc<tambour::record::Writer>>,
}

#[pymethods]
impl Writer {
    /// Appends a record; its id. It is durable when this returns, unless `later`.
    fn append(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        time: Option<i64>,
        later: bool,
    ) -> PyResult<u64> {
        let record = Bytes::of(record)?;
        self.writer.with(py, |writer| {
            let record = record.as_slice();
            Ok(if later {
                writer.append_later(record, time)?
            } else {
                writer.append(record, time)?
            })
        })
    }

    /// Appends records, all or none; the first id, and the one after the last.
    fn append_many(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        times: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64)> {
        let records = Column::of(records)?;
        let times = times.map(|times| Column::of(&times)).transpose()?;
        let ids = self.writer.with(py, |writer| {
            let batch = batch(&records, times.as_ref())?;
            Ok(writer.append_batch(&batch)?)
        })?;
        Ok((ids.start, ids.end))
    }

    /// Makes everything durable that was appended.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.with(py, |writer| Ok(writer.flush()?))
    }

    /// Seals segments: those that are full, or all.
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn seal<'py>(
        &self,
        py: Python<'py>,
        all: bool,
        codec_name: Option<&str>,
        level: Option<i32>,
        dictionary_bytes: usize,
        group: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let codec = codec_name.map(codec).transpose()?;
        let options = SealOptions { codec, level, dictionary_bytes, group: Group::Fixed(group) };
        let reports = self.writer.with(py, |writer| Ok(writer.seal(&options, all)?))?;
        let list = PyList::empty(py);
        for report in reports {
            let entry = PyDict::new(py);
            entry.set_item("first", report.base)?;
            entry.set_item("records", report.records)?;
            entry.set_item("bytes", report.raw_bytes)?;
            entry.set_item("bytes_on_disk", report.sealed_bytes)?;
            entry.set_item("codec", report.codec.name())?;
            entry.set_item("dictionary_bytes", report.dictionary_bytes)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// Drops the oldest segments; how many records.
    fn retain(&self, py: Python<'_>, before: Option<i64>, bytes_max: Option<u64>) -> PyResult<u64> {
        let retention = Retention { before, bytes_max };
        self.writer.with(py, |writer| Ok(writer.retain(&retention)?.records))
    }

    /// Makes everything durable, and lets others write.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.writer.close(py, |writer| Ok(writer.flush()?))
    }

    /// True if it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.writer.is_closed(py)
    }
}

/// Records of a column of texts, with the times of another column.
fn batch(records: &Column, times: Option<&Column>) -> Result<Batch, Failure> {
    let Some(texts) = records.texts() else {
        if records.len() == 0 {
            return Ok(Batch::default());
        }
        return Err(argument("records are bytes or texts"));
    };
    if texts.null_count() > 0 {
        return Err(argument("a record is missing: an empty one is b\"\""));
    }
    let times = times.map(Column::times).transpose()?;
    if let Some(times) = &times
        && times.len() != texts.len()
    {
        let text = format!("{} records and {} times", texts.len(), times.len());
        return Err(Failure::Said(Kind::Argument, text));
    }
    let missing = times.as_ref().map_or(0, |times| times.iter().filter(|it| it.is_none()).count());
    if missing > 0 && missing < texts.len() {
        return Err(argument(
            "a time is missing: all records that are added at once have one, or none has",
        ));
    }
    let mut batch = Batch::default();
    for (place, record) in texts.iter().flatten().enumerate() {
        batch.push(record, times.as_ref().and_then(|times| times.get(place).copied().flatten()));
    }
    Ok(batch)
}
