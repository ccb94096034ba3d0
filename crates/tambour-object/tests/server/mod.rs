//! A server on loopback that speaks as much of S3 as reading needs, and does what a test tells it to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tambour_object::Variables;

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    /// The head promises more than comes.
    Truncate,
    /// Half of the body, then nothing.
    Stall,
    /// The answer takes this long.
    Slow(Duration),
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Objects with their tags.
    pub(crate) objects: BTreeMap<String, (Vec<u8>, String)>,
    /// Faults of the next GET requests of objects; the last stays if `is_forever`.
    pub(crate) faults: Vec<Fault>,
    pub(crate) is_forever: bool,
    /// Heads of requests, without their headers but Range and If-Match.
    pub(crate) seen: Vec<String>,
    /// Keys of one page of a listing.
    pub(crate) page: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start(objects: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut state = State { page: 1000, ..State::default() };
        for (key, bytes) in objects {
            state.objects.insert((*key).to_owned(), (bytes.to_vec(), "\"1\"".to_owned()));
        }
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// The environment of a client of this server.
    pub(crate) fn variables(&self) -> Variables {
        let set = [
            ("AWS_ACCESS_KEY_ID", "me"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_ENDPOINT_URL", &format!("http://{}", self.address)),
            ("TAMBOUR_STORE_TIMEOUT", "1"),
        ];
        set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }

    /// The requests until now.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.clone()
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        if answer(stream, &lines, state).is_none() {
            return;
        }
    }
}

fn header<'a>(lines: &'a [String], name: &str) -> Option<&'a str> {
    let found = lines.iter().filter_map(|line| line.split_once(": "));
    found.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if let (b'%', [high, low, tail @ ..]) = (byte, tail) {
            let digits = [*high, *low];
            let digits = std::str::from_utf8(&digits).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = tail;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// One answer; `None` ends the connection.
fn answer(stream: &TcpStream, lines: &[String], state: &Mutex<State>) -> Option<()> {
    let mut words = lines.first()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let range = header(lines, "range");
    let mut state = state.lock().unwrap();
    state.seen.push(format!("{method} {target} {}", range.unwrap_or("-")));
    if query.contains("list-type=2") {
        let body = list(&state, query);
        return send(stream, "200 OK", "", body.as_bytes(), None);
    }
    let key = decoded(path.strip_prefix("/bucket/").unwrap_or(path.trim_start_matches('/')));
    let fault = match state.faults.first().copied().filter(|_| method == "GET") {
        Some(fault) if state.is_forever => Some(fault),
        Some(_) => Some(state.faults.remove(0)),
        None => None,
    };
    let found = state.objects.get(&key).cloned();
    drop(state);
    if let Some(Fault::Status(status)) = fault {
        return send(
            stream,
            &format!("{status} No"),
            "",
            b"<Error><Code>SlowDown</Code></Error>",
            None,
        );
    }
    let Some((bytes, tag)) = found else { return send(stream, "404 Not Found", "", b"", None) };
    if header(lines, "if-match").is_some_and(|wanted| wanted != tag) {
        return send(stream, "412 Precondition Failed", "", b"", None);
    }
    let mut head = format!("ETag: {tag}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n");
    if method == "HEAD" {
        let text = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n", bytes.len());
        let mut target = stream;
        return target.write_all(text.as_bytes()).ok();
    }
    let Some((first, last)) = range.and_then(|it| it.strip_prefix("bytes=")?.split_once('-'))
    else {
        return send(stream, "200 OK", &head, &bytes, fault);
    };
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    let last = last.min(bytes.len() - 1);
    let _ = write!(head, "Content-Range: bytes {first}-{last}/{}\r\n", bytes.len());
    send(stream, "206 Partial Content", &head, &bytes[first..=last], fault)
}

fn send(
    stream: &TcpStream,
    status: &str,
    head: &str,
    body: &[u8],
    fault: Option<Fault>,
) -> Option<()> {
    if let Some(Fault::Slow(time)) = fault {
        std::thread::sleep(time);
    }
    let mut target = stream;
    let text = format!("HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\r\n", body.len());
    target.write_all(text.as_bytes()).ok()?;
    match fault {
        Some(Fault::Truncate) => {
            target.write_all(&body[..body.len() / 2]).ok()?;
            let _ = stream.shutdown(std::net::Shutdown::Both);
            None
        }
        Some(Fault::Stall) => {
            target.write_all(&body[..body.len() / 2]).ok()?;
            std::thread::sleep(Duration::from_secs(20));
            None
        }
        _ => target.write_all(body).ok(),
    }
}

/// `ListObjectsV2` with a delimiter and continuation tokens, which are places in the list.
fn list(state: &State, query: &str) -> String {
    let value = |name: &str| {
        let found = query.split('&').filter_map(|pair| pair.split_once('='));
        found.into_iter().find(|(own, _)| *own == name).map(|(_, value)| decoded(value))
    };
    let prefix = value("prefix").unwrap_or_default();
    let start: usize = value("continuation-token").map_or(0, |it| it.parse().unwrap());
    let mut found: Vec<(String, Option<(usize, String)>)> = Vec::new();
    for (key, (bytes, tag)) in &state.objects {
        let Some(rest) = key.strip_prefix(&prefix) else { continue };
        let entry = match rest.split_once('/') {
            Some((directory, _)) => (format!("{prefix}{directory}/"), None),
            None => (key.clone(), Some((bytes.len(), tag.clone()))),
        };
        if found.last().is_none_or(|last| last.0 != entry.0) {
            found.push(entry);
        }
    }
    let mut text = "<?xml version=\"1.0\"?><ListBucketResult>".to_owned();
    for (key, object) in found.iter().skip(start).take(state.page) {
        let key = key.replace('&', "&amp;").replace('<', "&lt;").replace('\u{1}', "&#1;");
        let _ = match object {
            None => write!(text, "<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"),
            Some((size, tag)) => write!(
                text,
                "<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{tag}</ETag>\
                 <LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            ),
        };
    }
    if start + state.page < found.len() {
        let next = start + state.page;
        let _ = write!(text, "<NextContinuationToken>{next}</NextContinuationToken>");
    }
    text + "</ListBucketResult>"
}
