//! A line per row, fields between separators: TabSeparated, TabSeparatedRaw, TSKV, CSV, Values, SQLInsert, Markdown.

use super::{Columns, Form, Head};
use crate::FileError;
use crate::output::style::Style;
use crate::output::value::Text;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use tambour_part::DataType;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tsv,
    Raw,
    Tskv,
    Csv,
    Values,
    Insert,
    Markdown,
}

/// Rows of an INSERT statement of SQLInsert.
const INSERT_ROWS: u64 = 65_409;

impl Kind {
    pub(super) const fn has_heads(self) -> bool {
        matches!(self, Self::Tsv | Self::Raw | Self::Csv)
    }

    const fn style(self) -> Style {
        match self {
            Self::Tsv | Self::Tskv | Self::Markdown => Style::Tsv,
            Self::Raw => Style::Raw,
            Self::Csv => Style::QuotedCsv,
            Self::Values | Self::Insert => Style::Literal,
        }
    }

    /// Before, between and after the fields of a row.
    const fn frame(self) -> [&'static [u8]; 3] {
        match self {
            Self::Tsv | Self::Raw | Self::Tskv => [b"", b"\t", b"\n"],
            Self::Csv => [b"", b",", b"\n"],
            Self::Values => [b"(", b",", b")"],
            Self::Insert => [b"(", b", ", b")"],
            Self::Markdown => [b"| ", b" | ", b" |\n"],
        }
    }
}

pub(super) struct Rows {
    kind: Kind,
    head: Head,
    columns: Columns,
    /// `name=` of TSKV.
    keys: Vec<Vec<u8>>,
    written: u64,
}

impl Rows {
    pub(super) fn new(kind: Kind, head: Head, columns: Columns) -> Self {
        let key = |name: &String| {
            let mut key = Vec::new();
            for byte in name.bytes() {
                if byte == b'=' {
                    key.push(b'\\');
                }
                // A quote needs no escape in a key, all else is as in a value.
                if byte == b'\'' { key.push(byte) } else { Style::Tsv.string(&[byte], &mut key) }
            }
            key.push(b'=');
            key
        };
        let keys = match kind {
            Kind::Tskv => columns.names.iter().map(key).collect(),
            _ => Vec::new(),
        };
        Self { kind, head, columns, keys, written: 0 }
    }

    fn line(&self, fields: &[String], target: &mut Vec<u8>) {
        let [before, between, after] = self.kind.frame();
        target.extend_from_slice(before);
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                target.extend_from_slice(between);
            }
            self.kind.style().string(field.as_bytes(), target);
        }
        target.extend_from_slice(after);
    }

    /// `INSERT INTO table (…) VALUES `.
    fn statement(&self, target: &mut Vec<u8>) {
        target.extend_from_slice(b"INSERT INTO table (");
        for (index, name) in self.columns.names.iter().enumerate() {
            target.extend_from_slice(if index > 0 { b", `" } else { b"`" });
            target.extend_from_slice(name.replace('`', "``").as_bytes());
            target.push(b'`');
        }
        target.extend_from_slice(b") VALUES ");
    }

    /// What stands before a row that is not the first of its line.
    fn separate(&self, target: &mut Vec<u8>) {
        match self.kind {
            Kind::Values if self.written > 0 => target.push(b','),
            Kind::Insert if self.written.is_multiple_of(INSERT_ROWS) => {
                if self.written > 0 {
                    target.extend_from_slice(b";\n");
                }
                self.statement(target);
            }
            Kind::Insert => target.extend_from_slice(b", "),
            _ => {}
        }
    }
}

impl Form for Rows {
    fn head(&mut self, target: &mut Vec<u8>) {
        let names = &self.columns.names;
        let (mut names, mut types) = (names.clone(), self.columns.type_names());
        if self.kind == Kind::Csv {
            let flat: Vec<(String, String)> = names
                .iter()
                .zip(&self.columns.types)
                .zip(types)
                .flat_map(|((name, data_type), text)| flat(name, data_type.as_ref(), text))
                .collect();
            (names, types) = flat.into_iter().unzip();
        }
        if self.head != Head::None || self.kind == Kind::Markdown {
            self.line(&names, target);
        }
        if self.head == Head::NamesAndTypes {
            self.line(&types, target);
        }
        if self.kind == Kind::Markdown {
            target.push(b'|');
            for index in 0..names.len() {
                let side: &[u8] = if self.columns.is_right(index) { b"-:|" } else { b":-|" };
                target.extend_from_slice(side);
            }
            target.push(b'\n');
        }
    }

    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let style = self.kind.style();
        let mut columns = Vec::new();
        if self.kind == Kind::Csv {
            for (array, data_type) in batch.columns().iter().zip(&self.columns.types) {
                flat_texts(array.as_ref(), data_type.as_ref(), style, &mut columns)?;
            }
        } else {
            columns = self.columns.texts(batch, style)?;
        }
        let [before, between, after] = self.kind.frame();
        for row in 0..batch.num_rows() {
            self.separate(target);
            target.extend_from_slice(before);
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    target.extend_from_slice(between);
                }
                if let Some(key) = self.keys.get(index) {
                    target.extend_from_slice(key);
                }
                column.write(row, target);
            }
            target.extend_from_slice(after);
            self.written += 1;
        }
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        if !matches!(self.kind, Kind::Tsv | Kind::Raw | Kind::Csv) {
            return Ok(());
        }
        target.push(b'\n');
        self.rows(batch, target)
    }

    fn tail(&mut self, _: &super::Effort, target: &mut Vec<u8>) -> Result<(), FileError> {
        if self.kind == Kind::Insert {
            target.extend_from_slice(b";\n");
        }
        Ok(())
    }
}

/// In CSV the elements of a tuple are columns of their own.
fn flat(name: &str, data_type: Option<&DataType>, text: String) -> Vec<(String, String)> {
    let Some(DataType::Tuple(elements)) = data_type else { return vec![(name.to_owned(), text)] };
    let elements = elements.iter().enumerate();
    elements
        .flat_map(|(index, (element, inner))| {
            let element = element.clone().unwrap_or_else(|| (index + 1).to_string());
            flat(&format!("{name}.{element}"), Some(inner), inner.to_string())
        })
        .collect()
}

fn flat_texts<'a>(
    array: &'a dyn Array,
    data_type: Option<&DataType>,
    style: Style,
    texts: &mut Vec<Text<'a>>,
) -> Result<(), FileError> {
    if let (Some(DataType::Tuple(elements)), Some(values)) = (data_type, array.as_struct_opt()) {
        for ((_, inner), column) in elements.iter().zip(values.columns()) {
            flat_texts(column.as_ref(), Some(inner), style, texts)?;
        }
        return Ok(());
    }
    let text = Text::typed(array, data_type, style)
        .map_err(|source| FileError::Encode { format: "CSV", source })?;
    texts.push(text);
    Ok(())
}
