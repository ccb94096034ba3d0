//! `checksums.txt`: size and hash of every file, versions 2 (text), 3 (binary) and 4 (binary in compressed blocks).

use super::{CHECKSUMS_BYTES_MAX, Cursor};
use crate::name::is_plain;
use crate::stream::whole;
use crate::{PartError, Place};
use std::collections::BTreeMap;
use std::path::Path;
use tambour_codec::CodecError;
use tambour_codec::block::Encoder;
use tambour_codec::codec::Element;
use tambour_codec::spec::CodecSpec;
use tambour_kernel::hash::Hash128;

/// Name of the file.
pub(crate) const CHECKSUMS_FILE: &str = "checksums.txt";

const VERSION_PREFIX: &str = "checksums format version: ";
/// Fewest bytes of an entry: empty name, size, hash, flag.
const ENTRY_BYTES_MIN: usize = 19;

/// What is listed of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileSum {
    pub(crate) size: u64,
    pub(crate) hash: Hash128,
    /// Size and hash of what is inside its blocks, for files of blocks.
    pub(crate) contents: Option<(u64, Hash128)>,
}

/// The list of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksums {
    pub(crate) files: BTreeMap<String, FileSum>,
}

impl Checksums {
    /// Parses the file.
    pub(crate) fn parse(path: &Path, source: &[u8]) -> Result<Self, PartError> {
        let mut cursor = Cursor::new(path, source);
        cursor.expect(VERSION_PREFIX)?;
        let version = cursor.decimal()?;
        cursor.expect("\n")?;
        match version {
            2 => Self::parse_text(cursor),
            3 => Self::parse_binary(cursor),
            4 => {
                let start = cursor.place().offset.unwrap_or(0);
                let body = whole::decode(path, cursor.rest(), start, CHECKSUMS_BYTES_MAX)?;
                Self::parse_binary(Cursor::new(path, &body))
            }
            _ => {
                let what = format!("checksums format version {version}");
                Err(PartError::unsupported(Place::file(path), what))
            }
        }
    }

    fn parse_binary(mut cursor: Cursor<'_>) -> Result<Self, PartError> {
        let count = cursor.var_uint()?;
        if count > (cursor.rest().len() / ENTRY_BYTES_MIN) as u64 {
            return Err(cursor.malformed("more files than the list has room for"));
        }
        let mut sums = Self::default();
        for _ in 0..count {
            let place = cursor.place();
            let name = cursor.string()?;
            let size = cursor.var_uint()?;
            let hash = Hash128::from_bytes(cursor.array()?);
            let contents = match cursor.array()? {
                [0] => None,
                [1] => Some((cursor.var_uint()?, Hash128::from_bytes(cursor.array()?))),
                _ => return Err(cursor.malformed("flag is neither 0 nor 1")),
            };
            sums.add(place, name, FileSum { size, hash, contents })?;
        }
        cursor.end()?;
        Ok(sums)
    }

    fn parse_text(mut cursor: Cursor<'_>) -> Result<Self, PartError> {
        let hash = |cursor: &mut Cursor<'_>| {
            let low = cursor.decimal()?;
            cursor.expect(" ")?;
            Ok::<_, PartError>(Hash128 { low, high: cursor.decimal()? })
        };
        let count = cursor.decimal()?;
        cursor.expect(" files:\n")?;
        let mut sums = Self::default();
        for _ in 0..count {
            let place = cursor.place();
            let name = std::str::from_utf8(cursor.until(b'\n')?).ok();
            let name = name.ok_or_else(|| PartError::malformed(place.clone(), "not UTF-8"))?;
            cursor.expect("\tsize: ")?;
            let size = cursor.decimal()?;
            cursor.expect("\n\thash: ")?;
            let file_hash = hash(&mut cursor)?;
            cursor.expect("\n\tcompressed: ")?;
            let contents = match cursor.decimal()? {
                0 => None,
                1 => {
                    cursor.expect("\n\tuncompressed size: ")?;
                    let size = cursor.decimal()?;
                    cursor.expect("\n\tuncompressed hash: ")?;
                    Some((size, hash(&mut cursor)?))
                }
                _ => return Err(cursor.malformed("flag is neither 0 nor 1")),
            };
            cursor.expect("\n")?;
            sums.add(place, name, FileSum { size, hash: file_hash, contents })?;
        }
        cursor.end()?;
        Ok(sums)
    }

    fn add(&mut self, place: Place, name: &str, sum: FileSum) -> Result<(), PartError> {
        if !is_plain(name) {
            return Err(PartError::malformed(place, format!("{name:?} is not a file of a part")));
        }
        if self.files.insert(name.to_owned(), sum).is_some() {
            return Err(PartError::malformed(place, format!("{name:?} is listed twice")));
        }
        Ok(())
    }

    /// The file, version 4 with one LZ4 block.
    pub(crate) fn print(&self) -> Result<Vec<u8>, CodecError> {
        let mut file = format!("{VERSION_PREFIX}4\n").into_bytes();
        let mut encoder = Encoder::new(&CodecSpec::lz4(), Element::BYTES)?;
        encoder.encode(&self.body(), &mut file)?;
        Ok(file)
    }

    /// The list as versions 3 and 4 hold it.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        write_var_uint(self.files.len() as u64, &mut body);
        for (name, sum) in &self.files {
            write_var_uint(name.len() as u64, &mut body);
            body.extend_from_slice(name.as_bytes());
            write_var_uint(sum.size, &mut body);
            body.extend_from_slice(&sum.hash.to_bytes());
            body.push(u8::from(sum.contents.is_some()));
            if let Some((size, hash)) = sum.contents {
                write_var_uint(size, &mut body);
                body.extend_from_slice(&hash.to_bytes());
            }
        }
        body
    }
}

