//! Results in ClickHouse's own formats, byte for byte: a format by the name that ClickHouse gives it, in `FORMAT …` or on the
//! command line. The words of Tambour's own formats are [`Format`](crate::Format).
//!
//! A family of formats is a [`Form`]: what comes first, what rows become, what comes last. Rows go through a buffer of
//! bounded size; the formats with a column after the other keep the result, as ClickHouse does.

mod binary;
mod columns;
mod json;
mod people;
mod rows;
mod tip;
mod utf8;
mod xml;

use super::Output;
use super::style::Style;
use super::value::Text;
use crate::FileError;
use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};
use std::io::Write;
use std::time::Duration;
use tambour_part::DataType;

/// Rows that are written before the buffer is looked at.
const STEP_ROWS: usize = 256;
/// Bytes that are collected before they go to the target.
const BUFFER_BYTES: usize = 256 << 10;

/// One of ClickHouse's formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultFormat {
    family: Family,
    head: Head,
}

/// Lines that come before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    None,
    Names,
    NamesAndTypes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Delimited(rows::Kind),
    Json(json::Kind),
    Columns(columns::Kind),
    People(people::Kind),
    Xml,
    RowBinary,
    Native,
    ArrowFile,
    ArrowStream,
    Parquet,
    Null,
}

/// What a query did: some formats tell of it at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Time since the query began.
    pub elapsed: Duration,
    /// Rows that were read.
    pub rows: u64,
    /// Bytes that were read, decompressed.
    pub bytes: u64,
}

impl ResultFormat {
    /// The format of a name, in any case: ClickHouse asks for none.
    pub fn of(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let (base, head) = if let Some(base) = lower.strip_suffix("withnamesandtypes") {
            (base, Head::NamesAndTypes)
        } else if let Some(base) = lower.strip_suffix("withnames") {
            (base, Head::Names)
        } else {
            (lower.as_str(), Head::None)
        };
        let family = family(base)?;
        (head == Head::None || family.has_heads()).then_some(Self { family, head })
    }

    /// True if the name is written as ClickHouse writes it: in lower case it is a word of the command line.
    pub fn is_spelled(name: &str) -> bool {
        name.contains(|c: char| c.is_ascii_uppercase()) && Self::of(name).is_some()
    }

    /// Begins a result.
    pub fn write<'a>(
        self,
        schema: &SchemaRef,
        target: Box<dyn Write + Send + 'a>,
    ) -> Result<Box<dyn ResultOutput + 'a>, FileError> {
        let columns = Columns::of(schema);
        let form: Box<dyn Form> = match self.family {
            Family::Delimited(kind) => Box::new(rows::Rows::new(kind, self.head, columns)),
            Family::Json(kind) => Box::new(json::Json::new(kind, self.head, columns)),
            Family::Columns(kind) => Box::new(columns::ByColumn::new(kind, columns)),
            Family::People(kind) => Box::new(people::Page::new(kind, columns)),
            Family::Xml => Box::new(xml::Xml::new(columns)),
            Family::RowBinary => Box::new(binary::RowBinary::new(self.head, columns)),
            Family::Native => Box::new(binary::Native::new(columns)),
            Family::ArrowFile => {
                return Ok(Box::new(Plain(Box::new(super::columnar::Arrow::file(
                    target, schema,
                )?))));
            }
            Family::ArrowStream => {
                return Ok(Box::new(Plain(Box::new(super::columnar::Arrow::stream(
                    target, schema,
                )?))));
            }
            Family::Parquet => {
                return Ok(Box::new(Plain(Box::new(super::columnar::Parquet::new(
                    target, schema,
                )?))));
            }
            Family::Null => Box::new(Nothing),
        };
        Writer::begin(form, target).map(|writer| Box::new(writer) as Box<dyn ResultOutput + 'a>)
    }
}

impl Family {
    const fn has_heads(self) -> bool {
        match self {
            Self::Delimited(kind) => kind.has_heads(),
            Self::Json(kind) => kind.has_heads(),
            Self::RowBinary => true,
            _ => false,
        }
    }
}

