//! `INSERT INTO t FORMAT X`: the rows of a file or of standard input, read as an import reads them.

use super::insert::Source;
use crate::SqlError;
use crate::context::Session;
use std::path::Path;
use tambour_files::{Format, Input, ReadOptions, Types};
use tambour_part::types::Column;
use tambour_table::schema::TableDefinition;

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
        // What is there as a whole can be read from its end, which a stream cannot.
        let stream = Path::new("/dev/stdin");
        let is_file = || std::fs::metadata(stream).is_ok_and(|it| it.is_file());
        let path = match kind {
            Format::Parquet if path.as_os_str() == "-" && is_file() => stream,
            _ => path,
        };
        let options = ReadOptions {
            format: Some(kind),
            columns: Some(super::blanks::opened(given)),
            skip_unknown_columns: true,
            as_clickhouse: true,
            types: Types::Declared,
            header,
            delimiter: (kind == Format::Csv).then_some(b','),
            threads: self.threads,
            ..ReadOptions::default()
        };
        let input = Input::open(&[path.to_owned()], options);
        let input = input.map_err(|cause| SqlError::Rows {
            table: definition.name.clone(),
            cause: Box::new(cause),
        })?;
        if input.columns() != super::blanks::opened(given) {
            let told =
                format!("its data have {} of {} columns", input.columns().len(), given.len());
            return Err(SqlError::refused(clause(), told));
        }
        Ok(Source::Data(Box::new(input)))
    }
}
