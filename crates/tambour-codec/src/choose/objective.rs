//! What a choice is made for, and what time costs: the one table of prices. `docs/codec-choice.md` explains it.

use crate::codec::{Class, Element};

/// What counts.
///
/// ```
/// use tambour_codec::choose::Objective;
/// assert_eq!(Objective::named("SIZE"), Some(Objective::Size));
/// assert_eq!(Objective::named("beauty"), None);
/// assert!(Objective::ALL.iter().all(|o| Objective::named(o.name()) == Some(*o)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// Bytes alone.
    Size,
    /// Time of decoding; bytes count little.
    Speed,
    /// Bytes, and time of decoding at a price.
    #[default]
    Balance,
}

impl Objective {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Size, Self::Speed, Self::Balance];

    /// The word in `auto(…)`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Speed => "speed",
            Self::Balance => "balance",
        }
    }

    /// The objective of a word, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|objective| objective.name().eq_ignore_ascii_case(name))
    }

    /// Nanoseconds of decoding that a stored byte is worth; `None` if time does not count. Where a table has texts, they are
    /// most of its bytes, and decoding is the smaller part of what a query does with them.
    fn byte_price(self, is_text: bool) -> Option<f64> {
        match self {
            Self::Size => None,
            Self::Speed => Some(0.5),
            Self::Balance if is_text => Some(8.0),
            Self::Balance => Some(2.0),
        }
    }

    /// What this many stored bytes and this much time of decoding cost; the least is chosen. Time decides between equals when
    /// size is all that counts.
    ///
    /// ```
    /// use tambour_codec::choose::Objective;
    /// // Half the bytes, three times the time.
    /// assert!(Objective::Size.cost(false, 500, 3000.0) < Objective::Size.cost(false, 1000, 1000.0));
    /// assert!(Objective::Speed.cost(false, 500, 3000.0) > Objective::Speed.cost(false, 1000, 1000.0));
    /// ```
    pub fn cost(self, is_text: bool, bytes: usize, decode_ns: f64) -> f64 {
        match self.byte_price(is_text) {
            Some(price) => bytes as f64 * price + decode_ns,
            None => bytes as f64 + decode_ns * 1e-6,
        }
    }

    /// Front ends that are encoded in full after a ranking.
    pub(super) const fn trials(self) -> usize {
        match self {
            Self::Size => 4,
            Self::Speed | Self::Balance => 2,
        }
    }

    /// Whether compression that gains next to nothing is left out.
    pub(super) const fn declines(self) -> bool {
        !matches!(self, Self::Size)
    }
}

/// Whether elements are the bytes of texts.
pub fn is_text(element: Element) -> bool {
    element.class == Class::Bytes && element.width == 1
}

/// The share of its price that a general-purpose codec takes for texts of which it leaves `kept`: what is one long match
/// after another is copied.
pub(super) fn easing(kept: f64) -> f64 {
    (0.15 + 6.0 * kept).min(1.0)
}

/// Nanoseconds per byte that a codec makes on decoding, measured as ClickHouse scans it (codec-choice.md).
pub fn price(codec: &str, element: Element) -> f64 {
    match codec {
        "NONE" => 0.08,
        "T64" => 0.06,
        "Delta" => 0.05,
        "GCD" => 0.08,
        "DoubleDelta" if element.width < 8 => 1.2,
        "DoubleDelta" => 0.6,
        "Gorilla" | "FPC" => 0.65,
        "ALP" => 0.05,
        "LZ4" | "LZ4HC" => 0.30,
        _ => 0.85,
    }
}
