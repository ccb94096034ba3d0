//! What the loops need of an instruction set.

use super::lane::{Lane, Place};
use crate::copy::{Plain, store};

/// Registers and the few instructions that differ. A value of such a type proves that the CPU has the instruction set: it
/// is only made in functions that cannot be called without.
///
/// The loops are generic over this trait and carry no `#[target_feature]`: they are inlined into functions that do.
pub(super) trait Machine: Copy {
    /// A register of 16 bytes.
    type Half: Plain;
    /// 32 bytes: one register, or two.
    type Double: Plain;
    /// The register for long matches, of 16, 32 or 64 bytes.
    type Wide: Plain;

    /// The largest multiple of `offset` that one `Wide` covers.
    fn stride(self, offset: usize) -> usize;

    /// A register that repeats the first `offset` bytes of `seed`; `offset` is at least 1 and less than its size.
    fn pattern(self, seed: Self::Wide, offset: usize) -> Self::Wide;

    /// The same with 16 bytes. Only the low four bits of `offset` count.
    fn short_pattern(self, seed: Self::Half, offset: usize) -> Self::Half;

    /// Writes the start of a register: as many bytes as the target has, at most those of the register.
    #[inline(always)]
    fn store_start(self, target: &mut [u8], value: Self::Wide) {
        let mut bytes = [0; 64];
        // SAFETY: no register is larger.
        unsafe { store(&mut bytes, 0, value) };
        let length = target.len();
        target.copy_from_slice(&bytes[..length]);
    }

    /// [`super::careful::sequence`], compiled for the instruction set and out of line.
    ///
    /// The arguments are those of a lane; a reference would pin the lane of the caller to memory.
    ///
    /// # Safety
    /// They are from a lane that is not done.
    unsafe fn sequence(
        self,
        from: *const u8,
        to: *mut u8,
        source_end: *const u8,
        target_start: *mut u8,
        target_end: *mut u8,
    ) -> Place;

    /// [`super::careful::fill`], compiled for the instruction set and out of line: writes a match of any shape.
    ///
    /// # Safety
    /// The last two are from a lane; `offset` bytes, at least one, lie in its target before `to`, and `length` behind.
    unsafe fn fill(
        self,
        to: *mut u8,
        offset: usize,
        length: usize,
        target_start: *mut u8,
        target_end: *mut u8,
    );

    /// Takes one sequence of any shape; whether the loop may go on.
    ///
    /// # Safety
    /// The lane is not done.
    #[inline(always)]
    unsafe fn long(self, lane: &mut Lane<'_>) -> bool {
        let Lane { from, to, source_end, target_start, target_end, .. } = *lane;
        // SAFETY: these are the parts of a lane that is not done.
        let place = unsafe { self.sequence(from, to, source_end, target_start, target_end) };
        lane.follow(place)
    }
}
