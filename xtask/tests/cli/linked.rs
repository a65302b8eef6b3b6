//! Symbolic links where the tool reads, writes, renames or deletes: each is refused by its name, and what it names stays as it
//! is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::fixture::{Files, files};
use crate::fixture::{Fixture, MANIFEST, git, redact_hashes, write};
use crate::killed::with_workers;
use crate::killer::Killer;

/// A folder beside the prover that looks like a folder of trees, and more.
struct Victim {
    folder: PathBuf,
    before: Files,
}

impl Victim {
    fn new(fixture: &Fixture) -> Self {
        let folder = fixture.path().join("victim");
        for file in [
            ".gitignore",
            ".lock",
            "Cargo.toml",
            "Cargo.lock",
            "file",
            "0.8.0/p3-goldilocks-0123456789ab/src/lib.rs",
            "0.7.0/p3-goldilocks-0123456789ab/src/lib.rs",
            ".tmp-1/file",
            "src/lib.rs",
        ] {
            write(&folder.join(file), "mine\n");
        }
        fs::copy(
            fixture.prover().join("Cargo.lock"),
            folder.join("Cargo.lock"),
        )
        .unwrap();
        write(&folder.join("Cargo.toml"), MANIFEST);
        let before = files(&folder);
        Self { folder, before }
    }

    /// Puts a link at `place` to `name`, here.
    fn link(&self, name: &str, place: &Path) {
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if place.is_dir() && !place.is_symlink() {
            fs::remove_dir_all(place).unwrap();
        } else {
            let _ = fs::remove_file(place);
        }
        symlink(self.folder.join(name), place).unwrap();
    }

    #[track_caller]
    fn assert_untouched(&self, what: &str) {
        assert!(files(&self.folder) == self.before, "{what}");
    }
}

/// Runs the tool, which has to refuse the link at `place` by its name, in one line with a hint.
#[track_caller]
fn refused(fixture: &Fixture, args: &[&str], place: &Path) {
    let run = fixture.run(args);
    let place = place.strip_prefix(fixture.path()).unwrap().display();
    let expected = redact_hashes(&format!(
        "error: [DIR]/{place}: a symbolic link, which is not followed here\nhint: put the file or folder itself there, or work in another folder\n"
    ));
    assert!(run.starts_with("exit 3\n"), "{args:?}: {run}");
    assert!(run.ends_with(&expected), "{args:?}: {run}\n{expected}");
    assert!(
        fs::symlink_metadata(fixture.path().join(place.to_string()))
            .unwrap()
            .is_symlink()
    );
}

