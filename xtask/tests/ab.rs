//! `ab` on workers that behave, lie, hang, crash or talk nonsense: what is printed, and what is left behind.
//!
//! The workers are shell scripts that speak the protocol of `benches/src/protocol.rs`.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

use stand_in::{checkout, executable};

mod stand_in;

const READY: &str = r#"echo '{"ready":{"proof":false}}'"#;
const PROVES: &str = r#"echo '{"ready":{"proof":true}}'"#;

/// A reply to `run`, of a worker that needs a KiB for each microsecond. A child of the shell gives it: to make one takes longer
/// than such a run, which has some microseconds: a reply that comes earlier than the run's time is a lie to `ab`.
fn sample(microseconds: u64, digest: &str) -> String {
    assert!(
        microseconds <= 16,
        "a fast machine makes a child in 100 microseconds"
    );
    let ns = microseconds * 1000;
    format!(
        r#"(echo '{{"sample":{{"wall_ns":{ns},"cpu_ns":{ns},"peak_kib":{microseconds},"digest":"{digest}"}}}}')"#
    )
}

/// The processes of a group that still run, with those that they have started.
fn processes_of(group: &str) -> Vec<String> {
    let ps = Process::new("ps")
        .args(["-A", "-o", "pgid=,stat=,command="])
        .output();
    let listed = String::from_utf8(ps.unwrap().stdout).unwrap();
    let of_group = listed.lines().map(str::trim_start).filter(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(group) && !words.next().unwrap_or_default().starts_with('Z')
    });
    of_group.map(str::to_owned).collect()
}

/// A project without patches, and a folder for workers.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = checkout();
        fs::create_dir(dir.path().join("benches")).unwrap();
        let memory = "release,workload,baseline,candidate\n0.8.0,equal/odd,1000,600\n";
        fs::write(dir.path().join("benches/memory.csv"), memory).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A worker that answers `prepare`, `run` and `verify` with these shell commands. It files its process id.
    fn worker(&self, name: &str, prepare: &str, run: &str, verify: &str) -> PathBuf {
        let path = self.path(name);
        let row = |name: &str, quick, parallel| {
            let kind = name.split('/').next().unwrap();
            format!(
                r#"{{"name":"{name}","kind":"{kind}","threads":1,"parallel":{parallel},"quick":{quick}}}"#
            )
        };
        let rows = [
            row("merkle-commit/small/2^4", true, false),
            row("merkle-commit/large/2^9", false, true),
            row("equal/odd", false, true),
            row("phase/p/initial", false, false),
        ];
        let script = format!(
            r#"#!/bin/sh
echo $$ >> '{pids}'
while read -r request; do
    case "$request" in
        *list*) echo '{{"rows":[{rows}]}}' ;;
        *families*) echo '{{"rows":[{family}]}}' ;;
        *prepare*) {prepare} ;;
        *run*) {run} ;;
        *save*) echo '"saved"' ;;
        *verify*) {verify} ;;
    esac
done
"#,
            pids = self.path("pids").display(),
            rows = rows.join(","),
            family = row("lde/x/2^Nx8", false, true),
        );
        executable(&path, &script);
        path
    }

    /// A worker that runs in so many microseconds.
    fn honest(&self, name: &str, microseconds: u64) -> PathBuf {
        self.worker(name, READY, &sample(microseconds, "aa"), "")
    }

    fn ab(&self, baseline: &Path, candidate: &Path) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .args(["ab", "--workers"])
            .args([baseline, candidate])
            .timeout(Duration::from_secs(60));
        command
    }

    /// A candidate that answers `run` like this, at its first run or in the middle of what is measured: `ab` fails with
    /// the complaint, reports no figure, writes no file and leaves no process.
    #[track_caller]
    fn breaks_off(&self, run: &str, complaint: &str) {
        let baseline = self.honest("baseline", 10);
        for run in [run, &midway(run)] {
            let candidate = self.worker("candidate", READY, run, "");
            let (json, page) = (self.path("ab.json"), self.path("ab.html"));
            let mut ab = Process::new(assert_cmd::cargo::cargo_bin("xtask"));
            ab.arg("--project")
                .arg(self.dir.path())
                .args([
                    "ab",
                    "--workload",
                    "*/small/*",
                    "--timeout",
                    "1",
                    "--workers",
                ])
                .args([&baseline, &candidate])
                .arg("--json")
                .arg(&json)
                .arg("--html")
                .arg(&page);
            let ab = ab.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let ab = ab.unwrap();
            let output = ab.wait_with_output().unwrap();
            let (stdout, stderr) = (
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
            );
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            assert!(!stdout.contains("merkle-commit"), "{stdout}");
            let complaint = format!("error: candidate worker: {complaint}");
            assert!(stderr.contains(&complaint), "{run}: {stderr}");
            for file in [json, page, self.path("ab.csv")] {
                assert!(!file.exists(), "{} was written", file.display());
            }
        }
        self.assert_no_worker_left();
    }

    fn assert_no_worker_left(&self) {
        // Each leads a group.
        for pid in fs::read_to_string(self.path("pids")).unwrap().lines() {
            assert_eq!(processes_of(pid), Vec::<String>::new());
        }
    }
}

