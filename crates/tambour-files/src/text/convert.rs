//! Blocks of text into batches.

use super::block::Block;
use crate::FileError;
use crate::build::{self, Build, NOT_UTF8};
use crate::error::{MISSING, Reject, quoted};
use crate::infer::Reading;
use crate::literal::{Cursor, Syntax, Token};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

const NOT_OBJECT: Reject = Reject::syntax("expected an object");
const TWICE: Reject = Reject::syntax("a key appears twice");
const UNKNOWN_KEY: Reject = Reject::new("the table has no such column");

/// What a text file's records become.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) readings: Arc<[Reading]>,
    pub(crate) schema: SchemaRef,
    /// For every column its field in the file (CSV and TSV).
    pub(crate) mapping: Vec<Option<usize>>,
    /// Keys that no column has are left out (JSON).
    pub(crate) skip_unknown: bool,
    /// Columns by name (JSON).
    index: HashMap<Vec<u8>, usize>,
    /// Those with names in small letters, where they differ in them: what they are called in any other case.
    any_case: HashMap<Vec<u8>, usize>,
}

impl Target {
    pub(crate) fn new(
        readings: Arc<[Reading]>,
        schema: SchemaRef,
        mapping: Vec<Option<usize>>,
        skip_unknown: bool,
    ) -> Self {
        let name =
            |(at, reading): (usize, &Reading)| (reading.column.name.clone().into_bytes(), at);
        let index: HashMap<Vec<u8>, usize> = readings.iter().enumerate().map(name).collect();
        let mut any_case = HashMap::new();
        let mut count: HashMap<Vec<u8>, usize> = HashMap::new();
        if skip_unknown {
            for (name, at) in &index {
                let small = name.to_ascii_lowercase();
                *count.entry(small.clone()).or_default() += 1;
                any_case.insert(small, *at);
            }
            any_case.retain(|name, _| count.get(name) == Some(&1));
        }
        Self { readings, schema, mapping, skip_unknown, index, any_case }
    }

    /// Records of CSV or TSV.
    pub(crate) fn fields(&self, block: &Block) -> Result<RecordBatch, FileError> {
        let rows = block.rows();
        let mut arrays = Vec::with_capacity(self.readings.len());
        // The refusal of the first row wins, not that of the first column.
        let mut refused: Option<(usize, usize, Reject)> = None;
        for (column, (reading, source)) in self.readings.iter().zip(&self.mapping).enumerate() {
            let mut builder = build::builder(reading, rows).map_err(|e| wrong(block, e))?;
            let outcome = match source {
                Some(field) => builder.cells(block.cells(*field, reading)),
                None => {
                    (0..rows).try_for_each(|row| builder.null().map_err(|reject| (row, reject)))
                }
            };
            match outcome {
                Ok(()) if refused.is_none() => {
                    arrays.push(builder.finish().map_err(|e| wrong(block, e))?);
                }
                Ok(()) => {}
                Err((row, reject)) => {
                    if refused.is_none_or(|(first, _, _)| row < first) {
                        refused = Some((row, column, reject));
                    }
                }
            }
        }
        match refused {
            None => self.batch(block, arrays),
            Some((row, column, reject)) => {
                let value =
                    self.mapping[column].map_or(&b""[..], |index| block.field(row, index).raw);
                Err(self.refusal(block, row, column, reject, value))
            }
        }
    }

