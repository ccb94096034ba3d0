//! Laws of parts: whatever good blocks hold, and whatever the small files say, is read or refused.

use crate::block::encode;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::part::{Part, ReadRequest};
use tambour_part::types::Strings;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

/// Types with every form of column: fixed, strings, nested, dictionaries, and those in each other.
pub const TYPES: &[&str] = &[
    "Bool",
    "UInt8",
    "Int256",
    "Float64",
    "BFloat16",
    "Decimal(76, 5)",
    "Date",
    "Date32",
    "DateTime('Asia/Kolkata')",
    "DateTime64(9)",
    "String",
    "FixedString(3)",
    "UUID",
    "IPv4",
    "IPv6",
    "Enum8('a' = -1, 'b' = 2)",
    "Enum16('a' = -1000, 'b' = 2)",
    "Nullable(UInt32)",
    "Nullable(String)",
    "LowCardinality(String)",
    "LowCardinality(Nullable(String))",
    "LowCardinality(UInt32)",
    "Array(UInt16)",
    "Array(Array(Nullable(String)))",
    "Array(LowCardinality(String))",
    "Tuple(UInt8, String)",
    "Tuple(a Nullable(UInt8), b Array(String))",
    "Map(String, UInt64)",
    "Map(LowCardinality(String), Array(UInt8))",
];

/// Most rows that a law lets a part claim.
const ROWS_MAX: u16 = 3000;
/// Where the part is.
const PATH: &str = "t/all_1_1_0";

/// Law: a column of any type over any decompressed bytes is read as exactly the rows that the part has, or refused. Returns the
/// rows if they were read.
pub fn survive_column(data_type: &str, rows: u16, payload: &[u8]) -> Option<u64> {
    let rows = rows % ROWS_MAX;
    let none: CodecSpec = "NONE".parse().ok()?;
    let block = encode(&none, payload).ok()?;
    let end = block.len() as u64;
    // A compact part: one granule whose streams follow each other in one block, and the final mark.
    let numbers = [0, 0, u64::from(rows), end, 0, 0];
    let marks: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let columns = format!("columns format version: 1\n1 columns:\n`c` {data_type}\n");
    let count = rows.to_string();
    read(&[
        ("columns.txt", columns.as_bytes()),
        ("count.txt", count.as_bytes()),
        ("data.bin", &block),
        ("data.mrk3", &marks),
    ])
}

/// The same over the bytes of a fuzzer: type, rows, payload.
pub fn fuzz_column(input: &[u8]) {
    let [kind, low, high, payload @ ..] = input else { return };
    if let Some(data_type) = TYPES.get(usize::from(*kind) % TYPES.len()) {
        survive_column(data_type, u16::from_le_bytes([*low, *high]), payload);
    }
}

/// Law: files with any contents are a part or refused. Each file is a length of two bytes and this many bytes.
pub fn fuzz_files(input: &[u8]) {
    const NAMES: [&str; 10] = [
        "columns.txt",
        "count.txt",
        "checksums.txt",
        "partition.dat",
        "minmax_c.idx",
        "primary.idx",
        "serialization.json",
        "columns_substreams.txt",
        "c.mrk2",
        "c.bin",
    ];
    let mut files = Vec::new();
    let mut rest = input;
    for name in NAMES {
        let [low, high, tail @ ..] = rest else { break };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (contents, next) = tail.split_at(length);
        // No length at all leaves a file out.
        if length > 0 {
            files.push((name, contents));
        }
        rest = next;
    }
    read(&files);
}

/// Opens, reads and verifies what is there; the rows if all could be read.
fn read(files: &[(&str, &[u8])]) -> Option<u64> {
    let memory = Memory::new();
    for (name, contents) in files {
        memory.put(&Path::new(PATH).join(name), contents);
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let part = Arc::new(Part::open(&storage, Path::new(PATH)).ok()?);
    let granules = std::iter::once(0..part.granules().len()).collect();
    let request = ReadRequest {
        columns: (0..part.columns().len()).collect(),
        granules,
        batch_rows: 1000,
        strings: Strings::Utf8,
    };
    let _ = part.verify();
    let mut rows = 0;
    for batch in part.read(request).ok()? {
        rows += batch.ok()?.num_rows() as u64;
        assert!(rows <= part.rows(), "more rows than the part has");
    }
    assert_eq!(rows, part.rows(), "fewer rows than the part has, and no error");
    Some(rows)
}
