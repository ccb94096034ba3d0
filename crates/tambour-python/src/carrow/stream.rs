//! Streams of batches: ours for others, and those of others for us.

use super::conform::conform;
use super::export::export_batch;
use super::import::{import_array, import_batch};
use super::schema::{export_schema, import_field, lies};
use super::{ArrowArray, ArrowArrayStream, ArrowSchema, Released as _};
use crate::failure::Failure;
use crate::work;
use arrow_data::ArrayData;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use tambour::arrow_array::RecordBatch;
use tambour::arrow_schema::{ArrowError, Field, Schema, SchemaRef};

/// Batches that are handed out one by one.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Failure>> + Send>;

/// Where a stream puts the error that ended it: the interface has room for a number and a text only.
pub(crate) type Ended = Arc<Mutex<Option<Failure>>>;

/// Numbers of errors, as the C library counts them.
const EINTR: c_int = 4;
const EIO: c_int = 5;
const EINVAL: c_int = 22;

/// The function of a stream that gives its next array.
type GetNext = unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int;

/// A stream of ours.
struct Given {
    schema: SchemaRef,
    batches: Option<Batches>,
    ended: Ended,
    /// The text of the last error.
    text: Option<CString>,
    /// The process that made it: threads do not survive a fork.
    process: u32,
}

/// Makes a stream.
pub(crate) fn export_stream(schema: SchemaRef, batches: Batches, ended: Ended) -> ArrowArrayStream {
    let process = std::process::id();
    let given = Given { schema, batches: Some(batches), ended, text: None, process };
    ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release),
        private_data: Box::into_raw(Box::new(given)).cast::<c_void>(),
    }
}

/// What a stream of ours holds.
fn given<'a>(stream: *mut ArrowArrayStream) -> Option<&'a mut Given> {
    // SAFETY: a consumer hands over the stream that it was given, one call at a time.
    let stream = unsafe { stream.as_mut() }?;
    // SAFETY: the pointer came out of a box of this type, or is null after the release.
    unsafe { stream.private_data.cast::<Given>().as_mut() }
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    let Some(given) = given(stream) else { return EINVAL };
    match export_schema(&given.schema) {
        Ok(schema) => {
            // SAFETY: the consumer gives room for a schema, which has nothing in it yet.
            unsafe { ptr::write(out, schema) };
            0
        }
        Err(error) => given.fail(error.into()),
    }
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    let Some(given) = given(stream) else { return EINVAL };
    let array = match work::called_back(|| given.next()) {
        Ok(batch) => batch.map_or_else(ArrowArray::empty, export_batch),
        Err(error) => return given.fail(error),
    };
    // SAFETY: the consumer gives room for an array, which has nothing in it yet.
    unsafe { ptr::write(out, array) };
    0
}

unsafe extern "C" fn get_last_error(stream: *mut ArrowArrayStream) -> *const c_char {
    let text = given(stream).and_then(|given| given.text.as_deref());
    text.map_or(ptr::null(), CStr::as_ptr)
}

unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
    // SAFETY: a consumer calls it with the structure that it was given, which nobody else uses then.
    let Some(stream) = (unsafe { stream.as_mut() }) else { return };
    stream.release = None;
    let given = std::mem::replace(&mut stream.private_data, ptr::null_mut()).cast::<Given>();
    if given.is_null() {
        return;
    }
    // SAFETY: the pointer came out of a box of this type, and is not used again.
    let given = unsafe { Box::from_raw(given) };
    if given.process == std::process::id() {
        work::called_back(|| drop(given));
    } else {
        // Its threads are those of another process, which nobody can wait for here.
        Box::leak(given);
    }
}

