//! `INTO OUTFILE 'file' [TRUNCATE | APPEND] [FORMAT name]` at the end of a query: its result goes to a file.

use super::named_format;
use super::statement::{Part, Scanner};
use crate::cli::ResultFormat;
use crate::exit::Failure;
use anyhow::Context;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use tambour::sql::split_data;

/// Where a result goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    path: PathBuf,
    mode: Mode,
    format: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// There is no such file yet.
    New,
    Truncate,
    Append,
}

/// The statement without the clause, and the clause.
pub(super) fn split(statement: &str) -> Result<(Cow<'_, str>, Option<Target>), Failure> {
    let found = clause(statement).filter(|_| split_data(statement).is_none());
    let Some((query, rest)) = found else {
        return Ok((Cow::Borrowed(statement), None));
    };
    let Some((path, rest)) = text(rest.trim_start()) else {
        return Err(Failure::Usage("INTO OUTFILE takes a file in single quotes".to_owned()));
    };
    let rest = rest.trim().trim_end_matches(';');
    let mut words = rest.split_whitespace().peekable();
    let mut mode = Mode::New;
    let mut format = None;
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_str() {
            "TRUNCATE" => mode = Mode::Truncate,
            "APPEND" => mode = Mode::Append,
            "FORMAT" => format = words.next().map(str::to_owned),
            other => {
                let what = format!(
                    "INTO OUTFILE ... {other} is not supported here; TRUNCATE, APPEND and FORMAT are"
                );
                return Err(Failure::Unsupported(what));
            }
        }
    }
    Ok((Cow::Owned(query.to_owned()), Some(Target { path, mode, format })))
}

/// The text before and after `INTO OUTFILE`, where that is not inside of quotes or comments.
fn clause(statement: &str) -> Option<(&str, &str)> {
    const WORD: &str = "OUTFILE";
    let is_there = |at: usize| {
        statement.get(at..at + WORD.len()).is_some_and(|it| it.eq_ignore_ascii_case(WORD))
    };
    let mut places = Scanner::new(statement);
    let (at, ..) = places.find(|(at, _, part)| *part == Part::Code && is_there(*at))?;
    let before = statement[..at].trim_end();
    let head = before.get(..before.len().checked_sub(4)?)?;
    let is_into = before[head.len()..].eq_ignore_ascii_case("INTO");
    let is_word = !head.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    (is_into && is_word).then_some((head, &statement[at + WORD.len()..]))
}

/// A text in single quotes, and what comes after it.
fn text(rest: &str) -> Option<(PathBuf, &str)> {
    let (path, rest) = rest.strip_prefix('\'')?.split_once('\'')?;
    Some((PathBuf::from(path), rest))
}

impl Target {
    /// The format that is named, else that of the file's name, else ClickHouse's own, TabSeparated.
    pub(super) fn format(&self) -> Result<ResultFormat, Failure> {
        let by_extension = || {
            let name = match Path::new(&self.path).extension()?.to_str()? {
                "csv" => "CSV",
                "jsonl" | "ndjson" => "JSONEachRow",
                "json" => "JSON",
                "parquet" => "Parquet",
                "arrow" | "feather" => "Arrow",
                "arrows" => "ArrowStream",
                "xml" => "XML",
                "md" => "Markdown",
                "native" => "Native",
                "sql" => "SQLInsert",
                _ => return None,
            };
            Some(name.to_owned())
        };
        let name = self.format.clone().or_else(by_extension).unwrap_or_else(|| "TSV".to_owned());
        named_format(&name)
    }

    /// Opens the file; one that is there is kept, unless the clause says otherwise.
    pub(super) fn open(self) -> anyhow::Result<BufWriter<File>> {
        if let Some(ending) = compressed_ending(&self.path) {
            let what = format!("INTO OUTFILE writes no .{ending} files; compress it afterwards");
            return Err(Failure::Unsupported(what).into());
        }
        let mut options = OpenOptions::new();
        options.write(true);
        match self.mode {
            Mode::New => options.create_new(true),
            Mode::Truncate => options.create(true).truncate(true),
            Mode::Append => options.create(true).append(true),
        };
        let file = options.open(&self.path).with_context(|| {
            let advice = match self.mode {
                Mode::New if self.path.exists() => {
                    "; TRUNCATE or APPEND after its name writes to it"
                }
                _ => "",
            };
            format!("{}{advice}", self.path.display())
        })?;
        Ok(BufWriter::new(file))
    }
}

/// The ending of a compressed file's name.
fn compressed_ending(path: &Path) -> Option<&str> {
    let ending = path.extension()?.to_str()?;
    ["gz", "zst", "zstd", "lz4", "br", "xz", "bz2"].contains(&ending).then_some(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clause_comes_off() {
        let (query, target) = split("SELECT 1 INTO OUTFILE 'x.csv' TRUNCATE FORMAT TSV").unwrap();
        assert_eq!(query, "SELECT 1 ");
        let format = Some("TSV".to_owned());
        assert_eq!(target, Some(Target { path: "x.csv".into(), mode: Mode::Truncate, format }));
        let (query, target) = split("SELECT 'a INTO OUTFILE b'").unwrap();
        assert_eq!((query.as_ref(), target), ("SELECT 'a INTO OUTFILE b'", None));
        assert!(split("SELECT 1 INTO OUTFILE 'x' AND STDOUT").is_err());
        assert!(split("SELECT 1 INTO OUTFILE x").is_err());
    }
}
