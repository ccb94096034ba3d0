//! A directory with two tables, workers over it, and how answers are compared.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::path::Path;
use std::sync::Arc;
use tambour_cluster::{Cluster, ClusterOptions, LocalCluster};
use tambour_part::write::Dialect;
use tambour_sql::ScanStatistics;
use tambour_sql::{Session, SessionOptions, SqlError};
use tambour_table::Table;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::schema::TableDefinition;
use tempfile::TempDir;

/// Rows of each of the four inserts into `t`.
const ROWS: u64 = 12_000;

const T: &str = "CREATE TABLE t (id UInt64, k Int32, x Float64, s String, \
    l LowCardinality(String), n Nullable(Int32), d Date, e Enum8('b' = 1, 'a' = 2), u UUID, ip IPv4) \
    ENGINE = MergeTree ORDER BY (k, id) SETTINGS index_granularity = 256";
const SMALL: &str = "CREATE TABLE small (k Int32, name String) \
    ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 256";

fn select(from: u64, rows: u64) -> String {
    format!(
        "INSERT INTO t SELECT number + {from}, toInt32((number * 7919 + {from}) % 1000) - 300, \
         (number % 977) / 8 - 50, concat('text ', toString(number % 613)), \
         concat('l', toString(number % 7)), if(number % 5 = 0, NULL, toInt32(number % 91)), \
         toDate('2024-01-01') + toUInt16(number % 366), if(number % 3 = 0, 'a', 'b'), \
         toUUID(concat('00000000-0000-0000-0000-00000000000', toString(number % 10))), \
         toIPv4(concat('10.0.0.', toString(number % 250))) FROM numbers({rows})"
    )
}

/// A table without rows.
fn create(root: &Path, name: &str, statement: &str) {
    let options = InsertOptions {
        existing: Existing::Append,
        seen: None,
        dialect: Dialect::New,
        rows_per_part: None,
        memory_bytes: 64 << 20,
        threads: 1,
    };
    let definition = TableDefinition::parse(statement).unwrap();
    let storage = tambour_storage::disk();
    let insert = Insert::begin(&storage, &root.join(name), &definition, options).unwrap();
    insert.commit().unwrap();
}

fn write(root: &Path, statement: &str) {
    let options = SessionOptions { write: true, threads: 1, ..SessionOptions::default() };
    let session = Session::new(&options).unwrap();
    register(&session, root);
    answer(&session, statement).unwrap();
}

pub(crate) fn register(session: &Session, root: &Path) {
    for name in ["t", "small"] {
        session.register(Arc::new(Table::open(&root.join(name)).unwrap())).unwrap();
    }
}

/// The tables `t` and `small`.
pub(crate) fn tables() -> TempDir {
    let root = TempDir::new().unwrap();
    create(root.path(), "t", T);
    create(root.path(), "small", SMALL);
    for insert in 0..4 {
        write(root.path(), &select(insert * ROWS, ROWS - insert * 1000));
    }
    let small = "INSERT INTO small SELECT toInt32(number * 3) - 300, concat('name ', \
                 toString(number)) FROM numbers(300)";
    write(root.path(), small);
    root
}

/// Rows as texts, and what was read.
pub(crate) type Answer = (Vec<String>, ScanStatistics);

/// Runs a statement.
pub(crate) fn answer(session: &Session, statement: &str) -> Result<Answer, SqlError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let mut execution = session.sql(statement).await?.execute().await?;
        let batches = execution.collect().await?;
        Ok((texts(&batches), execution.statistics()))
    });
    runtime.shutdown_background();
    outcome
}

fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cells: Vec<String> =
                columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(cells.join("|"));
        }
    }
    rows
}

/// Workers over the tables, and a session for them.
pub(crate) struct Workers {
    pub(crate) local: LocalCluster,
    pub(crate) session: Session,
}

pub(crate) fn cluster(local: &LocalCluster) -> Cluster {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = ClusterOptions::default().rows_min(1000);
    runtime.block_on(Cluster::connect(local.addresses(), &options)).unwrap()
}

pub(crate) fn workers(count: usize, root: &Path) -> Workers {
    let local = LocalCluster::start(count, root).unwrap();
    let options = SessionOptions { threads: 2, ..SessionOptions::default() };
    let session = cluster(&local).session(&options).unwrap();
    register(&session, root);
    Workers { local, session }
}

/// A session without workers.
pub(crate) fn alone(root: &Path) -> Session {
    let session =
        Session::new(&SessionOptions { threads: 2, ..SessionOptions::default() }).unwrap();
    register(&session, root);
    session
}
