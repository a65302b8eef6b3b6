//! The script behind `action.yml`, with a stand-in for the installed tool.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::fixture::write;

/// Copies the stand-in for the tool to where cargo would install it.
const INSTALLS: &str = "test ! -e rust-toolchain.toml && test -z \"$RUSTFLAGS\" &&
    mkdir -p \"$RUNNER_TEMP/p3-patches/bin\" && cp \"$RUNNER_TEMP/tool\" \"$RUNNER_TEMP/p3-patches/bin/p3-patches\"";

/// Works for 20 seconds, unless a signal ends it.
const WORKS: &str =
    "trap 'touch \"$RUNNER_TEMP/ended\"; exit 130' TERM; echo at work; touch \"$RUNNER_TEMP/begun\"
    for i in $(seq 200); do sleep 0.1; done";

/// The script with stand-ins for rustup, for cargo, for the tool that cargo installs, and with a folder that pins another Rust.
struct Action {
    folder: TempDir,
    script: Command,
}

impl Action {
    fn new(command: &str, extra: &str, cargo: &str, tool: &str) -> Self {
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
        program("bin/cargo", cargo);
        write(&place("prover/rust-toolchain.toml"), "");
        let path = std::env::var("PATH").unwrap();
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut script = Command::new(checkout.join("ci/action.sh"));
        script
            .current_dir(place("prover"))
            .env("PATH", format!("{}:{path}", place("bin").display()))
            .env("RUSTFLAGS", "-D warnings")
            .env("GITHUB_ACTION_PATH", &checkout)
            .env("RUNNER_TEMP", folder.path())
            .env("COMMAND", command)
            .env("MANIFEST", "a prover/Cargo.toml")
            .env("EXTRA", extra)
            .env("GITHUB_STEP_SUMMARY", place("summary"));
        Self { folder, script }
    }

    fn has(&self, file: &str) -> bool {
        self.folder.path().join(file).exists()
    }

    /// Returns the job's summary.
    fn summary(&self) -> String {
        fs::read_to_string(self.folder.path().join("summary")).unwrap_or_default()
    }

    /// Ends the script, and nothing else, once a stand-in is at work; returns the exit code.
    fn terminate(&mut self) -> Option<i32> {
        let mut script = self.script.stdout(Stdio::null()).spawn().unwrap();
        while !self.has("begun") {
            assert!(script.try_wait().unwrap().is_none());
            thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&script), Signal::TERM).unwrap();
        script.wait().unwrap().code()
    }
}

/// Runs the script with a stand-in for the tool; returns the exit code, and the job's summary.
fn run(command: &str, extra: &str, tool: &str) -> (Option<i32>, String) {
    let mut action = Action::new(command, extra, INSTALLS, tool);
    let output = action.script.output().unwrap();
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), action.summary())
}

#[test]
fn a_signal_to_the_script_ends_the_tool() {
    let mut action = Action::new("status", "", INSTALLS, WORKS);
    assert_eq!(action.terminate(), Some(130));
    assert!(action.has("ended"));
    assert_eq!(
        action.summary(),
        "### p3-patches status\n\n```\nat work\n```\n"
    );
}

#[test]
fn a_signal_to_the_script_ends_the_installation() {
    let mut action = Action::new("status", "", WORKS, "exit 0");
    assert_eq!(action.terminate(), Some(130));
    assert!(action.has("ended"));
    assert_eq!(action.summary(), "");
}

/// The prover's compiler, flags and folders reach the tool, and not its installation.
#[test]
fn the_installation_takes_no_settings_of_the_provers() {
    const SETTINGS: [&str; 20] = [
        "CARGO_BUILD_BUILD_DIR",
        "CARGO_BUILD_RUSTC",
        "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_INCREMENTAL",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL",
        "CARGO_TARGET_DIR",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
        "RUSTC",
        "RUSTC_BOOTSTRAP",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTDOC",
        "RUSTFLAGS",
    ];
    let list = "env | grep -E '^(CARGO_(BUILD|ENCODED|INCREMENTAL|PROFILE|TARGET)|RUST(C|DOC|FLAGS))' | cut -d = -f 1 | sort";
    let cargo = format!("{list} >\"$RUNNER_TEMP/installed\"\n{INSTALLS}");
    let mut action = Action::new("status", "", &cargo, list);
    action
        .script
        .envs(SETTINGS.map(|name| (name, "the prover's")));
    let output = action.script.env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let installed = fs::read_to_string(action.folder.path().join("installed")).unwrap();
    assert_eq!(installed, "");
    let summary = action.summary();
    assert!(
        SETTINGS
            .iter()
            .all(|name| summary.contains(&format!("\n{name}\n"))),
        "{summary}"
    );
}

#[test]
fn the_tool_reads_the_scripts_standard_input() {
    let mut action = Action::new("status", "", INSTALLS, "cat");
    let input = action.folder.path().join("input");
    write(&input, "a line\n");
    let input = fs::File::open(input).unwrap();
    assert!(action.script.stdin(input).status().unwrap().success());
    assert_eq!(
        action.summary(),
        "### p3-patches status\n\n```\na line\n```\n"
    );
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

#[test]
fn a_summary_that_cannot_be_written_changes_no_exit_code() {
    for code in [0, 1] {
        let mut action = Action::new("status", "", INSTALLS, &format!("exit {code}"));
        action
            .script
            .env("GITHUB_STEP_SUMMARY", action.folder.path());
        let output = action.script.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            stderr.contains("action.sh: the summary cannot be written"),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(code), "{stderr}");
    }
}
