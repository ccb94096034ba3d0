//! A C program against the header and the library, as its users build it.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    /// Runs a command; its output if it went well.
    fn succeed(command: &mut Command) -> Output {
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
        output
    }

    /// Builds the library, which cargo does not do for the tests of its own package, and tells where it is.
    fn library() -> PathBuf {
        let output = succeed(
            Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--locked", "--package", "tambour-capi"])
                .arg("--message-format=json")
                .current_dir(env!("CARGO_MANIFEST_DIR")),
        );
        let messages = String::from_utf8(output.stdout).unwrap();
        let files = messages.lines().filter_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            message["filenames"].as_array().cloned()
        });
        let mut files = files.flatten().filter_map(|file| file.as_str().map(PathBuf::from));
        let name =
            format!("{}tambour{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        files.find(|file| file.file_name().is_some_and(|found| *found == *name)).unwrap()
    }

    /// The file of a dictionary of messages, with codes for those after a pin.
    fn trained() -> Vec<u8> {
        let mut trainer = tambour_message::Trainer::default();
        for client in 0..500_u32 {
            let name = (u128::from(client) + 1).wrapping_pow(9);
            let name = name.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let hello = format!("hello, I am client {name:032x}");
            trainer.add_from(client.into(), hello.as_bytes()).unwrap();
            let call = format!("get:{client} for {name:032x}");
            trainer.add_from(client.into(), call.as_bytes()).unwrap();
        }
        trainer.train().unwrap().to_bytes()
    }

    #[test]
    fn a_c_program_links_and_runs() {
        let library = library();
        let directory = library.parent().unwrap();
        let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let scratch = tempfile::tempdir().unwrap();
        let program = scratch.path().join("program");
        succeed(
            Command::new("cc")
                .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
                .arg(crate_directory.join("include"))
                .arg(crate_directory.join("tests/program.c"))
                .arg("-o")
                .arg(&program)
                .arg("-L")
                .arg(directory)
                .arg("-ltambour"),
        );
        let dictionary = scratch.path().join("dictionary");
        std::fs::write(&dictionary, trained()).unwrap();
        succeed(Command::new(&program).arg(&dictionary).env("LD_LIBRARY_PATH", directory));
        // A level that does not exist fails every call, and crosses the border as that.
        let refused = Command::new(&program)
            .arg(&dictionary)
            .env("LD_LIBRARY_PATH", directory)
            .env("TAMBOUR_ISA", "no such level")
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
    }

    #[test]
    fn the_header_declares_what_the_library_exports() {
        let header = include_str!("../include/tambour.h");
        let sources = [include_str!("../src/lib.rs"), include_str!("../src/messages.rs")].concat();
        let exported: Vec<&str> = sources
            .split("extern \"C\" fn ")
            .skip(1)
            .filter_map(|rest| rest.split('(').next())
            .collect();
        assert_eq!(exported.len(), 14);
        for name in exported {
            assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
        }
    }
}
