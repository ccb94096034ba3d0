//! Any bytes as the payload of a block of any codec, looked into closer each time.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::look::fuzz_stages(input));
