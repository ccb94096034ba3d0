//! `CODEC(auto)`: the chain of each block, chosen by its data. `docs/codec-choice.md` says how and why.
//!
//! A [`Chooser`] belongs to a stream. Every eighth block it ranks the short list of front ends (`front.rs`) on a sample, by
//! what the back ends (`back.rs`) make of it; the best two are encoded in full, and the best of all that was encoded is
//! written. In between, the winners are kept as long as they do as well as they did. A block never becomes larger by the
//! choice than by plain LZ4, or zstd where size is all that counts.
//!
//! - [`Objective`]: what a choice is made for, with the table of prices
//! - [`search`]: which chains are worth measuring on a stream, and [`measure`]: what a chain makes of it, for advice

mod back;
mod block;
mod front;
mod objective;
mod sample;
mod search;

pub use block::Chooser;
pub use objective::{Objective, is_text, price};
pub use search::{Effort, Found, Measured, high, measure, quick, search};

use crate::CodecError;
use crate::block::{HEADER_BYTES, SIZE_MAX};
use crate::codec::{Codec, Element};
use crate::spec::{CodecCall, OWN, PLAIN};

/// The ClickHouse that reads everything that may be chosen.
const SINCE: (u16, u16) = (26, 8);

/// The release in an argument like `'since=24.8'`.
fn release(argument: &str) -> Option<(u16, u16)> {
    let text = argument.trim_matches('\'').strip_prefix("since=")?;
    let (year, number) = text.split_once('.')?;
    Some((year.parse().ok()?, number.parse().ok()?))
}

/// Which candidates there are.
///
/// ```
/// use tambour_codec::choose::{Choice, Objective};
/// use tambour_codec::spec::CodecSpec;
/// let spec: CodecSpec = "auto(size)".parse()?;
/// let choice = Choice::of(&spec.calls[0]).ok_or("not a choice")??;
/// assert_eq!(choice, Choice::new(Objective::Size));
/// assert!(Choice::of(&CodecSpec::lz4().calls[0]).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What counts.
    pub objective: Objective,
    /// Only general-purpose codecs, which every version reads.
    pub plain: bool,
    /// Codecs of Tambour's own, too, which ClickHouse does not read.
    pub own: bool,
    /// The oldest ClickHouse that has to read the blocks: year and number of the release.
    pub since: (u16, u16),
    /// Only what a `CODEC(…)` of ClickHouse can say: for advice, not for writing.
    words: bool,
}

impl Choice {
    /// For an objective, with all that the newest ClickHouse reads.
    pub fn new(objective: Objective) -> Self {
        Self { objective, plain: false, own: false, since: SINCE, words: false }
    }

    /// The choice that a call in a specification asks for; `None` if it is another codec.
    pub fn of(call: &CodecCall) -> Option<Result<Self, CodecError>> {
        if !call.is_auto() {
            return None;
        }
        let mut choice = Self::new(Objective::default());
        for argument in &call.arguments {
            match Objective::named(argument) {
                Some(objective) => choice.objective = objective,
                None if argument.eq_ignore_ascii_case(PLAIN) => choice.plain = true,
                None if argument.eq_ignore_ascii_case(OWN) => choice.own = true,
                None if release(argument).is_some() => {
                    choice.since = release(argument).unwrap_or(SINCE);
                }
                None => {
                    let reason = "the choice is by size, speed or balance, and may say since=24.8"
                        .to_owned();
                    return Some(Err(CodecError::Spec { spec: call.to_string(), reason }));
                }
            }
        }
        Some(Ok(choice))
    }
}

/// How many bytes a block should have: it is closed before a granule from the first on, and anywhere at the second.
/// Repeats in texts are farther apart, and a block of numbers is chosen for and decoded in the cache.
pub fn block_bytes(element: Element) -> (usize, usize) {
    use crate::codec::Class;
    match element.class {
        Class::Bytes if element.width == 1 => (1 << 20, 2 << 20),
        _ => (256 << 10, 512 << 10),
    }
}

/// Puts a block without checksum into `target`: nine bytes of header, and what a codec makes of `source`.
fn stage(
    method: u8,
    codec: &mut dyn Codec,
    source: &[u8],
    target: &mut Vec<u8>,
) -> Result<(), CodecError> {
    target.clear();
    target.extend([0; HEADER_BYTES]);
    codec.encode(source, target)?;
    let header = header(method, target.len(), source.len())?;
    target[..HEADER_BYTES].copy_from_slice(&header);
    Ok(())
}

/// The header of a block inside of a chain; its sizes count the header.
fn header(
    method: u8,
    compressed: usize,
    uncompressed: usize,
) -> Result<[u8; HEADER_BYTES], CodecError> {
    let size = |size: usize| {
        let fits = u32::try_from(size).ok().filter(|&size| size <= SIZE_MAX);
        let (got, max) = (size as u64, SIZE_MAX.into());
        fits.ok_or(CodecError::Limit { what: "block between codecs", got, max })
    };
    let mut header = [method; HEADER_BYTES];
    header[1..5].copy_from_slice(&size(compressed)?.to_le_bytes());
    header[5..].copy_from_slice(&size(uncompressed)?.to_le_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests;
