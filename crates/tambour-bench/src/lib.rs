//! Benchmarks, and the page that shows their results.
//!
//! A benchmark is a plain function from inputs and settings to results; results turn into text, CSV, JSON and a page. What
//! only the edge of the program knows (the machine, the commit, the date) is handed in.
//!
//! - [`input`]: the data: files, columns of TPC-H, columns of three compressibilities
//! - [`decode`]: how fast LZ4 blocks are decoded, by every variant, the selector and C lz4; against other formats
//! - [`records`]: random reads of small records, by the record store and by libzstd
//! - [`report`]: tables and charts, and the one HTML page that holds them
//! - [`machine`]: where the figures were measured
#![forbid(unsafe_code)]

mod clock;
pub mod decode;
mod error;
pub mod input;
pub mod machine;
mod random;
pub mod records;
pub mod report;

pub use clock::thread_seconds;
pub use error::BenchError;
