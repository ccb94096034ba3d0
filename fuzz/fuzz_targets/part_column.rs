//! Any bytes as what the blocks of a column hold.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::part::fuzz_column(input));
