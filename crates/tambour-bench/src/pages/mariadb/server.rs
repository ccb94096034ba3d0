//! A MariaDB server from packages that were unpacked into a directory: on a socket of its own, with data of its own, and gone
//! when it is dropped.

use crate::BenchError;
use crate::clock::wall_seconds;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Seconds that a server may take to answer, or to end.
const PATIENCE_SECONDS: f64 = 60.0;

fn failed(reason: impl Into<String>) -> BenchError {
    BenchError::Library { contender: "MariaDB".to_owned(), reason: reason.into() }
}

/// Programs and libraries of a server.
#[derive(Debug)]
struct Programs {
    root: PathBuf,
    libraries: OsString,
    /// Arguments without which it would look into the system.
    places: Vec<String>,
}

impl Programs {
    /// Of packages that were unpacked into `root`.
    fn find(root: &Path) -> Result<Self, BenchError> {
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
                path.to_str().is_some_and(|path| path.ends_with("-linux-gnu")) && path.is_dir()
            }));
        }
        let libraries =
            std::env::join_paths(libraries).map_err(|error| failed(error.to_string()))?;
        let under = |name: &str, place: &str| format!("--{name}={}", root.join(place).display());
        let places = vec![
            "--no-defaults".to_owned(),
            under("basedir", "usr"),
            under("lc-messages-dir", "usr/share/mysql"),
            under("character-sets-dir", "usr/share/mysql/charsets"),
            under("plugin-dir", "usr/lib/mysql/plugin"),
            "--plugin-load-add=provider_lz4.so".to_owned(),
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

/// A directory that is gone with what is in it when this is.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server. It runs until it is dropped; what it keeps goes with it.
pub(super) struct Server {
    programs: Programs,
    setup: Setup,
    place: Place,
    process: Child,
}

impl Server {
    /// Starts one without data.
    pub(super) fn start(root: &Path, parent: &Path, setup: Setup) -> Result<Self, BenchError> {
        let programs = Programs::find(root)?;
        // Paths of sockets are short.
        let place = Place(parent.join(format!("tambour-mariadb-{}", std::process::id())));
        let io = |source| BenchError::Io { path: place.0.clone(), source };
        std::fs::create_dir(&place.0).map_err(io)?;
        std::fs::create_dir(place.0.join("data")).map_err(io)?;
        let process = run(&programs, setup, &place.0)?;
        let mut server = Self { programs, setup, place, process };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    /// Its directory, in which it may read files.
    pub(super) fn directory(&self) -> &Path {
        &self.place.0
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
        self.process = run(&self.programs, self.setup, &self.place.0)?;
        self.wait_until_it_answers()
    }

    fn status(&mut self) -> Result<Option<std::process::ExitStatus>, BenchError> {
        self.process.try_wait().map_err(|error| failed(error.to_string()))
    }

    fn wait_until_it_answers(&mut self) -> Result<(), BenchError> {
        let end = wall_seconds() + PATIENCE_SECONDS;
        loop {
            let Err(error) = self.query("SELECT 1") else { return Ok(()) };
            if self.status()?.is_some() || wall_seconds() > end {
                let log = std::fs::read_to_string(self.place.0.join("log")).unwrap_or_default();
                let last = log.lines().rev().find(|line| line.contains("ERROR"));
                return Err(last.map_or(error, |line| failed(line.trim())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs statements by the client; returns what it prints: a line per row, values between tabs.
    pub(super) fn query(&self, statements: &str) -> Result<String, BenchError> {
        let broken = |error: std::io::Error| failed(error.to_string());
        let mut client = self.programs.command("usr/bin/mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names"]);
        client.arg(format!("--socket={}", self.place.0.join("socket").display()));
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
        let stat =
            std::fs::read_to_string(&path).map_err(|source| BenchError::Io { path, source })?;
        // Behind the name, which is in parentheses: the 12th and 13th field.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
        Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
    }

    /// A counter of the server.
    fn counter(status: &str, name: &str) -> u64 {
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix('\t')?.parse().ok();
        status.lines().find_map(value).unwrap_or(0)
    }

    /// What it has done since it was started.
    pub(super) fn counts(&self) -> Result<Counts, BenchError> {
        let status = self.query("SHOW GLOBAL STATUS LIKE 'Innodb%'")?;
        let counter = |name| Self::counter(&status, name);
        Ok(Counts {
            data_bytes: counter("Innodb_data_written"),
            log_bytes: counter("Innodb_os_log_written"),
            pages: counter("Innodb_buffer_pool_pages_flushed"),
            compressed: counter("Innodb_num_pages_page_compressed"),
            syncs: counter("Innodb_data_fsyncs") + counter("Innodb_os_log_fsyncs"),
        })
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
    pub(super) syncs: u64,
}

fn run(programs: &Programs, setup: Setup, place: &Path) -> Result<Child, BenchError> {
    let log = place.join("log");
    let file = std::fs::File::create(&log);
    let file = file.map_err(|source| BenchError::Io { path: log, source })?;
    let in_place = |name: &str, file: &str| format!("--{name}={}", place.join(file).display());
    let mut command = programs.command("usr/sbin/mariadbd");
    command.args(&programs.places);
    command.args([
        in_place("datadir", "data"),
        in_place("socket", "socket"),
        in_place("pid-file", "pid"),
        in_place("tmpdir", ""),
        "--skip-networking".to_owned(),
        // So it needs no tables of its own.
        "--skip-grant-tables".to_owned(),
        "--innodb-stats-persistent=0".to_owned(),
        "--innodb-buffer-pool-dump-at-shutdown=0".to_owned(),
        "--innodb-buffer-pool-load-at-startup=0".to_owned(),
        // As in the study; the log is long enough that nothing has to be written early.
        "--innodb-flush-neighbors=0".to_owned(),
        "--innodb-log-file-size=256M".to_owned(),
        // Durable commits, and the doublewrite buffer: the defaults, said.
        "--innodb-flush-log-at-trx-commit=1".to_owned(),
        "--innodb-doublewrite=1".to_owned(),
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
