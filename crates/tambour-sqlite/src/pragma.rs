//! Pragmas that ask for what a database in a store does not have: they are refused by name, and not passed over in silence.

use crate::abi::{self, Functions};
use crate::registry::Connection;
use std::ffi::{CStr, c_char, c_int};

/// What to do without a write-ahead log.
const NO_LOG: &str = "a write-ahead log needs memory that processes share, which databases in a Tambour store do not have: \
use PRAGMA journal_mode = TRUNCATE (or DELETE, PERSIST), or PRAGMA locking_mode = EXCLUSIVE first for a log of one connection";

/// Looks at a pragma before SQLite does: a message for it, its name, its argument, nothing.
///
/// # Safety
/// Name and argument are null, or texts that end with a zero byte.
pub(crate) unsafe fn judge(
    connection: &mut Connection,
    functions: &Functions,
    arguments: &mut [*mut c_char; 4],
) -> c_int {
    // SAFETY: as the caller promises.
    let name = unsafe { text(arguments[1]) };
    // SAFETY: the same.
    let argument = unsafe { text(arguments[2]) };
    if name.eq_ignore_ascii_case("locking_mode") {
        if argument.eq_ignore_ascii_case("exclusive") {
            connection.is_alone = true;
        } else if argument.eq_ignore_ascii_case("normal") {
            connection.is_alone = false;
        }
    }
    let asks_for_log =
        name.eq_ignore_ascii_case("journal_mode") && argument.eq_ignore_ascii_case("wal");
    if asks_for_log && !connection.is_alone {
        // SAFETY: the functions are SQLite's.
        arguments[0] = unsafe { abi::text(functions.malloc, NO_LOG) };
        return abi::ERROR;
    }
    abi::NOTFOUND
}

/// A text of SQLite's; empty if there is none.
///
/// # Safety
/// It is null, or ends with a zero byte, and nobody changes it as long as the result is in use.
unsafe fn text<'a>(start: *const c_char) -> &'a str {
    if start.is_null() {
        return "";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(start) }.to_str().unwrap_or_default()
}