fn family(name: &str) -> Option<Family> {
    use columns::Kind as ByColumn;
    use json::Kind as Json;
    use rows::Kind as Rows;
    Some(match name {
        "tsv" | "tabseparated" => Family::Delimited(Rows::Tsv),
        "tsvraw" | "tabseparatedraw" | "raw" | "lineasstring" => Family::Delimited(Rows::Raw),
        "tskv" => Family::Delimited(Rows::Tskv),
        "csv" => Family::Delimited(Rows::Csv),
        "values" => Family::Delimited(Rows::Values),
        "sqlinsert" => Family::Delimited(Rows::Insert),
        "markdown" | "md" => Family::Delimited(Rows::Markdown),
        "json" => Family::Json(Json::Objects { strings: false }),
        "jsonstrings" => Family::Json(Json::Objects { strings: true }),
        "jsoncompact" => Family::Json(Json::Arrays { strings: false }),
        "jsoncompactstrings" => Family::Json(Json::Arrays { strings: true }),
        "jsoneachrow" | "jsonlines" | "jsonl" | "ndjson" => {
            Family::Json(Json::ObjectLines { strings: false })
        }
        "jsonstringseachrow" => Family::Json(Json::ObjectLines { strings: true }),
        "jsoncompacteachrow" => Family::Json(Json::ArrayLines { strings: false }),
        "jsoncompactstringseachrow" => Family::Json(Json::ArrayLines { strings: true }),
        "jsonobjecteachrow" => Family::Json(Json::Numbered),
        "jsoncolumns" => Family::Columns(ByColumn::Named),
        "jsoncompactcolumns" => Family::Columns(ByColumn::Unnamed),
        "jsoncolumnswithmetadata" => Family::Columns(ByColumn::Described),
        "vertical" => Family::People(people::Kind::Vertical),
        "xml" => Family::Xml,
        "rowbinary" => Family::RowBinary,
        "native" => Family::Native,
        "arrow" => Family::ArrowFile,
        "arrowstream" => Family::ArrowStream,
        "parquet" => Family::Parquet,
        "null" => Family::Null,
        other => return pretty(other),
    })
}

/// `Pretty…`: colours are for terminals, and blocks of a result are one here.
fn pretty(name: &str) -> Option<Family> {
    let rest = name.strip_prefix("pretty")?;
    let rest = rest.strip_suffix("monoblock").unwrap_or(rest);
    let rest = rest.strip_suffix("noescapes").unwrap_or(rest);
    Some(Family::People(match rest {
        "" => people::Kind::Full,
        "compact" => people::Kind::Compact,
        "space" => people::Kind::Space,
        _ => return None,
    }))
}

/// Takes the batches of one result.
pub trait ResultOutput {
    /// Writes rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError>;
    /// Writes the row of WITH TOTALS, if the format has a place for it.
    fn totals(&mut self, _: &RecordBatch) -> Result<(), FileError> {
        Ok(())
    }
    /// Writes what comes at the end.
    fn finish(self: Box<Self>, effort: &Effort) -> Result<(), FileError>;
}

/// What one family of formats writes.
trait Form: Send {
    /// What comes first.
    fn head(&mut self, _: &mut Vec<u8>) {}
    /// A few rows.
    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError>;
    /// The row of totals, which comes after the others or is kept for the end.
    fn totals(&mut self, _: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FileError> {
        Ok(())
    }
    /// What comes last.
    fn tail(&mut self, _: &Effort, _: &mut Vec<u8>) -> Result<(), FileError> {
        Ok(())
    }
    /// Rows that it takes at once.
    fn step(&self) -> usize {
        STEP_ROWS
    }
    /// Whether bytes that are not UTF-8 have to be replaced.
    fn is_text(&self) -> bool {
        false
    }
}

/// The columns of a result.
struct Columns {
    schema: SchemaRef,
    names: Vec<String>,
    types: Vec<Option<DataType>>,
}

impl Columns {
    fn of(schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let types = schema.fields().iter().map(|field| DataType::from_field(field).ok()).collect();
        Self { schema: schema.clone(), names, types }
    }

    /// The name of a column's type.
    fn type_name(&self, index: usize) -> String {
        match &self.types[index] {
            Some(data_type) => data_type.to_string(),
            None => name_of_nothing(self.schema.field(index)),
        }
    }

    fn type_names(&self) -> Vec<String> {
        (0..self.names.len()).map(|index| self.type_name(index)).collect()
    }

