//! What is said between coordinator and workers beside plans: versions, headers, settings.

use crate::error::ClusterError;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::config::{ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::prelude::SessionConfig;
use http::{HeaderMap, HeaderValue};
use std::collections::BTreeMap;
use tambour_sql::scan_options::ScanOptions;

/// The form of the nodes that are sent. It stands in front of each; another number is refused.
pub(crate) const WIRE: u32 = 4;

/// Header: the version of the coordinator.
const VERSION: &str = "x-tambour-version";
/// Header: the token.
const TOKEN: &str = "x-tambour-token";
/// Header: the settings of the session that are not the defaults.
const SETTINGS: &str = "x-tambour-settings";

/// The prefixes of settings that are sent. Those of the engine travel by themselves.
const PREFIXES: [&str; 5] = [
    "datafusion.execution.",
    "datafusion.optimizer.",
    "datafusion.sql_parser.",
    "datafusion.format.",
    "tambour.",
];

/// The version that coordinator and workers must share.
pub(crate) fn version() -> String {
    format!("tambour {} wire {WIRE}", env!("CARGO_PKG_VERSION"))
}

/// What a worker says of itself, in one line: the version first.
pub(crate) fn introduction(root: &str, threads: usize) -> String {
    format!("{}; threads {threads}; root {root}", version())
}

/// The parts of an introduction: version, threads, root.
pub(crate) fn introduced(text: &str) -> Option<(String, usize, String)> {
    let (version, rest) = text.split_once("; threads ")?;
    let (threads, root) = rest.split_once("; root ")?;
    Some((version.to_owned(), threads.parse().ok()?, root.to_owned()))
}

/// A token: something that both sides know and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// The text of a token file, without the space around it; `None` if it is not one.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_plain.then(|| Self(text.to_owned()))
    }
    /// The token that was given, if one was.
    pub(crate) fn given(text: Option<&str>) -> Result<Option<Self>, ClusterError> {
        let problem = "the token is empty or has other than printable ASCII".to_owned();
        text.map(|text| Self::new(text).ok_or(ClusterError::Workers { problem })).transpose()
    }
    /// True for the same token; the time does not tell how much of it was right.
    fn is(&self, other: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differs = own.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b));
        own.len() == other.len() && differs == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Adds what a worker wants to know before it takes a plan.
pub(crate) fn add_headers(
    headers: &mut HeaderMap,
    token: Option<&Token>,
    options: &ConfigOptions,
) -> Result<()> {
    let value = |text: &[u8]| {
        HeaderValue::from_bytes(text)
            .map_err(|_| exec_datafusion_err!("a setting has a character that cannot be sent"))
    };
    headers.insert(VERSION, value(version().as_bytes())?);
    if let Some(token) = token {
        headers.insert(TOKEN, value(token.0.as_bytes())?);
    }
    let settings = serde_json::to_string(&changed(options))
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    headers.insert(SETTINGS, value(settings.as_bytes())?);
    Ok(())
}

/// The settings that are not the defaults.
fn changed(options: &ConfigOptions) -> BTreeMap<String, String> {
    let usual: BTreeMap<String, Option<String>> = settings(&ConfigOptions::new()).collect();
    let is_sent = |key: &str| PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    settings(options)
        .filter(|(key, value)| is_sent(key) && usual.get(key) != Some(value))
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

/// All settings: the engine's, and those of scans, whose keys have no prefix by themselves.
fn settings(options: &ConfigOptions) -> impl Iterator<Item = (String, Option<String>)> {
    let scans = options.extensions.get::<ScanOptions>().cloned().unwrap_or_default();
    let scans = scans.entries().into_iter();
    let scans = scans.map(|entry| (format!("{}.{}", ScanOptions::PREFIX, entry.key), entry.value));
    options.entries().into_iter().map(|entry| (entry.key, entry.value)).chain(scans)
}

/// Compares version and token of a request with the worker's own, and takes over the settings.
pub(crate) fn accept(
    headers: &HeaderMap,
    token: Option<&Token>,
    config: &mut SessionConfig,
) -> Result<()> {
    let said = headers.get(VERSION).map_or(&b""[..], HeaderValue::as_bytes);
    if said != version().as_bytes() {
        return exec_err!(
            "the coordinator runs {:?}, this worker {:?}: start the same version everywhere",
            String::from_utf8_lossy(said),
            version()
        );
    }
    if let Some(token) = token {
        let said = headers.get(TOKEN).map_or(&b""[..], HeaderValue::as_bytes);
        if !token.is(said) {
            return exec_err!("wrong token");
        }
    }
    let Some(settings) = headers.get(SETTINGS) else { return Ok(()) };
    let settings: BTreeMap<String, String> = serde_json::from_slice(settings.as_bytes())
        .map_err(|error| exec_datafusion_err!("the settings cannot be read: {error}"))?;
    for (key, value) in settings {
        if !PREFIXES.iter().any(|prefix| key.starts_with(prefix)) {
            return exec_err!("{key} is not a setting that is sent");
        }
        config.options_mut().set(&key, &value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> SessionConfig {
        SessionConfig::new().with_option_extension(ScanOptions::default())
    }

    #[test]
    fn settings_travel_and_tokens_are_compared() {
        let token = Token::new(" secret\n").unwrap();
        let mut here = config();
        here.options_mut().set("datafusion.execution.time_zone", "Asia/Tokyo").unwrap();
        here.options_mut().set("datafusion.execution.batch_size", "17").unwrap();
        here.options_mut().set("tambour.scan_groups", "false").unwrap();
        let mut headers = HeaderMap::new();
        add_headers(&mut headers, Some(&token), here.options()).unwrap();
        let mut there = config();
        accept(&headers, Some(&token), &mut there).unwrap();
        assert_eq!(changed(there.options()), changed(here.options()));
        assert_eq!(there.batch_size(), 17);

        let other = Token::new("secreT").unwrap();
        let error = accept(&headers, Some(&other), &mut config()).unwrap_err();
        assert!(error.to_string().contains("wrong token"), "{error}");
        headers.insert(VERSION, HeaderValue::from_static("tambour 0.0.1 wire 1"));
        let error = accept(&headers, Some(&token), &mut config()).unwrap_err();
        assert!(error.to_string().contains("tambour 0.0.1 wire 1"), "{error}");
        assert!(accept(&HeaderMap::new(), None, &mut config()).is_err());
    }

    #[test]
    fn introductions_are_read_back() {
        let text = introduction("/data; threads 3", 2);
        assert_eq!(introduced(&text), Some((version(), 2, "/data; threads 3".to_owned())));
        assert_eq!(introduced("v2"), None);
    }
}
