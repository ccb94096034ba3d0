//! The extension module `tambour._internal`: what the package `tambour` for Python is made of. Nobody imports it but that
//! package, whose classes are the ones with documentation for users.
//!
//! It is thin over the facade, [`tambour`]: [`failure`] makes exceptions of errors, [`work`] runs the library without the
//! interpreter's lock, [`buffer`] and [`carrow`] share memory with Python's buffers and with Arrow, and the other rooms are
//! one per thing that the package has.
#![expect(unsafe_code, reason = "memory is shared with Python; each block states why it is sound")]

mod advice;
mod buffer;
mod carrow;
mod codec;
mod column;
mod failure;
mod filter;
mod frames;
mod hash;
mod messages;
mod owned;
mod pages;
#[cfg(feature = "sql")]
mod query;
mod records;
mod scan;
mod source;
mod sqlite;
mod stream;
mod table;
mod varint;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _internal {
    use super::work;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::advice::advise_paths;
    #[pymodule_export]
    use super::codec::{codecs, compress, decode_block, decompress, encode_block};
    #[pymodule_export]
    use super::column::Array;
    #[pymodule_export]
    use super::frames::{FrameReader, FrameWriter};
    #[pymodule_export]
    use super::hash::{hash_column, hash_key};
    #[pymodule_export]
    use super::messages::{Messages, train_messages};
    #[pymodule_export]
    use super::pages::Pages;
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use super::query::{Collected, collect, sql};
    #[pymodule_export]
    use super::records::{Records, View, Writer};
    #[pymodule_export]
    use super::sqlite::register_sqlite;
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::table::{Table, import_data, import_files, salvage_part, verify_table};
    #[pymodule_export]
    use super::varint::{decode, encode};

    #[cfg(feature = "sql")]
    #[pymodule_export]
    use super::command_line;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        work::imported();
        #[cfg(feature = "sql")]
        tambour::sql::compute_defaults();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("has_sql", cfg!(feature = "sql"))
    }
}

/// Runs the command line; its exit code.
#[cfg(feature = "sql")]
#[pyfunction]
fn command_line(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| tambour_cli::run(arguments))
}
