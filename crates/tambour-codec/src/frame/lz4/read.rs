//! Reading frames: LZ4, legacy and skippable ones, as many as there are.
//!
//! Blocks of independent frames are decoded on several threads. A linked block needs what comes before it, so that such
//! frames are decoded on the thread that writes; the checksums of their blocks are still computed by the others.

use super::block::Decoder;
use super::descriptor::Descriptor;
use super::job::{Form, Job, Step, Stored, Window};
use super::{
    ContentHash, Dictionary, LEGACY_MAGIC, MAGIC, STORED, WINDOW_BYTES, is_skippable, skip,
};
use crate::frame::ends::{Source, Target};
use crate::frame::pipeline::{Budget, Next, Stages, run};
use crate::frame::{DecompressOptions, FrameError, Tally};
use tambour_kernel::lz4;

/// Every block of a legacy frame but the last holds this many bytes.
pub(in crate::frame) const LEGACY_BLOCK_BYTES: usize = 8 << 20;

/// Decompresses all frames up to the end of the input.
pub(in crate::frame) fn decompress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &DecompressOptions,
) -> Result<Tally, FrameError> {
    let dictionary = options.dictionary.as_ref();
    let past = dictionary.map(Dictionary::window).unwrap_or_default();
    let mut reader = Reader {
        source,
        target,
        dictionary,
        part: Part::Between,
        frame: Frame::default(),
        budget: Budget::new(options.memory_bytes_max),
        spare: Vec::new(),
        tally: Tally::default(),
    };
    run(&mut reader, options.threads, || {
        let mut decoder = Decoder::default();
        move |job: &mut Job| {
            if let Step::Block(block) = &mut job.step {
                block.work(&mut decoder, job.offset, past);
            }
        }
    })?;
    let tally = reader.tally;
    if tally.frames == 0 {
        return Err(reader.source.truncated("magic number", 0));
    }
    Ok(tally)
}

struct Reader<'a, 'io> {
    source: &'a mut Source<'io>,
    target: &'a mut Target<'io>,
    dictionary: Option<&'a Dictionary>,
    /// Where reading is.
    part: Part,
    /// The frame that is being written, some blocks behind.
    frame: Frame,
    budget: Budget,
    /// Memory of finished blocks.
    spare: Vec<Stored>,
    tally: Tally,
}

/// What comes next in the input.
#[derive(Clone, Copy)]
enum Part {
    /// A magic number, or the end.
    Between,
    /// A block, or the end mark.
    Blocks {
        /// Offset of the frame.
        start: u64,
        descriptor: Descriptor,
    },
    /// A block of a legacy frame, or whatever follows that.
    Legacy,
}

/// What is known of the frame that is being written.
struct Frame {
    start: u64,
    content_size: Option<u64>,
    content: u64,
    hash: ContentHash,
    /// What linked blocks reach back to; `None` if blocks are independent.
    window: Option<Window>,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            start: 0,
            content_size: None,
            content: 0,
            hash: ContentHash::new(false),
            window: None,
        }
    }
}

impl Frame {
    fn new(start: u64, descriptor: &Descriptor, past: &[u8]) -> Self {
        let hash = ContentHash::new(descriptor.content_checksum);
        let size = descriptor.block_bytes.bytes();
        let window = (!descriptor.independent).then(|| Window::new(past, size));
        Self { start, content_size: descriptor.content_size, content: 0, hash, window }
    }

    /// Takes note of content before it is written.
    fn pass(&mut self, content: &[u8]) -> Result<(), FrameError> {
        self.content += content.len() as u64;
        self.hash.update(content);
        match self.content_size {
            Some(expected) if self.content > expected => self.wrong_size(expected),
            _ => Ok(()),
        }
    }

    fn wrong_size(&self, expected: u64) -> Result<(), FrameError> {
        Err(FrameError::ContentSize { offset: self.start, expected, got: self.content })
    }

    /// Checks the whole.
    fn end(&self, checksum: Option<u32>) -> Result<(), FrameError> {
        if let Some(expected) = self.content_size.filter(|size| *size != self.content) {
            return self.wrong_size(expected);
        }
        match (checksum, self.hash.finish()) {
            (Some(expected), Some(got)) if expected != got => Err(FrameError::Checksum {
                what: "content checksum",
                offset: self.start,
                expected,
                got,
            }),
            _ => Ok(()),
        }
    }
}

impl Reader<'_, '_> {
    /// Reads a magic number and what belongs to it.
    fn between(&mut self) -> Result<Next<Job>, FrameError> {
        loop {
            let start = self.source.offset();
            let Some(magic) = self.source.magic()? else { return Ok(Next::End) };
            self.tally.frames += 1;
            if magic == MAGIC {
                let descriptor = Descriptor::read(self.source, start)?;
                self.check_dictionary(start, descriptor.dictionary)?;
                self.part = Part::Blocks { start, descriptor };
                return Ok(Next::Ready(Job { offset: start, step: Step::Start(descriptor) }));
            } else if magic == LEGACY_MAGIC {
                self.part = Part::Legacy;
                return Ok(Next::Ready(Job { offset: start, step: Step::StartLegacy }));
            } else if is_skippable(magic) {
                skip(self.source, start)?;
            } else {
                return Err(FrameError::Magic { offset: start, got: magic });
            }
        }
    }

