//! A MariaDB server from packages that were unpacked into a directory: on a socket of its own, with data of its own, and gone
//! when it is dropped.

use super::failed;
use super::place::Place;
use crate::BenchError;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tambour_report::clock::wall_seconds;

/// Seconds that a server may take to answer, or to end.
const PATIENCE_SECONDS: f64 = 60.0;
/// What the server says if commits are stores to memory, without a sync: it takes all of /dev/shm for memory that lasts.
const LOG_IN_MEMORY: &str = "memory-mapped";
/// What it says if it writes its log to a file, buffered or not.
const LOG_IN_FILE: [&str; 2] = ["buffered log writes", "file system buffers for log disabled"];

/// `--name=path`, whatever bytes the path has.
fn option(name: &str, path: impl AsRef<OsStr>) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(path);
    option
}

/// Programs and libraries of a server.
#[derive(Debug)]
pub(super) struct Programs {
    root: PathBuf,
    libraries: OsString,
    /// Arguments without which it would look into the system.
    places: Vec<OsString>,
}

impl Programs {
    /// Of packages that were unpacked into `root`.
    pub(super) fn find(root: &Path) -> Result<Self, BenchError> {
        let root = root
            .canonicalize()
            .map_err(|source| BenchError::Io { path: root.to_owned(), source })?;
        for (file, package) in [
            ("usr/sbin/mariadbd", "mariadb-server-core"),
            ("usr/bin/mariadb", "mariadb-client-core"),
            ("usr/lib/mysql/plugin/provider_lz4.so", "mariadb-plugin-provider-lz4"),
        ] {
            if !root.join(file).is_file() {
                let path = root.join(file);
                let path = path.display();
                return Err(failed(format!("{path} is missing: unpack Debian's {package} there")));
            }
        }
        let mut libraries = Vec::new();
        for place in ["lib", "usr/lib"] {
            let found = std::fs::read_dir(root.join(place)).into_iter().flatten().flatten();
            libraries.extend(found.map(|entry| entry.path()).filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.ends_with("-linux-gnu") && path.is_dir()
            }));
        }
        let libraries =
            std::env::join_paths(libraries).map_err(|error| failed(error.to_string()))?;
        let under = |name: &str, place: &str| option(name, root.join(place));
        let places = vec![
            "--no-defaults".into(),
            under("basedir", "usr"),
            under("lc-messages-dir", "usr/share/mysql"),
            under("character-sets-dir", "usr/share/mysql/charsets"),
            under("plugin-dir", "usr/lib/mysql/plugin"),
            "--plugin-load-add=provider_lz4.so".into(),
        ];
        Ok(Self { root, libraries, places })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.root.join(program));
        command.env("LD_LIBRARY_PATH", &self.libraries);
        command
    }
}

/// How a server is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) page_bytes: usize,
    /// Bytes of the pages that it keeps in memory.
    pub(super) pool_bytes: usize,
    /// What it compresses pages with: none, zlib or lz4.
    pub(super) algorithm: &'static str,
}

/// A server. It runs until it is dropped; what it keeps goes with it.
pub(super) struct Server {
    programs: Programs,
    setup: Setup,
    place: Place,
    process: Child,
    log_in_memory: bool,
}

