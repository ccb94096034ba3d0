//! The same rows in tables of a MariaDB server, with pages that it compresses itself.
//!
//! The server is unpacked from packages, never installed; `cargo xtask mariadb DIRECTORY` does it.

mod place;
mod rows;
mod server;

use self::place::Place;
use self::rows::{Lines, columns, counter};
use self::server::{Counts, Programs, Server, Setup};
use super::case::{Case, Keeper, Served, Settings};
use super::generate::Rows;
use crate::BenchError;
use std::os::unix::fs::MetadataExt;
use tambour_page::{Method, PageCodec};
use tambour_report::clock::wall_seconds;
use tambour_report::random::Random;

/// Until all pages of the table that were changed are in its file.
const FLUSH: &str = "FLUSH TABLES b.t FOR EXPORT; UNLOCK TABLES";
/// The least that the server needs for its largest pages.
const POOL_BYTES_MIN: usize = 64 << 20;

fn failed(reason: impl Into<String>) -> BenchError {
    BenchError::Library { contender: "MariaDB".to_owned(), reason: reason.into() }
}

fn wrong(codec: PageCodec, reason: String) -> BenchError {
    let file = "generated rows".to_owned();
    BenchError::WrongOutput { contender: format!("MariaDB {codec}"), file, block: 0, reason }
}

/// Seconds, of the processor and of the clock, and what the server has done.
struct Lap {
    processor: f64,
    wall: f64,
    counts: Counts,
}

impl Lap {
    fn now(server: &Server) -> Result<Self, BenchError> {
        let counts = server.counts()?;
        Ok(Self { processor: server.processor_seconds()?, wall: wall_seconds(), counts })
    }

    /// From this one to now.
    fn end(&self, server: &Server) -> Result<Self, BenchError> {
        let (wall, processor) = (wall_seconds(), server.processor_seconds()?);
        let (now, then) = (server.counts()?, self.counts);
        let counts = Counts {
            data_bytes: now.data_bytes - then.data_bytes,
            log_bytes: now.log_bytes - then.log_bytes,
            pages: now.pages - then.pages,
            compressed: now.compressed - then.compressed,
            syncs: now.syncs - then.syncs,
        };
        Ok(Self { processor: processor - self.processor, wall: wall - self.wall, counts })
    }
}

/// Bytes that the file system has allocated for the table, and the length of its file.
fn sizes(server: &Server) -> Result<(u64, u64), BenchError> {
    let path = server.directory().join("data/b/t.ibd");
    let found = std::fs::metadata(&path).map_err(|source| BenchError::Io { path, source })?;
    Ok((found.blocks() * 512, found.len()))
}

/// Whether a server is there and has a place, before anything is measured.
pub(super) fn check_server(settings: &Settings) -> Result<(), BenchError> {
    if let Some(root) = &settings.mariadb {
        Programs::find(root)?;
        Place::name(&settings.directory)?;
    }
    Ok(())
}

/// Loads, scans and updates the rows that pages of ours hold.
pub(super) fn case(
    settings: &Settings,
    rows: Rows,
    page_bytes: usize,
    codec: PageCodec,
) -> Result<Case, BenchError> {
    let mut lines = Lines::default();
    let pages = rows.pages_and_rows(page_bytes, settings.bytes, &mut |row| lines.add(rows, row));
    let setup = Setup {
        page_bytes,
        // As in the study, it holds the table with a little to spare.
        pool_bytes: (settings.bytes * 5 / 4).max(POOL_BYTES_MIN).next_multiple_of(1 << 20),
        algorithm: match codec.method {
            Method::Lz4 => "lz4",
            Method::Zlib => "zlib",
            Method::None | Method::Zstd => "none",
        },
    };
    let root = settings.mariadb.as_deref().unwrap_or(&settings.directory);
    let mut server = Server::start(root, &settings.directory, setup)?;
    let load = load(&server, rows, &lines, codec)?;
    let (allocated_bytes, file_bytes) = sizes(&server)?;

    server.restart()?;
    let before = Lap::now(&server)?;
    check(&server, rows, codec, (lines.keys.len(), lines.sum))?;
    let scan = before.end(&server)?;

    let statements = updates(settings, rows, &lines);
    let before = Lap::now(&server)?;
    server.query(&statements)?;
    server.query(FLUSH)?;
    let update = before.end(&server)?;
    check(&server, rows, codec, (lines.keys.len(), lines.sum + settings.updates))?;
    let served = Served {
        rows: lines.keys.len() as u64,
        file_bytes,
        load_seconds: load.wall,
        load_log_bytes: load.counts.log_bytes,
        scan_seconds: scan.wall,
        update_seconds: update.wall,
        update_log_bytes: update.counts.log_bytes,
        update_pages: update.counts.pages,
        log_in_memory: server.log_in_memory(),
    };
    Ok(Case {
        rows,
        page_bytes,
        codec,
        keeper: Keeper::MariaDb,
        logical_bytes: (pages.len() * page_bytes) as u64,
        allocated_bytes,
        load_seconds: load.processor,
        load_written: load.counts.data_bytes + load.counts.log_bytes,
        scan_seconds: scan.processor,
        update_seconds: update.processor,
        update_written: update.counts.data_bytes + update.counts.log_bytes,
        updates: settings.updates,
        allocated_after: sizes(&server)?.0,
        syncs: (!server.log_in_memory()).then_some(update.counts.syncs),
        punches: None,
        served: Some(served),
    })
}

