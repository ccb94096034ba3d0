//! The data that benchmarks run on. Columns have the bytes that ClickHouse would compress: little-endian values side by
//! side, strings behind their length.

mod study;
mod tpch;

pub use study::study;
pub use tpch::tpch;

use crate::BenchError;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a generated column, about 64 blocks.
pub const COLUMN_BYTES: usize = 4 << 20;

/// Extensions of the sample files; what else is in their directory is about them.
const SAMPLE_EXTENSIONS: [&str; 5] = ["csv", "dat", "arrow", "jsonl", "zst"];

/// Bytes with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Unique among the inputs of a run.
    pub name: String,
    /// What is compressed; not empty.
    pub bytes: Vec<u8>,
}

/// What is measured when nobody says what: columns of TPC-H, the sample files (where `samples` is a directory), and the
/// columns of three compressibilities.
pub fn defaults(samples: &Path) -> Result<Vec<Input>, BenchError> {
    let mut inputs = tpch(COLUMN_BYTES);
    if samples.is_dir() {
        let mut found = list(samples)?;
        found.retain(|path| {
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            SAMPLE_EXTENSIONS.contains(&extension.as_ref())
        });
        inputs.extend(read(&found)?);
    }
    inputs.extend(study(COLUMN_BYTES));
    Ok(inputs)
}

/// Files, and the files directly in directories. Zstandard frames (`.zst`) are decompressed, empty files passed over.
pub fn files(paths: &[PathBuf]) -> Result<Vec<Input>, BenchError> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(list(path)?);
        } else {
            found.push(path.clone());
        }
    }
    let inputs = read(&found)?;
    if inputs.is_empty() {
        let what = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        return Err(BenchError::NoInput { what: what.join(", ") });
    }
    Ok(inputs)
}

/// The files directly in a directory, by name.
fn list(directory: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let io = |source| BenchError::Io { path: directory.to_path_buf(), source };
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read(paths: &[PathBuf]) -> Result<Vec<Input>, BenchError> {
    let mut inputs: Vec<Input> = Vec::new();
    for path in paths {
        let io = |source| BenchError::Io { path: path.clone(), source };
        let mut bytes = fs::read(path).map_err(io)?;
        if path.extension().is_some_and(|extension| extension == "zst") {
            bytes = decompress(path, &bytes)?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The same name in two directories: the path tells them apart.
        let taken = inputs.iter().any(|input| input.name == name);
        let name = if taken { path.display().to_string() } else { name };
        if !bytes.is_empty() {
            inputs.push(Input { name, bytes });
        }
    }
    Ok(inputs)
}

fn decompress(path: &Path, source: &[u8]) -> Result<Vec<u8>, BenchError> {
    let zstd = |reason| BenchError::Zstd { path: path.to_path_buf(), reason };
    let mut context = zstd_safe::DCtx::create();
    let mut target = Vec::new();
    let mut input = zstd_safe::InBuffer::around(source);
    loop {
        let length = target.len();
        target.reserve(zstd_safe::DCtx::out_size());
        let mut output = zstd_safe::OutBuffer::around_pos(&mut target, length);
        let hint = context
            .decompress_stream(&mut output, &mut input)
            .map_err(|code| zstd(zstd_safe::get_error_name(code)))?;
        if input.pos == source.len() && target.len() < target.capacity() {
            return if hint == 0 { Ok(target) } else { Err(zstd("ends inside a frame")) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{COLUMN_BYTES, defaults, files, study, tpch};
    use crate::BenchError;
    use std::collections::HashSet;
    use std::path::Path;

    #[test]
    fn directories_are_read_and_zstd_is_undone() {
        let directory = tempfile::tempdir().unwrap();
        let text = b"hello ".repeat(100_000);
        let mut packed = vec![0; 10_000];
        let length = zstd_safe::compress(&mut packed[..], &text, 1).unwrap();
        std::fs::write(directory.path().join("b.zst"), &packed[..length]).unwrap();
        std::fs::write(directory.path().join("a"), "a").unwrap();
        std::fs::write(directory.path().join("empty"), "").unwrap();
        let inputs = files(&[directory.path().to_path_buf()]).unwrap();
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["a", "b.zst"]);
        assert_eq!(inputs[1].bytes, text);
        std::fs::write(directory.path().join("c.zst"), &packed[..length / 2]).unwrap();
        assert!(matches!(files(&[directory.path().join("c.zst")]), Err(BenchError::Zstd { .. })));
        assert!(matches!(
            files(&[directory.path().join("empty")]),
            Err(BenchError::NoInput { .. })
        ));
        assert!(matches!(files(&[directory.path().join("none")]), Err(BenchError::Io { .. })));
    }

    #[test]
    fn generated_columns_are_full_and_named_apart() {
        let mut inputs = tpch(10_000);
        inputs.extend(study(10_000));
        assert!(inputs.iter().all(|input| input.bytes.len() == 10_000));
        let names: HashSet<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names.len(), inputs.len());
        assert_eq!(tpch(10_000), tpch(10_000));
    }

    #[test]
    fn defaults_do_without_samples() {
        assert!(
            defaults(Path::new("/nowhere")).unwrap().iter().all(|input| {
                input.bytes.len() == COLUMN_BYTES || input.name.starts_with("tpch")
            })
        );
    }
}
