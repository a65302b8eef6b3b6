//! check, edit, refresh, export: what authors of patches do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

use crate::fixture::{DEMO, Fixture, KERNEL, adds, git, in_diff, repository, write};
use crate::killed::record_head;

#[test]
fn check_passes() {
    assert_snapshot!(Fixture::new().with_crates().run(&["check"]));
}

#[test]
fn check_fails() {
    let fixture = Fixture::new().with_crates();
    let project = fixture.project();
    // Findings: a stray patch, a crate under another name, a missing bench, a title, needs (which the README's table shows
    // too), and a kernel that no patch names.
    write(&project.join("patches/0.8.0/stray.patch"), "");
    write(
        &project.join("crates/stacked/Cargo.toml"),
        "[package]\nname = \"other\"\n",
    );
    fs::remove_file(project.join("benches/demo.rs")).unwrap();
    write(
        &fixture.patch("demo"),
        &DEMO.replace("perf(goldilocks):", "Faster:"),
    );
    write(&project.join("patches/series"), "demo\nstacked\n");
    write(&project.join("crates/stacked/src/stray.rs"), "");
    assert_snapshot!(fixture.run(&["check"]));
    assert!(
        fixture
            .run(&["check", "--json"])
            .contains("\"problem\": null")
    );
}

#[test]
fn check_reads_architectures() {
    let fixture = Fixture::new().with_crates();
    let with_field = |value: &str| {
        let field = format!("Bases: 0.8.0\nArchitectures: {value}\n");
        write(
            &fixture.patch("demo"),
            &DEMO.replace("Bases: 0.8.0\n", &field),
        );
        fixture.run(&["check"])
    };
    let unknown = with_field("arm64");
    assert!(
        unknown.contains("FAIL  demo: header for 0.8.0: `Architectures:` names arm64; known are aarch64, x86_64\n"),
        "{unknown}"
    );
    let untouched = with_field("aarch64");
    assert!(
        untouched.contains("`Architectures:` names aarch64, of which the diff says nothing\n"),
        "{untouched}"
    );
}

#[test]
fn check_reads_the_features_of_a_ci_leg() {
    let fixture = Fixture::new().with_crates();
    let with_fields = |fields: &str| {
        let fields = format!("Bases: 0.8.0\n{fields}\n");
        let text = DEMO.replace("Bases: 0.8.0\n", &fields);
        write(&fixture.patch("demo"), &text.replace("(demo)", "(aarch64)"));
        fixture.run(&["check"])
    };
    for known in ["+avx512f, +avx512ifma", "+sve2, +sha3"] {
        let run = with_fields(&format!("CI-Features: {known}"));
        assert!(run.starts_with("exit 0\n"), "{run}");
    }
    // A leg that upstream has.
    for features in ["+avx512f", "+avx2", "+sve2"] {
        let run = with_fields(&format!("CI-Features: {features}"));
        let complaint = format!(
            "FAIL  demo: header for 0.8.0: `CI-Features: {features}`: upstream's workflow has this leg in 0.8.0\n      hint: "
        );
        assert!(run.contains(&complaint), "{run}");
    }
    // A feature of two architectures, one without a sign, one of LLVM's own, and one of another architecture than the patch's.
    for fields in [
        "CI-Features: +avx2,+sve2",
        "CI-Features: avx2",
        "CI-Features: +vzeroupper",
        "Architectures: aarch64\nCI-Features: +avx2",
    ] {
        let run = with_fields(fields);
        let (_, field) = fields.split_once("CI-Features").unwrap();
        let complaint = format!(
            "FAIL  demo: header for 0.8.0: `CI-Features{field}`: rustc has no such target features on "
        );
        assert!(run.contains(&complaint), "{run}");
    }
}