fn load(server: &Server, rows: Rows, lines: &Lines, codec: PageCodec) -> Result<Lap, BenchError> {
    let path = server.directory().join("rows");
    let io = |source| BenchError::Io { path: path.clone(), source };
    std::fs::write(&path, &lines.text).map_err(io)?;
    let compressed = if codec == PageCodec::NONE {
        String::new()
    } else if codec.method == Method::Zlib {
        format!("PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL={}", codec.level)
    } else {
        "PAGE_COMPRESSED=1".to_owned()
    };
    let columns = columns(rows);
    let create = "CHARACTER SET binary ENGINE=InnoDB ROW_FORMAT=DYNAMIC";
    server
        .query(&format!("CREATE DATABASE b; CREATE TABLE b.t ({columns}) {create} {compressed}"))?;
    let before = Lap::now(server)?;
    // From where its data are, so that the statement holds no path that would have to be quoted.
    server.query(&format!("LOAD DATA INFILE '../rows' INTO TABLE b.t; {FLUSH}"))?;
    let load = before.end(server)?;
    std::fs::remove_file(&path).map_err(io)?;
    if (codec == PageCodec::NONE) != (load.counts.compressed == 0) {
        let pages = load.counts.compressed;
        return Err(wrong(codec, format!("it has compressed {pages} pages")));
    }
    Ok(load)
}

/// Reads all rows; they must be as many and add up to as much as they should.
fn check(
    server: &Server,
    rows: Rows,
    codec: PageCodec,
    (count, sum): (usize, u64),
) -> Result<(), BenchError> {
    let column = counter(rows);
    let found = server.query(&format!("SELECT COUNT(*), SUM({column}) FROM b.t"))?;
    let wanted = format!("{count}\t{sum}");
    if found.trim() == wanted {
        return Ok(());
    }
    let found = found.trim().replace('\t', ", ");
    Err(wrong(codec, format!("rows and their sum are {found}, not {count}, {sum}")))
}

/// Statements that count random rows up, in transactions as large as the batches of our stores.
fn updates(settings: &Settings, rows: Rows, lines: &Lines) -> String {
    let mut random = Random::new(11);
    let mut text = String::new();
    let mut done = 0;
    while done < settings.updates {
        let count = settings.batch_pages.min(settings.updates - done);
        text.push_str("BEGIN;\n");
        for _ in 0..count {
            text.push_str(&lines.update(rows, random.index(lines.keys.len())));
        }
        text.push_str("COMMIT;\n");
        done += count;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    #[test]
    fn rows_become_lines_with_a_value_per_column() {
        for rows in Rows::ALL {
            let mut lines = Lines::default();
            rows.pages_and_rows(16 << 10, 1 << 18, &mut |row| lines.add(rows, row));
            let text = String::from_utf8(lines.text.clone()).unwrap();
            let named = columns(rows).matches("NOT NULL").count();
            assert_eq!(text.lines().count(), lines.keys.len());
            assert!(text.lines().all(|line| line.split('\t').count() == named), "{named} columns");
            let counted = |line: &str| line.split('\t').nth(2).unwrap().parse::<u64>().unwrap();
            assert_eq!(text.lines().map(counted).sum::<u64>(), lines.sum);
            let distinct: std::collections::BTreeSet<_> = lines.keys.iter().collect();
            assert_eq!(distinct.len(), lines.keys.len(), "keys are keys");
        }
    }

    /// The packages of the server are unpacked into the directory that `TAMBOUR_MARIADB` names.
    fn root() -> PathBuf {
        std::env::var_os("TAMBOUR_MARIADB").expect("TAMBOUR_MARIADB").into()
    }

    #[test]
    #[ignore = "needs a MariaDB server: cargo xtask mariadb-tests"]
    fn a_server_has_all_figures() {
        let root = root();
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join(OsStr::from_bytes(b"it's a \\ drum, \xff"));
        std::fs::create_dir(&directory).unwrap();
        let settings = Settings {
            bytes: 2 << 20,
            updates: 100,
            mariadb: Some(root),
            ..Settings::of_the_study(directory)
        };
        for rows in Rows::ALL {
            let case = |codec| case(&settings, rows, 32 << 10, codec).unwrap();
            let (plain, small) = (case(PageCodec::NONE), case(PageCodec::ZLIB));
            assert!(small.allocated_bytes < plain.allocated_bytes);
            assert!(small.load_written < plain.load_written);
            assert!(small.update_written > 0);
            // A commit of up to 16 updates is a sync, unless the server has its log in memory.
            assert!(small.syncs.is_none_or(|syncs| syncs >= 100 / 16));
        }
        assert_eq!(std::fs::read_dir(settings.directory).unwrap().count(), 0);
    }

    #[test]
    #[ignore = "needs a MariaDB server: cargo xtask mariadb-tests"]
    fn a_server_reads_no_file_elsewhere() {
        let parent = tempfile::tempdir().unwrap();
        let other = parent.path().join("other");
        std::fs::write(&other, "drum").unwrap();
        let setup = Setup { page_bytes: 16 << 10, pool_bytes: POOL_BYTES_MIN, algorithm: "none" };
        let server = Server::start(&root(), parent.path(), setup).unwrap();
        std::fs::write(server.directory().join("own"), "drum").unwrap();
        let read =
            |path: &Path| server.query(&format!("SELECT LOAD_FILE('{}')", path.display())).unwrap();
        assert_eq!(read(&server.directory().join("own")).trim(), "drum");
        assert_eq!(read(&other).trim(), "NULL");
    }
}
