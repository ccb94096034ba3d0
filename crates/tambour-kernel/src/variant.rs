//! One way to run a kernel, and the check that the CPU can.
//!
//! A kernel with several implementations keeps them in a static [`Variants`] table, best first; the last entry runs
//! everywhere. A [`Runnable`] can only be taken out of such a table after the CPU check of its variant has passed: holding
//! one *is* the proof, so calling it is safe.

pub use crate::isa::Isa;
use crate::level;
use std::fmt;
use std::sync::atomic::{self, AtomicU8};

/// One way to run a kernel: a name, the level it needs, the code.
///
/// The fields are private to the crate because the CPU check is only as good as the level stated here.
pub struct Variant<F: Copy + 'static> {
    /// Unique within its table.
    pub(crate) name: &'static str,
    /// `run` may be called where this level is available.
    pub(crate) isa: Isa,
    /// The code; often an `unsafe fn`, since it needs the level.
    pub(crate) run: F,
}

impl<F: Copy + 'static> fmt::Debug for Variant<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The table of all variants of one kernel that the target architecture has.
pub struct Variants<F: Copy + 'static> {
    /// Best first.
    list: &'static [Variant<F>],
    /// The last of the list; runs everywhere.
    everywhere: &'static Variant<F>,
    /// The place of what [`Self::best`] gives, once that was asked for.
    chosen: AtomicU8,
}

/// A place that no table has.
const UNKNOWN: u8 = u8::MAX;

impl<F: Copy + 'static> Variants<F> {
    /// A table; does not compile when its last entry needs a CPU check.
    pub(crate) const fn new(list: &'static [Variant<F>]) -> Self {
        assert!(!list.is_empty(), "a kernel has at least one variant");
        let everywhere = &list[list.len() - 1];
        assert!(matches!(everywhere.isa, Isa::Scalar), "the last variant must run everywhere");
        Self { list, everywhere, chosen: AtomicU8::new(UNKNOWN) }
    }

    /// The variants that this CPU can run, best first; never empty.
    ///
    /// ```
    /// use tambour_kernel::hash::CRC32C_VARIANTS;
    /// let sums = CRC32C_VARIANTS.available().map(|variant| variant.sum(0, b"123456789"));
    /// assert!(sums.into_iter().all(|sum| sum == 0xe306_9283));
    /// ```
    pub fn available(&self) -> impl Iterator<Item = Runnable<F>> + Clone + use<F> {
        self.list.iter().filter(|variant| variant.isa.is_available()).map(Runnable)
    }

    /// The variant with this name, when this CPU can run it.
    ///
    /// ```
    /// use tambour_kernel::lz4::DECODE_VARIANTS;
    /// assert_eq!(DECODE_VARIANTS.named("no such name").map(|variant| variant.name()), None);
    /// ```
    pub fn named(&self, name: &str) -> Option<Runnable<F>> {
        self.available().find(|runnable| runnable.name() == name)
    }

    /// The best variant at or below the level in use ([`level`]): what every function runs that names no variant.
    #[inline]
    pub fn best(&self) -> Runnable<F> {
        match self.list.get(usize::from(self.chosen.load(atomic::Ordering::Relaxed))) {
            Some(variant) => Runnable(variant),
            None => self.choose(),
        }
    }

    /// Asks the level in use, which never changes, once: lists of four values are not worth as many questions.
    #[cold]
    fn choose(&self) -> Runnable<F> {
        let best = self.best_at_most(level::cap());
        let place = self.list.iter().position(|variant| std::ptr::eq(variant, best.0));
        let place = place.and_then(|place| u8::try_from(place).ok()).unwrap_or(UNKNOWN);
        self.chosen.store(place, atomic::Ordering::Relaxed);
        best
    }

    /// The best variant that this CPU can run and that needs no more than `cap`.
    ///
    /// ```
    /// use tambour_kernel::{lz4::DECODE_VARIANTS, variant::Isa};
    /// assert_eq!(DECODE_VARIANTS.best_at_most(Isa::Scalar).isa(), Isa::Scalar);
    /// ```
    #[inline]
    pub fn best_at_most(&self, cap: Isa) -> Runnable<F> {
        let mut below = self.list.iter().filter(|variant| variant.isa <= cap);
        Runnable(below.find(|variant| variant.isa.is_available()).unwrap_or(self.everywhere))
    }
}

impl<F: Copy + 'static> fmt::Debug for Variants<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(|variant| variant.name)).finish()
    }
}

/// A variant whose CPU check has passed. Made only by [`Variants`].
#[derive(Clone, Copy)]
pub struct Runnable<F: Copy + 'static>(&'static Variant<F>);

impl<F: Copy + 'static> Runnable<F> {
    /// Name of the variant, unique within its table.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The level that the variant needs.
    pub fn isa(self) -> Isa {
        self.0.isa
    }

    /// The code. When it is an `unsafe fn` for the sake of its instruction set, that condition holds.
    pub(crate) fn run(self) -> F {
        self.0.run
    }
}

impl<F: Copy + 'static> fmt::Debug for Runnable<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runnable").field(&self.0.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Isa, Runnable, Variant, Variants};

    static TABLE: Variants<u8> = Variants::new(&[
        Variant { name: "wide", isa: Isa::Avx512, run: 3 },
        Variant { name: "other", isa: Isa::Neon, run: 2 },
        Variant { name: "middle", isa: Isa::Ssse3, run: 1 },
        Variant { name: "scalar", isa: Isa::Scalar, run: 0 },
    ]);

    #[test]
    fn architectures_are_not_comparable() {
        assert!(Isa::Scalar < Isa::Ssse3 && Isa::Ssse3 < Isa::Avx2 && Isa::Avx2 < Isa::Avx512);
        assert!(Isa::Scalar < Isa::Neon);
        assert_eq!(Isa::Neon.partial_cmp(&Isa::Avx2), None);
        assert_eq!(Isa::Ssse3.partial_cmp(&Isa::Neon), None);
    }

    #[test]
    fn names_go_both_ways() {
        for &isa in Isa::ALL {
            assert_eq!(Isa::named(isa.name()), Some(isa));
        }
        assert_eq!(Isa::named("AVX2"), None);
        assert_eq!(Isa::named(""), None);
    }

    #[test]
    fn a_cap_is_obeyed() {
        assert_eq!(TABLE.best_at_most(Isa::Scalar).name(), "scalar");
        for &cap in Isa::ALL {
            assert!(TABLE.best_at_most(cap).isa() <= cap);
        }
        // The laws run once per value of TAMBOUR_ISA.
        assert!(TABLE.best().isa() <= crate::level::in_use().unwrap());
        assert!(Isa::best().is_available());
    }

    #[test]
    fn only_what_the_cpu_has_is_runnable() {
        assert!(TABLE.available().all(|runnable| runnable.isa().is_available()));
        assert_eq!(TABLE.available().last().map(Runnable::run), Some(0));
        assert!(TABLE.named("nothing").is_none());
    }
}