#[test]
fn check_reads_threads_and_an_export_names_them() {
    let fixture = Fixture::new().with_crates();
    let with_threads = |threads: &str| {
        let field = format!("Related: {threads}\nBases: 0.8.0\n");
        let text = DEMO.replace("Bases: 0.8.0\n", &field);
        write(&fixture.patch("demo"), &text);
        fixture.run(&["check"])
    };
    for threads in ["1667 closed", "#1667", "#1667 done", "#x open"] {
        let run = with_threads(threads);
        let complaint = format!("FAIL  demo: header for 0.8.0: `Related:` names `{threads}`, ");
        assert!(run.contains(&complaint), "{run}");
    }
    let run = with_threads("#1667 closed, #443 open");
    assert!(run.starts_with("exit 0\n"), "{run}");
    let export = ["export", "demo", "--author", "A <a@b>", "--out", "out"];
    fixture.succeed(&export);
    let read = |file: &str| fs::read_to_string(fixture.prover().join("out").join(file)).unwrap();
    let description = read("0001-demo.md");
    assert!(
        description.contains("\n## Related\n\n- #1667 closed\n- #443 open\n"),
        "{description}"
    );
    // Nobody can clone a folder of this machine, and no token leaves it.
    assert!(!description.contains("git clone"), "{description}");
    let project = fixture.project();
    git(&project, &["init", "--quiet"]);
    for (remote, address) in [
        ("/srv/patches", None),
        (
            "https://me:s3cr3t@example.org/patches.git",
            Some("https://example.org/patches.git"),
        ),
        ("https://example.org/a\n```\n<b>", None),
        ("https://example.org/`id`", None),
        ("https://example.org/;id", None),
    ] {
        git(&project, &["config", "remote.origin.url", remote]);
        fixture.succeed(&export);
        let description = read("0001-demo.md");
        let line = address
            .map(|address| format!("\n```\ngit clone {address} p3-patches && cd p3-patches\n"));
        let is_there = line.as_ref().is_some_and(|line| description.contains(line));
        assert_eq!(is_there, description.contains("git clone"), "{description}");
        assert_eq!(is_there, address.is_some(), "{description}");
        assert!(!description.contains("s3cr3t"), "{description}");
    }
    for author in [
        "",
        "nobody",
        "A <>",
        " <a@b>",
        "A <a@b>\nSubject: x <c@d>",
        "A\u{1b}[m <a@b>",
    ] {
        let run = fixture.run(&["export", "demo", "--author", author, "--out", "other"]);
        assert!(run.starts_with("exit 2\n"), "{run}");
        assert!(!fixture.prover().join("other").exists());
    }
}

#[test]
fn an_export_is_for_the_newest_release_previews_included() {
    let fixture = Fixture::new();
    let text = DEMO.replace("Bases: 0.8.0\n", "Bases: 0.9.0-rc.2, 0.8.0\n");
    write(&fixture.patch("demo"), &text);
    write(
        &fixture.project().join("patches/0.9.0-rc.2/demo.patch"),
        &text,
    );
    fixture.succeed(&["export", "demo", "--author", "A <a@b>", "--out", "out"]);
    let description = fs::read_to_string(fixture.prover().join("out/0001-demo.md")).unwrap();
    assert!(
        description.contains("\ncargo p3 ab demo --base 0.9.0-rc.2 "),
        "{description}"
    );
}

#[test]
fn check_covers_every_base() {
    let fixture = Fixture::new().with_crates().with_older_base();
    let checked = fixture.succeed(&["check"]);
    for check in [
        "demo: kernel files for 0.4.0",
        "the series applies to 0.4.0",
    ] {
        assert!(checked.contains(&format!("ok    {check}\n")), "{checked}");
    }

    // A kernel of the newest release only; files that an older one adds otherwise.
    write(
        &fixture.patch("demo"),
        &fs::read_to_string(fixture.patch("demo"))
            .unwrap()
            .replace("demo.rs", "new.rs")
            .replace("mod demo;", "mod new;"),
    );
    write(&fixture.kernel().with_file_name("new.rs"), KERNEL);
    let checked = fixture.run(&["check"]);
    for base in ["0.8.0", "0.4.0"] {
        let passed = format!("ok    demo: kernel files for {base}\n");
        assert!(checked.contains(&passed), "{checked}");
    }
    fs::remove_file(fixture.kernel()).unwrap();
    let checked = fixture.run(&["check"]);
    for check in [
        "ok    demo: applies to 0.8.0\n",
        "FAIL  demo: header for 0.4.0: patches/0.4.0/demo.patch:3: `Kernels:` names util/src/demo.rs, but there is no \
         crates/demo/src/demo.rs\n      hint: restore that file from git, or take it out of the field\n",
    ] {
        assert!(checked.contains(check), "{checked}");
    }

    // A release that the other header does not name.
    write(&fixture.kernel(), KERNEL);
    write(&fixture.patch("demo"), DEMO);
    let checked = fixture.run(&["check"]);
    assert!(
        checked.contains("FAIL  demo: header for 0.8.0: `Bases:` does not name 0.4.0, but there is patches/0.4.0/demo.patch\n"),
        "{checked}"
    );
}

