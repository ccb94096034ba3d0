//! Queries over tables that were written by the store, compared with the same queries over the same rows in memory.

mod filters;
mod plans;
mod queries;
mod scans;
mod support;
mod system;
