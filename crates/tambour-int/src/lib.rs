//! Single integers, strings and documents in few bytes, byte-compatible with Xapian and protobuf.
//!
//! [`Writer`] puts values into a buffer of the caller, [`Reader`] takes them out again; neither allocates. [`xapian`] describes
//! the encodings and has those that need no cursor, [`Document`] is serialised with them. Whole slices of integers are encoded
//! faster by the batch kernels of [`tambour_kernel::integer`], in the same bytes.
//!
//! ```
//! use tambour_int::{Reader, Writer};
//! let mut bytes = [0; 32];
//! let mut writer = Writer::new(&mut bytes);
//! writer.pack_uint(300)?;
//! writer.pack_string(b"term")?;
//! writer.pack_uint_preserving_sort(12345)?;
//! let length = writer.written();
//!
//! let mut reader = Reader::new(&bytes[..length]);
//! assert_eq!(reader.unpack_uint::<u32>()?, 300);
//! assert_eq!(reader.unpack_string()?, b"term");
//! assert_eq!(reader.unpack_uint_preserving_sort::<u32>()?, 12345);
//! assert!(reader.rest().is_empty());
//! # Ok::<(), tambour_int::IntError>(())
//! ```
#![forbid(unsafe_code)]
#![expect(
    clippy::inline_always,
    reason = "the short case must land in the caller, the long one must not"
)]

mod document;
mod error;
pub mod protobuf;
mod reader;
mod writer;
pub mod xapian;

pub use document::{Document, Term};
pub use error::IntError;
pub use reader::Reader;
pub use tambour_kernel::integer::Malformed;
pub use tambour_kernel::integer::leb128::{Form, Word};
pub use writer::{LEB128_MAX, Writer, pack_uint};
