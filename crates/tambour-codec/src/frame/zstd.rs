//! zstd frames, by libzstd's streaming calls.
//!
//! Without a block size the input becomes one frame. With one it becomes frames of this many bytes each, which several threads
//! compress: other bytes, the same for every number of threads. libzstd's own threads are not used: their output differs
//! from that of one thread.

use super::ends::{Source, Target};
use super::pipeline::{Budget, Next, Stages, run};
use super::{CompressOptions, DecompressOptions, Dictionary, FrameError, Tally};
use crate::{CodecError, Kind};
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer};

/// First four bytes of a frame.
pub(super) const MAGIC: u32 = 0xfd2f_b528;
/// Level without an argument, that of the `zstd` program.
const LEVEL_DEFAULT: i32 = 3;
const LEVEL_MAX: i32 = 22;
/// Largest frame that is made of a block.
const BLOCK_BYTES_MAX: usize = 1 << 30;
/// Logarithm of the largest window that is decoded; what the `zstd` program accepts without being asked for more.
const WINDOW_LOG_MAX: u32 = 27;
const WINDOW_LOG_MIN: u32 = 10;

fn refused(code: ErrorCode, offset: u64, kind: Kind) -> FrameError {
    let reason = zstd_safe::get_error_name(code);
    // libzstd has a limit of its own on the window: ours.
    let kind = match reason {
        _ if reason.contains("too much memory") => Kind::Limit,
        // The frame names another one, or there is none.
        _ if reason.contains("Dictionary mismatch") => Kind::NotFound,
        _ => kind,
    };
    FrameError::Zstd { offset, cause: CodecError::Zstd { reason, kind } }
}

fn no_memory(offset: u64) -> FrameError {
    let cause = CodecError::Zstd { reason: "no memory for a context", kind: Kind::Limit };
    FrameError::Zstd { offset, cause }
}

/// Compresses everything.
pub(super) fn compress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &CompressOptions,
) -> Result<Tally, FrameError> {
    let level = options.level.unwrap_or(LEVEL_DEFAULT);
    if !(zstd_safe::min_c_level()..=LEVEL_MAX).contains(&level) {
        return Err(FrameError::options(format!("zstd has no level {level}: the highest is 22")));
    }
    let Some(block_bytes) = options.block_bytes else {
        return compress_stream(source, target, level, options);
    };
    if !(1..=BLOCK_BYTES_MAX).contains(&block_bytes) {
        return Err(FrameError::options(format!("zstd frames cannot have {block_bytes} bytes")));
    }
    let budget = Budget::new(options.memory_bytes_max);
    let spare = Vec::new();
    let dictionary = dictionary(options.dictionary.as_ref());
    let mut writer =
        Writer { source, target, block_bytes, budget, spare, started: false, frames: 0 };
    run(&mut writer, options.threads, || {
        let mut context = None;
        move |job: &mut Job| job.encode(&mut context, level, dictionary)
    })?;
    Ok(Tally { frames: writer.frames, blocks: 0 })
}

/// The bytes of a dictionary; nothing at all is none.
fn dictionary(dictionary: Option<&Dictionary>) -> &[u8] {
    dictionary.map_or(&[], |dictionary| &dictionary.bytes)
}

fn context(level: i32, dictionary: &[u8]) -> Result<CCtx<'static>, FrameError> {
    let mut context = CCtx::try_create().ok_or_else(|| no_memory(0))?;
    for parameter in [CParameter::CompressionLevel(level), CParameter::ChecksumFlag(true)] {
        context.set_parameter(parameter).map_err(|code| refused(code, 0, Kind::Argument))?;
    }
    if !dictionary.is_empty() {
        context.load_dictionary(dictionary).map_err(|code| refused(code, 0, Kind::Argument))?;
    }
    Ok(context)
}

/// Compresses everything into one frame.
fn compress_stream<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    level: i32,
    options: &CompressOptions,
) -> Result<Tally, FrameError> {
    let mut context = context(level, dictionary(options.dictionary.as_ref()))?;
    let wrong = |code| refused(code, 0, Kind::Conflict);
    context.set_pledged_src_size(options.content_size).map_err(wrong)?;
    let mut input = vec![0; CCtx::in_size()];
    let mut output = vec![0; CCtx::out_size()];
    loop {
        let filled = source.fill(&mut input)?;
        let mut rest = InBuffer::around(&input[..filled]);
        while rest.pos() < filled {
            let mut room = OutBuffer::around(&mut output[..]);
            context.compress_stream(&mut room, &mut rest).map_err(wrong)?;
            target.write(room.as_slice())?;
        }
        if filled < input.len() {
            break;
        }
    }
    loop {
        let mut room = OutBuffer::around(&mut output[..]);
        let left = context.end_stream(&mut room).map_err(wrong)?;
        target.write(room.as_slice())?;
        if left == 0 {
            return Ok(Tally { frames: 1, blocks: 0 });
        }
    }
}

