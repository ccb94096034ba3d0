//! JSON with a row after the other: whole documents with metadata, or a value per line.

use super::{Columns, Effort, Form, Head};
use crate::FileError;
use crate::output::style::Style;
use crate::output::value::Text;
use arrow_array::RecordBatch;

/// `strings`: every value is a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `JSON`: a document with an object per row, a line per value.
    Objects { strings: bool },
    /// `JSONCompact`: a document with an array per row.
    Arrays { strings: bool },
    /// `JSONEachRow`.
    ObjectLines { strings: bool },
    /// `JSONCompactEachRow`.
    ArrayLines { strings: bool },
    /// `JSONObjectEachRow`: a document with an object per row, `row_1` and so on.
    Numbered,
}

impl Kind {
    pub(super) const fn has_heads(self) -> bool {
        matches!(self, Self::ArrayLines { .. })
    }

    const fn strings(self) -> bool {
        match self {
            Self::Objects { strings }
            | Self::Arrays { strings }
            | Self::ObjectLines { strings }
            | Self::ArrayLines { strings } => strings,
            Self::Numbered => false,
        }
    }

    const fn is_document(self) -> bool {
        matches!(self, Self::Objects { .. } | Self::Arrays { .. })
    }
}

pub(super) struct Json {
    kind: Kind,
    head: Head,
    columns: Columns,
    keys: Vec<Vec<u8>>,
    rows: u64,
    scratch: Vec<u8>,
    /// What stands between the rows and their number.
    totals: Vec<u8>,
}

impl Json {
    pub(super) fn new(kind: Kind, head: Head, columns: Columns) -> Self {
        let keys = columns.names.iter().map(|name| quoted(name)).collect();
        Self { kind, head, columns, keys, rows: 0, scratch: Vec::new(), totals: Vec::new() }
    }

    fn line(fields: &[String], target: &mut Vec<u8>) {
        let fields: Vec<Vec<u8>> = fields.iter().map(|field| quoted(field)).collect();
        target.push(b'[');
        target.extend_from_slice(&fields.join(&b", "[..]));
        target.extend_from_slice(b"]\n");
    }

    fn value(&mut self, text: &Text<'_>, row: usize, target: &mut Vec<u8>) {
        if self.kind.strings() {
            self.scratch.clear();
            text.write(row, &mut self.scratch);
            Style::StrictJson.string(&self.scratch, target);
        } else if matches!(self.kind, Kind::Objects { .. }) {
            text.write_indented(row, 3, target);
        } else {
            text.write(row, target);
        }
    }

    /// Before the row, between its fields, after it.
    fn frame(&self) -> [&'static [u8]; 3] {
        let is_first = self.rows == 0;
        match self.kind {
            Kind::Objects { .. } if is_first => [b"\t\t{\n\t\t\t", b",\n\t\t\t", b"\n\t\t}"],
            Kind::Objects { .. } => [b",\n\t\t{\n\t\t\t", b",\n\t\t\t", b"\n\t\t}"],
            Kind::Arrays { .. } if is_first => [b"\t\t[", b", ", b"]"],
            Kind::Arrays { .. } => [b",\n\t\t[", b", ", b"]"],
            Kind::ObjectLines { .. } => [b"{", b",", b"}\n"],
            Kind::ArrayLines { .. } => [b"[", b", ", b"]\n"],
            Kind::Numbered => [b"{", b",", b"}"],
        }
    }
}

