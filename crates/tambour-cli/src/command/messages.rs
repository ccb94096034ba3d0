//! `tambour messages`: trains dictionaries, and turns lines into streams of encoded messages and back.

use super::export::aside;
use crate::cli::{MessagesAction, MessagesCodeArguments, MessagesTrainArguments};
use crate::exit::Failure;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use tambour::message::{
    Check, Dictionary, FrameCodec, MESSAGE_BYTES_MAX, MessageCodec, MessageReader, MessageWriter,
    Trainer,
};

/// Does one of them.
pub(crate) fn run(action: &MessagesAction, console: Console) -> anyhow::Result<()> {
    match action {
        MessagesAction::Train(arguments) => train(arguments, console),
        MessagesAction::Encode(arguments) => encode(arguments, console),
        MessagesAction::Decode(arguments) => decode(arguments, console),
    }
}

fn train(arguments: &MessagesTrainArguments, console: Console) -> anyhow::Result<()> {
    refuse_existing(&arguments.into, arguments.force)?;
    let check = Check::of_bytes(arguments.check.into());
    let check = check.ok_or_else(|| Failure::Usage("--check is 0, 2 or 4".to_owned()))?;
    let size = arguments.size.try_into().unwrap_or(usize::MAX);
    let mut trainer = Trainer::default().with_content_bytes(size).with_check(check);
    let mut connections = HashMap::new();
    for path in &arguments.files {
        let place = || path.display().to_string();
        let mut lines = Lines::new(open_text(path)?);
        while let Some(line) = lines.next().with_context(place)? {
            let Some(field) = &arguments.connection else {
                trainer.add(line).with_context(place)?;
                continue;
            };
            let Some(connection) = value_of(line, field) else {
                let number = lines.number;
                let what =
                    format!("{}, line {number}: the field {field} is missing", path.display());
                return Err(Failure::Usage(what).into());
            };
            let next = connections.len() as u64;
            let connection = *connections.entry(connection).or_insert(next);
            trainer.add_from(connection, line).with_context(place)?;
        }
    }
    let dictionary = trainer.train()?;
    let bytes = dictionary.to_bytes();
    write_file(&arguments.into, |target| Ok(target.write_all(&bytes)?))?;
    if arguments.json {
        return Ok(stdout::json(&json!({
            "schema": "tambour/messages-train/1",
            "dictionary": arguments.into.display().to_string(),
            "id": format!("{:016x}", dictionary.id()),
            "bytes": bytes.len(),
            "content_bytes": dictionary.content().len(),
            "samples": trainer.samples(),
            "connections": connections.len(),
            "check_bytes": check.bytes(),
        }))?);
    }
    console.note(format_args!(
        "{}: {} from {}",
        arguments.into.display(),
        quantity::bytes(bytes.len() as u64),
        quantity::counted(trainer.samples() as u64, "sample", "samples")
    ));
    Ok(())
}

fn encode(arguments: &MessagesCodeArguments, console: Console) -> anyhow::Result<()> {
    let codec = codec(arguments)?;
    let place = || arguments.source.display().to_string();
    let mut lines = Lines::new(open_text(&arguments.source)?);
    let mut counts = Counts::default();
    write(arguments, |target| {
        let mut writer = MessageWriter::new(target, codec);
        while let Some(line) = lines.next().with_context(place)? {
            writer.write(line).with_context(place)?;
            counts.messages += 1;
            counts.raw_bytes += line.len() as u64;
        }
        counts.encoded_bytes = writer.written();
        writer.finish()?;
        Ok(())
    })?;
    counts.report("messages-encode", arguments, console)
}

fn decode(arguments: &MessagesCodeArguments, console: Console) -> anyhow::Result<()> {
    let codec = codec(arguments)?;
    let place = || arguments.source.display().to_string();
    let mut counts = Counts::default();
    let mut source = Counted { source: open(&arguments.source)?, bytes: 0 };
    write(arguments, |target| {
        let mut reader = MessageReader::new(&mut source, codec);
        loop {
            let number = counts.messages;
            let message = reader.read().with_context(|| format!("message {number}"));
            let Some(message) = message.with_context(place)? else { break };
            if message.contains(&b'\n') {
                let what = format!("{}, message {number}: has several lines", place());
                return Err(Failure::Unsupported(what).into());
            }
            target.write_all(&message)?;
            target.write_all(b"\n")?;
            counts.messages += 1;
            counts.raw_bytes += message.len() as u64;
        }
        Ok(target.flush()?)
    })?;
    counts.encoded_bytes = source.bytes;
    counts.report("messages-decode", arguments, console)
}

