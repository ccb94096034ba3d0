//! Several hostile blocks in one call, parts of blocks, and blocks with a dictionary.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::lz4::fuzz_batch(input));
