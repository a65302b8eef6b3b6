//! kill -9 at random moments of a run: what is on disk is the old state or the new one, and the next run succeeds.
//!
//! A run takes less than a tenth of a second: what cargo says is kept from the first time, and a stand-in for it says it again.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::fixture::{DEMO, Fixture, MANIFEST, adds, git, record_head, write};
use crate::from_git::GitUser;

/// The moments at which each command is killed: `KILLS` says how many, as the stage `killed` does every week.
fn kills() -> usize {
    env::var("KILLS").map_or(25, |kills| kills.parse().unwrap())
}

/// Contents by path below a folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The files below `dir`.
pub fn files(dir: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_str().unwrap();
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Has `dir` hold these files and nothing else.
fn put(dir: &Path, files: &Files) {
    let _ = fs::remove_dir_all(dir);
    for (name, contents) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }
}

fn script(path: &Path, text: &str) {
    write(path, &format!("#!/bin/sh\n{text}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// How a run is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// With everything that it has started.
    Group,
    /// Alone. What it has started comes to its end before anybody looks.
    Alone,
    /// Alone, and the next run meets what it has started.
    AndGoOn,
}

/// Runs that are killed at moments of a seeded choice: half of them over the whole time that such a run takes, half of them
/// about its end, where it writes.
pub struct Killer {
    pub fixture: Fixture,
    rng: StdRng,
    /// How long a run takes, by the last ones that came to their end.
    duration: Duration,
    /// Runs that had not come to their end.
    hits: usize,
}

impl Killer {
    pub fn new(fixture: Fixture) -> Self {
        let memo = fixture.path().join("memo");
        fs::create_dir(&memo).unwrap();
        let cargo = format!(
            r#"key=$( {{ printf '%s\n' "$@"; pwd | sed 's/[.]tmp-.*//'; cat Cargo.toml Cargo.lock; }} 2>/dev/null | cksum | tr ' ' -)
memo={memo}/$key
[ "$1" = build ] && exec {memo}.build "$@"
if [ ! -e "$memo.out" ]; then
    unset RUSTC
    {cargo} "$@" >"$memo.$$" 2>"$memo.err"
    echo $? >"$memo.code"
    cp Cargo.lock "$memo.lock" 2>/dev/null
    mv "$memo.$$" "$memo.out"
fi
cmp -s "$memo.lock" Cargo.lock || cp "$memo.lock" Cargo.lock
cat "$memo.err" >&2
cat "$memo.out"
exit "$(cat "$memo.code")"
"#,
            memo = memo.display(),
            cargo = env!("CARGO"),
        );
        script(&fixture.path().join("cargo"), &cargo);
        Self {
            fixture,
            rng: StdRng::seed_from_u64(6),
            duration: Duration::ZERO,
            hits: 0,
        }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.fixture.command(args);
        command
            .env("CARGO", self.fixture.path().join("cargo"))
            .env("RUSTC", self.fixture.path().join("rustc"))
            .stdin(Stdio::null())
            .process_group(0);
        command
    }

    /// A run that has to succeed.
    #[track_caller]
    fn succeed(&mut self, args: &[&str], after: &str) {
        let start = Instant::now();
        let output = self.command(args).output().unwrap();
        let transcript = self.fixture.transcript(&output);
        assert!(output.status.success(), "{after}: {transcript}");
        self.duration = (self.duration * 7 + start.elapsed()) / 8;
    }

    /// Starts a run and kills it; says how and when.
    fn kill(&mut self, args: &[&str]) -> (Kill, String) {
        let share = match self.rng.random() {
            true => self.rng.random_range(0.0..1.0),
            false => self.rng.random_range(0.8..1.1),
        };
        let moment = self.duration.mul_f64(share);
        let kill = [Kill::Group, Kill::Alone, Kill::AndGoOn][self.rng.random_range(0..3)];
        let mut command = self.command(args);
        let mut child = (command.stdout(Stdio::null()).stderr(Stdio::null()))
            .spawn()
            .unwrap();
        thread::sleep(moment);
        let ended = child.try_wait().unwrap().is_some();
        self.hits += usize::from(!ended);
        let send = |signal, to: &[String]| {
            let mut kill = Command::new("kill");
            kill.args([signal, "--"]).args(to);
            kill.stderr(Stdio::null()).status().unwrap()
        };
        // A stopped tool starts nothing more.
        send("-STOP", &[child.id().to_string()]);
        let groups = groups_of(child.id());
        match kill {
            Kill::Group => {
                let groups = groups.iter().map(|group| format!("-{group}"));
                let killed = send("-KILL", &groups.collect::<Vec<_>>());
                assert!(killed.success() || ended);
            }
            Kill::Alone | Kill::AndGoOn => child.kill().unwrap(),
        }
        child.wait().unwrap();
        if !matches!(kill, Kill::AndGoOn) {
            let start = Instant::now();
            while groups.iter().any(|group| runs(group)) {
                let alive = start.elapsed() < Duration::from_secs(10);
                assert!(alive, "a process is left behind");
                thread::sleep(Duration::from_millis(1));
            }
        }
        (kill, format!("{kill:?} after {moment:?} of {args:?}"))
    }

    /// The kills were spread over runs, not over what comes after them. Of few, chance may have fewer hit, and find one state.
    fn assert_spread(&self, found: &BTreeMap<&str, usize>) {
        println!("{} of {} kills hit a run, {found:?}", self.hits, kills());
        let many = kills() >= 100;
        let least = kills() / if many { 2 } else { 3 };
        assert!(self.hits >= least, "only {} runs were hit", self.hits);
        let both = found.contains_key("old") && found.contains_key("new");
        assert!(both || !many, "{found:?}");
    }
}

/// The group that a process leads, and those of its children.
fn groups_of(process: u32) -> Vec<String> {
    let mut ps = Command::new("ps");
    let output = ps.args(["-A", "-o", "ppid=,pgid="]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let processes = String::from_utf8(output.stdout).unwrap();
    let process = process.to_string();
    let children = processes.lines().map(str::split_whitespace);
    let children = children.filter_map(|mut child| (child.next()? == process).then_some(child));
    let groups = children.filter_map(|mut child| child.next().map(str::to_owned));
    [process.clone()].into_iter().chain(groups).collect()
}

/// Whether a group of processes has one that runs. A zombie has come to its end, and there are inits that look for them once a
/// second.
pub fn runs(group: &str) -> bool {
    let mut ps = Command::new("ps");
    let output = ps.args(["-A", "-o", "pgid=,stat="]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let processes = String::from_utf8(output.stdout).unwrap();
    let mut processes = processes.lines().map(str::split_whitespace);
    processes.any(|mut process| {
        process.next() == Some(group) && !process.next().unwrap().starts_with('Z')
    })
}

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
    // As an editor has left it: the same names, and a tree to be replaced.
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

/// With a patch `other`, to another package than the others.
pub fn with_other(fixture: Fixture) -> Fixture {
    let header = DEMO.split_once("diff --git").unwrap().0;
    let header = header
        .replace("p3-goldilocks, p3-symmetric", "p3-koala-bear")
        .replace("Kernels: goldilocks/src/demo.rs\n", "");
    let diff = adds("koala-bear/tests/other.rs", "//! Nothing.\n");
    write(
        &fixture.patch("other"),
        &format!("{header}{diff}-- \np3-patches\n"),
    );
    let series = fixture.project().join("patches/series");
    write(&series, "demo\nstacked needs: demo\nother\n");
    fixture
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

/// A patch and a kernel file of its crate, which `refresh` writes from what `edit` opened.
#[test]
fn refresh_killed_at_any_moment() {
    let mut killer = Killer::new(Fixture::new().with_crates());
    killer.succeed(&["edit", "demo"], "at first");
    let project = killer.fixture.project();
    let repository = project.join(".p3-patches/edit/demo");
    let edited = repository.join("goldilocks/src/demo.rs");
    let kernel = fs::read_to_string(&edited).unwrap();
    // The patch changes with the kernel.
    let wiring = repository.join("goldilocks/src/lib.rs");
    let module = fs::read_to_string(&wiring).unwrap();
    let edit = |comment: &str| {
        write(&edited, &kernel.replace("Twice `x`", comment));
        write(
            &wiring,
            &module.replace("mod demo;", &format!("// {comment}\nmod demo;")),
        );
    };
    let state = || {
        let mut state = files(&project.join("patches"));
        state.extend(files(&project.join("crates")));
        state
    };
    let [old, new] = ["Twice `x`", "Two times `x`"].map(|comment| {
        edit(comment);
        killer.succeed(&["refresh", "demo"], "at first");
        state()
    });
    assert_ne!(old, new);

    let mut found = BTreeMap::new();
    for number in 0..kills() {
        let (from, comment, to) = match number % 2 {
            0 => (&new, "Twice `x`", &old),
            _ => (&old, "Two times `x`", &new),
        };
        edit(comment);
        let (kill, what) = killer.kill(&["refresh", "demo"]);
        if !matches!(kill, Kill::AndGoOn) {
            let now = state();
            let which = if now == *from {
                "old"
            } else if now == *to {
                "new"
            } else {
                // Between two files, each of which is whole. The patch is first.
                let kernel = "demo/src/demo.rs";
                let mut between = to.clone();
                between.insert(kernel.to_owned(), from[kernel].clone());
                assert!(now == between, "{what}: a third state");
                "between"
            };
            *found.entry(which).or_default() += 1;
        }
        killer.succeed(&["refresh", "demo"], &what);
        assert!(state() == *to, "{what}");
        let left = files(&project.join(".p3-patches")).into_keys();
        let left = left.filter(|name| !name.starts_with("edit/demo/"));
        let left = left.collect::<Vec<_>>();
        assert_eq!(left, [".gitignore", ".lock"], "{what}");
    }
    killer.assert_spread(&found);
    // Git works for the user as before.
    assert!(!repository.join(".git/index.lock").exists());
}

/// The project, with what a worker is built from, and stand-ins for what builds and what runs: both workers are shell
/// scripts. The candidate takes the microseconds that the file `pace` says: a child of the shell answers, and to make one
/// takes longer. The file `builds` lists the options of each build, after the folder that it builds in; a build in the
/// folder that the file `lost` names forgets its trees.
pub fn with_workers(fixture: Fixture) -> Fixture {
    let project = fixture.project();
    write(
        &project.join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"benches\"]\n\n[workspace.dependencies]\np3-goldilocks = \"0.8.0\"\n",
    );
    write(
        &project.join("benches/Cargo.toml"),
        "[package]\nname = \"p3-bench\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\np3-goldilocks.workspace = true\n",
    );
    write(&project.join("benches/src/main.rs"), "fn main() {}\n");
    let path = |name: &str| fixture.path().join(name).display().to_string();
    script(
        &fixture.path().join("rustc"),
        "echo rustc 0.0.0\necho host: machine\n",
    );
    for (side, pace) in [("baseline", "10"), ("candidate", "$(cat PACE)")] {
        let pace = pace.replace("PACE", &path("pace"));
        let worker = format!(
            r#"pace={pace}
while read -r request; do
    case "$request" in
        *list*) echo '{{"rows":[{{"name":"merkle-commit/x/2^4","kind":"merkle-commit","threads":1,"quick":true}}]}}' ;;
        *prepare*) echo '{{"ready":{{"proof":false}}}}' ;;
        *run*) (echo '{{"sample":{{"wall_ns":'$pace'000,"cpu_ns":'$pace'000,"digest":"aa"}}}}') ;;
    esac
done
"#
        );
        script(&fixture.path().join(side), &worker);
    }
    let artifact = r#"artifact() {
    echo '{"reason":"compiler-artifact","package_id":"p","manifest_path":"'"$1"'/Cargo.toml","target":{"kind":["lib"],'\
        '"crate_types":["lib"],"name":"p","src_path":"/p","edition":"2024","doctest":false,"test":false,"doc":false},'\
        '"profile":{"opt_level":"3","debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":false},'\
        '"features":[],"filenames":[],"executable":'"$2"',"fresh":true}'
}
for word in "$@"; do
    case "$word" in
        */base | */need) side=BASELINE folder=${word##*/} ;;
        */cand) side=CANDIDATE folder=cand ;;
    esac
done
echo "$folder $*" >>BUILDS
for word in "$@"; do
    case "$folder $word" in
        "$(cat LOST 2>/dev/null) "*) ;;
        *" patch."*) tree=${word#*path=?}; artifact "${tree%?}" null ;;
    esac
done
artifact /worker "\"$side\""
"#;
    let artifact = artifact.replace("BUILDS", &path("builds"));
    let artifact = artifact.replace("LOST", &path("lost"));
    let artifact = artifact.replace("BASELINE", &path("baseline"));
    let artifact = artifact.replace("CANDIDATE", &path("candidate"));
    script(&fixture.path().join("memo.build"), &artifact);
    fixture
}

