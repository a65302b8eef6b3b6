//! The supply chain of this repository: no build script of its own, and a tool that cannot open a connection.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

use crate::fixture::{Fixture, cargo_home, git, published, repository, write};

/// The lines of a package's file in cargo's copy of the index that a cached tarball is from.
fn indexed(name: &str, tarball: &Path) -> Vec<String> {
    let registry = tarball.parent().and_then(Path::file_name).unwrap();
    let index = cargo_home().join("registry/index").join(registry);
    let bytes = fs::read(index.join(".cache").join(index_place(name))).unwrap();
    let lines = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    lines
        .filter(|line| line.starts_with('{'))
        .map(Into::into)
        .collect()
}

/// A package's file in an index.
fn index_place(name: &str) -> PathBuf {
    match name.len() {
        1 | 2 => [&name.len().to_string(), name].iter().collect(),
        3 => ["3", &name[..1], name].iter().collect(),
        _ => [&name[..2], &name[2..4], name].iter().collect(),
    }
}

/// A registry with the packages of the prover's lock file, of which p3-goldilocks is changed, and a prover whose configuration has
/// it in place of crates.io.
struct Mirror {
    fixture: Fixture,
    home: PathBuf,
    /// The checksums of p3-goldilocks, as published and changed.
    checksums: [String; 2],
}

impl Mirror {
    fn new() -> Self {
        let fixture = Fixture::new();
        let index = fixture.path().join("mirror/index");
        let tarballs = fixture.path().join("mirror/tarballs");
        fs::create_dir_all(&tarballs).unwrap();
        let lock: toml::Table = toml::from_str(&fixture.lock()).unwrap();
        let mut checksums = None;
        for package in lock["package"].as_array().unwrap() {
            let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
            let (Some(name), Some(version)) = (field("name"), field("version")) else {
                panic!()
            };
            let Some(checksum) = field("checksum") else {
                continue;
            };
            let file = format!("{name}-{version}.crate");
            let mut caches = fs::read_dir(cargo_home().join("registry/cache")).unwrap();
            let cached = caches.find_map(|entry| {
                Some(entry.unwrap().path().join(&file)).filter(|path| path.exists())
            });
            // Packages for other platforms are not cached.
            let Some(cached) = cached else { continue };
            let lines = indexed(name, &cached).into_iter();
            let mut line = lines
                .into_iter()
                .find(|line| line.contains(&format!("\"{checksum}\"")))
                .unwrap();
            if name == "p3-goldilocks" {
                let changed = change(&cached, &tarballs.join(&file));
                line = line.replace(checksum, &changed);
                checksums = Some([checksum.to_owned(), changed]);
            } else {
                symlink(cached, tarballs.join(&file)).unwrap();
            }
            let place = index.join(index_place(name));
            let others = fs::read_to_string(&place).unwrap_or_default();
            write(&place, &format!("{others}{line}\n"));
        }
        let dl = format!("file://{}/{{crate}}-{{version}}.crate", tarballs.display());
        write(
            &index.join("config.json"),
            &serde_json::json!({ "dl": dl }).to_string(),
        );
        git(&index, &["init", "--quiet"]);
        git(&index, &["add", "--all"]);
        git(&index, &["commit", "--quiet", "--message", "packages"]);
        // The mirror has one release of Plonky3.
        write(&fixture.project().join("Cargo.lock"), "version = 4\n");
        let home = fixture.path().join("cargo-home");
        fs::create_dir(&home).unwrap();
        let mirror = Self {
            fixture,
            home,
            checksums: checksums.unwrap(),
        };
        mirror.configure();
        mirror
    }

    /// Makes cargo take packages from the mirror in the prover's folder.
    fn configure(&self) {
        self.configure_in(&self.fixture.prover());
    }

    fn configure_in(&self, folder: &Path) {
        let index = self.fixture.path().join("mirror/index");
        let config = format!(
            "[source.crates-io]\nreplace-with = \"mirror\"\n\n[source.mirror]\nregistry = \"file://{}\"\n",
            index.display()
        );
        write(&folder.join(".cargo/config.toml"), &config);
    }

