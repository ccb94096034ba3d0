//! Any bytes as a stream that is looked into, closer each time; what is told agrees with what libzstd decodes.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::look::fuzz_look(input));
