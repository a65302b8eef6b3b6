//! Measurements that end before all rows have been measured: by their budget, or by an error.

use std::fs;

use crate::fixture::{Fixture, files, write};
use crate::killed::with_workers;
use crate::killer::Killer;

/// The project, with workers of three rows. One that prepares a row which the file `broken` names ends.
fn project() -> Killer {
    let fixture = with_workers(Fixture::new().with_crates());
    write(&fixture.path().join("pace"), "8");
    let one = r#"{"name":"merkle-commit/x/2^4","kind":"merkle-commit","threads":1,"quick":true}"#;
    let more = |kind: &str| one.replace("merkle-commit", kind);
    let broken = fixture.path().join("broken");
    for side in ["baseline", "candidate"] {
        let path = fixture.path().join(side);
        let worker = fs::read_to_string(&path).unwrap();
        let rows = [&more("permute"), one, &more("stark-prove")].map(String::from);
        let worker = worker.replace(one, &rows.join(",")).replace(
            "case \"$request\" in\n",
            &format!(
                "case \"$request\" in\n        *prepare*\"$(cat {} 2>/dev/null || echo none)\"*) exit 1 ;;\n",
                broken.display()
            ),
        );
        fs::write(&path, worker).unwrap();
    }
    Killer::new(fixture)
}

const AB: [&str; 7] = [
    "ab", "demo", "--seeds", "2", "--json", "ab.json", "--record",
];

/// The names of the rows in `ab.json`.
fn rows(killer: &Killer) -> Vec<String> {
    let text = fs::read_to_string(killer.fixture.prover().join("ab.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = report["rows"].as_array().unwrap().iter();
    rows.map(|row| row["workload"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn proofs_come_first_and_a_budget_that_is_too_small_says_so() {
    let mut killer = project();
    let records = killer.fixture.project().join("benches/record");
    for budget in ["0s", "1ms"] {
        let output = killer
            .command(&[&AB[..], &["--budget", budget]].concat())
            .output()
            .unwrap();
        let run = killer.fixture.transcript(&output);
        assert!(run.starts_with("exit 3\n"), "{run}");
        let said = format!("error: --budget {budget}: no row fits");
        assert!(
            run.contains(&said) && run.contains("\nhint: give it more time, "),
            "{run}"
        );
        assert!(files(&records).is_empty());
    }
    killer.succeed(&AB, "without a budget");
    let as_listed = ["permute/x/2^4", "merkle-commit/x/2^4", "stark-prove/x/2^4"];
    assert_eq!(rows(&killer), as_listed);
    killer.succeed(
        &[&AB[..], &["--budget", "18446744073709551615s"]].concat(),
        "with one",
    );
    let urgent = ["stark-prove/x/2^4", "merkle-commit/x/2^4", "permute/x/2^4"];
    assert_eq!(rows(&killer), urgent);
    for (file, text) in files(&records) {
        assert!(!String::from_utf8(text).unwrap().contains("part"), "{file}");
    }
}

/// The tool measures on, shows the rows and writes the other files where no record can be written.
#[test]
fn rows_that_cannot_be_filed_are_measured_to_the_end() {
    let killer = project();
    let records = killer.fixture.project().join("benches/record");
    write(&records.join("0.8.0"), "a file in the place of the folder");
    let output = killer.command(&AB).output().unwrap();
    let run = killer.fixture.transcript(&output);
    assert!(!run.starts_with("exit 0\n"), "{run}");
    assert_eq!(
        run.matches("warning: not recorded so far: ").count(),
        1,
        "{run}"
    );
    let all = ["permute/x/2^4", "merkle-commit/x/2^4", "stark-prove/x/2^4"];
    assert!(all.iter().all(|row| run.contains(row)), "{run}");
    assert_eq!(rows(&killer), all);
}

#[test]
fn a_run_that_is_cut_off_leaves_its_whole_rows() {
    let killer = project();
    let records = killer.fixture.project().join("benches/record");
    write(&killer.fixture.path().join("broken"), "stark-prove");
    let output = killer.command(&AB).output().unwrap();
    let run = killer.fixture.transcript(&output);
    assert!(
        run.starts_with("exit 1\n") && run.contains("ended early"),
        "{run}"
    );
    assert!(run.contains(".csv has the rows that were whole\n"), "{run}");
    assert!(!killer.fixture.prover().join("ab.json").exists());
    let recorded: Vec<_> = files(&records).into_values().collect();
    let [record] = &recorded[..] else {
        panic!("{} records", recorded.len())
    };
    let record = str::from_utf8(record).unwrap();
    assert!(record.contains("\n# part = true\n"), "{record}");
    assert!(record.contains("\nmerkle-commit/x/2^4,") && record.contains("\npermute/x/2^4,"));
    assert!(!record.contains("\nstark-prove/"), "{record}");
}
