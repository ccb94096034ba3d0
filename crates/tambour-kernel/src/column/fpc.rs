//! Floats predicted from the values before them: what the better of two predictions misses is stored in whole bytes.
//!
//! One prediction is the value that followed the same recent values last time; the other adds the difference that followed
//! the same recent differences. Values come in pairs, after a byte that says for both which prediction it was and how many
//! zero bytes its exclusive or starts with.

use super::Malformed;

/// Width of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatWidth {
    /// Single precision.
    F4,
    /// Double precision.
    F8,
}

impl FloatWidth {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F4 => 4,
            Self::F8 => 8,
        }
    }
}

/// A table of predictions; zero where nothing was stored. The caller chooses how much memory that takes.
pub trait Table {
    /// The value at an index.
    fn get(&self, index: usize) -> u64;
    /// Stores a value.
    fn set(&mut self, index: usize, value: u64);
}

impl Table for [u64] {
    #[inline(always)]
    fn get(&self, index: usize) -> u64 {
        self[index]
    }

    #[inline(always)]
    fn set(&mut self, index: usize, value: u64) {
        self[index] = value;
    }
}

/// Both tables, empty, and which entries are next. Indices are below `2^level`.
#[derive(Debug)]
pub struct Predictor<'a, T: Table + ?Sized> {
    values: &'a mut T,
    differences: &'a mut T,
    mask: usize,
    value_index: usize,
    difference_index: usize,
    previous: u64,
}

impl<'a, T: Table + ?Sized> Predictor<'a, T> {
    /// A predictor that knows nothing yet; both tables are all zeros.
    pub fn new(values: &'a mut T, differences: &'a mut T, level: u32) -> Self {
        let mask = (1 << level) - 1;
        Self { values, differences, mask, value_index: 0, difference_index: 0, previous: 0 }
    }

    /// The prediction from values and the one from differences.
    #[inline(always)]
    fn predict<const WIDTH: usize>(&self) -> [u64; 2] {
        let difference = self.differences.get(self.difference_index);
        let sum = difference.wrapping_add(self.previous);
        [self.values.get(self.value_index), if WIDTH == 4 { sum & 0xffff_ffff } else { sum }]
    }

    #[inline(always)]
    fn learn<const WIDTH: usize>(&mut self, value: u64) {
        let mut difference = value.wrapping_sub(self.previous);
        if WIDTH == 4 {
            difference &= 0xffff_ffff;
        }
        self.values.set(self.value_index, value);
        self.differences.set(self.difference_index, difference);
        let (value_index, difference_index) = (self.value_index, self.difference_index);
        if WIDTH == 4 {
            self.value_index = value_index << 1 ^ (value >> 22) as usize;
            self.difference_index = difference_index << 4 ^ (difference >> 23) as usize;
        } else {
            self.value_index = value_index << 6 ^ (value >> 48) as usize;
            self.difference_index = difference_index << 2 ^ (difference >> 40) as usize;
        }
        self.value_index &= self.mask;
        self.difference_index &= self.mask;
        self.previous = value;
    }
}

/// Values of a source of this many bytes: the last may be cut short, and a pair is always whole.
const fn count(width: usize, bytes: usize) -> usize {
    bytes.div_ceil(width).next_multiple_of(2)
}

/// Bytes that [`encode`] writes at most.
pub const fn bound(width: FloatWidth, source_bytes: usize) -> usize {
    let count = count(width.bytes(), source_bytes);
    count / 2 + count * width.bytes()
}

/// Encodes `source` (a last value that is cut short counts as padded with zeros), and returns how many bytes were used.
///
/// ```
/// use tambour_kernel::column::fpc::{self, FloatWidth, Predictor};
/// let values: Vec<u8> = (0..1000).flat_map(|i| f64::from(i % 4).to_le_bytes()).collect();
/// let (mut seen, mut steps) = ([0_u64; 1024], [0_u64; 1024]);
/// let mut encoded = vec![0; fpc::bound(FloatWidth::F8, values.len())];
/// let mut predictor = Predictor::new(&mut seen[..], &mut steps[..], 10);
/// let length = fpc::encode(FloatWidth::F8, &mut predictor, &values, &mut encoded);
/// assert!(length < values.len() / 2, "values that repeat are predicted");
///
/// let (mut seen, mut steps) = ([0_u64; 1024], [0_u64; 1024]);
/// let mut predictor = Predictor::new(&mut seen[..], &mut steps[..], 10);
/// let mut decoded = vec![0; values.len()];
/// let taken = fpc::decode(FloatWidth::F8, &mut predictor, &encoded[..length], &mut decoded)?;
/// assert_eq!((taken, decoded), (length, values));
/// # Ok::<(), tambour_kernel::column::Malformed>(())
/// ```
pub fn encode<T: Table + ?Sized>(
    width: FloatWidth,
    predictor: &mut Predictor<'_, T>,
    source: &[u8],
    target: &mut [u8],
) -> usize {
    assert!(target.len() >= bound(width, source.len()));
    match width {
        FloatWidth::F4 => encode_width::<4, T>(predictor, source, target),
        FloatWidth::F8 => encode_width::<8, T>(predictor, source, target),
    }
}

