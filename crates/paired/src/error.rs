//! Errors as the user sees them: one clear line, a `hint:`, and an exit code that a script can tell apart.

use std::fmt;

/// The kind of a failure; the process exits with [`Kind::code`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A check that ran to its end and did not hold: outputs differ, a patch has drifted, a test failed.
    Check,
    /// Input the tool refuses: a patch, a manifest, a tarball, a name, an ISA.
    Input,
    /// The surroundings: no registry, no space, no permission, another run at work.
    Environment,
}

impl Kind {
    /// Exit code. Clap keeps 2 for usage errors; 130 is an interrupt.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Check => 1,
            Self::Input => 3,
            Self::Environment => 4,
        }
    }
}

/// A failure with its kind and, where one is known, the next thing to try.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    /// Input that is refused; `message` names the path.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// A check that failed.
    pub fn check(message: impl Into<String>) -> Self {
        Self::new(Kind::Check, message)
    }

    /// The surroundings do not allow it.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(Kind::Environment, message)
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// The failure behind `error`, where a module foresaw it.
    pub fn behind(error: &anyhow::Error) -> Option<&Self> {
        error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// Adds the line printed after `hint:`.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
