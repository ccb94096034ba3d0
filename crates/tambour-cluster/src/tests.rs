//! Faults that only code inside can make: a panic in the scan of a worker, bytes that are not a plan.

use crate::codec::Codec;
use crate::guard::Guard;
use crate::tables::Tables;
use crate::worker::serve_with;
use crate::{Cluster, ClusterOptions, WorkerOptions};
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties,
};
use datafusion::prelude::SessionContext;
use datafusion_distributed::{
    WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse, WorkerPlanRewriteHandler,
};
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use futures::StreamExt;
use proptest::prelude::*;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tambour_part::write::Dialect;
use tambour_sql::{Session, SessionOptions};
use tambour_table::Table;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::schema::TableDefinition;

/// What a worker does wrong after the first batch.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Panic,
    Nothing,
}

impl WorkerPlanRewriteHandler for Fault {
    fn rewrite_worker_plan(
        &self,
        event: WorkerPlanRewriteEvent<'_>,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let faulty = Faulty { plan: event.plan, fault: *self };
        Ok(WorkerPlanRewriteEventResponse::new(Arc::new(faulty)))
    }
}

#[derive(Debug)]
struct Faulty {
    plan: Arc<dyn ExecutionPlan>,
    fault: Fault,
}

impl DisplayAs for Faulty {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt_as(format, f)
    }
}

impl ExecutionPlan for Faulty {
    fn name(&self) -> &str {
        self.plan.name()
    }
    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.plan.as_ref())
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.plan.children()
    }
    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.plan.apply_expressions(visit)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn metrics(&self) -> Option<datafusion::physical_plan::metrics::MetricsSet> {
        self.plan.metrics()
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (inner, fault, mut batches) = (self.plan.execute(partition, context)?, self.fault, 0);
        let schema = inner.schema();
        let faulty = inner.map(move |batch| {
            batches += 1;
            assert!(batches < 2 || matches!(fault, Fault::Nothing), "a bad day");
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, faulty)))
    }
}

/// A table of some thousand rows.
fn table(path: &Path) {
    let statement = "CREATE TABLE t (id UInt64, s String) ENGINE = MergeTree ORDER BY id \
                     SETTINGS index_granularity = 128";
    let definition = TableDefinition::parse(statement).unwrap();
    let options = InsertOptions {
        existing: Existing::Append,
        seen: None,
        dialect: Dialect::New,
        rows_per_part: None,
        memory_bytes: 64 << 20,
        threads: 1,
    };
    let storage = tambour_storage::disk();
    Insert::begin(&storage, path, &definition, options).unwrap().commit().unwrap();
    let options = SessionOptions { write: true, ..SessionOptions::default() };
    let session = Session::new(&options).unwrap();
    session.register(Arc::new(Table::open(path).unwrap())).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let statement = "INSERT INTO t SELECT number, toString(number) FROM numbers(60000)";
    runtime.block_on(async {
        session.sql(statement).await.unwrap().execute().await.unwrap().collect().await.unwrap()
    });
}

/// What a query over two workers answers, one of them with a fault.
async fn with_fault(fault: Fault, query: &str) -> Result<Vec<RecordBatch>, String> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("t");
    tokio::task::spawn_blocking({
        let path = path.clone();
        move || table(&path)
    })
    .await
    .unwrap();
    let mut addresses = Vec::new();
    for fault in [Fault::Nothing, fault] {
        let options = WorkerOptions::below(root.path());
        let served = serve_with(&options, Some(Arc::new(fault))).await.unwrap();
        addresses.push(served.address().to_string());
        tokio::spawn(served.run(std::future::pending()));
    }
    let cluster = Cluster::connect(&addresses, &ClusterOptions::default()).await.unwrap();
    let options = SessionOptions { threads: 2, ..SessionOptions::default() };
    let session = cluster.session(&options).unwrap();
    session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
    let mut execution = session.sql(query).await.unwrap().execute().await.unwrap();
    execution.collect().await.map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_on_a_worker_is_an_error() {
    for query in [
        "SELECT id FROM t",
        "SELECT s, count() FROM t GROUP BY s",
        "SELECT id, s FROM t ORDER BY s",
    ] {
        let healthy = with_fault(Fault::Nothing, query).await.unwrap();
        assert_eq!(healthy.iter().map(RecordBatch::num_rows).sum::<usize>(), 60_000);
        let error = with_fault(Fault::Panic, query).await.unwrap_err();
        assert!(error.contains("worker 127.0.0.1:") && error.contains("a bad day"), "{error}");
    }
}

#[test]
fn a_scan_that_every_task_would_read_is_refused() {
    use crate::split;
    use datafusion::physical_plan::empty::EmptyExec;
    let empty: Arc<dyn ExecutionPlan> =
        Arc::new(EmptyExec::new(Arc::new(datafusion::arrow::datatypes::Schema::empty())));
    split::check_stage(&empty, 2).unwrap();
    let root = tempfile::tempdir().unwrap();
    table(&root.path().join("t"));
    let session = Session::new(&SessionOptions::default()).unwrap();
    session.register(Arc::new(Table::open(&root.path().join("t")).unwrap())).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let plan = runtime.block_on(async {
        let frame = session.context().table("t").await.unwrap();
        frame.create_physical_plan().await.unwrap()
    });
    let error = split::check_stage(&plan, 2).unwrap_err().to_string();
    assert!(error.contains("2 tasks would each read all of t"), "{error}");
}

proptest! {
    #[test]
    fn bytes_that_are_no_plan_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), wire in 0_u32..3) {
        let root = tempfile::tempdir().unwrap();
        let codec = Codec {
            tables: Some(Arc::new(Tables::below(root.path()).unwrap())),
            errands: None,
        };
        let context = SessionContext::new().task_ctx();
        let converter = crate::convert::Converter::default();
        let mut node = wire.to_le_bytes().to_vec();
        node.extend(&bytes);
        prop_assert!(codec.try_decode(&node, &[], &context, &converter).is_err());
        prop_assert!(codec.try_decode(&bytes, &[], &context, &converter).is_err());
    }
}

#[test]
fn another_form_is_refused_by_number() {
    let codec = Codec::default();
    let context = SessionContext::new().task_ctx();
    let converter = crate::convert::Converter::default();
    let error = codec.try_decode(&[77, 0, 0, 0, 1], &[], &context, &converter).unwrap_err();
    let own = format!("form {}", crate::wire::WIRE);
    assert!(error.to_string().contains("form 77") && error.to_string().contains(&own), "{error}");
}

#[tokio::test]
async fn guards_end_streams_of_a_worker_that_stops() {
    let guard = Guard::new(tokio::runtime::Handle::current(), None);
    guard.stop();
    let schema = Arc::new(datafusion::arrow::datatypes::Schema::empty());
    let plan = Arc::new(datafusion::physical_plan::empty::EmptyExec::new(schema));
    let context = SessionContext::new();
    let state = context.state();
    let event = WorkerPlanRewriteEvent { plan, session_config: state.config() };
    let guarded = guard.rewrite_worker_plan(event).unwrap().plan;
    let mut stream = guarded.execute(0, context.task_ctx()).unwrap();
    let first = stream.next().await.unwrap().unwrap_err();
    assert!(first.to_string().contains("it is stopping"), "{first}");
    assert!(stream.next().await.is_none());
}
