//! Measures what the page store promises: `cargo run --release -p tambour-bench --example pages -- /dev/shm`, and only a part
//! of it if `sizes`, `churn`, `updates` or `speeds` follow. `--features mariadb --example pages -- /dev/shm mariadb DIRECTORY`
//! measures the grid of page sizes, codecs and layouts instead, beside the server that is unpacked in a directory; only some
//! sizes of pages if `16K`, `32K` or `64K` follow.

use std::path::PathBuf;
use tambour_bench::pages::{Part, Settings, run, run_parts, targets_table};

fn main() -> Result<(), tambour_bench::BenchError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let names: Vec<String> = arguments.collect();
    if let [word, server, sizes @ ..] = &names[..]
        && word == "mariadb"
    {
        let mariadb = Some(PathBuf::from(server));
        let mut settings = Settings { mariadb, ..Settings::of_the_study(directory) };
        let wanted = |size: usize| sizes.is_empty() || sizes.contains(&format!("{}K", size >> 10));
        settings.page_sizes.retain(|size| wanted(*size));
        let results = run(&settings, &mut |_, _| ())?;
        for table in std::iter::once(results.table()).chain(results.served_table()) {
            show(&table.to_text());
        }
        return Ok(());
    }
    let wanted = |part: &Part| names.is_empty() || names.iter().any(|name| name == part.name());
    let parts: Vec<Part> = Part::ALL.into_iter().filter(wanted).collect();
    let targets = run_parts(&directory, &parts)?;
    show(&targets_table(&targets).to_text());
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn show(text: &str) {
    println!("{text}");
}
