//! Lists of rows in each of their forms, most of them as ClickHouse wrote them.

use super::*;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

/// Rows of the part that all lists are of.
const ROWS: u64 = 150_000;

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs.map(|it| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16).unwrap()).collect()
}

/// The rows in a range of a token of which the dictionary and the file of lists say this.
fn rows_of(info: &[u8], lists: &[u8], wanted: Range<u64>) -> Result<Vec<u64>, IndexError> {
    let mut bytes = Bytes(info);
    let info = Info::read(&mut bytes)?;
    bytes.end()?;
    let read = |offset: u64, length: usize| {
        let start = usize::try_from(offset).ok().and_then(|it| lists.get(it..)).unwrap_or_default();
        Ok(start[..length.min(start.len())].to_vec())
    };
    let mut rows = Vec::new();
    info.visit(&read, true, (ROWS, &wanted), &mut |row| rows.push(row))?;
    Ok(rows)
}

/// A list of the file by itself.
fn info(flags: u64, rows: &[u64]) -> Vec<u8> {
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    let numbers = [flags | IS_ONE_LIST, rows.len() as u64, 0, *first, *last];
    numbers.iter().flat_map(|number| number_bytes(*number)).collect()
}

fn number_bytes(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

#[test]
fn lists_of_clickhouse_are_read() {
    let few: Vec<u64> = (0..8).map(|it| it * 20_000 + 7).collect();
    let cases = [
        // In the dictionary, and beside it as numbers, as a bitmap of a list and of runs, and as differences.
        ("03030cf4a204e5c508", "", vec![12, 70_004, 140_005]),
        ("05080007e7c508", "07a79c01c7b802e7d40387f104a78d06c7a907e7c508", few),
        ("0414000013", "0f3b3000000100001300010000001300", (0..20).collect()),
        ("1c14000013", "01111400011e0000001f0000001f0000001f000000011300", (0..20).collect()),
        (
            "0481f10400e0d403e0c508",
            "233b3002000700009f150100ffff0200e022010060ea9f1501000000ffff01000000e022",
            (60_000..140_001).collect(),
        ),
    ];
    for (info, lists, expected) in cases {
        let (info, lists) = (bytes_of(info), bytes_of(lists));
        assert_eq!(rows_of(&info, &lists, 0..ROWS).unwrap(), expected);
        let some: Vec<u64> =
            expected.iter().copied().filter(|it| (5..60_100).contains(it)).collect();
        assert_eq!(rows_of(&info, &lists, 5..60_100).unwrap(), some);
        // Harmed anywhere it is refused, or is another list.
        for bit in 0..8 * lists.len() {
            let mut harmed = lists.clone();
            harmed[bit / 8] ^= 1 << (bit % 8);
            let _ = rows_of(&info, &harmed, 0..ROWS);
        }
        for end in 0..lists.len().min(100) {
            let cut = rows_of(&info, &lists[..end], 0..ROWS);
            assert!(cut.is_err() || cut.unwrap() == expected, "cut at {end}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |info: &str, lists: &str| rows_of(&bytes_of(info), &bytes_of(lists), 0..ROWS).is_err();
    // No rows, rows that do not ascend, and rows of no part.
    assert!(refused("0300", "") && refused("03020505", "") && refused("0301f0ffff0f", ""));
    // Flags that contradict each other, and term frequencies.
    assert!(refused("0a0105", "") && refused("0b0105", "") && refused("43010500", ""));
    // Two lists that overlap, none, and a list of other rows than the dictionary says.
    assert!(refused("001402000013000013", "") && refused("001400", ""));
    assert!(refused("0414000014", "0f3b3000000100001300010000001300"));
    assert!(refused("0415000013", "0f3b3000000100001300010000001300"));
    // Lists larger than their rows can be, and a bitmap of 2^32 rows in runs.
    assert!(refused("0414000013", "ffffffff0f3b300000"));
    assert!(refused("1c14000013", "01ffffffff0f1400"));
}

#[test]
fn rows_are_found_in_ranges() {
    let mut rows = Rows::none(100..400);
    assert!(rows.is_empty() && !rows.has_any(&(100..400)));
    for row in [100, 163, 164, 399] {
        rows.add(row);
    }
    for (range, is_there) in [
        (100..101, true),
        (101..163, false),
        (163..164, true),
        (165..399, false),
        (300..400, true),
        (120..130, false),
    ] {
        assert_eq!(rows.has_any(&range), is_there, "{range:?}");
    }
}

/// Roaring bitmaps of lists and of bits, the form without runs.
fn roaring(rows: &[u64]) -> Vec<u8> {
    let (mut heads, mut bodies) = (Vec::new(), Vec::new());
    let mut count = 0_u32;
    for group in rows.chunk_by(|one, next| one >> 16 == next >> 16) {
        count += 1;
        heads.extend(u16::try_from(group[0] >> 16).unwrap().to_le_bytes());
        heads.extend(u16::try_from(group.len() - 1).unwrap().to_le_bytes());
        let low = group.iter().map(|row| u16::try_from(row & 0xffff).unwrap());
        if group.len() <= LISTED_MAX {
            bodies.extend(low.flat_map(u16::to_le_bytes));
        } else {
            let mut bits = vec![0_u8; 8192];
            low.for_each(|row| bits[usize::from(row / 8)] |= 1 << (row % 8));
            bodies.extend(bits);
        }
    }
    let places = vec![0; 4 * count as usize];
    let bytes =
        [&ROARING.to_le_bytes()[..], &count.to_le_bytes(), &heads, &places, &bodies].concat();
    [number_bytes(bytes.len() as u64), bytes].concat()
}

/// Packed differences, bit by bit.
fn packed(rows: &[u64]) -> Vec<u8> {
    let steps: Vec<u64> = rows
        .iter()
        .scan(rows[0], |before, row| Some(row - std::mem::replace(before, *row)))
        .collect();
    let mut bytes = Vec::new();
    for block in steps.chunks(PACKED_ROWS) {
        let bits = (0..64).find(|bits| block.iter().all(|step| step >> bits == 0)).unwrap();
        let words = (block.len().div_ceil(LANES) * bits).div_ceil(32) * LANES;
        let mut packed = vec![0_u8; 4 * words];
        for (at, step) in block.iter().enumerate() {
            for bit in (0..bits).filter(|bit| step >> bit & 1 == 1) {
                let place = at / LANES * bits + bit;
                let place = (place / 32 * LANES + at % LANES) * 32 + place % 32;
                packed[place / 8] |= 1 << (place % 8);
            }
        }
        bytes.push(u8::try_from(bits).unwrap());
        bytes.extend(packed);
    }
    let numbers = [PACKED, bytes.len() as u64, rows.len() as u64, rows[0]];
    [numbers.iter().flat_map(|it| number_bytes(*it)).collect(), bytes].concat()
}

proptest! {
    #[test]
    fn any_rows_are_read_back(
        rows in prop_oneof![btree_set(0..ROWS, 13..300), btree_set(0..20_000_u64, 5_000..9_000)],
        range in (0..ROWS, 0..ROWS),
    ) {
        let rows: Vec<u64> = rows.into_iter().collect();
        let range = range.0.min(range.1)..range.0.max(range.1);
        let some: Vec<u64> = rows.iter().copied().filter(|row| range.contains(row)).collect();
        for (flags, lists) in [(0, roaring(&rows)), (IS_PACKED, packed(&rows))] {
            prop_assert_eq!(rows_of(&info(flags, &rows), &lists, 0..ROWS).unwrap(), &*rows);
            prop_assert_eq!(rows_of(&info(flags, &rows), &lists, range.clone()).unwrap(), &*some);
        }
    }

    #[test]
    fn any_bytes_are_rows_or_refused(
        info in vec(any::<u8>(), 0..12),
        flags in 0_u8..64,
        lists in vec(any::<u8>(), 0..200),
        kind in 0_usize..3,
    ) {
        let heads: [&[u8]; 3] = [&[], &[150, 1, 0x3a, 0x30, 0, 0], &[150, 1, 0x3b, 0x30, 1, 0]];
        let lists = [heads[kind], &lists].concat();
        let _ = rows_of(&[&[flags][..], &info].concat(), &lists, 0..ROWS);
        let _ = rows_of(&[flags, 100, 0, 0, 0xff, 0x7f], &lists, 0..ROWS);
    }
}
