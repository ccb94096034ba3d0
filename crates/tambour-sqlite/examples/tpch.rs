//! Size and time of a TPC-H-like database through the VFS, against a plain file:
//! `cargo run --release -p tambour-sqlite --example tpch -- /dev/shm`.

#[path = "../tests/database/tpch.rs"]
mod tpch;

use rusqlite::{Connection, OpenFlags};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tpch::{QUERIES, load, rows};

/// Passes of which the median counts.
const ROUNDS: usize = 9;
const ORDERS: i64 = 40_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::disallowed_methods, reason = "an example is an edge of the program")]
fn time(mut act: impl FnMut() -> rusqlite::Result<()>) -> rusqlite::Result<f64> {
    let start = Instant::now();
    act()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), tambour_sqlite::NAME)
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Outcome<()> {
    tambour_sqlite::register(&tambour_sqlite::Settings::default())?;
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let ours = directory.join(format!("tambour-tpch-{}.db", std::process::id()));
    let plain = directory.join(format!("tambour-tpch-{}.plain", std::process::id()));
    let load_ours = time(|| load(&mut open(&ours)?, ORDERS))?;
    let load_plain = time(|| load(&mut Connection::open(&plain)?, ORDERS))?;
    println!("load: {load_ours:.2} s, plain {load_plain:.2} s, {:.2}x", load_ours / load_plain);
    let (one, other) = (std::fs::metadata(&ours)?.len(), std::fs::metadata(&plain)?.len());
    println!("size: {one}, plain {other}, {:.3}x", one as f64 / other as f64);
    let (one, other) = (open(&ours)?, Connection::open(&plain)?);
    let (mut all_ours, mut all_plain) = (0.0, 0.0);
    for (index, query) in QUERIES.iter().enumerate() {
        assert_eq!(rows(&one, query)?, rows(&other, query)?, "{query}");
        let (mut mine, mut theirs) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            mine.push(time(|| rows(&one, query).map(drop))?);
            theirs.push(time(|| rows(&other, query).map(drop))?);
        }
        let (mine, theirs) = (median(mine), median(theirs));
        all_ours += mine;
        all_plain += theirs;
        println!("query {index}: {mine:.4} s, plain {theirs:.4} s, {:.2}x", mine / theirs);
    }
    println!("all queries: {:.2}x", all_ours / all_plain);
    drop((one, other));
    std::fs::remove_file(&ours)?;
    std::fs::remove_file(&plain)?;
    Ok(())
}
