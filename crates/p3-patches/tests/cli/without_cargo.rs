//! `status --without-cargo`: a workspace whose configuration of cargo is not trusted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, MANIFEST, assert_ended, write};
use crate::killer::script;

const STATUS: [&str; 2] = ["status", "--without-cargo"];

#[test]
fn no_program_runs() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "stacked"]);
    // The workspace names a compiler, which leaves a file.
    let left = fixture.path().join("it ran");
    let compiler = fixture.prover().join("compiler");
    let text = format!(": >'{}'\nexec rustc \"$@\"\n", left.display());
    script(&compiler, &text);
    let configuration = format!("build.rustc = '{}'\n", compiler.display());
    write(&fixture.prover().join(".cargo/config.toml"), &configuration);
    fixture.succeed(&["status"]);
    assert!(left.is_file());
    fs::remove_file(&left).unwrap();

    let nothing = fixture.path().join("nothing");
    let mut status = fixture.command(&STATUS);
    for name in ["CARGO", "RUSTC", "PATH"] {
        status.env(name, &nothing);
    }
    let run = fixture.transcript(&status.output().unwrap());
    assert!(run.starts_with("exit 0\n"), "{run}");
    assert_eq!(run.matches("intact  yes").count(), 2, "{run}");
    assert!(!left.exists());
}

#[test]
fn trees_and_the_lock_file_have_to_hold() {
    let fixture = Fixture::new();
    let published = fixture.lock();
    let run = fixture.succeed(&STATUS);
    assert!(run.contains("Cargo.toml: no patches applied\n"), "{run}");

    fixture.succeed(&["apply", "demo"]);
    let patched = fixture.lock();
    write(&fixture.prover().join("Cargo.lock"), &published);
    let run = fixture.run(&STATUS);
    assert_ended(&run, 1, "intact  no");

    write(&fixture.prover().join("Cargo.lock"), &patched);
    fixture.succeed(&STATUS);
    write(&fixture.tree("p3-goldilocks").join("src/lib.rs"), "");
    let run = fixture.run(&STATUS);
    assert_ended(&run, 1, "changed  yes");
}

#[test]
fn a_package_that_is_not_cached_is_fetched_outside_of_the_workspace() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let home = fixture.home_without("p3-goldilocks-");
    let folders = fixture.path().join("folders");
    let cargo = fixture.path().join("cargo");
    let text = format!(
        "pwd >>'{}'\nexec '{}' \"$@\"\n",
        folders.display(),
        env!("CARGO")
    );
    script(&cargo, &text);
    let mut status = fixture.command(&STATUS);
    status.env("CARGO_HOME", &home).env("CARGO", &cargo);
    let run = fixture.transcript(&status.output().unwrap());
    // Nothing can be fetched here.
    assert!(run.starts_with("exit 4\n"), "{run}");
    let missing = "p3-goldilocks 0.8.0 is not in cargo's cache and cannot be fetched";
    assert!(run.contains(missing), "{run}");
    let folders = fs::read_to_string(folders).unwrap();
    let project = fixture.project().canonicalize().unwrap();
    assert!(folders.lines().count() > 0);
    assert!(
        folders.lines().all(|folder| Path::new(folder) == project),
        "{folders}"
    );
}

#[test]
fn a_manifest_without_a_lock_file_is_no_root() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.prover().join("Cargo.lock")).unwrap();
    let run = fixture.run(&STATUS);
    assert_ended(&run, 3, "no Cargo.lock beside it");
}

#[test]
fn a_workspace_that_is_not_there_is_named() {
    let fixture = Fixture::new();
    let named = "[package]\nworkspace = \"../nowhere\"\n";
    fixture.set_manifest(&MANIFEST.replace("[package]\n", named));
    let run = fixture.run(&STATUS);
    let said = "/prover/Cargo.toml: belongs to [DIR]/nowhere/Cargo.toml, which is not there\nhint: `package.workspace` names ";
    assert_ended(&run, 3, said);
}

