//! Finds out how cargo starts a program: the arguments, the folder, the environment and the runner.
//!
//! Cargo is given this tool's executable as the runner. The executable prints the arguments, folder and environment that it was
//! started with, and does not run the program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::iter;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use anyhow::{Context, Result};
use cargo_metadata::cargo_platform::{Cfg, CfgExpr};
use toml_edit::{Item, Table, Value};

use crate::cargo::origin;

/// The first argument of this tool's executable where cargo starts it as a runner.
const RECORD: &str = "record-launch";

/// The bytes that mark the beginning of a record in cargo's output.
const MARK: &[u8] = b"\0p3-patches launch\0";

/// A program as cargo starts it.
#[derive(Debug, PartialEq)]
pub(crate) struct Launch {
    /// The path by which cargo starts the program, relative to `folder`.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// Prints the record of this process, if cargo started it as a runner, and returns its exit code.
pub(crate) fn record() -> Option<ExitCode> {
    let mut args = env::args_os().skip(1);
    if args.next()? != RECORD {
        return None;
    }
    let written = env::current_dir().and_then(|folder| {
        let record = written(folder.as_os_str(), args.collect(), env::vars_os().collect());
        io::stdout().write_all(&record)
    });
    if let Err(error) = written {
        eprintln!("error: cannot record how cargo starts the program: {error}");
    }
    // After a failed test, cargo starts no other one and compiles no doctest.
    Some(ExitCode::FAILURE)
}

fn written(folder: &OsStr, args: Vec<OsString>, variables: Vec<(OsString, OsString)>) -> Vec<u8> {
    let variables = variables
        .into_iter()
        .flat_map(|(name, value)| [name, value]);
    let variables: Vec<_> = variables.collect();
    let lengths = [args.len(), variables.len()].map(|length| length.to_string().into());
    let fields = iter::once(folder.to_owned()).chain(lengths).chain(args);
    let mut record = MARK.to_vec();
    for field in fields.chain(variables) {
        record.extend(field.as_bytes());
        record.push(0);
    }
    record
}

impl Launch {
    /// Reads the first record in cargo's output; `None` where there is none.
    pub(crate) fn read(printed: &[u8]) -> Option<Self> {
        let mark = printed.windows(MARK.len()).position(|part| part == MARK)?;
        let fields = printed[mark + MARK.len()..].split(|byte| *byte == 0);
        let mut fields = fields.map(|field| OsString::from_vec(field.to_vec()));
        let folder = fields.next()?.into();
        let mut length = || fields.next()?.to_str()?.parse().ok();
        let (args, variables): (usize, usize) = (length()?, length()?);
        let mut args = fields.by_ref().take(args);
        let program = args.next()?.into();
        let args = args.collect();
        let variables: Vec<_> = fields.take(variables).collect();
        let pairs = variables.chunks_exact(2);
        let pairs = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
        Some(Self {
            program,
            args,
            folder,
            environment: pairs.collect(),
        })
    }
}

/// Returns the value of `--config` that makes this tool's executable cargo's runner for `triple`.
///
/// Options outrank variables and files, but a list and a string are not merged. Cargo divides a string at spaces, so the
/// executable goes by a name without any where the system has one.
pub(crate) fn recorded(configuration: &Table, triple: &str) -> Result<String> {
    let executable = if cfg!(target_os = "linux") {
        format!("/proc/{}/exe", process::id())
    } else {
        let executable =
            env::current_exe().context("the system does not tell the path of this executable")?;
        executable.to_string_lossy().into_owned()
    };
    let runner: Value = match of_triple(configuration, triple) {
        Some(Value::String(_)) => format!("{executable} {RECORD}").into(),
        _ => [&executable, RECORD].into_iter().collect(),
    };
    Ok(format!("target.'{triple}'.runner={runner}"))
}

/// Returns the runner in the configuration of a platform, `target.TRIPLE`.
pub(crate) fn of_triple<'a>(configuration: &'a Table, triple: &str) -> Option<&'a Value> {
    runner(configuration.get("target")?.get(triple)?)
}

