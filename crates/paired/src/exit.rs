//! The end of a tool's process: its exit code, and its last lines on stderr.

use std::any::Any;
use std::io::{self, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use anyhow::Result;

use crate::error::{Failure, Kind};
use crate::interrupt::{self, Interrupted};
use crate::run::launch;
use crate::terminal::print_line;

/// Plays the part of a guard or of a recorder, if this process is one that the tool has started for that.
pub fn other_part() -> Option<ExitCode> {
    launch::record().or_else(interrupt::guard)
}

/// Runs a tool to its end, where signals end the children that it has started. Hints are printed as `hint` returns them.
///
/// Exit codes: 0 done, 1 a check failed, 2 usage, 3 input refused, 4 the surroundings do not allow it, 130 interrupted.
pub fn run(tool: impl FnOnce() -> Result<()>, hint: fn(&str) -> String) -> ExitCode {
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if unprinted(panic.payload()).is_none() {
            report_panic(panic);
        }
    }));
    let payload = match panic::catch_unwind(AssertUnwindSafe(|| guarded(tool))) {
        Ok(Ok(())) => return ExitCode::SUCCESS,
        Ok(Err(error)) => return report(&error, hint),
        Err(payload) => payload,
    };
    match unprinted(&*payload) {
        // Nobody reads any more, as in `| head`.
        Some(why) if why.contains("Broken pipe") => ExitCode::SUCCESS,
        Some(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::from(Kind::Environment.code())
        }
        None => panic::resume_unwind(payload),
    }
}

/// Returns the message of the panic by which `println!` and `eprintln!` say that they cannot write. Guards on the stack have done
/// their work.
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

/// Prints what went wrong and gives the exit code that goes with it.
fn report(error: &anyhow::Error, shown: fn(&str) -> String) -> ExitCode {
    print_line("error", &format!("{error:#}"));
    if error.is::<Interrupted>() {
        return ExitCode::from(interrupt::CODE);
    }
    let failure = Failure::behind(error);
    if let Some(hint) = failure.and_then(|failure| failure.hint.as_ref()) {
        print_line("hint", &shown(hint));
    }
    ExitCode::from(
        failure
            .map_or_else(|| unforeseen(error), |failure| failure.kind)
            .code(),
    )
}

/// Returns the kind of an error that no module foresaw: an operation of the system failed, or refused what it was given, such as a
/// pipe in place of a file.
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
