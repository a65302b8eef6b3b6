//! `try` as cargo understands it: which packages each side is built from, how they are compiled, and with which flags. A stand-in
//! asks cargo itself for its plan of each build, and says that it has built a shell script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::fixture::{Fixture, MANIFEST, assert_ended, published, write};
use crate::from_git::GitUser;

/// A package of a build's plan.
struct Unit {
    /// The package, by the name that cargo has for it.
    id: String,
    incremental: bool,
}

impl Unit {
    /// The folder of a package that has a path.
    fn folder(&self) -> PathBuf {
        let (path, _) = self.id.split_once('#').unwrap();
        PathBuf::from(path.strip_prefix("path+file://").expect(&self.id))
    }

    fn is_patched(&self) -> bool {
        self.folder().join("src/demo.rs").exists()
    }
}

/// Puts the stand-in into a fixture's folder, whose prover gets a program.
fn stand_in(fixture: &Fixture) {
    let here = fixture.path();
    let sources = fixture.prover().join("src");
    fs::rename(sources.join("lib.rs"), sources.join("main.rs")).unwrap();
    let executable = |name: &str, script: &str| {
        write(&here.join(name), &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(here.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    for side in ["base", "cand"] {
        executable(side, &format!("sleep 0.02 # {side}"));
    }
    let text = r#"
        case "$1" in build | run) ;; *) exec CARGO "$@" ;; esac
        for arg; do
            case "$arg" in
                */p3-try/base) side=base ;;
                */p3-try/cand) side=cand ;;
                patch.*.p3-goldilocks.path=*) tree=${arg#*=?}; tree=${tree%?} ;;
                target.*.runner=*) runner=$(echo "${arg#*=}" | tr -d '[,]"') ;;
            esac
        done
        if [ "$1" = run ]; then exec $runner HERE/$side; fi
        export RUSTC_BOOTSTRAP=1
        CARGO "$@" -Z unstable-options --unit-graph > HERE/$side.units || exit
        CARGO rustc -Z unstable-options --print cfg > HERE/cfgs
        if [ -e HERE/needs ] && ! grep -x "$(cat HERE/needs)" HERE/cfgs >&2; then echo 'error: it needs that' >&2; exit 101; fi
        shift
        artifact() {
            echo '{"reason":"compiler-artifact","package_id":"path+file://HERE/prover#0.1.0","manifest_path":"'$1'/Cargo.toml",
            "target":{"kind":["bin"],"crate_types":["bin"],"name":"'$2'","src_path":"/main.rs","edition":"2024","test":true},
            "profile":{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":false},
            "features":[],"filenames":[],"executable":'$3',"fresh":false}' | tr -d '\n'
            echo
        }
        if [ -n "$tree" ]; then artifact "$tree" p3-goldilocks null; fi
        artifact HERE/prover prover '"HERE/'$side'"'"#;
    let text = text.replace("CARGO", env!("CARGO"));
    executable("cargo", &text.replace("HERE", here.to_str().unwrap()));
}

/// Runs `try` with a command line for the program.
fn attempt(fixture: &Fixture, options: &[&str], line: &[&str]) -> Command {
    let args = [&["try", "--reps", "2"], options, &["--"], line].concat();
    let mut command = fixture.command(&args);
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL"] {
        command.env_remove(variable);
    }
    command.env("CARGO", fixture.path().join("cargo"));
    command
}

/// Runs `try`, which has to succeed, and returns the text that it prints; the prover's own files stay.
#[track_caller]
fn tried(fixture: &Fixture, command: &mut Command) -> String {
    let before = fixture.state();
    let output = command.output().unwrap();
    let printed = fixture.transcript(&output);
    assert!(output.status.success(), "{printed}");
    assert_eq!(fixture.state(), before);
    printed
}

/// The packages by that name in the plan of one side.
fn units(fixture: &Fixture, side: &str, name: &str) -> Vec<Unit> {
    let plan = fs::read(fixture.path().join(format!("{side}.units"))).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    let units = plan["units"].as_array().unwrap().iter();
    let units = units.filter(|unit| unit["target"]["name"] == name.replace('-', "_"));
    let unit = |unit: &Value| Unit {
        id: unit["pkg_id"].as_str().unwrap().to_owned(),
        incremental: unit["profile"]["incremental"].as_bool().unwrap(),
    };
    units.map(unit).collect()
}

/// The one package by that name in the plan of one side.
#[track_caller]
fn unit(fixture: &Fixture, side: &str, name: &str) -> Unit {
    let mut found = units(fixture, side, name);
    assert_eq!(found.len(), 1, "{side}: {name}");
    found.remove(0)
}

