//! Input that is not what it should be: a clear error each time, never a panic, never the memory of the machine.

use crate::support::{given, lines, read, read_text, scratch};
use std::path::Path;
use tambour_codec::Kind;
use tambour_files::{FileError, Format, Input, ReadOptions, output};

fn options() -> ReadOptions {
    ReadOptions::default()
}

/// The error's kind and message, with the causes.
fn error(name: &str, content: impl AsRef<[u8]>, options: ReadOptions) -> (Kind, String) {
    let error = read_text(name, content, options).unwrap_err();
    (error.kind(), chain(&error))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "reads better at the calls")]
fn expect(found: (Kind, String), kind: Kind, part: &str) {
    assert_eq!(found.0, kind, "{}", found.1);
    assert!(found.1.contains(part), "{} does not say {part:?}", found.1);
}

#[test]
fn files_that_are_not_there() {
    let open = |path: &str| Input::open(&[path.into()], options()).unwrap_err();
    let missing = open("/nowhere/a.csv");
    expect((missing.kind(), chain(&missing)), Kind::NotFound, "/nowhere/a.csv: cannot open");
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.parquet", "a.arrow", "a"] {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let refused = Input::open(&[path], options()).unwrap_err();
        expect((refused.kind(), chain(&refused)), Kind::Io, "is a directory");
    }
    let none = Input::open(&[], options()).unwrap_err();
    assert_eq!(none.kind(), Kind::Argument);
}

#[test]
fn empty_files() {
    for name in ["a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow", "a"] {
        expect(error(name, "", options()), Kind::Argument, "is empty");
    }
    expect(error("a.csv", "\n\r\n\n", options()), Kind::Argument, "neither a header nor rows");
    expect(error("a.jsonl", "\n \n", options()), Kind::Argument, "no rows");
    expect(error("a.jsonl", "{}\n{}\n", options()), Kind::Argument, "no columns");
    let empty = read_text("a.csv", "a,b\n", options()).unwrap();
    assert_eq!((empty.columns.len(), empty.rows.len()), (2, 0));
}

#[test]
fn ragged_rows() {
    let found = error("a.csv", "a,b\n1,2\n\"x\ny\",3\n1,2,3\n", options());
    expect(found, Kind::Argument, "row 3 (line 5): expected 2 fields, got 3");
    let found = error("a.tsv", "a\tb\n1\t2\n1\n", options());
    expect(found, Kind::Argument, "row 2 (line 3): expected 2 fields, got 1");
    // Beyond the sample the rows before it are still handed out.
    let text = format!("a,b\n{}1\n", "1,2\n".repeat(1_000));
    let file = scratch("a.csv", text.as_bytes());
    let sampled = ReadOptions { sample_bytes: 64, batch_rows: 100, ..options() };
    let mut input = Input::open(std::slice::from_ref(&file.path), sampled).unwrap();
    let mut rows = 0;
    let last = loop {
        match input.next_batch() {
            Some(Ok(batch)) => rows += batch.num_rows(),
            Some(Err(error)) => break error,
            None => panic!("no error"),
        }
    };
    assert_eq!(rows, 1_000);
    assert!(last.to_string().contains("row 1001 (line 1002): expected 2 fields, got 1"), "{last}");
    assert!(input.next_batch().is_none());
}

#[test]
fn invalid_utf8() {
    let found = error("a.csv", b"a,b\n1,x\n2,\xff\xfe\n", options());
    expect(found, Kind::Argument, "row 2 (line 3), column `b`: invalid UTF-8");
    let found = error("a.csv", b"a,b\xff\n1,x\n", ReadOptions { header: Some(true), ..options() });
    expect(found, Kind::Argument, "header (line 1), column `c2`: invalid UTF-8");
    let found = error("a.jsonl", b"{\"a\":\"\xff\"}\n", options());
    expect(found, Kind::Argument, "row 1 (line 1), column `a`: invalid UTF-8");
    for name in ["a.csv", "a.tsv", "a.dat"] {
        let utf16 = b"\xff\xfea\0,\0b\0\n\0";
        expect(error(name, utf16, options()), Kind::Unsupported, "UTF-16");
    }
    expect(error("a.jsonl", b"{\"\xff\":1}\n", options()), Kind::Argument, "invalid UTF-8");
}

