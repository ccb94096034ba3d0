//! What follows the last frame that can be read: nothing, a commit that was cut off, or damage.
//!
//! A commit appends, so that a crash leaves the beginning of what was to be written, and zeros where bytes did not reach the
//! disk. The beginning of a frame tells nothing of its own accord: whoever cuts a file off leaves the same. But bytes that are
//! neither are no work of a crash, and may have been records that were acknowledged.

use super::OpenSegment;
use super::frame::{HEAD_BYTES, Head, starts_like_head};
use super::search::places;
use super::torn::torn;

/// What follows the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum Tail {
    /// Nothing, or what belongs to later segments.
    Nothing,
    /// The beginning of a frame, zeros, or pieces of a commit. The records of its first frame, if a head of that is there.
    Cut { records: Option<u64> },
    /// Something else. The records that heads tell of, which may be fewer than there were.
    Damaged { records: u64 },
}

impl Tail {
    /// Looks at what follows the frames of a segment.
    pub(super) fn of(segment: &OpenSegment) -> Self {
        let rest = segment.bytes.get(segment.frames_end..segment.file_bytes).unwrap_or_default();
        if rest.is_empty() {
            return Self::Nothing;
        }
        let zeros = rest.iter().rev().take_while(|byte| **byte == 0).count();
        if zeros == rest.len() {
            return Self::Cut { records: None };
        }
        let written = &rest[..rest.len() - zeros];
        let end = segment.end();
        match Head::parse(rest, segment.header.seed) {
            // The frame may end in zeros of its own: those of its directory.
            Ok((head, 0)) if head.first == end => {
                let directory = &rest[HEAD_BYTES..head.own_bytes];
                let own = directory.iter().rev().take_while(|byte| **byte == 0).count();
                if written.len() < head.frame_bytes() - own {
                    return Self::Cut { records: Some(head.lengths.len() as u64) };
                }
            }
            Err(_) if starts_like_head(written) && heads(segment, rest).next().is_none() => {
                return Self::Cut { records: None };
            }
            _ => {}
        }
        if let Some(cut) = torn(segment, segment.frames_end) {
            return cut;
        }
        let told =
            heads(segment, rest).map(|head| head.first.saturating_add(head.lengths.len() as u64));
        Self::Damaged { records: told.max().unwrap_or(0).saturating_sub(end) }
    }
}

/// All heads in some bytes, wherever they stand.
fn heads<'a>(segment: &'a OpenSegment, rest: &'a [u8]) -> impl Iterator<Item = Head> + 'a {
    places(rest).filter_map(|at| Some(Head::parse(&rest[at..], segment.header.seed).ok()?.0))
}
