//! Reading from a server on loopback, sound and faulty.

#![expect(
    clippy::unwrap_used,
    clippy::tests_outside_test_module,
    reason = "an integration test is a test module"
)]

mod server;

use server::{Fault, Server};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tambour_object::{StoreError, Variables, open_with};
use tambour_storage::{ReadAt, Storage};

const MIB: usize = 1 << 20;

/// Bytes that tell their places.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at / 4099).to_le_bytes()[0]).collect()
}

fn bucket(server: &Server) -> Arc<dyn Storage> {
    open_with(Path::new("s3://bucket/x"), &server.variables()).unwrap()
}

fn open(storage: &Arc<dyn Storage>, name: &str) -> io::Result<Arc<dyn ReadAt>> {
    storage.open(&Path::new("s3://bucket").join(name))
}

fn read(file: &dyn ReadAt, offset: usize, length: usize) -> io::Result<Vec<u8>> {
    let mut target = vec![0xaa; length];
    file.read_exact_at(&mut target, offset as u64).map(|()| target)
}

/// The message with its causes.
fn text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text = format!("{text}: {error}");
        next = error.source();
    }
    text
}

fn gets(server: &Server) -> Vec<String> {
    let seen = server.seen();
    seen.into_iter().filter(|it| it.starts_with("GET") && !it.contains("list-type")).collect()
}