/// Appends LEB128.
pub(crate) fn write_var_uint(mut number: u64, target: &mut Vec<u8>) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            target.push(byte);
            return;
        }
        target.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checksums {
        let hash = |low| Hash128 { low, high: !low };
        let mut sums = Checksums::default();
        for (name, size, contents) in
            [("count.txt", 1, None), ("k.bin", 300, Some((200, hash(7)))), ("k.mrk2", 48, None)]
        {
            sums.files.insert(name.to_owned(), FileSum { size, hash: hash(size), contents });
        }
        sums
    }

    fn parse(bytes: &[u8]) -> Result<Checksums, PartError> {
        Checksums::parse(Path::new("checksums.txt"), bytes)
    }

    fn version_3(body: &[u8]) -> Vec<u8> {
        [b"checksums format version: 3\n", body].concat()
    }

    #[test]
    fn versions_3_and_4_hold_the_same_list() {
        let sums = example();
        assert_eq!(parse(&sums.print().unwrap()).unwrap(), sums);
        assert_eq!(parse(&version_3(&sums.body())).unwrap(), sums);
    }

    #[test]
    fn version_2_is_text() {
        let text = "checksums format version: 2\n2 files:\nb.mrk\n\tsize: 16\n\thash: 5 6\n\tcompressed: 0\n\
                    k.bin\n\tsize: 37\n\thash: 1 18446744073709551615\n\tcompressed: 1\n\tuncompressed size: 12\n\
                    \tuncompressed hash: 3 4\n";
        let sums = parse(text.as_bytes()).unwrap();
        let sum = sums.files["k.bin"];
        assert_eq!((sum.size, sum.hash.high), (37, u64::MAX));
        assert_eq!(sum.contents, Some((12, Hash128 { low: 3, high: 4 })));
        assert_eq!(sums.files["b.mrk"].contents, None);
        for length in 0..text.len() {
            assert!(parse(&text.as_bytes()[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn truncation_and_excess_are_refused() {
        for bytes in [example().print().unwrap(), version_3(&example().body())] {
            for length in 0..bytes.len() {
                assert!(parse(&bytes[..length]).is_err(), "{length}");
            }
            assert!(parse(&[bytes, vec![0]].concat()).is_err());
        }
    }

    #[test]
    fn every_flipped_bit_of_version_4_is_seen() {
        let good = example().print().unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&bad).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_and_lying_counts_are_refused() {
        for name in ["../k.bin", "a/b", "", ".."] {
            let mut sums = example();
            let sum = sums.files["k.bin"];
            sums.files.insert(name.to_owned(), sum);
            assert!(parse(&version_3(&sums.body())).is_err(), "{name}");
        }
        let error = parse(&version_3(&[0xff, 0xff, 0xff, 0xff, 0x7f])).unwrap_err();
        assert!(error.to_string().contains("room"), "{error}");
        let error = parse(b"checksums format version: 5\n").unwrap_err();
        assert_eq!(error.kind(), tambour_codec::Kind::Unsupported);
    }
}
