//! A last commit of which only some pages reached the disk.
//!
//! A commit appends its frames in one go and returns when they are synced; the next one begins after that. So a frame that
//! begins a commit proves that all before it was durable, and only what the last commit wrote can be torn. Pages reach the
//! disk in any order: of what was appended each sector is there, or it is zeros, or it is behind the end of the file. If
//! everything that is wrong from some frame of the last commit on lies in such sectors, the commit was torn, and the frame
//! and all behind it are taken for unwritten; nobody was told that they are durable. Other bytes are damage.
//!
//! A disk that loses a sector of a last commit that was durable leaves the same. That cannot be told apart.

use super::frame::{HEAD_BYTES, Head, starts_like_head};
use super::search::Candidates;
use super::{Frame, OpenSegment, Tail};
use crate::record::RecordError;
use std::ops::Range;

/// The least that disks write at once.
const SECTOR_BYTES: usize = 512;

/// Takes frames of the last commit back, if that was torn; what follows the others then. Frames begin at `frames_at`. `None`
/// where it was not, or nothing follows.
pub(super) fn settle(segment: &mut OpenSegment, frames_at: usize) -> Option<Tail> {
    // Where its first frame is lost, so is its start: it lies behind all that can be read in front of it.
    let begun = segment.frames.iter().rposition(|frame| !frame.goes_on);
    let first = begun.unwrap_or(0);
    let start = begun.map_or(frames_at, |first| segment.frames[first].at);
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
            let tail = torn(segment, from)?;
            segment.frames.truncate(number);
            segment.frames_end = from;
            segment.damage.retain(|found| offset(found) < from as u64);
            forgive(segment, start);
            return Some(tail);
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

/// The tail from `from` on, if all that is wrong there is what a torn commit leaves.
pub(super) fn torn(segment: &OpenSegment, from: usize) -> Option<Tail> {
    let mut frames: Vec<Frame> = Candidates::find(segment, from).frames().collect();
    frames.sort_by_key(|frame| (frame.at, frame.head_at));
    let mut frames = frames.into_iter().filter(|frame| frame.at >= from).peekable();
    let (mut at, mut id, mut records) = (from, id_at(segment, from), None);
    while at < segment.file_bytes {
        // Heads within the frame before are part of its records.
        while frames.next_if(|frame| frame.at < at).is_some() {}
        let next = frames.peek().copied();
        let Some(frame) = next.filter(|frame| frame.at == at) else {
            let gap = at..next.map_or(segment.file_bytes, |frame| frame.at);
            let rest = segment.bytes.get(gap.clone()).unwrap_or_default();
            let zeros = rest.iter().rev().take_while(|byte| **byte == 0).count();
            let is_beginning = next.is_none() && starts_like_head(&rest[..rest.len() - zeros]);
            if !is_beginning && !is_lost(segment, from, gap.clone()) {
                return None;
            }
            at = gap.end;
            id = next.map_or(id, |frame| frame.first.max(id + 1));
            continue;
        };
        // Whoever begins a commit proves that what is in front was durable.
        if frame.first != id || (at > from && !frame.goes_on) {
            return None;
        }
        let (head, _) = segment.head(frame.head_at)?;
        for piece in wrong_pieces(segment, &head, at) {
            if !is_lost(segment, from, piece) {
                return None;
            }
        }
        if at == from {
            records = Some(frame.records);
        }
        at += head.frame_bytes();
        id = frame.first + frame.records;
    }
    Some(Tail::Cut { records })
}

/// The id behind the last record in front of some place.
fn id_at(segment: &OpenSegment, at: usize) -> u64 {
    let before = segment.frames.partition_point(|frame| frame.at < at).checked_sub(1);
    before.map_or(segment.header.base, |last| {
        let frame = segment.frames[last];
        frame.first + frame.records
    })
}

/// The heads and blocks of a frame that are not what they should be.
fn wrong_pieces(segment: &OpenSegment, head: &Head, at: usize) -> Vec<Range<usize>> {
    let mut wrong = Vec::new();
    let payload_at = at + head.own_bytes;
    let behind_at = payload_at + head.payload_bytes;
    for (start, expected) in [(at, 0), (behind_at, 1)] {
        let is_right =
            segment.head(start).is_some_and(|(found, side)| side == expected && found == *head);
        if !is_right {
            wrong.push(start..start + head.own_bytes);
        }
    }
    for (number, block) in head.blocks.iter().enumerate() {
        if segment.block(head, payload_at, number).is_err() {
            wrong.push(payload_at + block.place.start..payload_at + block.place.end);
        }
    }
    wrong
}

/// Whether a sector of a range is zeros as far as the commit wrote it, or behind the end of the file.
fn is_lost(segment: &OpenSegment, from: usize, range: Range<usize>) -> bool {
    if range.end > segment.file_bytes {
        return true;
    }
    let first = range.start / SECTOR_BYTES;
    (first..range.end.div_ceil(SECTOR_BYTES)).any(|sector| {
        let start = (sector * SECTOR_BYTES).max(from);
        let end = ((sector + 1) * SECTOR_BYTES).min(segment.file_bytes);
        let bytes = segment.bytes.get(start..end).unwrap_or_default();
        !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
    })
}

/// A frame of the last commit whose blocks are whole counts without its first head, if that is lost as a crash loses it.
fn forgive(segment: &mut OpenSegment, start: usize) {
    let lost: Vec<u64> = segment
        .frames
        .iter()
        .filter(|frame| frame.at >= start && frame.head_at > frame.at)
        .filter(|frame| {
            let head_bytes =
                segment.head(frame.head_at).map_or(HEAD_BYTES, |(head, _)| head.own_bytes);
            is_lost(segment, start, frame.at..frame.at + head_bytes)
        })
        .map(|frame| frame.at as u64)
        .collect();
    segment.damage.retain(|found| !lost.contains(&offset(found)));
}

fn offset(error: &RecordError) -> u64 {
    if let RecordError::Corrupt { offset, .. } = error { *offset } else { 0 }
}
