//! Ctrl-C: a flag that long work looks at, and a future that queries race against.

use crate::exit::{Exit, Failure};
use crate::output;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Time for an orderly end. Stores stand a sudden one: what is not committed rolls back when they are opened next.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the user said stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    raised: AtomicBool,
    patient: AtomicBool,
    notify: Notify,
}

impl Interrupt {
    /// Listens from now on. The first Ctrl-C asks for an orderly end; a second one, or a while without that end, ends the
    /// process at once.
    pub(crate) fn listen() -> Self {
        static LISTENER: OnceLock<Interrupt> = OnceLock::new();
        LISTENER
            .get_or_init(|| {
                let interrupt = Self::default();
                let raised = interrupt.clone();
                // Without the thread Ctrl-C ends the process at once, which is right as well.
                let _ = std::thread::Builder::new()
                    .name("interrupt".to_owned())
                    .spawn(move || raised.forward());
                interrupt
            })
            .clone()
    }

    /// From now on only a second Ctrl-C ends the process: a shell goes on after a query that was cancelled.
    pub(crate) fn be_patient(&self) {
        self.0.patient.store(true, Ordering::SeqCst);
    }

    /// From now on SIGTERM asks for an orderly end too, and only a second signal ends the process at once.
    pub(crate) fn be_terminable(&self) -> std::io::Result<()> {
        self.be_patient();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut terminate = {
            let _entered = runtime.enter();
            signal(SignalKind::terminate())?
        };
        let interrupt = self.clone();
        std::thread::Builder::new().name("terminate".to_owned()).spawn(move || {
            while runtime.block_on(terminate.recv()).is_some() {
                if interrupt.0.raised.swap(true, Ordering::SeqCst) {
                    at_once();
                }
                interrupt.0.notify.notify_waiters();
            }
        })?;
        Ok(())
    }

    fn forward(&self) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if self.0.raised.swap(true, Ordering::SeqCst) {
                    at_once();
                }
                self.0.notify.notify_waiters();
                if !self.0.patient.load(Ordering::SeqCst) {
                    // Either way the time is up.
                    let _ = tokio::time::timeout(PATIENCE, tokio::signal::ctrl_c()).await;
                    at_once();
                }
            }
        });
    }

    /// An error if the user said stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.0.raised.load(Ordering::SeqCst) { Err(Failure::Interrupted) } else { Ok(()) }
    }

    /// The same for work that asks its caller whether to go on.
    pub(crate) fn flow(&self) -> ControlFlow<()> {
        match self.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Forgets a Ctrl-C that was obeyed.
    pub(crate) fn reset(&self) {
        self.0.raised.store(false, Ordering::SeqCst);
    }

    /// Waits until the user says stop.
    pub(crate) async fn raised(&self) {
        loop {
            let notified = self.0.notify.notified();
            if self.check().is_err() {
                return;
            }
            notified.await;
        }
    }
}

#[expect(clippy::exit, reason = "the user does not want to wait any longer")]
fn at_once() -> ! {
    output::report(&Failure::Interrupted);
    std::process::exit(i32::from(Exit::Interrupted.code()))
}
