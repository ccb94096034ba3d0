//! The VFS that keeps SQLite databases in page stores, for the SQLite that Python itself has.

use crate::failure::Failure;
use pyo3::prelude::*;
use std::ffi::c_void;
use tambour::Kind;
use tambour_sqlite::{Find, Functions, Malloc, Register, Settings, register_with};

/// Registers the VFS `tambour` with the SQLite whose functions these are: `sqlite3_vfs_find`, `sqlite3_vfs_register` and
/// `sqlite3_malloc`. Python's package finds them in the library that its module `sqlite3` is linked with.
#[pyfunction]
pub(crate) fn register_sqlite(vfs_find: usize, vfs_register: usize, malloc: usize) -> PyResult<()> {
    let place = |address: usize| std::ptr::with_exposed_provenance::<c_void>(address);
    if [vfs_find, vfs_register, malloc].contains(&0) {
        let text = "the functions of SQLite were not found".to_owned();
        return Err(Failure::Said(Kind::Unsupported, text).into());
    }
    // SAFETY: the package asked the linker for the function of this name, and this is its type.
    let vfs_find = unsafe { std::mem::transmute::<*const c_void, Find>(place(vfs_find)) };
    // SAFETY: as above.
    let vfs_register =
        unsafe { std::mem::transmute::<*const c_void, Register>(place(vfs_register)) };
    // SAFETY: as above.
    let malloc = unsafe { std::mem::transmute::<*const c_void, Malloc>(place(malloc)) };
    let functions = Functions { vfs_find, vfs_register, malloc };
    // SAFETY: functions of one SQLite; this module is never unloaded, as Python unloads none.
    let registered = unsafe { register_with(functions, &Settings::default()) };
    registered
        .map_err(|error| Failure::Said(Kind::Unsupported, crate::failure::sentence(&error)).into())
}
