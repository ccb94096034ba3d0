//! Records on their way into a store: files are checked before the first of their records is appended, and what comes through
//! a pipe waits for a moment only.
//!
//! A thread reads and takes records apart; it hands them on before every read that may wait for whoever writes. The commits
//! are made here, by number, by size, and by the time that the oldest record has waited.

use super::arguments::AppendArguments;
use super::format::{self, Records};
use crate::clock::Start;
use crate::interrupt::Interrupt;
use anyhow::Context;
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tambour::record::{Batch, Writer};

/// Raw bytes of a commit at most.
const BATCH_BYTES_MAX: usize = 8 << 20;
/// Pieces that may wait to be committed.
const PIECES_MAX: usize = 4;
/// So often a Ctrl-C is looked for while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// What to read, and how.
#[derive(Clone)]
struct Source {
    files: Vec<PathBuf>,
    arguments: AppendArguments,
}

/// Records that were read, not yet appended.
#[derive(Default)]
struct Piece {
    batch: Batch,
    /// Which file they are of.
    file: usize,
    /// Records of the file that were read with them, those that were left out among them.
    read: u64,
}

/// What has become of an import.
#[derive(Debug, Default)]
pub(super) struct Imported {
    /// Raw bytes that were appended, with their keys.
    pub(super) bytes: u64,
}

/// Appends all records of the files that were named.
pub(super) fn run(arguments: &AppendArguments, writer: &Writer) -> anyhow::Result<Imported> {
    let files =
        if arguments.files.is_empty() { vec![PathBuf::from("-")] } else { arguments.files.clone() };
    let source = Source { files, arguments: arguments.clone() };
    source.check()?;
    let (sender, receiver) = sync_channel(PIECES_MAX);
    let reading = source.clone();
    std::thread::Builder::new()
        .name("records-read".to_owned())
        .spawn(move || reading.send_all(&sender))
        .context("cannot start a thread to read")?;
    let mut commits = Commits {
        source: &source,
        writer,
        interval: Duration::from_millis(u64::from(arguments.flush)),
        first: writer.end(),
        waiting: Piece::default(),
        since: None,
        read: 0,
        bytes: 0,
    };
    commits.take_all(&receiver)?;
    Ok(Imported { bytes: commits.bytes })
}

