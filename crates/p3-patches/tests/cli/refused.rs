//! Bad input: one clear line with the path, a hint, the documented exit code, and nothing half-written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::fixture::{DEMO, Fixture, MANIFEST, assert_ended, cargo_home, git, in_diff, write};
use crate::killer::script;

/// Runs `apply demo`, which has to fail and to leave the prover as it was.
#[track_caller]
fn apply_fails(fixture: &Fixture) -> String {
    let before = fixture.state();
    let transcript = fixture.run(&["apply", "demo"]);
    assert!(!transcript.starts_with("exit 0\n"), "{transcript}");
    assert_eq!(fixture.state(), before);
    assert!(
        !fixture.prover().join(".p3-patches").is_dir(),
        "trees that nothing names"
    );
    transcript
}

/// `apply demo` with the patch changed by `edit`.
#[track_caller]
fn with_patch(edit: impl Fn(&str) -> String) -> String {
    let fixture = Fixture::new();
    let edited = edit(DEMO);
    assert_ne!(edited, DEMO, "the edit has to change something");
    write(&fixture.patch("demo"), &edited);
    apply_fails(&fixture)
}

#[test]
fn a_patch_that_does_not_apply() {
    assert_snapshot!(with_patch(
        |patch| patch.replace(" extern crate alloc;", " extern crate std;")
    ));
}

/// Nobody need ever write to a pipe: it is refused before it is read, and so is a folder.
#[test]
fn a_pipe_or_a_folder_in_place_of_a_file() {
    let fixture = Fixture::new();
    for (file, complaint) in [
        ("prover/Cargo.toml", "cannot be read: not a plain file"),
        ("prover/Cargo.lock", "not a plain file"),
        ("project/patches/0.8.0/demo.patch", "not a plain file"),
    ] {
        let path = fixture.path().join(file);
        let aside = path.with_extension("aside");
        let complaint =
            format!("exit 3\n--- stdout\n--- stderr\nerror: [DIR]/{file}: {complaint}\nhint: ");
        fs::rename(&path, &aside).unwrap();
        let manifest = fixture.prover().join("Cargo.toml");
        for make in ["mkfifo", "mkdir"] {
            let complaint = match make {
                "mkdir" => complaint.replace("cannot be read: not a plain file", "a folder"),
                _ => complaint.clone(),
            };
            assert!(Command::new(make).arg(&path).status().unwrap().success());
            for command in [&["apply", "demo"][..], &["remove"], &["try", "demo"]] {
                let mut command = fixture.command(command);
                command.arg("--manifest-path").arg(&manifest);
                if command.get_args().any(|arg| arg == "try") {
                    command.args(["--", "run"]);
                }
                let output = command.stdin(Stdio::null()).output().unwrap();
                let transcript = fixture.transcript(&output);
                let reads =
                    !command.get_args().any(|arg| arg == "remove") || file.starts_with("prover");
                assert_eq!(
                    transcript.starts_with(&complaint),
                    reads,
                    "{make}: {transcript}"
                );
            }
            let removed = match make {
                "mkdir" => fs::remove_dir(&path),
                _ => fs::remove_file(&path),
            };
            removed.unwrap();
        }
        fs::rename(&aside, &path).unwrap();
    }
}

/// Cargo itself would wait for the writer of a pipe, in place of each file that it reads of a workspace.
#[test]
fn a_pipe_in_place_of_a_file_that_cargo_reads() {
    let fixture = Fixture::new();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
    let tables = "[workspace]\nmembers = [\"member\"]\n";
    let other = "other = { path = \"other\" }\nbeside = { path = \"../z/beside\" }\n[workspace]";
    let manifest = format!("{MANIFEST}{}", tables.replace("[workspace]", other));
    fixture.set_manifest(&manifest);
    for (place, more) in [
        ("member", ""),
        ("other", ""),
        ("../z/beside", "license.workspace = true\n"),
    ] {
        let folder = fixture.prover().join(place);
        let name = place.rsplit('/').next().unwrap();
        write(&folder.join("Cargo.toml"), &(package(name) + more));
        write(&folder.join("src/lib.rs"), "");
    }
    let root = "[workspace]\nmembers = [\"beside\"]\n[workspace.package]\nlicense = \"MIT\"\n";
    write(&fixture.path().join("z/Cargo.toml"), root);
    fixture.cargo(&["fetch", "--offline"]);
    let state = fixture.state();
    let home = fixture.home_without("none");
    for place in [
        "prover/member/Cargo.toml",
        "prover/other/Cargo.toml",
        "z/Cargo.toml",
        "prover/.cargo/config.toml",
        "prover/rust-toolchain.toml",
        "Cargo.toml",
        "cargo-home/config.toml",
    ] {
        fixture.succeed(&["apply", "demo"]);
        let path = fixture.path().join(place);
        let before = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let said = format!("[DIR]/{place}: not a plain file\nhint: ");
        let run = |args: &[&str]| {
            let mut command = fixture.command(args);
            fixture.transcript(&command.env("CARGO_HOME", &home).output().unwrap())
        };
        for command in [&["status"][..], &["apply"], &["try", "demo", "--", "run"]] {
            assert_ended(&run(command), 3, &said);
        }
        assert_ended(&run(&["remove"]), 0, &said);
        fs::remove_file(&path).unwrap();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        assert_eq!(fixture.state(), state, "{place}");
    }

    // A tree is gone with its pipe.
    fixture.succeed(&["apply", "demo"]);
    let path = fixture.tree("p3-goldilocks").join("Cargo.toml");
    fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_ended(
        &fixture.run(&["status"]),
        3,
        "/Cargo.toml: not a plain file\n",
    );
    let removed = fixture.succeed(&["remove"]);
    assert!(!removed.contains("warning"), "{removed}");
    assert_eq!(fixture.state(), state);
}

