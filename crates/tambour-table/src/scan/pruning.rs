//! A predicate against the parts of one table: partitions, extremes, primary index.

use super::super::Table;
use super::super::predicate::Predicate;
use super::super::prune::{End, Key, Pruner};
use super::super::span::Ends;
use crate::TableError;
use crate::schema::expression::Expression;
use arrow_array::{Array, new_null_array};
use std::ops::Range;
use std::path::Path;
use tambour_part::Part;
use tambour_part::types::{Column, DataType, Strings};

/// A predicate compiled for a table's partition key and primary key.
pub(super) struct Pruning<'a> {
    table: &'a Path,
    partition_types: Vec<DataType>,
    /// Columns with min-max files.
    extremes: Vec<Column>,
    by_part: Pruner,
    key_types: Vec<DataType>,
    by_key: Pruner,
}

impl<'a> Pruning<'a> {
    pub(super) fn new(table: &'a Table, predicate: &Predicate) -> Result<Self, TableError> {
        let columns = table.columns();
        let keys = |expressions: &[Expression]| -> Result<Vec<Key>, TableError> {
            let key = |expression: &Expression| {
                Ok(Key {
                    expression: expression.clone(),
                    data_type: expression.data_type(columns)?,
                    ends: Ends::Strict,
                })
            };
            expressions.iter().map(key).collect()
        };
        let (mut by_part, by_key) = match table.definition() {
            Some(definition) => (keys(&definition.partition_by)?, keys(&definition.primary_key)?),
            None => (Vec::new(), Vec::new()),
        };
        let types = |keys: &[Key]| keys.iter().map(|key| key.data_type.clone()).collect();
        let (partition_types, key_types) = (types(&by_part), types(&by_key));
        let named = predicate.columns();
        let extremes: Vec<Column> =
            columns.iter().filter(|it| named.contains(&it.name.as_str())).cloned().collect();
        by_part.extend(extremes.iter().map(|column| Key {
            expression: Expression::Column(column.name.clone()),
            data_type: column.data_type.clone(),
            ends: Ends::Loose,
        }));
        Ok(Self {
            table: table.path(),
            partition_types,
            extremes,
            by_part: Pruner::new(predicate, columns, by_part)?,
            key_types,
            by_key: Pruner::new(predicate, columns, by_key)?,
        })
    }

    /// The granules of a part that may hold a match; `None` if no primary index had to be asked to see that there is none.
    pub(super) fn granules(
        &self,
        part: &Part,
        name: &str,
    ) -> Result<Option<Vec<Range<usize>>>, TableError> {
        let count = part.granules().len();
        if count == 0 || !self.may_match(part, name)? {
            return Ok(None);
        }
        if self.by_key.is_idle() || !part.has_primary_index() {
            return Ok(Some(std::iter::once(0..count).collect()));
        }
        let entries =
            part.primary_index(&self.key_types).map_err(TableError::part(self.table, name))?;
        let length = entries.first().map_or(0, Array::len);
        if length < count {
            return Err(TableError::PartDiffers {
                table: self.table.to_owned(),
                part: name.to_owned(),
                field: "entries of the primary index",
                expected: count.to_string(),
                got: length.to_string(),
            });
        }
        let encoded = self.by_key.encode(&entries)?;
        if let Some(entry) = encoded.disorder(length) {
            return Err(TableError::IndexUnsorted {
                table: self.table.to_owned(),
                part: name.to_owned(),
                entry,
            });
        }
        Ok(Some(encoded.granules(count, length)))
    }

    /// May the part hold a match, by its partition and the extremes of its columns?
    fn may_match(&self, part: &Part, name: &str) -> Result<bool, TableError> {
        if self.by_part.is_idle() {
            return Ok(true);
        }
        let mut entries = if self.partition_types.is_empty() {
            Vec::new()
        } else {
            part.partition_values(&self.partition_types)
                .map_err(TableError::part(self.table, name))?
        };
        let mut ends = vec![(End::At(0), End::At(0)); entries.len()];
        for column in &self.extremes {
            let minmax = part.minmax(&column.name).map_err(TableError::part(self.table, name))?;
            if let Some(values) = minmax {
                entries.push(values);
                ends.push((End::At(0), End::At(1)));
            } else {
                entries.push(new_null_array(&column.data_type.arrow(Strings::Binary), 2));
                ends.push((End::Open, End::Open));
            }
        }
        Ok(self.by_part.encode(&entries)?.ranges(&ends))
    }
}
