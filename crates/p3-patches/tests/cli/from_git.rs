//! `apply --source`: a prover that has Plonky3 from git. The repository is upstream's layout, with the registry's sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use toml::{Table, Value};

use crate::fixture::{
    Fixture, MANIFEST, assert_ended, cargo_home, demo_with_keccak, git, redact_hashes, write,
};
use crate::vendored::vendor;

/// The prover, and the repository that it has p3-goldilocks from.
pub struct GitUser {
    pub fixture: Fixture,
    repository: PathBuf,
    /// The commit with the registry's sources.
    release: String,
}

impl GitUser {
    pub fn new() -> Self {
        let fixture = Fixture::new();
        let repository = fixture.path().join("upstream");
        lay_out(&repository);
        git(&repository, &["init", "--quiet"]);
        let mut user = Self {
            fixture,
            repository,
            release: String::new(),
        };
        user.release = user.commit();
        user.pin("rev", &user.release);
        user
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.repository.display())
    }

    /// Commits what the repository's folder holds.
    fn commit(&self) -> String {
        git(&self.repository, &["add", "--all", "--force"]);
        git(
            &self.repository,
            &["commit", "--quiet", "--message", "sources"],
        );
        git(&self.repository, &["rev-parse", "HEAD"])
            .trim()
            .to_owned()
    }

    fn pin(&self, key: &str, value: &str) {
        let url = self.url();
        let dependency = format!("{{ git = \"{url}\", {key} = \"{value}\" }}");
        self.fixture
            .set_manifest(&MANIFEST.replace("\"0.8\"", &dependency));
        self.fixture.relock();
    }

    /// Runs `apply --source` on the repository.
    pub fn apply(&self, args: &[&str]) -> String {
        let url = self.url();
        self.run(&[&["apply", "--source", &url], args].concat())
    }

    fn run(&self, args: &[&str]) -> String {
        self.redacted(&self.fixture.run(args))
    }

    fn redacted(&self, text: &str) -> String {
        let dir = self.fixture.path().to_str().unwrap();
        redact_hashes(
            &text
                .replace(dir, "[DIR]")
                .replace(&self.release, "[COMMIT]"),
        )
    }

    /// Runs `apply --source`, which has to fail and to leave the prover as it was.
    #[track_caller]
    fn apply_fails(&self, args: &[&str]) -> String {
        let before = self.fixture.state();
        let run = self.apply(args);
        assert!(run.starts_with("exit 3\n"), "{run}");
        assert_eq!(self.fixture.state(), before);
        run
    }

    /// Where cargo takes Plonky3's packages from, by name.
    fn graph(&self) -> BTreeMap<String, Vec<String>> {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--offline", "--locked", "--format-version", "1"])
            .current_dir(self.fixture.prover())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !stderr.contains("unused"),
            "{stderr}"
        );
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut graph = BTreeMap::<_, Vec<_>>::new();
        for package in metadata["packages"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap().to_owned();
            let source = package["source"].as_str().unwrap_or("tree").to_owned();
            if name.starts_with("p3-") {
                graph.entry(name).or_default().push(source);
            }
        }
        graph
    }
}

/// The prover's own files have the token, since cargo needs it there; nothing that is printed has.
#[test]
fn an_address_is_printed_without_its_token() {
    let user = GitUser::new();
    let (fixture, own) = (&user.fixture, user.url());
    let secret = "https://me:t0ken@git.example/plonky3";
    let run = |command: &mut Command| {
        let output = command
            .env("CARGO_NET_GIT_FETCH_WITH_CLI", "true")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("url.{own}.insteadOf"))
            .env("GIT_CONFIG_VALUE_0", secret)
            .output()
            .unwrap();
        user.redacted(&fixture.transcript(&output))
    };
    fixture.set_manifest(&fixture.manifest().replace(&own, secret));
    fs::remove_file(fixture.prover().join("Cargo.lock")).unwrap();
    let mut fetch = Command::new(env!("CARGO"));
    let fetched = run(fetch.arg("fetch").current_dir(fixture.prover()));
    assert!(fetched.starts_with("exit 0\n"), "{fetched}");
    let (manifest, lock) = fixture.state();
    assert!(lock.contains(secret), "{lock}");
    let printed = |args: &[&str], code: u8| {
        let printed = run(&mut fixture.command(args));
        assert!(printed.starts_with(&format!("exit {code}\n")), "{printed}");
        assert!(!printed.contains("t0ken"), "{printed}");
        printed
    };
    let shown = "https://git.example/plonky3";
    let pinned = format!("git+{shown}?rev=[COMMIT]#[COMMIT]");

    let hint = printed(&["apply", "demo"], 3);
    assert!(
        hint.contains(&pinned) && hint.contains(&format!("--source {shown} --rev")),
        "{hint}"
    );
    let hint = printed(&["status"], 0);
    assert!(hint.contains(&format!("--source {shown} --rev")), "{hint}");
    printed(
        &["apply", "demo", "--source", "https://me:t0ken@a.example/x"],
        3,
    );
    printed(
        &["apply", "demo", "--source", secret, "--rev", "abcdef0"],
        3,
    );
    for spelled in [
        "https://me:t0ken x@a.example/x",
        "https://me:t0ken\"x@a.example/x",
        "https:me:t0ken@a.example/x",
        "https://me:t0ken/x@a.example/x",
        "https://me:t0ken?x@a.example/x",
        "https://me:t0ken#x@a.example/x",
        "me:t0ken@a.example:x",
    ] {
        printed(&["apply", "demo", "--source", spelled], 3);
    }
    assert_eq!(fixture.state(), (manifest.clone(), lock.clone()));

    printed(&["apply", "demo", "--source", shown], 0);
    assert!(fixture.manifest().contains(&format!("[patch.\"{secret}\"")));
    for options in [&["status"][..], &["status", "--json"]] {
        let status = printed(options, 0);
        assert!(status.contains(&pinned), "{status}");
    }
    printed(
        &["apply", "demo", "--source", "https://me:t0ken@a.example/x"],
        3,
    );
    let yours = format!("\n[patch.\"{secret}\".x]\npath = \"x\"\n# <<< p3-patches");
    let block = fixture.manifest();
    fixture.set_manifest(&block.replace("\n# <<< p3-patches", &yours));
    let status = printed(&["status", "--json"], 3);
    assert!(
        status.contains(&format!("[patch.\\\"{shown}\\\".x]")),
        "{status}"
    );
    fixture.set_manifest(&block);
    printed(&["remove"], 0);
    assert_eq!(fixture.state(), (manifest, lock));
}

