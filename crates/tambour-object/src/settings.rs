//! Clients of stores, from the environment: the variables are those that each store's own tools know.

use crate::address::{Address, Scheme};
use crate::error::StoreError;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::list::PaginatedListStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use std::collections::HashMap;
use std::ffi::OsString;
use std::net::{SocketAddr, TcpStream};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The variable that says how many seconds may pass without a byte.
const TIMEOUT: &str = "TAMBOUR_STORE_TIMEOUT";
/// Seconds that may pass without a byte, unless it is set.
const TIMEOUT_SECONDS: u64 = 30;
/// How often a request is tried again.
const RETRIES_MAX: usize = 4;
/// Longest pause between two tries.
const BACKOFF_MAX: Duration = Duration::from_secs(2);
/// How long the machine's own service for credentials may take to take a connection.
const PROBE: Duration = Duration::from_secs(1);
/// That service, in every cloud.
const METADATA_SERVICE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(169, 254, 169, 254)), 80);

/// A store that answers.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) objects: Arc<dyn ObjectStore>,
    /// What lists, page by page; a web server does not.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, target: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.objects.fmt(target)
    }
}

/// The environment, or what a test says instead.
pub type Variables = HashMap<String, String>;

/// The variables of the process that are text.
pub(crate) fn variables() -> Variables {
    let text =
        |(name, value): (OsString, OsString)| name.into_string().ok().zip(value.into_string().ok());
    std::env::vars_os().filter_map(text).collect()
}

/// Makes the client of a store. Nothing is asked of it yet.
pub(crate) fn client(address: &Address, variables: &Variables) -> Result<Client, StoreError> {
    // Another part of the process may have chosen one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stall = stall(variables)?;
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: BACKOFF_MAX, ..BackoffConfig::default() },
        max_retries: RETRIES_MAX,
        retry_timeout: 2 * stall,
    };
    check_endpoints(variables)?;
    let url = address.store.as_str();
    let broken = |cause| StoreError::Settings { url: url.to_owned(), cause };
    match address.scheme {
        Scheme::S3 => {
            require(address, &AMAZON, variables)?;
            let builder = AmazonS3Builder::new().with_url(url).with_retry(retry);
            let set = settings(variables, &AMAZON, stall);
            let builder =
                set.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            Ok(listing(builder.build().map_err(broken)?))
        }
        Scheme::Google => {
            require(address, &GOOGLE, variables)?;
            let builder = GoogleCloudStorageBuilder::new().with_url(url).with_retry(retry);
            let set = settings(variables, &GOOGLE, stall);
            let builder =
                set.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            Ok(listing(builder.build().map_err(broken)?))
        }
        Scheme::Azure => {
            require(address, &AZURE, variables)?;
            let builder = MicrosoftAzureBuilder::new().with_url(url).with_retry(retry);
            let set = settings(variables, &AZURE, stall);
            let builder =
                set.fold(builder, |builder, (key, value)| builder.with_config(key, value));
            Ok(listing(builder.build().map_err(broken)?))
        }
        Scheme::Web => {
            let client = ClientOptions::new().with_allow_http(true);
            let client = client.with_timeout_disabled().with_read_timeout(stall);
            let client = client.with_connect_timeout(stall);
            let builder = HttpBuilder::new().with_url(url).with_retry(retry);
            let built = builder.with_client_options(client).build().map_err(broken)?;
            Ok(Client { objects: Arc::new(built), pages: None })
        }
    }
}

/// Endpoints have to be URLs: a client panics over what is none, such as an address without `http://`.
fn check_endpoints(variables: &Variables) -> Result<(), StoreError> {
    let all = [&AMAZON, &GOOGLE, &AZURE];
    for name in all.into_iter().flat_map(|known| known.endpoints) {
        let Some(value) = variables.get(*name).filter(|it| !it.is_empty()) else { continue };
        let host = ["http://", "https://"].iter().find_map(|scheme| value.strip_prefix(scheme));
        let is_plain = |host: &str| host.bytes().all(|byte| byte.is_ascii_graphic());
        if !host.is_some_and(|host| !host.is_empty() && !host.starts_with('/') && is_plain(host)) {
            let (value, expected) = (value.clone(), "a URL, such as https://storage.example");
            return Err(StoreError::Setting { name, value, expected });
        }
    }
    Ok(())
}

