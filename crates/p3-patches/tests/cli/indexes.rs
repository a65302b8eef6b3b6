//! A registry's index says what a package depends on and which features it has, and no checksum covers that.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::fixture::{Fixture, MANIFEST, assert_ended, cargo_home, write};
use crate::killer::script;

/// The package whose entry is another one. No patch touches it.
const FILE: &str = "p3/-m/p3-mds";

/// Finds the folder of crates.io in a part of cargo's home, such as `registry/cache`.
fn of_crates_io(home: &Path, part: &str) -> PathBuf {
    let registries = fs::read_dir(home.join(part)).unwrap();
    let mut registries = registries.map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| path.to_string_lossy().contains("/index.crates.io-");
    registries.find(is_it).unwrap()
}

/// Edits the line of JSON of a release in a file of an index.
fn edited(bytes: &[u8], version: &str, edit: &dyn Fn(&mut Value)) -> Vec<u8> {
    let is_it = |entry: &Value| entry["vers"] == version;
    let lines = bytes.split_inclusive(|byte| [0, b'\n'].contains(byte));
    let mut seen = 0;
    let edited = lines.flat_map(|line| {
        let (last, json) = line.split_last().unwrap();
        match serde_json::from_slice(json) {
            Ok(mut entry) if is_it(&entry) => {
                seen += 1;
                edit(&mut entry);
                [entry.to_string().as_bytes(), &[*last]].concat()
            }
            _ => line.to_vec(),
        }
    });
    let edited = edited.collect();
    assert_eq!(seen, 1);
    edited
}

/// Adds a dependency that the lock file has already.
fn with_paste(entry: &mut Value) {
    let paste = json!({
        "name": "paste", "req": "*", "features": [], "optional": false,
        "default_features": true, "target": null, "kind": "normal",
    });
    entry["deps"].as_array_mut().unwrap().push(paste);
}

/// An edit of an entry as a mirror may make it, how a command ends then, and what it says.
type Case = (&'static dyn Fn(&mut Value), u8, &'static str);

const CASES: [Case; 5] = [
    (
        &with_paste,
        3,
        "p3-mds 0.8.0 would be built with paste, which its manifest does not name\n",
    ),
    (
        &|entry| {
            let deps = entry["deps"].as_array_mut().unwrap();
            deps.retain(|dependency| dependency["name"] != "p3-util");
        },
        3,
        "p3-mds 0.8.0 would be built without p3-util, as its manifest names it\n",
    ),
    (
        &|entry| {
            let deps = entry["deps"].as_array_mut().unwrap();
            let util = deps
                .iter_mut()
                .find(|dependency| dependency["name"] == "p3-util");
            util.unwrap()["target"] = "cfg(unix)".into();
        },
        3,
        "p3-mds 0.8.0 would be built with p3-util in another way than its manifest names it\n",
    ),
    (
        &|entry| entry["features"]["new"] = json!([]),
        3,
        "p3-mds 0.8.0 would be built with the feature \"new\", which its manifest does not name\n",
    ),
    (&|_| {}, 0, ""),
];

/// Runs commands that ask cargo, for each case of the index.
fn run_cases(fixture: &Fixture, home: &Path, file: &Path, commands: &[&[&str]]) {
    let honest = fs::read(file).unwrap();
    for (edit, code, said) in CASES {
        fs::write(file, edited(&honest, "0.8.0", edit)).unwrap();
        // The lock file is as the index is.
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["metadata", "--offline", "--format-version=1"]);
        cargo.env("CARGO_HOME", home).current_dir(fixture.prover());
        assert!(cargo.output().unwrap().status.success());
        for args in commands {
            let mut command = fixture.command(args);
            let output = command.env("CARGO_HOME", home).output().unwrap();
            assert_ended(&fixture.transcript(&output), code, said);
        }
    }
}

/// Cargo's copy of the index has what a mirror in place of the registry has served.
#[test]
fn an_index_that_differs_from_a_manifest_is_refused() {
    let fixture = Fixture::new();
    let home = fixture.home_without("no such package");
    let copy = of_crates_io(&home, "registry/index").join(".cache");
    let file = copy.join(FILE);
    let commands = [
        &["status"][..],
        &["status", "--verify"],
        &["apply", "demo"],
        &["status"],
    ];
    run_cases(&fixture, &home, &file, &commands);
}

/// A lock file keeps a release that is yanked after it was written, and so do its patches.
#[test]
fn a_yanked_release_is_verified_as_any_other() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    let home = fixture.home_without("no such package");
    let copy = of_crates_io(&home, "registry/index").join(".cache/p3/-g/p3-goldilocks");
    let yanked = edited(&fs::read(&copy).unwrap(), "0.8.0", &|entry| {
        entry["yanked"] = true.into();
    });
    fs::write(&copy, yanked).unwrap();
    let mut command = fixture.command(&["status", "--verify"]);
    let output = command.env("CARGO_HOME", &home).output().unwrap();
    assert_ended(&fixture.transcript(&output), 0, "");
}

/// A cargo to come may write its copy in another form, which says nothing of a package.
#[test]
fn an_index_that_cannot_be_read_is_not_passed_over() {
    let fixture = Fixture::new();
    let home = fixture.home_without("no such package");
    let file = of_crates_io(&home, "registry/index")
        .join(".cache")
        .join(FILE);
    let cargo = fixture.path().join("cargo");
    let text = format!(
        "{} \"$@\" || exit\n[ \"$1\" != metadata ] || echo 1 > '{}'\n",
        env!("CARGO"),
        file.display()
    );
    script(&cargo, &text);
    let mut command = fixture.command(&["status"]);
    let output = command
        .env("CARGO", &cargo)
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    let said = "p3-mds 0.8.0: cannot compare its manifest with the registry's index: cargo's copy has no entry that can be read\nhint: `cargo fetch` in that folder writes cargo's copy of the index, where the cargo home can be written\n";
    assert_ended(&fixture.transcript(&output), 4, said);
}