    fn config(&self) -> PathBuf {
        self.fixture.prover().join(".cargo/config.toml")
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = self.fixture.fetching(args);
        let output = command.env("CARGO_HOME", &self.home).output().unwrap();
        let [published, changed] = &self.checksums;
        let transcript = self.fixture.transcript(&output);
        let transcript = transcript
            .replace(published, "[PUBLISHED]")
            .replace(changed, "[CHANGED]");
        // A hash of the registry's address.
        let cache = transcript
            .split_once("registry/cache/-")
            .map(|(_, rest)| rest[..16].to_owned());
        cache.map_or(transcript.clone(), |hash| {
            transcript.replace(&hash, "[REGISTRY]")
        })
    }
}

/// Writes a tarball of p3-goldilocks with another `lib.rs`, and returns its checksum.
fn change(tarball: &Path, changed: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let run = |command: &mut Command| {
        let output = command.current_dir(dir.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run(Command::new("tar").arg("-xzf").arg(tarball));
    let lib = dir.path().join("p3-goldilocks-0.8.0/src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    write(&lib, &format!("{text}\npub const CHANGED: u8 = 1;\n"));
    let files = run(Command::new("tar").arg("-tzf").arg(tarball));
    write(&dir.path().join("files"), &files);
    run(Command::new("tar")
        .args(["-T", "files", "-czf"])
        .arg(changed));
    paired::files::contents::sha256(&fs::read(changed).unwrap())
}

/// The mirror's index and its tarballs agree, and so does a lock file that was written with it.
#[test]
fn a_mirror_that_serves_a_changed_package_is_refused() {
    let mirror = Mirror::new();
    let fixture = &mirror.fixture;
    let (manifest, lock) = (fixture.manifest(), fixture.lock());
    let lock_file = fixture.prover().join("Cargo.lock");
    let mut transcripts = String::new();
    let mut refused = |what: &str, args: &[&str]| {
        let run = mirror.run(args);
        assert!(run.starts_with("exit 3\n"), "{what}: {run}");
        assert_eq!(fixture.manifest(), manifest, "{what}");
        transcripts += &format!("# {what}\n{run}");
    };
    refused("a lock file with what was published", &["apply", "demo"]);
    assert_eq!(fixture.lock(), lock);
    fs::remove_file(&lock_file).unwrap();
    refused("no lock file", &["apply", "demo"]);
    assert!(!lock_file.exists());
    mirror.configure_in(&fixture.project());
    refused(
        "no lock file, nothing to patch",
        &["overlay", "--out", "overlay"],
    );
    fs::remove_dir_all(fixture.project().join(".cargo")).unwrap();

    // The published packages are cached, so there is no tarball to refuse.
    fs::remove_dir_all(&mirror.home).unwrap();
    fixture.home_without("none");
    refused("no lock file, but a cache", &["apply", "demo"]);
    write(&lock_file, &lock);
    fs::remove_file(mirror.config()).unwrap();
    fixture.succeed(&["apply", "demo"]);
    mirror.configure();
    let verified = mirror.run(&["status", "--verify"]);
    assert!(verified.starts_with("exit 1\n"), "{verified}");
    transcripts += &format!("# verified\n{verified}");
    let json = mirror.run(&["status", "--verify", "--json"]);
    assert!(
        json.contains("\"replacement\": \"crates.io is replaced by "),
        "{json}"
    );
    assert_snapshot!(transcripts);
}

/// A mirror can invent a version of a known package. A release that is newer than the tool has no checksum either, so it is named.
#[test]
fn a_version_without_a_reviewed_checksum_is_named() {
    let fixture = Fixture::new();
    write(&fixture.project().join("Cargo.lock"), "version = 4\n");
    let checksums = fs::read_to_string(fixture.checksums()).unwrap();
    let is_kept = |line: &&str| !line.ends_with("  p3-util-0.8.0.crate\n");
    let lines = checksums.split_inclusive('\n').filter(is_kept);
    write(&fixture.checksums(), &lines.collect::<String>());
    let note = "note: no checksum was reviewed with the patches of p3-util 0.8.0, in Cargo.lock\n";
    let applied = fixture.succeed(&["apply", "demo"]);
    assert!(applied.contains(note), "{applied}");
    let verified = fixture.run(&["status", "--verify"]);
    let difference = "\n  differs: p3-util 0.8.0 has no reviewed checksum\n";
    assert!(
        verified.starts_with("exit 1\n") && verified.contains(difference),
        "{verified}"
    );
}

/// A package that is patched in some release, or that the tool is built with, has a checksum.
#[test]
fn check_finds_a_package_without_a_checksum() {
    let fixture = Fixture::new().with_crates().with_older_base();
    fixture.succeed(&["check"]);
    let checksums = fs::read_to_string(fixture.checksums()).unwrap();
    for package in [
        "p3-goldilocks-0.8.0",
        "p3-util-0.4.0",
        "p3-uni-stark-0.8.0",
        "p3-util-0.8.0",
    ] {
        // The last one is known from the manifest of p3-goldilocks alone.
        if package == "p3-util-0.8.0" {
            write(&fixture.project().join("Cargo.lock"), "version = 4\n");
        }
        let is_kept = |line: &&str| !line.ends_with(&format!("  {package}.crate\n"));
        let lines = checksums.split_inclusive('\n').filter(is_kept);
        write(&fixture.checksums(), &lines.collect::<String>());
        let run = fixture.run(&["check"]);
        let (name, release) = package.rsplit_once('-').unwrap();
        let expected = format!(
            "FAIL  patches/SHA256SUMS has the packages of every release: no checksum of {name} {release}\n      \
             hint: `cargo p3 refresh --checksums` adds what is missing\n"
        );
        assert!(
            run.starts_with("exit 1\n") && run.contains(&expected),
            "{run}"
        );
    }
    let foreign = format!("{checksums}{}  serde-1.0.0.crate\n", "0".repeat(64));
    write(&fixture.checksums(), &foreign);
    let run = fixture.run(&["check"]);
    assert!(
        run.starts_with("exit 1\n") && run.contains(": serde is no package of Plonky3's\n"),
        "{run}"
    );
}

/// A crate of a kernel has no standard library, so that a prover without one can depend on it, WebAssembly's for one.
#[test]
fn no_kernels_crate_brings_the_standard_library() {
    let kernels = fs::read_dir(repository().join("crates"))
        .unwrap()
        .filter_map(|entry| {
            let folder = entry.unwrap().path();
            let root = fs::read_to_string(folder.join("src/lib.rs")).ok()?;
            let name = folder.file_name()?.to_str()?.to_owned();
            root.contains("#![no_std]").then_some(name)
        })
        .collect::<Vec<_>>();
    assert!(!kernels.is_empty());
    for kernel in kernels {
        let mut cargo = Command::new("cargo");
        cargo
            .args(["tree", "--offline", "--edges", "normal,no-proc-macro"])
            .args([
                "--prefix",
                "none",
                "--format",
                "{p} {f}",
                "--package",
                &kernel,
            ])
            .current_dir(repository());
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let tree = String::from_utf8(output.stdout).unwrap();
        for line in tree.lines().filter(|line| !line.ends_with("(*)")) {
            let [package, _, features] = *line.splitn(3, ' ').collect::<Vec<_>>() else {
                continue;
            };
            let brings_std = features.split(',').any(|feature| feature == "std");
            assert!(!brings_std && package != "getrandom", "{kernel}: {line}");
        }
    }
}

/// The registry's index says what is missing, and nothing that is there changes.
#[test]
fn checksums_are_added_and_never_changed() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = Fixture::new();
    let lock: toml::Table = toml::from_str(&fixture.lock()).unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    let used: Vec<_> = packages
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    let all = fs::read_to_string(fixture.checksums()).unwrap();
    let is_used = |line: &&str| {
        let name = line
            .split_once("  ")
            .and_then(|(_, file)| file.strip_suffix("-0.8.0.crate\n"));
        name.is_some_and(|name| used.contains(&name))
    };
    let lines: Vec<_> = all.split_inclusive('\n').filter(is_used).collect();
    assert!(lines.len() > 5);
    // Cargo's copy of the index has these.
    let cargo = fixture.path().join("cargo");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = info ]; then echo 'version: 0.8.0'; else exec {} \"$@\"; fi\n",
        env!("CARGO")
    );
    write(&cargo, &script);
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let refresh = || {
        let mut command = fixture.command(&["refresh", "--checksums"]);
        fixture.transcript(&command.env("CARGO", &cargo).output().unwrap())
    };
    // Others depend on it.
    let without = |name: &str| {
        let lines = lines.iter().filter(|line| !line.contains(name));
        lines.copied().collect::<String>()
    };
    write(&fixture.checksums(), &without("  p3-field-0.8.0"));
    let added = refresh();
    assert!(
        added.starts_with("exit 0\n") && added.contains("\np3-field 0.8.0\n"),
        "{added}"
    );
    let written = fs::read_to_string(fixture.checksums()).unwrap();
    for line in &lines {
        assert!(written.contains(line), "{line}");
    }
    assert!(all.lines().filter(|line| written.contains(line)).count() == written.lines().count());

    let other = "0".repeat(64);
    let (checksum, _) = lines[0].split_once("  ").unwrap();
    write(&fixture.checksums(), &written.replace(checksum, &other));
    let before = fs::read_to_string(fixture.checksums()).unwrap();
    let refused = refresh();
    let expected =
        format!("patches/SHA256SUMS has {other}, and the registry's index {checksum}\nhint: ");
    assert!(
        refused.starts_with("exit 3\n") && refused.contains(&expected),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(fixture.checksums()).unwrap(), before);
}