/// Where a text applies to an older release as it is, that release needs none of its own.
#[test]
fn one_text_for_two_releases() {
    let fixture = Fixture::new().with_crates().with_older_base();
    let older = fixture.project().join("patches/0.4.0/demo.patch");
    fs::copy(&older, fixture.patch("demo")).unwrap();
    let checked = fixture.run(&["check"]);
    assert!(
        checked.contains("FAIL  demo: 0.4.0 needs a text of its own: patches/0.8.0/demo.patch does the same; delete patches/0.4.0/demo.patch\n"),
        "{checked}"
    );

    fs::remove_file(&older).unwrap();
    let checked = fixture.run(&["check"]);
    for check in ["header for", "applies to", "kernel files for"] {
        for base in ["0.8.0", "0.4.0"] {
            let passed = format!("ok    demo: {check} {base}\n");
            assert!(checked.contains(&passed), "{checked}");
        }
    }
    assert!(!checked.contains("needs a text"), "{checked}");
    fixture.succeed(&["apply", "demo", "--base", "0.4.0"]);

    // An edit for one release becomes a text of its own.
    fixture.succeed(&["edit", "demo", "--base", "0.4.0"]);
    let kernel = ".p3-patches/edit/demo/util/src/demo.rs";
    write(&fixture.project().join(kernel), "//! Another kernel.\n");
    let refreshed = fixture.succeed(&["refresh", "demo"]);
    assert!(
        refreshed.contains("patches/0.4.0/demo.patch\n"),
        "{refreshed}"
    );
    let checked = fixture.run(&["check"]);
    assert!(
        checked.contains("ok    demo: 0.4.0 needs a text of its own\n"),
        "{checked}"
    );
}

/// A release for which there is no folder is no base.
#[test]
fn check_refuses_a_base_without_a_folder() {
    let fixture = Fixture::new().with_crates();
    write(
        &fixture.patch("demo"),
        &DEMO.replace("Bases: 0.8.0", "Bases: 0.8.0, 0.4.0"),
    );
    let checked = fixture.run(&["check"]);
    assert!(
        checked.contains("FAIL  demo: header for 0.8.0: `Bases:` names 0.4.0, but there is no patches/0.4.0/demo.patch\n"),
        "{checked}"
    );
}

/// Asserts that `check` prints these lines about the patch `demo`, or a variant of it.
#[track_caller]
fn check_says(fixture: &Fixture, demo: &str, expected: &str) {
    write(&fixture.patch("demo"), demo);
    let checked = fixture.run(&["check"]);
    assert!(checked.starts_with("exit 1\n"), "{checked}");
    assert!(checked.contains(expected), "{expected}: {checked}");
}

#[test]
fn check_reads_kernels() {
    let fixture = Fixture::new().with_crates();
    let named = |path: &str| {
        DEMO.replace(
            "Kernels: goldilocks/src/demo.rs",
            &format!("Kernels: {path}"),
        )
    };
    let field = "FAIL  demo: header for 0.8.0: patches/0.8.0/demo.patch:3: ";
    let own = "      hint: a kernel is below a package's `src/`, and there none of lib.rs, tests.rs, tests, which crates have for \
               themselves; add this file by the diff\n";
    for (path, what, hint) in [
        (
            "goldilocks/src/none.rs",
            "`Kernels:` names goldilocks/src/none.rs, but there is no crates/demo/src/none.rs\n",
            "      hint: restore that file from git, or take it out of the field\n",
        ),
        (
            "goldilocks/benches/demo.rs",
            "goldilocks/benches/demo.rs has no place in a crate of kernels\n",
            own,
        ),
        (
            "goldilocks/src/tests/demo.rs",
            "goldilocks/src/tests/demo.rs has no place in a crate of kernels\n",
            own,
        ),
        (
            "goldilocks/src/demo.rs, symmetric/src/demo.rs",
            "goldilocks/src/demo.rs and symmetric/src/demo.rs would both be crates/demo/src/demo.rs\n",
            "      hint: rename one of the two\n",
        ),
        (
            "goldilocks/src/../../demo/src/demo.rs",
            "\"goldilocks/src/../../demo/src/demo.rs\": the path leaves the tree\n",
            "",
        ),
    ] {
        check_says(&fixture, &named(path), &format!("{field}{what}{hint}"));
    }
    check_says(
        &fixture,
        &in_diff(DEMO).replace("Bases:", "Kernels: goldilocks/src/demo.rs\nBases:"),
        &format!(
            "{field}`Kernels:` names goldilocks/src/demo.rs, which the diff has too\n      hint: take it out of the field, or \
             out of the diff\n"
        ),
    );
    check_says(
        &fixture,
        &named("merkle-tree/src/demo.rs"),
        "FAIL  demo: applies to 0.8.0: patches/0.8.0/demo.patch: merkle-tree/src/demo.rs is in none of the packages that the \
         header names (goldilocks/, symmetric/)\n      hint: add the package to the field `Packages:`\n",
    );
    check_says(
        &fixture,
        &in_diff(DEMO),
        "FAIL  demo: kernel files for 0.8.0: patches/0.8.0/demo.patch: the diff adds goldilocks/src/demo.rs, a kernel\n      \
         hint: name it under `Kernels:`, with its text in crates/demo/src/demo.rs; `edit` and `refresh` do\n",
    );
    write(
        &fixture.kernel(),
        &format!("{KERNEL}/// {}\n", "x".repeat(97)),
    );
    check_says(
        &fixture,
        DEMO,
        "FAIL  demo: comments for 0.8.0: patches/0.8.0/demo.patch: a comment of 101 columns\n      hint: wrap it at 100, ",
    );
    for (text, what) in [(&b""[..], "is empty\n"), (b"\xff", "is not UTF-8 text\n")] {
        fs::write(fixture.kernel(), text).unwrap();
        let expected = format!("{field}crates/demo/src/demo.rs");
        check_says(&fixture, DEMO, &expected);
        check_says(&fixture, DEMO, what);
    }
    write(&fixture.kernel(), KERNEL);
    write(&fixture.kernel().with_file_name("stray.rs"), "");
    check_says(
        &fixture,
        DEMO,
        "FAIL  demo: kernel files for 0.8.0: crates/demo/src/stray.rs: no patch names this kernel\n      \
         hint: name it under `Kernels:` in patches/0.8.0/demo.patch, or delete it\n",
    );
}