/// A patch comes from the repository that `edit` has opened in this checkout, and from none that a link names.
#[test]
fn a_link_to_another_repository_is_refused() {
    let fixture = Fixture::new().with_crates();
    fixture.succeed(&["edit", "demo"]);
    let patch = fs::read_to_string(fixture.patch("demo")).unwrap();
    let trees = fixture.project().join(".p3-patches");
    let moved = fixture.path().join("moved");
    let repository = trees.join("edit/demo");
    let source = repository.join("goldilocks/src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    write(&source, &format!("{text}\n// By way of a link.\n"));
    for place in [
        repository.join(".git"),
        repository,
        trees.join("edit"),
        trees,
    ] {
        fs::rename(&place, &moved).unwrap();
        symlink(&moved, &place).unwrap();
        refused(&fixture, &["refresh", "demo"], &place);
        fs::remove_file(&place).unwrap();
        fs::rename(&moved, &place).unwrap();
    }
    assert_eq!(fs::read_to_string(fixture.patch("demo")).unwrap(), patch);
    fixture.succeed(&["refresh", "demo"]);
    assert_ne!(fs::read_to_string(fixture.patch("demo")).unwrap(), patch);
}

/// Every place that `apply`, `remove` and `status` have in a prover's folder.
#[test]
fn a_link_in_a_provers_folder_is_refused() {
    let fixture = Fixture::new();
    let victim = Victim::new(&fixture);
    let prover = fixture.prover();
    let [manifest, lock, trees] =
        ["Cargo.toml", "Cargo.lock", ".p3-patches"].map(|name| prover.join(name));
    let plain = |path: &Path, text: &str| {
        fs::remove_file(path).unwrap();
        write(path, text);
    };

    // Before anything has been applied.
    let before = files(&prover);
    for (name, place) in [
        ("", trees.clone()),
        (".gitignore", trees.join(".gitignore")),
        (".lock", trees.join(".lock")),
        ("nothing", trees.join(".lock")),
        ("nothing", trees.join(".gitignore")),
        ("0.8.0", trees.join("0.8.0")),
        ("0.7.0", trees.join("0.7.0")),
        ("", trees.join("edit")),
    ] {
        victim.link(name, &place);
        refused(&fixture, &["apply", "demo"], &place);
        // Refused for another reason, too, it leaves the link alone.
        assert!(!fixture.run(&["apply", "unknown"]).starts_with("exit 0"));
        victim.assert_untouched(&place.display().to_string());
        fs::remove_file(&place).unwrap();
        let _ = fs::remove_dir_all(&trees);
        assert!(files(&prover) == before, "{}", place.display());
    }
    for (name, place) in [("Cargo.toml", &manifest), ("Cargo.lock", &lock)] {
        let text = fs::read_to_string(place).unwrap();
        victim.link(name, place);
        refused(&fixture, &["apply", "demo"], place);
        victim.assert_untouched(name);
        assert!(!trees.exists(), "{name}");
        plain(place, &text);
    }

    fixture.succeed(&["apply", "demo"]);
    let tree = fixture.tree("p3-goldilocks");
    let tree = trees.join(
        tree.strip_prefix(fs::canonicalize(&trees).unwrap())
            .unwrap(),
    );
    let applied = files(&prover);
    let put_back = |place: &Path| {
        fs::remove_file(place).unwrap();
        for (name, contents) in &applied {
            write(&prover.join(name), str::from_utf8(contents).unwrap());
        }
    };
    for (name, place) in [
        ("", trees.clone()),
        (".gitignore", trees.join(".gitignore")),
        (".lock", trees.join(".lock")),
        ("0.8.0", trees.join("0.8.0")),
        ("0.7.0", trees.join("0.7.0")),
        ("Cargo.toml", manifest.clone()),
        ("Cargo.lock", lock.clone()),
    ] {
        if name.starts_with("Cargo") {
            // The file is what it would be with what is applied.
            fs::copy(&place, victim.folder.join(name)).unwrap();
        }
        let victim = Victim {
            folder: victim.folder.clone(),
            before: files(&victim.folder),
        };
        victim.link(name, &place);
        for args in [&["apply", "stacked"][..], &["apply"], &["remove"]] {
            refused(&fixture, args, &place);
            victim.assert_untouched(&format!("{args:?}, {}", place.display()));
        }
        put_back(&place);
        assert!(files(&prover) == applied);
    }
    // A tree, and what is in one.
    victim.link("0.8.0/p3-goldilocks-0123456789ab", &tree);
    refused(&fixture, &["apply"], &tree);
    refused(&fixture, &["status"], &tree);
    fixture.succeed(&["apply", "stacked"]);
    let victim = Victim {
        folder: victim.folder.clone(),
        before: files(&victim.folder),
    };
    fixture.succeed(&["apply", "demo"]);
    for (name, below) in [
        ("src", "src"),
        ("file", "src/lib.rs"),
        ("file", ".p3-stamp.json"),
    ] {
        victim.link(name, &tree.join(below));
        assert!(fixture.run(&["status"]).contains(" changed "), "{below}");
        fixture.succeed(&["apply"]);
        victim.assert_untouched(below);
        assert!(!tree.join(below).is_symlink());
        fixture.succeed(&["status"]);
    }
    // The remains of a killed run go, a link as a link.
    symlink(&victim.folder, trees.join(".tmp-1")).unwrap();
    victim.link("", &trees.join(".tmp-2/inner"));
    fixture.succeed(&["remove"]);
    victim.assert_untouched("unfinished work");
    assert!(!trees.exists());
}

/// A block that names a tree elsewhere.
#[test]
fn a_tree_outside_the_provers_folder_is_refused() {
    let fixture = Fixture::new();
    let victim = Victim::new(&fixture);
    fixture.succeed(&["apply", "demo"]);
    let place = fixture.tree("p3-goldilocks");
    let name = place.file_name().unwrap().to_str().unwrap();
    let manifest = fixture.manifest();
    for elsewhere in ["../victim", "/victim"] {
        fixture.set_manifest(&manifest.replace(&format!(".p3-patches/0.8.0/{name}"), elsewhere));
        for command in ["status", "apply", "remove"] {
            let run = fixture.run(&[command]);
            let expected = "error: [DIR]/prover/Cargo.toml: the p3-patches block names a tree ";
            assert!(
                run.starts_with("exit 3\n") && run.contains(expected),
                "{run}"
            );
        }
    }
    fixture.set_manifest(&manifest);
    fixture.succeed(&["remove"]);
    victim.assert_untouched("the tree");
}

/// `--out` is followed, as by any program; what is in that folder is not.
#[test]
fn a_link_in_an_overlay_is_refused() {
    let fixture = Fixture::new();
    let victim = Victim::new(&fixture);
    let real = fixture.path().join("real");
    let out = fixture.prover().join("overlay");
    fs::create_dir(&real).unwrap();
    git(&real, &["init", "--quiet"]);
    symlink(&real, &out).unwrap();
    let args = ["overlay", "--out", "overlay"];
    fixture.succeed(&args);
    assert!(out.is_symlink() && real.join("provenance.json").exists());
    fixture.succeed(&args);
    assert!(real.join(".git/HEAD").exists());
    assert!(!real.join(".tmp-overlay").exists());
    for name in [
        "README.md",
        "provenance.json",
        "p3-goldilocks",
        ".tmp-overlay",
        "stray",
    ] {
        let place = real.join(name);
        victim.link(if name == "p3-goldilocks" { "" } else { "file" }, &place);
        let run = fixture.run(&args);
        let expected =
            format!("overlay/{name}: a symbolic link, which is not followed here\nhint: ");
        assert!(
            run.starts_with("exit 3\n") && run.contains(&expected),
            "{run}"
        );
        victim.assert_untouched(name);
        fs::remove_file(&place).unwrap();
    }
    victim.link("", &real.join(".tmp-overlay/.tmp-1"));
    // A killed run has left it: not all entries are there.
    write(
        &real.join(".tmp-overlay/own"),
        "LICENSE-MIT\nLICENSE-APACHE\np3-symmetric",
    );
    fixture.succeed(&args);
    victim.assert_untouched("unfinished work");
}

/// The patch, the kernel, and the repositories of `edit`, in a checkout.
#[test]
fn a_link_in_a_checkout_is_refused() {
    let fixture = Fixture::new().with_crates();
    let victim = Victim::new(&fixture);
    let project = fixture.project();
    let trees = project.join(".p3-patches");
    for place in [trees.clone(), trees.join("edit")] {
        victim.link("", &place);
        refused(&fixture, &["edit", "demo"], &place);
        victim.assert_untouched("edit");
        fs::remove_file(&place).unwrap();
    }
    victim.link("nothing", &trees.join("edit/demo"));
    let run = fixture.run(&["edit", "demo"]);
    assert!(
        run.starts_with("exit 3\n") && run.contains("edit/demo: exists already"),
        "{run}"
    );
    fs::remove_file(trees.join("edit/demo")).unwrap();

    fixture.succeed(&["edit", "demo"]);
    let edited = trees.join("edit/demo/goldilocks/src/demo.rs");
    let text = fs::read_to_string(&edited).unwrap();
    write(&edited, &text.replace("Twice `x`", "Two times `x`"));
    for place in [
        fixture.patch("demo"),
        fixture.kernel(),
        trees.join(".lock"),
        trees.join(".gitignore"),
    ] {
        let before = fs::read_to_string(&place).ok();
        // The files that are read there are as they were.
        let name = place
            .strip_prefix(&project)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('/', "-");
        write(
            &victim.folder.join(&name),
            before.as_deref().unwrap_or_default(),
        );
        let victim = Victim {
            folder: victim.folder.clone(),
            before: files(&victim.folder),
        };
        victim.link(&name, &place);
        refused(&fixture, &["refresh", "demo"], &place);
        victim.assert_untouched(&name);
        fs::remove_file(&place).unwrap();
        if let Some(before) = before {
            write(&place, &before);
        }
    }
    fixture.succeed(&["refresh", "demo"]);
}

/// The lock file that cargo would follow the link of.
#[test]
fn a_linked_lock_file_is_not_read() {
    let fixture = Fixture::new();
    let victim = Victim::new(&fixture);
    fixture.succeed(&["apply", "demo"]);
    let lock = fixture.prover().join("Cargo.lock");
    let victims = victim.folder.join("Cargo.lock");
    fs::rename(&lock, &victims).unwrap();
    let victim = Victim {
        folder: victim.folder.clone(),
        before: files(&victim.folder),
    };
    symlink(&victims, &lock).unwrap();
    for args in [
        &["status"][..],
        &["status", "--verify"],
        &["status", "--json"],
        &["apply"],
        &["remove"],
    ] {
        refused(&fixture, args, &lock);
        victim.assert_untouched("Cargo.lock");
    }
}

/// Nothing is built or run before that is known.
/// The file has one figure of a row: of all patches, on the instruction set that was measured last.
#[test]
fn the_memory_of_some_patches_or_of_several_instruction_sets_is_not_recorded() {
    let fixture = Fixture::new();
    for asked in [&["demo"][..], &["--isa", "generic", "--isa", "native"]] {
        let run = fixture.run(&[&["ab", "--outputs-only", "--record"], asked].concat());
        assert!(
            run.starts_with("exit 2\n")
                && run.contains("is of all patches, on one instruction set"),
            "{run}"
        );
    }
}

#[test]
fn two_outputs_are_not_one_file() {
    let fixture = Fixture::new();
    symlink("other.json", fixture.prover().join("page.html")).unwrap();
    write(&fixture.prover().join("other.json"), "");
    let of_try = ["--", "run"];
    for (command, files, tail) in [
        ("ab", &["--json", "x.csv"][..], &[][..]),
        ("ab", &["--json", "x.json", "--html", "./x.csv"], &[]),
        ("ab", &["--phases", "--json", "x.csv"], &[]),
        ("try", &["--json", "x.csv"], &of_try),
        ("try", &["--json", "x", "--html", "../prover/x"], &of_try),
        (
            "try",
            &["--json", "other.json", "--html", "page.html"],
            &of_try,
        ),
    ] {
        let run = fixture.run(&[&[command, "demo"], files, tail].concat());
        assert!(
            run.starts_with("exit 3\n") && run.contains("are the same file\nhint: "),
            "{run}"
        );
    }
    symlink("c.csv", fixture.prover().join("c.json")).unwrap();
    for (command, tail) in [("ab", &[][..]), ("try", &of_try)] {
        let run = fixture.run(&[&[command, "demo", "--json", "c.json"], tail].concat());
        let complaint = "error: c.json: a symbolic link to nothing\nhint: ";
        assert!(
            run.starts_with("exit 3\n") && run.contains(complaint),
            "{run}"
        );
    }
    let run = fixture.run(&["count", "demo", "--json", "."]);
    assert!(
        run.starts_with("exit 3\n") && run.contains(".: a folder"),
        "{run}"
    );
}

/// A folder that the user names is followed to; the files in it are the tool's to name. A file that the user names may be a
/// link, and stays one.
#[test]
fn links_among_outputs() {
    let fixture = Fixture::new().with_crates();
    let victim = Victim::new(&fixture);
    let prover = fixture.prover();
    let export = ["export", "demo", "--author", "A <a@b>", "--out", "export"];
    let real = fixture.path().join("real");
    fs::create_dir(&real).unwrap();
    symlink(&real, prover.join("export")).unwrap();
    fixture.succeed(&export);
    let mail = fs::read(real.join("0001-demo.patch")).unwrap();
    // The last name is one that an unfinished file has.
    let unfinished = ".0001-demo.patch.p3-unfinished";
    for name in ["0001-demo.patch", "0001-demo.md", unfinished] {
        victim.link("file", &real.join(name));
        let run = fixture.run(&export);
        let expected =
            format!("export/{name}: a symbolic link, which is not followed here\nhint: ");
        assert!(
            run.starts_with("exit 3\n") && run.contains(&expected),
            "{run}"
        );
        victim.assert_untouched(name);
        fs::remove_file(real.join(name)).unwrap();
    }
    fixture.succeed(&export);
    assert_eq!(fs::read(real.join("0001-demo.patch")).unwrap(), mail);

    let project = fixture.project();
    for name in ["README.md", "docs/results.md", "patches/effects.csv"] {
        let place = project.join(name);
        let text = fs::read_to_string(&place).unwrap();
        write(&victim.folder.join("linked"), &text);
        let victim = Victim {
            folder: victim.folder.clone(),
            before: files(&victim.folder),
        };
        victim.link("linked", &place);
        refused(&fixture, &["report"], &place);
        victim.assert_untouched(name);
        // One to nothing is no document that is not there.
        fs::remove_file(victim.folder.join("linked")).unwrap();
        refused(&fixture, &["report"], &place);
        fs::remove_file(&place).unwrap();
        write(&place, &text);
    }
    let page = prover.join("page.html");
    victim.link("page", &page);
    write(&victim.folder.join("page"), "");
    let unfinished = victim.folder.join(".page.p3-unfinished");
    victim.link("file", &unfinished);
    refused(&fixture, &["report", "--html", "page.html"], &unfinished);
    fs::remove_file(&unfinished).unwrap();
    fixture.succeed(&["report", "--html", "page.html"]);
    assert!(page.is_symlink());
    let html = fs::read_to_string(victim.folder.join("page")).unwrap();
    assert!(html.contains("<html"), "{html}");
    assert_eq!(fs::read(victim.folder.join("file")).unwrap(), b"mine\n");
}

/// The folder of all records, and that of one.
#[test]
fn a_link_in_the_records_is_refused() {
    let killer = Killer::new(with_workers(Fixture::new().with_crates()));
    let fixture = &killer.fixture;
    let victim = Victim::new(fixture);
    write(&fixture.path().join("pace"), "8");
    let run = || {
        let args = ["ab", "demo", "--record", "--seeds", "2", "--reps", "2"];
        let output = killer.command(&args).output().unwrap();
        fixture.transcript(&output)
    };
    let records = fixture.project().join("benches/record");
    victim.link("", &records);
    let refused = |place: &str, run: String| {
        let expected = format!("{place}: a symbolic link, which is not followed here\nhint: ");
        assert!(
            run.starts_with("exit 3\n") && run.contains(&expected),
            "{run}"
        );
        victim.assert_untouched(place);
    };
    refused("benches/record", run());
    fs::remove_file(&records).unwrap();
    let recorded = run();
    assert!(recorded.starts_with("exit 0\n"), "{recorded}");
    for name in files(&records).into_keys() {
        let folder = Path::new(&name).parent().unwrap();
        victim.link("", &records.join(folder));
        refused(folder.to_str().unwrap(), run());
        fs::remove_file(records.join(folder)).unwrap();
    }
}

/// A checkout's files are read by handles. The folder that `--patches` names may itself be a link.
#[test]
fn a_link_in_a_checkout_is_not_read_through() {
    let fixture = Fixture::new();
    let project = fixture.project();
    for name in [
        "patches",
        "patches/series",
        "patches/0.8.0",
        "patches/0.8.0/demo.patch",
        "patches/SHA256SUMS",
        "crates/demo/src/demo.rs",
    ] {
        let place = project.join(name);
        let elsewhere = fixture.path().join("elsewhere");
        fs::rename(&place, &elsewhere).unwrap();
        symlink(&elsewhere, &place).unwrap();
        refused(&fixture, &["apply", "demo"], &place);
        fs::remove_file(&place).unwrap();
        fs::rename(&elsewhere, &place).unwrap();
    }
    let link = fixture.path().join("link");
    symlink(project.join("patches"), &link).unwrap();
    fixture.succeed(&["--patches", link.to_str().unwrap(), "apply", "demo"]);
}
