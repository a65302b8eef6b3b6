//! The script behind `action.yml`, with a stand-in for the installed tool.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::fixture::write;

/// Runs the script with stand-ins for rustup, for cargo, which installs `tool` as the tool, and with a folder that pins another
/// Rust; returns the exit code, and the job's summary.
fn run(command: &str, extra: &str, tool: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let program = |name: &str, text: &str| {
        write(&place(name), &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(place(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("tool", tool);
    program(
        "bin/rustup",
        "test \"$1 $2 $3\" = 'run --install stable' && shift 3 && exec \"$@\"",
    );
    program(
        "bin/cargo",
        "test ! -e rust-toolchain.toml && test -z \"$RUSTFLAGS\" && mkdir -p \"$RUNNER_TEMP/p3-patches/bin\" &&
            cp \"$RUNNER_TEMP/tool\" \"$RUNNER_TEMP/p3-patches/bin/p3-patches\"",
    );
    write(&place("prover/rust-toolchain.toml"), "");
    let path = std::env::var("PATH").unwrap();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(checkout.join("ci/action.sh"))
        .current_dir(place("prover"))
        .env("PATH", format!("{}:{path}", place("bin").display()))
        .env("RUSTFLAGS", "-D warnings")
        .env("GITHUB_ACTION_PATH", &checkout)
        .env("RUNNER_TEMP", folder.path())
        .env("COMMAND", command)
        .env("MANIFEST", "a prover/Cargo.toml")
        .env("EXTRA", extra)
        .env("GITHUB_STEP_SUMMARY", place("summary"))
        .output()
        .unwrap();
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    let summary = fs::read_to_string(place("summary")).unwrap_or_default();
    (output.status.code(), summary)
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
fn blank_lines_and_carriage_returns_are_no_arguments() {
    let extra = "\r\n--same\r\na proof\r\n  \r\n\n--\r\nrun";
    let (code, summary) = run("try", extra, "shift 3; printf '<%s>' \"$@\"");
    let expected = "### p3-patches try\n\n```\n<--same><a proof><--><run>\n```\n";
    assert_eq!((code, &*summary), (Some(0), expected));
}

#[test]
fn no_output_ends_the_summarys_fence() {
    let (code, summary) = run("status", "", "echo '```'; echo '# a ````` title'");
    let expected = "### p3-patches status\n\n``````\n```\n# a ````` title\n``````\n";
    assert_eq!((code, &*summary), (Some(0), expected));

    let long = "`".repeat(20_000);
    let (code, summary) = run("status", "", &format!("echo '{long}'"));
    let expected = format!("### p3-patches status\n\n{long}`\n{long}\n{long}`\n");
    assert!(code == Some(0) && summary == expected);
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