/// A folder, a place in the manifest and a package of the lock file, each with a line break and a line like the tool's own.
#[test]
fn names_with_line_breaks_forge_no_line() {
    let fixture = Fixture::new();
    let assert_whole = |run: &str, said: &str| {
        assert!(run.contains(said), "{run}");
        assert!(!run.contains("\nhint: forged"), "{run}");
    };
    let folder = "a\nhint: forged \u{202e}";
    let manifest = format!("{folder}/Cargo.toml");
    for command in ["apply", "status", "remove", "try"] {
        let mut args = vec![command, "--manifest-path", &*manifest];
        args.extend(
            (command == "try")
                .then_some(["--", "run"])
                .into_iter()
                .flatten(),
        );
        let run = fixture.run(&args);
        assert_ended(
            &run,
            3,
            "a\\nhint: forged \\u{202e}/Cargo.toml: cannot be read",
        );
        assert_whole(&run, "hint: --manifest-path names");
    }
    write(&fixture.prover().join(&manifest), "[package]\n");
    let run = fixture.run(&[&STATUS[..], &["--manifest-path", &manifest]].concat());
    assert_ended(
        &run,
        3,
        "/a\\nhint: forged \\u{202e}/Cargo.toml: no Cargo.lock beside it",
    );
    assert_whole(&run, "error: ");

    let dependency = "{ path = \"a\\nhint: forged\" }";
    let redirected = MANIFEST.replace("\"0.8\" #", &format!("{dependency} #"));
    fixture.set_manifest(&redirected);
    let run = fixture.run(&STATUS);
    assert_ended(
        &run,
        1,
        "p3-goldilocks comes from the folder a\\nhint: forged, in place of",
    );
    assert_whole(&run, "differs: ");
    fixture.set_manifest(MANIFEST);
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    let patch =
        format!("\n[patch.\"sparse+https://index.crates.io/\"]\np3-goldilocks = {dependency}\n");
    fixture.set_manifest(&applied.replace(MANIFEST, &format!("{MANIFEST}{patch}")));
    let run = fixture.run(&STATUS);
    assert_ended(&run, 1, "already patches p3-goldilocks to ");
    assert_whole(&run, "forged");
    fixture.set_manifest(&applied);
    write(&fixture.tree("p3-goldilocks").join(folder), "");
    let address = "src/https://u:s3cr3t@h";
    write(&fixture.tree("p3-goldilocks").join(address), "");
    let run = fixture.run(&["status", "--verify"]);
    assert_whole(&run, "  differs: src/https:/h is no part of it\n");
    assert_whole(
        &run,
        "  differs: a\\nhint: forged \\u{202e} is no part of it\n",
    );

    let lock = fixture.lock();
    write(
        &fixture.prover().join("Cargo.lock"),
        &lock.replace("name = \"p3-util\"", "name = \"p3-util\\nhint: forged\""),
    );
    let run = fixture.run(&STATUS);
    assert_ended(&run, 3, "has a control character");
    assert_whole(&run, "hint: restore Cargo.lock");
}

#[test]
fn links_to_nothing_and_wrong_places_are_named() {
    let fixture = Fixture::new();
    let other = fixture.prover().join("other");
    fs::create_dir(&other).unwrap();
    let manifest = other.join("Cargo.toml");
    let refuses = |path: &str, said: &str| {
        for args in [&STATUS[..], &["status"], &["apply"]] {
            let run = fixture.run(&[args, &["--manifest-path", path]].concat());
            assert_ended(&run, 3, said);
        }
    };
    refuses(
        "other",
        "error: other: a folder\nhint: --manifest-path names a file: the ",
    );
    symlink("nothing", &manifest).unwrap();
    let link = "error: other/Cargo.toml: a symbolic link to nothing\nhint: put a manifest in";
    refuses("other/Cargo.toml", link);
    fs::remove_file(&manifest).unwrap();
    let made = Command::new("mkfifo").arg(&manifest).status().unwrap();
    assert!(made.success());
    let pipe = "other/Cargo.toml: cannot be read: not a plain file\nhint: a manifest is a file; ";
    refuses("other/Cargo.toml", pipe);
}

#[test]
fn a_wrong_name_of_the_workspace_is_the_cause() {
    let fixture = Fixture::new();
    for (name, said) in [
        ("1", "is not text"),
        ("\"\"", "names its own package, which has no `[workspace]`"),
        ("\".\"", "names its own package, which has no `[workspace]`"),
    ] {
        let named = format!("[package]\nworkspace = {name}\n");
        fixture.set_manifest(&MANIFEST.replace("[package]\n", &named));
        let run = fixture.run(&STATUS);
        let said =
            format!("Cargo.toml: `package.workspace` {said}\nhint: `package.workspace` names ");
        assert_ended(&run, 3, &said);
    }
}

