//! Every codec and chain that suits a type, by every variant of its decoder: ratio, speed of encoding and of decoding.
//!
//! Columns are cut into blocks as `CODEC(auto)` cuts them. What every variant decodes is compared with the source before
//! anything is timed; contenders take turns, figures are medians of processor time.

mod column;
mod output;

pub use column::{TypedColumn, generated};

use crate::BenchError;
use crate::chain::{Chain, cut};
use crate::race::Group;
use std::time::Duration;
use tambour_codec::block::Encoder;
use tambour_codec::choose::{self, Effort};
use tambour_codec::codec::{ALIASES, Element, FAMILIES};
use tambour_codec::kernels;
use tambour_codec::spec::CodecSpec;
use tambour_kernel::variant::Isa;

/// What to measure, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Turns of every contender.
    pub rounds: usize,
    /// Bytes of a generated column; longer columns are cut to it.
    pub bytes: usize,
    /// Variants above this level do not take part.
    pub isa: Isa,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 5, bytes: 1 << 20, isa: Isa::best() }
    }
}

/// A codec or chain, by one variant of its decoders.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The chain.
    pub spec: CodecSpec,
    /// Names of the decoders' variants; empty where there is one way only.
    pub variant: String,
    /// No other variant of the chain is of a higher level.
    pub is_best: bool,
    /// Bytes with the headers of blocks.
    pub stored_bytes: usize,
    /// Source bytes per second, in 10^9.
    pub encode: f64,
    /// The same of decoding.
    pub decode: f64,
}

/// All that was measured of one column.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// What codecs learn of it.
    pub element: Element,
    /// Bytes that were encoded.
    pub bytes: usize,
    /// The smallest first; variants of a chain beside each other, the best first.
    pub entries: Vec<Entry>,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Turns of each contender.
    pub rounds: usize,
    /// In the order in which they were measured.
    pub columns: Vec<Measured>,
}

impl Measured {
    /// Source bytes per stored byte.
    pub fn ratio(&self, entry: &Entry) -> f64 {
        self.bytes as f64 / (entry.stored_bytes as f64).max(1.0)
    }
}

/// Arguments that are worth a line of their own; of the levels of LZ4HC and ZSTD these.
const LEVELS: [&str; 6] =
    ["LZ4HC(9)", "ZSTD(1)", "ZSTD(3)", "ZSTD(9)", "T64('bit')", "T64('padded')"];

/// Measures; `observe` is told which column is next.
pub fn run(
    columns: &[TypedColumn],
    settings: &Settings,
    observe: &mut dyn FnMut(&str),
) -> Result<Results, BenchError> {
    let mut measured = Vec::with_capacity(columns.len());
    for column in columns.iter().filter(|column| !column.bytes.is_empty()) {
        observe(&column.name);
        measured.push(measure(column, settings)?);
    }
    Ok(Results { rounds: settings.rounds, columns: measured })
}

/// All codecs that take such values, alone, and the chains of the choice's list.
fn specs(source: &[u8], element: Element) -> Result<Vec<CodecSpec>, BenchError> {
    let failed = |error: tambour_codec::CodecError| BenchError::Library {
        contender: "the list of chains".to_owned(),
        reason: error.to_string(),
    };
    let names = FAMILIES.iter().chain(ALIASES).map(|family| family.name);
    let names = names.filter(|name| !["LZ4HC", "ZSTD"].contains(name));
    let mut specs: Vec<CodecSpec> = Vec::new();
    for text in names.chain(LEVELS) {
        let Ok(spec) = text.parse::<CodecSpec>() else { continue };
        if Encoder::new(&spec, element).is_ok() {
            specs.push(spec);
        }
    }
    let all = Effort::exhaustive(|| Duration::ZERO);
    let found = choose::search(source, element, &all, &|_| true).map_err(failed)?;
    specs.extend(found.specs);
    // ZSTD is ZSTD(1), and so on: what prints alike is alike.
    let mut seen = std::collections::HashSet::new();
    specs.retain(|spec| seen.insert(spec.to_string()));
    Ok(specs)
}

/// A chain, and the variants of its decoders, the best first.
type Made = (Chain, Vec<(Isa, String)>);

