//! The start of an open segment: its header, twice, and its dictionary.

use crate::bytes::{Parser, put_length};
use crate::dictionary::Dictionary;
use crate::error::Damage;
use crate::{DICTIONARY_BYTES_MAX, RecordError, guard};
use std::path::Path;
use tambour_kernel::hash::crc32c;

/// The first bytes of an open segment.
const MAGIC: [u8; 8] = *b"TMBROPEN";
/// What is written. In version 1 no frame says that it goes on with a commit.
const VERSION: u16 = 2;
/// What is written where records have keys.
const VERSION_KEYED: u16 = 3;
const VERSION_MIN: u16 = 1;
/// Bytes of the header, which is there twice.
pub(super) const HEADER_BYTES: usize = 48;
/// Most bytes of the dictionary, compressed.
const DICTIONARY_STORED_MAX: usize = 2 * DICTIONARY_BYTES_MAX;
/// What an open segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenHeader {
    pub(crate) store: u64,
    /// Id of the first record.
    pub(crate) base: u64,
    /// Where the sums of its frames start.
    pub(crate) seed: u32,
    /// Whether records have keys in front.
    pub(crate) keyed: bool,
}

/// The start of a file: everything before the first frame.
pub(crate) fn start(header: OpenHeader, dictionary: &Dictionary) -> Result<Vec<u8>, RecordError> {
    let stored = dictionary.store(3)?;
    let mut fields = MAGIC.to_vec();
    let version = if header.keyed { VERSION_KEYED } else { VERSION };
    fields.extend_from_slice(&version.to_le_bytes());
    fields.extend_from_slice(&[0; 2]);
    fields.extend_from_slice(&header.store.to_le_bytes());
    fields.extend_from_slice(&header.base.to_le_bytes());
    fields.extend_from_slice(&header.seed.to_le_bytes());
    put_length(&mut fields, stored.len());
    fields.extend_from_slice(&crc32c(0, &stored).to_le_bytes());
    fields.extend_from_slice(&[0; 4]);
    fields.extend_from_slice(&crc32c(0, &fields).to_le_bytes());
    let mut file = [&fields[..], &fields].concat();
    file.extend_from_slice(&stored);
    guard::write(&stored, &mut file);
    Ok(file)
}

/// Header, and length and sum of the dictionary, from either copy of the header.
pub(super) fn read_header(
    bytes: &[u8],
    path: &Path,
    damage: &mut Vec<RecordError>,
) -> Result<(OpenHeader, usize, u32), RecordError> {
    let copy = |at: usize| {
        let copy = bytes.get(at..).unwrap_or_default();
        parse_header(copy).map_err(|bad| (bad, at))
    };
    let error = |(bad, at): (Damage, usize)| bad.within(path, at as u64);
    match (copy(0), copy(HEADER_BYTES)) {
        (Ok((header, VERSION_MIN..=VERSION_KEYED)), second) => {
            damage.extend(second.err().map(error));
            Ok(header)
        }
        (Err(first), Ok((header, VERSION_MIN..=VERSION_KEYED))) => {
            damage.push(error(first));
            Ok(header)
        }
        (Ok((_, version)), _) | (_, Ok((_, version))) => {
            Err(RecordError::Version { path: path.to_owned(), version: version.into() })
        }
        (Err(first), Err(_)) => Err(error(first)),
    }
}

type HeaderFields = ((OpenHeader, usize, u32), u16);

fn parse_header(bytes: &[u8]) -> Result<HeaderFields, Damage> {
    let mut parser = Parser::new(bytes);
    if parser.array()? != MAGIC {
        return Err(Damage::new(0, "magic", "TMBROPEN", "something else"));
    }
    let version = parser.u16()?;
    parser.take(2)?;
    let (store, base, seed) = (parser.u64()?, parser.u64()?, parser.u32()?);
    let (length, sum) = (parser.length()?, parser.u32()?);
    parser.take(4)?;
    let (got, expected) = (crc32c(0, &bytes[..parser.at()]), parser.u32()?);
    if got != expected {
        return Err(Damage::sum(0, "header", expected, got));
    }
    if length > DICTIONARY_STORED_MAX || base > u64::MAX / 2 {
        return Err(Damage::new(0, "fields of the header", "within the limits", "more"));
    }
    let keyed = version == VERSION_KEYED;
    Ok(((OpenHeader { store, base, seed, keyed }, length, sum), version))
}

const _: () = assert!(HEADER_BYTES == 8 + 2 + 2 + 8 + 8 + 4 + 4 + 4 + 4 + 4, "fields of a header");

#[cfg(test)]
mod tests {
    use super::super::OpenSegment;
    use super::*;

    #[test]
    fn the_version_before_is_read_and_later_ones_are_not() {
        let header = OpenHeader { store: 1, base: 9, seed: 7, keyed: false };
        let file = start(header, &Dictionary::default()).unwrap();
        let versions = [
            (0, false),
            (1, true),
            (VERSION, true),
            (VERSION_KEYED, true),
            (VERSION_KEYED + 1, false),
        ];
        for (version, is_read) in versions {
            let mut other = file.clone();
            for at in [0, HEADER_BYTES] {
                other[at + 8..at + 10].copy_from_slice(&version.to_le_bytes());
                let sum = crc32c(0, &other[at..at + HEADER_BYTES - 4]);
                other[at + HEADER_BYTES - 4..at + HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
            }
            match OpenSegment::parse(other, Path::new("file"), None, None) {
                Ok(segment) => {
                    let keyed = version == VERSION_KEYED;
                    assert!(is_read && segment.header == OpenHeader { keyed, ..header });
                }
                Err(RecordError::Version { version: got, .. }) => {
                    assert!(!is_read && got == u64::from(version));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
