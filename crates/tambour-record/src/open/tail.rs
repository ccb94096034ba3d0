//! What follows the last frame that can be read: nothing, a commit that was cut off, or damage.
//!
//! A commit appends, so that a crash leaves the beginning of what was to be written, and zeros where bytes did not reach the
//! disk. The beginning of a frame tells nothing of its own accord: whoever cuts a file off leaves the same. But bytes that are
//! neither are not the work of a crash, and may have been records that were acknowledged.

use super::frame::{HEAD_BYTES, Head, starts_like_head};
use super::search::places;
use super::torn::{Torn, commit_start, torn};
use super::{Frame, OpenSegment};
use crate::salvage::CutOff;

/// What follows the last frame.
#[derive(Clone, Debug)]
pub(crate) enum Tail {
    /// Nothing, or what belongs to later segments.
    Nothing,
    /// The beginning of a frame, zeros, or pieces of a commit.
    Cut(Torn),
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
            return Self::Cut(Torn::default());
        }
        let written = &rest[..rest.len() - zeros];
        let end = segment.end();
        match Head::parse(rest, segment.header.seed) {
            // The frame may end in zeros of its own: those of its directory.
            Ok((head, 0)) if head.first == end => {
                let directory = &rest[HEAD_BYTES..head.own_bytes];
                let own = directory.iter().rev().take_while(|byte| **byte == 0).count();
                if written.len() < head.frame_bytes() - own {
                    let (at, records) = (segment.frames_end, head.lengths.len() as u64);
                    let Head { first, goes_on, .. } = head;
                    let mut torn = Torn::default();
                    torn.add(segment, &head, Frame { first, records, at, head_at: at, goes_on });
                    return Self::Cut(torn);
                }
            }
            Err(_) if starts_like_head(written) && heads(segment, rest).next().is_none() => {
                return Self::Cut(Torn::default());
            }
            _ => {}
        }
        let frames_at = segment.frames.first().map_or(segment.frames_end, |frame| frame.at);
        let start = commit_start(segment, frames_at);
        if let Some(torn) = torn(segment, segment.frames_end, start) {
            return Self::Cut(torn);
        }
        let told =
            heads(segment, rest).map(|head| head.first.saturating_add(head.lengths.len() as u64));
        Self::Damaged { records: told.max().unwrap_or(0).saturating_sub(end) }
    }
}

impl OpenSegment {
    /// The commit that was cut off at the end of this segment.
    pub(crate) fn cut_off(&self) -> Option<CutOff> {
        let Tail::Cut(torn) = &self.tail else { return None };
        Some(CutOff {
            path: self.path.clone(),
            offset: self.frames_end as u64,
            bytes: (self.file_bytes - self.frames_end) as u64,
            records: torn.records,
            whole_behind: torn.whole_behind,
            copy: None,
        })
    }

    /// Counts frames of a commit that was cut off as records, for those who want all that can be read: if anything is whole
    /// after what was lost. Whether more may be lost than ids tell.
    pub(crate) fn take_back(&mut self) -> bool {
        let Tail::Cut(torn) = &mut self.tail else { return false };
        if torn.whole_behind {
            self.frames.append(&mut torn.frames);
        }
        torn.whole_behind && torn.unknown
    }
}

/// All heads in some bytes, wherever they stand.
fn heads<'a>(segment: &'a OpenSegment, rest: &'a [u8]) -> impl Iterator<Item = Head> + 'a {
    places(rest).filter_map(|at| Some(Head::parse(&rest[at..], segment.header.seed).ok()?.0))
}
