//! The grid: rows, page sizes, codecs, layouts; and a server beside it, if one is at hand.

use super::generate::Rows;
use super::targets::{Target, load};
use crate::BenchError;
use crate::measure::seconds;
use std::path::PathBuf;
use tambour_page::{Durability, Layout, Method, Options, PageCodec, Store};
use tambour_report::random::Random;

/// What is measured, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory of the stores; best on a file system in memory.
    pub directory: PathBuf,
    /// Bytes of pages of each kind of rows.
    pub bytes: usize,
    /// Page sizes.
    pub page_sizes: Vec<usize>,
    /// Codecs.
    pub codecs: Vec<PageCodec>,
    /// Random updates.
    pub updates: u64,
    /// Pages of an update's commit.
    pub batch_pages: u64,
    /// Where the packages of a MariaDB server are unpacked, if it is to be measured, too.
    pub mariadb: Option<PathBuf>,
}

impl Settings {
    /// The figures of the study, in a directory.
    pub fn of_the_study(directory: PathBuf) -> Self {
        Self {
            directory,
            bytes: 64 << 20,
            page_sizes: vec![16 << 10, 32 << 10, 64 << 10],
            codecs: vec![PageCodec::NONE, PageCodec::LZ4, PageCodec::ZSTD, PageCodec::ZLIB],
            updates: 20_000,
            batch_pages: 16,
            mariadb: None,
        }
    }

    /// How many combinations there are.
    pub fn case_count(&self) -> usize {
        let served = self.codecs.iter().filter(|codec| self.is_served(**codec)).count();
        Rows::ALL.len() * self.page_sizes.len() * (2 * self.codecs.len() + served)
    }

    /// True for what the server is measured with: it has no zstd.
    fn is_served(&self, codec: PageCodec) -> bool {
        self.mariadb.is_some() && codec.method != Method::Zstd
    }
}

/// Who keeps the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// A store of ours, in a layout.
    Store(Layout),
    /// A MariaDB server: InnoDB with compressed pages on holes.
    MariaDb,
}

impl Keeper {
    /// All of them.
    pub const ALL: [Self; 3] =
        [Self::Store(Layout::Packed), Self::Store(Layout::Holes), Self::MariaDb];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Store(layout) => layout.name(),
            Self::MariaDb => "MariaDB",
        }
    }
}

/// What is known of a server alone. Seconds are those of the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// Rows of the table.
    pub rows: u64,
    /// Length of the table's file.
    pub file_bytes: u64,
    /// Seconds of the load, until its pages are in the file.
    pub load_seconds: f64,
    /// Bytes of the log in what the load has written.
    pub load_log_bytes: u64,
    /// Seconds of the scan.
    pub scan_seconds: f64,
    /// Seconds of the updates, until their pages are in the file.
    pub update_seconds: f64,
    /// Bytes of the log in what the updates have written.
    pub update_log_bytes: u64,
    /// Pages that the updates have written, each once for every time it was.
    pub update_pages: u64,
    /// True if its log is mapped into memory, so that commits take no sync: on the file system of /dev/shm.
    pub log_in_memory: bool,
}

/// A combination and its figures. Times are processor time: of the thread, or of all threads of a server.
#[derive(Clone, Debug)]
pub struct Case {
    /// What was loaded.
    pub rows: Rows,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// How they are encoded.
    pub codec: PageCodec,
    /// Who keeps them, and where they lie.
    pub keeper: Keeper,
    /// Bytes of the pages.
    pub logical_bytes: u64,
    /// Bytes that the file system has allocated after the load.
    pub allocated_bytes: u64,
    /// Seconds of the load.
    pub load_seconds: f64,
    /// Bytes written by the load.
    pub load_written: u64,
    /// Seconds of a scan of all pages.
    pub scan_seconds: f64,
    /// Seconds of the updates, the sync of each batch included.
    pub update_seconds: f64,
    /// Bytes written by the updates, checkpoints included.
    pub update_written: u64,
    /// Updates.
    pub updates: u64,
    /// Bytes that the file system has allocated after the updates.
    pub allocated_after: u64,
    /// Syncs of the updates; `None` where they do not make commits durable: a server that has its log in memory needs none.
    pub syncs: Option<u64>,
    /// Holes punched by the updates; a server does not tell.
    pub punches: Option<u64>,
    /// What is known of a server alone.
    pub served: Option<Served>,
}

impl Case {
    /// How many times smaller than the pages.
    pub fn ratio(&self) -> f64 {
        self.logical_bytes as f64 / self.allocated_bytes.max(1) as f64
    }

    /// Bytes written per update.
    pub fn bytes_per_update(&self) -> f64 {
        self.update_written as f64 / self.updates.max(1) as f64
    }

    /// Name of codec and keeper.
    pub fn name(&self) -> String {
        format!("{} {}", self.keeper.name(), self.codec)
    }
}

/// All figures.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was measured.
    pub settings: Settings,
    /// In the order of rows, page sizes, codecs, keepers.
    pub cases: Vec<Case>,
    /// What the page store promises, where that was asked for.
    pub promises: Vec<Target>,
}

