//! Skip indexes ⇄ granules: what the indexes of ClickHouse's parts say of a table's granules
//! (`docs/format/part.md`, "Skip indexes").
//!
//! An index has an entry for a number of granules: minima and maxima, all different values, or a Bloom filter of them; an inverted index has
//! one for all. [`Indexes`] leaves out of a scan the granules in which no row can match. An index is never needed: one that is missing, damaged, or of
//! another table says nothing, and [`verify()`] tells so. A [`Projection`] has the same rows in another order, and is scanned where that
//! leaves fewer granules.
#![forbid(unsafe_code)]

mod entry;
mod error;
mod filter;
mod kind;
mod look;
mod probe;
mod projection;
mod prune;
mod text;
mod verify;

pub use entry::decode;
pub use error::IndexError;
pub use kind::{Index, Kind, Shape};
pub use look::{Found, look_into};
pub use projection::{Projected, Projection};
pub use prune::Indexes;
pub use verify::{check, verify, verify_parts};