/// Cargo compiles what has a path incrementally where the profile has that, and what the registry has never.
#[test]
fn patched_packages_are_compiled_as_published_ones_are() {
    let fixture = Fixture::new();
    stand_in(&fixture);
    let compiled = |line: &[&str], variable: Option<&str>| {
        let mut command = attempt(&fixture, &["demo"], line);
        let printed = tried(&fixture, command.envs(variable.map(|name| (name, "1"))));
        let unit = |side, name| unit(&fixture, side, name);
        for name in ["p3-goldilocks", "p3-symmetric"] {
            assert!(!unit("base", name).id.starts_with("path"));
            assert!(unit("cand", name).is_patched() == (name == "p3-goldilocks"));
            assert!(!unit("base", name).incremental && !unit("cand", name).incremental);
        }
        let own = ["base", "cand"].map(|side| unit(side, "prover").incremental);
        assert_eq!(own[0], own[1]);
        (own[0], printed)
    };
    // The profile `dev` has it.
    let (own, _) = compiled(&["run"], None);
    assert!(own);
    let profile = "\n[profile.release]\nincremental = true\n\n[profile.mine]\ninherits = \"release\"\n\
                   \n[profile.mine.package.\"*\"]\nopt-level = 2\n";
    fixture.set_manifest(&format!("{MANIFEST}{profile}"));
    let (own, printed) = compiled(&["run", "--profile=mine"], None);
    assert!(own && !printed.contains("incremental"), "{printed}");
    // The variables outrank every profile.
    let (own, printed) = compiled(&["run", "--release"], Some("CARGO_INCREMENTAL"));
    assert!(
        !own && printed.contains("\nnote: CARGO_INCREMENTAL has cargo "),
        "{printed}"
    );
    let (own, printed) = compiled(&["run", "--config", "build.incremental=true"], None);
    assert!(
        !own && printed.contains("\nnote: build.incremental has cargo "),
        "{printed}"
    );
}

/// The text between backticks of the line that begins with `start`.
#[track_caller]
fn quoted<'p>(printed: &'p str, start: &str) -> &'p str {
    let mut lines = printed.lines();
    let line = lines.find(|line| line.starts_with(start)).expect(printed);
    line.split('`').nth(1).expect(line)
}

/// Runs `try` after a command of the shell's, with further variables.
fn attempt_after(fixture: &Fixture, shell: &str, variables: &[(&str, &str)]) -> Command {
    let tool = attempt(fixture, &["demo"], &["run"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}\n\"$@\""), "sh"])
        .arg(tool.get_program())
        .args(tool.get_args())
        .current_dir(fixture.prover());
    for (name, value) in tool.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.envs(variables.iter().copied());
    command
}

/// Cargo takes flags from one of several places. Those in force stay, wherever they come from.
#[test]
#[cfg(target_arch = "x86_64")]
fn flags_are_added_to_those_in_force() {
    if !std::is_x86_feature_detected!("avx2") {
        return;
    }
    let fixture = Fixture::new();
    stand_in(&fixture);
    let mut commands = String::new();
    for (configuration, variables) in [
        (
            "build.rustflags = \"--cfg kept\"",
            &[("CARGO_BUILD_RUSTFLAGS", "--cfg a")][..],
        ),
        (
            "target.'cfg(unix)'.rustflags = [\"--cfg\", \"kept\"]\n\
             target.'cfg(windows)'.rustflags = \"-x\"\nbuild.rustflags = \"--cfg dropped\"",
            &[],
        ),
        (
            "build.rustflags = \"--cfg dropped\"",
            &[("RUSTFLAGS", "--cfg kept")],
        ),
        (
            "",
            &[
                ("CARGO_ENCODED_RUSTFLAGS", "--cfg\x1fkept"),
                ("RUSTFLAGS", "--cfg dropped"),
            ],
        ),
    ] {
        write(&fixture.prover().join(".cargo/config.toml"), configuration);
        let printed = tried(&fixture, &mut attempt_after(&fixture, "", variables));
        assert!(printed.contains(", built for generic\n"), "{printed}");
        let command = quoted(&printed, "note: built for the least CPU; ");
        let printed = tried(&fixture, &mut attempt_after(&fixture, command, variables));
        assert!(!printed.contains(", built for generic\n"), "{printed}");
        let cfgs = fs::read_to_string(fixture.path().join("cfgs")).unwrap();
        let has = |cfg| cfgs.lines().any(|line| line == cfg);
        assert!(has("kept") && !has("dropped"), "{command}: {cfgs}");
        commands += &format!("{command}\n");
    }
    assert_snapshot!(commands);
}

