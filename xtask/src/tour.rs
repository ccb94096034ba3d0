//! The tour: the main job on real files, every command shown before it runs.

use crate::{Outcome, output, root, run, test};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file of `data/`, and what the tour does with it.
struct Stop {
    file: &'static str,
    table: &'static str,
    /// Flags of `tambour import`.
    flags: &'static [&'static str],
    /// Rows that must be there.
    rows: &'static str,
    /// A query worth running.
    query: &'static str,
    /// The first row that it must give.
    first: &'static str,
}

const STOPS: [Stop; 3] = [
    Stop {
        file: "flights-200k.arrow",
        table: "flights",
        flags: &["--order-by", "time"],
        rows: "200000",
        query: "SELECT floor(time) AS hour, count() AS flights, round(avg(delay), 1) AS delay \
                FROM flights GROUP BY hour ORDER BY flights DESC LIMIT 5",
        first: "17\t13325\t9.7",
    },
    Stop {
        file: "birdstrikes.csv",
        table: "birdstrikes",
        flags: &[],
        rows: "10000",
        query: "SELECT \"Wildlife Species\" AS species, count() AS strikes, sum(\"Cost Total $\") AS dollars \
                FROM birdstrikes GROUP BY species ORDER BY dollars DESC LIMIT 5",
        first: "Canada goose\t190\t15389869",
    },
    Stop {
        file: "routes.dat",
        table: "routes",
        flags: &["--order-by", "c3,c5"],
        rows: "67663",
        query: "SELECT c3 AS airport, count() AS routes FROM routes GROUP BY airport ORDER BY routes DESC LIMIT 5",
        first: "ATL\t915",
    },
];

/// Builds the program as the tests do, so that they compile nothing of it again, and walks through everything, into `tour/`.
pub(crate) fn first() -> Outcome {
    println!(
        "Building tambour (the first build compiles DataFusion: see the README for what to expect)."
    );
    run("cargo", &["build", "--workspace", "--locked", "--bin", "tambour"])?;
    walk(&test::binary("debug"), &root().join("tour"))?;
    println!(
        "\nThe tables are in tour/. Go on with:\n  {} sql tour/flights\n\n\
         That program is built for tests. The fast one, for work:\n  cargo install --locked --path crates/tambour-cli",
        shown(&test::binary("debug"))
    );
    Ok(())
}

/// The same with a binary that is built already, in a folder of its own.
pub(crate) fn smoke(tambour: &Path) -> Outcome {
    let target = tambour.parent().unwrap_or(tambour);
    walk(tambour, &target.join("tour-smoke"))
}

fn walk(tambour: &Path, folder: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let tour = Tour { tambour: tambour.to_path_buf(), folder: folder.to_path_buf() };
    for stop in &STOPS {
        tour.visit(stop)?;
    }
    tour.many_parts()?;
    tour.attach()
}

struct Tour {
    tambour: PathBuf,
    folder: PathBuf,
}

impl Tour {
    fn table(&self, name: &str) -> String {
        shown(&self.folder.join(name))
    }

    /// Import, look, query, export, verify.
    fn visit(&self, stop: &Stop) -> Outcome {
        println!("\n== {} ==", stop.file);
        let file = format!("data/{}", stop.file);
        let table = self.table(stop.table);
        let mut import = vec!["import", &file, "--into", &table];
        import.extend(stop.flags);
        self.show(&import)?;
        self.show(&["sql", &table, &format!("SELECT * FROM {} LIMIT 3", stop.table)])?;
        self.sizes(stop, &file, &table)?;
        self.show(&["sql", &table, stop.query])?;
        self.show(&["verify", &table])?;
        let rows = self.quiet(&[
            "sql",
            &table,
            "--format",
            "tsv",
            &format!("SELECT count() FROM {}", stop.table),
        ])?;
        expect("rows", last_line(&rows), stop.rows)?;
        let result = self.quiet(&["sql", &table, "--format", "tsv", stop.query])?;
        expect(stop.query, result.lines().next().unwrap_or_default(), stop.first)
    }