/// The hint does not ask for the removal of what is there.
#[test]
fn a_folder_of_patches_that_is_none() {
    let fixture = Fixture::new();
    let pipe = fixture.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for (place, what) in [
        ("nowhere", "no such folder"),
        ("pipe", "not a folder"),
        ("prover/Cargo.toml", "not a folder"),
    ] {
        let place = fixture.path().join(place).display().to_string();
        let refused = fixture.run(&["list", "--patches", &place]);
        let expected =
            format!("{what}\nhint: --patches names a folder with a series and its patches\n");
        assert!(refused.starts_with("exit 3\n"), "{refused}");
        assert!(refused.ends_with(&expected), "{refused}");
    }
}

#[test]
fn a_patch_for_a_file_that_is_not_there() {
    let missing =
        |patch: &str| patch.replace("symmetric/src/permutation.rs", "symmetric/src/nowhere.rs");
    assert_snapshot!(with_patch(missing));
}

#[test]
fn a_new_file_that_exists_already() {
    assert_snapshot!(with_patch(
        |patch| in_diff(patch).replace("goldilocks/src/demo.rs", "goldilocks/src/mds.rs")
    ));
}

#[test]
fn a_truncated_patch() {
    assert_snapshot!(with_patch(|patch| patch[..patch.len() / 2].to_owned()));
}

/// Cut off after a whole hunk, the diff still parses.
#[test]
fn a_patch_truncated_between_two_files() {
    assert_snapshot!(with_patch(|patch| patch
        [..patch.rfind("diff --git").unwrap()]
        .to_owned()));
}

#[test]
fn a_patch_with_the_line_ends_of_windows() {
    assert_snapshot!(with_patch(|patch| patch.replace('\n', "\r\n")));
}

#[test]
fn a_hunk_that_is_too_short() {
    assert_snapshot!(with_patch(|patch| patch.replace("+mod demo;\n", "")));
}

#[test]
fn a_line_that_belongs_to_no_hunk() {
    assert_snapshot!(with_patch(
        |patch| patch.replace("-- \np3-patches", "+stray\n-- \np3-patches")
    ));
}

#[test]
fn a_header_without_a_field() {
    assert_snapshot!(with_patch(|patch| patch.replace("Forwarded: not yet\n", "")));
}

#[test]
fn a_package_that_the_header_does_not_name() {
    assert_snapshot!(with_patch(
        |patch| patch.replace("p3-goldilocks, p3-symmetric", "p3-goldilocks")
    ));
}

#[test]
fn paths_that_leave_the_tree() {
    let mut transcripts = String::new();
    for path in [
        "symmetric/../../x.rs",
        "symmetric//etc/x.rs",
        "symmetric/C:/x.rs",
        "symmetric/.git/x",
        "symmetric/Cargo.toml",
    ] {
        let transcript = with_patch(|patch| patch.replace("symmetric/src/permutation.rs", path));
        transcripts += &format!("{path}\n{transcript}\n");
    }
    let absolute = |patch: &str| {
        patch
            .replace("--- a/symmetric/", "--- /symmetric/")
            .replace("+++ b/symmetric/", "+++ /symmetric/")
    };
    transcripts += &format!("absolute\n{}\n", with_patch(absolute));
    assert_snapshot!(transcripts);
}

#[test]
fn what_is_no_plain_file() {
    let mut transcripts = String::new();
    let mode = |patch: &str, mode| in_diff(patch).replace("mode 100644", mode);
    let link = |patch: &str| mode(patch, "mode 120000");
    let executable = |patch: &str| mode(patch, "mode 100755");
    let binary = |patch: &str| {
        patch.replace(
            "-- \np3",
            "diff --git a/symmetric/x b/symmetric/x\nGIT binary patch\n-- \np3",
        )
    };
    let rename = |patch: &str| {
        patch.replace(
            "+++ b/symmetric/src/permutation.rs",
            "+++ b/symmetric/src/other.rs",
        )
    };
    for edit in [
        &link as &dyn Fn(&str) -> String,
        &executable,
        &binary,
        &rename,
    ] {
        transcripts += &with_patch(edit);
        transcripts.push('\n');
    }
    assert_snapshot!(transcripts);
}

#[test]
fn an_unknown_name() {
    let fixture = Fixture::new();
    assert_snapshot!(fixture.run(&["apply", "dmeo"]));
    assert_eq!(fixture.manifest(), MANIFEST);
}