/// A text for an older release that repeats the crate's kernel.
#[test]
fn check_refuses_a_second_text_of_a_kernel() {
    let fixture = Fixture::new().with_crates().with_older_base();
    fixture.succeed(&["check"]);
    let older = fixture.project().join("patches/0.4.0/demo.patch");
    let text = fs::read_to_string(&older).unwrap();
    let diff = adds("util/src/demo.rs", KERNEL) + "-- \n";
    let text = (text.replace("Kernels: util/src/demo.rs\n", "")).replace("-- \n", &diff);
    write(&older, &text);
    let checked = fixture.run(&["check"]);
    let refused = "FAIL  demo: kernel files for 0.4.0: patches/0.4.0/demo.patch: the diff adds util/src/demo.rs, a kernel\n";
    assert!(checked.contains(refused), "{checked}");
    write(&older, &text.replace("+/// Twice", "+/// Two times"));
    fixture.succeed(&["check"]);
}

/// A crate's kernel is the newest release's; porting to an older one leaves it alone.
#[test]
fn refresh_for_an_older_base() {
    let fixture = Fixture::new().with_crates().with_older_base();
    let kernel = fixture.kernel();
    let before = fs::read_to_string(&kernel).unwrap();
    fixture.succeed(&["edit", "demo", "--base", "0.4.0"]);
    let edited = fixture
        .project()
        .join(".p3-patches/edit/demo/util/src/demo.rs");
    write(&edited, &before.replace("Twice", "Two times"));
    fixture.succeed(&["refresh", "demo"]);
    assert_eq!(fs::read_to_string(&kernel).unwrap(), before);
    let patch = fs::read_to_string(fixture.project().join("patches/0.4.0/demo.patch")).unwrap();
    assert!(patch.contains("+/// Two times `x`."), "{patch}");
    assert!(!patch.contains("Kernels:"), "{patch}");
    fixture.succeed(&["check"]);

    // The same text again is the crate's.
    write(&edited, &before);
    fixture.succeed(&["refresh", "demo"]);
    let patch = fs::read_to_string(fixture.project().join("patches/0.4.0/demo.patch")).unwrap();
    assert!(
        patch.contains("Kernels: util/src/demo.rs\n") && !patch.contains("Twice"),
        "{patch}"
    );
    fixture.succeed(&["check"]);
}

/// Without names, `ab` takes what has been ported to the release. These runs end where the worker's sources are missing.
#[test]
fn ab_takes_the_patches_of_its_base() {
    let fixture = Fixture::new().with_older_base();
    let run = fixture.run(&["ab", "--base", "0.4.0"]);
    assert!(
        run.contains("error: cannot read [DIR]/project/Cargo.toml"),
        "{run}"
    );
    let trees = fs::read_dir(fixture.project().join("target/p3/0.4.0")).unwrap();
    assert_eq!(trees.count(), 1);
    let run = fixture.run(&["ab", "stacked", "--base", "0.4.0"]);
    assert!(
        run.contains("error: patches/0.4.0/stacked.patch: no such patch\nhint: `stacked` has not been ported to Plonky3 0.4.0\n"),
        "{run}"
    );
}

