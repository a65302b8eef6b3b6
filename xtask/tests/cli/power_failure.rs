//! A power failure at each call of a run: whatever part of what is unsynced it leaves, the files that count are as after `kill -9`,
//! and the next run succeeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::disk::{Content, Contents, Disk};
use crate::fixture::Fixture;
use crate::history::History;
use crate::killer::{Killer, with_other};
use crate::recorder::record;
use crate::unsynced::{self, Choice, Left};

const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
const TREES: &str = ".p3-patches";

/// Where `edit` has repositories, which are git's.
const EDITED: &str = ".p3-patches/edit";

/// A folder, what it has held, and the runs in it.
struct Site {
    killer: Killer,
    folder: PathBuf,
    contents: Contents,
    rng: StdRng,
    /// How many distinct states runs could leave.
    states: BTreeMap<Choice, usize>,
    /// How many of them the next run met.
    met: usize,
}

/// A run that came to its end.
struct Run<'a> {
    args: &'a [&'a str],
    to: Disk,
    history: History,
}

impl Site {
    fn new(fixture: Fixture, folder: &Path) -> Self {
        Self {
            folder: fs::canonicalize(folder).unwrap(),
            killer: Killer::new(fixture),
            contents: Contents::default(),
            rng: StdRng::seed_from_u64(9),
            states: BTreeMap::new(),
            met: 0,
        }
    }

    fn disk(&mut self) -> Disk {
        Disk::read(&self.folder, &mut self.contents)
    }

