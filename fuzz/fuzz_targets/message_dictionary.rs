//! Any bytes as the file of a dictionary.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_message::fuzz::dictionary(input));