#[test]
fn an_offset_is_printed() {
    let fixture = Fixture::new();
    write(
        &fixture.patch("demo"),
        &DEMO.replace("@@ -4,6 +4,7 @@", "@@ -7,6 +7,7 @@"),
    );
    assert_snapshot!(fixture.run(&["apply", "demo", "--verbose"]));
    let plain = fixture.succeed(&["apply", "demo"]);
    assert!(
        !plain.contains("offset") && !plain.contains(" -> "),
        "{plain}"
    );
}

#[test]
fn edit_and_refresh_round_trip() {
    let fixture = Fixture::new().with_crates();
    fixture.succeed(&["edit", "demo"]);
    fixture.succeed(&["refresh", "demo"]);
    let same = fs::read_to_string(fixture.patch("demo")).unwrap();
    let strip = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("index "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(strip(&same), strip(DEMO));
    fixture.succeed(&["refresh", "demo"]);
    assert_eq!(fs::read_to_string(fixture.patch("demo")).unwrap(), same);
}

#[test]
fn edits_become_the_patch_and_the_kernel() {
    let fixture = Fixture::new().with_crates();
    let dir = fixture.path().join("repository");
    let dir_arg = dir.to_str().unwrap();
    fixture.succeed(&["edit", "stacked", "--dir", dir_arg]);
    assert!(
        fixture
            .run(&["edit", "stacked", "--dir", dir_arg])
            .starts_with("exit 3\n")
    );
    assert_eq!(
        git(&dir, &["log", "--format=%s"]),
        "perf(goldilocks): add instead of multiply\nperf(goldilocks): double in one addition\nPlonky3 0.8.0\n"
    );
    // One change committed, one not.
    write(&dir.join("goldilocks/src/wide/extra.rs"), "//! More.\n");
    git(&dir, &["add", "--all"]);
    git(&dir, &["commit", "--quiet", "--message", "more"]);
    let demo = dir.join("goldilocks/src/demo.rs");
    let text = fs::read_to_string(&demo).unwrap();
    write(&demo, &text.replace("Twice", "Two times"));
    fixture.succeed(&["refresh", "stacked", "--dir", dir_arg]);

    let patch = fs::read_to_string(fixture.patch("stacked")).unwrap();
    assert!(
        patch.contains("Kernels: goldilocks/src/wide/extra.rs\n")
            && !patch.contains("More")
            && patch.contains("+/// Two times `x`."),
        "{patch}"
    );
    assert!(
        !patch.contains("mod demo"),
        "what it needs is part of the base: {patch}"
    );
    let src = fixture.project().join("crates/stacked/src");
    assert_eq!(
        fs::read_to_string(src.join("wide/extra.rs")).unwrap(),
        "//! More.\n"
    );
    write(&src.join("tests/known_answers.rs"), "");
    fixture.succeed(&["check"]);
    write(&src.join("wide/stray.rs"), "");
    assert!(
        (fixture.run(&["check"]))
            .contains("crates/stacked/src/wide/stray.rs: no patch names this kernel")
    );
}

#[test]
fn refresh_refuses_what_is_no_patch() {
    let fixture = Fixture::new().with_crates();
    assert_snapshot!("refresh_without_edit", fixture.run(&["refresh", "demo"]));
    fixture.succeed(&["edit", "demo"]);
    let manifest = fixture
        .project()
        .join(".p3-patches/edit/demo/goldilocks/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    write(
        &manifest,
        &format!("{text}\n[dependencies.rayon]\nversion = \"1\"\n"),
    );
    assert_snapshot!("refresh_of_a_manifest", fixture.run(&["refresh", "demo"]));
    let repository = fixture.project().join(".p3-patches/edit/demo");
    git(&repository, &["checkout", "--quiet", "base/0.8.0", "."]);
    git(&repository, &["rm", "--quiet", "goldilocks/src/demo.rs"]);
    let run = fixture.run(&["refresh", "demo"]);
    assert!(run.starts_with("exit 3\n"), "{run}");
    let said = "demo: nothing differs from the tag base/0.8.0\nhint: edit the files there;";
    assert!(run.contains(said), "{run}");
    assert_eq!(fs::read_to_string(fixture.patch("demo")).unwrap(), DEMO);
}

/// A patch begins as a header without kernels and diff.
#[test]
fn a_new_patch() {
    let fixture = Fixture::new().with_crates();
    fs::remove_file(fixture.kernel()).unwrap();
    let (header, _) = DEMO.split_once("diff --git").unwrap();
    let header = header.replace("Kernels: goldilocks/src/demo.rs\n", "");
    write(
        &fixture.patch("demo"),
        &format!("{header}-- \np3-patches\n"),
    );
    assert_snapshot!(fixture.run(&["apply", "demo"]));
    fixture.succeed(&["edit", "demo"]);
    let file = fixture
        .project()
        .join(".p3-patches/edit/demo/symmetric/src/hash.rs");
    let text = fs::read_to_string(&file).unwrap();
    write(&file, &format!("// New.\n{text}"));
    let kernel = ".p3-patches/edit/demo/goldilocks/src/demo.rs";
    write(&fixture.project().join(kernel), KERNEL);
    fixture.succeed(&["refresh", "demo"]);
    assert_eq!(fs::read_to_string(fixture.kernel()).unwrap(), KERNEL);
    fixture.succeed(&["check"]);
    fixture.succeed(&["apply", "demo"]);
}

#[test]
fn git_am_takes_an_export() {
    let fixture = Fixture::new();
    let author = "Tester <tester@localhost>";
    let export =
        |out: &str| fixture.succeed(&["export", "stacked", "--out", out, "--author", author]);
    export("one");
    export("two");
    let read = |path: &str| fs::read_to_string(fixture.prover().join(path)).unwrap();
    for file in [
        "0001-demo.patch",
        "0001-demo.md",
        "0002-stacked.patch",
        "0002-stacked.md",
    ] {
        assert_eq!(read(&format!("one/{file}")), read(&format!("two/{file}")));
    }
    assert_snapshot!("pull_request", read("one/0002-stacked.md"));

    let checkout = checkout(&fixture, "0.8.0", ["p3-goldilocks", "p3-symmetric"]);
    am(&checkout, &fixture.prover().join("one"));
    assert_eq!(
        git(&checkout, &["log", "-2", "--format=%an <%ae> %s"]),
        "Tester <tester@localhost> perf(goldilocks): add instead of multiply\n\
         Tester <tester@localhost> perf(goldilocks): double in one addition\n"
    );
    assert_snapshot!("commit", git(&checkout, &["log", "-1", "--format=%B"]));

    // `git am` and `apply` make the same of it.
    fixture.succeed(&["apply", "stacked"]);
    let mut diff = Command::new("diff");
    diff.args(["-r", "-x", ".p3-stamp.json"])
        .arg(fixture.tree("p3-goldilocks"))
        .arg(checkout.join("goldilocks"));
    assert!(diff.output().unwrap().stdout.is_empty());
}

/// `git am` of all mails in a folder, in the order in which the shell names them.
#[track_caller]
fn am(checkout: &Path, mails: &Path) {
    let output = Command::new("sh")
        .args(["-c", "git am --quiet \"$1\"/*.patch", "sh"])
        .arg(mails)
        .env("GIT_COMMITTER_NAME", "tester")
        .env("GIT_COMMITTER_EMAIL", "tester@localhost")
        .current_dir(checkout)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {stderr}", mails.display());
}

/// A repository in upstream's layout with these packages as published in this release.
fn checkout(
    fixture: &Fixture,
    release: &str,
    packages: impl IntoIterator<Item: AsRef<str>>,
) -> PathBuf {
    let checkout = fixture.path().join(format!("checkout-{release}"));
    fs::create_dir(&checkout).unwrap();
    git(&checkout, &["init", "--quiet"]);
    for package in packages {
        let package = format!("{}-{release}", package.as_ref());
        let caches = fs::read_dir(crate::fixture::cargo_home().join("registry/cache")).unwrap();
        let tarball = caches
            .map(|entry| entry.unwrap().path().join(format!("{package}.crate")))
            .find(|path| path.exists())
            .unwrap();
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(tarball).current_dir(&checkout);
        assert!(tar.status().unwrap().success());
        let published = checkout.join(package);
        let origin = fs::read(published.join(".cargo_vcs_info.json")).unwrap();
        let origin = serde_json::from_slice::<serde_json::Value>(&origin).unwrap();
        let folder = origin["path_in_vcs"].as_str().unwrap();
        fs::rename(published, checkout.join(folder)).unwrap();
    }
    git(&checkout, &["add", "--all", "--force"]);
    git(&checkout, &["commit", "--quiet", "--message", "base"]);
    git(&checkout, &["tag", "base"]);
    checkout
}

/// Each patch of this repository with what it needs, and all of them, in the order in which the shell names the mails.
#[test]
fn git_am_takes_every_patch() {
    let fixture = Fixture::new();
    let patches = repository().join("patches");
    let series = fs::read_to_string(patches.join("series")).unwrap();
    let entries = series.lines().map(|line| line.split('#').next().unwrap());
    let names = entries.filter_map(|entry| entry.split_whitespace().next());
    let names = names.collect::<Vec<_>>();
    let releases = ["0.8.0", "0.9.0-rc.2"];
    let mut taken = BTreeSet::new();
    for release in releases {
        // A text that serves a later release too stands in that one's folder.
        let text = |name: &&str| {
            let texts = releases.into_iter().filter_map(|folder| {
                fs::read_to_string(patches.join(format!("{folder}/{name}.patch"))).ok()
            });
            texts.into_iter().find(|text| {
                let bases = text.lines().find_map(|line| line.strip_prefix("Bases: "));
                bases.unwrap().split(", ").any(|base| base == release)
            })
        };
        let ported = names.iter().filter_map(|name| Some((*name, text(name)?)));
        let (names, texts) = ported.unzip::<_, _, Vec<_>, Vec<_>>();
        taken.extend(names.iter().copied());
        git_am_takes(&fixture, release, &names, &texts);
    }
    assert_eq!(taken, names.into_iter().collect());
}

/// Each of these patches, and all of them, become commits on a repository with the release's packages.
fn git_am_takes(fixture: &Fixture, release: &str, names: &[&str], texts: &[String]) {
    let field = |name: &'static str| {
        let fields = texts.iter().flat_map(|text| text.lines());
        fields.filter_map(move |line| line.strip_prefix(name))
    };
    let packages = field("Packages: ").flat_map(|field| field.split(", "));
    let checkout = checkout(fixture, release, packages.collect::<BTreeSet<_>>());
    let titles = field("Title: ").map(|title| format!("{title}\n"));
    let titles = titles.collect::<Vec<_>>();
    let patches = repository().join("patches");
    let patches = patches.to_str().unwrap();

    for (number, selection) in names.chunks(1).chain([names]).enumerate() {
        let mails = fixture.path().join(format!("mails-{release}-{number}"));
        let (out, author) = (mails.to_str().unwrap(), "Tester <tester@localhost>");
        let export = ["--patches", patches, "export", "--base", release];
        let export = [&export[..], &["--out", out, "--author", author], selection];
        fixture.succeed(&export.concat());
        git(&checkout, &["reset", "--quiet", "--hard", "base"]);
        am(&checkout, &mails);
        let log = git(&checkout, &["log", "--reverse", "--format=%s", "base.."]);
        let last = &titles[number.min(titles.len() - 1)];
        assert!(log.ends_with(last), "{selection:?}: {log}");
        if selection.len() > 1 {
            assert_eq!(log, titles.concat());
        }
    }
}

