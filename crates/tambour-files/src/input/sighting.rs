//! What the rows of files are like, without a table in mind: for tables that are to hold them beside others.

use super::Input;
use crate::infer::schema::Sheet;
use crate::infer::tree::{Wish, common};
use crate::{FileError, ReadOptions};
use std::path::PathBuf;
use std::sync::Arc;
use tambour_part::DataType;
use tambour_part::types::Column;

/// A column as the files have it.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Its name, and the type that inference gives it.
    pub column: Column,
    /// Bounds of the whole numbers in it, if it has only such, and a text file has it.
    pub range: Option<(i128, i128)>,
    /// Nothing but NULL was seen, which says nothing about the type.
    pub is_null: bool,
    sheet: Arc<Sheet>,
}

impl Sighting {
    /// The type of a table's column that is to hold these values, too: the natural one of both, or the least that holds both.
    /// Nothing if there is none.
    pub fn joined(&self, table: &DataType, smallest: bool) -> Option<DataType> {
        self.join(table, if smallest { Wish::Smallest } else { Wish::Natural })
    }

    /// The same, with text in the place of what no other type holds.
    pub fn joined_as_text(&self, table: &DataType) -> Option<DataType> {
        self.join(table, Wish::Text)
    }

    fn join(&self, table: &DataType, wish: Wish) -> Option<DataType> {
        match table {
            DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) => {
                self.sheet.joined(&self.column.name, table, wish)
            }
            _ => common(table, &self.column.data_type, self.range, wish),
        }
    }
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
        let sheet = Arc::new(std::mem::take(&mut input.sheet));
        let sighting = |column: &Column| Sighting {
            range: sheet.range(&column.name),
            is_null: sheet.is_null(&column.name),
            column: column.clone(),
            sheet: Arc::clone(&sheet),
        };
        Ok(input.columns.iter().map(sighting).collect())
    }
}
