//! The package for Python: built, put together in `target/python`, and tested there.
//!
//! The package is the files of `crates/tambour-python/python` and the extension module, which cargo builds with the profile
//! and the directory that all else is built with: nothing is compiled a second time for it. `pip install .` is maturin's
//! business, with the same features and the profile of releases.

use crate::test::target;
use crate::{Outcome, output, root, run, run_with};
use std::fs;
use std::path::{Path, PathBuf};

/// The crate of the extension module.
const PACKAGE: &str = "tambour-python";
/// What the tests need beside the packages of the oracle, in the same virtual environment.
const REQUIREMENTS: &str = "crates/tambour-python/tests/requirements.txt";

/// Builds the package with a profile of cargo's and runs its tests by this interpreter.
pub(crate) fn check(python: &Path, profile: &str) -> Outcome {
    requirements(python)?;
    let path = assemble(profile)?;
    let (python, path) = (python.to_string_lossy(), path.to_string_lossy());
    let variables = [("PYTHONPATH", &*path), ("PYTHONFAULTHANDLER", "1")];
    run_with(&python, &["-m", "pytest", "-q", "crates/tambour-python/tests"], &variables)
}

/// Builds the extension module and puts it into a copy of the package; the directory for `PYTHONPATH`.
pub(crate) fn assemble(profile: &str) -> Result<PathBuf, String> {
    // The whole workspace selects the features that the tests were built with.
    let mut words = vec!["build", "--locked", "--workspace", "--lib"];
    if profile == "release" {
        words.push("--release");
    }
    run("cargo", &words)?;
    let library =
        format!("{}tambour_python{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = target().join(profile).join(library);
    let path = target().join("python");
    let package = path.join("tambour");
    let fail = |place: &Path| {
        let place = place.display().to_string();
        move |error: std::io::Error| format!("{place}: {error}")
    };
    if package.exists() {
        fs::remove_dir_all(&package).map_err(fail(&package))?;
    }
    fs::create_dir_all(&package).map_err(fail(&package))?;
    let sources = root().join("crates").join(PACKAGE).join("python/tambour");
    for entry in fs::read_dir(&sources).map_err(fail(&sources))? {
        let file = entry.map_err(fail(&sources))?.path();
        if file.is_file() {
            let copy = package.join(file.file_name().unwrap_or_default());
            fs::copy(&file, &copy).map_err(fail(&file))?;
        }
    }
    // A new file each time: an interpreter that runs keeps the old one.
    fs::copy(&library, package.join("_internal.abi3.so")).map_err(fail(&library))?;
    Ok(path)
}

/// Installs what the tests need, if that has changed.
fn requirements(python: &Path) -> Outcome {
    let wanted = root().join(REQUIREMENTS);
    let text = fs::read_to_string(&wanted).map_err(|error| format!("{REQUIREMENTS}: {error}"))?;
    let stamp = root().join(".venv/installed-python.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == text) {
        return Ok(());
    }
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS];
    output(&python.to_string_lossy(), &pip)?;
    fs::write(&stamp, text).map_err(|error| format!("{}: {error}", stamp.display()))
}
