//! `preflight` and `constant-time` on executables made here: which functions they look at, what `preflight` pairs and says of
//! models, what `constant-time` refuses.
//!
//! The compiler and LLVM's tools are shell scripts.

#![cfg(all(unix, target_arch = "x86_64"))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use object::write::{Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};
use predicates::prelude::*;
use predicates::str::contains;
use tempfile::TempDir;

use transcript::transcript;

mod transcript;

const RUSTC: &str = "echo 'rustc 1.95.0'; echo 'host: x86_64-unknown-linux-gnu'";

/// A text for each byte, so for each instruction.
const OBJDUMP: &str = r#"
case "$1" in
    --version) echo '  Debian LLVM version 19.1.7' ;;
    *) address=0
       while [ $address -lt 512 ]; do
           printf '  %x: \tnop\n' $address
           address=$((address + 1))
       done ;;
esac"#;

/// A model of as many cycles as instructions, and twice that without waiting. It has no skylake-avx512, and one model for two cores.
const MCA: &str = r#"
case "$*" in
    *--version*) echo '  Debian LLVM version 19.1.7'; exit ;;
    *skylake-avx512*) echo 'unknown core' >&2; exit 1 ;;
    *znver*) units='"Zn4"' ;;
    *sapphire*) units='"SPR"' ;;
    *) units='"ICX"' ;;
esac
case "$*" in *-iterations=20*) passes=20 ;; *) passes=1 ;; esac
for file; do :; done
regions=
while read -r line; do
    case "$line" in
        *LLVM-MCA-BEGIN*) name=${line##* }; lines=0 ;;
        *LLVM-MCA-END*)
            total=$((lines * passes))
            regions="$regions${regions:+,}{\"Name\":\"$name\",\"SummaryView\":{\"BlockRThroughput\":$lines.5,
                \"Instructions\":$total,\"Iterations\":$passes,\"TotalCycles\":$((2 * total)),\"TotaluOps\":$((1000 * total))}}" ;;
        *) lines=$((lines + 1)) ;;
    esac
done < "$file"
echo "{\"CodeRegions\":[$regions],\"TargetInfo\":{\"Resources\":[$units]}}"
"#;

const MULTIPLY: [u8; 4] = [0xc5, 0xed, 0xf4, 0xd9]; // vpmuludq
const RELOAD: [u8; 5] = [0x48, 0x8b, 0x44, 0x24, 0x08]; // movq 8(%rsp), %rax
const RETURN: u8 = 0xc3;

/// So many multiplications, in a loop if wanted, with a reload after it.
fn code(multiplications: usize, looped: bool) -> Vec<u8> {
    let mut code = MULTIPLY.repeat(multiplications);
    if looped {
        let back = code.len() as u8 + 2;
        code.extend([0x75, back.wrapping_neg()]); // jne to the beginning
    }
    code.extend(RELOAD);
    code.push(RETURN);
    code
}