#[test]
fn a_gain_is_reported_with_its_control() {
    let fixture = Fixture::new();
    fixture
        .ab(
            &fixture.honest("baseline", 10),
            &fixture.honest("candidate", 8),
        )
        .assert()
        .success()
        .stdout(contains("rustflags -C target-cpu=native"))
        .stdout(contains("base 0.8.0"))
        .stdout(
            predicate::str::is_match(
                r"merkle-commit/small/2\^4 +native +0\.010 +0\.008 +0\.800 +0\.800 0\.800 +1\.000 +1\.000 1\.000 +10 +0\.800 +faster\n",
            )
            .unwrap(),
        )
        .stderr(contains("slower").not())
        .stdout(contains("equal/odd").not())
        .stdout(contains("phase/p/initial").not());
    fixture.assert_no_worker_left();
}

#[test]
fn a_row_on_several_threads_has_a_line_and_a_speed_up() {
    let fixture = Fixture::new();
    let shared = |microseconds: u64, on_two: u64| {
        let prepare = format!(
            r#"case "$request" in *'"row":"merkle-commit/large/2^9"'*'"threads":2'*) on=2 ;; *) on=1 ;; esac; {READY}"#
        );
        let run = format!(
            "case $on in 2) {} ;; *) {} ;; esac",
            sample(on_two, "aa"),
            sample(microseconds, "aa")
        );
        (prepare, run)
    };
    let (prepare, run) = shared(12, 8);
    let baseline = fixture.worker("baseline", &prepare, &run, "");
    let (prepare, run) = shared(8, 4);
    let candidate = fixture.worker("candidate", &prepare, &run, "");
    let ab = |options: &[&str]| fixture.ab(&baseline, &candidate).args(options).assert();
    if std::thread::available_parallelism().unwrap().get() > 1 {
        let ab = ab(&["--threads", "2,1,2", "--seeds", "2"]).success();
        let lines = String::from_utf8(ab.get_output().stdout.clone()).unwrap();
        let rows = lines
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with("merkle-commit"));
        let rows: Vec<_> = rows.map(|line| line.split(' ').next().unwrap()).collect();
        let expected = [
            "merkle-commit/small/2^4",
            "merkle-commit/large/2^9",
            "merkle-commit/large/2^9/2-threads",
        ];
        assert_eq!(rows, expected, "{lines}");
        let speed_up = predicate::str::is_match(
            r"`merkle-commit/large/2\^9` \| .* \| native +\| 2 +\| 0\.500§ +\| 1\.50§ +\| 2\.00§ +\|",
        );
        ab.stdout(speed_up.unwrap())
            .stdout(contains("\n§ Measured with fewer than five inputs.\n"));
    }
    ab(&["--threads", "1,4096"])
        .code(3)
        .stderr(contains("error: --threads 4096: this process may use "))
        .stderr(contains("hint: leave out what is more than that"));
    ab(&["--threads", "2", "--workload", "*/small/*"])
        .code(3)
        .stderr(contains("error: --threads"));
    ab(&["--threads", "0"]).code(2);
    fixture.assert_no_worker_left();
}

#[test]
fn a_family_is_measured_at_each_size_that_the_memory_allows() {
    let fixture = Fixture::new();
    // 2 microseconds for 4 rows, and twice the time for twice the rows; 8 TiB at 2^5.
    let prepare = format!(
        r#"case "$request" in *2^2x8*) size=2 ;; *2^3x8*) size=3 ;; *2^4x8*) size=4 ;; *) size=5 ;; esac; {READY}"#
    );
    let large = sample(8, "aa").replace("\"peak_kib\":8", "\"peak_kib\":8589934592");
    let run = format!(
        "case $size in 2) {} ;; 3) {} ;; 4) {} ;; *) {large} ;; esac",
        sample(2, "aa"),
        sample(4, "aa"),
        sample(8, "aa"),
    );
    let worker = fixture.worker("worker", &prepare, &run, "");
    let ab = |options: &[&str]| {
        let mut ab = fixture.ab(&worker, &worker);
        ab.args(["--seeds", "2", "--sizes"]).args(options).assert()
    };
    let ab_of = ab(&["6,2,5,4,3", "--workload", "lde/*/2^Nx8"]).success();
    let line = |size: &str| {
        format!(
            r"`lde/x/2\^Nx8` \| .* \| native +\| {size} +\| 1\.000§ +\| 62\.50 +\| 62\.50 +\| +\| +\|"
        )
    };
    let lines = ["2\\^2", "2\\^3", "2\\^4"].map(line);
    let mut ab_of = ab_of.stderr(contains(
        "note: left out, for want of memory: native lde/x/2^6x8 (some 49152 GiB)",
    ));
    for line in lines {
        ab_of = ab_of.stdout(predicate::str::is_match(line).unwrap());
    }
    ab(&["2", "--workload", "lde/y*"])
        .code(3)
        .stderr(contains("error: --workload lde/y*: no such row"));
    ab(&["41"]).code(2);
    fixture.assert_no_worker_left();
}

