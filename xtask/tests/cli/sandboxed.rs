//! Runs where all file systems but one folder are read-only, where there is no network, and where the disk is full.
//!
//! The tests take namespaces, which not every system gives to its users; `cargo p3 test` skips them by name then.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::files;
use crate::fixture::{Fixture, MANIFEST, write};

/// Lets `sh` run a script as root of a namespace with mounts and a network of its own: one without any interface.
fn namespace(script: &str, args: &[&str]) -> Output {
    let unshare = ["--user", "--map-root-user", "--mount", "--net"];
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-euc", script, "sh"]);
    command
        .args(args)
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .unwrap()
}

/// Makes everything read-only but the folder `$1`; then the shell is in that folder.
const READ_ONLY: &str = r#"
writable=$1
shift
mount --bind "$writable" "$writable"
while read -r _ _ _ _ place options _; do
    [ "$place" = "$writable" ] || mount -o "remount,bind,ro,${options#rw,}" "$place"
done </proc/self/mountinfo
for place in / /tmp "$HOME" "${CARGO_HOME:-$HOME}" "$writable/.."; do
    if touch "$place/probe" 2>/dev/null; then
        echo "$place can be written to"
        exit 99
    fi
done
cd "$writable"
"#;

/// The commands of a prover's team, with neither a place to write to but the prover's folder nor a network.
#[test]
#[ignore = "takes user namespaces; `cargo p3 test --only sandbox` runs it"]
fn nothing_is_written_outside_the_named_folders() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    let script = format!(
        "{READ_ONLY}
tool() {{ echo \"$@\"; {tool} --project {project} \"$@\"; }}
tool list
tool apply demo
tool status
tool apply stacked
tool status
tool overlay --out overlay
tool overlay --out overlay demo
tool remove
",
        tool = env!("CARGO_BIN_EXE_xtask"),
        project = fixture.project().display(),
    );
    let prover = fs::canonicalize(fixture.prover()).unwrap();
    let output = namespace(&script, &[prover.to_str().unwrap()]);
    let transcript = fixture.transcript(&output);
    assert!(transcript.starts_with("exit 0\n"), "{transcript}");
    assert!(
        transcript.contains("removed demo, stacked from"),
        "{transcript}"
    );
    assert_eq!(
        (fixture.manifest(), fixture.lock()),
        (MANIFEST.to_owned(), lock)
    );
    let mut left = files(&fixture.prover());
    left.retain(|name, _| !name.starts_with("overlay/"));
    let left = left.into_keys().collect::<Vec<_>>();
    assert_eq!(left, ["Cargo.lock", "Cargo.toml", "src/lib.rs"]);
}

/// The one folder that a command has to write to is not writable: that is an error with its path, and nothing changes.
#[test]
#[ignore = "takes user namespaces; `cargo p3 test --only sandbox` runs it"]
fn a_read_only_target_is_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["edit", "demo"]);
    let tool = format!(
        "{} --project {}",
        env!("CARGO_BIN_EXE_xtask"),
        fixture.project().display()
    );
    let elsewhere = fs::canonicalize(fixture.path()).unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let before = files(fixture.path());
    let prover = fixture.prover();
    for (command, place) in [
        (format!("{tool} apply demo"), prover.join(".p3-patches")),
        (format!("{tool} overlay --out overlay"), prover.clone()),
        (
            format!("{tool} refresh demo"),
            fixture.project().join(".p3-patches"),
        ),
        (
            format!("{tool} export demo --author 'A <a@b>' --out export"),
            "export".into(),
        ),
    ] {
        let script = format!("{READ_ONLY}\ncd {}\n{command}\n", prover.display());
        let transcript = fixture.transcript(&namespace(&script, &[elsewhere.to_str().unwrap()]));
        assert!(transcript.starts_with("exit 4\n"), "{transcript}");
        let place = place
            .to_str()
            .unwrap()
            .replace(fixture.path().to_str().unwrap(), "[DIR]");
        assert!(transcript.contains(&place), "{command}: {transcript}");
        assert!(transcript.contains("Read-only file system"), "{transcript}");
        assert!(files(fixture.path()) == before, "{command}");
    }
}

