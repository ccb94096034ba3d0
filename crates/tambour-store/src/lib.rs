//! Stores: what owns directories, locks, commits and recovery: tables of `MergeTree` parts, logs of records, and stores of pages.
#![forbid(unsafe_code)]

pub mod advise;
mod commit;
mod error;
pub mod layout;
mod lock;
pub mod page;
pub mod record;
mod recover;
pub mod schema;
pub mod storage;
pub mod table;

pub use error::StoreError;
pub use table::Table;