/// Writes p3-goldilocks and what it needs as upstream has them: the manifests as written, below one of a workspace.
fn lay_out(repository: &Path) {
    let mut todo = vec!["p3-goldilocks".to_owned()];
    let mut seen = BTreeSet::new();
    let mut workspace = Table::new();
    let mut package = Table::new();
    while let Some(name) = todo.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let caches = fs::read_dir(cargo_home().join("registry/cache")).unwrap();
        let tarball = caches
            .map(|entry| entry.unwrap().path().join(format!("{name}-0.8.0.crate")))
            .find(|path| path.exists())
            .unwrap();
        let folder = repository.join(folder_of(&name));
        fs::create_dir_all(&folder).unwrap();
        let status = Command::new("tar")
            .args(["--strip-components", "1", "-xzf"])
            .arg(tarball)
            .current_dir(&folder)
            .status()
            .unwrap();
        assert!(status.success());
        let published = read(&folder.join("Cargo.toml"));
        fs::remove_file(folder.join("Cargo.lock")).unwrap();
        fs::remove_file(folder.join(".cargo_vcs_info.json")).unwrap();
        fs::rename(folder.join("Cargo.toml.orig"), folder.join("Cargo.toml")).unwrap();
        let written = read(&folder.join("Cargo.toml"));

        let inherits = |value: &Value| value.get("workspace").is_some();
        for (key, value) in written["package"].as_table().unwrap() {
            if inherits(value) {
                package.insert(key.clone(), published["package"][key].clone());
            }
        }
        let published = dependencies(&published);
        for (name, written) in dependencies(&written) {
            if !inherits(&written) {
                continue;
            }
            let mut dependency = published[&name].as_table().unwrap().clone();
            dependency.remove("optional");
            let own = written.get("features").and_then(Value::as_array);
            if let (Some(own), Some(all)) = (own, dependency.get_mut("features")) {
                all.as_array_mut()
                    .unwrap()
                    .retain(|feature| !own.contains(feature));
            }
            if name.starts_with("p3-") {
                dependency.insert("path".to_owned(), folder_of(&name).into());
                todo.push(name.clone());
            }
            workspace.entry(name).or_insert(dependency.into());
        }
    }
    let members = seen.iter().map(|name| folder_of(name)).collect::<Vec<_>>();
    let manifest = toml::toml! {
        [workspace]
        resolver = "2"
        lints = {}
    };
    let mut manifest = manifest;
    let table = manifest["workspace"].as_table_mut().unwrap();
    table.insert("members".to_owned(), members.into());
    table.insert("package".to_owned(), package.into());
    table.insert("dependencies".to_owned(), workspace.into());
    write(&repository.join("Cargo.toml"), &manifest.to_string());
}

fn folder_of(package: &str) -> &str {
    package.strip_prefix("p3-").unwrap()
}

fn read(manifest: &Path) -> Table {
    toml::from_str(&fs::read_to_string(manifest).unwrap()).unwrap()
}

/// The dependencies of every kind, on every target.
fn dependencies(manifest: &Table) -> BTreeMap<String, Value> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let mut found = BTreeMap::new();
    for table in [manifest].into_iter().chain(targets) {
        for kind in ["dependencies", "dev-dependencies"] {
            for (name, value) in table
                .get(kind)
                .and_then(Value::as_table)
                .into_iter()
                .flatten()
            {
                found.entry(name.clone()).or_insert(value.clone());
            }
        }
    }
    found
}