    fn batch(&self, block: &Block, arrays: Vec<ArrayRef>) -> Result<RecordBatch, FileError> {
        let options = RecordBatchOptions::new().with_row_count(Some(block.rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|e| wrong(block, e))
    }

    fn refusal(
        &self,
        block: &Block,
        row: usize,
        column: usize,
        reject: Reject,
        value: &[u8],
    ) -> FileError {
        let reading = &self.readings[column];
        let spot = Box::new(block.spot(row, Some(&reading.column.name)));
        let value = quoted(value);
        if reject == NOT_UTF8 {
            return FileError::Utf8 { spot, value };
        }
        let data_type = reading.column.data_type.to_string();
        let reason = reject.reason;
        if reading.inferred {
            FileError::Widen { spot, value, data_type, reason }
        } else {
            FileError::Value { spot, value, data_type, reason }
        }
    }

    /// Lines of JSON.
    pub(crate) fn lines(&self, block: &Block) -> Result<RecordBatch, FileError> {
        let rows = block.rows();
        let builders = self.readings.iter().map(|reading| build::builder(reading, rows));
        let builders: Result<Vec<_>, _> = builders.collect();
        let mut object = Object {
            target: self,
            builders: builders.map_err(|e| wrong(block, e))?,
            last_row: vec![usize::MAX; self.readings.len()],
            expected: 0,
            current: None,
            value_at: 0,
        };
        for row in 0..rows {
            let line = block.field(row, 0).raw;
            let mut cursor = Cursor::new(line, Syntax::Json);
            if let Err(reject) = object.read(&mut cursor, row) {
                return Err(self.json_refusal(block, row, &object, &cursor, reject));
            }
        }
        let arrays: Result<Vec<_>, _> = object.builders.into_iter().map(Build::finish).collect();
        self.batch(block, arrays.map_err(|e| wrong(block, e))?)
    }

    fn json_refusal(
        &self,
        block: &Block,
        row: usize,
        object: &Object<'_>,
        cursor: &Cursor<'_>,
        reject: Reject,
    ) -> FileError {
        let line = block.field(row, 0).raw;
        if reject.syntax {
            let spot = Box::new(block.spot(row, None));
            return FileError::Json { spot, at: cursor.at() + 1, reason: reject.reason };
        }
        let value = line.get(object.value_at..cursor.at()).unwrap_or_default();
        match &object.current {
            Some(Key::Column(column)) => {
                let value = if reject == MISSING { b"" } else { value };
                self.refusal(block, row, *column, reject, value)
            }
            Some(Key::Unknown(key)) => {
                let spot = Box::new(block.spot(row, Some(&quoted(key))));
                let (value, data_type) = (quoted(value), "the table".to_owned());
                let inferred = self.readings.first().is_some_and(|reading| reading.inferred);
                if inferred {
                    FileError::Widen { spot, value, data_type, reason: reject.reason }
                } else {
                    FileError::UnknownColumn {
                        path: block.path.as_ref().clone(),
                        column: quoted(key),
                    }
                }
            }
            None => {
                let spot = Box::new(block.spot(row, None));
                FileError::Json { spot, at: cursor.at() + 1, reason: reject.reason }
            }
        }
    }
}

/// A conversion that Arrow refused: wrong code, or a type that has no builder.
fn wrong(block: &Block, source: ArrowError) -> FileError {
    let place = format!("rows from {}", block.first_row);
    FileError::Arrow { path: block.path.as_ref().clone(), place, source }
}

enum Key {
    Column(usize),
    Unknown(Vec<u8>),
}

/// Reads the objects of JSON lines into builders.
struct Object<'a> {
    target: &'a Target,
    builders: Vec<Box<dyn Build>>,
    /// The row in which a column was last given.
    last_row: Vec<usize>,
    /// Where the next key is expected: objects mostly repeat each other's order.
    expected: usize,
    /// What is being read, for messages, and where its value starts.
    current: Option<Key>,
    value_at: usize,
}

impl Object<'_> {
    fn read(&mut self, cursor: &mut Cursor<'_>, row: usize) -> Result<(), Reject> {
        self.expected = 0;
        self.current = None;
        if cursor.token()? != Token::Open(b'{') {
            return Err(NOT_OBJECT);
        }
        cursor.entries(|cursor, key| self.entry(cursor, &key, row))?;
        self.current = None;
        cursor.end()?;
        for (column, builder) in self.builders.iter_mut().enumerate() {
            if self.last_row[column] != row {
                self.current = Some(Key::Column(column));
                builder.null().or(Err(MISSING))?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, cursor: &mut Cursor<'_>, key: &[u8], row: usize) -> Result<(), Reject> {
        self.value_at = cursor.start();
        let Some(column) = self.column(key) else {
            if self.target.skip_unknown {
                return cursor.skip().map(drop);
            }
            self.current = Some(Key::Unknown(key.to_vec()));
            cursor.skip()?;
            return Err(UNKNOWN_KEY);
        };
        self.expected = column + 1;
        self.current = Some(Key::Column(column));
        if std::mem::replace(&mut self.last_row[column], row) == row {
            return Err(TWICE);
        }
        self.builders[column].literal(cursor)
    }

    fn column(&self, key: &[u8]) -> Option<usize> {
        let next = self.target.readings.get(self.expected);
        if next.is_some_and(|reading| reading.column.name.as_bytes() == key) {
            return Some(self.expected);
        }
        let found = self.target.index.get(key).copied();
        found.or_else(|| {
            let any_case = &self.target.any_case;
            if any_case.is_empty() {
                None
            } else {
                any_case.get(&key.to_ascii_lowercase()).copied()
            }
        })
    }
}
