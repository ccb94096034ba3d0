//! The sidecar `tambour.json`: the CREATE TABLE statement and the list of live parts; docs/format/table.md describes it.
//!
//! Read strictly: the file must be, byte for byte, what would be written for its contents, so that no changed byte is
//! overlooked.

use super::name::PartName;
use crate::TableError;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use tambour_kernel::hash::sip_hash_128;

/// Name of the sidecar file.
pub const SIDECAR: &str = "tambour.json";

/// The schema that this version reads and writes.
const SCHEMA: &str = "tambour/table/1";

/// Most bytes that a sidecar may have: room for some 500 000 parts.
pub(super) const SIZE_MAX: u64 = 128 << 20;

/// What directories of parts that are not final are called at their beginning.
pub(super) const TEMPORARY: &str = "tmp_";

/// The directory of parts that are not the table's any more, or not yet.
pub(super) const DETACHED: &str = "detached";

/// A live part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LivePart {
    /// Its name, and in the end its directory.
    pub name: String,
    /// Its directory as long as it has not been renamed to its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Hash of its contents.
    pub hash: String,
    /// Rows.
    pub rows: u64,
}

impl LivePart {
    pub(super) fn new(name: &PartName, directory: Option<String>, hash: String, rows: u64) -> Self {
        Self { name: name.to_string(), directory, hash, rows }
    }
}

/// What a sidecar says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sidecar {
    schema: String,
    /// The CREATE TABLE statement.
    pub statement: String,
    /// Number of the next block; greater than all in use.
    pub next_block: u64,
    /// Live parts, by name.
    pub parts: Vec<LivePart>,
    /// Directories of parts which the last commit replaced, and which may still be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Directories of parts which the last commit detached, and which may not have been moved yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<String>,
    check: String,
}

/// Just enough to tell versions apart.
#[derive(Deserialize)]
struct Tag {
    schema: String,
}

impl Sidecar {
    /// One without parts.
    pub(super) fn new(statement: String) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            statement,
            next_block: 1,
            parts: Vec::new(),
            removed: Vec::new(),
            detached: Vec::new(),
            check: String::new(),
        }
    }

    /// Puts the parts into the order of their names.
    pub(super) fn sort_parts(&mut self) {
        self.parts.sort_by_cached_key(|part| PartName::parse(&part.name));
    }

    /// The bytes of the file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let body = Self { check: String::new(), ..self.clone() };
        let check = hex(&sip_hash_128(&serde_json::to_vec(&body)?));
        let mut bytes = serde_json::to_vec_pretty(&Self { check, ..body })?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads and checks the bytes of the file at `path`.
    pub(super) fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self, TableError> {
        let syntax = |cause| TableError::SidecarSyntax { path: path.to_owned(), cause };
        let tag: Tag = serde_json::from_slice(bytes).map_err(syntax)?;
        if tag.schema != SCHEMA {
            let what = format!("schema {:?}", tag.schema);
            return Err(TableError::Unsupported { path: path.to_owned(), what });
        }
        let sidecar: Self = serde_json::from_slice(bytes).map_err(syntax)?;
        let wrong = |field, expected: String, got: String| TableError::Sidecar {
            path: path.to_owned(),
            field,
            expected,
            got,
        };
        let canonical = sidecar.to_bytes().map_err(syntax)?;
        if canonical != bytes {
            let expected = Self::from_canonical(&canonical).map_err(syntax)?.check;
            return Err(if expected == sidecar.check {
                let at = canonical.iter().zip(bytes).take_while(|(left, right)| left == right);
                wrong(
                    "form",
                    "as it is written".to_owned(),
                    format!("another byte at {}", at.count()),
                )
            } else {
                wrong("check", expected, sidecar.check)
            });
        }
        sidecar.check_parts().map_err(|(field, expected, got)| wrong(field, expected, got))?;
        Ok(sidecar)
    }

    fn from_canonical(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Names are names, nothing overlaps, block numbers are below the next one, directories lie within the table.
    fn check_parts(&self) -> Result<(), (&'static str, String, String)> {
        let mut names = Vec::with_capacity(self.parts.len());
        let mut directories = HashSet::new();
        let mut rows = 0_u64;
        for part in &self.parts {
            let name = PartName::parse(&part.name)
                .ok_or_else(|| ("part name", "a part's name".to_owned(), part.name.clone()))?;
            if name.block_max >= self.next_block {
                return Err((
                    "next_block",
                    format!("above {}", name.block_max),
                    self.next_block.to_string(),
                ));
            }
            if let Some(directory) = &part.directory
                && (!is_temporary(directory) || !directories.insert(directory))
            {
                let wanted = "tmp_... or a part in detached/, each once".to_owned();
                return Err(("part directory", wanted, directory.clone()));
            }
            rows = rows
                .checked_add(part.rows)
                .ok_or_else(|| ("rows", "fewer than 2^64".to_owned(), part.rows.to_string()))?;
            names.push(name);
        }
        for pair in names.windows(2) {
            if let [left, right] = pair
                && (left >= right || left.overlaps(right))
            {
                return Err(("part name", format!("one above {left}"), right.to_string()));
            }
        }
        let mut known: HashSet<_> = self.parts.iter().map(|part| part.name.as_str()).collect();
        for name in &self.removed {
            if PartName::parse(name).is_none() || known.contains(name.as_str()) {
                return Err(("removed part", "a part that is not live".to_owned(), name.clone()));
            }
        }
        known.extend(self.removed.iter().map(String::as_str));
        for name in &self.detached {
            if PartName::parse(name).is_none() || !known.insert(name) {
                let wanted = "a part that is neither live nor removed, once".to_owned();
                return Err(("detached part", wanted, name.clone()));
            }
        }
        Ok(())
    }
}