/// Runs `command` with `dir` on a disk that has so many KiB left. Returns the exit code, what was written
/// to stderr, and what is in the folder then.
fn on_a_full_disk(
    dir: &Path,
    command: &str,
    free: &[usize],
) -> BTreeMap<usize, (i32, String, crate::fixture::Files)> {
    let script = r#"
dir=$1 after=$2
shift 2
for free in "$@"; do
    cp -a "$dir" "$after/$free"
    mount -t tmpfs -o size=64m tmpfs "$dir"
    cp -a "$after/$free/." "$dir"
    rm -r "$after/$free"
    used=$(df -k --output=used "$dir" | tail -n 1)
    mount -o "remount,size=$((used + free))k" "$dir"
    code=0
    (cd "$dir" && COMMAND) >/dev/null 2>"$after/$free.stderr" || code=$?
    cp -a "$dir" "$after/$free"
    echo "$code" >"$after/$free.code"
    umount "$dir"
done
"#;
    let after = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(dir).unwrap();
    let mut args = vec![dir.to_str().unwrap().to_owned()];
    args.push(after.path().to_str().unwrap().to_owned());
    args.extend(free.iter().map(ToString::to_string));
    let args = args.iter().map(String::as_str).collect::<Vec<_>>();
    let output = namespace(&script.replace("COMMAND", command), &args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let run = |free: &usize| {
        let text = |name: &str| fs::read_to_string(after.path().join(format!("{free}.{name}")));
        let code = text("code").unwrap().trim().parse().unwrap();
        let left = files(&after.path().join(free.to_string()));
        (*free, (code, text("stderr").unwrap(), left))
    };
    free.iter().map(run).collect()
}

/// The disk is full sooner or later: at the first file of a tree, at the manifest, in cargo. It is always the old state that
/// is left, with an error that names a path.
#[test]
#[ignore = "takes user namespaces; `cargo p3 test --only sandbox` runs it"]
fn a_full_disk_leaves_the_old_state() {
    let fixture = Fixture::new().with_crates();
    fixture.succeed(&["edit", "demo"]);
    let kernel = "goldilocks/src/demo.rs";
    let edited = fixture.project().join(".p3-patches/edit/demo").join(kernel);
    let text = fs::read_to_string(&edited).unwrap();
    write(&edited, &text.replace("Twice `x`", "Two times `x`"));
    let tool = format!("{} --project", env!("CARGO_BIN_EXE_xtask"));
    let project = fs::canonicalize(fixture.project()).unwrap();
    let outside = format!("{tool} {}", project.display());
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.prover();
    let fresh = fixture.path().join("fresh");
    write(&fresh.join("Cargo.toml"), MANIFEST);
    write(&fresh.join("src/lib.rs"), "");
    fs::copy(project.join("Cargo.lock"), fresh.join("Cargo.lock")).unwrap();
    fixture.succeed(&["remove"]);
    fs::copy(applied.join("Cargo.lock"), fresh.join("Cargo.lock")).unwrap();
    fixture.succeed(&["apply", "demo"]);

    let pages = (0..=16).map(|pages| 4 * pages).collect::<Vec<_>>();
    // Around what two trees need, by page: there the manifest and the lock file are next.
    let trees = files(&applied.join(".p3-patches"));
    let need: usize = trees
        .values()
        .map(|file| file.len().div_ceil(4096) * 4)
        .sum();
    let around = (0..20).map(|step| need - 20 + 8 * step).collect::<Vec<_>>();
    for (dir, command, free) in [
        (
            &fresh,
            format!("{outside} apply demo"),
            [&pages[..4], &around[..]].concat(),
        ),
        (
            &applied,
            format!("{outside} apply stacked"),
            [&pages[..4], &around[..]].concat(),
        ),
        (&applied, format!("{outside} remove"), pages.clone()),
        (&project, format!("{tool} . refresh demo"), pages.clone()),
    ] {
        let mut before = files(dir);
        before.retain(|name, _| is_state(name));
        let (mut full, mut done) = (0, 0);
        for (free, (code, stderr, mut left)) in on_a_full_disk(dir, &command, &free) {
            let leftovers = left.keys().filter(|name| name.contains(".tmp-"));
            assert_eq!(leftovers.count(), 0, "{command}, {free} KiB: {stderr}");
            if code == 0 {
                done += 1;
                continue;
            }
            full += 1;
            assert_eq!(code, 4, "{command}, {free} KiB: {stderr}");
            // In git's words or in the system's.
            assert!(stderr.contains("space"), "{free} KiB: {stderr}");
            assert!(
                stderr.contains(dir.to_str().unwrap()),
                "{free} KiB: {stderr}"
            );
            assert!(
                !stderr.contains("warning"),
                "{command}, {free} KiB: {stderr}"
            );
            left.retain(|name, _| is_state(name));
            assert!(left == before, "{command}, {free} KiB: {stderr}");
        }
        println!("{command}: {full} full, {done} done");
        assert!(full > 0 && done > 0, "{command}: {full} full, {done} done");
    }
}

/// The files that a run is to leave as they were. git may keep objects that nothing names; the folder of trees has a lock and an
/// instruction for git.
fn is_state(name: &str) -> bool {
    !name.contains("/.git/") && !name.ends_with("/.lock") && !name.ends_with("/.gitignore")
}