fn measure(column: &TypedColumn, settings: &Settings) -> Result<Measured, BenchError> {
    let element = column.element;
    let width = usize::from(element.width).max(1);
    let length = column.bytes.len().min(settings.bytes.next_multiple_of(width));
    let source = &column.bytes[..length];
    let mut all = Vec::new();
    for spec in specs(source, element)? {
        all.push(make(spec, source, column, settings.isa)?);
    }
    let decoders = all
        .iter()
        .flat_map(|(chain, variants)| variants.iter().map(|(isa, _)| chain.decoding(*isa, length)));
    let amount = (length as f64 / 1e9, 1);
    let run =
        |what, runners| Group::run(&column.name, (what, "GB/s"), amount, runners, settings.rounds);
    let decoded = run(&["decode"], decoders.collect())?;
    let encoders = all.iter().map(|(chain, _)| chain.encoding(element, source));
    let encoded = run(&["encode"], encoders.collect::<Result<_, _>>()?)?;
    let mut speeds = decoded.entries.iter().map(|entry| entry.speeds[0]);
    let mut entries = Vec::new();
    for ((chain, variants), encoded) in all.into_iter().zip(&encoded.entries) {
        let stored_bytes = chain.stored_bytes();
        for (index, (_, variant)) in variants.into_iter().enumerate() {
            let decode = speeds.next().unwrap_or(f64::NAN);
            let (spec, encode, is_best) = (chain.spec.clone(), encoded.speeds[0], index == 0);
            entries.push(Entry { spec, variant, is_best, stored_bytes, encode, decode });
        }
    }
    entries.sort_by(|a, b| {
        let key = |entry: &Entry| (entry.stored_bytes, entry.spec.to_string());
        key(a).cmp(&key(b)).then(b.is_best.cmp(&a.is_best))
    });
    let (name, data_type) = (column.name.clone(), column.data_type.clone());
    Ok(Measured { name, data_type, element, bytes: length, entries })
}

/// Encodes the blocks, and compares what each variant decodes.
fn make(
    spec: CodecSpec,
    source: &[u8],
    column: &TypedColumn,
    isa: Isa,
) -> Result<Made, BenchError> {
    let chain = Chain::new(spec.clone(), &column.name, [(spec, column.element, source)])?;
    let mut variants: Vec<(Isa, String)> = Vec::new();
    for level in Isa::ALL.iter().rev().filter(|level| level.is_available() && **level <= isa) {
        let names = kernels::at_most(*level, || names(&chain.spec)).map_err(|error| {
            let contender = format!("CODEC({}) on {}", chain.spec, column.name);
            BenchError::Library { contender, reason: error.to_string() }
        })?;
        chain.check(*level, cut(source, column.element))?;
        // Listed at the lowest level that has the same decoders.
        match variants.last_mut() {
            Some(last) if last.1 == names => last.0 = *level,
            _ => variants.push((*level, names)),
        }
    }
    Ok((chain, variants))
}

/// The variants that a chain is decoded by at the level in use.
fn names(spec: &CodecSpec) -> Result<String, tambour_codec::CodecError> {
    let mut names: Vec<&str> = Vec::new();
    for call in &spec.calls {
        if let Some(name) = kernels::in_use(&call.name)?
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    Ok(names.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Settings, generated, run};
    use crate::findings::Findings;
    use tambour_report::Machine;

    #[test]
    fn every_codec_is_measured_on_what_suits_it() {
        let settings = Settings { rounds: 1, bytes: 20_000, ..Settings::default() };
        let columns = generated(settings.bytes);
        let results = run(&columns, &settings, &mut |_| {}).unwrap();
        assert_eq!(results.columns.len(), columns.len());
        let specs = |name: &str| -> Vec<String> {
            let column = results.columns.iter().find(|column| column.name == name).unwrap();
            column.entries.iter().map(|entry| entry.spec.to_string()).collect()
        };
        for (name, codec) in [
            ("clock", "DoubleDelta"),
            ("ids", "Delta, T64('bit'), ZSTD(1)"),
            ("steps", "GCD, T64"),
            ("small", "T64('padded')"),
            ("random", "PFOR"),
            ("prices", "ALP"),
            ("sensor", "Gorilla"),
            ("words", "ZSTD(9)"),
        ] {
            assert!(specs(name).iter().any(|spec| spec == codec), "{name}: {:?}", specs(name));
        }
        // What suits is small.
        let clock = &results.columns[0];
        assert!(clock.ratio(&clock.entries[0]) > 8.0, "{:?}", clock.entries[0]);
        let prices = results.prices().to_text();
        assert!(prices.contains("DoubleDelta"), "{prices}");
        let json = results.to_json(&Machine::default());
        assert_eq!(json["columns"][0]["name"], "clock");
        let page = results.page(Machine::default()).render().unwrap();
        assert!(page.contains("Decimal(15, 2)"));
    }
}
