//! Any bytes as what checksums guard in a page store.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_page::law::fuzz_guarded(input));
