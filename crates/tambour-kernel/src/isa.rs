//! Levels of instruction sets: their names, their order, and which of them this CPU has.

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
