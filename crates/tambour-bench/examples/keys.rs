//! Measures records found by key: `keys DIRECTORY [RECORDS [LOOKS]]`, with `--features redb,rocksdb` against these, too.
use std::path::PathBuf;
use tambour_bench::records::keys::{Settings, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("a directory")?);
    let records: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let looks: usize = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let settings = Settings { records, rounds: 5, looks, seed: 1, directory };
    #[expect(clippy::print_stderr, reason = "an example tells how far it is")]
    let results = run(&settings, &mut |step| eprintln!("{step}"))?;
    let table = results.table();
    #[expect(clippy::print_stdout, reason = "an example prints")]
    {
        println!("{}\n{}", table.title, table.to_text());
    }
    Ok(())
}
