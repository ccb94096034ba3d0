//! Page stores and tables on real file systems: images of ext4, xfs and btrfs in memory, mounted by loop, and a small tmpfs.
//!
//! Needs root, and the programs of Debian's packages `e2fsprogs`, `xfsprogs` and `btrfs-progs`. What cannot be mounted is told
//! and left out; that nothing could be mounted is an error.

use crate::{Outcome, output, run_with};
use std::path::{Path, PathBuf};

/// A file system to try: its name, the program that makes it with what it takes before the image, and the size.
struct Kind {
    name: &'static str,
    make: &'static [&'static str],
    mebibytes: u64,
}

/// Small enough to be filled up, large enough for what each asks for at least.
const KINDS: [Kind; 5] = [
    Kind { name: "ext4", make: &["mkfs.ext4", "-q", "-F"], mebibytes: 96 },
    Kind {
        name: "ext4, blocks of 1 KiB",
        make: &["mkfs.ext4", "-q", "-F", "-b", "1024"],
        mebibytes: 96,
    },
    Kind { name: "xfs", make: &["mkfs.xfs", "-q", "-f"], mebibytes: 320 },
    Kind { name: "btrfs", make: &["mkfs.btrfs", "-q", "-f"], mebibytes: 256 },
    Kind { name: "tmpfs", make: &[], mebibytes: 64 },
];

/// A file system that is mounted, with its image; both go when it is dropped.
struct Mount {
    image: PathBuf,
    place: PathBuf,
}

impl Mount {
    fn new(kind: &Kind, number: usize) -> Result<Self, String> {
        let base = if Path::new("/dev/shm").is_dir() {
            PathBuf::from("/dev/shm")
        } else {
            std::env::temp_dir()
        };
        let name = format!("tambour-filesystem-{}-{number}", std::process::id());
        let mount = Self {
            image: base.join(format!("{name}.image")),
            place: std::env::temp_dir().join(name),
        };
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| format!("{path}: {error}")
        };
        std::fs::create_dir(&mount.place).map_err(failed(&mount.place))?;
        let place = mount.place.display().to_string();
        if kind.make.is_empty() {
            let size = format!("size={}m", kind.mebibytes);
            output("mount", &["-t", kind.name, "-o", &size, "none", &place])?;
            return Ok(mount);
        }
        let file = std::fs::File::create(&mount.image).map_err(failed(&mount.image))?;
        file.set_len(kind.mebibytes << 20).map_err(failed(&mount.image))?;
        let image = mount.image.display().to_string();
        if let [program, arguments @ ..] = kind.make {
            output(program, &[arguments, &[image.as_str()]].concat())?;
        }
        output("mount", &["-o", "loop", &image, &place])?;
        Ok(mount)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = output("umount", &[&self.place.display().to_string()]);
        let _ = std::fs::remove_dir(&self.place);
        let _ = std::fs::remove_file(&self.image);
    }
}

/// The tests: package, target, filter, and the variable that says where.
const TESTS: [[&str; 4]; 2] = [
    ["tambour-page", "--lib", "tests::disk", "TAMBOUR_PAGES_DIRECTORY"],
    ["tambour-cli", "--test=cli", "full_disk", "TAMBOUR_TABLES_DIRECTORY"],
];

/// Runs the tests of real file systems on each kind.
pub(crate) fn all() -> Outcome {
    let mut tried = 0;
    let mut failures = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        println!("== {}, {} MiB", kind.name, kind.mebibytes);
        let mount = match Mount::new(kind, number) {
            Ok(mount) => mount,
            Err(reason) => {
                println!("left out: {reason}");
                continue;
            }
        };
        tried += 1;
        let place = mount.place.display().to_string();
        for [package, target, filter, variable] in TESTS {
            let test = ["test", "--locked", "--package", package, target, filter];
            // One after the other: they fill the file system up.
            let manner = ["--", "--include-ignored", "--test-threads=1", "--nocapture"];
            let line = [&test[..], &manner[..]].concat();
            if let Err(reason) = run_with("cargo", &line, &[(variable, &place)]) {
                failures.push(format!("{}: {reason}", kind.name));
            }
        }
    }
    match (tried, failures.is_empty()) {
        (0, _) => Err("no file system could be mounted; it needs root and loop devices".to_owned()),
        (_, true) => Ok(()),
        (_, false) => Err(failures.join("\n")),
    }
}
