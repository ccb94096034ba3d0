//! What `compress` and `decompress` share: where bytes come from and where they go.

use super::export::aside;
use crate::cli::PlaceArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::{Progress, Total};
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tambour::Kind;
use tambour::codec::frame::{Format, FrameError, Summary};

/// The end of a file's name for each format.
pub(super) fn ending(format: Format) -> &'static str {
    match format {
        Format::Lz4 => "lz4",
        Format::Zstd => "zst",
        _ => "bin",
    }
}

/// Where bytes come from: a file, or whatever standard input is.
#[derive(Debug)]
pub(super) struct Input {
    path: Option<PathBuf>,
    file: File,
}

impl Input {
    pub(super) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.filter(|path| *path != Path::new("-")).map(Path::to_owned);
        let file = match &path {
            Some(path) => File::open(path).with_context(|| path.display().to_string())?,
            None => standard_input().context("standard input")?,
        };
        let input = Self { path, file };
        if input.file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(Failure::Usage(format!("{} is a directory", input.name())).into());
        }
        Ok(input)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or("standard input".to_owned(), |path| path.display().to_string())
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Bytes from here to the end, if it is a file.
    pub(super) fn length(&mut self) -> Option<u64> {
        let metadata = self.file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        metadata.len().checked_sub(self.file.stream_position().ok()?)
    }

    /// True if it can be read twice.
    pub(super) fn is_seekable(&mut self) -> bool {
        self.file.stream_position().is_ok()
    }
}

/// Standard input as a file, which it may be: no buffer in between, and it can be read again.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// Where bytes go.
#[derive(Debug)]
pub(super) enum Output {
    Stdout,
    File(PathBuf),
}

impl Output {
    /// As the flags say; `by_default` is the name if they do not.
    pub(super) fn choose(
        place: &PlaceArguments,
        input: &Input,
        by_default: impl FnOnce(&Path) -> Result<PathBuf, Failure>,
    ) -> Result<Self, Failure> {
        let output = match (&place.output, input.path()) {
            _ if place.stdout => Self::Stdout,
            (Some(path), _) if path == Path::new("-") => Self::Stdout,
            (Some(path), _) => Self::File(path.clone()),
            (None, None) => Self::Stdout,
            (None, Some(path)) => Self::File(by_default(path)?),
        };
        if let Self::File(path) = &output
            && !place.force
            && path.symlink_metadata().is_ok()
        {
            let path = path.display();
            return Err(Failure::Conflict(format!("{path} exists: --force replaces it")));
        }
        if place.rm && (matches!(output, Self::Stdout) || input.path().is_none()) {
            let reason = "--rm removes a FILE that became another, not what goes through a pipe";
            return Err(Failure::Usage(reason.to_owned()));
        }
        Ok(output)
    }

    /// Compressed bytes are nothing for a terminal.
    pub(super) fn refuse_terminal(&self, force: bool) -> Result<(), Failure> {
        if matches!(self, Self::Stdout) && !force && io::stdout().is_terminal() {
            let reason = "compressed bytes do not belong on a terminal: -o names a file";
            return Err(Failure::Usage(reason.to_owned()));
        }
        Ok(())
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// One run of either command.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// `compress` or `decompress`.
    pub(super) title: &'static str,
    pub(super) place: &'a PlaceArguments,
    pub(super) input: Input,
    pub(super) output: Output,
}

impl Job<'_> {
    /// Does the work, puts its output in place, and tells what came of it.
    pub(super) fn run(
        mut self,
        console: Console,
        work: impl FnOnce(&mut Watched<'_>, &mut dyn Write) -> Result<Summary, FrameError>,
    ) -> anyhow::Result<()> {
        let total = self.input.length().map_or(Total::Unknown, Total::Bytes);
        let mut progress = console.progress(self.title, total);
        let interrupt = Interrupt::listen();
        let name = self.input.name();
        let input = &self.input;
        let attempt = |target: &mut dyn Write| {
            let file = &input.file;
            let mut watched =
                Watched { file, progress: &mut progress, interrupt: &interrupt, passed: 0 };
            let result = work(&mut watched, target);
            // What the library saw of it is an error of reading.
            interrupt.check()?;
            result.map_err(|error| failure(error, &name))
        };
        let summary = match &self.output {
            Output::Stdout => attempt(&mut stdout::data()),
            Output::File(path) => write_file(path, &input.file, attempt),
        }?;
        let time = progress.elapsed();
        drop(progress);
        self.report(&summary, time, console)?;
        match &self.input.path {
            Some(path) if self.place.rm => {
                std::fs::remove_file(path).with_context(|| path.display().to_string())
            }
            _ => Ok(()),
        }
    }

    fn report(&self, summary: &Summary, time: Duration, console: Console) -> anyhow::Result<()> {
        let to_stdout = matches!(self.output, Output::Stdout);
        if self.place.json {
            let result = json!({
                "schema": format!("tambour/{}/1", self.title),
                "input": self.input.name(),
                "output": self.output.name(),
                "format": summary.format.name(),
                "bytes_in": summary.bytes_in,
                "bytes_out": summary.bytes_out,
                "frames": summary.frames,
                "blocks": summary.blocks,
                "seconds": time.as_secs_f64(),
            });
            if to_stdout {
                console.note(result);
            } else {
                stdout::json(&result)?;
            }
        } else if !to_stdout {
            let large = summary.bytes_in.max(summary.bytes_out);
            let speed = quantity::byte_rate(quantity::per_second(large, time));
            console.note(format_args!(
                "{}: {} from {} in {} ({})",
                self.output.name(),
                quantity::bytes(summary.bytes_out),
                quantity::bytes(summary.bytes_in),
                quantity::seconds(time),
                speed.trim_end_matches('.'),
            ));
        }
        Ok(())
    }
}

/// An error of the library as the command line tells it: wrong options are wrong usage.
fn failure(error: FrameError, name: &str) -> anyhow::Error {
    if matches!(error, FrameError::Options { .. }) && error.kind() == Kind::Argument {
        return Failure::Usage(error.to_string()).into();
    }
    anyhow::Error::new(error).context(name.to_owned())
}

/// Writes beside the file and puts it in place when it is complete. Nobody but the owner reads it before; then it has the
/// permissions of the file that it was made from.
fn write_file(
    path: &Path,
    input: &File,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<Summary>,
) -> anyhow::Result<Summary> {
    let aside = aside(path);
    let place = || aside.display().to_string();
    let permissions =
        input.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.permissions());
    let result = (|| {
        let mut file = create_new(&aside, permissions.is_some()).with_context(place)?;
        let summary = write(&mut file)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions).with_context(place)?;
        }
        file.sync_all().with_context(place)?;
        std::fs::rename(&aside, path).with_context(|| path.display().to_string())?;
        Ok(summary)
    })();
    if result.is_err() {
        // What is half written is of no use to anybody; that it cannot be removed is the smaller trouble.
        let _ = std::fs::remove_file(&aside);
    }
    result
}

/// A new file; if it will get the permissions of another one, it has none for others until then.
fn create_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)
}

/// A file that shows how far it was read, and stops being read when the user says so.
#[derive(Debug)]
pub(super) struct Watched<'a> {
    file: &'a File,
    progress: &'a mut Progress,
    interrupt: &'a Interrupt,
    passed: u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        self.interrupt.check().map_err(io::Error::other)?;
        let count = self.file.read(target)?;
        self.passed += count as u64;
        self.progress.update(self.passed, 0);
        Ok(count)
    }
}

impl Seek for Watched<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // Progress begins anew with the second reading.
        self.passed = 0;
        self.file.seek(to)
    }
}
