//! Kills of the tool at random moments, for tests of what it leaves.

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

use crate::fixture::{DEMO, Files, Fixture, adds, runs, write};

/// The moments at which each command is killed: `KILLS` says how many, as the stage `killed` does every week.
pub fn kills() -> usize {
    env::var("KILLS").map_or(25, |kills| kills.parse().unwrap())
}

/// Makes `dir` hold these files and nothing else.
pub fn put(dir: &Path, files: &Files) {
    let _ = fs::remove_dir_all(dir);
    for (name, contents) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }
}

pub fn script(path: &Path, text: &str) {
    write(path, &format!("#!/bin/sh\n{text}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes a cargo that ends one of its subcommands with an error, and does all others.
pub fn refusing_cargo(path: &Path, subcommand: &str, error: &str) {
    let text = format!(
        "if [ \"$1\" = {subcommand} ]; then echo 'error: {error}' >&2; exit 101; fi\nexec '{}' \"$@\"\n",
        env!("CARGO")
    );
    script(path, &text);
}

/// How a run is killed.
#[derive(Clone, Copy, Debug)]
pub enum Kill {
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
    pub fn succeed(&mut self, args: &[&str], after: &str) {
        let start = Instant::now();
        let output = self.command(args).output().unwrap();
        let transcript = self.fixture.transcript(&output);
        assert!(output.status.success(), "{after}: {transcript}");
        self.duration = (self.duration * 7 + start.elapsed()) / 8;
    }

    /// Starts a run and kills it; says how and when.
    pub fn kill(&mut self, args: &[&str]) -> (Kill, String) {
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
    pub fn assert_spread(&self, found: &BTreeMap<&str, usize>) {
        println!("{} of {} kills hit a run, {found:?}", self.hits, kills());
        let many = kills() >= 100;
        let least = kills() / if many { 2 } else { 3 };
        assert!(self.hits >= least, "only {} runs were hit", self.hits);
        let both = found.contains_key("old") && found.contains_key("new");
        assert!(both || !many, "{found:?}");
    }
}

/// The group that a process leads, and those of its children.
pub fn groups_of(process: u32) -> Vec<String> {
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
