//! Xapian's encodings (`docs/format/xapian.md`): those that need no cursor, and the keys of glass posting lists.
//!
//! The formats are Xapian's; what a decoder refuses is not: Xapian's own reads before the buffer when a varint is too long for
//! its type, and does not notice bits beyond the type in the last byte.

use crate::{Form, IntError, Malformed, Reader, Word, Writer};
use tambour_kernel::integer::leb128;

/// Most bytes of the form that sorts.
pub(crate) const SORTABLE_MAX: usize = 9;

/// Bytes of the form that takes its length from elsewhere.
#[inline]
pub(crate) fn last_length(value: u64) -> usize {
    8 - value.leading_zeros() as usize / 8
}

/// The form that sorts, and its length: two bytes below 2^15; otherwise as many leading ones as there are bytes more.
#[inline]
pub(crate) fn sortable(value: u64) -> ([u8; SORTABLE_MAX], usize) {
    let bits = 64 - value.leading_zeros() as usize;
    let length = ((bits + 5) / 7).max(2);
    let mut bytes = [0xfe; SORTABLE_MAX];
    if length == SORTABLE_MAX {
        bytes[1..].copy_from_slice(&value.to_be_bytes());
    } else {
        let ones = !(u64::MAX >> (length - 2));
        bytes[..8].copy_from_slice(&(value << (64 - 8 * length) | ones).to_be_bytes());
    }
    (bytes, length)
}

/// Reads the LEB128 value that ends before position `end`; the value and its position.
///
/// ```
/// use tambour_int::xapian::unpack_uint_backwards;
/// // 5, then 300: the last value first.
/// let bytes = [0x05, 0xac, 0x02];
/// assert_eq!(unpack_uint_backwards::<u32>(&bytes, 3), Ok((300, 1)));
/// assert_eq!(unpack_uint_backwards::<u32>(&bytes, 1), Ok((5, 0)));
/// ```
pub fn unpack_uint_backwards<T: Word>(source: &[u8], end: usize) -> Result<(T, usize), IntError> {
    let before = source.get(..end).unwrap_or(source);
    let Some((&last, rest)) = before.split_last() else {
        return Err(Malformed::Truncated { at: 0 }.into());
    };
    if last >= 0x80 {
        return Err(Malformed::Truncated { at: before.len() }.into());
    }
    let more = rest.iter().rev().take(T::BYTES_MAX).take_while(|&&byte| byte >= 0x80).count();
    let start = rest.len() - more;
    let (value, _) = leb128::read(before, start, Form::Any)?;
    Ok((value, start))
}

/// The key of a chunk of a posting list in a glass table.
///
/// ```
/// use tambour_int::{Writer, xapian::PostlistKey};
/// let key = PostlistKey { term: b"word".to_vec(), document: Some(77) };
/// let mut bytes = [0; 16];
/// let mut writer = Writer::new(&mut bytes);
/// key.write(&mut writer)?;
/// let length = writer.written();
/// assert_eq!(PostlistKey::read(&bytes[..length])?, key);
/// # Ok::<(), tambour_int::IntError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PostlistKey {
    /// The term; empty for the list of document lengths.
    pub term: Vec<u8>,
    /// First document of the chunk; `None` for a list's first chunk.
    pub document: Option<u32>,
}

/// The key of the first chunk of document lengths.
const LENGTHS: [u8; 2] = [0, 0xe0];

impl PostlistKey {
    /// Appends the key to what was written.
    pub fn write(&self, writer: &mut Writer<'_>) -> Result<(), IntError> {
        if self.term.is_empty() {
            writer.put(&LENGTHS)?;
        } else {
            writer.pack_string_preserving_sort(&self.term, self.document.is_none())?;
        }
        self.document.map_or(Ok(()), |document| writer.pack_uint_preserving_sort(document.into()))
    }

    /// Reads a whole key.
    pub fn read(source: &[u8]) -> Result<Self, IntError> {
        let mut reader = Reader::strict(source);
        let mut term = Vec::new();
        if source.starts_with(&LENGTHS) {
            reader.take(LENGTHS.len() as u64)?;
        } else {
            reader.unpack_string_preserving_sort(true, &mut term)?;
        }
        let document = match reader.rest() {
            [] => None,
            _ => Some(reader.unpack_uint_preserving_sort()?),
        };
        if reader.rest().is_empty() {
            Ok(Self { term, document })
        } else {
            Err(IntError::Order { at: reader.position() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PostlistKey, unpack_uint_backwards};
    use crate::{IntError, Malformed, Writer};

    #[test]
    fn backwards_from_the_end() {
        let bytes = [5, 0xac, 2, 0xff, 0xff, 0xff, 0xff, 0x0f];
        assert_eq!(unpack_uint_backwards(&bytes, 8), Ok((u32::MAX, 3)));
        assert_eq!(unpack_uint_backwards(&bytes, 3), Ok((300_u32, 1)));
        assert_eq!(unpack_uint_backwards(&bytes, 1), Ok((5_u32, 0)));
        assert_eq!(
            unpack_uint_backwards::<u32>(&bytes, 0),
            Err(Malformed::Truncated { at: 0 }.into())
        );
        assert_eq!(
            unpack_uint_backwards::<u32>(&bytes, 2),
            Err(Malformed::Truncated { at: 2 }.into())
        );
        let long = [[0x80; 10].as_slice(), &[1]].concat();
        assert_eq!(
            unpack_uint_backwards::<u64>(&long, 11),
            Err(Malformed::TooLong { at: 0 }.into())
        );
        assert_eq!(
            unpack_uint_backwards::<u32>(&long, 11),
            Err(Malformed::TooLong { at: 5 }.into())
        );
    }

    #[test]
    fn keys_go_both_ways() {
        for (term, document) in [
            ("", None),
            ("", Some(12345)),
            ("foo", None),
            ("foo", Some(70_000)),
            ("\0a\0", Some(0)),
        ] {
            let key = PostlistKey { term: term.into(), document };
            let mut target = [0; 20];
            let mut writer = Writer::new(&mut target);
            key.write(&mut writer).unwrap();
            let length = writer.written();
            assert_eq!(PostlistKey::read(&target[..length]), Ok(key));
        }
        assert_eq!(PostlistKey::read(&[b'a', 0, 0, 1, 9]), Err(IntError::Order { at: 4 }));
    }
}
