//! The product does not link what it is compared with.

use crate::{Outcome, output};
use std::collections::BTreeSet;
use std::path::Path;

/// Libraries that only benchmarks and laws may link.
const CONTENDERS: [&str; 14] = [
    "bitpacking",
    "density-rs",
    "fastpfor",
    "librocksdb-sys",
    "lz4",
    "lz4-sys",
    "lzokay",
    "rocksdb",
    "streamvbyte64",
    "tpchgen",
    "tpchgen-arrow",
    "varint-simd",
    "xxhash-c-sys",
    "xxhash-rust",
];

/// Crates that are not part of the product: they may link contenders.
const OUTSIDE: [&str; 2] = ["tambour-bench", "tambour-check"];

/// Finds contenders among all that the crates of the product link, on any platform and with any feature.
pub(crate) fn check(root: &Path, found: &mut Vec<String>) -> Outcome {
    for entry in std::fs::read_dir(root.join("crates")).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if OUTSIDE.contains(&name.as_str()) || !entry.path().join("Cargo.toml").exists() {
            continue;
        }
        let tree = ["tree", "--locked", "--edges=normal", "--target=all", "--all-features"];
        let shape = ["--prefix=none", "--package", &name];
        for contender in linked(&output("cargo", &[&tree[..], &shape].concat())?) {
            found.push(format!(
                "{name} links {contender}, which only benchmarks may: cargo tree -p {name} -e normal -i {contender}"
            ));
        }
    }
    Ok(())
}

/// The contenders in a list of packages, one a line: name, version, what else.
fn linked(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    names.filter(|name| CONTENDERS.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::linked;

    #[test]
    fn contenders_are_found_by_their_whole_names() {
        let tree = "tambour v0.1.0 (/x)\nlz4_flex v0.14.0\nlz4-sys v1.11.1\nlz4-sys v1.11.1 (*)\n";
        assert_eq!(linked(tree).into_iter().collect::<Vec<_>>(), ["lz4-sys"]);
        assert!(linked("tambour v0.1.0\nlz4_flex v0.14.0\n").is_empty());
    }
}
