//! `tambour bench`: runs the program `tambour-bench`, which links the libraries that Tambour is compared with.

use crate::exit::{Exit, Failure};
use anyhow::Context;
use std::ffi::OsString;
use std::process::Command;

/// The program, which lies beside this one.
const PROGRAM: &str = "tambour-bench";
/// What builds it.
const BUILD: &str = "cargo build --release -p tambour-bench";

/// Runs the program with the arguments of this call, and ends as it does.
pub(crate) fn run() -> anyhow::Result<u8> {
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    let program = own.with_file_name(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        let place = program.display();
        let problem = format!("{place} is not built; in a clone of the project, build it: {BUILD}");
        return Err(Failure::Unsupported(problem).into());
    }
    let mut child = Command::new(&program);
    child.args(arguments(std::env::args_os().skip(1)));
    let status = child.status().with_context(|| program.display().to_string())?;
    // Ended by a signal: it has said why, or nobody can.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(Exit::Error.code()))
}

/// All words of the call but the command itself: flags of every command may stand before it.
fn arguments(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if let Some(place) = words.iter().position(|word| word == "bench") {
        words.remove(place);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::arguments;
    use std::ffi::OsString;

    #[test]
    fn all_words_but_the_command_are_handed_on() {
        let handed = |words: &str| {
            let words = arguments(words.split(' ').map(OsString::from));
            words.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(handed("bench decode --data bench"), "decode --data bench");
        assert_eq!(
            handed("-q --color never bench hashes --json"),
            "-q --color never hashes --json"
        );
    }
}
