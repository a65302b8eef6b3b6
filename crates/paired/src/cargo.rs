//! Calls of cargo and of its compiler, and their errors in one line.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::iter;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde::de::{self, value::StrDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::address::without_credentials;
use crate::environment::from_here;
use crate::error::Failure;
use crate::interrupt;
use crate::terminal::shown;
use crate::text;

/// Returns a `cargo` command: `CARGO` where it is set, as under `cargo run`, and otherwise the `cargo` of `PATH`. Cargo prints no
/// colors, since what it prints is read.
pub fn cargo() -> Command {
    let mut cargo = Command::new(from_here("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.env(COLOR.0, COLOR.1);
    cargo
}

/// Returns a `cargo` command that runs in a folder, as a user's would there. Under `cargo run`, `CARGO` and `RUSTUP_TOOLCHAIN` are the
/// choice of the folder in which that was started; where this folder or one above it has a file that pins a toolchain, rustup's proxy
/// goes by that.
pub fn cargo_in(folder: &Path) -> Command {
    let mut cargo = in_folder(folder, cargo(), "cargo");
    cargo.env(COLOR.0, COLOR.1);
    cargo
}

/// Returns `command` in a folder, or the program `proxy` of `PATH`, as [`cargo_in`] says.
fn in_folder(folder: &Path, command: Command, proxy: &str) -> Command {
    const PINS: [&str; 2] = ["rust-toolchain.toml", "rust-toolchain"];
    let pins = |folder: &Path| PINS.iter().any(|pin| folder.join(pin).exists());
    let is_pinned = || folder.ancestors().any(pins);
    let mut command = match from_here("CARGO").is_some() && is_pinned() {
        false => command,
        true => {
            let mut proxy = Command::new(proxy);
            proxy.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
            proxy
        }
    };
    command.current_dir(folder);
    command
}

/// The variable that comes before all others that color what cargo prints, and before its configuration.
pub const COLOR: (&str, &str) = ("CARGO_TERM_COLOR", "never");

/// Returns cargo's home folder: `CARGO_HOME`, or `.cargo` in the user's home. Fails where neither is known.
pub fn home() -> Result<PathBuf> {
    from_here("CARGO_HOME")
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context(Failure::environment(
            "neither CARGO_HOME nor a home folder is set",
        ))
}

/// Reads the value of `key` in cargo's configuration for a folder, or `Null` where it is not set.
///
/// The configuration consists of cargo's files, the values `configs` of `--config` and, unless the key names a table, the
/// environment. Fails where cargo cannot read it.
pub fn configuration(folder: &Path, key: &str, configs: &[String]) -> Result<Value> {
    match configured(folder, &["--format", "json-value", key], configs)? {
        Some(json) => {
            serde_json::from_str(&json).context("cargo config printed text that is not JSON")
        }
        None => Ok(Value::Null),
    }
}

/// Reads the value of `key` as [`configuration`] does, as TOML in which a comment behind each value names its source.
pub fn configuration_with_origins(
    folder: &Path,
    key: &str,
    configs: &[String],
) -> Result<DocumentMut> {
    let text = configured(folder, &["--show-origin", key], configs)?.unwrap_or_default();
    text.parse()
        .context("cargo config printed text that is not TOML")
}

/// Returns the source of a value of [`configuration_with_origins`]: of a string, or of the first string in a list.
pub fn origin(value: &toml_edit::Value) -> Option<&str> {
    let comment = match value {
        toml_edit::Value::Array(words) => match words.get(1) {
            Some(second) => second.decor().prefix(),
            None => Some(words.trailing()),
        },
        _ => value.decor().suffix(),
    };
    let comment = comment?.as_str()?.lines().next()?;
    comment.trim_start().strip_prefix("# ")
}

/// Tells whether a line of cargo's is about a key or a file of its configuration.
fn is_about_configuration(line: &str) -> bool {
    const PARTS: [&str; 14] = [
        "Cargo configuration",
        "TOML configuration",
        "config key `",
        "configuration key `",
        "configuration for key `",
        "(configuration in `",
        "source location specified for `source.",
        "but that source is already defined by `",
        "error in environment variable `",
        "failed to read root of directory source: ",
        "local registry path is not a directory: ",
        "failed to update path override `",
        "is not supported in the `[env]` configuration table",
        " directory is set to an empty string in ",
    ];
    let is_file = line.split_once("error in ").is_some_and(|(_, rest)| {
        let place = rest.split(": ").next().unwrap_or_default();
        CONFIGURATIONS.iter().any(|name| place.ends_with(name))
    });
    is_file || PARTS.iter().any(|part| line.contains(part))
}

/// Returns the hint for cargo's error about its own configuration, which names the files that cargo reads in a folder.
pub fn out_of_a_wrong_configuration(folder: &Path, error: &str) -> Option<String> {
    is_about_configuration(error).then(|| configured_by(folder))
}

/// Returns the hint for an error of rustup's about a file that names a toolchain.
pub fn out_of_a_wrong_toolchain(error: &str) -> Option<&'static str> {
    const PARTS: [&str; 3] = ["override file", "toolchain name", "toolchain file"];
    PARTS.iter().any(|part| error.contains(part)).then_some(
        "correct the file rust-toolchain or rust-toolchain.toml, in that folder or above it",
    )
}

/// Returns the hint for an error of rustup's about a toolchain that is not there.
pub fn out_of_a_missing_toolchain(error: &str) -> Option<&'static str> {
    const PARTS: [&str; 2] = ["is not installed", "has no bin/ directory"];
    let is_missing = error.contains("toolchain") && PARTS.iter().any(|part| error.contains(part));
    is_missing.then_some(
        "RUSTUP_TOOLCHAIN, a file rust-toolchain or rustup's default names that toolchain: install it, or name another one there",
    )
}