/// Members, named and by a pattern, and a package that one of them names by a path, each with every kind of redirection. The lock file
/// does not know it yet.
#[test]
fn redirections_in_manifests_of_members_are_told() {
    let fixture = Fixture::new();
    let places = ["named", "crates/one", "below/path"];
    let package = |place: &str| {
        let name = place.replace('/', "-");
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
    };
    let manifest = |place: &str| fixture.prover().join(place).join("Cargo.toml");
    let dependency = "[dependencies]\nbelow-path = { path = \"../../below/path\" }\n";
    let whole = |place: &str| match place {
        "crates/one" => package(place) + dependency,
        _ => package(place),
    };
    for place in places {
        write(&manifest(place), &whole(place));
        write(&manifest(place).with_file_name("src/lib.rs"), "");
    }
    let members =
        "\n[workspace]\nmembers = [\"named\", \"crates/*\"]\nexclude = [\"crates/out\"]\n";
    fixture.set_manifest(&format!("{MANIFEST}{members}"));
    fixture.cargo(&["metadata", "--offline", "--format-version", "1"]);
    fixture.succeed(&["apply", "demo"]);
    fixture.succeed(&STATUS);
    for (table, entry, from) in [
        (
            "dev_dependencies",
            "p3-util = { path = \"evil\" }",
            "the folder evil",
        ),
        (
            "target.'cfg(unix)'.build-dependencies",
            "u = { package = \"p3-util\", git = \"https://me:t@h/r\" }",
            "git+https://h/r",
        ),
        (
            "target.x.dependencies",
            "p3-util = { version = \"0.8\", registry = \"evil\" }",
            "the registry evil",
        ),
    ] {
        for place in places {
            let redirected = format!("{}[{table}]\n{entry}\n", whole(place));
            write(&manifest(place), &redirected);
            let run = fixture.run(&STATUS);
            assert_ended(&run, 1, &format!("p3-util comes from {from}, in place of"));
            write(&manifest(place), &whole(place));
        }
    }
    // Cargo reads no such table of a member, and nothing of a package that is excluded.
    let patch = "[patch.crates-io]\np3-util = { path = \"evil\" }\n";
    write(&manifest("named"), &(whole("named") + patch));
    let out = package("out") + "[dependencies]\np3-util = { path = \"evil\" }\n";
    write(&manifest("crates/out"), &out);
    fixture.succeed(&STATUS);
}

/// An override that is gone from the block: the package is built as published.
/// A package beside the workspace may inherit what redirects from a workspace of its own.
#[test]
fn redirections_that_a_path_package_inherits_are_told() {
    let fixture = Fixture::new();
    let path = "any 0.8 will do\nbeside = { path = \"../z/beside\" }\n";
    fixture.set_manifest(&MANIFEST.replace("any 0.8 will do\n", path));
    let package = "[package]\nname = \"beside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let inherits = format!("{package}[dependencies]\np3-util.workspace = true\n");
    let beside = fixture.path().join("z/beside");
    write(&beside.join("Cargo.toml"), &inherits);
    write(&beside.join("src/lib.rs"), "");
    let root = |entry: &str| {
        let text =
            format!("[workspace]\nmembers = [\"beside\"]\n[workspace.dependencies]\n{entry}\n");
        write(&fixture.path().join("z/Cargo.toml"), &text);
    };
    root("p3-util = \"0.8\"");
    fixture.cargo(&["metadata", "--offline", "--format-version", "1"]);
    fixture.succeed(&["apply", "demo"]);
    fixture.succeed(&STATUS);
    for (entry, from) in [
        ("p3-util = { path = \"evil\" }", "the folder [DIR]/z/evil"),
        (
            "p3-util = { git = \"https://me:t@h/r\" }",
            "git+https://h/r",
        ),
    ] {
        root(entry);
        assert_ended(
            &fixture.run(&STATUS),
            1,
            &format!("p3-util comes from {from}, in place of"),
        );
    }
    // An entry that the package does not inherit redirects nothing.
    root("p3-util = \"0.8\"\np3-field = { path = \"evil\" }");
    fixture.succeed(&STATUS);
}

