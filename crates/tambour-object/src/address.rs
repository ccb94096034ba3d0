//! URLs of stores.

use crate::error::StoreError;
use std::path::Path;

/// What a URL speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
    Web,
}

/// Schemes by the text before `://`.
const SCHEMES: [(&str, Scheme); 9] = [
    ("s3", Scheme::S3),
    ("s3a", Scheme::S3),
    ("gs", Scheme::Google),
    ("az", Scheme::Azure),
    ("azure", Scheme::Azure),
    ("abfs", Scheme::Azure),
    ("abfss", Scheme::Azure),
    ("http", Scheme::Web),
    ("https", Scheme::Web),
];

/// A store and where paths in it begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) scheme: Scheme,
    /// The scheme and what names the bucket or the host: `s3://bucket`.
    pub(crate) store: String,
    /// The path that all paths begin with; that of the store unless the URL is escaped.
    pub(crate) root: String,
    /// What the root is in the store.
    pub(crate) base: String,
}

fn split(text: &str) -> Option<(Scheme, &str)> {
    let (name, rest) = text.split_once("://")?;
    let scheme = SCHEMES.iter().find(|(known, _)| *known == name)?.1;
    Some((scheme, rest))
}

/// True for the URL of an object store or a web server, which [`crate::open`] opens.
///
/// ```
/// use std::path::Path;
/// assert!(tambour_object::is_url(Path::new("s3://bucket/hits")));
/// assert!(!tambour_object::is_url(Path::new("data/s3")));
/// ```
pub fn is_url(path: &Path) -> bool {
    path.to_str().and_then(split).is_some()
}

impl Address {
    pub(crate) fn parse(path: &Path) -> Result<Self, StoreError> {
        let text = path.to_string_lossy();
        let wrong = |problem: &str| {
            Err(StoreError::Address { url: text.clone().into_owned(), problem: problem.to_owned() })
        };
        let Some((scheme, rest)) = path.to_str().and_then(split) else {
            return wrong("expected s3://, gs://, az://, abfss://, http:// or https://");
        };
        let (authority, below) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.is_empty() {
            return wrong("the bucket or the host is missing");
        }
        if scheme == Scheme::Web && authority.contains('@') {
            let problem = "passwords in URLs are not taken: they would appear in messages";
            let url = text.replace(authority, "...");
            return Err(StoreError::Address { url, problem: problem.to_owned() });
        }
        if text.chars().any(char::is_control) {
            return wrong("control characters are not taken");
        }
        if scheme == Scheme::Web && below.contains(['?', '#']) {
            return wrong("a query is not taken (a signed URL is of one object only)");
        }
        let below = below.strip_suffix('/').unwrap_or(below);
        let is_escaped = scheme == Scheme::Web && below.contains('%');
        let base = match is_escaped.then(|| object_store::path::Path::from_url_path(below)) {
            None => String::new(),
            Some(Ok(path)) => path.to_string(),
            Some(Err(_)) => return wrong("it is not escaped as URLs are"),
        };
        let checked = if is_escaped { base.as_str() } else { below };
        let mut parts = checked.split('/');
        if !checked.is_empty() && parts.any(|part| matches!(part, "" | "." | "..")) {
            return wrong("names that are empty, `.` or `..` are not taken");
        }
        let store = text[..text.len() - rest.len() + authority.len()].to_owned();
        let root = if is_escaped { format!("{store}/{below}") } else { store.clone() };
        Ok(Self { scheme, store, root, base })
    }

    /// The name of an object in the store.
    pub(crate) fn key(&self, name: &str) -> String {
        match (self.base.as_str(), name) {
            ("", name) => name.to_owned(),
            (base, "") => base.to_owned(),
            (base, name) => format!("{base}/{name}"),
        }
    }

    /// The path of a name, for messages.
    pub(crate) fn url(&self, name: &str) -> String {
        if name.is_empty() { self.root.clone() } else { format!("{}/{name}", self.root) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_what_is_none() {
        let parse = |text: &str| Address::parse(Path::new(text));
        let of =
            |text: &str| parse(text).map(|it| (it.scheme, it.store, it.root, it.base)).unwrap();
        let plain =
            |scheme, store: &str| (scheme, store.to_owned(), store.to_owned(), String::new());
        assert_eq!(of("s3://bucket/a/b%20c/"), plain(Scheme::S3, "s3://bucket"));
        assert_eq!(of("gs://bucket"), plain(Scheme::Google, "gs://bucket"));
        let account = "abfss://files@me.dfs.core.windows.net";
        assert_eq!(of(&format!("{account}/x")), plain(Scheme::Azure, account));
        assert_eq!(of("http://host:80/x/y"), plain(Scheme::Web, "http://host:80"));
        let escaped = parse("https://host/a%20b/t").unwrap();
        assert_eq!(
            (escaped.root.as_str(), escaped.base.as_str()),
            ("https://host/a%20b/t", "a b/t")
        );
        assert_eq!(escaped.key("x%2Ey.bin"), "a b/t/x%2Ey.bin");
        for wrong in [
            "s3://",
            "s3:///x",
            "ftp://h/x",
            "s3://b/a//b",
            "s3://b/a/../b",
            "s3://b/./a",
            "s3://b/a\nb",
            "http://u:p@h/x",
            "http://h/x?sig=1",
            "http://h/%2E%2E/x",
            "http://h/a%2F%2Fb",
            "http://h/%ff",
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        let secret = parse("http://u:secret@h/x").unwrap_err().to_string();
        assert!(!secret.contains("secret"), "{secret}");
    }
}
