//! The mark after the last commit: it says that the commit was synced. Damage to that commit is then not taken for a write that a
//! power cut has torn.
//!
//! A mark is a frame without records and with the generation of the commit before it, so nobody takes it for a commit. It
//! stands where the next commit begins, which overwrites it and says the same in its own header. That costs no sync, and
//! no block that the next commit would not write anyway.

use super::PageError;
use super::frame::{self, FRAME_HEADER_BYTES, FrameHeader};
use super::store::Store;

impl Store {
    /// Notes that every commit so far has been synced, in memory and after the last of them.
    pub(super) fn acknowledge(&mut self) {
        self.durable = self.generation;
        if self.log.frames.is_empty() {
            return;
        }
        let mut bytes = std::mem::take(&mut self.scratch);
        frame::encode(&self.expected_mark(), &[], self.file_id(), self.shared.granule, &mut bytes);
        // The commit holds without the mark, so a mark that cannot be written does not fail the commit.
        let _ = self.shared.pack.write(&[&bytes], self.extents.tail());
        self.scratch = bytes;
    }

    /// What the mark of the last commit says, but for its checksum.
    fn expected_mark(&self) -> FrameHeader {
        FrameHeader {
            record_count: 0,
            epoch: self.superblock.epoch,
            generation: self.generation,
            durable: self.generation,
            previous: self.log.previous,
            page_count: self.map.page_count(),
            inline_bytes: 0,
            checksum: 0,
        }
    }

    /// True if the file has more after the tail than the mark of the last commit: something that a crash has left.
    pub(super) fn has_leftovers(&mut self) -> Result<bool, PageError> {
        let length = self.shared.pack.length()?;
        let tail = self.extents.tail();
        if length <= tail {
            return Ok(false);
        }
        if length != tail + frame::frame_bytes(0, self.shared.granule) {
            return Ok(true);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        self.shared.pack.read(&mut bytes, tail)?;
        let mark = frame::header(&bytes).filter(|header| self.is_whole_mark(header, &bytes));
        let expected = self.expected_mark();
        Ok(mark.is_none_or(|mark| FrameHeader { checksum: 0, ..mark } != expected))
    }

    fn is_whole_mark(&self, header: &FrameHeader, bytes: &[u8]) -> bool {
        header.record_count == 0 && frame::records(header, bytes, self.shared.file_id).is_some()
    }
}