/// Returns the runner of the first table `target.'cfg(..)'` that matches `cfg`. Cargo refuses several that match.
pub(crate) fn of_cfg(
    configuration: &Table,
    cfg: impl FnOnce() -> Result<Vec<Cfg>>,
) -> Result<Option<&Value>> {
    let targets = configuration.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(|targets| targets.iter());
    let runners = targets.filter_map(|(key, table)| Some((key, runner(table)?)));
    let runners: Vec<_> = runners.filter(|(key, _)| key.starts_with("cfg(")).collect();
    if runners.is_empty() {
        return Ok(None);
    }
    let cfg = cfg()?;
    let mut matching = runners
        .into_iter()
        .filter(|(key, _)| CfgExpr::matches_key(key, &cfg));
    Ok(matching.next().map(|(_, runner)| runner))
}

fn runner(table: &Item) -> Option<&Value> {
    table.get("runner")?.as_value()
}

/// Splits a runner into words, and makes the path of its program absolute. A relative path starts beside the folder `.cargo` of
/// the configuration file that sets it, or in `current`, where cargo is started, for an option or a variable.
pub(crate) fn words(runner: &Value, current: &Path) -> Vec<OsString> {
    let words: Vec<_> = match runner {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => runner
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect(),
    };
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    if let Some(program) = words
        .first_mut()
        .filter(|program| program.as_bytes().contains(&b'/'))
    {
        let file = origin(runner).map(Path::new);
        let file = file.filter(|origin| origin.is_absolute());
        let root = file.map_or(Some(current), |file| file.parent()?.parent());
        *program = root.unwrap_or(current).join(&program).into();
    }
    words
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[test]
    fn any_bytes_are_read_as_they_were_written() {
        let word = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let launch = Launch {
            program: "target/release/prove".into(),
            args: vec![word(b""), word(b"\xff\n"), word(b"--bench")],
            folder: "/a b".into(),
            environment: vec![(word(b"A"), word(b"=\xfe")), (word(b"B"), word(b""))],
        };
        let args = iter::once(launch.program.clone().into()).chain(launch.args.clone());
        let record = written("/a b".as_ref(), args.collect(), launch.environment.clone());
        let printed = [b"running 1 test\n\0", &*record, b"test result\n", &record].concat();
        assert_eq!(Launch::read(&printed), Some(launch));
        assert_eq!(Launch::read(b"error: no such program"), None);
    }

    /// Output of cargo 1.95.
    const CONFIGURATION: &str = r#"
target.riscv64gc-unknown-linux-gnu.runner = "qemu-riscv64  -cpu rv64" # /home/user/.cargo/config.toml
target.wasm32-wasip1.runner = [
    "../run it", # /prover/.cargo/config.toml
    "a word", # /prover/.cargo/config.toml
]
target.x86_64-unknown-linux-gnu.runner = [
    "./run", # --config cli option
]
target."cfg(target_os = \"linux\")".runner = "bin/time -v" # environment variable `CARGO_TARGET`
target."cfg(windows)".runner = "wine" # /prover/.cargo/config.toml
# The following environment variables may affect the loaded values.
# CARGO_TARGET_DIR=/target
"#;

    #[test]
    fn a_runner_starts_at_the_file_that_names_it() {
        let configuration: DocumentMut = CONFIGURATION.parse().unwrap();
        let words = |runner: Option<&Value>| words(runner.unwrap(), Path::new("/here"));
        for (triple, expected) in [
            (
                "riscv64gc-unknown-linux-gnu",
                &["qemu-riscv64", "-cpu", "rv64"][..],
            ),
            ("wasm32-wasip1", &["/prover/../run it", "a word"]),
            ("x86_64-unknown-linux-gnu", &["/here/./run"]),
        ] {
            assert_eq!(words(of_triple(&configuration, triple)), expected);
        }
        let linux = || Ok(vec!["target_os=\"linux\"".parse()?]);
        let runner = of_cfg(&configuration, linux).unwrap();
        assert_eq!(words(runner), ["/here/bin/time", "-v"]);
        assert!(of_cfg(&configuration, || Ok(Vec::new())).unwrap().is_none());
    }

    #[test]
    fn a_string_replaces_a_string_and_a_list_all_else() {
        let configuration: DocumentMut = CONFIGURATION.parse().unwrap();
        let kind = |triple: &str| {
            let setting: DocumentMut = recorded(&configuration, triple).unwrap().parse().unwrap();
            let value = of_triple(&setting, triple).unwrap();
            value.type_name()
        };
        assert_eq!(kind("riscv64gc-unknown-linux-gnu"), "string");
        assert_eq!(kind("wasm32-wasip1"), "array");
        assert_eq!(kind("thumbv8m.main-none-eabi"), "array");
    }
}