#[test]
fn long_records() {
    let limited = ReadOptions { record_bytes_max: 1_000, ..options() };
    let line = "x".repeat(5_000);
    let found = error("a.csv", format!("a,b\n1,2\n{line},1\n"), limited.clone());
    expect(found, Kind::Limit, "row 2 (line 3): the length of a record in bytes");
    let found = error("a.csv", format!("a,b\n1,2\n\"{line}"), limited.clone());
    expect(found, Kind::Limit, "is a quote not closed?");
    let found = error("a.jsonl", format!("{{\"a\":1}}\n{{\"a\":\"{line}\"}}\n"), limited);
    expect(found, Kind::Limit, "row 2 (line 2): the length of a line");
}

/// A line that never ends, larger than any memory: it is given up as soon as it is longer than the limit.
#[cfg(target_os = "linux")]
#[test]
fn a_line_of_ten_gigabytes() {
    for (name, start) in [("a.csv", "a,b\n\""), ("a.tsv", "a\tb\n"), ("a.jsonl", "{\"a\":1}\n{")] {
        let file = scratch(name, start.as_bytes());
        let sparse = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
        sparse.set_len(10 << 30).unwrap();
        let refused = read(&file.path, options()).unwrap_err();
        assert_eq!(refused.kind(), Kind::Limit, "{name}: {refused}");
        drop(sparse);
    }
}

#[test]
fn quotes() {
    let found = error("a.csv", "a,b\n1,2\n\"x,2\n", options());
    expect(found, Kind::Argument, "row 2 (line 3): a quoted field is not closed");
    let found = error("a.csv", "a,b\n1,2\n\"x\"y,2\n", options());
    expect(found, Kind::Argument, "text between a closing quote and the next delimiter");
}

#[test]
fn nul_bytes_and_mixed_line_ends() {
    let read = read_text("a.csv", "a,b\r\n1,x\0y\n2,z\r\n", options()).unwrap();
    assert_eq!(read.rows, ["1|x\\0y", "2|z"]);
}

#[test]
fn too_many_columns() {
    let wide = vec!["1"; 100_000].join(",") + "\n";
    expect(error("a.csv", &wide, options()), Kind::Limit, "the number of columns");
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"k{key}\":1")).collect();
    let object = format!("{{{}}}\n", keys.join(","));
    expect(error("a.jsonl", object, options()), Kind::Limit, "the number of different keys");
}

#[test]
fn broken_json() {
    let found = error("a.jsonl", "{\"a\":1}\n\n{\"a\":}\n", options());
    expect(found, Kind::Argument, "row 2 (line 3), byte 6: expected a value");
    expect(error("a.jsonl", "[1]\n", options()), Kind::Argument, "expected an object");
    expect(error("a.jsonl", "{\"a\":1} x\n", options()), Kind::Argument, "after the end");
    let deep = format!("{{\"a\":{}\n", "[".repeat(1 << 20));
    expect(error("a.jsonl", deep, options()), Kind::Argument, "nested too deeply");
    let columns = given(&[("a", "Int8")]);
    expect(error("a.jsonl", "{\"a\":1,\"a\":2}\n", columns), Kind::Argument, "a key appears twice");
}

#[test]
fn mixed_types_in_given_columns() {
    let found = error("a.csv", "a\n1\n2\nthree\n", given(&[("a", "Int32")]));
    expect(
        found,
        Kind::Argument,
        "row 3 (line 4), column `a`: \"three\" does not fit Int32: not an integer",
    );
    // Without given types the column is text, and nothing is lost.
    let read = read_text("a.csv", "a\n1\n02\nthree\n", options()).unwrap();
    assert_eq!(
        (read.columns[0].as_str(), read.rows.join(" ").as_str()),
        ("a String", "1 02 three")
    );
}

#[test]
fn damaged_compression() {
    let text = "a,b\n1,2\n".repeat(10_000);
    let mut frame = vec![0; zstd_safe::compress_bound(text.len())];
    let written = zstd_safe::compress(&mut frame[..], text.as_bytes(), 1).unwrap();
    frame.truncate(written);
    let cut = &frame[..frame.len() - 3];
    expect(error("a.csv.zst", cut, options()), Kind::Corrupt, "cannot decompress zstd");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, text.as_bytes()).unwrap();
    let mut gz = gz.finish().unwrap();
    let middle = gz.len() / 2;
    gz[middle] ^= 0x55;
    expect(error("a.csv.gz", &gz, options()), Kind::Corrupt, "cannot decompress gzip");
    expect(error("a.csv.gz", &gz[..middle], options()), Kind::Corrupt, "cannot decompress gzip");
    // A window of two gibibytes is refused before it is allocated.
    let bomb = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x00, 0x00, 0x00];
    assert_ne!(error("a.csv.zst", bomb, options()).0, Kind::Io);
}

