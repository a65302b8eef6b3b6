//! `count` on executables that repeat, differ, lie or crash: what is counted, and what is refused.
//!
//! The emulator, the compiler and LLVM's tools are shell scripts, and so are the workers that the emulator runs; the
//! last test has real ones.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::Duration;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

use transcript::transcript;

mod transcript;

/// Runs the worker with a shell. Its options are those of version 7 and before.
const EMULATOR: &str = r#"
case "$*" in
    --version) echo 'qemu-aarch64 version 7.2.22' ;;
    *help) echo 'Available CPUs: cortex-a76 max' ;;
    -h) echo '-singlestep run in singlestep mode' ;;
    *'-singlestep -d exec,nochain'*) for worker; do :; done; . "$worker" ;;
    *) echo "called with $*" >&2; exit 9 ;;
esac"#;

const RUSTC: &str = "echo 'rustc 1.95.0'; echo 'host: x86_64-unknown-linux-gnu'";

const OBJDUMP: &str = r#"
case "$1" in
    --version) echo '  Debian LLVM version 19.1.7' ;;
    *) for line in '  400010: \tadd\tx0, x0, x1' '  400014: \tbl\t0x400020 <f>' '  400020: \tret'; do
           printf "$line\n"
       done ;;
esac"#;

/// Ten cycles for each line on n1, one elsewhere.
const MCA: &str = r#"
case "$1" in
    --version) echo '  Debian LLVM version 19.1.7' ;;
    *) lines=0
       for file; do :; done
       while read -r line; do
           case "$line" in
               '# LLVM-MCA-'*) ;;
               add*|b*target) lines=$((lines + 1)) ;;
               *) echo "no: $line" >&2; exit 1 ;;
           esac
       done < "$file"
       case "$*" in *neoverse-n1*) scale=10 ;; *) scale=1 ;; esac
       echo '{"CodeRegions":[{"Name":"0","SummaryView":{"BlockRThroughput":1,"Iterations":1,'
       echo "\"Instructions\":$lines,\"TotaluOps\":$lines,\"TotalCycles\":$((scale * lines))}}],"
       echo '"TargetInfo":{"Resources":["N1UnitB"]}}' ;;
esac"#;

/// A repetition of three instructions.
const BODY: &str = "step 400010; step 400014; step 400020";

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// A project without patches, a worker's folder, and programs to be found on the path.
    fn new(programs: &[(&str, &str)]) -> Self {
        let fixture = Self {
            dir: TempDir::new().unwrap(),
        };
        fs::create_dir_all(fixture.path("patches/0.8.0")).unwrap();
        fs::create_dir_all(fixture.path("bin")).unwrap();
        fs::write(fixture.path("patches/series"), "").unwrap();
        for (name, script) in programs {
            let path = fixture.path("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fixture
    }

    fn emulated() -> Self {
        Self::new(&[("qemu-aarch64-static", EMULATOR), ("rustc", RUSTC)])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A worker whose repetition executes `body`, and that returns `digest`.
    fn worker(&self, name: &str, body: &str, digest: &str) -> PathBuf {
        let script = format!(
            r#"
step() {{ echo "Trace 0: 0x7f62 [0000000000001001/0000000000$1/00000001/00000201] f" >&2; }}
read -r request
step 400000
case "$request" in
    *units*) echo '{{"units":[{{"name":"permute/x","leaves":1}},{{"name":"merkle/x","leaves":2}}]}}' ;;
    *)
        times=${{request##*:}}
        times=${{times%%\}}*}}
        while [ $times -gt 0 ]; do {body}; times=$((times - 1)); done
        step 400100
        echo '{{"repeated":{{"digest":"{digest}"}}}}' ;;
esac
"#
        );
        let path = self.path(name);
        fs::write(&path, script).unwrap();
        path
    }

    fn count(&self, baseline: &Path, candidate: &Path) -> Command {
        self.count_on("neon", baseline, candidate)
    }

    fn count_on(&self, isa: &str, baseline: &Path, candidate: &Path) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .args(["count", "--isa", isa, "--workers"])
            .args([baseline, candidate])
            .env("PATH", self.path("bin"))
            .env_remove("RUSTC")
            .timeout(Duration::from_secs(60));
        command
    }
}

#[test]
fn counts_without_models() {
    let fixture = Fixture::emulated();
    let baseline = fixture.worker("baseline", BODY, "aa");
    let candidate = fixture.worker("candidate", "step 400010; step 400020", "aa");
    insta::assert_snapshot!(transcript(&mut fixture.count(&baseline, &candidate)));
}

