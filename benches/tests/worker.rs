//! The worker's side of the protocol: what it answers, also to requests that make no sense.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::available_parallelism;

use serde_json::{Value, json};

struct Worker {
    child: Child,
    replies: BufReader<ChildStdout>,
}

impl Worker {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_worker"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Self { child, replies }
    }

    fn prepared(row: &str, seed: u64) -> Self {
        Self::on(1, row, seed)
    }

    fn on(threads: usize, row: &str, seed: u64) -> Self {
        let mut worker = Self::start();
        let prepare = json!({"prepare": {"row": row, "seed": seed, "threads": threads}});
        let ready = worker.ask(&prepare);
        assert!(ready["ready"].is_object(), "{ready}");
        worker
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.say(&request.to_string())
    }

    fn say(&mut self, line: &str) -> Value {
        writeln!(self.child.stdin.as_ref().unwrap(), "{line}").unwrap();
        let mut reply = String::new();
        self.replies.read_line(&mut reply).unwrap();
        serde_json::from_str(&reply).unwrap()
    }

    fn error(&mut self, request: &Value) -> String {
        let reply = self.ask(request);
        reply["error"].as_str().expect("an error").to_owned()
    }

    fn digest(&mut self) -> String {
        let reply = self.ask(&json!("run"));
        reply["sample"]["digest"].as_str().unwrap().to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The end of its input ends the worker.
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn row_names_are_unique_and_well_formed() {
    let reply = Worker::start().ask(&json!("list"));
    let mut names: Vec<&str> = reply["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    let rows = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), rows);
    // The driver's globs and the CSV take these as they are.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-^/".contains(c);
    for name in names {
        assert!(name.chars().all(plain), "{name}");
    }
}

#[test]
fn outputs_depend_on_the_seed_and_on_nothing_else() {
    let row = "equal/batches/poseidon2-w8/scalar";
    let mut first = Worker::prepared(row, 1);
    let digest = first.digest();
    assert_eq!(digest.len(), 64);
    assert_eq!(first.digest(), digest, "a second run");
    assert_eq!(
        Worker::prepared(row, 1).digest(),
        digest,
        "a second process"
    );
    assert_ne!(Worker::prepared(row, 2).digest(), digest, "a second seed");
}

/// Threads search for the witness of a proof of work, and the rest of a proof depends on which of them wins.
#[test]
fn a_proof_on_two_threads_has_one_digest() {
    if available_parallelism().unwrap().get() == 1 {
        println!("skipped: there is one core");
        return;
    }
    for row in [
        "equal/stark-prove/keccak-air-koala-bear",
        "equal/stark-prove/bits-batch",
        "equal/open/goldilocks",
    ] {
        let first = Worker::on(2, row, 1).digest();
        for _ in 0..4 {
            let mut worker = Worker::on(2, row, 1);
            assert!((0..4).all(|_| worker.digest() == first), "{row}");
        }
        assert_ne!(
            Worker::on(2, row, 2).digest(),
            first,
            "{row}: a second seed"
        );
        // All bytes of the proof are compared where there is no race.
        assert_ne!(Worker::on(1, row, 1).digest(), first, "{row}: one thread");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_sample_has_the_peak_of_memory() {
    // 1 MiB of rows, 1 MiB of digests.
    let mut worker = Worker::prepared("merkle-commit/poseidon2-w8/2^14x8", 1);
    let run = worker.ask(&json!("run"));
    let peak = run["sample"]["peak_kib"].as_u64().unwrap();
    assert!((2 << 10..1 << 20).contains(&peak), "{peak} KiB");
}

/// The first run counts, and later ones repeat its figure.
#[test]
fn a_sample_has_the_bytes_that_were_live_at_a_time() {
    let row = "equal/stark-prove/bits/2^12x2";
    let mut worker = Worker::prepared(row, 1);
    let mut live = || {
        worker.ask(&json!("run"))["sample"]["live_bytes"]
            .as_u64()
            .unwrap()
    };
    let first = live();
    assert_eq!(live(), first);
    assert_eq!(
        Worker::prepared(row, 1).ask(&json!("run"))["sample"]["live_bytes"],
        first
    );
    // The extension of the trace and of the quotient, with all but the leaves' digests of their trees, 32 bytes each.
    let rows = 1 << 12;
    assert!(first > rows * (16 * 2 + 32 + 2 * 64), "{first}");
    assert!(first < rows * 2000, "{first}");
}

/// The spans hold the peak that a run counts, and a tree is held by the span that builds it.
#[test]
fn spans_hold_the_bytes_that_were_live_at_a_time() {
    let row = "equal/stark-prove/bits/2^12x32";
    let mut worker = Worker::prepared(row, 1);
    let holding = &worker.ask(&json!("hold"))["held"];
    let run = Worker::prepared(row, 1).ask(&json!("run"));
    assert_eq!(holding["live_bytes"], run["sample"]["live_bytes"]);
    let held = holding["held"].as_array().unwrap();
    let bytes = |held: &Value| held["bytes"].as_i64().unwrap();
    let sum: i64 = held.iter().map(bytes).sum();
    assert_eq!(sum, holding["live_bytes"]);
    let in_trees = held.iter().filter(|held| {
        let names = held["span"].as_array().unwrap();
        names.iter().any(|name| name == "build merkle tree")
    });
    // The digests above the leaves of the trace's tree and of the quotient's, 32 bytes each.
    let in_trees: i64 = in_trees.map(bytes).sum();
    assert!(in_trees > 2 * 32 * (1 << 13), "{in_trees}");
    assert!(worker.error(&json!("run")).starts_with("run: "));
    assert!(worker.error(&json!("hold")).starts_with("hold: "));
}

#[test]
fn spans_share_the_time_of_a_run() {
    let mut worker = Worker::start();
    let row = "stark-prove/bits/2^9x16";
    let threads = std::thread::available_parallelism().unwrap().get().min(2);
    let prepare = json!({"prepare": {"row": row, "seed": 1, "threads": threads}});
    assert!(worker.ask(&prepare)["ready"].is_object());
    let [mut wall, mut cpu] = [0; 2];
    let mut names = Vec::new();
    for _ in 0..2 {
        names.clear();
        for busy in worker.ask(&json!("watch"))["watched"].as_array().unwrap() {
            wall += busy["wall_ns"].as_u64().unwrap();
            cpu += busy["cpu_ns"].as_u64().unwrap();
            let path = busy["span"].as_array().unwrap();
            names.extend(path.last().map(|name| name.as_str().unwrap().to_owned()));
        }
    }
    // The clock of the CPU may count ticks.
    assert!(cpu <= threads as u64 * wall + 20_000_000, "{cpu} of {wall}");
    for span in ["build merkle tree", "quotient_values"] {
        assert!(names.iter().any(|name| name == span), "{span}: {names:?}");
    }
    assert!(worker.error(&json!("run")).starts_with("run: "));
    assert!(worker.error(&json!("hold")).starts_with("hold: "));
    let mut ran = Worker::prepared("equal/stark-prove/bits/2^12x2", 1);
    ran.digest();
    assert!(ran.error(&json!("watch")).starts_with("watch: "));
}

#[test]
fn families_have_rows_of_all_sizes() {
    let families = Worker::start().ask(&json!("families"));
    let families = families["rows"].as_array().unwrap();
    assert!(!families.is_empty());
    for family in families {
        let family = family["name"].as_str().unwrap();
        assert_eq!(family.matches("/2^N").count(), 1, "{family}");
        let outputs = |size: &str| Worker::prepared(&family.replace("2^N", size), 1).digest();
        assert_ne!(outputs("2^6"), outputs("2^7"), "{family}");
    }
    let mut worker = Worker::start();
    for row in [
        "lde/goldilocks/2^x8",
        "lde/goldilocks/2^Nx8",
        "lde/goldilocks/2^41x8",
    ] {
        let prepare = json!({"prepare": {"row": row, "seed": 1, "threads": 1}});
        let refused = worker.error(&prepare);
        assert!(
            refused.starts_with(&format!("prepare: no row named {row}")),
            "{refused}"
        );
    }
    let prepare =
        json!({"prepare": {"row": "permute-chain/poseidon2-w8", "seed": 1, "threads": 2}});
    assert!(worker.error(&prepare).contains("runs on one thread"));
}

#[test]
fn a_sample_has_the_part_that_is_hashing() {
    for (row, hashes) in [
        ("equal/stark-prove/keccak-air", true),
        ("equal/stark-prove/keccak-air-batch", true),
        ("equal/quotient/keccak-air", false),
        ("equal/permute/koala-bear-poseidon2-w16", false),
    ] {
        let run = Worker::prepared(row, 1).ask(&json!("run"));
        let ns = |what: &str| run["sample"][what].as_u64().unwrap();
        let hashing = ns("hashing_ns");
        assert_eq!(hashing > 0, hashes, "{row}");
        assert!(hashing < ns("wall_ns"), "{row}");
    }
}

#[test]
fn proofs_are_handed_over_and_damaged_ones_rejected() {
    let row = "equal/stark-prove/keccak-air";
    let dir = std::env::temp_dir().join(format!("p3-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("proof");
    let mut prover = Worker::prepared(row, 1);
    prover.digest();
    assert_eq!(prover.ask(&json!({"save": {"path": path}})), "saved");

    let mut verifier = Worker::prepared(row, 1);
    let verify = json!({"verify": {"path": path}});
    assert_eq!(verifier.ask(&verify), "accepted");
    let mut proof = std::fs::read(&path).unwrap();
    let middle = proof.len() / 2;
    proof[middle] ^= 1;
    std::fs::write(&path, proof).unwrap();
    assert!(verifier.error(&verify).starts_with("proof: "));
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(
        verifier.error(&verify).contains("proof"),
        "a file that is gone"
    );
}

#[test]
fn misuse_is_answered_and_survived() {
    let mut worker = Worker::start();
    assert!(worker.error(&json!("run")).contains("no row is prepared"));
    let unknown = json!({"prepare": {"row": "equal/nothing", "seed": 1, "threads": 1}});
    assert!(
        worker
            .error(&unknown)
            .contains("no row named equal/nothing")
    );
    let prepare =
        json!({"prepare": {"row": "equal/fri-commit/poseidon2-w8", "seed": 1, "threads": 1}});
    assert!(worker.ask(&prepare)["ready"].is_object());
    assert!(worker.error(&prepare).contains("measures one row"));
    assert!(
        worker
            .error(&json!({"verify": {"path": "x"}}))
            .contains("no proof")
    );
    assert!(
        worker
            .error(&json!({"save": {"path": "/"}}))
            .starts_with("/: ")
    );
    let garbage = worker.say("{\"prepare\"");
    assert!(garbage["error"].as_str().unwrap().starts_with("request: "));
    assert_eq!(worker.digest().len(), 64);
}

#[test]
fn units_have_one_output_however_often_they_are_repeated() {
    let reply = Worker::start().ask(&json!("units"));
    let units = reply["units"].as_array().unwrap();
    assert!(!units.is_empty());
    for unit in units {
        let repeat = |times: usize| {
            let request = json!({"repeat": {"unit": unit["name"], "times": times}});
            let reply = Worker::start().ask(&request);
            reply["repeated"]["digest"].as_str().unwrap().to_owned()
        };
        assert_eq!(repeat(1), repeat(3), "{unit}");
        assert!(unit["leaves"].as_u64().unwrap() > 0, "{unit}");
    }
    let unknown = json!({"repeat": {"unit": "permute/nothing", "times": 1}});
    assert!(
        Worker::start()
            .error(&unknown)
            .contains("no unit named permute/nothing")
    );
}
