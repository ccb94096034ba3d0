//! The calls that SQLite makes on the file system. Database files are ours; all else is done by its own VFS.

use crate::Settings;
use crate::abi::{self, Functions, Vfs};
use crate::file::{self, File};
use crate::lock::Lock;
use crate::registry::{Connection, Seat};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};

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
    parent: *mut Vfs,
    functions: Functions,
    settings: Settings,
}

/// So often a database is opened anew when somebody replaces the file meanwhile.
const REPLACED_MAX: usize = 8;

static REGISTERING: Mutex<()> = Mutex::new(());

/// Registers the VFS under [`NAME`] with the SQLite that this program is linked with. A second call with the same settings
/// does nothing.
#[cfg(feature = "linked")]
pub fn register(settings: &Settings) -> Result<(), RegisterError> {
    use rusqlite::ffi;
    unsafe extern "C" fn find(name: *const c_char) -> *mut Vfs {
        // SAFETY: the name is null or ends with a zero byte, says the caller. Both types are SQLite's own structure.
        unsafe { ffi::sqlite3_vfs_find(name).cast() }
    }
    unsafe extern "C" fn add(vfs: *mut Vfs, default: c_int) -> c_int {
        // SAFETY: the VFS is complete and lives as long as it is registered, says the caller.
        unsafe { ffi::sqlite3_vfs_register(vfs.cast(), default) }
    }
    let functions = Functions { vfs_find: find, vfs_register: add, malloc: ffi::sqlite3_malloc };
    // SAFETY: these are SQLite's own functions, and a library that is linked stays.
    unsafe { register_with(functions, settings) }
}

/// Registers the VFS under [`NAME`] with the SQLite that these functions belong to. A second call with the same settings does
/// nothing.
///
/// # Safety
/// The functions are those of one SQLite, which has been initialised. The code of this library stays in memory as long as
/// that SQLite is used.
pub unsafe fn register_with(
    functions: Functions,
    settings: &Settings,
) -> Result<(), RegisterError> {
    let _one = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the name ends with a zero byte.
    let before = unsafe { (functions.vfs_find)(NAME_C.as_ptr()) };
    if !before.is_null() {
        // SAFETY: what is registered stays where it is.
        let is_ours = ptr::eq(unsafe { (*before).name }, NAME_C.as_ptr());
        // SAFETY: it is one that was made below.
        let is_same = !is_ours || unsafe { context(before) }.settings == *settings;
        // Another copy of this library, linked or loaded, does as well.
        return if is_same { Ok(()) } else { Err(RegisterError::Settings) };
    }
    // SAFETY: a null name asks for the default VFS; SQLite's list of them lives as long as the process.
    let parent = unsafe { (functions.vfs_find)(ptr::null()) };
    // SAFETY: the pointer is null or leads to a VFS that is registered and so stays where it is.
    let Some(original) = (unsafe { parent.as_ref() }) else { return Err(RegisterError::NoParent) };
    let ours = c_int::try_from(size_of::<File>()).unwrap_or(c_int::MAX);
    // Both live as long as the process: SQLite keeps pointers to them.
    let context = Box::leak(Box::new(Context { parent, functions, settings: *settings }));
    let vfs = Box::leak(Box::new(Vfs {
        version: 1,
        file_bytes: original.file_bytes.max(ours),
        path_bytes_max: original.path_bytes_max,
        next: ptr::null_mut(),
        name: NAME_C.as_ptr(),
        data: ptr::from_mut(context).cast(),
        open: Some(open),
        delete: Some(delete),
        access: Some(access),
        full_pathname: Some(full_pathname),
        // Connections through this VFS load extensions, too.
        dl_open: Some(dl_open),
        dl_error: Some(dl_error),
        dl_sym: Some(dl_sym),
        dl_close: Some(dl_close),
        randomness: Some(randomness),
        sleep: Some(sleep),
        current_time: Some(current_time),
        get_last_error: Some(get_last_error),
    }));
    // SAFETY: the structure is complete for version 1 and is never freed.
    match unsafe { (functions.vfs_register)(vfs, 0) } {
        abi::OK => Ok(()),
        code => Err(RegisterError::Refused(code)),
    }
}

/// What [`register_with`] put into the VFS.
///
/// # Safety
/// `vfs` is one that `register_with` made.
unsafe fn context<'a>(vfs: *mut Vfs) -> &'a Context {
    // SAFETY: `register` set the pointer to a context that is never freed.
    let data = unsafe { (*vfs).data };
    // SAFETY: the same; nobody changes it.
    unsafe { &*data.cast::<Context>() }
}

