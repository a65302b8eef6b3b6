//! A patch measured on top of what it stacks on: what is built, filed, shown and sent upstream.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::fixture::files;
use crate::fixture::{Fixture, STACKED, write};
use crate::killed::with_workers;
use crate::killer::Killer;

const STEP: [&str; 7] = ["ab", "stacked", "--step", "--seeds", "2", "--reps", "1"];

/// The project, in which the candidate takes eight tenths of the baseline's time.
fn project() -> Killer {
    let killer = Killer::new(with_workers(Fixture::new().with_crates()));
    write(&killer.fixture.path().join("pace"), "8");
    killer
}

/// A run that has to succeed: what it prints.
#[track_caller]
fn succeed(killer: &Killer, args: &[&str]) -> String {
    let output = killer.command(args).output().unwrap();
    let transcript = killer.fixture.transcript(&output);
    assert!(output.status.success(), "{transcript}");
    transcript
}

#[test]
fn the_baseline_has_what_the_patch_needs() {
    let killer = project();
    let transcript = succeed(&killer, &STEP);
    assert!(
        transcript.contains("\nbase 0.8.0 with demo, patches stacked, 2 seeds x 1 pairs"),
        "{transcript}"
    );
    let builds = fs::read_to_string(killer.fixture.path().join("builds")).unwrap();
    let builds: Vec<(&str, Vec<&str>)> = (builds.lines())
        .map(|build| {
            let (folder, options) = build.split_once(' ').unwrap();
            let is_override = |option: &&str| option.starts_with("patch.");
            (folder, options.split(' ').filter(is_override).collect())
        })
        .collect();
    let [("need", below), ("cand", above)] = &builds[..] else {
        panic!("{builds:?}");
    };
    // `stacked` changes p3-goldilocks alone; p3-symmetric is what `demo` has made of it, on both sides.
    assert_eq!((below.len(), above.len()), (2, 2), "{builds:?}");
    assert!(
        below[0].contains("p3-goldilocks") && below[0] != above[0],
        "{builds:?}"
    );
    assert!(
        below[1].contains("p3-symmetric") && below[1] == above[1],
        "{builds:?}"
    );
    for (tree, line) in [
        (below[0], "x.wrapping_mul(2)"),
        (above[0], "x.wrapping_add(x)"),
    ] {
        let (_, path) = tree.split_once("path=").unwrap();
        let kernel = Path::new(&path[1..path.len() - 1]).join("src/demo.rs");
        assert!(fs::read_to_string(kernel).unwrap().contains(line));
    }
}

#[test]
fn a_baseline_without_its_trees_is_refused() {
    let killer = project();
    for (folder, side) in [("need", "baseline"), ("cand", "candidate")] {
        write(&killer.fixture.path().join("lost"), folder);
        let output = killer.command(&STEP).output().unwrap();
        let transcript = killer.fixture.transcript(&output);
        assert!(transcript.starts_with("exit 1\n"), "{transcript}");
        let complaint = format!("the {side} was built without this tree\n");
        assert!(transcript.contains(&complaint), "{transcript}");
    }
}

/// A step's samples lie beside the stack's, and neither is shown for the other.
#[test]
fn a_step_is_filed_and_shown_as_such() {
    let killer = project();
    let field = "Needs: demo\nCI-Features: +avx512f,+avx512ifma\n";
    write(
        &killer.fixture.patch("stacked"),
        &STACKED.replace("Needs: demo\n", field),
    );
    let record = |step: &[&str]| succeed(&killer, &[step, &["--record"]].concat());
    let export = |out: &str| {
        let args = [
            "export",
            "stacked",
            "--out",
            out,
            "--author",
            "A <a@localhost>",
        ];
        succeed(&killer, &args);
        // The second mail: the first is what it needs.
        let text = killer.fixture.prover().join(out).join("0002-stacked.md");
        fs::read_to_string(text).unwrap()
    };
    let stack: Vec<&str> = (STEP.into_iter())
        .filter(|word| *word != "--step")
        .collect();
    write(&killer.fixture.path().join("pace"), "6");
    record(&stack);
    let without = export("without");
    assert!(!without.contains("Both sides have"), "{without}");
    let (_, missing) = without.split_once("## Not measured\n\n").unwrap();
    assert!(
        missing.starts_with("- This change on top of demo.\n- Builds for "),
        "{missing}"
    );

    write(&killer.fixture.path().join("pace"), "8");
    record(&STEP);
    let records = killer.fixture.project().join("benches/record");
    let filed = files(&records);
    let folders = filed.keys().map(|name| name.split('/').nth(2).unwrap());
    assert_eq!(folders.collect::<Vec<_>>(), ["stacked.on.demo", "stacked"]);

    succeed(&killer, &["report"]);
    let results = fs::read_to_string(killer.fixture.project().join("docs/results.md")).unwrap();
    let ratio_below = |title: &str| {
        let (_, rest) = results
            .split_once(&format!("\n### {title}, Plonky3 0.8.0\n"))
            .unwrap();
        let (_, rest) = rest.split_once("**[").unwrap();
        (results.len() - rest.len(), &rest[..5])
    };
    let (step, stack) = (
        ratio_below("stacked on demo"),
        ratio_below("stacked with demo"),
    );
    assert_eq!((step.1, stack.1), ("0.800", "0.600"));
    assert!(step.0 < stack.0);

    for (name, contents) in filed {
        let text = String::from_utf8(contents).unwrap();
        let machine = "# cpu = \"A CPU\"\n# cores = 2\n# rustc = \"rustc 1.95.0\"\n";
        let (before, rest) = text.split_once("# cpu = ").unwrap();
        let (_, after) = rest.split_once("# rustflags").unwrap();
        fs::remove_file(records.join(&name)).unwrap();
        let (time, _) = name.split_once("Z-").unwrap();
        write(
            &records.join(format!("{time}Z-a-cpu.csv")),
            &format!("{before}{machine}# rustflags{after}"),
        );
    }
    assert_snapshot!(export("with"));

    // The patch needs none now, so that the samples are those of another step.
    write(
        &killer.fixture.project().join("patches/series"),
        "demo\nstacked\n",
    );
    write(&killer.fixture.patch("stacked"), STACKED);
    succeed(&killer, &["report"]);
    let results = fs::read_to_string(killer.fixture.project().join("docs/results.md")).unwrap();
    assert!(!results.contains("stacked on demo"), "{results}");
    let (_, others) = (results.split_once("### stacked on others, Plonky3 0.8.0\n")).unwrap();
    assert!(others.contains("**\u{2020}"), "{results}");
}

/// A worker names its rows as it likes, and the next command reads the record.
#[test]
fn a_row_of_each_name_is_read_as_it_was_recorded() {
    let killer = project();
    for name in ["#x/y", r#" \\"x\\", y "#] {
        for side in ["baseline", "candidate"] {
            let worker = killer.fixture.path().join(side);
            let text = fs::read_to_string(&worker).unwrap();
            let (before, row) = text.split_once(r#""name":""#).unwrap();
            let (_, behind) = row.split_once(r#"","kind""#).unwrap();
            write(
                &worker,
                &format!(r#"{before}"name":"{name}","kind"{behind}"#),
            );
        }
        let record = ["ab", "demo", "--seeds", "2", "--reps", "1", "--record"];
        succeed(&killer, &record);
        succeed(&killer, &record);
        succeed(&killer, &["list"]);
        let records = files(&killer.fixture.project().join("benches/record"));
        assert!(!records.is_empty());
    }
}
