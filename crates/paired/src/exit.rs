//! The end of a tool's process: its exit code, and its last lines on stderr.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic;
use std::process::ExitCode;
use std::thread;

use anyhow::Result;

use crate::error::{Failure, Kind};
use crate::interrupt::{self, Interrupted};
use crate::run::launch;
use crate::terminal::print_line;

/// Runs this process as a guard or as a recorder, if the tool has started it as one, and returns its exit code.
///
/// A tool calls this before it reads its own arguments: the library starts the tool's executable again, as the guard of its
/// child processes and as the runner that cargo calls. `None` means that this process is the tool itself.
pub fn other_part() -> Option<ExitCode> {
    launch::record().or_else(interrupt::guard)
}

/// Bytes of the stack that a tool runs on. Cargo's own parser calls itself for each level of a `cfg(..)`, and takes manifests
/// that are too deep for the stack of a main thread.
const STACK: usize = 1 << 26;

/// Runs a tool to its end and prints its error, if it has one. Signals end the child processes that it has started.
///
/// `hint` rewrites the hint before it is printed. A panic of `tool` continues, unless a `println!` or `eprintln!` could not write.
///
/// Exit codes: 0 success, 1 a check failed, 2 usage, 3 input refused, 4 the environment does not allow it, 130 interrupted.
pub fn run(tool: impl FnOnce() -> Result<()> + Send, hint: fn(&str) -> String) -> ExitCode {
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if unprinted(panic.payload()).is_none() {
            report_panic(panic);
        }
    }));
    let ended = thread::scope(|scope| {
        let thread = thread::Builder::new().name("main".to_owned());
        let started = thread
            .stack_size(STACK)
            .spawn_scoped(scope, || guarded(tool));
        started.map(|thread| thread.join())
    });
    let payload = match ended {
        Ok(Ok(Ok(()))) => return ExitCode::SUCCESS,
        Ok(Ok(Err(error))) => return report(&error, hint),
        Ok(Err(payload)) => payload,
        Err(error) => {
            let failure = Failure::environment(format!("cannot start a thread: {error}"));
            return report(&failure.into(), hint);
        }
    };
    match unprinted(&*payload) {
        // The reader has closed the pipe, as `| head` does.
        Some(why) if why.contains("Broken pipe") => ExitCode::SUCCESS,
        Some(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::from(Kind::Environment.code())
        }
        None => panic::resume_unwind(payload),
    }
}

/// Returns the message of a panic of `println!` or `eprintln!` that cannot write. Destructors have run by then, as after an
/// error.
fn unprinted(payload: &dyn Any) -> Option<&str> {
    let message = payload.downcast_ref::<String>()?;
    message
        .starts_with("failed printing to std")
        .then_some(message)
}

fn guarded(tool: impl FnOnce() -> Result<()>) -> Result<()> {
    let _guarded = interrupt::install()?;
    tool()
}

/// Prints an error with its hint, and returns the exit code.
fn report(error: &anyhow::Error, shown: fn(&str) -> String) -> ExitCode {
    print_with_hint("error", &format!("{error:#}"), error, shown);
    if error.is::<Interrupted>() {
        return ExitCode::from(interrupt::CODE);
    }
    ExitCode::from(
        Failure::behind(error)
            .map_or_else(|| unforeseen(error), |failure| failure.kind)
            .code(),
    )
}

/// Prints a line about an error, `label: text`, and below it the error's hint, which `hint` rewrites.
pub fn print_with_hint(label: &str, text: &str, error: &anyhow::Error, hint: fn(&str) -> String) {
    print_line(label, text);
    let failure = Failure::behind(error);
    if let Some(found) = failure.and_then(|failure| failure.hint.as_ref()) {
        print_line("hint", &hint(found));
    }
}

/// Returns the kind of an error that no module foresaw: the input's, where the system refused it, such as a pipe in place of a
/// file, and otherwise the environment's.
fn unforeseen(error: &anyhow::Error) -> Kind {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref());
    let is_input = |cause: &io::Error| {
        [io::ErrorKind::InvalidData, io::ErrorKind::InvalidInput].contains(&cause.kind())
    };
    match causes.into_iter().any(is_input) {
        true => Kind::Input,
        false => Kind::Environment,
    }
}
