//! `tambour.txt`: what Tambour adds to the parts that it writes, so that `columns.txt` is protected as well.
//!
//! `checksums.txt` must not list `columns.txt` (CHECK TABLE would complain), and without a hash of it a flipped bit in the
//! scale of a decimal or the name of an enum value would be believed. So its hash stands in a file of our own, which
//! `checksums.txt` lists like any other; ClickHouse carries such files along and does not look into them.
//!
//! A mutation by ClickHouse may rewrite `columns.txt` and keep this file. Then the other files are no longer those that
//! it was written with, which the second hash tells, and the first says nothing any more.

use super::Cursor;
use super::checksums::Checksums;
use crate::PartError;
use crate::name::hex;
use crate::part::file_hash;
use std::path::Path;
use tambour_kernel::hash::Hash128;

/// Name of the file.
pub(crate) const GUARD_FILE: &str = "tambour.txt";
/// Largest file in bytes.
pub(crate) const GUARD_BYTES_MAX: u64 = 4096;

/// The contents of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    /// Hash of `columns.txt`.
    pub(crate) columns_file: Hash128,
    /// Hash of the list of all other files.
    pub(crate) files: Hash128,
    /// Most rows of a granule; marks of the old dialect do not say it.
    pub(crate) index_granularity: u64,
}

/// Hash of the list of files without this one.
pub(crate) fn files_hash(sums: &Checksums) -> Hash128 {
    let mut others = sums.clone();
    others.files.remove(GUARD_FILE);
    file_hash(&others.body())
}

impl Guard {
    pub(crate) fn print(&self) -> String {
        format!(
            "tambour part version: 1\ncolumns.txt: {}\nfiles: {}\nindex_granularity: {}\n",
            hex(&self.columns_file.to_bytes()),
            hex(&self.files.to_bytes()),
            self.index_granularity
        )
    }

    pub(crate) fn parse(path: &Path, source: &[u8]) -> Result<Self, PartError> {
        let mut cursor = Cursor::new(path, source);
        cursor.expect("tambour part version: 1\ncolumns.txt: ")?;
        let columns_file = hash(&mut cursor)?;
        cursor.expect("\nfiles: ")?;
        let files = hash(&mut cursor)?;
        cursor.expect("\nindex_granularity: ")?;
        let index_granularity = cursor.decimal()?;
        cursor.expect("\n")?;
        cursor.end()?;
        Ok(Self { columns_file, files, index_granularity })
    }
}

/// 32 lower-case hex digits.
fn hash(cursor: &mut Cursor<'_>) -> Result<Hash128, PartError> {
    let wrong = cursor.malformed("expected 32 hex digits");
    let digits: [u8; 32] = cursor.array()?;
    let lower = digits.iter().all(|d| d.is_ascii_digit() || (b'a'..=b'f').contains(d));
    let text = std::str::from_utf8(&digits).ok().filter(|_| lower);
    let number = text.and_then(|text| u128::from_str_radix(text, 16).ok()).ok_or(wrong)?;
    Ok(Hash128::from_bytes(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_and_nothing_else() {
        let path = Path::new(GUARD_FILE);
        let guard = Guard {
            columns_file: Hash128 { low: 0x0123_4567_89ab_cdef, high: 5 },
            files: Hash128 { low: 1, high: u64::MAX },
            index_granularity: 8192,
        };
        let text = guard.print();
        assert!(text.contains("columns.txt: efcdab89674523010500000000000000\n"));
        assert_eq!(Guard::parse(path, text.as_bytes()).unwrap(), guard);
        for length in 0..text.len() {
            assert!(Guard::parse(path, &text.as_bytes()[..length]).is_err(), "{length}");
        }
        for (from, to) in [("ef", "EF"), ("ef", "+f"), ("1\n", "2\n"), ("8192\n", "8192\n\n")] {
            let bad = text.replacen(from, to, 1);
            assert!(Guard::parse(path, bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
