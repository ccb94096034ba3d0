//! The interactive side of `tambour sql`: a prompt, history, completion, and a few commands of its own.

mod assistant;
mod directive;
mod highlight;

use crate::clock::Start;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::{self, Console, stdout};
use crate::query::{self, Style, confirm, statement};
use assistant::Assistant;
use directive::{After, Settings};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::Write;
use std::path::PathBuf;
use tambour::sql::Session;
use tokio::runtime::Runtime;

const PROMPT: &str = "tambour :) ";
/// Entries that the history file keeps.
const HISTORY_MAX: usize = 10_000;

/// Reads statements and runs them until the user has enough.
pub(crate) fn run(
    session: &Session,
    runtime: &Runtime,
    style: Style,
    interrupt: &Interrupt,
    console: Console,
) -> anyhow::Result<()> {
    interrupt.be_patient();
    let mut settings = Settings { style, timing: !console.is_quiet() };
    let mut editor = editor(session)?;
    let history = history_path();
    if let Some(path) = &history {
        // A first run has none.
        let _ = editor.load_history(path);
    }
    greet(session, console);
    loop {
        let text = match editor.readline(PROMPT) {
            Ok(text) => text,
            // Ctrl-C at the prompt gives up the line, Ctrl-D the shell.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        if text.trim().is_empty() {
            continue;
        }
        if editor.add_history_entry(text.trim_end())? {
            remember(&mut editor, history.as_ref());
        }
        let after = if directive::is_one(&text) {
            directive::run(text.trim(), session, &mut settings)
        } else {
            statements(&text, session, runtime, settings, interrupt)
        };
        match after {
            Ok(After::Exit) => break,
            Ok(After::Continue) => {}
            // What went wrong here is no reason to leave.
            Err(error) => output::report(error.as_ref()),
        }
        interrupt.reset();
    }
    Ok(())
}

fn greet(session: &Session, console: Console) {
    let tables: Vec<String> = session.tables().into_iter().map(|(name, _)| name).collect();
    console.note(format_args!(
        "tambour {}, tables: {}. Statements end with a semicolon; .help tells more.",
        env!("CARGO_PKG_VERSION"),
        if tables.is_empty() { "none".to_owned() } else { tables.join(", ") },
    ));
}

/// Runs the statements of one entry; the first that fails ends it.
fn statements(
    text: &str,
    session: &Session,
    runtime: &Runtime,
    settings: Settings,
    interrupt: &Interrupt,
) -> anyhow::Result<After> {
    // The last semicolon ends what was typed, also after data.
    let text = text.trim_end();
    for statement in statement::split(text.strip_suffix(';').unwrap_or(text)) {
        let start = Start::now();
        let mut target = stdout::data();
        confirm::removal(statement, settings.style)?;
        let work = query::run(session, statement, settings.style, &mut target, interrupt);
        let result = runtime.block_on(work);
        target.flush()?;
        for note in result.iter().flat_map(|outcome| &outcome.notes) {
            let _ = writeln!(anstream::stderr(), "{note}");
        }
        match result {
            Ok(outcome) if settings.timing => {
                let _ = writeln!(anstream::stderr(), "\n{}\n", query::summary(&outcome, false));
            }
            Ok(_) => {}
            Err(error) => {
                if let Some(excerpt) = query::excerpt(&error, statement) {
                    let _ = writeln!(anstream::stderr(), "{excerpt}");
                }
                if Exit::of(error.as_ref()) == Exit::Interrupted {
                    let seconds = start.elapsed().as_secs_f64();
                    anyhow::bail!("query was cancelled after {seconds:.3} sec.");
                }
                return Err(error);
            }
        }
    }
    Ok(After::Continue)
}

fn editor(session: &Session) -> anyhow::Result<Editor<Assistant, FileHistory>> {
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .auto_add_history(false)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(Assistant::new(session)));
    Ok(editor)
}

/// Where the history is kept: the state directory of the user.
fn history_path() -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("tambour/history"))
}

/// Adds the new entry to the history file, which nobody else may read: queries may hold what they are about.
fn remember(editor: &mut Editor<Assistant, FileHistory>, path: Option<&PathBuf>) {
    use std::os::unix::fs::OpenOptionsExt;
    let Some(path) = path else { return };
    let Some(directory) = path.parent() else { return };
    // A history that cannot be kept must not disturb the work.
    let _ = std::fs::create_dir_all(directory);
    let _ = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let _ = editor.append_history(path);
}
