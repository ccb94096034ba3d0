//! Numbers as they are written, exact: a sign, up to 256 bits of digits, and a power of ten.

/// A magnitude of 256 bits, little-endian words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Magnitude(pub(super) [u64; 4]);

impl Magnitude {
    pub(super) const ZERO: Self = Self([0; 4]);
    pub(super) const ONE: Self = Self([1, 0, 0, 0]);

    /// This times a factor plus a summand, if it fits.
    fn times_plus(mut self, factor: u64, summand: u64) -> Option<Self> {
        let mut carry = u128::from(summand);
        for word in &mut self.0 {
            let sum = u128::from(*word) * u128::from(factor) + carry;
            *word = low(sum);
            carry = sum >> 64;
        }
        (carry == 0).then_some(self)
    }

    /// This divided by ten, and the remainder.
    fn tenth(mut self) -> (Self, u64) {
        let mut rest = 0_u128;
        for word in self.0.iter_mut().rev() {
            let value = rest << 64 | u128::from(*word);
            *word = low(value / 10);
            rest = value % 10;
        }
        (self, low(rest))
    }

    /// Ten to a power less one: the largest number of this many digits.
    pub(super) fn nines(digits: u8) -> Self {
        let nines = (0..digits).try_fold(Self::ZERO, |sum, _| sum.times_plus(10, 9));
        nines.unwrap_or(Self([u64::MAX; 4]))
    }

    /// Two to a power less one.
    pub(super) fn ones(bits: u32) -> Self {
        let word = |at: u32| match bits.saturating_sub(at * 64) {
            0 => 0,
            left @ 1..64 => (1 << left) - 1,
            _ => u64::MAX,
        };
        Self([word(0), word(1), word(2), word(3)])
    }

    /// One more.
    pub(super) fn next(self) -> Option<Self> {
        self.times_plus(1, 1)
    }

    pub(super) fn is_above(self, other: Self) -> bool {
        self.0.iter().rev().gt(other.0.iter().rev())
    }

    /// The value with its sign in two's complement, little-endian.
    pub(super) fn to_bytes(self, negative: bool) -> [u8; 32] {
        let mut words = self.0;
        if negative {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        let mut bytes = [0; 32];
        for (target, word) in bytes.chunks_exact_mut(8).zip(words) {
            target.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The value with its sign, if it has at most 127 bits.
    pub(super) fn to_i128(self, negative: bool) -> Option<i128> {
        let [first, second, 0, 0] = self.0 else { return None };
        let value = u128::from(second) << 64 | u128::from(first);
        if negative { 0_i128.checked_sub_unsigned(value) } else { value.try_into().ok() }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(value: u128) -> u64 {
    value as u64
}

/// A number: magnitude times ten to the power of minus scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    negative: bool,
    magnitude: Magnitude,
    scale: i32,
}

/// A number in units of ten to a power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scaled {
    /// The largest whole number of units that is not above the number; whether it is the number.
    Floor { negative: bool, magnitude: Magnitude, is_exact: bool },
    /// More than 256 bits.
    Huge { negative: bool },
}

impl Number {
    /// Reads decimal notation: `-12`, `0.5`, `1e6`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (digits, power) = match digits.split_once(['e', 'E']) {
            Some((digits, power)) => (digits, power.parse::<i16>().ok()?),
            None => (digits, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let mut magnitude = Magnitude::ZERO;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
            magnitude = magnitude.times_plus(10, digit)?;
        }
        let scale = i32::try_from(fraction.len()).ok()? - i32::from(power);
        Some(Self { negative: negative && magnitude != Magnitude::ZERO, magnitude, scale })
    }

    /// The number in units of ten to the power of minus `scale`, rounded down.
    pub(super) fn scaled(self, scale: i32) -> Scaled {
        let (negative, mut magnitude) = (self.negative, self.magnitude);
        let mut is_exact = true;
        for _ in self.scale..scale {
            if magnitude == Magnitude::ZERO {
                break;
            }
            match magnitude.times_plus(10, 0) {
                Some(larger) => magnitude = larger,
                None => return Scaled::Huge { negative },
            }
        }
        for _ in scale..self.scale {
            if magnitude == Magnitude::ZERO {
                break;
            }
            let (tenth, rest) = magnitude.tenth();
            magnitude = tenth;
            is_exact &= rest == 0;
        }
        if negative && !is_exact {
            // A tenth at most of the largest, so that there is a next one.
            magnitude = magnitude.next().unwrap_or(magnitude);
        }
        Scaled::Floor { negative: negative && magnitude != Magnitude::ZERO, magnitude, is_exact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(text: &str, scale: i32) -> Option<(i128, bool)> {
        match Number::parse(text)?.scaled(scale) {
            Scaled::Floor { negative, magnitude, is_exact } => {
                Some((magnitude.to_i128(negative)?, is_exact))
            }
            Scaled::Huge { .. } => None,
        }
    }

    #[test]
    fn numbers_are_rounded_down() {
        assert_eq!(scaled("12", 0), Some((12, true)));
        assert_eq!(scaled("-12.5", 0), Some((-13, false)));
        assert_eq!(scaled("12.5", 0), Some((12, false)));
        assert_eq!(scaled("-0.001", 2), Some((-1, false)));
        assert_eq!(scaled("1.10", 2), Some((110, true)));
        assert_eq!(scaled("1.5e3", 0), Some((1500, true)));
        assert_eq!(scaled("1e-400", 2), Some((0, false)));
        assert_eq!(scaled("-0.0", 2), Some((0, true)));
        assert_eq!(scaled("1e400", 2), None);
        assert_eq!(scaled(".5", 1), Some((5, true)));
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", "-", ".", "1x", "1e", "0x10", "1 ", "--1"] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }

    #[test]
    fn limits() {
        assert_eq!(Magnitude::ones(8), Magnitude([255, 0, 0, 0]));
        assert_eq!(Magnitude::ones(64), Magnitude([u64::MAX, 0, 0, 0]));
        assert_eq!(Magnitude::ones(127).to_i128(false), Some(i128::MAX));
        assert_eq!(Magnitude::ones(127).next().unwrap().to_i128(true), Some(i128::MIN));
        assert_eq!(Magnitude::nines(3), Magnitude([999, 0, 0, 0]));
        assert!(Magnitude::nines(76).is_above(Magnitude::nines(75)));
        assert_eq!(Magnitude::ONE.to_bytes(true), [0xff; 32]);
    }
}
