//! Measures what the page store promises: `cargo run --release -p tambour-bench --example pages -- /dev/shm`.

use std::path::PathBuf;

fn main() -> Result<(), tambour_bench::BenchError> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let targets = tambour_bench::pages::run_targets(&directory)?;
    #[expect(clippy::print_stdout, reason = "this is what the program is for")]
    {
        print!("{}", tambour_bench::pages::targets_table(&targets).to_text());
    }
    Ok(())
}
