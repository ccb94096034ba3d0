//! Many short sources with one dictionary: its positions are taken in once.
//!
//! After each source the chains are put back to how the dictionary left them, from a list of what the source changed; the
//! cost of a source does not depend on the dictionary's length.

use super::SOURCE_BYTES_MAX;
use super::lazy;
use super::matches::Input;
use super::search::{Effort, Search};
use super::writer::Writer;
use crate::lz4::OFFSET_MAX;

/// Longer sources would take the places of the dictionary in the chains; afterwards these are made again.
const REWIND_BYTES_MAX: usize = 1 << 14;

/// Encodes sources with a dictionary, as [`Encoder::encode_behind`](super::Encoder::encode_behind) does at the levels 3 to 9.
///
/// ```
/// use tambour_kernel::lz4::{self, Prepared, SHORT_MARGIN};
/// let dictionary = b"GET /drums/shaft HTTP/1.1 200 tambour";
/// let mut encoder = Prepared::new(9, dictionary);
/// let mut block = vec![0; 200];
/// let bytes = encoder.encode(b"GET /drums/base HTTP/1.1 200 tambour", &mut block).ok_or("no room")?;
/// assert!(bytes < 20);
/// let mut buffer = dictionary.to_vec();
/// buffer.resize(200, 0);
/// let start = dictionary.len();
/// let length = lz4::decode_short(&block, bytes, &mut buffer, start, usize::MAX)?;
/// assert_eq!(&buffer[start..start + length], b"GET /drums/base HTTP/1.1 200 tambour");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Prepared {
    search: Search,
    /// The dictionary, and room for a source after it.
    buffer: Vec<u8>,
    start: usize,
    /// Whether the chains hold the dictionary and nothing else.
    ready: bool,
}

impl Prepared {
    /// An encoder of a level from 3 to 9 (others count as the nearest), or of fewer looks still with 1 and 2. Of a
    /// dictionary longer than 64 KiB, the end counts.
    pub fn new(level: u8, dictionary: &[u8]) -> Self {
        let start = dictionary.len().min(OFFSET_MAX);
        let buffer = dictionary[dictionary.len() - start..].to_vec();
        let effort = match level {
            0 | 1 => Effort { attempts: 1, runs: false },
            2 => Effort { attempts: 2, runs: false },
            _ => Effort::of_level(level),
        };
        Self { search: Search::new(effort), buffer, start, ready: false }
    }

    /// The end of the dictionary that matches can reach.
    pub fn dictionary(&self) -> &[u8] {
        &self.buffer[..self.start]
    }

