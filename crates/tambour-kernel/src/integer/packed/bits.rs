//! Values of a fixed width side by side, low bits first, in safe Rust.

/// Bytes of `count` values of `width` bits.
pub(super) const fn size(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// The lower `width` bits.
pub(super) const fn mask(width: u32) -> u32 {
    if width == 0 { 0 } else { u32::MAX >> (32 - width) }
}

/// Bits that a value needs.
pub(super) const fn width_of(value: u32) -> u32 {
    32 - value.leading_zeros()
}

/// Packs the lower `width` bits of each value; the bytes after the last value's last bit are zero. `None` without room.
pub(super) fn pack(values: &[u32], width: u32, target: &mut [u8], at: usize) -> Option<usize> {
    let end = at + size(values.len(), width);
    let target = target.get_mut(at..end)?;
    let (mut pending, mut bits) = (0_u64, 0);
    let (words, rest) = target.as_chunks_mut::<4>();
    let mut words = words.iter_mut();
    for &value in values {
        pending |= u64::from(value & mask(width)) << bits;
        bits += width;
        if bits >= 32 {
            let Some(word) = words.next() else { break };
            let [a, b, c, d, ..] = pending.to_le_bytes();
            *word = [a, b, c, d];
            pending >>= 32;
            bits -= 32;
        }
    }
    // What is left may need a whole word.
    let left = words.into_slice().as_flattened_mut();
    let left = if left.is_empty() { rest } else { left };
    left.copy_from_slice(&pending.to_le_bytes()[..left.len()]);
    Some(end)
}

/// The value with number `index`. Bytes past the end of the source count as zero.
pub(super) fn value(source: &[u8], at: usize, width: u32, index: usize) -> u32 {
    let bit = index * width as usize;
    let from = source.get(at + bit / 8..).unwrap_or_default();
    let bytes = from.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; 8];
        bytes[..from.len()].copy_from_slice(from);
        bytes
    });
    let shifted = u64::from_le_bytes(bytes) >> (bit % 8);
    #[expect(clippy::cast_possible_truncation, reason = "a value has at most 32 bits")]
    let value = shifted as u32 & mask(width);
    value
}
