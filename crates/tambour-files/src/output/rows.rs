//! CSV, TSV and JSON lines: a line per row.

use super::Output;
use super::style::Style;
use super::value::Text;
use crate::FileError;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::io::Write;

/// Text is collected up to this many bytes before it goes to the target.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes a line per row.
pub(super) struct Rows<'a> {
    target: Box<dyn Write + Send + 'a>,
    schema: SchemaRef,
    style: Style,
    delimiter: u8,
    /// Before each value: nothing, or the key of JSON.
    keys: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

impl<'a> Rows<'a> {
    /// CSV or TSV, with a line of names if `header`.
    pub(super) fn delimited(
        target: Box<dyn Write + Send + 'a>,
        schema: &SchemaRef,
        header: bool,
        style: Style,
    ) -> Result<Self, FileError> {
        let delimiter = if style == Style::Tsv { b'\t' } else { b',' };
        let mut buffer = Vec::new();
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                buffer.push(delimiter);
            }
            style.string(field.name().as_bytes(), &mut buffer);
        }
        buffer.push(b'\n');
        if !header {
            buffer.clear();
        }
        let keys = vec![Vec::new(); schema.fields().len()];
        let mut rows = Self { target, schema: schema.clone(), style, delimiter, keys, buffer };
        rows.flush(0)?;
        Ok(rows)
    }

    pub(super) fn json(target: Box<dyn Write + Send + 'a>, schema: &SchemaRef) -> Self {
        let key = |name: &str| {
            let mut key = Vec::new();
            Style::Json.string(name.as_bytes(), &mut key);
            key.push(b':');
            key
        };
        let keys = schema.fields().iter().map(|field| key(field.name())).collect();
        let schema = schema.clone();
        Self { target, schema, style: Style::Json, delimiter: b',', keys, buffer: Vec::new() }
    }

    /// Hands the buffer on if it holds more than this many bytes.
    fn flush(&mut self, more_than: usize) -> Result<(), FileError> {
        if self.buffer.len() > more_than {
            self.target.write_all(&self.buffer).map_err(|source| FileError::Write { source })?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Output for Rows<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let schema = self.schema.clone();
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(array, field)| Text::new(array.as_ref(), field, self.style));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let json = self.style == Style::Json;
        for row in 0..batch.num_rows() {
            if json {
                self.buffer.push(b'{');
            }
            for (index, (column, key)) in columns.iter().zip(&self.keys).enumerate() {
                if index > 0 {
                    self.buffer.push(self.delimiter);
                }
                self.buffer.extend_from_slice(key);
                column.write(row, &mut self.buffer);
            }
            if json {
                self.buffer.push(b'}');
            }
            self.buffer.push(b'\n');
            self.flush(BUFFER_BYTES)?;
        }
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        if self.style == Style::Json {
            return Ok(());
        }
        self.buffer.push(b'\n');
        self.write(batch)
    }

    fn finish(mut self: Box<Self>) -> Result<(), FileError> {
        self.flush(0)?;
        self.target.flush().map_err(|source| FileError::Write { source })
    }
}
