//! Any bytes as StreamVByte, and as values to encode.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::integer::fuzz_stream_vbyte(input));