#[test]
fn apply_status_remove() {
    let user = GitUser::new();
    let (manifest, lock) = user.fixture.state();

    // Without the option the overrides are the registry's, which nothing here uses.
    let without = user.fixture.run(&["apply", "demo"]);
    assert_snapshot!("without_the_option", user.redacted(&without));
    assert_eq!(user.fixture.state(), (manifest.clone(), lock.clone()));
    // The hint.
    let options = without.split('`').nth(1).unwrap();
    let options = options.replace("[DIR]", user.fixture.path().to_str().unwrap());
    let options: Vec<_> = options.split(' ').collect();
    let applied = user
        .fixture
        .succeed(&[&["apply", "demo"], &options[..]].concat());
    assert!(applied.contains("applied demo to "), "{applied}");
    user.fixture.succeed(&["remove"]);

    assert_snapshot!("apply", user.apply(&["demo", "--rev", &user.release]));
    assert_snapshot!("applied_manifest", user.redacted(&user.fixture.manifest()));
    assert_snapshot!("status", user.run(&["status"]));
    let graph = user.graph();
    for (name, sources) in &graph {
        assert_eq!(sources.len(), 1, "{name}: {sources:?}");
        let patched = ["p3-goldilocks", "p3-symmetric"].contains(&name.as_str());
        assert_eq!(sources[0] == "tree", patched, "{name}: {sources:?}");
        assert!(
            patched || sources[0].starts_with("git+"),
            "{name}: {sources:?}"
        );
    }
    assert!(graph.len() > 5, "{graph:?}");

    user.fixture.succeed(&["remove"]);
    assert_eq!(user.fixture.state(), (manifest, lock));
    assert!(!user.fixture.prover().join(".p3-patches").exists());
}

/// The manifest records the repository, so later runs need no option.
#[test]
fn what_is_recorded_is_applied_again() {
    let user = GitUser::new();
    let lock = user.fixture.lock();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let applied = user.fixture.state();

    fs::remove_dir_all(user.fixture.prover().join(".p3-patches")).unwrap();
    user.fixture.succeed(&["apply"]);
    assert_eq!(user.fixture.state(), applied);
    user.fixture.succeed(&["apply", "stacked"]);
    let json = user.fixture.succeed(&["status", "--json"]);
    let source = format!(
        "\"source\": \"git+file://[DIR]/upstream?rev={0}#{0}\"",
        user.release
    );
    assert!(json.contains(&source), "{json}");
    user.fixture.succeed(&["apply", "demo"]);
    assert_eq!(user.fixture.state(), applied);
    user.fixture.succeed(&["remove"]);
    assert_eq!(user.fixture.lock(), lock);
}

/// The manifest's record holds for one repository, at one commit.
#[test]
fn what_is_recorded_is_not_moved_to_other_sources() {
    let user = GitUser::new();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let applied = user.fixture.state();
    let elsewhere = "https://github.com/Plonky3/Plonky3";
    let run = user.run(&["apply", "--source", elsewhere]);
    let expected =
        format!(": demo are applied to Plonky3 from elsewhere than {elsewhere}\nhint: `");
    assert_ended(&run, 3, &expected);
    assert_eq!(user.fixture.state(), applied);

    // The prover has moved on.
    write(&user.repository.join("README.md"), "Later.\n");
    let later = user.commit();
    let (before, block) = applied.0.split_once("# >>>").unwrap();
    let moved = before.replace(&user.release, &later);
    user.fixture.set_manifest(&format!("{moved}# >>>{block}"));
    user.fixture.cargo(&["metadata", "--format-version", "1"]);
    let before = user.fixture.state();
    let run = user.run(&["apply"]);
    assert_ended(&run, 3, ": prover asks for git+file://");
    assert_eq!(user.fixture.state(), before);
    // Nothing has asked for that commit yet.
    let removed = user.fixture.fetching(&["remove"]).output().unwrap();
    assert!(removed.status.success(), "{removed:?}");
    assert!(
        user.apply(&["demo", "--rev", &later])
            .starts_with("exit 0\n")
    );
}

/// The sign that stands before a commit in a lock file may be in the name of a branch.
#[test]
fn a_branch_that_is_named_after_an_issue() {
    let user = GitUser::new();
    git(&user.repository, &["checkout", "--quiet", "-B", "fix-#12"]);
    user.pin("branch", "fix-#12");
    for args in [&["demo"][..], &[]] {
        let run = user.apply(args);
        assert!(run.starts_with("exit 0\n"), "{run}");
    }
    user.fixture.succeed(&["status"]);
    user.fixture.succeed(&["remove"]);
    // Another one is another one.
    git(&user.repository, &["checkout", "--quiet", "-B", "fix-#13"]);
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let manifest = user.fixture.manifest();
    user.fixture
        .set_manifest(&manifest.replacen("fix-#12", "fix-#13", 1));
    let run = user.apply(&["demo"]);
    assert!(
        run.starts_with("exit 3\n") && run.contains("fix-#13, "),
        "{run}"
    );
}

