//! Queries through the VFS beside the same on a plain file, both in the page cache:
//! `cargo run --release -p tambour-sqlite --example queries -- DIRECTORY [ORDERS [CACHE_MIB [PAGE_KIB [CODEC [import]]]]]`.
//! With `import` the database comes from the plain one, as `tambour pages sqlite import` makes it; with `auto` for the codec,
//! it has the one that `import` chooses.
//!
//! Processor time of the thread, in turns; the median of the rounds.

#[path = "../tests/database/tpch.rs"]
mod tpch;

use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use tambour_sqlite::{NAME, Settings, import, register};

const ROUNDS: usize = 5;

/// Seconds of processor time of this thread.
fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn timed<T>(run: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<(T, f64)> {
    let start = thread_seconds();
    let result = run()?;
    Ok((result, thread_seconds() - start))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let directory = Path::new(argument(1).unwrap_or("/dev/shm"));
    let orders: i64 = argument(2).unwrap_or("50000").parse()?;
    let mut settings = Settings::default();
    if let Some(cache) = argument(3) {
        settings.cache_bytes = cache.parse::<usize>()? << 20;
    }
    if let Some(page) = argument(4) {
        settings.page_bytes = page.parse::<usize>()? << 10;
    }
    if let Some(codec) = argument(5).filter(|codec| *codec != "auto") {
        settings.codec = codec.parse()?;
        settings.quick = None;
    }
    register(&settings)?;
    let directory = tempfile::tempdir_in(directory)?;
    let (ours, plain) = (directory.path().join("ours.db"), directory.path().join("plain.db"));
    let open = |path: &Path, ours: bool| {
        if ours {
            Connection::open_with_flags_and_vfs(path, OpenFlags::default(), NAME)
        } else {
            Connection::open(path)
        }
    };
    let ((), loading_plain) = timed(|| tpch::load(&mut open(&plain, false)?, orders))?;
    let start = thread_seconds();
    if argument(6) == Some("import") {
        import(&plain, &ours, &settings)?;
    } else {
        tpch::load(&mut open(&ours, true)?, orders)?;
    }
    let loading = thread_seconds() - start;
    let size = |path: &Path| std::fs::metadata(path).map(|it| it.len() as f64 / 1e6);
    let (bytes, bytes_plain) = (size(&ours)?, size(&plain)?);
    println!(
        "file {bytes:.1} MB, plain {bytes_plain:.1} MB: {:.3}; load {:.2}x; cache {} MiB, pages {} KiB, {}",
        bytes / bytes_plain,
        loading / loading_plain,
        settings.cache_bytes >> 20,
        settings.page_bytes >> 10,
        settings.codec
    );
    compare(&open(&ours, true)?, &open(&plain, false)?)?;
    Ok(())
}

/// Runs all queries on both, in turns.
#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn compare(one: &Connection, other: &Connection) -> rusqlite::Result<()> {
    let (mut all, mut all_plain) = (0.0, 0.0);
    for (number, query) in tpch::QUERIES.iter().enumerate() {
        let (mut times, mut times_plain) = (Vec::new(), Vec::new());
        let mut first = 0.0;
        for round in 0..ROUNDS {
            let (found, time) = timed(|| tpch::rows(one, query))?;
            let (wanted, time_plain) = timed(|| tpch::rows(other, query))?;
            assert_eq!(found, wanted, "{query}");
            if round == 0 {
                first = time / time_plain;
            }
            times.push(time);
            times_plain.push(time_plain);
        }
        let (time, time_plain) = (median(&mut times), median(&mut times_plain));
        all += time;
        all_plain += time_plain;
        println!(
            "query {}: {:.0} ms, plain {:.0} ms: {:.2}x; the first time {first:.2}x",
            number + 1,
            time * 1e3,
            time_plain * 1e3,
            time / time_plain
        );
    }
    println!("together: {:.2}x", all / all_plain);
    Ok(())
}
