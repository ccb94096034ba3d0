//! The databases that this process has open: its connections to one file share what is decoded.

use crate::Settings;
use crate::database::{self, Database, DatabaseError, Identity, Room};
use crate::lock::{Level, Lock};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use tambour_page::PageError;

/// A database and how many connections use it.
#[derive(Debug)]
struct Open {
    /// `None` when the last connection has closed it.
    database: Option<Database>,
    connections: usize,
    /// How many of them have a shared lock, or more.
    readers: usize,
    /// The same file, opened by who did not know that it is open. To close it would give back SQLite's locks on it.
    spare: Vec<Database>,
}

/// A database with those who have it open.
type Shared = Arc<Mutex<Open>>;

/// By the files themselves: one that is replaced or removed is another one than that which has its name now. SQLite's own locks
/// go by the same.
type Register = HashMap<Identity, Weak<Mutex<Open>>>;

static OPEN: LazyLock<Mutex<Register>> = LazyLock::new(Mutex::default);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves the store's own state whole: it changes after its files.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One more user of a database; the last one that goes closes it.
#[derive(Debug)]
pub(crate) struct Seat {
    shared: Shared,
    identity: Identity,
    closed: bool,
}

/// A connection's file.
#[derive(Debug)]
pub(crate) struct Connection {
    seat: Seat,
    pub(crate) lock: Lock,
    level: Level,
    /// `PRAGMA locking_mode = EXCLUSIVE` was given.
    pub(crate) is_alone: bool,
}

/// Why a lock was not got.
#[derive(Debug)]
pub(crate) enum Refused {
    /// SQLite's own code.
    Code(i32),
    Database(DatabaseError),
}

impl Seat {
    /// Opens a database, or joins those who have it open.
    pub(crate) fn take(
        path: &Path,
        create: bool,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        let mut open = locked(&OPEN);
        if let Some(seat) = database::named(path).and_then(|named| Self::join(&open, named)) {
            return Ok(seat);
        }
        let database = Database::open(path, create, settings)?;
        let identity = database.identity()?;
        if let Some(seat) = Self::join(&open, identity) {
            // It got this name between two looks at it.
            locked(&seat.shared).spare.push(database);
            return Ok(seat);
        }
        let database = Some(database);
        let state = Open { database, connections: 1, readers: 0, spare: Vec::new() };
        let shared = Arc::new(Mutex::new(state));
        open.insert(identity, Arc::downgrade(&shared));
        open.retain(|_, shared| shared.strong_count() > 0);
        Ok(Self { shared, identity, closed: false })
    }

    /// One more who uses a file that is open; `None` if it is not.
    fn join(open: &Register, identity: Identity) -> Option<Self> {
        let shared = open.get(&identity).and_then(Weak::upgrade)?;
        let mut state = locked(&shared);
        state.database.as_ref()?;
        state.connections += 1;
        drop(state);
        Some(Self { shared, identity, closed: false })
    }

    /// Whether the file has this name still, or again.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        database::named(path) == Some(self.identity)
    }

    /// False if the system lets this process only read the file.
    pub(crate) fn is_writable(&self) -> bool {
        locked(&self.shared).database.as_ref().is_some_and(Database::is_writable)
    }

    fn leave(&mut self) -> Result<(), DatabaseError> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        // Whoever opens waits until the store has let go of its file.
        let _open = locked(&OPEN);
        let mut state = locked(&self.shared);
        state.connections -= 1;
        if state.connections > 0 {
            return Ok(());
        }
        let closed = state.database.take().map_or(Ok(()), Database::close);
        state.spare.clear();
        closed
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // Who drops it and does not close the connection has failed to open it.
        let _ = self.leave();
    }
}

impl Connection {
    /// A connection that has its seat and its lock.
    pub(crate) fn new(seat: Seat, lock: Lock) -> Self {
        Self { seat, lock, level: Level::None, is_alone: false }
    }

    /// Does something with the database.
    pub(crate) fn with<T>(
        &self,
        act: impl FnOnce(&mut Database) -> Result<T, DatabaseError>,
    ) -> Option<Result<T, DatabaseError>> {
        locked(&self.seat.shared).database.as_mut().map(act)
    }

    /// Reads; without a lock as SQLite does when it opens a file, which has the content of an empty file if somebody writes
    /// just now: SQLite looks again when it has a lock.
    pub(crate) fn read(
        &self,
        target: &mut Room<'_>,
        offset: u64,
    ) -> Option<Result<bool, DatabaseError>> {
        let mut state = locked(&self.seat.shared);
        let is_locked = state.readers > 0;
        let database = state.database.as_mut()?;
        if is_locked {
            return Some(database.read(target, offset));
        }
        Some(match database.peek() {
            Ok(()) => {
                let read = database.read(target, offset);
                database.end();
                read
            }
            Err(DatabaseError::Store(PageError::Locked { .. })) => {
                target.fill_rest(0);
                Ok(false)
            }
            Err(error) => Err(error),
        })
    }

    /// Raises the lock.
    pub(crate) fn raise(&mut self, number: i32) -> Result<(), Refused> {
        let wanted = Level::of(number);
        if self.level >= wanted {
            return Ok(());
        }
        let code = self.lock.raise(number);
        if code != crate::abi::OK {
            return Err(Refused::Code(code));
        }
        let mut state = locked(&self.seat.shared);
        let Open { database: Some(database), readers, .. } = &mut *state else {
            return Err(Refused::Code(crate::abi::IOERR_LOCK));
        };
        if self.level == Level::None {
            if *readers == 0
                && let Err(error) = database.begin()
            {
                self.lock.lower(0);
                return Err(Refused::Database(error));
            }
            *readers += 1;
            self.level = Level::Shared;
        }
        if wanted == Level::Exclusive {
            // The lock of SQLite stays as it is if this fails: SQLite asks again, or gives all of it back.
            database.begin_write().map_err(Refused::Database)?;
        }
        self.level = wanted;
        Ok(())
    }

    /// Lowers the lock. What a writer has not asked to be written is written, without waiting for the disk.
    pub(crate) fn lower(&mut self, number: i32) -> Result<(), Refused> {
        let wanted = Level::of(number);
        let lowered = self.lower_store(wanted);
        let code = self.lock.lower(number);
        lowered.map_err(Refused::Database)?;
        if code == crate::abi::OK { Ok(()) } else { Err(Refused::Code(code)) }
    }

    fn lower_store(&mut self, wanted: Level) -> Result<(), DatabaseError> {
        if self.level <= wanted {
            return Ok(());
        }
        let mut state = locked(&self.seat.shared);
        let Open { database: Some(database), readers, .. } = &mut *state else { return Ok(()) };
        let mut lowered = Ok(());
        if self.level > Level::Shared {
            lowered = database.end_write();
        }
        if wanted == Level::None {
            *readers = readers.saturating_sub(1);
            if *readers == 0 {
                database.end();
            }
        }
        self.level = wanted;
        lowered
    }

    /// Closes the file; the last connection closes the database.
    pub(crate) fn close(mut self) -> Result<(), DatabaseError> {
        self.lower_store(Level::None)?;
        let Self { mut seat, lock, .. } = self;
        // The locks go with the file.
        drop(lock);
        seat.leave()
    }
}