/// Lock files of version 4 have a branch as the query of a URL has it.
#[test]
fn a_branch_with_a_slash() {
    let user = GitUser::new();
    git(&user.repository, &["checkout", "--quiet", "-B", "for/0.8"]);
    user.pin("branch", "for/0.8");
    let lock = user.fixture.lock();
    assert!(lock.contains("?branch=for%2F0.8#"), "{lock}");
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    user.fixture.succeed(&["status"]);
    user.fixture.succeed(&["status", "--without-cargo"]);
    user.fixture.succeed(&["remove"]);
    assert_eq!(user.fixture.lock(), lock);

    // The siblings of what is patched have moved on.
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    write(&user.repository.join("README.md"), "Later.\n");
    user.commit();
    user.fixture.cargo(&["update", "p3-field"]);
    assert_ended(&user.run(&["status"]), 1, "but locked to git+");
    user.fixture.succeed(&["remove"]);
    let lock = user.fixture.lock();
    assert!(!lock.contains(&user.release), "{lock}");
    assert!(user.graph().values().all(|sources| sources.len() == 1));
}

/// A package that a patch changes, and that the prover lacked, comes from the registry later.
#[test]
fn a_package_that_comes_in_from_the_registry_is_refused() {
    let user = GitUser::new();
    write(&user.fixture.patch("demo"), &demo_with_keccak());
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let applied = user.fixture.manifest();
    let (before, after) = applied.split_once("p3-goldilocks").unwrap();
    user.fixture.set_manifest(&format!(
        "{before}p3-keccak = \"0.8\"\np3-goldilocks{after}"
    ));
    user.fixture.cargo(&["metadata", "--format-version", "1"]);
    for args in [&["apply"][..], &["apply", "demo"]] {
        let before = user.fixture.state();
        let run = user.run(args);
        assert_ended(&run, 3, "takes Plonky3 0.8.0 from git+file://");
        assert_eq!(user.fixture.state(), before);
    }
}

/// Cargo updates the packages of a branch that moves on, but for those that a tree stands in for.
#[test]
fn siblings_at_another_commit_are_noticed() {
    let user = GitUser::new();
    git(&user.repository, &["checkout", "--quiet", "-B", "stable"]);
    user.pin("branch", "stable");
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    write(&user.repository.join("README.md"), "Later.\n");
    let later = user.commit();
    user.fixture.cargo(&["update", "p3-field"]);
    for args in [&["status"][..], &["status", "--verify"]] {
        let run = user.run(args).replace(&later, "[LATER]");
        assert!(run.starts_with("exit 1\n"), "{run}");
        let moved = "patched in place of git+file://[DIR]/upstream?branch=stable#[COMMIT], but locked to \
                     git+file://[DIR]/upstream?branch=stable#[LATER]\nhint: `cargo p3 remove` takes the patches out";
        assert!(run.contains(moved), "{run}");
    }

    // The hint.
    user.fixture.succeed(&["remove"]);
    assert!(
        !user.fixture.lock().contains(&user.release),
        "{}",
        user.fixture.lock()
    );
    assert!(user.graph().values().all(|sources| sources.len() == 1));
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    user.fixture.succeed(&["status"]);
}

/// The manifest asks for another revision, though no sibling has moved.
#[test]
fn another_revision_in_the_manifest_is_noticed() {
    let user = GitUser::new();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    write(&user.repository.join("README.md"), "Later.\n");
    let later = user.commit();
    let (before, block) = user
        .fixture
        .manifest()
        .split_once("# >>>")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let moved = before.replace(&user.release, &later);
    user.fixture.set_manifest(&format!("{moved}# >>>{block}"));
    user.fixture.cargo(&["metadata", "--format-version", "1"]);
    let run = user.run(&["status"]);
    assert_ended(&run, 1, "prover asks for git+file://");
}

/// A crate that is none of Plonky3's has nothing to do with the patches.
#[test]
fn another_package_of_the_repository_may_be_at_another_commit() {
    let user = GitUser::new();
    let helper = user.repository.join("helper");
    let manifest =
        "[package]\nname = \"helper\"\nversion = \"1.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    write(&helper.join("Cargo.toml"), manifest);
    write(&helper.join("src/lib.rs"), "");
    let (url, later) = (user.url(), user.commit());
    let dependency = format!("\n[dependencies.helper]\ngit = \"{url}\"\nrev = \"{later}\"\n");
    user.fixture
        .set_manifest(&(user.fixture.manifest() + &dependency));
    user.fixture.relock();
    let applied = user.apply(&["demo"]);
    assert!(applied.starts_with("exit 0\n"), "{applied}");
    user.fixture.succeed(&["status"]);
    user.fixture.succeed(&["apply"]);
}