/// The names of cargo's configuration, below `.cargo`.
const CONFIGURATIONS: [&str; 2] = ["config", "config.toml"];

/// Says in a phrase which files configure cargo in a folder, or what else the error of a configuration without files may be about.
pub fn configured_by(folder: &Path) -> String {
    configured_in(folder).unwrap_or_else(|| {
        "no file configures cargo here: a variable `CARGO_..` of the environment does, or the manifest names what none defines"
            .to_owned()
    })
}

/// Says in a phrase which files configure cargo in a folder; `None` where there is none.
pub fn configured_in(folder: &Path) -> Option<String> {
    let folder = path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let folders = folder.ancestors().map(|above| above.join(".cargo"));
    let folders = folders.chain(home().ok());
    let files = folders.flat_map(|folder| CONFIGURATIONS.map(|name| folder.join(name)));
    let mut files: Vec<_> = files.filter(|file| file.is_file()).collect();
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    let files = files.iter().map(shown);
    let files = files.collect::<Vec<_>>().join(" and ");
    let phrase = format!("cargo's configuration here is {files}, and what these include");
    (!files.is_empty()).then_some(phrase)
}

/// Returns the name of the setting that makes cargo compile path packages incrementally, whatever their profile says: a variable
/// or a key. `None` means that the profile decides. Fails where cargo cannot read its configuration.
pub fn incremental(folder: &Path, configs: &[String]) -> Result<Option<&'static str>> {
    const VARIABLE: &str = "CARGO_INCREMENTAL";
    const KEY: &str = "build.incremental";
    if let Some(value) = env::var_os(VARIABLE) {
        return Ok((value == "1").then_some(VARIABLE));
    }
    let set = configuration(folder, KEY, configs)?;
    Ok((set == true).then_some(KEY))
}

/// Returns the output of `cargo config get` with these arguments, the last of which is a key; `None` where the key is not set.
fn configured(folder: &Path, args: &[&str], configs: &[String]) -> Result<Option<String>> {
    let mut get = cargo_in(folder);
    get.args(["config", "get", "-Z", "unstable-options"])
        .args(args)
        .args(configs.iter().flat_map(|value| ["--config", value]))
        // The subcommand is unstable.
        .env("RUSTC_BOOTSTRAP", "1");
    let output = interrupt::output(&mut get)?;
    if output.status.success() {
        let text = String::from_utf8(output.stdout);
        return Ok(Some(
            text.context("cargo config printed text that is not UTF-8")?,
        ));
    }
    let error = error_of(&output)?;
    if error.starts_with("config value `") && error.ends_with("` is not set") {
        return Ok(None);
    }
    let what = format!(
        "{}: cargo cannot read its configuration: {error}",
        shown(folder)
    );
    Err(Failure::input(what).hint(configured_by(folder)).into())
}

