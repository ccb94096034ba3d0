//! Size and time of a TPC-H-like database through the VFS, against a plain file:
//! `cargo run --release -p tambour-sqlite --example tpch -- /dev/shm`.

#[path = "../tests/database/support.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use rusqlite::Connection;
use std::path::PathBuf;
use std::time::Instant;
use support::{QUERIES, load, open, rows};

/// Passes of which the median counts.
const ROUNDS: usize = 9;
const ORDERS: u64 = 40_000;

#[expect(clippy::disallowed_methods, reason = "an example is an edge of the program")]
fn time(mut act: impl FnMut()) -> f64 {
    let start = Instant::now();
    act();
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let ours = directory.join(format!("tambour-tpch-{}.db", std::process::id()));
    let plain = directory.join(format!("tambour-tpch-{}.plain", std::process::id()));
    let load_ours = time(|| load(&mut open(&ours), ORDERS));
    let load_plain = time(|| load(&mut Connection::open(&plain).expect("a database"), ORDERS));
    println!("load: {load_ours:.2} s, plain {load_plain:.2} s, {:.2}x", load_ours / load_plain);
    let size = |path| std::fs::metadata(path).map_or(0, |found| found.len());
    let (one, other) = (size(&ours), size(&plain));
    println!("size: {one}, plain {other}, {:.3}x", one as f64 / other as f64);
    let (one, other) = (open(&ours), Connection::open(&plain).expect("a database"));
    let (mut all_ours, mut all_plain) = (0.0, 0.0);
    for (index, query) in QUERIES.iter().enumerate() {
        assert_eq!(rows(&one, query), rows(&other, query), "{query}");
        let (mut mine, mut theirs) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            mine.push(time(|| drop(rows(&one, query))));
            theirs.push(time(|| drop(rows(&other, query))));
        }
        let (mine, theirs) = (median(mine), median(theirs));
        all_ours += mine;
        all_plain += theirs;
        println!("query {index}: {mine:.4} s, plain {theirs:.4} s, {:.2}x", mine / theirs);
    }
    println!("all queries: {:.2}x", all_ours / all_plain);
    drop((one, other));
    let _ = std::fs::remove_file(&ours);
    let _ = std::fs::remove_file(&plain);
}
