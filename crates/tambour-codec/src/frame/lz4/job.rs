//! What the threads of a reader pass on: blocks, and the marks between them.

use super::block::{Decoder, room};
use super::descriptor::Descriptor;
use super::{WINDOW_BYTES, hash};
use crate::frame::FrameError;

/// One step of a stream.
pub(super) struct Job {
    /// Offset of the block, or of the frame that begins or ends.
    pub(super) offset: u64,
    pub(super) step: Step,
}

/// What the step is.
pub(super) enum Step {
    /// A frame begins.
    Start(Descriptor),
    /// A legacy frame begins.
    StartLegacy,
    /// A block.
    Block(Stored),
    /// The frame ends.
    End {
        /// Checksum of its content.
        checksum: Option<u32>,
    },
}

/// How the data of a block is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// As it is.
    #[default]
    Plain,
    /// Compressed; matches reach back into the dictionary at most.
    Independent,
    /// Compressed; matches reach back into earlier blocks.
    Linked,
    /// Compressed, in a legacy frame: no dictionary.
    Legacy,
}

/// A block as stored in a frame and, after [`Stored::work`], its content.
#[derive(Default)]
pub(super) struct Stored {
    /// What is stored.
    pub(super) data: Vec<u8>,
    pub(super) form: Form,
    /// The checksum of the data, if the frame has such.
    pub(super) checksum: Option<u32>,
    /// Most bytes of content.
    pub(super) content_max: usize,
    /// Memory that the job took from the budget.
    pub(super) cost: u64,
    /// What is wrong.
    pub(super) error: Option<FrameError>,
    /// The dictionary, then the content.
    buffer: Vec<u8>,
    /// Where the content starts and ends in the buffer.
    start: usize,
    end: usize,
}

impl Stored {
    /// The content, but for linked blocks.
    pub(super) fn content(&self) -> &[u8] {
        if self.form == Form::Plain { &self.data } else { &self.buffer[self.start..self.end] }
    }

    /// Checks the checksum and decodes the block, unless it is linked. `past` is the dictionary.
    pub(super) fn work(&mut self, decoder: &mut Decoder, offset: u64, past: &[u8]) {
        self.error = self.check(offset).and_then(|()| self.decode(decoder, offset, past)).err();
    }

    fn check(&self, offset: u64) -> Result<(), FrameError> {
        let Some(expected) = self.checksum else { return Ok(()) };
        let got = hash(&self.data);
        if expected == got {
            return Ok(());
        }
        Err(FrameError::Checksum { what: "block checksum", offset, expected, got })
    }

    fn decode(
        &mut self,
        decoder: &mut Decoder,
        offset: u64,
        past: &[u8],
    ) -> Result<(), FrameError> {
        let past = match self.form {
            Form::Plain | Form::Linked => return Ok(()),
            Form::Independent => past,
            Form::Legacy => &[],
        };
        self.start = past.len();
        let end = self.start + room(self.data.len(), self.content_max);
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.buffer[..self.start].copy_from_slice(past);
        let length = decoder
            .decode(&self.data, &mut self.buffer[..end], self.start)
            .map_err(|cause| FrameError::Block { offset, cause })?;
        self.end = self.start + length;
        Ok(())
    }
}

/// The end of the content so far, and room for the next linked block after it.
pub(super) struct Window {
    buffer: Vec<u8>,
    /// Bytes that matches can reach.
    past: usize,
    /// Bytes of the block after them.
    length: usize,
    /// Most bytes of a block.
    content_max: usize,
    decoder: Decoder,
}

impl Window {
    /// A window that begins with a dictionary.
    pub(super) fn new(dictionary: &[u8], content_max: usize) -> Self {
        let (buffer, past) = (dictionary.to_vec(), dictionary.len());
        Self { buffer, past, length: 0, content_max, decoder: Decoder::default() }
    }

    /// The content of the next block.
    pub(super) fn decode(&mut self, offset: u64, block: &Stored) -> Result<&[u8], FrameError> {
        self.slide();
        let room = match block.form {
            Form::Plain => block.data.len(),
            _ => room(block.data.len(), self.content_max),
        };
        let end = self.past + room;
        if self.buffer.len() < end {
            self.buffer.resize(end, 0);
        }
        self.length = if block.form == Form::Plain {
            self.buffer[self.past..end].copy_from_slice(&block.data);
            room
        } else {
            self.decoder
                .decode(&block.data, &mut self.buffer[..end], self.past)
                .map_err(|cause| FrameError::Block { offset, cause })?
        };
        Ok(&self.buffer[self.past..self.past + self.length])
    }

    /// Moves what matches can still reach to the front.
    fn slide(&mut self) {
        let end = self.past + self.length;
        let keep = end.min(WINDOW_BYTES);
        self.buffer.copy_within(end - keep..end, 0);
        (self.past, self.length) = (keep, 0);
    }
}
