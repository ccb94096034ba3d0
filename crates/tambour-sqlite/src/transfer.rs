//! Plain databases into stores, and back: page by page, by SQLite's own backup, so that rowids, settings and free pages stay as
//! they are, and others may use the source meanwhile.

use crate::{NAME, RegisterError, Settings, register};
use rusqlite::{Connection, ErrorCode, OpenFlags, backup};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tambour_page::{Options, PageError, Store};

/// Pages of SQLite that are copied at once; in between, writers of the source get their turn.
const STEP_PAGES: i32 = 4096;
/// So long a step waits for a writer of the source.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pages of the source on which a dictionary is tried.
const SAMPLE_PAGES: u64 = 2000;
/// The first bytes of a plain database.
const PLAIN: &[u8; 16] = b"SQLite format 3\0";

/// Why a database cannot be copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The source is not what it should be.
    #[error("{path:?} {problem}")]
    Source {
        /// The file.
        path: PathBuf,
        /// What it is, and what to do.
        problem: &'static str,
    },
    /// The target is there already.
    #[error("{path:?} exists already: name a new file")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be used.
    #[error("cannot {operation} {path:?}")]
    File {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// SQLite says no.
    #[error("cannot copy {path:?}")]
    Sqlite {
        /// The source.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: rusqlite::Error,
    },
    /// The store says no.
    #[error(transparent)]
    Store(#[from] PageError),
    /// The VFS is not there.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// Length of the source, in bytes.
    pub source_bytes: u64,
    /// Length of the target.
    pub target_bytes: u64,
    /// Bytes of a dictionary for the pages of the store, if one was kept.
    pub dictionary_bytes: Option<usize>,
}

/// Puts a plain database into a new store. The target appears under its name when it is whole.
///
/// A dictionary is trained on the pages of the source, and kept if pages that it was not trained on become smaller by it. They
/// also decide between the two codecs of the settings.
pub fn import(
    source: &Path,
    target: &Path,
    settings: &Settings,
) -> Result<Transferred, TransferError> {
    check_new(target)?;
    let from = open_plain(source)?;
    register(settings)?;
    let aside = Aside::new(target);
    let options = Options {
        page_bytes: settings.page_bytes,
        layout: settings.layout,
        codec: settings.codec,
        ..Options::default()
    };
    let mut store = Store::create(&aside.0, &options)?;
    let sample = sample(source, settings.page_bytes).map_err(file("read", source))?;
    let trained = match settings.quick {
        Some(quick) => store.train_dict_or(quick, &sample)?,
        None => store.train_dict(&sample)?,
    };
    store.close()?;
    let mut to = Connection::open_with_flags_and_vfs(&aside.0, OpenFlags::default(), NAME)
        .map_err(sqlite(source))?;
    copy(&from, &mut to).map_err(sqlite(source))?;
    close(to).map_err(sqlite(source))?;
    let mut store = Store::open(&aside.0, tambour_page::Access::Write)?;
    store.compact(u64::MAX)?;
    store.close()?;
    aside.take(target)?;
    transferred(source, target, trained.kept)
}

/// Makes a plain database of one in a store. The target appears under its name when it is whole.
pub fn export(source: &Path, target: &Path) -> Result<Transferred, TransferError> {
    check_new(target)?;
    let head = head(source)?;
    if head == *PLAIN {
        let problem = "is a plain database already: copy the file";
        return Err(TransferError::Source { path: source.to_owned(), problem });
    }
    // Whatever settings it was registered with: they are for new databases.
    match register(&Settings::default()) {
        Ok(()) | Err(RegisterError::Settings) => {}
        Err(error) => return Err(error.into()),
    }
    let from = Connection::open_with_flags_and_vfs(source, OpenFlags::SQLITE_OPEN_READ_ONLY, NAME)
        .map_err(sqlite(source))?;
    let aside = Aside::new(target);
    let mut to = Connection::open(&aside.0).map_err(sqlite(source))?;
    copy(&from, &mut to).map_err(sqlite(source))?;
    close(to).map_err(sqlite(source))?;
    let synced = std::fs::File::open(&aside.0).and_then(|file| file.sync_all());
    synced.map_err(file("sync", &aside.0))?;
    aside.take(target)?;
    transferred(source, target, None)
}

fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> TransferError {
    move |cause| TransferError::Sqlite { path: path.to_owned(), cause }
}

fn file(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> TransferError {
    move |cause| TransferError::File { operation, path: path.to_owned(), cause }
}

fn transferred(
    source: &Path,
    target: &Path,
    dictionary_bytes: Option<usize>,
) -> Result<Transferred, TransferError> {
    let length = |path: &Path| {
        let found = std::fs::metadata(path).map_err(file("measure", path));
        found.map(|found| found.len())
    };
    Ok(Transferred {
        source_bytes: length(source)?,
        target_bytes: length(target)?,
        dictionary_bytes,
    })
}

fn check_new(target: &Path) -> Result<(), TransferError> {
    match target.symlink_metadata() {
        Ok(_) => Err(TransferError::Exists { path: target.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(file("look for", target)(error)),
    }
}

/// The first bytes of a file; zeros where it is shorter.
fn head(path: &Path) -> Result<[u8; 16], TransferError> {
    let mut head = Vec::new();
    let opened = std::fs::File::open(path).map_err(file("open", path))?;
    opened.take(16).read_to_end(&mut head).map_err(file("read", path))?;
    head.resize(16, 0);
    Ok(head.try_into().unwrap_or_default())
}

fn open_plain(path: &Path) -> Result<Connection, TransferError> {
    let head = head(path)?;
    let problem = match &head[..8] {
        b"TAMBPAGE" => Some("is a store already: open it with the VFS `tambour`, or export it"),
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("is empty: no database was written there yet"),
        _ if head != *PLAIN => Some("is not an SQLite database"),
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(TransferError::Source { path: path.to_owned(), problem });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let opened =
        Connection::open_with_flags(path, flags).or_else(|error| match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly) => {
                Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            }
            _ => Err(error),
        });
    opened.map_err(sqlite(path))
}

/// Pages of a file, evenly spread. Somebody may write them at the same time: a dictionary of what is half old is one, too.
fn sample(path: &Path, page_bytes: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut file = std::fs::File::open(path)?;
    let pages = file.metadata()?.len() / page_bytes as u64;
    let step = (pages / SAMPLE_PAGES).max(1);
    let mut sample = Vec::new();
    for page in (0..pages).step_by(usize::try_from(step).unwrap_or(1)) {
        file.seek(SeekFrom::Start(page * page_bytes as u64))?;
        let mut content = Vec::with_capacity(page_bytes);
        file.by_ref().take(page_bytes as u64).read_to_end(&mut content)?;
        if content.len() == page_bytes {
            sample.push(content);
        }
    }
    Ok(sample)
}

fn copy(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    from.busy_timeout(PATIENCE)?;
    // It has a name of its own until it is whole, and is synced then: a journal would guard nothing.
    to.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")?;
    backup::Backup::new(from, to)?.run_to_completion(STEP_PAGES, Duration::ZERO, None)
}

fn close(connection: Connection) -> rusqlite::Result<()> {
    connection.close().map_err(|(_, error)| error)
}

/// A hidden name beside the target; what is not taken is removed.
struct Aside(PathBuf);

impl Aside {
    fn new(target: &Path) -> Self {
        use std::hash::{BuildHasher, Hasher};
        let number = std::hash::RandomState::new().build_hasher().finish();
        let mut name = std::ffi::OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        // As the store names what is being made, so that it sweeps what an interruption left.
        name.push(format!(".new-{number:016x}"));
        Self(target.with_file_name(name))
    }

    /// Gives the file its name, if nothing else has got it in the meantime.
    fn take(self, target: &Path) -> Result<(), TransferError> {
        let maps = [(map_of(&self.0), map_of(target)), (self.0.clone(), target.to_owned())];
        for (from, to) in maps.iter().filter(|(from, _)| from.exists()) {
            std::fs::hard_link(from, to).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => TransferError::Exists { path: to.clone() },
                _ => file("rename", from)(error),
            })?;
        }
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let synced = std::fs::File::open(parent).and_then(|directory| directory.sync_all());
        synced.map_err(file("sync", parent))
    }
}

fn map_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".map");
    PathBuf::from(name)
}

impl Drop for Aside {
    fn drop(&mut self) {
        for path in [self.0.clone(), map_of(&self.0)] {
            // That something cannot be removed stops nothing.
            let _ = std::fs::remove_file(path);
        }
    }
}