impl Server {
    /// Starts one without data.
    pub(super) fn start(root: &Path, parent: &Path, setup: Setup) -> Result<Self, BenchError> {
        let programs = Programs::find(root)?;
        let place = Place::make(Place::name(parent)?)?;
        let io = |source| BenchError::Io { path: place.path().to_owned(), source };
        std::fs::create_dir(place.path().join("data")).map_err(io)?;
        let process = run(&programs, setup, place.path())?;
        let mut server = Self { programs, setup, place, process, log_in_memory: false };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    /// Its directory, in which it may read files. Its data are in `data`, from where it looks for them.
    pub(super) fn directory(&self) -> &Path {
        self.place.path()
    }

    /// True if its log is mapped into memory, so that commits are durable without syncs.
    pub(super) fn log_in_memory(&self) -> bool {
        self.log_in_memory
    }

    /// Ends it and starts it again, so that it has no page in memory.
    pub(super) fn restart(&mut self) -> Result<(), BenchError> {
        self.query("SHUTDOWN")?;
        let end = wall_seconds() + PATIENCE_SECONDS;
        while self.status()?.is_none() {
            if wall_seconds() > end {
                return Err(failed("it does not end"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.process = run(&self.programs, self.setup, self.place.path())?;
        self.wait_until_it_answers()
    }

    fn status(&mut self) -> Result<Option<std::process::ExitStatus>, BenchError> {
        self.process.try_wait().map_err(|error| failed(error.to_string()))
    }

    fn wait_until_it_answers(&mut self) -> Result<(), BenchError> {
        let end = wall_seconds() + PATIENCE_SECONDS;
        while let Err(error) = self.query("SELECT 1") {
            if self.status()?.is_some() || wall_seconds() > end {
                let messages = self.messages().unwrap_or_default();
                let last = messages.lines().rev().find(|line| line.contains("ERROR"));
                return Err(last.map_or(error, |line| failed(line.trim())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let messages = self.messages()?.to_lowercase();
        let in_file = LOG_IN_FILE.iter().any(|message| messages.contains(message));
        self.log_in_memory |= !in_file && messages.contains(LOG_IN_MEMORY);
        Ok(())
    }

    /// What it has said since it was started.
    fn messages(&self) -> Result<String, BenchError> {
        let path = self.place.path().join("log");
        let bytes = std::fs::read(&path).map_err(|source| BenchError::Io { path, source })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Runs statements by the client; returns what it prints: a line per row, values between tabs.
    pub(super) fn query(&self, statements: &str) -> Result<String, BenchError> {
        let broken = |error: std::io::Error| failed(error.to_string());
        let mut client = self.programs.command("usr/bin/mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names"]);
        client.arg(option("socket", self.place.path().join("socket")));
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = client.spawn().map_err(broken)?;
        let mut input = client.stdin.take();
        let output = std::thread::scope(|scope| {
            // A client that has given up reads no further; what it has to say comes out below.
            scope.spawn(move || input.as_mut().map(|input| input.write_all(statements.as_bytes())));
            client.wait_with_output()
        });
        let output = output.map_err(broken)?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim()));
        }
        String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
    }

    /// Processor time of all its threads, in steps of a hundredth of a second.
    pub(super) fn processor_seconds(&self) -> Result<f64, BenchError> {
        let path = PathBuf::from(format!("/proc/{}/stat", self.process.id()));
        let stat = std::fs::read_to_string(&path)
            .map_err(|source| BenchError::Io { path: path.clone(), source })?;
        let missing = || failed(format!("{}: no times in it", path.display()));
        Ok(ticks(&stat).ok_or_else(missing)? as f64
            / rustix::param::clock_ticks_per_second() as f64)
    }

    /// What it has done since it was started.
    pub(super) fn counts(&self) -> Result<Counts, BenchError> {
        Counts::of(&self.query("SHOW GLOBAL STATUS LIKE 'Innodb%'")?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data goes with it, so nothing is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a server has done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Bytes of pages, those of its second copy included.
    pub(super) data_bytes: u64,
    pub(super) log_bytes: u64,
    /// Pages written, each once for every time.
    pub(super) pages: u64,
    /// Of them, compressed.
    pub(super) compressed: u64,
    /// Of pages and of the log, unless that is in memory.
    pub(super) syncs: u64,
}

impl Counts {
    /// From the names and values that a server gives: all of them, since one that another version calls otherwise would
    /// count as nothing.
    fn of(status: &str) -> Result<Self, BenchError> {
        let counter = |name: &str| {
            let value = |line: &str| line.strip_prefix(name)?.strip_prefix('\t')?.parse().ok();
            let found = status.lines().find_map(value);
            found.ok_or_else(|| failed(format!("it has no counter {name}: is it of 10.11?")))
        };
        Ok(Self {
            data_bytes: counter("Innodb_data_written")?,
            log_bytes: counter("Innodb_os_log_written")?,
            pages: counter("Innodb_buffer_pool_pages_flushed")?,
            compressed: counter("Innodb_num_pages_page_compressed")?,
            syncs: counter("Innodb_data_fsyncs")?,
        })
    }
}

/// Processor time of a process, from what /proc says of it: behind the name, which is in parentheses, the 12th and 13th field.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let (user, system) = (fields.next()?, fields.next()?);
    Some(user.parse::<u64>().ok()? + system.parse::<u64>().ok()?)
}

fn run(programs: &Programs, setup: Setup, place: &Path) -> Result<Child, BenchError> {
    let log = place.join("log");
    let file = std::fs::File::create(&log);
    let file = file.map_err(|source| BenchError::Io { path: log, source })?;
    let in_place = |name: &str, file: &str| option(name, place.join(file));
    let mut command = programs.command("usr/sbin/mariadbd");
    command.args(&programs.places);
    command.args([
        // It keeps everything in its place.
        in_place("datadir", "data"),
        in_place("socket", "socket"),
        in_place("pid-file", "pid"),
        option("tmpdir", place),
        // And reads and writes no file for a statement elsewhere.
        option("secure-file-priv", place),
    ]);
    command.args([
        "--skip-networking",
        // So it needs no tables of its own; who may connect is who may look into its directory.
        "--skip-grant-tables",
        "--innodb-stats-persistent=0",
        "--innodb-buffer-pool-dump-at-shutdown=0",
        "--innodb-buffer-pool-load-at-startup=0",
        // As in the study; the log is long enough that nothing has to be written early.
        "--innodb-flush-neighbors=0",
        "--innodb-log-file-size=256M",
        // Durable commits, and the doublewrite buffer: the defaults, said.
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-doublewrite=1",
    ]);
    command.args([
        format!("--innodb-page-size={}", setup.page_bytes),
        format!("--innodb-buffer-pool-size={}", setup.pool_bytes),
        format!("--innodb-compression-algorithm={}", setup.algorithm),
    ]);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0);
    if is_root {
        command.arg("--user=root");
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    command.spawn().map_err(|error| failed(format!("usr/sbin/mariadbd: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_must_be_there() {
        let names = [
            "Innodb_data_fsyncs",
            "Innodb_data_written",
            "Innodb_os_log_written",
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_num_pages_page_compressed",
        ];
        let status = |without: &str| -> String {
            let kept = names.iter().enumerate().filter(|(_, name)| **name != without);
            kept.map(|(value, name)| format!("{name}_more\t9\n{name}\t{}\n", value + 1)).collect()
        };
        let counts = Counts::of(&status("")).unwrap();
        let found = [counts.syncs, counts.data_bytes, counts.log_bytes];
        assert_eq!((found, counts.pages, counts.compressed), ([1, 2, 3], 4, 5));
        for name in names {
            let error = Counts::of(&status(name)).unwrap_err().to_string();
            assert!(error.contains(&format!("no counter {name}:")), "{error}");
        }
    }

    #[test]
    fn times_are_behind_the_name() {
        let stat = "12 (a) 1 2) S 1 2 3 4 5 6 7 8 9 10 130 7 99 98";
        assert_eq!(ticks(stat), Some(137));
        assert_eq!(ticks("12 (a) S 1 2 3 4 5 6 7 8 9 10 130"), None);
        assert_eq!(ticks(""), None);
    }
}