#[test]
fn an_unknown_base() {
    let fixture = Fixture::new();
    assert_snapshot!(fixture.run(&["apply", "demo", "--base", "0.7.0"]));
}

/// A cargo home with this machine's index and one tarball, which is not what the registry published.
#[test]
fn a_tarball_with_a_wrong_checksum() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    let home = fixture.path().join("cargo-home");
    write(
        &home.join("registry/cache/index.crates.io-0123456789abcdef/p3-goldilocks-0.8.0.crate"),
        "not what was published",
    );
    let output = fixture
        .command(&["apply", "stacked"])
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    assert_snapshot!(fixture.transcript(&output));
    assert_eq!(fixture.manifest(), applied);
}

/// Cargo keeps a folder for each registry; packages of one may have the names of another's.
#[test]
fn another_registrys_tarball_is_not_taken() {
    let fixture = Fixture::new();
    let home = fixture.home_without("nothing");
    // The first in order, and the last.
    for registry in ["another", "zzz"] {
        write(
            &home
                .join("registry/cache")
                .join(registry)
                .join("p3-goldilocks-0.8.0.crate"),
            "another package",
        );
    }
    let output = fixture
        .command(&["apply", "demo"])
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", fixture.transcript(&output));
}

/// A package's name becomes a path, and a key of a manifest.
#[test]
fn a_package_whose_name_is_none() {
    assert_snapshot!(with_patch(
        |patch| patch.replace("p3-goldilocks, p3-symmetric", "p3-x = \"1\" #")
    ));
}

/// The block says which release the trees are of, twice.
#[test]
fn a_block_with_another_release() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    fixture.set_manifest(&applied.replace("Plonky3 0.8.0 with", "Plonky3 9.9.9 with"));
    let transcripts = ["remove", "apply", "status"].map(|command| fixture.run(&[command]));
    assert_snapshot!(transcripts.concat());
    // In both places: no package of the lock file is of that release, so none is looked up.
    fixture.set_manifest(&applied.replace("0.8.0", "9.9.9"));
    fixture.succeed(&["remove"]);
    assert_eq!(fixture.manifest(), MANIFEST);
    fixture.cargo(&["tree", "--locked", "--offline"]);
}

#[test]
fn sources_neither_cached_nor_reachable() {
    let fixture = Fixture::new();
    let home = fixture.path().join("cargo-home");
    let run = |args: &[&str]| {
        let output = fixture.command(args).env("CARGO_HOME", &home).output();
        fixture.transcript(&output.unwrap())
    };
    let unapplied = run(&["apply", "demo"]);
    assert_eq!(fixture.manifest(), MANIFEST);
    fixture.succeed(&["apply", "demo"]);
    let applied = fixture.manifest();
    assert_snapshot!(format!("{unapplied}{}", run(&["apply", "stacked"])));
    assert_eq!(fixture.manifest(), applied);
}

/// A build fetches what its own platform needs.
#[test]
fn a_dependency_of_another_platform_that_was_never_fetched() {
    let fixture = Fixture::new();
    let windows = "\n[target.'cfg(windows)'.dependencies]\nwindows-sys = \"0.61\"\n";
    fixture.set_manifest(&format!("{MANIFEST}{windows}"));
    fixture.relock();
    let home = fixture.home_without("windows-sys-");
    let run = |args: &[&str]| {
        let output = fixture.command(args).env("CARGO_HOME", &home).output();
        fixture.transcript(&output.unwrap())
    };
    let status = run(&["status"]);
    assert!(
        status.contains("`apply` would apply demo, stacked\n"),
        "{status}"
    );
    for args in [&["apply", "demo"][..], &["status"], &["remove"]] {
        let transcript = run(args);
        assert!(transcript.starts_with("exit 0\n"), "{transcript}");
    }
}

/// A package that this platform needs was never fetched.
#[test]
fn a_dependency_that_was_never_fetched() {
    let fixture = Fixture::new();
    let home = fixture.home_without("p3-dft-");
    let runs = ["status", "apply"].map(|command| {
        let mut command = fixture.command(&[command]);
        fixture.transcript(&command.env("CARGO_HOME", &home).output().unwrap())
    });
    assert_eq!(fixture.manifest(), MANIFEST);
    fixture.succeed(&["apply", "demo"]);
    let mut status = fixture.command(&["status"]);
    let status = fixture.transcript(&status.env("CARGO_HOME", &home).output().unwrap());
    let (_, stderr) = status.split_once("--- stderr\n").unwrap();
    assert_snapshot!(runs.concat() + stderr);
}

