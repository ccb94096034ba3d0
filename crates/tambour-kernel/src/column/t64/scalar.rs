//! The decoder for every machine.

use super::{Decode, GROUP, Shape};
use crate::column::bits::transpose;
use crate::column::{Word, by_width};
use crate::variant::{Isa, Variant};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode };

fn decode(shape: Shape, above: [u64; 2], source: &[u8], target: &mut [u8]) {
    by_width!(shape.width, decode_words(shape, above, source, target));
}

fn decode_words<W: Word>(shape: Shape, above: [u64; 2], source: &[u8], target: &mut [u8]) {
    let (rows, _) = shape.rows_and_words();
    let groups = source.chunks_exact(shape.group_bytes()).zip(target.chunks_mut(GROUP * W::BYTES));
    for (source, target) in groups {
        let (row_bytes, word_bytes) = source.split_at(rows * GROUP);
        let mut planes = [[0; GROUP]; 8];
        for (plane, row) in planes.iter_mut().zip(row_bytes.chunks_exact(GROUP)) {
            plane.copy_from_slice(row);
        }
        for (octet, plane) in word_bytes.chunks(64).zip(&mut planes[rows..]) {
            gather(octet, plane);
        }
        for (i, place) in target.chunks_exact_mut(W::BYTES).enumerate() {
            let mut bytes = [0; 8];
            for (byte, plane) in bytes.iter_mut().zip(&planes[..W::BYTES]) {
                *byte = plane[i];
            }
            let value = u64::from_le_bytes(bytes);
            let above = above[usize::from(value >> (shape.bits - 1) & 1 != 0)];
            W::narrow(value | above).write(place);
        }
    }
}

/// The bytes whose bits are in at most eight words: word `j` has bit `j` of each.
fn gather(words: &[u8], plane: &mut [u8; GROUP]) {
    let (octets, _) = plane.as_chunks_mut::<8>();
    for (i, octet) in octets.iter_mut().enumerate() {
        let mut columns = [0; 8];
        for (column, word) in columns.iter_mut().zip(words.chunks_exact(8)) {
            *column = word[i];
        }
        *octet = transpose(u64::from_le_bytes(columns)).to_le_bytes();
    }
}
