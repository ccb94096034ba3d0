//! The experiment in small: who takes part, what comes out, and that a wrong output is noticed.

use super::{Results, Role, Settings, run};
use crate::BenchError;
use crate::findings::Findings;
use crate::input::{Input, study, tpch};
use std::sync::OnceLock;
use tambour_kernel::lz4::DECODE_VARIANTS;
use tambour_kernel::variant::Isa;
use tambour_report::Machine;

/// Two rounds over a few blocks, measured once for all tests.
pub(crate) fn small() -> &'static Results {
    static RESULTS: OnceLock<Results> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let mut inputs = study(80_000);
        inputs.extend(tpch(80_000));
        inputs.truncate(14);
        let settings =
            Settings { rounds: 2, block_bytes: 4096, frontier: true, ..Settings::default() };
        run(&inputs, &settings, &mut |_| {}).unwrap()
    })
}

#[test]
fn every_variant_takes_part_beside_the_reference() {
    let names: Vec<&str> = small().contenders.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[0], "reference");
    for variant in DECODE_VARIANTS.available() {
        assert!(names.contains(&variant.name()), "{} is missing", variant.name());
        assert!(names.contains(&format!("{} x2", variant.name()).as_str()));
    }
    for rival in [
        "adaptive",
        "adaptive batch",
        "thompson",
        "memcpy",
        "lz4_flex",
        "snappy",
        "zstd 1",
        "zstd 3",
        "zstd 9",
        "lzo",
    ] {
        assert!(names.contains(&rival), "{rival} is missing");
    }
}

#[test]
fn a_cap_leaves_higher_variants_out() {
    let inputs = vec![Input { name: "a".to_owned(), bytes: vec![1; 100] }];
    let settings = Settings { rounds: 1, isa: Isa::Scalar, ..Settings::default() };
    let results = run(&inputs, &settings, &mut |_| {}).unwrap();
    assert!(results.contenders.iter().all(|it| it.isa.is_none_or(|isa| isa == Isa::Scalar)));
    assert!(matches!(run(&[], &settings, &mut |_| {}), Err(BenchError::NoInput { .. })));
}

#[test]
fn figures_are_consistent() {
    let results = small();
    for file in &results.files {
        assert_eq!(file.blocks, 20);
        assert_eq!(file.laps, [8, 16]);
        assert!((file.gain(0) - 1.0).abs() < 1e-12);
        for timing in &file.timings {
            assert!(timing.low <= timing.seconds && timing.seconds <= timing.high);
            assert!(timing.laps[0] < timing.laps[1] && timing.laps[1] < timing.high);
        }
    }
    let scores = results.scores();
    assert!((scores[0].all - 1.0).abs() < 1e-9 && (scores[0].worst - 1.0).abs() < 1e-9);
    let summary = results.summary();
    assert!(summary.reference > 0.0 && summary.max > 0.0);
    let best = results.contenders.iter().find(|it| it.name == summary.best).unwrap();
    assert_eq!(best.role, Role::Variant);
}

#[test]
fn tables_and_json_name_everything() {
    let results = small();
    let machine = Machine::detect(Isa::best());
    let table = results.summary_table(&machine);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(
        names,
        ["cpu", "ref", "adapt", "max", "best", "adapt_boost", "max_boost", "adapt_over_max"]
    );
    let tables = [
        table,
        results.score_table(),
        results.file_table(),
        results.variant_table(),
        results.regret_table(),
        results.frontier_table(),
        results.measurement_table(),
    ];
    for table in &tables {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.title);
    }
    let json = results.to_json(&machine);
    assert_eq!(json["schema"], "tambour/bench/1");
    assert_eq!(json["files"].as_array().unwrap().len(), results.files.len());
    let contenders = json["contenders"].as_array().unwrap().len();
    assert_eq!(contenders, results.contenders.len());
    assert!(json["files"][0]["contenders"]["reference"]["seconds"].as_f64().unwrap() > 0.0);
}
