//! A case: rows in pages of a size, a codec and a keeper, and the figures that came of it.

use super::generate::Rows;
use std::path::PathBuf;
use tambour_page::{Layout, Method, PageCodec};

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
    pub(super) fn is_served(&self, codec: PageCodec) -> bool {
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
