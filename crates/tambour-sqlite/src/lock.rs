//! SQLite's five locks between the connections of this process. Other processes are kept out by the store.

/// The levels, as SQLite counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing is read.
    #[default]
    None,
    /// The file is read.
    Shared,
    /// One connection will write.
    Reserved,
    /// It waits for the readers to go; nobody new may read.
    Pending,
    /// It writes.
    Exclusive,
}

impl Level {
    /// The level of SQLite's number.
    pub(crate) fn of(number: i32) -> Self {
        match number {
            1 => Self::Shared,
            2 => Self::Reserved,
            3 => Self::Pending,
            number if number >= 4 => Self::Exclusive,
            _ => Self::None,
        }
    }
}

/// Who has which lock on a database.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    readers: usize,
    /// The connection that has more than a shared lock, and which.
    writer: Option<(u64, Level)>,
}

impl Locks {
    /// Raises the lock of a connection that has `held`. Returns what it has then; `wanted` is not reached when others are in
    /// the way.
    pub(crate) fn raise(&mut self, who: u64, held: Level, wanted: Level) -> Level {
        if held >= wanted {
            return held;
        }
        let other = self.writer.filter(|(writer, _)| *writer != who).map(|(_, level)| level);
        if held == Level::None {
            // SQLite asks for a shared lock first.
            if other.is_some_and(|level| level >= Level::Pending) {
                return held;
            }
            self.readers += 1;
            if wanted == Level::Shared {
                return Level::Shared;
            }
        }
        let held = held.max(Level::Shared);
        if other.is_some() {
            return held;
        }
        let reached = match wanted {
            Level::Exclusive if self.readers > 1 => Level::Pending,
            wanted => wanted,
        };
        self.writer = Some((who, reached));
        reached
    }

    /// Lowers the lock of a connection.
    pub(crate) fn lower(&mut self, who: u64, held: Level, wanted: Level) -> Level {
        if held <= wanted {
            return held;
        }
        if self.writer.is_some_and(|(writer, _)| writer == who) && wanted <= Level::Shared {
            self.writer = None;
        }
        if wanted == Level::None {
            self.readers = self.readers.saturating_sub(1);
        }
        wanted
    }

    /// True if somebody will write or writes.
    pub(crate) fn is_reserved(&self) -> bool {
        self.writer.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Locks};

    #[test]
    fn a_writer_waits_for_readers_and_keeps_new_ones_out() {
        let mut locks = Locks::default();
        let one = locks.raise(1, Level::None, Level::Shared);
        let two = locks.raise(2, Level::None, Level::Shared);
        assert_eq!((one, two), (Level::Shared, Level::Shared));
        let one = locks.raise(1, one, Level::Reserved);
        assert_eq!(one, Level::Reserved);
        assert_eq!(locks.raise(2, two, Level::Reserved), Level::Shared);
        let one = locks.raise(1, one, Level::Exclusive);
        assert_eq!(one, Level::Pending);
        assert_eq!(locks.raise(3, Level::None, Level::Shared), Level::None);
        locks.lower(2, two, Level::None);
        let one = locks.raise(1, one, Level::Exclusive);
        assert_eq!(one, Level::Exclusive);
        let one = locks.lower(1, one, Level::Shared);
        assert!(!locks.is_reserved());
        assert_eq!(locks.raise(3, Level::None, Level::Shared), Level::Shared);
        assert_eq!(locks.lower(1, one, Level::None), Level::None);
    }
}
