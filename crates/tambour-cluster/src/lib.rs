//! The same SQL over several workers.
//!
//! A worker is a process that opens tables below a directory and runs parts of plans ([`serve`]). The coordinator plans as one
//! process does, lets the engine divide the plan into stages, and sends each worker its share ([`Cluster`]). This crate alone
//! knows the engine, which is `datafusion-distributed`.
//!
//! The way of a query: [`Cluster::session`] makes a session whose planner ([`planner`]) puts the values of scalar subqueries
//! into the plan ([`subquery`]), looks whether every node can be sent, and has the plan divided; [`split`] gives each worker
//! its part of a scan; [`channel`] sends the plans in the form of [`codec`] and [`convert`], names the worker in every error
//! and compares the rows that workers read with those that the scan plans. On the worker, [`guard`] turns panics into errors
//! and runs plans apart from the threads of the [`network`]. Other work, such as verifying a part, travels as an
//! [`errand`].
#![forbid(unsafe_code)]

mod broadcast;
mod channel;
mod cluster;
mod codec;
mod convert;
mod errand;
mod error;
mod explain;
mod found;
mod guard;
mod local;
mod network;
mod planner;
mod split;
mod subquery;
mod tables;
#[cfg(test)]
mod tests;
mod tls;
mod wire;
mod worker;

pub use cluster::{Cluster, ClusterOptions, WorkerInfo};
pub use errand::{Errands, Outcome, Root};
pub use error::ClusterError;
pub use local::LocalCluster;
pub use tls::TlsIdentity;
pub use worker::{Served, WorkerOptions, serve};
