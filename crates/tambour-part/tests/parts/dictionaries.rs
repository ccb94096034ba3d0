//! LowCardinality columns that need several dictionaries in a part.

use super::support::{Writing, memory, one, read_granules};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::DataType as Arrow;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, Partition};

#[test]
fn every_granule_is_read_with_its_own_dictionary() {
    let columns =
        [("k", "UInt32"), ("l", "LowCardinality(String)"), ("a", "Array(LowCardinality(String))")]
            .map(|(name, text)| Column { name: name.to_owned(), data_type: text.parse().unwrap() });
    let count = 150_000_u32;
    let texts: ArrayRef =
        Arc::new((0..count).map(|n| Some((n / 2).to_string())).collect::<StringArray>());
    let pairs = arrow_array::FixedSizeListArray::new(
        Arc::new(arrow_schema::Field::new("item", Arrow::Utf8, false)),
        1,
        Arc::clone(&texts),
        None,
    );
    let rows = RecordBatch::try_from_iter([
        ("k", Arc::new(UInt32Array::from_iter_values(0..count)) as ArrayRef),
        ("l", Arc::clone(&texts)),
        ("a", Arc::new(pairs)),
    ])
    .unwrap();
    let (_, storage) = memory();
    let path = Path::new("t/all_1_1_0");
    let mut writing = Writing::new(&columns, Dialect::New);
    writing.index_granularity = 8192;
    writing.write(&storage, path, &rows, &Partition::default()).unwrap();
    let part = Arc::new(Part::open(&storage, path).unwrap());
    let granules = part.granules().len();
    let expected = arrow_cast::cast(&texts, &Arrow::Binary).unwrap();
    // One dictionary ends within the ranges; batches take one granule, a few, or all of them.
    for start in [0, 3, 15, granules - 1] {
        for batch_rows in [1, 20_000, 1 << 20] {
            let found = read_granules(&part, vec![1, 2], one(start, granules), batch_rows).unwrap();
            let wanted = expected.slice(start * 8192, texts.len() - start * 8192);
            let flat = arrow_cast::cast(found.column(0), &Arrow::Binary).unwrap();
            assert_eq!(flat.as_ref(), wanted.as_ref(), "from granule {start}");
            let elements =
                arrow_cast::cast(found.column(1).as_list::<i32>().values(), &Arrow::Binary);
            assert_eq!(elements.unwrap().as_ref(), wanted.as_ref(), "from granule {start}");
        }
    }
}
