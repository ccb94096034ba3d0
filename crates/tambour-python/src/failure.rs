//! Errors on their way to Python: of which class, with which words, and where.
//!
//! The classes are Python's own (`tambour._errors`): one for each kind of [`tambour::Kind`], and one for handles that were
//! closed.

use crate::carrow::schema::Unreadable;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::error::Error as StdError;
use tambour::arrow_schema::ArrowError;
use tambour::table::TableError;
use tambour::{Error, Kind, Place};

/// What can go wrong between Python and the library.
#[derive(Debug)]
pub(crate) enum Failure {
    /// In the library.
    Ours(Box<Error>),
    /// With arrays that were handed over.
    Arrow(ArrowError),
    /// In Python: what a method of an object raised, and Ctrl-C.
    Python(PyErr),
    /// A handle that was closed; what it is called.
    Closed(&'static str),
    /// A stream that was made before the process forked.
    Forked,
    /// A panic in the library: a fault of its own, of no kind.
    Fault(String),
    /// Anything that the caller did wrong, and what else has a kind and words.
    Said(Kind, String),
    /// The same with a place.
    At(Kind, String, Box<Place>),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ours(error) => f.write_str(&sentence(error)),
            Self::Arrow(error) => f.write_str(&words_of(error)),
            Self::Python(error) => write!(f, "{error}"),
            Self::Closed(what) => write!(f, "the {what} is closed"),
            Self::Forked => f.write_str(
                "the stream was begun in the process that forked this one: begin it anew here",
            ),
            Self::Fault(text) | Self::Said(_, text) | Self::At(_, text, _) => f.write_str(text),
        }
    }
}

/// Errors of the layers are the facade's.
macro_rules! ours {
    ($($(#[$condition:meta])? $error:ty),+ $(,)?) => {$(
        $(#[$condition])?
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::Ours(Box::new(error.into()))
            }
        }
    )+};
}

ours! {
    Error,
    tambour::codec::CodecError,
    tambour::frame::FrameError,
    tambour::part::PartError,
    tambour::table::TableError,
    tambour::record::RecordError,
    tambour::page::PageError,
    tambour::message::MessageError,
    tambour::files::FileError,
    #[cfg(feature = "sql")]
    tambour::sql::SqlError,
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        if let ArrowError::ExternalError(source) = &error
            && let Some(unreadable) = source.downcast_ref::<Unreadable>()
        {
            let place = Place::column(&unreadable.column);
            return Self::At(Kind::Unsupported, unreadable.to_string(), Box::new(place));
        }
        Self::Arrow(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// The caller did something wrong.
pub(crate) fn argument(text: impl Into<String>) -> Failure {
    Failure::Said(Kind::Argument, text.into())
}

/// An error and its causes in one line; causes that repeat what was said are left out.
pub(crate) fn sentence(error: &(dyn StdError + 'static)) -> String {
    let mut text = String::new();
    for link in tambour::chain(error) {
        let said = link.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
    }
    text
}

/// Arrow's words without the name of its variant.
fn words_of(error: &ArrowError) -> String {
    match error {
        ArrowError::CDataInterface(text)
        | ArrowError::NotYetImplemented(text)
        | ArrowError::InvalidArgumentError(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The number that the operating system gave to what went wrong.
fn system_code(error: &(dyn StdError + 'static)) -> Option<i32> {
    tambour::chain(error).find_map(|link| link.downcast_ref::<std::io::Error>()?.raw_os_error())
}

/// The class of an error of ours. A column that is not there is not found, whoever asks for it.
fn class(error: &Error) -> &'static str {
    match error {
        Error::Table(TableError::UnknownColumn { .. }) => class_of(Kind::NotFound),
        other => class_of(other.kind()),
    }
}

/// The class of a kind.
fn class_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Corrupt => "CorruptError",
        Kind::Unsupported => "UnsupportedError",
        Kind::Argument => "ArgumentError",
        Kind::NotFound => "NotFoundError",
        Kind::Conflict => "ConflictError",
        Kind::Limit => "LimitError",
        Kind::Io => "IoError",
        Kind::Interrupted => "Interrupted",
        _ => "TambourError",
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        match failure {
            Failure::Python(error) => error,
            Failure::Ours(error) if matches!(*error, Error::Interrupted) => {
                PyKeyboardInterrupt::new_err(())
            }
            Failure::Ours(error) => {
                let code = system_code(&*error);
                made_of(class(&error), &text, error.place(), code)
            }
            Failure::Arrow(ArrowError::NotYetImplemented(_)) => {
                made("UnsupportedError", &text, None)
            }
            Failure::Arrow(_) => made("ArgumentError", &text, None),
            Failure::Closed(_) => made("ClosedError", &text, None),
            Failure::Forked => made("ConflictError", &text, None),
            Failure::Fault(_) => made("TambourError", &text, None),
            Failure::Said(kind, _) => made(class_of(kind), &text, None),
            Failure::At(kind, _, place) => made(class_of(kind), &text, Some(*place)),
        }
    }
}

/// An exception of one of our classes.
pub(crate) fn made(class: &str, text: &str, place: Option<Place>) -> PyErr {
    made_of(class, text, place, None)
}

/// The same with the number of the operating system.
fn made_of(class: &str, text: &str, place: Option<Place>, code: Option<i32>) -> PyErr {
    Python::attach(|py| make(py, class, text, place, code).unwrap_or_else(|error| error))
}

fn make(
    py: Python<'_>,
    class: &str,
    text: &str,
    place: Option<Place>,
    code: Option<i32>,
) -> PyResult<PyErr> {
    static CLASSES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let classes = CLASSES
        .get_or_try_init(py, || py.import("tambour._errors").map(|it| it.into_any().unbind()))?;
    let place = place.unwrap_or_default();
    let named = PyDict::new(py);
    if !place.path.as_os_str().is_empty() {
        named.set_item("path", place.path.to_string_lossy())?;
    }
    named.set_item("column", place.column)?;
    named.set_item("offset", place.offset)?;
    named.set_item("row", place.row)?;
    if class == "IoError" {
        named.set_item("errno", code)?;
    }
    let value = classes.bind(py).getattr(class)?.call((text,), Some(&named))?;
    Ok(PyErr::from_value(value))
}