#[test]
fn outputs_of_parallel_rows_are_compared_on_two_threads_too() {
    let fixture = Fixture::new();
    let prepare =
        format!(r#"case "$request" in *'"threads":2'*) on=2 ;; *) on=1 ;; esac; {READY}"#);
    let run = |on_two: &str| {
        format!(
            "case $on in 2) {} ;; *) {} ;; esac",
            sample(10, on_two),
            sample(10, "aa")
        )
    };
    let baseline = fixture.worker("baseline", &prepare, &run("aa"), "");
    let candidate = fixture.worker("candidate", &prepare, &run("bb"), "");
    let mut ab = fixture.ab(&baseline, &candidate);
    let ab = ab.arg("--outputs-only").assert();
    match std::thread::available_parallelism().unwrap().get() {
        1 => ab
            .success()
            .stderr(contains("outputs on two threads are not compared")),
        _ => ab.code(1).stderr(contains("equal/odd/2-threads, seed 1: ")),
    };
}

#[test]
fn a_slower_row_may_be_the_compilers() {
    let fixture = Fixture::new();
    let candidate = fixture.honest("candidate", 12);
    let mut ab = fixture.ab(&fixture.honest("baseline", 10), &candidate);
    ab.args(["--workload", "*/small/*"])
        .assert()
        .success()
        .stderr(contains("note: slower: merkle-commit/small/2^4; "))
        .stderr(contains("CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1"));
}

#[test]
fn json_has_the_documented_schema_and_raw_samples_beside_it() {
    let fixture = Fixture::new();
    let json = fixture.path("ab.json");
    fixture
        .ab(
            &fixture.honest("baseline", 10),
            &fixture.honest("candidate", 12),
        )
        .args(["--workload", "*/small/*", "--seeds", "3", "--reps", "1"])
        .arg("--json")
        .arg(&json)
        .assert()
        .success();
    let mut report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for fact in ["cpu", "cores", "rustc"] {
        assert!(!report["machine"][fact].is_null());
        report["machine"][fact] = format!("[{fact}]").into();
    }
    let command = report["command"].as_str().unwrap();
    assert!(command.starts_with("cargo p3 "), "{command}");
    assert!(
        command.contains(" --workload '*/small/*' --seeds 3 "),
        "{command}"
    );
    // Neither the page nor the place of the checkout is a part of what is measured.
    let is_left_out = |option| !command.contains(option);
    assert!(is_left_out("json") && is_left_out("project"), "{command}");
    report["command"] = "[command]".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());

    let csv = fs::read_to_string(fixture.path("ab.csv")).unwrap();
    let mut lines = csv.lines();
    assert_eq!(
        lines.next().unwrap(),
        "workload,isa,threads,seed,round,side,wall_ns,cpu_ns,peak_kib,live_bytes,hashing_ns"
    );
    let sides: Vec<&str> = lines.map(|line| line.split(',').nth(5).unwrap()).collect();
    assert_eq!(sides.len(), 3 * 8);
    for round in sides.chunks(8) {
        assert_eq!(
            round[..4],
            ["baseline", "candidate", "candidate", "control"]
        );
        assert_eq!(
            round[4..],
            ["control", "candidate", "candidate", "baseline"]
        );
    }
}

