//! Buffers that start with a cache line.
//!
//! A store of a whole register that crosses lines costs as much as two. Where a vector starts is up to the allocator and the
//! sizes of vectors before it, so that without this contenders would be compared at the mercy of both.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Zeros at first; a slice in all respects.
#[derive(Clone, Debug)]
pub(crate) struct Lines<T> {
    all: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy + Default> Lines<T> {
    /// So many elements.
    pub(crate) fn new(length: usize) -> Self {
        let all = vec![T::default(); length + LINE / size_of::<T>()];
        let start = all.as_ptr().align_offset(LINE);
        Self { start: if start + length <= all.len() { start } else { 0 }, all, length }
    }
}

impl<T> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all[self.start..self.start + self.length]
    }
}

impl<T> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE, Lines};

    #[test]
    fn lines_start_with_a_line() {
        for length in [0, 1, 17, 1000] {
            let mut lines = Lines::<u32>::new(length);
            assert_eq!((lines.len(), lines.as_ptr().align_offset(LINE)), (length, 0));
            lines.fill(7);
            assert!(lines.iter().all(|value| *value == 7));
        }
    }
}
