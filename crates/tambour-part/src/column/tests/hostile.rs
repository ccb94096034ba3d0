//! Any bytes give an error or values, never a panic, and nothing is allocated that the bytes do not back.

use super::clickhouse::hex;
use super::generate::{Random, array, types};
use super::*;
use crate::column::memory::MemorySources;
use proptest::prelude::*;

fn layouts() -> impl Strategy<Value = Layout> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(sparse, string_sizes, string_sizes_nested, nullable_sparse, compact)| Layout {
            sparse,
            elements: vec![Layout { sparse: true, ..Layout::default() }],
            string_sizes,
            string_sizes_nested,
            nullable_sparse,
            compact,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_streams(
        data_type in types(),
        layout in layouts(),
        seed in any::<u64>(),
        rows in 0_usize..20,
        kind in 0_u8..4,
        cut in 1_usize..50,
    ) {
        let mut random = Random(seed);
        let mut sources = MemorySources::default();
        for stream in streams("c", &data_type, &layout) {
            let length = random.below(400);
            let byte = |random: &mut Random| match kind {
                0 => random.next() as u8,
                1 => 0,
                // Small numbers, as sizes and flags have them.
                2 => [0, 0, 0, 1, 2, 3, 5][random.below(7)],
                _ => [0, 0, 0, 0, 0, 0, 0xff, 0x40, 1][random.below(9)],
            };
            let bytes: Vec<u8> = (0..length).map(|_| byte(&mut random)).collect();
            sources.insert(stream.name, MemorySource::cut(&bytes, &[cut]));
        }
        let Ok(mut reader) = ColumnReader::new("c", &data_type, &layout, Strings::Utf8) else {
            return Ok(());
        };
        if let Ok(found) = reader.read(&mut sources, &[rows]) {
            prop_assert_eq!(found.len(), rows);
            prop_assert_eq!(found.data_type(), &data_type.arrow(Strings::Utf8));
            found.to_data().validate_full().unwrap();
        }
    }

    #[test]
    fn damaged_streams(data_type in types(), seed in any::<u64>(), rows in 1_usize..30, cut in 1_usize..50) {
        let mut random = Random(seed);
        let values = array(&data_type, rows, &mut random);
        let mut written = write(&data_type, &values, rows).unwrap();
        let count = written.streams.len();
        let (_, bytes) = written.streams.iter_mut().nth(random.below(count)).unwrap();
        if bytes.is_empty() {
            return Ok(());
        }
        let at = random.below(bytes.len());
        if random.below(2) == 0 {
            bytes[at] ^= 1 << random.below(8);
        } else {
            bytes.truncate(at);
        }
        let mut sources = MemorySources::default();
        for (name, bytes) in &written.streams {
            let bytes = if name.0.contains(".dict") { bytes.get(8..).unwrap_or_default() } else { bytes };
            sources.insert(name.clone(), MemorySource::cut(bytes, &[cut]));
        }
        let mut reader = ColumnReader::new("c", &data_type, &Layout::default(), Strings::Utf8).unwrap();
        if let Ok(found) = reader.read(&mut sources, &[rows]) {
            prop_assert_eq!(found.len(), rows);
            found.to_data().validate_full().unwrap();
        }
    }

    #[test]
    fn random_keys(data_type in types(), bytes in proptest::collection::vec(0_u8..4, 0..60), rows in 0_usize..5) {
        if let Ok(found) = crate::column::read_single(&bytes, &[data_type], rows, Strings::Utf8) {
            prop_assert_eq!(found[0].len(), rows);
        }
    }

    #[test]
    fn random_types(text in "[A-Za-z0-9(), '`=\\\\-]{0,40}") {
        if let Ok(parsed) = text.parse::<DataType>() {
            prop_assert_eq!(parsed.to_string().parse::<DataType>().unwrap(), parsed);
        }
    }
}

/// Reads one granule of a column from streams in hex.
fn read_hex(
    text: &str,
    layout: &Layout,
    given: &[(&str, &str)],
    rows: usize,
) -> Result<ArrayRef, PartError> {
    let mut sources = MemorySources::default();
    for (stream, bytes) in given {
        sources.insert(name(stream), MemorySource::new(&hex(bytes)));
    }
    ColumnReader::new("c", &data_type(text), layout, Strings::Utf8)?.read(&mut sources, &[rows])
}

