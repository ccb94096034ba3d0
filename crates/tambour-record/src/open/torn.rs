//! A last commit of which only some pages reached the disk.
//!
//! A commit appends its frames in one go and returns when they are synced; the next one begins after that. So a frame that
//! begins a commit proves that all before it was durable, and only what the last commit wrote can be torn. Pages reach the
//! disk in any order: of what was appended each sector is there, or it is zeros, or it is past the end of the file. If
//! everything that is wrong from some frame of the last commit on is explained by such sectors, the commit was torn, and the
//! frame and all after it are taken for unwritten; nobody was told that they are durable. Other bytes are damage.
//!
//! A disk that loses a sector of a last commit that was durable leaves the same. That cannot be told apart; so where anything
//! whole stands after what was lost, a writer keeps a copy of the file, and `salvage` takes what is whole.

use super::frame::{HEAD_BYTES, Head, starts_like_head};
use super::lost::Sectors;
use super::search::Candidates;
use super::{Frame, OpenSegment, Tail};
use crate::RecordError;
use std::ops::Range;

/// What there is of a commit, or of its last frames, that is taken for unwritten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Torn {
    /// Its frames of which a head can be read.
    pub(super) frames: Vec<Frame>,
    /// Their records.
    pub(crate) records: Option<u64>,
    /// Whether a head or a block after the first lost place is whole.
    pub(crate) whole_behind: bool,
    /// Whether there may be records after those that heads tell of.
    pub(crate) unknown: bool,
    /// The first lost place.
    lost_at: Option<usize>,
}

/// The heads and blocks of a frame that are not what they should be.
#[derive(Default)]
pub(super) struct Wrong {
    /// Places of heads, and which of the two each is.
    heads: Vec<(usize, usize)>,
    blocks: Vec<Range<usize>>,
    /// The last place where something is right.
    right_at: usize,
}

impl Torn {
    /// Adds a frame of which one head can be read; what is wrong with it.
    pub(super) fn add(&mut self, segment: &OpenSegment, head: &Head, frame: Frame) -> Wrong {
        let wrong = Wrong::find(segment, head, frame.at);
        self.whole_behind |= self.lost_at.is_some();
        let starts = wrong.heads.iter().map(|head| head.0);
        let wrong_at = starts.chain(wrong.blocks.iter().map(|block| block.start)).min();
        if let Some(at) = wrong_at {
            self.whole_behind |= wrong.right_at > at;
            self.lost_at.get_or_insert(at);
        }
        self.records = Some(self.records.unwrap_or(0) + frame.records);
        self.frames.push(frame);
        self.unknown = false;
        wrong
    }

    fn add_gap(&mut self, at: usize) {
        self.lost_at.get_or_insert(at);
        self.unknown = true;
    }
}

/// Where the last commit begins of which the beginning is there, or `frames_at`.
pub(super) fn commit_start(segment: &OpenSegment, frames_at: usize) -> usize {
    let begun = segment.frames.iter().rfind(|frame| !frame.goes_on);
    begun.map_or(frames_at, |frame| frame.at)
}

/// Takes frames of the last commit back, if that was torn; what follows the others then. Frames begin at `frames_at`. `None`
/// where it was not, or nothing follows.
pub(super) fn settle(segment: &mut OpenSegment, frames_at: usize) -> Option<Tail> {
    // Where its first frame is lost, so is its start: it lies after all that can be read in front of it.
    let first = segment.frames.iter().rposition(|frame| !frame.goes_on).unwrap_or(0);
    let start = commit_start(segment, frames_at);
    let mut end = start;
    for number in first..segment.frames.len() {
        let frame = segment.frames[number];
        let (head, _) = segment.head(frame.head_at)?;
        let bad_at = if frame.at != end {
            Some(end)
        } else if segment.payload_is_whole(&head, frame.at + head.own_bytes) {
            None
        } else {
            Some(frame.at)
        };
        if let Some(from) = bad_at {
            let torn = torn(segment, from, start)?;
            segment.frames.truncate(number);
            segment.frames_end = from;
            segment.damage.retain(|found| offset(found) < from as u64);
            forgive(segment, start);
            return Some(Tail::Cut(torn));
        }
        end = frame.at + head.frame_bytes();
    }
    let rest = segment.frames_end..segment.file_bytes;
    let tail = if rest.is_empty() { None } else { Some(Tail::of(segment)) };
    if !matches!(tail, Some(Tail::Damaged { .. })) {
        forgive(segment, start);
    }
    tail
}

