//! An opened object: reads at positions, by units that are fetched in runs.

use crate::cache::{Cache, Cell, Claim};
use crate::error::{StoreError, io};
use crate::fetch::{Object, Run, UNIT};
use crate::runtime;
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::{ErrorKind, Result};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_storage::ReadAt;

/// Units of one request, at most: 8 MiB.
const RUN_MAX: u64 = 32;
/// Places in one file that are read in order, at most; a scan has one for each of its threads.
const STREAMS_MAX: usize = 16;

/// Numbers of opened files.
static FILES: AtomicU64 = AtomicU64::new(0);

/// A place that is read in order.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Where the next read would begin.
    next: u64,
    /// Units that are asked for in advance: none at first, then twice as many each time.
    ahead: u64,
    /// The unit up to which was asked already.
    asked: u64,
}

/// An opened object.
#[derive(Debug)]
pub(crate) struct ObjectFile {
    object: Arc<Object>,
    cache: Arc<Cache>,
    number: u64,
    streams: Mutex<VecDeque<Stream>>,
}

impl ObjectFile {
    pub(crate) fn new(object: Object, cache: Arc<Cache>) -> Self {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        Self { object: Arc::new(object), cache, number, streams: Mutex::default() }
    }

    /// The units to ask for when those of `wanted` are read, which begins at `offset`.
    fn with_ahead(&self, offset: u64, end: u64, wanted: &Range<u64>) -> Range<u64> {
        let total = self.object.size.div_ceil(UNIT);
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let follows = |it: &Stream| offset >= it.next && offset - it.next < UNIT;
        let found = streams.iter().position(follows).and_then(|at| streams.remove(at));
        let mut stream = found.unwrap_or(Stream { next: end, ahead: 0, asked: wanted.end });
        let mut asked = wanted.end;
        if found.is_some() {
            stream.asked = stream.asked.max(wanted.end);
            // Half of what was asked in advance is used up: ask for the next piece while the other half is read.
            if stream.asked - wanted.end <= stream.ahead / 2 {
                if stream.ahead == 0 {
                    self.cache.begin_order();
                }
                let most = (self.cache.ahead_max() / UNIT).clamp(1, RUN_MAX);
                stream.ahead = (2 * stream.ahead).clamp(1, most);
                stream.asked = (stream.asked + stream.ahead).min(total.max(wanted.end));
                asked = stream.asked;
            }
        }
        stream.next = end;
        streams.push_back(stream);
        if streams.len() > STREAMS_MAX {
            let gone = streams.pop_front();
            self.cache.end_order(u64::from(gone.is_some_and(|it| it.ahead > 0)));
        }
        wanted.start..asked
    }

    /// Asks for units that nobody has asked for; gives the cells of all, and whether they were new.
    fn claim(&self, units: Range<u64>) -> std::result::Result<Vec<Claim>, StoreError> {
        let claims: Vec<Claim> =
            units.clone().map(|unit| self.cache.claim((self.number, unit))).collect();
        let mut run: Option<Run> = None;
        let mut runs = Vec::new();
        for (unit, claim) in units.zip(&claims) {
            let is_full = run.as_ref().is_some_and(|run| run.cells.len() as u64 >= RUN_MAX);
            if !claim.is_new || is_full {
                runs.extend(run.take());
            }
            if claim.is_new {
                run.get_or_insert_with(|| self.run(unit)).cells.push_back(Arc::clone(&claim.cell));
            }
        }
        for run in runs.into_iter().chain(run) {
            runtime::spawn(run.fetch())?;
        }
        Ok(claims)
    }

    fn run(&self, next: u64) -> Run {
        let (object, cache) = (Arc::clone(&self.object), Arc::clone(&self.cache));
        Run { object, cache, file: self.number, next, cells: VecDeque::new() }
    }

    /// A unit that was claimed. If somebody else's request failed, it is asked for once more.
    fn wait(&self, unit: u64, claim: &Claim) -> std::result::Result<Bytes, Arc<StoreError>> {
        let cell: &Cell = &claim.cell;
        match cell.wait() {
            Err(_) if !claim.is_new => {
                let again = self.claim(unit..unit + 1).map_err(Arc::new)?;
                again.first().map_or_else(|| cell.wait(), |claim| claim.cell.wait())
            }
            answer => answer,
        }
    }

    fn read_piece(
        &self,
        target: &mut [u8],
        offset: u64,
    ) -> std::result::Result<(), Arc<StoreError>> {
        let end = offset + target.len() as u64;
        let wanted = offset / UNIT..end.div_ceil(UNIT);
        let asked = self.with_ahead(offset, end, &wanted);
        let claims = self.claim(asked).map_err(Arc::new)?;
        let mut target = target;
        let mut at = offset;
        for (unit, claim) in wanted.zip(&claims) {
            let bytes = self.wait(unit, claim)?;
            let from = usize::try_from(at - unit * UNIT).unwrap_or(usize::MAX);
            let piece = bytes.get(from..).unwrap_or_default();
            let count = piece.len().min(target.len());
            let (filled, rest) = target.split_at_mut(count);
            filled.copy_from_slice(&piece[..count]);
            (target, at) = (rest, at + count as u64);
        }
        if target.is_empty() {
            return Ok(());
        }
        let (expected, got) = (end - offset, at - offset);
        Err(Arc::new(StoreError::Short { url: self.object.url.clone(), offset, expected, got }))
    }
}

impl ReadAt for ObjectFile {
    fn len(&self) -> u64 {
        self.object.size
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(target.len() as u64);
        if end.is_none_or(|end| end > self.object.size) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut at = offset;
        for piece in target.chunks_mut(usize::try_from(RUN_MAX * UNIT).unwrap_or(usize::MAX)) {
            self.read_piece(piece, at).map_err(io)?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}

impl Drop for ObjectFile {
    fn drop(&mut self) {
        let streams = self.streams.get_mut().unwrap_or_else(PoisonError::into_inner);
        let in_order = streams.iter().filter(|it| it.ahead > 0).count();
        self.cache.end_order(in_order as u64);
        self.cache.forget(self.number);
    }
}
