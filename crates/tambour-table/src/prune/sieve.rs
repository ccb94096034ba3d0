//! A predicate over values that others know of some rows: skip indexes of granules.

use super::{End, Key, Pruner};
use crate::TableError;
use crate::ordinal::{Ordinal, constant_array};
use crate::predicate::{Constant, Predicate};
use crate::schema::expression::Expression;
use crate::span::Ends;
use arrow_array::{Array, ArrayRef};
use arrow_row::Rows;
use tambour_part::types::{Column, DataType};

/// A predicate compiled for columns of which some values are known.
#[derive(Debug)]
pub struct Sieve {
    pruner: Pruner,
    columns: usize,
}

impl Sieve {
    /// Compiles a predicate on a table with these columns for what is known of some of them, by their names. With `has_all`,
    /// known values are all there are; without, NULL and NaN may be there as well. `None` if nothing would be sifted out.
    pub fn new(
        predicate: &Predicate,
        columns: &[Column],
        known: &[String],
        has_all: bool,
    ) -> Result<Option<Self>, TableError> {
        let key = |name: &String| {
            let column = columns.iter().find(|column| column.name == *name)?;
            Some(Key {
                expression: Expression::Column(name.clone()),
                data_type: column.data_type.clone(),
                ends: if has_all { Ends::Strict } else { Ends::Loose },
            })
        };
        let Some(keys) = known.iter().map(key).collect::<Option<Vec<_>>>() else { return Ok(None) };
        let pruner = Pruner::new(predicate, columns, keys)?;
        Ok((!pruner.is_idle()).then_some(Self { pruner, columns: known.len() }))
    }

    /// For each entry, whether a row may match whose columns lie between these values: `values` has for each column an array of all
    /// minima and then all maxima. A minimum of NULL is unknown, unless the maximum is NULL, too: then there is nothing else. A
    /// maximum of NULL is above everything.
    pub fn ranges(&self, values: &[ArrayRef], entries: usize) -> Result<Vec<bool>, TableError> {
        self.check(values, 2 * entries)?;
        let encoded = self.pruner.encode(values)?;
        let nulls: Vec<_> = values.iter().map(Array::logical_nulls).collect();
        let may_match = |entry: usize| {
            let ends = nulls.iter().map(|nulls| {
                let is_null = |at| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
                let (low, high) = (entry, entries + entry);
                let low = if is_null(low) && !is_null(high) { End::Open } else { End::At(low) };
                (low, End::At(high))
            });
            encoded.ranges(&ends.collect::<Vec<_>>())
        };
        Ok((0..entries).map(may_match).collect())
    }

    /// Whether a row may match that has the values of one row of `values`, an array for each column.
    pub fn any_row(&self, values: &[ArrayRef], rows: usize) -> Result<bool, TableError> {
        self.check(values, rows)?;
        let encoded = self.pruner.encode(values)?;
        let at = |row| vec![(End::At(row), End::At(row)); self.columns];
        Ok((0..rows).any(|row| encoded.ranges(&at(row))))
    }

    fn check(&self, values: &[ArrayRef], rows: usize) -> Result<(), TableError> {
        if values.len() == self.columns && values.iter().all(|it| it.len() == rows) {
            return Ok(());
        }
        let problem = format!("{rows} values of {} columns are wanted", self.columns);
        Err(TableError::Definition { clause: "INDEX".to_owned(), problem })
    }
}

/// Constants as an array in the Arrow form of a type, strings as bytes; `None` if one of them is not a value of it.
pub fn constants(constants: &[&Constant], data_type: &DataType) -> Option<ArrayRef> {
    constant_array(constants, data_type)
}

/// Values as rows that compare as ClickHouse orders the values, NULL last; `None` of a type whose values have no order.
pub fn ranks(values: &ArrayRef, data_type: &DataType) -> Result<Option<Rows>, TableError> {
    Ordinal::new(data_type)?.map(|ordinal| ordinal.rows(values)).transpose()
}
