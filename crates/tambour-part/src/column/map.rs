//! Maps: arrays of pairs, keys and values in streams of their own.

use super::array::{Sizes, elements_of, put_sizes, row_of};
use super::fault::Fault;
use super::nullable::refuse_outer_nulls;
use super::tree::{Decode, Encode, Nulls};
use super::{Sinks, Sources, StreamName};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as Arrow, FieldRef};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Reader {
    sizes: StreamName,
    keys: Box<dyn Decode>,
    values: Box<dyn Decode>,
    entries: FieldRef,
}

impl Reader {
    pub(super) fn new(
        sizes: StreamName,
        keys: Box<dyn Decode>,
        values: Box<dyn Decode>,
        entries: FieldRef,
    ) -> Self {
        Self { sizes, keys, values, entries }
    }
}

impl Decode for Reader {
    fn prefix(&mut self, sources: &mut dyn Sources) -> Result<(), Fault> {
        self.keys.prefix(sources)?;
        self.values.prefix(sources)
    }

    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let sizes = Sizes::read(sources, &self.sizes, rows)?;
        let at_row = |fault: Fault| fault.map_row(|element| sizes.row_of(element));
        let keys = self.keys.read(sources, &sizes.elements, None).map_err(at_row)?;
        let values = self.values.read(sources, &sizes.elements, None).map_err(at_row)?;
        let Arrow::Struct(fields) = self.entries.data_type() else {
            return Err(Fault::Other {
                reason: "the entries of a map are not a struct".to_owned(),
            });
        };
        let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        Ok(Arc::new(MapArray::try_new(
            Arc::clone(&self.entries),
            sizes.offsets,
            entries,
            None,
            false,
        )?))
    }

    fn seek(&mut self) {
        self.keys.seek();
        self.values.seek();
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    sizes: StreamName,
    keys: Box<dyn Encode>,
    values: Box<dyn Encode>,
}

impl Writer {
    pub(super) fn new(sizes: StreamName, keys: Box<dyn Encode>, values: Box<dyn Encode>) -> Self {
        Self { sizes, keys, values }
    }
}

impl Encode for Writer {
    fn prefix(&mut self, sinks: &mut dyn Sinks) {
        self.keys.prefix(sinks);
        self.values.prefix(sinks);
    }

    fn write(
        &mut self,
        values: &ArrayRef,
        _nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        refuse_outer_nulls(values)?;
        let Some(map) = values.as_map_opt() else {
            return Err(Fault::Other {
                reason: format!("Arrow type {} is not a map", values.data_type()),
            });
        };
        let offsets = map.value_offsets();
        put_sizes(&self.sizes, offsets, sinks);
        for (writer, column) in [(&mut self.keys, map.keys()), (&mut self.values, map.values())] {
            let written = writer.write(&elements_of(column, offsets), Nulls::Refused, sinks);
            written.map_err(|fault| fault.map_row(|element| row_of(offsets, element)))?;
        }
        Ok(())
    }

    fn finish(&mut self, sinks: &mut dyn Sinks) {
        self.keys.finish(sinks);
        self.values.finish(sinks);
    }
}