fn columnar(format: Format) -> Vec<u8> {
    let text = lines(3_000, |row| format!("{row},v{},{row}.5,[{row}]", row % 50));
    let columns = [
        ("a", "Int64"),
        ("b", "LowCardinality(String)"),
        ("c", "Nullable(Float64)"),
        ("d", "Array(Int64)"),
    ];
    let read = read_text("a.csv", format!("a,b,c,d\n{text}"), given(&columns)).unwrap();
    let mut bytes = Vec::new();
    let schema = read.batches[0].schema();
    let mut writer = output(format, &schema, Box::new(&mut bytes)).unwrap();
    for batch in &read.batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

/// Every cut and many flipped bits: an error or the right rows, and no panic gets out.
#[test]
fn damaged_columnar_files() {
    for (format, name) in [(Format::Parquet, "a.parquet"), (Format::ArrowIpc, "a.arrow")] {
        let whole = columnar(format);
        let file = scratch(name, &whole);
        let rows = read(&file.path, options()).unwrap().rows;
        let attempt = |bytes: &[u8]| {
            std::fs::write(&file.path, bytes).unwrap();
            read(&file.path, options())
        };
        for cut in (0..whole.len()).step_by(whole.len() / 60) {
            assert!(attempt(&whole[..cut]).is_err(), "{name} cut at {cut}");
        }
        let (mut refused, mut flips) = (0, 0);
        for at in (0..whole.len()).step_by(whole.len() / 400) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            flips += 1;
            match attempt(&bytes) {
                Err(error) => {
                    refused += 1;
                    assert_ne!(error.kind(), Kind::Io, "{name} flipped at {at}: {}", chain(&error));
                }
                Ok(read) => assert!(read.rows.len() <= rows.len() || format == Format::ArrowIpc),
            }
        }
        assert!(refused > 0 && flips >= 400, "{name}: {refused} of {flips} refused");
    }
}

/// Sizes that lie: the footer of an Arrow file, the length of a stream's message, the size of a compressed buffer.
#[test]
fn lying_sizes() {
    let whole = columnar(Format::ArrowIpc);
    let mut footer = whole.clone();
    let at = footer.len() - 10;
    footer[at..at + 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    expect(
        error("a.arrow", &footer, options()),
        Kind::Corrupt,
        "the footer is longer than the file",
    );
    let stream = [[0xff; 4], [0xff, 0xff, 0xff, 0x7f]].concat();
    expect(error("a.arrow", stream, options()), Kind::Corrupt, "damaged");
    expect(
        error("a.parquet", "PAR1\u{1}\u{0}\u{0}\u{0}PAR1", options()),
        Kind::Corrupt,
        "cannot read Parquet",
    );
    expect(
        error("a.parquet", "PAR1....\u{7f}\u{7f}\u{7f}\u{7f}PAR1", options()),
        Kind::Corrupt,
        "cannot read Parquet",
    );
    let mut half = whole;
    half.truncate(half.len() / 2);
    expect(error("a.arrow", half, options()), Kind::Corrupt, "the end of an Arrow file is missing");
}

/// A disk that is full after this many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk() {
    let read = read_text("a.csv", "a,b\n1,x\n", options()).unwrap();
    let schema = read.batches[0].schema();
    for format in [Format::Csv, Format::Tsv, Format::JsonLines, Format::Parquet, Format::ArrowIpc] {
        for room in [0, 3, 7] {
            let written = (|| -> Result<(), FileError> {
                let mut writer = output(format, &schema, Box::new(Full(room)))?;
                writer.write(&read.batches[0])?;
                writer.finish()
            })();
            let error = written.unwrap_err();
            assert_eq!(error.kind(), Kind::Io, "{format} with room for {room}: {}", chain(&error));
        }
    }
}

#[test]
fn an_input_that_is_given_up_leaves_nothing_hanging() {
    let text = "a,b\n".to_owned() + &"1,2\n".repeat(500_000);
    let file = scratch("a.csv", text.as_bytes());
    let small = ReadOptions { batch_rows: 10, threads: 3, ..options() };
    let mut input = Input::open(std::slice::from_ref(&file.path), small).unwrap();
    assert!(input.next_batch().unwrap().is_ok());
    drop(input);
    assert!(Path::new(&file.path).exists());
}