impl Form for Json {
    fn head(&mut self, target: &mut Vec<u8>) {
        match self.kind {
            Kind::Objects { .. } | Kind::Arrays { .. } => {
                metadata(&self.columns, target);
                target.extend_from_slice(b"\t\"data\":\n\t[\n");
            }
            Kind::Numbered => target.extend_from_slice(b"{\n"),
            _ => {
                if self.head != Head::None {
                    Self::line(&self.columns.names, target);
                }
                if self.head == Head::NamesAndTypes {
                    Self::line(&self.columns.type_names(), target);
                }
            }
        }
    }

    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let style = if self.kind.strings() { Style::Shown } else { Style::StrictJson };
        let texts = self.columns.texts(batch, style)?;
        let separator: &[u8] = if matches!(self.kind, Kind::Objects { .. }) { b": " } else { b":" };
        let with_keys = !matches!(self.kind, Kind::Arrays { .. } | Kind::ArrayLines { .. });
        for row in 0..batch.num_rows() {
            let [before, between, after] = self.frame();
            if self.kind == Kind::Numbered {
                let comma = if self.rows > 0 { ",\n" } else { "" };
                target
                    .extend_from_slice(format!("{comma}\t\"row_{}\": ", self.rows + 1).as_bytes());
            }
            target.extend_from_slice(before);
            for (index, text) in texts.iter().enumerate() {
                if index > 0 {
                    target.extend_from_slice(between);
                }
                if with_keys {
                    target.extend_from_slice(&self.keys[index]);
                    target.extend_from_slice(separator);
                }
                self.value(text, row, target);
            }
            target.extend_from_slice(after);
            self.rows += 1;
        }
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FileError> {
        if !self.kind.is_document() || batch.num_rows() == 0 {
            return Ok(());
        }
        let style = if self.kind.strings() { Style::Shown } else { Style::StrictJson };
        let texts = self.columns.texts(batch, style)?;
        let is_object = matches!(self.kind, Kind::Objects { .. });
        let [before, between, after]: [&[u8]; 3] = if is_object {
            [b"\t\"totals\":\n\t{\n\t\t", b",\n\t\t", b"\n\t},\n\n"]
        } else {
            [b"\t\"totals\": [", b", ", b"],\n\n"]
        };
        let mut target = before.to_vec();
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                target.extend_from_slice(between);
            }
            if is_object {
                target.extend_from_slice(&self.keys[index]);
                target.extend_from_slice(b": ");
            }
            if self.kind.strings() {
                self.scratch.clear();
                text.write(0, &mut self.scratch);
                Style::StrictJson.string(&self.scratch, &mut target);
            } else if is_object {
                text.write_indented(0, 2, &mut target);
            } else {
                text.write(0, &mut target);
            }
        }
        target.extend_from_slice(after);
        self.totals = target;
        Ok(())
    }

    fn tail(&mut self, effort: &Effort, target: &mut Vec<u8>) -> Result<(), FileError> {
        if self.kind.is_document() {
            target.extend_from_slice(b"\n\t],\n\n");
            target.extend_from_slice(&self.totals);
            statistics(self.rows, effort, target);
        } else if self.kind == Kind::Numbered {
            target.extend_from_slice(b"\n}\n");
        }
        Ok(())
    }

    fn is_text(&self) -> bool {
        self.kind.is_document()
    }
}

pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut quoted = Vec::new();
    Style::StrictJson.string(text.as_bytes(), &mut quoted);
    quoted
}

/// `{"meta": [...],`: how a document begins.
pub(super) fn metadata(columns: &Columns, target: &mut Vec<u8>) {
    target.extend_from_slice(b"{\n\t\"meta\":\n\t[\n");
    for (index, (name, data_type)) in columns.names.iter().zip(columns.type_names()).enumerate() {
        target.extend_from_slice(if index > 0 { b",\n\t\t{\n" } else { b"\t\t{\n" });
        target.extend_from_slice(b"\t\t\t\"name\": ");
        target.extend_from_slice(&quoted(name));
        target.extend_from_slice(b",\n\t\t\t\"type\": ");
        target.extend_from_slice(&quoted(&data_type));
        target.extend_from_slice(b"\n\t\t}");
    }
    target.extend_from_slice(b"\n\t],\n\n");
}

/// `"rows": …, "statistics": …}`: how a document ends.
pub(super) fn statistics(rows: u64, effort: &Effort, target: &mut Vec<u8>) {
    let text = format!(
        "\t\"rows\": {rows},\n\n\t\"statistics\":\n\t{{\n\t\t\"elapsed\": {},\n\t\t\"rows_read\": {},\n\t\t\"bytes_read\": {}\n\t}}\n}}\n",
        effort.elapsed.as_secs_f64(),
        effort.rows,
        effort.bytes
    );
    target.extend_from_slice(text.as_bytes());
}
