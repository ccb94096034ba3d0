//! Units of objects that were fetched, or are being fetched: one request for all who want the same.

use crate::error::StoreError;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes that the units of a storage may take.
pub(crate) const BUDGET_BYTES: u64 = 128 << 20;

/// One unit of one object: the number of the opened file, and that of the unit.
pub(crate) type Key = (u64, u64);

/// What becomes of a unit.
#[derive(Clone, Debug)]
enum State {
    Fetching,
    Here(Bytes),
    Failed(Arc<StoreError>),
}

/// A unit that somebody fetches, for everybody who waits.
#[derive(Debug)]
pub(crate) struct Cell {
    state: Mutex<State>,
    ready: Condvar,
}

impl Cell {
    /// Waits until it is here.
    pub(crate) fn wait(&self) -> Result<Bytes, Arc<StoreError>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                State::Here(bytes) => return Ok(bytes.clone()),
                State::Failed(error) => return Err(Arc::clone(error)),
                State::Fetching => {}
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.ready.notify_all();
    }
}

#[derive(Debug)]
struct Slot {
    cell: Arc<Cell>,
    /// When it was used last; units in flight are in no order yet.
    used: Option<u64>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Slots {
    units: BTreeMap<Key, Slot>,
    /// Units that are here, by when they were used.
    order: BTreeMap<u64, Key>,
    clock: u64,
    bytes: u64,
}

/// The units of a storage; those that nobody used for longest go first.
#[derive(Debug)]
pub(crate) struct Cache {
    slots: Mutex<Slots>,
    budget: u64,
    /// Places that are read in order, in all files: they share what may be asked for in advance.
    in_order: AtomicU64,
}

/// A unit as one finds it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) cell: Arc<Cell>,
    /// True if nobody fetches it: the caller must.
    pub(crate) is_new: bool,
}

impl Cache {
    pub(crate) fn new(budget: u64) -> Self {
        Self { slots: Mutex::default(), budget, in_order: AtomicU64::new(0) }
    }

    /// A place is read in order from now on.
    pub(crate) fn begin_order(&self) {
        self.in_order.fetch_add(1, Ordering::Relaxed);
    }

    /// Places are not read any more.
    pub(crate) fn end_order(&self, places: u64) {
        self.in_order.fetch_sub(places, Ordering::Relaxed);
    }

    /// Bytes that each place may ask for in advance, so that what came for one is not let go before it is read.
    pub(crate) fn ahead_max(&self) -> u64 {
        self.budget / 2 / self.in_order.load(Ordering::Relaxed).max(1)
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A unit that is here or on its way, or a new one that the caller fetches.
    pub(crate) fn claim(&self, key: Key) -> Claim {
        let mut slots = self.lock();
        if let Some(slot) = slots.units.get(&key) {
            let (cell, used) = (Arc::clone(&slot.cell), slot.used);
            if let Some(used) = used {
                slots.order.remove(&used);
                slots.put_last(key);
            }
            return Claim { cell, is_new: false };
        }
        let cell = Arc::new(Cell { state: Mutex::new(State::Fetching), ready: Condvar::new() });
        slots.units.insert(key, Slot { cell: Arc::clone(&cell), used: None, bytes: 0 });
        Claim { cell, is_new: true }
    }

    /// A unit is here.
    pub(crate) fn fulfil(&self, key: Key, cell: &Arc<Cell>, unit: Bytes) {
        let bytes = unit.len() as u64;
        cell.set(State::Here(unit));
        let mut slots = self.lock();
        // Its file may have been closed since.
        if !slots.units.get(&key).is_some_and(|slot| Arc::ptr_eq(&slot.cell, cell)) {
            return;
        }
        slots.put_last(key);
        if let Some(slot) = slots.units.get_mut(&key) {
            slot.bytes = bytes;
        }
        slots.bytes += bytes;
        while slots.bytes > self.budget {
            let Some((_, oldest)) = slots.order.pop_first() else { break };
            slots.remove(oldest);
        }
    }

    /// A unit does not come; whoever wants it next asks again.
    pub(crate) fn fail(&self, key: Key, cell: &Arc<Cell>, error: &Arc<StoreError>) {
        let mut slots = self.lock();
        if slots.units.get(&key).is_some_and(|slot| Arc::ptr_eq(&slot.cell, cell)) {
            slots.remove(key);
        }
        drop(slots);
        cell.set(State::Failed(Arc::clone(error)));
    }

    /// Forgets the units of a file.
    pub(crate) fn forget(&self, file: u64) {
        let mut slots = self.lock();
        let keys: Vec<Key> =
            slots.units.range((file, 0)..=(file, u64::MAX)).map(|it| *it.0).collect();
        for key in keys {
            slots.remove(key);
        }
    }

    /// Bytes that are kept.
    #[cfg(test)]
    fn bytes(&self) -> u64 {
        self.lock().bytes
    }
}

impl Slots {
    fn put_last(&mut self, key: Key) {
        self.clock += 1;
        let now = self.clock;
        self.order.insert(now, key);
        if let Some(slot) = self.units.get_mut(&key) {
            slot.used = Some(now);
        }
    }

    fn remove(&mut self, key: Key) {
        let Some(slot) = self.units.remove(&key) else { return };
        if let Some(used) = slot.used {
            self.order.remove(&used);
        }
        self.bytes -= slot.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Cache, key: Key, length: usize) {
        let claim = cache.claim(key);
        assert!(claim.is_new, "{key:?}");
        cache.fulfil(key, &claim.cell, Bytes::from(vec![0; length]));
    }

    #[test]
    fn the_least_recently_used_goes_first_and_a_closed_file_at_once() {
        let cache = Cache::new(100);
        put(&cache, (1, 0), 40);
        put(&cache, (1, 1), 40);
        assert!(!cache.claim((1, 0)).is_new);
        put(&cache, (2, 0), 40);
        assert_eq!(cache.bytes(), 80);
        assert!(!cache.claim((1, 0)).is_new, "used since");
        put(&cache, (1, 1), 10);
        cache.forget(1);
        assert_eq!(cache.bytes(), 40);
        // One that is larger than everything is handed on, not kept.
        put(&cache, (3, 0), 101);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn places_share_what_is_asked_for_in_advance() {
        let cache = Cache::new(800);
        assert_eq!(cache.ahead_max(), 400);
        (0..8).for_each(|_| cache.begin_order());
        assert_eq!(cache.ahead_max(), 50);
        cache.end_order(7);
        assert_eq!(cache.ahead_max(), 400);
    }

    #[test]
    fn a_failure_is_told_once_and_asked_anew() {
        let cache = Cache::new(100);
        let (first, second) = (cache.claim((1, 0)), cache.claim((1, 0)));
        assert!(first.is_new && !second.is_new);
        let error = Arc::new(StoreError::GivenUp { url: "s3://b/x".to_owned() });
        cache.fail((1, 0), &first.cell, &error);
        assert!(second.cell.wait().is_err());
        assert!(cache.claim((1, 0)).is_new);
        // One whose file was closed in between still comes to those who wait.
        let late = cache.claim((1, 1));
        cache.forget(1);
        cache.fulfil((1, 1), &late.cell, Bytes::from_static(b"late"));
        assert_eq!(late.cell.wait().unwrap(), "late");
        assert_eq!(cache.bytes(), 0);
    }
}
