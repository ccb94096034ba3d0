//! Any bytes as LEB128 and `encode_length`, and as values to encode.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::integer::fuzz_varint(input));
