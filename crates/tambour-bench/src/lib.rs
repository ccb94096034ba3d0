//! Benchmarks, and the page that shows their results.
//!
//! A benchmark is a plain function from inputs and settings to results; results turn into text, CSV, JSON and a page. What
//! only the edge of the program knows (the machine, the commit, the date) is handed in.
//!
//! - [`input`]: the data: files, columns of TPC-H, columns of three compressibilities
//! - [`decode`]: how fast LZ4 blocks are decoded, by every variant, the selector and C lz4; against other formats
//! - [`records`]: random reads of small records, by the record store and by libzstd
//! - [`pages`]: what stores of pages take and how fast they are, packed and with holes
//! - [`integers`], [`hashes`]: integers as bytes, and hashes of keys and columns, against other crates
//! - [`messages`]: messages of many connections, against zstd streams and zstd per message
//! - [`mod@advise`]: the page of advice on codecs
//! - [`codecs`]: every codec and chain that suits a type, by every variant
//! - [`columns`]: what a scan of each column costs, now and with the best chains
//! - [`search`]: the advisor's search beside an exhaustive one
//! - [`report`]: tables and charts, and the one HTML page that holds them
//! - [`machine`]: where the figures were measured
#![deny(unsafe_code)]

pub mod advise;
mod clock;
pub mod codecs;
pub mod columns;
pub mod decode;
mod error;
pub mod hashes;
pub mod input;
pub mod integers;
mod line;
pub mod machine;
pub mod messages;
pub mod pages;
pub mod race;
mod random;
pub mod records;
pub mod report;
pub mod search;

pub use clock::{thread_seconds, thread_time};
pub use error::BenchError;
