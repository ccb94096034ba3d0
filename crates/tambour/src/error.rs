//! One error for callers who use several layers, and the way to a kind through foreign wrappers.

#[cfg(feature = "files")]
use crate::{ExportError, ImportError};
use std::error::Error as StdError;
#[cfg(feature = "cluster")]
use tambour_cluster::ClusterError;
use tambour_codec::frame::FrameError;
use tambour_codec::{CodecError, Kind};
#[cfg(feature = "files")]
use tambour_files::FileError;
use tambour_int::IntError;
#[cfg(feature = "messages")]
use tambour_message::MessageError;
#[cfg(feature = "pages")]
use tambour_page::PageError;
#[cfg(feature = "tables")]
use tambour_part::PartError;
#[cfg(feature = "records")]
use tambour_record::RecordError;
#[cfg(feature = "sql")]
use tambour_sql::SqlError;
use tambour_storage::{Place, StorageError};
#[cfg(feature = "tables")]
use tambour_table::TableError;

/// An error of any layer; every function of this crate returns it.
///
/// ```
/// use tambour::{Error, Kind, Table};
///
/// let error = Table::open("/nowhere/hits").unwrap_err();
/// assert_eq!(error.kind(), Kind::NotFound);
/// assert!(matches!(error, Error::Table(_)));
/// assert!(tambour::chain(&error).next().is_some());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of a block or codec.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Of a compressed stream.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Of an integer, a string or a document in few bytes.
    #[error(transparent)]
    Int(#[from] IntError),
    /// Of a file or a lock.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Of a part.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Part(#[from] PartError),
    /// Of a table.
    #[cfg(feature = "tables")]
    #[error(transparent)]
    Table(#[from] TableError),
    /// Of a store of records.
    #[cfg(feature = "records")]
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Of a store of pages.
    #[cfg(feature = "pages")]
    #[error(transparent)]
    Page(#[from] PageError),
    /// Of a message or a dictionary of messages.
    #[cfg(feature = "messages")]
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Of an interchange file.
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] FileError),
    /// Of the options of an import.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Import(#[from] ImportError),
    /// Of an export.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Export(#[from] ExportError),
    /// Of a query.
    #[cfg(feature = "sql")]
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// Of a cluster.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The threads of a query cannot be started.
    #[cfg(feature = "sql")]
    #[error("cannot start the threads of a query")]
    Runtime {
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// The caller's callback said stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// What a caller can do about it.
    ///
    /// ```
    /// use tambour::{Kind, Table};
    ///
    /// // Act on the kind; show people the message.
    /// let error = Table::open("/nowhere/hits").unwrap_err();
    /// let status = match error.kind() {
    ///     Kind::Corrupt => 3,
    ///     Kind::NotFound => 2,
    ///     _ => 1,
    /// };
    /// assert_eq!(status, 2);
    /// ```
    pub fn kind(&self) -> Kind {
        match self {
            Self::Codec(error) => error.kind(),
            Self::Frame(error) => error.kind(),
            Self::Int(IntError::Full { .. }) => Kind::Limit,
            Self::Int(_) => Kind::Corrupt,
            Self::Storage(error) => error.kind(),
            #[cfg(feature = "tables")]
            Self::Part(error) => error.kind(),
            #[cfg(feature = "tables")]
            Self::Table(error) => error.kind(),
            #[cfg(feature = "records")]
            Self::Record(error) => error.kind(),
            #[cfg(feature = "pages")]
            Self::Page(error) => error.kind(),
            #[cfg(feature = "messages")]
            Self::Message(error) => error.kind(),
            #[cfg(feature = "files")]
            Self::File(error) => error.kind(),
            #[cfg(feature = "files")]
            Self::Import(error) => error.kind(),
            #[cfg(feature = "files")]
            Self::Export(error) => error.kind(),
            #[cfg(feature = "sql")]
            Self::Sql(error) => error.kind(),
            #[cfg(feature = "cluster")]
            Self::Cluster(error) => error.kind(),
            #[cfg(feature = "sql")]
            Self::Runtime { .. } => Kind::Io,
            Self::Interrupted => Kind::Interrupted,
        }
    }

    /// Where in stored data it happened, if that is known.
    ///
    /// ```
    /// use tambour::{Error, Place};
    /// use tambour::part::PartError;
    ///
    /// let place = Place::file("t/all_1_1_0/price.bin").of_column("price").at(65_552);
    /// let error = Error::from(PartError::malformed(place.clone(), "a mark points past the end"));
    /// assert_eq!(error.place(), Some(place));
    /// assert_eq!(Error::Interrupted.place(), None); // not about stored data
    /// ```
    pub fn place(&self) -> Option<Place> {
        place_of(self)
    }
}

/// The kind of the first error of ours in a chain, however deep other libraries wrapped it.
///
/// ```
/// use tambour::Kind;
///
/// let error = tambour::Table::open("/nowhere/hits").unwrap_err();
/// let wrapped = std::io::Error::other(error);
/// assert_eq!(tambour::kind_of(&wrapped), Some(Kind::NotFound));
/// ```
pub fn kind_of(error: &(dyn StdError + 'static)) -> Option<Kind> {
    chain(error).find_map(kind_of_link)
}

/// The kind of an error if it is of one of these types.
macro_rules! first_kind {
    ($error:expr, $($(#[$condition:meta])? $layer:ty),+ $(,)?) => {
        $(
            $(#[$condition])?
            if let Some(error) = $error.downcast_ref::<$layer>() {
                return Some(error.kind());
            }
        )+
    };
}

/// The kind of this error itself, not of its sources, if it is one of ours.
///
/// ```
/// let foreign = std::io::Error::other("not ours");
/// assert_eq!(tambour::kind_of_link(&foreign), None);
/// ```
pub fn kind_of_link(error: &(dyn StdError + 'static)) -> Option<Kind> {
    first_kind!(
        error,
        #[cfg(feature = "sql")]
        SqlError,
        #[cfg(feature = "cluster")]
        ClusterError,
        #[cfg(feature = "cluster")]
        crate::cluster::Told,
        #[cfg(feature = "tables")]
        TableError,
        #[cfg(feature = "records")]
        RecordError,
        #[cfg(feature = "pages")]
        PageError,
        #[cfg(feature = "tables")]
        PartError,
        #[cfg(feature = "files")]
        FileError,
        FrameError,
        CodecError,
        #[cfg(feature = "messages")]
        MessageError,
        #[cfg(feature = "files")]
        ImportError,
        #[cfg(feature = "files")]
        ExportError,
        Error,
    );
    None
}

/// The place in a part or file that a chain of errors names: the innermost, which knows most, with what only outer ones know.
///
/// ```
/// # use tambour::Place;
/// let foreign = std::io::Error::other("not ours");
/// assert_eq!(tambour::place_of(&foreign), None);
/// assert_eq!(Place::file("t/all_1_1_0/price.bin").at(64).to_string(), "t/all_1_1_0/price.bin, offset 64");
/// ```
pub fn place_of(error: &(dyn StdError + 'static)) -> Option<Place> {
    let inner = |outer: Place, inner: Place| Place {
        path: if inner.path.as_os_str().is_empty() { outer.path } else { inner.path },
        column: inner.column.or(outer.column),
        row: inner.row.or(outer.row),
        offset: inner.offset.or(outer.offset),
    };
    chain(error).filter_map(place_of_link).reduce(inner)
}

fn place_of_link(error: &(dyn StdError + 'static)) -> Option<Place> {
    if let Some(error) = error.downcast_ref::<Error>() {
        return match error {
            Error::Storage(error) => place_of_storage(error),
            #[cfg(feature = "tables")]
            Error::Part(error) => error.place().cloned(),
            #[cfg(feature = "tables")]
            Error::Table(error) => place_in_table(error),
            #[cfg(feature = "files")]
            Error::File(error) => error.place(),
            #[cfg(feature = "files")]
            Error::Import(error) => error.place(),
            #[cfg(feature = "files")]
            Error::Export(error) => Some(error.place()),
            #[cfg(feature = "pages")]
            Error::Page(error) => error.place(),
            #[cfg(feature = "records")]
            Error::Record(error) => error.place(),
            _ => None,
        };
    }
    #[cfg(feature = "cluster")]
    if let Some(error) = error.downcast_ref::<crate::cluster::Told>() {
        return error.place();
    }
    #[cfg(feature = "files")]
    if let Some(error) = error.downcast_ref::<FileError>() {
        return error.place();
    }
    #[cfg(feature = "pages")]
    if let Some(error) = error.downcast_ref::<PageError>() {
        return error.place();
    }
    #[cfg(feature = "records")]
    if let Some(error) = error.downcast_ref::<RecordError>() {
        return error.place();
    }
    #[cfg(feature = "tables")]
    if let Some(error) = error.downcast_ref::<PartError>() {
        return error.place().cloned();
    }
    #[cfg(feature = "tables")]
    if let Some(error) = error.downcast_ref::<TableError>() {
        return place_in_table(error);
    }
    error.downcast_ref::<StorageError>().and_then(place_of_storage)
}

fn place_of_storage(error: &StorageError) -> Option<Place> {
    match error {
        StorageError::File { path, .. } | StorageError::Locked { path, .. } => {
            Some(Place::file(path))
        }
        _ => None,
    }
}

#[cfg(feature = "tables")]
fn place_in_table(error: &TableError) -> Option<Place> {
    use TableError as E;
    match error {
        E::Storage(error) => place_of_storage(error),
        E::NotATable { path, .. }
        | E::Exists { path }
        | E::Occupied { path, .. }
        | E::Sidecar { path, .. }
        | E::SidecarSyntax { path, .. }
        | E::Unsupported { path, .. }
        | E::Statistics { path, .. } => Some(Place::file(path)),
        E::Index { table, part, .. }
        | E::Part { table, part, .. }
        | E::PartMissing { table, part }
        | E::PartDiffers { table, part, .. }
        | E::PartsOverlap { table, part, .. }
        | E::Unsorted { table, part, .. }
        | E::Changed { table, part, .. }
        | E::IndexUnsorted { table, part, .. } => Some(Place::file(table.join(part))),
        E::DefinitionDiffers { table, .. }
        | E::DefinitionUnknown { table, .. }
        | E::GivenUp { table }
        | E::CommitUncertain { table, .. }
        | E::Mismatch { table, .. } => Some(Place::file(table)),
        E::Type { column, .. } | E::Codec { column, .. } => Some(Place::column(column)),
        E::UnknownColumn { name, .. } | E::DuplicateColumn { name } => Some(Place::column(name)),
        _ => None,
    }
}

/// An error and its causes, outermost first. Unlike [`StdError::source`] alone, this looks into an [`std::io::Error`] that
/// wraps another error.
///
/// ```
/// let error = std::io::Error::other(std::io::Error::other("cause"));
/// assert_eq!(tambour::chain(&error).count(), 3); // two errors, and the text in the inner one
/// ```
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
#[cfg(feature = "tables")]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn kind_and_place_survive_wrappers() {
        let place = Place::file("t/all_1_1_0/price.bin").of_column("price").at(65_552);
        let cause = PartError::malformed(place.clone(), "a mark points past the end");
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
