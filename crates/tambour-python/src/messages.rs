//! Messages that are compressed one by one with a dictionary that all connections share.

use crate::buffer::Bytes;
use crate::column::Column;
use crate::failure::{Failure, argument};
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use tambour::MessageCodec;
use tambour::message::{Dictionary, Scratch, Trainer};

/// Makes a dictionary of samples; as bytes, for a file.
#[pyfunction]
pub(crate) fn train_messages<'py>(
    py: Python<'py>,
    samples: &Bound<'py, PyAny>,
    content_bytes: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let samples = Column::of(samples)?;
    let dictionary = work::detached(py, |_| {
        let texts = samples.texts().ok_or_else(|| argument("samples are bytes or texts"))?;
        let mut trainer = Trainer::default();
        if let Some(bytes) = content_bytes {
            trainer = trainer.with_content_bytes(bytes);
        }
        for sample in texts.iter().flatten() {
            trainer.add(sample)?;
        }
        Ok(trainer.train()?.to_bytes())
    })?;
    Ok(PyBytes::new(py, &dictionary))
}

fn dictionary(bytes: &Bound<'_, PyAny>) -> PyResult<Dictionary> {
    let bytes = Bytes::of(bytes)?;
    let made = Dictionary::from_bytes(bytes.as_slice());
    Ok(made.map_err(Failure::from)?)
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A codec. Messages are short: they are encoded with the interpreter's lock, which to give back would cost more.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Messages {
    codec: MessageCodec,
}

#[pymethods]
impl Messages {
    /// A codec with one dictionary.
    #[new]
    fn new(bytes: &Bound<'_, PyAny>, generation: u8, bytes_max: Option<usize>) -> PyResult<Self> {
        let mut codec = MessageCodec::new(generation, dictionary(bytes)?);
        if let Some(bytes) = bytes_max {
            codec = codec.with_message_bytes_max(bytes);
        }
        Ok(Self { codec })
    }

    /// Adds a dictionary that messages may be decoded with.
    fn add(&self, bytes: &Bound<'_, PyAny>, generation: u8) -> PyResult<()> {
        let added = self.codec.add(generation, dictionary(bytes)?);
        Ok(added.map_err(Failure::from)?)
    }

    /// Encodes with another dictionary from now on.
    fn switch_to(&self, generation: u8) -> PyResult<()> {
        let switched = self.codec.switch_to(generation);
        Ok(switched.map_err(Failure::from)?)
    }

    /// Forgets a dictionary.
    fn retire(&self, generation: u8) -> PyResult<bool> {
        let retired = self.codec.retire(generation);
        Ok(retired.map_err(Failure::from)?)
    }

    /// Encodes a message.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let message = Bytes::of(message)?;
        let mut target = Vec::new();
        SCRATCH
            .with_borrow_mut(|scratch| {
                self.codec.encode(message.as_slice(), None, scratch, &mut target)
            })
            .map_err(Failure::from)?;
        Ok(PyBytes::new(py, &target))
    }

    /// Decodes a message.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        encoded: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let encoded = Bytes::of(encoded)?;
        let mut target = Vec::new();
        SCRATCH
            .with_borrow_mut(|scratch| {
                self.codec.decode(encoded.as_slice(), None, scratch, &mut target)
            })
            .map_err(Failure::from)?;
        Ok(PyBytes::new(py, &target))
    }
}
