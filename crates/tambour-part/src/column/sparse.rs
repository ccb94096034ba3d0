//! Sparse columns: where the values are that are not the default, and only those.

use super::bytes::read_varint;
use super::fault::Fault;
use super::tree::{self, Decode};
use super::{Sources, StreamName};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, UInt32Array, downcast_primitive_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use std::cmp::Ordering;
use std::sync::Arc;

/// Marks the number of defaults after a granule's last value.
pub(super) const END: u64 = 1 << 62;
/// The most rows of one read: nine bytes can claim any number of them.
const ROWS_MAX: usize = 1 << 26;
/// The most bytes of wide values of one read, for the same reason.
const BYTES_MAX: usize = i32::MAX as usize;

#[derive(Debug)]
pub(super) struct Reader {
    offsets: StreamName,
    values: Box<dyn Decode>,
    nullable: bool,
}

impl Reader {
    /// The default of a nullable column is NULL.
    pub(super) fn new(offsets: StreamName, values: Box<dyn Decode>, nullable: bool) -> Self {
        Self { offsets, values, nullable }
    }

    /// Appends the rows of one granule that have values; rows count from the start of the read.
    ///
    /// A granule may have been written in several pieces, as ClickHouse's merges do: each ends with a marked number.
    fn positions(
        &self,
        sources: &mut dyn Sources,
        start: usize,
        rows: usize,
        positions: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let source = sources.stream(&self.offsets)?;
        let mut row = 0_usize;
        loop {
            let group = read_varint(source)?;
            let defaults = usize::try_from(group & (END - 1)).unwrap_or(usize::MAX);
            row = row.saturating_add(defaults);
            if group & END != 0 {
                match row.cmp(&rows) {
                    Ordering::Less => continue,
                    Ordering::Equal => return Ok(()),
                    Ordering::Greater => {
                        let reason = format!("sparse offsets make {row} rows of {rows}");
                        return Err(source.corrupt(&reason).into());
                    }
                }
            }
            if row >= rows {
                return Err(source
                    .corrupt(&format!("a sparse value at row {row} of {rows}"))
                    .into());
            }
            positions.push(start + row);
            row += 1;
        }
    }
}

impl Decode for Reader {
    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let total = tree::sum(rows)?;
        if total > ROWS_MAX {
            return Err(Fault::limit("rows of a sparse column read at once", ROWS_MAX, total));
        }
        let mut positions = Vec::new();
        let mut counts = Vec::with_capacity(rows.len());
        let mut start = 0;
        for &rows in rows {
            let before = positions.len();
            if rows > 0 {
                self.positions(sources, start, rows, &mut positions)?;
            }
            counts.push(positions.len() - before);
            start += rows;
        }
        let read = self.values.read(sources, &counts, None);
        let values = read.map_err(|fault| fault.map_row(|value| positions[value]))?;
        self.spread(&values, &positions, total)
    }

    fn seek(&mut self) {
        self.values.seek();
    }
}

/// Values in their places among the default.
fn scattered<T: ArrowPrimitiveType>(
    values: &PrimitiveArray<T>,
    default: &PrimitiveArray<T>,
    positions: &[usize],
    total: usize,
) -> ArrayRef {
    let mut all = vec![default.value(0); total];
    for (row, value) in positions.iter().zip(values.values()) {
        if let Some(place) = all.get_mut(*row) {
            *place = *value;
        }
    }
    let all = PrimitiveArray::<T>::new(all.into(), None);
    Arc::new(all.with_data_type(values.data_type().clone()))
}

impl Reader {
    fn spread(
        &self,
        values: &ArrayRef,
        positions: &[usize],
        total: usize,
    ) -> Result<ArrayRef, Fault> {
        if let ArrowType::FixedSizeBinary(width) = values.data_type() {
            let bytes = total.saturating_mul(usize::try_from(*width).unwrap_or(0));
            if bytes > BYTES_MAX {
                return Err(Fault::limit("bytes of sparse values read at once", BYTES_MAX, bytes));
            }
        }
        let placed = positions.iter().zip(0_u32..);
        if self.nullable {
            let mut indexes = vec![None; total];
            placed.for_each(|(&row, index)| indexes[row] = Some(index));
            return Ok(arrow_select::take::take(values, &UInt32Array::from(indexes), None)?);
        }
        let default = self.values.default()?;
        downcast_primitive_array!(
            values => return Ok(scattered(values, default.as_primitive(), positions, total)),
            _ => {}
        );
        let values = arrow_select::concat::concat(&[default.as_ref(), values.as_ref()])?;
        let mut indexes = vec![0; total];
        placed.for_each(|(&row, index)| indexes[row] = index + 1);
        Ok(arrow_select::take::take(&values, &UInt32Array::from(indexes), None)?)
    }
}
