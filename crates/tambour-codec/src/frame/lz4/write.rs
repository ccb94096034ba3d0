//! Writing one frame. Blocks are compressed on several threads, linked ones as well: what comes before a block is known when
//! it is read.

use super::block::{Encoder, level};
use super::descriptor::{BlockBytes, Descriptor};
use super::{ContentHash, Dictionary, STORED, WINDOW_BYTES, hash};
use crate::frame::ends::{Source, Target};
use crate::frame::pipeline::{Budget, Next, Stages, run};
use crate::frame::{CompressOptions, FrameError, Tally};
use crate::{CodecError, Kind};

/// Compresses everything into one frame.
pub(in crate::frame) fn compress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &CompressOptions,
) -> Result<Tally, FrameError> {
    let block_bytes = match options.block_bytes {
        None => options.content_size.map_or(BlockBytes::MAX, BlockBytes::holding),
        Some(bytes) => BlockBytes::exactly(bytes).ok_or_else(|| {
            FrameError::options(format!(
                "LZ4 frames have blocks of 64 KiB, 256 KiB, 1 MiB or 4 MiB, not of {bytes} bytes"
            ))
        })?,
    };
    let level = level(options.level)?;
    let dictionary = options.dictionary.as_ref();
    let descriptor = Descriptor {
        independent: !options.lz4.linked,
        block_checksums: options.lz4.block_checksums,
        content_checksum: options.lz4.content_checksum,
        content_size: options.content_size,
        dictionary: dictionary.and_then(|dictionary| dictionary.id),
        block_bytes,
    };
    target.write(&descriptor.to_bytes())?;
    let mut writer = Writer {
        source,
        target,
        descriptor,
        past: dictionary.map(Dictionary::window).unwrap_or_default().to_vec(),
        hash: ContentHash::new(descriptor.content_checksum),
        budget: Budget::new(options.memory_bytes_max),
        spare: Vec::new(),
        content: 0,
        blocks: 0,
    };
    let block_checksums = descriptor.block_checksums;
    run(&mut writer, options.threads, || {
        let mut encoder = Encoder::new(level);
        move |job| job.encode(&mut encoder, block_checksums)
    })?;
    writer.end()
}

struct Writer<'a, 'io> {
    source: &'a mut Source<'io>,
    target: &'a mut Target<'io>,
    descriptor: Descriptor,
    /// What the next block's matches may reach: the dictionary, or the end of the content so far.
    past: Vec<u8>,
    hash: ContentHash,
    budget: Budget,
    /// Memory of finished jobs.
    spare: Vec<Job>,
    content: u64,
    blocks: u64,
}

/// One block.
#[derive(Default)]
struct Job {
    /// Where its content starts in the input.
    offset: u64,
    /// What comes before the block, and the block.
    buffer: Vec<u8>,
    /// Where the block starts in it.
    start: usize,
    /// The compressed block.
    block: Vec<u8>,
    /// The block is larger than its content, which is stored instead.
    stored: bool,
    checksum: Option<u32>,
    result: Option<CodecError>,
}

impl Job {
    fn content(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// What is written after the size.
    fn data(&self) -> &[u8] {
        if self.stored { self.content() } else { &self.block }
    }

    fn encode(&mut self, encoder: &mut Encoder, checksum: bool) {
        self.result = encoder.encode(&self.buffer, self.start, &mut self.block).err();
        self.stored = self.block.len() >= self.content().len();
        self.checksum = checksum.then(|| hash(self.data()));
    }
}

impl Writer<'_, '_> {
    /// Memory of a job: the block, what comes before it, and the bound of its compressed form.
    fn need(&self) -> u64 {
        (2 * self.descriptor.block_bytes.bytes() + 2 * WINDOW_BYTES) as u64
    }

    /// Puts what the next block's matches may reach in front of it.
    fn advance(&mut self, job: &Job) {
        if !self.descriptor.independent {
            let from = job.buffer.len().saturating_sub(WINDOW_BYTES);
            self.past.clear();
            self.past.extend_from_slice(&job.buffer[from..]);
        }
    }

    /// Ends the frame.
    fn end(self) -> Result<Tally, FrameError> {
        if let Some(expected) = self.descriptor.content_size.filter(|size| *size != self.content) {
            let reason = format!(
                "the input has {} bytes instead of {expected}: did it change?",
                self.content
            );
            return Err(FrameError::Options { reason, kind: Kind::Conflict });
        }
        self.target.write(&0_u32.to_le_bytes())?;
        if let Some(hash) = self.hash.finish() {
            self.target.write(&hash.to_le_bytes())?;
        }
        Ok(Tally { frames: 1, blocks: self.blocks })
    }
}

impl Stages for Writer<'_, '_> {
    type Job = Job;

    fn next(&mut self) -> Result<Next<Job>, FrameError> {
        let offset = self.source.offset();
        if !self.budget.take("block", offset, self.need())? {
            return Ok(Next::Wait);
        }
        let mut job = self.spare.pop().unwrap_or_default();
        job.offset = offset;
        job.buffer.clear();
        job.buffer.extend_from_slice(&self.past);
        job.start = self.past.len();
        job.buffer.resize(job.start + self.descriptor.block_bytes.bytes(), 0);
        let filled = self.source.fill(&mut job.buffer[job.start..])?;
        if filled == 0 {
            return Ok(Next::End);
        }
        job.buffer.truncate(job.start + filled);
        self.content += filled as u64;
        self.hash.update(job.content());
        self.advance(&job);
        Ok(Next::Job(job))
    }

    fn finish(&mut self, mut job: Job) -> Result<(), FrameError> {
        if let Some(cause) = job.result.take() {
            return Err(FrameError::Block { offset: job.offset, cause });
        }
        let data = job.data();
        // A block has at most 4 MiB.
        let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let flag = if job.stored { STORED } else { 0 };
        self.target.write(&(size | flag).to_le_bytes())?;
        self.target.write(data)?;
        if let Some(checksum) = job.checksum {
            self.target.write(&checksum.to_le_bytes())?;
        }
        self.blocks += 1;
        self.budget.give_back(self.need());
        self.spare.push(job);
        Ok(())
    }
}