#[test]
fn claims_that_no_bytes_back_are_errors() {
    let plain = Layout::default();
    let sizes = Layout { string_sizes: true, ..Layout::default() };
    let sparse = Layout { sparse: true, ..Layout::default() };
    let huge = usize::MAX;
    let record = "0002000000000000";
    for (text, layout, given, rows) in [
        ("UInt64", &plain, vec![], huge),
        ("UInt64", &plain, vec![], 1 << 40),
        ("Nullable(String)", &plain, vec![], 1 << 40),
        ("String", &plain, vec![("c", "05 6161")], 1),
        ("String", &plain, vec![("c", "ffffffffffffffff7f")], 1),
        ("String", &plain, vec![("c", "ffffffffffffffffffff01")], 1),
        ("String", &plain, vec![("c", "8080808008 00")], 1),
        ("String", &sizes, vec![("c.size", "ffffffffffffffff"), ("c", "61")], 1),
        ("String", &sizes, vec![("c.size", "ffffff7f00000000"), ("c", "61")], 1),
        ("Array(UInt8)", &plain, vec![("c.size0", "ffffffffffffffff")], 1),
        ("Array(UInt8)", &plain, vec![("c.size0", "ffffff7f00000000")], 1),
        ("Array(UInt8)", &plain, vec![("c.size0", "ffffff7f00000000 ffffff7f00000000")], 2),
        ("Array(Array(UInt256))", &plain, vec![("c.size0", "ffffff7f00000000")], 1),
        ("Array(String)", &plain, vec![("c.size0", "ffffff7f00000000"), ("c", "00")], 1),
        ("LowCardinality(String)", &plain, vec![("c", &format!("{record} ffffffffffffffff"))], 1),
        (
            "LowCardinality(String)",
            &plain,
            vec![("c", &format!("{record} ffffff7f00000000 00"))],
            1,
        ),
        (
            "LowCardinality(UInt256)",
            &plain,
            vec![("c", &format!("{record} ffffff7f00000000 00"))],
            1,
        ),
        (
            "LowCardinality(String)",
            &plain,
            vec![("c", "0005000000000000"), ("c.dict", "ffffff7f00000000")],
            1,
        ),
        ("UInt8", &sparse, vec![("c.sparse.idx", "808080808080808040")], huge),
        ("UInt8", &sparse, vec![("c.sparse.idx", "ffffffffffffffff7f")], 5),
        ("UInt8", &sparse, vec![("c.sparse.idx", "00 00 818080808080808040"), ("c", "07")], 3),
    ] {
        let error = read_hex(text, layout, &given, rows).expect_err(text);
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn records_of_low_cardinality_are_checked() {
    let plain = Layout::default();
    let read = |bytes: &str| read_hex("LowCardinality(String)", &plain, &[("c", bytes)], 2);
    let one_key = "0100000000000000 0161";
    assert_eq!(
        read(&format!("0002000000000000 {one_key} 0200000000000000 0000")).unwrap().len(),
        2
    );
    for (bytes, said) in [
        (format!("0402000000000000 {one_key} 0200000000000000 0000"), "flags 0x204"),
        (format!("0006010000000000 {one_key} 0200000000000000 0000"), "flags 0x10600"),
        ("0004000000000000 0200000000000000 0000".to_owned(), "flags 0x400"),
        (
            format!("0002000000000000 {one_key} 0300000000000000 000000"),
            "record of 3 rows where 2 are left",
        ),
        (
            format!("0002000000000000 {one_key} 0200000000000000 0001"),
            "index 1 into a dictionary of 1 keys",
        ),
        (
            format!("0302000000000000 {one_key} 0100000000000000 ffffffffffffffff"),
            "index 18446744073709551615",
        ),
    ] {
        let error = read(&bytes).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
    }
    let compact = Layout { compact: true, ..Layout::default() };
    let given = [("c.dict_prefix", "0100000000000000"), ("c", "0005000000000000")];
    let error = read_hex("LowCardinality(String)", &compact, &given, 1).unwrap_err();
    assert!(error.to_string().contains("shared dictionary in a compact part"), "{error}");
    let given = [("c.dict_prefix", "0200000000000000")];
    let error = read_hex("LowCardinality(String)", &compact, &given, 1).unwrap_err();
    assert!(error.to_string().contains("version 2"), "{error}");
}

#[test]
fn sparse_offsets_of_the_format_document() {
    let sparse = Layout { sparse: true, ..Layout::default() };
    let offsets = "31 31 9c 80 80 80 80 80 80 80 40";
    let found =
        read_hex("UInt8", &sparse, &[("c.sparse.idx", offsets), ("c", "0708")], 128).unwrap();
    let values = arrow_cast::cast(&found, &arrow_schema::DataType::Int64).unwrap();
    let values = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(&values);
    let set: Vec<(usize, i64)> =
        values.values().iter().copied().enumerate().filter(|(_, value)| *value != 0).collect();
    assert_eq!(set, [(49, 7), (99, 8)]);
    let found =
        read_hex("String", &sparse, &[("c.sparse.idx", "83 80 80 80 80 80 80 80 40")], 3).unwrap();
    assert_eq!(found.len(), 3);
    for wrong in ["Array(UInt8)", "LowCardinality(String)", "Tuple(UInt8)"] {
        assert!(
            ColumnReader::new("c", &data_type(wrong), &sparse, Strings::Utf8).is_err(),
            "{wrong}"
        );
    }
}