/// A name is never an option of cargo's.
#[test]
fn a_name_that_is_no_package_is_refused() {
    let fixture = Fixture::new();
    let run = fixture.run(&["refresh", "--checksums=--help"]);
    let hint = "\nhint: name a package as crates.io has it, such as p3-field\n";
    assert!(run.starts_with("exit 3\n") && run.contains(hint), "{run}");
}

/// Offline, an empty copy of the index has none of the names that are in the list.
#[test]
fn an_index_that_is_not_there_is_no_wrong_name() {
    let fixture = Fixture::new();
    let home = fixture.path().join("empty home");
    fs::create_dir_all(&home).unwrap();
    let mut command = fixture.fetching(&["refresh", "--checksums"]);
    let command = (command.env("CARGO_HOME", home)).env("CARGO_NET_OFFLINE", "true");
    let run = fixture.transcript(&command.output().unwrap());
    assert!(
        run.starts_with("exit 4\n") && run.contains("\nhint: connect to the registry\n"),
        "{run}"
    );
}

/// A configuration above a temporary folder of the system, where another user may put one, is not obeyed.
#[test]
fn cargo_obeys_no_configuration_beside_temporary_folders() {
    let fixture = Fixture::new().with_older_base();
    // Cargo is asked for the others.
    fs::remove_file(fixture.checksums()).unwrap();
    let temporary = fixture.path().join("shared/tmp");
    fs::create_dir_all(&temporary).unwrap();
    write(&temporary.join("../.cargo/config.toml"), "no configuration");
    for args in [
        &["edit", "demo", "--base", "0.4.0"][..],
        &["overlay", "--base", "0.4.0", "--out", "overlay"],
    ] {
        let mut command = fixture.command(args);
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        let transcript = fixture.transcript(&output);
        assert!(transcript.starts_with("exit 0\n"), "{args:?}: {transcript}");
    }
}