impl Source {
    /// Reads files that can be read twice, so that a bad record keeps all from being appended.
    fn check(&self) -> anyhow::Result<()> {
        for (number, file) in self.files.iter().enumerate() {
            if !file.is_file() {
                continue;
            }
            let mut records = Records::open(file, format::of(file, self.arguments.format))?;
            let (mut record, mut batch) = (Vec::new(), Batch::default());
            let checked = loop {
                match self.next(&mut records, number, &mut record, &mut batch) {
                    Ok(true) => batch.clear(),
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            checked.context("nothing was appended")?;
        }
        Ok(())
    }

    /// Reads the next record of a file into a batch; `false` at its end.
    fn next(
        &self,
        records: &mut Records,
        file: usize,
        record: &mut Vec<u8>,
        batch: &mut Batch,
    ) -> anyhow::Result<bool> {
        let skip = if file == 0 { self.arguments.skip } else { 0 };
        loop {
            if records.number < skip {
                if !records.pass_over()? {
                    return Ok(false);
                }
                continue;
            }
            if !records.next(record)? {
                return Ok(false);
            }
            let time = match &self.arguments.time {
                Some(field) => format::time_of(record, field, self.arguments.time_unit)
                    .with_context(|| records.place())?,
                None => None,
            };
            match &self.arguments.key {
                Some(field) => {
                    let key = format::key_of(record, field).with_context(|| records.place())?;
                    let pushed = batch.push_keyed(key.as_bytes(), record, time);
                    pushed.with_context(|| records.place())?;
                }
                None => batch.push_mixed(record, time),
            }
            return Ok(true);
        }
    }

    fn send_all(&self, sender: &SyncSender<anyhow::Result<Piece>>) {
        for (number, path) in self.files.iter().enumerate() {
            if let Err(error) = self.send(number, path, sender) {
                // Who does not listen any more has failed already.
                let _ = sender.send(Err(error));
                return;
            }
        }
    }

    /// Sends the records of a file; an error ends the import.
    fn send(
        &self,
        file: usize,
        path: &Path,
        sender: &SyncSender<anyhow::Result<Piece>>,
    ) -> anyhow::Result<()> {
        let mut records = Records::open(path, format::of(path, self.arguments.format))?;
        let (mut record, mut sent) = (Vec::new(), 0);
        let mut piece = Piece { file, ..Piece::default() };
        loop {
            let full = piece.batch.len() >= self.arguments.batch as usize
                || piece.batch.bytes().len() >= BATCH_BYTES_MAX;
            if full || (records.would_wait() && !piece.batch.is_empty()) {
                piece.read = records.number - sent;
                sent = records.number;
                let next = Piece { file, ..Piece::default() };
                let full = std::mem::replace(&mut piece, next);
                sender.send(Ok(full)).context("the import has ended")?;
            }
            match self.next(&mut records, file, &mut record, &mut piece.batch) {
                Ok(true) => {}
                Ok(false) => {
                    piece.read = records.number - sent;
                    return sender.send(Ok(piece)).context("the import has ended");
                }
                Err(error) => {
                    // What was read in front of it is good.
                    piece.read = (records.number - sent).saturating_sub(1);
                    let _ = sender.send(Ok(piece));
                    return Err(error);
                }
            }
        }
    }
}

/// Where records are committed.
struct Commits<'a> {
    source: &'a Source,
    writer: &'a Writer,
    interval: Duration,
    /// Id of the first record of this import.
    first: u64,
    waiting: Piece,
    /// Since when the oldest of those that wait has waited.
    since: Option<Start>,
    /// Records of the file that are in.
    read: u64,
    bytes: u64,
}

impl Commits<'_> {
    fn take_all(&mut self, receiver: &Receiver<anyhow::Result<Piece>>) -> anyhow::Result<()> {
        let interrupt = Interrupt::listen();
        loop {
            let left = self.since.map(|since| self.interval.saturating_sub(since.elapsed()));
            match receiver.recv_timeout(left.unwrap_or(LOOK).min(LOOK)) {
                Ok(Ok(piece)) => self.take(piece)?,
                Ok(Err(error)) => {
                    self.commit()?;
                    // What a pipe or a disk did not give is not wrong, and would be lost.
                    let is_unread = error.chain().any(|cause| {
                        let cause = cause.downcast_ref::<std::io::Error>();
                        cause.is_some_and(|it| it.kind() != ErrorKind::FileTooLarge)
                    });
                    let over = if is_unread {
                        String::new()
                    } else {
                        format!("; --skip {} passes over the one that is wrong", self.read + 1)
                    };
                    return Err(error.context(self.told() + &over));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.commit(),
            }
            if self.since.is_some_and(|since| since.elapsed() >= self.interval) {
                self.commit()?;
            }
            if let Err(interrupted) = interrupt.check() {
                self.commit()?;
                return Err(anyhow::Error::from(interrupted).context(self.told()));
            }
        }
    }

    fn take(&mut self, piece: Piece) -> anyhow::Result<()> {
        if piece.file != self.waiting.file {
            self.commit()?;
            self.waiting.file = piece.file;
            self.read = 0;
        }
        if self.waiting.batch.is_empty() {
            self.waiting.batch = piece.batch;
        } else {
            self.waiting.batch.append(&piece.batch);
        }
        self.waiting.read += piece.read;
        self.since.get_or_insert_with(Start::now);
        let batch = &self.waiting.batch;
        if batch.len() >= self.source.arguments.batch as usize
            || batch.bytes().len() >= BATCH_BYTES_MAX
        {
            self.commit()?;
        }
        Ok(())
    }

    /// Makes what waits durable.
    fn commit(&mut self) -> anyhow::Result<()> {
        self.since = None;
        if !self.waiting.batch.is_empty() {
            let appended = self.writer.append_batch(&self.waiting.batch);
            let ids = appended.map_err(|error| anyhow::Error::from(error).context(self.told()))?;
            self.bytes += self.waiting.batch.bytes().len() as u64;
            if self.source.arguments.ack {
                let line = json!({ "first_id": ids.start, "end_id": ids.end });
                let mut target = crate::output::stdout::data();
                writeln!(target, "{line}")?;
                target.flush()?;
            }
        }
        self.read += std::mem::take(&mut self.waiting.read);
        self.waiting.batch.clear();
        Ok(())
    }

    /// How far the import came, and how it goes on.
    fn told(&self) -> String {
        let end = self.writer.end();
        let file = self.source.files.get(self.waiting.file);
        let file = file.map_or_else(String::new, |file| file.display().to_string());
        if end == self.first && self.read == 0 {
            return "nothing was appended".to_owned();
        }
        let rest: Vec<String> = self.source.files[self.waiting.file..]
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let ids = if end > self.first {
            format!("ids {} to {} are in", self.first, end - 1)
        } else {
            "nothing was appended".to_owned()
        };
        format!(
            "{ids}, from {file} its first {} records; to go on after them, append {} with --skip {}",
            self.read,
            rest.join(" "),
            self.read,
        )
    }
}
