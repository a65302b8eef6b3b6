//! kill -9 at random moments of a run: what is on disk is the old state or the new one, and the next run succeeds.
//!
//! A run takes less than a tenth of a second: what cargo says is kept from the first time, and a stand-in for it says it again.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs;

use crate::fixture::{Files, Fixture, files, write};
use crate::killer::{Kill, Killer, kills, put, script};

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

/// A platform with this machine's architecture and system.
pub fn host() -> String {
    let system = if cfg!(target_os = "macos") {
        "apple-darwin"
    } else {
        "unknown-linux-gnu"
    };
    format!("{ARCH}-{system}")
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
        &format!("echo rustc 0.0.0\necho host: {}\n", host()),
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
        */portable) side=TOOL folder=portable ;;
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
    let artifact = artifact.replace("TOOL", env!("CARGO_BIN_EXE_xtask"));
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
        let hidden = hidden.filter(|name| name.contains(".p3-unfinished"));
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
    let later = later.join("benches/record/0.8.0/machine-native/series/2099-01-01-cpu.csv");
    write(&later, &record_head("", "2099-01-01", "a", "native"));
    let output = killer
        .command(&["ab", "demo", "--record"])
        .output()
        .unwrap();
    let transcript = killer.fixture.transcript(&output);
    let expected = "exit 4\n--- stdout\n--- stderr\nerror: benches/record/0.8.0/machine-native/series/2099-01-01-cpu.csv: \
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

/// The head of a record's file, without samples.
pub fn record_head(command: &str, time: &str, cpu: &str, isa: &str) -> String {
    format!(
        "# command = \"{command}\"\n# time = \"{time}\"\n# release = \"0.8.0\"\n# seeds = 2\n# pairs = 1\n# [machine]\n\
         # cpu = \"{cpu}\"\n# cores = 2\n# rustc = \"rustc 1.95.0\"\n# rustflags = \"-C target-cpu={isa}\"\n\
         workload,isa,threads,seed,round,side,wall_ns,cpu_ns\n"
    )
}
