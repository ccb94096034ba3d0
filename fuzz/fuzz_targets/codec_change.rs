//! What any codec or chain makes of any bytes, changed a little behind the checksum's back.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::block::fuzz_change(input));
