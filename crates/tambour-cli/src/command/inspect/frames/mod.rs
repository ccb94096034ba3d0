//! A file of LZ4 and zstd frames: what each byte is for, and on request every block with its sequences.

pub(super) mod json;
pub(super) mod text;

use super::learning::Learning;
use crate::cli::InspectArguments;
use crate::command::dictionary;
use crate::output::stdout;
use anyhow::Context;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, Write};
use tambour::Kind;
use tambour::codec::frame::FrameError;
use tambour::codec::frame::look::{
    BlockData, Event, Frame, FrameKind, Look, LookOptions, Tally, ZstdDictionary,
};

/// Frames that are listed, unless all blocks were asked for.
const FRAMES_MAX: usize = 50;

/// A frame with what its end tells.
#[derive(Debug)]
struct Seen {
    frame: Frame,
    end: Option<u64>,
    blocks: u64,
    content: Option<u64>,
    checksum: Option<u32>,
}

/// What comes of a walk. Blocks are told as they come; this is what is left of them.
#[derive(Debug, Default)]
struct Summary {
    length: u64,
    /// The first frames.
    frames: Vec<Seen>,
    tally: Tally,
    /// Content of all frames, as far as it is known.
    content: Option<u64>,
    learning: Option<Learning>,
    damage: Option<FrameError>,
}

/// Shows a file of frames.
pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    let path = arguments.path.as_path();
    let place = || path.display().to_string();
    let file = File::open(path).with_context(place)?;
    let length = file.metadata().with_context(place)?.len();
    let dictionary = arguments.dictionary.as_deref().map(dictionary::read).transpose()?;
    let dictionary = dictionary
        .map(|bytes| ZstdDictionary::read(&bytes))
        .transpose()
        .with_context(|| "the dictionary")?;
    let options = LookOptions {
        sequences: arguments.blocks || arguments.stats,
        literals: false,
        dictionary: dictionary.as_ref(),
    };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut look = Look::new(&mut reader, options);
    let mut summary = Summary { length, content: Some(0), ..Summary::default() };
    if arguments.stats {
        summary.learning = Some(Learning::new()?);
    }
    if arguments.json {
        let mut target = stdout::data();
        json::begin(path, length, &mut target)?;
        let mut first = true;
        summary.walk(&mut look, &mut |index, event| {
            json::event(index, event, arguments.blocks, &mut first, &mut target)
        })?;
        json::end(&summary, &mut target)?;
        target.flush()?;
    } else {
        let mut target = stdout::text();
        summary.walk(&mut look, &mut |index, event| {
            if arguments.blocks { text::event(index, event, &mut target) } else { Ok(()) }
        })?;
        text::summary(path, &summary, &mut target)?;
        target.flush()?;
    }
    summary.check().with_context(place)
}

impl Summary {
    /// Walks to the end, or to damage. `tell` gets every event with the number of its frame.
    fn walk(
        &mut self,
        look: &mut Look<'_>,
        tell: &mut dyn FnMut(u64, &Event) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut independent = false;
        while let Some(event) = look.next() {
            let event = match event {
                Ok(event) => event,
                Err(error) => {
                    self.damage = Some(error);
                    return Ok(());
                }
            };
            if let Event::Frame(frame) = &event {
                independent = match &frame.kind {
                    FrameKind::Lz4(header) => header.independent && header.dictionary.is_none(),
                    FrameKind::Legacy => true,
                    _ => false,
                };
            }
            if let (Event::Block(block), Some(learning)) = (&event, &mut self.learning)
                && let (true, BlockData::Lz4(data)) = (independent, &block.data)
            {
                learning.decode(look.stored(), data.content_bytes());
            }
            self.tally.add(&event);
            self.note(&event);
            tell(self.tally.frames.saturating_sub(1), &event)?;
        }
        Ok(())
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Frame(frame) if self.frames.len() < FRAMES_MAX => {
                let frame = frame.clone();
                self.frames.push(Seen {
                    frame,
                    end: None,
                    blocks: 0,
                    content: None,
                    checksum: None,
                });
            }
            Event::End(end) => {
                let declared = match self.frames.last() {
                    Some(Seen { frame, end: None, .. }) => declared(&frame.kind),
                    _ => None,
                };
                let content = end.content_bytes.or(declared);
                let sum = self.content.zip(content);
                self.content = sum.and_then(|(sum, own)| sum.checked_add(own));
                if let Some(seen) = self.frames.last_mut().filter(|seen| seen.end.is_none()) {
                    seen.end = Some(end.offset);
                    seen.blocks = end.blocks;
                    seen.content = content;
                    seen.checksum = end.checksum;
                }
            }
            _ => {}
        }
    }

    /// An error if anything was found to be wrong.
    fn check(self) -> anyhow::Result<()> {
        if let Some(error) = self.damage {
            return Err(error.into());
        }
        if self.tally.damaged > 0 {
            let reason = "checksums of blocks are wrong".to_owned();
            return Err(FrameError::Options { reason, kind: Kind::Corrupt }.into());
        }
        Ok(())
    }
}

/// The content that a frame's header states.
fn declared(kind: &FrameKind) -> Option<u64> {
    match kind {
        FrameKind::Zstd(header) => header.content_bytes,
        FrameKind::Lz4(header) => header.content_bytes,
        _ => None,
    }
}

fn kind_name(kind: &FrameKind) -> &'static str {
    match kind {
        FrameKind::Zstd(_) => "zstd",
        FrameKind::Lz4(_) => "lz4",
        FrameKind::Legacy => "lz4 legacy",
        FrameKind::Skippable { .. } => "skippable",
        _ => "other",
    }
}

/// What a selector learned, as JSON.
fn learned_to_json(summary: &Summary) -> serde_json::Value {
    summary.learning.as_ref().map_or(json!(null), Learning::to_json)
}