    /// The values of a batch.
    fn texts<'b>(&self, batch: &'b RecordBatch, style: Style) -> Result<Vec<Text<'b>>, FileError> {
        let columns = batch.columns().iter().zip(&self.types);
        columns
            .map(|(array, data_type)| {
                Text::typed(array.as_ref(), data_type.as_ref(), style)
                    .map_err(|source| FileError::Encode { format: "text", source })
            })
            .collect()
    }

    /// Whether a column holds numbers, which stand to the right; dates do too.
    fn is_right(&self, index: usize) -> bool {
        use DataType as T;
        match self.types[index].as_ref().map(DataType::unwrapped) {
            None
            | Some(
                T::Bool
                | T::String
                | T::FixedString(_)
                | T::Uuid
                | T::Ipv4
                | T::Ipv6
                | T::Enum8(_)
                | T::Enum16(_)
                | T::Array(_)
                | T::Tuple(_)
                | T::Map(..),
            ) => false,
            Some(_) => true,
        }
    }

    /// Whether a column holds numbers.
    fn is_number(&self, index: usize) -> bool {
        use DataType as T;
        let data_type = self.types[index].as_ref().map(DataType::unwrapped);
        let is_time = matches!(
            data_type,
            Some(T::Date | T::Date32 | T::DateTime { .. } | T::DateTime64 { .. })
        );
        self.is_right(index) && !is_time
    }
}

/// The name of a type with values of no type in it, which no part holds: `[]` is an Array(Nothing).
fn name_of_nothing(field: &Field) -> String {
    match field.data_type() {
        arrow_schema::DataType::Null if field.is_nullable() => "Nullable(Nothing)".to_owned(),
        arrow_schema::DataType::Null => "Nothing".to_owned(),
        arrow_schema::DataType::List(item) => format!("Array({})", name_of_nothing(item)),
        other => other.to_string(),
    }
}

/// A form and where it goes to.
struct Writer<'a> {
    form: Box<dyn Form>,
    target: Box<dyn Write + Send + 'a>,
    buffer: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn begin(
        mut form: Box<dyn Form>,
        target: Box<dyn Write + Send + 'a>,
    ) -> Result<Self, FileError> {
        let mut buffer = Vec::new();
        form.head(&mut buffer);
        let mut writer = Self { form, target, buffer };
        writer.flush(0)?;
        Ok(writer)
    }

    /// Hands the buffer on if it holds more than this many bytes.
    fn flush(&mut self, more_than: usize) -> Result<(), FileError> {
        if self.buffer.len() <= more_than {
            return Ok(());
        }
        let written = if self.form.is_text() {
            self.target.write_all(&utf8::replaced(&self.buffer))
        } else {
            self.target.write_all(&self.buffer)
        };
        self.buffer.clear();
        written.map_err(|source| FileError::Write { source })
    }
}

impl ResultOutput for Writer<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        let step = self.form.step();
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = step.min(batch.num_rows() - at);
            self.form.rows(&batch.slice(at, rows), &mut self.buffer)?;
            self.flush(BUFFER_BYTES)?;
            at += rows;
        }
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.form.totals(batch, &mut self.buffer)
    }

    fn finish(mut self: Box<Self>, effort: &Effort) -> Result<(), FileError> {
        self.form.tail(effort, &mut self.buffer)?;
        self.flush(0)?;
        self.target.flush().map_err(|source| FileError::Write { source })
    }
}

/// A file of one of the columnar formats.
struct Plain<'a>(Box<dyn Output + 'a>);

impl ResultOutput for Plain<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.0.write(batch)
    }
    fn finish(self: Box<Self>, _: &Effort) -> Result<(), FileError> {
        self.0.finish()
    }
}

/// `FORMAT Null`.
struct Nothing;

impl Form for Nothing {
    fn rows(&mut self, _: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FileError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats() {
        for name in
            ["TSV", "CSVWithNames", "JSONCompactEachRowWithNamesAndTypes", "PrettySpaceNoEscapes"]
        {
            assert!(ResultFormat::is_spelled(name), "{name}");
        }
        assert!(!ResultFormat::is_spelled("csv"));
        assert_eq!(ResultFormat::of("csvwithnames"), ResultFormat::of("CSVWithNames"));
        for name in ["JSONWithNames", "Protobuf", "PrettyWide", "table"] {
            assert_eq!(ResultFormat::of(name), None, "{name}");
        }
    }
}
