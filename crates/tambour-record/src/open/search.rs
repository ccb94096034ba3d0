//! Frames after damage: all heads of a file in one pass, and which of them stand for whole frames.

use super::frame::{DIRECTORY_BYTES_MAX, HEAD_BYTES, Head, MAGICS};
use super::{Frame, OpenSegment};

/// How often the bytes of a file may go into sums of heads.
const EFFORT_MAX: usize = 64;

/// Bytes of sums besides: a wrong length in a short file is no reason to give up.
const EFFORT_FREE: usize = 64 << 20;

/// A head in the file, and the frame that it tells of.
struct Candidate {
    frame: Frame,
    /// Where the frame ends.
    end: usize,
    /// Whether the head is that after the frame.
    is_behind: bool,
    /// Whether the frame counts.
    is_whole: bool,
}

/// All heads from some place of a file on, by their places.
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    /// Finds them and decides from the last to the first: whether a frame is whole may depend on what follows it.
    pub(super) fn find(segment: &OpenSegment, from: usize) -> Self {
        let rest = segment.bytes.get(from..segment.file_bytes).unwrap_or_default();
        let mut found: Vec<Candidate> =
            places(rest).filter_map(|at| candidate(segment, from + at)).collect();
        // The last start of a frame that its head after tells, and the last frame that is whole.
        let told = found.iter().filter(|one| one.is_behind).map(|one| one.frame.at).max();
        let mut whole: Option<usize> = None;
        for one in found.iter_mut().rev().filter(|one| !one.is_behind) {
            let Some((head, _)) = segment.head(one.frame.at) else { continue };
            let behind_at = one.end - head.own_bytes;
            one.is_whole = one.end <= segment.file_bytes
                && (told.is_some_and(|at| at >= behind_at)
                    || whole.is_some_and(|at| at > behind_at)
                    || segment.has_twin(&head, behind_at)
                    || segment.payload_is_whole(&head, one.frame.at + head.own_bytes));
            if one.is_whole {
                whole = whole.max(Some(one.frame.at));
            }
        }
        Self(found)
    }

    /// Every frame that a head tells of, whole or not; some of them twice.
    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        self.0.iter().map(|one| one.frame)
    }

    /// The whole frame whose head is at this place, and its end.
    pub(super) fn at(&self, at: usize) -> Option<(Frame, usize)> {
        let number = self.0.binary_search_by_key(&at, |one| one.frame.head_at).ok()?;
        let one = self.0.get(number).filter(|one| one.is_whole && !one.is_behind)?;
        Some((one.frame, one.end))
    }

    /// The next frame after `at` of which either head can be read, and its end.
    pub(super) fn behind(&self, at: usize) -> Option<(Frame, usize)> {
        let start = self.0.partition_point(|one| one.frame.head_at <= at);
        let one = self.0[start..].iter().find(|one| one.is_whole && one.frame.at >= at)?;
        Some((one.frame, one.end))
    }
}

/// Where heads may stand. A head says how long its directory is, and all of that goes into a sum: after this many times the
/// file's bytes the rest is not looked at, since only somebody who means to waste time writes such a file.
pub(super) fn places(rest: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut effort = rest.len().saturating_mul(EFFORT_MAX).saturating_add(EFFORT_FREE);
    memchr::memmem::find_iter(rest, &MAGICS[0][..3]).take_while(move |at| {
        let claimed = rest.get(at + 4..at + 8).and_then(|bytes| bytes.try_into().ok());
        let claimed = claimed.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize);
        let cost = if claimed <= DIRECTORY_BYTES_MAX { HEAD_BYTES + claimed } else { HEAD_BYTES };
        let left = effort.checked_sub(cost);
        effort = left.unwrap_or(0);
        left.is_some()
    })
}

fn candidate(segment: &OpenSegment, at: usize) -> Option<Candidate> {
    let (head, side) = segment.head(at)?;
    let Head { first, own_bytes, payload_bytes, goes_on, .. } = head;
    let records = head.lengths.len() as u64;
    let is_behind = side != 0;
    let (start, end) = if is_behind {
        (at.checked_sub(payload_bytes + own_bytes)?, at + own_bytes)
    } else {
        (at, at.checked_add(head.frame_bytes())?)
    };
    let frame = Frame { first, records, at: start, head_at: at, goes_on };
    Some(Candidate { frame, end, is_behind, is_whole: is_behind })
}

#[cfg(test)]
mod tests {
    use super::super::frame;
    use super::super::{OpenHeader, start};
    use super::*;
    use crate::codec::{Codec, Encoder};
    use crate::{Batch, Dictionary};
    use std::path::Path;

    #[test]
    fn heads_without_frames_cost_one_pass() {
        let (dictionary, header) =
            (Dictionary::default(), OpenHeader { store: 1, base: 0, seed: 7, keyed: false });
        let mut encoder = Encoder::new(Codec::Lz4, 1, &dictionary).unwrap();
        let batch: Batch = [&b"a record"[..]].into_iter().collect();
        let mut file = start(header, &dictionary).unwrap();
        let mut whole = Vec::new();
        for id in 0..20_000 {
            whole.clear();
            frame::write(&batch, 0..1, id, header.seed, &mut encoder, &mut whole).unwrap();
            let (head, _) = Head::parse(&whole, header.seed).unwrap();
            // The head, a payload that is none, and no head after it.
            file.extend_from_slice(&whole[..head.own_bytes]);
            file.resize(file.len() + head.payload_bytes, 0xff);
        }
        let parse =
            |file: &[u8]| OpenSegment::parse(file.to_vec(), Path::new("file"), None, None).unwrap();
        let segment = parse(&file);
        assert!(segment.frames.is_empty() && segment.torn);
        file.extend_from_slice(&whole);
        let segment = parse(&file);
        assert_eq!(segment.end(), 20_000);
        assert!(!segment.damage.is_empty() && !segment.torn);
    }
}
