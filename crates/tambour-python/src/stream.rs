//! Batches on their way to Python, once.

use crate::carrow::conform::conform;
use crate::carrow::stream::{Batches, Ended};
use crate::carrow::{capsule, naive, wide};
use crate::failure::Failure;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::{Arc, Mutex, PoisonError};
use tambour::Kind;
use tambour::arrow_schema::{Field, SchemaRef};
use tambour::part::types::TYPE_KEY;

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
        let (schema, batches) = (naive::schema(&schema), Mutex::new(Some(batches)));
        Self { schema, batches, ended: Ended::default(), process: std::process::id() }
    }

    /// The batches, which are taken once.
    fn take(&self) -> Result<Batches, Failure> {
        if self.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).take();
        batches.ok_or_else(|| {
            let text = "the stream was read: begin another one".to_owned();
            Failure::Said(Kind::Conflict, text)
        })
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
        let batches = self.take()?;
        capsule::stream(py, SchemaRef::clone(&self.schema), batches, Ended::clone(&self.ended))
    }

    /// The same batches as polars reads them.
    fn for_polars(&self) -> PyResult<Self> {
        let schema = Arc::new(wide::polars_schema(&self.schema)?);
        let batches = self.take()?;
        let (announced, target) = (SchemaRef::clone(&self.schema), SchemaRef::clone(&schema));
        let batches = batches.map(move |batch| {
            let batch = conform(batch?, &announced)?;
            wide::for_polars(&batch, &target)
        });
        Ok(Self::new(schema, Box::new(batches)))
    }

    /// The next batch, as a stream of its own; `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let batch = work::detached(py, |_| {
            let held = || self.batches.lock().unwrap_or_else(PoisonError::into_inner);
            if self.process != std::process::id() {
                return Err(Failure::Forked);
            }
            // Not held while they are asked: they may wait for the interpreter's lock, and who has that for them.
            let Some(mut batches) = held().take() else { return Ok(None) };
            work::check_signals()?;
            let next = batches.next().transpose()?;
            if next.is_some() {
                *held() = Some(batches);
            }
            Ok(next)
        })?;
        let schema = SchemaRef::clone(&self.schema);
        Ok(batch.map(|batch| Self::new(schema, Box::new(std::iter::once(Ok(batch))))))
    }

    /// The schema, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.schema)
    }

    /// Names and types of the columns, as text.
    fn columns(&self) -> Vec<String> {
        let stated = |field: &Arc<Field>| field.metadata().get(TYPE_KEY).cloned();
        let column = |field: &Arc<Field>| {
            let shown = stated(field).unwrap_or_else(|| field.data_type().to_string());
            format!("{} {shown}", field.name())
        };
        self.schema.fields().iter().map(column).collect()
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
