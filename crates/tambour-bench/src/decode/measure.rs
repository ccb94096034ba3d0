//! Rounds over one file.

use super::Settings;
use super::block::Encoded;
use super::contender::{Entrant, encoders};
use crate::BenchError;
use crate::input::Input;
use crate::measure::{Order, Times, race, timed};
use tambour_kernel::lz4::Block;

/// Blocks of a group, except for the first two, which are half of it.
const GROUP_BLOCKS: usize = 16;
/// What buffers hold before a block is decoded.
const POISON: u8 = 0xa5;

/// What was measured on one file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Name of the input.
    pub name: String,
    /// Bytes before compression.
    pub bytes: usize,
    /// Bytes as C lz4 compressed them.
    pub encoded_bytes: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Blocks after which laps were taken: 8, 16, 32, … up to the number of blocks.
    pub laps: Vec<usize>,
    /// One per contender.
    pub timings: Vec<Timing>,
}

impl File {
    /// Compression ratio of C lz4.
    pub fn ratio(&self) -> f64 {
        self.bytes as f64 / self.encoded_bytes as f64
    }

    /// Bytes per nanosecond of a contender.
    pub fn speed(&self, contender: usize) -> f64 {
        self.bytes as f64 / self.timings[contender].seconds * 1e-9
    }

    /// How many times as fast as the reference.
    pub fn gain(&self, contender: usize) -> f64 {
        self.timings[0].seconds / self.timings[contender].seconds
    }

    /// Compression ratio of the format that a contender reads.
    pub fn own_ratio(&self, contender: usize) -> f64 {
        self.bytes as f64 / self.timings[contender].encoded_bytes as f64
    }
}

/// How long one contender took for one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Median over the rounds.
    pub seconds: f64,
    /// First quartile.
    pub low: f64,
    /// Third quartile.
    pub high: f64,
    /// Medians up to each lap.
    pub laps: Vec<f64>,
    /// Bytes that it decoded.
    pub encoded_bytes: usize,
}

/// Measures every entrant on one file.
pub(super) fn file(
    input: &Input,
    entrants: &mut [Entrant],
    settings: &Settings,
) -> Result<File, BenchError> {
    let encode = |format: Box<_>| Encoded::new(input, settings.block_bytes, &*format);
    let formats = encoders(settings).into_iter().map(encode).collect::<Result<Vec<_>, _>>()?;
    let mut buffers = vec![vec![0; settings.block_bytes]; GROUP_BLOCKS];
    let times = race(entrants, settings.rounds, Order::Random(settings.seed), |entrant| {
        pass(input, &formats[entrant.encoder], entrant, &mut buffers)
    })?;
    let blocks = formats[0].blocks();
    let laps = laps(blocks);
    let timing = |(entrant, times): (&Entrant, &Times)| Timing {
        seconds: times.median(laps.len()),
        low: times.quantile(laps.len(), 0.25),
        high: times.quantile(laps.len(), 0.75),
        laps: (0..laps.len()).map(|lap| times.median(lap)).collect(),
        encoded_bytes: formats[entrant.encoder].bytes(),
    };
    Ok(File {
        name: input.name.clone(),
        bytes: input.bytes.len(),
        encoded_bytes: formats[0].bytes(),
        blocks,
        timings: entrants.iter().zip(&times).map(timing).collect(),
        laps,
    })
}

/// One pass of one entrant over all blocks: seconds up to each lap, then those of all blocks.
fn pass(
    input: &Input,
    encoded: &Encoded,
    entrant: &mut Entrant,
    buffers: &mut [Vec<u8>],
) -> Result<Vec<f64>, BenchError> {
    let block_bytes = buffers[0].len();
    let sources: Vec<&[u8]> = input.bytes.chunks(block_bytes).collect();
    let (mut pass, mut seconds, mut start) = (Vec::new(), 0.0, 0);
    entrant.decoder.start();
    while start < sources.len() {
        let end = group_end(start).min(sources.len());
        let expected = &sources[start..end];
        let mut group: Vec<Block<'_>> = buffers
            .iter_mut()
            .zip(expected)
            .enumerate()
            .map(|(index, (buffer, source))| {
                buffer.fill(POISON);
                Block::new(encoded.block(start + index), &mut buffer[..source.len()])
            })
            .collect();
        let (accepted, time) = timed(|| entrant.decoder.decode(&mut group));
        seconds += time;
        let found = group.iter().zip(expected).position(|(block, source)| block.target != *source);
        if found.is_some() || !accepted {
            return Err(wrong(input, entrant, start, &group, expected));
        }
        if is_lap(end) {
            pass.push(seconds);
        }
        start = end;
    }
    pass.push(seconds);
    Ok(pass)
}

/// The error of the first block of a group that is not right.
fn wrong(
    input: &Input,
    entrant: &Entrant,
    start: usize,
    group: &[Block<'_>],
    expected: &[&[u8]],
) -> BenchError {
    let fault = |(index, (block, source)): (usize, (&Block<'_>, &&[u8]))| {
        if let Err(error) = block.result {
            return Some((index, error.to_string()));
        }
        let at = block.target.iter().zip(*source).position(|(got, wanted)| got != wanted)?;
        Some((index, format!("byte {at} differs")))
    };
    let first = group.iter().zip(expected).enumerate().find_map(fault);
    let (index, reason) = first.unwrap_or_else(|| (0, "not accepted".to_owned()));
    let (contender, file) = (entrant.contender.name.clone(), input.name.clone());
    BenchError::WrongOutput { contender, file, block: start + index, reason }
}

/// Where the group that starts at a block ends: 8, 16, 32, 48, …
fn group_end(start: usize) -> usize {
    if start < GROUP_BLOCKS / 2 {
        GROUP_BLOCKS / 2
    } else {
        (start / GROUP_BLOCKS + 1) * GROUP_BLOCKS
    }
}

fn is_lap(end: usize) -> bool {
    end >= GROUP_BLOCKS / 2 && end.is_power_of_two()
}

/// The laps of a file with this many blocks.
fn laps(blocks: usize) -> Vec<usize> {
    (0..usize::BITS - 1)
        .map(|power| 1 << power)
        .filter(|&end| is_lap(end) && end <= blocks)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{GROUP_BLOCKS, group_end, laps};

    #[test]
    fn groups_end_where_laps_are_taken() {
        let mut ends = vec![group_end(0)];
        while ends[ends.len() - 1] < 200 {
            ends.push(group_end(ends[ends.len() - 1]));
        }
        assert!(ends.starts_with(&[8, 16, 32, 48, 64]));
        assert!(ends.windows(2).all(|pair| pair[1] - pair[0] <= GROUP_BLOCKS));
        assert_eq!(laps(7), [] as [usize; 0]);
        assert_eq!(laps(8), [8]);
        assert_eq!(laps(129), [8, 16, 32, 64, 128]);
        assert!(laps(129).iter().all(|lap| ends.contains(lap)));
    }
}
