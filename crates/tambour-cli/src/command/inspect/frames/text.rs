//! Frames as people read them, in 80 columns.

use super::super::{fact, write_grid};
use super::{FRAMES_MAX, Seen, Summary, kind_name};
use crate::output::grid::{Grid, Heading};
use crate::output::quantity;
use std::io::{self, Write};
use std::path::Path;
use tambour::codec::frame::look::{
    Block, BlockData, Event, Field, FrameKind, Histogram, LiteralsKind, Lz4Block, Purpose,
    Sequence, Tally, ZstdBlock,
};

/// Sequences of a block that are shown; JSON has all that were kept.
const SEQUENCES_MAX: usize = 16;
/// Width of the longest bar.
const BAR: u64 = 30;

/// The sums.
pub(super) fn summary(path: &Path, summary: &Summary, target: &mut dyn Write) -> io::Result<()> {
    fact(target, "file", &path.display().to_string())?;
    let tally = &summary.tally;
    let frames = quantity::counted(tally.frames, "frame", "frames");
    let content = match summary.content {
        Some(content) => format!(
            " of {} content ({})",
            quantity::bytes(content),
            quantity::ratio(content, summary.length)
        ),
        None => ", content not known without decoding (--stats)".to_owned(),
    };
    let contents = format!("{frames}, {}{content}", quantity::bytes(summary.length));
    fact(target, "contents", &contents)?;
    match &summary.frames[..] {
        [only] if tally.frames == 1 => one_frame(only, target)?,
        seen => {
            writeln!(target)?;
            frame_grid(seen, tally.frames, target)?;
        }
    }
    if tally.blocks.iter().sum::<u64>() > 0 {
        blocks(tally, target)?;
    }
    totals(tally, target)?;
    match &summary.learning {
        Some(learning) => learning.write(target),
        None => Ok(()),
    }
}