/// Samples that were recorded become a table with the machine and the command, and what is not among them is named.
#[test]
fn an_export_has_the_record() {
    let fixture = Fixture::new();
    let header = DEMO.replace("Bases: 0.8.0\n", "Bases: 0.8.0\nArchitectures: x86_64\n");
    write(&fixture.patch("demo"), &header);
    write(
        &fixture.kernel(),
        &format!("{KERNEL}\n#[test]\nfn twice_x() {{}}\n"),
    );
    let file = "benches/record/0.8.0/x86_64-unknown-linux-gnu-x86-64-v3/demo/2026-01-01-a-cpu.csv";
    let mut record = record_head("cargo p3 ab demo", "2026-01-01", "A CPU", "x86-64-v3");
    for seed in [1, 2] {
        for (side, ns) in [
            ("baseline", 10),
            ("candidate", 8),
            ("candidate", 8),
            ("control", 10),
        ] {
            record += &format!(
                "merkle-commit/poseidon1-w8/2^16x64,x86-64-v3,1,{seed},{seed},{side},{ns},{ns}\n"
            );
        }
    }
    write(&fixture.project().join(file), &record);
    fixture.succeed(&[
        "export",
        "demo",
        "--out",
        "out",
        "--author",
        "A <a@localhost>",
    ]);
    let mail = fs::read_to_string(fixture.prover().join("out/0001-demo.patch")).unwrap();
    for expected in [
        "\n\nMeasured with an earlier text of the patch:\n\n",
        "\n\nTested:\n\n- Tests of this change: `",
        "| `merkle-commit/poseidon1-w8/2^16x64` ",
        "\nA CPU, AVX2, 2 cores, rustc 1.95.0, `-C target-cpu=x86-64-v3`:\n\n| ",
        "\n\n```\ncargo p3 ab demo\n```\n",
        "\n\nNot measured:\n\n- The present text of the patch.\n- Builds for x86-64-v4, x86-64-v4+ifma.\n",
        "\n- More than one thread.\n",
    ] {
        assert!(mail.contains(expected), "{expected}: {mail}");
    }
    assert!(!mail.contains('\u{2020}'), "{mail}");
}

