//! What must be an error, by name: dead addresses, tokens, other contents, paths outside the root.

use super::support::{answer, cluster, register, tables, workers};
use std::path::Path;
use tambour_cluster::{Cluster, ClusterError, ClusterOptions, LocalCluster, WorkerOptions, serve};
use tambour_sql::{Session, SessionOptions};

const QUERY: &str = "SELECT sum(id), max(s) FROM t";

fn connect(addresses: &[String], token: Option<&str>) -> Result<Cluster, ClusterError> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut options = ClusterOptions::default().rows_min(1000);
    options.token = token.map(str::to_owned);
    runtime.block_on(Cluster::connect(addresses, &options))
}

fn session(cluster: &Cluster, root: &Path) -> Session {
    let session = cluster.session(&SessionOptions::default()).unwrap();
    register(&session, root);
    session
}

#[test]
fn a_dead_address_is_named() {
    let root = tables();
    let local = LocalCluster::start(1, root.path()).unwrap();
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let addresses = vec![local.addresses()[0].clone(), dead.to_string()];
    let error = connect(&addresses, None).unwrap_err().to_string();
    assert!(error.contains(&format!("worker {dead}: it cannot be reached")), "{error}");
}

#[test]
fn a_token_must_be_the_same() {
    let root = tables();
    let mut options = WorkerOptions::below(root.path());
    options.token = Some("sesame".to_owned());
    let local = LocalCluster::start_with(2, &options).unwrap();
    let right = session(&connect(local.addresses(), Some("sesame")).unwrap(), root.path());
    assert_eq!(answer(&right, QUERY).unwrap().0.len(), 1);
    for token in [None, Some("Sesame"), Some("sesam")] {
        let wrong = session(&connect(local.addresses(), token).unwrap(), root.path());
        let error = answer(&wrong, QUERY).unwrap_err().to_string();
        assert!(error.contains("worker 127.0.0.1:") && error.contains("wrong token"), "{error}");
    }
}

#[test]
fn a_worker_that_is_gone_is_named() {
    let root = tables();
    let workers = workers(2, root.path());
    answer(&workers.session, QUERY).unwrap();
    drop(workers.local);
    let error = answer(&workers.session, QUERY).unwrap_err().to_string();
    assert!(error.contains("worker 127.0.0.1:"), "{error}");
}

#[test]
fn paths_outside_the_root_are_refused() {
    let (root, other) = (tables(), tempfile::tempdir().unwrap());
    let local = LocalCluster::start(2, other.path()).unwrap();
    let outside = session(&cluster(&local), root.path());
    let error = answer(&outside, QUERY).unwrap_err().to_string();
    assert!(error.contains("worker 127.0.0.1:"), "{error}");
    assert!(error.contains("is not below") && error.contains("the root of this worker"), "{error}");
    // A link does not help.
    std::os::unix::fs::symlink(root.path().join("t"), other.path().join("t")).unwrap();
    let linked = cluster(&local).session(&SessionOptions::default()).unwrap();
    linked
        .register(std::sync::Arc::new(tambour_table::Table::open(&other.path().join("t")).unwrap()))
        .unwrap();
    let error = answer(&linked, QUERY).unwrap_err().to_string();
    assert!(error.contains("is not below"), "{error}");
}

#[test]
fn another_content_of_a_part_is_refused() {
    let (root, other) = (tables(), tables());
    let local = LocalCluster::start(2, root.path()).unwrap();
    let session = session(&cluster(&local), root.path());
    answer(&session, QUERY).unwrap();
    // The same names of parts with other rows.
    for name in ["t", "small"] {
        std::fs::remove_dir_all(root.path().join(name)).unwrap();
    }
    let changed = "UPDATE t SET x = x + 1 WHERE id = 5";
    let options = SessionOptions { write: true, ..SessionOptions::default() };
    let writer = Session::new(&options).unwrap();
    register(&writer, other.path());
    answer(&writer, changed).unwrap();
    for name in ["t", "small"] {
        std::fs::rename(other.path().join(name), root.path().join(name)).unwrap();
    }
    let error = answer(&session, QUERY).unwrap_err().to_string();
    assert!(error.contains("worker 127.0.0.1:"), "{error}");
}

#[test]
fn open_addresses_need_a_token() {
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = |listen: &str, token: Option<&str>| {
        let mut options = WorkerOptions::below(root.path());
        options.listen = listen.to_owned();
        options.token = token.map(str::to_owned);
        options
    };
    let error = runtime.block_on(serve(&options("0.0.0.0:0", None))).unwrap_err();
    assert!(matches!(error, ClusterError::Open { .. }), "{error}");
    runtime.block_on(serve(&options("0.0.0.0:0", Some("x")))).unwrap();
    let error = runtime.block_on(serve(&options("127.0.0.1:0", Some("a b")))).unwrap_err();
    assert!(matches!(error, ClusterError::Workers { .. }), "{error}");
    let error = runtime.block_on(serve(&WorkerOptions::below("/nonexistent"))).unwrap_err();
    assert!(matches!(error, ClusterError::Root { .. }), "{error}");
}
