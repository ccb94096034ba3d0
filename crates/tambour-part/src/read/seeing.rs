//! From the columns that are stored to those that the part's table sees.

use super::unexpected;
use crate::part::{Part, ReadRequest, Source, StoredColumn};
use crate::types::{Column, arrow_schema};
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::SchemaRef;
use std::sync::Arc;

/// A column that is handed out.
#[derive(Debug)]
struct Output {
    name: String,
    source: Source,
    /// Where its stored columns are among those that are read.
    places: Vec<usize>,
}

/// How the columns that are read become those that were asked for.
#[derive(Debug)]
pub(super) struct Seeing {
    outputs: Vec<Output>,
    schema: SchemaRef,
    /// The schema of what is read.
    stored: SchemaRef,
}

impl Seeing {
    /// The stored columns that a request needs, and what becomes of them; nothing if they are handed out as they are.
    pub(super) fn plan(
        part: &Part,
        request: &ReadRequest,
    ) -> Result<(Vec<StoredColumn>, Option<Self>), PartError> {
        let mut wanted: Vec<usize> = Vec::new();
        let mut outputs = Vec::with_capacity(request.columns.len());
        let mut columns: Vec<Column> = Vec::with_capacity(request.columns.len());
        for &index in &request.columns {
            let (Some(source), Some(column)) = (part.source(index), part.columns().get(index))
            else {
                return Err(PartError::argument(format!("the part has no column {index}")));
            };
            let needed: &[usize] = match &source {
                Source::Stored(index) | Source::Cast(index, _) => std::slice::from_ref(index),
                Source::Derived(from, _) => from,
                Source::Refused(reason) => {
                    let place =
                        Place { path: part.path().to_owned(), ..Place::column(&column.name) };
                    return Err(PartError::unsupported(place, reason.clone()));
                }
            };
            let mut place = |index: &usize| {
                let known = wanted.iter().position(|wanted| wanted == index);
                known.unwrap_or_else(|| {
                    wanted.push(*index);
                    wanted.len() - 1
                })
            };
            let places = needed.iter().map(&mut place).collect();
            columns.push(column.clone());
            outputs.push(Output { name: column.name.clone(), source, places });
        }
        let stored = |index: &usize| {
            part.stored.get(*index).cloned().ok_or_else(|| {
                PartError::argument(format!("the part has no stored column {index}"))
            })
        };
        if outputs.iter().all(|output| matches!(output.source, Source::Stored(_))) {
            let asked = outputs.iter().flat_map(|output| &output.places);
            let asked = asked.map(|place| stored(&wanted[*place])).collect::<Result<_, _>>()?;
            return Ok((asked, None));
        }
        let wanted: Vec<StoredColumn> = wanted.iter().map(stored).collect::<Result<_, _>>()?;
        let read: Vec<Column> = wanted.iter().map(|stored| stored.column.clone()).collect();
        let schema = |columns: &[Column]| Arc::new(arrow_schema(columns, request.strings));
        let seeing = Self { outputs, schema: schema(&columns), stored: schema(&read) };
        Ok((wanted, Some(seeing)))
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The batch that was asked for, of the arrays that were read.
    pub(super) fn see(&self, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, PartError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let stored = RecordBatch::try_new_with_options(Arc::clone(&self.stored), arrays, &options)
            .map_err(|error| unexpected(&error.to_string()))?;
        let pairs = self.outputs.iter().zip(self.schema.fields());
        let columns = pairs.map(|(output, field)| {
            let values = output.values(&stored)?;
            if values.len() != rows {
                let place = Place::column(&output.name);
                let (expected, got) = (rows as u64, values.len() as u64);
                return Err(PartError::mismatch(place, "number of rows", expected, got));
            }
            if values.data_type() == field.data_type() {
                return Ok(values);
            }
            // Strings as they are wanted, zones as they are called.
            cast(&values, field.data_type()).map_err(|error| unexpected(&error.to_string()))
        });
        let columns = columns.collect::<Result<_, PartError>>()?;
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
            .map_err(|error| unexpected(&error.to_string()))
    }
}

impl Output {
    fn values(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let derive = match &self.source {
            Source::Stored(_) => {
                let values = self.places.first().map(|place| stored.column(*place));
                return values.cloned().ok_or_else(|| unexpected("a stored column was not read"));
            }
            Source::Cast(_, derive) | Source::Derived(_, derive) => derive,
            Source::Refused(reason) => {
                return Err(PartError::unsupported(Place::column(&self.name), reason.clone()));
            }
        };
        let from = stored.project(&self.places).map_err(|error| unexpected(&error.to_string()))?;
        derive.derive(&from).map_err(|mut error| {
            if let Some(place) = error.place_mut() {
                place.column.get_or_insert_with(|| self.name.clone());
            }
            error
        })
    }
}
