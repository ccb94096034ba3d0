//! Files opened together as one input of one schema.

mod sighting;
mod smallest;

use crate::columnar;
use crate::columnar::ipc::{IpcFile, Messages};
use crate::columnar::parquet::ParquetFile;
use crate::format::HEAD_BYTES;
use crate::infer::Reading;
use crate::infer::schema::Sheet;
use crate::pipeline::{Gone, Item, Line, Stream};
use crate::source::{Source, is_stream};
use crate::text::convert;
use crate::text::probe::{self, Extent, TextFile};
use crate::text::records::Records;
use crate::{FileError, Format, ReadOptions};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
pub use sighting::Sighting;
use smallest::Smallest;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tambour_part::types::{Column, Strings, arrow_schema};

/// With given types only the order of days and months is looked for.
const ORDER_SAMPLE_BYTES: usize = 4 << 20;
/// Each file shows at least this much of itself.
const SHARE_BYTES_MIN: usize = 256 << 10;

/// One of the files, probed.
#[derive(Clone, Debug)]
enum Piece {
    Text(TextFile),
    Parquet(ParquetFile),
    Ipc(IpcFile),
    /// An Arrow stream that can be read once.
    IpcStream(PathBuf, SchemaRef),
}

/// Standard input, of which the beginning has been read.
#[derive(Debug)]
struct Begun {
    head: Vec<u8>,
    rest: Source,
}

/// Files opened together as one input of one schema.
#[derive(Debug)]
pub struct Input {
    paths: Vec<PathBuf>,
    options: ReadOptions,
    pieces: Vec<Piece>,
    sheet: Sheet,
    readings: Arc<[Reading]>,
    columns: Vec<Column>,
    schema: SchemaRef,
    bytes_total: Option<u64>,
    bytes_read: Arc<AtomicU64>,
    /// All there is, if that is not a file.
    bytes: Option<Vec<u8>>,
    /// Streams of which the beginning was read, by path.
    begun: BTreeMap<PathBuf, Begun>,
    messages: BTreeMap<PathBuf, Messages>,
    stream: Option<Stream>,
    started: bool,
    /// The types come from all rows, not from a sample.
    complete: bool,
    /// The column that the last row read contradicts.
    contradicted: Option<String>,
    /// It contradicts only what was chosen instead of the usual type.
    is_narrow: bool,
    /// Columns for which only text is left.
    texts: BTreeSet<String>,
    smallest: Smallest,
}

impl Input {
    /// Opens files, infers the schema they share (dates and times recognised, Nullable only where needed, LowCardinality
    /// where it pays). `-` is standard input.
    pub fn open(paths: &[PathBuf], options: ReadOptions) -> Result<Self, FileError> {
        let mut input = Self::closed(paths, options)?;
        input.survey()?;
        Ok(input)
    }

    /// The same of bytes, which errors call `name`. They are text.
    pub fn of_bytes(name: &str, bytes: Vec<u8>, options: ReadOptions) -> Result<Self, FileError> {
        let mut input = Self::closed(&[PathBuf::from(name)], options)?;
        input.bytes = Some(bytes);
        input.survey()?;
        Ok(input)
    }

    /// Files that nobody has looked at yet.
    fn closed(paths: &[PathBuf], options: ReadOptions) -> Result<Self, FileError> {
        check_arguments(paths, &options)?;
        let bytes_total = bytes_total(paths);
        Ok(Self {
            paths: paths.to_vec(),
            options,
            pieces: Vec::new(),
            sheet: Sheet::default(),
            readings: Arc::new([]),
            columns: Vec::new(),
            schema: SchemaRef::new(arrow_schema::Schema::empty()),
            bytes_total,
            bytes_read: Arc::default(),
            bytes: None,
            begun: BTreeMap::new(),
            messages: BTreeMap::new(),
            stream: None,
            started: false,
            complete: false,
            contradicted: None,
            is_narrow: false,
            texts: BTreeSet::new(),
            smallest: Smallest::default(),
        })
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The Arrow schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Bytes of the files, if known.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Bytes consumed so far.
    pub fn bytes_read(&self) -> u64 {
        let read = self.bytes_read.load(Ordering::Relaxed);
        self.bytes_total.map_or(read, |total| read.min(total))
    }

    /// The next batch, in the Arrow form of [`Input::columns`]. An error of variant `Widen` (inferred type contradicted by a
    /// later row) tells that the caller should call [`Input::restart`] and read everything again.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch, FileError>> {
        if !self.started {
            self.started = true;
            match self.start(false) {
                Ok(stream) => self.stream = Some(stream),
                Err(error) => return Some(Err(error)),
            }
        }
        let item = self.stream.as_mut()?.next();
        match item {
            Some(Ok(batch)) => Some(Ok(batch)),
            Some(Err(error)) => {
                self.stream = None;
                Some(Err(self.contradiction(error)))
            }
            None => {
                self.stream = None;
                None
            }
        }
    }

