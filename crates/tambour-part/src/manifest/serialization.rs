//! `serialization.json`: which columns are sparse and how strings are laid out.

use crate::column::Layout;
use crate::{PartError, Place};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the file.
pub(crate) const SERIALIZATION_FILE: &str = "serialization.json";

/// What ClickHouse writes where strings of the top level have sizes, nested ones have not, and no column is sparse.
pub(crate) const SIZED_STRINGS: &[u8] =
    br#"{"columns":[],"types_serialization_versions":{"string":1},"version":1}"#;

/// What it writes where nested strings have sizes as well. Releases that do not know the last word refuse the part.
pub(crate) const SIZED_STRINGS_INSIDE: &[u8] = br#"{"columns":[],"propagate_types_serialization_versions_to_nested_types":true,"types_serialization_versions":{"string":1},"version":1}"#;

/// Where strings are inline and only sparse columns are to be listed.
pub(crate) const INLINE_STRINGS: &[u8] = br#"{"columns":[],"version":0}"#;

/// Newest version that is read.
const VERSION_MAX: u64 = 1;
/// Deepest nesting of `subcolumns`.
const DEPTH_MAX: usize = 64;

#[derive(Debug, Deserialize)]
struct Document {
    version: u64,
    #[serde(default)]
    columns: Vec<ColumnInfo>,
    #[serde(default)]
    types_serialization_versions: BTreeMap<String, u64>,
    #[serde(default)]
    propagate_types_serialization_versions_to_nested_types: bool,
}

#[derive(Debug, Deserialize)]
struct ColumnInfo {
    name: Option<String>,
    kind: String,
    #[serde(default)]
    subcolumns: Vec<ColumnInfo>,
}

/// The layouts of a part's columns; without the file all are plain.
#[derive(Debug, Default)]
pub(crate) struct Serialization {
    columns: BTreeMap<String, Result<Layout, String>>,
    plain: Layout,
}

impl Serialization {
    /// Parses the file.
    pub(crate) fn parse(path: &Path, source: &[u8]) -> Result<Self, PartError> {
        let document: Document = serde_json::from_slice(source)
            .map_err(|cause| PartError::malformed(Place::file(path), cause.to_string()))?;
        if document.version > VERSION_MAX {
            let what = format!("serialization version {}", document.version);
            return Err(PartError::unsupported(Place::file(path), what));
        }
        let plain = plain(path, &document)?;
        let mut columns = BTreeMap::new();
        for info in &document.columns {
            let name = info.name.clone();
            let name =
                name.ok_or_else(|| PartError::malformed(Place::file(path), "column has no name"))?;
            let place = Place::file(path).of_column(&name);
            if columns.insert(name, layout(info, &plain, 0)).is_some() {
                return Err(PartError::malformed(place, "column is listed twice"));
            }
        }
        Ok(Self { columns, plain })
    }

    /// The layout of a column, or the kind of serialization that is not known.
    pub(crate) fn layout(&self, column: &str) -> Result<Layout, &str> {
        match self.columns.get(column) {
            None => Ok(self.plain.clone()),
            Some(Ok(layout)) => Ok(layout.clone()),
            Some(Err(kind)) => Err(kind),
        }
    }

    /// The layout of a column that is not listed.
    pub(crate) fn plain(&self) -> Layout {
        self.plain.clone()
    }

    /// Names that are listed.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.keys().map(String::as_str)
    }
}

