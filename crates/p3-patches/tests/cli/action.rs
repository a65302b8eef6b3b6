//! The script behind `action.yml`, with a stand-in for the installed tool.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::fixture::write;

/// The exit code, and the job's summary.
fn run(command: &str, extra: &str, tool: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let stand_in = folder.path().join("bin/p3-patches");
    write(&stand_in, &format!("#!/bin/sh\n{tool}\n"));
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).unwrap();
    let summary = folder.path().join("summary");
    let path = std::env::var("PATH").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/action.sh");
    let status = Command::new(script)
        .env(
            "PATH",
            format!("{}/bin:{path}", folder.path().to_str().unwrap()),
        )
        .env("COMMAND", command)
        .env("MANIFEST", "a prover/Cargo.toml")
        .env("EXTRA", extra)
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap()
        .status;
    (
        status.code(),
        fs::read_to_string(summary).unwrap_or_default(),
    )
}

#[test]
fn the_summary_has_what_the_tool_prints() {
    let (code, summary) = run(
        "try",
        "--same\na proof\n--\nrun\n",
        "printf '<%s>' \"$@\"; echo",
    );
    let expected = "### p3-patches try\n\n```\n\
        <try><--manifest-path><a prover/Cargo.toml><--same><a proof><--><run>\n```\n";
    assert_eq!((code, &*summary), (Some(0), expected));
}

#[test]
fn no_arguments_are_none() {
    let (code, summary) = run("apply", "", "echo $#");
    assert_eq!(
        (code, &*summary),
        (Some(0), "### p3-patches apply\n\n```\n3\n```\n")
    );
}

#[test]
fn a_failure_of_the_tool_fails_the_job() {
    let (code, summary) = run("status", "", "echo a tree differs; exit 1");
    let expected = "### p3-patches status\n\n```\na tree differs\n```\n";
    assert_eq!((code, &*summary), (Some(1), expected));
}

#[test]
fn another_command_is_refused() {
    assert_eq!(run("remove", "", "exit 0"), (Some(2), String::new()));
}
