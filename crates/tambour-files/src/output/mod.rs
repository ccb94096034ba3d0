//! Rows into interchange files.

mod clickhouse;
mod clock;
mod columnar;
#[cfg(test)]
mod laws;
mod rows;
mod style;
mod value;

pub use clickhouse::{Effort, ResultFormat, ResultOutput};
pub use style::Style;
pub use value::{Text, write_text};

use crate::{FileError, Format};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::io::Write;

/// Writes batches of one schema to a file or stream.
pub trait Output {
    /// Writes rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError>;
    /// Writes the row of totals, if the format has a place for it.
    fn totals(&mut self, _: &RecordBatch) -> Result<(), FileError> {
        Ok(())
    }
    /// Writes what comes at the end.
    fn finish(self: Box<Self>) -> Result<(), FileError>;
}

/// An output of a format over a writer; `schema` is that of the batches (ClickHouse types in the field metadata decide how
/// enums, UUIDs, IPs and big integers are written). CSV and TSV start with a line of names.
pub fn output<'a>(
    format: Format,
    schema: &SchemaRef,
    target: Box<dyn Write + Send + 'a>,
) -> Result<Box<dyn Output + 'a>, FileError> {
    output_with(format, schema, true, target)
}

/// [`output`] with or without the line of names that CSV and TSV start with.
pub fn output_with<'a>(
    format: Format,
    schema: &SchemaRef,
    header: bool,
    target: Box<dyn Write + Send + 'a>,
) -> Result<Box<dyn Output + 'a>, FileError> {
    Ok(match format {
        Format::Csv => Box::new(rows::Rows::delimited(target, schema, header, Style::Csv)?),
        Format::Tsv => Box::new(rows::Rows::delimited(target, schema, header, Style::Tsv)?),
        Format::JsonLines => Box::new(rows::Rows::json(target, schema)),
        Format::Parquet => Box::new(columnar::Parquet::new(target, schema)?),
        Format::ArrowIpc => Box::new(columnar::Arrow::file(target, schema)?),
    })
}
