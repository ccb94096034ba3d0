//! `tambour attach-script`: the commands that attach a table's parts to ClickHouse.

use crate::cli::AttachScriptArguments;
use crate::exit::Failure;
use crate::output::{quantity, stdout};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use tambour::Part;
use tambour::table::Table;
use tambour::table::schema::{TableDefinition, quoted_name};

/// Prints the script.
pub(crate) fn run(arguments: &AttachScriptArguments) -> anyhow::Result<()> {
    let table = Table::open(&arguments.table)?;
    let Some(definition) = table.definition() else {
        return Err(Failure::NotFound(format!(
            "{}: no CREATE TABLE statement is known (there is no tambour.json)",
            arguments.table.display()
        ))
        .into());
    };
    let name = arguments.name.clone().unwrap_or_else(|| table.name().to_owned());
    let script = Script { arguments, table: &table, definition, name };
    let mut target = stdout::data();
    target.write_all(script.text().as_bytes())?;
    target.flush()?;
    Ok(())
}

struct Script<'a> {
    arguments: &'a AttachScriptArguments,
    table: &'a Table,
    definition: &'a TableDefinition,
    name: String,
}

impl Script<'_> {
    fn text(&self) -> String {
        match (self.arguments.sql, self.arguments.from) {
            (true, true) => format!("{};\n", self.attach_from()),
            (true, false) => {
                let mut text = format!("{};\n", self.create());
                for part in self.table.parts() {
                    text += &format!("{};\n", self.attach(part));
                }
                text
            }
            (false, true) => self.shell_from(),
            (false, false) => self.shell(),
        }
    }

    /// `database.table`, quoted as ClickHouse wants it.
    fn target(&self) -> String {
        format!("{}.{}", quoted_name(&self.arguments.database), quoted_name(&self.name))
    }

    fn create(&self) -> String {
        let mut definition = self.definition.clone();
        definition.database = Some(self.arguments.database.clone());
        definition.name.clone_from(&self.name);
        definition.to_string()
    }

    fn attach(&self, part: &Part) -> String {
        format!("ALTER TABLE {} ATTACH PART '{}'", self.target(), part.name())
    }

    /// `ATTACH TABLE ... FROM 'directory in user_files' (columns) ENGINE ...`.
    fn attach_from(&self) -> String {
        let create = self.create();
        let from =
            format!("ATTACH TABLE {} FROM '{}'", self.target(), self.name.replace('\'', "\\'"));
        match create.split_once('(') {
            Some((_, columns)) => format!("{from} ({columns}"),
            None => create,
        }
    }

    fn head(&self) -> String {
        let bytes = self.table.parts().iter().map(|part| part.bytes_on_disk()).sum();
        format!(
            "#!/bin/sh\n# Attaches {} to ClickHouse as {}.{}: {}, {}, {}.\nset -eu\n",
            one_line(&self.table.path().display().to_string()),
            one_line(&self.arguments.database),
            one_line(&self.name),
            quantity::counted(self.table.rows(), "row", "rows"),
            quantity::counted(self.table.parts().len() as u64, "part", "parts"),
            quantity::bytes(bytes),
        )
    }

    /// Writing to a string cannot fail; the results of `write!` are dropped for that reason.
    fn shell(&self) -> String {
        let mut text = self.head();
        let hosts: Vec<Option<&str>> = if self.arguments.hosts.is_empty() {
            vec![None]
        } else {
            self.arguments.hosts.iter().map(|host| Some(host.as_str())).collect()
        };
        for (host, parts) in hosts.iter().zip(self.spread(hosts.len())) {
            text += "\n";
            if let Some(host) = host {
                let _ = writeln!(text, "# {}", one_line(host));
            }
            let client = match host {
                Some(host) => format!("clickhouse-client --host {}", quoted(host)),
                None => "clickhouse-client".to_owned(),
            };
            let _ = writeln!(text, "{client} --query {}", quoted(&self.create()));
            let detached = self.detached();
            for part in &parts {
                let path = absolute(part.path());
                let to = format!("{detached}/{}", part.name());
                let _ = match host {
                    Some(host) => {
                        writeln!(
                            text,
                            "scp -r {} {}",
                            quoted(&path),
                            quoted(&format!("{host}:{to}"))
                        )
                    }
                    None => writeln!(text, "cp -r {} {}", quoted(&path), quoted(&to)),
                };
            }
            if !parts.is_empty() {
                let own = format!("chown -R clickhouse:clickhouse {}", quoted(&detached));
                let _ = match host {
                    Some(host) => writeln!(text, "ssh {} {}", quoted(host), quoted(&own)),
                    None => writeln!(text, "{own}"),
                };
            }
            for part in &parts {
                let _ = writeln!(text, "{client} --query {}", quoted(&self.attach(part)));
            }
        }
        text
    }

    fn shell_from(&self) -> String {
        let mut text = self.head();
        let directory = format!("{}/user_files/{}", self.arguments.data.display(), self.name);
        let _ = writeln!(text, "\n# The server moves this directory into its own data.");
        let _ = writeln!(text, "mkdir -p {}", quoted(&directory));
        for part in self.table.parts() {
            let to = format!("{directory}/{}", part.name());
            let _ = writeln!(text, "cp -r {} {}", quoted(&absolute(part.path())), quoted(&to));
        }
        let _ = writeln!(text, "chown -R clickhouse:clickhouse {}", quoted(&directory));
        let _ = writeln!(text, "clickhouse-client --query {}", quoted(&self.attach_from()));
        text
    }

    /// Where the server looks for parts to attach.
    fn detached(&self) -> String {
        let data = self.arguments.data.display();
        format!(
            "{data}/data/{}/{}/detached",
            escaped(&self.arguments.database),
            escaped(&self.name)
        )
    }

    /// The parts on so many hosts: the largest first, each to the host that has least.
    fn spread(&self, hosts: usize) -> Vec<Vec<Arc<Part>>> {
        let mut parts = self.table.parts().to_vec();
        if hosts > 1 {
            parts.sort_by_key(|part| std::cmp::Reverse(part.bytes_on_disk()));
        }
        let mut shares: Vec<(u64, Vec<Arc<Part>>)> = vec![(0, Vec::new()); hosts];
        for part in parts {
            if let Some((bytes, share)) = shares.iter_mut().min_by_key(|(bytes, _)| *bytes) {
                *bytes += part.bytes_on_disk();
                share.push(part);
            }
        }
        shares.into_iter().map(|(_, share)| share).collect()
    }
}

fn absolute(path: &std::path::Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Text for a comment, which ends with its line.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// A name as ClickHouse writes it in paths: every byte but letters, digits and underscore as `%2E`.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_shell() {
        assert_eq!(quoted("/a/b_c.d"), "/a/b_c.d");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$(rm)"), "'$(rm)'");
    }

    #[test]
    fn names_for_the_server() {
        assert_eq!(escaped("my.table-1"), "my%2Etable%2D1");
    }
}