/// What is there from `from` on, if all that is wrong with it is what a torn commit leaves. `start` is that of the last commit
/// whose beginning is there.
pub(super) fn torn(segment: &OpenSegment, from: usize, start: usize) -> Option<Torn> {
    let mut frames: Vec<Frame> = Candidates::find(segment, from).frames().collect();
    frames.sort_by_key(|frame| (frame.at, frame.head_at));
    let mut frames = frames.into_iter().filter(|frame| frame.at >= from).peekable();
    // A frame that goes on shares its first sector with the one before; another one only with what was durable.
    let goes_on = frames.peek().is_some_and(|frame| frame.at == from && frame.goes_on);
    let sectors = Sectors { segment, start: if goes_on { start.min(from) } else { from } };
    let (mut at, mut id, mut torn) = (from, id_at(segment, from), Torn::default());
    while at < segment.file_bytes {
        // Heads within the frame before are part of its records.
        while frames.next_if(|frame| frame.at < at).is_some() {}
        let next = frames.peek().copied();
        // Whoever begins a commit proves that what is in front was durable.
        let begins = |goes_on: bool| at > from && !goes_on;
        let Some(frame) = next.filter(|frame| frame.at == at) else {
            let end = next.map_or(segment.file_bytes, |frame| frame.at);
            torn.add_gap(at);
            if next.is_none() && is_beginning(segment, at..end) {
                break;
            }
            let unread = sectors.explain_unread(at, end, id)?;
            if unread.goes_on.is_some_and(begins) {
                return None;
            }
            torn.whole_behind |= unread.has_end;
            (at, id) = match unread.told {
                Some((end, records)) => (end, id + records),
                None => (end, next.map_or(id, |frame| frame.first.max(id + 1))),
            };
            continue;
        };
        if frame.first != id || begins(frame.goes_on) {
            return None;
        }
        let (head, _) = segment.head(frame.head_at)?;
        let wrong = torn.add(segment, &head, frame);
        let mut heads = wrong.heads.iter();
        let mut blocks = wrong.blocks.into_iter();
        let is_explained = heads
            .all(|place| sectors.explain_head(*place, frame.head_at, head.own_bytes))
            && blocks.all(|block| sectors.any_is_lost(block));
        if !is_explained {
            return None;
        }
        at += head.frame_bytes();
        id = frame.first + frame.records;
    }
    Some(torn)
}

/// Whether the rest of a file is the beginning of a head, with or without zeros after it.
fn is_beginning(segment: &OpenSegment, place: Range<usize>) -> bool {
    let rest = segment.bytes.get(place).unwrap_or_default();
    let zeros = rest.iter().rev().take_while(|byte| **byte == 0).count();
    starts_like_head(&rest[..rest.len() - zeros])
}

/// The id after the last record in front of some place.
fn id_at(segment: &OpenSegment, at: usize) -> u64 {
    let before = segment.frames.partition_point(|frame| frame.at < at).checked_sub(1);
    before.map_or(segment.header.base, |last| {
        let frame = segment.frames[last];
        frame.first + frame.records
    })
}

impl Wrong {
    fn find(segment: &OpenSegment, head: &Head, at: usize) -> Self {
        let mut wrong = Self::default();
        let payload_at = at + head.own_bytes;
        let behind_at = payload_at + head.payload_bytes;
        for (start, expected) in [(at, 0), (behind_at, 1)] {
            let found = segment.head(start);
            if found.is_some_and(|(found, side)| side == expected && found == *head) {
                wrong.right_at = wrong.right_at.max(start);
            } else {
                wrong.heads.push((start, expected));
            }
        }
        for (number, block) in head.blocks.iter().enumerate() {
            let place = payload_at + block.place.start..payload_at + block.place.end;
            if segment.block(head, payload_at, number).is_ok() {
                wrong.right_at = wrong.right_at.max(place.start);
            } else {
                wrong.blocks.push(place);
            }
        }
        wrong
    }
}

/// A frame of the last commit whose blocks are whole counts without its first head, if that is lost as a crash loses it.
fn forgive(segment: &mut OpenSegment, start: usize) {
    let sectors = Sectors { segment, start };
    // In the order of the file, as frames are.
    let lost: Vec<u64> = segment
        .frames
        .iter()
        .filter(|frame| frame.at >= start && frame.head_at > frame.at)
        .filter(|frame| {
            let head_bytes =
                segment.head(frame.head_at).map_or(HEAD_BYTES, |(head, _)| head.own_bytes);
            sectors.explain_head((frame.at, 0), frame.head_at, head_bytes)
        })
        .map(|frame| frame.at as u64)
        .collect();
    segment.damage.retain(|found| lost.binary_search(&offset(found)).is_err());
}

fn offset(error: &RecordError) -> u64 {
    if let RecordError::Corrupt { offset, .. } = error { *offset } else { 0 }
}
