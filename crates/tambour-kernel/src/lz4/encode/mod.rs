//! LZ4 block encoders.
//!
//! [`Encoder`] is the door: a [`Level`] and the memory that it needs, kept between calls. All levels write blocks that any
//! LZ4 decoder takes, with the rules for the end of a block.

mod chain;
mod fast;
mod lazy;
mod matches;
mod optimal;
mod prepared;
mod search;
#[cfg(test)]
mod tests;
mod thorough;
mod tree;
mod writer;

pub use fast::{Table, encode};
pub use prepared::Prepared;

use super::{MATCH_MIN, OFFSET_MAX};
use matches::Input;
use optimal::{Aim, STRETCH_BYTES, Stretch};
use search::{Effort, Search};
use thorough::Thorough;
use tree::Tree;
use writer::Writer;

/// Longest source, as in the reference implementation.
pub const SOURCE_BYTES_MAX: usize = 0x7e00_0000;

/// Room that the encoding of `length` bytes may need. An incompressible source grows by one byte in 255, and a little.
///
/// ```
/// use tambour_kernel::lz4::{Encoder, Level, bound};
/// let noise: Vec<u8> = (0..1000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
/// let mut target = vec![0; bound(noise.len())];
/// assert!(Encoder::new(Level::default()).encode(&noise, &mut target).is_some());
/// ```
pub const fn bound(length: usize) -> usize {
    length + length / 255 + 16
}

/// How much work goes into a block.
///
/// ```
/// use tambour_kernel::lz4::{Encoder, Level, bound};
/// let text: Vec<u8> = (0..2000).flat_map(|i| format!("{} ", i * i % 977).into_bytes()).collect();
/// let mut target = vec![0; bound(text.len())];
/// let mut bytes = |level| Encoder::new(level).encode(&text, &mut target);
/// assert!(bytes(Level::High(9)) < bytes(Level::Fast { acceleration: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// One look at each position, as `LZ4_compress_fast`: 1 is the default, every further step skips more.
    Fast {
        /// 1 or more; 0 counts as 1.
        acceleration: u32,
    },
    /// Small blocks, slowly; the size is that of `LZ4_compress_HC` at the same level. From [`Level::HIGH_MIN`] to
    /// [`Level::HIGH_MAX`]; others count as the nearest.
    High(u8),
    /// Blocks that decode fast: few sequences, long matches, and nothing but literals where matches gain little. Encodes
    /// about as slowly as level 10.
    DecodeSpeed,
}

impl Level {
    /// Lowest of the high levels.
    pub const HIGH_MIN: u8 = 3;
    /// Highest of the high levels.
    pub const HIGH_MAX: u8 = 12;
}

impl Default for Level {
    fn default() -> Self {
        Self::Fast { acceleration: 1 }
    }
}

/// For decoding speed, a block is literals only unless matches save more than this part of it.
const GAIN_DIVISOR: usize = 16;
/// The shortest match that is worth a sequence then.
const FEWER_MIN: usize = 6;

/// Encodes blocks at one level. Keeps its memory between calls; no call has an influence on the next.
///
/// ```
/// use tambour_kernel::lz4::{self, Encoder, Level};
/// let source = b"drum base, drum shaft, drum capital".repeat(10);
/// let mut target = vec![0; lz4::bound(source.len())];
/// let mut encoder = Encoder::new(Level::High(9));
/// let bytes = encoder.encode(&source, &mut target).ok_or("no room")?;
/// let mut decoded = vec![0; source.len()];
/// lz4::decode(&target[..bytes], &mut decoded)?;
/// assert_eq!(decoded, source);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Encoder {
    level: Level,
    parse: Parse,
    /// Dictionary and source, one after another.
    joined: Vec<u8>,
}

/// A parse with its memory.
enum Parse {
    Fast { table: Box<Table>, acceleration: u32 },
    Lazy(Search),
    Chains { search: Search, stretch: Stretch, aim: Aim },
    Fewer { search: Search, stretch: Stretch, aim: Aim },
    Thorough { finder: Thorough, stretch: Stretch, aim: Aim },
}

