//! One error for callers who use several layers, and the way to a kind through foreign wrappers.

use crate::ImportError;
use std::error::Error as StdError;
use tambour_codec::frame::FrameError;
use tambour_codec::{CodecError, Kind};
use tambour_files::FileError;
use tambour_message::MessageError;
use tambour_page::PageError;
use tambour_part::{PartError, Place};
use tambour_record::RecordError;
#[cfg(feature = "sql")]
use tambour_sql::SqlError;
use tambour_table::TableError;

/// An error of any layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of a block or codec.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Of a compressed stream.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Of a part.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Of a table.
    #[error(transparent)]
    Store(#[from] TableError),
    /// Of a store of pages.
    #[error(transparent)]
    Pages(#[from] PageError),
    /// Of an interchange file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Of the options of an import.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Of a query.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The caller's callback said stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Codec(error) => error.kind(),
            Self::Frame(error) => error.kind(),
            Self::Part(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Pages(error) => error.kind(),
            Self::File(error) => error.kind(),
            Self::Import(error) => error.kind(),
            Self::Interrupted => Kind::Interrupted,
            #[cfg(feature = "sql")]
            Self::Sql(error) => error.kind(),
        }
    }

    /// Where in a part it happened, if that is known.
    pub fn place(&self) -> Option<Place> {
        place_of(self)
    }
}

/// The kind of the first error of ours in a chain, however deep other libraries wrapped it.
pub fn kind_of(error: &(dyn StdError + 'static)) -> Option<Kind> {
    chain(error).find_map(kind_of_link)
}

/// The kind of this error itself, not of its sources, if it is one of ours.
pub fn kind_of_link(error: &(dyn StdError + 'static)) -> Option<Kind> {
    #[cfg(feature = "sql")]
    if let Some(error) = error.downcast_ref::<SqlError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<TableError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<RecordError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<PageError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<PartError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<FileError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<FrameError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<CodecError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<MessageError>() {
        return Some(error.kind());
    }
    if let Some(error) = error.downcast_ref::<ImportError>() {
        return Some(error.kind());
    }
    error.downcast_ref::<Error>().map(Error::kind)
}

/// The place in a part or file that a chain of errors names: the innermost, which knows most.
pub fn place_of(error: &(dyn StdError + 'static)) -> Option<Place> {
    chain(error).filter_map(place_of_link).last()
}

fn place_of_link(error: &(dyn StdError + 'static)) -> Option<Place> {
    match error.downcast_ref::<Error>() {
        Some(Error::Part(error)) => error.place().cloned(),
        Some(Error::File(error)) => error.place(),
        Some(_) => None,
        None => match error.downcast_ref::<FileError>() {
            Some(error) => error.place(),
            None => error.downcast_ref::<PartError>()?.place().cloned(),
        },
    }
}

/// An error and its causes, outermost first. Unlike [`StdError::source`] alone, this looks into an [`std::io::Error`] that
/// wraps another error.
pub fn chain<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause(*error))
}

fn cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<std::io::Error>() {
        Some(wrapper) => wrapper.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn kind_and_place_survive_wrappers() {
        let place = Place::file("t/all_1_1_0/price.bin").of_column("price").at(65_552);
        let cause = PartError::malformed(place.clone(), "a mark points behind the end");
        let table = PathBuf::from("t");
        let error = TableError::Part { table, part: "all_1_1_0".to_owned(), cause };
        let wrapped = std::io::Error::other(error);
        assert_eq!(kind_of(&wrapped), Some(Kind::Corrupt));
        assert_eq!(place_of(&wrapped), Some(place));
        assert_eq!(kind_of(&std::io::Error::other("x")), None);
    }

    #[test]
    fn one_error_holds_all() {
        let error = Error::from(PartError::malformed(Place::file("x"), "y"));
        assert_eq!(error.kind(), Kind::Corrupt);
        assert_eq!(error.place(), Some(Place::file("x")));
        assert_eq!(kind_of(&error), Some(Kind::Corrupt));
    }
}