/// Files that a user names, and a record, which is one file.
#[test]
fn ab_killed_at_any_moment() {
    const AB: [&str; 9] = [
        "ab", "demo", "--record", "--json", "ab.json", "--seeds", "2", "--reps", "1",
    ];
    let mut killer = Killer::new(with_workers(Fixture::new().with_crates()));
    let records = killer.fixture.project().join("benches/record");
    let named = ["ab.json", "ab.csv"].map(|name| killer.fixture.prover().join(name));
    let pace = killer.fixture.path().join("pace");
    // The record, but for its time, and what it names.
    let state = || {
        let untimed = |contents: Vec<u8>| {
            let text = String::from_utf8(contents).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with("# time"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let mut recorded: Vec<_> = files(&records).into_values().map(untimed).collect();
        recorded.sort();
        let named = (named.iter())
            .filter_map(|path| Some((path.to_str()?.to_owned(), fs::read(path).ok()?)));
        (recorded, named.collect::<Files>())
    };
    // Each run adds a record and replaces the named files.
    let none = (state(), Files::new());
    let [one, two, three] = ["8", "6", "8"].map(|microseconds| {
        write(&pace, microseconds);
        killer.succeed(&AB, "at first");
        (state(), files(&records))
    });
    assert_eq!((one.1.len(), two.1.len(), three.1.len()), (1, 2, 3));
    assert_eq!(one.0.1, three.0.1);
    assert!(one.0.1 != two.0.1);

    let mut found = BTreeMap::new();
    for number in 0..kills() {
        let ((from, recorded), microseconds, (to, _)) = match number % 3 {
            0 => (&none, "8", &one),
            1 => (&one, "6", &two),
            _ => (&two, "8", &three),
        };
        put(&records, recorded);
        for path in &named {
            let _ = fs::remove_file(path);
        }
        for (path, contents) in &from.1 {
            fs::write(path, contents).unwrap();
        }
        write(&pace, microseconds);
        let (kill, what) = killer.kill(&AB);
        if !matches!(kill, Kill::AndGoOn) {
            let (record, named) = state();
            assert!(record == from.0 || record == to.0, "{what}: a third record");
            for (path, contents) in &named {
                let known = [from, to].map(|state| state.1.get(path));
                assert!(known.contains(&Some(contents)), "{what}: a third {path}");
            }
            let which = match (named == from.1, named == to.1) {
                (true, _) if record == from.0 => "old",
                (_, true) if record == to.0 => "new",
                _ => "between",
            };
            *found.entry(which).or_default() += 1;
            put(&records, recorded);
        }
        killer.succeed(&AB, &what);
        let (record, named) = state();
        // A run that went on when the tool was killed alone may have filed its own.
        assert!(to.0.iter().all(|file| record.contains(file)), "{what}");
        assert!(named == to.1, "{what}");
        let hidden = files(&killer.fixture.prover()).into_keys();
        let hidden = hidden.filter(|name| name.contains(".part"));
        assert_eq!(hidden.count(), 0, "{what}");
        let copies = fs::read_dir(killer.fixture.path()).unwrap();
        let copies = copies.map(|entry| entry.unwrap().file_name());
        let copies = copies.filter(|name| name.to_string_lossy().contains("copies"));
        assert_eq!(copies.count(), 0, "{what}");
    }
    killer.assert_spread(&found);
}

/// The newest record is shown. One of a time that has not come would hide all that follow.
#[test]
fn a_record_of_a_later_day_is_refused() {
    let killer = Killer::new(with_workers(Fixture::new().with_crates()));
    let later = killer.fixture.project();
    let later = later.join("benches/record/0.8.0/machine-native/series/2999-01-01-cpu.csv");
    write(&later, &record_head("", "2999-01-01", "a", "native"));
    let output = killer
        .command(&["ab", "demo", "--record"])
        .output()
        .unwrap();
    let transcript = killer.fixture.transcript(&output);
    let expected = "exit 4\n--- stdout\n--- stderr\nerror: benches/record/0.8.0/machine-native/series/2999-01-01-cpu.csv: \
                    recorded after now, which is ";
    assert!(transcript.starts_with(expected), "{transcript}");
    fs::remove_file(later).unwrap();
    write(&killer.fixture.path().join("pace"), "8");
    let output = killer
        .command(&["ab", "demo", "--record"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        killer.fixture.transcript(&output)
    );
}
