//! SQL over tables: Apache DataFusion on a provider that scans parts.
//!
//! The way of a query: [`context`] prepares the text and plans it with the functions of [`tambour_plan`], over tables that [`tambour_scan`] reads, records,
//! generated rows and the `system` tables. [`explain`] says a plan in the words of users; `write` changes tables; `fill` ends a result.
#![forbid(unsafe_code)]

mod administration;
mod check;
pub mod context;
mod defaults;
mod describe;
mod error;
pub mod execution;
pub mod explain;
mod fill;
mod generated;
mod guard;
mod handed;
mod listing;
mod merged;
mod placed;
pub mod records;
mod results;
pub mod system;
mod temporary;
pub mod travel;
mod unknown;
mod vocabulary;
mod write;

pub use tambour_scan::{exec, provider, pushdown, scan_options};

pub use context::{Session, SessionOptions};
pub use defaults::compute_defaults;
pub use error::SqlError;
pub use execution::{Execution, Planned, Query, ScanStatistics};
pub use tambour_dialect::split_data;
