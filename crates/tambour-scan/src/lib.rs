//! How queries read tables: nodes of Apache DataFusion's plans over parts, and rules that bring work to the scan.
//!
//! [`provider`] offers a table's schema, statistics and scans, [`pushdown`] turns filters into predicates that the table can prune with, and
//! [`exec`] is the plan node that runs a [`tambour_table::scan::Scan`]. Rules: `answers` (aggregates from statistics), [`groups`] (keys by
//! position, sorted runs), `texts` (as bytes, and lengths alone), `late` (columns for rows that are left), [`limited`] (columns for the rows
//! of a limit); [`distinct`] counts tuples by their bytes, [`any`] copies a value of each group, and [`arrival`] keeps rows in the order of their source. [`scan_options`] switches each of them off.
#![forbid(unsafe_code)]

mod answers;
pub mod any;
pub mod arrival;
pub mod distinct;
mod doubled;
pub mod exec;
pub mod groups;
mod late;
pub mod limited;
mod nodes;
pub mod ordered;
pub mod provider;
pub mod pushdown;
pub mod scan_options;
pub mod shown;
mod statistics;
pub mod sums;
mod texts;
