//! Work that takes a while: without the interpreter's lock, and so that Ctrl-C ends it. And work that C asks for, when nobody
//! here knows who has the lock.

use crate::failure::Failure;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::thread::ThreadId;
use std::time::Duration;
use tambour::ImportEvent;

/// The thread that signals come to: the one that imported the module, which is Python's main one as a rule. Asking on others
/// would be of no use, and could wait for a lock that its holder gives back only when we are done.
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Remembers the thread that imports the module.
pub(crate) fn imported() {
    MAIN.get_or_init(|| std::thread::current().id());
}

/// An error if the user pressed Ctrl-C.
pub(crate) fn check_signals() -> Result<(), Failure> {
    if MAIN.get() != Some(&std::thread::current().id()) {
        return Ok(());
    }
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is not for all lifetimes"
    )]
    let answer = Python::attach(|py| py.check_signals());
    Ok(answer?)
}

/// Asks for Ctrl-C at most this often.
const PAUSE: Duration = Duration::from_millis(50);

thread_local! {
    static ASKED: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// The same, now and then.
fn check_now_and_then() -> Result<(), Failure> {
    let now = tambour_report::clock::thread_time();
    let due = ASKED.get().is_none_or(|asked| now.saturating_sub(asked) >= PAUSE || now < asked);
    if due {
        ASKED.set(Some(now));
        check_signals()?;
    }
    Ok(())
}

/// What work asks that can be told to stop. The error is kept: the library knows only that it was told.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    raised: Option<Failure>,
}

impl Watch {
    /// Whether to go on.
    pub(crate) fn flow(&mut self) -> ControlFlow<()> {
        self.told(check_now_and_then())
    }

    /// The same for an import, which is asked at once where its next step cannot be taken back.
    pub(crate) fn event(&mut self, event: &ImportEvent<'_>) -> ControlFlow<()> {
        match event {
            ImportEvent::Written => self.told(check_signals()),
            _ => self.flow(),
        }
    }

    fn told(&mut self, answer: Result<(), Failure>) -> ControlFlow<()> {
        match answer {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.raised = Some(failure);
                ControlFlow::Break(())
            }
        }
    }

    /// For work that knows only progress: leaves it as a panic would. Its stores stand a sudden end.
    pub(crate) fn leave(&mut self) {
        if self.flow().is_break() {
            resume_unwind(Box::new(Left));
        }
    }

    /// Runs work with this watch; what it was told to stop for comes out as the error.
    pub(crate) fn run<T>(work: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut watch = Self::default();
        let result = guarded(|| work(&mut watch));
        match watch.raised.take() {
            Some(raised) => Err(raised),
            None => result,
        }
    }
}

/// What work is left with.
struct Left;

/// Runs work; a panic in it is an error of the library, and not the end of the interpreter.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        let text =
            format!("a fault of Tambour, please report it: {}", said.unwrap_or("no message"));
        Err(Failure::Fault(text))
    })
}

/// Runs work without the interpreter's lock.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut Watch) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    Ok(py.detach(|| Watch::run(work))?)
}

/// Runs a callback that C calls. The thread may be one that called out of here with the interpreter's lock and whose callee
/// let go of it, as DuckDB does: pyo3 counts what it took itself and would believe that the lock is still held. Here the lock
/// is taken by Python's own account, and pyo3 told that it is gone while the work runs.
pub(crate) fn called_back<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // SAFETY: any thread may ask at any time.
    let has_interpreter = unsafe { ffi::Py_IsInitialized() } != 0;
    // SAFETY: any thread may ask while there is an interpreter.
    let knows_python =
        has_interpreter && !unsafe { ffi::PyGILState_GetThisThreadState() }.is_null();
    if !knows_python {
        // pyo3 counts nothing here, so there is nothing to set right; and a lock that its holder gives back only after this
        // thread is done must not be waited for.
        return work();
    }
    let _locked = Locked::new();
    let mut work = Some(work);
    let done = Python::try_attach(|py| work.take().map(|work| py.detach(work))).flatten();
    match (done, work) {
        (Some(done), _) => done,
        // The interpreter is on its way out: nobody attaches to it any more.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work was taken and has no result"),
    }
}

/// The interpreter's lock, by Python's own account.
struct Locked(ffi::PyGILState_STATE);

impl Locked {
    fn new() -> Self {
        // SAFETY: the interpreter is initialized, and the thread has a state in it.
        Self(unsafe { ffi::PyGILState_Ensure() })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: given back once, by the thread that took it, the last taken first.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

/// Runs work over bytes of Python: without the interpreter's lock if nobody may write them. Bytes that another thread could
/// write meanwhile, as those of a `bytearray`, keep the lock.
pub(crate) fn over<T: Send>(
    py: Python<'_>,
    is_read_only: bool,
    work: impl FnOnce(&mut Watch) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    if is_read_only {
        return detached(py, work);
    }
    Ok(Watch::run(work)?)
}
