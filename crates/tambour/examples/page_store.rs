//! Keeps pages of a fixed size compressed in one file, written in batches that are whole or absent.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use tambour::{Durability, PageOptions, PageStore};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("database.pages");
    let options = PageOptions { page_bytes: 4096, ..PageOptions::default() };
    let mut store = PageStore::create(&path, &options)?;
    let mut pages = Vec::new();
    for _ in 0..16 {
        pages.push(store.alloc()?);
    }
    let mut batch = store.batch()?;
    for page in &pages {
        batch.put(*page, &[b'x'; 4096])?;
    }
    batch.commit(Durability::Sync)?;

    let mut content = vec![0; 4096];
    store.read(pages[3], &mut content)?;
    assert_eq!(content, [b'x'; 4096]);
    store.close()?;
    let bytes = std::fs::metadata(&path)?.len();
    println!("{} pages of 4096 bytes in {bytes} bytes", pages.len());
    Ok(())
}
