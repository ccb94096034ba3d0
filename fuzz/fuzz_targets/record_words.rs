//! Any bytes as the parts of an index of words.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_record::law::index_of_words(input));
