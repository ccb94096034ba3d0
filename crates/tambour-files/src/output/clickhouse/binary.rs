//! Results as bytes: RowBinary, a row after the other, and Native, a block of columns after the other.

mod wire;

use super::{Columns, Form, Head};
use crate::FileError;
use arrow_array::RecordBatch;
use wire::{Wire, count, string};

/// Rows of a block of Native, ClickHouse's own number.
const BLOCK_ROWS: usize = 65_409;

fn wires<'b>(columns: &Columns, batch: &'b RecordBatch) -> Result<Vec<Wire<'b>>, FileError> {
    let arrays = batch.columns().iter().zip(&columns.types);
    arrays
        .map(|(array, data_type)| {
            Wire::new(array.as_ref(), data_type.as_ref())
                .map_err(|source| FileError::Encode { format: "binary", source })
        })
        .collect()
}

pub(super) struct RowBinary {
    head: Head,
    columns: Columns,
}

impl RowBinary {
    pub(super) fn new(head: Head, columns: Columns) -> Self {
        Self { head, columns }
    }
}

impl Form for RowBinary {
    fn head(&mut self, target: &mut Vec<u8>) {
        if self.head == Head::None {
            return;
        }
        count(self.columns.names.len(), target);
        self.columns.names.iter().for_each(|name| string(name.as_bytes(), target));
        if self.head == Head::NamesAndTypes {
            self.columns.type_names().iter().for_each(|name| string(name.as_bytes(), target));
        }
    }

    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let wires = wires(&self.columns, batch)?;
        for row in 0..batch.num_rows() {
            for wire in &wires {
                wire.value(row, target);
            }
        }
        Ok(())
    }
}

pub(super) struct Native {
    columns: Columns,
}

impl Native {
    pub(super) fn new(columns: Columns) -> Self {
        Self { columns }
    }
}

impl Form for Native {
    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        count(batch.num_columns(), target);
        count(batch.num_rows(), target);
        for (index, wire) in wires(&self.columns, batch)?.iter().enumerate() {
            string(self.columns.names[index].as_bytes(), target);
            // As for the oldest readers of the format, a DateTime is without its zone, unless it is inside of another type.
            let name = self.columns.type_name(index);
            let name = if name.starts_with("DateTime(") { "DateTime" } else { name.as_ref() };
            string(name.as_bytes(), target);
            wire.prefix(target);
            wire.column(0..batch.num_rows(), target);
        }
        Ok(())
    }

    fn step(&self) -> usize {
        BLOCK_ROWS
    }
}
