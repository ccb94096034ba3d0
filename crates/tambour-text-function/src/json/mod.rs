//! JSON in strings: `JSONExtract…`, `JSONHas`, `simpleJSON…`. What is not JSON gives the default of the type.

pub(crate) mod document;
pub(crate) mod extract;
pub(crate) mod nested;
pub(crate) mod path;
pub(crate) mod shown;
pub(crate) mod simple;