/// Tells whether a build has ended for want of space, which may be no cause that cargo's error names.
pub(crate) fn is_full(stderr: &str) -> bool {
    stderr.contains("No space left on device") || stderr.contains("(os error 28)")
}

/// Returns the option that cargo proposes for a target whose features are off.
pub(crate) fn features_to_enable(stderr: &str) -> Option<&str> {
    let proposed = "Consider enabling them by passing, e.g., ";
    stderr.lines().find_map(|line| line.strip_prefix(proposed))
}

/// The words by which cargo's errors name a source that replaces another one.
pub const REPLACED: &str = " (which is replacing ";

/// The word that ends an error which cargo's resolver may have met only because it was offline.
const OFFLINE: &str = "offline";

/// The end of the line in which cargo says that it has not asked a repository.
const OFFLINE_MODE: &str = "offline mode (--offline)";

/// The beginnings of the lines in which cargo's resolver says what it lacks and where it has looked; one has a word in its place.
const RESOLVERS: [(&str, Option<&str>); 7] = [
    ("searched package name: ", None),
    ("perhaps you meant: ", None),
    ("package `", None),
    ("previously selected package `", None),
    ("candidate versions found which didn't match: ", None),
    ("location searched: ", None),
    ("As a reminder, you're using offline mode", Some(OFFLINE)),
];

/// Returns the error with which cargo has ended, as [`cargo_error`] shortens it. Fails where cargo was ended by a signal, or has ended
/// without a word or with one that is no error of cargo's: what it was asked for has no answer then.
pub fn error_of(output: &Output) -> Result<String, Failure> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let is_error = |line: &str| line.trim_start().starts_with("error");
    if output.status.code().is_some() && stderr.lines().any(is_error) {
        return Ok(cargo_error(&stderr));
    }
    let what = if stderr.trim().is_empty() || output.status.code().is_none() {
        format!("cargo has ended without a message: {}", output.status)
    } else {
        format!(
            "cargo has ended with no error of its own: {}",
            cargo_error(&stderr)
        )
    };
    Err(Failure::environment(what).hint("`cargo metadata` in that folder has to work"))
}

/// Returns the failure for a `cargo COMMAND` that has succeeded and printed something else than cargo prints.
pub fn unparsed(command: &str, error: &impl fmt::Display) -> Failure {
    let program = without_credentials(&cargo().get_program().to_string_lossy());
    let what = format!("{program} has not printed what `cargo {command}` does: {error}");
    Failure::environment(what).hint("CARGO and PATH name that program, which has to be cargo")
}

/// Shortens the error in cargo's stderr to one line, without credentials: the text behind `error:`, with its place in a file, the
/// cause that names a place of cargo's configuration, its last cause and the file that this is about, the list below it, or the lines
/// of cargo's resolver. The word `offline` ends an error which that may have met only because it was offline.
pub fn cargo_error(stderr: &str) -> String {
    let stderr = &without_credentials(stderr);
    let lines = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>();
    let at = lines.iter().position(|line| line.starts_with("error: "));
    let error = at.map(|at| lines[at].trim_start_matches("error: "));
    let place = at.and_then(|at| lines.get(at + 1)?.strip_prefix("--> "));
    let causes = lines.windows(2).filter(|lines| lines[0] == "Caused by:");
    let causes: Vec<_> = causes.map(|lines| lines[1]).collect();
    let cause = causes.last();
    let above = causes.iter().take(causes.len().saturating_sub(1));
    let named = above.rev().find(|cause| is_about_configuration(cause));
    match (error, place, cause) {
        (Some(error), Some(place), _) => format!("{place}: {error}"),
        (Some(error), None, Some(cause)) => {
            // The system's errors name no file.
            let file = causes.iter().rev().nth(1);
            let file = file.filter(|_| cause.contains("(os error "));
            let named = named.or(file);
            let named = named.filter(|named| !error.ends_with(**named));
            let named = named.map_or_else(String::new, |named| format!("{named}: "));
            // A repository that was fetched before may lack what is asked for by now.
            let is_offline = lines.iter().any(|line| line.ends_with(OFFLINE_MODE));
            let offline = match is_offline {
                true => format!(", {OFFLINE}"),
                false => String::new(),
            };
            // The error of a program that cargo has run, such as a compiler, is its own.
            let mut of_program = lines.iter().skip_while(|line| **line != "--- stderr");
            let of_program = of_program.find_map(|line| line.strip_prefix("error: "));
            let of_program = of_program.map_or_else(String::new, |error| format!(": {error}"));
            format!("{error}: {named}{cause}{of_program}{offline}")
        }
        (Some(error), None, None) if error.ends_with(':') => {
            let list = lines.iter().skip_while(|line| !line.ends_with(error));
            let items = list.skip(1).map_while(|line| item(line));
            format!("{error} {}", items.collect::<Vec<_>>().join(", "))
        }
        (Some(error), None, None) => {
            let told = RESOLVERS.iter().filter_map(|(begin, mark)| {
                let line = lines.iter().find(|line| line.starts_with(begin))?;
                let line = mark.unwrap_or(line).split_whitespace();
                Some(line.collect::<Vec<_>>().join(" "))
            });
            let error = error.trim_end_matches('.').to_owned();
            iter::once(error).chain(told).collect::<Vec<_>>().join(", ")
        }
        _ => lines
            .last()
            .map_or("no message from cargo".to_owned(), |line| {
                (*line).to_owned()
            }),
    }
}

