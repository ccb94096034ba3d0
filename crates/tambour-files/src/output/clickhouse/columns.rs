//! JSON with a column after the other. It begins when the result is complete, so the result is kept until then.

use super::json::{metadata, quoted, statistics};
use super::{Columns, Effort, Form};
use crate::FileError;
use crate::output::style::Style;
use crate::output::value::Text;
use arrow_array::RecordBatch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `JSONColumns`.
    Named,
    /// `JSONCompactColumns`.
    Unnamed,
    /// `JSONColumnsWithMetadata`.
    Described,
}

pub(super) struct ByColumn {
    kind: Kind,
    columns: Columns,
    batches: Vec<RecordBatch>,
}

impl ByColumn {
    pub(super) fn new(kind: Kind, columns: Columns) -> Self {
        Self { kind, columns, batches: Vec::new() }
    }

    fn column(&self, index: usize, target: &mut Vec<u8>) -> Result<(), FileError> {
        target.push(b'[');
        let mut is_first = true;
        for batch in &self.batches {
            let data_type = self.columns.types[index].as_ref();
            let text = Text::typed(batch.column(index).as_ref(), data_type, Style::StrictJson)
                .map_err(|source| FileError::Encode { format: "JSON", source })?;
            for row in 0..batch.num_rows() {
                if !is_first {
                    target.extend_from_slice(b", ");
                }
                is_first = false;
                text.write(row, target);
            }
        }
        target.push(b']');
        Ok(())
    }
}

impl Form for ByColumn {
    fn rows(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FileError> {
        self.batches.push(batch.clone());
        Ok(())
    }

    fn tail(&mut self, effort: &Effort, target: &mut Vec<u8>) -> Result<(), FileError> {
        let (open, tabs, close): (&[u8], &[u8], &[u8]) = match self.kind {
            Kind::Named => (b"{\n", b"\t", b"\n}\n"),
            Kind::Unnamed => (b"[\n", b"\t", b"\n]\n"),
            Kind::Described => {
                metadata(&self.columns, target);
                (b"\t\"data\":\n\t{\n", b"\t\t", b"\n\t},\n\n")
            }
        };
        target.extend_from_slice(open);
        // Without rows ClickHouse has no block to write the columns of, except where it begins with them.
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        let count =
            if rows == 0 && self.kind != Kind::Named { 0 } else { self.columns.names.len() };
        for index in 0..count {
            if index > 0 {
                target.extend_from_slice(b",\n");
            }
            target.extend_from_slice(tabs);
            if self.kind != Kind::Unnamed {
                target.extend_from_slice(&quoted(&self.columns.names[index]));
                target.extend_from_slice(b": ");
            }
            self.column(index, target)?;
        }
        target.extend_from_slice(close);
        if self.kind == Kind::Described {
            statistics(rows as u64, effort, target);
        }
        Ok(())
    }

    fn step(&self) -> usize {
        usize::MAX
    }

    fn is_text(&self) -> bool {
        self.kind == Kind::Described
    }
}
