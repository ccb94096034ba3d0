//! The databases that this process has open: connections to one file share it.

use crate::Settings;
use crate::database::{Database, DatabaseError};
use crate::lock::{Level, Locks};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use tambour_page::Durability;

/// A database and who has it locked.
#[derive(Debug)]
pub(crate) struct Open {
    /// `None` when the last connection has closed it.
    pub(crate) database: Option<Database>,
    pub(crate) locks: Locks,
    connections: usize,
}

type Shared = Arc<Mutex<Open>>;

static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Mutex<Open>>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A connection's file.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Shared,
    id: u64,
    level: Level,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves the store's own state whole: it changes after its files.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Opens a database, or joins those who have it open.
    pub(crate) fn open(
        path: &Path,
        writable: bool,
        create: bool,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        let mut open = locked(&OPEN);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Some(shared) = open.get(path).and_then(Weak::upgrade) {
            let mut state = locked(&shared);
            if let Some(database) = &state.database {
                if writable {
                    database.check_writable()?;
                }
                state.connections += 1;
                drop(state);
                return Ok(Self { shared, id, level: Level::None });
            }
        }
        let database = Database::open(path, writable, create, settings)?;
        let state = Open { database: Some(database), locks: Locks::default(), connections: 1 };
        let shared = Arc::new(Mutex::new(state));
        open.insert(path.to_owned(), Arc::downgrade(&shared));
        open.retain(|_, shared| shared.strong_count() > 0);
        Ok(Self { shared, id, level: Level::None })
    }

    /// Does something with the database.
    pub(crate) fn with<T>(
        &self,
        act: impl FnOnce(&mut Database) -> Result<T, DatabaseError>,
    ) -> Option<Result<T, DatabaseError>> {
        locked(&self.shared).database.as_mut().map(act)
    }

    /// Raises the lock; `false` if others are in the way.
    pub(crate) fn raise(&mut self, wanted: Level) -> bool {
        self.level = locked(&self.shared).locks.raise(self.id, self.level, wanted);
        self.level >= wanted
    }

    /// Lowers the lock. What a writer has not synced is written, without waiting for the disk: SQLite did not ask for that.
    pub(crate) fn lower(&mut self, wanted: Level) -> Result<(), DatabaseError> {
        let mut state = locked(&self.shared);
        let written = match &mut state.database {
            Some(database) if self.level > Level::Shared => database.flush(Durability::Async),
            _ => Ok(()),
        };
        self.level = state.locks.lower(self.id, self.level, wanted);
        written
    }

    /// True if a connection will write or writes.
    pub(crate) fn is_reserved(&self) -> bool {
        locked(&self.shared).locks.is_reserved()
    }

    /// Closes the file; the last connection closes the database.
    pub(crate) fn close(mut self) -> Result<(), DatabaseError> {
        let lowered = self.lower(Level::None);
        // Whoever opens waits until the store has let go of its file.
        let _open = locked(&OPEN);
        let mut state = locked(&self.shared);
        state.connections -= 1;
        if state.connections > 0 {
            return lowered;
        }
        let closed = state.database.take().map_or(Ok(()), Database::close);
        lowered.and(closed)
    }
}
