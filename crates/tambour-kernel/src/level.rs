//! The instruction-set level in use: the best of this CPU, capped by the environment variable `TAMBOUR_ISA`.
//!
//! This is the one place that reads the variable, once, on first use. A level that does not exist or that this CPU lacks is
//! refused; programs ask [`in_use`] at their start and report that. A kernel that is called all the same takes its scalar
//! variant, since who sets a cap wants less than the best. Empty counts as not set.

use crate::isa::Isa;
use std::sync::LazyLock;

/// Name of the environment variable that caps the level.
pub const ISA_VARIABLE: &str = "TAMBOUR_ISA";

/// A value of the variable that names no level of this CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLevel {
    /// The value.
    pub value: String,
    /// Why it was refused.
    pub reason: &'static str,
}

impl std::fmt::Display for RefusedLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{ISA_VARIABLE}={:?}: {}", self.value, self.reason)
    }
}

impl std::error::Error for RefusedLevel {}

static LEVEL: LazyLock<Result<Isa, RefusedLevel>> = LazyLock::new(|| {
    let value = std::env::var_os(ISA_VARIABLE);
    named_or_best(value.as_deref().map(|value| value.to_string_lossy()).as_deref())
});

/// The level in use.
///
/// ```
/// let isa = tambour_kernel::level::in_use()?;
/// assert!(isa.is_available());
/// # Ok::<(), &'static tambour_kernel::level::RefusedLevel>(())
/// ```
pub fn in_use() -> Result<Isa, &'static RefusedLevel> {
    LEVEL.as_ref().copied()
}

/// What kernels may use at most.
#[inline]
pub(crate) fn cap() -> Isa {
    in_use().unwrap_or(Isa::Scalar)
}

/// The level that the variable's value asks for.
fn named_or_best(value: Option<&str>) -> Result<Isa, RefusedLevel> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(Isa::best()) };
    let refusal = |reason| RefusedLevel { value: value.to_owned(), reason };
    let Some(isa) = Isa::named(value) else {
        return Err(refusal("unknown level; there are scalar, ssse3, avx2, avx512 and neon"));
    };
    if isa.is_available() { Ok(isa) } else { Err(refusal("this CPU does not have that level")) }
}

#[cfg(test)]
mod tests {
    use super::named_or_best;
    use crate::variant::Isa;

    #[test]
    fn no_value_means_the_best() {
        assert_eq!(named_or_best(None), Ok(Isa::best()));
        assert_eq!(named_or_best(Some("")), Ok(Isa::best()));
    }

    #[test]
    fn a_level_is_taken_or_refused() {
        for &isa in Isa::ALL {
            assert_eq!(named_or_best(Some(isa.name())).ok(), isa.is_available().then_some(isa));
        }
        let refused = named_or_best(Some("mmx")).unwrap_err();
        assert!(refused.to_string().starts_with("TAMBOUR_ISA=\"mmx\": unknown level"), "{refused}");
    }
}
