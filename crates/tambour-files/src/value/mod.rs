//! Values from text: one parser per kind of value, none of which allocates or knows a column.

pub(crate) mod address;
pub(crate) mod number;
pub(crate) mod time;
