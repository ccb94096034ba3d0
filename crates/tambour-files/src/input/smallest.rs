//! Types in which the columns take the fewest bytes, by a sample of the rows. A later row that does not fit is noticed when it
//! is read, like any other that contradicts what was inferred: the input starts again with the types from before.

use super::{Input, Piece};
use crate::error::{MISSING, NOT_NULLABLE};
use crate::infer::Reading;
use crate::source::is_stream;
use crate::{FileError, Types};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType as Arrow;
use std::collections::BTreeSet;
use tambour_part::DataType;
use tambour_part::choose::{Change, Known, LayoutOptions, choose};

/// Rows of a sample, at most ...
const ROWS_MAX: usize = 1 << 20;
/// ... and memory that they may take, ...
const BYTES_MAX: usize = 256 << 20;
/// ... and as a multiple of the text from which types are inferred.
const ARROW_SHARE: usize = 4;

/// Bytes of an array's own rows: slices of a message say the memory of the whole message.
fn bytes_of(array: &ArrayRef) -> usize {
    let own = array.to_data().get_slice_memory_size();
    match array.data_type() {
        Arrow::Utf8View => own.unwrap_or(0) + array.as_string_view().total_buffer_bytes_used(),
        other if other.is_nested() || matches!(other, Arrow::BinaryView) => {
            array.get_array_memory_size()
        }
        _ => own.unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

/// What was chosen instead of the usual types.
#[derive(Debug, Default)]
pub(super) struct Smallest {
    usual: Vec<Reading>,
    changes: Vec<Option<Change>>,
    /// What was known of all rows turned out wrong.
    distrust: bool,
    /// Columns of which a value did not fit what was chosen by a guess. What is guessed anew would be the same.
    refused: BTreeSet<String>,
}

impl Smallest {
    /// Whether a refusal of a value is for the chosen type alone.
    pub(super) fn is_narrow(&self, column: Option<&str>, reason: &str) -> bool {
        ![NOT_NULLABLE.reason, MISSING.reason].contains(&reason)
            && column.is_some_and(|name| self.narrowed(name).is_some())
    }

    /// The change of a column, if values may not fit the new type.
    fn narrowed(&self, name: &str) -> Option<&Change> {
        let at = self.usual.iter().position(|reading| reading.column.name == name)?;
        let usual = self.usual[at].column.data_type.unwrapped();
        self.changes.get(at)?.as_ref().filter(|change| change.data_type.unwrapped() != usual)
    }

    /// Takes back all changes that are as doubtful as that of a column; false if it has none.
    pub(super) fn retract(&mut self, name: &str) -> bool {
        let Some(change) = self.narrowed(name) else { return false };
        // If what was certain is wrong, nothing is.
        let all = change.certain;
        self.distrust |= all;
        self.refused.insert(name.to_owned());
        for (change, reading) in self.changes.iter_mut().zip(&self.usual) {
            let usual = reading.column.data_type.unwrapped();
            if change
                .as_ref()
                .is_some_and(|it| (all || !it.certain) && it.data_type.unwrapped() != usual)
            {
                *change = None;
            }
        }
        true
    }

    /// Other files, or more of them, were looked at.
    pub(super) fn changes_forgotten(&mut self) {
        (self.usual, self.changes) = (Vec::new(), Vec::new());
    }

    /// How the columns are read.
    pub(super) fn readings(&self) -> Vec<Reading> {
        let mut readings = self.usual.clone();
        for (reading, change) in readings.iter_mut().zip(&self.changes) {
            if let Some(change) = change {
                reading.column.data_type = change.data_type.clone();
                // Whatever the change was: floats to integers, or moments to coarser ones.
                (reading.whole, reading.exact) = (change.whole, change.whole);
            }
        }
        readings
    }
}

impl Input {
    /// Whether texts of which few are different become LowCardinality without a measurement.
    pub(super) fn counts_texts(&self) -> bool {
        match self.options.types {
            Types::Declared => false,
            Types::Usual => true,
            Types::Natural { .. } | Types::Smallest { .. } => self.has_stream(),
        }
    }

    fn has_stream(&self) -> bool {
        self.paths.iter().any(|path| is_stream(path))
    }

    /// Columns whose types a file states in our own words.
    fn stated(&self) -> BTreeSet<String> {
        let mut stated = BTreeSet::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(_) => {}
                Piece::Parquet(file) => stated.extend(file.stated().map(str::to_owned)),
                Piece::Ipc(file) => {
                    stated.extend(crate::columnar::stated(&file.schema).map(str::to_owned));
                }
                Piece::IpcStream(_, schema) => {
                    stated.extend(crate::columnar::stated(schema).map(str::to_owned));
                }
            }
        }
        stated
    }

    /// The readings that inference has come to, without dictionaries of its own if they are not wanted.
    pub(super) fn usual(&self, mut readings: Vec<Reading>) -> Vec<Reading> {
        if self.counts_texts() {
            return readings;
        }
        let stated = self.stated();
        for Reading { column, .. } in &mut readings {
            if !stated.contains(&column.name)
                && let DataType::LowCardinality(inner) = &column.data_type
            {
                column.data_type = inner.as_ref().clone();
            }
        }
        readings
    }

    fn kept(&self) -> BTreeSet<String> {
        match &self.options.types {
            Types::Smallest { keep, .. } => keep.iter().cloned().collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Chooses types by a sample, if they are to be chosen. The input has its usual types.
    pub(super) fn choose_types(&mut self) -> Result<(), FileError> {
        let (codec, texts_only) = match self.options.types.clone() {
            Types::Declared | Types::Usual => return Ok(()),
            Types::Natural { codec } => (codec, true),
            Types::Smallest { codec, .. } => (codec, false),
        };
        if self.options.columns.is_some() || self.has_stream() {
            return Ok(());
        }
        let (sample, complete) = self.sample_rows()?;
        let (stated, kept) = (self.stated(), self.kept());
        let known = |name: &str, data_type: &DataType| {
            let is_text = *data_type.unwrapped() == DataType::String;
            let doubtful = kept.contains(name) || self.smallest.distrust;
            let known = self.known(name);
            // A range of all rows is not a guess any more.
            let refused = self.smallest.refused.contains(name) && !known.complete;
            let keep = stated.contains(name) || !is_text && (texts_only || doubtful || refused);
            Known { keep, ..known }
        };
        let columns = self.columns.clone();
        let known: Vec<Known> =
            columns.iter().map(|column| known(&column.name, &column.data_type)).collect();
        let options = LayoutOptions { codec, complete, threads: self.options.threads };
        let changes = choose(&columns, &sample, &known, &options)
            .map_err(|error| FileError::Argument { reason: format!("choosing types: {error}") })?;
        self.smallest.usual = self.readings.to_vec();
        self.smallest.changes = changes;
        self.install(self.smallest.readings())
    }

    /// What the files say of all values of a column.
    fn known(&self, name: &str) -> Known {
        let mut known = Known { keep: false, range: self.sheet.range(name), complete: true };
        let mut texts = false;
        for piece in &self.pieces {
            match piece {
                Piece::Text(_) => texts = true,
                Piece::Parquet(file) => match (file.range(name), known.range) {
                    (Some((low, high)), Some((least, greatest))) => {
                        known.range = Some((low.min(least), high.max(greatest)));
                    }
                    (Some(range), None) => known.range = Some(range),
                    (None, _) => known.complete = false,
                },
                Piece::Ipc(_) | Piece::IpcStream(..) => known.complete = false,
            }
        }
        known.complete &= known.range.is_some() && (!texts || self.complete);
        known
    }

    /// The first rows, and of Parquet pieces from all over the file; whether they are all there are.
    fn sample_rows(&mut self) -> Result<(Vec<RecordBatch>, bool), FileError> {
        // What is read here is read again.
        let progress = std::mem::take(&mut self.bytes_read);
        let stream = self.start(true);
        self.bytes_read = progress;
        let mut stream = stream?;
        let (mut sample, mut rows, mut bytes) = (Vec::new(), 0, 0);
        let bytes_max = BYTES_MAX.min(self.options.sample_bytes.saturating_mul(ARROW_SHARE));
        while rows < ROWS_MAX && bytes < bytes_max {
            match stream.next() {
                Some(Ok(batch)) => {
                    rows += batch.num_rows();
                    bytes += batch.columns().iter().map(bytes_of).sum::<usize>();
                    sample.push(batch);
                }
                // An error comes again when the rows are read for good.
                Some(Err(_)) => return Ok((sample, false)),
                None => {
                    let is_part =
                        |piece: &Piece| matches!(piece, Piece::Parquet(file) if file.is_sampled());
                    return Ok((sample, !self.pieces.iter().any(is_part)));
                }
            }
        }
        Ok((sample, false))
    }
}
