//! Any bytes as a dictionary and a short LZ4 block after it.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::record::fuzz_short(input));
