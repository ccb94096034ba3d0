//! `tambour pages`: stores of compressed pages.

pub(crate) mod arguments;
mod copy;
mod examine;
pub(crate) mod single;
mod space;
pub(crate) mod sqlite;
mod work;

use crate::exit::Failure;
use crate::output::{Console, stdout};
use arguments::{MakeArguments, PagesAction};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use tambour::page::{Access, Options, PageError, Store};

/// Runs an action.
pub(crate) fn run(action: &PagesAction, console: Console) -> anyhow::Result<()> {
    match action {
        PagesAction::Create(arguments) => {
            // What is wrong with them is found out before anything is removed.
            let options = options(&arguments.make)?;
            if arguments.force {
                remove(&arguments.store)?;
            }
            Ok(Store::create(&arguments.store, &options)?.close()?)
        }
        PagesAction::Load(arguments) => work::load(arguments, console),
        PagesAction::Get(arguments) => single::get(arguments),
        PagesAction::Put(arguments) => single::put(arguments, console),
        PagesAction::Scan(arguments) => work::scan(arguments, console),
        PagesAction::Update(arguments) => work::update(arguments, console),
        PagesAction::Compact(arguments) => work::compact(arguments, console),
        PagesAction::Stat(arguments) => examine::stat(&arguments.store, arguments.json),
        PagesAction::Verify(arguments) => {
            examine::verify(&arguments.store, arguments.level.into(), arguments.json, console)
        }
        PagesAction::Backup(arguments) => copy::backup(arguments, console),
        PagesAction::Restore(arguments) => copy::restore(arguments, console),
        PagesAction::Convert(arguments) => copy::convert(arguments, console),
        PagesAction::Space(arguments) => space::run(arguments, console),
        PagesAction::Sqlite(arguments) => sqlite::run(arguments, console),
        PagesAction::Doctor(arguments) => examine::doctor(arguments),
    }
}

/// What a store is, for `tambour inspect`.
pub(crate) fn inspect(path: &Path, json: bool) -> anyhow::Result<()> {
    examine::stat(path, json)
}

/// Checks a store, for `tambour verify`.
pub(crate) fn verify(path: &Path, json: bool, console: Console) -> anyhow::Result<()> {
    examine::verify(path, tambour::page::Level::Decode, json, console)
}

/// The file beside a store with holes.
fn map_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".map");
    PathBuf::from(name)
}

/// So often, and so for two seconds, a store is looked at that others use by turns: an SQLite database between transactions.
const LOOKS: usize = 400;
/// Between two looks.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);

/// Opens a store, and waits a little for who has it for a transaction.
fn opened(path: &Path, access: Access) -> Result<Store, PageError> {
    for _ in 0..LOOKS {
        match Store::open(path, access) {
            Err(PageError::Locked { .. }) => std::thread::sleep(PAUSE),
            opened => return opened,
        }
    }
    Store::open(path, access)
}

/// True if a path leads to a store of pages.
pub(crate) fn is_store(path: &Path) -> bool {
    use std::os::unix::fs::FileExt;
    let begins = |path: &Path, at: u64| {
        let mut head = [0; 8];
        let read = std::fs::File::open(path).and_then(|file| file.read_exact_at(&mut head, at));
        read.is_ok() && head == *b"TAMBPAGE"
    };
    [path.to_owned(), map_of(path)].iter().any(|path| begins(path, 0) || begins(path, 4096))
}

/// Removes a store that is to be replaced.
fn remove(path: &Path) -> anyhow::Result<()> {
    if path.exists() && !is_store(path) && std::fs::metadata(path)?.len() > 0 {
        let text = format!("{}: not a page store, so it is not replaced", path.display());
        return Err(Failure::Conflict(text).into());
    }
    for path in [path.to_owned(), map_of(path)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Refuses to write results over a file of the store that they come from.
fn check_apart(store: &Path, target: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let identity =
        |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let is_target = |path: &Path| {
        path == target || identity(target).is_some_and(|wanted| identity(path) == Some(wanted))
    };
    if is_target(store) || is_target(&map_of(store)) {
        let text = format!("{} belongs to the store that is read", target.display());
        return Err(Failure::Conflict(text));
    }
    Ok(())
}

fn options(make: &MakeArguments) -> Result<Options, Failure> {
    let options = Options {
        page_bytes: usize::try_from(make.page_size.0).unwrap_or(usize::MAX),
        layout: make.layout.into(),
        codec: make.codec,
        granule: make.granule.0,
        ..Options::default()
    };
    options.check().map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(options)
}

/// Tells a result: as JSON, or as lines of name and value.
fn tell(json: bool, command: &str, facts: &[(&str, serde_json::Value)]) -> anyhow::Result<()> {
    if json {
        let mut object = serde_json::Map::new();
        object.insert("schema".to_owned(), json!(format!("tambour/pages {command}/1")));
        object.extend(facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        return Ok(stdout::json(&serde_json::Value::Object(object))?);
    }
    let mut target = stdout::text();
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_array() && !value.is_object()) {
        let value = match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) if number.is_u64() => {
                crate::output::quantity::grouped(number.as_u64().unwrap_or(0))
            }
            serde_json::Value::Number(number) => {
                format!("{:.3}", number.as_f64().unwrap_or(0.0))
            }
            other => other.to_string(),
        };
        writeln!(target, "{:<28} {value}", name.replace('_', " "))?;
    }
    Ok(target.flush()?)
}
