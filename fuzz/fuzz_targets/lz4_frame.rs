//! Any bytes as a stream of frames or blocks, with any number of threads; and as content that makes the way there and back.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::frame::fuzz_frame(input));
