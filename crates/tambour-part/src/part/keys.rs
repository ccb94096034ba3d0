//! What prunes a part: partition values, ranges of columns, the primary index.

use super::{Derive, Part, SeenKey, Source, View, single};
use crate::column::read_single;
use crate::manifest::INDEX_BYTES_MAX;
use crate::name::escape;
use crate::partition::{self, PARTITION_FILE, minmax_file};
use crate::stream::whole;
use crate::types::{DataType, Strings};
use crate::write::Partition;
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, Schema};
use std::sync::{Arc, PoisonError};

/// Names of the primary index, uncompressed and compressed.
const INDEX_FILES: [(&str, bool); 2] = [("primary.idx", false), ("primary.cidx", true)];

impl Part {
    /// The values in partition.dat, given the types of the partition key; one row each, strings as `BinaryView`. Checks
    /// that they make up the partition id in the directory's name.
    pub fn partition_values(&self, types: &[DataType]) -> Result<Vec<ArrayRef>, PartError> {
        let bytes = self.values.get(PARTITION_FILE).map_or(&[][..], Vec::as_slice);
        let key = self.view.as_ref().map(|view| view.partition_key.clone()).unwrap_or_default();
        let stored = key.stored_types(types);
        let values = read_single(bytes, &stored, 1, Strings::Binary)
            .map_err(|error| self.located(error, PARTITION_FILE))?;
        if let Some(stated) = partition::id_of_name(self.name()) {
            let pairs = stored.iter().cloned().zip(values.iter().cloned());
            let computed = Partition { values: pairs.collect(), ranges: Vec::new() }.id()?;
            if computed != stated {
                let reason = format!("values make up partition {computed}, the name says {stated}");
                return Err(PartError::malformed(self.files.place(PARTITION_FILE), reason));
            }
        }
        key.seen(values)
    }

    /// Minimum and maximum of a column in the part (two rows, strings as `BinaryView`), if `minmax_<column>.idx` exists or the column
    /// has the same value in all rows.
    pub fn minmax(&self, column: &str) -> Result<Option<ArrayRef>, PartError> {
        let name = minmax_file(&escape(column));
        let index = self.columns().iter().position(|known| known.name == column);
        let (stored, cast) = match index.and_then(|index| self.source(index)) {
            Some(Source::Stored(stored)) => (stored, None),
            Some(Source::Cast(stored, cast)) => (stored, Some(cast)),
            Some(Source::Derived(from, made)) if from.is_empty() => return same(made.as_ref()),
            _ => return Ok(None),
        };
        let known = self.stored.get(stored).map(|stored| &stored.column.data_type);
        let (Some(bytes), Some(known)) = (self.values.get(&name), known) else { return Ok(None) };
        let values = read_single(bytes, std::slice::from_ref(known), 2, Strings::Binary)
            .map_err(|error| self.located(error, &name))?;
        match (values.into_iter().next(), cast) {
            (Some(values), Some(cast)) => cast.derive(&single(column, known, values)?).map(Some),
            (values, _) => Ok(values),
        }
    }

    /// The primary index: one array per key column, one row per granule, and one more for the last row of the part if
    /// [`Part::has_final_mark`]. Loaded once, on first use. `types` are those of the key expressions; strings come as
    /// `BinaryView`.
    pub fn primary_index(&self, types: &[DataType]) -> Result<Vec<ArrayRef>, PartError> {
        let mut loaded = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, arrays)) = loaded.as_ref().filter(|(known, _)| known == types) {
            return Ok(arrays.clone());
        }
        let (name, bytes) = self.index_bytes()?;
        let key = self.view.as_ref().map(|view| view.primary_key.clone()).unwrap_or_default();
        let stored = key.stored_types(types);
        let arrays = read_single(&bytes, &stored, self.granules.records(), Strings::Binary)
            .map_err(|error| self.located(error, name))?;
        let arrays = key.seen(arrays)?;
        *loaded = Some((types.to_vec(), arrays.clone()));
        Ok(arrays)
    }

    /// The decoded contents of the primary index, and the name of its file.
    pub(crate) fn index_bytes(&self) -> Result<(&'static str, Vec<u8>), PartError> {
        let mut found = INDEX_FILES.into_iter().filter(|(name, _)| self.files.has(name));
        let Some((name, compressed)) = found.next() else {
            let place = Box::new(self.files.place(INDEX_FILES[0].0));
            return Err(PartError::Missing { place });
        };
        if found.next().is_some() {
            let reason = "there is both a primary.idx and a primary.cidx";
            return Err(PartError::malformed(Place::file(self.path()), reason));
        }
        let bytes = self.files.read(name, INDEX_BYTES_MAX)?;
        if !compressed {
            return Ok((name, bytes));
        }
        let path = self.files.path_of(name);
        Ok((name, whole::decode(&path, &bytes, 0, INDEX_BYTES_MAX)?))
    }

    /// True if there is a primary.idx or primary.cidx, of the primary key as it is seen.
    pub fn has_primary_index(&self) -> bool {
        let is_unknown = |view: &View| matches!(view.primary_key, SeenKey::Unknown);
        !self.view.as_ref().is_some_and(is_unknown) && self.has_index_file()
    }

    fn has_index_file(&self) -> bool {
        INDEX_FILES.iter().any(|(name, _)| self.files.has(name))
    }

    /// Names the file in an error that was made without knowing it.
    fn located(&self, mut error: PartError, name: &str) -> PartError {
        if let Some(place) = error.place_mut().filter(|place| place.path.as_os_str().is_empty()) {
            place.path = self.files.path_of(name);
        }
        error
    }
}

/// The value of all rows, as minimum and maximum; none if it is NULL. Only what has the same value for all rows is made of no column.
fn same(made: &dyn Derive) -> Result<Option<ArrayRef>, PartError> {
    let wrong = |error| PartError::argument(format!("two rows: {error}"));
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let rows = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
    let values = made.derive(&rows.map_err(wrong)?)?;
    let is_text = match values.data_type() {
        ArrowType::Dictionary(_, items) => **items == ArrowType::Binary,
        other => *other == ArrowType::Binary,
    };
    let values =
        if is_text { cast(&values, &ArrowType::BinaryView).map_err(wrong)? } else { values };
    Ok((values.logical_null_count() == 0).then_some(values))
}
