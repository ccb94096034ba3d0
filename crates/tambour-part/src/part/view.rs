//! A part as its table sees it: with the table's columns, where those of the part are older.
//!
//! A table may have changed since the part was written: a type is wider, a column is new. What follows from that for the
//! values is decided by whoever knows the table, and handed in as [`Seen`]s; here they are applied to whatever is read:
//! rows, extremes, entries of the primary index.

use super::{COMPACT_FILE, ColumnSize, Part};
use crate::PartError;
use crate::types::{Column, DataType};
use arrow_array::{ArrayRef, RecordBatch};
use std::fmt::Debug;
use std::sync::Arc;

/// Makes the values of a column out of stored ones.
pub trait Derive: Debug + Send + Sync {
    /// The values for each row of `stored`, in the Arrow form that the seen column has there (strings as in `stored`,
    /// or as bytes if there are none).
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError>;
}

/// Where the values of a seen column come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// They are stored as they are seen.
    Stored(usize),
    /// They are stored in another type, whose order is kept.
    Cast(usize, Arc<dyn Derive>),
    /// They are made of these stored columns, or of nothing but the number of rows.
    Derived(Vec<usize>, Arc<dyn Derive>),
    /// They cannot be read, for this reason.
    Refused(String),
}

/// A column as it is seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Name and type.
    pub column: Column,
    /// Where its values come from.
    pub source: Source,
}

/// How keys are seen that a part keeps values of.
#[derive(Clone, Debug, Default)]
pub enum SeenKey {
    /// As they are stored.
    #[default]
    Same,
    /// Stored in these types; those with a cast are seen in others.
    Cast(Vec<(DataType, Option<Arc<dyn Derive>>)>),
    /// What is stored says nothing about the key.
    Unknown,
}

/// How a table sees a part.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Its columns; indexes of [`Source`] are those of [`Part::stored_columns`].
    pub columns: Vec<Seen>,
    /// The primary key.
    pub primary_key: SeenKey,
    /// The partition key.
    pub partition_key: SeenKey,
}

impl Seen {
    /// What it takes, given what the stored columns take.
    pub(super) fn size(&self, stored: &[ColumnSize]) -> ColumnSize {
        match &self.source {
            Source::Stored(index) | Source::Cast(index, _) => {
                stored.get(*index).cloned().unwrap_or_default()
            }
            Source::Derived(..) | Source::Refused(_) => ColumnSize::default(),
        }
    }
}

impl SeenKey {
    /// The types to read stored values with, given those that are wanted.
    pub(crate) fn stored_types(&self, wanted: &[DataType]) -> Vec<DataType> {
        match self {
            Self::Cast(types) if types.len() == wanted.len() => {
                types.iter().map(|(data_type, _)| data_type.clone()).collect()
            }
            _ => wanted.to_vec(),
        }
    }

    /// Stored values as they are seen.
    pub(crate) fn seen(&self, values: Vec<ArrayRef>) -> Result<Vec<ArrayRef>, PartError> {
        let Self::Cast(types) = self else { return Ok(values) };
        let pairs = values.into_iter().zip(types);
        pairs
            .map(|(values, (data_type, cast))| match cast {
                Some(cast) => cast.derive(&single("key", data_type, values)?),
                None => Ok(values),
            })
            .collect()
    }
}

/// Values of a column as a batch of that column alone.
pub(crate) fn single(
    name: &str,
    data_type: &DataType,
    values: ArrayRef,
) -> Result<RecordBatch, PartError> {
    let strings = crate::types::Strings::Binary;
    let column = Column { name: name.to_owned(), data_type: data_type.clone() };
    let schema = Arc::new(crate::types::arrow_schema(&[column], strings));
    RecordBatch::try_new(schema, vec![values])
        .map_err(|error| PartError::argument(format!("values of column {name:?}: {error}")))
}

impl Part {
    /// The same part as a table sees it; its own columns stay known as [`Part::stored_columns`].
    #[must_use]
    pub fn seen_as(mut self, view: View) -> Self {
        self.columns = view.columns.iter().map(|seen| seen.column.clone()).collect();
        self.view = Some(view);
        self
    }

    /// The same part with more columns after those that are seen of it.
    #[must_use]
    pub fn seen_with(&self, more: &[Seen]) -> Self {
        let stored = |(at, column): (usize, &Column)| Seen {
            column: column.clone(),
            source: Source::Stored(at),
        };
        let mut view = self.view.clone().unwrap_or_else(|| View {
            columns: self.stored_columns().enumerate().map(stored).collect(),
            ..View::default()
        });
        view.columns.extend_from_slice(more);
        self.again().seen_as(view)
    }

    /// The readable columns that are stored, in the order of columns.txt. ClickHouse's own are not among them.
    pub fn stored_columns(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.stored.iter().map(|stored| &stored.column)
    }

    /// Compares the data files of a stored column with their hashes in checksums.txt. An error if one of them has sound blocks
    /// and nothing else, and yet is another file: nothing but the hash tells. Blocks that are damaged are not its business.
    pub fn check_files(&self, stored: usize) -> Result<(), PartError> {
        if self.compact.is_some() {
            return self.files.check_same(COMPACT_FILE);
        }
        let streams = self.stored.get(stored).map_or(&[][..], |column| &column.streams);
        streams.iter().try_for_each(|stream| {
            self.files.check_same(&format!("{}.bin", self.files.stem(&stream.name.0)))
        })
    }

    /// True if a table sees other columns than the part has.
    pub fn is_outdated(&self) -> bool {
        let is_made = |seen: &Seen| matches!(seen.source, Source::Cast(..) | Source::Derived(..));
        self.view.as_ref().is_some_and(|view| view.columns.iter().any(is_made))
    }

    /// True if keys that the part keeps values of are stored in other types than its table's: a server that takes the types from
    /// its own table misreads them.
    pub fn has_outdated_keys(&self) -> bool {
        self.view.as_ref().is_some_and(|view| {
            let keys = [&view.primary_key, &view.partition_key];
            !keys.into_iter().all(|key| matches!(key, SeenKey::Same))
        })
    }

    /// Where the values of a column come from that users see.
    pub(crate) fn source(&self, index: usize) -> Option<Source> {
        match &self.view {
            Some(view) => view.columns.get(index).map(|seen| seen.source.clone()),
            None => (index < self.stored.len()).then_some(Source::Stored(index)),
        }
    }
}
