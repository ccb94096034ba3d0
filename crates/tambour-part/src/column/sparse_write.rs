//! Writing sparse columns: the values that are not the default, and how many defaults stand before each.

use super::bytes::{put_varint, varint};
use super::fault::Fault;
use super::sparse::END;
use super::tree::{Encode, Nulls};
use super::{Sinks, StreamName};
use arrow_array::{Array, ArrayRef};

/// How values lie one after the other in the bytes of a dense column.
#[derive(Debug)]
pub(super) enum Form {
    /// This many bytes each; the default is all zeros.
    Fixed(usize),
    /// A length before each; the default is empty. Lengths go to a stream of their own if there is one.
    Text(Option<StreamName>),
}

/// Takes the bytes of a dense column.
#[derive(Debug, Default)]
struct Dense(Vec<u8>);

impl Sinks for Dense {
    fn stream(&mut self, _name: &StreamName) -> &mut Vec<u8> {
        &mut self.0
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    offsets: StreamName,
    values: StreamName,
    form: Form,
    /// Writes all values, texts with their lengths before them.
    dense: Box<dyn Encode>,
    bytes: Dense,
    defaults: u64,
}

impl Writer {
    pub(super) fn new(
        offsets: StreamName,
        values: StreamName,
        form: Form,
        dense: Box<dyn Encode>,
    ) -> Self {
        Self { offsets, values, form, dense, bytes: Dense::default(), defaults: 0 }
    }
}

impl Encode for Writer {
    fn write(
        &mut self,
        values: &ArrayRef,
        nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        self.bytes.0.clear();
        self.dense.write(values, nulls, &mut self.bytes)?;
        let bytes = self.bytes.0.as_slice();
        let (mut offsets, mut before) = (Vec::new(), 0_u64);
        let mut at = 0;
        for row in 0..values.len() {
            let (head, length) = match &self.form {
                Form::Fixed(width) => (0, *width),
                Form::Text(_) => {
                    let found = varint(bytes.get(at..).unwrap_or_default());
                    let (length, head) = found.ok_or_else(|| cut(row))?;
                    (head, usize::try_from(length).map_err(|_| cut(row))?)
                }
            };
            let value = bytes.get(at + head..at + head + length).ok_or_else(|| cut(row))?;
            if is_default(&self.form, value) {
                before += 1;
                self.defaults += 1;
            } else {
                put_varint(&mut offsets, std::mem::take(&mut before));
                if let Form::Text(Some(sizes)) = &self.form {
                    let size = (length as u64).to_le_bytes();
                    sinks.stream(sizes).extend_from_slice(&size);
                    sinks.stream(&self.values).extend_from_slice(value);
                } else {
                    let whole = bytes.get(at..at + head + length).unwrap_or_default();
                    sinks.stream(&self.values).extend_from_slice(whole);
                }
            }
            at += head + length;
        }
        put_varint(&mut offsets, before | END);
        sinks.stream(&self.offsets).extend_from_slice(&offsets);
        Ok(())
    }

    fn defaults(&self) -> u64 {
        self.defaults
    }
}

fn is_default(form: &Form, value: &[u8]) -> bool {
    match form {
        // Minus zero is a value: nothing but its bytes tells it from the default.
        Form::Fixed(_) => value.iter().all(|byte| *byte == 0),
        Form::Text(_) => value.is_empty(),
    }
}

fn cut(row: usize) -> Fault {
    Fault::Other { reason: format!("row {row} has no value in the dense form") }
}
