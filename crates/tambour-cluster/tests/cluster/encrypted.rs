//! Connections that are encrypted, and what is refused where the two sides do not fit.

use super::support::{alone, answer, register, tables};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tambour_cluster::{
    Cluster, ClusterError, ClusterOptions, LocalCluster, TlsIdentity, WorkerOptions, serve,
};
use tambour_sql::SessionOptions;

/// A certificate for these names that signs itself.
fn identity(names: &[&str]) -> TlsIdentity {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let (certificate, key) = (cert.pem().into_bytes(), signing_key.serialize_pem().into_bytes());
    TlsIdentity { certificate, key }
}

fn connect(local: &LocalCluster, options: ClusterOptions) -> Result<Cluster, ClusterError> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(Cluster::connect(local.addresses(), &options.rows_min(1000)))
}

#[test]
fn encrypted_workers_answer_as_one_process_does() {
    let root = tables();
    let identity = identity(&["127.0.0.1"]);
    let mut options = WorkerOptions::below(root.path());
    options.tls = Some(identity.clone());
    options.token = Some("sesame".to_owned());
    let local = LocalCluster::start_with(2, &options).unwrap();
    let options = ClusterOptions::default().token("sesame").tls_authority(identity.certificate);
    let session = connect(&local, options).unwrap().session(&SessionOptions::default()).unwrap();
    register(&session, root.path());
    let here = alone(root.path());
    // The join shuffles rows from worker to worker.
    for query in [
        "SELECT k, count(), sum(id) FROM t GROUP BY k ORDER BY k",
        "SELECT count(), sum(a.id) FROM t AS a JOIN t AS b ON a.id = b.id",
    ] {
        let expected = answer(&here, query).unwrap().0;
        assert_eq!(answer(&session, query).unwrap().0, expected, "{query}");
    }
}

#[test]
fn sides_that_do_not_fit_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let ours = identity(&["127.0.0.1"]);
    let started = |tls: Option<TlsIdentity>| {
        let mut options = WorkerOptions::below(root.path());
        options.tls = tls;
        LocalCluster::start_with(1, &options).unwrap()
    };
    let trusting =
        |identity: &TlsIdentity| ClusterOptions::default().tls_authority(&identity.certificate[..]);
    let encrypted = started(Some(ours.clone()));
    connect(&encrypted, trusting(&ours)).unwrap();

    let stranger = connect(&encrypted, trusting(&identity(&["127.0.0.1"]))).unwrap_err();
    assert!(stranger.to_string().contains("certificate"), "{stranger}");
    let elsewhere = identity(&["db.example"]);
    let misnamed = connect(&started(Some(elsewhere.clone())), trusting(&elsewhere)).unwrap_err();
    assert!(misnamed.to_string().contains("certificate"), "{misnamed}");
    for (local, options) in
        [(&encrypted, ClusterOptions::default()), (&started(None), trusting(&ours))]
    {
        let error = connect(local, options).unwrap_err();
        let worker = format!("worker {}: ", local.addresses()[0]);
        assert!(matches!(error, ClusterError::Unreachable { .. }), "{error}");
        assert!(error.to_string().starts_with(&worker), "{error}");
        assert!(error.to_string().contains("--tls"), "{error}");
    }
}

#[test]
fn files_that_are_no_certificates_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let right = identity(&["127.0.0.1"]);
    let wrong = [
        TlsIdentity { certificate: b"no certificate".to_vec(), ..right.clone() },
        TlsIdentity { key: Vec::new(), ..right.clone() },
        TlsIdentity { key: identity(&["127.0.0.1"]).key, ..right.clone() },
    ];
    for identity in wrong {
        let mut options = WorkerOptions::below(root.path());
        options.tls = Some(identity);
        let error = runtime.block_on(serve(&options)).unwrap_err();
        assert!(matches!(error, ClusterError::Tls { .. }), "{error}");
    }
    let options = ClusterOptions::default().tls_authority(right.key);
    let addresses = ["127.0.0.1:1".to_owned()];
    let asked = Cluster::connect(&addresses, &options);
    let error = runtime.block_on(asked).unwrap_err();
    assert!(matches!(error, ClusterError::Tls { .. }), "{error}");
}
