//! Python's side of Arrow's interface: `__arrow_c_stream__`, `__arrow_c_array__`, `__arrow_c_schema__`.

use super::export::export_data;
use super::import::{import_array, import_batch};
use super::schema::{export_field, export_schema, import_field, import_schema};
use super::stream::{Batches, Ended, Taken, export_stream};
use super::wide::{widened, widened_schema};
use super::{ArrowArray, ArrowArrayStream, ArrowSchema, Released};
use crate::failure::Failure;
use arrow_data::ArrayData;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;
use std::ptr;
use std::sync::Arc;
use tambour::arrow_array::RecordBatch;
use tambour::arrow_schema::{Field, Schema, SchemaRef};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// A schema in a capsule.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = export_schema(schema).map_err(Failure::from)?;
    PyCapsule::new_with_value(py, exported, SCHEMA)
}

/// A stream in a capsule.
pub(crate) fn stream(
    py: Python<'_>,
    schema: SchemaRef,
    batches: Batches,
    ended: Ended,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, export_stream(schema, batches, ended), STREAM)
}

/// An array in two capsules: its type and itself.
pub(crate) fn array<'py>(
    py: Python<'py>,
    field: &Field,
    data: &ArrayData,
) -> PyResult<Bound<'py, PyTuple>> {
    let field = export_field(field).map_err(Failure::from)?;
    let field = PyCapsule::new_with_value(py, field, SCHEMA)?;
    let data = PyCapsule::new_with_value(py, export_data(data), ARRAY)?;
    PyTuple::new(py, [field, data])
}

/// Takes a structure out of the capsule that a method returned. Nobody can take it a second time.
fn take<T: Released>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<T> {
    let Ok(capsule) = capsule.cast::<PyCapsule>() else {
        let got = capsule.get_type();
        return Err(PyTypeError::new_err(format!("expected a capsule {name:?}, got {got}")));
    };
    let pointer = capsule.pointer_checked(Some(name)).map_err(|error| {
        PyTypeError::new_err(format!("expected a capsule {name:?}: {}", error.value(capsule.py())))
    })?;
    // SAFETY: a capsule of this name holds this structure, and the thread holds the interpreter's lock or the capsule alone.
    Ok(unsafe { ptr::replace(pointer.cast::<T>().as_ptr(), T::empty()) })
}

/// What an object hands over.
pub(crate) enum Handed {
    /// A stream of arrays.
    Stream(Taken),
    /// One array.
    Array(Field, ArrowArray),
}

/// Asks an object for its arrays; `None` if it has no such method.
pub(crate) fn ask(object: &Bound<'_, PyAny>) -> PyResult<Option<Handed>> {
    if let Some(method) = object.getattr_opt("__arrow_c_stream__")? {
        let capsule = method.call0()?;
        let stream: ArrowArrayStream = take(&capsule, STREAM)?;
        let taken = object.py().detach(|| Taken::new(stream)).map_err(Failure::from)?;
        return Ok(Some(Handed::Stream(taken)));
    }
    let Some(method) = object.getattr_opt("__arrow_c_array__")? else { return Ok(None) };
    let pair = method.call0()?;
    let pair = pair.cast::<PyTuple>().map_err(|_| {
        PyTypeError::new_err("__arrow_c_array__ returned something else than two capsules")
    })?;
    let field: ArrowSchema = take(&pair.get_item(0)?, SCHEMA)?;
    let array: ArrowArray = take(&pair.get_item(1)?, ARRAY)?;
    let field = import_field(&field, 0).map_err(Failure::from)?;
    Ok(Some(Handed::Array(field, array)))
}

impl Handed {
    /// No arrays.
    pub(crate) fn nothing() -> Self {
        Self::Array(
            Field::new("", tambour::arrow_schema::DataType::Null, true),
            ArrowArray::empty(),
        )
    }

    /// The schema of its batches.
    pub(crate) fn schema(&self) -> Result<SchemaRef, Failure> {
        Ok(Arc::new(widened_schema(&*self.raw_schema()?)))
    }

    /// The schema as it was announced.
    fn raw_schema(&self) -> Result<SchemaRef, Failure> {
        match self {
            Self::Stream(taken) => Ok(taken.schema()?),
            Self::Array(field, _) => {
                let raw = export_field(field)?;
                Ok(Arc::new(import_schema(&raw)?))
            }
        }
    }

    /// The next batch; an array is one batch.
    pub(crate) fn next_batch(
        &mut self,
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>, Failure> {
        let raw = self.raw_schema()?;
        let batch = match self {
            Self::Stream(taken) => taken.next_batch(&raw)?,
            Self::Array(_, array) => {
                let array = std::mem::replace(array, ArrowArray::empty());
                if array.release().is_none() {
                    return Ok(None);
                }
                Some(import_batch(array, &raw)?)
            }
        };
        Ok(batch.map(|batch| widened(&batch, schema)).transpose()?)
    }

    /// All arrays, and their type.
    pub(crate) fn arrays(self) -> Result<(Field, Vec<ArrayData>), Failure> {
        match self {
            Self::Array(field, array) => {
                let data = import_array(array, field.data_type())?;
                Ok((field, vec![data]))
            }
            Self::Stream(mut taken) => {
                let mut arrays = Vec::new();
                while let Some(array) = taken.next_array()? {
                    arrays.push(array);
                }
                Ok((taken.field().clone(), arrays))
            }
        }
    }
}
