//! How the columns of a damaged part are laid out whose `serialization.json` is lost: by the names of their streams.

use super::PartFiles;
use crate::column::{Layout, streams};
use crate::manifest::TEXT_BYTES_MAX;
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::name::hashed;
use crate::types::DataType;
use std::collections::HashSet;

/// The layouts that a column may have, the plain one first.
pub(super) fn all(plain: &Layout) -> impl Iterator<Item = Layout> {
    (0..8_u8).map(|bits| {
        let (sparse, sizes, nested) = (bits & 1 > 0, bits & 2 > 0, bits & 4 > 0);
        let string_sizes_nested = sizes && nested;
        Layout { sparse, string_sizes: sizes, string_sizes_nested, ..plain.clone() }
    })
}

/// Names of streams that a part shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    names: HashSet<String>,
}

impl Shown {
    /// Those of a part: of its files, and of what a compact one lists.
    pub(super) fn of(files: &PartFiles) -> Self {
        let stems =
            files.lengths.keys().chain(files.sums.iter().flat_map(|sums| sums.files.keys()));
        let mut names: HashSet<String> =
            stems.filter_map(|name| name.strip_suffix(".bin")).map(str::to_owned).collect();
        let listed = files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX);
        let listed = listed.and_then(|it| substreams::parse(&files.path_of(SUBSTREAMS_FILE), &it));
        names.extend(listed.unwrap_or_default().into_iter().flat_map(|(_, streams)| streams));
        Self { names }
    }

    /// The layout with the most streams, all of which are there.
    pub(super) fn layout(&self, name: &str, data_type: &DataType, plain: Layout) -> Layout {
        let mut best: Option<(usize, Layout)> = None;
        for layout in all(&plain) {
            let wanted = streams(name, data_type, &layout);
            let is_there =
                |stream: &str| self.names.contains(stream) || self.names.contains(&hashed(stream));
            if wanted.iter().all(|stream| is_there(&stream.name.0))
                && best.as_ref().is_none_or(|(count, _)| wanted.len() > *count)
            {
                best = Some((wanted.len(), layout));
            }
        }
        best.map_or(plain, |(_, layout)| layout)
    }
}
