//! Standard input: read once, so that every run of a program gets the same bytes.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::files::claimed;
use crate::interrupt;

/// The wait for the end of the input after which a note tells the user of it.
const SOON: Duration = Duration::from_secs(2);

/// The bytes that every run reads on its standard input.
pub struct Input {
    file: File,
    /// Tells whether standard input is a terminal, which is not read.
    pub(crate) is_terminal: bool,
}

impl Input {
    /// Reads this process's standard input to its end. A terminal is not read: a program that reads the input then gets an error.
    ///
    /// Fails where the input cannot be read, where it is a device without an end, and after an interrupt.
    pub fn read() -> Result<Self> {
        if io::stdin().is_terminal() {
            // A program that reads a folder gets an error; an empty file would pass for an empty input.
            let file = File::open("/").context("cannot open /")?;
            return Ok(Self {
                file,
                is_terminal: true,
            });
        }
        let unreadable = "cannot read standard input";
        let mut stdin = File::from(
            io::stdin()
                .as_fd()
                .try_clone_to_owned()
                .context(unreadable)?,
        );
        let device = stdin
            .metadata()
            .context(unreadable)?
            .file_type()
            .is_char_device();
        let mut file = claimed::file()?;
        let start = Instant::now();
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            let read = || {
                if device && stdin.read(&mut [0])? > 0 {
                    return Ok(None);
                }
                io::copy(&mut stdin, &mut file)?;
                Ok::<_, io::Error>(Some(file))
            };
            // After an interrupt, the receiver is gone.
            let _ = sender.send(read());
        });
        let mut told = false;
        let file = loop {
            match ended.recv_timeout(Duration::from_millis(50)) {
                Ok(file) => break file.context(unreadable)?,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends first"),
                Err(RecvTimeoutError::Timeout) => interrupt::check()?,
            }
            if !told && start.elapsed() > SOON {
                eprintln!(
                    "note: waiting for the end of standard input; `< /dev/null` gives the program an empty one"
                );
                told = true;
            }
        };
        let file = file.ok_or_else(|| {
            Failure::input("standard input is a device without an end")
                .hint("`< FILE` gives each run the same bytes, `< /dev/null` none")
        })?;
        Ok(Self {
            file,
            is_terminal: false,
        })
    }

    /// Returns an input without a byte, for programs that read none. This process's standard input stays as it is.
    pub fn empty() -> Result<Self> {
        Ok(Self {
            file: claimed::file()?,
            is_terminal: false,
        })
    }

    /// Returns the same bytes from their start, for the next run. Runs share a position in the file, so they follow one another.
    pub(crate) fn again(&self) -> Result<Stdio> {
        let mut file = self
            .file
            .try_clone()
            .context("cannot hand on standard input")?;
        file.rewind().context("cannot rewind standard input")?;
        Ok(file.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_input_ends_at_once_in_every_run() {
        let input = Input::empty().unwrap();
        for _ in 0..2 {
            input.again().unwrap();
            assert_eq!(io::read_to_string(&input.file).unwrap(), "");
        }
        assert!(!input.is_terminal);
    }
}
