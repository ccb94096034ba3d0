//! Reads a part and writes it again: `copy FROM TO DIALECT GRANULARITY CODEC KEYS [PARTITION-TYPE RANGE-COLUMN]`, where
//! KEYS are columns of the primary key, with commas between them.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::ReadRequest;
use tambour_part::types::{DataType, Strings};
use tambour_part::write::{Dialect, PartSpec, Partition, StringLayout};
use tambour_part::{Part, PartWriter};
use tambour_storage::disk;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, dialect, granularity, codec, keys, partition @ ..] = arguments.as_slice() else {
        return Err(
            "usage: copy FROM TO old|new GRANULARITY CODEC KEYS [PARTITION-TYPE RANGE-COLUMN]"
                .into(),
        );
    };
    let storage = disk();
    let part = Arc::new(Part::open(&storage, Path::new(from))?);
    let keys: Vec<usize> = keys
        .split(',')
        .filter_map(|key| part.columns().iter().position(|column| column.name == key))
        .collect();
    let codec: tambour_codec::spec::CodecSpec = codec.parse()?;
    let spec = PartSpec {
        columns: part.columns().iter().map(|column| (column.clone(), codec.clone())).collect(),
        key_types: keys.iter().map(|key| part.columns()[*key].data_type.clone()).collect(),
        index_granularity: granularity.parse()?,
        dialect: if dialect == "old" { Dialect::Old } else { Dialect::New },
        threads: 2,
        strings: StringLayout::Inline,
        sparse_ratio: None,
    };
    let mut writer = PartWriter::create(&storage, Path::new(to), spec)?;
    let request = ReadRequest {
        columns: (0..part.columns().len()).collect(),
        granules: std::iter::once(0..part.granules().len()).collect(),
        batch_rows: 8192,
        strings: Strings::Binary,
    };
    for batch in part.read(request)? {
        let batch = batch?;
        let keys: Vec<_> = keys.iter().map(|key| Arc::clone(batch.column(*key))).collect();
        writer.write(&batch, &keys)?;
    }
    let mut target = Partition::default();
    if let [data_type, column] = partition {
        let data_type: DataType = data_type.parse()?;
        let values = part.partition_values(std::slice::from_ref(&data_type))?;
        target.values.push((data_type, Arc::clone(&values[0])));
        let known = part.columns().iter().find(|known| known.name == *column);
        let range = part.minmax(column)?;
        let (Some(known), Some(range)) = (known, range) else { return Err("no range".into()) };
        target.ranges.push((column.clone(), known.data_type.clone(), range));
    }
    let id = target.id()?;
    writeln!(std::io::stdout(), "partition {id}, {:?}", writer.finish(&target)?)?;
    Ok(())
}
