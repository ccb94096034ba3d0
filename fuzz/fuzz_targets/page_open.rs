//! Any bytes as a page store and as a backup of one.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_page::law::fuzz_open(input));
