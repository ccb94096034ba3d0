//! Benchmarks: Tambour beside other libraries, formats and servers.
//!
//! The program `tambour-bench` is a thin edge over this; `tambour bench` runs that program. A benchmark is a plain function
//! from inputs and settings to results, and results are [`Findings`]: tables, JSON, CSV and a page. All times come from one
//! harness (the module `measure`): contenders in turns, processor time, medians, outputs compared.
//!
//! - [`input`]: the data: files, columns of TPC-H, columns of three compressibilities
//! - [`decode`]: how fast LZ4 blocks are decoded, by every variant, the selector and C lz4; against other formats
//! - [`records`]: random reads of small records, by the record store and by libzstd
//! - [`pages`]: what stores of pages take and how fast they are, packed and with holes
//! - [`integers`], [`hashes`]: integers as bytes, and hashes of keys and columns, against other crates; groups of loops ([`race`])
//! - [`messages`]: messages of many connections, against zstd streams and zstd per message
//! - [`codecs`]: every codec and chain that suits a type, by every variant
//! - [`columns`]: what a scan of each column costs, now and with the best chains
//! - [`points`]: repeated reads of single granules, with the cache of blocks and without
//! - [`search`]: the advisor's search against an exhaustive one
#![deny(unsafe_code)]

mod chain;
pub mod codecs;
pub mod columns;
pub mod decode;
mod error;
mod findings;
pub mod hashes;
pub mod input;
pub mod integers;
mod line;
mod measure;
pub mod messages;
pub mod pages;
pub mod points;
pub mod race;
pub mod reading;
pub mod records;
pub mod search;

pub use error::BenchError;
pub use findings::Findings;
