//! Any bytes as the files of a skip index.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::index::fuzz_files(input));
