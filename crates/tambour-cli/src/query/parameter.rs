//! Parameters of statements: `{name:Type}` becomes the value that `--param name=value` gave, with that type.

use super::statement::{Part, Scanner};
use crate::exit::Failure;
use std::borrow::Cow;

/// The statement with the values in the place of its parameters. Quoted texts and comments are left as they are.
pub(crate) fn substituted<'s>(
    statement: &'s str,
    values: &[(String, String)],
) -> Result<Cow<'s, str>, Failure> {
    let mut text = String::new();
    let mut copied = 0;
    for (at, character, part) in Scanner::new(statement) {
        if at < copied || character != '{' || part != Part::Code {
            continue;
        }
        let Some((name, data_type, length)) = parameter(&statement[at..]) else { continue };
        text.push_str(&statement[copied..at]);
        text.push_str(&value(name, data_type, values)?);
        copied = at + length;
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(statement));
    }
    text.push_str(&statement[copied..]);
    Ok(Cow::Owned(text))
}

/// The name, the type and the length of a parameter at the start of a text.
fn parameter(text: &str) -> Option<(&str, &str, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let (name, data_type) = inner[..end].split_once(':')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_fine = !name.is_empty()
        && name.chars().all(is_name)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    is_fine.then_some((name, data_type.trim(), end + 2))
}

fn value(name: &str, data_type: &str, values: &[(String, String)]) -> Result<String, Failure> {
    let Some((_, value)) = values.iter().rev().find(|(known, _)| known == name) else {
        return Err(Failure::Usage(format!(
            "{{{name}:{data_type}}} has no value; give it with --param {name}=..."
        )));
    };
    if data_type == "Identifier" {
        return Ok(format!("`{}`", value.replace('\\', "\\\\").replace('`', "\\`")));
    }
    let quoted = format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    Ok(if data_type == "String" { quoted } else { format!("CAST({quoted} AS {data_type})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_place_of_parameters() {
        let values = [("x".to_owned(), "5".to_owned()), ("s".to_owned(), "a'b".to_owned())];
        let text = |sql: &'static str| substituted(sql, &values).unwrap().into_owned();
        assert_eq!(text("SELECT {x:UInt32}"), "SELECT CAST('5' AS UInt32)");
        assert_eq!(text("SELECT {s:String}, '{x:UInt8}'"), "SELECT 'a\\'b', '{x:UInt8}'");
        assert_eq!(text("SELECT {x:Identifier} -- {y:T}"), "SELECT `5` -- {y:T}");
        assert_eq!(text("SELECT {'a':1}, 4-3/2"), "SELECT {'a':1}, 4-3/2");
        assert!(substituted("SELECT {y:UInt8}", &values).is_err());
    }
}
