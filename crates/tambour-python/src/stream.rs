//! Batches on their way to Python, once.

use crate::carrow::capsule;
use crate::carrow::stream::{Batches, Ended};
use crate::failure::Failure;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::{Mutex, PoisonError};
use tambour::Kind;
use tambour::arrow_schema::SchemaRef;

/// A stream of batches by Arrow's protocol. It can be read once.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Stream {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
    ended: Ended,
    /// The process that began it: the threads of a query do not survive a fork.
    process: u32,
}

impl Stream {
    /// A stream of batches.
    pub(crate) fn new(schema: SchemaRef, batches: Batches) -> Self {
        let batches = Mutex::new(Some(batches));
        Self { schema, batches, ended: Ended::default(), process: std::process::id() }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.process != std::process::id()
            && let Some(batches) =
                self.batches.get_mut().unwrap_or_else(PoisonError::into_inner).take()
        {
            // To drop it would be to wait for threads that only the other process has.
            Box::leak(batches);
        }
    }
}

#[pymethods]
impl Stream {
    /// The batches, in a capsule. A wish for other types is not heard, as the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        if self.process != std::process::id() {
            return Err(Failure::Forked.into());
        }
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(batches) = batches else {
            let text = "the stream was read: begin another one".to_owned();
            return Err(Failure::Said(Kind::Conflict, text).into());
        };
        capsule::stream(py, SchemaRef::clone(&self.schema), batches, Ended::clone(&self.ended))
    }

    /// The schema, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.schema)
    }

    /// The error that ended the stream, as an exception, if one did.
    fn error(&self, py: Python<'_>) -> Option<PyErr> {
        let taken = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map(|failure| {
            let error = PyErr::from(failure);
            error.clone_ref(py)
        })
    }
}
