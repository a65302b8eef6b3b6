//! Errors as the user sees them: one clear line, a `hint:`, and an exit code that a script can tell apart.

use std::fmt;

/// The kind of a failure, which decides on the exit code of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// The arguments contradict one another, or have no meaning together.
    Usage,
    /// A check ran to its end and its result is negative: outputs differ, a patch has drifted, a test failed.
    Check,
    /// The tool refuses its input: a patch, a manifest, a tarball, a name, an ISA.
    Input,
    /// The environment does not allow the work: no registry, no space, no permission, another run that holds the lock.
    Environment,
}

impl Kind {
    /// Returns the exit code: 1, 2 as clap's, 3 or 4. An interrupt has 130.
    #[must_use]
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Check => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Environment => 4,
        }
    }
}

/// A failure with its kind and, where one is known, the next thing to try.
#[derive(Debug)]
pub struct Failure {
    /// The kind, which decides on the exit code.
    pub kind: Kind,
    /// The cause in one line; it names the file or the argument.
    pub message: String,
    /// The next step, which is printed after `hint:`.
    pub hint: Option<String>,
}

impl Failure {
    /// Returns a failure of the kind [`Kind::Input`]; `message` names the path.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// Returns a failure of the kind [`Kind::Usage`]; `message` names the argument.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Returns a failure of the kind [`Kind::Check`].
    pub fn check(message: impl Into<String>) -> Self {
        Self::new(Kind::Check, message)
    }

    /// Returns a failure of the kind [`Kind::Environment`].
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

    /// Finds the failure among the causes of `error`; `None` where no module foresaw the error.
    pub fn behind(error: &anyhow::Error) -> Option<&Self> {
        error.chain().find_map(|cause| cause.downcast_ref())
    }

    /// Sets the text that is printed after `hint:`.
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