/// A dependency in a place, with a feature or in a circle that there is not, before `apply` and after it. No download mends that, and
/// the patches can be taken out all the same.
#[test]
fn a_dependency_that_is_not_there() {
    let fixture = Fixture::new();
    let (manifest, lock) = (fixture.manifest(), fixture.lock());
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
    let other = package("other");
    let other = format!("{other}[dependencies]\nprover = {{ path = \"../prover\" }}\n");
    write(&fixture.path().join("other/Cargo.toml"), &other);
    write(&fixture.path().join("other/src/lib.rs"), "");
    let features = "p3-goldilocks = { version = \"0.8\", features = [\"nope\"] }";
    for (name, text) in [("broken", "[package\n"), ("virtual", "[workspace]\n")] {
        write(&fixture.path().join(name).join("Cargo.toml"), text);
    }
    let repository = fixture.path().join("repository");
    fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    write(&repository.join("Cargo.toml"), &package("a"));
    write(&repository.join("src/lib.rs"), "");
    git(&repository, &["add", "--all"]);
    git(&repository, &["commit", "--quiet", "--message", "a"]);
    let of_repository = |pin: &str| {
        let place = repository.to_str().unwrap();
        format!("a = {{ git = \"file://{place}\", {pin} }}")
    };
    let commit = of_repository(&format!("rev = \"{}\"", "1".repeat(40)));
    let branch = of_repository("branch = \"nope\"");
    for (broken, said) in [
        (
            "a = { path = \"../broken\" }",
            "broken/Cargo.toml:1:9: unclosed table",
        ),
        (
            "a = { path = \"../virtual\" }",
            "found a virtual manifest at `",
        ),
        (&*commit, "revspec '1111"),
        (&*branch, "remote-tracking branch 'origin/nope'"),
        (
            "a = { path = \"../nowhere\" }",
            "nowhere/Cargo.toml`: No such file",
        ),
        (
            "a = { path = \"../other\" }",
            "no matching package named `a` found",
        ),
        (
            "other = { path = \"../other\" }",
            "cyclic package dependency: ",
        ),
        ("a = { path = \"\" }", "no matching package named `a` found"),
        (features, "with feature `nope`"),
    ] {
        let hint = "\nhint: correct that in the manifest; ";
        let break_ = |manifest: &str| match broken == features {
            true => manifest.replace("p3-goldilocks = \"0.8\"", broken),
            false => manifest.replace("any 0.8 will do\n", &format!("any 0.8 will do\n{broken}\n")),
        };
        // A repository is known where cargo may ask it, and `status` does not have it ask.
        let is_git = broken.contains("git = ");
        let refused = |name| {
            let before = fixture.manifest();
            let is_unknown = is_git && name == "status";
            let mut command = match is_git {
                true => fixture.fetching(&[name]),
                false => fixture.command(&[name]),
            };
            let transcript = fixture.transcript(&command.output().unwrap());
            assert_ended(&transcript, if is_unknown { 4 } else { 3 }, said);
            assert_eq!(transcript.contains(hint), !is_unknown, "{transcript}");
            assert_eq!(fixture.manifest(), before);
        };
        fixture.set_manifest(&break_(&manifest));
        refused("apply");
        fixture.set_manifest(&manifest);
        fixture.succeed(&["apply", "demo"]);
        fixture.set_manifest(&break_(&fixture.manifest()));
        refused("status");
        refused("apply");
        let removed = fixture.run(&["remove"]);
        assert_ended(&removed, 0, "\nwarning: without the patches, ");
        assert!(removed.contains(said), "{removed}");
        assert_eq!(removed.contains(hint), !is_git, "{removed}");
        assert_eq!(fixture.manifest(), break_(&manifest));
        assert_eq!(fixture.lock(), lock);
        assert!(!fixture.prover().join(".p3-patches").exists());
    }
    // Cargo cannot look there. To apply the patches again would end at the same error.
    fixture.set_manifest(&manifest);
    fixture.succeed(&["apply", "demo"]);
    let nowhere = "any 0.8 will do\na = { git = \"file:///nowhere\" }\n";
    fixture.set_manifest(&fixture.manifest().replace("any 0.8 will do\n", nowhere));
    let status = fixture.run(&["status"]);
    assert_ended(&status, 4, "\nhint: after `cargo fetch` in that folder, ");
}

/// Workflows often color what cargo prints, and this tool reads that.
#[test]
fn cargos_colors_change_nothing() {
    let fixture = Fixture::new();
    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        command
            .env("CARGO_TERM_COLOR", "always")
            .env("CLICOLOR_FORCE", "1");
        fixture.transcript(&command.output().unwrap())
    };
    let config = fixture.prover().join(".cargo/config.toml");
    write(&config, "[term]\ncolor = \"always\"\n");
    for command in [&["apply", "demo"][..], &["status", "--verify"], &["status"]] {
        assert_ended(&run(command), 0, "");
    }
    let broken = "any 0.8 will do\na = { path = \"../nowhere\" }\n";
    fixture.set_manifest(&fixture.manifest().replace("any 0.8 will do\n", broken));
    assert_ended(&run(&["status"]), 3, "nowhere/Cargo.toml`: No such file");
}