/// Where no program runs, the lock file still has what the manifest does not ask for any more.
#[test]
fn another_source_in_the_manifest_is_noticed_without_cargo() {
    let user = GitUser::new();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let status = ["status", "--without-cargo"];
    user.fixture.succeed(&status);
    let applied = user.fixture.manifest();
    let asked = applied
        .lines()
        .find(|line| line.starts_with("p3-goldilocks"))
        .unwrap();
    let later = asked.replace(&user.release, &"1".repeat(40));
    for (line, differs) in [
        (later, "p3-goldilocks comes from git+file://"),
        (
            format!("{asked}\np3-util = {{ path = \"ev\" }}"),
            "p3-util comes from the folder ev,",
        ),
    ] {
        user.fixture
            .set_manifest(&applied.replacen(asked, &line, 1));
        let run = user.run(&status);
        assert_ended(&run, 1, &format!("  differs: {differs}"));
    }
}

/// A tag is kept as the prover wrote it; a revision would be another source to cargo.
#[test]
fn a_tag() {
    let user = GitUser::new();
    git(&user.repository, &["tag", "v0.8.0"]);
    user.pin("tag", "v0.8.0");
    let lock = user.fixture.lock();
    for rev in ["v0.8.0", &user.release[..10]] {
        let run = user.apply(&["demo", "--rev", rev]);
        assert!(run.starts_with("exit 0\n"), "{run}");
        assert!(user.fixture.manifest().contains("\ntag = \"v0.8.0\"\n"));
        assert!(user.graph().values().all(|sources| sources.len() == 1));
    }
    user.fixture.succeed(&["remove"]);
    assert_eq!(user.fixture.lock(), lock);
}

/// In a script, a variable that is not set gives an empty revision.
#[test]
fn a_revision_that_pins_nothing_is_refused() {
    let user = GitUser::new();
    let empty = user.apply(&["demo", "--rev", ""]);
    let expected = "error: a value is required for '--rev <REV>' but none was supplied";
    assert_ended(&empty, 2, expected);
    for digits in [1, 6] {
        let rev = &user.release[..digits];
        let run = user.apply_fails(&["demo", "--rev", rev]);
        let expected =
            format!("error: --rev {rev}: another commit may begin with the same digits\nhint: ");
        assert!(run.contains(&expected), "{run}");
    }
    let unnamed = user.fixture.run(&["apply", "demo", "--rev", &user.release]);
    let expected = "error: --rev ";
    assert_ended(&unnamed, 3, expected);
    let rev = user.release[..7].to_ascii_uppercase();
    let applied = user.apply(&["demo", "--rev", &rev]);
    assert!(applied.starts_with("exit 0\n"), "{applied}");
    // The block has the repository by now.
    user.fixture.succeed(&["apply", "--rev", &user.release]);
}

#[test]
fn sources_that_are_no_release_are_refused() {
    let user = GitUser::new();
    let mut transcripts = String::new();
    let mut refused = |user: &GitUser| {
        let commit = user.commit();
        user.pin("rev", &commit);
        transcripts += &user.apply_fails(&["demo"]).replace(&commit, "[OTHER]");
    };
    // One that a patch touches, one that it does not, and a file that the release lacks.
    let file = user.repository.join("symmetric/src/lib.rs");
    let published = fs::read_to_string(&file).unwrap();
    write(
        &file,
        &published.replace("extern crate alloc;", "extern crate  alloc;"),
    );
    refused(&user);
    write(&file, &published);
    let util = user.repository.join("util/Cargo.toml");
    let manifest = fs::read_to_string(&util).unwrap();
    write(&util, &format!("{manifest}\n# later\n"));
    refused(&user);
    write(&util, &manifest);
    write(&user.repository.join("field/src/later.rs"), "");
    refused(&user);
    assert_snapshot!(transcripts);

    // Files that no build reads may differ.
    fs::remove_file(user.repository.join("field/src/later.rs")).unwrap();
    write(&user.repository.join("field/CHANGELOG.md"), "Later.\n");
    write(&user.repository.join("field/tests/later.rs"), "");
    user.pin("rev", &user.commit());
    let run = user.apply(&["demo"]);
    assert!(run.starts_with("exit 0\n"), "{run}");
}

/// Cargo passes over a package without a library, and takes the published one, which has other types.
#[test]
fn a_package_that_the_repository_lacks_is_refused() {
    let user = GitUser::new();
    for package in ["util", "maybe-rayon"] {
        let folder = user.repository.join(package);
        fs::remove_file(folder.join("src/lib.rs")).unwrap();
        write(&folder.join("examples/later.rs"), "fn main() {}\n");
    }
    let commit = user.commit();
    user.pin("rev", &commit);
    let run = user.apply(&["demo"]);
    assert_ended(&run, 3, " 0.8.0 from crates.io, for ");
}

