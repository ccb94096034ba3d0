//! The calls that SQLite makes on an open database file.

use crate::database::DatabaseError;
use crate::lock::Level;
use crate::registry::Connection;
use rusqlite::ffi;
use std::ffi::{c_int, c_void};
use tambour_page::{Durability, PageError};

/// What SQLite has allocated for a file of ours: its own part, then a pointer to what we have opened.
#[repr(C)]
pub(crate) struct File {
    base: ffi::sqlite3_file,
    /// Null before it is opened and after it is closed.
    connection: *mut Connection,
}

/// The methods of a database file. Version 1: no shared memory, so no write-ahead log between processes.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// SQLite's code for an error, and `other` where it has none of its own.
pub(crate) fn code(error: &DatabaseError, other: c_int) -> c_int {
    match error {
        DatabaseError::NoDatabase { .. } => ffi::SQLITE_NOTADB,
        DatabaseError::Store(error) => match error {
            PageError::Locked { .. } => ffi::SQLITE_BUSY,
            PageError::Full { .. } => ffi::SQLITE_FULL,
            PageError::NotAStore { .. } | PageError::Newer { .. } => ffi::SQLITE_NOTADB,
            PageError::Page { .. }
            | PageError::Structure { .. }
            | PageError::Truncated { .. }
            | PageError::Decode { .. } => ffi::SQLITE_CORRUPT,
            PageError::ReadOnly { .. } => ffi::SQLITE_READONLY,
            _ => other,
        },
        #[expect(unreachable_patterns, reason = "the enum may grow")]
        _ => other,
    }
}

/// Turns SQLite's memory for a file into a file of ours.
///
/// # Safety
/// `file` points to at least as many bytes as a [`File`] has, aligned for it, and nobody else uses them.
pub(crate) unsafe fn install(file: *mut ffi::sqlite3_file, connection: Connection) {
    let ours = File {
        base: ffi::sqlite3_file { pMethods: &raw const METHODS },
        connection: Box::into_raw(Box::new(connection)),
    };
    // SAFETY: the caller promises room and alignment for a `File`.
    unsafe { file.cast::<File>().write(ours) }
}

/// The connection behind a file; `None` if it is closed.
///
/// # Safety
/// `file` was made by [`install`], and SQLite makes no other call on it at the same time.
unsafe fn connection<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a mut Connection> {
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
    file: *mut ffi::sqlite3_file,
    other: c_int,
    act: impl FnOnce(&mut Connection) -> c_int,
) -> c_int {
    // SAFETY: the caller promises what `connection` asks for.
    let Some(connection) = (unsafe { connection(file) }) else { return ffi::SQLITE_MISUSE };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(connection)));
    outcome.unwrap_or(other)
}

/// The code of what came of a call on the database.
fn outcome(result: Option<Result<(), DatabaseError>>, other: c_int) -> c_int {
    match result {
        Some(Ok(())) => ffi::SQLITE_OK,
        Some(Err(error)) => code(&error, other),
        None => other,
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let ours = file.cast::<File>();
    // SAFETY: `install` wrote a `File` there, and SQLite closes it once.
    let pointer = unsafe { std::mem::replace(&mut (*ours).connection, std::ptr::null_mut()) };
    if pointer.is_null() {
        return ffi::SQLITE_OK;
    }
    // SAFETY: the pointer came from a box in `install`, and was taken out of the file just now.
    let connection = unsafe { Box::from_raw(pointer) };
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| connection.close()));
    match closed {
        Ok(Ok(())) => ffi::SQLITE_OK,
        Ok(Err(error)) => code(&error, ffi::SQLITE_IOERR_CLOSE),
        Err(_) => ffi::SQLITE_IOERR_CLOSE,
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    target: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return ffi::SQLITE_IOERR_READ;
    };
    // SAFETY: SQLite gives room for `amount` bytes, which nobody else uses during the call.
    let target = unsafe { std::slice::from_raw_parts_mut(target.cast::<u8>(), amount) };
    let act = |connection: &mut Connection| match connection
        .with(|database| database.read(target, offset))
    {
        Some(Ok(true)) => ffi::SQLITE_OK,
        Some(Ok(false)) => ffi::SQLITE_IOERR_SHORT_READ,
        Some(Err(error)) => code(&error, ffi::SQLITE_IOERR_READ),
        None => ffi::SQLITE_IOERR_READ,
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, ffi::SQLITE_IOERR_READ, act) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    source: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    const FAILED: c_int = ffi::SQLITE_IOERR_WRITE;
    let (Ok(amount), Ok(offset)) = (usize::try_from(amount), u64::try_from(offset)) else {
        return FAILED;
    };
    // SAFETY: SQLite gives `amount` bytes, which nobody changes during the call.
    let source = unsafe { std::slice::from_raw_parts(source.cast::<u8>(), amount) };
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.write(source, offset)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    const FAILED: c_int = ffi::SQLITE_IOERR_TRUNCATE;
    let Ok(size) = u64::try_from(size) else { return FAILED };
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.truncate(size)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    const FAILED: c_int = ffi::SQLITE_IOERR_FSYNC;
    let act = |connection: &mut Connection| {
        outcome(connection.with(|database| database.flush(Durability::Sync)), FAILED)
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn file_size(
    file: *mut ffi::sqlite3_file,
    size: *mut ffi::sqlite3_int64,
) -> c_int {
    const FAILED: c_int = ffi::SQLITE_IOERR_FSTAT;
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

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    let act = |connection: &mut Connection| {
        if connection.raise(Level::of(level)) { ffi::SQLITE_OK } else { ffi::SQLITE_BUSY }
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, ffi::SQLITE_IOERR_LOCK, act) }
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    const FAILED: c_int = ffi::SQLITE_IOERR_UNLOCK;
    let act =
        |connection: &mut Connection| outcome(Some(connection.lower(Level::of(level))), FAILED);
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    unsafe { run(file, FAILED, act) }
}

unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, found: *mut c_int) -> c_int {
    let mut reserved = false;
    let act = |connection: &mut Connection| {
        reserved = connection.is_reserved();
        ffi::SQLITE_OK
    };
    // SAFETY: SQLite calls with a file that `install` made, one call at a time.
    let code = unsafe { run(file, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK, act) };
    // SAFETY: SQLite gives a place for the answer.
    unsafe { found.write(c_int::from(reserved)) };
    code
}

unsafe extern "C" fn file_control(
    _file: *mut ffi::sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    // A commit is whole or absent, so a write never damages what is beside it.
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}