/// The patches of a step are told apart from those that both sides have.
#[test]
fn a_step_is_reported_as_such() {
    let fixture = Fixture::new();
    let patch = |name: &str, text: &str| fs::write(fixture.path(name), text).unwrap();
    fs::create_dir_all(fixture.path("crates/demo/src")).unwrap();
    patch(
        "crates/demo/src/demo.rs",
        include_str!("../../crates/p3-patches/tests/fixtures/demo.rs"),
    );
    patch("patches/series", "demo\nstacked needs: demo\n");
    patch(
        "patches/0.8.0/demo.patch",
        include_str!("../../crates/p3-patches/tests/fixtures/demo.patch"),
    );
    patch(
        "patches/0.8.0/stacked.patch",
        include_str!("../../crates/p3-patches/tests/fixtures/stacked.patch"),
    );
    let (baseline, candidate) = (
        fixture.honest("baseline", 10),
        fixture.honest("candidate", 8),
    );
    let json = fixture.path("ab.json");
    fixture
        .ab(&baseline, &candidate)
        .args(["--workload", "*/small/*", "--seeds", "2"])
        .args(["--step", "stacked", "--json"])
        .arg(&json)
        .assert()
        .success()
        .stdout(contains("base 0.8.0 with demo, patches stacked, 2 seeds"));
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(report["baseline_patches"], serde_json::json!(["demo"]));
    assert_eq!(report["patches"], serde_json::json!(["demo", "stacked"]));
    fixture
        .ab(&baseline, &candidate)
        .args(["--step", "demo"])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains(
            "error: --step: demo needs no other patch on Plonky3 0.8.0\nhint: ",
        ));
}

#[test]
fn a_page_has_the_row_and_every_sample() {
    let fixture = Fixture::new();
    let page = fixture.path("page.html");
    fixture
        .ab(
            &fixture.honest("baseline", 10),
            &fixture.honest("candidate", 8),
        )
        .args(["--workload", "*/small/*", "--seeds", "3", "--reps", "1"])
        .arg("--html")
        .arg(&page)
        .assert()
        .success();
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<code>merkle-commit/small/2^4</code>"));
    assert!(page.contains("<b>0.800</b> 0.800 to 0.800"));
    assert!(page.contains("--workload '*/small/*' --seeds 3"));
    // Three rounds of eight runs.
    assert_eq!(page.matches(r#"r="1.8""#).count(), 24);
}

/// The file would take the place of what is measured, under whatever name.
#[test]
fn a_file_that_is_read_is_refused_before_anything_is_measured() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker.json", 10);
    let text = fs::read(&honest).unwrap();
    let link = fixture.path("link.json");
    std::os::unix::fs::symlink(&honest, &link).unwrap();
    fs::hard_link(&honest, fixture.path("other.json")).unwrap();
    let other = fixture.honest("other", 10);
    for (file, complaint) in [
        ("worker.json", "are the same file"),
        ("patches/../worker.json", "are the same file"),
        ("link.json", "are the same file"),
        ("other.json", "are the same file"),
        ("patches/series", "which this command works with"),
        ("patches/0.8.0/new.json", "which this command works with"),
    ] {
        for option in ["--json", "--html"] {
            fixture
                .ab(&honest, &other)
                .arg(option)
                .arg(fixture.path(file))
                .assert()
                .code(3)
                .stdout("")
                .stderr(contains(complaint));
        }
    }
    assert!(!fixture.path("pids").exists());
    assert_eq!(fs::read(&honest).unwrap(), text);
    assert_eq!(fs::read(fixture.path("patches/series")).unwrap(), b"");
}

/// The files are worth more than the table, which may be piped to a program that has ended.
#[test]
fn the_files_are_written_where_the_table_cannot_be_printed() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    let mut ab = Process::new(assert_cmd::cargo::cargo_bin("xtask"));
    ab.arg("--project")
        .arg(fixture.path("."))
        .args(["ab", "--workload", "*/small/*", "--seeds", "2", "--workers"])
        .args([&honest, &honest]);
    for option in ["json", "html"] {
        ab.arg(format!("--{option}"))
            .arg(fixture.path(&format!("ab.{option}")));
    }
    let mut running = ab.stdout(Stdio::piped()).spawn().unwrap();
    // The first lines are printed before anything is measured.
    let printed = BufReader::new(running.stdout.take().unwrap());
    let head = printed.lines().map(Result::unwrap);
    assert!(head.take(3).last().unwrap().starts_with("base "));
    assert_eq!(running.wait().unwrap().code(), Some(0));
    for file in ["ab.json", "ab.csv", "ab.html"] {
        assert!(fixture.path(file).exists(), "no {file}");
    }
}

