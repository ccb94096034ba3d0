//! Integers in few bytes: whole columns of them.

use crate::buffer::Bytes;
use crate::column::{Array, Column};
use crate::failure::{Failure, argument};
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use tambour::Kind;
use tambour::arrow_array::{ArrayRef, Int32Array, Int64Array, UInt32Array, UInt64Array};
use tambour::integer::Malformed;
use tambour::integer::leb128::{self, Form, Word};
use tambour::integer::stream_vbyte::{self, Lengths};

/// Most bytes of a value in any layout, with its share of what says the lengths.
const BYTES_MAX: usize = 11;

/// Encodes whole numbers.
#[pyfunction]
#[pyo3(name = "varint_encode")]
pub(crate) fn encode<'py>(
    py: Python<'py>,
    values: &Bound<'py, PyAny>,
    layout: &str,
    zigzag: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let values = Column::of(values)?;
    let encoded = work::over(py, values.is_read_only(), |_| {
        let numbers = if zigzag { folded(&values)? } else { values.ids()? };
        let mut target = vec![0; numbers.len() * BYTES_MAX + 64];
        let length = match layout {
            "leb128" => leb128::encode(&numbers, &mut target),
            "streamvbyte" => {
                let narrow: Result<Vec<u32>, _> =
                    numbers.iter().map(|it| u32::try_from(*it)).collect();
                let narrow =
                    narrow.map_err(|_| argument("streamvbyte takes numbers of 32 bits"))?;
                stream_vbyte::encode(&narrow, &mut target, Lengths::OneToFour)
            }
            other => return Err(unknown(other)),
        };
        let length = length.ok_or_else(|| argument("the numbers are too many"))?;
        target.truncate(length);
        Ok(target)
    })?;
    Ok(PyBytes::new(py, &encoded))
}

fn unknown(layout: &str) -> Failure {
    argument(format!("layout {layout:?}: there are leb128 and streamvbyte"))
}

/// Numbers with a sign, so that small ones stay small: 0, -1, 1, -2 become 0, 1, 2, 3.
fn folded(values: &Column) -> Result<Vec<u64>, Failure> {
    if values.nulls().is_some() {
        return Err(argument("a number is missing"));
    }
    let Some((bytes, width)) = values.fixed().filter(|(_, width)| *width <= 8) else {
        return Err(argument("zigzag takes whole numbers"));
    };
    let fold = |bytes: &[u8]| {
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
        let number = i64::from_le_bytes(wide);
        (number << 1 ^ number >> 63).cast_unsigned()
    };
    Ok(bytes.as_slice().chunks_exact(width).map(fold).collect())
}

/// The number that was folded.
fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

/// Decodes whole numbers, as many as said, or all of the bytes; and how many bytes they took.
#[pyfunction]
#[pyo3(name = "varint_decode")]
pub(crate) fn decode(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    count: Option<usize>,
    data_type: &str,
    layout: &str,
) -> PyResult<(Array, usize)> {
    let data = Bytes::of(data)?;
    let (array, taken) = work::over(py, data.is_read_only(), |_| {
        let source = data.as_slice();
        let is_all = count.is_none();
        let count = match (count, layout) {
            (Some(count), _) => count,
            // Bit 7 is clear on the last byte of each number.
            (None, "leb128") => source.iter().filter(|byte| **byte < 0x80).count(),
            (None, _) => {
                return Err(argument(format!("{layout} does not say how many: give `count`")));
            }
        };
        // No number takes less than a quarter of a byte.
        if count > source.len().saturating_mul(4) {
            let text = format!("{count} numbers cannot be in {} bytes", source.len());
            return Err(Failure::Said(Kind::Corrupt, text));
        }
        let (array, taken) = decoded(source, count, data_type, layout)?;
        if is_all && taken < source.len() {
            let left = source.len() - taken;
            let text = format!("the last number is cut short: {left} bytes are left after it");
            return Err(Failure::Said(Kind::Corrupt, text));
        }
        Ok((array, taken))
    })?;
    Ok((Array::new(&array), taken))
}

fn decoded(
    source: &[u8],
    count: usize,
    data_type: &str,
    layout: &str,
) -> Result<(ArrayRef, usize), Failure> {
    let whole = |taken: usize| if taken <= source.len() { Ok(taken) } else { Err(unknown(layout)) };
    let narrow = || -> Result<(Vec<u32>, usize), Failure> {
        match layout {
            "leb128" => numbers(source, count),
            "streamvbyte" => {
                let mut target = vec![0; count];
                let taken = stream_vbyte::decode(source, &mut target, Lengths::OneToFour);
                Ok((target, taken.map_err(malformed)?))
            }
            other => Err(unknown(other)),
        }
    };
    let wide = || match layout {
        "leb128" => numbers::<u64>(source, count),
        _ => narrow().map(|(numbers, taken)| (numbers.into_iter().map(u64::from).collect(), taken)),
    };
    Ok(match data_type {
        "uint32" => {
            let (numbers, taken) = narrow()?;
            (Arc::new(UInt32Array::from(numbers)), whole(taken)?)
        }
        "uint64" => {
            let (numbers, taken) = wide()?;
            (Arc::new(UInt64Array::from(numbers)), whole(taken)?)
        }
        "int32" => {
            let (numbers, taken) = narrow()?;
            let signed = numbers.into_iter().map(|it| unfolded(it.into()));
            let signed = signed.map(i32::try_from).collect::<Result<Vec<_>, _>>();
            (Arc::new(Int32Array::from(signed.map_err(|_| argument("not int32"))?)), whole(taken)?)
        }
        "int64" => {
            let (numbers, taken) = wide()?;
            let signed: Vec<i64> = numbers.into_iter().map(unfolded).collect();
            (Arc::new(Int64Array::from(signed)), whole(taken)?)
        }
        other => {
            return Err(argument(format!(
                "dtype {other:?}: there are uint32, uint64, int32, int64"
            )));
        }
    })
}

fn numbers<W: Word + Default>(source: &[u8], count: usize) -> Result<(Vec<W>, usize), Failure> {
    let mut target = vec![W::default(); count];
    let taken = leb128::decode(source, &mut target, Form::Any).map_err(malformed)?;
    Ok((target, taken))
}

fn malformed(error: Malformed) -> Failure {
    Failure::Said(Kind::Corrupt, format!("the numbers are malformed: {error}"))
}
