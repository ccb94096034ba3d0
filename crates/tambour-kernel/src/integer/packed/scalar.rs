//! The engine in safe Rust: the fallback everywhere, and what the fast one is compared with.

use super::header::{BLOCK, Header, Packed};
use super::{Engine, HIGHS, bits};
use crate::integer::stream_vbyte::OneToFour;
use crate::integer::stream_vbyte::scalar::{Progress, decode_from};

/// No instruction set needed.
#[derive(Clone, Copy)]
pub(super) struct Scalar;

impl Engine for Scalar {
    fn unpack<const SUMS: bool>(
        self,
        source: &[u8],
        at: usize,
        width: u32,
        target: &mut [u32],
        before: u32,
    ) -> u32 {
        for (index, value) in target.iter_mut().enumerate() {
            *value = bits::value(source, at, width, index);
        }
        if SUMS { self.add_up(target, before) } else { before }
    }

    fn unpack_marked<const SUMS: bool>(
        self,
        packed: Packed<'_>,
        highs: &[u32; HIGHS],
        target: &mut [u32; BLOCK],
        before: u32,
    ) -> u32 {
        let Packed { source, at, width, bitmap } = packed;
        self.unpack::<false>(source, at, width, target, 0);
        let mut highs = highs.iter();
        for (index, value) in target.iter_mut().enumerate() {
            if bitmap[index / 8] >> (index % 8) & 1 == 1 {
                let high = highs.next().copied().unwrap_or_default();
                *value = value.wrapping_add(high << width);
            }
        }
        if SUMS { self.add_up(target, before) } else { before }
    }

    fn raise(
        self,
        source: &[u8],
        data: usize,
        header: Header,
        first: usize,
        target: &mut [u32; 16],
    ) {
        let used = (header.count - first).min(16);
        for (lane, added) in target[..used].iter_mut().enumerate() {
            let high = bits::value(source, data, header.high_width, first + lane);
            *added = high.wrapping_add(1) << header.width;
        }
        target[used..].fill(0);
    }

    fn add_up(self, target: &mut [u32], before: u32) -> u32 {
        let mut sum = before;
        for value in target {
            sum = sum.wrapping_add(*value);
            *value = sum;
        }
        sum
    }

    fn highs(
        self,
        source: &[u8],
        codes: usize,
        data: usize,
        count: usize,
        target: &mut [u32; HIGHS],
    ) {
        let progress = Progress { done: 0, at: data - codes };
        let decoded = decode_from::<OneToFour>(&source[codes..], &mut target[..count], progress);
        debug_assert!(decoded.is_ok(), "the length was checked");
        for high in &mut target[..count] {
            *high = high.wrapping_add(1);
        }
    }
}
