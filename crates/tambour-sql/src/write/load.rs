//! `INSERT INTO t FORMAT X`: the rows of a file or of standard input, read as an import reads them.

use super::insert::Source;
use crate::SqlError;
use crate::context::Session;
use tambour_files::{Format, Input, ReadOptions, Types};
use tambour_part::types::{Column, DataType};
use tambour_table::schema::{ColumnDefinition, TableDefinition};

/// ClickHouse's names of the formats that are read here, and whether a line of names comes first; `None`: if there is one.
const FORMATS: &[(&str, Format, Option<bool>)] = &[
    ("CSV", Format::Csv, None),
    ("CSVWithNames", Format::Csv, Some(true)),
    ("TSV", Format::Tsv, None),
    ("TabSeparated", Format::Tsv, None),
    ("TSVWithNames", Format::Tsv, Some(true)),
    ("TabSeparatedWithNames", Format::Tsv, Some(true)),
    ("JSONEachRow", Format::JsonLines, None),
    ("JSONLines", Format::JsonLines, None),
    ("NDJSON", Format::JsonLines, None),
    ("Parquet", Format::Parquet, None),
    ("Arrow", Format::ArrowIpc, None),
    ("ArrowStream", Format::ArrowIpc, None),
];

impl Session {
    /// Opens the data of an INSERT for these columns.
    pub(super) fn opened(
        &self,
        format: &str,
        definition: &TableDefinition,
        given: &[Column],
    ) -> Result<Source, SqlError> {
        let clause = || format!("INSERT ... FORMAT {format}");
        let found = FORMATS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(format));
        let Some(&(_, kind, header)) = found else {
            let known: Vec<&str> = FORMATS.iter().map(|(name, ..)| *name).collect();
            return Err(SqlError::refused(
                clause(),
                format!("these are read: {}", known.join(", ")),
            ));
        };
        let Some(path) = &self.input else {
            return Err(SqlError::refused(
                clause(),
                "its data come from standard input: put `< FILE` after the command",
            ));
        };
        let is_given = |column: &&ColumnDefinition| given.contains(&column.column);
        if let Some(column) = definition.columns.iter().filter(is_given).find(|it| is_ambiguous(it))
        {
            let told = format!(
                "a value of `{}` that is missing would be NULL or empty and not its DEFAULT; leave the column out of the list of columns",
                column.column.name
            );
            return Err(SqlError::refused(clause(), told));
        }
        let options = ReadOptions {
            format: Some(kind),
            columns: Some(given.to_vec()),
            types: Types::Declared,
            header,
            delimiter: (kind == Format::Csv).then_some(b','),
            threads: self.threads,
            ..ReadOptions::default()
        };
        let input = Input::open(std::slice::from_ref(path), options);
        let input = input.map_err(|cause| SqlError::Rows {
            table: definition.name.clone(),
            cause: Box::new(cause),
        })?;
        if input.columns() != given {
            let told =
                format!("its data have {} of {} columns", input.columns().len(), given.len());
            return Err(SqlError::refused(clause(), told));
        }
        Ok(Source::Data(Box::new(input)))
    }
}

/// True if a reader fills a missing value with something that is not the column's DEFAULT.
fn is_ambiguous(column: &ColumnDefinition) -> bool {
    use DataType as T;
    let data_type = &column.column.data_type;
    let default = column.clauses.default.as_deref();
    default.is_some_and(|text| !text.eq_ignore_ascii_case("null"))
        && (data_type.is_nullable() || matches!(data_type, T::Array(_) | T::Map(..) | T::Tuple(_)))
}
