//! A file of blocks: how many, which codecs, and each of them on request.

use super::learning::Learning;
use super::{fact, write_grid};
use crate::blocks::{BlockFile, Depth, Entry};
use crate::cli::InspectArguments;
use crate::output::grid::{Grid, Heading};
use crate::output::{quantity, stdout};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use tambour::Part;
use tambour::part::PartError;

/// Method byte of LZ4.
const LZ4: u8 = 0x82;

/// Shows a file of blocks.
pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    let path = arguments.path.as_path();
    let mut learning = arguments.stats.then(Learning::new).transpose()?;
    let summary = Summary::read(path, arguments.blocks, learning.as_mut())?;
    if arguments.json {
        let mut object = summary.to_json(path);
        if let (Some(learning), Some(object)) = (&learning, object.as_object_mut()) {
            object.insert("learned".to_owned(), learning.to_json());
        }
        stdout::json(&object)?;
    } else {
        let mut target = stdout::text();
        summary.write(path, &mut target)?;
        if let Some(learning) = &learning {
            learning.write(&mut target)?;
        }
        target.flush()?;
    }
    summary.check()
}

/// Shows the blocks of every stream of a part.
pub(super) fn write_part(part: &Part, target: &mut dyn Write) -> anyhow::Result<()> {
    for path in streams(part) {
        let summary = Summary::read(&path, true, None)?;
        writeln!(target)?;
        summary.write(&path, target)?;
        summary.check()?;
    }
    Ok(())
}

/// The blocks of every stream of a part, by file name.
pub(super) fn part_to_json(part: &Part) -> anyhow::Result<serde_json::Value> {
    let mut streams_json = serde_json::Map::new();
    for path in streams(part) {
        let summary = Summary::read(&path, true, None)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        streams_json.insert(name, summary.blocks_to_json());
        // A list that ends early is no list.
        summary.check()?;
    }
    Ok(serde_json::Value::Object(streams_json))
}

fn streams(part: &Part) -> Vec<PathBuf> {
    let files = part.files().into_iter().map(|(name, _)| name);
    let streams = files.filter(|name| Path::new(name).extension().is_some_and(|end| end == "bin"));
    streams.map(|name| part.path().join(name)).collect()
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
    /// All blocks, if they were asked for.
    entries: Option<Vec<Entry>>,
    /// Why the walk ended before the end of the file.
    damage: Option<PartError>,
}

impl Summary {
    fn read(path: &Path, each: bool, mut learning: Option<&mut Learning>) -> anyhow::Result<Self> {
        let closely = each || learning.is_some();
        let mut file =
            BlockFile::open(path, if closely { Depth::Checksums } else { Depth::Headers })?;
        let mut summary = Self {
            length: file.length(),
            codecs: Vec::new(),
            entries: each.then(Vec::new),
            damage: None,
        };
        while let Some(entry) = file.next() {
            match entry {
                Ok(entry) => {
                    if let (Some(learning), LZ4, None) =
                        (&mut learning, entry.header.method, &entry.damage)
                    {
                        let content = entry.header.uncompressed_size as usize;
                        learning.decode(file.payload(), content);
                    }
                    summary.add(entry);
                }
                Err(error) => summary.damage = summary.damage.or(Some(error)),
            }
        }
        Ok(summary)
    }

    /// An error if anything was found to be wrong.
    fn check(self) -> anyhow::Result<()> {
        let damaged = self.entries.into_iter().flatten().find_map(|entry| entry.damage);
        damaged.or(self.damage).map_or(Ok(()), |error| Err(error.into()))
    }

    fn add(&mut self, entry: Entry) {
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
        if let Some(entries) = &mut self.entries {
            entries.push(entry);
        }
    }

    fn write(&self, path: &Path, target: &mut dyn Write) -> anyhow::Result<()> {
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
        write_grid(target, &grid)?;
        if let Some(entries) = &self.entries {
            writeln!(target)?;
            write_grid(target, &block_grid(entries))?;
        }
        Ok(())
    }

    fn to_json(&self, path: &Path) -> serde_json::Value {
        let codecs: Vec<_> = self
            .codecs
            .iter()
            .map(|sum| {
                json!({
                    "codec": sum.codec,
                    "blocks": sum.blocks,
                    "compressed": sum.compressed,
                    "uncompressed": sum.uncompressed,
                })
            })
            .collect();
        json!({
            "schema": "tambour/inspect/1",
            "kind": "blocks",
            "path": path.display().to_string(),
            "bytes": self.length,
            "codecs": codecs,
            "blocks": self.blocks_to_json(),
        })
    }

    fn blocks_to_json(&self) -> serde_json::Value {
        let Some(entries) = &self.entries else { return serde_json::Value::Null };
        let block = |entry: &Entry| {
            json!({
                "offset": entry.offset,
                "codec": entry.codec,
                "method": entry.header.method,
                "compressed": entry.header.block_bytes(),
                "uncompressed": entry.header.uncompressed_size,
                "checksum": entry.header.hash.to_string(),
                "good": entry.damage.is_none(),
            })
        };
        entries.iter().map(block).collect()
    }
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
