//! The fuzz targets of `fuzz/`, each for a quarter of a minute on this machine's CPU, or for as many seconds as `FUZZ_SECONDS`
//! says and on what `FUZZ_CPU` names.
//!
//! Ignored where nobody asks for them, since they need cargo-fuzz and are built with its flags; `cargo p3 test` does, in the
//! stages `fuzz*`. What they find is in `fuzz/artifacts`, and corpora grow below `target`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Runs a command that has to succeed, and shows what it prints.
#[track_caller]
fn run(command: &mut Command) {
    let status = command.status().unwrap();
    assert!(status.success(), "{status}: {command:?}");
}

/// Where the targets are built, on Plonky3 as published and on patches: what both share is built once.
fn builds() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz")
}

/// Builds a target from the package in `folder` and keeps the program as `name`.
///
/// Optimized as the manifest says. Without a sanitizer: Rust's checks are in, and the little code that is not safe reads and
/// writes arrays of a fixed size.
fn build(folder: &Path, target: &str, name: &str) -> PathBuf {
    let manifest = folder.join("Cargo.toml");
    let cpu = env::var("FUZZ_CPU").unwrap_or_else(|_| "native".to_owned());
    run(Command::new(env!("CARGO"))
        .args(["fetch", "--quiet", "--locked", "--manifest-path"])
        .arg(&manifest));
    run(Command::new(env!("CARGO"))
        .args(["fuzz", "build", "--dev", "--sanitizer", "none"])
        .args(["--no-default-features", "--features", target])
        .args(["--target", host().as_str(), target])
        .arg("--target-dir")
        .arg(builds())
        .arg("--fuzz-dir")
        .arg(folder)
        .current_dir(folder)
        .env("RUSTFLAGS", format!("-C target-cpu={cpu}"))
        .env("CARGO_INCREMENTAL", "0"));
    let program = builds().join(name);
    let built = builds().join(host()).join("debug").join(target);
    fs::copy(built, &program).unwrap();
    program
}

/// This machine's target triple.
fn host() -> String {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("a line of rustc's").to_owned()
}

/// Runs a target on its corpus and what grows from it.
fn fuzz(mut program: Command, target: &str) {
    let seconds = env::var("FUZZ_SECONDS").unwrap_or_else(|_| "15".to_owned());
    let grown = builds().join("corpus").join(target);
    let artifacts = repository().join("fuzz/artifacts").join(target);
    fs::create_dir_all(&grown).unwrap();
    fs::create_dir_all(&artifacts).unwrap();
    run(program
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096"])
        .arg(grown)
        .arg(repository().join("fuzz/corpus").join(target)));
}

#[test]
#[ignore = "needs cargo-fuzz"]
fn permutation() {
    let program = build(&repository().join("fuzz"), "permutation", "permutation");
    let mut program = Command::new(program);
    // Another implementation joins where it can be built.
    let judge = builds().join("judge");
    let built = Command::new("go")
        .args(["build", "-C"])
        .arg(repository().join("crates/testing/reference/papers"))
        .arg("-o")
        .arg(&judge)
        .status();
    match built {
        Ok(status) => {
            assert!(status.success(), "the judge does not build: {status}");
            program.env("PERMUTATION_JUDGE", judge);
        }
        Err(error) => println!("without the judge in Go: {error}"),
    }
    fuzz(program, "permutation");
}

#[test]
#[ignore = "needs cargo-fuzz"]
fn dft() {
    let program = build(&repository().join("fuzz"), "dft", "dft");
    fuzz(Command::new(program), "dft");
}

/// The same target on every patch, and on Plonky3 as published to compare with.
#[test]
#[ignore = "needs cargo-fuzz"]
fn merkle() {
    let published = build(&repository().join("fuzz"), "merkle", "published");
    let program = build(&patched(), "merkle", "patched");
    let same = fs::read(&published).unwrap() == fs::read(&program).unwrap();
    assert!(!same, "one program");
    let mut program = Command::new(program);
    program.env("MERKLE_PUBLISHED", published);
    fuzz(program, "merkle");
}

#[test]
#[ignore = "needs cargo-fuzz"]
fn patch() {
    let folder = repository().join("fuzz");
    let mut program = Command::new(build(&folder, "patch", "patch"));
    program.arg(format!("-dict={}", folder.join("patch.dict").display()));
    fuzz(program, "patch");
}

/// A copy of the package, with every patch that there is for its release. The folder is the same every time, so that cargo has less to
/// build.
fn patched() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-patched");
    let from = repository().join("fuzz");
    fs::create_dir_all(folder.join("fuzz_targets")).unwrap();
    for entry in fs::read_dir(from.join("fuzz_targets")).unwrap() {
        let file = Path::new("fuzz_targets").join(entry.unwrap().file_name());
        fs::copy(from.join(&file), folder.join(&file)).unwrap();
    }
    fs::copy(from.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let crates = format!("\"{}/crates/", repository().display());
    let manifest = manifest.replace("\"../crates/", &crates);
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();

    run(Command::new(env!("CARGO_BIN_EXE_p3-patches"))
        .arg("--project")
        .arg(repository())
        .args(["apply", "--base", "0.8.0"])
        .current_dir(&folder));
    folder
}