/// A patch of p3-util, and a cargo whose clippy does not like it. What it says of the release as published does not count.
#[test]
fn upstream_lints_compare_with_the_release() {
    let fixture = Fixture::new();
    write(
        &fixture.patch("demo"),
        "Title: perf(util): say more\nPackages: p3-util\nBases: 0.8.0\nRisk: low\nForwarded: not yet\nApplied-Upstream: no\n\nWhy.\n---\n\
         diff --git a/util/src/lib.rs b/util/src/lib.rs\n--- a/util/src/lib.rs\n+++ b/util/src/lib.rs\n@@ -21,3 +21,3 @@\n \n\
         -/// Computes `ceil(log_2(n))`.\n+/// Computes `ceil(log_2(n))` (demo).\n #[must_use]\n-- \np3-patches\n",
    );
    let lint = |line: usize| {
        let span = format!(
            r#"{{"file_name":"util/src/lib.rs","byte_start":0,"byte_end":1,"line_start":{line},"line_end":{line},"column_start":1,"column_end":2,"is_primary":true,"text":[],"label":null,"suggested_replacement":null,"suggestion_applicability":null,"expansion":null}}"#
        );
        format!(
            r#"{{"reason":"compiler-message","package_id":"x","manifest_path":"/x/Cargo.toml","target":{{"kind":["lib"],"crate_types":["lib"],"name":"x","src_path":"/x/lib.rs","edition":"2024"}},"message":{{"message":"a lint","code":null,"level":"warning","spans":[{span}],"children":[],"rendered":null}}}}"#
        )
    };
    let cargo = fixture.path().join("cargo");
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in\n  clippy) echo '{}'; if grep -q demo util/src/lib.rs; then echo '{}'; fi ;;\n  \
         doc | check) ;;\n  test) echo 'test a::b ... ok'; echo 'test a::c ... FAILED'; exit 101 ;;\n  \
         *) exec {} \"$@\" ;;\nesac\n",
        lint(3),
        lint(22),
        env!("CARGO")
    );
    write(&cargo, &script);
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    // The suite is tested with the versions that p3-util was published with, not the newest.
    let lock = fixture.project().join("Cargo.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let (before, entry) = text
        .split_once("[[package]]\nname = \"proptest\"\n")
        .unwrap();
    let (_, after) = entry.split_once("\n\n").unwrap();
    write(&lock, &[before, after].concat());
    let lints = |name: &str| {
        let mut command = fixture.fetching(&["check", "--upstream-lints", name]);
        fixture.transcript(&command.env("CARGO", &cargo).output().unwrap())
    };
    let run = lints("demo");
    let isa = if cfg!(target_arch = "aarch64") {
        "neon"
    } else {
        "x86-64-v3"
    };
    assert!(run.starts_with("exit 1\n"), "{run}");
    for expected in [
        "Plonky3 0.8.0 with demo\n",
        &format!("FAIL  clippy/{isa}: 2 found, 1 as published\n      util/src/lib.rs:22: a lint\n"),
        &format!("ok    rustdoc/{isa}: 0 found, 0 as published\n"),
        "FAIL  tests: 1 found\n      test a::c ... FAILED\n",
        "FAIL  tests/parallel: 1 found\n",
        "of upstream's checks find more than in 0.8.0\n",
    ] {
        assert!(run.contains(expected), "{expected}: {run}");
    }
    let locked = fixture.project().join("target/p3/lints/0.8.0/Cargo.lock");
    let locked = fs::read_to_string(locked).unwrap();
    assert!(
        locked.contains("name = \"proptest\"\nversion = \"1.11.0\"\n"),
        "{locked}"
    );
    assert!(lints("none").starts_with("exit 3\n"));
    assert!(fixture.run(&["check", "demo"]).starts_with("exit 2\n"));

    // An export is for the newest release, a preview too, and so are its checks.
    let patch = fixture.patch("demo");
    let text = fs::read_to_string(&patch).unwrap();
    let path = patch.to_string_lossy().replace("0.8.0", "0.9.0-rc.2");
    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    write(Path::new(&path), &text.replace("0.8.0", "0.9.0-rc.2"));
    let run = lints("demo");
    assert!(run.contains("Plonky3 0.9.0-rc.2 with demo\n"), "{run}");
}
