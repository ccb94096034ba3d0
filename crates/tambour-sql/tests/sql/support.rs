//! A table with several parts and partitions, the same rows in memory, and how to compare them.

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int8Array, Int32Array, RecordBatch, StringArray, StringViewArray, TimestampSecondArray,
    UInt64Array,
};
use arrow::datatypes::{Int8Type, Int32Type};
use arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::types::{Strings, arrow_schema};
use tambour_part::write::Dialect;
use tambour_sql::{Session, SessionOptions};
use tambour_storage::{self, Storage};
use tambour_table::Table;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::merge::{OptimizeOptions, optimize};
use tambour_table::schema::TableDefinition;
use tempfile::TempDir;

pub(crate) const COLUMNS: &str = "t DateTime, id UInt64, k Int32, s String, \
    l LowCardinality(Nullable(String)), e Enum8('b' = 1, 'a' = 2, 'c' = -3), x Float64, \
    n Nullable(Int32), p Decimal(9, 2), d Date, u UUID";

pub(crate) const ROWS: usize = 3000;
const INSERTS: u64 = 3;

/// A small generator: the same numbers every time.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// What the rows of one insert are made from.
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
pub(crate) fn rows(seed: u64) -> RecordBatch {
    let definition = definition("tuple()", "tuple()");
    let mut numbers = Numbers::new(seed + 1);
    let mut draw = |limit: u64| -> Vec<u64> { (0..ROWS).map(|_| numbers.below(limit)).collect() };
    let letters = ["", "a", "ab", "abc", "b", "ba", "longer than twelve bytes", "\u{e9}t\u{e9}"];
    let texts: Vec<&str> = draw(8).into_iter().map(|it| letters[it as usize]).collect();
    let low: Vec<Option<&str>> =
        draw(5).into_iter().map(|it| (it > 0).then(|| letters[it as usize])).collect();
    let enums: Int8Array = draw(3).into_iter().map(|it| Some(it as i8)).collect();
    let names = Arc::new(StringArray::from(vec!["b", "a", "c"]));
    let low: DictionaryArray<Int32Type> = low.into_iter().collect();
    let uuids: Vec<[u8; 16]> = draw(9).into_iter().map(|it| [it as u8 * 29; 16]).collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(
            TimestampSecondArray::from_iter_values(
                // Three months of 2024.
                draw(86_400 * 88).into_iter().map(|it| 1_704_067_200 + it as i64),
            )
            .with_timezone("UTC"),
        ),
        Arc::new(UInt64Array::from_iter_values((0..ROWS as u64).map(|it| seed * 10_000 + it))),
        Arc::new(Int32Array::from_iter_values(draw(200).into_iter().map(|it| it as i32 - 50))),
        Arc::new(StringViewArray::from_iter_values(texts)),
        Arc::new(low),
        Arc::new(DictionaryArray::<Int8Type>::try_new(enums, names).unwrap()),
        Arc::new(Float64Array::from_iter_values(
            draw(400).into_iter().map(|it| it as f64 / 4.0 - 9.0),
        )),
        Arc::new(
            draw(50)
                .into_iter()
                .map(|it| (it > 4).then_some(it as i32 - 20))
                .collect::<Int32Array>(),
        ),
        Arc::new(
            Decimal128Array::from_iter_values(
                draw(100_000).into_iter().map(|it| i128::from(it) - 5_000),
            )
            .with_precision_and_scale(9, 2)
            .unwrap(),
        ),
        Arc::new(Date32Array::from_iter_values(draw(700).into_iter().map(|it| 19_000 + it as i32))),
        Arc::new(FixedSizeBinaryArray::try_from_iter(uuids.into_iter()).unwrap()),
    ];
    let schema = arrow_schema(&definition.plain_columns(), Strings::Utf8);
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

pub(crate) fn definition(partition_by: &str, order_by: &str) -> TableDefinition {
    TableDefinition::parse(&format!(
        "CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree PARTITION BY {partition_by} \
         ORDER BY {order_by} SETTINGS index_granularity = 64, allow_nullable_key = 1"
    ))
    .unwrap()
}

pub(crate) fn insert(path: &Path, definition: &TableDefinition, rows: RecordBatch) {
    let storage: Arc<dyn Storage> = tambour_storage::disk();
    let options = InsertOptions {
        existing: Existing::Append,
        seen: None,
        dialect: Dialect::New,
        rows_per_part: None,
        memory_bytes: 64 << 20,
        threads: 1,
    };
    let mut insert = Insert::begin(&storage, path, definition, options).unwrap();
    insert.write(rows).unwrap();
    insert.commit().unwrap();
}

/// A directory with the table `t`.
pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    pub(crate) rows: Vec<RecordBatch>,
}

impl Fixture {
    pub(crate) fn new(partition_by: &str, order_by: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let definition = definition(partition_by, order_by);
        let rows: Vec<RecordBatch> = (0..INSERTS).map(rows).collect();
        let fixture = Self { directory, rows };
        for batch in &fixture.rows {
            insert(&fixture.path(), &definition, batch.clone());
        }
        fixture
    }
    /// The same with one part in each partition.
    pub(crate) fn optimized(partition_by: &str, order_by: &str) -> Self {
        let fixture = Self::new(partition_by, order_by);
        optimize(
            &tambour_storage::disk(),
            &fixture.path(),
            &OptimizeOptions::default(),
            &mut |_| {},
        )
        .unwrap();
        fixture
    }
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("t")
    }
    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::new(Table::open(&self.path()).unwrap())
    }
    /// A session with the table as `t` and its rows in memory as `naive`.
    pub(crate) fn session(&self, threads: usize) -> Session {
        let options = SessionOptions { threads, batch_rows: 256, ..SessionOptions::default() };
        let session = Session::new(&options).unwrap();
        session.register(self.table()).unwrap();
        let schema = self.rows[0].schema();
        let naive = MemTable::try_new(schema, vec![self.rows.clone()]).unwrap();
        session.context().register_table("naive", Arc::new(naive)).unwrap();
        session
    }
}

/// Runs something asynchronous to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(future)
}

pub(crate) fn batches(session: &Session, statement: &str) -> Vec<RecordBatch> {
    let result = block_on(async {
        let mut execution = session.sql(statement).await?.execute().await?;
        execution.collect().await
    });
    result.unwrap_or_else(|error| panic!("{statement}: {error:?}"))
}

/// The result as text.
pub(crate) fn text(session: &Session, statement: &str) -> String {
    pretty_format_batches(&batches(session, statement)).unwrap().to_string()
}

/// The result as lines in any order, without the frame.
pub(crate) fn lines(session: &Session, statement: &str) -> Vec<String> {
    let text = text(session, statement);
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.starts_with('|')).map(ToOwned::to_owned).collect();
    lines.sort();
    lines
}
