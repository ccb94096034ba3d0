//! Integers.
#![forbid(unsafe_code)]
