//! What the page store promises, each promise measured: sizes and counts exactly, times as ratios of processor time, contenders
//! in turns.

use super::generate::Rows;
use crate::BenchError;
use std::path::{Path, PathBuf};
use tambour_page::{Durability, Layout, Options, PageCodec, Store};
use tambour_report::Table;
use tambour_report::random::Random;

/// A promise and what became of it.
#[derive(Clone, Debug)]
pub struct Target {
    /// What was measured.
    pub what: String,
    /// At most (`true`) or at least this.
    pub at_most: bool,
    /// The bound.
    pub bound: f64,
    /// What was found.
    pub found: f64,
}

impl Target {
    /// True if the promise is kept.
    pub fn holds(&self) -> bool {
        if self.at_most { self.found <= self.bound } else { self.found >= self.bound }
    }
}

/// Bytes of pages that are generated.
const BYTES: usize = 48 << 20;

pub(super) type Pages = Vec<Vec<u8>>;

pub(super) fn at_least(what: impl Into<String>, bound: f64, found: f64) -> Target {
    Target { what: what.into(), at_most: false, bound, found }
}

pub(super) fn at_most(what: impl Into<String>, bound: f64, found: f64) -> Target {
    Target { what: what.into(), at_most: true, bound, found }
}

/// A group of promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What pages take.
    Sizes,
    /// What a file grows to when pages are overwritten.
    Churn,
    /// Bytes and syncs of updates.
    Updates,
    /// Loads, scans, backups.
    Speeds,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sizes, Self::Churn, Self::Updates, Self::Speeds];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sizes => "sizes",
            Self::Churn => "churn",
            Self::Updates => "updates",
            Self::Speeds => "speeds",
        }
    }
}

/// Measures every promise in a directory, which should be on a file system in memory.
pub fn run(directory: &Path) -> Result<Vec<Target>, BenchError> {
    run_parts(directory, &Part::ALL)
}

/// Measures some of the promises.
pub fn run_parts(directory: &Path, parts: &[Part]) -> Result<Vec<Target>, BenchError> {
    let path = directory.join(format!("tambour-pages-{}.pages", std::process::id()));
    let bench = Targets { path, found: Vec::new() };
    bench.run(parts)
}

/// The targets as a table.
pub fn table(targets: &[Target]) -> Table {
    Table::of("Promises", targets)
        .text("what", |target| target.what.clone())
        .text("wanted", |target| {
            format!("{} {}", if target.at_most { "<=" } else { ">=" }, target.bound)
        })
        .number("found", |target| format!("{:.3}", target.found))
        .text("holds", |target| if target.holds() { "yes" } else { "no" })
        .build()
}

pub(super) struct Targets {
    pub(super) path: PathBuf,
    pub(super) found: Vec<Target>,
}

impl Drop for Targets {
    fn drop(&mut self) {
        super::remove(&self.path);
    }
}

impl Targets {
    fn run(mut self, parts: &[Part]) -> Result<Vec<Target>, BenchError> {
        for rows in Rows::ALL {
            let pages = rows.pages(16 << 10, BYTES);
            for part in parts {
                match part {
                    Part::Sizes => self.sizes(rows, &pages)?,
                    Part::Churn => self.churn(rows, &pages)?,
                    Part::Speeds => self.speeds(rows, &pages)?,
                    Part::Updates => {
                        self.updates(rows, &pages, 16)?;
                        self.updates(rows, &rows.pages(64 << 10, BYTES), 64)?;
                    }
                }
            }
        }
        Ok(std::mem::take(&mut self.found))
    }

    pub(super) fn create(
        &self,
        page: &[u8],
        layout: Layout,
        codec: PageCodec,
    ) -> Result<Store, BenchError> {
        super::remove(&self.path);
        let options = Options { page_bytes: page.len(), layout, codec, ..Options::default() };
        Ok(Store::create(&self.path, &options)?)
    }

    /// Size of the whole file over the pages.
    fn sizes(&mut self, rows: Rows, pages: &Pages) -> Result<(), BenchError> {
        let wanted: &[(&str, f64)] = match rows {
            Rows::Metrics => &[("zstd:3", 6.5)],
            Rows::AccessLog => &[("lz4:1", 1.8), ("zstd:3", 2.4)],
        };
        for (name, bound) in wanted {
            let codec: PageCodec = name.parse()?;
            let mut store = self.create(&pages[0], Layout::Packed, codec)?;
            load(&mut store, pages)?;
            self.ratios(&format!("{}, 16 KiB, packed, {name}", rows.name()), *bound, &mut store)?;
        }
        if rows == Rows::Metrics {
            let mut store = self.create(&pages[0], Layout::Packed, PageCodec::ZSTD)?;
            let trained = pages.len() * 3 / 10;
            store.train_dict(&pages[..trained])?;
            load(&mut store, &pages[pages.len() / 2..])?;
            let what = "metrics, 16 KiB, packed, zstd:3 and a dictionary of other pages";
            self.ratios(what, 8.4, &mut store)?;
        }
        let mut store = self.create(&pages[0], Layout::Holes, PageCodec::ZSTD)?;
        load(&mut store, pages)?;
        let stat = store.stat(false)?;
        let home = stat.home_file.map_or(0, |space| space.allocated);
        let what =
            format!("{}, 16 KiB, holes: blocks allocated over blocks of the images", rows.name());
        self.found.push(at_most(what, 1.0, home as f64 / stat.rounded_bytes as f64));
        Ok(())
    }

