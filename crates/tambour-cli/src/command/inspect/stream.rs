//! A file of blocks: which codecs, where the bytes went, and on request every block with what is inside of it.

use super::frames::{json as frames_json, text as frames_text};
use super::learning::Learning;
use super::{fact, stage, write_grid};
use crate::blocks::{BlockFile, Depth, Entry};
use crate::cli::InspectArguments;
use crate::output::grid::{Grid, Heading};
use crate::output::{failure, quantity, stdout};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tambour::codec::CodecError;
use tambour::codec::frame::look::{StageLook, StageOptions, Stages, Tally};
use tambour::part::PartError;
use tambour::{Part, Place};

/// Method byte of LZ4.
const LZ4: u8 = 0x82;

/// Shows a file of blocks.
pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    let path = arguments.path.as_path();
    let mut summary = Summary::open(path)?;
    summary.learning = arguments.stats.then(Learning::new).transpose()?;
    let options =
        StageOptions { sequences: arguments.blocks || arguments.stats, inner: arguments.blocks };
    if arguments.json {
        let mut target = stdout::data();
        summary.begin_json(path, arguments.blocks, &mut target)?;
        let mut first = true;
        summary.walk(path, options, &mut |seen| {
            if arguments.blocks { write_json(seen, &mut first, &mut target) } else { Ok(()) }
        })?;
        summary.end_json(arguments.blocks, &mut target)?;
        target.flush()?;
    } else {
        let mut target = stdout::text();
        summary.walk(path, options, &mut |seen| {
            if arguments.blocks { write_text(seen, &mut target) } else { Ok(()) }
        })?;
        summary.write(path, &mut target)?;
        target.flush()?;
    }
    summary.damage.map_or(Ok(()), |error| Err(error.into()))
}

/// Shows the blocks of every stream of a part.
pub(super) fn write_part(part: &Part, target: &mut dyn Write) -> anyhow::Result<()> {
    for path in streams(part) {
        let (entries, damage) = list(&path)?;
        writeln!(target)?;
        let mut summary = Summary::open(&path)?;
        for entry in &entries {
            summary.add(entry);
        }
        summary.write_codecs(&path, target)?;
        writeln!(target)?;
        write_grid(target, &block_grid(&entries))?;
        check(entries, damage)?;
    }
    Ok(())
}

/// The blocks of every stream of a part, by file name.
pub(super) fn part_to_json(part: &Part) -> anyhow::Result<Value> {
    let mut streams_json = serde_json::Map::new();
    for path in streams(part) {
        let (entries, damage) = list(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        streams_json.insert(name, entries.iter().map(entry_to_json).collect());
        // A list that ends early is not a list.
        check(entries, damage)?;
    }
    Ok(Value::Object(streams_json))
}

fn streams(part: &Part) -> Vec<PathBuf> {
    let files = part.files().into_iter().map(|(name, _)| name);
    let streams = files.filter(|name| Path::new(name).extension().is_some_and(|end| end == "bin"));
    streams.map(|name| part.path().join(name)).collect()
}

/// All blocks of a file, and why the list ends early if it does.
fn list(path: &Path) -> anyhow::Result<(Vec<Entry>, Option<PartError>)> {
    let (mut entries, mut damage) = (Vec::new(), None);
    for entry in BlockFile::open(path, Depth::Checksums)? {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => damage = Some(error),
        }
    }
    Ok((entries, damage))
}

/// An error if anything was found to be wrong.
fn check(entries: Vec<Entry>, damage: Option<PartError>) -> anyhow::Result<()> {
    let damaged = entries.into_iter().find_map(|entry| entry.damage);
    damaged.or(damage).map_or(Ok(()), |error| Err(error.into()))
}

/// A block and what is inside of it.
#[derive(Debug)]
struct Seen<'a> {
    index: u64,
    entry: &'a Entry,
    stages: &'a Stages,
    fault: Option<&'a CodecError>,
}

/// What is known of a codec's blocks in a file.
#[derive(Debug, Default)]
struct CodecSum {
    codec: String,
    blocks: u64,
    compressed: u64,
    uncompressed: u64,
}

