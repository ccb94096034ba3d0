//! Values out of a slice.

use crate::xapian;
use crate::{Form, IntError, Malformed, Word};
use tambour_kernel::integer::{encode_length, leb128};

/// A cursor that reads values one after another. After an error it stays at the value that is wrong.
///
/// ```
/// use tambour_int::Reader;
/// let mut reader = Reader::new(&[0x05, 0x80]);
/// assert_eq!(reader.unpack_uint::<u32>(), Ok(5));
/// assert!(reader.unpack_uint::<u32>().is_err());
/// assert_eq!((reader.position(), reader.rest()), (1, &[0x80][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    source: &'a [u8],
    at: usize,
    form: Form,
}

impl<'a> Reader<'a> {
    /// A reader that takes values in more bytes than they need, as Xapian and protobuf do.
    pub fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0, form: Form::Any }
    }

    /// A reader that takes only the form that a [`Writer`](crate::Writer) writes.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// let five_in_two_bytes = [0x85, 0x00];
    /// assert_eq!(Reader::new(&five_in_two_bytes).unpack_uint::<u32>(), Ok(5));
    /// assert!(Reader::strict(&five_in_two_bytes).unpack_uint::<u32>().is_err());
    /// ```
    pub fn strict(source: &'a [u8]) -> Self {
        Self { source, at: 0, form: Form::Minimal }
    }

    /// Position of the next value.
    pub fn position(&self) -> usize {
        self.at
    }

    /// What has not been read.
    pub fn rest(&self) -> &'a [u8] {
        &self.source[self.at..]
    }

    /// LEB128: Xapian's `pack_uint`, protobuf's varint.
    #[inline]
    pub fn unpack_uint<T: Word>(&mut self) -> Result<T, IntError> {
        let (value, at) = leb128::read(self.source, self.at, self.form)?;
        self.at = at;
        Ok(value)
    }

    /// A signed value of protobuf's `sint32`.
    pub fn unpack_zigzag32(&mut self) -> Result<i32, IntError> {
        self.unpack_uint().map(crate::protobuf::unzigzag32)
    }

    /// A signed value of protobuf's `sint64`.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// assert_eq!(Reader::new(&[0x03]).unpack_zigzag(), Ok(-2));
    /// ```
    pub fn unpack_zigzag(&mut self) -> Result<i64, IntError> {
        self.unpack_uint().map(crate::protobuf::unzigzag)
    }

    /// The length encoding of Xapian's remote protocol up to 1.4.
    pub fn decode_length<T: Word>(&mut self) -> Result<T, IntError> {
        let (value, at) = encode_length::read(self.source, self.at)?;
        self.at = at;
        Ok(value)
    }

    /// A form whose bytes sort as the numbers do.
    pub fn unpack_uint_preserving_sort<T: Word>(&mut self) -> Result<T, IntError> {
        let at = self.at;
        let rest = self.rest();
        let first = *rest.first().ok_or(Malformed::Truncated { at })?;
        let length = first.leading_ones() as usize + 2;
        if length > xapian::SORTABLE_MAX {
            return Err(Malformed::TooLong { at }.into());
        }
        let truncated = Malformed::Truncated { at: self.source.len() };
        let bytes = rest.get(..length).ok_or(truncated)?;
        let top = first & u8::MAX.checked_shr(first.leading_ones() + 1).unwrap_or(0);
        let value =
            bytes[1..].iter().fold(u64::from(top), |value, &byte| value << 8 | u64::from(byte));
        if T::truncate(value).widen() != value {
            return Err(Malformed::Overflow { at }.into());
        }
        if self.form == Form::Minimal && xapian::sortable(value).1 != length {
            return Err(Malformed::NonMinimal { at }.into());
        }
        self.at += length;
        Ok(T::truncate(value))
    }

    /// All that is left as one value: bytes, low first.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// assert_eq!(Reader::new(&[0x34, 0x12]).unpack_uint_last::<u32>(), Ok(0x1234));
    /// assert_eq!(Reader::new(&[]).unpack_uint_last::<u32>(), Ok(0));
    /// ```
    pub fn unpack_uint_last<T: Word>(&mut self) -> Result<T, IntError> {
        let (at, rest) = (self.at, self.rest());
        if rest.len() > size_of::<T>() {
            return Err(Malformed::TooLong { at }.into());
        }
        if self.form == Form::Minimal && rest.last() == Some(&0) {
            return Err(Malformed::NonMinimal { at }.into());
        }
        self.at = self.source.len();
        Ok(T::truncate(rest.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))))
    }

    /// `0` or `1`.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// let mut reader = Reader::new(b"10?");
    /// assert_eq!((reader.unpack_bool(), reader.unpack_bool()), (Ok(true), Ok(false)));
    /// assert!(reader.unpack_bool().is_err());
    /// ```
    pub fn unpack_bool(&mut self) -> Result<bool, IntError> {
        let at = self.at;
        let byte = *self.source.get(at).ok_or(Malformed::Truncated { at })?;
        if !matches!(byte, b'0' | b'1') {
            return Err(IntError::Truth { at, byte });
        }
        self.at += 1;
        Ok(byte == b'1')
    }

    /// A length as by [`Self::unpack_uint`], then the bytes.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// assert_eq!(Reader::new(b"\x04termrest").unpack_string(), Ok(&b"term"[..]));
    /// assert!(Reader::new(b"\x09term").unpack_string().is_err());
    /// ```
    pub fn unpack_string(&mut self) -> Result<&'a [u8], IntError> {
        let start = self.at;
        let length = self.unpack_uint::<u64>()?;
        let taken = self.take(length);
        taken.inspect_err(|_| self.at = start)
    }

    /// This many bytes as they are.
    ///
    /// ```
    /// use tambour_int::Reader;
    /// let mut reader = Reader::new(b"abcdef");
    /// assert_eq!(reader.take(2), Ok(&b"ab"[..]));
    /// assert!(reader.take(u64::MAX).is_err());
    /// assert_eq!(reader.rest(), b"cdef");
    /// ```
    pub fn take(&mut self, length: u64) -> Result<&'a [u8], IntError> {
        let rest = self.rest();
        let bytes = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let bytes = bytes.ok_or(IntError::Promise { at: self.at, length, left: rest.len() })?;
        self.at += bytes.len();
        Ok(bytes)
    }

    /// A number of things that take a byte each at least, so that nobody reserves room for more than there can be.
    pub(crate) fn count(&mut self) -> Result<usize, IntError> {
        let start = self.at;
        let length = self.unpack_uint::<u64>()?;
        let (at, left) = (self.at, self.rest().len());
        let count = usize::try_from(length).ok().filter(|&count| count <= left);
        count.ok_or(IntError::Promise { at, length, left }).inspect_err(|_| self.at = start)
    }

    /// Appends a string in the form that sorts. Only the `last` thing of a key may lack its end.
    pub fn unpack_string_preserving_sort(
        &mut self,
        last: bool,
        target: &mut Vec<u8>,
    ) -> Result<(), IntError> {
        let kept = target.len();
        let mut rest = self.rest();
        loop {
            let Some(zero) = rest.iter().position(|&byte| byte == 0) else {
                if !last {
                    target.truncate(kept);
                    return Err(Malformed::Truncated { at: self.source.len() }.into());
                }
                target.extend(rest);
                self.at = self.source.len();
                return Ok(());
            };
            target.extend(&rest[..zero]);
            rest = &rest[zero + 1..];
            let Some((0xff, behind)) = rest.split_first() else {
                self.at = self.source.len() - rest.len();
                return Ok(());
            };
            target.push(0);
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reader;
    use crate::{IntError, Malformed, Writer};
    use proptest::prelude::proptest;

    fn malformed<T>(expected: Malformed) -> Result<T, IntError> {
        Err(IntError::Malformed(expected))
    }

    #[test]
    fn over_long_values_are_refused() {
        let bytes = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1];
        let too_long = malformed(Malformed::TooLong { at: 0 });
        assert_eq!(Reader::new(&bytes).unpack_uint::<u64>(), too_long);
        assert_eq!(
            Reader::new(&bytes[5..]).unpack_uint::<u32>(),
            malformed(Malformed::TooLong { at: 0 })
        );
        assert_eq!(
            Reader::new(&[1; 9]).unpack_uint_last::<u64>(),
            malformed(Malformed::TooLong { at: 0 })
        );
        assert_eq!(Reader::new(&[0xff; 9]).unpack_uint_preserving_sort::<u64>(), too_long);
    }

    #[test]
    fn overflow_of_the_last_byte_is_refused() {
        let overflow = || malformed(Malformed::Overflow { at: 0 });
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).unpack_uint::<u32>(), overflow());
        assert_eq!(
            Reader::new(&[0xe8, 1, 0, 0]).unpack_uint_preserving_sort::<u32>(),
            malformed(Malformed::Truncated { at: 4 })
        );
        assert_eq!(
            Reader::new(&[0xe1, 0, 0, 0, 0]).unpack_uint_preserving_sort::<u32>(),
            overflow()
        );
        assert_eq!(
            Reader::new(&[0xff, 0x7f, 0x7f, 0x7f, 0x7f, 0x8f]).decode_length::<u32>(),
            overflow()
        );
    }

    #[test]
    fn longer_forms_are_refused_in_strict_mode() {
        let longer = || malformed(Malformed::NonMinimal { at: 0 });
        assert_eq!(Reader::strict(&[0x80, 0]).unpack_uint::<u32>(), longer());
        assert_eq!(Reader::new(&[0x80, 0]).unpack_uint::<u32>(), Ok(0));
        assert_eq!(Reader::strict(&[0x80, 0, 1]).unpack_uint_preserving_sort::<u32>(), longer());
        assert_eq!(Reader::new(&[0x80, 0, 1]).unpack_uint_preserving_sort::<u32>(), Ok(1));
        assert_eq!(Reader::strict(&[1, 0]).unpack_uint_last::<u32>(), longer());
    }

    #[test]
    fn promises_are_checked() {
        let promise = IntError::Promise { at: 1, length: 5, left: 2 };
        assert_eq!(Reader::new(&[5, 1, 2]).unpack_string(), Err(promise));
        let mut endless = [0xff; 10];
        endless[9] = 1;
        let promise = IntError::Promise { at: 10, length: u64::MAX, left: 0 };
        assert_eq!(Reader::new(&endless).unpack_string(), Err(promise));
        assert_eq!(Reader::new(b"2").unpack_bool(), Err(IntError::Truth { at: 0, byte: b'2' }));
    }

    /// Whatever is written: cut anywhere, it is refused.
    fn refuse_cuts(bytes: &[u8], read: impl Fn(&[u8]) -> Result<u64, IntError>) {
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).is_err(), "{cut} of {bytes:02x?} is accepted");
        }
    }

    proptest! {
        #[test]
        fn integers_survive(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let mut target = [0; 64];
            let mut writer = Writer::new(&mut target);
            writer.pack_uint(value).unwrap();
            let first = writer.written();
            writer.encode_length(value).unwrap();
            let second = writer.written();
            writer.pack_uint_preserving_sort(value).unwrap();
            writer.pack_zigzag(value.cast_signed()).unwrap();
            writer.pack_uint_last(value).unwrap();
            let length = writer.written();
            let bytes = &target[..length];
            let mut reader = Reader::strict(bytes);
            assert_eq!(reader.unpack_uint(), Ok(value));
            assert_eq!(reader.decode_length(), Ok(value));
            assert_eq!(reader.unpack_uint_preserving_sort(), Ok(value));
            assert_eq!(reader.unpack_zigzag(), Ok(value.cast_signed()));
            assert_eq!(reader.unpack_uint_last(), Ok(value));
            refuse_cuts(&bytes[..first], |bytes| Reader::new(bytes).unpack_uint());
            refuse_cuts(&bytes[first..second], |bytes| Reader::new(bytes).decode_length());
        }

        #[test]
        fn sorted_form_sorts(a: u64, b: u64, shift in 0..64_u32, term: Vec<u8>, other: Vec<u8>) {
            let (a, b) = (a >> shift, b >> shift);
            let bytes = |term: &[u8], number| {
                let mut target = vec![0; 2 * term.len() + 20];
                let mut writer = Writer::new(&mut target);
                writer.pack_string_preserving_sort(term, false).unwrap();
                writer.pack_uint_preserving_sort(number).unwrap();
                let length = writer.written();
                target.truncate(length);
                target
            };
            assert_eq!((&term, a).cmp(&(&other, b)), bytes(&term, a).cmp(&bytes(&other, b)));
            let whole = bytes(&term, a);
            let mut reader = Reader::strict(&whole);
            let mut found = Vec::new();
            reader.unpack_string_preserving_sort(false, &mut found).unwrap();
            assert_eq!((found, reader.unpack_uint_preserving_sort()), (term, Ok(a)));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = Reader::new(&bytes).unpack_uint::<u32>();
            let _ = Reader::new(&bytes).decode_length::<u64>();
            let _ = Reader::new(&bytes).unpack_uint_preserving_sort::<u64>();
            let _ = Reader::new(&bytes).unpack_uint_last::<u64>();
            let _ = Reader::new(&bytes).unpack_string();
            let _ = Reader::new(&bytes).unpack_string_preserving_sort(false, &mut Vec::new());
            let _ = crate::xapian::unpack_uint_backwards::<u64>(&bytes, bytes.len());
            let _ = crate::xapian::PostlistKey::read(&bytes);
            let _ = crate::Document::read(&bytes);
        }
    }
}
