//! The part of SQLite's C interface that a VFS needs, as `sqlite3.h` has it.
//!
//! It is written down here, and not taken from a binding, because the same code runs in two ways: linked with an SQLite, and
//! loaded into one whose functions come as a table of pointers. A binding is made for one of them.

use std::ffi::{c_char, c_int, c_void};

pub(crate) const OK: c_int = 0;
pub(crate) const ERROR: c_int = 1;
pub(crate) const BUSY: c_int = 5;
pub(crate) const READONLY: c_int = 8;
pub(crate) const CORRUPT: c_int = 11;
pub(crate) const NOTFOUND: c_int = 12;
pub(crate) const FULL: c_int = 13;
pub(crate) const CANTOPEN: c_int = 14;
pub(crate) const MISUSE: c_int = 21;
pub(crate) const NOTADB: c_int = 26;
const IOERR: c_int = 10;
pub(crate) const IOERR_READ: c_int = IOERR | 1 << 8;
pub(crate) const IOERR_SHORT_READ: c_int = IOERR | 2 << 8;
pub(crate) const IOERR_WRITE: c_int = IOERR | 3 << 8;
pub(crate) const IOERR_FSYNC: c_int = IOERR | 4 << 8;
pub(crate) const IOERR_TRUNCATE: c_int = IOERR | 6 << 8;
pub(crate) const IOERR_FSTAT: c_int = IOERR | 7 << 8;
pub(crate) const IOERR_UNLOCK: c_int = IOERR | 8 << 8;
pub(crate) const IOERR_DELETE: c_int = IOERR | 10 << 8;
pub(crate) const IOERR_ACCESS: c_int = IOERR | 13 << 8;
pub(crate) const IOERR_CHECKRESERVEDLOCK: c_int = IOERR | 14 << 8;
pub(crate) const IOERR_LOCK: c_int = IOERR | 15 << 8;
pub(crate) const IOERR_CLOSE: c_int = IOERR | 16 << 8;
pub(crate) const CANTOPEN_FULLPATH: c_int = CANTOPEN | 3 << 8;

pub(crate) const OPEN_READONLY: c_int = 0x1;
pub(crate) const OPEN_READWRITE: c_int = 0x2;
pub(crate) const OPEN_CREATE: c_int = 0x4;
pub(crate) const OPEN_EXCLUSIVE: c_int = 0x10;
pub(crate) const OPEN_MAIN_DB: c_int = 0x100;

pub(crate) const FCNTL_LOCKSTATE: c_int = 1;
pub(crate) const FCNTL_LAST_ERRNO: c_int = 4;
pub(crate) const FCNTL_PERSIST_WAL: c_int = 10;
pub(crate) const FCNTL_VFSNAME: c_int = 12;
pub(crate) const FCNTL_PRAGMA: c_int = 14;
pub(crate) const FCNTL_HAS_MOVED: c_int = 20;
pub(crate) const FCNTL_SYNC: c_int = 21;
pub(crate) const FCNTL_LOCK_TIMEOUT: c_int = 34;

/// A write never damages what is beside it.
pub(crate) const IOCAP_POWERSAFE_OVERWRITE: c_int = 0x1000;

/// SQLite's `sqlite3_file`: what every open file begins with.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) methods: *const Methods,
}

/// SQLite's `sqlite3_io_methods`, version 2.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Methods {
    pub(crate) version: c_int,
    pub(crate) close: Option<unsafe extern "C" fn(*mut File) -> c_int>,
    pub(crate) read: Option<unsafe extern "C" fn(*mut File, *mut c_void, c_int, i64) -> c_int>,
    pub(crate) write: Option<unsafe extern "C" fn(*mut File, *const c_void, c_int, i64) -> c_int>,
    pub(crate) truncate: Option<unsafe extern "C" fn(*mut File, i64) -> c_int>,
    pub(crate) sync: Option<unsafe extern "C" fn(*mut File, c_int) -> c_int>,
    pub(crate) file_size: Option<unsafe extern "C" fn(*mut File, *mut i64) -> c_int>,
    pub(crate) lock: Option<unsafe extern "C" fn(*mut File, c_int) -> c_int>,
    pub(crate) unlock: Option<unsafe extern "C" fn(*mut File, c_int) -> c_int>,
    pub(crate) check_reserved_lock: Option<unsafe extern "C" fn(*mut File, *mut c_int) -> c_int>,
    pub(crate) file_control: Option<unsafe extern "C" fn(*mut File, c_int, *mut c_void) -> c_int>,
    pub(crate) sector_size: Option<unsafe extern "C" fn(*mut File) -> c_int>,
    pub(crate) device_characteristics: Option<unsafe extern "C" fn(*mut File) -> c_int>,
    pub(crate) shm_map:
        Option<unsafe extern "C" fn(*mut File, c_int, c_int, c_int, *mut *mut c_void) -> c_int>,
    pub(crate) shm_lock: Option<unsafe extern "C" fn(*mut File, c_int, c_int, c_int) -> c_int>,
    pub(crate) shm_barrier: Option<unsafe extern "C" fn(*mut File)>,
    pub(crate) shm_unmap: Option<unsafe extern "C" fn(*mut File, c_int) -> c_int>,
}

