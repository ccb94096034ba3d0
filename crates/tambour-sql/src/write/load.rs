//! `INSERT INTO t FORMAT X`: the rows after it, of a file or of standard input, read as an import reads them.

use super::insert::Source;
use crate::SqlError;
use crate::context::Session;
use std::path::{Path, PathBuf};
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
        (format, data): (&str, Option<&str>),
        definition: &TableDefinition,
        given: &[Column],
    ) -> Result<Source, SqlError> {
        let clause = || format!("INSERT ... FORMAT {format}");
        let missing = || {
            SqlError::refused(
                clause(),
                "its data come after it or from standard input: put `< FILE` after the command",
            )
        };
        let found = FORMATS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(format));
        let Some(&(_, kind, header)) = found else {
            let known: Vec<&str> = FORMATS.iter().map(|(name, ..)| *name).collect();
            return Err(SqlError::refused(
                clause(),
                format!("these are read: {}", known.join(", ")),
            ));
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
        let input = match data {
            Some(_) if matches!(kind, Format::Parquet | Format::ArrowIpc) => {
                return Err(SqlError::refused(
                    clause(),
                    "its data are not text: give them on standard input",
                ));
            }
            Some(data) => {
                let data =
                    if kind == Format::JsonLines { a_line_each(data) } else { data.to_owned() };
                Input::of_bytes("the statement", data.into_bytes(), options)
            }
            None => Input::open(&[self.path_of_data(kind).ok_or_else(missing)?], options),
        };
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

    /// Where the data of an INSERT are that are not in the statement.
    fn path_of_data(&self, format: Format) -> Option<PathBuf> {
        let path = self.input.as_ref()?;
        // What is there as a whole can be read from its end, which a stream cannot.
        let stream = Path::new("/dev/stdin");
        let is_file = || std::fs::metadata(stream).is_ok_and(|it| it.is_file());
        let is_stream = format == Format::Parquet && path.as_os_str() == "-" && is_file();
        Some(if is_stream { stream.to_owned() } else { path.clone() })
    }
}

/// The objects of a text, `{…} {…}` or `[{…}, {…}]`, each in a line of its own.
fn a_line_each(text: &str) -> String {
    let (mut lines, mut depth, mut is_quoted, mut is_escaped) = (String::new(), 0, false, false);
    let text = text.trim();
    let inside = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    for character in inside.unwrap_or(text).chars() {
        if is_quoted {
            is_quoted = is_escaped || character != '"';
            is_escaped = !is_escaped && character == '\\';
        } else {
            is_quoted = character == '"';
            match character {
                '{' | '[' => depth += 1,
                '}' | ']' => depth -= 1,
                // A line ends only between two objects.
                ',' | ' ' | '\t' | '\r' | '\n' if depth == 0 => continue,
                _ => {}
            }
        }
        lines.push(if character == '\n' && !is_quoted { ' ' } else { character });
        if depth == 0 && character == '}' && !is_quoted {
            lines.push('\n');
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::a_line_each;

    #[test]
    fn objects_come_line_by_line() {
        let lines = "{\"a\":{\"b\":[1,2]}}\n{\"a\":\"}\\\"{ \"}\n";
        assert_eq!(a_line_each("{\"a\":{\"b\":[1,2]}} {\"a\":\"}\\\"{ \"}"), lines);
        assert_eq!(a_line_each("[{\"a\":{\"b\":[1,2]}},\n{\"a\":\"}\\\"{ \"}]\n"), lines);
        assert_eq!(a_line_each("{\n\"a\": 1\n}"), "{ \"a\": 1 }\n");
    }
}
