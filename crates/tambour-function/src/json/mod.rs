//! JSON in strings: `JSONExtract…`, `JSONHas`, `simpleJSON…`. What is not JSON gives the default of the type.

pub(super) mod document;
pub(super) mod extract;
pub(super) mod path;
pub(super) mod shown;
pub(super) mod simple;
