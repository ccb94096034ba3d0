//! Messages compressed one by one with a shared dictionary.
#![forbid(unsafe_code)]