/// Cargo says that a package below a workspace, but not among its members, is in none, and so does each command.
#[test]
fn a_package_beside_the_members_is_refused() {
    let fixture = Fixture::new();
    fixture.set_manifest(&format!("{MANIFEST}[workspace]\nmembers = []\n"));
    fixture.succeed(&["apply", "demo"]);
    let (manifest, lock) = fixture.state();
    let stray = fixture.prover().join("stray/Cargo.toml");
    write(&stray, "[package]\nname = \"stray\"\nversion = \"0.1.0\"\n");
    write(&stray.with_file_name("src/lib.rs"), "");
    let stray = stray.to_str().unwrap();
    for command in [
        &["status"][..],
        &["status", "--without-cargo"],
        &["remove"],
        &["apply"],
    ] {
        let run = fixture.run(&[command, &["--manifest-path", stray]].concat());
        assert_ended(
            &run,
            3,
            "\nhint: add the package to the `members` or to the `exclude`",
        );
        assert_eq!(fixture.state(), (manifest.clone(), lock.clone()));
    }
}

/// The owner of a mounted folder is not root, who works there in a container.
#[test]
fn files_keep_their_owner() {
    let fixture = Fixture::new();
    let files = ["Cargo.toml", "Cargo.lock"].map(|name| fixture.prover().join(name));
    let owner = |path: &PathBuf| {
        let file = fs::metadata(path).unwrap();
        (file.uid(), file.gid())
    };
    let own = owner(&files[0]);
    // Only root may give files away.
    let other = if own.0 == 0 { (1234, 1234) } else { own };
    for file in &files {
        chown(file, Some(other.0), Some(other.1)).unwrap();
    }
    for command in [&["apply", "demo"][..], &["remove"]] {
        fixture.succeed(command);
        assert_eq!(files.each_ref().map(owner), [other; 2]);
    }
}

/// A prover that becomes a member of a workspace keeps its block, of which cargo takes no notice from then on.
#[test]
fn the_block_of_a_member_is_told() {
    let fixture = Fixture::new();
    let lock = fixture.lock();
    fixture.succeed(&["apply", "demo"]);
    let above = fixture.path().join("Cargo.toml");
    write(
        &above,
        "[workspace]\nmembers = [\"prover\"]\nresolver = \"3\"\n",
    );
    write(&above.with_file_name("Cargo.lock"), &lock);
    let told = "warning: [DIR]/prover/Cargo.toml: cargo disregards the p3-patches block there";
    for (command, code) in [
        (&["status"][..], 0),
        (&["status", "--without-cargo"], 0),
        (&["remove"], 3),
    ] {
        assert_ended(&fixture.run(command), code, told);
    }
    fixture.set_manifest(MANIFEST);
    let status = fixture.run(&["status"]);
    assert!(!status.contains("disregards"), "{status}");
}

/// The patches go from a prover that cargo does not read at all: it refuses the manifest, its configuration or the toolchain, or has
/// no network. So do the trees whose block was deleted by hand.
#[test]
fn patches_are_removed_whatever_cargo_says() {
    let fixture = Fixture::new();
    let (manifest, lock) = (fixture.manifest(), fixture.lock());
    let edition = |text: &str| text.replace("\"2024\"", "\"2099\"");
    let prover = fixture.prover();
    for (place, text) in [
        ("Cargo.toml", ""),
        (".cargo/config.toml", "[build\n"),
        ("rust-toolchain.toml", "[toolchain]\npath = \"/nowhere\"\n"),
    ] {
        for is_deleted in [false, true] {
            fixture.succeed(&["apply", "demo"]);
            if is_deleted {
                fixture.set_manifest(&manifest);
            }
            let path = prover.join(place);
            let before = fs::read_to_string(&path).ok();
            let edited = match before {
                Some(_) => edition(&fixture.manifest()),
                None => text.to_owned(),
            };
            write(&path, &edited);
            // A test's cargo has chosen its toolchain.
            let mut remove = fixture.command(&["remove"]);
            remove.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
            let removed = fixture.transcript(&remove.output().unwrap());
            assert_ended(&removed, 0, "\nwarning: without the patches, ");
            match before {
                Some(_) => {
                    assert_eq!(fixture.manifest(), edition(&manifest));
                    fixture.set_manifest(&manifest);
                }
                None => fs::remove_file(&path).unwrap(),
            }
            assert_eq!(fixture.manifest(), manifest);
            // Nothing but the block says where a package came from.
            if is_deleted {
                write(&prover.join("Cargo.lock"), &lock);
            }
            assert_eq!(fixture.lock(), lock);
            assert!(!prover.join(".p3-patches").exists());
        }
    }

    let home = fixture.home_without("p3-dft-");
    fixture.succeed(&["apply", "demo"]);
    let mut remove = fixture.command(&["remove"]);
    let removed = fixture.transcript(&remove.env("CARGO_HOME", &home).output().unwrap());
    assert_ended(&removed, 0, "\nwarning: without the patches, ");
    assert_eq!((fixture.manifest(), fixture.lock()), (manifest, lock));
}

/// Cargo takes it to start where it is called, which is in other folders than the user.
#[test]
fn a_cargo_home_by_a_relative_path_or_an_empty_one() {
    let fixture = Fixture::new();
    let user = fixture.path().join("user");
    fs::create_dir(&user).unwrap();
    std::os::unix::fs::symlink(cargo_home(), user.join(".cargo")).unwrap();
    let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.unwrap_or_else(|| std::env::home_dir().unwrap().join(".rustup"));
    for home in ["user/.cargo", ""] {
        for command in ["apply", "status", "remove"] {
            let mut command = fixture.command(&[command, "--manifest-path", "prover/Cargo.toml"]);
            command
                .current_dir(fixture.path())
                .env("RUSTUP_HOME", &rustup);
            command.env("CARGO_HOME", home).env("HOME", &user);
            let transcript = fixture.transcript(&command.output().unwrap());
            assert!(transcript.starts_with("exit 0\n"), "{transcript}");
        }
    }
    assert!(!fixture.prover().join("user").exists());
}