/// A call of a VFS that Tambour does not make itself.
type Unused = Option<unsafe extern "C" fn()>;

/// SQLite's `sqlite3_vfs`, version 1: later ones begin with the same.
#[repr(C)]
#[derive(Debug)]
pub struct Vfs {
    pub(crate) version: c_int,
    pub(crate) file_bytes: c_int,
    pub(crate) path_bytes_max: c_int,
    pub(crate) next: *mut Vfs,
    pub(crate) name: *const c_char,
    pub(crate) data: *mut c_void,
    pub(crate) open: Option<
        unsafe extern "C" fn(*mut Vfs, *const c_char, *mut File, c_int, *mut c_int) -> c_int,
    >,
    pub(crate) delete: Option<unsafe extern "C" fn(*mut Vfs, *const c_char, c_int) -> c_int>,
    pub(crate) access:
        Option<unsafe extern "C" fn(*mut Vfs, *const c_char, c_int, *mut c_int) -> c_int>,
    pub(crate) full_pathname:
        Option<unsafe extern "C" fn(*mut Vfs, *const c_char, c_int, *mut c_char) -> c_int>,
    pub(crate) dl_open: Option<unsafe extern "C" fn(*mut Vfs, *const c_char) -> *mut c_void>,
    pub(crate) dl_error: Option<unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char)>,
    pub(crate) dl_sym: Option<unsafe extern "C" fn(*mut Vfs, *mut c_void, *const c_char) -> Unused>,
    pub(crate) dl_close: Option<unsafe extern "C" fn(*mut Vfs, *mut c_void)>,
    pub(crate) randomness: Option<unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char) -> c_int>,
    pub(crate) sleep: Option<unsafe extern "C" fn(*mut Vfs, c_int) -> c_int>,
    pub(crate) current_time: Option<unsafe extern "C" fn(*mut Vfs, *mut f64) -> c_int>,
    pub(crate) get_last_error: Option<unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char) -> c_int>,
}

/// `sqlite3_vfs_find`.
pub type Find = unsafe extern "C" fn(*const c_char) -> *mut Vfs;
/// `sqlite3_vfs_register`.
pub type Register = unsafe extern "C" fn(*mut Vfs, c_int) -> c_int;
/// `sqlite3_malloc`.
pub type Malloc = unsafe extern "C" fn(c_int) -> *mut c_void;

/// The functions of the SQLite that the VFS is registered with.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// Finds a VFS by its name.
    pub vfs_find: Find,
    /// Adds one.
    pub vfs_register: Register,
    /// Memory for messages, which SQLite frees.
    pub malloc: Malloc,
}

/// A text in memory of SQLite's; null if there is none left.
///
/// # Safety
/// `malloc` is SQLite's.
pub unsafe fn text(malloc: Malloc, text: &str) -> *mut c_char {
    let Ok(length) = c_int::try_from(text.len() + 1) else { return std::ptr::null_mut() };
    // SAFETY: any length above 0 may be asked for.
    let room = unsafe { malloc(length) }.cast::<u8>();
    if !room.is_null() {
        // SAFETY: the room was just made for the text, and is nobody else's.
        unsafe { room.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        // SAFETY: one byte more was asked for.
        let end = unsafe { room.add(text.len()) };
        // SAFETY: it is that byte.
        unsafe { end.write(0) };
    }
    room.cast()
}