impl Parse {
    fn new(level: Level) -> Self {
        let aim = Aim { nice_bytes: 64, thorough: false, sequence_price: 0 };
        let search = |attempts| Search::new(Effort { attempts, runs: true });
        let stretch = Stretch::new;
        match level {
            Level::Fast { acceleration } => Self::Fast { table: Box::default(), acceleration },
            Level::High(level @ ..=9) => Self::Lazy(Search::new(Effort::of_level(level))),
            Level::High(10) => Self::Chains { search: search(96), stretch: stretch(), aim },
            Level::High(11) => {
                let aim = Aim { nice_bytes: 128, ..aim };
                Self::Chains { search: search(512), stretch: stretch(), aim }
            }
            Level::High(12..) => {
                let aim = Aim { nice_bytes: STRETCH_BYTES, thorough: true, ..aim };
                let effort = tree::Effort { nodes_max: 512, compared_bytes: STRETCH_BYTES };
                let finder = Thorough::new(search(2048), Tree::new(effort));
                Self::Thorough { finder, stretch: stretch(), aim }
            }
            Level::DecodeSpeed => {
                let aim = Aim { sequence_price: 24, ..aim };
                Self::Fewer { search: search(96), stretch: stretch(), aim }
            }
        }
    }

    /// Encodes `buffer[start..]`, which is within the limits.
    fn encode(&mut self, buffer: &[u8], start: usize, target: &mut [u8]) -> Option<usize> {
        if let Self::Fast { table, acceleration } = self {
            return fast::encode_behind(buffer, start, target, table, *acceleration);
        }
        let mut writer = Writer::new(target);
        let mut anchor = start;
        if let Some(input) = Input::new(buffer, start) {
            anchor = match self {
                Self::Fast { .. } => None,
                Self::Lazy(search) => {
                    search.begin(&input);
                    lazy::parse(&input, &mut writer, search)
                }
                Self::Chains { search, stretch, aim } => {
                    stretch.parse::<MATCH_MIN>(&input, &mut writer, search, *aim)
                }
                Self::Fewer { search, stretch, aim } => {
                    stretch.parse::<FEWER_MIN>(&input, &mut writer, search, *aim)
                }
                Self::Thorough { finder, stretch, aim } => {
                    stretch.parse::<MATCH_MIN>(&input, &mut writer, finder, *aim)
                }
            }?;
        }
        writer.last_literals(&buffer[anchor..])
    }
}

impl Encoder {
    /// An encoder; takes 32 to 450 KiB of memory.
    pub fn new(level: Level) -> Self {
        Self { level, parse: Parse::new(level), joined: Vec::new() }
    }

    /// The level that this encoder was made for.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Encodes `source` as one block into the start of `target`; returns the bytes written.
    ///
    /// `None` when the block does not fit, or the source is longer than [`SOURCE_BYTES_MAX`]. A target of [`bound`] is
    /// always long enough.
    pub fn encode(&mut self, source: &[u8], target: &mut [u8]) -> Option<usize> {
        self.encode_behind(source, 0, target)
    }

    /// As [`Encoder::encode`], for a decoder that has the dictionary: matches may reach into its last 64 KiB.
    ///
    /// Copies dictionary and source; [`Encoder::encode_behind`] does without.
    pub fn encode_with_dictionary(
        &mut self,
        dictionary: &[u8],
        source: &[u8],
        target: &mut [u8],
    ) -> Option<usize> {
        if source.len() > SOURCE_BYTES_MAX {
            return None;
        }
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        let start = dictionary.len().min(OFFSET_MAX);
        joined.extend_from_slice(&dictionary[dictionary.len() - start..]);
        joined.extend_from_slice(source);
        let size = self.encode_behind(&joined, start, target);
        self.joined = joined;
        size
    }

    /// Encodes `buffer[start..]`; matches may reach into the 64 KiB in front of it, which a decoder must have.
    ///
    /// # Panics
    /// When `start` lies past the end of the buffer.
    ///
    /// ```
    /// use tambour_kernel::lz4::{Encoder, Level};
    /// let (text, mut target) = (b"the same words, the same words", [0; 32]);
    /// let mut encoder = Encoder::new(Level::High(9));
    /// let alone = encoder.encode(&text[15..], &mut target);
    /// let after = encoder.encode_behind(text, 15, &mut target);
    /// assert!(after.is_some() && after < alone);
    /// ```
    pub fn encode_behind(
        &mut self,
        buffer: &[u8],
        start: usize,
        target: &mut [u8],
    ) -> Option<usize> {
        let buffer = &buffer[start.saturating_sub(OFFSET_MAX)..];
        let start = start.min(OFFSET_MAX);
        let source = &buffer[start..];
        if source.len() > SOURCE_BYTES_MAX {
            return None;
        }
        let size = self.parse.encode(buffer, start, target)?;
        if self.level == Level::DecodeSpeed && gains_little(source.len(), size) {
            return Writer::new(target).last_literals(source).or(Some(size));
        }
        Some(size)
    }
}

/// Whether a block is so little smaller than its source that copying literals is worth more.
fn gains_little(source_bytes: usize, block_bytes: usize) -> bool {
    block_bytes >= source_bytes - source_bytes / GAIN_DIVISOR
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("level", &self.level).finish_non_exhaustive()
    }
}