#[test]
fn manifests_that_are_none() {
    let fixture = Fixture::new();
    let mut transcripts = String::new();
    for text in [
        "[dependencies]\n",
        "[package\nname = \"x\"\n",
        "[package]\nname = \"x\"\nname = \"y\"\n",
    ] {
        fixture.set_manifest(text);
        transcripts += &fixture.run(&["apply", "demo"]);
        assert_eq!(fixture.manifest(), text);
    }
    transcripts += &fixture.run(&["apply", "demo", "--manifest-path", "nowhere/Cargo.toml"]);
    fixture.set_manifest(&format!(
        "{MANIFEST}# >>> p3-patches: Plonky3 0.8.0 with demo\n"
    ));
    transcripts += &fixture.run(&["status"]);
    assert_snapshot!(transcripts);
}

#[test]
fn a_manifest_that_patches_the_package_already() {
    let fixture = Fixture::new();
    write(
        &fixture.path().join("fork/Cargo.toml"),
        "[package]\nname = \"p3-goldilocks\"\nversion = \"0.8.0\"\n",
    );
    write(&fixture.path().join("fork/src/lib.rs"), "");
    let mut transcripts = String::new();
    for patch in [
        "[patch.crates-io]\np3-goldilocks = { path = \"../fork\" }\n",
        "[patch.crates-io]\nfork = { package = \"p3-goldilocks\", path = \"../fork\" }\n",
        "[patch]\ncrates-io = {}\n",
    ] {
        fixture.set_manifest(&format!("{MANIFEST}\n{patch}"));
        transcripts += &apply_fails(&fixture);
    }
    assert_snapshot!(transcripts);
}

#[test]
fn a_prover_on_another_release() {
    let fixture = Fixture::new();
    write(
        &fixture.path().join("old/Cargo.toml"),
        "[package]\nname = \"p3-goldilocks\"\nversion = \"0.7.0\"\n",
    );
    write(&fixture.path().join("old/src/lib.rs"), "");
    fixture.set_manifest(&MANIFEST.replace("\"0.8\"", "{ path = \"../old\" }"));
    fixture.relock();
    assert_snapshot!(apply_fails(&fixture));
}

/// A need that the release meets is not applied to it.
#[test]
fn a_need_that_the_release_contains() {
    let fixture = Fixture::new().with_older_base();
    for patch in [
        fixture.project().join("patches/0.4.0/demo.patch"),
        fixture.patch("demo"),
    ] {
        let text = fs::read_to_string(&patch).unwrap();
        write(
            &patch,
            &text.replace("Applied-Upstream: no", "Applied-Upstream: 0.8.0"),
        );
    }
    fs::remove_file(fixture.patch("demo")).unwrap();
    let header = "Title: perf(goldilocks): say more\nPackages: p3-goldilocks\nBases: 0.8.0\nNeeds: demo\nRisk: low\nForwarded: not yet\nApplied-Upstream: no\n\nWhy.\n---\n";
    let diff = DEMO.split("diff --git ").nth(1).unwrap();
    write(
        &fixture.patch("stacked"),
        &format!("{header}diff --git {diff}-- \np3-patches\n"),
    );
    fixture.set_manifest(MANIFEST);
    fixture.relock();
    let applied = fixture.succeed(&["apply", "stacked"]);
    assert!(applied.contains("applied stacked to"), "{applied}");
    fixture.succeed(&["status"]);
}

#[test]
fn a_prover_that_takes_the_package_from_elsewhere() {
    let fixture = Fixture::new();
    write(
        &fixture.path().join("fork/Cargo.toml"),
        "[package]\nname = \"p3-goldilocks\"\nversion = \"0.8.0\"\n",
    );
    write(&fixture.path().join("fork/src/lib.rs"), "");
    fixture.set_manifest(&MANIFEST.replace("\"0.8\"", "{ path = \"../fork\" }"));
    fixture.relock();
    assert_snapshot!(apply_fails(&fixture));
}

/// `*` takes every folder for a member, the trees' too; cargo then wants a manifest there.
#[test]
fn a_workspace_that_takes_every_folder_for_a_member() {
    let fixture = Fixture::new();
    write(&fixture.prover().join("member/Cargo.toml"), MANIFEST);
    write(&fixture.prover().join("member/src/lib.rs"), "");
    fs::remove_dir_all(fixture.prover().join("src")).unwrap();
    let workspace = "[workspace]\nmembers = [\"*\"]\nresolver = \"3\"\n";
    fixture.set_manifest(workspace);
    fixture.relock();
    assert_snapshot!(apply_fails(&fixture));
    fixture.set_manifest(&format!("{workspace}exclude = [\".p3-patches\"]\n"));
    fixture.succeed(&["apply", "demo"]);
}

