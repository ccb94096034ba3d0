//! Measures what the page store promises: `cargo run --release -p tambour-bench --example pages -- /dev/shm`, and only a part
//! of it if `sizes`, `churn`, `updates` or `speeds` follow.

use std::path::PathBuf;
use tambour_bench::pages::{Part, run_parts, targets_table};

fn main() -> Result<(), tambour_bench::BenchError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let names: Vec<String> = arguments.collect();
    let wanted = |part: &Part| names.is_empty() || names.iter().any(|name| name == part.name());
    let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
    let targets = run_parts(&directory, &parts)?;
    #[expect(clippy::print_stdout, reason = "this is what the program is for")]
    {
        print!("{}", targets_table(&targets).to_text());
    }
    Ok(())
}