    /// Runs the tool on a state and records it.
    #[track_caller]
    fn run<'a>(&mut self, from: &Disk, args: &'a [&str]) -> Run<'a> {
        from.write(&self.folder, &self.contents);
        let calls = record(self.killer.fixture.command(args), &self.folder);
        let history = History::new(&self.folder, from, &calls, &mut self.contents);
        let to = self.disk();
        let replayed = history.undisturbed().last().unwrap();
        let lost = to.differences(&replayed);
        assert!(lost.is_empty(), "{args:?}: not recorded: {lost:?}");
        Run { args, to, history }
    }

    /// Checks all that a power failure can leave of a run. Of each choice that a kill has not, one state is returned.
    #[track_caller]
    fn check(&mut self, run: &Run<'_>, check: impl Fn(&Disk) -> Result<(), String>) -> Vec<Left> {
        let Run { args, history, .. } = run;
        let mut problems = Vec::new();
        let mut some = BTreeMap::<_, (usize, Left)>::new();
        unsynced::each(history, |left| {
            if let Err(problem) = check(&left.disk) {
                problems.push(format!("{problem}: {}", left.how));
            }
            let count = some.get(&left.choice).map_or(1, |(count, _)| count + 1);
            // Each state is as likely as any other of its choice.
            if self.rng.random_range(0..count) == 0 {
                some.insert(left.choice, (count, left));
            } else if let Some(found) = some.get_mut(&left.choice) {
                found.0 = count;
            }
        });
        for (choice, (count, _)) in &some {
            *self.states.entry(*choice).or_default() += count;
        }
        let count: usize = some.values().map(|(count, _)| count).sum();
        println!("{args:?}: {} steps, {count} states", history.steps.len());
        let wrong = problems.len();
        let shown = problems.sample(&mut self.rng, 5).cloned();
        let shown = shown.collect::<Vec<_>>().join("\n");
        assert!(wrong == 0, "{args:?}: {wrong} of {count} states:\n{shown}");
        let some = some.into_values().map(|(_, left)| left);
        some.filter(|left| ![Choice::Nothing, Choice::Everything].contains(&left.choice))
            .collect()
    }

    /// The next run on what is left succeeds, and has the folder be like `to`; git's files may differ.
    #[track_caller]
    fn meet(&mut self, left: &Left, args: &[&str], to: &Disk) {
        left.disk.write(&self.folder, &self.contents);
        let output = self.killer.command(args).output().unwrap();
        let transcript = self.killer.fixture.transcript(&output);
        assert!(output.status.success(), "{}: {transcript}", left.how);
        let mut differences = self.disk().differences(to);
        differences.retain(|path| !path.starts_with(EDITED));
        assert!(differences.is_empty(), "{}: {differences:?}", left.how);
        self.met += 1;
    }

    /// `apply` or `remove`, and what a power failure leaves of it.
    #[track_caller]
    fn apply(&mut self, from: &Disk, args: &[&str]) -> Disk {
        let run = self.run(from, args);
        let pair = |disk: &Disk| [MANIFEST, LOCK].map(|name| disk.file(name));
        let killed = run.history.undisturbed().map(|disk| (pair(&disk), disk));
        let killed: BTreeMap<_, _> = killed.collect();
        let states = [from, &run.to].map(|state| (state, self.named(state)));
        let check = |disk: &Disk| {
            let like = states.iter();
            let like = like.filter(|(state, _)| state.file(MANIFEST) == disk.file(MANIFEST));
            let (like, trees): (Vec<_>, Vec<_>) = like.cloned().unzip();
            let Some(trees) = trees.first() else {
                return Err("neither the old manifest nor the new one".to_owned());
            };
            if let Some(half) = half(disk, &like, trees.iter().map(String::as_str)) {
                return Err(half);
            }
            let locks = [from, &run.to].map(|state| state.file(LOCK));
            if !locks.contains(&disk.file(LOCK)) {
                return Err("neither the old lock file nor the new one".to_owned());
            }
            if !killed.contains_key(&pair(disk)) {
                return Err("a manifest and a lock file that no kill leaves".to_owned());
            }
            let is_other =
                |path: &str| !path.starts_with(TREES) && ![MANIFEST, LOCK].contains(&path);
            match disk.part(is_other).differences(&from.part(is_other)).pop() {
                Some(path) => Err(format!("{path} differs")),
                None => Ok(()),
            }
        };
        for left in self.check(&run, check) {
            let is_removed = args == ["remove"] && pair(&left.disk) == pair(&run.to);
            match is_removed {
                true => self.meet(&left, &["apply", "demo"], from),
                false => self.meet(&left, args, &run.to),
            }
        }
        for (files, disk) in killed {
            // Between the manifest and the lock file. What cargo does first, in any build, ends it.
            disk.write(&self.folder, &self.contents);
            let args = ["metadata", "--offline", "--format-version", "1"];
            self.killer.fixture.cargo(&args);
            let now = pair(&self.disk());
            let ended = [from, &run.to].map(pair).contains(&now);
            assert!(ended, "cargo does not end {files:?}");
        }
        run.to
    }

    /// The trees that a state's manifest names.
    fn named(&self, state: &Disk) -> Vec<String> {
        let manifest: Content = state.file(MANIFEST).unwrap();
        let text = str::from_utf8(&self.contents.file(manifest).bytes).unwrap();
        let quoted = text.split('"').filter(|part| part.starts_with(TREES));
        quoted.map(str::to_owned).collect()
    }

    /// There were so many states, by each choice.
    #[track_caller]
    fn assert_tried(&self, states: usize, met: usize) {
        let all: usize = self.states.values().sum();
        println!("{all} states: {:?}; {} met", self.states, self.met);
        assert!(all >= states && self.met >= met);
        assert_eq!(self.states.len(), Choice::ALL);
    }
}

/// The first of `places` at which a state is like none of the others.
fn half<'a>(
    disk: &Disk,
    others: &[&Disk],
    mut places: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let is_like = |place, other: &&Disk| disk.at(place) == other.at(place);
    let half = places.find(|place| !others.iter().any(|other| is_like(place, other)));
    half.map(|place| format!("half of {place}"))
}

