//! Arrow batches that come from no file, a query's or a program's, in the form of a table's columns.

use super::Target;
use crate::FileError;
use crate::infer::Reading;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::SchemaRef;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_part::types::{Column, Strings, arrow_schema};

/// Brings batches into the form in which a table stores them: value by value, checked, as an import does. A value that does
/// not fit its column is an error; nothing wraps around.
///
/// ```
/// use arrow_array::{Int64Array, RecordBatch};
/// use std::sync::Arc;
/// use tambour_files::Stored;
/// use tambour_part::DataType;
/// use tambour_part::types::Column;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let columns = [Column { name: "visits".to_owned(), data_type: DataType::UInt8 }];
/// let mut stored = Stored::new("a program", &columns, vec![Some(0)]);
/// let batch = |visits| RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![visits])) as _)]);
/// assert_eq!(stored.batch(&batch(200)?)?.schema().field(0).name(), "visits");
/// let error = stored.batch(&batch(300)?).unwrap_err();
/// assert!(error.to_string().contains("visits"), "{error}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Stored {
    target: Target,
    schema: SchemaRef,
    source: PathBuf,
    rows: u64,
}

impl Stored {
    /// For batches whose column `mapping[i]` goes to column `i`; where that is `None`, the column is filled with NULL or
    /// with what is empty for its type. `source` is named in errors.
    pub fn new(source: &str, columns: &[Column], mapping: Vec<Option<usize>>) -> Self {
        let reading = |column: &Column| Reading {
            column: column.clone(),
            ..Reading::plain(column.data_type.clone())
        };
        let target = Target {
            readings: columns.iter().map(reading).collect(),
            // Texts are checked as texts, and handed out as bytes.
            schema: Arc::new(arrow_schema(columns, Strings::Utf8)),
            mapping,
        };
        let schema = Arc::new(arrow_schema(columns, Strings::Binary));
        Self { target, schema, source: source.into(), rows: 0 }
    }

    /// The rows of the next batch as they are stored: strings as bytes.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<RecordBatch, FileError> {
        let wrong =
            |cause| super::arrow_error(&self.source, format!("rows from {}", self.rows + 1), cause);
        let checked = self.target.batch(&self.source, batch, self.rows)?;
        let columns = checked.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()));
        let columns = columns.collect::<Result<_, _>>().map_err(wrong)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::clone(&self.schema);
        let stored = RecordBatch::try_new_with_options(schema, columns, &options);
        let stored = stored.map_err(wrong)?;
        self.rows += batch.num_rows() as u64;
        Ok(stored)
    }
}
