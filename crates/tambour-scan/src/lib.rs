//! How queries read tables: nodes of Apache DataFusion's plans over parts, and rules that bring work to the scan.
//!
//! [`provider`] offers a table's schema, statistics and scans, [`pushdown`] turns filters into predicates that the table can prune with, and
//! [`exec`] is the plan node that runs a [`tambour_table::scan::Scan`]. Rules: `answers` (aggregates from statistics), [`groups`] (keys by
//! position, sorted runs), `texts` (as bytes, and lengths alone), `late` (columns for rows that are left), [`limited`] (columns for the rows
//! of a limit); [`aggregates`] has accumulators of many groups, and [`arrival`] keeps rows in the order of their source. [`scan_options`] switches each of them off.
#![forbid(unsafe_code)]

pub mod aggregates;
mod answers;
pub mod arrival;
mod counts;
mod doubled;
pub mod exec;
pub mod groups;
mod lambdas;
mod late;
pub mod limited;
mod nodes;
pub mod provider;
pub mod pushdown;
pub mod scan_options;
pub mod shown;
mod statistics;
mod texts;
