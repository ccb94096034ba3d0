//! The calls that SQLite makes on an open database file.

use crate::abi::{self, Functions, Methods};
use crate::database::{DatabaseError, Room};
use crate::pragma;
use crate::registry::{Connection, Refused};
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use tambour_page::{Durability, PageError};

/// What SQLite has allocated for a file of ours: its own part, then what we have opened.
#[repr(C)]
pub(crate) struct File {
    base: abi::File,
    /// Null before it is opened and after it is closed.
    connection: *mut Connection,
    /// Of the SQLite that has opened it.
    functions: Functions,
}

/// The methods of a database file. Version 1: no shared memory, so no write-ahead log between processes.
static METHODS: Methods = Methods {
    version: 1,
    close: Some(close),
    read: Some(read),
    write: Some(write),
    truncate: Some(truncate),
    sync: Some(sync),
    file_size: Some(file_size),
    lock: Some(lock),
    unlock: Some(unlock),
    check_reserved_lock: Some(check_reserved_lock),
    file_control: Some(file_control),
    sector_size: Some(sector_size),
    device_characteristics: Some(device_characteristics),
    shm_map: None,
    shm_lock: None,
    shm_barrier: None,
    shm_unmap: None,
};

/// SQLite's code for an error, and `other` where it has none of its own.
pub(crate) fn code(error: &DatabaseError, other: c_int) -> c_int {
    match error {
        DatabaseError::NoDatabase { .. } => abi::NOTADB,
        DatabaseError::Store(error) => match error {
            PageError::Locked { .. } => abi::BUSY,
            PageError::Full { .. } => abi::FULL,
            PageError::NotAStore { .. } | PageError::Newer { .. } => abi::NOTADB,
            PageError::Page { .. }
            | PageError::Structure { .. }
            | PageError::Truncated { .. }
            | PageError::Decode { .. } => abi::CORRUPT,
            PageError::ReadOnly { .. } => abi::READONLY,
            _ => other,
        },
    }
}

/// Turns SQLite's memory for a file into a file of ours.
///
/// # Safety
/// `file` points to at least as many bytes as a [`File`] has, aligned for it, and nobody else uses them.
pub(crate) unsafe fn install(file: *mut abi::File, connection: Connection, functions: Functions) {
    let ours = File {
        base: abi::File { methods: &raw const METHODS },
        connection: Box::into_raw(Box::new(connection)),
        functions,
    };
    // SAFETY: the caller promises room and alignment for a `File`.
    unsafe { file.cast::<File>().write(ours) }
}

/// The connection behind a file; `None` if it is closed.
///
/// # Safety
/// `file` was made by [`install`], and SQLite makes no other call on it at the same time.
unsafe fn connection<'a>(file: *mut abi::File) -> Option<&'a mut Connection> {
    // SAFETY: what `install` wrote is a `File`, and it is there as long as SQLite calls us with it.
    let pointer = unsafe { (*file.cast::<File>()).connection };
    // SAFETY: the pointer is null or came from a box that only `close` takes back; SQLite makes one call at a time on a file.
    unsafe { pointer.as_mut() }
}

/// Runs something with the connection. A panic must not unwind into C: it becomes an error.
///
/// # Safety
/// As for [`connection`].
unsafe fn run(
    file: *mut abi::File,
    other: c_int,
    act: impl FnOnce(&mut Connection) -> c_int,
) -> c_int {
    // SAFETY: the caller promises what `connection` asks for.
    let Some(connection) = (unsafe { connection(file) }) else { return abi::MISUSE };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(connection)));
    outcome.unwrap_or(other)
}

/// The code of what came of a call on the database.
fn outcome(result: Option<Result<(), DatabaseError>>, other: c_int) -> c_int {
    match result {
        Some(Ok(())) => abi::OK,
        Some(Err(error)) => code(&error, other),
        None => other,
    }
}

unsafe extern "C" fn close(file: *mut abi::File) -> c_int {
    let ours = file.cast::<File>();
    // SAFETY: `install` wrote a `File` there, and SQLite closes it once.
    let pointer = unsafe { std::mem::replace(&mut (*ours).connection, std::ptr::null_mut()) };
    if pointer.is_null() {
        return abi::OK;
    }
    // SAFETY: the pointer came from a box in `install`, and was taken out of the file just now.
    let connection = unsafe { Box::from_raw(pointer) };
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| connection.close()));
    match closed {
        Ok(Ok(())) => abi::OK,
        Ok(Err(error)) => code(&error, abi::IOERR_CLOSE),
        Err(_) => abi::IOERR_CLOSE,
    }
}

