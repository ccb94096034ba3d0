//! Compressed blocks and the codecs inside them: block ⇄ bytes.
//!
//! ```
//! use tambour_codec::block::{Block, Decoder, Encoder};
//! use tambour_codec::codec::Element;
//!
//! let mut stream = Vec::new();
//! Encoder::new(&"ZSTD(3)".parse()?, Element::BYTES)?.encode(b"hello hello hello", &mut stream)?;
//!
//! let block = Block::parse(&stream)?; // verifies the checksum
//! let mut bytes = vec![0; block.header.uncompressed_size as usize];
//! Decoder::new().decode(&block, &mut bytes)?;
//! assert_eq!(bytes, b"hello hello hello");
//! # Ok::<(), tambour_codec::CodecError>(())
//! ```
//!
//! This layer checks, allocates and explains; the loops are in `tambour-kernel`. It knows no column and no Arrow. Streams of
//! blocks go on to `tambour-part`, which makes columns of them.
//!
//! - [`block`]: the unit of compression on disk, described in `docs/format/block.md`
//! - [`choose`]: chains chosen by the data, `CODEC(auto)`
//! - [`codec`]: the registry of codec families; one file per family
//! - [`frame`]: whole streams, compressed and decompressed: `.lz4`, zstd, and plain blocks
//! - [`spec`]: `CODEC(Delta(4), ZSTD(3))` as users write it
//! - [`kernels`]: which kernel variants are in use, and `TAMBOUR_ISA`
#![forbid(unsafe_code)]

pub mod block;
pub mod choose;
pub mod codec;
mod error;
pub mod frame;
pub mod kernels;
pub mod spec;

pub use error::{CodecError, Kind};