/// Another cargo writes the copy, and holds cargo's lock meanwhile.
#[cfg(target_os = "linux")] // `flock` and `setsid`
#[test]
fn a_copy_that_is_being_written_is_waited_for() {
    let fixture = Fixture::new();
    let home = fixture.home_without("no such package");
    let file = of_crates_io(&home, "registry/index")
        .join(".cache")
        .join(FILE);
    let writes = format!(
        "cp {file} whole; echo 1 >{file}; touch writes; sleep 1; cp whole {file}",
        file = file.display()
    );
    let cargo = fixture.path().join("cargo");
    let text = format!(
        "{} \"$@\" || exit\n[ \"$1\" = metadata ] || exit 0\ncd {}\nrm -f writes\nsetsid flock {}/.package-cache sh -c '{writes}' >/dev/null 2>&1 &\nwhile [ ! -e writes ]; do sleep 0.05; done\n",
        env!("CARGO"),
        fixture.path().display(),
        home.display(),
    );
    script(&cargo, &text);
    let mut command = fixture.command(&["status"]);
    command.env("CARGO", &cargo).env("CARGO_HOME", &home);
    let run = fixture.transcript(&command.output().unwrap());
    assert_ended(&run, 0, "");
    assert!(fixture.path().join("writes").exists());
}

/// The cache has this machine's packages, and those of a target that is built for, and lacks what Windows needs.
#[test]
fn a_target_of_the_configuration_is_looked_at() {
    const TARGET: &str = "wasm32-unknown-unknown";
    let fixture = Fixture::new();
    let dependencies = "\n[target.'cfg(windows)'.dependencies]\nwindows-sys = \"0.61\"\n\n[target.'cfg(target_family = \"wasm\")'.dependencies]\nwasm-bindgen-shared = \"=0.2.130\"\n";
    fixture.set_manifest(&format!("{MANIFEST}{dependencies}"));
    fixture.relock();
    let home = fixture.home_without("windows-sys-");
    let index = of_crates_io(&home, "registry/index").join(".cache");
    let file = index.join("wa/sm/wasm-bindgen-shared");
    let changed = edited(&fs::read(&file).unwrap(), "0.2.130", &with_paste);
    fs::write(&file, changed).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "metadata",
        "--offline",
        "--format-version=1",
        "--filter-platform",
        TARGET,
    ]);
    cargo.env("CARGO_HOME", &home).current_dir(fixture.prover());
    assert!(cargo.output().unwrap().status.success());
    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        fixture.transcript(&command.env("CARGO_HOME", &home).output().unwrap())
    };
    let note = "\nnote: cargo's cache lacks packages that other platforms need, and these were not looked at: ";
    for args in [&["status"][..], &["status", "--verify"]] {
        assert_ended(&run(args), 0, note);
    }
    let config = format!("[build]\ntarget = [\"{TARGET}\"]\n");
    write(&fixture.prover().join(".cargo/config.toml"), &config);
    let said =
        "wasm-bindgen-shared 0.2.130 would be built with paste, which its manifest does not name\n";
    for args in [&["status"][..], &["status", "--verify"], &["apply", "demo"]] {
        assert_ended(&run(args), 3, said);
    }
}

/// A local registry has an index of its own, of which cargo keeps no copy, and tarballs, which `apply` cannot take from there.
#[test]
fn a_local_registry_is_an_index() {
    let fixture = Fixture::new();
    let mirror = fixture.path().join("mirror");
    let index = of_crates_io(&cargo_home(), "registry/index").join(".cache");
    let cache = of_crates_io(&cargo_home(), "registry/cache");
    fs::create_dir_all(&mirror).unwrap();
    for package in fixture.lock().split("[[package]]") {
        let field = |key: &str| {
            let (_, value) = package.split_once(&format!("\n{key} = \""))?;
            Some(value.split_once('"')?.0.to_owned())
        };
        let (Some(name), Some(version), Some(_)) =
            (field("name"), field("version"), field("checksum"))
        else {
            continue;
        };
        let tarball = format!("{name}-{version}.crate");
        symlink(cache.join(&tarball), mirror.join(&tarball)).unwrap();
        let file = match name.len() {
            length @ 1..=2 => format!("{length}/{name}"),
            3 => format!("3/{}/{name}", &name[..1]),
            _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
        };
        let copy = fs::read(index.join(&file)).unwrap();
        let lines = copy.split(|byte| *byte == 0);
        let lines: Vec<_> = lines.filter(|line| line.starts_with(b"{")).collect();
        write(
            &mirror.join("index").join(&file),
            &format!("{}\n", String::from_utf8(lines.join(&b'\n')).unwrap()),
        );
    }
    // The path starts where the folder `.cargo` is.
    let config = "[source.crates-io]\nreplace-with = \"mine\"\n\n[source.mine]\nlocal-registry = \"mirror\"\n";
    write(&fixture.path().join(".cargo/config.toml"), config);
    let home = fixture.path().join("home");
    fs::create_dir(&home).unwrap();
    run_cases(
        &fixture,
        &home,
        &mirror.join("index").join(FILE),
        &[&["status"]],
    );
}
