//! Measures repeated reads of single granules with the cache of blocks and without: `points TABLE [GRANULES [ROUNDS]]`.
use std::path::PathBuf;
use tambour_bench::points::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let table = PathBuf::from(arguments.next().ok_or("a table")?);
    let granules: usize = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(21), |text| text.parse())?;
    let results = run(&Settings { table, cache_bytes: 1 << 30, granules, rounds, seed: 1 })?;
    let table = results.table();
    #[expect(clippy::print_stdout, reason = "an example prints")]
    {
        println!("{}\n{}found: {:.3} of the blocks", table.title, table.to_text(), results.found);
    }
    Ok(())
}
