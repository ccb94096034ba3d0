//! The Rust of the README, run: `cargo xtask tidy` compares the lines between the two marks with it.

#[cfg(test)]
mod tests {
    use std::error::Error;
    use tambour::ImportOptions;

    #[test]
    fn the_readme() -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        // The only test of this program, so that nobody else minds the directory.
        std::env::set_current_dir(directory.path())?;
        std::fs::write("hits.csv", "page,visits\n/,30\n/about,4\n/,20\n")?;
        // README: begin
        let table = tambour::import(["hits.csv"], "hits", &ImportOptions::default())?;
        let busy = table.scan().columns(["page", "visits"]).filter("visits > 10").limit(100);
        for batch in busy.batches()? {
            println!("{} rows", batch?.num_rows());
        }
        let top = tambour::sql(&[&table], "SELECT page, sum(visits) FROM hits GROUP BY page")?;
        table.export("hits.parquet")?;
        // README: end
        let mut rows = 0;
        for batch in top {
            rows += batch?.num_rows();
        }
        assert_eq!(rows, 2);
        assert!(std::fs::metadata("hits.parquet")?.len() > 0);
        Ok(())
    }
}
