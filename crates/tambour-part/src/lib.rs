//! `MergeTree` parts: rows ⇄ one immutable directory, in ClickHouse's own format.
#![forbid(unsafe_code)]

mod budget;
pub mod choose;
pub mod column;
mod error;
mod manifest;
mod mark;
pub mod name;
pub mod part;
mod partition;
mod read;
pub mod statistics;
mod stream;
pub mod types;
mod verify;
pub mod write;

pub use error::PartError;
pub use part::Part;
pub use stream::cache::{BlockCache, CacheCounts};
pub use tambour_storage::Place;
pub use types::DataType;
pub use write::PartWriter;
