//! Streams that ClickHouse 26.9 wrote (`clickhouse/*.txt`: columns, their substreams, and the decompressed bytes of each
//! file, in granules of four rows).

use super::*;
use crate::column::memory::MemorySources;
use crate::types::Column;
use arrow_cast::display::array_value_to_string;

struct Table {
    columns: Vec<Column>,
    substreams: Vec<String>,
    streams: HashMap<String, Vec<u8>>,
}

fn table(text: &str) -> Table {
    let mut table = Table { columns: Vec::new(), substreams: Vec::new(), streams: HashMap::new() };
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields.as_slice() {
            ["column", name, text] => {
                let column = Column { name: (*name).to_owned(), data_type: data_type(text) };
                assert_eq!(
                    column.data_type.to_string().replace("Tuple(Float64, Float64)", "Point"),
                    *text
                );
                table.columns.push(column);
            }
            ["substream", name] => table.substreams.push((*name).to_owned()),
            ["stream", name, bytes] => drop(table.streams.insert((*name).to_owned(), hex(bytes))),
            other => panic!("{other:?}"),
        }
    }
    table
}

pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

impl Table {
    fn sources(&self, cuts: &[usize]) -> MemorySources {
        let mut sources = MemorySources::default();
        for (stem, bytes) in &self.streams {
            // A dictionary stands after the version at its first mark.
            let bytes = if stem.contains(".dict") { &bytes[8..] } else { bytes };
            sources.insert(name(stem), MemorySource::cut(bytes, cuts));
        }
        sources
    }

    /// Reads all columns of a wide part in granules of four, and checks that nothing is left.
    fn read(
        &self,
        layouts: impl Fn(&Column) -> Layout,
        rows: usize,
        cuts: &[usize],
    ) -> Vec<ArrayRef> {
        let mut arrays = Vec::new();
        for column in &self.columns {
            let layout = layouts(column);
            let mut sources = self.sources(cuts);
            let mut reader =
                ColumnReader::new(&column.name, &column.data_type, &layout, Strings::Utf8).unwrap();
            let granules: Vec<usize> =
                (0..rows).step_by(4).map(|start| 4.min(rows - start)).collect();
            let array = if reader.by_granule() {
                let pieces =
                    granules.iter().map(|&rows| reader.read(&mut sources, &[rows]).unwrap());
                crate::column::concat("c", &pieces.collect::<Vec<_>>()).unwrap()
            } else {
                reader.read(&mut sources, &granules).unwrap()
            };
            for stream in streams(&column.name, &column.data_type, &layout) {
                let left = sources.stream(&stream.name).unwrap().block().unwrap().map(|(_, at)| at);
                assert_eq!(left, None, "{:?} is read to its end", stream.name);
            }
            arrays.push(array);
        }
        arrays
    }

    fn check_substreams(&self, layouts: impl Fn(&Column) -> Layout) {
        let ours: Vec<String> = self
            .columns
            .iter()
            .flat_map(|column| streams(&column.name, &column.data_type, &layouts(column)))
            .map(|stream| stream.name.0)
            .collect();
        assert_eq!(ours, self.substreams);
    }

    /// Writes the arrays again; the bytes must be ClickHouse's.
    fn check_written(&self, arrays: &[ArrayRef]) {
        for (column, array) in self.columns.iter().zip(arrays) {
            let mut writer = ColumnWriter::new(&column.name, &column.data_type).unwrap();
            let mut sinks = MemorySinks::default();
            writer.prefix(&mut sinks).unwrap();
            for start in (0..array.len()).step_by(4) {
                writer
                    .granule(&array.slice(start, 4.min(array.len() - start)), &mut sinks)
                    .unwrap();
            }
            writer.finish(&mut sinks).unwrap();
            for (name, bytes) in &sinks.streams {
                assert_eq!(bytes, &self.streams[&name.0], "{name:?}");
            }
        }
    }
}

fn shown(array: &dyn Array) -> Vec<String> {
    (0..array.len()).map(|row| array_value_to_string(array, row).unwrap()).collect()
}

