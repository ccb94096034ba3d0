//! Records in files: taken apart and put together.

use super::arguments::{RecordFormat, TimeUnit};
use crate::exit::Failure;
use anyhow::Context;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tambour::files;
use tambour::record::RECORD_BYTES_MAX;

/// The format of a file, by its name where it is not given.
pub(super) fn of(path: &Path, given: Option<RecordFormat>) -> RecordFormat {
    let by_name = match files::Format::by_extension(path) {
        Some(files::Format::JsonLines) => RecordFormat::Jsonl,
        _ if path.extension().is_some_and(|it| it == "json") => RecordFormat::Jsonl,
        _ => RecordFormat::Lines,
    };
    given.unwrap_or(by_name)
}

/// A file or standard input. Text that is compressed with gzip or zstd is decompressed; what lengths or NUL bytes separate
/// may begin with any bytes and is taken as it is.
fn open(path: &Path, format: RecordFormat) -> anyhow::Result<Box<dyn Read + Send>> {
    Ok(match format {
        RecordFormat::Lines | RecordFormat::Jsonl => files::text_reader(path)?,
        _ if path.as_os_str() == "-" => Box::new(io::stdin()),
        _ => Box::new(File::open(path).with_context(|| path.display().to_string())?),
    })
}

/// The records of a file, one after another.
pub(super) struct Records {
    source: BufReader<Box<dyn Read + Send>>,
    format: RecordFormat,
    path: PathBuf,
    /// Records that were read, empty lines among them.
    pub(super) number: u64,
}

impl Records {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path, format: RecordFormat) -> anyhow::Result<Self> {
        let source = BufReader::with_capacity(1 << 20, open(path, format)?);
        Ok(Self { source, format, path: path.to_owned(), number: 0 })
    }

    /// Where the record is that was read last.
    pub(super) fn place(&self) -> String {
        format!("{}, record {}", self.path.display(), self.number)
    }

    /// Whether the next record is not there as a whole yet: reading it may wait for whoever writes it.
    pub(super) fn would_wait(&self) -> bool {
        let there = self.source.buffer();
        match self.format {
            RecordFormat::Lines | RecordFormat::Jsonl => !there.contains(&b'\n'),
            RecordFormat::Nul => !there.contains(&0),
            RecordFormat::Length => there
                .split_first_chunk::<4>()
                .is_none_or(|(length, rest)| rest.len() < u32::from_le_bytes(*length) as usize),
        }
    }

    /// Passes over the next record, also over one that is too long or wrong; `false` at the end.
    pub(super) fn pass_over(&mut self) -> anyhow::Result<bool> {
        self.number += 1;
        let more = match self.format {
            RecordFormat::Lines | RecordFormat::Jsonl => skip_until(&mut self.source, b'\n'),
            RecordFormat::Nul => skip_until(&mut self.source, 0),
            RecordFormat::Length => skip_length(&mut self.source),
        };
        let more = more.with_context(|| self.place())?;
        self.number -= u64::from(!more);
        Ok(more)
    }

    /// Reads the next record, whatever it is; `false` at the end.
    fn any(&mut self, record: &mut Vec<u8>) -> anyhow::Result<bool> {
        record.clear();
        self.number += 1;
        let more = match self.format {
            RecordFormat::Lines | RecordFormat::Jsonl => until(&mut self.source, b'\n', record),
            RecordFormat::Nul => until(&mut self.source, 0, record),
            RecordFormat::Length => behind_length(&mut self.source, record),
        };
        let more = more.with_context(|| self.place())?;
        self.number -= u64::from(!more);
        Ok(more)
    }

    /// Reads the next record; `false` at the end. JSON lines are checked, and empty ones are left out.
    pub(super) fn next(&mut self, record: &mut Vec<u8>) -> anyhow::Result<bool> {
        loop {
            if !self.any(record)? {
                return Ok(false);
            }
            if self.format != RecordFormat::Jsonl {
                return Ok(true);
            }
            if !record.iter().all(u8::is_ascii_whitespace) {
                serde_json::from_slice::<serde::de::IgnoredAny>(record)
                    .with_context(|| self.place())?;
                return Ok(true);
            }
        }
    }
}