/// A link leads to what no commit holds.
#[test]
fn a_link_out_of_the_repository_is_refused() {
    let user = GitUser::new();
    let lib = user.repository.join("util/src/lib.rs");
    let outside = user.fixture.path().join("lib.rs");
    fs::rename(&lib, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &lib).unwrap();
    user.pin("rev", &user.commit());
    let run = user.apply(&["demo"]);
    assert_ended(
        &run,
        3,
        "lib.rs: a symbolic link, which is not followed here\n",
    );
}

/// Cargo follows a link in place of the root manifest, and what the link leads to may be another file after the comparison.
#[test]
fn a_link_in_place_of_the_root_manifest_is_refused() {
    let user = GitUser::new();
    let root = user.repository.join("Cargo.toml");
    let outside = user.fixture.path().join("root.toml");
    fs::rename(&root, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &root).unwrap();
    user.pin("rev", &user.commit());
    let run = user.apply_fails(&["demo"]);
    assert!(
        run.contains("/Cargo.toml: a symbolic link, which is not followed here\n"),
        "{run}"
    );
}

/// Cargo marks the root of its checkout by a file, and a repository may have files of that name.
#[test]
fn a_repository_marks_no_root_of_its_own() {
    let user = GitUser::new();
    let (root, util) = (&user.repository, user.repository.join("util"));
    let [manifest, package] = ["root.toml", "util"].map(|name| user.fixture.path().join(name));
    for folder in fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if folder.join("Cargo.toml").exists() {
            write(&folder.join(".cargo-ok"), "");
        }
    }
    for (place, outside) in [(util, package), (root.join("Cargo.toml"), manifest)] {
        fs::rename(&place, &outside).unwrap();
        std::os::unix::fs::symlink(&outside, &place).unwrap();
        user.pin("rev", &user.commit());
        let run = user.apply_fails(&["demo"]);
        let refused = ": a symbolic link, which is not followed here\n";
        assert!(run.contains(refused), "{run}");
        fs::remove_file(&place).unwrap();
        fs::rename(&outside, &place).unwrap();
    }
}

/// Each package is the release's, but what it inherits is not: cargo would build another package, the same one with other
/// features, or its code in another edition.
#[test]
fn a_root_manifest_that_is_not_the_releases_is_refused() {
    let user = GitUser::new();
    let root = user.repository.join("Cargo.toml");
    let published = fs::read_to_string(&root).unwrap();
    write(
        &user.repository.join("own/Cargo.toml"),
        "[package]\nname = \"paste\"\nversion = \"1.99.0\"\n[features]\nx = []\n",
    );
    write(&user.repository.join("own/src/lib.rs"), "");
    let edited = |edit: &dyn Fn(&mut Table)| {
        let mut manifest: Table = toml::from_str(&published).unwrap();
        edit(manifest["workspace"].as_table_mut().unwrap());
        write(&root, &manifest.to_string());
        let commit = user.commit();
        user.pin("rev", &commit);
        commit
    };
    let paste = |key: &'static str, value: Value| {
        move |workspace: &mut Table| {
            let paste = workspace["dependencies"]["paste"].as_table_mut().unwrap();
            paste.insert(key.to_owned(), value.clone());
        }
    };
    let mut transcripts = String::new();
    let mut refused = |what: &str, edit: &dyn Fn(&mut Table)| {
        let commit = edited(edit);
        let run = user.apply_fails(&["demo"]).replace(&commit, "[OTHER]");
        transcripts += &format!("# {what}\n{run}");
    };
    refused("a path", &paste("path", "own".into()));
    refused("a version", &paste("version", "=1.0.15".into()));
    refused(
        "no default features",
        &paste("default-features", false.into()),
    );
    refused("another edition", &|workspace: &mut Table| {
        workspace["package"]
            .as_table_mut()
            .unwrap()
            .insert("edition".to_owned(), "2021".into());
    });
    let serde = |workspace: &mut Table| {
        let serde = workspace["dependencies"]["serde"].as_table_mut().unwrap();
        let features = serde["features"].as_array_mut().unwrap();
        features.push("rc".into());
    };
    refused("one feature more", &serde);
    assert_snapshot!(transcripts);

    // Fields that a build does not read may differ.
    edited(&|workspace| {
        workspace["package"]
            .as_table_mut()
            .unwrap()
            .insert("keywords".to_owned(), vec!["other"].into());
    });
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    user.fixture.succeed(&["status", "--verify"]);

    // An older tool has let it pass.
    let commit = edited(&paste("path", "own".into()));
    let manifest = user.fixture.manifest();
    user.pin("rev", &user.release);
    user.fixture
        .succeed(&["apply", "demo", "--source", &user.url()]);
    let applied = user.fixture.manifest();
    let (_, block) = applied.split_once("# >>>").unwrap();
    let block = block.replace(&user.release, &commit);
    user.fixture
        .set_manifest(&format!("{manifest}# >>>{block}"));
    user.fixture.cargo(&["metadata", "--format-version", "1"]);
    user.fixture.succeed(&["status"]);
    let run = user.run(&["status", "--verify"]);
    assert_ended(&run, 1, ": it takes paste from the repository itself\n");
}

