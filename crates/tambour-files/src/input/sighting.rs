//! What the rows of files are like, without a table in mind: for tables that are to hold them beside others.

use super::Input;
use crate::{FileError, ReadOptions};
use std::path::PathBuf;
use tambour_part::types::Column;

/// A column as the files have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Its name, and the type that inference gives it.
    pub column: Column,
    /// Bounds of the whole numbers in it, if it has only such, and a text file has it.
    pub range: Option<(i128, i128)>,
    /// Nothing but NULL was seen, which says nothing about the type.
    pub is_null: bool,
}

impl Input {
    /// Looks at files: at the beginning of each, or, if `complete`, at every row. They must not be streams.
    pub fn sight(
        paths: &[PathBuf],
        options: ReadOptions,
        complete: bool,
    ) -> Result<Vec<Sighting>, FileError> {
        let mut input = Self::closed(paths, ReadOptions { columns: None, ..options })?;
        input.complete = complete;
        input.survey()?;
        let sighting = |column: &Column| Sighting {
            range: input.sheet.range(&column.name),
            is_null: input.sheet.is_null(&column.name),
            column: column.clone(),
        };
        Ok(input.columns.iter().map(sighting).collect())
    }
}
