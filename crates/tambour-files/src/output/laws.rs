//! What is written is what is read: laws over the two halves that do not know each other.

use super::style::Style;
use crate::literal::{Cursor, Syntax, Token};
use crate::text::block::{Block, Escape};
use crate::text::split::{Splitter, Step};
use arrow_buffer::i256;
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_function::Zone;
use tambour_function::value::{self, print};

fn text(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut target = Vec::new();
    write(&mut target);
    target
}

/// Bytes that structure the formats come up often.
fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => any::<u8>(),
        2 => prop::sample::select(b"\"'\\,;\t|\r\n N{}[]0".to_vec()),
    ];
    prop::collection::vec(byte, 0..40)
}

/// Splits one line of fields and resolves their escapes.
fn fields(line: Vec<u8>, delimiter: u8, escape: Escape) -> Vec<Vec<u8>> {
    let mut spans = Vec::new();
    let end = line.len();
    let step = Splitter::delimited(delimiter, escape).record(&line, 0, true, &mut spans);
    assert_eq!(step, Step::Record(end));
    let (width, path) = (spans.len(), Arc::new(PathBuf::from("law")));
    let block = Block { path, text: line, spans, width, escape, first_row: 1, first_line: 1 };
    let mut scratch = Vec::new();
    let value = |index| block.field(0, index).value(&mut scratch).unwrap().to_vec();
    (0..width).map(value).collect()
}

proptest! {
    #[test]
    fn strings(one in any_text(), two in any_text()) {
        for (style, delimiter, escape) in
            [(Style::Csv, b',', Escape::Quotes), (Style::Tsv, b'\t', Escape::Backslash)]
        {
            let mut line = text(|target| style.string(&one, target));
            line.push(delimiter);
            style.string(&two, &mut line);
            line.push(b'\n');
            prop_assert_eq!(fields(line, delimiter, escape), [one.clone(), two.clone()]);
        }
        for (style, syntax) in [(Style::Json, Syntax::Json), (Style::Literal, Syntax::ClickHouse)] {
            let written = text(|target| style.string(&one, target));
            let mut cursor = Cursor::new(&written, syntax);
            prop_assert_eq!(cursor.token().unwrap(), Token::String(one.clone().into()));
            prop_assert!(cursor.end().is_ok());
        }
    }

    #[test]
    fn floats(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let back = value::number::float(&text(|target| print::float64(value, target)), true).unwrap();
        prop_assert!(back.to_bits() == bits || back.is_nan() && value.is_nan());
        let value = f32::from_bits((bits >> 32) as u32);
        let back = value::number::float32(&text(|target| print::float32(value, target)), true).unwrap();
        prop_assert!(back.to_bits() == value.to_bits() || back.is_nan() && value.is_nan());
    }

    #[test]
    fn integers(low in any::<u128>(), high in any::<i128>(), small in any::<i64>()) {
        let bytes = i256::from_parts(low, high).to_le_bytes();
        for signed in [true, false] {
            let written = text(|target| print::wide(&bytes, signed, target));
            prop_assert_eq!(value::number::wide(&written, 256, signed), Ok(bytes));
        }
        let written = text(|target| print::signed(small, target));
        prop_assert_eq!(value::number::integer::<i64>(&written, true), Ok(small));
    }

    #[test]
    fn decimals(unscaled in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in 0_u8..=38) {
        let written = text(|target| print::decimal128(unscaled, i8::try_from(scale).unwrap(), target));
        prop_assert_eq!(value::number::decimal128(&written, 38, scale), Ok(unscaled));
    }

    #[test]
    fn times(ticks in -2_208_988_800_000_000_i64..10_413_791_999_000_000, precision in 0_u8..=6) {
        let coarse = 10_i64.pow(u32::from(6 - precision));
        let ticks = ticks.div_euclid(coarse) * coarse;
        let written = text(|target| print::InstantPrinter { zone: Zone::UTC, tick: 6, precision }.write(ticks, target));
        let (order, strict, exact) = (value::time::DateOrder::Iso, true, false);
        let clock = value::time::InstantReader { order, zone: Zone::UTC, precision, tick: 6, strict, exact };
        prop_assert_eq!(clock.ticks(&written), Ok(ticks));
    }

    /// No text makes a parser panic.
    #[test]
    fn parsers_survive(bytes in any_text()) {
        let _ = crate::infer::class::classify(&bytes);
        let _ = crate::infer::class::classify_quoted(&bytes);
        let _ = value::number::decimal(&bytes, 76, 10);
        let _ = value::number::wide(&bytes, 128, true);
        let _ = value::address::ipv6(&bytes);
        for syntax in [Syntax::Json, Syntax::ClickHouse] {
            let _ = Cursor::new(&bytes, syntax).skip();
        }
        for escape in [Escape::Quotes, Escape::Backslash] {
            let splitter = Splitter::delimited(b',', escape);
            for last in [true, false] {
                let (mut at, mut spans) = (0, Vec::new());
                while at < bytes.len() {
                    at = match splitter.record(&bytes, at, last, &mut spans) {
                        Step::Record(next) | Step::Blank(next) => {
                            prop_assert!(next > at);
                            next
                        }
                        _ => break,
                    };
                }
            }
        }
    }
}
