//! `columns_substreams.txt`: the streams of each column, in the order of writing. Compact parts whose marks are per
//! substream (`.mrk4`, `.cmrk4`) need it.

use super::{Cursor, quote};
use crate::PartError;
use std::fmt::Write;
use std::path::Path;

/// Name of the file.
pub(crate) const SUBSTREAMS_FILE: &str = "columns_substreams.txt";

/// Columns with their (unhashed) streams.
pub(crate) type Substreams = Vec<(String, Vec<String>)>;

/// Parses the file.
pub(crate) fn parse(path: &Path, source: &[u8]) -> Result<Substreams, PartError> {
    let mut cursor = Cursor::new(path, source);
    cursor.expect("columns substreams version: 1\n")?;
    let count = cursor.decimal()?;
    cursor.expect(" columns:\n")?;
    let mut columns = Vec::new();
    for _ in 0..count {
        let stream_count = cursor.decimal()?;
        cursor.expect(" substreams for column ")?;
        let column = cursor.quoted()?;
        cursor.expect(":\n")?;
        let mut streams = Vec::new();
        for _ in 0..stream_count {
            cursor.expect("\t")?;
            let place = cursor.place();
            let line = std::str::from_utf8(cursor.until(b'\n')?).ok().filter(|l| !l.is_empty());
            let line =
                line.ok_or_else(|| PartError::malformed(place, "stream has no name"))?.to_owned();
            streams.push(line);
        }
        columns.push((column, streams));
    }
    cursor.end()?;
    Ok(columns)
}

/// The file for these columns.
pub(crate) fn print(columns: &Substreams) -> String {
    let mut text = format!("columns substreams version: 1\n{} columns:\n", columns.len());
    for (column, streams) in columns {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} substreams for column ", streams.len());
        quote(column, &mut text);
        text.push_str(":\n");
        for stream in streams {
            let _ = writeln!(text, "\t{stream}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_listed_per_column() {
        let text = "columns substreams version: 1\n2 columns:\n1 substreams for column `k`:\n\tk\n\
                    2 substreams for column `a b`:\n\ta%20b.size\n\ta%20b\n";
        let path = Path::new("columns_substreams.txt");
        let columns = parse(path, text.as_bytes()).unwrap();
        assert_eq!(columns[1], ("a b".to_owned(), vec!["a%20b.size".into(), "a%20b".into()]));
        assert_eq!(print(&columns), text);
        for length in 0..text.len() {
            assert!(parse(path, &text.as_bytes()[..length]).is_err(), "{length}");
        }
    }
}