/// Calls `take` with every record of a file.
pub(super) fn read(
    path: &Path,
    format: RecordFormat,
    take: &mut dyn FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut records = Records::open(path, format)?;
    let mut record = Vec::new();
    while records.next(&mut record)? {
        take(&record).with_context(|| records.place())?;
    }
    Ok(())
}

/// Reads up to a byte, which is not kept; whether anything was there.
fn until(source: &mut dyn BufRead, end: u8, record: &mut Vec<u8>) -> io::Result<bool> {
    let limit = RECORD_BYTES_MAX as u64 + 2;
    let read = source.take(limit).read_until(end, record)?;
    if record.last() == Some(&end) {
        record.pop();
    }
    if record.len() > RECORD_BYTES_MAX {
        return Err(too_long(record.len() as u64));
    }
    Ok(read > 0)
}

/// Passes over everything up to a byte; whether anything was there.
fn skip_until(source: &mut dyn BufRead, end: u8) -> io::Result<bool> {
    Ok(source.skip_until(end)? > 0)
}

fn skip_length(source: &mut dyn BufRead) -> io::Result<bool> {
    let Some(length) = length(source)? else { return Ok(false) };
    let passed = io::copy(&mut source.take(length.into()), &mut io::sink())?;
    if passed < u64::from(length) { Err(cut(length)) } else { Ok(true) }
}

/// The length of the next record; `None` at the end.
fn length(source: &mut dyn BufRead) -> io::Result<Option<u32>> {
    let mut length = [0; 4];
    if source.fill_buf()?.is_empty() {
        return Ok(None);
    }
    source.read_exact(&mut length).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "the input ends within the length of a record")
        }
        _ => error,
    })?;
    Ok(Some(u32::from_le_bytes(length)))
}

/// The error of a record that ends early.
fn cut(length: u32) -> io::Error {
    let text = format!("the input ends within a record of {length} bytes");
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

fn behind_length(source: &mut dyn BufRead, record: &mut Vec<u8>) -> io::Result<bool> {
    let Some(length) = length(source)? else { return Ok(false) };
    if length as usize > RECORD_BYTES_MAX {
        return Err(too_long(length.into()));
    }
    record.resize(length as usize, 0);
    source.read_exact(record).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => cut(length),
        _ => error,
    })?;
    Ok(true)
}

fn too_long(bytes: u64) -> io::Error {
    let text = format!("a record of {bytes} bytes or more; the limit is {RECORD_BYTES_MAX}");
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// Writes a record. One that holds what ends it cannot be written so.
pub(super) fn write(
    target: &mut dyn Write,
    format: RecordFormat,
    record: &[u8],
) -> anyhow::Result<()> {
    let end = match format {
        RecordFormat::Lines | RecordFormat::Jsonl => b'\n',
        RecordFormat::Nul => 0,
        RecordFormat::Length => {
            let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
            target.write_all(&length.to_le_bytes())?;
            return Ok(target.write_all(record)?);
        }
    };
    if record.contains(&end) {
        let problem =
            "a record contains the byte that ends records in this format; use --format length";
        return Err(Failure::Conflict(problem.to_owned()).into());
    }
    target.write_all(record)?;
    Ok(target.write_all(&[end])?)
}

/// Microseconds since 1970 of an RFC 3339 text, or of a number in text.
pub(super) fn time(text: &str) -> anyhow::Result<i64> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let time = chrono::DateTime::parse_from_rfc3339(text)
        .map_err(|error| Failure::Usage(format!("{text:?} is not a time: {error}; {WANTED}")))?;
    Ok(time.timestamp_micros())
}

/// What a time in text has to be.
const WANTED: &str =
    "RFC 3339 with a zone is, as 2026-11-01T08:00:00Z or 2026-11-01T08:00:00.25+01:00";