impl Given {
    fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        if self.process != std::process::id() {
            return Err(Failure::Forked);
        }
        let Some(batches) = &mut self.batches else { return Ok(None) };
        work::check_signals()?;
        let schema = &self.schema;
        let next = work::guarded(|| {
            batches.next().transpose()?.map(|batch| conform(batch, schema)).transpose()
        });
        match next {
            Ok(Some(batch)) => Ok(Some(batch)),
            Ok(None) => {
                self.batches = None;
                Ok(None)
            }
            Err(error) => {
                self.batches = None;
                Err(error)
            }
        }
    }

    /// Keeps an error for those who can have it whole, and its text for all others.
    fn fail(&mut self, failure: Failure) -> c_int {
        let code = match &failure {
            Failure::Python(_) => EINTR,
            Failure::Arrow(_) => EINVAL,
            _ => EIO,
        };
        self.text = CString::new(failure.to_string().replace('\0', "?")).ok();
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        code
    }
}

/// A stream of somebody else.
pub(crate) struct Taken {
    stream: ArrowArrayStream,
    field: Field,
}

impl Taken {
    /// Asks for the type of the arrays.
    pub(crate) fn new(mut stream: ArrowArrayStream) -> Result<Self, ArrowError> {
        let Some(get_schema) = stream.get_schema.filter(|_| stream.release().is_some()) else {
            return Err(lies("the stream was read before".to_owned()));
        };
        let mut raw = ArrowSchema::empty();
        // SAFETY: the stream is not released, and there is room for its schema.
        let code = unsafe { get_schema(&raw mut stream, &raw mut raw) };
        if code != 0 {
            return Err(last_error(&mut stream, code));
        }
        let field = import_field(&raw, 0)?;
        Ok(Self { stream, field })
    }

    /// The type of the arrays.
    pub(crate) fn field(&self) -> &Field {
        &self.field
    }

    /// The schema, if the arrays are batches.
    pub(crate) fn schema(&self) -> Result<SchemaRef, ArrowError> {
        match self.field.data_type() {
            tambour::arrow_schema::DataType::Struct(fields) => Ok(Arc::new(
                Schema::new_with_metadata(fields.clone(), self.field.metadata().clone()),
            )),
            other => Err(lies(format!("expected batches of columns, got arrays of {other}"))),
        }
    }

    /// The next structure.
    fn raw(&mut self) -> Result<Option<ArrowArray>, Failure> {
        let Some(next) = self.stream.get_next.filter(|_| self.stream.release().is_some()) else {
            return Err(lies("the stream was released".to_owned()).into());
        };
        let mut raw = ArrowArray::empty();
        // SAFETY: the stream is not released, and there is room for its array.
        let code = unsafe { next(&raw mut self.stream, &raw mut raw) };
        if code != 0 {
            return Err(match self.own_error(next) {
                Some(failure) => failure,
                None => last_error(&mut self.stream, code).into(),
            });
        }
        Ok(raw.release().is_some().then_some(raw))
    }

    /// What ended a stream that is one of ours, with all that is known of it.
    fn own_error(&mut self, next: GetNext) -> Option<Failure> {
        if !ptr::fn_addr_eq(next, get_next as GetNext) {
            return None;
        }
        let given = given(&raw mut self.stream)?;
        given.ended.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The next array.
    pub(crate) fn next_array(&mut self) -> Result<Option<ArrayData>, Failure> {
        let Some(raw) = self.raw()? else { return Ok(None) };
        Ok(Some(import_array(raw, self.field.data_type())?))
    }

    /// The next batch.
    pub(crate) fn next_batch(
        &mut self,
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>, Failure> {
        let Some(raw) = self.raw()? else { return Ok(None) };
        Ok(Some(import_batch(raw, schema)?))
    }
}

/// What a stream says of its error.
fn last_error(stream: &mut ArrowArrayStream, code: c_int) -> ArrowError {
    let mut reason = format!("the stream of the data ended with error {code}");
    if let Some(get_last_error) = stream.get_last_error {
        // SAFETY: the stream is not released.
        let text = unsafe { get_last_error(stream) };
        if !text.is_null() {
            // SAFETY: the interface says that it is a text that ends with a zero.
            let text = unsafe { CStr::from_ptr(text) };
            reason = format!("{reason}: {}", text.to_string_lossy());
        }
    }
    lies(reason)
}