    /// What each column takes: as text, as a Parquet file (zstd), and here.
    fn sizes(&self, stop: &Stop, file: &str, table: &str) -> Outcome {
        let listing = self.quiet(&[
            "sql",
            table,
            "--format",
            "tsv",
            "SELECT name, type, data_compressed_bytes, compression_codec FROM system.columns ORDER BY position",
        ])?;
        println!(
            "\nbytes per column    {:<26}{:>12}{:>12}{:>12}  codec",
            "type", "as text", "Parquet", "Tambour"
        );
        let mut sums = [0_u64; 3];
        for row in listing.lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            let [name, kind, bytes, codec] = fields[..] else {
                return Err(format!("system.columns: unexpected row {row:?}"));
            };
            let column = format!("SELECT \"{name}\" FROM {}", stop.table);
            let text = self.bytes(&["sql", table, "--format", "tsv", &column])?;
            let parquet = self.bytes(&["sql", table, "--format", "parquet", &column])?;
            let ours: u64 = bytes.parse().map_err(|error| format!("{bytes:?}: {error}"))?;
            println!(
                "{:<20}{:<26}{text:>12}{parquet:>12}{ours:>12}  {codec}",
                cut(name, 19),
                cut(kind, 25)
            );
            for (sum, value) in sums.iter_mut().zip([text, parquet, ours]) {
                *sum += value;
            }
        }
        println!("{:<46}{:>12}{:>12}{:>12}", "all columns", sums[0], sums[1], sums[2]);
        let source =
            fs::metadata(root().join(file)).map_err(|error| format!("{file}: {error}"))?.len();
        let whole = format!("{table}.parquet");
        self.show(&["export", table, &whole])?;
        let parquet =
            fs::metadata(root().join(&whole)).map_err(|error| format!("{whole}: {error}"))?.len();
        let ours = self.quiet(&[
            "sql",
            table,
            "--format",
            "tsv",
            "SELECT sum(bytes_on_disk) FROM system.parts",
        ])?;
        let ours = last_line(&ours);
        println!(
            "\nwhole files: source {source}, Parquet (zstd) {parquet}, Tambour with marks, index, checksums {ours}"
        );
        Ok(())
    }

    /// Several imports make several parts; optimize makes one of them.
    fn many_parts(&self) -> Outcome {
        println!("\n== more rows, partitions, merging ==");
        let table = self.table("routes");
        self.show(&["import", "data/routes.dat", "--into", &table, "--append"])?;
        self.show(&["sql", &table, "SELECT name, rows, marks, bytes_on_disk FROM system.parts"])?;
        self.show(&["optimize", &table])?;
        self.show(&["sql", &table, "SELECT name, rows, marks, bytes_on_disk FROM system.parts"])?;
        self.show(&["sql", &table, "EXPLAIN SELECT count() FROM routes WHERE c3 = 'FRA'"])?;
        let rows = self.quiet(&["sql", &table, "--format", "tsv", "SELECT count() FROM routes"])?;
        expect("rows after the merge", last_line(&rows), "135326")
    }

    /// How a ClickHouse server takes the result.
    fn attach(&self) -> Outcome {
        println!("\n== the same parts in ClickHouse ==");
        self.show(&["attach-script", &self.table("flights")])
    }

    /// Prints a command and runs it.
    fn show(&self, arguments: &[&str]) -> Outcome {
        println!("\n$ tambour {}", quoted(arguments));
        let status = self
            .command(arguments)
            .status()
            .map_err(|error| format!("{}: {error}", self.tambour.display()))?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("tambour {}: {status}", quoted(arguments)))
        }
    }

    fn quiet(&self, arguments: &[&str]) -> Result<String, String> {
        output(&self.tambour.to_string_lossy(), arguments)
    }

    /// Length of a command's standard output.
    fn bytes(&self, arguments: &[&str]) -> Result<u64, String> {
        let output = self
            .command(arguments)
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.tambour.display()))?;
        if output.status.success() {
            Ok(output.stdout.len() as u64)
        } else {
            Err(format!("tambour {}: {}", quoted(arguments), output.status))
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tambour);
        command.args(arguments).current_dir(root());
        command
    }
}

fn expect(what: &str, got: &str, expected: &str) -> Outcome {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected}, got {got}")) }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['\u{2026}']).collect()
}

/// A path as one would type it from the root of the workspace.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
}

fn quoted(arguments: &[&str]) -> String {
    let plain = |text: &str| {
        text.chars()
            .all(|character| character.is_ascii_alphanumeric() || "-_./=,".contains(character))
    };
    let words: Vec<String> = arguments
        .iter()
        .map(|text| {
            if plain(text) {
                (*text).to_owned()
            } else {
                format!("'{}'", text.replace('\'', "'\\''"))
            }
        })
        .collect();
    words.join(" ")
}
