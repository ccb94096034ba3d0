//! Columns of types that SQL has no literals for, and floats that are no numbers.

use arrow::array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Float64Array, MapBuilder, StringBuilder,
    UInt32Array, UInt32Builder,
};
use std::sync::Arc;

fn fixed(width: usize, make: impl Fn(u32) -> Vec<u8>) -> ArrayRef {
    let padded = (0..20).map(|k| {
        let mut bytes = make(k);
        bytes.resize(width, 0);
        bytes
    });
    Arc::new(FixedSizeBinaryArray::try_from_iter(padded).unwrap())
}

fn float(k: i32) -> f64 {
    match k {
        1 => -0.0,
        _ if k % 5 == 0 => {
            if k % 2 == 0 {
                f64::NAN
            } else {
                -f64::NAN
            }
        }
        _ => f64::from(k) - 8.0,
    }
}

/// The first half of a UUID falls while the second rises.
pub(crate) fn columns() -> Vec<(&'static str, &'static str, ArrayRef)> {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), UInt32Builder::new());
    for k in 0..20 {
        if k % 2 == 0 {
            maps.keys().append_value("a");
            maps.values().append_value(k);
        }
        maps.keys().append_value("b");
        maps.values().append_value(k * 2);
        maps.append(true).unwrap();
    }
    let byte = |number: u32| u8::try_from(number % 256).unwrap();
    let halves = |k: u32| [[byte(250 - k * 5); 8], [byte(k * 11 + 1); 8]].concat();
    vec![
        ("u", "UUID", fixed(16, halves)),
        (
            "ip",
            "IPv4",
            Arc::new(UInt32Array::from_iter_values((0..20).map(|k| 167_772_160 + k * 300))),
        ),
        ("fs", "FixedString(4)", fixed(4, |k| b"abcd"[..(k % 5) as usize].to_vec())),
        ("mp", "Map(String, UInt32)", Arc::new(maps.finish())),
        ("z", "Float64", Arc::new(Float64Array::from_iter_values((0..20).map(float)))),
        ("y", "Bool", Arc::new((0..20).map(|k| Some(k % 3 == 0)).collect::<BooleanArray>())),
    ]
}
