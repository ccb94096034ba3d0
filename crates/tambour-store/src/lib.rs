//! Stores: what owns directories, locks, commits and recovery. Tables of `MergeTree` parts, and logs of records.
#![forbid(unsafe_code)]

mod commit;
mod error;
mod lock;
pub mod record;
mod recover;
pub mod schema;
pub mod table;

pub use error::StoreError;
pub use table::Table;