/// Rows of the tables `wide`, `inline` and `compact`, which hold the same.
fn check_nested(arrays: &[ArrayRef]) {
    let row = |column: usize| shown(&arrays[column]);
    assert_eq!(row(0), ["[a, b]", "[a, b]", "[a, b]", "[]", "[a, b]", "[a, b]"]);
    assert_eq!(row(1), ["", "z1", "", "z3", "", "z5"]);
    let tuples: Vec<String> = (0..6).map(|n| format!("{{a: k, b: [1, {n}]}}")).collect();
    assert_eq!(row(2), tuples);
    assert_eq!(row(3), ["{k: [v, ]}"; 6]);
    let texts: Vec<String> = (0..6).map(|n| format!("str{}", "x".repeat(9 * n))).collect();
    assert_eq!(row(4), texts);
    let ranges: Vec<String> = (0..6)
        .map(|n| format!("[{}]", (0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")))
        .collect();
    assert_eq!(row(5), ranges);
    assert_eq!(row(6), ranges);
    assert_eq!(row(7), ["[p, ]"; 6]);
    assert_eq!(row(8), ["{x: [1], y: 2}"; 6]);
}

#[test]
fn inline_strings_are_read_and_written_byte_for_byte() {
    let table = table(include_str!("clickhouse/inline.txt"));
    table.check_substreams(|_| Layout::default());
    for cuts in [&[1 << 20][..], &[1], &[3, 10, 7]] {
        let arrays = table.read(|_| Layout::default(), 6, cuts);
        check_nested(&arrays);
        table.check_written(&arrays);
    }
}

#[test]
fn strings_with_sizes_are_read() {
    let layout = Layout { string_sizes: true, string_sizes_nested: true, ..Layout::default() };
    let table = table(include_str!("clickhouse/wide.txt"));
    table.check_substreams(|_| layout.clone());
    for cuts in [&[1 << 20][..], &[1], &[3, 10, 7]] {
        check_nested(&table.read(|_| layout.clone(), 6, cuts));
    }
}

/// One stream for everything, as in a compact part without marks per substream.
struct OneStream(MemorySource);

impl Sources for OneStream {
    fn stream(&mut self, _name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.0)
    }
    fn dictionary(&mut self, _name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.0)
    }
}

#[test]
fn a_compact_part_is_read_granule_by_granule() {
    let layout = Layout {
        string_sizes: true,
        string_sizes_nested: true,
        compact: true,
        ..Layout::default()
    };
    let table = table(include_str!("clickhouse/compact.txt"));
    table.check_substreams(|_| layout.clone());
    for cuts in [&[1 << 20][..], &[1], &[3, 10, 7]] {
        let mut source = OneStream(MemorySource::cut(&table.streams["data"], cuts));
        let mut readers: Vec<ColumnReader> = table
            .columns
            .iter()
            .map(|column| {
                ColumnReader::new(&column.name, &column.data_type, &layout, Strings::Utf8).unwrap()
            })
            .collect();
        let mut granule = |rows: usize| -> Vec<ArrayRef> {
            readers.iter_mut().map(|reader| reader.read(&mut source, &[rows]).unwrap()).collect()
        };
        let (first, second) = (granule(4), granule(2));
        assert_eq!(source.0.remaining(), 0);
        let join = |(a, b): (&ArrayRef, &ArrayRef)| arrow_select::concat::concat(&[a, b]).unwrap();
        check_nested(&first.iter().zip(&second).map(join).collect::<Vec<_>>());
    }
}

#[test]
fn sparse_columns_are_read() {
    let table = table(include_str!("clickhouse/sparse.txt"));
    let layouts = |column: &Column| {
        let sparse = Layout { sparse: true, ..Layout::default() };
        let elements = if column.name == "t" { vec![sparse.clone(), sparse] } else { Vec::new() };
        Layout {
            sparse: column.name != "t",
            elements,
            string_sizes: true,
            string_sizes_nested: true,
            nullable_sparse: true,
            compact: false,
        }
    };
    table.check_substreams(layouts);
    let at = |row: usize, value: &str, default: &str| -> Vec<String> {
        (0..11).map(|n| if n == row { value } else { default }.to_owned()).collect()
    };
    for cuts in [&[1 << 20][..], &[1]] {
        let arrays = table.read(layouts, 11, cuts);
        let row = |column: usize| shown(&arrays[column]);
        assert_eq!(row(0), at(5, "-7", "0"));
        assert_eq!(row(1), at(2, "hello", ""));
        assert_eq!((row(2), arrays[2].null_count()), (at(99, "", ""), 11));
        assert_eq!((row(3), arrays[3].null_count()), (at(9, "4", ""), 10));
        let tuple = |n: usize| {
            format!("{{a: {}, b: {}}}", if n == 3 { 9 } else { 0 }, if n == 10 { "q" } else { "" })
        };
        assert_eq!(row(4), (0..11).map(tuple).collect::<Vec<_>>());
        assert_eq!(row(5), at(99, "", "0.00"));
        assert_eq!(row(6), at(99, "", "000000"));
        assert_eq!(
            row(7),
            at(7, "00112233445566778899aabbccddeeff", "00000000000000000000000000000000")
        );
        assert_eq!(row(8), at(7, "true", "false"));
    }
}

#[test]
fn scalars_are_read_and_written_byte_for_byte() {
    let table = table(include_str!("clickhouse/scalars.txt"));
    table.check_substreams(|_| Layout::default());
    let arrays = table.read(|_| Layout::default(), 3, &[5]);
    let uuid = "00112233445566778899aabbccddeeff";
    let wide = |low: &str, fill: &str| format!("{low}{}", fill.repeat(31));
    let expected: [[String; 3]; 37] = [
        ["false", "true", "false"].map(String::from),
        ["0", "-1000000000000", "-2000000000000"].map(String::from),
        ["1", "2", "3"].map(String::from),
        [wide("00", "00"), wide("ff", "ff"), wide("fe", "ff")],
        [wide("00", "00"), wide("01", "00"), wide("02", "00")],
        ["0.0", "0.5", "1.0"].map(String::from),
        ["0.0", "-0.25", "-0.5"].map(String::from),
        ["0.0", "1.5", "3.0"].map(String::from),
        ["0.00", "-1.25", "-2.50"].map(String::from),
        ["0.000", "1.125", "2.250"].map(String::from),
        ["-2.0000", "-1.0000", "0.0000"].map(String::from),
        ["0.00000", "-3.50000", "-7.00000"].map(String::from),
        ["2024-02-29", "2024-03-01", "2024-03-02"].map(String::from),
        ["1950-01-01", "1950-01-02", "1950-01-03"].map(String::from),
        ["2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z", "2023-11-14T22:13:22Z"].map(String::from),
        ["2024-01-01T00:00:00.500Z", "2024-01-01T00:00:01.500Z", "2024-01-01T00:00:02.500Z"]
            .map(String::from),
        ["1960-01-01T00:00:00.125Z"; 3].map(String::from),
        ["2024-01-01T00:00:00.123456789Z"; 3].map(String::from),
        ["61623000", "61623100", "61623200"].map(String::from),
        [uuid; 3].map(String::from),
        ["16909060"; 3].map(String::from),
        ["20010db8000000000000000000000001"; 3].map(String::from),
        ["b", "a", "b"].map(String::from),
        ["q"; 3].map(String::from),
        ["{1: 1.5, 2: 0.0}", "{1: 1.5, 2: 1.0}", "{1: 1.5, 2: 2.0}"].map(String::from),
        ["0", "-1", "-2"].map(String::from),
        ["0", "-300", "-600"].map(String::from),
        ["0", "-70000", "-140000"].map(String::from),
        ["0", "-5000000000", "-10000000000"].map(String::from),
        ["200", "201", "202"].map(String::from),
        ["60000", "60001", "60002"].map(String::from),
        ["4000000000", "4000000001", "4000000002"].map(String::from),
        ["18000000000000000000", "18000000000000000001", "18000000000000000002"].map(String::from),
        [uuid; 3].map(String::from),
        ["7830", "7831", "7832"].map(String::from),
        ["0", "", "2"].map(String::from),
        ["0", "", "-2"].map(String::from),
    ];
    for ((column, array), expected) in table.columns.iter().zip(&arrays).zip(&expected) {
        assert_eq!(shown(array), expected, "{}", column.name);
    }
    table.check_written(&arrays[..36]);
    // Only the value under the NULL differs: ours is the default.
    let nulls = &table.streams["ni"];
    assert_eq!(nulls[2..4], (-1_i16).to_le_bytes());
}

#[test]
fn keys_of_a_primary_index_are_read() {
    // ORDER BY (s String, n Nullable(Int32)): two granules and the final row.
    let bytes = hex("0130 01  0132 00 02000000  0132 00 02000000");
    let types = [data_type("String"), data_type("Nullable(Int32)")];
    let keys = crate::column::read_single(&bytes, &types, 3, Strings::Utf8).unwrap();
    assert_eq!(shown(&keys[0]), ["0", "2", "2"]);
    assert_eq!(shown(&keys[1]), ["", "2", "2"]);
    let types = [data_type("LowCardinality(Nullable(Int32))")];
    let keys =
        crate::column::read_single(&hex("01 00 02000000"), &types, 2, Strings::Utf8).unwrap();
    assert_eq!(shown(&keys[0]), ["", "2"]);
}

#[test]
fn additional_keys_come_behind_the_dictionary() {
    // A full dictionary of three keys, and a record whose other keys it brings along: flags 0x700.
    let dictionary = hex("0300000000000000 00 0161 0162");
    let record = hex("0007000000000000 0200000000000000 0178 0179 0500000000000000 0001020304");
    // The next granule has a dictionary of its own, in two records.
    let next = hex("0005000000000000 0100000000000000 01  0101000000000000 0100000000000000 0000");
    let second = hex("0200000000000000 00 0163");
    let mut sources = MemorySources::default();
    sources.insert(name("c"), MemorySource::cut(&[record, next].concat(), &[3]));
    sources.insert(name("c.dict"), MemorySource::cut(&[dictionary, second].concat(), &[2]));
    let mut reader = ColumnReader::new(
        "c",
        &data_type("LowCardinality(String)"),
        &Layout::default(),
        Strings::Utf8,
    )
    .unwrap();
    assert_eq!(shown(&reader.read(&mut sources, &[5]).unwrap()), ["", "a", "b", "x", "y"]);
    assert_eq!(shown(&reader.read(&mut sources, &[2]).unwrap()), ["c", ""]);
}
