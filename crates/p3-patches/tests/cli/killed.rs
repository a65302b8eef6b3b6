//! kill -9 at random moments of a run: what is on disk is the old state or the new one, and the next run succeeds.
//!
//! A run takes less than a tenth of a second: what cargo says is kept from the first time, and a stand-in for it says it again.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::fixture::{Files, Fixture, MANIFEST, files, git, write};
use crate::from_git::GitUser;
use crate::killer::{Kill, Killer, kills, put, with_other};

/// The files that `apply` writes.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Applied {
    manifest: String,
    lock: String,
    /// Below the folder of trees; without what is hidden there.
    trees: Files,
}

impl Applied {
    fn of(fixture: &Fixture) -> Self {
        let mut trees = files(&fixture.prover().join(".p3-patches"));
        trees.retain(|name, _| !name.starts_with('.'));
        Self {
            manifest: fixture.manifest(),
            lock: fixture.lock(),
            trees,
        }
    }

    fn put(&self, fixture: &Fixture) {
        fixture.set_manifest(&self.manifest);
        write(&fixture.prover().join("Cargo.lock"), &self.lock);
        put(&fixture.prover().join(".p3-patches"), &self.trees);
    }

    /// The trees that the manifest names are there as they are here. What else is there is whole, or has no tree's name.
    fn is_built_from(&self, trees: &Files) -> bool {
        self.trees
            .iter()
            .all(|(name, contents)| trees.get(name) == Some(contents))
    }
}

#[test]
fn apply_killed_at_any_moment() {
    let mut killer = Killer::new(Fixture::new());
    let fixture = &killer.fixture;
    let nothing = Applied::of(fixture);
    assert_eq!(nothing.manifest, MANIFEST);
    killer.succeed(&["apply", "demo"], "at first");
    let demo = Applied::of(&killer.fixture);
    killer.succeed(&["apply", "stacked"], "at first");
    let stacked = Applied::of(&killer.fixture);
    // An editor has left it: the same names, and a tree to be replaced.
    let mut edited = demo.clone();
    let file = edited
        .trees
        .keys()
        .find(|name| name.ends_with("/src/lib.rs"));
    let file = file.unwrap().clone();
    edited.trees.get_mut(&file).unwrap().push(b'\n');
    let steps = [
        (&nothing, "demo", &demo),
        (&demo, "stacked", &stacked),
        (&stacked, "demo", &demo),
        (&edited, "demo", &demo),
    ];
    for (from, name, to) in steps {
        from.put(&killer.fixture);
        killer.succeed(&["apply", name], "at first");
        assert_eq!(Applied::of(&killer.fixture), *to);
    }

    kill_apply(&mut killer, &steps);
}

/// A prover that has Plonky3 from git, with patches: they stay in place while the sources are compared.
#[test]
fn apply_to_git_killed_at_any_moment() {
    let user = GitUser::new();
    let run = user.apply(&["demo"]);
    assert!(run.starts_with("exit 0\n"), "{run}");
    let mut killer = Killer::new(user.fixture);
    let demo = Applied::of(&killer.fixture);
    killer.succeed(&["apply", "stacked"], "at first");
    let stacked = Applied::of(&killer.fixture);
    let steps = [(&demo, "stacked", &stacked), (&stacked, "demo", &demo)];
    for (from, name, to) in steps {
        from.put(&killer.fixture);
        killer.succeed(&["apply", name], "at first");
        assert_eq!(Applied::of(&killer.fixture), *to);
    }
    kill_apply(&mut killer, &steps);
}