/// What is in a file.
#[derive(Debug)]
struct Summary {
    length: u64,
    codecs: Vec<CodecSum>,
    tally: Tally,
    learning: Option<Learning>,
    /// The first thing that is wrong.
    damage: Option<PartError>,
}

impl Summary {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let length = BlockFile::open(path, Depth::Checksums)?.length();
        let (codecs, tally) = (Vec::new(), Tally::default());
        Ok(Self { length, codecs, tally, learning: None, damage: None })
    }

    /// Walks to the end, or to where no block can be found. `tell` gets every block.
    fn walk(
        &mut self,
        path: &Path,
        options: StageOptions,
        tell: &mut dyn FnMut(&Seen<'_>) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut file = BlockFile::open(path, Depth::Checksums)?;
        let mut look = StageLook::default();
        let mut index = 0;
        while let Some(entry) = file.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.note(Some(error));
                    break;
                }
            };
            let good = entry.damage.is_none();
            // Of damaged bytes only headers are read.
            let options = if good { options } else { StageOptions::default() };
            let (stages, fault) = look.look(&entry.header, file.payload(), options);
            self.tally.add_stages(&entry.header, &stages, fault.is_none());
            self.tally.damaged += u64::from(!good);
            if let (Some(learning), LZ4, true) = (&mut self.learning, entry.header.method, good) {
                learning.decode(file.payload(), entry.header.uncompressed_size as usize);
            }
            self.add(&entry);
            tell(&Seen { index, entry: &entry, stages: &stages, fault: fault.as_ref() })?;
            let place = Place::file(path).at(entry.offset);
            let fault = fault.map(|cause| PartError::Block { place: Box::new(place), cause });
            self.note(entry.damage.or(fault));
            index += 1;
        }
        Ok(())
    }

    /// Keeps the first error.
    fn note(&mut self, error: Option<PartError>) {
        if self.damage.is_none() {
            self.damage = error;
        }
    }

    fn add(&mut self, entry: &Entry) {
        let known = self.codecs.iter().position(|sum| sum.codec == entry.codec);
        let index = known.unwrap_or_else(|| {
            self.codecs.push(CodecSum { codec: entry.codec.clone(), ..CodecSum::default() });
            self.codecs.len() - 1
        });
        if let Some(sum) = self.codecs.get_mut(index) {
            sum.blocks += 1;
            sum.compressed += entry.header.block_bytes() as u64;
            sum.uncompressed += u64::from(entry.header.uncompressed_size);
        }
    }

    fn write(&self, path: &Path, target: &mut dyn Write) -> io::Result<()> {
        self.write_codecs(path, target)?;
        if !self.codecs.is_empty() {
            let tally = &self.tally;
            if tally.sequences > 0 || tally.literals.iter().any(|count| *count > 0) {
                writeln!(target)?;
                frames_text::literals_and_sequences(tally, target)?;
            }
            frames_text::totals(tally, target)?;
        }
        self.learning.as_ref().map_or(Ok(()), |learning| learning.write(target))
    }

    fn write_codecs(&self, path: &Path, target: &mut dyn Write) -> io::Result<()> {
        let blocks: u64 = self.codecs.iter().map(|sum| sum.blocks).sum();
        fact(target, "file", &path.display().to_string())?;
        let blocks = quantity::counted(blocks, "block", "blocks");
        fact(target, "contents", &format!("{blocks}, {}", quantity::bytes(self.length)))?;
        writeln!(target)?;
        let mut grid = Grid::new(vec![
            Heading::text("codec"),
            Heading::number("blocks"),
            Heading::number("compressed"),
            Heading::number("raw"),
            Heading::number("ratio"),
        ]);
        for sum in &self.codecs {
            grid.push([
                sum.codec.clone(),
                quantity::grouped(sum.blocks),
                quantity::grouped(sum.compressed),
                quantity::grouped(sum.uncompressed),
                quantity::ratio(sum.uncompressed, sum.compressed),
            ]);
        }
        write_grid(target, &grid)
    }

    /// The start of the object, up to its list of blocks.
    fn begin_json(&self, path: &Path, blocks: bool, target: &mut dyn Write) -> io::Result<()> {
        let path = json!(path.display().to_string());
        write!(target, "{{\"schema\":\"tambour/inspect/1\",\"kind\":\"blocks\",")?;
        write!(target, "\"path\":{path},\"bytes\":{},\"blocks\":", self.length)?;
        write!(target, "{}", if blocks { "[" } else { "null" })
    }

    /// The end of the object, after its list of blocks.
    fn end_json(&self, blocks: bool, target: &mut dyn Write) -> io::Result<()> {
        let codec = |sum: &CodecSum| {
            json!({
                "codec": sum.codec,
                "blocks": sum.blocks,
                "compressed": sum.compressed,
                "uncompressed": sum.uncompressed,
            })
        };
        let codecs: Value = self.codecs.iter().map(codec).collect();
        let sums = frames_json::sums(&self.tally);
        let learned = self.learning.as_ref().map_or(Value::Null, Learning::to_json);
        let damage = self.damage.as_ref().map_or(Value::Null, |error| failure::fields(error));
        write!(target, "{}", if blocks { "\n]," } else { "," })?;
        write!(target, "\"codecs\":{codecs},\"sums\":{sums},")?;
        writeln!(target, "\"learned\":{learned},\"damage\":{damage}}}")
    }
}

