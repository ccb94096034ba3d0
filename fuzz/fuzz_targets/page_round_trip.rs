//! Any bytes as pages: they come back from every codec and layout.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_page::law::fuzz_round_trip(input));
