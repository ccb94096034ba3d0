//! Places on earth as texts, the bits of both angles between each other (`geohashEncode`, `geohashDecode`, `geohashesInBox`), and places within
//! figures (`pointInEllipses`).

use super::access::{Integers, Kind, array_of, takes};
use super::small::tuples;
use super::{Call, Function, Signature, wrong};
use crate::FunctionError;
use arrow_array::{ArrayRef, Float64Array};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Each letter stands for five bits; any other one for all of them set, as in ClickHouse.
const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
/// Letters of the longest text.
const LETTERS_MAX: usize = 12;
/// Most cells of a box, as in ClickHouse.
const CELLS_MAX: usize = 10_000_000;
/// Bits of an angle in the longest text.
const BITS: u32 = 30;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("geohashEncode", encode_type, encode),
    Function::new("geohashDecode", decode_type, decode),
    Function::new("geohashesInBox", box_type, in_box),
    Function::new("pointInEllipses", ellipses_type, in_ellipses).predicate(),
];

/// Numbers of an ellipse: its middle and half of each axis.
const OF_ELLIPSE: usize = 4;

/// Angles, and perhaps a count of letters.
fn angles_type(name: &'static str, s: &[Signature], angles: usize) -> Result<(), FunctionError> {
    takes(name, s, &vec![Kind::Number; angles], &[Kind::Integer])?;
    let is_float =
        |angle: &Signature| matches!(angle.data_type, DataType::Float32 | DataType::Float64);
    if s.iter().take(angles).all(is_float) {
        Ok(())
    } else {
        Err(wrong(name, "the angles must be floats"))
    }
}

fn encode_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    angles_type(name, s, 2).map(|()| DataType::String)
}

/// As many letters as are asked for, or all.
fn letters_of(counts: Option<&Integers>, row: usize) -> usize {
    let count = counts.map_or(0, |counts| counts.get(row));
    let count = usize::try_from(count).ok().filter(|it| (1..=LETTERS_MAX).contains(it));
    count.unwrap_or(LETTERS_MAX)
}

fn push_place(longitude: f64, latitude: f64, count: usize, out: &mut Vec<u8>) {
    let (x, y) = (step(longitude, 180.0), step(latitude, 90.0));
    for letter in 0..count {
        let bits = (0..5).fold(0, |bits, bit| {
            let place = 5 * letter + bit;
            let angle = if place % 2 == 0 { x } else { y };
            bits << 1 | (angle >> (BITS as usize - 1 - place / 2) & 1) as usize
        });
        out.extend(LETTERS.get(bits));
    }
}

/// The step of an angle among those of the whole range; angles past an end are at that end.
fn step(angle: f64, end: f64) -> u64 {
    let steps = (1_u64 << BITS) as f64;
    let place = (angle.clamp(-end, end) + end) / (2.0 * end) * steps;
    (place as u64).min((1 << BITS) - 1)
}

fn encode(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (longitudes, latitudes) = (call.floats(0)?, call.floats(1)?);
    let counts = call.optional_integers(2)?;
    call.try_texts(|row, out| {
        let (longitude, latitude) = (longitudes.get(row), latitudes.get(row));
        if longitude.is_nan() || latitude.is_nan() {
            return Err(call.value_error(row, "a place has no NaN"));
        }
        push_place(longitude, latitude, letters_of(counts.as_ref(), row), out);
        Ok(())
    })
}

fn decode_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text], &[])?;
    let angle = |name: &str| (Some(name.to_owned()), DataType::Float64);
    Ok(DataType::Tuple(vec![angle("longitude"), angle("latitude")]))
}

/// The middle of the steps of both angles.
fn place(text: &[u8]) -> [f64; 2] {
    let (mut steps, mut counts) = ([0_u64; 2], [0_i32; 2]);
    for (index, letter) in text.iter().take(LETTERS_MAX).enumerate() {
        let bits = LETTERS.iter().position(|it| it == letter).unwrap_or(LETTERS.len() - 1);
        for bit in 0..5 {
            let angle = (5 * index + bit) % 2;
            steps[angle] = steps[angle] << 1 | (bits >> (4 - bit) & 1) as u64;
            counts[angle] += 1;
        }
    }
    let middle = |angle: usize, end: f64| {
        (steps[angle] as f64 + 0.5) / 2_f64.powi(counts[angle]) * (2.0 * end) - end
    };
    [middle(0, 180.0), middle(1, 90.0)]
}