/// The codec of the stream.
fn codec(arguments: &MessagesCodeArguments) -> anyhow::Result<FrameCodec> {
    if arguments.target != Path::new("-") {
        refuse_existing(&arguments.target, arguments.force)?;
    }
    let path = &arguments.dictionary;
    let place = || path.display().to_string();
    let limit = Dictionary::FILE_BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .with_context(place)?;
    let dictionary = Dictionary::from_bytes(&bytes).with_context(place)?;
    let codec = MessageCodec::new(arguments.generation, dictionary)
        .with_message_bytes_max(MESSAGE_BYTES_MAX);
    let codec = Arc::new(codec);
    Ok(if arguments.pins { FrameCodec::with_pins(codec) } else { FrameCodec::new(codec) })
}

/// What came of it.
#[derive(Default)]
struct Counts {
    messages: u64,
    raw_bytes: u64,
    encoded_bytes: u64,
}

impl Counts {
    fn report(
        &self,
        what: &str,
        arguments: &MessagesCodeArguments,
        console: Console,
    ) -> anyhow::Result<()> {
        let ratio = self.raw_bytes as f64 / self.encoded_bytes.max(1) as f64;
        let result = json!({
            "schema": format!("tambour/{what}/1"),
            "messages": self.messages,
            "raw_bytes": self.raw_bytes,
            "encoded_bytes": self.encoded_bytes,
            "ratio": ratio,
        });
        if arguments.json && arguments.target != Path::new("-") {
            return Ok(stdout::json(&result)?);
        }
        if arguments.json {
            console.note(result);
        } else {
            console.note(format_args!(
                "{}, {} as {}: ratio {ratio:.2}",
                quantity::counted(self.messages, "message", "messages"),
                quantity::bytes(self.raw_bytes),
                quantity::bytes(self.encoded_bytes),
            ));
        }
        Ok(())
    }
}

/// Lines of limited length. A carriage return is part of a line.
struct Lines<R> {
    source: R,
    line: Vec<u8>,
    /// Of the line that was read last, from 1.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(source: R) -> Self {
        Self { source, line: Vec::new(), number: 0 }
    }

    fn next(&mut self) -> anyhow::Result<Option<&[u8]>> {
        self.line.clear();
        self.number += 1;
        let limit = MESSAGE_BYTES_MAX as u64 + 2;
        if (&mut self.source).take(limit).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        Ok(Some(&self.line))
    }
}

/// Counts what is read.
struct Counted<R> {
    source: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(target)?;
        self.bytes += count as u64;
        Ok(count)
    }
}

/// The text of a field of a JSON message; dots lead into objects.
fn value_of(line: &[u8], field: &str) -> Option<String> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let value = field.split('.').try_fold(&message, |value, name| value.get(name))?;
    Some(value.to_string())
}

/// Lines; those of a file may be compressed with gzip or zstd.
fn open_text(path: &Path) -> anyhow::Result<BufReader<Box<dyn Read>>> {
    if path == Path::new("-") {
        return open(path);
    }
    Ok(BufReader::with_capacity(1 << 16, tambour::files::text_reader(path)?))
}

fn open(path: &Path) -> anyhow::Result<BufReader<Box<dyn Read>>> {
    let source: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).with_context(|| path.display().to_string())?)
    };
    Ok(BufReader::with_capacity(1 << 16, source))
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.symlink_metadata().is_ok() {
        let path = path.display();
        return Err(Failure::Conflict(format!("{path} exists: --force replaces it")));
    }
    Ok(())
}

/// Writes to standard output, or to a file that appears when it is complete.
fn write(
    arguments: &MessagesCodeArguments,
    work: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if arguments.target == Path::new("-") {
        return work(&mut stdout::data());
    }
    write_file(&arguments.target, work)
}

fn write_file(
    path: &Path,
    work: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let aside = aside(path);
    let place = || aside.display().to_string();
    let result = (|| {
        let mut file = BufWriter::new(File::create_new(&aside).with_context(place)?);
        work(&mut file)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error).with_context(place)?;
        file.sync_all().with_context(place)?;
        std::fs::rename(&aside, path).with_context(|| path.display().to_string())?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.with_context(|| directory.display().to_string())
    })();
    if result.is_err() {
        // What is half written is of no use to anybody.
        let _ = std::fs::remove_file(&aside);
    }
    result
}
