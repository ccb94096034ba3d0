//! Any bytes as data to encode at every level, with and without a dictionary.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::lz4::fuzz_encode(input));
