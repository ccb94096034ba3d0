//! Chains chosen for any bytes, as elements of any kind.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::block::choose(input, input.len() / 3));
