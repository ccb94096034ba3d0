//! Pointers from C become slices here, or are refused.

use std::mem::MaybeUninit;
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

/// Whether what a call writes has no byte in common with what it reads.
pub(crate) fn is_apart(source: Region, target: Region) -> bool {
    let (Some(source_end), Some(target_end)) = (source.end, target.end) else { return false };
    let is_empty = source_end == source.start || target_end == target.start;
    is_empty || source_end <= target.start || target_end <= source.start
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

/// The bytes at a pointer for writing; otherwise like [`source`]. What they hold before is nobody's promise.
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
    // SAFETY: not NULL, not longer than any object; the rest is as the caller promises. Bytes that may hold anything are
    // what memory is that is only writable.
    let room = unsafe { slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), length) };
    Some(settled(room))
}

/// The same bytes, with whatever they hold as their value. C promises memory to write to, not memory with a content, while a
/// decoder loads whole registers of its target, of which it keeps the bytes that it has written; Rust has no loads of
/// bytes without a value.
///
/// The assembly is handed the address and does not promise to leave memory alone. So for the compiler it may have written
/// every byte, and no byte is without a value after it; it is empty, so this costs nothing. What such bytes hold is never
/// kept: memory whose content the system may still drop (`MADV_FREE`) does no harm.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
fn settled(room: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    let (start, length) = (room.as_mut_ptr(), room.len());
    // SAFETY: an empty instruction sequence; it may write to the room, which is borrowed for writing.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) start, options(nostack, preserves_flags));
    }
    // SAFETY: the pointer and the length of a slice that is borrowed for writing as long; the assembly has given every byte
    // a value.
    unsafe { slice::from_raw_parts_mut(start.cast::<u8>(), length) }
}

/// The same bytes, all of them zero.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
fn settled(room: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    for byte in room.iter_mut() {
        byte.write(0);
    }
    // SAFETY: all of them were just written.
    unsafe { room.assume_init_mut() }
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
    use super::{Region, are_apart, is_apart, settled};
    use std::mem::MaybeUninit;
    use std::ptr;

    fn read(start: usize, length: usize) -> Region {
        Region::read(ptr::without_provenance(start), length)
    }

    fn written(start: usize, length: usize) -> Region {
        Region::written(ptr::without_provenance_mut(start), length)
    }

    #[test]
    fn two_regions_are_judged_as_many_are() {
        let places = [(8, 8), (15, 8), (16, 8), (8, 0), (0, 9), (10, 2), (usize::MAX, 2), (0, 0)];
        for (source, target) in places.iter().flat_map(|a| places.map(|b| (*a, b))) {
            let (source, target) = (read(source.0, source.1), written(target.0, target.1));
            let alike = is_apart(source, target) == are_apart(vec![source, target]);
            assert!(alike, "{source:?} {target:?}");
        }
    }

    #[test]
    fn memory_keeps_what_it_holds() {
        let mut room = [MaybeUninit::new(7_u8); 100];
        room[50] = MaybeUninit::uninit();
        let room = settled(&mut room);
        room[99] = 8;
        assert_eq!((room.len(), room[99]), (100, 8));
        #[cfg(not(miri))]
        assert_eq!(room[49], 7);
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
