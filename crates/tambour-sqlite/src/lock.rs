//! SQLite's locks on a database: those of SQLite itself.
//!
//! Beside the store, each connection has the same file open through SQLite's own VFS, and never reads or writes through it:
//! it is there for its locks. So a store is locked as a plain database is, between the connections of a process and between
//! processes, on every system that SQLite knows.

use crate::abi::{self, File, Vfs};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

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
    pub(crate) fn of(number: c_int) -> Self {
        match number {
            1 => Self::Shared,
            2 => Self::Reserved,
            3 => Self::Pending,
            number if number >= 4 => Self::Exclusive,
            _ => Self::None,
        }
    }
}

/// A file of SQLite's own VFS, open for its locks.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Memory of the file; in words, so that it is aligned for anything.
    memory: Box<[u128]>,
}

/// Calls a method of the file with these arguments; `$missing` if there is no such method.
macro_rules! call {
    ($self:ident, $method:ident, $missing:expr $(, $argument:expr)*) => {{
        let file = $self.file();
        // SAFETY: the parent has opened the file, so that it begins with its methods, which live as long as it is open.
        match unsafe { (*(*file).methods).$method } {
            // SAFETY: the file is open, and only one call at a time is made on it.
            Some(method) => unsafe { method(file $(, $argument)*) },
            None => $missing,
        }
    }};
}

impl Lock {
    /// Opens a file that exists. The code of SQLite's own VFS if it cannot.
    ///
    /// # Safety
    /// `parent` is registered; `name` is one that SQLite has passed to open a database, with these flags.
    pub(crate) unsafe fn open(
        parent: *mut Vfs,
        name: *const c_char,
        flags: c_int,
    ) -> Result<Self, c_int> {
        // SAFETY: what is registered stays where it is.
        let vfs = unsafe { &*parent };
        let Some(open) = vfs.open else { return Err(abi::CANTOPEN) };
        let words =
            usize::try_from(vfs.file_bytes).unwrap_or(0).max(size_of::<File>()).div_ceil(16);
        let mut memory = vec![0_u128; words].into_boxed_slice();
        let file = memory.as_mut_ptr().cast::<File>();
        let mut got = 0;
        let flags = flags & !(abi::OPEN_CREATE | abi::OPEN_EXCLUSIVE);
        // SAFETY: the file has the room that the parent asks for, zeroed; the name is SQLite's own.
        let code = unsafe { open(parent, name, file, flags, &raw mut got) };
        let lock = Self { memory };
        if code == abi::OK { Ok(lock) } else { Err(code) }
    }

    fn file(&mut self) -> *mut File {
        self.memory.as_mut_ptr().cast()
    }

    /// Raises the lock; SQLite's code.
    pub(crate) fn raise(&mut self, level: c_int) -> c_int {
        call!(self, lock, abi::IOERR_LOCK, level)
    }

    /// Lowers the lock; SQLite's code.
    pub(crate) fn lower(&mut self, level: c_int) -> c_int {
        call!(self, unlock, abi::IOERR_UNLOCK, level)
    }

    /// Whether some connection of some process will write or writes.
    pub(crate) fn is_reserved(&mut self, found: &mut c_int) -> c_int {
        call!(self, check_reserved_lock, abi::IOERR_CHECKRESERVEDLOCK, ptr::from_mut(found))
    }

    /// Passes a question on.
    ///
    /// # Safety
    /// `argument` is what SQLite passes with this operation.
    pub(crate) unsafe fn control(&mut self, operation: c_int, argument: *mut c_void) -> c_int {
        call!(self, file_control, abi::NOTFOUND, operation, argument)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let file = self.file();
        // SAFETY: the memory begins with the methods, which are null if the file could not be opened.
        let methods = unsafe { (*file).methods };
        // SAFETY: the methods of an open file live as long as it is open.
        if let Some(close) = unsafe { methods.as_ref() }.and_then(|methods| methods.close) {
            // SAFETY: it is open, and nobody uses it any more.
            unsafe { close(file) };
        }
    }
}