    /// Starts again from the first row with the schema widened by what was learned.
    pub fn restart(&mut self) -> Result<(), FileError> {
        if self.paths.iter().any(|path| is_stream(path)) {
            let reason = "a stream cannot be read a second time".to_owned();
            return Err(FileError::Argument { reason });
        }
        self.stream = None;
        self.started = false;
        self.bytes_read = Arc::default();
        let Some(column) = self.contradicted.take() else { return Ok(()) };
        if std::mem::take(&mut self.is_narrow) && self.smallest.retract(&column) {
            return self.install(self.smallest.readings());
        }
        if self.complete {
            // All rows were looked at and still one contradicts: a person would see text there.
            self.texts.insert(column);
        }
        self.complete = true;
        self.survey()
    }

    /// Remembers what was contradicted; a stream has no second chance.
    fn contradiction(&mut self, error: FileError) -> FileError {
        let FileError::Widen { spot, value, data_type, reason } = error else { return error };
        if self.paths.iter().any(|path| is_stream(path)) {
            return FileError::WidenStream { spot, value, data_type, reason };
        }
        self.contradicted.clone_from(&spot.column);
        self.is_narrow = self.smallest.is_narrow(spot.column.as_deref(), reason);
        let known = spot.column.as_ref().is_some_and(|column| self.texts.contains(column));
        if known {
            return FileError::Value { spot, value, data_type, reason };
        }
        FileError::Widen { spot, value, data_type, reason }
    }

    /// Looks at every file and decides over the columns.
    fn survey(&mut self) -> Result<(), FileError> {
        self.pieces.clear();
        self.sheet = Sheet::default();
        for path in self.paths.clone() {
            let piece = if let Some(bytes) = &self.bytes {
                self.survey_bytes(&path, bytes.clone())?
            } else if is_stream(&path) {
                self.survey_stream_once(&path)?
            } else {
                self.survey_file(&path)?
            };
            self.pieces.push(piece);
        }
        let readings = match &self.options.columns {
            Some(columns) => {
                self.sheet.given(columns, self.options.exact, self.options.as_clickhouse)
            }
            None => self.usual(self.sheet.decide(&self.texts)),
        };
        if readings.is_empty() {
            let path = self.paths.first().cloned().unwrap_or_default();
            return Err(FileError::Empty { path, what: "no columns" });
        }
        self.smallest.changes_forgotten();
        self.install(readings)?;
        self.choose_types()
    }

    /// Reads the columns in this way from now on.
    fn install(&mut self, readings: Vec<Reading>) -> Result<(), FileError> {
        self.columns = readings.iter().map(|reading| reading.column.clone()).collect();
        self.schema = Arc::new(arrow_schema(&self.columns, Strings::Utf8));
        self.readings = readings.into();
        for piece in &self.pieces {
            self.mapping(piece)?;
        }
        Ok(())
    }

    /// Bytes that a file may show; nothing if all of them are to be looked at.
    fn sample(&self) -> Option<usize> {
        if self.options.columns.is_some() {
            return Some(self.options.sample_bytes.min(ORDER_SAMPLE_BYTES));
        }
        let share = self.options.sample_bytes / self.paths.len().max(1);
        (!self.complete).then_some(share.max(SHARE_BYTES_MIN.min(self.options.sample_bytes)))
    }

