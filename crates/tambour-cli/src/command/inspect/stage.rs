//! What is inside of a block, codec by codec: as text, and as programs read it.

use super::frames::{json as frames_json, text as frames_text};
use crate::output::quantity;
use serde_json::{Value, json};
use std::io::{self, Write};
use tambour::codec::CodecError;
use tambour::codec::codec::{Fact, Inside, Values, method_name};
use tambour::codec::frame::look::{Event, FrameKind, Stage, Stages, ZstdPayload};

/// Width of the text.
const COLUMNS: usize = 79;

/// Tells what is inside of a block, and what is wrong with it.
pub(super) fn write(
    stages: &Stages,
    fault: Option<&CodecError>,
    target: &mut dyn Write,
) -> io::Result<()> {
    if stages.chain_bytes > 0 {
        writeln!(target, "  chain: {} bytes of list and inner header", stages.chain_bytes)?;
    }
    for stage in &stages.stages {
        let (stored, content) = (stage.stored_bytes as u64, stage.content_bytes as u64);
        writeln!(
            target,
            "  {}: {} bytes -> {}",
            method_name(stage.method),
            quantity::grouped(stored),
            quantity::grouped(content)
        )?;
        match &stage.inside {
            Inside::Plain => writeln!(target, "    the data as it is")?,
            Inside::Lz4(block) => frames_text::write_lz4(block, target)?,
            Inside::Zstd(frame) => write_zstd(frame, target)?,
            Inside::Values(values) => write_values(values, target)?,
            _ => writeln!(target, "    not explained here")?,
        }
    }
    match fault {
        Some(fault) => wrap(&format!("damage: {fault}"), " ", "  ", target),
        None => Ok(()),
    }
}

fn write_zstd(frame: &ZstdPayload, target: &mut dyn Write) -> io::Result<()> {
    for event in &frame.events {
        match event {
            Event::Frame(frame) => {
                if let FrameKind::Zstd(header) = &frame.kind {
                    let window = quantity::grouped(header.window_bytes);
                    let size = if header.content_bytes.is_some() { "" } else { "not " };
                    let bytes = header.header_bytes;
                    let line = format!("header of {bytes} bytes, window {window}");
                    writeln!(target, "    {line}, content size {size}stated")?;
                }
            }
            Event::Block(block) => {
                let mut text = Vec::new();
                frames_text::write_block(block, &mut text)?;
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    target.write_all(b"  ")?;
                    target.write_all(line)?;
                }
            }
            _ => {}
        }
    }
    match frame.blocks_more {
        0 => Ok(()),
        more => writeln!(target, "    and {} more blocks", quantity::grouped(more)),
    }
}

fn write_values(values: &Values, target: &mut dyn Write) -> io::Result<()> {
    let count = quantity::counted(values.count as u64, "value", "values");
    let width = quantity::counted(values.width as u64, "byte", "bytes");
    writeln!(target, "    {count} of {width}")?;
    let mut bytes = format!(
        "bytes: {} of header, {} of values",
        quantity::grouped(values.header_bytes as u64),
        quantity::grouped(values.value_bytes as u64)
    );
    if values.exception_bytes > 0 {
        bytes += &format!(", {} of exceptions", quantity::grouped(values.exception_bytes as u64));
    }
    writeln!(target, "    {bytes}")?;
    let facts: Vec<String> = values
        .facts
        .iter()
        // Rows are for programs.
        .filter(|(_, fact)| !matches!(fact, Fact::Rows(_)))
        .map(|(name, fact)| format!("{name} {fact}"))
        .collect();
    if facts.is_empty() { Ok(()) } else { wrap(&facts.join(", "), ", ", "    ", target) }
}

/// Writes a text, in lines that are not too long where it can be parted.
fn wrap(text: &str, between: &str, indent: &str, target: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for piece in text.split_inclusive(between) {
        let length = indent.len() + line.chars().count() + piece.trim_end().chars().count();
        if !line.is_empty() && length > COLUMNS {
            writeln!(target, "{indent}{}", line.trim_end())?;
            line.clear();
        }
        line += piece;
    }
    writeln!(target, "{indent}{}", line.trim_end())
}

/// The codecs of a block, the one that was applied last first.
pub(super) fn to_json(stages: &Stages) -> Value {
    stages.stages.iter().map(stage_to_json).collect()
}

fn stage_to_json(stage: &Stage) -> Value {
    let mut value = json!({
        "codec": method_name(stage.method),
        "method": stage.method,
        "stored": stage.stored_bytes,
        "content": stage.content_bytes,
    });
    let more = match &stage.inside {
        Inside::Plain => json!({ "type": "raw" }),
        Inside::Lz4(block) => frames_json::lz4_to_json(block),
        Inside::Zstd(frame) => {
            let events = frame.events.iter();
            let events: Vec<Value> =
                events.filter_map(|event| frames_json::event_to_json(0, event)).collect();
            json!({ "type": "frame", "events": events, "blocks_more": frame.blocks_more })
        }
        Inside::Values(values) => values_to_json(values),
        _ => json!({ "type": "unknown" }),
    };
    frames_json::merge(&mut value, more);
    value
}

fn values_to_json(values: &Values) -> Value {
    let fact = |(name, fact): &(&'static str, Fact)| {
        let value = match fact {
            Fact::Unsigned(number) => json!(number),
            Fact::Signed(number) => json!(number),
            Fact::Float(number) => json!(number),
            Fact::Word(word) => json!(word),
            Fact::Rows(rows) => json!(rows),
            _ => Value::Null,
        };
        (name.replace(' ', "_"), value)
    };
    let facts: serde_json::Map<String, Value> = values.facts.iter().map(fact).collect();
    json!({
        "type": "values",
        "width": values.width,
        "count": values.count,
        "header": values.header_bytes,
        "values": values.value_bytes,
        "exceptions": values.exception_bytes,
        "says": facts,
    })
}