fn encode_width<const WIDTH: usize, T: Table + ?Sized>(
    predictor: &mut Predictor<'_, T>,
    source: &[u8],
    target: &mut [u8],
) -> usize {
    let mut at = 0;
    for pair in source.chunks(2 * WIDTH) {
        let (mut codes, mut end) = (0, at + 1);
        for half in 0..2 {
            let piece = pair.get(half * WIDTH..).unwrap_or_default();
            let piece = &piece[..piece.len().min(WIDTH)];
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            let value = u64::from_le_bytes(bytes);
            let [by_value, by_difference] = predictor.predict::<WIDTH>().map(|p| p ^ value);
            predictor.learn::<WIDTH>(value);
            let second = by_difference.leading_zeros() > by_value.leading_zeros();
            let xor = if second { by_difference } else { by_value };
            let (code, length) = code::<WIDTH>(xor);
            codes = codes << 4 | u8::from(second) << 3 | code;
            target[end..end + length].copy_from_slice(&xor.to_le_bytes()[..length]);
            end += length;
        }
        target[at] = codes;
        at = end;
    }
    at
}

/// The code of the number of zero bytes, and how many bytes are left. A double has no code for four zero bytes.
#[inline(always)]
fn code<const WIDTH: usize>(xor: u64) -> (u8, usize) {
    #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
    let zeros = (xor.leading_zeros() / 8) as u8 - (8 - WIDTH as u8);
    let code = if WIDTH == 8 && zeros >= 4 { zeros - 1 } else { zeros };
    (code, length::<WIDTH>(code))
}

/// Bytes that a code stands for.
#[inline(always)]
fn length<const WIDTH: usize>(code: u8) -> usize {
    let zeros = if WIDTH == 8 && code > 3 { code + 1 } else { code };
    WIDTH - usize::from(zeros)
}

/// Decodes `target.len()` bytes, and returns how many bytes of `source` that took.
pub fn decode<T: Table + ?Sized>(
    width: FloatWidth,
    predictor: &mut Predictor<'_, T>,
    source: &[u8],
    target: &mut [u8],
) -> Result<usize, Malformed> {
    match width {
        FloatWidth::F4 => decode_width::<4, T>(predictor, source, target),
        FloatWidth::F8 => decode_width::<8, T>(predictor, source, target),
    }
}

fn decode_width<const WIDTH: usize, T: Table + ?Sized>(
    predictor: &mut Predictor<'_, T>,
    source: &[u8],
    target: &mut [u8],
) -> Result<usize, Malformed> {
    let mut at = 0;
    for pair in target.chunks_mut(2 * WIDTH) {
        let Some(&codes) = source.get(at) else {
            return Err(Malformed { at, reason: "ends before the last pair" });
        };
        let mut from = at + 1;
        for half in 0..2 {
            let code = codes >> (4 - 4 * half) & 15;
            if WIDTH == 4 && code & 7 > 4 {
                return Err(Malformed { at, reason: "more zero bytes than a value has" });
            }
            let length = length::<WIDTH>(code & 7);
            let xor = match source.get(from..).and_then(|rest| rest.first_chunk::<8>()) {
                Some(bytes) => {
                    let shift = 64 - 8 * length;
                    if length == 0 { 0 } else { u64::from_le_bytes(*bytes) << shift >> shift }
                }
                None => last(source, from, length)?,
            };
            from += length;
            let value = predictor.predict::<WIDTH>()[usize::from(code >> 3)] ^ xor;
            predictor.learn::<WIDTH>(value);
            let place = pair.get_mut(half * WIDTH..).unwrap_or_default();
            let bytes = place.len().min(WIDTH);
            place[..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        at = from;
    }
    Ok(at)
}

/// A value of `length` bytes near the end of the source.
#[cold]
fn last(source: &[u8], from: usize, length: usize) -> Result<u64, Malformed> {
    let Some(piece) = source.get(from..from + length) else {
        return Err(Malformed { at: from, reason: "value cut short" });
    };
    let mut bytes = [0; 8];
    bytes[..length].copy_from_slice(piece);
    Ok(u64::from_le_bytes(bytes))
}