/// Nobody would see the table.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_measured_where_nothing_can_be_printed() {
    let fixture = Fixture::new();
    let worker = fixture.worker(
        "worker",
        READY,
        &format!("touch '{}'", fixture.path("ran").display()),
        "",
    );
    let full = fs::File::create("/dev/full").unwrap();
    let mut ab = Process::new(assert_cmd::cargo::cargo_bin("xtask"));
    ab.arg("--project")
        .arg(fixture.path("."))
        .args(["ab", "--workers"])
        .args([&worker, &worker]);
    let output = ab.stdout(full).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(
        stderr.starts_with("error: No space left on device"),
        "{stderr}"
    );
    assert!(!fixture.path("ran").exists());
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    let pipe = Process::new("mkfifo").arg(fixture.path("pipe")).status();
    assert!(pipe.unwrap().success());
    fs::create_dir(fixture.path("folder")).unwrap();
    for option in ["--json", "--html"] {
        fixture
            .ab(&honest, &honest)
            .arg(option)
            .arg(fixture.path("missing/file"))
            .assert()
            .code(4)
            .stdout("")
            .stderr(contains("missing: no such folder"));
        for (file, complaint) in [("pipe", ": a pipe\n"), ("folder", ": a folder\n")] {
            fixture
                .ab(&honest, &honest)
                .arg(option)
                .arg(fixture.path(file))
                .assert()
                .code(3)
                .stderr(contains(complaint));
        }
        fixture
            .ab(&honest, &honest)
            .arg(option)
            .arg(OsStr::from_bytes(b"\xff.json"))
            .assert()
            .code(3)
            .stderr(contains(r#"error: "\xFF.json": no UTF-8 text"#));
    }
    assert!(!fixture.path("pids").exists());
}

/// The user sees a measurement that took minutes, though no file has it.
#[test]
fn figures_are_shown_where_a_file_cannot_be_written() {
    let fixture = Fixture::new();
    let json = fixture.path("ab.json");
    let in_its_place = format!("mkdir -p '{}'; {}", json.display(), sample(10, "aa"));
    let candidate = fixture.worker("candidate", READY, &in_its_place, "");
    fixture
        .ab(&fixture.honest("baseline", 10), &candidate)
        .arg("--json")
        .arg(&json)
        .assert()
        .failure()
        .stdout(contains("merkle-commit/small/2^4"))
        .stderr(contains("ab.json"));
}

#[test]
fn no_time_is_reported_for_outputs_that_differ() {
    let fixture = Fixture::new();
    let json = fixture.path("ab.json");
    let liar = fixture.worker("liar", READY, &sample(1, "bb"), "");
    fixture
        .ab(&fixture.honest("baseline", 10), &liar)
        .arg("--json")
        .arg(&json)
        .arg("--html")
        .arg(fixture.path("page.html"))
        .assert()
        .code(1)
        .stdout(contains("merkle-commit").not())
        .stderr(contains(
            "error: merkle-commit/small/2^4, seed 1: the candidate's outputs differ",
        ))
        .stderr(contains("hint: "));
    assert!(!json.exists() && !fixture.path("page.html").exists());
    fixture.assert_no_worker_left();
}

#[test]
fn outputs_are_compared_in_every_run() {
    let fixture = Fixture::new();
    let turn = format!(
        "runs=$((runs + 1)); if [ $runs -lt 3 ]; then {}; else {}; fi",
        sample(8, "aa"),
        sample(8, "bb")
    );
    let turncoat = fixture.worker("turncoat", READY, &turn, "");
    fixture
        .ab(&fixture.honest("baseline", 10), &turncoat)
        .assert()
        .code(1)
        .stderr(contains("the candidate's outputs differ"));
}

#[test]
fn the_other_sides_proof_must_be_accepted() {
    let fixture = Fixture::new();
    let accepts = r#"echo '"accepted"'"#;
    let rejects = r#"echo '{"error":"proof: wrong root"}'"#;
    let prover = |name, verify| fixture.worker(name, PROVES, &sample(10, "aa"), verify);
    fixture
        .ab(&prover("baseline", accepts), &prover("candidate", accepts))
        .assert()
        .success();
    fixture
        .ab(&prover("baseline", rejects), &prover("candidate", accepts))
        .assert()
        .code(1)
        .stderr(contains("baseline worker: proof: wrong root"));
}

/// The row of an executable against itself whose runs take longer until its third one, and after it has verified a proof.
#[test]
fn runs_that_warm_up_a_process_are_no_gain() {
    let fixture = Fixture::new();
    let run = format!(
        "runs=$((runs + 1)); if [ $runs -lt 3 ] || [ $verified ]; then {}; else {}; fi",
        sample(16, "aa"),
        sample(10, "aa")
    );
    let verify = r#"verified=1; echo '"accepted"'"#;
    let baseline = fixture.worker("baseline", PROVES, &run, verify);
    let candidate = fixture.worker("candidate", PROVES, &format!("true; {run}"), verify);
    let mut ab = fixture.ab(&baseline, &candidate);
    ab.args(["--workload", "*/small/*", "--seeds", "2"])
        .assert()
        .success()
        .stdout(
            predicate::str::is_match(
                r"small/2\^4 +native +0\.010 +0\.010 +1\.000 +1\.000 1\.000 +1\.000 +1\.000 1\.000 +2 +1\.000 +no change\n",
            )
            .unwrap(),
        );
}

/// Shell commands of a worker that does as `run` says from its third run on, in the middle of what is measured.
fn midway(run: &str) -> String {
    let honest = sample(10, "aa");
    format!("runs=$((runs + 1)); if [ $runs -lt 3 ]; then {honest}; else {run}; fi")
}

#[test]
fn a_worker_that_hangs_is_killed() {
    let fixture = Fixture::new();
    let deaf = format!("exec <&-; {}; exec sleep 600", sample(10, "aa"));
    for (run, complaint) in [
        (
            &*deaf,
            "closed its standard input or output, but still runs",
        ),
        ("exec sleep 600", "gave no reply within 1 s"),
        (
            "exec >&-; exec sleep 600",
            "closed its standard input or output, but still runs",
        ),
        ("exec <&-; exec sleep 600", "gave no reply within 1 s"),
        (
            r#"printf '{"sample":'; exec sleep 600"#,
            "gave no reply within 1 s",
        ),
    ] {
        fixture.breaks_off(run, complaint);
    }
}

/// At once and in the middle of what is measured.
#[test]
fn a_worker_that_crashes_or_talks_nonsense_is_named() {
    let fixture = Fixture::new();
    for (run, complaint) in [
        ("kill -SEGV $$", "ended early: signal: 11"),
        ("exit 7", "ended early: exit status: 7"),
        // Another process holds its output.
        ("sleep 600 & exit 7", "ended early: exit status: 7"),
        (
            "echo thread panicked",
            "printed a line that is no reply of the protocol: thread panicked",
        ),
        (
            r"printf '\377\n'",
            "printed a line that is no reply of the protocol: \u{fffd}",
        ),
        // Neither fills the memory of the one who reads.
        (
            "exec cat /dev/zero",
            r"printed a line that is no reply of the protocol: \u{0}\u{0}",
        ),
        (
            "exec yes",
            "printed a line that is no reply of the protocol: y\n",
        ),
        (
            r#"echo '"saved"'"#,
            "answered the request `run` with `saved`; this is a bug in the worker",
        ),
        (
            r#"echo '{"error":"panicked: overflow"}'"#,
            "panicked: overflow",
        ),
    ] {
        fixture.breaks_off(run, complaint);
    }
}

/// A reply that comes before its question could be one to an earlier run.
#[test]
fn a_worker_that_answers_twice_is_named() {
    // A sample of no time: where the second one comes after the next run was asked for, it is taken for that run's.
    let twice = format!("{0}; {0}", sample(1, "aa"));
    Fixture::new().breaks_off(&twice, r#"printed a line before it was asked: {"sample":"#);
}

#[test]
fn rows_that_no_worker_has_are_refused() {
    let fixture = Fixture::new();
    let worker = fixture.honest("worker", 10);
    let text = fs::read_to_string(&worker).unwrap();
    for (from, to, complaint) in [
        (r#""threads":1"#, r#""threads":0"#, "a row on 0 threads"),
        (
            r#""threads":1"#,
            r#""threads":18446744073709551615"#,
            "a row on 18446744073709551615 threads",
        ),
        (
            "large/2^9",
            "small/2^4",
            "lists merkle-commit/small/2^4 twice",
        ),
        ("merkle-commit/small/2^4", "", "\"\" is no name"),
        ("merkle-commit/small/2^4", "   ", "\"   \" is no name"),
        (
            "merkle-commit/small/2^4",
            "https://me:s3cr3t@h/",
            "lists https://h/, with more than the host of an address",
        ),
        ("\"rows\":[", "\"rows\":[]}'; : '[", "lists no rows"),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&worker, text.replacen(from, to, 1)).unwrap();
        let refused = fixture.ab(&worker, &worker).assert().code(1).stdout("");
        refused.stderr(contains("baseline worker: ").and(contains(complaint)));
    }
}

/// Rows that only compare outputs are none to measure, and the other way round.
#[test]
fn a_worker_without_a_row_of_the_mode_is_no_success() {
    let fixture = Fixture::new();
    let worker = fixture.honest("worker", 10);
    let text = fs::read_to_string(&worker).unwrap();
    for (from, to, options) in [
        ("merkle-commit", "equal", &[][..]),
        ("\"quick\":true", "\"quick\":false", &["--quick"]),
        ("equal", "lde", &["--outputs-only"]),
    ] {
        fs::write(&worker, text.replace(from, to)).unwrap();
        let refused = fixture.ab(&worker, &worker).args(options).assert();
        let refused = refused.code(1).stdout("");
        refused.stderr(contains("error: the workers have no row to run\nhint: "));
    }
}

/// Reports of a worker whose clock was set, or stands. A figure would come of each.
#[test]
fn times_that_no_run_took_are_refused() {
    let fixture = Fixture::new();
    let reply = |fields: &str| format!(r#"echo '{{"sample":{{{fields},"digest":"aa"}}}}'"#);
    for (fields, complaint) in [
        (
            r#""wall_ns":0,"cpu_ns":9"#,
            "reports a run that took no time",
        ),
        (
            r#""wall_ns":9,"cpu_ns":0"#,
            "reports a run that took no time",
        ),
        (
            r#""wall_ns":60000000000,"cpu_ns":9"#,
            "reports a run of 60s, ",
        ),
        // One nanosecond less than none.
        (
            r#""wall_ns":18446744073709551615,"cpu_ns":9"#,
            "reports a run of 18446744073.709551615s, ",
        ),
        (
            r#""wall_ns":9,"cpu_ns":18446744073709551615"#,
            "reports 18446744073.709551615s of CPU time, ",
        ),
        (
            r#""wall_ns":1,"cpu_ns":13000000"#,
            "reports 13ms of CPU time, in a run of 1ns with threads: 1",
        ),
        (
            r#""wall_ns":-1,"cpu_ns":9"#,
            "printed a line that is no reply of the protocol: ",
        ),
        (
            r#""wall_ns":null,"cpu_ns":9"#,
            "printed a line that is no reply of the protocol: ",
        ),
        (
            r#""wall_ns":1e999,"cpu_ns":9"#,
            "printed a line that is no reply of the protocol: ",
        ),
        (
            r#""wall_ns":9,"cpu_ns":9,"hashing_ns":10"#,
            "reports more time in hashing than its run took",
        ),
        (
            r#""wall_ns":9,"cpu_ns":9,"peak_kib":0"#,
            "reports a run that had no memory",
        ),
        (
            r#""wall_ns":9,"cpu_ns":9,"peak_kib":18446744073709551615"#,
            "reports a run that had more memory than any machine",
        ),
    ] {
        fixture.breaks_off(&reply(fields), complaint);
    }
}

#[test]
fn an_interrupt_leaves_no_worker() {
    let fixture = Fixture::new();
    assert_eq!(fixture.ended_by("-INT").code(), Some(130));
    fixture.assert_no_worker_left();
    assert_eq!(fixture.copies(), Vec::<PathBuf>::new());
}

/// The guard ends the workers; the next run removes the executables that nobody runs any more.
#[test]
fn a_killed_run_leaves_no_worker_and_the_next_one_no_copy() {
    let fixture = Fixture::new();
    assert_eq!(fixture.ended_by("-KILL").code(), None);
    let started = Instant::now();
    let pids = fs::read_to_string(fixture.path("pids")).unwrap();
    while !pids.lines().all(|pid| processes_of(pid).is_empty()) {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_ne!(fixture.copies(), Vec::<PathBuf>::new());
    let honest = fixture.honest("worker", 10);
    let next = fixture.ab(&honest, &honest).arg("--quick").assert();
    next.success();
    assert_eq!(fixture.copies(), Vec::<PathBuf>::new());
}

impl Fixture {
    /// A run that gets a signal while its workers are at work.
    fn ended_by(&self, signal: &str) -> ExitStatus {
        let slow = self.worker("slow", READY, "exec sleep 600", "");
        let mut driver = Process::new(assert_cmd::cargo::cargo_bin("xtask"))
            .arg("--project")
            .arg(self.dir.path())
            .args(["ab", "--workers"])
            .args([&slow, &slow])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // One worker lists the rows, three are prepared.
        let started = Instant::now();
        while fs::read_to_string(self.path("pids"))
            .unwrap_or_default()
            .lines()
            .count()
            < 4
        {
            assert!(started.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(20));
        }
        let interrupted = Process::new("kill")
            .args([signal, &driver.id().to_string()])
            .status()
            .unwrap();
        assert!(interrupted.success());
        driver.wait().unwrap()
    }

    /// The folders of executables that were copied to be run.
    fn copies(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .contains("copies")
        });
        paths
    }
}

#[test]
fn outputs_only_runs_the_odd_rows_and_measures_nothing() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    // The parallel row, on one thread and on two.
    let rows = std::thread::available_parallelism().unwrap().get().min(2);
    for quick in [&[][..], &["--quick"]] {
        fixture
            .ab(&honest, &honest)
            .arg("--outputs-only")
            .args(quick)
            .assert()
            .success()
            .stdout(format!("native: equal outputs in {rows} rows\n"));
    }
    let liar = fixture.worker("liar", READY, &sample(10, "bb"), "");
    fixture
        .ab(&honest, &liar)
        .arg("--outputs-only")
        .assert()
        .code(1)
        .stderr(contains("equal/odd"));
    // Workers that count their memory are held to the figures in the file.
    let [most, as_recorded, more] = [10_000_000, 6_000_000, 6_500_000].map(|bytes| {
        let run = sample(10, "aa").replace("peak_kib", &format!("live_bytes\":{bytes},\"peak_kib"));
        fixture.worker(&format!("counts-{bytes}"), READY, &run, "")
    });
    let compared = |candidate: &Path| fixture.ab(&most, candidate).arg("--outputs-only").assert();
    compared(&as_recorded).success();
    let other = compared(&more).code(1);
    other.stderr(contains("others: equal/odd 0.650 and not 0.600\n"));
}

/// The pages that hold a file's code can cost it half of its speed, for as long as the file is there.
#[test]
fn a_seed_has_executables_of_its_own() {
    let fixture = Fixture::new();
    let started = fixture.path("started");
    let prepare = format!("echo \"$0\" >> '{}'; {READY}", started.display());
    let worker = |name: &str| fixture.worker(name, &prepare, &sample(10, "aa"), "");
    fixture
        .ab(&worker("baseline"), &worker("candidate"))
        .args(["--seeds", "3", "--workload", "*/small/*"])
        .assert()
        .success();
    let started = fs::read_to_string(started).unwrap();
    let files: BTreeSet<_> = started.lines().map(Path::new).collect();
    assert_eq!((started.lines().count(), files.len()), (9, 9), "{started}");
    let left = files.iter().find(|file| file.parent().unwrap().exists());
    assert_eq!(left, None);
}

#[test]
fn quick_takes_the_quick_rows() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    fixture
        .ab(&honest, &honest)
        .arg("--quick")
        .assert()
        .success()
        .stdout(contains("merkle-commit/small/2^4"))
        .stdout(contains("merkle-commit/large/2^9").not());
}