/// Kills `apply` on the way from one state to another.
fn kill_apply(killer: &mut Killer, steps: &[(&Applied, &str, &Applied)]) {
    let mut found = BTreeMap::new();
    for number in 0..kills() {
        let (from, name, to) = steps[number % steps.len()];
        from.put(&killer.fixture);
        let (kill, what) = killer.kill(&["apply", name]);
        if !matches!(kill, Kill::AndGoOn) {
            let mut now = Applied::of(&killer.fixture);
            let state = [from, to]
                .into_iter()
                .find(|state| state.manifest == now.manifest && state.is_built_from(&now.trees));
            let state = state.unwrap_or_else(|| panic!("{what}: a third state: {}", now.manifest));
            for (place, folder) in by_tree(&now.trees) {
                let whole = [from, to].map(|state| by_tree(&state.trees).remove(place));
                let whole = whole.into_iter().flatten().any(|tree| tree == folder);
                assert!(whole, "{what}: half a tree: {place}");
            }
            if now.lock != state.lock {
                // Between the manifest and the lock file. What cargo does first, in any build, ends it.
                let mut cargo = Command::new(killer.fixture.path().join("cargo"));
                cargo.args(["metadata", "--offline", "--format-version", "1"]);
                let output = cargo.current_dir(killer.fixture.prover()).output();
                assert!(output.unwrap().status.success(), "{what}");
                now = Applied::of(&killer.fixture);
                *found.entry("between").or_default() += 1;
            }
            assert_eq!(now.lock, state.lock, "{what}");
            let which = if state == to { "new" } else { "old" };
            *found.entry(which).or_default() += 1;
        }
        killer.succeed(&["apply", name], &what);
        assert_eq!(Applied::of(&killer.fixture), *to, "{what}");
        assert!(killer.fixture.leftovers().is_empty(), "{what}");
    }
    killer.assert_spread(&found);
}

/// Files by the folder of their tree.
fn by_tree(trees: &Files) -> BTreeMap<&str, BTreeMap<&str, &[u8]>> {
    let mut by_tree = BTreeMap::<_, BTreeMap<_, _>>::new();
    for (name, contents) in trees {
        let (base, rest) = name.split_once('/').unwrap();
        let (tree, file) = rest.split_once('/').unwrap();
        let tree = &name[..base.len() + 1 + tree.len()];
        by_tree.entry(tree).or_default().insert(file, &**contents);
    }
    by_tree
}

/// An overlay in a git repository, with other packages before. Each is whole; the repository is not touched.
#[test]
fn overlay_killed_at_any_moment() {
    let fixture = with_other(Fixture::new());
    let out = fixture.prover().join("overlay");
    fs::create_dir(&out).unwrap();
    git(&out, &["init", "--quiet"]);
    let mut killer = Killer::new(fixture);
    let repository = files(&out);
    let overlay = |name| ["overlay", "--out", "overlay", name];
    let states = ["demo", "stacked", "other"].map(|name| {
        killer.succeed(&overlay(name), "at first");
        (name, files(&out))
    });

    let mut found = BTreeMap::new();
    for number in 0..kills() {
        let [(_, from), (name, to)] = [number, number + 1].map(|at| &states[at % states.len()]);
        put(&out, from);
        let (kill, what) = killer.kill(&overlay(name));
        let mut now = files(&out);
        if !matches!(kill, Kill::AndGoOn) {
            now.retain(|path, _| !path.starts_with(".tmp-overlay/"));
            for (path, contents) in &repository {
                assert!(now.get(path) == Some(contents), "{what}: {path}");
            }
            let [entries, before, after] = [&now, from, to].map(by_entry);
            for (entry, files) in &entries {
                let whole = [&before, &after].map(|state| state.get(entry));
                assert!(whole.contains(&Some(files)), "{what}: half of {entry}");
            }
            let which = match (now == *from, now == *to) {
                (true, _) => "old",
                (_, true) => "new",
                _ => "between",
            };
            *found.entry(which).or_default() += 1;
        }
        killer.succeed(&overlay(name), &what);
        assert!(files(&out) == *to, "{what}");
    }
    killer.assert_spread(&found);
}

/// Files by the first part of their path.
fn by_entry(files: &Files) -> BTreeMap<&str, Vec<(&str, &[u8])>> {
    let mut by_entry = BTreeMap::<_, Vec<_>>::new();
    for (name, contents) in files {
        let (entry, _) = name.split_once('/').unwrap_or((name, ""));
        let files = by_entry.entry(entry).or_default();
        files.push((name.as_str(), &**contents));
    }
    by_entry
}