#[test]
fn a_prover_without_plonky3() {
    let fixture = Fixture::new();
    fixture.set_manifest("[package]\nname = \"prover\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    fixture.relock();
    assert_snapshot!(apply_fails(&fixture));
}

#[test]
fn a_folder_that_cannot_be_written() {
    let fixture = Fixture::new();
    write(
        &fixture.prover().join(".p3-patches"),
        "a file where the folder should be",
    );
    assert_snapshot!(apply_fails(&fixture));
    fs::remove_file(fixture.prover().join(".p3-patches")).unwrap();

    let writable = fs::metadata(fixture.prover()).unwrap().permissions();
    fs::set_permissions(fixture.prover(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(fixture.prover().join("probe"), "").is_ok() {
        println!("skipped: permission bits do not bind this user");
    } else {
        assert!(apply_fails(&fixture).starts_with("exit 4\n"));
    }
    fs::set_permissions(fixture.prover(), writable).unwrap();
}

/// A limit on the size of files stands in for a full disk: a write fails in the middle of a tree.
#[test]
fn a_full_disk() {
    let fixture = Fixture::new();
    let tool = fixture.command(&["apply", "demo"]);
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(tool.get_program())
        .args(tool.get_args())
        .current_dir(fixture.prover())
        .output()
        .unwrap();
    let transcript = fixture.transcript(&output);
    assert_ended(
        &transcript,
        4,
        "hint: check that the folder is writable and that the disk has space",
    );
    assert_eq!(fixture.manifest(), MANIFEST);
    assert!(
        !fixture.prover().join(".p3-patches").exists(),
        "half a tree"
    );
    fixture.succeed(&["apply", "demo"]);
}

#[test]
fn a_prover_that_has_nothing_applied() {
    assert_snapshot!(Fixture::new().run(&["remove"]));
}

#[test]
fn the_patches_own_workspace_stays_unpatched() {
    let fixture = Fixture::new();
    write(&fixture.project().join("Cargo.toml"), MANIFEST);
    write(&fixture.project().join("src/lib.rs"), "");
    let manifest = fixture.project().join("Cargo.toml");
    assert_snapshot!(fixture.run(&[
        "apply",
        "demo",
        "--manifest-path",
        manifest.to_str().unwrap()
    ]));
}

/// A name that is refused stays on one line.
#[test]
fn a_refused_argument_stays_on_one_line() {
    let fixture = Fixture::new();
    for args in [
        &["apply", "x\ny: z"][..],
        &["apply", "--base", "0.8.0\ny: z"],
        &["apply", "--rev", "abcdefgh\ny: z"],
        &["apply", "--source", "file:///x\ny: z"],
    ] {
        let run = fixture.run(args);
        assert!(run.starts_with("exit 3\n"), "{run}");
        assert!(run.contains("\\ny: z") && !run.contains("\ny: z"), "{run}");
    }
}

/// rustup says what to install; its line is the hint.
#[test]
fn a_pinned_toolchain_that_is_not_installed() {
    let fixture = Fixture::new();
    let cargo = fixture.path().join("cargo");
    script(
        &cargo,
        "echo \"error: toolchain 'nightly-2020-01-01' is not installed\" >&2\n\
         echo 'help: run `rustup toolchain install` to install it' >&2\n\
         exit 1\n",
    );
    let mut apply = fixture.command(&["apply", "demo"]);
    let output = apply.env("CARGO", &cargo).output().unwrap();
    assert_snapshot!(fixture.transcript(&output));
}

/// Cargo and the compiler run in the prover's folder: the caller's has files of its own that would decide on both.
#[test]
fn the_callers_folder_decides_nothing() {
    let fixture = Fixture::new();
    let caller = fixture.path().join("caller");
    write(&caller.join(".cargo/config.toml"), "no configuration");
    let log = fixture.path().join("folders");
    let stand_in = |name: &str, program: &str| {
        let path = fixture.path().join(name);
        let text = format!("pwd -P >>'{}'\nexec '{program}' \"$@\"\n", log.display());
        script(&path, &text);
        path
    };
    let cargo = stand_in("cargo", env!("CARGO"));
    let rustc = stand_in("rustc", "rustc");
    for args in [&["apply", "demo"][..], &["status"], &["remove"]] {
        let mut command = fixture.command(args);
        command
            .args(["--manifest-path", "../prover/Cargo.toml"])
            .current_dir(&caller)
            .env("CARGO", &cargo)
            .env("RUSTC", &rustc)
            .env_remove("RUSTFLAGS");
        let run = fixture.transcript(&command.output().unwrap());
        assert!(run.starts_with("exit 0\n"), "{args:?}: {run}");
    }
    let folders = fs::read_to_string(&log).unwrap();
    let caller = fs::canonicalize(&caller).unwrap();
    assert!(!folders.is_empty());
    assert!(
        folders.lines().all(|folder| Path::new(folder) != caller),
        "{folders}"
    );
}

/// Where cargo cannot read the lock file, or finds another checksum in it, the hint leads out.
#[test]
fn a_wrong_lock_file_is_refused_with_a_way_out() {
    let fixture = Fixture::new();
    let (manifest, lock) = fixture.state();
    let lock_file = fixture.prover().join("Cargo.lock");
    let at = lock.find("[[package]]\nname = \"p3-util\"").unwrap();
    let length = lock[at..].find("\n\n").unwrap() + 2;
    let twice = format!("{}{}", &lock[..at + length], &lock[at..]);
    let other_form = lock.replacen("version = 4", "version = 99", 1);
    for text in [twice, other_form] {
        write(&lock_file, &text);
        let hint = "restore Cargo.lock from version control, or delete it and run `cargo generate-lockfile`\n";
        for args in [&["apply", "demo"], &["status", "--verify"]] {
            let run = fixture.run(args);
            assert_ended(&run, 3, &format!("\nhint: {hint}"));
        }
        let run = fixture.run(&["status"]);
        assert_ended(&run, 0, &format!("; {hint}"));
        // The packages of another version may stand there in another form.
        if text.contains("version = 99") {
            let run = fixture.run(&["status", "--without-cargo"]);
            assert_ended(&run, 3, &format!("\nhint: {hint}"));
        }
        assert_eq!(fixture.lock(), text);
    }
    assert_eq!(fixture.manifest(), manifest);

    let changed = |lock: &str| {
        let at = lock.find("name = \"p3-util\"").unwrap();
        let at = at + lock[at..].find("checksum = \"").unwrap() + "checksum = \"".len();
        format!("{}{}{}", &lock[..at], "0".repeat(64), &lock[at + 64..])
    };
    write(&lock_file, &changed(&lock));
    let run = fixture.run(&["status"]);
    assert_ended(&run, 0, "; a published package never changes");
    assert!(!run.contains("cargo fetch"), "{run}");

    write(&lock_file, &lock);
    fixture.succeed(&["apply", "demo"]);
    write(&lock_file, &changed(&fixture.lock()));
    for args in [&["status"][..], &["status", "--verify"]] {
        let run = fixture.run(args);
        assert!(
            run.starts_with("exit 1\n")
                && run.contains("\nhint: a published package never changes")
                && !run.contains("cargo p3 apply"),
            "{run}"
        );
    }
}

/// A lock file of the checkout that cannot be read is no missing one: its checksums would be gone.
#[test]
fn a_checkouts_lock_file_that_is_no_text() {
    let fixture = Fixture::new();
    let lock = fixture.project().join("Cargo.lock");
    let manifest = fixture.prover().join("Cargo.toml");
    let status = [
        "status",
        "--verify",
        "--manifest-path",
        manifest.to_str().unwrap(),
    ];
    fixture.succeed(&["apply", "demo"]);
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let run = fixture.run(&status);
    assert_ended(
        &run,
        3,
        "error: [DIR]/project/Cargo.lock: not a plain file\n",
    );
    fs::remove_dir(&lock).unwrap();
    fs::write(&lock, b"\xff").unwrap();
    let run = fixture.run(&status);
    assert_ended(&run, 3, "error: [DIR]/project/Cargo.lock: not UTF-8 text\n");
}

/// Arguments that the command line refuses are quoted on one line, without what a terminal obeys and without tokens.
#[test]
fn refused_arguments_are_quoted_clean() {
    let fixture = Fixture::new();
    let hostile = "https://u:s3cr3t@h/x?t=s3cr3t \u{202e}\u{9b}31m\u{1b}[31m\nhint: forged";
    let option = format!("--{hostile}");
    for args in [
        &["status", hostile][..],
        &["status", &option],
        &[hostile],
        &["try", "--reps", hostile, "--", "run"],
    ] {
        let run = fixture.run(args);
        assert_ended(&run, 2, "https://h/x");
        let is_safe = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(run.chars().all(is_safe), "{run}");
        assert!(
            !run.contains("s3cr3t") && !run.contains("\nhint: forged"),
            "{run}"
        );
    }
}

/// The `[patch]` is one of cargo's configuration, or of the manifest: cargo does not say which.
#[test]
fn a_patch_by_a_path_to_nothing() {
    let fixture = Fixture::new();
    let patch = "[patch.crates-io]\np3-goldilocks = { path = \"nowhere\" }\n";
    write(&fixture.prover().join(".cargo/config.toml"), patch);
    let run = fixture.run(&["apply", "demo"]);
    let hint = "\nhint: correct that path, which stands in the manifest or in a `[patch]` of cargo's configuration; ";
    assert!(run.starts_with("exit 3\n") && run.contains(hint), "{run}");
}

/// The compiler has refused it, and its own word is the cause.
#[test]
fn a_flag_that_no_compiler_has_is_named() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["apply", "demo"]);
    let output = command
        .env("RUSTFLAGS", "-C no-such-flag")
        .output()
        .unwrap();
    let run = fixture.transcript(&output);
    let said = "(exit status: 1): unknown codegen option: `no-such-flag`\nhint: cargo's configuration or the environment names that program or its flags, as ";
    assert!(run.starts_with("exit 4\n") && run.contains(said), "{run}");
}