#[test]
fn a_reverted_patch_must_change_nothing() {
    let fixture = Fixture::new();
    let baseline = fixture.honest("baseline", 10);
    fixture
        .ab(&baseline, &fixture.honest("same", 10))
        .arg("--revert")
        .assert()
        .success();
    fixture
        .ab(&baseline, &fixture.honest("different", 8))
        .arg("--revert")
        .assert()
        .code(1)
        .stderr(contains("merkle-commit/small/2^4 on native (0.800)"));
}

#[test]
fn a_row_that_does_not_exist_is_refused_with_the_nearest() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    fixture
        .ab(&honest, &honest)
        .args(["--workload", "merkel-commit/small/*"])
        .assert()
        .code(3)
        .stderr(contains("--workload merkel-commit/small/*: no such row"))
        .stderr(contains("hint: the nearest are merkle-commit/small/2^4,"));
    fixture
        .ab(&honest, &honest)
        .args(["--workload", "merkle-commit/[/*"])
        .assert()
        .code(3);
}

#[test]
fn an_instruction_set_that_the_cpu_lacks_is_refused_by_name() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    let foreign = if cfg!(target_arch = "x86_64") {
        "neon"
    } else {
        "x86-64-v3"
    };
    fixture
        .ab(&honest, &honest)
        .args(["--isa", "native", "--isa", foreign])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains(format!("error: {foreign}: this CPU lacks ")));
}

#[test]
fn usage_errors_exit_with_2() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    for arguments in [
        &["--seeds", "0"][..],
        // Their product is no number.
        &["--seeds", "18446744073709551615"],
        &["--reps", "18446744073709551615"],
        &["--isa", "pentium"],
        &["--quick", "--record"],
        &["--outputs-only", "--revert"],
        &["--step"],
        &["demo", "--step", "--revert"],
    ] {
        fixture
            .ab(&honest, &honest)
            .args(arguments)
            .assert()
            .code(2);
    }
}

#[test]
fn flags_of_the_environment_are_named_where_they_are_replaced() {
    let fixture = Fixture::new();
    let honest = fixture.honest("worker", 10);
    fixture
        .ab(&honest, &honest)
        .env("RUSTFLAGS", "-C opt-level=1")
        .assert()
        .success()
        .stdout(contains(
            "rustflags -C target-cpu=native, in place of RUSTFLAGS\n",
        ));
}
