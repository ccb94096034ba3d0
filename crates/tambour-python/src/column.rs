//! Columns of values as Python has them, NumPy arrays, Arrow arrays and lists, and columns that go back.

use crate::buffer::Bytes;
use crate::carrow::capsule;
use crate::failure::{Failure, argument};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_data::ArrayData;
use arrow_select::concat::concat;
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyIterator, PyList, PyTuple};
use std::ffi::c_int;
use std::sync::Arc;
use tambour::arrow_array::cast::AsArray;
use tambour::arrow_array::types::{Int64Type, LargeBinaryType, UInt64Type};
use tambour::arrow_array::{
    Array as _, ArrayRef, Int64Array, LargeBinaryArray, UInt64Array, make_array,
};
use tambour::arrow_schema::{DataType, Field, TimeUnit};

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
            if object.getattr("ndim").is_ok_and(|it| it.eq(0).unwrap_or(false)) {
                return argument("a column has one dimension, this one has none");
            }
            let got = object.get_type();
            // NumPy's own types, as its moments, have no buffer that others understand.
            let kind =
                object.getattr("dtype").map(|kind| format!(" of {kind}")).unwrap_or_default();
            argument(format!("a column is a NumPy array, Arrow data or a list, not {got}{kind}"))
        })?;
        let (kind, width) = (ElementType::from_format(buffer.format()), buffer.item_size());
        if buffer.dimensions() != 1 {
            let got = buffer.dimensions();
            return Err(argument(format!("a column has one dimension, this buffer {got}")).into());
        }
        if kind == ElementType::Unknown {
            let format = buffer.format().to_string_lossy().into_owned();
            return Err(argument(format!(
                "a buffer of {format:?} has no numbers: hand over Arrow data for texts"
            ))
            .into());
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

    /// Times in microseconds since 1970, which is what queries take them for: whole numbers as they are, moments by their unit.
    /// What is finer than a microsecond is cut off.
    pub(crate) fn times(&self) -> Result<Vec<Option<i64>>, Failure> {
        let wrong = || argument("times are moments, or whole numbers of microseconds");
        let array = match self {
            Self::Numbers { kind, width, .. } => {
                let is_signed = match kind {
                    ElementType::SignedInteger { .. } => true,
                    ElementType::UnsignedInteger { .. } => false,
                    _ => return Err(wrong()),
                };
                let Some((bytes, _)) = self.fixed() else { return Err(wrong()) };
                let time = |bytes: &[u8]| integer(bytes, is_signed).map(Some);
                return bytes.as_slice().chunks_exact((*width).max(1)).map(time).collect();
            }
            Self::Array(array) => array,
        };
        let careful = CastOptions { safe: false, ..CastOptions::default() };
        let array = match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                let ticks = cast(array, &DataType::Int64)?;
                let ticks = ticks.as_primitive::<Int64Type>();
                Arc::new(ticks.unary::<_, Int64Type>(|tick| tick.div_euclid(1000)))
            }
            DataType::Timestamp(_, zone) => {
                let wanted = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                cast(&cast_with_options(array, &wanted, &careful)?, &DataType::Int64)?
            }
            DataType::Date32 | DataType::Date64 => {
                let wanted = DataType::Timestamp(TimeUnit::Microsecond, None);
                cast(&cast_with_options(array, &wanted, &careful)?, &DataType::Int64)?
            }
            _ if array.logical_null_count() == array.len() => return Ok(vec![None; array.len()]),
            other if other.is_integer() => cast_with_options(array, &DataType::Int64, &careful)?,
            _ => return Err(wrong()),
        };
        Ok(array.as_primitive::<Int64Type>().iter().collect())
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
            return Err(argument("only whole numbers are taken here, and none of them is missing"));
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

/// A whole number of 1 to 8 bytes.
fn integer(bytes: &[u8], is_signed: bool) -> Result<i64, Failure> {
    let is_negative = is_signed && bytes.last().is_some_and(|last| last & 0x80 != 0);
    let mut wide = [if is_negative { 0xff } else { 0 }; 8];
    wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
    let number = i64::from_le_bytes(wide);
    if number < 0 && !is_negative {
        return Err(argument("a number is larger than 63 bits"));
    }
    Ok(number)
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
        return Ok(Column::Array(Arc::new(Int64Array::from(numbers))));
    }
    if let Ok(numbers) = list.extract::<Vec<u64>>() {
        return Ok(Column::Array(Arc::new(UInt64Array::from(numbers))));
    }
    let first = list.iter().find(|item| !item.is_none());
    if first.is_some_and(|item| item.is_instance_of::<PyInt>()) {
        let numbers = list.extract::<Vec<Option<i64>>>().map_err(|_| {
            argument("a list of values has whole numbers of 64 bits in it, and nothing else")
        })?;
        return Ok(Column::Array(Arc::new(Int64Array::from(numbers))));
    }
    let mut texts: Vec<Option<Vec<u8>>> = Vec::with_capacity(list.len());
    for item in list.iter() {
        if item.is_none() {
            texts.push(None);
        } else if let Ok(text) = item.extract::<&str>() {
            texts.push(Some(text.as_bytes().to_vec()));
        } else {
            let bytes = Bytes::of(&item).map_err(|_| {
                let got = item.get_type();
                argument(format!(
                    "a list of values has whole numbers of 64 bits in it, or texts and bytes, and not {got}"
                ))
            })?;
            texts.push(Some(bytes.as_slice().to_vec()));
        }
    }
    Ok(Column::Array(Arc::new(LargeBinaryArray::from_iter(texts))))
}

/// A value as Python has it.
fn value(py: Python<'_>, array: &ArrayRef, row: usize) -> PyResult<Py<PyAny>> {
    if array.is_null(row) {
        return Ok(py.None());
    }
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).into_any().unbind();
    if let Some(texts) = array.as_bytes_opt::<LargeBinaryType>() {
        return Ok(bytes(texts.value(row)));
    }
    if let Some(fixed) = array.as_fixed_size_binary_opt() {
        return Ok(bytes(fixed.value(row)));
    }
    if let Some(numbers) = array.as_primitive_opt::<UInt64Type>() {
        return Ok(numbers.value(row).into_pyobject(py)?.into_any().unbind());
    }
    let one = cast(&array.slice(row, 1), &DataType::Int64).map_err(Failure::from)?;
    Ok(one.as_primitive::<Int64Type>().value(0).into_pyobject(py)?.into_any().unbind())
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

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<PyAny>> {
        let length = self.data.len();
        let place = if index < 0 { index.checked_add_unsigned(length) } else { Some(index) };
        let place = place.and_then(|place| usize::try_from(place).ok());
        let place = place.filter(|place| *place < length);
        let place =
            place.ok_or_else(|| PyIndexError::new_err(format!("value {index} of {length}")))?;
        value(py, &make_array(self.data.slice(place, 1)), 0)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.to_pylist(py)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<tambour array of {} values, {}>", self.data.len(), self.data.data_type())
    }

    /// The values as a list: numbers, bytes and ``None``.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let array = make_array(self.data.clone());
        let values = (0..array.len()).map(|row| value(py, &array, row));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
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