/// An overlay is for every prover: the configuration of the one that the tool runs in is not obeyed.
#[test]
fn an_overlay_obeys_no_configuration_of_the_current_folder() {
    let fixture = Fixture::new();
    let home = fixture.home_without("p3-goldilocks-");
    write(
        &fixture.prover().join(".cargo/config.toml"),
        "no configuration",
    );
    let overlay = |edit: &dyn Fn(&mut Command)| {
        let mut command = fixture.command(&["overlay", "--out", "overlay"]);
        edit(command.env("CARGO_HOME", &home));
        fixture.transcript(&command.output().unwrap())
    };
    let unfetched = "p3-goldilocks 0.8.0 is not in cargo's cache and cannot be fetched";
    let run = overlay(&|_| {});
    assert!(
        run.starts_with("exit 4\n") && run.contains(unfetched),
        "{run}"
    );
}

/// A package of Plonky3's that a `[patch]` of cargo's configuration replaces, whether or not it is patched.
#[test]
fn a_package_that_cargos_configuration_replaces_is_named() {
    let fixture = Fixture::new();
    fixture.succeed(&["apply", "demo"]);
    fixture.succeed(&["status", "--verify"]);
    let applied = fixture.lock();
    for (name, is_patched) in [("p3-goldilocks", true), ("p3-util", false)] {
        let mine = fixture.path().join("mine").join(name);
        copy(&published(&format!("{name}-0.8.0")), &mine);
        let config = fixture.prover().join(".cargo/config.toml");
        let place = mine.display();
        write(
            &config,
            &format!("[patch.crates-io.{name}]\npath = \"{place}\"\n"),
        );
        fixture.cargo(&["metadata", "--offline", "--format-version", "1"]);
        let run = fixture.run(&["status", "--verify"]);
        assert!(run.starts_with("exit 1\n"), "{run}");
        let expected = match is_patched {
            true => format!(
                "\n  differs: cargo takes {name} 0.8.0 from [DIR]/mine/{name}/Cargo.toml in place of crates.io\n"
            ),
            false => format!(
                "\n  differs: {name} 0.8.0 comes from [DIR]/mine/{name}/Cargo.toml, in place of crates.io\n"
            ),
        };
        assert!(run.contains(&expected), "{run}");
        let hint = "cargo's configuration here is [DIR]/prover/.cargo/config.toml";
        assert!(
            is_patched || run.split_once("\nhint: ").unwrap().1.contains(hint),
            "{run}"
        );
        fs::remove_file(&config).unwrap();
        write(&fixture.prover().join("Cargo.lock"), &applied);
    }
    // A package that cargo is asked for, since no checksum was reviewed.
    fixture.succeed(&["remove"]);
    let checksums = fs::read_to_string(fixture.checksums()).unwrap();
    let is_kept = |line: &&str| !line.ends_with("  p3-goldilocks-0.8.0.crate\n");
    let lines = checksums.split_inclusive('\n').filter(is_kept);
    write(&fixture.checksums(), &lines.collect::<String>());
    let mine = fixture.path().join("mine/p3-goldilocks");
    let config = fixture.project().join(".cargo/config.toml");
    let text = format!(
        "[patch.crates-io.p3-goldilocks]\npath = \"{}\"\n",
        mine.display()
    );
    write(&config, &text);
    let run = fixture.run(&["overlay", "--out", "overlay"]);
    let hint = "\nhint: take its entry out of `[patch]`; cargo's configuration here is [DIR]/project/.cargo/config.toml";
    assert!(run.starts_with("exit 3\n") && run.contains(hint), "{run}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let mut copied = Command::new("cp");
    assert!(
        copied
            .arg("-R")
            .args([from, to])
            .status()
            .unwrap()
            .success()
    );
}

/// An entry of a registry without a checksum says nothing of what was taken.
#[test]
fn a_lock_file_without_a_checksum_is_no_proof() {
    let fixture = Fixture::new();
    let whole = fixture.lock();
    let at = whole.find("name = \"p3-util\"").unwrap();
    let start = at + whole[at..].find("checksum = ").unwrap();
    let end = start + whole[start..].find('\n').unwrap() + 1;
    let bare = format!("{}{}", &whole[..start], &whole[end..]);
    let lock_file = fixture.prover().join("Cargo.lock");
    write(&lock_file, &bare);
    let applied = fixture.succeed(&["apply", "demo"]);
    let note = "note: Cargo.lock had no checksum of p3-util 0.8.0; cargo adds what the registry's index has now\n";
    assert!(applied.contains(note), "{applied}");
    let patched = fixture.lock();
    fixture.succeed(&["status", "--verify"]);
    let line = &whole[start..end];
    write(&lock_file, &patched.replace(line, ""));
    let run = fixture.run(&["status", "--verify"]);
    let difference = "\n  differs: p3-util 0.8.0 has no checksum\n";
    assert!(
        run.starts_with("exit 1\n")
            && run.contains(difference)
            && run.contains("Cargo.lock has no checksum of p3-util 0.8.0\nhint: "),
        "{run}"
    );
    fixture.follow_hint(&run.replace("`status --verify`", "it"));
    assert_eq!(fixture.lock(), patched);
    fixture.succeed(&["status", "--verify"]);
}

/// Cargo's error about its configuration is one about an input, and the hint names the file: `cargo fetch` would fail too.
#[test]
fn a_wrong_configuration_is_named() {
    let fixture = Fixture::new();
    let config = fixture.prover().join(".cargo/config.toml");
    let run = |args: &[&str]| {
        let mut command = fixture.command(args);
        fixture.transcript(&command.output().unwrap())
    };
    let twice = "[source.one]\nregistry = \"file:///x\"\n[source.two]\nregistry = \"file:///x\"\n";
    let wrong = [
        twice,
        "[source.one]\n[source.one]\n",
        "no configuration",
        "[source.crates-io]\nreplace-with = \"unknown\"\n",
        "[source.crates-io]\nreplace-with = 3\n",
        "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\ndirectory = \"not/there\"\n",
        "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\nlocal-registry = \"not/there\"\n",
        "[source.one]\nregistry = \"no address\"\n",
        "[source.one]\n",
        "[source.one]\nregistry = \"file:///x\"\ngit = \"file:///x\"\n",
        "source = 3\n",
        "[http]\nproxy = 3\n",
        "[patch.crates-io]\np3-util = 3\n",
    ];
    let named = "[DIR]/prover/.cargo/config.toml";
    let refused = |text: &str, args: &[&str]| {
        let run = run(args);
        assert!(run.starts_with("exit 3\n"), "{text:?}, {args:?}: {run}");
        let hint = run.split_once("\nhint: ").expect(&run).1;
        assert!(
            hint.contains(named) && !hint.contains("cargo fetch") && !hint.contains("cargo p3"),
            "{text:?}, {args:?}: {run}"
        );
    };
    let (manifest, lock) = (fixture.manifest(), fixture.lock());
    for text in wrong {
        write(&config, text);
        refused(text, &["apply", "demo"]);
        assert_eq!(
            (fixture.manifest(), fixture.lock()),
            (manifest.clone(), lock.clone())
        );
    }
    write(&config, twice);
    let noted = run(&["status"]);
    assert!(
        noted.contains(named) && !noted.contains("cargo fetch"),
        "{noted}"
    );
    fs::remove_file(&config).unwrap();
    fixture.succeed(&["apply", "demo"]);
    for text in wrong {
        write(&config, text);
        for args in [&["status"][..], &["status", "--verify"]] {
            refused(text, args);
        }
    }
}

#[test]
fn no_package_has_a_build_script() {
    for manifest in ["Cargo.toml", "examples/prover/Cargo.toml"] {
        let metadata = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--no-deps",
                "--offline",
                "--format-version",
                "1",
            ])
            .arg("--manifest-path")
            .arg(repository().join(manifest))
            .output()
            .unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        assert!(!packages.is_empty());
        for package in packages {
            for target in package["targets"].as_array().unwrap() {
                assert_ne!(target["kind"][0], "custom-build", "{}", package["name"]);
            }
        }
    }
}

