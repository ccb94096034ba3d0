//! Arrays: the length of each (not cumulative), then the elements of all.

use super::bytes::read_values;
use super::fault::Fault;
use super::nullable::refuse_outer_nulls;
use super::tree::{self, Decode, Encode, Nulls};
use super::{Sinks, Sources, StreamName};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, ListArray, OffsetSizeTrait};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType as Arrow, Field, FieldRef};
use std::sync::Arc;

/// The most elements that Arrow's lists can have in one array.
const ELEMENTS_MAX: usize = i32::MAX as usize;
/// Offsets that are allocated before any size was seen.
const UNSEEN_MAX: usize = 1 << 18;

/// Sizes as offsets, and how many elements each granule has.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) offsets: OffsetBuffer<i32>,
    pub(super) elements: Vec<usize>,
}

impl Sizes {
    pub(super) fn read(
        sources: &mut dyn Sources,
        name: &StreamName,
        rows: &[usize],
    ) -> Result<Self, Fault> {
        let total = tree::sum(rows)?;
        let mut offsets = Vec::with_capacity(total.min(UNSEEN_MAX) + 1);
        offsets.push(0_i32);
        let mut elements = Vec::with_capacity(rows.len());
        let mut end = 0_usize;
        for &rows in rows {
            let start = end;
            if rows > 0 {
                let sizes = read_values(sources.stream(name)?, rows, 8)?;
                for &size in sizes.typed_data::<u64>() {
                    end = end.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
                    match i32::try_from(end) {
                        Ok(offset) => offsets.push(offset),
                        Err(_) => {
                            return Err(Fault::limit(
                                "elements of arrays read at once",
                                ELEMENTS_MAX,
                                end,
                            ));
                        }
                    }
                }
            }
            elements.push(end - start);
        }
        Ok(Self { offsets: OffsetBuffer::new(offsets.into()), elements })
    }

    /// The row to which an element belongs.
    pub(super) fn row_of(&self, element: usize) -> usize {
        self.offsets.partition_point(|&offset| offset as usize <= element) - 1
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    sizes: StreamName,
    elements: Box<dyn Decode>,
    item: FieldRef,
}

impl Reader {
    pub(super) fn new(sizes: StreamName, elements: Box<dyn Decode>, item: Field) -> Self {
        Self { sizes, elements, item: Arc::new(item) }
    }
}

impl Decode for Reader {
    fn prefix(&mut self, sources: &mut dyn Sources) -> Result<(), Fault> {
        self.elements.prefix(sources)
    }

    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let sizes = Sizes::read(sources, &self.sizes, rows)?;
        let read = self.elements.read(sources, &sizes.elements, None);
        let values = read.map_err(|fault| fault.map_row(|element| sizes.row_of(element)))?;
        Ok(Arc::new(ListArray::try_new(Arc::clone(&self.item), sizes.offsets, values, None)?))
    }

    fn seek(&mut self) {
        self.elements.seek();
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    sizes: StreamName,
    elements: Box<dyn Encode>,
}

impl Writer {
    pub(super) fn new(sizes: StreamName, elements: Box<dyn Encode>) -> Self {
        Self { sizes, elements }
    }

    fn write_list<O: OffsetSizeTrait>(
        &mut self,
        list: &GenericListArray<O>,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        let offsets = list.value_offsets();
        put_sizes(&self.sizes, offsets, sinks);
        let elements = elements_of(list.values(), offsets);
        let written = self.elements.write(&elements, Nulls::Refused, sinks);
        written.map_err(|fault| fault.map_row(|element| row_of(offsets, element)))
    }
}

/// Appends the lengths between offsets.
pub(super) fn put_sizes<O: OffsetSizeTrait>(
    name: &StreamName,
    offsets: &[O],
    sinks: &mut dyn Sinks,
) {
    let target = sinks.stream(name);
    target.reserve(8 * offsets.len());
    for pair in offsets.windows(2) {
        let size = (pair[1] - pair[0]).as_usize() as u64;
        target.extend_from_slice(&size.to_le_bytes());
    }
}

/// The elements between the first offset and the last.
pub(super) fn elements_of<O: OffsetSizeTrait>(values: &ArrayRef, offsets: &[O]) -> ArrayRef {
    let (first, last) =
        (offsets.first().map_or(0, |o| o.as_usize()), offsets.last().map_or(0, |o| o.as_usize()));
    values.slice(first, last - first)
}

/// The row to which an element belongs, counted from the first offset.
pub(super) fn row_of<O: OffsetSizeTrait>(offsets: &[O], element: usize) -> usize {
    let first = offsets.first().map_or(0, |offset| offset.as_usize());
    offsets.partition_point(|offset| offset.as_usize() - first <= element).saturating_sub(1)
}

impl Encode for Writer {
    fn prefix(&mut self, sinks: &mut dyn Sinks) {
        self.elements.prefix(sinks);
    }

    fn write(
        &mut self,
        values: &ArrayRef,
        _nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        refuse_outer_nulls(values)?;
        match values.data_type() {
            Arrow::List(_) => self.write_list(values.as_list::<i32>(), sinks),
            Arrow::LargeList(_) => self.write_list(values.as_list::<i64>(), sinks),
            Arrow::FixedSizeList(_, size) => {
                let list = values.as_fixed_size_list();
                let size = size.unsigned_abs() as usize;
                let offsets: Vec<i64> = (0..=list.len()).map(|row| (row * size) as i64).collect();
                put_sizes(&self.sizes, &offsets, sinks);
                let written = self.elements.write(list.values(), Nulls::Refused, sinks);
                written.map_err(|fault| fault.map_row(|element| row_of(&offsets, element)))
            }
            other => Err(Fault::Other { reason: format!("Arrow type {other} is not a list") }),
        }
    }

    fn finish(&mut self, sinks: &mut dyn Sinks) {
        self.elements.finish(sinks);
    }
}