/// A function's mangled name, and its code.
type Function = (&'static str, Vec<u8>);

const PERMUTE: &str = "_ZN13p3_goldilocks7permute17h0123456789abcdefE";
const SAME: &str = "_ZN13p3_goldilocks4same17h0123456789abcdefE";
const FEW: &str = "_ZN13p3_goldilocks3few17h0123456789abcdefE";
const NEW: &str = "_ZN13p3_goldilocks5Layer3new17h0123456789abcdefE";
const ELSEWHERE: &str = "_ZN9p3_matrix7permute17h0123456789abcdefE";
const MANY: &str = "_ZN12p3_symmetric12permute_many17h0123456789abcdefE";

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// A project with one patch, and programs to be found on the path.
    fn new(programs: &[(&str, &str)]) -> Self {
        let fixture = Self {
            dir: TempDir::new().unwrap(),
        };
        fs::create_dir_all(fixture.path("patches/0.8.0")).unwrap();
        fs::create_dir_all(fixture.path("bin")).unwrap();
        fs::write(fixture.path("patches/series"), "demo\n").unwrap();
        fs::create_dir_all(fixture.path("crates/demo/src")).unwrap();
        let kernel = include_str!("../../crates/p3-patches/tests/fixtures/demo.rs");
        fs::write(fixture.path("crates/demo/src/demo.rs"), kernel).unwrap();
        let demo = include_str!("../../crates/p3-patches/tests/fixtures/demo.patch");
        fs::write(fixture.path("patches/0.8.0/demo.patch"), demo).unwrap();
        for (name, script) in [("rustc", RUSTC)].iter().chain(programs) {
            let path = fixture.path("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An object file with these functions, one after another.
    fn executable(&self, name: &str, functions: &[Function]) -> PathBuf {
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let text = object.section_id(object::write::StandardSection::Text);
        for (name, code) in functions {
            let value = object.append_section_data(text, code, 1);
            object.add_symbol(Symbol {
                name: (*name).into(),
                value,
                size: code.len() as u64,
                kind: SymbolKind::Text,
                scope: SymbolScope::Linkage,
                weak: false,
                section: SymbolSection::Section(text),
                flags: SymbolFlags::None,
            });
        }
        let path = self.path(name);
        fs::write(&path, object.write().unwrap()).unwrap();
        path
    }

    fn baseline(&self) -> PathBuf {
        self.executable(
            "baseline",
            &[
                (PERMUTE, code(6, true)),
                (SAME, code(4, false)),
                (FEW, code(3, false)),
                (NEW, code(9, false)),
                (ELSEWHERE, code(9, false)),
            ],
        )
    }

    fn candidate(&self) -> PathBuf {
        self.executable(
            "candidate",
            &[
                (SAME, code(4, false)),
                (MANY, code(8, false)),
                (NEW, code(4, false)),
                (PERMUTE, code(5, true)),
            ],
        )
    }

    fn preflight(&self, arguments: &[&str], executables: &[&Path]) -> Command {
        self.run("preflight", arguments, executables)
    }

    fn run(&self, subcommand: &str, arguments: &[&str], executables: &[&Path]) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command
            .arg("--project")
            .arg(self.dir.path())
            .arg(subcommand)
            .args(arguments)
            .arg("--workers")
            .args(executables)
            .env("PATH", self.path("bin"))
            .env_remove("RUSTC")
            .timeout(Duration::from_secs(60));
        command
    }
}

#[test]
fn what_differs_is_shown_with_what_models_say() {
    let fixture = Fixture::new(&[("llvm-mca-19", MCA), ("llvm-objdump-19", OBJDUMP)]);
    let (baseline, candidate) = (fixture.baseline(), fixture.candidate());
    let json = fixture.path("preflight.json");
    let mut command = fixture.preflight(
        &["demo", "--json", json.to_str().unwrap()],
        &[&baseline, &candidate],
    );
    insta::assert_snapshot!(transcript(&mut command));
    insta::assert_snapshot!("json", fs::read_to_string(json).unwrap());
}

#[test]
fn instances_of_one_name_are_paired_by_what_they_multiply() {
    let fixture = Fixture::new(&[]);
    let padded =
        |multiplications, reloads| [RELOAD.repeat(reloads), code(multiplications, false)].concat();
    let baseline = [(PERMUTE, padded(4, 20)), (PERMUTE, padded(8, 1))];
    let candidate = [(PERMUTE, padded(8, 2)), (PERMUTE, padded(4, 1))];
    let baseline = fixture.executable("baseline", &baseline);
    let candidate = fixture.executable("candidate", &candidate);
    let row = |figure: &str, counts: &str| {
        let counts: Vec<_> = counts.split(' ').collect();
        predicates::str::is_match(format!(r"\n {figure} +{} *\n", counts.join(" +"))).unwrap()
    };
    fixture
        .preflight(&[], &[&baseline, &candidate])
        .assert()
        .success()
        .stdout(row("multiplies", "4 4").and(row("multiplies", "8 8")))
        .stdout(row("reloads", "21 2").and(row("reloads", "2 3")));
}

#[test]
fn a_core_is_not_credited_with_what_it_cannot_run() {
    let (mca, objdump) = (
        MCA.replace("*skylake-avx512*", "*nothing*"),
        OBJDUMP.replace("nop", "vpmadd52luq"),
    );
    let fixture = Fixture::new(&[("llvm-mca-19", &mca), ("llvm-objdump-19", &objdump)]);
    let baseline = fixture.baseline();
    fixture
        .preflight(&["--baseline"], &[&baseline])
        .assert()
        .success()
        .stdout(contains("icelake-server").and(contains("skylake-avx512").not()))
        .stderr(contains(
            "skylake-avx512: cannot run all kernels of the baseline",
        ));
}

#[test]
fn the_baseline_alone_is_shown_in_full_and_without_models() {
    let fixture = Fixture::new(&[]);
    let baseline = fixture.baseline();
    let mut command = fixture.preflight(&["--baseline"], &[&baseline]);
    insta::assert_snapshot!(transcript(&mut command));
}

/// Only what is executed needs the CPU.
#[test]
fn an_instruction_set_that_this_cpu_lacks_is_looked_at() {
    let fixture = Fixture::new(&[]);
    let (baseline, candidate) = (fixture.baseline(), fixture.candidate());
    let executables = [&*baseline, &*candidate];
    let options = ["--isa", "x86-64-v4"];
    let constant_time = fixture
        .run("constant-time", &options, &executables)
        .assert();
    constant_time
        .success()
        .stdout(contains("x86-64-v4: 0 of 2 permutations of vectors"));
    let preflight = fixture.preflight(&options, &executables).assert();
    let preflight = preflight
        .success()
        .stdout(contains("\nx86-64-v4, rustflags"));
    let lacks = contains("note: x86-64-v4: this CPU lacks ")
        .count(usize::from(!std::is_x86_feature_detected!("avx512f")));
    preflight.stderr(lacks);
    for command in ["constant-time", "preflight"] {
        let refused = fixture
            .run(command, &["--isa", "neon"], &executables)
            .assert();
        refused.failure();
    }
}

#[test]
fn kernels_are_chosen_by_a_part_of_their_path() {
    let fixture = Fixture::new(&[]);
    let (baseline, candidate) = (fixture.baseline(), fixture.candidate());
    fixture
        .preflight(&["--kernel", "many"], &[&baseline, &candidate])
        .assert()
        .success()
        .stdout(contains("\np3_symmetric::permute_many\n"))
        .stdout(contains("\np3_goldilocks::permute\n").not())
        .stdout(contains("the same on both sides").not());
    fixture
        .preflight(&["--kernel", "nothing"], &[&baseline, &candidate])
        .assert()
        .code(3)
        .stderr(contains("no kernel"));
}

#[test]
fn what_is_no_executable_is_refused() {
    let fixture = Fixture::new(&[]);
    let text = fixture.path("text");
    fs::write(&text, "no ELF").unwrap();
    fixture
        .preflight(&["--baseline"], &[&text])
        .assert()
        .code(4)
        .stderr(contains("text: ").and(contains("hint: only ELF executables are read")));
}

/// vmovq %xmm0, %rax; test %rax, %rax; jne to the next instruction
const BRANCH_ON_A_LANE: [u8; 10] = [0xc4, 0xe1, 0xf9, 0x7e, 0xc0, 0x48, 0x85, 0xc0, 0x75, 0x00];

/// mulx 8(%rdi), %rax, %rcx after mov (%rdi), %rdx: elements in integer registers
const SCALAR: [u8; 9] = [0x48, 0x8b, 0x17, 0xc4, 0xe2, 0xfb, 0xf6, 0x4f, 0x08];

#[test]
fn a_permutation_that_branches_on_data_is_refused() {
    let fixture = Fixture::new(&[]);
    let branching = [&code(4, true)[..code(4, true).len() - 1], &BRANCH_ON_A_LANE].concat();
    let branching = [&branching[..], &[RETURN]].concat();
    let scalar = [&SCALAR[..], &branching].concat();
    let executables = [
        fixture.executable("baseline", &[(PERMUTE, code(4, true))]),
        // Not on what the loop counts, nor in a function that sets up or permutes nothing.
        fixture.executable(
            "candidate",
            &[
                (PERMUTE, code(4, true)),
                (NEW, branching.clone()),
                (SAME, branching.clone()),
            ],
        ),
        fixture.executable("broken", &[(PERMUTE, code(4, true)), (MANY, branching)]),
        fixture.executable(
            "scalar",
            &[(PERMUTE, code(4, true)), (MANY, scalar.clone())],
        ),
        fixture.executable("only-scalar", &[(MANY, scalar)]),
    ];
    let constant_time = |number: usize| {
        let executables = [executables[0].as_path(), executables[number].as_path()];
        fixture.run("constant-time", &[], &executables).assert()
    };
    constant_time(1).success().stdout(contains(
        "0 of 1 permutations of vectors depend on data in what they execute; 0 more",
    ));
    constant_time(2)
        .code(1)
        .stdout(contains("branches on data, in p3_symmetric::permute_many"))
        .stdout(contains("1 of 2 permutations of vectors"))
        .stderr(contains("1 permutations branch on data"));
    constant_time(3)
        .success()
        .stdout(contains("0 of 1 permutations of vectors").and(contains("; 1 more")));
    constant_time(4)
        .code(1)
        .stderr(contains("the worker has no permutation of vectors"));
}
