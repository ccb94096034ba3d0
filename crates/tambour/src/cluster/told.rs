//! An error that happened on a worker, with what is known of it by name.

use crate::{Kind, Place, chain, kind_of, place_of};
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

/// An error of a worker: its message with those of its causes, its kind and its place.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Told {
    message: String,
    kind: Option<String>,
    path: Option<PathBuf>,
    column: Option<String>,
    row: Option<u64>,
    offset: Option<u64>,
}

/// The kinds that travel by name.
const KINDS: [Kind; 8] = [
    Kind::Corrupt,
    Kind::Unsupported,
    Kind::Argument,
    Kind::NotFound,
    Kind::Conflict,
    Kind::Limit,
    Kind::Io,
    Kind::Interrupted,
];

impl Told {
    pub(super) fn of(error: &(impl StdError + 'static)) -> Self {
        let place = place_of(error);
        let mut message = String::new();
        for cause in chain(error).map(ToString::to_string) {
            // Some errors print their cause, too.
            if !message.contains(&cause) {
                let gap = if message.is_empty() { "" } else { ": " };
                message = message + gap + &cause;
            }
        }
        Self {
            message,
            kind: kind_of(error).map(|kind| format!("{kind:?}")),
            path: place.as_ref().map(|place| place.path.clone()),
            column: place.as_ref().and_then(|place| place.column.clone()),
            row: place.as_ref().and_then(|place| place.row),
            offset: place.as_ref().and_then(|place| place.offset),
        }
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        let is_it = |kind: &&Kind| self.kind.as_deref() == Some(&format!("{kind:?}"));
        KINDS.iter().find(is_it).copied().unwrap_or(Kind::Io)
    }

    /// Where in stored data it happened, if that is known.
    pub fn place(&self) -> Option<Place> {
        let mut place = Place::file(self.path.clone()?);
        place.column.clone_from(&self.column);
        place.row = self.row;
        place.offset = self.offset;
        Some(place)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Told {}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_part::PartError;

    #[test]
    fn kind_and_place_travel() {
        let place = Place::file("t/all_1_1_0/price.bin").of_column("price").at(65_552);
        let error = PartError::malformed(place.clone(), "a mark points past the end");
        let text = serde_json::to_string(&Told::of(&error)).unwrap();
        let told: Told = serde_json::from_str(&text).unwrap();
        assert_eq!((told.kind(), told.place()), (Kind::Corrupt, Some(place)));
        assert!(told.to_string().contains("a mark points past the end"), "{told}");
        assert_eq!(kind_of(&told), Some(Kind::Corrupt));
    }
}