/// What the variables of a store set, and what every client has: a limit on what stalls, none on how long an answer takes.
fn settings<K: FromStr>(
    variables: &Variables,
    known: &Credentials,
    stall: Duration,
) -> impl Iterator<Item = (K, String)> {
    let own = variables.iter().filter(|(name, _)| name.starts_with(known.prefix));
    let own = own.map(|(name, value)| (name.to_lowercase(), value.clone()));
    let limit = format!("{} seconds", stall.as_secs());
    let all = [("read_timeout", &*limit), ("connect_timeout", &limit), ("timeout", "1 year")];
    // An endpoint that was given without TLS is wanted without.
    let set =
        |name: &&'static str| variables.get(*name).is_some_and(|it| it.starts_with("http://"));
    let plain = known.endpoints.iter().any(set).then_some(("allow_http", "true"));
    let all = all.into_iter().chain(plain).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let all: Vec<_> = own.chain(all).collect();
    all.into_iter().filter_map(|(name, value)| Some((name.parse().ok()?, value)))
}

fn listing<T: ObjectStore + PaginatedListStore>(store: T) -> Client {
    let store = Arc::new(store);
    Client { objects: store.clone(), pages: Some(store) }
}

fn stall(variables: &Variables) -> Result<Duration, StoreError> {
    let Some(value) = variables.get(TIMEOUT) else {
        return Ok(Duration::from_secs(TIMEOUT_SECONDS));
    };
    let expected = "seconds, such as 30";
    match value.parse() {
        Ok(seconds @ 1..) => Ok(Duration::from_secs(seconds)),
        _ => Err(StoreError::Setting { name: TIMEOUT, value: value.clone(), expected }),
    }
}

/// How a store's credentials are found.
struct Credentials {
    /// How its variables begin.
    prefix: &'static str,
    /// Those that give another address.
    endpoints: &'static [&'static str],
    /// Variables any of which is enough to try.
    variables: &'static [&'static str],
    /// A file below the home directory that is as good.
    file: Option<&'static str>,
    /// What to set, for people.
    wanted: &'static str,
}

const AMAZON: Credentials = Credentials {
    prefix: "AWS_",
    endpoints: &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
    variables: &[
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
        "AWS_METADATA_ENDPOINT",
    ],
    file: None,
    wanted: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, AWS_REGION where they are needed), \
             or AWS_SKIP_SIGNATURE=true for a public bucket; AWS_PROFILE and files in ~/.aws are not read",
};

const GOOGLE: Credentials = Credentials {
    prefix: "GOOGLE_",
    endpoints: &["GOOGLE_BASE_URL"],
    variables: &[
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_BEARER_TOKEN",
        "GOOGLE_SKIP_SIGNATURE",
    ],
    file: Some(".config/gcloud/application_default_credentials.json"),
    wanted: "set GOOGLE_APPLICATION_CREDENTIALS to a file with a key, run `gcloud auth application-default login`, \
             or set GOOGLE_SKIP_SIGNATURE=true for a public bucket",
};

const AZURE: Credentials = Credentials {
    prefix: "AZURE_",
    endpoints: &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
    variables: &[
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_STORAGE_USE_EMULATOR",
        "AZURE_SKIP_SIGNATURE",
    ],
    file: None,
    wanted: "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, \
             AZURE_USE_AZURE_CLI=true, or AZURE_SKIP_SIGNATURE=true for a public container",
};

/// What to set for the store of a URL.
pub(crate) fn wanted(url: &str) -> &'static str {
    let known = if url.starts_with("s3") {
        AMAZON
    } else if url.starts_with("gs") {
        GOOGLE
    } else {
        AZURE
    };
    known.wanted
}

/// An error if there is nothing to sign requests with. A machine in a cloud may have a service that gives it: asking for that where
/// there is none would take minutes.
fn require(
    address: &Address,
    known: &Credentials,
    variables: &Variables,
) -> Result<(), StoreError> {
    let is_set = |name: &&str| variables.get(*name).is_some_and(|it| !it.is_empty());
    let home = variables.get("HOME").map(std::path::Path::new);
    let has_file = known.file.zip(home).is_some_and(|(file, home)| home.join(file).is_file());
    if known.variables.iter().any(is_set) || has_file {
        return Ok(());
    }
    let is_off = variables.get("AWS_EC2_METADATA_DISABLED").is_some_and(|it| it == "true");
    if !is_off && TcpStream::connect_timeout(&METADATA_SERVICE, PROBE).is_ok() {
        return Ok(());
    }
    let url = address.store.clone();
    Err(StoreError::NoCredentials { url, wanted: known.wanted.to_owned() })
}
