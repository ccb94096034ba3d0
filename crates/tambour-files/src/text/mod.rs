//! Text files: CSV, TSV and JSON lines. Bytes → [`records`] (split, counted, checked) → [`block`] → [`convert`] → batches;
//! [`probe`] looks at the first of them to find header and types.

pub(crate) mod block;
pub(crate) mod convert;
pub(crate) mod dialect;
pub(crate) mod probe;
pub(crate) mod records;
pub(crate) mod split;
