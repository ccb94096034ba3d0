//! Tables: each is a directory of parts and a sidecar.
//!
//! `tambour.json`, the sidecar, holds the CREATE TABLE statement and the list of live parts; replacing it (write aside,
//! sync, rename, sync the directory) *is* the commit. Live parts may still carry their temporary directory name: recovery
//! rolls the renames forward. A directory without a sidecar is a copy of a ClickHouse table directory: its live parts are
//! found by the covering logic over the directory names, its columns in their columns.txt.
//!
//! The way of the rows: [`insert::Insert`] collects batches, sorts and spills them as parts, merges the spilled parts and
//! commits; [`merge::optimize`] merges what several inserts left; [`verify::verify`] reads everything and checks it.
#![forbid(unsafe_code)]

pub mod alter;
mod canonical;
pub mod catalog;
mod chunk;
mod complete;
mod computing;
mod conform;
mod draft;
pub mod engine;
mod evolve;
mod expire;
mod fill;
pub mod filter;
mod fresh;
pub mod insert;
mod intake;
mod key;
mod locked;
pub mod merge;
mod name;
mod open;
mod ordinal;
mod parallel;
mod partition;
pub mod predicate;
pub mod prune;
mod recast;
pub mod recompress;
mod recover;
pub mod rewrite;
mod run;
pub mod salvage;
pub mod scan;
pub mod server;
mod shape;
mod sidecar;
mod span;
mod spill;
pub mod statistics;
pub mod store;
mod table;
pub mod task;
#[cfg(test)]
mod tests;
mod tournament;
mod trust;
pub mod ttl;
mod unproven;
pub mod verify;
pub mod widen;

pub use complete::Completion;
pub use computing::{Computing, compute_defaults_by};
pub use fresh::check_fresh;
pub use locked::remove_replaced;
pub use name::PartName;
pub use sidecar::SIDECAR;
pub use table::Table;
pub use tambour_schema::{self as schema, TableError};
