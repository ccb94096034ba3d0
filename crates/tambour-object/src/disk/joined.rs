//! Files whose bytes lie elsewhere: in objects that follow one another, or in the metadata itself.

use std::io::{ErrorKind, Result};
use std::sync::Arc;
use tambour_storage::ReadAt;

/// Objects that follow one another.
#[derive(Debug)]
pub(super) struct Joined {
    pieces: Vec<Arc<dyn ReadAt>>,
    /// Where each of them ends.
    ends: Vec<u64>,
}

impl Joined {
    /// All pieces as one file; their lengths are known to have a sum.
    pub(super) fn of(mut pieces: Vec<Arc<dyn ReadAt>>) -> Arc<dyn ReadAt> {
        if pieces.len() == 1
            && let Some(only) = pieces.pop()
        {
            return only;
        }
        let ends = pieces.iter().scan(0, |end, piece| {
            *end += piece.len();
            Some(*end)
        });
        let ends = ends.collect();
        Arc::new(Self { pieces, ends })
    }

    /// The pieces in a range: each with where the range begins in it, and how many of its bytes are wanted.
    fn within(
        &self,
        offset: u64,
        length: usize,
    ) -> impl Iterator<Item = (&dyn ReadAt, u64, usize)> {
        let end = offset.saturating_add(length as u64);
        let first = self.ends.partition_point(|piece_end| *piece_end <= offset);
        let pieces = self.pieces.iter().zip(&self.ends).skip(first);
        let ranges = pieces.map(move |(piece, &piece_end)| {
            let start = piece_end - piece.len();
            let (from, to) = (offset.max(start), end.min(piece_end));
            (piece.as_ref(), from - start, usize::try_from(to.saturating_sub(from)).unwrap_or(0))
        });
        // An empty piece has nothing that is wanted, but those after it may.
        ranges.filter(|(_, _, count)| *count > 0)
    }
}

impl ReadAt for Joined {
    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> Result<()> {
        let mut rest = target;
        for (piece, from, count) in self.within(offset, rest.len()) {
            let (now, next) = std::mem::take(&mut rest).split_at_mut(count);
            piece.read_exact_at(now, from)?;
            rest = next;
        }
        if rest.is_empty() { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }
    fn will_need(&self, offset: u64, length: usize) {
        for (piece, from, count) in self.within(offset, length) {
            piece.will_need(from, count);
        }
    }
}

/// Bytes that the metadata has itself.
#[derive(Debug)]
pub(super) struct Inline(pub(super) Vec<u8>);

impl ReadAt for Inline {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let source = self.0.get(start..).and_then(|rest| rest.get(..target.len()));
        target.copy_from_slice(source.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}