/// The executable imports what its code calls. `socketpair` is the standard library's way to hear of a process that it starts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_tool_cannot_open_a_connection() {
    use object::Object as _;
    use object::read::NameOrOrdinal;

    let bytes = std::fs::read(env!("CARGO_BIN_EXE_xtask")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let imports = file.imports().unwrap().map(Result::unwrap);
    let names = imports.filter_map(|import| match import.name() {
        NameOrOrdinal::Name(name) => Some(str::from_utf8(name).unwrap()),
        NameOrOrdinal::Ordinal(_) => None,
    });
    let names = names.collect::<Vec<_>>();
    assert!(names.contains(&"waitpid"), "these are not the imports");
    for call in [
        "socket",
        "connect",
        "bind",
        "listen",
        "accept",
        "accept4",
        "sendto",
        "getaddrinfo",
    ] {
        assert!(!names.contains(&call), "the tool calls {call}");
    }
}

/// A filter of the kernel ends a process that asks for a socket, also one that the tool starts, in libc or not.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[test]
fn no_run_asks_for_a_socket() {
    use std::collections::BTreeMap;
    use std::io;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    // <asm/unistd.h> has it so; without a socket there is nothing to connect.
    let socket = if cfg!(target_arch = "x86_64") {
        41
    } else {
        198
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(socket, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    let filtered = |mut command: Command| {
        let filter = filter.clone();
        // SAFETY: between fork and exec nothing is allocated, and no lock is taken: it is two system calls.
        unsafe {
            command
                .pre_exec(move || apply_filter(&filter).map_err(|_| io::ErrorKind::Other.into()));
        }
        command.output().unwrap()
    };
    // The filter works.
    let mut asks = Command::new("bash");
    asks.args(["-c", "exec 3<>/dev/tcp/127.0.0.1/1"]);
    assert_eq!(filtered(asks).status.signal(), Some(31), "no SIGSYS");

    let fixture = Fixture::new().with_crates();
    for args in [
        &["list"][..],
        &["apply", "demo"],
        &["status", "--verify"],
        &["apply", "stacked"],
        &["status"],
        &["overlay", "--out", "overlay"],
        &["remove"],
        &["edit", "demo"],
        &["refresh", "demo"],
        &["check"],
        &["export", "demo", "--author", "A <a@b>", "--out", "export"],
    ] {
        let output = filtered(fixture.command(args));
        let transcript = fixture.transcript(&output);
        assert!(transcript.starts_with("exit 0\n"), "{args:?}: {transcript}");
    }
}

/// Calls of the system without libc are rustix's, which is built without those for a network.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn system_calls_without_libc_are_rustixs() {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

    let bytes = std::fs::read(env!("CARGO_BIN_EXE_xtask")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file.section_by_name(".text").unwrap();
    let code = text.data().unwrap();
    let mut calls = 0;
    for symbol in file.symbols() {
        if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
            continue;
        }
        let Some(at) = symbol.address().checked_sub(text.address()) else {
            continue;
        };
        let function = code.get(at as usize..(at + symbol.size()) as usize);
        let mut decoder = Decoder::new(64, function.unwrap_or_default(), DecoderOptions::NONE);
        while decoder.can_decode() {
            if [Mnemonic::Syscall, Mnemonic::Sysenter].contains(&decoder.decode().mnemonic()) {
                let name = symbol.name().unwrap();
                assert!(name.contains("6rustix"), "{name} calls the system");
                calls += 1;
            }
        }
    }
    assert!(calls > 0, "these are not the functions");

    let manifest = repository().join("crates/p3-patches/Cargo.toml");
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal,features",
            "--invert",
            "rustix",
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap();
    let features = String::from_utf8(tree.stdout).unwrap();
    assert!(features.contains("rustix feature \"fs\""), "{features}");
    assert!(!features.contains("rustix feature \"net\""), "{features}");
}
