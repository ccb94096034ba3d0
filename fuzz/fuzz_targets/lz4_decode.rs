//! Any bytes as an LZ4 block, and as data to encode.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::lz4::fuzz_decode(input));
