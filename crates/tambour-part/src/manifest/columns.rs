//! `columns.txt`: names and types, in the order of the data of a compact part.

use super::{Cursor, quote};
use crate::PartError;
use crate::types::Column;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

/// Name of the file.
pub(crate) const COLUMNS_FILE: &str = "columns.txt";

const VERSION_LINE: &str = "columns format version: 1\n";

/// A line of `columns.txt`; the type is not parsed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnLine {
    pub(crate) name: String,
    pub(crate) type_text: String,
}

/// Parses the file. The last line may lack its end, as ClickHouse accepts it.
pub(crate) fn parse(path: &Path, source: &[u8]) -> Result<Vec<ColumnLine>, PartError> {
    let mut cursor = Cursor::new(path, source);
    cursor.expect(VERSION_LINE)?;
    let count = cursor.decimal()?;
    cursor.expect(" columns:\n")?;
    let mut lines = Vec::new();
    let mut names = HashSet::new();
    for index in 0..count {
        let place = cursor.place();
        let name = cursor.quoted()?;
        cursor.expect(" ")?;
        let last = index + 1 == count && !cursor.rest().contains(&b'\n');
        let text = if last { cursor.take(cursor.rest().len())? } else { cursor.until(b'\n')? };
        let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| PartError::malformed(place.clone(), "type is missing"))?;
        if name.is_empty() {
            return Err(PartError::malformed(place, "column has no name"));
        }
        if !names.insert(name.clone()) {
            return Err(PartError::malformed(place.of_column(name), "column is listed twice"));
        }
        lines.push(ColumnLine { name, type_text: text.to_owned() });
    }
    cursor.end()?;
    Ok(lines)
}

/// The file for these columns.
pub(crate) fn print<'a>(columns: impl ExactSizeIterator<Item = &'a Column>) -> String {
    let line = |column: &Column| ColumnLine {
        name: column.name.clone(),
        type_text: column.data_type.to_string(),
    };
    print_lines(&columns.map(line).collect::<Vec<_>>())
}

/// The file for these lines.
pub(crate) fn print_lines(lines: &[ColumnLine]) -> String {
    let mut text = VERSION_LINE.to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{} columns:", lines.len());
    for line in lines {
        quote(&line.name, &mut text);
        let _ = writeln!(text, " {}", line.type_text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataType;

    #[test]
    fn what_is_printed_is_parsed() {
        let columns = [
            Column { name: "k".to_owned(), data_type: DataType::UInt32 },
            Column { name: "a`b\\".to_owned(), data_type: DataType::String },
        ];
        let text = print(columns.iter());
        assert_eq!(text, "columns format version: 1\n2 columns:\n`k` UInt32\n`a\\`b\\\\` String\n");
        let lines = parse(Path::new("columns.txt"), text.as_bytes()).unwrap();
        assert_eq!(lines[1].name, "a`b\\");
        assert_eq!(lines[1].type_text, "String");
        let cut = text.strip_suffix('\n').unwrap();
        assert_eq!(parse(Path::new("columns.txt"), cut.as_bytes()).unwrap(), lines);
    }

    #[test]
    fn anything_else_is_refused() {
        let good = "columns format version: 1\n2 columns:\n`k` UInt32\n`s` String\n";
        for (from, to) in [
            ("1\n", "2\n"),
            ("2 col", "1 col"),
            ("2 col", "3 col"),
            ("`s`", "`k`"),
            ("`s`", "``"),
            ("`s` ", "`s`"),
            (" UInt32", " "),
            ("String\n", "String\n\n"),
            ("2 col", "99999999999999999999 col"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert!(parse(Path::new("columns.txt"), bad.as_bytes()).is_err(), "{bad}");
        }
        for length in 0..good.len() - 8 {
            assert!(parse(Path::new("c"), &good.as_bytes()[..length]).is_err(), "{length}");
        }
    }
}
