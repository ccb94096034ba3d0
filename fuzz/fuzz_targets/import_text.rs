//! Any bytes as a file of CSV, TSV or JSON lines.
#![no_main]
use std::path::PathBuf;
use tambour_files::{Format, Input, ReadOptions};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let [kind, text @ ..] = input else { return };
    let format = [Format::Csv, Format::Tsv, Format::JsonLines][usize::from(*kind) % 3];
    let path: PathBuf = std::env::temp_dir().join(format!("tambour-fuzz-{}", std::process::id()));
    std::fs::write(&path, text).expect("the temporary directory takes a file");
    let options = ReadOptions { format: Some(format), threads: 1, ..ReadOptions::default() };
    if let Ok(mut input) = Input::open(&[path], options) {
        while let Some(Ok(_)) = input.next_batch() {}
    }
});
