//! Decoding a block whose matches may reach into what lies in front of its output.
//!
//! Plain safe code, for linked blocks and dictionaries; blocks without a past go to the kernels.

use tambour_kernel::lz4::Malformed;

/// Shortest match.
const MATCH_MIN: usize = 4;

/// Decodes into `buffer[start..]`, of which it may leave a rest; returns the bytes written. Matches may reach back to the
/// start of the buffer. On an error the buffer behind `start` holds unspecified bytes.
pub(super) fn decode_behind(
    source: &[u8],
    buffer: &mut [u8],
    start: usize,
) -> Result<usize, Malformed> {
    let mut input = Input { source, at: 0 };
    let mut end = start;
    loop {
        let token = usize::from(input.byte()?);
        let length = input.length(token >> 4)?;
        let literals = input.literals(length)?;
        let room = buffer.len() - end;
        if length > room {
            return Err(Malformed::LiteralsPastTarget { at: input.at - length, length });
        }
        buffer[end..end + length].copy_from_slice(literals);
        end += length;
        if input.at == source.len() {
            return Ok(end - start);
        }
        let at = input.at;
        let offset = u16::from_le_bytes([input.byte()?, input.byte()?]);
        if offset == 0 || usize::from(offset) > end {
            return Err(Malformed::Offset { at, offset, written: end });
        }
        let length = input.length(token & 15)?.saturating_add(MATCH_MIN);
        if length > buffer.len() - end {
            return Err(Malformed::MatchPastTarget { at, length });
        }
        repeat(buffer, end, usize::from(offset), length);
        end += length;
    }
}

/// Appends `length` bytes that repeat those `offset` before `end`.
fn repeat(buffer: &mut [u8], end: usize, offset: usize, length: usize) {
    let (from, stop) = (end - offset, end + length);
    let mut at = end;
    // What was copied so far repeats as a whole: overlapping matches double with each round.
    while at < stop {
        let piece = (at - from).min(stop - at);
        buffer.copy_within(from..from + piece, at);
        at += piece;
    }
}

struct Input<'a> {
    source: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = self.source.get(self.at);
        let byte = *byte.ok_or(Malformed::Truncated { at: self.source.len() })?;
        self.at += 1;
        Ok(byte)
    }

    /// A length from half a token and the bytes that extend it.
    fn length(&mut self, half: usize) -> Result<usize, Malformed> {
        let mut length = half;
        if half == 15 {
            loop {
                let byte = self.byte()?;
                // No overflow: every byte of the source adds 255 at most.
                length += usize::from(byte);
                if byte != 255 {
                    break;
                }
            }
        }
        Ok(length)
    }

    fn literals(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let at = self.at;
        let rest = &self.source[at..];
        let literals = rest.get(..length).ok_or(Malformed::LiteralsPastSource { at, length })?;
        self.at += length;
        Ok(literals)
    }
}

#[cfg(test)]
mod tests {
    use super::decode_behind;
    use tambour_kernel::lz4::{self, Malformed};

    #[test]
    fn matches_reach_back_to_the_start_of_the_buffer() {
        let mut buffer = *b"drum------------";
        // One literal, a match of six at offset five, five literals.
        let block = b"\x12 \x05\0\x50hello";
        assert_eq!(decode_behind(block, &mut buffer, 4), Ok(12));
        assert_eq!(&buffer, b"drum drum dhello");
        let mut short = *b"rum-----------";
        let error = Malformed::Offset { at: 2, offset: 5, written: 4 };
        assert_eq!(decode_behind(block, &mut short, 3), Err(error));
    }

    #[test]
    fn agrees_with_the_kernel_on_blocks_without_a_past() {
        for length in [0, 1, 13, 100, 5000] {
            let source: Vec<u8> = (0..length).flat_map(|k: u32| (k / 7).to_le_bytes()).collect();
            let mut block = vec![0; lz4::bound(source.len())];
            let size = lz4::encode(&source, &mut block, &mut lz4::Table::new(), 1).unwrap();
            for cut in size.saturating_sub(40)..=size {
                let mut theirs = vec![0; source.len()];
                let expected = lz4::decode(&block[..cut], &mut theirs);
                let mut ours = vec![0; source.len()];
                let got = decode_behind(&block[..cut], &mut ours, 0);
                match expected {
                    Ok(()) => assert_eq!((got, &ours), (Ok(source.len()), &theirs)),
                    Err(Malformed::Short { written, .. }) => assert_eq!(got, Ok(written)),
                    Err(error) => assert_eq!(got, Err(error)),
                }
            }
        }
    }
}
