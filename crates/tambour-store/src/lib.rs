//! Stores: what owns directories, locks, commits and recovery. Today: tables of `MergeTree` parts.
#![forbid(unsafe_code)]

pub mod advise;
mod commit;
mod error;
mod lock;
mod recover;
pub mod schema;
pub mod table;

pub use error::StoreError;
pub use table::Table;