#[test]
fn reads_anywhere_are_the_objects_bytes() {
    let whole = bytes(3 * MIB + 5);
    let server = Server::start(&[("t/a", &whole), ("t/empty", b"")]);
    let storage = bucket(&server);
    let file = open(&storage, "t/a").unwrap();
    assert_eq!(file.len(), whole.len() as u64);
    for (offset, length) in [(0, 1), (MIB - 3, 7), (0, whole.len()), (3 * MIB, 5), (17, 2 * MIB)] {
        let got = read(&*file, offset, length).unwrap();
        assert!(got == whole[offset..offset + length], "{offset} {length}");
    }
    let past = read(&*file, 3 * MIB, 6).unwrap_err();
    assert_eq!(past.kind(), ErrorKind::UnexpectedEof);
    let empty = open(&storage, "t/empty").unwrap();
    assert!(empty.is_empty() && read(&*empty, 0, 0).is_ok());
    assert_eq!(open(&storage, "t/none").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn reading_in_order_asks_for_more_each_time_and_elsewhere_for_little() {
    let whole = bytes(24 * MIB);
    let server = Server::start(&[("a", &whole)]);
    let storage = bucket(&server);
    let file = open(&storage, "a").unwrap();
    for at in (0..whole.len()).step_by(64 << 10) {
        assert!(read(&*file, at, 64 << 10).unwrap() == whole[at..at + (64 << 10)], "{at}");
    }
    let asked = gets(&server).len();
    assert!(asked <= 14, "{asked} requests for 96 units: {:?}", gets(&server));
    let far = open(&storage, "a").unwrap();
    for at in [20 * MIB, 3 * MIB, 11 * MIB] {
        assert!(read(&*far, at, 10).is_ok());
    }
    for request in &gets(&server)[asked..] {
        let (_, range) = request.rsplit_once("bytes=").unwrap();
        let (first, last) = range.split_once('-').unwrap();
        let length = last.parse::<usize>().unwrap() + 1 - first.parse::<usize>().unwrap();
        assert_eq!(length, 256 << 10, "{request}");
    }
}

#[test]
fn an_object_that_is_replaced_is_an_error_that_names_it() {
    let server = Server::start(&[("a", &bytes(4 * MIB))]);
    let storage = bucket(&server);
    let file = open(&storage, "a").unwrap();
    read(&*file, 0, 10).unwrap();
    server.change(|state| {
        state.objects.insert("a".to_owned(), (vec![1; 4 * MIB], "\"2\"".to_owned()));
    });
    let error = read(&*file, 3 * MIB, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleNetworkFileHandle);
    assert!(error.to_string().contains("s3://bucket/a: changed while it was read"), "{error}");
    server.change(|state| drop(state.objects.remove("a")));
    let error = read(&*file, 2 * MIB, 10).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

#[test]
fn weak_tags_are_compared_in_answers() {
    let server = Server::start(&[("a", &bytes(4 * MIB))]);
    let weak = |tag: &str| format!("W/\"{tag}\"");
    server.change(|state| state.objects.get_mut("a").unwrap().1 = weak("1"));
    let url = format!("http://{}", server.address);
    let storage = open_with(Path::new(&url), &Variables::new()).unwrap();
    let file = storage.open(&Path::new(&url).join("a")).unwrap();
    assert!(read(&*file, 0, 10).is_ok());
    server.change(|state| state.objects.get_mut("a").unwrap().1 = weak("2"));
    let error = read(&*file, 3 * MIB, 10).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
    // Nothing lists a web server.
    let error = storage.list(Path::new(&url)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("tambour.json"), "{error}");
}

#[test]
fn answers_that_end_early_are_gone_on_with_or_an_error() {
    let whole = bytes(2 * MIB);
    let server = Server::start(&[("a", &whole)]);
    let storage = bucket(&server);
    server.change(|state| state.faults = vec![Fault::Truncate, Fault::Truncate]);
    let file = open(&storage, "a").unwrap();
    assert!(read(&*file, 0, whole.len()).unwrap() == whole);
    server.change(|state| (state.faults, state.is_forever) = (vec![Fault::Truncate], true));
    let file = open(&storage, "a").unwrap();
    let error = read(&*file, 0, whole.len()).unwrap_err();
    assert!(text(&error).contains("s3://bucket/a"), "{}", text(&error));
    // Once the server is well, so is the file.
    server.change(|state| state.faults.clear());
    assert!(read(&*file, 0, whole.len()).unwrap() == whole);
}

#[test]
fn a_stall_ends() {
    let whole = bytes(MIB);
    let server = Server::start(&[("a", &whole)]);
    let storage = bucket(&server);
    server.change(|state| state.faults = vec![Fault::Stall]);
    let file = open(&storage, "a").unwrap();
    assert!(read(&*file, 0, MIB).unwrap() == whole, "tried again");
    server.change(|state| (state.faults, state.is_forever) = (vec![Fault::Stall], true));
    let file = open(&storage, "a").unwrap();
    let error = read(&*file, 0, MIB).unwrap_err();
    assert!(text(&error).contains("s3://bucket/a"), "{}", text(&error));
}

#[test]
fn what_is_busy_is_asked_again_and_not_for_ever() {
    let server = Server::start(&[("a", b"rows")]);
    let storage = bucket(&server);
    server.change(|state| state.faults = vec![Fault::Status(503); 2]);
    assert_eq!(read(&*open(&storage, "a").unwrap(), 0, 4).unwrap(), b"rows");
    server.change(|state| (state.faults, state.is_forever) = (vec![Fault::Status(503)], true));
    let before = gets(&server).len();
    let error = text(&read(&*open(&storage, "a").unwrap(), 0, 4).unwrap_err());
    assert!(error.contains("s3://bucket/a") && error.contains("503"), "{error}");
    assert!(error.contains(&server.address), "{error}");
    assert!(gets(&server).len() - before <= 5, "{:?}", gets(&server));
    server.change(|state| state.faults = vec![Fault::Status(403)]);
    let error = read(&*open(&storage, "a").unwrap(), 0, 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(text(&error).contains("check the credentials"), "{error}");
}

#[test]
fn missing_credentials_are_told_at_once() {
    for (url, wanted) in [
        ("s3://bucket/x", "AWS_ACCESS_KEY_ID"),
        ("gs://bucket/x", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("az://files/x", "AZURE_STORAGE_ACCOUNT_NAME"),
    ] {
        let none = [("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned())];
        let error = open_with(Path::new(url), &none.into()).unwrap_err();
        assert!(matches!(error, StoreError::NoCredentials { .. }), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let wrong = [("TAMBOUR_STORE_TIMEOUT".to_owned(), "soon".to_owned())];
    let error = open_with(Path::new("http://host"), &wrong.into()).unwrap_err();
    assert!(error.to_string().contains("TAMBOUR_STORE_TIMEOUT=\"soon\""), "{error}");
}

#[test]
fn endpoints_that_are_no_urls_are_told_at_once() {
    for value in ["127.0.0.1:9", "localhost", "http://", "ftp://host", "http://a b"] {
        let variables = [
            ("AWS_ACCESS_KEY_ID", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_ENDPOINT_URL", value),
        ];
        let variables: Variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let error = open_with(Path::new("s3://bucket/x"), &variables).unwrap_err();
        let wanted = format!("AWS_ENDPOINT_URL={value:?}: expected a URL");
        assert!(error.to_string().contains(&wanted), "{error}");
    }
}

#[test]
fn listings_have_pages_and_are_asked_for_once() {
    let names: Vec<String> = (0..25).map(|it| format!("t/{it:02}/x")).collect();
    let mut objects: Vec<(&str, &[u8])> = names.iter().map(|it| (it.as_str(), &b"x"[..])).collect();
    // Names that look like something else are names.
    for odd in ["t/", "t/a%2Eb.bin", "t/100 %", "t/q?a=1#f", "t/<&>"] {
        objects.push((odd, b"odd"));
    }
    let server = Server::start(&objects);
    server.change(|state| state.page = 7);
    let storage = bucket(&server);
    let entries = storage.list(Path::new("s3://bucket/t")).unwrap();
    let files: Vec<&str> =
        entries.iter().filter(|it| it.is_file).map(|it| it.name.as_str()).collect();
    assert_eq!(files, ["100 %", "<&>", "a%2Eb.bin", "q?a=1#f"]);
    assert_eq!(entries.iter().filter(|it| it.is_directory).count(), 25);
    let asked = server.seen().len();
    assert_eq!(asked, 5);
    assert!(storage.list(Path::new("s3://bucket/t")).is_ok());
    assert!(storage.exists(Path::new("s3://bucket/t/07")).unwrap());
    assert!(!storage.exists(Path::new("s3://bucket/t/77")).unwrap());
    assert_eq!(server.seen().len(), asked, "all of it was known");
    for name in files {
        let file = open(&storage, &format!("t/{name}")).unwrap();
        assert_eq!(read(&*file, 0, 3).unwrap(), b"odd", "{name}");
    }
    let none = storage.list(Path::new("s3://bucket/none")).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[test]
fn names_that_no_path_can_have_are_refused() {
    for odd in ["t/a//b", "t/../b", "t/./b", "t/a\u{1}b"] {
        let server = Server::start(&[("t/good", b"good"), (odd, b"odd")]);
        let storage = bucket(&server);
        let error = storage.list(Path::new("s3://bucket/t"));
        // Below a directory with a good name, nobody comes across it.
        if odd == "t/a//b" {
            assert_eq!(error.unwrap().len(), 2);
            assert!(storage.list(Path::new("s3://bucket/t/a")).is_err(), "{odd:?}");
        } else {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("s3://bucket/t"), "{odd:?}: {error}");
        }
        assert_eq!(read(&*open(&storage, "t/good").unwrap(), 0, 4).unwrap(), b"good");
    }
}

#[test]
fn two_readers_share_a_request_and_one_that_goes_takes_nothing_along() {
    let whole = bytes(256 << 10);
    let server = Server::start(&[("a", &whole)]);
    let storage = bucket(&server);
    server.change(|state| state.faults = vec![Fault::Slow(Duration::from_millis(300))]);
    let file = open(&storage, "a").unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let file = Arc::clone(&file);
            std::thread::spawn(move || read(&*file, 5, 100).unwrap())
        })
        .collect();
    for reader in readers {
        assert!(reader.join().unwrap() == whole[5..105]);
    }
    assert_eq!(gets(&server).len(), 1);
    // Two handles of one object: each has its own units, so that neither waits for the other's end.
    server.change(|state| state.faults = vec![Fault::Slow(Duration::from_millis(300))]);
    let (first, second) = (open(&storage, "a").unwrap(), open(&storage, "a").unwrap());
    let gone = std::thread::spawn(move || read(&*first, 0, 10).map(drop));
    assert!(read(&*second, 0, whole.len()).unwrap() == whole);
    gone.join().unwrap().unwrap();
}

#[test]
fn a_runtime_of_the_callers_is_not_in_the_way() {
    let server = Server::start(&[("a", b"rows")]);
    let storage = bucket(&server);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let got = runtime.block_on(async { read(&*open(&storage, "a").unwrap(), 0, 4).unwrap() });
    assert_eq!(got, b"rows");
}