/// Measures every combination; `progress` is told how many are done, of how many.
pub fn run(
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Results, BenchError> {
    check_server(settings)?;
    let total = settings.case_count();
    let mut cases = Vec::with_capacity(total);
    for rows in Rows::ALL {
        for &page_bytes in &settings.page_sizes {
            let pages = rows.pages(page_bytes, settings.bytes);
            for &codec in &settings.codecs {
                for layout in [Layout::Packed, Layout::Holes] {
                    cases.push(case(settings, rows, &pages, codec, layout)?);
                    progress(cases.len(), total);
                }
                if settings.is_served(codec) {
                    cases.push(served(settings, rows, page_bytes, codec)?);
                    progress(cases.len(), total);
                }
            }
        }
    }
    Ok(Results { settings: settings.clone(), cases, promises: Vec::new() })
}

/// The same by a server.
#[cfg(feature = "mariadb")]
use super::mariadb::{case as served, check_server};

#[cfg(not(feature = "mariadb"))]
fn served(_: &Settings, _: Rows, _: usize, _: PageCodec) -> Result<Case, BenchError> {
    let reason = "not in this build: it takes the feature `mariadb` of tambour-bench".to_owned();
    Err(BenchError::Library { contender: Keeper::MariaDb.name().to_owned(), reason })
}

#[cfg(not(feature = "mariadb"))]
fn check_server(settings: &Settings) -> Result<(), BenchError> {
    if settings.mariadb.is_none() {
        return Ok(());
    }
    served(settings, Rows::AccessLog, 0, PageCodec::NONE).map(drop)
}

/// A store that is gone when the measurement is.
struct Trial(PathBuf);

impl Drop for Trial {
    fn drop(&mut self) {
        super::remove(&self.0);
    }
}

fn case(
    settings: &Settings,
    rows: Rows,
    pages: &[Vec<u8>],
    codec: PageCodec,
    layout: Layout,
) -> Result<Case, BenchError> {
    let page_bytes = pages.first().map_or(0, Vec::len);
    let trial =
        Trial(settings.directory.join(format!("tambour-bench-{}.pages", std::process::id())));
    super::remove(&trial.0);
    let options = Options { page_bytes, layout, codec, ..Options::default() };
    let mut store = Store::create(&trial.0, &options)?;

    let load_seconds = seconds(|| load(&mut store, pages))?;
    let stat = store.stat(false)?;

    let mut wrong = None;
    let scan_seconds = seconds(|| {
        Ok(store.reader().scan(0..u64::MAX, &mut |page, content| {
            let expected = usize::try_from(page).ok().and_then(|page| pages.get(page));
            // A look at a few bytes of each page costs nothing next to decoding it.
            if expected.is_none_or(|expected| expected[..64] != content[..64]) {
                wrong = Some(page);
            }
        })?)
    })?;
    if let Some(page) = wrong {
        return Err(wrong_page(codec, layout, page));
    }

    let before = store.counts();
    let update_seconds = update(settings, pages, &mut store)?;
    let after = store.counts();
    let allocated_after = store.stat(false)?.allocated_bytes();
    Ok(Case {
        rows,
        page_bytes,
        codec,
        keeper: Keeper::Store(layout),
        logical_bytes: stat.logical_bytes,
        allocated_bytes: stat.allocated_bytes(),
        load_seconds,
        load_written: stat.counts.bytes_written,
        scan_seconds,
        update_seconds,
        update_written: after.bytes_written - before.bytes_written,
        updates: settings.updates,
        allocated_after,
        syncs: Some(after.syncs - before.syncs),
        punches: Some(after.punches - before.punches),
        served: None,
    })
}

/// Updates random pages, and compares all of them afterwards. Returns the seconds of the updates alone.
fn update(settings: &Settings, pages: &[Vec<u8>], store: &mut Store) -> Result<f64, BenchError> {
    let mut contents = pages.to_vec();
    let mut random = Random::new(11);
    let time = seconds(|| {
        let mut done = 0;
        while done < settings.updates {
            let count = settings.batch_pages.min(settings.updates - done);
            let mut batch = store.batch()?;
            for _ in 0..count {
                let page = random.index(contents.len());
                let content = &mut contents[page];
                Rows::update(content, &mut random);
                batch.put(page as u64, content)?;
            }
            batch.commit(Durability::Sync)?;
            done += count;
        }
        Ok(store.checkpoint()?)
    })?;
    let mut wrong = None;
    store.reader().scan(0..u64::MAX, &mut |page, content| {
        if usize::try_from(page)
            .ok()
            .and_then(|page| contents.get(page))
            .is_none_or(|it| it != content)
        {
            wrong = Some(page);
        }
    })?;
    match wrong {
        Some(page) => Err(wrong_page(store.codec(), store.layout(), page)),
        None => Ok(time),
    }
}

fn wrong_page(codec: PageCodec, layout: Layout, page: u64) -> BenchError {
    BenchError::WrongOutput {
        contender: format!("{} {codec}", layout.name()),
        file: "generated pages".to_owned(),
        block: usize::try_from(page).unwrap_or(0),
        reason: "the page differs from what was put".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_there_is_missed_before_anything_is_measured() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            bytes: 1 << 18,
            updates: 1,
            mariadb: Some(directory.path().to_owned()),
            ..Settings::of_the_study(directory.path().to_owned())
        };
        let mut measured = 0;
        let error = run(&settings, &mut |done, _| measured = done).unwrap_err();
        assert!(matches!(error, BenchError::Library { .. }), "{error:?}");
        assert_eq!(measured, 0);
    }
}