    fn survey_file(&mut self, path: &Path) -> Result<Piece, FileError> {
        let format = match self.options.format {
            Some(format) => format,
            None => Format::detect(path)?,
        };
        let extent = Extent { sample: self.sample(), truncated: false };
        match format {
            Format::Parquet => {
                let file = ParquetFile::open(path)?;
                let columns = match &self.options.columns {
                    Some(_) => names_only(file.schema()),
                    None => file.columns(self.complete, self.counts_texts())?,
                };
                self.sheet.typed(columns);
                Ok(Piece::Parquet(file))
            }
            Format::ArrowIpc => {
                let file = IpcFile::open(path)?;
                let columns = match &self.options.columns {
                    Some(_) => names_only(&file.schema),
                    None => file.columns(self.counts_texts())?,
                };
                self.sheet.typed(columns);
                Ok(Piece::Ipc(file))
            }
            text => self.survey_text(Source::open(path, None)?, text, extent).map(Piece::Text),
        }
    }

    fn survey_bytes(&mut self, path: &Path, bytes: Vec<u8>) -> Result<Piece, FileError> {
        let format = match self.options.format {
            Some(format) => format,
            None => Format::sniff(path, &bytes)?,
        };
        let extent = Extent { sample: self.sample(), truncated: false };
        let file = self.survey_text(Source::of_bytes(path, bytes.clone()), format, extent)?;
        let rest = Source::of_bytes(path, Vec::new());
        self.begun.insert(path.to_owned(), Begun { head: bytes, rest });
        Ok(Piece::Text(file))
    }

    fn survey_text(
        &mut self,
        source: Source,
        format: Format,
        extent: Extent,
    ) -> Result<TextFile, FileError> {
        if format == Format::JsonLines {
            let (file, rows) = probe::lines(source, &self.options, extent, self.sheet.json())?;
            self.sheet.json_rows(rows);
            return Ok(file);
        }
        let (file, columns) = probe::fields(source, format, &self.options, extent)?;
        self.sheet.fields(columns);
        Ok(file)
    }

    /// Reads the beginning of standard input and keeps it for the reading itself.
    fn survey_stream_once(&mut self, path: &Path) -> Result<Piece, FileError> {
        let progress = Some(Arc::clone(&self.bytes_read));
        let mut source = Source::open(path, progress)?;
        let mut head = Vec::new();
        source.fill(&mut head, HEAD_BYTES)?;
        let format = match self.options.format {
            Some(format) => format,
            None => match Format::by_extension(path) {
                Some(format) => format,
                None => Format::sniff(path, &head)?,
            },
        };
        match format {
            Format::Parquet => Err(FileError::Unsupported {
                path: path.to_owned(),
                reason: "Parquet cannot be read from a stream; import the file".to_owned(),
            }),
            Format::ArrowIpc if head.starts_with(b"ARROW1") => Err(FileError::Unsupported {
                path: path.to_owned(),
                reason: "an Arrow file cannot be read from a stream; import the file, or pipe an Arrow stream".to_owned(),
            }),
            Format::ArrowIpc => self.survey_ipc_stream(path, source.preceded_by(head)),
            text => {
                let file = self.survey_stream(path, text, &mut source, &mut head)?;
                self.begun.insert(path.to_owned(), Begun { head, rest: source });
                Ok(Piece::Text(file))
            }
        }
    }

    /// Looks at the beginning of a stream: as much as a sample may have, but with a schema only at what is there already,
    /// so that rows are imported as they come; more while no record ends in it.
    fn survey_stream(
        &mut self,
        path: &Path,
        format: Format,
        source: &mut Source,
        head: &mut Vec<u8>,
    ) -> Result<TextFile, FileError> {
        let mut wanted = match self.options.columns {
            Some(_) => HEAD_BYTES,
            None => self.sample().unwrap_or(usize::MAX),
        };
        loop {
            let missing = wanted.saturating_sub(head.len());
            let truncated = source.fill(head, missing)? == missing;
            let extent = Extent { sample: None, truncated };
            let sampled = Source::of_bytes(path, head.clone());
            match self.survey_text(sampled, format, extent) {
                // A record that is too long is an error of its own, so this ends.
                Err(FileError::Empty { .. }) if truncated => {
                    let record = self.options.record_bytes_max.saturating_add(HEAD_BYTES);
                    wanted = (2 * head.len()).min(record).max(head.len() + HEAD_BYTES);
                }
                outcome => return outcome,
            }
        }
    }