/// One block and what is inside of it, as people read it.
fn write_text(seen: &Seen<'_>, target: &mut dyn Write) -> io::Result<()> {
    let Seen { index, entry, stages, fault } = seen;
    let (compressed, raw) =
        (entry.header.block_bytes() as u64, u64::from(entry.header.uncompressed_size));
    writeln!(target, "block {index} at {}: {}", entry.offset, entry.codec)?;
    let state = if entry.damage.is_none() { "good" } else { "BAD" };
    let (stored, content) = (quantity::grouped(compressed), quantity::grouped(raw));
    let ratio = quantity::ratio(raw, compressed);
    writeln!(target, "  {stored} bytes -> {content} ({ratio}), checksum {state}")?;
    stage::write(stages, *fault, target)?;
    writeln!(target)
}

/// One block and what is inside of it, as programs read it.
fn write_json(seen: &Seen<'_>, first: &mut bool, target: &mut dyn Write) -> io::Result<()> {
    let mut value = entry_to_json(seen.entry);
    let fault = seen.fault.map(ToString::to_string);
    let more = json!({ "stages": stage::to_json(seen.stages), "damage": fault });
    frames_json::merge(&mut value, more);
    let comma = if std::mem::take(first) { "" } else { "," };
    write!(target, "{comma}\n{value}")
}

fn entry_to_json(entry: &Entry) -> Value {
    json!({
        "offset": entry.offset,
        "codec": entry.codec,
        "method": entry.header.method,
        "compressed": entry.header.block_bytes(),
        "uncompressed": entry.header.uncompressed_size,
        "checksum": entry.header.hash.to_string(),
        "good": entry.damage.is_none(),
    })
}

fn block_grid(entries: &[Entry]) -> Grid {
    let mut grid = Grid::new(vec![
        Heading::number("block"),
        Heading::number("offset"),
        Heading::text("codec"),
        Heading::number("compressed"),
        Heading::number("raw"),
        Heading::number("ratio"),
        Heading::text("checksum"),
    ]);
    for (index, entry) in entries.iter().enumerate() {
        let (compressed, raw) =
            (entry.header.block_bytes() as u64, u64::from(entry.header.uncompressed_size));
        grid.push([
            index.to_string(),
            entry.offset.to_string(),
            entry.codec.clone(),
            quantity::grouped(compressed),
            quantity::grouped(raw),
            quantity::ratio(raw, compressed),
            if entry.damage.is_none() { "good".to_owned() } else { "BAD".to_owned() },
        ]);
    }
    grid
}
