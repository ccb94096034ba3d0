//! Remembers the head of the frame that was read last: reads of neighbours parse it once.

use super::frame::Head;
use super::{Frame, OpenSegment};
use crate::RecordError;
use crate::error::Damage;

/// The head of the frame that was read last.
#[derive(Debug, Default)]
pub(crate) struct HeadCache {
    /// Base of the segment, number of the frame, and its head.
    last: Option<(u64, usize, Head)>,
}

impl HeadCache {
    pub(super) fn of(
        &mut self,
        segment: &OpenSegment,
        number: usize,
        frame: Frame,
    ) -> Result<&Head, RecordError> {
        let base = segment.header.base;
        if self.last.as_ref().is_none_or(|last| (last.0, last.1) != (base, number)) {
            let bytes = segment.bytes.get(frame.head_at..).unwrap_or_default();
            let (head, _) = Head::parse(bytes, segment.header.seed)
                .map_err(|damage| damage.within(&segment.path, frame.head_at as u64))?;
            self.last = Some((base, number, head));
        }
        match &self.last {
            Some((_, _, head)) => Ok(head),
            None => Err(Damage::new(frame.at, "a frame", "one", "none").within(&segment.path, 0)),
        }
    }

    /// Forgets, for another view of the segments.
    pub(crate) fn clear(&mut self) {
        self.last = None;
    }
}
