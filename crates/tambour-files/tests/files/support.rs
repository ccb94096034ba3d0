//! Files in scratch directories, and reading them to the end.

use arrow_array::{ArrayRef, RecordBatch};
use std::io::Write;
use std::path::{Path, PathBuf};
use tambour_files::{FileError, Format, Input, ReadOptions, Style, Text, output};
use tambour_part::types::Column;

/// A file in a directory that goes with it.
pub(crate) struct Scratch {
    _directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn scratch(name: &str, content: &[u8]) -> Scratch {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::File::create(&path).unwrap().write_all(content).unwrap();
    Scratch { _directory: directory, path }
}

/// Lines of text, one per row.
pub(crate) fn lines(rows: usize, line: impl Fn(usize) -> String) -> String {
    (0..rows).fold(String::new(), |text, row| text + &line(row) + "\n")
}

/// What was read: columns, rows as text, and how often everything was read again.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<String>,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) restarts: usize,
}

pub(crate) fn read_paths(paths: &[PathBuf], options: ReadOptions) -> Result<Read, FileError> {
    let mut input = Input::open(paths, options)?;
    let (mut batches, mut restarts) = (Vec::new(), 0);
    while let Some(batch) = input.next_batch() {
        match batch {
            Ok(batch) => batches.push(batch),
            Err(FileError::Widen { .. }) => {
                restarts += 1;
                assert!(restarts < 10, "no end of restarts");
                batches.clear();
                input.restart()?;
            }
            Err(error) => return Err(error),
        }
    }
    let columns = input.columns().iter();
    let columns = columns.map(|column| format!("{} {}", column.name, column.data_type)).collect();
    Ok(Read { columns, rows: rows(&batches), batches, restarts })
}

pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields());
        let texts: Vec<Text> = columns
            .map(|(array, field)| Text::new(array.as_ref(), field, Style::Tsv).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let mut line = Vec::new();
            for (index, text) in texts.iter().enumerate() {
                if index > 0 {
                    line.push(b'|');
                }
                text.write(row, &mut line);
            }
            rows.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
    rows
}

pub(crate) fn read(path: &Path, options: ReadOptions) -> Result<Read, FileError> {
    read_paths(&[path.to_owned()], options)
}

/// Reads a file of this name and content.
pub(crate) fn read_text(
    name: &str,
    content: impl AsRef<[u8]>,
    options: ReadOptions,
) -> Result<Read, FileError> {
    read(&scratch(name, content.as_ref()).path, options)
}

pub(crate) fn given(columns: &[(&str, &str)]) -> ReadOptions {
    let column = |(name, data_type): &(&str, &str)| Column {
        name: (*name).to_owned(),
        data_type: data_type.parse().unwrap(),
    };
    ReadOptions { columns: Some(columns.iter().map(column).collect()), ..ReadOptions::default() }
}

/// A columnar file.
pub(crate) fn columnar(format: Format, columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = output(format, &batch.schema(), Box::new(&mut bytes)).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes
}