    /// Pages over their images with headers and padding, and over the whole file: map, dictionary, gaps.
    fn ratios(&mut self, what: &str, bound: f64, store: &mut Store) -> Result<(), BenchError> {
        // The commits of the load have left gaps behind.
        store.compact(u64::MAX)?;
        let stat = store.stat(false)?;
        let ratio = |bytes: u64| stat.logical_bytes as f64 / bytes as f64;
        self.found.push(at_least(
            format!("{what}: pages over images"),
            bound,
            ratio(stat.packed_bytes),
        ));
        let file =
            at_least(format!("{what}: pages over the whole file"), bound, ratio(stat.file_bytes()));
        self.found.push(file);
        Ok(())
    }

    /// Every page is overwritten five times in random order by the content of another one.
    fn churn(&mut self, rows: Rows, pages: &Pages) -> Result<(), BenchError> {
        for (percent, bound) in [(5, 1.10), (20, 1.26)] {
            let mut store = self.create(&pages[0], Layout::Packed, PageCodec::ZSTD)?;
            store.set_checkpoint_bytes(Some(u64::MAX));
            load(&mut store, pages)?;
            let mut random = Random::new(percent);
            let every = pages.len() * usize::try_from(percent).unwrap_or(5) / 100;
            let mut since = 0;
            for _ in 0..5 {
                let mut order: Vec<usize> = (0..pages.len()).collect();
                random.shuffle(&mut order);
                for group in order.chunks(16) {
                    let mut batch = store.batch()?;
                    for &page in group {
                        let other = random.below(pages.len() as u64);
                        let content = &pages[usize::try_from(other).unwrap_or(0)];
                        batch.put(page as u64, content)?;
                    }
                    batch.commit(Durability::Async)?;
                    since += group.len();
                    if since >= every {
                        store.checkpoint()?;
                        since = 0;
                    }
                }
            }
            store.checkpoint()?;
            let stat = store.stat(false)?;
            let what = format!(
                "{}, 16 KiB: file over images after five overwrites, checkpoint every {percent} %",
                rows.name()
            );
            self.found.push(at_most(
                what,
                bound,
                stat.file_bytes() as f64 / stat.image_bytes as f64,
            ));
        }
        Ok(())
    }

    /// Bytes and syncs of durable updates, checkpoints included.
    fn updates(&mut self, rows: Rows, pages: &Pages, kib: u32) -> Result<(), BenchError> {
        let bounds: &[(Layout, usize, f64)] = if kib == 16 {
            &[
                (Layout::Packed, 1, 12.0),
                (Layout::Packed, 16, 7.2),
                (Layout::Holes, 1, 21.0),
                (Layout::Holes, 16, 15.5),
            ]
        } else {
            &[(Layout::Packed, 16, 28.0), (Layout::Holes, 16, 57.0)]
        };
        for &(layout, batch_pages, bound) in bounds {
            let mut store = self.create(&pages[0], layout, PageCodec::ZSTD)?;
            load(&mut store, pages)?;
            let mut random = Random::new(9);
            let before = store.counts();
            let updates = 3200;
            let mut contents = pages.clone();
            for _ in 0..updates / batch_pages {
                let mut batch = store.batch()?;
                for _ in 0..batch_pages {
                    let page = usize::try_from(random.below(pages.len() as u64)).unwrap_or(0);
                    Rows::update(&mut contents[page], &mut random);
                    batch.put(page as u64, &contents[page])?;
                }
                batch.commit(Durability::Sync)?;
            }
            store.checkpoint()?;
            let after = store.counts();
            let name =
                format!("{}, {kib} KiB, {}, batches of {batch_pages}", rows.name(), layout.name());
            let bytes = (after.bytes_written - before.bytes_written) as f64 / 1000.0;
            self.found.push(at_most(
                format!("{name}: KB per durable update, checkpoints included"),
                bound,
                bytes / updates as f64,
            ));
            let commits = (after.commits - before.commits) as f64;
            let syncs = (after.syncs - before.syncs) as f64;
            let bound = if layout == Layout::Packed { 1.0 } else { 2.0 };
            // Checkpoints are counted apart: three syncs each, five with holes.
            let checkpoints = (after.checkpoints - before.checkpoints) as f64;
            let own = checkpoints * if layout == Layout::Packed { 3.0 } else { 5.0 };
            self.found.push(at_most(
                format!("{name}: syncs per commit"),
                bound,
                (syncs - own) / commits,
            ));
            if layout == Layout::Holes {
                let punches = (after.punches - before.punches) as f64;
                // A counter that changes does not change the number of blocks, with few exceptions.
                let what = format!("{name}: punches per update");
                self.found.push(at_most(what, 0.01, punches / updates as f64));
            }
        }
        Ok(())
    }
}

/// Loads pages in batches of about a megabyte, and makes them durable.
pub(super) fn load(store: &mut Store, pages: &[Vec<u8>]) -> Result<(), BenchError> {
    let batch_pages = ((1 << 20) / store.page_bytes()).max(1);
    let mut number = 0;
    for group in pages.chunks(batch_pages) {
        let mut batch = store.batch()?;
        for page in group {
            batch.put(number, page)?;
            number += 1;
        }
        batch.commit(Durability::Async)?;
    }
    Ok(store.checkpoint()?)
}
