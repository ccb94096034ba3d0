//! A MariaDB server to measure against: Debian's packages, unpacked into a directory and not installed.

use crate::{Outcome, output, run_with};
use std::path::Path;

/// The server, its client, LZ4 for its pages, and the libraries that not every system has.
const PACKAGES: [&str; 8] = [
    "mariadb-server-core",
    "mariadb-client-core",
    "mariadb-plugin-provider-lz4",
    "libmariadb3",
    "libaio1",
    "libnuma1",
    "libpcre2-8-0",
    "liburing2",
];

/// Downloads the packages by `apt-get`, and unpacks them into `directory`, which may not exist.
pub(crate) fn unpack(directory: &str) -> Outcome {
    let directory = Path::new(directory);
    let packages = directory.join("packages");
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    std::fs::create_dir(directory).map_err(failed)?;
    std::fs::create_dir(&packages).map_err(failed)?;
    // It downloads into the directory in which it runs.
    let status = std::process::Command::new("apt-get")
        .arg("download")
        .args(PACKAGES)
        .current_dir(&packages)
        .status()
        .map_err(|error| format!("apt-get: {error}"))?;
    if !status.success() {
        return Err("apt-get download: it failed; `apt-get update` first?".to_owned());
    }
    let root = directory.display().to_string();
    for entry in std::fs::read_dir(&packages).map_err(failed)? {
        let package = entry.map_err(failed)?.path().display().to_string();
        output("dpkg", &["--extract", &package, &root])?;
    }
    println!(
        "unpacked: cargo run --release -p tambour-bench --features mariadb -- pages --mariadb {root}"
    );
    Ok(())
}

/// Runs the tests that start the server which is unpacked in `directory`.
pub(crate) fn test(directory: &str) -> Outcome {
    let root = Path::new(directory).canonicalize();
    let root = root.map_err(|error| format!("{directory}: {error}"))?.display().to_string();
    let test = ["test", "--locked", "--package", "tambour-bench", "--features", "mariadb", "--lib"];
    let which = ["mariadb", "--", "--include-ignored"];
    run_with("cargo", &[&test[..], &which].concat(), &[("TAMBOUR_MARIADB", &root)])
}
