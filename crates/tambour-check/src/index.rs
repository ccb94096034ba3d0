//! Laws of skip indexes: whatever their files hold, they are read or refused, and never change what is read of a part.

use crate::block::encode;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_index::{Index, decode};
use tambour_part::part::Part;
use tambour_part::types::Column;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;
use tambour_table::schema::TableDefinition;

/// Kinds of indexes, and types of columns that they are over.
const INDEXES: [(&str, &str); 18] = [
    ("minmax", "Int32"),
    ("minmax", "Nullable(String)"),
    ("minmax", "LowCardinality(Nullable(String))"),
    ("minmax", "Enum8('a' = -1, 'b' = 2)"),
    ("set(0)", "String"),
    ("set(100)", "Nullable(UInt64)"),
    ("set(100)", "LowCardinality(String)"),
    ("set(100)", "LowCardinality(Nullable(String))"),
    ("set(100)", "Enum16('a' = -1000, 'b' = 2)"),
    ("set(100)", "FixedString(3)"),
    ("set(100)", "UUID"),
    ("bloom_filter", "String"),
    ("bloom_filter(0.00001)", "Array(Nullable(UInt32))"),
    ("bloom_filter(0.5)", "Float32"),
    ("tokenbf_v1(64, 2, 0)", "String"),
    ("ngrambf_v1(3, 100, 5, 7)", "LowCardinality(String)"),
    ("text(tokenizer = splitByNonAlpha)", "String"),
    ("text(tokenizer = ngrams(3))", "Array(String)"),
];

/// Where the part is.
const PATH: &str = "t/all_1_1_0";

/// Law: any bytes are an entry of an index or refused. The first byte says which index, and which form of files.
pub fn fuzz_entry(input: &[u8]) {
    let [kind, bytes @ ..] = input else { return };
    let (index_type, data_type) = INDEXES[usize::from(kind & 31) % INDEXES.len()];
    let extension = if kind & 32 == 0 { "idx2" } else { "idx" };
    let statement = format!(
        "CREATE TABLE t (a {data_type}, b {data_type}, INDEX i {} TYPE {index_type}) \
         ENGINE = MergeTree ORDER BY tuple()",
        if kind & 64 == 0 || index_type.starts_with("text") { "a" } else { "(a, b)" }
    );
    let definition = TableDefinition::parse(&statement).expect("the statement is well formed");
    let columns: Vec<Column> = definition.plain_columns();
    let indexes = definition.indexes().into_iter().map(|it| Index::new(it, &columns));
    for index in indexes {
        assert!(index.is_usable(), "{statement}");
        if let Ok(values) = decode(&index, extension, bytes) {
            // A value or a token takes a byte at least, in a filter a bit.
            assert!(values <= 8 * bytes.len() + 2, "more values than there are bytes");
        }
    }
}

/// Law: files of an index with any contents are read or refused, and their part stays readable. Each file is a length of two bytes and
/// this many bytes; contents that do not begin with a letter are what blocks hold.
pub fn fuzz_files(input: &[u8]) {
    const NAMES: [&str; 4] =
        ["skp_idx.packed", "skp_idx_i.idx2", "skp_idx_i.mrk2", "skp_idx_j.cmrk4"];
    let memory = Memory::new();
    let none: CodecSpec = "NONE".parse().expect("a codec");
    let block = encode(&none, &[7, 8, 9]).expect("three bytes are encoded");
    let numbers = [0, 0, 3, block.len() as u64, 0, 0];
    let marks: Vec<u8> = numbers.iter().flat_map(|number: &u64| number.to_le_bytes()).collect();
    let columns = b"columns format version: 1\n1 columns:\n`c` UInt8\n";
    let own: [(&str, &[u8]); 4] = [
        ("columns.txt", columns),
        ("count.txt", b"3"),
        ("data.bin", &block),
        ("data.mrk3", &marks),
    ];
    for (name, contents) in own {
        memory.put(&Path::new(PATH).join(name), contents);
    }
    let mut rest = input;
    for name in NAMES {
        let [low, high, tail @ ..] = rest else { break };
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(tail.len());
        let (contents, next) = tail.split_at(length);
        rest = next;
        let blocks = match contents {
            [b'a'..=b'z', plain @ ..] => plain.to_vec(),
            inner => encode(&none, inner).unwrap_or_default(),
        };
        if length > 0 {
            memory.put(&Path::new(PATH).join(name), &blocks);
        }
    }
    let storage: Arc<dyn Storage> = Arc::new(memory);
    let part = Part::open(&storage, Path::new(PATH)).expect("indexes do not concern the part");
    let mut names = part.skip_names().unwrap_or_default();
    names.extend(["i".to_owned(), "j".to_owned()]);
    for name in names {
        let Ok(Some(mut file)) = part.skip_file(&name) else { continue };
        for entry in 0..file.entries() {
            let _ = file.entry(entry);
        }
    }
}
