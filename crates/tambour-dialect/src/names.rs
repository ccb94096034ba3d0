//! Names of ClickHouse's functions of values, as they may be typed.

use tambour_function as function;

/// Functions that make numbers readable, with their other names.
const READABLE: [(&str, &[&str]); 3] = [
    ("formatReadableSize", &["format_bytes"]),
    ("formatReadableDecimalSize", &[]),
    ("formatReadableQuantity", &[]),
];

/// The name under which a function is registered, if `written` is a name of it: exact, or in any case where ClickHouse takes
/// any.
pub fn canonical(written: &str) -> Option<&'static str> {
    let of_values = tambour_aggregate::find_in_queries(written).map(function::Function::name);
    of_values.or_else(|| readable(written)).or_else(|| of_session(written))
}

/// Functions of the session and of chance, with their other names, which are taken in any case.
pub const SESSION: [(&str, &[&str]); 19] = [
    ("currentDatabase", &["current_database", "DATABASE", "SCHEMA"]),
    ("currentUser", &["user", "current_user", "session_user"]),
    ("generateUUIDv4", &[]),
    ("isConstant", &[]),
    ("rand", &["rand32"]),
    ("rand64", &[]),
    ("randCanonical", &[]),
    ("randConstant", &[]),
    ("randBernoulli", &[]),
    ("randBinomial", &[]),
    ("randExponential", &[]),
    ("randLogNormal", &[]),
    ("randNormal", &[]),
    ("randPoisson", &[]),
    ("randUniform", &[]),
    ("randomPrintableASCII", &[]),
    ("randomString", &[]),
    ("timezone", &["timeZone", "serverTimezone"]),
    ("version", &[]),
];

fn of_session(written: &str) -> Option<&'static str> {
    let is_it = |aliases: &[&str]| aliases.iter().any(|alias| alias.eq_ignore_ascii_case(written));
    SESSION.iter().find(|(name, aliases)| *name == written || is_it(aliases)).map(|(name, _)| *name)
}

/// The other names of a function that makes numbers readable, which are taken in any case.
pub fn aliases_of_readable(name: &str) -> &'static [&'static str] {
    READABLE.iter().find(|(it, _)| *it == name).map_or(&[], |(_, aliases)| aliases)
}

fn readable(written: &str) -> Option<&'static str> {
    let is_it = |aliases: &[&str]| aliases.iter().any(|alias| alias.eq_ignore_ascii_case(written));
    READABLE
        .iter()
        .find(|(name, aliases)| *name == written || is_it(aliases))
        .map(|(name, _)| *name)
}

/// True for a function whose result is 0 or 1 and means no or yes.
pub(crate) fn is_predicate(name: &str) -> bool {
    tambour_aggregate::find_in_queries(name).is_some_and(function::Function::is_predicate)
}
