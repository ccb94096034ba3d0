//! Protobuf's signed integers as unsigned ones: 0, -1, 1, -2, … become 0, 1, 2, 3, …

/// The unsigned number of a signed one.
///
/// ```
/// use tambour_int::protobuf::zigzag;
/// assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
/// ```
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// The signed number of an unsigned one.
///
/// ```
/// use tambour_int::protobuf::{unzigzag, zigzag};
/// assert_eq!(unzigzag(3), -2);
/// assert_eq!(unzigzag(zigzag(i64::MIN)), i64::MIN);
/// ```
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// The unsigned number of a signed one.
pub const fn zigzag32(value: i32) -> u32 {
    (value << 1 ^ value >> 31).cast_unsigned()
}

/// The signed number of an unsigned one.
pub const fn unzigzag32(value: u32) -> i32 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::{unzigzag, unzigzag32, zigzag, zigzag32};

    #[test]
    fn signs_alternate() {
        for (signed, unsigned) in
            [(0, 0), (-1, 1), (1, 2), (-2, 3), (i32::MAX, u32::MAX - 1), (i32::MIN, u32::MAX)]
        {
            assert_eq!((zigzag32(signed), unzigzag32(unsigned)), (unsigned, signed));
        }
        for (signed, unsigned) in [(0, 0), (-1, 1), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)]
        {
            assert_eq!((zigzag(signed), unzigzag(unsigned)), (unsigned, signed));
        }
    }
}