/// Returns an item of the list below an error of cargo's: a key with its value, a place, or a package in a cycle. `None` ends the list.
fn item(line: &str) -> Option<String> {
    if let Some(item) = line.strip_prefix("- ").or(line.strip_prefix("... ")) {
        return Some(item.to_owned());
    }
    if line.starts_with("package `") {
        return Some(line.to_owned());
    }
    let (key, value) = line.split_once(": ")?;
    (!key.contains(' ')).then(|| format!("{key} {}", value.trim()))
}

/// Tells whether cargo's resolver may have met an error, as [`cargo_error`] shortens it, only because it was offline.
pub fn is_offline(error: &str) -> bool {
    error.ends_with(&format!(", {OFFLINE}"))
}

/// A compiler: its version, and the platform that it runs on.
#[derive(Deserialize, Serialize)]
pub struct Toolchain {
    /// The first line of `rustc -vV`, such as `rustc 1.91.0 (f8297e351 2025-10-28)`.
    pub version: String,
    /// The triple of the host, such as `x86_64-unknown-linux-gnu`.
    pub host: String,
}

/// Returns a `rustc` command: `RUSTC` where it is set, and otherwise the `rustc` of `PATH`, as cargo does.
pub fn rustc() -> Command {
    Command::new(from_here("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Returns a `rustc` command that runs in a folder, as [`cargo_in`] has it.
pub fn rustc_in(folder: &Path) -> Command {
    let mut rustc = rustc();
    if from_here("RUSTC").is_none() {
        return in_folder(folder, rustc, "rustc");
    }
    rustc.current_dir(folder);
    rustc
}

impl Toolchain {
    /// Asks the compiler of [`rustc`]. Fails as [`Self::of`] does.
    pub fn query() -> Result<Self> {
        Self::of(rustc())
    }

    /// Asks this compiler with `-vV`. Fails where it cannot be run, or prints something else.
    pub fn of(mut rustc: Command) -> Result<Self> {
        let output = interrupt::output(rustc.arg("-vV"))?;
        if !output.status.success() {
            let error = cargo_error(&String::from_utf8_lossy(&output.stderr));
            let hint = out_of_a_missing_toolchain(&error)
                .or_else(|| out_of_a_wrong_toolchain(&error))
                .unwrap_or("`rustc -vV` has to work there");
            return Err(Failure::environment(format!("cannot run rustc: {error}"))
                .hint(hint)
                .into());
        }
        let text =
            String::from_utf8(output.stdout).context("rustc -vV printed text that is not UTF-8")?;
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        let version =
            StrDeserializer::<de::value::Error>::new(text.lines().next().unwrap_or_default());
        Ok(Self {
            version: text::name(version).context("rustc -vV prints no version")?,
            host: host.context("rustc -vV names no host")?.to_owned(),
        })
    }

    /// Asks the compiler for LLVM's name of this CPU; `None` where it prints none. Fails where the compiler cannot be run.
    pub fn native_cpu() -> Result<Option<String>> {
        let output = interrupt::output(rustc().args(["--print", "target-cpus"]))?;
        Ok(native_cpu(&String::from_utf8_lossy(&output.stdout)))
    }
}

/// Asks the compiler for its target features on an architecture, such as `x86_64`. Features that only LLVM knows are left out,
/// since LLVM may rename them. Fails where the compiler does not know the architecture's Linux target.
pub fn target_features(architecture: &str) -> Result<BTreeSet<String>> {
    let target = format!("{architecture}-unknown-linux-gnu");
    let output =
        interrupt::output(rustc().args(["--print", "target-features", "--target", &target]))?;
    ensure!(
        output.status.success(),
        "rustc does not list the features of {target}"
    );
    Ok(listed_features(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads the names in lines `    NAME    - Text.`, up to the empty line before the features of LLVM.
fn listed_features(listed: &str) -> BTreeSet<String> {
    let lines = listed.lines().skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Reads the name in a line `    native    - Select the CPU of the current host (currently NAME).`
fn native_cpu(listed: &str) -> Option<String> {
    let mut lines = listed.lines().map(str::trim_start);
    let native = lines.find(|line| line.starts_with("native"))?;
    let (_, name) = native.split_once("(currently ")?;
    Some(name.split_once(')')?.0.to_owned())
}

/// Sets the compiler flags of a `cargo` command to `flags` alone: `RUSTFLAGS` outranks cargo's configuration files, and
/// `CARGO_ENCODED_RUSTFLAGS`, which would outrank it, is removed.
pub fn with_rustflags<'a>(command: &'a mut Command, flags: &str) -> &'a mut Command {
    command
        .env("RUSTFLAGS", flags)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;
    use crate::error::Kind;

    /// These tests run under `cargo`, which sets `CARGO`.
    #[test]
    fn a_folder_that_pins_a_toolchain_is_given_to_rustup() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("a");
        std::fs::create_dir(&below).unwrap();
        let own = env::var_os("CARGO").unwrap();
        assert_eq!(cargo_in(&below).get_program(), own);
        std::fs::write(dir.path().join("rust-toolchain.toml"), "").unwrap();
        let cargo = cargo_in(&below);
        assert_eq!(cargo.get_program(), "cargo");
        assert_eq!(cargo.get_current_dir(), Some(&*below));
        let variables: Vec<_> = cargo.get_envs().collect();
        assert!(variables.contains(&("RUSTUP_TOOLCHAIN".as_ref(), None)));
        assert!(variables.contains(&(COLOR.0.as_ref(), Some(COLOR.1.as_ref()))));
    }

    /// A program that is no cargo may stand in its place, and rustup answers where the toolchain is missing.
    #[test]
    fn an_error_is_cargos_or_of_the_surroundings() {
        let ended = |stderr: &str| Output {
            status: ExitStatus::from_raw(1 << 8),
            stdout: Vec::new(),
            stderr: stderr.into(),
        };
        let error = error_of(&ended("note: x\nerror: no such command: `x`\n")).unwrap();
        assert_eq!(error, "no such command: `x`");
        for stderr in ["", " \n", "yes: unrecognized option '--workspace'\n"] {
            assert_eq!(
                error_of(&ended(stderr)).unwrap_err().kind,
                Kind::Environment
            );
        }
        for stderr in [
            "error: toolchain 'x' is not installed\n",
            "error: custom toolchain 'x' specified in override file '/p/rust-toolchain.toml' is not installed\n",
            "error: invalid toolchain: the path '/x' has no bin/ directory\n",
        ] {
            let error = error_of(&ended(stderr)).unwrap();
            assert!(out_of_a_missing_toolchain(&error).is_some(), "{error}");
        }
        assert!(out_of_a_missing_toolchain("the target is not installed").is_none());
    }

    #[test]
    fn configuration_is_merged_as_cargo_does() {
        let dir = tempfile::tempdir().unwrap();
        let get = |key, configs: &[&str]| {
            let configs: Vec<_> = configs.iter().copied().map(str::to_owned).collect();
            configuration(dir.path(), key, &configs)
        };
        assert_eq!(get("patch.p3", &[]).unwrap(), Value::Null);
        let file = dir.path().join(".cargo/config.toml");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "patch.p3.a.path = \"x\"\n").unwrap();
        let merged = get("patch.p3", &["patch.p3.b.path = \"y\""]).unwrap();
        assert_eq!(
            merged,
            serde_json::json!({"a": {"path": "x"}, "b": {"path": "y"}})
        );
        std::fs::write(&file, "patch = [").unwrap();
        let error = get("patch.p3", &[]).unwrap_err().to_string();
        assert!(
            error.contains("cargo cannot read its configuration: "),
            "{error}"
        );
    }

    #[test]
    fn the_compiler_says_what_this_cpu_is() {
        let listed = "Available CPUs for this target:\n    native                  - Select the CPU of the current host \
                      (currently znver4).\n    alderlake\n";
        assert_eq!(native_cpu(listed).as_deref(), Some("znver4"));
        assert_eq!(native_cpu("    native - Select the CPU\n"), None);
    }

    #[test]
    fn features_are_listed_without_llvms_own() {
        let listed = "Features supported by rustc for this target:\n    adx    - Enable ADX.\n    crt-static    - Link the C library.\n\n\
                      Code-generation features supported by LLVM for this target:\n    16bit-mode    - 16-bit mode.\n";
        let expected = ["adx", "crt-static"].map(str::to_owned);
        assert_eq!(listed_features(listed), BTreeSet::from(expected));
    }

    #[test]
    fn cargo_errors_fit_one_line() {
        let stderr = "    Updating index\nerror: failed to parse `x`\n\nCaused by:\n  no\n\nCaused by:\n  because\n";
        assert_eq!(cargo_error(stderr), "failed to parse `x`: because");
        assert_eq!(cargo_error("error: no\n"), "no");
        assert_eq!(cargo_error("error: no https://u:p@x\n"), "no https://x");
        let toml = "error: duplicate key\n --> a/Cargo.toml:4:1\n  |\n4 | name=\"b\"\n  | ^^^^\nerror: failed to load it\n";
        assert_eq!(cargo_error(toml), "a/Cargo.toml:4:1: duplicate key");
        let replaced = "error: no\nlocation searched: b (which is replacing a)\nrequired by c\n";
        let expected = "no, location searched: b (which is replacing a)";
        assert_eq!(cargo_error(replaced), expected);
        let path = "error: no `a`\n\nCaused by:\n  no `/a/Cargo.toml`\n\nCaused by:\n  Nothing there (os error 2)\n";
        let expected = "no `a`: no `/a/Cargo.toml`: Nothing there (os error 2)";
        assert_eq!(cargo_error(path), expected);
        let feature = "error: no version for `a`.\n    ... required by package `x`\nversions: 1\n\npackage `x` needs `y`\n available: z\n";
        let expected = "no version for `a`, package `x` needs `y`";
        assert_eq!(cargo_error(feature), expected);
        let meant = "error: no\nsearched package name: `a_b`\nperhaps you meant:      a-b\nlocation searched: c\n";
        let expected =
            "no, searched package name: `a_b`, perhaps you meant: a-b, location searched: c";
        assert_eq!(cargo_error(meant), expected);
        let repository = "error: no `a`\n\nCaused by:\n  can't look in offline mode (--offline)\n\nCaused by:\n  no branch\n";
        assert_eq!(cargo_error(repository), "no `a`: no branch, offline");
        let offline = "error: no\nAs a reminder, you're using offline mode (--offline) which\n";
        assert_eq!(cargo_error(offline), "no, offline");
        assert!(is_offline("no, offline") && !is_offline("no"));
        let list = "error: not a member:\ncurrent:   /a\nworkspace: /b\n\nthis may help: do\n";
        let expected = "not a member: current /a, workspace /b";
        assert_eq!(cargo_error(list), expected);
        let places =
            "error: two packages named `a` in this workspace:\n- /a/Cargo.toml\n- /b/Cargo.toml\n";
        let expected = "two packages named `a` in this workspace: /a/Cargo.toml, /b/Cargo.toml";
        assert_eq!(cargo_error(places), expected);
        let cycle = "error: cyclic package dependency: package `a v1` depends on itself. Cycle:\npackage `a v1 (/a)`\n    ... which satisfies path dependency `a` of package `b v1 (/b)`\n";
        let expected = "cyclic package dependency: package `a v1` depends on itself. Cycle: package `a v1 (/a)`, \
                        which satisfies path dependency `a` of package `b v1 (/b)`";
        assert_eq!(cargo_error(cycle), expected);
        assert_eq!(cargo_error(""), "no message from cargo");
    }
}