#[test]
fn an_override_that_is_gone_is_missed() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "stacked"]);
    let manifest = fixture.manifest();
    let (before, from) = manifest
        .split_once("[patch.crates-io.p3-symmetric]")
        .unwrap();
    let (path, after) = from.trim_start().split_once('\n').unwrap();
    assert!(path.starts_with("path = "), "{path}");
    fixture.set_manifest(&format!("{before}{after}"));
    fixture.cargo(&["fetch"]);
    for args in [&STATUS[..], &["status"]] {
        let run = fixture.run(args);
        assert!(run.starts_with("exit 1\n"), "{run}");
        let missed = "the p3-patches block does not override p3-symmetric, which they change and the workspace has in 0.8.0";
        assert!(run.contains(missed), "{run}");
    }
    fixture.succeed(&["apply"]);
    assert_eq!(fixture.manifest(), manifest);
    fixture.succeed(&STATUS);
}

/// Overrides of the user's own in the manifest, under each name of crates.io.
#[test]
fn overrides_of_the_users_own_are_told() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    for key in [
        "crates-io",
        "\"https://github.com/rust-lang/crates.io-index\"",
        "\"https://GitHub.com/rust-lang/crates.io-index.git/\"",
        "\"sparse+https://index.crates.io/\"",
    ] {
        let own = |package: &str| {
            let table =
                format!("\n[patch.{key}]\nmine = {{ package = \"{package}\", path = \"mine\" }}\n");
            applied.replace(MANIFEST, &format!("{MANIFEST}{table}"))
        };
        fixture.set_manifest(&own("another"));
        fixture.succeed(&STATUS);
        fixture.set_manifest(&own("p3-goldilocks"));
        let run = fixture.run(&STATUS);
        assert!(run.starts_with("exit 1\n"), "{key}: {run}");
        assert!(
            run.contains("already patches p3-goldilocks to"),
            "{key}: {run}"
        );
    }
    let replace = "\n[replace]\n\"p3-goldilocks:0.8.0\" = { path = \"mine\" }\n";
    fixture.set_manifest(&applied.replace(MANIFEST, &format!("{MANIFEST}{replace}")));
    let run = fixture.run(&STATUS);
    assert_ended(&run, 1, "replaces p3-goldilocks:0.8.0 in `[replace]`");
}

/// The folder that the command is started in is no part of a path that leads out of it.
#[test]
fn a_path_out_of_another_workspace_leads_to_the_prover() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    write(&fixture.project().join("Cargo.toml"), "[workspace]\n");
    let args = [&STATUS[..], &["--manifest-path", "../prover/Cargo.toml"]].concat();
    let mut status = fixture.command(&args);
    let run = fixture.transcript(&status.current_dir(fixture.project()).output().unwrap());
    assert!(run.starts_with("exit 0\n"), "{run}");
    assert_eq!(run.matches("intact  yes").count(), 2, "{run}");
}

/// A member with a lock file of its own, which cargo does not read.
#[test]
fn a_member_is_seen_as_part_of_its_workspace() {
    let fixture = Fixture::new();
    let member = fixture.prover().join("member");
    let package = "[package]\nname = \"member\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    write(&member.join("Cargo.toml"), package);
    write(&member.join("src/lib.rs"), "");
    fixture.set_manifest(&format!(
        "{MANIFEST}\n[workspace]\nmembers = [\"member\"]\n"
    ));
    fixture.cargo(&["metadata", "--offline", "--format-version", "1"]);
    write(&member.join("Cargo.lock"), &fixture.lock());
    fixture.succeed(&["apply", "demo"]);
    let status = [&STATUS[..], &["--manifest-path", "member/Cargo.toml"]].concat();
    let run = fixture.succeed(&status);
    assert!(
        run.contains("/prover/Cargo.toml: Plonky3 0.8.0 with demo\n"),
        "{run}"
    );
    assert_eq!(run.matches("intact  yes").count(), 2, "{run}");
    write(&fixture.tree("p3-goldilocks").join("src/lib.rs"), "");
    let run = fixture.run(&status);
    assert!(run.starts_with("exit 1\n"), "{run}");
}