    /// A frame that names a dictionary gets this one or none.
    fn check_dictionary(&self, offset: u64, id: Option<u32>) -> Result<(), FrameError> {
        let Some(id) = id else { return Ok(()) };
        match self.dictionary {
            Some(dictionary) if dictionary.id.is_none_or(|ours| ours == id) => Ok(()),
            _ => Err(FrameError::Dictionary { offset, id }),
        }
    }

    /// Reads a block or the end of the frame.
    fn block(&mut self, start: u64, descriptor: Descriptor) -> Result<Next<Job>, FrameError> {
        let max = descriptor.block_bytes.bytes();
        let offset = self.source.offset();
        let cost = (2 * max + 2 * WINDOW_BYTES) as u64;
        if !self.budget.take("block", offset, cost)? {
            return Ok(Next::Wait);
        }
        let field = u32::from_le_bytes(self.source.array("frame", start)?);
        if field == 0 {
            self.budget.give_back(cost);
            return self.end(start, &descriptor);
        }
        let size = (field & !STORED) as usize;
        if size > max {
            let (got, max) = (size as u64, max as u64);
            return Err(FrameError::Size { what: "block size", offset, got, max });
        }
        let mut block = self.fresh(size, offset)?;
        block.form = match (field & STORED != 0, descriptor.independent) {
            (true, _) => Form::Plain,
            (false, true) => Form::Independent,
            (false, false) => Form::Linked,
        };
        block.content_max = max;
        block.cost = cost;
        if descriptor.block_checksums {
            block.checksum = Some(u32::from_le_bytes(self.source.array("block", offset)?));
        }
        // Linked blocks and plain ones need no worker, but for their checksums.
        let idle = block.checksum.is_none() && block.form != Form::Independent;
        let job = Job { offset, step: Step::Block(block) };
        Ok(if idle { Next::Ready(job) } else { Next::Job(job) })
    }

    fn end(&mut self, start: u64, descriptor: &Descriptor) -> Result<Next<Job>, FrameError> {
        let mut checksum = None;
        if descriptor.content_checksum {
            checksum = Some(u32::from_le_bytes(self.source.array("frame", start)?));
        }
        self.part = Part::Between;
        Ok(Next::Ready(Job { offset: start, step: Step::End { checksum } }))
    }

    /// Reads a block of a legacy frame, which ends where no size of a block follows.
    fn legacy_block(&mut self) -> Result<Next<Job>, FrameError> {
        let max = lz4::bound(LEGACY_BLOCK_BYTES);
        let offset = self.source.offset();
        let cost = (LEGACY_BLOCK_BYTES + max) as u64;
        if !self.budget.take("legacy block", offset, cost)? {
            return Ok(Next::Wait);
        }
        let field = self.source.magic()?;
        let size = field.map_or(usize::MAX, |field| field as usize);
        if size > max {
            if let Some(magic) = field {
                self.source.give_back(magic);
            }
            self.budget.give_back(cost);
            self.part = Part::Between;
            return Ok(Next::Ready(Job { offset, step: Step::End { checksum: None } }));
        }
        let mut block = self.fresh(size, offset)?;
        block.form = Form::Legacy;
        block.content_max = LEGACY_BLOCK_BYTES;
        block.cost = cost;
        Ok(Next::Job(Job { offset, step: Step::Block(block) }))
    }

    /// A block with its data read.
    fn fresh(&mut self, size: usize, offset: u64) -> Result<Stored, FrameError> {
        let mut block = self.spare.pop().unwrap_or_default();
        block.data.clear();
        block.checksum = None;
        self.source.append(size, &mut block.data, "block", offset)?;
        Ok(block)
    }

    fn finish_block(&mut self, offset: u64, mut block: Stored) -> Result<(), FrameError> {
        if let Some(error) = block.error.take() {
            return Err(error);
        }
        // Out of the frame while its content is looked at.
        let mut window = self.frame.window.take();
        let content = match &mut window {
            Some(window) => window.decode(offset, &block)?,
            None => block.content(),
        };
        self.frame.pass(content)?;
        self.target.write(content)?;
        self.frame.window = window;
        self.tally.blocks += 1;
        self.budget.give_back(block.cost);
        self.spare.push(block);
        Ok(())
    }
}

impl Stages for Reader<'_, '_> {
    type Job = Job;

    fn next(&mut self) -> Result<Next<Job>, FrameError> {
        match self.part {
            Part::Between => self.between(),
            Part::Blocks { start, descriptor } => self.block(start, descriptor),
            Part::Legacy => self.legacy_block(),
        }
    }

    fn finish(&mut self, job: Job) -> Result<(), FrameError> {
        let Job { offset, step } = job;
        match step {
            Step::Start(descriptor) => {
                let past = self.dictionary.map(Dictionary::window).unwrap_or_default();
                self.frame = Frame::new(offset, &descriptor, past);
                Ok(())
            }
            Step::StartLegacy => {
                self.frame = Frame { start: offset, ..Frame::default() };
                Ok(())
            }
            Step::Block(block) => self.finish_block(offset, block),
            Step::End { checksum } => self.frame.end(checksum),
        }
    }
}
