//! One way to run a kernel, and the check that the CPU can.
//!
//! A kernel with several implementations keeps them in a static [`Variants`] table, best first; the last entry runs
//! everywhere. A [`Runnable`] can only be taken out of such a table after the CPU check of its variant has passed: holding
//! one *is* the proof, so calling it is safe.

use crate::level;
use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{self, AtomicU8};

/// An instruction-set level. Levels of one architecture are ordered; levels of different architectures are not.
///
/// ```
/// use tambour_kernel::variant::Isa;
/// assert!(Isa::Scalar < Isa::Avx2 && Isa::Scalar < Isa::Neon);
/// assert_eq!(Isa::Neon.partial_cmp(&Isa::Avx2), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// No vector instructions beyond what the compiler assumes for the target.
    Scalar,
    /// x86-64 with SSSE3 (byte shuffle).
    Ssse3,
    /// x86-64 with AVX2, BMI1, BMI2, LZCNT and POPCNT.
    Avx2,
    /// x86-64 with AVX-512 F, BW, CD, DQ, VL, VBMI and VBMI2, PCLMULQDQ and VPCLMULQDQ, SSE4.2, and all of [`Isa::Avx2`].
    Avx512,
    /// AArch64 with NEON.
    Neon,
}

impl Isa {
    /// Every level, lowest first within its architecture.
    pub const ALL: &[Self] = &[Self::Scalar, Self::Ssse3, Self::Avx2, Self::Avx512, Self::Neon];

    /// The lower-case name, as in `TAMBOUR_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Ssse3 => "ssse3",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }

    /// The level with this name.
    ///
    /// ```
    /// use tambour_kernel::variant::Isa;
    /// assert_eq!(Isa::named("avx2"), Some(Isa::Avx2));
    /// assert_eq!(Isa::named("AVX2"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|isa| isa.name() == name)
    }

    /// Whether this CPU has the level.
    #[inline]
    pub fn is_available(self) -> bool {
        let known = DETECTED.load(atomic::Ordering::Relaxed);
        let detected = if known == 0 { Self::detect_all() } else { known };
        detected & self.bit() != 0
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Asks the CPU, once: convenience functions choose a variant on every call.
    #[cold]
    fn detect_all() -> u8 {
        let available = Self::ALL.iter().filter(|isa| isa.detect());
        let detected = available.fold(0, |all, isa| all | isa.bit());
        DETECTED.store(detected, atomic::Ordering::Relaxed);
        detected
    }

    fn detect(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => is_x86_feature_detected!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.detect()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("vpclmulqdq")
                    && is_x86_feature_detected!("pclmulqdq")
                    && is_x86_feature_detected!("sse4.2")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Ssse3 | Self::Avx2 | Self::Avx512 => false,
            #[cfg(not(target_arch = "aarch64"))]
            Self::Neon => false,
        }
    }

    /// The highest level of this CPU.
    ///
    /// ```
    /// use tambour_kernel::variant::Isa;
    /// assert!(Isa::best().is_available() && Isa::Scalar <= Isa::best());
    /// ```
    pub fn best() -> Self {
        let mut available = Self::ALL.iter().copied().filter(|isa| isa.is_available());
        available.next_back().unwrap_or(Self::Scalar)
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Scalar => 0,
            Self::Ssse3 | Self::Neon => 1,
            Self::Avx2 => 2,
            Self::Avx512 => 3,
        }
    }
}

/// A bit per level that this CPU has; 0 until that is known, since every CPU has the scalar one.
static DETECTED: AtomicU8 = AtomicU8::new(0);

impl PartialOrd for Isa {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Neon, Self::Neon) => Some(Ordering::Equal),
            (Self::Neon, Self::Ssse3 | Self::Avx2 | Self::Avx512)
            | (Self::Ssse3 | Self::Avx2 | Self::Avx512, Self::Neon) => None,
            _ => Some(self.rank().cmp(&other.rank())),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
