//! What the loops need of an instruction set.

use super::lane::{Lane, Place};
use crate::copy::{Plain, store};

/// The calls out of line that each instruction set compiles for itself: [`Machine::sequence`] and [`Machine::fill`].
pub(super) type Sequence = unsafe fn(*const u8, *mut u8, *const u8, *mut u8, *mut u8) -> Place;
pub(super) type Fill = unsafe fn(*mut u8, usize, usize, *mut u8, *mut u8);

/// What the module of an instruction set writes like every other, compiled for that set: the entries of a variant's table,
/// and the two calls out of line. The first argument is the proof, the second its `Isa`, the third its features.
macro_rules! entries {
    ($machine:ident, $isa:ident $(, $features:literal)?) => {
        const fn variant<S: $crate::lz4::decode::plain::Style<$machine>>(
            name: &'static str,
        ) -> $crate::variant::Variant<$crate::lz4::decode::Decode> {
            let run = $crate::lz4::decode::Decode {
                advance: advance::<S>,
                advance_pair: advance_pair::<S>,
                finish,
                adapts: true,
            };
            $crate::variant::Variant { name, isa: $crate::variant::Isa::$isa, run }
        }

        $(#[target_feature(enable = $features)])?
        fn advance<S: $crate::lz4::decode::plain::Style<$machine>>(
            lane: &mut $crate::lz4::decode::lane::Lane<'_>,
            bytes: usize,
        ) {
            $crate::lz4::decode::plain::advance::<_, S>($machine(()), lane, bytes);
        }

        $(#[target_feature(enable = $features)])?
        fn advance_pair<S: $crate::lz4::decode::plain::Style<$machine>>(
            a: &mut $crate::lz4::decode::lane::Lane<'_>,
            b: &mut $crate::lz4::decode::lane::Lane<'_>,
            bytes: usize,
        ) {
            $crate::lz4::decode::plain::advance_pair::<_, S>($machine(()), a, b, bytes);
        }

        $(#[target_feature(enable = $features)])?
        pub(super) fn finish(lane: &mut $crate::lz4::decode::lane::Lane<'_>) -> bool {
            $crate::lz4::decode::careful::finish($machine(()), lane)
        }

        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        unsafe fn sequence(
            from: *const u8,
            to: *mut u8,
            source_end: *const u8,
            target_start: *mut u8,
            target_end: *mut u8,
        ) -> $crate::lz4::decode::lane::Place {
            let machine = $machine(());
            // SAFETY: the same conditions.
            unsafe {
                $crate::lz4::decode::careful::sequence(
                    machine,
                    from,
                    to,
                    source_end,
                    target_start,
                    target_end,
                )
            }
        }

        #[inline(never)]
        $(#[target_feature(enable = $features)])?
        unsafe fn fill(
            to: *mut u8,
            offset: usize,
            length: usize,
            target_start: *mut u8,
            target_end: *mut u8,
        ) {
            let machine = $machine(());
            // SAFETY: the same conditions.
            unsafe {
                $crate::lz4::decode::careful::fill_lane(
                    machine,
                    to,
                    offset,
                    length,
                    target_start,
                    target_end,
                )
            }
        }
    };
}
pub(super) use entries;

/// Registers and the few instructions that differ. A value of such a type proves that the CPU has the instruction set: it
/// is only made in functions that cannot be called without.
///
/// The loops are generic over this trait and carry no `#[target_feature]`: they are inlined into functions that do.
///
/// # Safety
/// [`Machine::SEQUENCE`] and [`Machine::FILL`] need no more of the CPU than the type proves.
pub(super) unsafe trait Machine: Copy {
    /// [`super::careful::sequence`], compiled for the instruction set.
    const SEQUENCE: Sequence;
    /// [`super::careful::fill_lane`], compiled for the instruction set.
    const FILL: Fill;

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

    /// [`Self::pattern`] for an offset of 1 to 8. The seed is not longer than that: it comes from one store as a rule, and
    /// such a load need not wait until that store has reached the cache.
    fn near_pattern(self, seed: u64, offset: usize) -> Self::Wide;

    /// The same with 16 bytes.
    fn near_short_pattern(self, seed: u64, offset: usize) -> Self::Half;

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
    #[inline(always)]
    unsafe fn sequence(
        self,
        from: *const u8,
        to: *mut u8,
        source_end: *const u8,
        target_start: *mut u8,
        target_end: *mut u8,
    ) -> Place {
        // SAFETY: `self` proves the instruction set; the other conditions are the same.
        unsafe { Self::SEQUENCE(from, to, source_end, target_start, target_end) }
    }

    /// [`super::careful::fill`], compiled for the instruction set and out of line: writes a match of any shape.
    ///
    /// # Safety
    /// The last two are from a lane; `offset` bytes, at least one, lie in its target before `to`, and `length` after it.
    #[inline(always)]
    unsafe fn fill(
        self,
        to: *mut u8,
        offset: usize,
        length: usize,
        target_start: *mut u8,
        target_end: *mut u8,
    ) {
        // SAFETY: `self` proves the instruction set; the other conditions are the same.
        unsafe { Self::FILL(to, offset, length, target_start, target_end) }
    }

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