/// The root manifest in cargo's checkout of the repository changes after `apply`, and the lock file still holds.
#[test]
fn a_root_manifest_that_changes_after_apply_is_noticed() {
    let user = GitUser::new();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    let verified = user.run(&["status", "--verify"]);
    assert!(verified.starts_with("exit 0\n"), "{verified}");

    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .current_dir(user.fixture.prover())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let field = packages
        .find(|package| package["name"] == "p3-field")
        .unwrap();
    let field = Path::new(field["manifest_path"].as_str().unwrap());
    let root = field.ancestors().nth(2).unwrap().join("Cargo.toml");
    let published = fs::read_to_string(&root).unwrap();
    let change = |package: &str, key: &str, value: Value| {
        let mut manifest: Table = toml::from_str(&published).unwrap();
        let entry = manifest["workspace"]["dependencies"][package].as_table_mut();
        entry.unwrap().insert(key.to_owned(), value);
        write(&root, &manifest.to_string());
    };
    for (package, key, value) in [
        ("paste", "version", Value::from("1.0.1")),
        ("paste", "default-features", false.into()),
        ("serde", "features", vec!["derive", "rc"].into()),
    ] {
        change(package, key, value);
        user.fixture.succeed(&["status"]);
        let run = user.run(&["status", "--verify"]);
        let expected = format!(": it has another requirement for {package}\nhint: ");
        assert!(
            run.starts_with("exit 1\n")
                && run.contains(" is not that of Plonky3 0.8.0")
                && run.contains(&expected),
            "{key}: {run}"
        );
    }
    change("paste", "git", "https://git.example/paste".into());
    // Cargo has not asked that repository yet.
    let run = user.run(&["status", "--verify"]);
    assert!(run.starts_with("exit 4\n"), "{run}");
    assert!(
        run.contains("\nhint: after `cargo fetch` in that folder"),
        "{run}"
    );

    write(&root, &published);
    let verified = user.run(&["status", "--verify"]);
    assert!(verified.starts_with("exit 0\n"), "{verified}");
}

#[test]
fn another_source_than_the_provers_is_refused() {
    let user = GitUser::new();
    let mut transcripts = user.apply_fails(&["demo", "--rev", "0123456"]);
    transcripts += &user.run(&[
        "apply",
        "demo",
        "--source",
        "https://github.com/Plonky3/Plonky3",
    ]);
    transcripts += &user.run(&["apply", "demo", "--rev", "0123456"]);

    // Another release, by its version.
    let manifest = user.repository.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    write(&manifest, &text.replace("\"0.8.0\"", "\"0.8.1\""));
    user.pin("rev", &user.commit());
    transcripts += &user.apply_fails(&["demo"]);

    user.fixture.set_manifest(MANIFEST);
    user.fixture.relock();
    transcripts += &user.apply_fails(&["demo"]);
    assert_snapshot!(transcripts);
}

/// A commit is of one release, and a package of another one in there has nothing to be compared with.
#[test]
fn a_repository_with_a_package_in_two_versions_is_refused() {
    let user = GitUser::new();
    let util = "[package]\nname = \"p3-util\"\nversion = \"0.9.0\"\nedition = \"2024\"\n";
    write(&user.repository.join("own/Cargo.toml"), util);
    write(&user.repository.join("own/src/lib.rs"), "");
    let commit = user.commit();
    user.pin("rev", &commit);
    let own = format!(
        "own = {{ package = \"p3-util\", git = \"{}\", rev = \"{commit}\", version = \"0.9\" }}\n",
        user.url()
    );
    let manifest = user.fixture.manifest();
    user.fixture.set_manifest(&format!("{manifest}{own}"));
    user.fixture.relock();
    let run = user.apply_fails(&["demo"]);
    assert!(
        run.contains(": has p3-util in two versions\nhint: "),
        "{run}"
    );
}

/// The overrides would reach a part of a graph with two sources.
#[test]
fn a_prover_with_two_sources_is_refused() {
    let user = GitUser::new();
    write(&user.repository.join("README.md"), "Later.\n");
    let later = user.commit();
    let manifest = user.fixture.manifest();
    let url = user.url();
    let second = format!("p3-util = {{ git = \"{url}\", rev = \"{later}\" }}\n");
    user.fixture.set_manifest(&format!("{manifest}{second}"));
    user.fixture.relock();
    let run = user.apply_fails(&["demo"]);
    assert!(
        run.contains(": takes Plonky3 twice, from git+file://"),
        "{run}"
    );

    let registry = "registry = { package = \"p3-goldilocks\", version = \"0.8\" }\n";
    user.fixture.set_manifest(&format!("{manifest}{registry}"));
    user.fixture.relock();
    let run = user.apply_fails(&["demo"]);
    assert!(
        run.contains("error: the graph has p3-goldilocks 0.8.0 twice: from "),
        "{run}"
    );
    assert!(run.contains(", for prover 0.1.0; from "), "{run}");
}