#[test]
fn counts_with_models() {
    let fixture = Fixture::new(&[
        ("qemu-aarch64-static", EMULATOR),
        ("rustc", RUSTC),
        ("llvm-mca-19", MCA),
        ("llvm-objdump-19", OBJDUMP),
        // Too old to have the models.
        ("llvm-mca", "echo 'LLVM version 14.0.6'"),
        ("llvm-objdump", "echo 'LLVM version 14.0.6'"),
    ]);
    let baseline = fixture.worker("baseline", BODY, "aa");
    let candidate = fixture.worker("candidate", "step 400010; step 400020", "aa");
    let json = fixture.path("count.json");
    let mut command = fixture.count(&baseline, &candidate);
    command
        .args(["--cfg", r#"path="fused""#, "--json"])
        .arg(&json);
    insta::assert_snapshot!(transcript(&mut command));
    let report = fs::read_to_string(json).unwrap();
    // The time and the command differ from run to run.
    let (typed, same): (Vec<_>, Vec<_>) = (report.lines())
        .partition(|line| line.starts_with("  \"command\"") || line.starts_with("  \"time\""));
    assert!(typed[0].contains(" count --isa neon ") && typed[1].contains("\"20"));
    insta::assert_snapshot!("json", same.join("\n"));
}

#[test]
fn repetitions_that_differ_are_not_counted() {
    let fixture = Fixture::emulated();
    let baseline = fixture.worker("baseline", BODY, "aa");
    let longer_at_first = format!("{BODY}; [ $times -lt 3 ] || step 400024");
    for body in [&longer_at_first, "step 40001$times"] {
        fixture
            .count(&baseline, &fixture.worker("candidate", body, "aa"))
            .assert()
            .code(1)
            .stdout(contains("permute/x").not())
            .stderr(contains(
                "error: permute/x: the candidate's runs of 2 and 3 repetitions differ by more than one repetition",
            ))
            .stderr(contains("hint: "));
    }
}

#[test]
fn nothing_is_counted_for_outputs_that_differ() {
    let fixture = Fixture::emulated();
    let baseline = fixture.worker("baseline", BODY, "aa");
    fixture
        .count(&baseline, &fixture.worker("candidate", BODY, "bb"))
        .assert()
        .code(1)
        .stdout(contains("permute/x").not())
        .stderr(contains("permute/x: the candidate's outputs differ"));
}

#[test]
fn a_worker_that_fails_is_named_with_what_it_says() {
    let fixture = Fixture::emulated();
    let baseline = fixture.worker("baseline", BODY, "aa");
    for (body, complaint) in [
        (
            "echo 'illegal instruction' >&2; exit 132",
            "illegal instruction",
        ),
        ("echo '{\"error\":\"no memory\"}'; exit", "no memory"),
        (
            "echo chatter",
            "printed a line that is no reply of the protocol: chatter",
        ),
        (
            "echo '\"saved\"'; exit",
            "candidate worker: answered the request `repeat` with `saved`",
        ),
    ] {
        fixture
            .count(&baseline, &fixture.worker("candidate", body, "aa"))
            .assert()
            .code(1)
            .stdout(contains("permute/x").not())
            .stderr(contains(complaint));
    }
}

/// The compiler's flags are split at blanks, so that a longer text would be other flags.
#[test]
fn a_cfg_is_one_word() {
    let fixture = Fixture::emulated();
    let worker = fixture.worker("worker", BODY, "aa");
    for cfg in ["", " ", "x -C opt-level=0", "x=\"a b\""] {
        let mut count = fixture.count(&worker, &worker);
        let refused = count.args(["--cfg", cfg]).assert().code(2);
        refused.stderr(contains("a cfg is one word"));
    }
}

#[test]
fn units_that_no_table_can_show_are_refused() {
    let fixture = Fixture::emulated();
    let worker = fixture.worker("worker", BODY, "aa");
    let text = fs::read_to_string(&worker).unwrap();
    for (from, to, complaint) in [
        ("\"units\":[", "\"units\":[]}'; : '[", "lists no units"),
        ("merkle/x", "permute/x", "lists permute/x twice"),
        ("merkle/x", " ", "\" \" is no name"),
        (
            "merkle/x",
            "https://me:s3cr3t@h",
            "lists https://h, with more",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&worker, text.replacen(from, to, 1)).unwrap();
        let refused = fixture.count(&worker, &worker).assert().code(1);
        refused.stderr(contains(complaint));
    }
}

#[test]
fn an_instruction_without_a_text_is_not_passed_over() {
    let fixture = Fixture::new(&[
        ("qemu-aarch64-static", EMULATOR),
        ("rustc", RUSTC),
        ("llvm-mca-19", MCA),
        ("llvm-objdump-19", OBJDUMP),
    ]);
    let worker = fixture.worker("worker", "step 400018", "aa");
    fixture
        .count(&worker, &worker)
        .assert()
        .code(1)
        .stderr(contains("0x400018: not in the disassembly"));
}

#[test]
fn an_emulator_that_is_not_there_is_named() {
    let fixture = Fixture::new(&[("rustc", RUSTC)]);
    let worker = fixture.worker("worker", BODY, "aa");
    insta::assert_snapshot!(transcript(&mut fixture.count(&worker, &worker)));
}

/// A worker whose unit is `body` in a loop, which it counts down in `%0`.
fn compile(compiler: &[&str], dir: &Path, name: &str, body: &str, digest: &str) -> PathBuf {
    let source = format!(
        r#"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
int main(void) {{
    char line[256];
    while (fgets(line, sizeof line, stdin)) {{
        char *times = strstr(line, "\"times\":");
        if (times) {{
            long n = atol(times + 8);
            __asm__ volatile("1: {body} 1b" : "+r"(n) : : "cc");
            puts("{{\"repeated\":{{\"digest\":\"{digest}\"}}}}");
        }} else if (strstr(line, "units")) {{
            puts("{{\"units\":[{{\"name\":\"loop\",\"leaves\":1}}]}}");
        }} else {{
            puts("{{\"rows\":[]}}");
        }}
        fflush(stdout);
    }}
    return 0;
}}
"#
    );
    let (c, executable) = (dir.join(name).with_extension("c"), dir.join(name));
    fs::write(&c, source).unwrap();
    let (program, arguments) = compiler.split_first().unwrap();
    let built = Process::new(program)
        .args(arguments)
        .args(["-O1", "-o"])
        .args([&executable, &c])
        .status()
        .unwrap();
    assert!(built.success());
    executable
}

const COUNTDOWN: [&str; 2] = ["subs %0, %0, #1\\n b.ne", "dec %0\\n jnz"];

/// `nops` instructions, and the two that make a loop of them.
fn nops(nops: usize, countdown: &str) -> String {
    format!(".rept {nops}\\n nop\\n .endr\\n {countdown}")
}

#[test]
#[ignore = "needs a cross compiler and an emulator; `cargo p3 test --only emulator` runs it"]
fn instructions_of_an_executable_are_counted_exactly() {
    let fixture = Fixture::emulated();
    let json = fixture.path("count.json");
    let worker = |name: &str, count| {
        let compiler = ["aarch64-linux-gnu-gcc", "-static"];
        let body = nops(count, COUNTDOWN[0]);
        compile(&compiler, fixture.dir.path(), name, &body, "aa")
    };
    fixture
        .count(&worker("baseline", 7), &worker("candidate", 100))
        .env("PATH", std::env::var_os("PATH").unwrap())
        .arg("--json")
        .arg(&json)
        .assert()
        .success();
    counted(&json, 7 + 2, 100 + 2);
}

fn counted(json: &Path, baseline: usize, candidate: usize) {
    let report: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let unit = &report["units"][0];
    assert_eq!(unit["unit"], "loop");
    assert_eq!(unit["baseline"]["instructions"], baseline);
    assert_eq!(unit["candidate"]["instructions"], candidate);
}

/// Position-independent executables, as rustc makes them, and others; a string instruction is one.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn instructions_are_stepped_through_on_this_cpu() {
    let fixture = Fixture::new(&[("rustc", RUSTC)]);
    let dir = fixture.dir.path();
    let [long, short] = [nops(100, COUNTDOWN[1]), nops(7, COUNTDOWN[1])];
    let baseline = compile(&["cc", "-pie", "-fPIE"], dir, "baseline", &long, "aa");
    let string = "mov $5, %%ecx\\n lea -64(%%rsp), %%rdi\\n rep stosb\\n dec %0\\n jnz";
    for (name, body, instructions) in [("shorter", &*short, 7 + 2), ("string", string, 3 + 2)] {
        let candidate = compile(&["cc", "-no-pie"], dir, name, body, "aa");
        let json = fixture.path("count.json");
        fixture
            .count_on("generic", &baseline, &candidate)
            .args(["--fewer", "--unit", "l*p", "--json"])
            .arg(&json)
            .assert()
            .success();
        counted(&json, 100 + 2, instructions);
    }
    let lies = compile(&["cc"], dir, "lies", &short, "bb");
    fixture
        .count_on("generic", &baseline, &lies)
        .assert()
        .code(1)
        .stderr(contains("loop: the candidate's outputs differ"));
    // Each repetition takes one more instruction than the one after it.
    let uneven = "mov %0, %%rcx\\n 2: dec %%rcx\\n jnz 2b\\n dec %0\\n jnz";
    let uneven = compile(&["cc"], dir, "uneven", uneven, "aa");
    fixture
        .count_on("generic", &baseline, &uneven)
        .assert()
        .code(1)
        .stderr(contains("differ by more than one repetition"));
    fixture
        .count_on("generic", &lies, &lies)
        .arg("--fewer")
        .assert()
        .code(1)
        .stderr(contains(
            "loop (9, now 9): the candidate executes no fewer instructions",
        ));
    fixture
        .count_on("generic", &lies, &lies)
        .args(["--unit", "permute/*"])
        .assert()
        .code(3)
        .stderr(contains("no unit has such a name"));
    let gone = fixture.path("gone");
    fixture
        .count_on("generic", &gone, &gone)
        .assert()
        .code(4)
        .stderr(contains("gone"));
}
