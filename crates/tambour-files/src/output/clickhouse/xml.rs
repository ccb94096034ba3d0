//! XML.

use super::{Columns, Effort, Form};
use crate::FileError;
use crate::output::style::Style;
use arrow_array::RecordBatch;

pub(super) struct Xml {
    columns: Columns,
    tags: Vec<String>,
    rows: u64,
    totals: Vec<u8>,
}

impl Xml {
    pub(super) fn new(columns: Columns) -> Self {
        let tags = columns.names.iter().map(|name| tag(name).to_owned()).collect();
        Self { columns, tags, rows: 0, totals: Vec::new() }
    }
}

/// A name that can be an element's, or `field`.
fn tag(name: &str) -> &str {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_inner = |c: char| is_start(c) || c.is_ascii_digit() || c == '-' || c == '.';
    let is_fine = name.starts_with(is_start) && name.chars().all(is_inner);
    if is_fine { name } else { "field" }
}

impl Form for Xml {
    fn head(&mut self, target: &mut Vec<u8>) {
        target.extend_from_slice(
            b"<?xml version='1.0' encoding='UTF-8' ?>\n<result>\n\t<meta>\n\t\t<columns>\n",
        );
        for (name, data_type) in self.columns.names.iter().zip(self.columns.type_names()) {
            target.extend_from_slice(b"\t\t\t<column>\n\t\t\t\t<name>");
            Style::Xml.string(name.as_bytes(), target);
            target.extend_from_slice(b"</name>\n\t\t\t\t<type>");
            Style::Xml.string(data_type.as_bytes(), target);
            target.extend_from_slice(b"</type>\n\t\t\t</column>\n");
        }
        target.extend_from_slice(b"\t\t</columns>\n\t</meta>\n\t<data>\n");
    }

    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let texts = self.columns.texts(batch, Style::Xml)?;
        for row in 0..batch.num_rows() {
            target.extend_from_slice(b"\t\t<row>\n");
            for (text, tag) in texts.iter().zip(&self.tags) {
                target.extend_from_slice(format!("\t\t\t<{tag}>").as_bytes());
                text.write(row, target);
                target.extend_from_slice(format!("</{tag}>\n").as_bytes());
            }
            target.extend_from_slice(b"\t\t</row>\n");
            self.rows += 1;
        }
        Ok(())
    }

    fn totals(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FileError> {
        let texts = self.columns.texts(batch, Style::Xml)?;
        self.totals = b"\t<totals>\n".to_vec();
        for (text, tag) in texts.iter().zip(&self.tags) {
            self.totals.extend_from_slice(format!("\t\t<{tag}>").as_bytes());
            text.write(0, &mut self.totals);
            self.totals.extend_from_slice(format!("</{tag}>\n").as_bytes());
        }
        self.totals.extend_from_slice(b"\t</totals>\n");
        Ok(())
    }

    fn tail(&mut self, effort: &Effort, target: &mut Vec<u8>) -> Result<(), FileError> {
        target.extend_from_slice(b"\t</data>\n");
        target.extend_from_slice(&self.totals);
        let text = format!(
            "\t<rows>{}</rows>\n\t<statistics>\n\t\t<elapsed>{}</elapsed>\n\t\t<rows_read>{}</rows_read>\n\t\t<bytes_read>{}</bytes_read>\n\t</statistics>\n</result>\n",
            self.rows,
            effort.elapsed.as_secs_f64(),
            effort.rows,
            effort.bytes
        );
        target.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn is_text(&self) -> bool {
        true
    }
}
