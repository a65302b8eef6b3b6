//! The example's prover, as published and with every patch: the same proofs, whatever the number of threads, and a trial.
//!
//! Built for this machine's CPU, as provers are. Ignored where nobody asks for it, since it builds Plonky3 twice; `cargo p3 test`
//! does, in the stage `example`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::{Assert, OutputAssertExt};
use predicates::str::contains;

/// Rows enough for full vectors, and for batches of them, in all but the last layers of a Merkle tree.
const N: &str = "1000";

/// F(1000) modulo p, from Python's integers.
const CLAIM: &str = "F(1000) = 16245143635561662896 mod p\n";

/// A folder in which the example lies, with the builds of it.
struct Example {
    folder: PathBuf,
    target: PathBuf,
}

impl Example {
    /// Copies the example. A folder is the same every time, so that cargo has less to build.
    fn copied(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let from = repository().join("examples/prover");
        fs::create_dir_all(folder.join("src")).unwrap();
        let sources = fs::read_dir(from.join("src")).unwrap();
        let sources = sources.map(|entry| Path::new("src").join(entry.unwrap().file_name()));
        for file in ["Cargo.toml", "Cargo.lock"]
            .map(PathBuf::from)
            .into_iter()
            .chain(sources)
        {
            fs::copy(from.join(&file), folder.join(&file)).unwrap();
        }
        let target = folder.join("target");
        Self { folder, target }
    }

    fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder.join(file)).unwrap()
    }

    /// Builds the prover and keeps it as `name`.
    fn build(&self, name: &str) -> Prover<'_> {
        self.at_work(Command::new(env!("CARGO")).args(["build", "--quiet", "--locked"]));
        let program = self.folder.join(name);
        fs::copy(self.target.join("debug/prover"), &program).unwrap();
        Prover {
            example: self,
            program,
        }
    }

    /// Runs the tool on the copy.
    fn tool(&self, args: &[&str]) -> Assert {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
        self.at_work(tool.arg("--project").arg(repository()).args(args))
    }

    /// Runs a command that builds in the folder. What no patch reaches is compiled once for all of them.
    fn at_work(&self, command: &mut Command) -> Assert {
        let builds = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-builds");
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_BUILD_BUILD_DIR", builds)
            .env("RUSTFLAGS", "-C target-cpu=native")
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .assert()
            .success()
    }
}

struct Prover<'e> {
    example: &'e Example,
    program: PathBuf,
}

impl Prover<'_> {
    fn run(&self, threads: &str, args: &[&str]) -> Assert {
        Command::new(&self.program)
            .args(args)
            .current_dir(&self.example.folder)
            .env("RAYON_NUM_THREADS", threads)
            .assert()
    }

    /// The proof of one claim.
    fn prove(&self, threads: &str) -> Vec<u8> {
        let args = ["prove", N, "--out", "a.proof"];
        self.run(threads, &args).success().stdout(CLAIM);
        self.example.read("a.proof")
    }

    fn verify(&self, proof: &[u8]) -> Assert {
        fs::write(self.example.folder.join("b.proof"), proof).unwrap();
        self.run("2", &["verify", "b.proof"])
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The patches that there are for the release that the example is on.
fn patches() -> Vec<String> {
    let mut list = Command::new(env!("CARGO_BIN_EXE_p3-patches"));
    list.arg("--project").arg(repository());
    let output = list.args(["list", "--json"]).output().unwrap();
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let ported = |patch: &&serde_json::Value| {
        let bases = patch["bases"].as_array().unwrap();
        bases.iter().any(|base| base == "0.8.0")
    };
    let names = listed.iter().filter(ported).map(|patch| &patch["name"]);
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "builds Plonky3 twice"]
fn proofs_are_equal_with_and_without_patches() {
    let example = Example::copied("example");
    let (manifest, lock) = (example.read("Cargo.toml"), example.read("Cargo.lock"));
    let published = example.build("published");

    let patches = patches();
    let names = patches.iter().map(String::as_str);
    let apply = ["apply"].into_iter().chain(names).collect::<Vec<_>>();
    example.tool(&[&apply[..], &["--base", "0.8.0"]].concat());
    example.tool(&["status"]);
    let patched = example.build("patched");
    example.tool(&["remove"]);
    assert!(example.read("Cargo.toml") == manifest && example.read("Cargo.lock") == lock);
    assert!(
        example.read("published") != example.read("patched"),
        "one program"
    );

    let proof = published.prove("1");
    for (prover, threads) in [(&published, "2"), (&patched, "1"), (&patched, "2")] {
        let same = prover.prove(threads) == proof;
        assert!(same, "{}, {threads} threads", prover.program.display());
    }

    for prover in [&published, &patched] {
        prover.verify(&proof).success().stdout(CLAIM);
        // The claim's index, the first commitment, an opening, the end.
        for at in [0, 20, proof.len() / 2, proof.len() - 1] {
            let mut tampered = proof.clone();
            tampered[at] ^= 1;
            prover.verify(&tampered).code(1).stdout("");
        }
        prover.verify(&proof[..proof.len() - 1]).code(1).stdout("");
        prover
            .verify(&[&proof[..], &[0]].concat())
            .code(1)
            .stdout("");
        prover.run("1", &["verify", "nowhere"]).code(3);
        prover.run("1", &["prove"]).code(2);
    }
}

#[test]
#[ignore = "builds Plonky3 twice"]
fn a_trial_compares_proofs_and_phases() {
    let example = Example::copied("trial");
    let (manifest, lock) = (example.read("Cargo.toml"), example.read("Cargo.lock"));
    let options = ["--reps", "2", "--phases", "--json", "try.json"];
    let same = ["--same", "stdout", "--same", "a.proof"];
    let line = [
        "--", "run", "--locked", "--", "prove", N, "--out", "a.proof",
    ];
    let tried = example.tool(&[&["try"][..], &options, &same, &line].concat());
    tried.stdout(contains("\nequal in every run: stdout, a.proof\n"));
    assert!(example.read("Cargo.toml") == manifest && example.read("Cargo.lock") == lock);

    let report: serde_json::Value = serde_json::from_slice(&example.read("try.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let workloads: Vec<_> = rows
        .iter()
        .filter_map(|row| row["workload"].as_str())
        .collect();
    assert_eq!(workloads[..2], ["run/wall", "run/CPU"]);
    let prove = "span/prove > prove_with_preprocessed > open > FRI prover";
    assert!(workloads.contains(&prove), "{workloads:?}");
}