/// A variable overrides flags that the program needs; the hint names both.
#[test]
fn a_build_without_the_flags_of_the_configuration() {
    let fixture = Fixture::new();
    stand_in(&fixture);
    write(
        &fixture.prover().join(".cargo/config.toml"),
        "build.rustflags = [\"--cfg\", \"kept\"]\n",
    );
    write(&fixture.path().join("needs"), "kept");
    let variables = [("RUSTFLAGS", "--cfg own")];
    let output = attempt_after(&fixture, "", &variables).output().unwrap();
    let printed = fixture.transcript(&output);
    assert!(printed.starts_with("exit 1\n"), "{printed}");
    let command = quoted(&printed, "hint: RUSTFLAGS overrides ");
    tried(&fixture, &mut attempt_after(&fixture, command, &variables));
    let cfgs = fs::read_to_string(fixture.path().join("cfgs")).unwrap();
    assert!(
        cfgs.contains("\nkept\n") && cfgs.contains("\nown\n"),
        "{cfgs}"
    );
}

/// The command's own options are the program's.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_instruction_set_is_that_of_the_command_line() {
    let fixture = Fixture::new();
    stand_in(&fixture);
    write(
        &fixture.prover().join("flags.toml"),
        "build.rustflags = \"-Ctarget-cpu=x86-64-v3\"\n",
    );
    let target = "target.x86_64-unknown-linux-gnu.rustflags=\"-Ctarget-cpu=x86-64-v4\"";
    for (line, isa) in [
        (&["run", "--config", "flags.toml"][..], "x86-64-v3"),
        (&["run", &format!("--config={target}")], "x86-64-v4"),
        (&["run", "--target", "x86_64-unknown-linux-musl"], "generic"),
    ] {
        let printed = tried(&fixture, &mut attempt(&fixture, &["demo"], line));
        let built = format!(", built for {isa}\n");
        assert!(printed.contains(&built), "{printed}");
        if isa == "generic" {
            let command = quoted(&printed, "note: built for the least CPU; ");
            assert_eq!(command, "export RUSTFLAGS=\"-C target-cpu=native\"");
        }
    }
}

/// Writes a package of the user's own.
fn own_package(folder: &Path, name: &str, version: &str) {
    let text =
        format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2024\"\n");
    write(&folder.join("Cargo.toml"), &text);
    write(&folder.join("src/lib.rs"), "");
}

/// Cargo knows the registry by several names, and takes overrides from its configuration too.
#[test]
fn an_override_of_the_users_own_stays_whatever_it_is_written_like() {
    const INDEX: &str = "https://github.com/rust-lang/crates.io-index";
    let fixture = Fixture::new();
    stand_in(&fixture);
    own_package(&fixture.prover().join("own"), "p3-goldilocks", "0.8.0");
    let configuration = fixture.prover().join(".cargo/config.toml");
    let named = format!("registries.mirror.index = \"{INDEX}\"\n");
    let own = |key: &str| format!("[patch.{key}]\np3-goldilocks = {{ path = \"own\" }}\n");
    let refused = |command: &mut Command| {
        let output = command.output().unwrap();
        let printed = fixture.transcript(&output);
        let expected = ": already patches p3-goldilocks to `{ path = \"own\" }`\nhint: remove that entry of `[patch.";
        assert_ended(&printed, 3, expected);
    };
    let both_refuse = || {
        refused(&mut attempt(&fixture, &["demo"], &["run"]));
        refused(&mut fixture.command(&["apply", "demo"]));
    };
    write(&configuration, &named);
    for key in [
        &format!("\"{INDEX}\""),
        &format!("\"registry+{INDEX}.git/\""),
        "mirror",
    ] {
        fixture.set_manifest(&format!("{MANIFEST}\n{}", own(key)));
        both_refuse();
    }
    fixture.set_manifest(MANIFEST);
    for key in ["crates-io", &format!("\"{INDEX}/\"")] {
        write(&configuration, &own(key));
        both_refuse();
    }
    fs::remove_file(configuration).unwrap();
    let line = [
        "run",
        "--config",
        "patch.crates-io.p3-goldilocks.path=\"own\"",
    ];
    let output = attempt(&fixture, &["demo"], &line).output().unwrap();
    let printed = fixture.transcript(&output);
    let expected =
        ": takes p3-goldilocks 0.8.0 from [DIR]/prover/own/Cargo.toml, not from crates.io\nhint: ";
    assert_ended(&printed, 3, expected);
    assert!(!fixture.path().join("base.units").exists());
}

