//! Pointers from C become slices here, or are refused.

use std::slice;

/// Addresses that a call reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    start: usize,
    /// Behind the last byte; `None` if that is beyond the end of memory.
    end: Option<usize>,
    written: bool,
}

impl Region {
    /// Bytes that are only read.
    pub(crate) fn read(start: *const u8, length: usize) -> Self {
        Self { start: start.addr(), end: start.addr().checked_add(length), written: false }
    }

    /// Bytes that are written.
    pub(crate) fn written(start: *mut u8, length: usize) -> Self {
        Self { written: true, ..Self::read(start, length) }
    }
}

/// Whether no written region has a byte in common with another one.
pub(crate) fn are_apart(mut regions: Vec<Region>) -> bool {
    regions.retain(|region| region.end != Some(region.start));
    regions.sort_unstable_by_key(|region| region.start);
    // The farthest ends so far: of all regions, and of written ones.
    let (mut end_of_any, mut end_of_written) = (0, 0);
    for region in regions {
        let Some(end) = region.end else { return false };
        let limit = if region.written { end_of_any } else { end_of_written };
        if region.start < limit {
            return false;
        }
        end_of_any = end_of_any.max(end);
        if region.written {
            end_of_written = end_of_written.max(end);
        }
    }
    true
}

/// The bytes at a pointer; empty for length 0, whatever the pointer is. `None` for NULL, and for a length that no buffer
/// has.
///
/// # Safety
/// A pointer that is not NULL is readable for `length` bytes, which nobody writes while the slice is in use.
pub(crate) unsafe fn source<'a>(start: *const u8, length: usize) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises; bytes need no alignment.
    unsafe { array(start, length) }
}

/// The bytes at a pointer for writing; otherwise like [`source`].
///
/// # Safety
/// A pointer that is not NULL is writable for `length` bytes, which nobody else uses while the slice is in use.
pub(crate) unsafe fn target<'a>(start: *mut u8, length: usize) -> Option<&'a mut [u8]> {
    if length == 0 {
        return Some(&mut []);
    }
    if start.is_null() || isize::try_from(length).is_err() {
        return None;
    }
    // SAFETY: not NULL, not longer than any object; the rest is as the caller promises.
    Some(unsafe { slice::from_raw_parts_mut(start, length) })
}

/// The elements at a pointer; empty for count 0, whatever the pointer is. `None` for NULL, for a pointer that is not
/// aligned, and for more elements than fit in memory.
///
/// # Safety
/// A pointer that is not NULL is readable for `count` elements, which nobody writes while the slice is in use.
pub(crate) unsafe fn array<'a, T>(start: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    let bytes = count.checked_mul(size_of::<T>())?;
    if start.is_null() || !start.is_aligned() || isize::try_from(bytes).is_err() {
        return None;
    }
    // SAFETY: not NULL, aligned, not longer than any object; the rest is as the caller promises.
    Some(unsafe { slice::from_raw_parts(start, count) })
}

#[cfg(test)]
mod tests {
    use super::{Region, are_apart};
    use std::ptr;

    fn read(start: usize, length: usize) -> Region {
        Region::read(ptr::without_provenance(start), length)
    }

    fn written(start: usize, length: usize) -> Region {
        Region::written(ptr::without_provenance_mut(start), length)
    }

    #[test]
    fn only_written_regions_must_be_apart() {
        assert!(are_apart(vec![]));
        assert!(are_apart(vec![read(8, 8), read(8, 8), read(10, 2)]));
        assert!(are_apart(vec![written(16, 8), read(8, 8), read(24, 8)]));
        assert!(!are_apart(vec![written(15, 8), read(8, 8)]));
        assert!(!are_apart(vec![read(8, 100), read(9, 1), written(50, 1)]));
        assert!(!are_apart(vec![written(8, 100), read(9, 1)]));
        assert!(!are_apart(vec![written(8, 8), written(8, 8)]));
        assert!(are_apart(vec![written(8, 0), written(8, 8), read(8, 0), read(0, 0)]));
        assert!(!are_apart(vec![read(usize::MAX, 2)]));
    }
}
