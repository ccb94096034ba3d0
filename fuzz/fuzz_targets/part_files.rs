//! Any bytes as the files of a part.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::part::fuzz_files(input));
