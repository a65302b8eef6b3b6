//! Cargo's cache where cargo itself would wait: for the other end of a pipe, and for another cargo.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::fixture::Fixture;

/// Longer than any machine takes.
const PATIENCE: Duration = Duration::from_mins(5);

#[test]
fn a_pipe_in_place_of_a_tarball_is_refused() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    // No patch touches the package, so that cargo alone would open it.
    let home = fixture.home_without("p3-util-0.8.0");
    let cache = fs::read_dir(home.join("registry/cache")).unwrap().next();
    let tarball = cache.unwrap().unwrap().path().join("p3-util-0.8.0.crate");
    let made = Command::new("mkfifo").arg(&tarball).status();
    assert!(made.unwrap().success());
    for args in [&["status"][..], &["status", "--verify"], &["apply"]] {
        let mut command = fixture.command(args);
        command.env("CARGO_HOME", &home);
        let run = assert_cmd::Command::from_std(command)
            .timeout(PATIENCE)
            .assert()
            .code(3);
        let run = fixture.transcript(run.get_output());
        assert!(
            run.contains("/p3-util-0.8.0.crate: not a plain file\nhint: delete it"),
            "{run}"
        );
    }
    fs::remove_file(tarball).unwrap();
}

#[test]
fn a_wait_for_another_cargo_is_told_of() {
    let fixture = Fixture::new();
    let home = fixture.home_without("no package has this name");
    let lock = File::create(home.join(".package-cache")).unwrap();
    lock.lock().unwrap();
    let mut apply = fixture
        .command(&["apply", "demo"])
        .env("CARGO_HOME", &home)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(apply.stderr.take().unwrap());
    let (told, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let _ = told.send(line);
        }
    });
    let expected =
        "progress: cargo is waiting for file lock on package cache, which another cargo holds";
    // A loaded machine has lines on long steps before this one.
    let mut printed = Vec::new();
    while printed.last().is_none_or(|line| line != expected) {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => printed.push(line),
            Err(error) => panic!("{error}: {printed:?}"),
        }
    }
    lock.unlock().unwrap();
    let ended = apply.wait().unwrap();
    reader.join().unwrap();
    assert!(ended.success());
}
