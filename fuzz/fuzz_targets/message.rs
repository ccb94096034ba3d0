//! Any bytes as an encoded message, with and without a pin; and any bytes as a message, which must come back.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_message::fuzz::message(input));
