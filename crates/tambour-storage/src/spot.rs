//! The place that an error names: a file, and what of it.

use std::fmt;
use std::path::PathBuf;

/// Where in stored data something happened.
///
/// ```
/// use tambour_storage::Place;
/// let place = Place::file("hits/data.bin").of_column("visits").at(4096);
/// assert_eq!(place.to_string(), "hits/data.bin, column `visits`, offset 4096");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was opened; empty when no file is concerned.
    pub path: PathBuf,
    /// The column, if one is concerned.
    pub column: Option<String>,
    /// Row, counted from the first row of the part (column readers count from the first row of the current read; the
    /// part reader adds the rest).
    pub row: Option<u64>,
    /// Offset in bytes of the block (or of the field, in metadata files).
    pub offset: Option<u64>,
}

impl Place {
    /// A file as a whole.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
    /// A column without a file.
    pub fn column(name: impl Into<String>) -> Self {
        Self { column: Some(name.into()), ..Self::default() }
    }
    /// The same place, at a byte offset.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }
    /// The same place, in a column.
    #[must_use]
    pub fn of_column(mut self, name: impl Into<String>) -> Self {
        self.column = Some(name.into());
        self
    }
    /// The same place, at a row.
    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}", self.path.display())?;
            separator = ", ";
        }
        if let Some(column) = &self.column {
            write!(f, "{separator}column `{column}`")?;
            separator = ", ";
        }
        if let Some(row) = self.row {
            write!(f, "{separator}row {row}")?;
            separator = ", ";
        }
        if let Some(offset) = self.offset {
            write!(f, "{separator}offset {offset}")?;
            separator = ", ";
        }
        if separator.is_empty() { f.write_str("part") } else { Ok(()) }
    }
}
