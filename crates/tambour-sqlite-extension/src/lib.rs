//! The VFS `tambour` as an extension that SQLite loads: `.load`, `load_extension()`, `enable_load_extension`.
//!
//! The library does three things: it takes the functions that it needs out of SQLite's table, registers the VFS of crate
//! `tambour-sqlite` with them, and asks to stay loaded, since SQLite keeps pointers into it. It opens nothing by itself:
//! databases are opened by name, `file:drums.db?vfs=tambour`.
#![expect(unsafe_code, reason = "SQLite hands over pointers; each block states why it is sound")]
// The conditions of a call are SQLite's own; they are the same for all functions.
#![expect(
    clippy::missing_safety_doc,
    reason = "the caller is SQLite, as sqlite3ext.h describes it"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::catch_unwind;
use vfs::{Functions, Settings, register_with};

/// SQLite's `SQLITE_ERROR`.
const ERROR: c_int = 1;
/// SQLite's `SQLITE_OK_LOAD_PERMANENTLY`: all went well, and the library is never unloaded.
const STAY: c_int = 256;
/// The first version that knows [`STAY`]. An older one would unload the library and keep the pointers.
const VERSION_MIN: c_int = 3_014_000;

/// Places in SQLite's `sqlite3_api_routines`, a table that only grows.
mod place {
    pub(crate) const LIBVERSION: usize = 66;
    pub(crate) const LIBVERSION_NUMBER: usize = 67;
    pub(crate) const MALLOC: usize = 68;
    pub(crate) const VFS_FIND: usize = 141;
    pub(crate) const VFS_REGISTER: usize = 142;
}

/// The entry point by which SQLite finds extensions of any name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    _connection: *mut c_void,
    message: *mut *mut c_char,
    routines: *const *const c_void,
) -> c_int {
    // SAFETY: SQLite passes its table.
    unsafe { load(message, routines) }
}

/// The entry point by the name of the file, as SQLite spells it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_tamboursqlite_init(
    _connection: *mut c_void,
    message: *mut *mut c_char,
    routines: *const *const c_void,
) -> c_int {
    // SAFETY: SQLite passes its table.
    unsafe { load(message, routines) }
}

/// The entry point for who renames the file to `tambour`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_tambour_init(
    _connection: *mut c_void,
    message: *mut *mut c_char,
    routines: *const *const c_void,
) -> c_int {
    // SAFETY: SQLite passes its table.
    unsafe { load(message, routines) }
}

/// Registers the VFS; SQLite's code, and a message if it is an error.
///
/// # Safety
/// `routines` is null or SQLite's table; `message` is null or a place for a text.
unsafe fn load(message: *mut *mut c_char, routines: *const *const c_void) -> c_int {
    if routines.is_null() {
        return ERROR;
    }
    // SAFETY: the table is SQLite's.
    let registered = catch_unwind(|| unsafe { register(routines) });
    let problem = match registered {
        Ok(Ok(())) => return STAY,
        Ok(Err(problem)) => problem,
        Err(_) => "tambour: a fault of its own; nothing was registered".to_owned(),
    };
    // SAFETY: every version has a `malloc` at this place.
    let malloc = unsafe { routine(routines, place::MALLOC) };
    if !message.is_null() && !malloc.is_null() {
        // SAFETY: this is the type of the function at that place.
        let malloc: unsafe extern "C" fn(c_int) -> *mut c_void =
            unsafe { std::mem::transmute(malloc) };
        // SAFETY: it is SQLite's.
        let text = unsafe { vfs::text(malloc, &problem) };
        // SAFETY: a place for a text, which SQLite frees.
        unsafe { message.write(text) };
    }
    ERROR
}

/// # Safety
/// The table is SQLite's, and has this place.
unsafe fn routine(routines: *const *const c_void, place: usize) -> *const c_void {
    // SAFETY: as the caller promises.
    let place = unsafe { routines.add(place) };
    // SAFETY: the same.
    unsafe { place.read() }
}

/// # Safety
/// The table is SQLite's.
unsafe fn register(routines: *const *const c_void) -> Result<(), String> {
    // SAFETY: this place is older than extensions that are loaded.
    let number = unsafe { routine(routines, place::LIBVERSION_NUMBER) };
    if number.is_null() {
        return Err("tambour: this SQLite does not tell its version".to_owned());
    }
    // SAFETY: this is the type of the function at that place.
    let number: unsafe extern "C" fn() -> c_int = unsafe { std::mem::transmute(number) };
    // SAFETY: it may be called at any time.
    let number = unsafe { number() };
    if number < VERSION_MIN {
        // SAFETY: the neighbour of the place that was just used.
        let name = unsafe { routine(routines, place::LIBVERSION) };
        return Err(format!(
            "tambour: needs SQLite 3.14.0 or newer, got {}; load it into a newer one",
            // SAFETY: the function is null or that of this place.
            unsafe { version(name) }
        ));
    }
    let places = [place::VFS_FIND, place::VFS_REGISTER, place::MALLOC];
    // SAFETY: they are older than the version that was just checked.
    let [find, add, malloc] = places.map(|place| unsafe { routine(routines, place) });
    if find.is_null() || add.is_null() || malloc.is_null() {
        return Err("tambour: this SQLite was built without file systems of others".to_owned());
    }
    // SAFETY: this is the type of the function at that place.
    let vfs_find = unsafe { std::mem::transmute::<*const c_void, vfs::Find>(find) };
    // SAFETY: as above.
    let vfs_register = unsafe { std::mem::transmute::<*const c_void, vfs::Register>(add) };
    // SAFETY: as above.
    let malloc = unsafe { std::mem::transmute::<*const c_void, vfs::Malloc>(malloc) };
    let functions = Functions { vfs_find, vfs_register, malloc };
    // SAFETY: functions of the SQLite that loads us, and `STAY` keeps the library.
    let registered = unsafe { register_with(functions, &Settings::default()) };
    registered.map_err(|error| format!("tambour: {error}"))
}

/// # Safety
/// `function` is null or SQLite's `libversion`.
unsafe fn version(function: *const c_void) -> String {
    if function.is_null() {
        return "an older one".to_owned();
    }
    // SAFETY: this is its type.
    let function: unsafe extern "C" fn() -> *const c_char =
        unsafe { std::mem::transmute(function) };
    // SAFETY: it may be called at any time.
    let text = unsafe { function() };
    // SAFETY: it is a constant that ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