/// Where the bytes went, and what sequences are like.
pub(in super::super) fn totals(tally: &Tally, target: &mut dyn Write) -> io::Result<()> {
    writeln!(target)?;
    purposes(tally, target)?;
    histograms(tally, target)
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn one_frame(seen: &Seen, target: &mut dyn Write) -> io::Result<()> {
    let dictionary =
        |id: Option<u32>| id.map_or("none named".to_owned(), |id| format!("{id}, {id:#x}"));
    let stated = |size: Option<u64>| {
        size.map_or("size not stated".to_owned(), |size| {
            format!("{} bytes stated", quantity::grouped(size))
        })
    };
    fact(target, "format", kind_name(&seen.frame.kind))?;
    match &seen.frame.kind {
        FrameKind::Zstd(header) => {
            let segment = if header.single_segment { ", a single segment" } else { "" };
            fact(
                target,
                "window",
                &format!("{} bytes{segment}", quantity::grouped(header.window_bytes)),
            )?;
            fact(target, "content", &stated(header.content_bytes))?;
            fact(target, "dictionary", &dictionary(header.dictionary))?;
        }
        FrameKind::Lz4(header) => {
            let most = quantity::grouped(header.block_bytes_max as u64);
            let linked = if header.independent { "independent" } else { "linked" };
            fact(target, "blocks", &format!("{linked}, up to {most} bytes each"))?;
            fact(target, "content", &stated(header.content_bytes))?;
            fact(target, "dictionary", &dictionary(header.dictionary))?;
            fact(target, "checksums", &format!("of blocks: {}", yes(header.block_checksums)))?;
        }
        FrameKind::Skippable { variant, bytes } => {
            fact(target, "skippable", &format!("variant {variant}, {bytes} bytes"))?;
        }
        _ => {}
    }
    let checksum = match seen.checksum {
        Some(checksum) => format!("{checksum:08x} (verify compares it)"),
        None => "none of the content".to_owned(),
    };
    fact(target, "checksum", &checksum)
}

fn frame_grid(seen: &[Seen], frames: u64, target: &mut dyn Write) -> io::Result<()> {
    let mut grid = Grid::new(vec![
        Heading::number("frame"),
        Heading::number("offset"),
        Heading::text("format"),
        Heading::number("stored"),
        Heading::number("content"),
        Heading::number("ratio"),
        Heading::number("blocks"),
    ]);
    for (index, Seen { frame, end, blocks, content, .. }) in seen.iter().enumerate() {
        let stored = end.map(|end| end - frame.offset);
        let number = |number: Option<u64>| number.map_or("-".to_owned(), quantity::grouped);
        grid.push([
            index.to_string(),
            quantity::grouped(frame.offset),
            kind_name(&frame.kind).to_owned(),
            number(stored),
            number(*content),
            stored
                .zip(*content)
                .map_or("-".to_owned(), |(small, large)| quantity::ratio(large, small)),
            quantity::grouped(*blocks),
        ]);
    }
    write_grid(target, &grid)?;
    if frames > FRAMES_MAX as u64 {
        writeln!(target, "and {} more", quantity::grouped(frames - FRAMES_MAX as u64))?;
    }
    Ok(())
}

/// Which kinds of blocks, literals and tables there are.
fn blocks(tally: &Tally, target: &mut dyn Write) -> io::Result<()> {
    fact(target, "blocks", &list(&["compressed", "raw", "run"], &tally.blocks))?;
    literals_and_sequences(tally, target)
}

/// Those that occur, each with its count.
fn list(names: &[&str], counts: &[u64]) -> String {
    let named = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    let parts: Vec<_> =
        named.map(|(name, count)| format!("{} {name}", quantity::grouped(*count))).collect();
    parts.join(", ")
}

/// How literals are stored, where tables come from, and how many sequences there are.
pub(in super::super) fn literals_and_sequences(
    tally: &Tally,
    target: &mut dyn Write,
) -> io::Result<()> {
    if tally.literals.iter().any(|count| *count > 0) {
        let names = ["raw", "run", "Huffman", "treeless"];
        fact(target, "literals", &format!("{} (blocks)", list(&names, &tally.literals)))?;
    }
    let mut title = "tables";
    for (field, modes) in Field::ALL.iter().zip(&tally.modes) {
        if modes.iter().any(|count| *count > 0) {
            let names = ["predefined", "run", "FSE", "repeat"];
            fact(target, title, &format!("{}: {} (blocks)", field.name(), list(&names, modes)))?;
            title = "";
        }
    }
    if tally.sequences > 0 {
        let sequences = quantity::counted(tally.sequences, "sequence", "sequences");
        let literals = quantity::bytes(tally.literal_content);
        let mut text = format!("{sequences}; {literals} of literals");
        if tally.match_content > 0 {
            text += &format!(", {} of matches", quantity::bytes(tally.match_content));
        }
        fact(target, "sequences", &text)?;
    }
    Ok(())
}

/// Where the bytes went.
fn purposes(tally: &Tally, target: &mut dyn Write) -> io::Result<()> {
    let total = tally.total();
    let mut grid = Grid::new(vec![
        Heading::text("where the bytes went"),
        Heading::number("bytes"),
        Heading::number("share"),
        Heading::text(""),
    ]);
    for purpose in Purpose::ALL {
        let bytes = tally.bytes(purpose);
        if bytes > 0 {
            grid.push([
                purpose.name().to_owned(),
                quantity::grouped(bytes),
                share(bytes, total),
                bar(bytes, total),
            ]);
        }
        if purpose == Purpose::SequencesCoded {
            let bits: u64 = tally.bits.iter().sum();
            for (field, own) in Field::ALL.iter().zip(tally.bits).filter(|_| bits > 0) {
                let name = match field {
                    Field::Literals => "  lengths of literals",
                    Field::Offset => "  offsets",
                    Field::Match => "  lengths of matches",
                };
                grid.push([
                    name.to_owned(),
                    quantity::grouped(own / 8),
                    share(own, 8 * total),
                    bar(own, 8 * total),
                ]);
            }
        }
    }
    grid.push(["(all)".to_owned(), quantity::grouped(total), String::new(), String::new()]);
    write_grid(target, &grid)
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}

fn bar(part: u64, whole: u64) -> String {
    let length = u128::from(part) * u128::from(BAR) / u128::from(whole.max(1));
    "#".repeat(usize::try_from(length).unwrap_or_default())
}

fn histograms(tally: &Tally, target: &mut dyn Write) -> io::Result<()> {
    let named = [
        ("literals before a match", &tally.literal_lengths),
        ("length of matches", &tally.match_lengths),
        ("offset of matches", &tally.offsets),
    ];
    for (name, histogram) in named {
        if histogram.ranges().next().is_some() {
            writeln!(target)?;
            write_histogram(name, histogram, target)?;
        }
    }
    Ok(())
}

fn write_histogram(name: &str, histogram: &Histogram, target: &mut dyn Write) -> io::Result<()> {
    let total = histogram.counts.iter().sum();
    let mut grid = Grid::new(vec![
        Heading::number(name),
        Heading::number("sequences"),
        Heading::number("share"),
        Heading::text(""),
    ]);
    for (from, to, count) in histogram.ranges() {
        let (from, to) = (quantity::grouped(from.into()), quantity::grouped(to.into()));
        let range = if from == to { from } else { format!("{from} - {to}") };
        grid.push([range, quantity::grouped(count), share(count, total), bar(count, total)]);
    }
    write_grid(target, &grid)
}

/// One step of the walk, for `--blocks`.
pub(super) fn event(index: u64, event: &Event, target: &mut dyn Write) -> io::Result<()> {
    match event {
        Event::Frame(frame) => {
            writeln!(target, "frame {index} at {}: {}", frame.offset, kind_name(&frame.kind))
        }
        Event::Block(block) => write_block(block, target),
        Event::End(end) => {
            let blocks = quantity::counted(end.blocks, "block", "blocks");
            writeln!(target, "end of frame {index} at {}: {blocks}\n", end.offset)
        }
        _ => Ok(()),
    }
}

pub(in super::super) fn write_block(block: &Block, target: &mut dyn Write) -> io::Result<()> {
    let name = match &block.data {
        BlockData::Raw => "raw",
        BlockData::Run(_) => "run",
        _ => "compressed",
    };
    let content = block.content_bytes.map_or("?".to_owned(), quantity::grouped);
    let checksum = match block.checksum {
        Some(true) => ", checksum good",
        Some(false) => ", checksum BAD",
        None => "",
    };
    let stored = quantity::grouped(block.stored_bytes);
    writeln!(target, "  block at {}: {name}, {stored} bytes -> {content}{checksum}", block.offset)?;
    match &block.data {
        BlockData::Run(byte) => writeln!(target, "    byte {byte:#04x}, repeated"),
        BlockData::Zstd(data) => {
            write_zstd(data, target)?;
            data.inside.as_ref().map_or(Ok(()), |inside| {
                write_sequences(&inside.sequences, data.sequences.count, target)
            })
        }
        BlockData::Lz4(data) => write_lz4(data, target),
        _ => Ok(()),
    }
}

/// What an LZ4 block is made of.
pub(in super::super) fn write_lz4(block: &Lz4Block, target: &mut dyn Write) -> io::Result<()> {
    let (literals, matches) = (
        quantity::grouped(block.literal_bytes as u64),
        quantity::grouped(block.match_bytes as u64),
    );
    let count = quantity::counted(block.sequences as u64, "sequence", "sequences");
    writeln!(target, "    {count}: {literals} bytes of literals, {matches} of matches")?;
    write_sequences(&block.each, block.each.len(), target)
}

fn write_zstd(block: &ZstdBlock, target: &mut dyn Write) -> io::Result<()> {
    let literals = &block.literals;
    let kind = match literals.kind {
        LiteralsKind::Raw => "raw".to_owned(),
        LiteralsKind::Run => "run".to_owned(),
        LiteralsKind::Huffman => "Huffman".to_owned(),
        LiteralsKind::Treeless => "treeless".to_owned(),
        _ => "other".to_owned(),
    };
    let streams = match literals.streams {
        0 => String::new(),
        count => format!(", {}", quantity::counted(count as u64, "stream", "streams")),
    };
    let (stored, content) = (literals.stored_bytes as u64, literals.content_bytes as u64);
    writeln!(
        target,
        "    literals: {kind}{streams}, {} bytes -> {}",
        quantity::grouped(stored),
        quantity::grouped(content)
    )?;
    if let Some(tree) = literals.tree {
        let (bytes, symbols, bits) = (tree.bytes, tree.symbols, tree.bits_max);
        writeln!(target, "    tree: {bytes} bytes for {symbols} symbols, codes up to {bits} bits")?;
    }
    let sequences = &block.sequences;
    let tables: Vec<String> = Field::ALL
        .iter()
        .zip(sequences.tables.iter().flatten())
        .map(|(field, table)| {
            let bytes =
                if table.bytes > 0 { format!(" ({} B)", table.bytes) } else { String::new() };
            format!("{} {}{bytes}", field.name(), table.mode.name())
        })
        .collect();
    let count = quantity::counted(sequences.count as u64, "sequence", "sequences");
    let stream = quantity::grouped(sequences.stream_bytes as u64);
    writeln!(target, "    {count} in {stream} bytes of codes")?;
    if !tables.is_empty() {
        writeln!(target, "    tables: {}", tables.join(", "))?;
    }
    Ok(())
}

/// Writes the first sequences of `count`, of which those that are given were kept.
fn write_sequences(sequences: &[Sequence], count: usize, target: &mut dyn Write) -> io::Result<()> {
    for (index, sequence) in sequences.iter().take(SEQUENCES_MAX).enumerate() {
        let Sequence { literals, offset, length, repeat } = sequence;
        let repeat = match repeat {
            0 => String::new(),
            4 => "  (last offset less 1)".to_owned(),
            which => format!("  (repeats offset {which})"),
        };
        if *length == 0 {
            writeln!(target, "    {index:>6}  {literals:>6} literals")?;
        } else {
            writeln!(
                target,
                "    {index:>6}  {literals:>6} literals, {length:>6} from {offset:>8} back{repeat}"
            )?;
        }
    }
    let more = quantity::grouped(count.saturating_sub(SEQUENCES_MAX.min(sequences.len())) as u64);
    if sequences.len() < count {
        let kept = quantity::grouped(sequences.len() as u64);
        writeln!(target, "            and {more} more; --json has the first {kept}")
    } else if count > SEQUENCES_MAX {
        writeln!(target, "            and {more} more; --json has them")
    } else {
        Ok(())
    }
}
