//! Work outside of Python's lock, which reports to a function of Python's and hears Ctrl-C.
//!
//! The work runs in a pool of its own; the thread that called waits, passes events on, and looks for signals. So a function
//! that listens is always called by the thread that asked for the work.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fpsrl::progress::{Event, Progress, Status, Stop};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{About, raised};

/// How long Ctrl-C may go unheard, and how often listeners are told of progress at most.
const PAUSE: Duration = Duration::from_millis(50);

/// The threads that do all work, and the process that they are of: a forked process inherits none of them.
static POOL: Mutex<Option<(u32, usize, Arc<ThreadPool>)>> = Mutex::new(None);

/// The pool of this process.
pub fn pool() -> PyResult<Arc<ThreadPool>> {
    pool_of(None)
}

/// The pool of so many threads; of as many as it has, or of as many as the machine has cores, if nobody says.
fn pool_of(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    let known = kept.as_ref().map_or(0, |(_, count, _)| *count);
    let threads = threads.unwrap_or(known);
    if let Some((of, count, pool)) = &*kept
        && *of == process
        && threads == *count
    {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|index| format!("fpsrl-{index}")).build();
    let pool = Arc::new(pool.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?);
    let old = kept.replace((process, threads, Arc::clone(&pool)));
    if let Some((of, _, old)) = old
        && of != process
    {
        // Its threads are in another process; waiting for their end would never end.
        std::mem::forget(old);
    }
    Ok(pool)
}

/// Sets how many threads work from now on; 0 is as many as the machine has.
#[pyfunction]
pub fn set_threads(count: usize) -> PyResult<()> {
    pool_of(Some(count)).map(drop)
}

/// What came of work: its result, or the exception of whoever ended it early.
pub enum Outcome<T> {
    Done(T),
    Ended(PyErr),
}

/// Does work; an exception of a listener, or Ctrl-C, stops it and is raised when it has stopped.
pub fn watched<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    about: About,
    work: impl FnOnce(&Progress) -> fpsrl::Result<T> + Send,
) -> PyResult<T> {
    match watched_closely(py, listener, about, work)? {
        Outcome::Done(value) => Ok(value),
        Outcome::Ended(exception) => Err(exception),
    }
}

/// The same; the caller decides what to raise for work that was ended early.
pub fn watched_closely<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    about: About,
    work: impl FnOnce(&Progress) -> fpsrl::Result<T> + Send,
) -> PyResult<Outcome<T>> {
    let pool = pool()?;
    let stop = Stop::default();
    let (sender, events) = channel();
    let progress = Progress::new(move |event| {
        // Nobody is left to listen once the caller has gone.
        let _ = sender.send(event.clone());
    })
    .stopped_by(&stop);
    let listener = listener.map(|listener| listener.clone().unbind());
    let (done, exception) = py.detach(move || {
        std::thread::scope(|scope| {
            // It owns the sender: the channel closes when the work is over.
            let worker = scope.spawn(move || pool.install(|| work(&progress)));
            let exception = listen(&events, listener.as_ref(), &stop);
            (worker.join(), exception)
        })
    });
    let result = done.map_err(|_| {
        raised(py, &fpsrl::Error::Internal("the work panicked; please report it with the messages above"), about)
    })?;
    match (exception, result) {
        (None, Ok(value)) => Ok(Outcome::Done(value)),
        (None, Err(error)) => Err(raised(py, &error, about)),
        (Some(exception), Ok(_)) => Err(exception),
        (Some(exception), Err(_)) => Ok(Outcome::Ended(exception)),
    }
}

/// Passes events on until the work is over; returns the first exception.
fn listen(events: &Receiver<Event>, listener: Option<&Py<PyAny>>, stop: &Stop) -> Option<PyErr> {
    let mut exception = None;
    let mut latest: Option<Event> = None;
    let mut waiting: Vec<Event> = Vec::new();
    let mut told = std::time::Instant::now();
    loop {
        let open = match events.recv_timeout(PAUSE) {
            Ok(event @ Event::Advanced { .. }) => {
                latest = Some(event);
                true
            }
            Ok(event) => {
                waiting.extend(latest.take());
                waiting.push(event);
                true
            }
            Err(RecvTimeoutError::Timeout) => true,
            Err(RecvTimeoutError::Disconnected) => false,
        };
        // Work reports far more often than anybody looks.
        if open && told.elapsed() < PAUSE {
            continue;
        }
        told = std::time::Instant::now();
        waiting.extend(latest.take());
        let tell = |py: Python<'_>| {
            py.check_signals()?;
            match listener {
                Some(listener) => waiting.iter().try_for_each(|event| tell(py, listener, event)),
                None => Ok(()),
            }
        };
        if exception.is_none()
            && let Err(error) = Python::attach(tell)
        {
            stop.request();
            exception = Some(error);
        }
        waiting.clear();
        if !open {
            return exception;
        }
    }
}

/// Tells a listener of an event, as plain values.
fn tell(py: Python<'_>, listener: &Py<PyAny>, event: &Event) -> PyResult<()> {
    let values = match event {
        Event::Began { stage, total } => ("began", stage.name(), 0, *total, String::new(), None),
        Event::Advanced { stage, done, status } => {
            let best = match status {
                Status::Best { value, .. } | Status::Thinning { value, .. } => Some(*value),
                _ => None,
            };
            ("advanced", stage.name(), *done, 0, status.to_string(), best)
        }
        Event::Ended { stage } => ("ended", stage.name(), 0, 0, String::new(), None),
        Event::Noticed(notice) => ("noticed", "", 0, 0, notice.to_string(), None),
        _ => return Ok(()),
    };
    listener.call1(py, values).map(drop)
}

/// Whether an exception is Ctrl-C.
pub fn is_interrupt(py: Python<'_>, exception: &PyErr) -> bool {
    exception.is_instance_of::<PyKeyboardInterrupt>(py)
}