struct Writer<'a, 'io> {
    source: &'a mut Source<'io>,
    target: &'a mut Target<'io>,
    block_bytes: usize,
    budget: Budget,
    spare: Vec<Job>,
    /// A frame was begun.
    started: bool,
    frames: u64,
}

/// One frame.
#[derive(Default)]
struct Job {
    content: Vec<u8>,
    frame: Vec<u8>,
    error: Option<FrameError>,
}

impl Job {
    fn encode(&mut self, state: &mut Option<CCtx<'static>>, level: i32, dictionary: &[u8]) {
        self.error = self.try_encode(state, level, dictionary).err();
    }

    fn try_encode(
        &mut self,
        state: &mut Option<CCtx<'static>>,
        level: i32,
        dictionary: &[u8],
    ) -> Result<(), FrameError> {
        let context = match state {
            Some(context) => context,
            None => state.insert(context(level, dictionary)?),
        };
        self.frame.clear();
        self.frame.reserve(zstd_safe::compress_bound(self.content.len()));
        let result = context.compress2(&mut self.frame, &self.content);
        result.map(drop).map_err(|code| refused(code, 0, Kind::Limit))
    }
}

impl Writer<'_, '_> {
    /// Memory of a job.
    fn need(&self) -> u64 {
        (self.block_bytes + zstd_safe::compress_bound(self.block_bytes)) as u64
    }
}

impl Stages for Writer<'_, '_> {
    type Job = Job;

    fn next(&mut self) -> Result<Next<Job>, FrameError> {
        if !self.budget.take("frame", self.source.offset(), self.need())? {
            return Ok(Next::Wait);
        }
        let mut job = self.spare.pop().unwrap_or_default();
        job.content.resize(self.block_bytes, 0);
        let filled = self.source.fill(&mut job.content)?;
        job.content.truncate(filled);
        // Nothing at all becomes one empty frame.
        if filled == 0 && self.started {
            return Ok(Next::End);
        }
        self.started = true;
        Ok(Next::Job(job))
    }

    fn finish(&mut self, mut job: Job) -> Result<(), FrameError> {
        if let Some(error) = job.error.take() {
            return Err(error);
        }
        self.target.write(&job.frame)?;
        self.frames += 1;
        self.budget.give_back(self.need());
        self.spare.push(job);
        Ok(())
    }
}

/// Decompresses all frames up to the end of the input, skippable ones as well.
pub(super) fn decompress<'io>(
    source: &mut Source<'io>,
    target: &mut Target<'io>,
    options: &DecompressOptions,
) -> Result<Tally, FrameError> {
    let mut context = DCtx::try_create().ok_or_else(|| no_memory(0))?;
    let log = options.memory_bytes_max.checked_ilog2().unwrap_or(0);
    if log < WINDOW_LOG_MIN {
        let (got, max) = (1 << WINDOW_LOG_MIN, options.memory_bytes_max);
        return Err(FrameError::Memory { what: "zstd window", offset: 0, got, max });
    }
    context
        .set_parameter(DParameter::WindowLogMax(log.min(WINDOW_LOG_MAX)))
        .map_err(|code| refused(code, 0, Kind::Argument))?;
    let dictionary = dictionary(options.dictionary.as_ref());
    if !dictionary.is_empty() {
        context.load_dictionary(dictionary).map_err(|code| refused(code, 0, Kind::Argument))?;
    }
    let mut input = vec![0; DCtx::in_size()];
    let mut output = vec![0; DCtx::out_size()];
    let mut tally = Tally::default();
    // Offset of the frame that is open, or of the one that comes next.
    let (mut start, mut open) = (source.offset(), false);
    loop {
        let before = source.offset();
        let filled = source.fill(&mut input)?;
        let mut rest = InBuffer::around(&input[..filled]);
        // Full output means that more may wait inside of libzstd.
        let mut more = false;
        while rest.pos() < filled || more {
            let mut room = OutBuffer::around(&mut output[..]);
            let hint = context
                .decompress_stream(&mut room, &mut rest)
                .map_err(|code| refused(code, start, Kind::Corrupt))?;
            target.write(room.as_slice())?;
            more = room.pos() == room.capacity() && hint != 0;
            open = hint != 0;
            if !open {
                tally.frames += 1;
                start = before + rest.pos() as u64;
            }
        }
        if filled < input.len() {
            break;
        }
    }
    if open || tally.frames == 0 {
        return Err(source.truncated("zstd frame", start));
    }
    Ok(tally)
}
