//! Columns of values as Python has them, NumPy arrays, Arrow arrays and lists, and columns that go back.

use crate::buffer::Bytes;
use crate::carrow::capsule;
use crate::failure::{Failure, argument};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_select::concat::concat;
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::ffi::c_int;
use tambour::arrow_array::{
    Array as _, ArrayRef, Int64Array, LargeBinaryArray, UInt64Array, make_array,
};
use tambour::arrow_schema::{DataType, Field};

/// A column.
pub(crate) enum Column {
    /// Numbers of a buffer, which stay where they are.
    Numbers { bytes: Bytes, width: usize, kind: ElementType },
    /// Values of Arrow, of a type whose bytes are side by side or that is LargeBinary.
    Array(ArrayRef),
}

impl Column {
    /// The column of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Some(handed) = capsule::ask(object)? {
            return Ok(object.py().detach(|| joined(handed.arrays()?))?);
        }
        if let Ok(list) = object.cast::<PyList>() {
            return listed(list);
        }
        let buffer = PyUntypedBuffer::get(object).map_err(|_| {
            let got = object.get_type();
            argument(format!("a column is a NumPy array, Arrow data or a list, not {got}"))
        })?;
        let (kind, width) = (ElementType::from_format(buffer.format()), buffer.item_size());
        if kind == ElementType::Unknown {
            let format = buffer.format().to_string_lossy().into_owned();
            return Err(argument(format!(
                "a buffer of {format:?} has no numbers: hand over Arrow data for texts"
            ))
            .into());
        }
        if buffer.dimensions() != 1 {
            let got = buffer.dimensions();
            return Err(argument(format!("a column has one dimension, this buffer {got}")).into());
        }
        drop(buffer);
        Ok(Self::Numbers { bytes: Bytes::of(object)?, width, kind })
    }

    /// How many values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers { bytes, width, .. } => bytes.as_slice().len() / (*width).max(1),
            Self::Array(array) => array.len(),
        }
    }

    /// True if nobody can write the values meanwhile.
    pub(crate) fn is_read_only(&self) -> bool {
        match self {
            Self::Numbers { bytes, .. } => bytes.is_read_only(),
            Self::Array(_) => true,
        }
    }

    /// Which values are there; `None`: all.
    pub(crate) fn nulls(&self) -> Option<NullBuffer> {
        match self {
            Self::Numbers { .. } => None,
            Self::Array(array) => array.nulls().filter(|nulls| nulls.null_count() > 0).cloned(),
        }
    }

    /// The bytes of values of a fixed width, and the width; `None` for texts.
    pub(crate) fn fixed(&self) -> Option<(Slice<'_>, usize)> {
        match self {
            Self::Numbers { bytes, width, .. } => Some((Slice::Borrowed(bytes.as_slice()), *width)),
            Self::Array(array) => {
                let width = fixed_width(array.data_type())?;
                let data = array.to_data();
                let bytes = data.buffers().first()?;
                let bytes = bytes.slice_with_length(data.offset() * width, data.len() * width);
                Some((Slice::Shared(bytes), width))
            }
        }
    }

    /// The texts.
    pub(crate) fn texts(&self) -> Option<&LargeBinaryArray> {
        match self {
            Self::Numbers { .. } => None,
            Self::Array(array) => array.as_any().downcast_ref(),
        }
    }

    /// Whole numbers without a sign, as ids are; an error for others.
    pub(crate) fn ids(&self) -> Result<Vec<u64>, Failure> {
        let integers = match self {
            Self::Numbers { kind, .. } => {
                matches!(
                    kind,
                    ElementType::SignedInteger { .. } | ElementType::UnsignedInteger { .. }
                )
            }
            Self::Array(array) => array.data_type().is_integer(),
        };
        if !integers || self.nulls().is_some() {
            return Err(argument("ids are whole numbers, and none of them is missing"));
        }
        let signed = match self {
            Self::Numbers { kind, .. } => matches!(kind, ElementType::SignedInteger { .. }),
            Self::Array(array) => array.data_type().is_signed_integer(),
        };
        let Some((bytes, width)) = self.fixed() else { return Ok(Vec::new()) };
        bytes.as_slice().chunks_exact(width).map(|bytes| number(bytes, signed)).collect()
    }
}

/// Bytes that are borrowed or shared.
pub(crate) enum Slice<'a> {
    Borrowed(&'a [u8]),
    Shared(Buffer),
}

impl Slice<'_> {
    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Shared(bytes) => bytes.as_slice(),
        }
    }
}

/// A number of 1 to 8 bytes that must not be negative.
pub(crate) fn number(bytes: &[u8], signed: bool) -> Result<u64, Failure> {
    let mut wide = [0; 8];
    wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
    if signed && bytes.last().is_some_and(|last| last & 0x80 != 0) {
        return Err(argument("a number is negative"));
    }
    Ok(u64::from_le_bytes(wide))
}

fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    }
}

/// All arrays as one, of a type that has its bytes side by side.
fn joined((field, arrays): (Field, Vec<ArrayData>)) -> Result<Column, Failure> {
    let arrays: Vec<ArrayRef> = arrays.into_iter().map(make_array).collect();
    let arrays: Vec<ArrayRef> =
        arrays.iter().map(|array| plain(array)).collect::<Result<_, _>>()?;
    let borrowed: Vec<&dyn tambour::arrow_array::Array> =
        arrays.iter().map(AsRef::as_ref).collect();
    let array = match arrays.as_slice() {
        [one] => ArrayRef::clone(one),
        [] => plain(&tambour::arrow_array::new_empty_array(field.data_type()))?,
        _ => concat(&borrowed)?,
    };
    Ok(Column::Array(array))
}

/// The same values in a type that has its bytes side by side.
fn plain(array: &ArrayRef) -> Result<ArrayRef, Failure> {
    let wanted = match array.data_type() {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::BinaryView => DataType::LargeBinary,
        DataType::Boolean => DataType::UInt8,
        DataType::Dictionary(_, values) => {
            return plain(&cast(array, values)?);
        }
        DataType::LargeBinary | DataType::FixedSizeBinary(_) => return Ok(ArrayRef::clone(array)),
        other if other.primitive_width().is_some() => return Ok(ArrayRef::clone(array)),
        other => {
            return Err(argument(format!("a column of {other}: only texts and numbers are taken")));
        }
    };
    Ok(cast(array, &wanted)?)
}

/// A list of whole numbers, or of texts and bytes.
fn listed(list: &Bound<'_, PyList>) -> PyResult<Column> {
    if let Ok(numbers) = list.extract::<Vec<i64>>() {
        return Ok(Column::Array(std::sync::Arc::new(Int64Array::from(numbers))));
    }
    if let Ok(numbers) = list.extract::<Vec<u64>>() {
        return Ok(Column::Array(std::sync::Arc::new(UInt64Array::from(numbers))));
    }
    let mut texts: Vec<Option<Vec<u8>>> = Vec::with_capacity(list.len());
    for item in list.iter() {
        if item.is_none() {
            texts.push(None);
        } else if let Ok(text) = item.extract::<&str>() {
            texts.push(Some(text.as_bytes().to_vec()));
        } else {
            let bytes = Bytes::of(&item).map_err(|_| {
                argument("a list of values has whole numbers, or texts and bytes, in it")
            })?;
            texts.push(Some(bytes.as_slice().to_vec()));
        }
    }
    Ok(Column::Array(std::sync::Arc::new(LargeBinaryArray::from_iter(texts))))
}

/// A column on its way to Python: by Arrow's protocol, and as a buffer of its values.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Array {
    field: Field,
    data: ArrayData,
}

impl Array {
    /// An array of a result.
    pub(crate) fn new(array: &dyn tambour::arrow_array::Array) -> Self {
        let field = Field::new("", array.data_type().clone(), array.null_count() > 0);
        Self { field, data: array.to_data() }
    }
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.data.len()
    }

    /// How many values are missing.
    #[getter]
    fn null_count(&self) -> usize {
        self.data.null_count()
    }

    /// The array, in two capsules.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        capsule::array(py, &self.field, &self.data)
    }

    /// The type, in a capsule.
    fn __arrow_c_schema__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, pyo3::types::PyCapsule>> {
        let schema = tambour::arrow_schema::Schema::new(vec![self.field.clone()]);
        capsule::schema(py, &schema)
    }

    /// The values of a fixed width as read-only bytes.
    unsafe fn __getbuffer__(
        slf: PyRef<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let data = &slf.data;
        let width = fixed_width(data.data_type()).ok_or_else(|| {
            argument("texts have no buffer of values: read them by Arrow's protocol")
        })?;
        let bytes = data.buffers().first().map_or(&[][..], |buffer| {
            let start = data.offset() * width;
            &buffer.as_slice()[start..start + data.len() * width]
        });
        let length = isize::try_from(bytes.len()).unwrap_or(isize::MAX);
        let pointer = bytes.as_ptr().cast_mut().cast::<std::ffi::c_void>();
        // SAFETY: the bytes live as long as this object, which the view keeps alive, and the view is read-only.
        let code = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), pointer, length, 1, flags) };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    /// The values of texts as a list of bytes.
    fn to_bytes_list(&self, py: Python<'_>) -> PyResult<Vec<Option<Py<PyAny>>>> {
        let array = make_array(self.data.clone());
        let Some(texts) = array.as_any().downcast_ref::<LargeBinaryArray>() else {
            return Err(argument("the array has no texts").into());
        };
        let bytes = |text: Option<&[u8]>| {
            text.map(|text| pyo3::types::PyBytes::new(py, text).into_any().unbind())
        };
        Ok(texts.iter().map(bytes).collect())
    }
}
