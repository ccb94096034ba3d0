//! The laws that Tambour keeps, as functions.
//!
//! A law takes an input and panics when it does not hold. Property tests (`tests/` of this crate), fuzz targets (`fuzz/`)
//! and the replay of a corpus call the same function, so that a law is written once and holds for every variant and codec
//! that is registered: the laws walk the tables.
//!
//! - [`generate`]: data as columns have it, and hostile blocks; deterministic
//! - [`oracle`]: other implementations to compare with, and a naive one of our own
//! - [`mod@column`]: laws of the kernels of columns
//! - [`naive`]: decoders of column codecs to compare with
//! - [`hash`]: laws of the hash kernels
//! - [`integer`]: laws of the integer kernels
//! - [`lz4`]: laws of the LZ4 kernels
//! - [`block`]: laws of compressed blocks and codecs
//! - [`frame`]: laws of whole streams
//! - [`look`]: laws of looking inside frames
//! - [`spec`]: laws of codec specifications
//! - [`part`]: laws of parts over hostile files

pub mod block;
pub mod column;
pub mod frame;
pub mod generate;
pub mod hash;
pub mod index;
pub mod integer;
pub mod look;
pub mod lz4;
pub mod naive;
pub mod oracle;
pub mod part;
pub mod record;
pub mod spec;