    /// Of a stream of Arrow only the schema is known beforehand: what may be NULL is Nullable.
    fn survey_ipc_stream(&mut self, path: &Path, source: Source) -> Result<Piece, FileError> {
        let messages = Messages::stream(path, source.into_reader())?;
        let schema = Arc::clone(&messages.schema);
        self.sheet.typed(columnar::ipc::stated_columns(path, &schema)?);
        self.messages.insert(path.to_owned(), messages);
        Ok(Piece::IpcStream(path.to_owned(), schema))
    }

    /// For every column its field in the file; what goes with what is checked here.
    fn mapping(&self, piece: &Piece) -> Result<Vec<Option<usize>>, FileError> {
        let (path, names): (&Path, Vec<&str>) = match piece {
            Piece::Text(file) if file.format == Format::JsonLines => return Ok(Vec::new()),
            Piece::Text(file) => (&file.path, file.names.iter().map(String::as_str).collect()),
            Piece::Parquet(file) => (&file.path, field_names(file.schema())),
            Piece::Ipc(file) => (&file.path, field_names(&file.schema)),
            Piece::IpcStream(path, schema) => (path, field_names(schema)),
        };
        if self.options.columns.is_some() && !self.options.skip_unknown_columns {
            let known = |name: &&str| self.columns.iter().any(|column| column.name == **name);
            if let Some(unknown) = names.iter().find(|name| !known(name)) {
                let (path, column) = (path.to_owned(), (*unknown).to_owned());
                return Err(FileError::UnknownColumn { path, column });
            }
        }
        let index = |column: &Column| {
            let exact = names.iter().position(|name| *name == column.name);
            let found = exact.or_else(|| {
                let is_alike = |name: &&str| name.eq_ignore_ascii_case(&column.name);
                let mut alike = names.iter().enumerate().filter(|(_, name)| is_alike(name));
                let (place, _) = alike.next().filter(|_| self.options.as_clickhouse)?;
                // Which of several is meant, nobody knows.
                let is_taken = self.columns.iter().any(|other| other.name == names[place]);
                (alike.next().is_none() && !is_taken).then_some(place)
            });
            if found.is_none() && columnar::fit::missing(&column.data_type, 1).is_err() {
                let (path, column) = (path.to_owned(), column.name.clone());
                return Err(FileError::MissingColumn { path, column });
            }
            Ok(found)
        };
        self.columns.iter().map(index).collect()
    }

    /// Starts the threads, for a sample or for all rows.
    fn start(&mut self, is_sample: bool) -> Result<Stream, FileError> {
        let mut jobs = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let mapping = self.mapping(piece)?;
            jobs.push(match piece {
                Piece::Text(file) => {
                    let skip = self.options.skip_unknown_columns;
                    let (readings, schema) = (Arc::clone(&self.readings), Arc::clone(&self.schema));
                    let target = convert::Target::new(readings, schema, mapping, skip);
                    Feed::Text(file.clone(), self.begun.remove(&file.path), Arc::new(target))
                }
                Piece::Parquet(file) => Feed::Parquet(file.clone(), self.columnar_target(mapping)),
                Piece::Ipc(file) => Feed::Ipc(file.clone(), self.columnar_target(mapping)),
                Piece::IpcStream(path, _) => {
                    Feed::IpcStream(self.messages.remove(path), self.columnar_target(mapping))
                }
            });
        }
        let (options, progress) = (self.options.clone(), Arc::clone(&self.bytes_read));
        let threads = self.options.threads;
        let path = self.paths.first().cloned().unwrap_or_default();
        Stream::start(threads, move |line| {
            for job in jobs {
                if job.feed(line, &options, is_sample, &progress).is_err() {
                    break;
                }
            }
        })
        .map_err(FileError::io(&path, "start a thread to read"))
    }

    fn columnar_target(&self, mapping: Vec<Option<usize>>) -> Arc<columnar::Target> {
        let (readings, schema) = (Arc::clone(&self.readings), Arc::clone(&self.schema));
        Arc::new(columnar::Target { readings, schema, mapping })
    }
}