    /// Encodes `source` as one block into the start of `target`; returns the bytes written. `None` when the block does not
    /// fit, or the source is longer than [`SOURCE_BYTES_MAX`].
    pub fn encode(&mut self, source: &[u8], target: &mut [u8]) -> Option<usize> {
        if source.len() > SOURCE_BYTES_MAX {
            return None;
        }
        self.buffer.truncate(self.start);
        self.buffer.extend_from_slice(source);
        let mut writer = Writer::new(target);
        let Some(input) = Input::new(&self.buffer, self.start) else {
            return writer.last_literals(source);
        };
        let short = source.len() <= REWIND_BYTES_MAX;
        if !(self.ready && short) {
            self.search.begin(&input);
            if short {
                // What long sources change is not taken back, so it is not noted either.
                self.search.chain.prepare(&input);
            }
        }
        let anchor = lazy::parse(&input, &mut writer, &mut self.search);
        self.ready = short;
        if short {
            self.search.chain.rewind();
        }
        writer.last_literals(&self.buffer[anchor?..])
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("dictionary_bytes", &self.start).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Prepared;
    use crate::lz4::{DECODE_VARIANTS, Malformed};
    use crate::lz4::{Encoder, Level, SHORT_MARGIN, bound, decode_short, decode_with_dictionary};

    fn text(seed: u64, length: usize) -> Vec<u8> {
        let words =
            ["alpha ", "beta", "gamma-ray ", "delta:", "0123456789", "{\"id\":", "}", "epsilon"];
        let (mut state, mut text) = (seed, Vec::new());
        while text.len() < length {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.extend_from_slice(words[(state >> 33) as usize % words.len()].as_bytes());
            if state >> 60 == 3 {
                text.push(state.to_le_bytes()[5]);
            }
        }
        text.truncate(length);
        text
    }

    /// What the exact decoder makes of a block.
    fn naive(dictionary: &[u8], block: &[u8], length: usize) -> Result<Vec<u8>, Malformed> {
        let mut target = vec![0; length];
        decode_with_dictionary(DECODE_VARIANTS.best(), dictionary, block, &mut target)?;
        Ok(target)
    }

    fn short(
        dictionary: &[u8],
        block: &[u8],
        room: usize,
        wanted: usize,
    ) -> Result<Vec<u8>, Malformed> {
        let mut source = block.to_vec();
        source.resize(block.len() + SHORT_MARGIN, 0x5a);
        let mut buffer = dictionary.to_vec();
        buffer.resize(dictionary.len() + room + SHORT_MARGIN, 0xa5);
        let start = dictionary.len();
        let written = decode_short(&source, block.len(), &mut buffer, start, wanted)?;
        assert_eq!(&buffer[..start], dictionary, "the dictionary stays as it is");
        Ok(buffer[start..start + written].to_vec())
    }

    #[test]
    fn blocks_are_those_of_the_encoder_and_decode() {
        for dictionary_bytes in [0, 3, 100, 5000, 65_535, 70_000] {
            let dictionary = text(1, dictionary_bytes);
            for level in [3, 6, 9] {
                let mut prepared = Prepared::new(level, &dictionary);
                let mut encoder = Encoder::new(Level::High(level));
                for (seed, length) in
                    [0, 1, 12, 13, 40, 300, 450, 20_000, 500, 70_000, 10].into_iter().enumerate()
                {
                    let source = text(seed as u64 + 9, length);
                    let mut block = vec![0; bound(length)];
                    let size = prepared.encode(&source, &mut block).unwrap();
                    let mut other = vec![0; bound(length)];
                    let other_size =
                        encoder.encode_with_dictionary(&dictionary, &source, &mut other);
                    assert_eq!(
                        block[..size],
                        other[..other_size.unwrap()],
                        "{dictionary_bytes} {level} {length}"
                    );
                    let reached = prepared.dictionary().to_vec();
                    assert_eq!(naive(&reached, &block[..size], length).unwrap(), source);
                    assert_eq!(
                        short(&reached, &block[..size], length, usize::MAX).unwrap(),
                        source
                    );
                    let start = short(&reached, &block[..size], length, length / 2).unwrap();
                    assert!(start.len() >= length / 2 && source.starts_with(&start));
                }
            }
        }
    }

    #[test]
    fn damaged_blocks_are_errors_or_stay_inside() {
        let dictionary = text(1, 3000);
        let source = text(2, 400);
        let mut block = vec![0; bound(source.len())];
        let size = Prepared::new(9, &dictionary).encode(&source, &mut block).unwrap();
        block.truncate(size);
        for length in 0..size {
            let cut = short(&dictionary, &block[..length], 400, usize::MAX);
            assert!(cut.is_err() || source.starts_with(&cut.unwrap()));
        }
        for bit in 0..size * 8 {
            let mut damaged = block.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let got = short(&dictionary, &damaged, 400, usize::MAX);
            // Where the exact decoder takes the block for what it writes, both write the same.
            if let Ok(got) = got
                && let Ok(exact) = naive(&dictionary, &damaged, got.len())
            {
                assert_eq!(got, exact);
            }
            if let Ok(exact) = naive(&dictionary, &damaged, 400) {
                assert_eq!(short(&dictionary, &damaged, 400, usize::MAX), Ok(exact));
            }
        }
    }

    #[test]
    fn output_never_reaches_the_margin() {
        let source = [7; 300];
        let mut block = vec![0; bound(300)];
        let size = Prepared::new(9, b"").encode(&source, &mut block).unwrap();
        assert_eq!(short(b"", &block[..size], 300, usize::MAX).unwrap(), source);
        assert!(short(b"", &block[..size], 299, usize::MAX).is_err());
    }
}
