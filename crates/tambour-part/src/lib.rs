//! `MergeTree` parts: rows ⇄ one immutable directory, in ClickHouse's own format.
#![forbid(unsafe_code)]

pub mod column;
mod error;
pub mod name;
pub mod part;
pub mod storage;
pub mod types;
pub mod write;

pub use error::{PartError, Place};
pub use part::Part;
pub use types::DataType;
pub use write::PartWriter;