/// Cargo takes one of two tables for one source. The same table under one name is added to.
#[test]
fn overrides_of_other_packages_are_added_to() {
    let fixture = Fixture::new();
    stand_in(&fixture);
    let lock: toml::Table = fixture.lock().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let paste = packages
        .iter()
        .find(|package| package["name"].as_str() == Some("paste"));
    own_package(
        &fixture.prover().join("own"),
        "paste",
        paste.unwrap()["version"].as_str().unwrap(),
    );
    let index = "[patch.\"https://github.com/rust-lang/crates.io-index.git\"]";
    let manifest = format!("{MANIFEST}\n{index}\npaste = {{ path = \"own\" }}\n");
    fixture.set_manifest(&manifest);
    fixture.cargo(&["metadata", "--format-version", "1"]);
    let output = attempt(&fixture, &["demo"], &["run"]).output().unwrap();
    let printed = fixture.transcript(&output);
    assert!(printed.starts_with("exit 3\n"), "{printed}");
    let apply = fixture.run(&["apply", "demo"]);
    assert_snapshot!(apply);
    assert_eq!(quoted(&apply, "hint: write "), "[patch.crates-io]");
    fixture.set_manifest(&manifest.replace(index, "[patch.crates-io]"));
    tried(&fixture, &mut attempt(&fixture, &["demo"], &["run"]));
    for side in ["base", "cand"] {
        assert_eq!(
            unit(&fixture, side, "paste").folder(),
            fs::canonicalize(fixture.prover().join("own")).unwrap()
        );
    }
    fixture.succeed(&["apply", "demo"]);
}

/// Where patches are applied, the packages as published stand in for them on the command line; the manifest is not touched.
#[test]
fn what_is_applied_is_measured_against_what_is_published() {
    let fixture = Fixture::new();
    stand_in(&fixture);
    let published = || {
        for (name, file) in [
            ("p3-goldilocks", "src/lib.rs"),
            ("p3-symmetric", "src/permutation.rs"),
        ] {
            let published = published(&format!("{name}-0.8.0")).join(file);
            let base = unit(&fixture, "base", name).folder().join(file);
            assert_eq!(fs::read(base).unwrap(), fs::read(published).unwrap());
        }
    };
    let stacked = || {
        let tree = unit(&fixture, "cand", "p3-goldilocks").folder();
        let text = fs::read_to_string(tree.join("src/demo.rs")).unwrap();
        text.contains("wrapping_add")
    };
    fixture.succeed(&["apply", "stacked"]);
    let printed = tried(&fixture, &mut attempt(&fixture, &[], &["run", "--locked"]));
    assert!(
        printed.contains("base 0.8.0, patches demo stacked, "),
        "{printed}"
    );
    published();
    assert!(stacked());

    // In a fresh clone the trees are not there.
    fs::remove_dir_all(fixture.prover().join(".p3-patches")).unwrap();
    let printed = tried(&fixture, &mut attempt(&fixture, &["demo"], &["run"]));
    assert!(printed.contains("base 0.8.0, patches demo, "), "{printed}");
    published();
    assert!(!stacked());
    assert!(!fixture.prover().join(".p3-patches").exists());
}

/// A prover that has Plonky3 from git: the hint's options are what `try` needs, until `apply` has recorded them.
#[test]
fn plonky3_from_git_is_tried() {
    let user = GitUser::new();
    let fixture = &user.fixture;
    stand_in(fixture);
    let output = attempt(fixture, &["demo"], &["run"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let options: Vec<_> = quoted(&stderr, "hint: ").split(' ').collect();
    let options = [&["demo"], &*options].concat();

    let one_copy_of_each = || {
        for side in ["base", "cand"] {
            for name in ["p3-goldilocks", "p3-symmetric", "p3-field", "p3-util"] {
                unit(fixture, side, name);
            }
            assert!(unit(fixture, side, "p3-util").id.starts_with("git+file://"));
        }
        assert!(unit(fixture, "cand", "p3-goldilocks").is_patched());
    };
    tried(fixture, &mut attempt(fixture, &options, &["run"]));
    one_copy_of_each();
    assert!(
        unit(fixture, "base", "p3-goldilocks")
            .id
            .starts_with("git+file://")
    );

    let run = user.apply(&["demo"]);
    assert!(run.starts_with("exit 0\n"), "{run}");
    let printed = tried(fixture, &mut attempt(fixture, &[], &["run", "--locked"]));
    assert!(printed.contains("base 0.8.0, patches demo, "), "{printed}");
    one_copy_of_each();
    assert!(!unit(fixture, "base", "p3-goldilocks").is_patched());

    let elsewhere = ["--source", "https://github.com/Plonky3/Plonky3"];
    let output = attempt(fixture, &elsewhere, &["run"]).output().unwrap();
    let printed = fixture.transcript(&output);
    assert_ended(&printed, 3, "applied to Plonky3 from elsewhere");
}
