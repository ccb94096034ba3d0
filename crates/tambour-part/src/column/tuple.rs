//! Tuples: each element has its own streams; the tuple itself has none.

use super::fault::Fault;
use super::nullable::refuse_outer_nulls;
use super::tree::{self, Decode, Encode, Nulls};
use super::{Sinks, Sources};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::Fields;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Reader {
    elements: Vec<Box<dyn Decode>>,
    fields: Fields,
}

impl Reader {
    pub(super) fn new(elements: Vec<Box<dyn Decode>>, fields: Fields) -> Self {
        Self { elements, fields }
    }
}

impl Decode for Reader {
    fn prefix(&mut self, sources: &mut dyn Sources) -> Result<(), Fault> {
        self.elements.iter_mut().try_for_each(|element| element.prefix(sources))
    }

    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        _nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let read = self.elements.iter_mut().map(|element| element.read(sources, rows, None));
        let columns = read.collect::<Result<Vec<_>, Fault>>()?;
        let total = tree::sum(rows)?;
        Ok(Arc::new(StructArray::try_new_with_length(self.fields.clone(), columns, None, total)?))
    }

    fn seek(&mut self) {
        self.elements.iter_mut().for_each(|element| element.seek());
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    elements: Vec<Box<dyn Encode>>,
}

impl Writer {
    pub(super) fn new(elements: Vec<Box<dyn Encode>>) -> Self {
        Self { elements }
    }
}

impl Encode for Writer {
    fn prefix(&mut self, sinks: &mut dyn Sinks) {
        self.elements.iter_mut().for_each(|element| element.prefix(sinks));
    }

    fn write(
        &mut self,
        values: &ArrayRef,
        _nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        refuse_outer_nulls(values)?;
        let Some(tuple) =
            values.as_struct_opt().filter(|tuple| tuple.num_columns() == self.elements.len())
        else {
            return Err(Fault::Other {
                reason: format!("Arrow type {} is not that struct", values.data_type()),
            });
        };
        let mut pairs = self.elements.iter_mut().zip(tuple.columns());
        pairs.try_for_each(|(element, column)| element.write(column, Nulls::Refused, sinks))
    }

    fn finish(&mut self, sinks: &mut dyn Sinks) {
        self.elements.iter_mut().for_each(|element| element.finish(sinks));
    }
}
