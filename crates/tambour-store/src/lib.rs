//! Stores: what owns directories, locks, commits and recovery. Today: tables of `MergeTree` parts.
#![forbid(unsafe_code)]

mod error;
pub mod schema;
pub mod table;

pub use error::StoreError;
pub use table::Table;
