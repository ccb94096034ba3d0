//! Which columns of a part are written sparse: those of whose first rows nearly all have the default value, as ClickHouse's setting
//! `ratio_of_defaults_for_sparse_serialization` has it.

use super::strings::StringLayout;
use super::{Dialect, PartSpec};
use crate::PartError;
use crate::column::{ColumnWriter, Layout, can_be_sparse, streams};
use crate::manifest::serialization;
use crate::write::strings::Memory;
use arrow_array::ArrayRef;
use tambour_codec::spec::CodecSpec;

/// ClickHouse's default for the setting.
pub const SPARSE_RATIO_DEFAULT: f64 = 0.9375;
/// The first release that reads sparse columns.
pub const SPARSE_SINCE: (u16, u16) = (22, 1);

impl PartSpec {
    /// Whether a column may be sparse: by its type, the dialect, and the servers that its codec is chosen for.
    fn may_be_sparse(&self, column: usize) -> bool {
        let Some((column, codec)) = self.columns.get(column) else { return false };
        self.dialect == Dialect::New
            && self.sparse_ratio.is_some_and(|ratio| ratio < 1.0)
            && can_be_sparse(&column.data_type)
            && reads_sparse(codec)
    }

    /// True if there is a column that may be sparse.
    pub(super) fn has_sparse_candidates(&self) -> bool {
        (0..self.columns.len()).any(|column| self.may_be_sparse(column))
    }

    /// Which columns are sparse, by the values of some rows.
    pub(super) fn sparse_columns(
        &self,
        rows: usize,
        values: impl Fn(usize) -> Vec<ArrayRef>,
    ) -> Result<Vec<bool>, PartError> {
        let ratio = self.sparse_ratio.unwrap_or(1.0);
        let is_sparse = |index: usize| {
            if rows == 0 || !self.may_be_sparse(index) {
                return Ok(false);
            }
            let defaults = defaults(self, index, &values(index))?;
            #[expect(clippy::cast_precision_loss, reason = "a share of some rows")]
            let share = defaults as f64 / rows as f64;
            Ok(share > ratio)
        };
        (0..self.columns.len()).map(is_sparse).collect()
    }
}

/// Whether the servers that a codec is chosen for read sparse columns; one that is written out is for all that know it.
fn reads_sparse(codec: &CodecSpec) -> bool {
    !codec.is_auto() || super::strings::leaves_choice(codec, SPARSE_SINCE)
}

/// Values of a column that are the default.
fn defaults(spec: &PartSpec, index: usize, arrays: &[ArrayRef]) -> Result<u64, PartError> {
    let (column, _) = &spec.columns[index];
    let layout = Layout { sparse: true, ..StringLayout::Inline.layout() };
    let described = streams(&column.name, &column.data_type, &layout);
    let empty = described.iter().map(|stream| (stream.name.clone(), Vec::new())).collect();
    let mut memory = Memory { streams: empty, stray: Vec::new() };
    let mut writer = ColumnWriter::with_layout(&column.name, &column.data_type, &layout)?;
    for array in arrays {
        writer.granule(array, &mut memory)?;
        memory.streams.iter_mut().for_each(|(_, bytes)| bytes.clear());
    }
    Ok(writer.defaults())
}

/// `serialization.json` of a part; `None` if it needs none. `sparse` has the names of sparse columns with their defaults.
pub(super) fn serialization(
    strings: StringLayout,
    sparse: &[(&str, u64)],
    rows: u64,
) -> Result<Option<Vec<u8>>, PartError> {
    let plain = match strings {
        StringLayout::Inline | StringLayout::Smaller => None,
        StringLayout::Sized => Some(serialization::SIZED_STRINGS),
        StringLayout::SizedInside => Some(serialization::SIZED_STRINGS_INSIDE),
    };
    if sparse.is_empty() {
        return Ok(plain.map(<[u8]>::to_vec));
    }
    let plain = plain.unwrap_or(serialization::INLINE_STRINGS);
    serialization::with_sparse(plain, sparse, rows).map(Some)
}