unsafe extern "C" fn open(
    vfs: *mut Vfs,
    name: *const c_char,
    file: *mut abi::File,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls with the VFS that was registered.
    let context = unsafe { context(vfs) };
    if flags & abi::OPEN_MAIN_DB == 0 || name.is_null() {
        // SAFETY: the parent is registered and stays where it is.
        let Some(parent_open) = (unsafe { (*context.parent).open }) else { return abi::CANTOPEN };
        // SAFETY: the arguments are SQLite's own, and the file has room for one of the parent.
        return unsafe { parent_open(context.parent, name, file, flags, out_flags) };
    }
    // SAFETY: null methods say that there is nothing to close; the file has room for that at least.
    unsafe { (*file).methods = ptr::null() };
    // SAFETY: the name is SQLite's own, and the flags are those that came with it.
    let opened = std::panic::catch_unwind(|| unsafe { connect(context, name, flags) });
    let (connection, granted) = match opened {
        Ok(Ok(opened)) => opened,
        Ok(Err(code)) => return code,
        Err(_) => return abi::CANTOPEN,
    };
    // SAFETY: SQLite allocated as many bytes as the VFS asks for, enough for a `File`, and aligned for any type.
    unsafe { file::install(file, connection, context.functions) };
    if !out_flags.is_null() {
        // SAFETY: it is not null, so it is a place for the flags.
        unsafe { out_flags.write(granted) };
    }
    abi::OK
}

/// Opens a database: the connection, and the flags that it has got. SQLite's code if it cannot be.
///
/// # Safety
/// `name` is a name that SQLite passes to open a database with these flags.
unsafe fn connect(
    context: &Context,
    name: *const c_char,
    flags: c_int,
) -> Result<(Connection, c_int), c_int> {
    // SAFETY: SQLite's names end with a zero byte and live as long as the file.
    let path = unsafe { CStr::from_ptr(name) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let create = flags & abi::OPEN_CREATE != 0;
    for _ in 0..REPLACED_MAX {
        let seat = Seat::take(path, create, &context.settings)
            .map_err(|error| file::code(&error, abi::CANTOPEN))?;
        let mut granted = flags;
        if !seat.is_writable() {
            granted = flags & !(abi::OPEN_READWRITE | abi::OPEN_CREATE) | abi::OPEN_READONLY;
        }
        // SAFETY: the parent is registered; the name is SQLite's own.
        let lock = unsafe { Lock::open(context.parent, name, granted) };
        // A lock on another file than the one that is read would keep nobody out.
        if seat.is_at(path) {
            return Ok((Connection::new(seat, lock?), granted));
        }
    }
    Err(abi::CANTOPEN)
}

/// Calls a function of the parent with the same arguments.
macro_rules! delegate {
    ($name:ident, $missing:expr, ($($argument:ident: $kind:ty),*) $(-> $result:ty)?) => {
        unsafe extern "C" fn $name(vfs: *mut Vfs, $($argument: $kind),*) $(-> $result)? {
            // SAFETY: SQLite calls with the VFS that was registered.
            let parent = unsafe { context(vfs) }.parent;
            // SAFETY: the parent is registered and stays where it is.
            match unsafe { (*parent).$name } {
                // SAFETY: the arguments are SQLite's own, meant for a function of this kind.
                Some(call) => unsafe { call(parent, $($argument),*) },
                None => $missing,
            }
        }
    };
}

delegate!(access, abi::IOERR_ACCESS,
    (name: *const c_char, flags: c_int, found: *mut c_int) -> c_int);
delegate!(full_pathname, abi::CANTOPEN_FULLPATH,
    (name: *const c_char, length: c_int, target: *mut c_char) -> c_int);
delegate!(delete, abi::IOERR_DELETE, (name: *const c_char, sync: c_int) -> c_int);
delegate!(dl_open, ptr::null_mut(), (name: *const c_char) -> *mut c_void);
delegate!(dl_error, (), (length: c_int, target: *mut c_char));
delegate!(dl_sym, None,
    (library: *mut c_void, name: *const c_char) -> Option<unsafe extern "C" fn()>);
delegate!(dl_close, (), (library: *mut c_void));
delegate!(randomness, 0, (length: c_int, target: *mut c_char) -> c_int);
delegate!(sleep, 0, (microseconds: c_int) -> c_int);
delegate!(current_time, abi::ERROR, (target: *mut f64) -> c_int);
delegate!(get_last_error, 0, (length: c_int, target: *mut c_char) -> c_int);