/// A name that a directory may have before the rename: one of ours, with nothing odd in it, or that of a detached part.
fn is_temporary(name: &str) -> bool {
    if let Some(detached) = name.strip_prefix(DETACHED).and_then(|rest| rest.strip_prefix('/')) {
        return PartName::parse(detached).is_some();
    }
    name.strip_prefix(TEMPORARY).is_some_and(|rest| {
        !rest.is_empty()
            && name.len() <= 255
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    })
}

/// Bytes as lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::{LivePart, Sidecar};
    use std::path::Path;
    use tambour_codec::Kind;

    fn live(name: &str, directory: Option<&str>) -> LivePart {
        let directory = directory.map(str::to_owned);
        LivePart { name: name.to_owned(), directory, hash: "0123456789abcdef".to_owned(), rows: 3 }
    }

    fn example() -> Sidecar {
        let statement = "CREATE TABLE t\n(\n    `s` String\n)\nENGINE = MergeTree\nORDER BY s";
        let parts = vec![live("202402_2_2_0", Some("tmp_insert_2_0")), live("202402_3_3_0", None)];
        let removed = vec!["202402_1_1_0".to_owned()];
        let detached = vec!["202401_1_1_0".to_owned()];
        Sidecar { next_block: 4, parts, removed, detached, ..Sidecar::new(statement.to_owned()) }
    }

    fn read(bytes: &[u8]) -> Result<Sidecar, crate::TableError> {
        Sidecar::from_bytes(Path::new("t/tambour.json"), bytes)
    }

    #[test]
    fn round_trip() {
        let bytes = example().to_bytes().unwrap();
        let again = read(&bytes).unwrap();
        assert_eq!(again.parts, example().parts);
        assert_eq!(again.removed, example().removed);
        assert_eq!(again.detached, example().detached);
        let attached = Some("detached/202402_1_1_0".to_owned());
        let mut attaching = example();
        attaching.parts[0].directory.clone_from(&attached);
        let attaching = read(&attaching.to_bytes().unwrap()).unwrap();
        assert_eq!(attaching.parts[0].directory, attached);
        assert_eq!(again.statement, example().statement);
        assert_eq!(again.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let good = example().to_bytes().unwrap();
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                assert!(read(&bad).is_err(), "bit {bit} of byte {at}");
            }
            assert!(read(&good[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(read(b"").unwrap_err().kind(), Kind::Corrupt);
        let mut longer = good.clone();
        longer.push(b'\n');
        assert_eq!(read(&longer).unwrap_err().kind(), Kind::Corrupt);
    }

    #[test]
    fn other_versions_are_told_from_damage() {
        let text = String::from_utf8(example().to_bytes().unwrap()).unwrap();
        let newer = text.replace("tambour/table/1", "tambour/table/2");
        assert_eq!(read(newer.as_bytes()).unwrap_err().kind(), Kind::Unsupported);
    }

    #[test]
    fn contents_that_make_no_sense_are_refused_even_with_a_good_check() {
        type Change = fn(&mut Sidecar);
        let bad: [(&str, Change); 11] = [
            ("name", |s| s.parts[0].name = "../x".to_owned()),
            ("directory", |s| s.parts[0].directory = Some("tmp_/../../x".to_owned())),
            ("directory", |s| s.parts[0].directory = Some("202402_2_2_0".to_owned())),
            ("twice", |s| s.parts[1].directory = s.parts[0].directory.clone()),
            ("order", |s| s.parts.swap(0, 1)),
            ("overlap", |s| s.parts[1].name = "202402_2_3_1".to_owned()),
            ("next", |s| s.next_block = 3),
            ("removed", |s| s.removed.push("202402_3_3_0".to_owned())),
            ("directory", |s| s.parts[0].directory = Some("detached/../x".to_owned())),
            ("detached", |s| s.detached.push("202402_3_3_0".to_owned())),
            ("detached", |s| s.detached.push("202402_1_1_0".to_owned())),
        ];
        for (what, change) in bad {
            let mut sidecar = example();
            change(&mut sidecar);
            let error = read(&sidecar.to_bytes().unwrap()).unwrap_err();
            assert_eq!(error.kind(), Kind::Corrupt, "{what}");
        }
        let mut rows = example();
        rows.parts[0].rows = u64::MAX;
        assert!(read(&rows.to_bytes().unwrap()).is_err());
    }
}
