//! The calls that SQLite makes on the file system. Database files are ours; all else is done by its own VFS.

use crate::Settings;
use crate::file::{self, File};
use crate::registry::Connection;
use rusqlite::ffi;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The name under which the VFS is registered.
pub const NAME: &str = "tambour";
const NAME_C: &CStr = c"tambour";

/// Why the VFS cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// SQLite has no VFS of its own for journals and temporary files.
    #[error("SQLite has no VFS for journals and temporary files")]
    NoParent,
    /// It was registered before, with other settings.
    #[error("the VFS is registered already, with other settings")]
    Settings,
    /// SQLite says no.
    #[error("SQLite refuses the VFS: code {0}")]
    Refused(i32),
}

/// What the VFS needs to know; lives as long as the process.
struct Context {
    parent: *mut ffi::sqlite3_vfs,
    settings: Settings,
}

static REGISTERED: OnceLock<Settings> = OnceLock::new();
static REGISTERING: Mutex<()> = Mutex::new(());

/// Registers the VFS under [`NAME`]. A second call with the same settings does nothing.
pub fn register(settings: &Settings) -> Result<(), RegisterError> {
    let _one = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = REGISTERED.get() {
        return if before == settings { Ok(()) } else { Err(RegisterError::Settings) };
    }
    // SAFETY: a null name asks for the default VFS; SQLite's list of them lives as long as the process.
    let parent = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: the pointer is null or leads to a VFS that is registered and so stays where it is.
    let Some(original) = (unsafe { parent.as_ref() }) else { return Err(RegisterError::NoParent) };
    let ours = c_int::try_from(size_of::<File>()).unwrap_or(c_int::MAX);
    // Both live as long as the process: SQLite keeps pointers to them.
    let context = Box::leak(Box::new(Context { parent, settings: *settings }));
    let vfs = Box::leak(Box::new(ffi::sqlite3_vfs {
        iVersion: 1,
        szOsFile: original.szOsFile.max(ours),
        mxPathname: original.mxPathname,
        pNext: ptr::null_mut(),
        zName: NAME_C.as_ptr(),
        pAppData: ptr::from_mut(context).cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: None,
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }));
    // SAFETY: the structure is complete for version 1 and is never freed.
    match unsafe { ffi::sqlite3_vfs_register(vfs, 0) } {
        ffi::SQLITE_OK => {
            let _ = REGISTERED.set(*settings);
            Ok(())
        }
        code => Err(RegisterError::Refused(code)),
    }
}

/// What [`register`] put into the VFS.
///
/// # Safety
/// `vfs` is the one that `register` made.
unsafe fn context<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Context {
    // SAFETY: `register` set the pointer to a context that is never freed.
    let data = unsafe { (*vfs).pAppData };
    // SAFETY: the same; nobody changes it.
    unsafe { &*data.cast::<Context>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls with the VFS that was registered.
    let context = unsafe { context(vfs) };
    if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 || name.is_null() {
        // SAFETY: the parent is registered and stays where it is.
        let Some(parent_open) = (unsafe { (*context.parent).xOpen }) else {
            return ffi::SQLITE_CANTOPEN;
        };
        // SAFETY: the arguments are SQLite's own, and the file has room for one of the parent.
        return unsafe { parent_open(context.parent, name, file, flags, out_flags) };
    }
    // SAFETY: SQLite's names end with a zero byte and live as long as the file.
    let path = unsafe { CStr::from_ptr(name) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let writable = flags & ffi::SQLITE_OPEN_READWRITE != 0;
    let create = flags & ffi::SQLITE_OPEN_CREATE != 0;
    let opened =
        std::panic::catch_unwind(|| Connection::open(path, writable, create, &context.settings));
    match opened {
        Ok(Ok(connection)) => {
            // SAFETY: SQLite allocated `szOsFile` bytes, which are enough for a `File`, and aligned for any type.
            unsafe { file::install(file, connection) };
            if !out_flags.is_null() {
                // SAFETY: it is not null, so it is a place for the flags.
                unsafe { out_flags.write(flags) };
            }
            ffi::SQLITE_OK
        }
        failed => {
            // SAFETY: the file begins with the pointer; null says that there is nothing to close.
            unsafe { (*file).pMethods = ptr::null() };
            match failed {
                Ok(Err(error)) => file::code(&error, ffi::SQLITE_CANTOPEN),
                _ => ffi::SQLITE_CANTOPEN,
            }
        }
    }
}

/// Calls a function of the parent with the same arguments.
macro_rules! delegate {
    ($name:ident, $field:ident, $missing:expr, ($($argument:ident: $kind:ty),*) -> $result:ty) => {
        unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs, $($argument: $kind),*) -> $result {
            // SAFETY: SQLite calls with the VFS that was registered.
            let parent = unsafe { context(vfs) }.parent;
            // SAFETY: the parent is registered and stays where it is.
            match unsafe { (*parent).$field } {
                // SAFETY: the arguments are SQLite's own, meant for a function of this kind.
                Some(call) => unsafe { call(parent, $($argument),*) },
                None => $missing,
            }
        }
    };
}

delegate!(access, xAccess, ffi::SQLITE_IOERR_ACCESS,
    (name: *const c_char, flags: c_int, found: *mut c_int) -> c_int);
delegate!(full_pathname, xFullPathname, ffi::SQLITE_CANTOPEN_FULLPATH,
    (name: *const c_char, length: c_int, target: *mut c_char) -> c_int);
delegate!(delete, xDelete, ffi::SQLITE_IOERR_DELETE,
    (name: *const c_char, sync: c_int) -> c_int);
delegate!(randomness, xRandomness, 0, (length: c_int, target: *mut c_char) -> c_int);
delegate!(sleep, xSleep, 0, (microseconds: c_int) -> c_int);
delegate!(current_time, xCurrentTime, ffi::SQLITE_ERROR, (target: *mut f64) -> c_int);
delegate!(get_last_error, xGetLastError, 0, (length: c_int, target: *mut c_char) -> c_int);
