//! Stores of pages: what they take and how fast they are, by page size, codec and layout.
//!
//! The figures are those of the study of transparent page compression: final size, time and bytes written by the load, time of
//! a range scan, time and bytes of random updates; on generated rows, laid out in pages as a B-tree has them. The feature
//! `mariadb` puts a MariaDB server beside it.

mod case;
mod codec;
mod generate;
#[cfg(feature = "mariadb")]
mod mariadb;
mod measure;
mod output;
mod speeds;
mod targets;

pub use case::{Case, Keeper, Served, Settings};
pub use generate::Rows;
pub use measure::{Results, run};
pub use targets::{Part, Target, run as run_targets, run_parts, table as targets_table};

use std::path::Path;

/// Removes a store, if it is there.
fn remove(path: &Path) {
    let mut map = path.as_os_str().to_owned();
    map.push(".map");
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(map);
}
