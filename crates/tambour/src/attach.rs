//! The shell script or the statements that attach a table's parts to ClickHouse.

use crate::Table;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::name::days_of_old_name;
use tambour_table::schema::{TableDefinition, quoted_name};

/// Where a table is attached; see [`Table::attach_script`]. By default to the server of this machine, in its database
/// `default`, under the table's own name.
///
/// ```
/// let mut options = tambour::AttachOptions::default();
/// options.database = "web".to_owned();
/// options.hosts = vec!["ch1".to_owned(), "ch2".to_owned()];
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AttachOptions {
    /// Database on the server.
    pub database: String,
    /// Name of the table on the server; that of its directory if not given.
    pub name: Option<String>,
    /// Directory of the server's data.
    pub data: PathBuf,
    /// Spread the parts over these hosts, by size; copies go over ssh.
    pub hosts: Vec<String>,
    /// Only the SQL statements, no commands that copy.
    pub sql: bool,
    /// ATTACH TABLE ... FROM in place of ATTACH PART: one statement takes all parts from `user_files`.
    pub from: bool,
    /// What the first comment of the script tells about the table.
    pub comment: Option<String>,
}

impl Default for AttachOptions {
    fn default() -> Self {
        Self {
            database: "default".to_owned(),
            name: None,
            data: PathBuf::from("/var/lib/clickhouse"),
            hosts: Vec::new(),
            sql: false,
            from: false,
            comment: None,
        }
    }
}

/// The script, if the table's CREATE TABLE statement is known. Parts of the syntax before 2018 attach to tables of that syntax
/// only, which the statement is not.
pub(crate) fn script(table: &Table, options: &AttachOptions) -> Option<String> {
    if table.parts().iter().any(|part| days_of_old_name(part.name()).is_some()) {
        return None;
    }
    let definition = table.definition()?;
    let name = options.name.clone().unwrap_or_else(|| table.name().to_owned());
    Some(Script { options, table, definition, name }.text())
}

struct Script<'a> {
    options: &'a AttachOptions,
    table: &'a Table,
    definition: &'a TableDefinition,
    name: String,
}

impl Script<'_> {
    fn text(&self) -> String {
        match (self.options.sql, self.options.from) {
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
        format!("{}.{}", quoted_name(&self.options.database), quoted_name(&self.name))
    }

    fn create(&self) -> String {
        let mut definition = self.definition.clone();
        definition.database = Some(self.options.database.clone());
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
        let mut text = format!(
            "#!/bin/sh\n# Attaches {} to ClickHouse as {}.{}",
            one_line(&self.table.path().display().to_string()),
            one_line(&self.options.database),
            one_line(&self.name),
        );
        if let Some(comment) = &self.options.comment {
            text += &format!(": {}", one_line(comment));
        }
        text += ".\n";
        if self.table.parts().iter().any(|part| part.is_outdated()) {
            text += "# Some parts have narrower types than the table: ClickHouse casts them when it reads, and rewrites them when it \
                     merges.\n";
        }
        text += "set -eu\n";
        text
    }

    /// Writing to a string cannot fail; the results of `write!` are dropped for that reason.
    fn shell(&self) -> String {
        let mut text = self.head();
        let hosts: Vec<Option<&str>> = if self.options.hosts.is_empty() {
            vec![None]
        } else {
            self.options.hosts.iter().map(|host| Some(host.as_str())).collect()
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
        let directory = format!("{}/user_files/{}", self.options.data.display(), self.name);
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
        let data = self.options.data.display();
        format!("{data}/data/{}/{}/detached", escaped(&self.options.database), escaped(&self.name))
    }

    /// The parts on this many hosts: the largest first, each to the host that has least.
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
