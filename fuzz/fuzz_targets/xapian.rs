//! Any bytes as each of Xapian's encodings, and as a document.
#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| tambour_check::integer::fuzz_xapian(input));
