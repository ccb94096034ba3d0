//! SQL over tables: Apache DataFusion on a provider that scans parts.
//!
//! The way of a query: [`context`] prepares the text and plans it, [`provider`] offers a table's schema, statistics and
//! scans, [`pushdown`] turns filters into predicates the store can prune with, and [`exec`] is the plan node that runs a
//! [`tambour_table::scan::Scan`]. Rules bring work to the scan: `answers` (aggregates from statistics), `groups` (keys by
//! position), `texts` (as bytes, and lengths alone), `late` (columns for rows that are left), `limited` (columns for the rows of a limit);
//! `arrival` keeps rows in the order of their source. [`explain`] says a plan in the words of users. [`system`] shows parts, columns and codecs as tables.
#![forbid(unsafe_code)]

mod answers;
mod arrival;
pub mod context;
mod describe;
mod doubled;
mod error;
pub mod exec;
pub mod explain;
mod fill;
pub mod functions;
mod generated;
mod groups;
mod guard;
mod handed;
mod late;
mod limited;
mod merged;
mod ordered;
mod paste;
pub mod provider;
pub mod pushdown;
pub mod records;
mod results;
pub mod scan_options;
mod statistics;
mod sums;
pub mod system;
mod temporary;
mod texts;
pub mod travel;
mod unknown;
mod vocabulary;
mod write;

pub use context::{Execution, Query, ScanStatistics, Session, SessionOptions};
pub use error::SqlError;