fn check_arguments(paths: &[PathBuf], options: &ReadOptions) -> Result<(), FileError> {
    let refuse = |reason: &str| Err(FileError::Argument { reason: reason.to_owned() });
    if paths.is_empty() {
        return refuse("no files to read");
    }
    let streams: Vec<&PathBuf> = paths.iter().filter(|path| is_stream(path)).collect();
    if streams.iter().enumerate().any(|(at, path)| streams[..at].contains(path)) {
        return refuse("a stream can be read only once");
    }
    match options.delimiter {
        Some(b'"' | b'\n' | b'\r' | b'\\') => {
            refuse("the delimiter cannot be a quote, a backslash or a line end")
        }
        _ => Ok(()),
    }
}

/// Bytes of all files, unless one of them is a stream.
fn bytes_total(paths: &[PathBuf]) -> Option<u64> {
    let size = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(metadata.len())
    };
    paths.iter().map(size).sum()
}

fn field_names(schema: &SchemaRef) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// Columns whose types do not matter, since others are given.
fn names_only(schema: &SchemaRef) -> columnar::Columns {
    let name = |name: &str| (name.to_owned(), tambour_part::DataType::String);
    field_names(schema).into_iter().map(name).collect()
}

/// A file with everything that the reading thread needs.
enum Feed {
    Text(TextFile, Option<Begun>, Arc<convert::Target>),
    Parquet(ParquetFile, Arc<columnar::Target>),
    Ipc(IpcFile, Arc<columnar::Target>),
    IpcStream(Option<Messages>, Arc<columnar::Target>),
}

impl Feed {
    fn feed(
        self,
        line: &Line,
        options: &ReadOptions,
        is_sample: bool,
        progress: &Arc<AtomicU64>,
    ) -> Result<(), Gone> {
        match self {
            Self::Text(file, stdin, target) => text(line, &file, stdin, &target, options, progress),
            Self::Parquet(file, target) => {
                file.feed(line, &target, (options.batch_rows, is_sample), progress)
            }
            Self::Ipc(file, target) => file.feed(line, &target, options.batch_rows, progress),
            Self::IpcStream(Some(messages), target) => {
                // A stream counts its bytes itself.
                messages.feed(line, target, options.batch_rows, Arc::default())
            }
            Self::IpcStream(None, _) => Ok(()),
        }
    }
}

/// Adds a job for every block of a text file.
fn text(
    line: &Line,
    file: &TextFile,
    stdin: Option<Begun>,
    target: &Arc<convert::Target>,
    options: &ReadOptions,
    progress: &Arc<AtomicU64>,
) -> Result<(), Gone> {
    let source = match stdin {
        Some(begun) => Ok(begun.rest.preceded_by(begun.head)),
        None => Source::open(&file.path, Some(Arc::clone(progress))),
    };
    let source = match source {
        Ok(source) => source,
        Err(error) => return line.fail(error),
    };
    let json = file.format == Format::JsonLines;
    let width = if json { 1 } else { file.names.len() };
    let records = Records::new(source, file.splitter.clone(), options);
    let mut records = records.with_header(file.header, width);
    loop {
        match records.next_block() {
            Ok(Some(block)) => {
                let target = Arc::clone(target);
                line.push(move |exit| {
                    let item: Item =
                        if json { target.lines(&block) } else { target.fields(&block) };
                    // If nobody wants it, nobody misses it.
                    let _ = exit.send(item);
                })?;
            }
            Ok(None) => return Ok(()),
            Err(error) => return line.fail(error),
        }
    }
}
