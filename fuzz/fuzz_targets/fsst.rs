//! Any bytes as texts to encode, and as a payload of FSST.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::block::fuzz_fsst(input));