#[test]
fn apply_and_remove_after_a_power_failure() {
    let fixture = Fixture::new();
    let prover = fixture.prover();
    let mut site = Site::new(fixture, &prover);
    let nothing = site.disk();
    let demo = site.apply(&nothing, &["apply", "demo"]);
    let stacked = site.apply(&demo, &["apply", "stacked"]);
    assert!(site.apply(&stacked, &["apply", "demo"]) == demo);
    // A colleague has cloned it.
    let cloned = demo.part(|path| !path.starts_with(TREES));
    assert!(site.apply(&cloned, &["apply"]) == demo);
    // An editor has left it: a tree to be replaced under its name.
    let mut edited = demo.clone();
    let is_file = |path: &&String| path.starts_with(TREES) && path.ends_with("/src/lib.rs");
    let file = demo.0.keys().find(is_file).unwrap();
    let text = site.contents.number(b"//! Nothing.\n".to_vec(), 0o100644);
    edited.0.insert(file.clone(), Some(text));
    assert!(site.apply(&edited, &["apply"]) == demo);
    assert!(site.apply(&demo, &["remove"]) == nothing);
    site.assert_tried(3000, 30);
}

/// Each entry is old or new, and the provenance comes last.
#[test]
fn overlay_after_a_power_failure() {
    let fixture = with_other(Fixture::new());
    let prover = fixture.prover();
    let mut site = Site::new(fixture, &prover);
    let mut from = site.disk();
    for name in ["demo", "stacked", "other"] {
        let args = ["overlay", "--out", "overlay", name];
        let run = site.run(&from, &args);
        let check = |disk: &Disk| {
            let states = [&from, &run.to];
            let found = states.into_iter().chain([disk]).flat_map(entries);
            if let Some(half) = half(disk, &states, found) {
                return Err(half);
            }
            let provenance = "overlay/provenance.json";
            let is_new = disk.file(provenance) == run.to.file(provenance);
            let mut new = entries(&run.to).into_iter();
            match is_new && !new.all(|entry| run.to.at(entry) == disk.at(entry)) {
                true => Err("a provenance before the rest".to_owned()),
                false => Ok(()),
            }
        };
        for left in site.check(&run, check) {
            site.meet(&left, &args, &run.to);
        }
        from = run.to;
    }
    site.assert_tried(2000, 15);
}

/// The entries of the overlay, but for what is unfinished, and what else there is.
fn entries(disk: &Disk) -> BTreeSet<&str> {
    let paths = disk.0.keys().map(String::as_str);
    let entries = paths.filter_map(|path| match path.strip_prefix("overlay/") {
        Some(below) => {
            let name = below.split('/').next().unwrap();
            let entry = &path[..path.len() - below.len() + name.len()];
            (name != ".tmp-overlay").then_some(entry)
        }
        None => (path != "overlay").then_some(path),
    });
    entries.collect()
}

/// Each file is old or new, and the patch comes before its kernel.
#[test]
fn refresh_after_a_power_failure() {
    let fixture = Fixture::new().with_crates();
    fixture.succeed(&["edit", "demo"]);
    let project = fixture.project();
    let mut site = Site::new(fixture, &project);
    let edit = |file: &str, from: &str, to: &str| {
        let path = project.join(EDITED).join("demo/goldilocks/src").join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace(from, to)).unwrap();
    };
    // The patch changes with the kernel.
    edit("demo.rs", "Twice `x`", "Two times `x`");
    edit("lib.rs", "mod demo;", "// Two times.\nmod demo;");
    let from = site.disk();
    let args = ["refresh", "demo"];
    let run = site.run(&from, &args);
    let [patch, kernel] = ["patches/0.8.0/demo.patch", "crates/demo/src/demo.rs"];
    for file in [patch, kernel] {
        assert_ne!(from.file(file), run.to.file(file), "{file}");
    }
    let check = |disk: &Disk| {
        let states = [&from, &run.to];
        let all = states.into_iter().chain([disk]).flat_map(|state| &state.0);
        let files = all.filter(|(path, content)| content.is_some() && !path.starts_with(TREES));
        if let Some(half) = half(disk, &states, files.map(|(path, _)| path.as_str())) {
            return Err(half);
        }
        let is_new = |file: &str| disk.file(file) == run.to.file(file);
        match is_new(kernel) && !is_new(patch) {
            true => Err("a kernel before its patch".to_owned()),
            false => Ok(()),
        }
    };
    for left in site.check(&run, check) {
        site.meet(&left, &args, &run.to);
    }
    site.assert_tried(100, 5);
}
