//! Any text as a codec specification.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::spec::fuzz_spec(input));
