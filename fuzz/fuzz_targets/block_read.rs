//! Any bytes as a stream of blocks, and as the payload of a block with a good checksum.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::block::fuzz_read(input));
