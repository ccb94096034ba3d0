//! Which ClickHouse has a codec, which types it takes there, and which chains a version breaks.
//!
//! The first version of each codec is one that surely has it; earlier ones may. What is broken is from ClickHouse's own
//! tracker (issue or pull request by number), the types from trying each chain on 26.9.

use std::fmt;
use std::str::FromStr;
use tambour_codec::spec::CodecSpec;
use tambour_part::DataType;

/// A version of ClickHouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The year, of two digits.
    pub major: u16,
    /// The release of the year.
    pub minor: u16,
}

impl Version {
    /// The newest that is known here.
    pub const NEWEST: Self = Self::new(26, 9);

    /// A version by its numbers.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = String;

    /// `26.9`, also `26.9.1.539`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = text.split('.').map(|part| part.parse::<u16>().ok());
        let version = match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major @ 18..=99), Some(minor)) if numbers.all(|number| number.is_some()) => {
                Some(Self::new(major, minor))
            }
            _ => None,
        };
        version
            .ok_or_else(|| format!("{text:?} is not a version of ClickHouse; write it like 26.9"))
    }
}

/// What a server does with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes it.
    Good,
    /// It takes it after a setting.
    Setting(&'static str),
    /// It does not know a codec of it.
    Missing(String),
    /// It refuses such a chain, or for such a type.
    Refused(String),
    /// It has the codecs, and loses data or crashes.
    Broken(&'static str),
}

impl Verdict {
    /// Whether the chain may be recommended.
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::Good | Self::Setting(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("good"),
            Self::Setting(setting) => write!(f, "after SET {setting} = 1"),
            Self::Missing(reason) | Self::Refused(reason) => f.write_str(reason),
            Self::Broken(reason) => f.write_str(reason),
        }
    }
}

/// The first version of each codec.
const SINCE: [(&str, Version); 11] = [
    ("NONE", Version::new(18, 16)),
    ("LZ4", Version::new(18, 16)),
    ("ZSTD", Version::new(18, 16)),
    ("LZ4HC", Version::new(19, 11)),
    ("DELTA", Version::new(19, 11)),
    ("DOUBLEDELTA", Version::new(19, 14)),
    ("GORILLA", Version::new(19, 14)),
    ("T64", Version::new(19, 14)),
    ("FPC", Version::new(22, 6)),
    ("GCD", Version::new(23, 9)),
    ("ALP", Version::new(26, 6)),
];

/// A chain that versions before `fixed` break.
struct Fault {
    /// One of its codecs, and one that comes after it; the second may be empty.
    codecs: (&'static str, &'static str),
    fixed: Version,
    what: &'static str,
}

const FAULTS: [Fault; 7] = [
    Fault {
        codecs: ("DELTA", "GORILLA"),
        fixed: Version::new(23, 2),
        what: "Delta before Gorilla loses data before 23.2 (#45195)",
    },
    Fault {
        codecs: ("DOUBLEDELTA", "GORILLA"),
        fixed: Version::new(23, 2),
        what: "DoubleDelta before Gorilla loses data before 23.2 (#45195)",
    },
    Fault {
        codecs: ("GCD", "DOUBLEDELTA"),
        fixed: Version::new(25, 4),
        what: "GCD before DoubleDelta loses data before 25.4 (#76357)",
    },
    Fault {
        codecs: ("ZSTD", "DOUBLEDELTA"),
        fixed: Version::new(25, 3),
        what: "ZSTD before DoubleDelta loses data before 25.3 (#75548)",
    },
    Fault {
        codecs: ("GCD", ""),
        fixed: Version::new(24, 5),
        what: "GCD can crash the server before 24.5 (#56672, #62629)",
    },
    Fault {
        codecs: ("ALP", ""),
        fixed: Version::new(26, 8),
        what: "ALP reads Float32 differently from 26.8 on (#111627)",
    },
    Fault {
        codecs: ("DELTA", ""),
        fixed: Version::new(19, 11),
        what: "Delta writes over memory before 19.11 (#5786)",
    },
];

/// What a server does with a chain for a column of a type.
pub fn verdict(spec: &CodecSpec, data_type: &DataType, server: Version) -> Verdict {
    let names: Vec<String> = spec.calls.iter().map(|call| call.name.to_ascii_uppercase()).collect();
    for name in &names {
        match SINCE.iter().find(|(known, _)| known == name) {
            Some((_, since)) if *since <= server => {}
            Some((_, since)) => return Verdict::Missing(format!("{name} came with {since}")),
            None => return Verdict::Missing(format!("{name} is not a ClickHouse codec")),
        }
    }
    let inner_t64 = names.iter().skip(1).any(|name| name == "T64");
    if inner_t64 && server < Version::new(26, 1) {
        return Verdict::Broken("T64 after another codec can be neither written nor read (#79198)");
    }
    for Fault { codecs: (first, second), fixed, what } in &FAULTS {
        let at = names.iter().position(|name| name == first);
        let follows =
            |at: usize| second.is_empty() || names[at + 1..].iter().any(|name| name == second);
        if server < *fixed && at.is_some_and(follows) {
            return Verdict::Broken(what);
        }
    }
    if let Some(reason) = refusal(&names, data_type) {
        return Verdict::Refused(reason);
    }
    if !names.iter().any(|name| name == "ALP") {
        return Verdict::Good;
    }
    let is_beta = server >= Version::new(26, 9);
    Verdict::Setting(if is_beta { "enable_alp_codec" } else { "allow_experimental_codecs" })
}

/// What kind of values a codec meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Whole numbers, dates, moments, decimals up to 18 digits.
    Integer,
    /// Enumerations and addresses: numbers that nobody divides.
    Coded,
    Float,
    FixedBytes,
    Other,
}

fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Bool
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Date
        | DataType::Date32
        | DataType::DateTime { .. }
        | DataType::DateTime64 { .. }
        | DataType::Decimal { precision: ..=18, .. } => Kind::Integer,
        DataType::Enum8(_) | DataType::Enum16(_) | DataType::Ipv4 => Kind::Coded,
        DataType::Float32 | DataType::Float64 => Kind::Float,
        DataType::FixedString(1 | 2 | 4 | 8) => Kind::FixedBytes,
        DataType::Nullable(inner) | DataType::Array(inner) => kind(inner),
        _ => Kind::Other,
    }
}

/// Why `CREATE TABLE` refuses a chain.
fn refusal(names: &[String], data_type: &DataType) -> Option<String> {
    let kind = kind(data_type);
    let generic = |name: &str| matches!(name, "NONE" | "LZ4" | "LZ4HC" | "ZSTD");
    for (index, name) in names.iter().enumerate() {
        let fits = match name.as_str() {
            name if generic(name) => true,
            "T64" => matches!(kind, Kind::Integer | Kind::Coded),
            "DELTA" => kind != Kind::Other,
            "DOUBLEDELTA" => matches!(kind, Kind::Integer | Kind::Coded | Kind::Float),
            "GCD" => kind == Kind::Integer,
            "GORILLA" | "FPC" | "ALP" => kind == Kind::Float,
            _ => false,
        };
        if !fits {
            return Some(format!("{name} is not for {data_type}"));
        }
        if generic(name) && index + 1 < names.len() {
            return Some(format!("nothing may come after {name}"));
        }
    }
    let last = names.last().map(String::as_str);
    if matches!(last, Some("DELTA" | "GCD")) && !names.iter().any(|name| name == "T64") {
        return Some("it compresses nothing".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Verdict, Version, verdict};
    use tambour_part::DataType;

    fn judge(spec: &str, data_type: DataType, server: &str) -> Verdict {
        verdict(&spec.parse().unwrap(), &data_type, server.parse().unwrap())
    }

    #[test]
    fn versions() {
        assert_eq!("26.9".parse(), Ok(Version::new(26, 9)));
        assert_eq!("24.8.4.13".parse(), Ok(Version::new(24, 8)));
        assert!(Version::new(23, 10) > Version::new(23, 9));
        for text in ["", "26", "9.26", "26.x", "26.9.x", "v26.9"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn known_faults_are_never_recommended() {
        let broken = [
            ("Delta, Gorilla, LZ4", DataType::Float64, "22.10"),
            ("DoubleDelta, Gorilla", DataType::Float64, "23.1"),
            ("GCD, DoubleDelta, ZSTD(1)", DataType::Int64, "25.2"),
            ("GCD, T64", DataType::Int64, "24.3"),
            ("ALP, LZ4", DataType::Float32, "26.7"),
            ("ZSTD(3), DoubleDelta", DataType::Int64, "25.1"),
        ];
        for (spec, data_type, server) in broken {
            let verdict = judge(spec, data_type, server);
            assert!(matches!(verdict, Verdict::Broken(_)), "{spec} on {server}: {verdict:?}");
        }
        assert!(judge("GCD, DoubleDelta, ZSTD(1)", DataType::Int64, "26.9").is_usable());
        let after = judge("Delta, T64('bit'), ZSTD(1)", DataType::Int64, "25.8");
        assert!(matches!(after, Verdict::Broken(_)), "{after:?}");
        assert!(judge("GCD, T64", DataType::Int64, "26.1").is_usable());
    }

    #[test]
    fn codecs_have_a_first_version() {
        assert!(matches!(judge("T64, LZ4", DataType::Int64, "18.16"), Verdict::Missing(_)));
        assert!(matches!(judge("GCD, LZ4", DataType::Int64, "22.8"), Verdict::Missing(_)));
        assert!(matches!(judge("ALP", DataType::Float64, "25.8"), Verdict::Missing(_)));
        assert_eq!(judge("ALP", DataType::Float64, "26.9"), Verdict::Setting("enable_alp_codec"));
        assert_eq!(judge("ZSTD(3)", DataType::String, "18.16"), Verdict::Good);
    }

    #[test]
    fn types_as_26_9_takes_them() {
        let refused = [
            ("T64", DataType::Float64),
            ("Delta, LZ4", DataType::String),
            ("GCD, LZ4", DataType::Float64),
            ("Gorilla", DataType::UInt32),
            ("Delta", DataType::UInt32),
            ("GCD", DataType::UInt32),
            ("GCD, T64", DataType::Ipv4),
            ("T64", DataType::Uuid),
            ("LZ4, Delta", DataType::UInt32),
            ("Delta, LZ4", DataType::Int128),
            ("T64", DataType::LowCardinality(Box::new(DataType::String))),
        ];
        for (spec, data_type) in refused {
            let verdict = judge(spec, data_type, "26.9");
            assert!(matches!(verdict, Verdict::Refused(_)), "{spec}: {verdict:?}");
        }
        let taken = [
            ("Delta, T64('bit')", DataType::UInt32),
            ("GCD, Delta, T64('bit'), ZSTD(3)", DataType::Nullable(Box::new(DataType::Int64))),
            ("DoubleDelta", DataType::Float64),
            ("Delta, LZ4", DataType::FixedString(8)),
            ("T64, ZSTD(1)", DataType::Enum8(vec![("a".to_owned(), 1)])),
        ];
        for (spec, data_type) in taken {
            assert_eq!(judge(spec, data_type, "26.9"), Verdict::Good, "{spec}");
        }
    }
}
