//! Any bytes as differences, quotients, planes and packed decimals: all variants against naive loops.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::column::fuzz_column(input));
