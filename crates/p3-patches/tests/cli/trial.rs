//! `try` on programs that behave, differ, fail or wait. They are shell scripts, which a stand-in for cargo says it has built;
//! graphs are resolved by cargo itself.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use paired::show::report::Output;
use tempfile::TempDir;

use crate::fixture::runs;
use crate::fixture::{Fixture, MANIFEST, assert_ended, write};
use crate::foreign::change;

/// A prover that cargo "builds" without compiling it.
struct Prover {
    fixture: Fixture,
    /// A target folder on another file system than the prover's, where there is one.
    target: TempDir,
}

impl Prover {
    /// Returns a prover whose two builds are these scripts.
    fn new(baseline: &str, candidate: &str) -> Self {
        let elsewhere = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let prover = Self {
            fixture: Fixture::new(),
            target: elsewhere.unwrap(),
        };
        for (side, script) in [("baseline", baseline), ("candidate", candidate)] {
            prover.executable(side, &format!("# {side}\n{script}"));
        }
        let text = r#"
            case "$*" in
                build* | run* | bench* | test*) ;;
                *' rustc '*) echo 'target_feature="avx2"'; exit ;;
                metadata*' --no-deps'*) exec @CARGO@ "$@" ;;
                metadata*)
                    @CARGO@ "$@"
                    code=$?
                    if [ -e HERE/resolved ]; then . HERE/resolved; fi
                    exit $code ;;
                *) exec @CARGO@ "$@" ;;
            esac
            side=baseline
            for arg; do
                case "$arg" in
                    patch.crates-io.*) side=candidate; tree=${arg#*=?}; tree=${tree%?} ;;
                    target.*.runner=*) runner=$(echo "${arg#*=}" | tr -d '[,]"') ;;
                esac
            done
            if [ -n "$runner" ]; then
                command=$1
                case $command,$(cat HERE/names) in
                    run,*' '*) echo 'error: could not determine which binary to run' >&2; exit 101 ;;
                esac
                while [ "$1" != -- ]; do shift; done
                shift
                if [ $command = bench ]; then set -- "$@" --bench; fi
                CARGO_MANIFEST_DIR='HERE/prover' exec $runner HERE/$side "$@"
            fi
            cd 'HERE'
            echo "$side: $@" >> built
            if [ -e $side.holds ]; then exec ./waits held; fi
            if [ -e $side.meanwhile ]; then . ./$side.meanwhile; fi
            if [ -e $side.broken ]; then echo 'error: cannot compile this' >&2; exit 101; fi
            case "$1" in build) test=false ;; *) test=true ;; esac
            artifact() {
                echo '{"reason":"compiler-artifact","package_id":"path+file:///prover#0.1.0","manifest_path":"'$1'/Cargo.toml",
                "target":{"kind":["bin"],"crate_types":["bin"],"name":"'$2'","src_path":"/main.rs","edition":"2024","test":true},
                "profile":{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":'$test'},
                "features":[],"filenames":[],"executable":'$3',"fresh":false}' | tr -d '\n'
                echo
            }
            if [ -n "$tree" ]; then artifact "$tree" p3-goldilocks null; fi
            for name in $(cat names); do artifact 'HERE/prover' $name '"HERE/'$side'"'; done"#;
        let here = prover.path("");
        let here = here.to_str().unwrap().trim_end_matches('/');
        let text = text.replace("@CARGO@", env!("CARGO")).replace("HERE", here);
        prover.executable("cargo", &text);
        // A process that starts another one, which waits.
        let waits =
            format!("cd {here}; echo $$ >> groups; sh -c 'touch $0; sleep 100000; :' $1; :");
        prover.executable("waits", &waits);
        write(&prover.path("names"), "prove");
        prover
    }

    fn path(&self, name: &str) -> PathBuf {
        self.fixture.path().join(name)
    }

    fn executable(&self, name: &str, script: &str) {
        let path = self.path(name);
        write(&path, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs in the fixture's folder, which the prover's lies in.
    fn command(&self, options: &[&str], line: &[&str]) -> Command {
        let manifest = ["--manifest-path", "prover/Cargo.toml", "--reps", "3"];
        let args = [&["try"], options, &manifest, &["--"], line].concat();
        let mut command = self.fixture.command(&args);
        command
            .env("CARGO", self.path("cargo"))
            .current_dir(self.fixture.path());
        command
    }

    fn run(&self, options: &[&str]) -> String {
        let mut command = self.command(options, &["run", "--release"]);
        self.fixture.transcript(&command.output().unwrap())
    }

    /// The output of a run that fails; the prover's own files stay.
    #[track_caller]
    fn fails(&self, options: &[&str]) -> String {
        let lock = self.fixture.lock();
        let printed = self.run(options);
        assert!(!printed.starts_with("exit 0"), "{printed}");
        assert_eq!(self.fixture.manifest(), MANIFEST);
        assert_eq!(self.fixture.lock(), lock);
        let (_, stderr) = printed.split_once("--- stderr\n").unwrap();
        stderr.to_owned()
    }

    /// Starts a run, and waits until a file is there.
    fn at(&self, options: &[&str], file: &str) -> Child {
        let child = self
            .command(options, &["run"])
            .env("CARGO_TARGET_DIR", self.target.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for(&self.path(file));
        child
    }

    /// Interrupts a run once a file is there, and returns what the lock file was then. All that it has started is gone.
    #[track_caller]
    fn interrupted_at(&self, options: &[&str], signal: &str, file: &str) -> String {
        let lock = self.fixture.lock();
        let child = self.at(options, file);
        let meanwhile = self.fixture.lock();
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.ends_with("error: interrupted\n"), "{stderr}");
        assert_eq!(self.fixture.manifest(), MANIFEST);
        assert_eq!(self.fixture.lock(), lock);
        assert_eq!(self.fixture.leftovers(), Vec::<PathBuf>::new());
        assert!(!self.path("prover/.p3-patches").exists());
        let groups = fs::read_to_string(self.path("groups")).unwrap();
        let left: Vec<_> = groups.lines().filter(|group| runs(group)).collect();
        assert_eq!(left, Vec::<&str>::new());
        meanwhile
    }
}

fn send(signal: &str, child: &Child) {
    let kill = [signal, &child.id().to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
}

/// The processes in a file, a number a line, that still run.
fn running(file: &Path) -> Vec<String> {
    let listed = fs::read_to_string(file).unwrap();
    assert!(!listed.is_empty());
    let runs = |number: &&str| {
        let mut ps = Command::new("ps");
        let output = ps.args(["-o", "stat=", "-p", number]).output().unwrap();
        let state = String::from_utf8(output.stdout).unwrap();
        !state.trim_start().is_empty() && !state.trim_start().starts_with('Z')
    };
    listed.lines().filter(runs).map(str::to_owned).collect()
}

fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{file:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A figure as the standard library's harness prints it.
const LIBTEST: &str = "echo 'test prove ... bench:   1,234.50 ns/iter (+/- 2)';";

/// Long enough to be compared.
const SLEEP: &str = "sleep 0.02";

#[test]
fn a_gain_is_reported_and_the_prover_stays_as_it_was() {
    let needs = |bytes: u32| {
        format!("dd if=/dev/zero of=/dev/null bs={bytes} count=1 2> /dev/null; echo 1")
    };
    let baseline = format!("sleep 0.3; {}", needs(200 << 20));
    let candidate = format!("sleep 0.02; {}", needs(100 << 20));
    let prover = Prover::new(&baseline, &candidate);
    let lock = prover.fixture.lock();
    let printed = prover.run(&[
        "demo", "--same", "stdout", "--json", "try.json", "--html", "try.html",
    ]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    assert!(
        printed.contains("base 0.8.0, patches demo, built for x86-64-v3\n"),
        "{printed}"
    );
    assert!(printed.contains("prove: 3 pairs"), "{printed}");
    assert!(
        printed.contains("\nequal in every run: stdout\n"),
        "{printed}"
    );
    assert_eq!(prover.fixture.manifest(), MANIFEST);
    assert_eq!(prover.fixture.lock(), lock);

    // The candidate alone has the tree, and each side has its own folder.
    let built = fs::read_to_string(prover.path("built")).unwrap();
    let [baseline, candidate] = built.lines().collect::<Vec<_>>()[..] else {
        panic!("{built}");
    };
    assert!(
        baseline.contains("prover/target/p3-try/base "),
        "{baseline}"
    );
    assert!(
        candidate.contains("prover/target/p3-try/cand "),
        "{candidate}"
    );
    assert!(baseline.contains("build --manifest-path Cargo.toml --release "));
    assert!(candidate.contains(" --config patch.crates-io.p3-goldilocks.path="));

    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(prover.path("try.json")).unwrap()).unwrap();
    assert_eq!(json["rows"][0]["workload"], "run/wall");
    let ratio = json["rows"][0]["ratio"].as_f64().unwrap();
    assert!(printed.contains(&format!(" {ratio:.3} ")), "{printed}");
    assert!(ratio < 0.8, "{printed}");
    assert_eq!(json["rows"][0]["aa_ci95"].as_array().unwrap().len(), 2);
    assert_eq!(json["rows"][1]["workload"], "run/CPU");
    let memory = &json["rows"][2];
    assert_eq!(memory["workload"], "run/memory");
    assert!(
        (200.0..210.0).contains(&memory["baseline"].as_f64().unwrap()),
        "{memory}"
    );
    assert!(
        (100.0..110.0).contains(&memory["candidate"].as_f64().unwrap()),
        "{memory}"
    );
    assert!(printed.contains("  less\n"), "{printed}");
    let csv = fs::read_to_string(prover.path("try.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 4);
    let page = fs::read_to_string(prover.path("try.html")).unwrap();
    assert!(page.contains("prove with patches") && page.contains("run/wall"));
    // The next run may replace them.
    for (kind, file) in [
        (Output::Json, "try.json"),
        (Output::Samples, "try.csv"),
        (Output::Page, "try.html"),
    ] {
        kind.assert_replaces(&prover.path(file)).unwrap();
    }
}

/// `try` refuses to write to a file that it reads, of which there may be no other copy.
#[test]
fn a_file_that_is_read_is_no_file_to_write() {
    let prover = Prover::new(SLEEP, SLEEP);
    write(&prover.path("input"), "what is proved");
    fs::hard_link(prover.path("prover/Cargo.lock"), prover.path("lock.json")).unwrap();
    let lock = prover.fixture.lock();
    for (options, complaint) in [
        (&["--json", "prover/Cargo.toml"][..], "are the same file"),
        (&["--html", "prover/Cargo.lock"], "are the same file"),
        (&["--json", "lock.json"], "are the same file"),
        (&["--same", "a", "--json", "a"], "are the same file"),
        (
            &["--same", "a.csv", "--json", "a.json"],
            "are the same file",
        ),
        (&["--html", "input"], "are the same file"),
        (
            &["--json", "prover/src/lib.rs"],
            "which this command works with",
        ),
        (
            &["--json", "prover/target"],
            "p3-try, which this command works with",
        ),
        (
            &["--html", "project/patches/series"],
            "which this command works with",
        ),
        (
            &["--json", "prover/target/p3-try/a.json"],
            "which this command works with",
        ),
    ] {
        // The folder is there after a first run alone.
        if options[1].ends_with("p3-try/a.json") {
            fs::create_dir_all(prover.path("prover/target/p3-try")).unwrap();
        }
        let line = ["run", "--", "--prove=input"];
        let output = prover.command(options, &line).output().unwrap();
        let transcript = prover.fixture.transcript(&output);
        let (code, error) = transcript
            .split_once("--- stdout\n--- stderr\nerror: ")
            .unwrap();
        assert!(
            code == "exit 3\n" && error.contains(complaint),
            "{transcript}"
        );
    }
    assert!(!prover.path("built").exists());
    assert_eq!(prover.fixture.state(), (MANIFEST.to_owned(), lock));
}

#[test]
fn the_files_are_written_where_the_table_cannot_be_printed() {
    let prover = Prover::new(SLEEP, SLEEP);
    let options = ["demo", "--json", "try.json", "--html", "try.html"];
    let mut running = prover.command(&options, &["run"]);
    let running = running.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = running.spawn().unwrap();
    // The first lines are printed before anything is measured.
    let printed = BufReader::new(running.stdout.take().unwrap());
    let head = printed.lines().map(Result::unwrap);
    assert!(head.take(3).last().unwrap().starts_with("prove: "));
    assert_eq!(running.wait().unwrap().code(), Some(0));
    for file in ["try.json", "try.csv", "try.html"] {
        assert!(prover.path(file).exists(), "no {file}");
    }
}

/// Arguments and flags may hold keys. An address is shown without its token even then.
#[test]
fn secrets_are_kept_out_of_the_files() {
    let prover = Prover::new(SLEEP, SLEEP);
    let files = ["--json", "try.json", "--html", "try.html"];
    let line = ["run", "--release", "--", "https://me:token@a.example/b"];
    let written = |options: &[&str]| {
        let mut command = prover.command(&[&["demo"], &files[..], options].concat(), &line);
        let output = command.env("RUSTFLAGS", "--cfg key=\"mine\"").output();
        let printed = prover.fixture.transcript(&output.unwrap());
        assert!(printed.starts_with("exit 0"), "{printed}");
        let read = |file: &str| fs::read_to_string(prover.path(file)).unwrap();
        (read("try.json"), read("try.html"), printed)
    };
    let (json, page, _) = written(&[]);
    for file in [&json, &page] {
        assert!(
            !file.contains("mine") && !file.contains("a.example"),
            "{file}"
        );
    }
    let (json, page, printed) = written(&["--show-flags"]);
    for file in [&json, &page] {
        assert!(
            file.contains("mine") && file.contains("https://a.example/b"),
            "{file}"
        );
        assert!(!file.contains("token"), "{file}");
    }
    assert!(!printed.contains("token"), "{printed}");

    // Files with such flags could not be read again.
    let long = format!("--cfg key=\"{}\"", "x".repeat(5000));
    let mut command = prover.command(&["demo", "--show-flags"], &line);
    let output = command.env("RUSTFLAGS", &long).output();
    let refused = prover.fixture.transcript(&output.unwrap());
    let expected =
        "exit 3\n--- stdout\n--- stderr\nerror: rustflags: longer than 4096 bytes\nhint: ";
    assert!(refused.starts_with(expected), "{refused}");
    let mut command = prover.command(&["demo"], &line);
    let output = command.env("RUSTFLAGS", &long).output().unwrap();
    assert!(output.status.success());
}

/// Cargo prints the folder as it is configured, and its graph has the trees in there without `..`.
#[test]
fn a_target_folder_may_lead_out_of_the_workspace() {
    let prover = Prover::new(SLEEP, SLEEP);
    let configured = prover.path("prover/.cargo/config.toml");
    write(&configured, "build.target-dir = \"../built\"\n");
    let printed = prover.run(&["demo"]);
    assert!(printed.contains("base 0.8.0, patches demo, "), "{printed}");
    assert!(prover.path("built/p3-try").is_dir());
}

#[test]
fn without_names_apply_chooses() {
    let prover = Prover::new(SLEEP, SLEEP);
    let printed = prover.run(&[]);
    assert!(
        printed.contains("base 0.8.0, patches demo stacked, "),
        "{printed}"
    );
    fs::remove_dir_all(prover.path("prover/target")).unwrap();

    let older = Prover {
        fixture: prover.fixture.with_older_base(),
        target: prover.target,
    };
    let printed = older.run(&[]);
    assert!(printed.contains("base 0.4.0, patches demo, "), "{printed}");
}

#[test]
fn phases_are_compared_and_what_got_slower_comes_first() {
    let spans = |prove: &str, open: &str, quotient: &str| {
        format!(
            "{SLEEP}
            echo 'INFO     prove [ {prove} | 100.00% ]'
            echo 'INFO     ┝━ open [ {open} | 40.00% ]'
            echo 'INFO     ┕━ quotient [ {quotient} | 40.00% ]' >&2
            echo 'INFO     tiny [ 9.00ns | 100.00% ]'"
        )
    };
    let prover = Prover::new(
        &spans("20.0ms", "10.0ms", "5.00ms"),
        &spans("18.0ms", "7.00ms", "6.00ms"),
    );
    let printed = prover.run(&["demo", "--phases"]);
    let (_, phases) = printed.split_once("\n\n").unwrap();
    let (phases, _) = phases.split_once("--- stderr").unwrap();
    let memory = "\n\nthe most that is resident while a span is open, in one run of each\n";
    let (phases, memory) = match cfg!(target_os = "linux") {
        true => phases.split_once(memory).unwrap(),
        false => (phases, "prove"),
    };
    assert!(memory.contains("prove "), "{memory}");
    assert_snapshot!("phases", phases);

    let silent = Prover::new(SLEEP, SLEEP);
    assert_snapshot!("no_phases", silent.fails(&["demo", "--phases"]));

    let short = &spans("9.00ns", "8.00ns", "7.00ns");
    let printed = Prover::new(short, short).run(&["demo", "--phases"]);
    assert!(
        printed.contains("\n\nno span takes 1 % of a run\n"),
        "{printed}"
    );

    let other = &spans("infs", "9000.00s", "1.00ms");
    let refused = Prover::new(other, other).fails(&["demo", "--phases"]);
    assert!(
        refused.contains("error: span open: the program prints 9000.0s for it"),
        "{refused}"
    );
}

#[test]
fn outputs_that_differ_are_an_error() {
    let prover = Prover::new(
        &format!("{SLEEP}; echo 1 > proof"),
        &format!("{SLEEP}; echo 2 > proof"),
    );
    assert_snapshot!("same_file", prover.fails(&["demo", "--same", "proof"]));

    let prover = Prover::new(&format!("{SLEEP}; echo 1"), &format!("{SLEEP}; echo 2"));
    assert_snapshot!("same_stdout", prover.fails(&["demo", "--same", "stdout"]));
    assert!(prover.run(&["demo"]).starts_with("exit 0"));

    // A file that an earlier run has left is no output of the candidate's.
    let prover = Prover::new(&format!("{SLEEP}; echo 1 > proof"), SLEEP);
    assert_snapshot!("unwritten", prover.fails(&["demo", "--same", "proof"]));
}

/// A program that counts its runs differs from itself, unless each begins anew.
#[test]
fn set_up_puts_back_what_a_run_changes() {
    let counts = &format!("{SLEEP}; echo 1 >> proof");
    let prover = Prover::new(counts, counts);
    assert_snapshot!("changes_itself", prover.fails(&["demo", "--same", "proof"]));
    let set_up = ["demo", "--same", "proof", "--setup", "rm -f proof"];
    let printed = prover.run(&set_up);
    assert!(printed.starts_with("exit 0"), "{printed}");
    let broken = ["demo", "--setup", "echo no such folder >&2; exit 7"];
    assert_snapshot!("broken_setup", prover.fails(&broken));
}

#[test]
fn what_fails_is_shown_and_not_measured() {
    let fails = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 3";
    let prover = Prover::new(fails, SLEEP);
    assert_snapshot!("baseline_fails", prover.fails(&["demo"]));
    let prover = Prover::new(SLEEP, "echo wrong proof >&2; exit 1");
    assert_snapshot!("candidate_fails", prover.fails(&["demo"]));
}

/// Text of other programs neither moves a terminal's cursor nor names a user: that of a command, of the program, of a compiler.
#[test]
fn text_of_other_programs_is_printed_without_control_characters_and_tokens() {
    let hostile =
        r"printf 'https://bob:s3cr3t@h/a \033]0;pwned\007 \033[2Jb\rc\342\200\256d\n' >&2";
    let safe = |printed: &str| {
        let is_safe = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(printed.chars().all(is_safe), "{printed:?}");
        assert!(!printed.contains("s3cr3t"), "{printed}");
        assert!(printed.contains("https://h/a"), "{printed}");
        assert!(printed.contains("b\\rc\\u{202e}d\n"), "{printed}");
    };
    let prover = Prover::new(SLEEP, SLEEP);
    safe(&prover.fails(&["demo", "--setup", &format!("{hostile}; false")]));
    let prover = Prover::new(SLEEP, &format!("{hostile}; exit 1"));
    safe(&prover.fails(&["demo"]));
    write(&prover.path("candidate.meanwhile"), hostile);
    write(&prover.path("candidate.broken"), "");
    safe(&prover.fails(&["demo"]));
}

#[test]
fn a_build_that_fails_says_which() {
    let prover = Prover::new(SLEEP, SLEEP);
    write(&prover.path("candidate.broken"), "");
    assert_snapshot!("candidate_broken", prover.fails(&["demo"]));
    write(&prover.path("baseline.broken"), "");
    assert_snapshot!("baseline_broken", prover.fails(&["demo"]));
}

#[test]
fn what_is_not_one_program_is_refused() {
    let prover = Prover::new(SLEEP, SLEEP);
    write(&prover.path("names"), "verify prove");
    assert_snapshot!("several_programs", prover.fails(&["demo"]));
    write(&prover.path("names"), "");
    assert_snapshot!("no_program", prover.fails(&["demo"]));
    fs::copy(prover.path("baseline"), prover.path("candidate")).unwrap();
    write(&prover.path("names"), "prove");
    assert_snapshot!("same_program", prover.fails(&["demo"]));
}

#[test]
fn what_cannot_be_tried_is_refused_before_anything_is_built() {
    let prover = Prover::new(SLEEP, SLEEP);
    assert_snapshot!("unknown_patch", prover.fails(&["dmo"]));
    let mut check = prover.command(&["demo"], &["check"]);
    let printed = prover.fixture.transcript(&check.output().unwrap());
    assert_snapshot!("no_run", printed);
    for (options, words, code, said) in [
        (
            &[][..],
            &["run", "--manifest-path", "Cargo.toml"][..],
            2,
            "error: --manifest-path: behind `--`",
        ),
        (
            &[],
            &["bench", "--target-dir=x"],
            2,
            "error: --target-dir=x: behind `--`",
        ),
        (&["--same", ""], &["run"], 2, "for '--same <OUTPUT>'"),
        (
            &["--json", "/dev/null"],
            &["run"],
            3,
            "error: /dev/null: not a plain file",
        ),
    ] {
        let printed = prover.command(options, words).output().unwrap();
        assert_ended(&prover.fixture.transcript(&printed), code, said);
    }

    let own = format!("{MANIFEST}\n[patch.crates-io]\np3-goldilocks = {{ path = \"own\" }}\n");
    let package = "[package]\nname = \"p3-goldilocks\"\nversion = \"0.8.0\"\nedition = \"2024\"\n";
    write(&prover.path("prover/own/Cargo.toml"), package);
    write(&prover.path("prover/own/src/lib.rs"), "");
    prover.fixture.set_manifest(&own);
    assert_snapshot!("patched_already", prover.run(&["demo"]));
    assert!(!prover.path("built").exists());
}

/// Cargo runs benches and tests in their package's folder, and tells a bench that it is one.
#[test]
fn programs_get_what_cargo_would_give_them() {
    let tells = format!("{SLEEP}; {LIBTEST} echo \"$PWD $CARGO_MANIFEST_DIR $@\" > HERE/told");
    for (line, folder, args) in [
        (&["run", "--", "a b", "--", "c"][..], "", "a b -- c"),
        (
            &["bench", "--bench", "x", "--", "c d"],
            "/prover",
            "c d --bench",
        ),
        (&["test"], "/prover", ""),
    ] {
        let prover = Prover::new("", "");
        let here = fs::canonicalize(prover.path("")).unwrap();
        let here = here.to_str().unwrap();
        for side in ["baseline", "candidate"] {
            let script = format!("# {side}\n{tells}");
            prover.executable(side, &script.replace("HERE", here));
        }
        let output = prover.command(&["demo"], line).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            prover.fixture.transcript(&output)
        );
        // In a log, what takes minutes is told of when it begins.
        let stderr = String::from_utf8_lossy(&output.stderr);
        for step in [
            "building the baseline",
            "building the candidate",
            "measuring prove",
        ] {
            assert!(stderr.contains(&format!("progress: {step}\n")), "{stderr}");
        }
        let told = fs::read_to_string(prover.path("told")).unwrap();
        let package = prover.path("prover");
        let expected = format!("{here}{folder} {} {args}\n", package.display());
        assert_eq!(told, expected);
    }
}

/// A bench that runs for a fixed time takes as long on both sides; criterion's figures of each run are in a folder of its own.
#[test]
fn a_bench_is_compared_by_its_own_figures() {
    let figures = |name: &str, slope: &str, mean: f64| {
        format!(
            r#"
            for which in base new; do
                folder=$CRITERION_HOME/group/{name}/$which
                mkdir -p $folder
                echo '{{"group_id":"group","full_id":"permute/{name}"}}' > $folder/benchmark.json
                echo '{{"mean":{{"point_estimate":{mean}}},"slope":{slope}}}' > $folder/estimates.json
            done"#
        )
    };
    let script = |[short, long]: [f64; 2]| {
        let slope = format!(r#"{{"point_estimate":{short}}}"#);
        let (short, long) = (figures("8", &slope, 1.0), figures("many", "null", long));
        format!("{SLEEP}\n{short}\n{long}\necho $CRITERION_HOME >> homes")
    };
    let prover = Prover::new(&script([9135.4, 2e6]), &script([5101.2, 2.2e6]));
    let options = ["demo", "--json", "try.json"];
    let mut command = prover.command(&options, &["bench", "--bench", "prove"]);
    let printed = prover.fixture.transcript(&command.output().unwrap());
    let (_, table) = printed.split_once("in the order ABBA\n").unwrap();
    let (table, _) = table.split_once("--- stderr").unwrap();
    assert_snapshot!("figures", table);

    let homes = fs::read_to_string(prover.path("prover/homes")).unwrap();
    let homes: BTreeSet<_> = homes.lines().collect();
    assert_eq!(homes.len(), 3 + 3 * 4);
    assert!(homes.iter().all(|home| !Path::new(home).exists()));
    let json = fs::read(prover.path("try.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| &row["workload"]).collect();
    assert_eq!(names, ["bench/permute/8", "bench/permute/many"]);
    assert_eq!(
        (&rows[0]["unit"], &rows[1]["unit"]),
        (&"ns".into(), &"ms".into())
    );
}

/// A bench's figures are checked where they are read: the table and the files would have another figure, or none.
#[test]
fn figures_and_names_that_no_bench_has_are_refused() {
    let prover = Prover::new(SLEEP, SLEEP);
    let refused = |figures: &[(&str, &str)]| {
        let mut script = SLEEP.to_owned();
        for (at, (name, ns)) in figures.iter().enumerate() {
            script += &format!(
                r#"
                folder=$CRITERION_HOME/{at}/new
                mkdir -p $folder
                echo '{{"full_id":"{name}"}}' > $folder/benchmark.json
                echo '{{"mean":{{"point_estimate":{ns}}}}}' > $folder/estimates.json"#
            );
        }
        prover.executable("baseline", &format!("# baseline\n{script}"));
        prover.executable("candidate", &format!("# candidate\n{script}"));
        let options = ["demo", "--json", "try.json"];
        let mut command = prover.command(&options, &["bench", "--bench", "prove"]);
        let printed = prover.fixture.transcript(&command.output().unwrap());
        assert!(printed.starts_with("exit 3\n"), "{printed}");
        assert!(!prover.path("try.json").exists());
        let (_, stderr) = printed.split_once("--- stderr\n").unwrap();
        stderr.to_owned()
    };
    let long = "x".repeat(5000);
    for (figures, complaint) in [
        (
            &[("x", "1e300")][..],
            "bench x: the program prints 1e300 ns for it, in a run of ",
        ),
        (
            &[("x", "1e12")],
            "bench x: the program prints 1000.0s for it, in a run of ",
        ),
        (
            &[("x", "0.0")],
            "prove: no benchmark takes time in every run\nhint: the compiler removes ",
        ),
        (
            &[("x", "1e6"), ("x", "1e6")],
            "x: the bench reports two figures of that name\nhint: ",
        ),
        (
            &[("x\\u200b", "1e6"), ("x\\u200c", "1e6")],
            "x : the bench reports two figures of that name\nhint: ",
        ),
        (&[(" ", "1e6")], "bench \" \": has no name\nhint: "),
        (
            &[(&*long, "1e6")],
            &format!("bench {}..: a name of 5000 bytes\nhint: ", &long[..60]),
        ),
    ] {
        let stderr = refused(figures);
        assert!(
            stderr.starts_with(&format!("error: {complaint}")),
            "{stderr}"
        );
    }
}

#[test]
fn a_bench_without_figures_is_refused() {
    let prover = Prover::new(SLEEP, SLEEP);
    let bench = |options: &[&str]| {
        let output = prover
            .command(options, &["bench", "--bench", "prove"])
            .output();
        prover.fixture.transcript(&output.unwrap())
    };
    let refused = bench(&["demo"]);
    let (_, stderr) = refused.split_once("--- stderr\n").unwrap();
    assert_snapshot!("no_figures", stderr);
    assert_snapshot!("phases_of_a_bench", bench(&["demo", "--phases"]));

    // The hint says so.
    let path = "path = \"benches/prove.rs\"\n";
    write(&prover.path("prover/benches/prove.rs"), "fn main() {}");
    let manifest = format!("{MANIFEST}\n[[example]]\nname = \"prove-work\"\n{path}");
    prover.fixture.set_manifest(&manifest);
    let line = ["run", "--release", "--example", "prove-work"];
    let output = prover.command(&["demo"], &line).output().unwrap();
    let printed = prover.fixture.transcript(&output);
    assert!(output.status.success(), "{printed}");
}

#[test]
fn every_run_reads_the_same_input() {
    let reads = &format!("{SLEEP}; cat >> read; echo >> read");
    let prover = Prover::new(reads, reads);
    write(&prover.path("input"), "line\nwitness");
    let input = || fs::File::open(prover.path("input")).unwrap();
    let piped = || {
        let mut cat = Command::new("cat");
        let cat = cat.stdin(input()).stdout(Stdio::piped()).spawn();
        Stdio::from(cat.unwrap().stdout.unwrap())
    };
    for (stdin, expected) in [
        (Stdio::from(input()), "line\nwitness\n"),
        (piped(), "line\nwitness\n"),
        (Stdio::null(), "\n"),
    ] {
        let mut command = prover.command(&["demo"], &["run"]);
        let output = command.stdin(stdin).output().unwrap();
        let printed = prover.fixture.transcript(&output);
        assert!(output.status.success(), "{printed}");
        let read = prover.path("read");
        assert_eq!(
            fs::read_to_string(&read).unwrap(),
            expected.repeat(3 + 3 * 4)
        );
        fs::remove_file(read).unwrap();
    }
}

/// A terminal has no end that every run could read to, but most programs do not read it.
#[cfg(target_os = "linux")]
#[test]
fn an_input_without_an_end_is_refused_where_it_is_read() {
    let run = |prover: &Prover, device: &str| {
        let options = fs::File::options().read(true).write(true).open(device);
        let mut command = prover.command(&["demo"], &["run"]);
        let output = command.stdin(options.unwrap()).output().unwrap();
        prover.fixture.transcript(&output)
    };
    let reads = &format!("{SLEEP}; read -r line || exit 1");
    let prover = Prover::new(reads, reads);
    assert_snapshot!("endless", run(&prover, "/dev/zero"));
    assert!(!prover.path("built").exists());
    let refused = run(&prover, "/dev/ptmx");
    let (_, stderr) = refused.split_once("--- stderr\n").unwrap();
    assert_snapshot!("terminal", stderr.replace("/bin/sh", "sh"));
    let printed = run(&Prover::new(SLEEP, SLEEP), "/dev/ptmx");
    assert!(printed.starts_with("exit 0"), "{printed}");
}

/// The pages of memory that hold a file's code stay while it is cached: every round has its own files, beside the program, which
/// takes them for itself.
#[test]
fn each_round_runs_copies() {
    let prover = Prover::new("", "");
    let shell = fs::read("/bin/sh").unwrap();
    fs::write(prover.path("baseline"), &shell).unwrap();
    fs::write(prover.path("candidate"), [&*shell, b"\n"].concat()).unwrap();
    let tells = format!("{SLEEP}; echo \"$0 $(readlink /proc/$$/exe)\" >> told");
    let line = ["run", "--", "-c", &tells];
    let output = prover.command(&["demo"], &line).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        prover.fixture.transcript(&output)
    );

    let told = fs::read_to_string(prover.path("told")).unwrap();
    let lines = told.lines().map(|line| line.split_once(' ').unwrap());
    let (names, files): (Vec<_>, Vec<_>) = lines.unzip();
    let built = ["baseline", "candidate"].map(|side| prover.path(side));
    let is_built = |name: &&str| built.contains(&PathBuf::from(name));
    assert!(names.iter().all(is_built), "{told}");

    let (warm, rounds) = files.split_at(3);
    let here = fs::canonicalize(prover.path("")).unwrap();
    let is_of = |(file, side): (&&str, &str)| here.join(side) == Path::new(file);
    let sides = ["baseline", "baseline", "candidate"];
    assert!(warm.iter().zip(sides).all(is_of), "{told}");
    // A round is of four runs, two of them the candidate's.
    let distinct: BTreeSet<_> = rounds.iter().collect();
    assert_eq!((rounds.len(), distinct.len()), (3 * 4, 3 * 3), "{told}");
    for file in distinct {
        let file = Path::new(file.strip_suffix(" (deleted)").unwrap_or(file));
        assert_eq!(file.parent(), Some(&*here));
        assert!(!file.exists(), "{told}");
    }
}

#[test]
fn while_it_builds_no_other_command_writes_to_the_prover() {
    let prover = Prover::new(SLEEP, &format!("{SLEEP}; exec ./waits running"));
    write(&prover.path("candidate.holds"), "");
    let child = prover.at(&[], "held");
    let refused = prover.fixture.run(&["apply", "demo"]);
    assert_snapshot!("apply_meanwhile", refused);
    send("-INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));

    // While it measures, the prover is the user's.
    fs::remove_file(prover.path("candidate.holds")).unwrap();
    let child = prover.at(&[], "running");
    prover.fixture.succeed(&["apply", "demo"]);
    let applied = prover.fixture.state();
    send("-INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(prover.fixture.state(), applied);
    prover.fixture.succeed(&["status"]);
}

/// The two builds may have had other profiles.
#[test]
fn a_manifest_that_changes_while_it_builds_ends_the_run() {
    for side in ["baseline", "candidate"] {
        let prover = Prover::new(SLEEP, SLEEP);
        let edit = "echo '# mine' >>prover/Cargo.toml";
        write(&prover.path(&format!("{side}.meanwhile")), edit);
        let printed = prover.run(&["demo"]);
        assert!(printed.starts_with("exit 4"), "{printed}");
        let why = "prover/Cargo.toml: changed by another program meanwhile";
        assert!(printed.contains(why), "{printed}");
        assert!(prover.fixture.manifest().ends_with("# mine\n"));
    }
}

/// By an editor, or by cargo.
#[test]
fn what_changes_in_the_lock_file_meanwhile_stays() {
    let prover = Prover::new(SLEEP, SLEEP);
    let lock = prover.fixture.lock();
    let edit = "echo '# mine' >>prover/Cargo.lock";
    write(&prover.path("candidate.meanwhile"), edit);
    let printed = prover.run(&["demo"]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    let warning =
        "warning: [DIR]/prover/Cargo.lock was changed by another program, and is left as it is";
    assert!(printed.contains(warning), "{printed}");
    assert!(prover.fixture.lock().ends_with("# mine\n"));

    // Either side would have been built with other dependencies.
    write(&prover.path("prover/Cargo.lock"), &lock);
    write(&prover.path("candidate.meanwhile"), "rm prover/Cargo.lock");
    let printed = prover.run(&["demo"]);
    assert!(printed.starts_with("exit 4"), "{printed}");
    assert!(
        printed.contains("Cargo.lock: changed by another program meanwhile"),
        "{printed}"
    );
    fs::remove_file(prover.path("candidate.meanwhile")).unwrap();
    write(&prover.path("baseline.meanwhile"), edit);
    write(&prover.path("prover/Cargo.lock"), &lock);
    let printed = prover.run(&["demo"]);
    assert_snapshot!("changed_meanwhile", printed);
    assert_eq!(prover.fixture.lock(), format!("{lock}# mine\n"));
}

/// Another program may write a file between two calls of cargo, or during one, however short that is.
#[test]
fn what_changes_while_cargo_resolves_stays() {
    let commands = [
        &["try", "demo", "--reps", "2", "--", "run"][..],
        &["apply", "demo"],
        &["remove"],
    ];
    let files = ["Cargo.lock", "Cargo.toml"];
    for (args, file) in commands
        .into_iter()
        .flat_map(|args| files.map(|file| (args, file)))
    {
        for call in 1.. {
            let prover = Prover::new(SLEEP, SLEEP);
            if args == ["remove"] {
                prover.fixture.succeed(&["apply", "demo"]);
            }
            write(&prover.path("calls"), "0");
            let edit = format!(
                "calls=$(($(cat HERE/calls) + 1)); echo $calls >HERE/calls
                if [ $calls = {call} ]; then echo '# mine' >>HERE/prover/{file}; fi"
            );
            let here = prover.path("");
            let edit = edit.replace("HERE/", here.to_str().unwrap());
            write(&prover.path("resolved"), &edit);
            let mut command = prover.fixture.command(args);
            command.env("CARGO", prover.path("cargo"));
            let printed = prover.fixture.transcript(&command.output().unwrap());
            let calls = fs::read_to_string(prover.path("calls")).unwrap();
            if calls.trim().parse::<u32>().unwrap() < call {
                assert!(call > 1 && printed.starts_with("exit 0"), "{printed}");
                break;
            }
            let text = fs::read_to_string(prover.path("prover").join(file)).unwrap();
            assert!(text.ends_with("# mine\n"), "{args:?}, {call}: {printed}");
            // The last graph of `try` is that of the candidate's build, which an edit without another package does not change.
            let told = "Cargo.lock was changed by another program, and is left as it is";
            let is_told = args[0] == "try" && printed.contains(told);
            let is_refused = printed.starts_with("exit 4") && printed.contains("meanwhile");
            assert!(
                is_refused || is_told && printed.starts_with("exit 0"),
                "{printed}"
            );
            if file == "Cargo.toml" {
                assert!(prover.fixture.resolves(), "{args:?}, {call}: {printed}");
            }
        }
    }
}

/// A graph that cargo cannot resolve leaves the file as it is.
#[test]
fn what_changes_while_cargo_fails_stays() {
    let prover = Prover::new(SLEEP, SLEEP);
    let lock = prover.fixture.lock();
    prover
        .fixture
        .set_manifest(&format!("{MANIFEST}no-such-package = \"1\"\n"));
    write(&prover.path("resolved"), "echo '# mine' >>Cargo.lock");
    for args in [&["apply", "demo"][..], &["try", "demo", "--", "run"]] {
        write(&prover.path("prover/Cargo.lock"), &lock);
        let mut command = prover.fixture.command(args);
        command.env("CARGO", prover.path("cargo"));
        let printed = prover.fixture.transcript(&command.output().unwrap());
        assert!(printed.starts_with("exit 4"), "{printed}");
        let kept = prover.fixture.lock();
        assert!(
            kept.starts_with(&lock) && kept.ends_with("# mine\n"),
            "{printed}"
        );
    }
}

/// Where cargo has to write the file, too, what cannot be cargo's stays.
#[test]
fn a_lock_file_without_the_packages_of_the_graph_is_not_cargos() {
    let prover = Prover::new(SLEEP, SLEEP);
    let manifest = MANIFEST.replace("version = \"0.1.0\"", "version = \"0.1.1\"");
    assert_ne!(manifest, MANIFEST);
    let edit = "if grep -q 0.1.1 Cargo.lock; then printf 'version = 4\\n# mine\\n' >Cargo.lock; fi";
    write(&prover.path("resolved"), edit);
    for args in [&["apply", "demo"][..], &["try", "demo", "--", "run"]] {
        prover.fixture.set_manifest(MANIFEST);
        prover.fixture.relock();
        prover.fixture.set_manifest(&manifest);
        let mut command = prover.fixture.command(args);
        command.env("CARGO", prover.path("cargo"));
        let printed = prover.fixture.transcript(&command.output().unwrap());
        assert!(printed.starts_with("exit 4"), "{printed}");
        let why = "prover/Cargo.lock: changed by another program meanwhile";
        assert!(printed.contains(why), "{printed}");
        assert_eq!(prover.fixture.lock(), "version = 4\n# mine\n");
        assert_eq!(prover.fixture.manifest(), manifest);
    }
}

/// `try` notes packages that nothing compares with a release, as `apply` does.
#[test]
fn packages_that_nothing_compares_are_told_of() {
    let prover = Prover::new(SLEEP, SLEEP);
    change("p3-util-0.8.0", &prover.path("prover/ev"));
    let config = prover.path("prover/.cargo/config.toml");
    write(&config, "patch.crates-io.p3-util.path = \"ev\"\n");
    let lock = prover.fixture.lock();
    let (before, after) = lock.split_once("name = \"p3-field\"").unwrap();
    let (between, after) = after.split_once("checksum = ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let bare = format!("{before}name = \"p3-field\"{between}{after}");
    write(&prover.path("prover/Cargo.lock"), &bare);
    let printed = prover.run(&["demo"]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    for note in [
        "note: Cargo.lock had no checksum of p3-field 0.8.0; cargo adds what the registry's index has now\n",
        "note: p3-util 0.8.0 comes from [DIR]/prover/ev/Cargo.toml, in place of crates.io\n",
    ] {
        assert!(printed.contains(note), "{printed}");
    }
}

/// A server, say. It holds what the shell has for its output, and goes on while the program runs.
#[test]
fn what_is_left_in_the_background_ends() {
    let prover = Prover::new(
        &format!("kill -0 $(tail -n 1 servers) && {SLEEP}"),
        &format!("sleep 100000 & echo $! >>left; {SLEEP}"),
    );
    let printed = prover.run(&["demo", "--setup", "sleep 100000 & echo $! >>servers"]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    for file in ["servers", "left"] {
        assert_eq!(running(&prover.path(file)), Vec::<String>::new(), "{file}");
    }
}

#[test]
fn a_pipe_in_place_of_an_output_is_refused() {
    let prover = Prover::new(SLEEP, SLEEP);
    let pipe = Command::new("mkfifo").arg(prover.path("proof")).status();
    assert!(pipe.unwrap().success());
    assert_snapshot!("same_pipe", prover.fails(&["demo", "--same", "proof"]));
    // Where it comes to be one while the program runs.
    let makes = format!("rm -f made; mkfifo made; {SLEEP}");
    let prover = Prover::new(&makes, &makes);
    assert_snapshot!("same_made", prover.fails(&["demo", "--same", "made"]));
}

#[test]
fn a_killed_run_leaves_no_process_and_the_next_one_no_copy() {
    // The compiler and the program each start another process.
    let holds =
        format!("case $0 in */.p3-copy-*) [ -e go ] || exec ./waits running;; esac; {SLEEP}");
    let prover = Prover::new(SLEEP, &holds);
    let copies = || {
        let names = fs::read_dir(prover.path("")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name());
        let is_copy = |name: &OsString| name.to_string_lossy().contains("copy-");
        names.filter(is_copy).count()
    };
    let killed_at = |file: &str| {
        let mut child = prover.at(&["demo"], file);
        child.kill().unwrap();
        child.wait().unwrap();
        let groups = fs::read_to_string(prover.path("groups")).unwrap();
        let start = Instant::now();
        while groups.lines().any(runs) {
            assert!(start.elapsed() < Duration::from_secs(60), "{file}");
            thread::sleep(Duration::from_millis(5));
        }
    };
    write(&prover.path("baseline.holds"), "");
    killed_at("held");
    fs::remove_file(prover.path("baseline.holds")).unwrap();
    killed_at("running");
    assert_eq!(copies(), 3);
    write(&prover.path("go"), "");
    let printed = prover.run(&["demo"]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    assert_eq!(copies(), 0);
}

/// Before anything is built: afterwards, the figures of hours are lost.
#[test]
fn arguments_that_cannot_be_written_down_are_refused() {
    let prover = Prover::new(SLEEP, SLEEP);
    let mut refused = prover.fixture.command(&["try", "--json"]);
    refused
        .arg(OsStr::from_bytes(b"\xff.json"))
        .args(["--manifest-path", "prover/Cargo.toml", "--", "run"])
        .current_dir(prover.path(""))
        .env("CARGO", prover.path("cargo"))
        .stdin(Stdio::null());
    let printed = prover.fixture.transcript(&refused.output().unwrap());
    assert_snapshot!("no_text", printed);
    assert!(!prover.path("built").exists());
}

#[test]
fn an_interrupt_leaves_the_prover_as_it_was_and_no_process() {
    let prover = Prover::new(SLEEP, &format!("{SLEEP}; exec ./waits running"));
    let lock = prover.fixture.lock();
    write(&prover.path("baseline.holds"), "");
    assert_eq!(prover.interrupted_at(&[], "-INT", "held"), lock);
    for file in ["baseline.holds", "held"] {
        fs::remove_file(prover.path(file)).unwrap();
    }
    write(&prover.path("candidate.holds"), "");
    assert_ne!(
        prover.interrupted_at(&[], "-HUP", "held"),
        lock,
        "held before the trees were locked"
    );
    fs::remove_file(prover.path("candidate.holds")).unwrap();
    assert_eq!(prover.interrupted_at(&[], "-TERM", "running"), lock);
    let set_up = ["--setup", "./waits setting-up"];
    assert_eq!(prover.interrupted_at(&set_up, "-INT", "setting-up"), lock);
}
