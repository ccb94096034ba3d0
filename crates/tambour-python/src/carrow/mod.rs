//! Arrow between programs: the C data interface and the Python protocol of capsules over it.
//!
//! The structures are those of Arrow's specification ("The Arrow C data interface", "The Arrow C stream interface"). They are
//! spelled out here since the features of the Arrow crates that have them would make another build of everything above Arrow.
//! [`schema`] and [`export`] and [`import`] turn types and arrays, [`stream`] streams of them, [`conform`] keeps the batches of a
//! stream to what it announced, [`capsule`] is Python's side.
//!
//! What another library hands over is believed in one point only, that its pointers lead to what its structures say. All else
//! is checked: counts, sizes, nulls, offsets, texts, keys of dictionaries.

pub(crate) mod capsule;
pub(crate) mod conform;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod metadata;
pub(crate) mod naive;
pub(crate) mod schema;
pub(crate) mod stream;
pub(crate) mod wide;

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// A field: its type, name and metadata.
#[repr(C)]
pub(crate) struct ArrowSchema {
    pub(crate) format: *const c_char,
    pub(crate) name: *const c_char,
    pub(crate) metadata: *const c_char,
    pub(crate) flags: i64,
    pub(crate) n_children: i64,
    pub(crate) children: *mut *mut ArrowSchema,
    pub(crate) dictionary: *mut ArrowSchema,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    pub(crate) private_data: *mut c_void,
}

/// The keys of a dictionary are in the order of its values.
pub(crate) const FLAG_ORDERED: i64 = 1;
/// The field may be null.
pub(crate) const FLAG_NULLABLE: i64 = 2;
/// The keys of a map are sorted.
pub(crate) const FLAG_SORTED: i64 = 4;

/// An array: its buffers.
#[repr(C)]
pub(crate) struct ArrowArray {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) n_buffers: i64,
    pub(crate) n_children: i64,
    pub(crate) buffers: *mut *const c_void,
    pub(crate) children: *mut *mut ArrowArray,
    pub(crate) dictionary: *mut ArrowArray,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub(crate) private_data: *mut c_void,
}

/// A stream of arrays of one type.
#[repr(C)]
pub(crate) struct ArrowArrayStream {
    pub(crate) get_schema:
        Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    pub(crate) get_next:
        Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    pub(crate) get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    pub(crate) release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    pub(crate) private_data: *mut c_void,
}

/// A structure that tells how it is released, and that is empty afterwards.
pub(crate) trait Released: Sized {
    /// A released one.
    fn empty() -> Self;
    /// What releases it; `None` if it is released.
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

macro_rules! released {
    ($($structure:ty { $($field:ident: $value:expr),* $(,)? })*) => {$(
        impl Released for $structure {
            fn empty() -> Self {
                Self { $($field: $value,)* release: None, private_data: ptr::null_mut() }
            }
            fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }
        }

        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: who filled the structure gave this function for it, and it is called once: it clears `release`.
                    unsafe { release(self) }
                }
            }
        }

        // SAFETY: the specification lets a structure move to another thread, and be read there.
        unsafe impl Send for $structure {}
        // SAFETY: nothing is written through a shared reference.
        unsafe impl Sync for $structure {}
    )*};
}

released! {
    ArrowSchema {
        format: ptr::null(), name: ptr::null(), metadata: ptr::null(), flags: 0, n_children: 0,
        children: ptr::null_mut(), dictionary: ptr::null_mut(),
    }
    ArrowArray {
        length: 0, null_count: 0, offset: 0, n_buffers: 0, n_children: 0, buffers: ptr::null_mut(),
        children: ptr::null_mut(), dictionary: ptr::null_mut(),
    }
    ArrowArrayStream { get_schema: None, get_next: None, get_last_error: None }
}

/// Most children that are believed.
const CHILDREN_MAX: usize = 1 << 20;

/// The structures that a list of pointers leads to; `None` where the list or one of them is null, or the count absurd.
pub(crate) fn children<'a, T>(list: *const *mut T, count: i64) -> Option<Vec<&'a T>> {
    let count = usize::try_from(count).ok().filter(|count| *count <= CHILDREN_MAX)?;
    if count == 0 {
        return Some(Vec::new());
    }
    if list.is_null() {
        return None;
    }
    // SAFETY: whoever filled the structure says that there are this many pointers.
    let pointers = unsafe { std::slice::from_raw_parts(list, count) };
    // SAFETY: each of them is null or leads to a structure that lives as long as the one that lists it.
    pointers.iter().map(|pointer| unsafe { pointer.as_ref() }).collect()
}