/// The same file with other names of columns, or without them: what `kept` says of each.
pub(crate) fn amended(
    path: &Path,
    source: &[u8],
    kept: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<u8>, PartError> {
    let wrong = |reason: String| PartError::malformed(Place::file(path), reason);
    let mut document: Value =
        serde_json::from_slice(source).map_err(|cause| wrong(cause.to_string()))?;
    if let Some(columns) = document.get_mut("columns").and_then(Value::as_array_mut) {
        columns.retain_mut(|column| {
            let name = column.get("name").and_then(Value::as_str).and_then(kept);
            let is_kept = name.is_some();
            if let (Some(name), Some(slot)) = (name, column.get_mut("name")) {
                *slot = Value::String(name);
            }
            is_kept
        });
    }
    serde_json::to_vec(&document).map_err(|cause| wrong(cause.to_string()))
}

/// One of the files above with sparse columns of this many rows, by their names and how many of the rows have the default value.
pub(crate) fn with_sparse(
    plain: &[u8],
    sparse: &[(&str, u64)],
    rows: u64,
) -> Result<Vec<u8>, PartError> {
    let wrong = |cause: serde_json::Error| {
        PartError::malformed(Place::file(SERIALIZATION_FILE), cause.to_string())
    };
    let mut document: Value = serde_json::from_slice(plain).map_err(wrong)?;
    let columns = sparse.iter().map(|(name, defaults)| {
        serde_json::json!({
            "kind": "Sparse", "name": name, "num_defaults": defaults, "num_rows": rows,
        })
    });
    if let Some(slot) = document.get_mut("columns") {
        *slot = columns.collect();
    }
    serde_json::to_vec(&document).map_err(wrong)
}

/// The layout of a column that is not listed.
fn plain(path: &Path, document: &Document) -> Result<Layout, PartError> {
    let mut plain = Layout::default();
    for (name, &version) in &document.types_serialization_versions {
        match (name.as_str(), version) {
            (_, 0) => {}
            ("string", 1) => plain.string_sizes = true,
            ("nullable", 1) => plain.nullable_sparse = true,
            _ => {
                let what = format!("serialization version {version} of type {name:?}");
                return Err(PartError::unsupported(Place::file(path), what));
            }
        }
    }
    plain.string_sizes_nested =
        plain.string_sizes && document.propagate_types_serialization_versions_to_nested_types;
    Ok(plain)
}

fn layout(info: &ColumnInfo, plain: &Layout, depth: usize) -> Result<Layout, String> {
    let sparse = match info.kind.as_str() {
        "Default" => false,
        "Sparse" => true,
        other => return Err(other.to_owned()),
    };
    if depth > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} levels"));
    }
    let elements = info.subcolumns.iter().map(|element| layout(element, plain, depth + 1));
    Ok(Layout { sparse, elements: elements.collect::<Result<_, _>>()?, ..plain.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_codec::Kind;

    fn parse(text: &str) -> Result<Serialization, PartError> {
        Serialization::parse(Path::new("serialization.json"), text.as_bytes())
    }

    #[test]
    fn version_1_says_how_strings_are_laid_out_and_which_columns_are_sparse() {
        let info = parse(
            r#"{"columns":[{"kind":"Sparse","name":"v","num_defaults":195,"num_rows":200,"exact_num_defaults":true},
            {"kind":"Default","name":"t","subcolumns":[{"kind":"Default"},{"kind":"Sparse"}]},{"kind":"Odd","name":"x"}],
            "propagate_types_serialization_versions_to_nested_types":true,
            "types_serialization_versions":{"string":1,"nullable":0},"version":1}"#,
        )
        .unwrap();
        let v = info.layout("v").unwrap();
        assert!(v.sparse && v.string_sizes && v.string_sizes_nested && !v.nullable_sparse);
        let t = info.layout("t").unwrap();
        assert!(!t.sparse && !t.elements[0].sparse && t.elements[1].sparse);
        assert!(t.elements[1].string_sizes);
        assert_eq!(info.layout("x"), Err("Odd"));
        assert!(info.layout("other").unwrap().string_sizes);
    }

    #[test]
    fn what_is_written_means_sizes_at_the_top_level_only() {
        let info = parse(std::str::from_utf8(SIZED_STRINGS).unwrap()).unwrap();
        let wanted = Layout { string_sizes: true, ..Layout::default() };
        assert_eq!(info.layout("s").unwrap(), wanted);
        let info = parse(std::str::from_utf8(SIZED_STRINGS_INSIDE).unwrap()).unwrap();
        let wanted = Layout { string_sizes_nested: true, ..wanted };
        assert_eq!(info.layout("s").unwrap(), wanted);
    }

    #[test]
    fn columns_may_go_or_get_another_name() {
        let text = r#"{"columns":[{"kind":"Sparse","name":"a"},{"kind":"Sparse","name":"b"}],
            "types_serialization_versions":{"string":1},"version":1}"#;
        let kept = |name: &str| (name == "b").then(|| "c".to_owned());
        let amended = amended(Path::new("s"), text.as_bytes(), &kept).unwrap();
        let info = parse(std::str::from_utf8(&amended).unwrap()).unwrap();
        assert_eq!(info.names().collect::<Vec<_>>(), ["c"]);
        assert!(info.layout("c").unwrap().sparse && info.plain().string_sizes);
    }

    #[test]
    fn version_0_and_no_file_mean_plain() {
        let info = parse(r#"{"columns":[],"version":0}"#).unwrap();
        assert_eq!(info.layout("a").unwrap(), Layout::default());
        assert_eq!(Serialization::default().layout("a").unwrap(), Layout::default());
    }

    #[test]
    fn what_is_unknown_is_unsupported_and_what_is_broken_is_corrupt() {
        for (text, kind) in [
            (r#"{"version":2}"#, Kind::Unsupported),
            (r#"{"version":1,"types_serialization_versions":{"string":2}}"#, Kind::Unsupported),
            (r#"{"version":1,"types_serialization_versions":{"map":1}}"#, Kind::Unsupported),
            (r#"{"columns":[]}"#, Kind::Corrupt),
            (r#"{"version":1,"columns":[{"kind":"Sparse"}]}"#, Kind::Corrupt),
            ("", Kind::Corrupt),
            (r#"{"version":1} x"#, Kind::Corrupt),
        ] {
            assert_eq!(parse(text).unwrap_err().kind(), kind, "{text}");
        }
        let deep = "{\"kind\":\"Default\",\"subcolumns\":[".repeat(5000);
        assert!(parse(&format!("{{\"version\":1,\"columns\":[{deep}")).is_err());
    }
}
