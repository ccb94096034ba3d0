//! Help, wrong calls, and everything that needs no data.

use crate::support::Sandbox;

const COMMANDS: &[&str] = &[
    "import",
    "export",
    "sql",
    "optimize",
    "salvage",
    "recompress",
    "verify",
    "worker",
    "inspect",
    "advise",
    "attach-script",
    "compress",
    "decompress",
    "codecs",
    "pages",
    "messages",
    "bench",
    "completions",
    "man",
];

#[test]
fn help_of_every_command() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("help", sandbox.run(&["--help"]).expect(0).stdout);
    for command in COMMANDS {
        let run = sandbox.run(&[command, "--help"]).expect(0);
        assert_eq!(run.stderr, "");
        insta::assert_snapshot!(format!("help_{}", command.replace('-', "_")), run.stdout);
    }
}

#[test]
fn help_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    for command in COMMANDS {
        for flag in ["-h", "--help"] {
            let help = sandbox.run(&[command, flag]).expect(0).stdout;
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{command} {flag}: {line}");
            }
        }
    }
}

#[test]
fn commands_that_do_not_exist_are_unknown() {
    let sandbox = Sandbox::new();
    for command in ["unheard", "attach", "restore"] {
        sandbox.run(&[command]).expect(2).says(&["unrecognized subcommand", command]);
    }
}

#[test]
fn wrong_calls_end_with_two() {
    let sandbox = Sandbox::new();
    let calls: [&[&str]; 17] = [
        &[],
        &["import"],
        &["import", "a.csv"],
        &["import", "--into", "t"],
        &["import", "a.csv", "--into", "t", "--memory", "lots"],
        &["import", "a.csv", "--into", "t", "--threads", "0"],
        &["import", "a.csv", "--into", "t", "--rows-per-part", "0"],
        &["import", "a.csv", "--into", "t", "--append", "--force"],
        &["import", "a.csv", "--into", "t", "--create", "x", "--order-by", "a"],
        &["import", "a.csv", "--into", "t", "--codec", "Nonsense(1)"],
        &["import", "a.csv", "--into", "t", "--codec", "=LZ4"],
        &["import", "a.csv", "--into", "t", "--format", "xml"],
        &["import", "a.csv", "--into", "t", "--dialect", "ancient"],
        &["sql", "--format", "yaml", "SELECT 1"],
        &["bench"],
        &["completions", "tcsh"],
        &["verify", "t", "--color", "sometimes"],
    ];
    for call in calls {
        let run = sandbox.run(call).expect(2);
        assert_eq!(run.stdout, "", "{call:?}");
        assert!(!run.stderr.is_empty(), "{call:?}");
    }
    insta::assert_snapshot!(
        sandbox.run(&["import", "a.csv", "--into", "t", "--memory", "lots"]).stderr
    );
}

#[test]
fn version_and_completions() {
    let sandbox = Sandbox::new();
    let version = sandbox.run(&["--version"]).expect(0).stdout;
    assert_eq!(version, concat!("tambour ", env!("CARGO_PKG_VERSION"), "\n"));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("attach-script"), "{shell}");
    }
    sandbox
        .shell(r#"set -eu; source <("$TAMBOUR" completions bash); complete -p tambour"#)
        .expect(0);
}

#[test]
fn manual_pages() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man"]).expect(0).stdout;
    assert!(page.contains(".TH tambour 1"), "{page}");
    sandbox.run(&["man", "pages"]).expect(0).says(&["pages into pages"]);
    assert!(sandbox.path().join("pages/tambour-records-seal.1").exists());
    for command in COMMANDS {
        let page = sandbox.path().join(format!("pages/tambour-{command}.1"));
        assert!(std::fs::read_to_string(page).unwrap().contains(command));
    }
}

#[test]
fn codecs_with_method_bytes() {
    let sandbox = Sandbox::new();
    let list = sandbox.run(&["codecs", "--json"]).expect(0).json();
    assert_eq!(list["schema"], "tambour/codecs/1");
    let methods: Vec<(&str, u64)> = list["codecs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|codec| (codec["name"].as_str().unwrap(), codec["method"].as_u64().unwrap()))
        .collect();
    for codec in [("LZ4", 0x82), ("LZ4HC", 0x82), ("NONE", 0x02), ("ZSTD", 0x90), ("Delta", 0x92)] {
        assert!(methods.contains(&codec), "{codec:?}: {methods:?}");
    }
    let text = sandbox.run(&["codecs"]).expect(0).stdout;
    assert!(text.contains("LZ4") && text.contains("0x82") && text.contains("scalar"), "{text}");
}

#[test]
fn instruction_sets_are_checked_at_the_start() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["codecs", "--json"]);
    command.env("TAMBOUR_ISA", "scalar");
    assert_eq!(Sandbox::run_command(command).expect(0).json()["isa"], "scalar");
    let mut command = sandbox.command(&["codecs"]);
    command.env("TAMBOUR_ISA", "mmx");
    Sandbox::run_command(command).expect(2).says(&["TAMBOUR_ISA", "mmx", "avx2"]);
}

#[test]
fn colours_only_where_they_are_wanted() {
    let sandbox = Sandbox::new();
    let plain = sandbox.run(&["verify", "nothing"]).expect(1);
    assert!(!plain.stderr.contains('\u{1b}'), "{:?}", plain.stderr);
    let colored = sandbox.run(&["verify", "nothing", "--color", "always"]).expect(1);
    assert!(colored.stderr.contains("\u{1b}["), "{:?}", colored.stderr);
    // What the terminal says about itself does not matter where colours are refused.
    let mut command = sandbox.command(&["verify", "nothing"]);
    command.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "0");
    assert!(!Sandbox::run_command(command).stderr.contains('\u{1b}'));
}

#[test]
fn a_terminal_gets_colours_and_no_color_takes_them_away() {
    let sandbox = Sandbox::new();
    // `script` runs its command on a terminal of its own.
    let on_terminal = |environment: &str| {
        let call = format!(r#"script -qec '{environment} "$TAMBOUR" verify nothing' /dev/null"#);
        sandbox.shell(&call).stdout
    };
    assert!(on_terminal("").contains("\u{1b}[1;31m") || on_terminal("").contains("\u{1b}[31;1m"));
    assert!(!on_terminal("NO_COLOR=1").contains('\u{1b}'));
}
