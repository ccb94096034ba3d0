//! An unsigned integer of 256 bits, as two halves.

use super::Integer;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct U256 {
    // In this order, so that the derived comparison is that of numbers.
    high: u128,
    low: u128,
}

/// The product of two numbers of 128 bits.
fn product(a: u128, b: u128) -> U256 {
    const HALF: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & HALF);
    let high = a_high * b_high + (middle >> 64) + (other >> 64);
    U256 { high, low: other << 64 | low & HALF }
}

impl Integer for U256 {
    const BYTES: usize = 32;
    const ZERO: Self = Self { high: 0, low: 0 };
    const ONE: Self = Self { high: 0, low: 1 };

    fn read(bytes: &[u8]) -> Self {
        Self { high: u128::read(&bytes[16..]), low: u128::read(&bytes[..16]) }
    }

    fn write(self, bytes: &mut [u8]) {
        self.low.write(&mut bytes[..16]);
        self.high.write(&mut bytes[16..]);
    }

    fn mul(self, other: Self) -> Self {
        let U256 { high, low } = product(self.low, other.low);
        let cross = self.low.wrapping_mul(other.high);
        let cross = cross.wrapping_add(self.high.wrapping_mul(other.low));
        Self { high: high.wrapping_add(cross), low }
    }

    fn sub(self, other: Self) -> Self {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        let high = self.high.wrapping_sub(other.high).wrapping_sub(u128::from(borrow));
        Self { high, low }
    }

    fn less(self, other: Self) -> bool {
        self < other
    }

    fn trailing_zeros(self) -> u32 {
        if self.low == 0 { 128 + self.high.trailing_zeros() } else { self.low.trailing_zeros() }
    }

    fn shift_left(self, count: u32) -> Self {
        match count {
            0 => self,
            1..128 => Self {
                high: self.high << count | self.low >> (128 - count),
                low: self.low << count,
            },
            128.. => Self { high: self.low << (count - 128), low: 0 },
        }
    }

    fn shift_right(self, count: u32) -> Self {
        match count {
            0 => self,
            1..128 => Self {
                high: self.high >> count,
                low: self.low >> count | self.high << (128 - count),
            },
            128.. => Self { high: 0, low: self.high >> (count - 128) },
        }
    }

    fn shift_signed(self, count: u32) -> Self {
        match count {
            0 => self,
            1..128 => Self {
                high: self.high.shift_signed(count),
                low: self.low >> count | self.high << (128 - count),
            },
            128.. => {
                Self { high: self.high.shift_signed(127), low: self.high.shift_signed(count - 128) }
            }
        }
    }

    fn is_negative(self) -> bool {
        self.high.is_negative()
    }

    fn is_quickly_multiple(self, of: Self) -> bool {
        self == of
    }
}

#[cfg(test)]
mod tests {
    use super::{Integer, U256, product};

    #[test]
    fn products_carry() {
        let max = u128::MAX;
        assert_eq!(product(max, max), U256 { high: max - 1, low: 1 });
        assert_eq!(product(max, 2), U256 { high: 1, low: max - 1 });
        assert_eq!(product(1 << 127, 6), U256 { high: 3, low: 0 });
        let minus_one = U256::ZERO.sub(U256::ONE);
        assert_eq!(minus_one.mul(minus_one), U256::ONE);
    }

    #[test]
    fn shifts_cross_the_halves() {
        let value = U256 { high: 0x8000 << 112, low: 0b110 };
        for count in [0, 1, 5, 127, 128, 200] {
            let other = U256::ONE.shift_left(count);
            assert_eq!(other.trailing_zeros(), count);
            assert_eq!(other.shift_right(count), U256::ONE);
            assert!(value.shift_signed(count).is_negative());
        }
        assert_eq!(value.shift_right(1), U256 { high: 0x4000 << 112, low: 0b11 });
        assert_eq!(U256 { high: 1, low: 0 }.shift_right(1), U256 { high: 0, low: 1 << 127 });
        assert_eq!(value.shift_signed(255), U256::ZERO.sub(U256::ONE));
    }
}