unsafe extern "C" fn read(
    file: *mut abi::File,
    target: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return abi::IOERR_READ;
    };
    // SAFETY: SQLite gives room for `amount` bytes, which nobody else uses during the call. It does not say that they hold
    // anything yet.
    let memory =
        unsafe { std::slice::from_raw_parts_mut(target.cast::<MaybeUninit<u8>>(), amount) };
    let act = |connection: &mut Connection| match connection.read(&mut Room::new(memory), offset) {
        Some(Ok(true)) => abi::OK,
        Some(Ok(false)) => abi::IOERR_SHORT_READ,
        Some(Err(error)) => code(&error, abi::IOERR_READ),
        None => abi::IOERR_READ,
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, abi::IOERR_READ, act) }
}

unsafe extern "C" fn write(
    file: *mut abi::File,
    source: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    const FAILED: c_int = abi::IOERR_WRITE;
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return FAILED;
    };
    // SAFETY: SQLite gives `amount` bytes of its own content, which nobody changes during the call.
    let source = unsafe { std::slice::from_raw_parts(source.cast::<u8>(), amount) };
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.write(source, offset)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn truncate(file: *mut abi::File, size: i64) -> c_int {
    const FAILED: c_int = abi::IOERR_TRUNCATE;
    let Ok(size) = u64::try_from(size) else { return FAILED };
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.resize(size)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn sync(file: *mut abi::File, _flags: c_int) -> c_int {
    const FAILED: c_int = abi::IOERR_FSYNC;
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.flush(Durability::Sync)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn file_size(file: *mut abi::File, size: *mut i64) -> c_int {
    const FAILED: c_int = abi::IOERR_FSTAT;
    let mut found = 0;
    let act = |connection: &mut Connection| {
        let measured = connection.with(|database| {
            found = i64::try_from(database.size()).unwrap_or(i64::MAX);
            Ok(())
        });
        outcome(measured, FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    let code = unsafe { run(file, FAILED, act) };
    // SAFETY: SQLite gives a place for the size.
    unsafe { size.write(found) };
    code
}

/// The code of what came of a call for a lock.
fn lock_outcome(result: Result<(), Refused>, other: c_int) -> c_int {
    match result {
        Ok(()) => abi::OK,
        Err(Refused::Code(code)) => code,
        Err(Refused::Database(error)) => code(&error, other),
    }
}

unsafe extern "C" fn lock(file: *mut abi::File, level: c_int) -> c_int {
    const FAILED: c_int = abi::IOERR_LOCK;
    let act = |connection: &mut Connection| lock_outcome(connection.raise(level), FAILED);
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn unlock(file: *mut abi::File, level: c_int) -> c_int {
    const FAILED: c_int = abi::IOERR_UNLOCK;
    let act = |connection: &mut Connection| lock_outcome(connection.lower(level), FAILED);
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn check_reserved_lock(file: *mut abi::File, found: *mut c_int) -> c_int {
    let mut reserved = 0;
    let act = |connection: &mut Connection| connection.lock.is_reserved(&mut reserved);
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    let code = unsafe { run(file, abi::IOERR_CHECKRESERVEDLOCK, act) };
    // SAFETY: SQLite gives a place for the answer.
    unsafe { found.write(reserved) };
    code
}

unsafe extern "C" fn file_control(
    file: *mut abi::File,
    operation: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls with a file that `install` made.
    let functions = unsafe { (*file.cast::<File>()).functions };
    let act = |connection: &mut Connection| match operation {
        // Before each sync, and in its place with `synchronous = OFF`: from here on a plain file would have what was written
        // even if this process ends, and SQLite deletes its journal next.
        abi::FCNTL_SYNC => {
            outcome(connection.with(|database| database.flush(Durability::Async)), abi::IOERR_WRITE)
        }
        abi::FCNTL_PRAGMA => {
            // SAFETY: with this operation, SQLite passes four pointers: to a message, and to texts.
            let arguments = unsafe { &mut *argument.cast::<[*mut c_char; 4]>() };
            // SAFETY: name and argument are null, or texts of SQLite's own that end with a zero byte.
            unsafe { pragma::judge(connection, &functions, arguments) }
        }
        abi::FCNTL_VFSNAME => {
            // SAFETY: the functions are SQLite's.
            let name = unsafe { abi::text(functions.malloc, crate::NAME) };
            // SAFETY: with this operation, SQLite passes a place for a text, which it frees.
            unsafe { argument.cast::<*mut c_char>().write(name) };
            abi::OK
        }
        // What is about the file as such. Sizes and the like are about a content that this file does not have.
        abi::FCNTL_LOCKSTATE
        | abi::FCNTL_LAST_ERRNO
        | abi::FCNTL_PERSIST_WAL
        | abi::FCNTL_HAS_MOVED
        | abi::FCNTL_LOCK_TIMEOUT => {
            // SAFETY: the argument is what SQLite passes with this operation.
            unsafe { connection.lock.control(operation, argument) }
        }
        _ => abi::NOTFOUND,
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, abi::ERROR, act) }
}

unsafe extern "C" fn sector_size(_file: *mut abi::File) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(_file: *mut abi::File) -> c_int {
    // A commit is whole or absent, so a write never damages what is beside it.
    abi::IOCAP_POWERSAFE_OVERWRITE
}