/// A prover on the registry, of which a dependency brings the same release from git: an override reaches one copy.
#[test]
fn one_release_twice_is_refused_with_who_brings_the_second() {
    let user = GitUser::new();
    let url = user.url();
    let beside = user.fixture.path().join("other");
    let manifest = format!(
        "[package]\nname = \"other\"\nversion = \"0.1.0\"\n\n[dependencies]\n\
         p3-goldilocks = {{ git = \"{url}\", rev = \"{}\" }}\n",
        user.release
    );
    write(&beside.join("Cargo.toml"), &manifest);
    write(&beside.join("src/lib.rs"), "");
    let both = format!("{MANIFEST}other = {{ path = \"../other\" }}\n");
    user.fixture.set_manifest(&both);
    user.fixture.relock();
    // The first package that is found; other ones are there twice as well.
    let twice = "the graph has p3-goldilocks 0.8.0 twice: from ";
    let second = format!("from git+{url}?rev={0}#{0}, for other 0.1.0", user.release);
    for args in [&["apply", "demo"][..], &["apply"]] {
        let before = user.fixture.state();
        let run = user.fixture.run(args);
        assert_ended(&run, 3, twice);
        let second = second.replace(user.fixture.path().to_str().unwrap(), "[DIR]");
        assert!(run.contains(&second), "{run}");
        let users = user.fixture.follow_hint(&run);
        assert!(users.contains("── prover v0.1.0 ("), "{users}");
        assert_eq!(user.fixture.state(), before);
    }

    // The package comes in later.
    user.fixture.set_manifest(MANIFEST);
    user.fixture.relock();
    user.fixture.succeed(&["apply", "demo"]);
    let applied = user.fixture.manifest();
    let dependency = "any 0.8 will do\n";
    let both = format!("{dependency}other = {{ path = \"../other\" }}\n");
    user.fixture
        .set_manifest(&applied.replace(dependency, &both));
    user.fixture.cargo(&["metadata", "--format-version", "1"]);
    let run = user.fixture.run(&["status"]);
    assert_ended(&run, 1, twice);
    assert!(run.contains(", for other 0.1.0"), "{run}");
    let apply = user.fixture.run(&["apply"]);
    assert_ended(&apply, 3, twice);
}

#[test]
fn a_manifest_that_patches_the_package_already() {
    let user = GitUser::new();
    let manifest = user.fixture.manifest();
    let url = user.url();
    write(
        &user.fixture.path().join("fork/Cargo.toml"),
        "[package]\nname = \"p3-symmetric\"\nversion = \"0.8.0\"\n",
    );
    write(&user.fixture.path().join("fork/src/lib.rs"), "");
    for registry in [url.clone(), format!("{url}.git")] {
        let patch = format!("[patch.\"{registry}\"]\np3-symmetric = {{ path = \"../fork\" }}\n");
        user.fixture.set_manifest(&format!("{manifest}\n{patch}"));
        user.fixture.relock();
        let run = user.apply_fails(&["demo"]);
        assert!(run.contains("already patches p3-symmetric to"), "{run}");
    }
}

/// An override of the registry's packages by a repository is in the way of another one. The dependencies can name the repository themselves.
#[test]
fn a_prover_that_overrides_the_registry_by_a_repository() {
    let user = GitUser::new();
    let from = format!("{{ git = \"{}\", rev = \"{}\" }}", user.url(), user.release);
    let patch = format!("[patch.crates-io]\np3-goldilocks = {from}\np3-symmetric = {from}\n");
    user.fixture.set_manifest(&format!("{MANIFEST}\n{patch}"));
    user.fixture.relock();
    let hint = "hint: have the dependencies name the repository, in place of `[patch.crates-io]`; then `apply --source` names it, too";
    for args in [
        &["apply", "demo"][..],
        &["apply", "demo", "--source", &user.url()],
    ] {
        let before = user.fixture.state();
        let run = user.run(args);
        assert_ended(&run, 3, "already patches p3-");
        assert!(run.contains(hint), "{run}");
        assert_eq!(user.fixture.state(), before);
    }
}

/// Cargo rewrites the manifests of what it vendors from git, so nothing there can be compared with a release. Vendored after
/// `apply`, it is what was compared before.
#[test]
fn a_vendored_repository_is_refused() {
    let user = GitUser::new();
    vendor(&user.fixture);
    assert_snapshot!(user.apply_fails(&["demo"]));

    let config = user.fixture.prover().join(".cargo/config.toml");
    fs::remove_file(&config).unwrap();
    assert!(user.apply(&["demo"]).starts_with("exit 0\n"));
    vendor(&user.fixture);
    user.fixture.succeed(&["status"]);
    user.fixture.cargo(&["tree", "--locked", "--offline"]);
}
