//! Streams of ClickHouse's blocks: what `clickhouse-compressor` writes and reads. Described in `docs/format/block.md`.

use super::ends::{Source, Target};
use super::pipeline::{Budget, Next, Stages, run};
use super::{CompressOptions, DecompressOptions, FrameError, Tally};
use crate::CodecError;
use crate::block::{Block, Decoder, Encoder, HASH_BYTES, HEADER_BYTES, Header, SIZE_MAX};
use crate::codec::Element;
use crate::spec::CodecSpec;

const PREFIX_BYTES: usize = HASH_BYTES + HEADER_BYTES;
/// Bytes of a block without an argument, as ClickHouse does it.
const BLOCK_BYTES_DEFAULT: usize = 1 << 20;

/// A block on its way, in either direction.
#[derive(Default)]
struct Job {
    /// Where it starts in the input.
    offset: u64,
    source: Vec<u8>,
    target: Vec<u8>,
    /// Memory that it took from the budget.
    cost: u64,
    error: Option<CodecError>,
}

/// What both directions keep.
struct Side<'a, 'io> {
    source: &'a mut Source<'io>,
    target: &'a mut Target<'io>,
    budget: Budget,
    /// Memory of finished jobs.
    spare: Vec<Job>,
    blocks: u64,
}

impl<'a, 'io> Side<'a, 'io> {
    fn new(source: &'a mut Source<'io>, target: &'a mut Target<'io>, memory: u64) -> Self {
        Self { source, target, budget: Budget::new(memory), spare: Vec::new(), blocks: 0 }
    }

    fn fresh(&mut self, offset: u64, cost: u64) -> Job {
        let mut job = self.spare.pop().unwrap_or_default();
        job.source.clear();
        job.target.clear();
        (job.offset, job.cost) = (offset, cost);
        job
    }

    fn finish(&mut self, mut job: Job) -> Result<(), FrameError> {
        if let Some(cause) = job.error.take() {
            return Err(FrameError::Block { offset: job.offset, cause });
        }
        self.target.write(&job.target)?;
        self.blocks += 1;
        self.budget.give_back(job.cost);
        // Blocks may differ much in size; memory is kept only as far as the budget counted it.
        if job.source.capacity() as u64 + job.target.capacity() as u64 <= SPARE_BYTES_MAX {
            self.spare.push(job);
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { frames: 0, blocks: self.blocks }
    }
}

/// Largest memory of a job that is kept for the next one.
const SPARE_BYTES_MAX: u64 = 8 << 20;

/// Compresses everything into blocks.
pub(super) fn compress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &CompressOptions,
) -> Result<Tally, FrameError> {
    let block_bytes = options.block_bytes.unwrap_or(BLOCK_BYTES_DEFAULT);
    if !(1..=SIZE_MAX as usize).contains(&block_bytes) {
        return Err(FrameError::options(format!("blocks cannot have {block_bytes} bytes")));
    }
    let codec = &options.codec;
    // Tells of a wrong codec even if there is nothing to compress.
    Encoder::new(codec, Element::BYTES).map_err(FrameError::Codec)?;
    let side = Side::new(source, target, options.memory_bytes_max);
    let mut writer = Writer { side, block_bytes };
    run(&mut writer, options.threads, || {
        let mut encoder = None;
        move |job: &mut Job| job.error = encode(&mut encoder, codec, job).err()
    })?;
    Ok(writer.side.tally())
}

fn encode(state: &mut Option<Encoder>, codec: &CodecSpec, job: &mut Job) -> Result<(), CodecError> {
    let encoder = match state {
        Some(encoder) => encoder,
        None => state.insert(Encoder::new(codec, Element::BYTES)?),
    };
    encoder.encode(&job.source, &mut job.target)
}

struct Writer<'a, 'io> {
    side: Side<'a, 'io>,
    block_bytes: usize,
}

impl Stages for Writer<'_, '_> {
    type Job = Job;

    fn next(&mut self) -> Result<Next<Job>, FrameError> {
        let side = &mut self.side;
        // Codecs may make a block a little larger than its content.
        let need = 2 * self.block_bytes as u64 + self.block_bytes as u64 / 128 + 1024;
        let offset = side.source.offset();
        if !side.budget.take("block", offset, need)? {
            return Ok(Next::Wait);
        }
        let mut job = side.fresh(offset, need);
        job.source.resize(self.block_bytes, 0);
        let filled = side.source.fill(&mut job.source)?;
        job.source.truncate(filled);
        Ok(if filled == 0 { Next::End } else { Next::Job(job) })
    }

    fn finish(&mut self, job: Job) -> Result<(), FrameError> {
        self.side.finish(job)
    }
}

/// Decompresses all blocks up to the end of the input.
pub(super) fn decompress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &DecompressOptions,
) -> Result<Tally, FrameError> {
    let side = Side::new(source, target, options.memory_bytes_max);
    let mut reader = Reader { side, held: None };
    run(&mut reader, options.threads, || {
        let mut decoder = Decoder::new();
        move |job: &mut Job| job.error = decode(&mut decoder, job).err()
    })?;
    Ok(reader.side.tally())
}

fn decode(decoder: &mut Decoder, job: &mut Job) -> Result<(), CodecError> {
    decoder.decode_append(&Block::parse(&job.source)?, &mut job.target)
}

struct Reader<'a, 'io> {
    side: Side<'a, 'io>,
    /// The start of a block that waits for memory.
    held: Option<Prefix>,
}

/// What was read of a block before its payload.
#[derive(Clone, Copy)]
struct Prefix {
    offset: u64,
    bytes: [u8; PREFIX_BYTES],
    header: Header,
}

impl Reader<'_, '_> {
    /// The start of the next block.
    fn prefix(&mut self) -> Result<Option<Prefix>, FrameError> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        let source = &mut *self.side.source;
        let offset = source.offset();
        let mut bytes = [0; PREFIX_BYTES];
        match source.fill(&mut bytes)? {
            0 => return Ok(None),
            PREFIX_BYTES => {}
            _ => return Err(source.truncated("block", offset)),
        }
        let header = Header::parse(&bytes);
        let header = header.map_err(|cause| FrameError::Block { offset, cause })?;
        Ok(Some(Prefix { offset, bytes, header }))
    }
}

impl Stages for Reader<'_, '_> {
    type Job = Job;

    fn next(&mut self) -> Result<Next<Job>, FrameError> {
        let Some(prefix) = self.prefix()? else { return Ok(Next::End) };
        let Prefix { offset, bytes, header } = prefix;
        let need = header.block_bytes() as u64 + u64::from(header.uncompressed_size);
        let side = &mut self.side;
        if !side.budget.take("block", offset, need)? {
            self.held = Some(prefix);
            return Ok(Next::Wait);
        }
        let mut job = side.fresh(offset, need);
        job.source.extend_from_slice(&bytes);
        let rest = header.block_bytes() - PREFIX_BYTES;
        side.source.append(rest, &mut job.source, "block", offset)?;
        Ok(Next::Job(job))
    }

    fn finish(&mut self, job: Job) -> Result<(), FrameError> {
        self.side.finish(job)
    }
}