fn decode(call: &Call) -> Result<ArrayRef, FunctionError> {
    call.refuse_nulls()?;
    let texts = call.texts(0)?;
    let places: Vec<[f64; 2]> = (0..call.rows).map(|row| place(texts.get(row))).collect();
    let angle = |index: usize| {
        let angles = Float64Array::from_iter_values(places.iter().map(|place| place[index]));
        Arc::new(angles) as ArrayRef
    };
    tuples(call, vec![angle(0), angle(1)])
}

fn box_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    angles_type(name, s, 4).map(|()| array_of(DataType::String))
}

/// Where the cells of a range begin, and how many meet it: none of a range without extent along a border.
fn cells(least: f64, most: f64, end: f64, bits: usize) -> (f64, f64, usize) {
    let width = 2.0 * end / (1_u64 << bits) as f64;
    let first = (least.clamp(-end, end) / width).floor() * width;
    let last = (most.clamp(-end, end) / width).ceil() * width;
    (first, width, ((last - first) / width) as usize)
}

/// The cells that a box meets, from south to north and then from west to east; one at least.
fn in_box(call: &Call) -> Result<ArrayRef, FunctionError> {
    call.refuse_nulls()?;
    let [west, south, east, north] = [0, 1, 2, 3].map(|index| call.floats(index));
    let (west, south, east, north) = (west?, south?, east?, north?);
    let counts = call.optional_integers(4)?;
    let limit = (0..call.rows).find(|row| {
        let bits = 5 * letters_of(counts.as_ref(), *row);
        let (_, _, across) = cells(west.get(*row), east.get(*row), 180.0, bits.div_ceil(2));
        let (_, _, along) = cells(south.get(*row), north.get(*row), 90.0, bits / 2);
        across.saturating_mul(along) > CELLS_MAX
    });
    if let Some(row) = limit {
        return Err(call.value_error(row, format!("the box has more than {CELLS_MAX} cells")));
    }
    call.make_text_lists(|row, list| {
        let (west, south) = (west.get(row), south.get(row));
        let (east, north) = (east.get(row), north.get(row));
        // Not so if one of them is NaN.
        if !(west <= east && south <= north) {
            return;
        }
        let count = letters_of(counts.as_ref(), row);
        let (longitude, width, across) = cells(west, east, 180.0, (5 * count).div_ceil(2));
        let (latitude, height, along) = cells(south, north, 90.0, 5 * count / 2);
        let is_line = across == 0 || along == 0;
        let (across, along) = if is_line { (1, 1) } else { (across, along) };
        let mut text = Vec::with_capacity(count);
        for x in 0..across {
            for y in 0..along {
                text.clear();
                let (x, y) = (longitude + width * x as f64, latitude + height * y as f64);
                push_place(x, y, count, &mut text);
                list.push(&text);
            }
        }
    })
}

/// A place, and constants of ellipses.
fn ellipses_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let constants = s.get(2..).unwrap_or_default();
    let is_fine = !constants.is_empty()
        && constants.len() % OF_ELLIPSE == 0
        && constants.iter().all(|it| it.constant.is_some())
        && s.iter().all(|it| it.data_type == DataType::Float64);
    if !is_fine {
        return Err(wrong(name, "it takes x, y and four constants of each ellipse, all Float64"));
    }
    Ok(DataType::UInt8)
}

fn in_ellipses(call: &Call) -> Result<ArrayRef, FunctionError> {
    let all = (0..call.operands.len()).map(|index| call.floats(index));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    let [xs, ys, constants @ ..] = all.as_slice() else {
        return Err(wrong(call.name, "it takes a place"));
    };
    let constants: Vec<f64> = constants.iter().map(|constant| constant.get(0)).collect();
    let (ellipses, _) = constants.as_chunks::<OF_ELLIPSE>();
    call.make_flags(|row| {
        let (x, y) = (xs.get(row), ys.get(row));
        ellipses.iter().any(|[middle_x, middle_y, half_x, half_y]| {
            let (across, along) = ((x - middle_x) / half_x, (y - middle_y) / half_y);
            across * across + along * along <= 1.0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn letters_stand_for_places() {
        for (text, expected) in [
            ("ezs42", [-5.603_027_343_75, 42.604_980_468_75]),
            ("", [0.0, 0.0]),
            ("a", [157.5, 67.5]),
        ] {
            assert_eq!(place(text.as_bytes()).map(f64::to_bits), expected.map(f64::to_bits));
        }
    }
}
