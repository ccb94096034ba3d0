//! Names of streams: the way into a type, spelled as ClickHouse spells it.

use super::StreamName;
use crate::name::escape;

/// Where in a column's type we are.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// The stem: the escaped column name and the tuple elements on the way.
    stem: String,
    /// The stem of a Nested column's shared sizes, as long as we are at the column itself.
    nested: Option<String>,
    /// Arrays on the way, maps included.
    depth: usize,
}

impl Path {
    pub(super) fn new(column: &str) -> Self {
        Self { stem: escape(column), nested: nested_name(column).map(escape), depth: 0 }
    }

    /// The values themselves.
    pub(super) fn values(&self) -> StreamName {
        StreamName(self.stem.clone())
    }

    /// A helper stream: `.null`, `.size`, `.dict`, `.dict_prefix`, `.sparse.idx`.
    pub(super) fn helper(&self, suffix: &str) -> StreamName {
        StreamName(format!("{}{suffix}", self.stem))
    }

    /// The sizes of the arrays here; columns of a Nested have one stream of them together.
    pub(super) fn sizes(&self) -> StreamName {
        let stem = self.nested.as_ref().unwrap_or(&self.stem);
        StreamName(format!("{stem}.size{}", self.depth))
    }

    /// Into the elements of an array.
    pub(super) fn elements(&self) -> Self {
        Self { stem: self.stem.clone(), nested: None, depth: self.depth + 1 }
    }

    /// Into an element of a tuple; `None` stands for the number of an unnamed one.
    pub(super) fn member(&self, name: Option<&str>, index: usize) -> Self {
        let name = name.map_or_else(|| (index + 1).to_string(), escape);
        Self { stem: format!("{}%2E{name}", self.stem), nested: None, depth: self.depth }
    }
}

/// The name of a Nested to which a column of this name would belong: what stands before the first dot.
pub(super) fn nested_name(column: &str) -> Option<&str> {
    column
        .split_once('.')
        .filter(|(before, after)| !before.is_empty() && !after.is_empty())
        .map(|(before, _)| before)
}