/// The time of a JSON record in microseconds; `None` when the field is not there.
pub(super) fn time_of(record: &[u8], field: &str, unit: TimeUnit) -> anyhow::Result<Option<i64>> {
    let value: serde_json::Value = serde_json::from_slice(record).context("a time needs JSON")?;
    let bad =
        |what: &dyn std::fmt::Display| anyhow::anyhow!("field `{field}` is not a time: {what}");
    match value.get(field) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(text)) => {
            let time = chrono::DateTime::parse_from_rfc3339(text)
                .map_err(|error| bad(&format_args!("{text:?}: {error}; {WANTED}")))?;
            Ok(Some(time.timestamp_micros()))
        }
        Some(serde_json::Value::Number(number)) => {
            let factor = match unit {
                TimeUnit::S => 1_000_000,
                TimeUnit::Ms => 1000,
                TimeUnit::Us => 1,
            };
            let micros = match number.as_i64() {
                Some(number) => number.checked_mul(factor),
                None => number.as_f64().and_then(|number| rounded(number * factor as f64)),
            };
            micros.map(Some).ok_or_else(|| bad(number))
        }
        Some(other) => Err(bad(other)),
    }
}

/// Microseconds, which loggers write as fractions of larger units.
#[expect(clippy::cast_possible_truncation, reason = "within the range of i64")]
fn rounded(micros: f64) -> Option<i64> {
    (micros.abs() < i64::MAX as f64).then_some(micros.round() as i64)
}

/// The key of a JSON record.
pub(super) fn key_of(record: &[u8], field: &str) -> anyhow::Result<String> {
    let value: serde_json::Value = serde_json::from_slice(record).context("a key needs JSON")?;
    match value.get(field) {
        Some(serde_json::Value::String(text)) => Ok(text.clone()),
        Some(serde_json::Value::Number(number)) if number.is_i64() || number.is_u64() => {
            Ok(number.to_string())
        }
        None => anyhow::bail!("field `{field}` is not there; every record needs its key"),
        Some(other) => {
            anyhow::bail!(
                "field `{field}` is not a key: {other}; use a text, or a number that is whole and has at most 64 bits"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{time_of, write};
    use crate::command::records::arguments::{RecordFormat, TimeUnit};

    #[test]
    fn times_are_texts_or_numbers_of_a_unit() {
        let time = |record: &str, unit| time_of(record.as_bytes(), "t", unit).ok().flatten();
        assert_eq!(time(r#"{"t":"1970-01-01T00:00:01.5Z"}"#, TimeUnit::S), Some(1_500_000));
        assert_eq!(time(r#"{"t":7}"#, TimeUnit::Ms), Some(7000));
        assert_eq!(time(r#"{"t":9223372036854775807}"#, TimeUnit::S), None);
        assert_eq!(time(r#"{"t":1793491200.25}"#, TimeUnit::S), Some(1_793_491_200_250_000));
        assert_eq!(time(r#"{"t":1e12}"#, TimeUnit::Ms), Some(1_000_000_000_000_000));
        assert_eq!(time(r#"{"t":-1.5}"#, TimeUnit::S), Some(-1_500_000));
        assert_eq!(time(r#"{"t":1e300}"#, TimeUnit::S), None);
        assert_eq!(time(r#"{"t":18446744073709551615}"#, TimeUnit::Us), None);
        let error = time_of(br#"{"t":"2026-11-01 00:00:00"}"#, "t", TimeUnit::S).unwrap_err();
        assert!(error.to_string().contains("2026-11-01T08:00:00Z"), "{error}");
        assert_eq!(time(r#"{"u":7}"#, TimeUnit::Ms), None);
        assert!(time_of(b"{\"t\":[]}", "t", TimeUnit::S).is_err());
    }

    #[test]
    fn records_that_hold_their_end_are_refused() {
        let mut target = Vec::new();
        write(&mut target, RecordFormat::Length, b"a\nb").unwrap();
        write(&mut target, RecordFormat::Nul, b"a\nb").unwrap();
        assert!(write(&mut target, RecordFormat::Lines, b"a\nb").is_err());
        assert_eq!(target, b"\x03\0\0\0a\nba\nb\0");
    }
}
