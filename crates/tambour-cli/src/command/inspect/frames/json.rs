//! Frames as programs read them: one object, written as the walk goes, so that a large stream needs no memory.

use super::{Summary, kind_name, learned_to_json};
use crate::output::failure;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use tambour::codec::frame::look::{
    Block, BlockData, Event, Field, FrameKind, Histogram, LiteralsKind, Lz4Block, Purpose,
    Sequence, Tally, ZstdBlock,
};

/// The start of the object, up to its list of events.
pub(super) fn begin(path: &Path, length: u64, target: &mut dyn Write) -> io::Result<()> {
    let path = json!(path.display().to_string());
    write!(target, "{{\"schema\":\"tambour/inspect/1\",\"kind\":\"frames\",")?;
    write!(target, "\"path\":{path},\"bytes\":{length},\"events\":[")
}

/// One step of the walk; blocks only if they were asked for.
pub(super) fn event(
    index: u64,
    event: &Event,
    blocks: bool,
    first: &mut bool,
    target: &mut dyn Write,
) -> io::Result<()> {
    if matches!(event, Event::Block(_)) && !blocks {
        return Ok(());
    }
    let Some(value) = event_to_json(index, event) else { return Ok(()) };
    let comma = if std::mem::take(first) { "" } else { "," };
    write!(target, "{comma}\n{value}")
}

/// One step of a walk.
pub(in super::super) fn event_to_json(index: u64, event: &Event) -> Option<Value> {
    Some(match event {
        Event::Frame(frame) => frame_to_json(index, frame.offset, &frame.kind),
        Event::Block(block) => block_to_json(index, block),
        Event::End(end) => json!({
            "event": "end",
            "frame": index,
            "offset": end.offset,
            "blocks": end.blocks,
            "content": end.content_bytes,
            "checksum": end.checksum,
        }),
        _ => return None,
    })
}

/// The end of the object: the sums, and what is wrong.
pub(super) fn end(summary: &Summary, target: &mut dyn Write) -> io::Result<()> {
    let mut sums = sums(&summary.tally);
    merge(&mut sums, json!({ "frames": summary.tally.frames, "content": summary.content }));
    let learned = learned_to_json(summary);
    let damage = summary.damage.as_ref().map_or(Value::Null, |error| failure::fields(error));
    writeln!(target, "\n],\"sums\":{sums},\"learned\":{learned},\"damage\":{damage}}}")
}

/// Where the bytes went, and what sequences are like.
pub(in super::super) fn sums(tally: &Tally) -> Value {
    let spent = Purpose::ALL.iter().map(|purpose| (purpose.name(), tally.bytes(*purpose)));
    let spent: serde_json::Map<_, _> = spent
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| (name.to_owned(), json!(bytes)))
        .collect();
    let modes = |modes: [u64; 4]| json!({ "predefined": modes[0], "run": modes[1], "fse": modes[2], "repeat": modes[3] });
    let [raw, run, huffman, treeless] = tally.literals;
    json!({
        "spent": spent,
        "blocks": { "compressed": tally.blocks[0], "raw": tally.blocks[1], "run": tally.blocks[2] },
        "literals": { "raw": raw, "run": run, "huffman": huffman, "treeless": treeless },
        "tables": by_field(tally.modes.map(modes)),
        "sequences": tally.sequences,
        "literal_content": tally.literal_content,
        "match_content": tally.match_content,
        "sequence_bits": by_field(tally.bits.map(|bits| json!(bits))),
        "repeated_offsets": tally.repeats,
        "literal_lengths": histogram(&tally.literal_lengths),
        "match_lengths": histogram(&tally.match_lengths),
        "offsets": histogram(&tally.offsets),
        "bad_checksums": tally.damaged,
    })
}

fn by_field(values: [Value; 3]) -> Value {
    Field::ALL.iter().map(|field| field.name().to_owned()).zip(values).collect()
}

/// Ranges with their counts: `[from, to, count]`.
fn histogram(histogram: &Histogram) -> Value {
    histogram.ranges().map(|(from, to, count)| json!([from, to, count])).collect()
}

fn frame_to_json(index: u64, offset: u64, kind: &FrameKind) -> Value {
    let mut value = json!({
        "event": "frame", "frame": index, "offset": offset, "format": kind_name(kind),
    });
    let more = match kind {
        FrameKind::Zstd(header) => json!({
            "header": header.header_bytes,
            "window": header.window_bytes,
            "single_segment": header.single_segment,
            "content": header.content_bytes,
            "content_checksum": header.checksum,
            "dictionary": header.dictionary,
        }),
        FrameKind::Lz4(header) => json!({
            "header": header.header_bytes,
            "block_max": header.block_bytes_max,
            "independent": header.independent,
            "block_checksums": header.block_checksums,
            "content": header.content_bytes,
            "content_checksum": header.content_checksum,
            "dictionary": header.dictionary,
        }),
        FrameKind::Skippable { variant, bytes } => json!({ "variant": variant, "bytes": bytes }),
        _ => json!({}),
    };
    merge(&mut value, more);
    value
}

pub(in super::super) fn merge(value: &mut Value, more: Value) {
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
}

fn block_to_json(index: u64, block: &Block) -> Value {
    let mut value = json!({
        "event": "block",
        "frame": index,
        "offset": block.offset,
        "stored": block.stored_bytes,
        "content": block.content_bytes,
        "good": block.checksum,
    });
    let more = match &block.data {
        BlockData::Raw => json!({ "type": "raw" }),
        BlockData::Run(byte) => json!({ "type": "run", "byte": byte }),
        BlockData::Zstd(data) => zstd_to_json(data),
        BlockData::Lz4(data) => lz4_to_json(data),
        _ => json!({}),
    };
    merge(&mut value, more);
    value
}

/// What an LZ4 block is made of.
pub(in super::super) fn lz4_to_json(block: &Lz4Block) -> Value {
    json!({
        "type": "compressed",
        "literal_bytes": block.literal_bytes,
        "match_bytes": block.match_bytes,
        "length_bytes": block.length_bytes,
        "offset_bytes": block.offset_bytes(),
        "sequences": sequences(&block.each),
    })
}

fn zstd_to_json(block: &ZstdBlock) -> Value {
    let literals = &block.literals;
    let kind = match literals.kind {
        LiteralsKind::Raw => "raw",
        LiteralsKind::Run => "run",
        LiteralsKind::Huffman => "huffman",
        LiteralsKind::Treeless => "treeless",
        _ => "other",
    };
    let tree = literals.tree.map(
        |tree| json!({ "bytes": tree.bytes, "symbols": tree.symbols, "bits_max": tree.bits_max }),
    );
    let tables = block.sequences.tables.map(|tables| {
        by_field(tables.map(
            |table| json!({ "mode": table.mode.name(), "bytes": table.bytes, "log": table.log }),
        ))
    });
    let inside = block.inside.as_ref();
    json!({
        "type": "compressed",
        "literals": {
            "kind": kind,
            "streams": literals.streams,
            "header": literals.header_bytes,
            "stored": literals.stored_bytes,
            "content": literals.content_bytes,
            "tree": tree,
        },
        "sequence_count": block.sequences.count,
        "tables": tables,
        "sequence_stream": block.sequences.stream_bytes,
        "sequences": inside.map(|inside| sequences(&inside.sequences)),
    })
}

/// `[literals, length, offset]` each.
fn sequences(sequences: &[Sequence]) -> Value {
    sequences
        .iter()
        .map(|sequence| json!([sequence.literals, sequence.length, sequence.offset]))
        .collect()
}
