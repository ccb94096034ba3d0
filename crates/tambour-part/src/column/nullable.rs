//! Nullable: a byte per row (1 = NULL) before the values, which have a row for each NULL too.

use super::bytes::{Spare, validity};
use super::coerce::{logical_nulls, refuse_nulls};
use super::fault::Fault;
use super::tree::{self, Decode, Encode, Nulls};
use super::{Sinks, Sources, StreamName};
use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Reader {
    name: StreamName,
    values: Box<dyn Decode>,
    spare: Spare,
}

impl Reader {
    pub(super) fn new(name: StreamName, values: Box<dyn Decode>) -> Self {
        Self { name, values, spare: Spare::default() }
    }
}

impl Decode for Reader {
    fn prefix(&mut self, sources: &mut dyn Sources) -> Result<(), Fault> {
        self.values.prefix(sources)
    }

    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let nulls = match tree::sum(rows)? {
            0 => None,
            total => {
                let map = self.spare.read_values(sources.stream(&self.name)?, total, 1)?;
                let nulls = validity(&map)?;
                self.spare.give_back(map);
                nulls
            }
        };
        self.values.read(sources, rows, nulls)
    }

    fn seek(&mut self) {
        self.values.seek();
    }

    fn only_lengths(&mut self) -> Option<StreamName> {
        self.values.only_lengths()
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    name: StreamName,
    values: Box<dyn Encode>,
    arrow: Arrow,
}

impl Writer {
    /// `arrow` is what stands for the values if nothing but NULLs comes, of Arrow's type Null.
    pub(super) fn new(name: StreamName, values: Box<dyn Encode>, arrow: Arrow) -> Self {
        Self { name, values, arrow }
    }
}

impl Encode for Writer {
    fn prefix(&mut self, sinks: &mut dyn Sinks) {
        self.values.prefix(sinks);
    }

    fn write(
        &mut self,
        values: &ArrayRef,
        nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        debug_assert_eq!(nulls, Nulls::Refused, "a Nullable cannot hold another Nullable");
        let map = sinks.stream(&self.name);
        match logical_nulls(values) {
            None => map.resize(map.len() + values.len(), 0),
            Some(nulls) => map.extend(nulls.iter().map(|valid| u8::from(!valid))),
        }
        if *values.data_type() == Arrow::Null {
            let values = new_null_array(&self.arrow, values.len());
            return self.values.write(&values, Nulls::AsDefault, sinks);
        }
        self.values.write(values, Nulls::AsDefault, sinks)
    }

    fn finish(&mut self, sinks: &mut dyn Sinks) {
        self.values.finish(sinks);
    }
}

/// An array of Arrow's type Null as one of `arrow`; others as they are.
pub(super) fn typed_nulls(values: &ArrayRef, arrow: &Arrow) -> ArrayRef {
    match values.data_type() {
        Arrow::Null => new_null_array(arrow, values.len()),
        _ => Arc::clone(values),
    }
}

/// The rows of a list, struct or map have no NULLs of their own in ClickHouse.
pub(super) fn refuse_outer_nulls(values: &dyn Array) -> Result<(), Fault> {
    refuse_nulls(values, Nulls::Refused)
}
