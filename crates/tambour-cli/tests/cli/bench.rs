//! `bench`: another program, which lies beside this one.

use crate::support::{Run, Sandbox, program};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A place with the program alone. It is linked, not copied, so the place has to be on the same file system.
fn alone() -> TempDir {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let copy = place.path().join("tambour");
    std::fs::hard_link(program(), &copy)
        .or_else(|_| std::fs::copy(program(), &copy).map(drop))
        .expect("the program");
    place
}

/// Puts a program beside it that says what it was given, and ends with `code`.
fn stub(place: &Path, code: u8) {
    let script = format!("#!/bin/sh\nprintf '<%s>' \"$@\"\necho told >&2\nexit {code}\n");
    let path = place.join("tambour-bench");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(sandbox: &Sandbox, place: &TempDir, arguments: &[&str]) -> Run {
    let mut command = Command::new(place.path().join("tambour"));
    sandbox.prepare(&mut command);
    command.args(arguments);
    Sandbox::run_command(command)
}

#[test]
fn a_program_that_is_not_built_is_named_with_what_builds_it() {
    let (sandbox, place) = (Sandbox::new(), alone());
    let run = |arguments: &[&str]| run(&sandbox, &place, arguments).expect(5);
    let told = run(&["bench", "decode"]).says(&["cargo build --release -p tambour-bench"]);
    assert_eq!(told.stdout, "");
    let path = place.path().join("tambour-bench");
    assert!(told.stderr.contains(path.to_str().unwrap()), "{}", told.stderr);
    let error: serde_json::Value =
        serde_json::from_str(&run(&["bench", "decode", "--json"]).stderr).unwrap();
    assert_eq!((&error["schema"], &error["exit"]), (&"tambour/error/1".into(), &5.into()));
}

#[test]
fn its_arguments_output_and_exit_code_are_those_of_the_program_beside_it() {
    let (sandbox, place) = (Sandbox::new(), alone());
    for code in [0, 3, 77] {
        stub(place.path(), code);
        let told = run(&sandbox, &place, &["bench", "pages", "--dir", "a b", "--json", "-q"])
            .expect(i32::from(code))
            .says(&["told"]);
        assert_eq!(told.stdout, "<pages><--dir><a b><--json><-q>");
    }
    stub(place.path(), 0);
    let told = run(&sandbox, &place, &["-q", "--color", "never", "bench", "decode", "--help"]);
    assert_eq!(told.expect(0).stdout, "<-q><--color><never><decode><--help>");
    // What this program says itself needs no other one.
    let help = run(&sandbox, &place, &["bench", "--help"]).expect(0).stdout;
    assert!(help.contains("tambour-bench") && help.contains("integers"), "{help}");
}
