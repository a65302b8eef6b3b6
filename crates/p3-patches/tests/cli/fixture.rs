//! A project with two patches and a prover that depends on Plonky3.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The tool whose tests these are. The maintainers' tool has the users' commands, too.
pub const TOOL: &str = {
    let tools = [
        option_env!("CARGO_BIN_EXE_xtask"),
        option_env!("CARGO_BIN_EXE_p3-patches"),
    ];
    match tools {
        [Some(tool), _] | [None, Some(tool)] => tool,
        [None, None] => panic!("cargo names the tool of the package that it tests"),
    }
};

/// Where cargo keeps what it knows of the compiler, for all provers: without it, each run of cargo asks the compiler twice.
const BUILD_DIR: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/cli");

pub const DEMO: &str = include_str!("../fixtures/demo.patch");
pub const STACKED: &str = include_str!("../fixtures/stacked.patch");

/// Returns the patch `demo` with a file of p3-keccak, too.
#[allow(dead_code, reason = "tests of one tool use it")]
pub fn demo_with_keccak() -> String {
    let note = "diff --git a/keccak/src/note.rs b/keccak/src/note.rs\nnew file mode 100644\nindex 0000000..b1d7a09\n\
                --- /dev/null\n+++ b/keccak/src/note.rs\n@@ -0,0 +1 @@\n+//! A note.\ndiff --git a/symmetric";
    DEMO.replace(
        "p3-goldilocks, p3-symmetric",
        "p3-goldilocks, p3-keccak, p3-symmetric",
    )
    .replacen("diff --git a/symmetric", note, 1)
}

/// The kernel that the patch `demo` names.
pub const KERNEL: &str = include_str!("../fixtures/demo.rs");

/// An architecture that is not this machine's.
pub const FOREIGN: &str = if cfg!(target_arch = "aarch64") {
    "x86_64"
} else {
    "aarch64"
};

/// The prover's manifest; its comments and its order have to survive.
pub const MANIFEST: &str = "\
# A prover.
[package]
name = \"prover\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
p3-goldilocks = \"0.8\" # any 0.8 will do
";

pub struct Fixture {
    dir: TempDir,
}

impl Fixture {
    /// `project/`, with the patch `demo` and, on top of it, `stacked`; `prover/`, resolved against the registry.
    pub fn new() -> Self {
        let fixture = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let project = fixture.project();
        write(
            &project.join("patches/series"),
            "demo\nstacked needs: demo\n",
        );
        write(&fixture.patch("demo"), DEMO);
        write(&fixture.kernel(), KERNEL);
        write(&fixture.patch("stacked"), STACKED);
        for file in ["Cargo.lock", "patches/SHA256SUMS"] {
            fs::copy(repository().join(file), project.join(file)).unwrap();
        }
        fixture.set_manifest(MANIFEST);
        write(
            &fixture.prover().join("src/lib.rs"),
            "pub use p3_goldilocks::Goldilocks;\n",
        );
        fixture.relock();
        fixture
    }

    /// Adds the crates and benches that `check` asks for.
    #[allow(dead_code, reason = "tests of one tool use it")]
    pub fn with_crates(self) -> Self {
        let readme = "<!-- p3:generated:begin, written by `cargo p3 report` -->\n<!-- p3:generated:end -->\n";
        for name in ["demo", "stacked"] {
            let dir = self.project().join("crates").join(name);
            write(&dir.join("README.md"), readme);
            write(
                &dir.join("Cargo.toml"),
                &format!("[package]\nname = \"{name}\"\n"),
            );
            write(&dir.join("src/lib.rs"), "");
            write(
                &self.project().join("benches").join(format!("{name}.rs")),
                "",
            );
        }
        write(&self.project().join("README.md"), readme);
        write(&self.project().join("docs/results.md"), readme);
        write(&self.project().join("docs/tool.md"), readme);
        self.succeed(&["report"]);
        self
    }

    /// Ports the patch `demo` to 0.4.0, as another change but with the same kernel, and locks the prover to that release.
    pub fn with_older_base(self) -> Self {
        let two_bases = |patch: &str| patch.replace("Bases: 0.8.0", "Bases: 0.8.0, 0.4.0");
        write(&self.patch("demo"), &two_bases(DEMO));
        let older = (two_bases(DEMO).replace("p3-goldilocks, p3-symmetric", "p3-util"))
            .replace("goldilocks/src/demo.rs", "util/src/demo.rs");
        let (header, _) = older.split_once("diff --git").unwrap();
        write(
            &self.project().join("patches/0.4.0/demo.patch"),
            &format!("{header}-- \np3-patches\n"),
        );
        self.set_manifest(&MANIFEST.replace("p3-goldilocks = \"0.8\"", "p3-util = \"0.4\""));
        write(&self.prover().join("src/lib.rs"), "");
        let checksums = fs::read_to_string(self.checksums()).unwrap();
        let util = "14dbdddb7799824ce5cdb398ba23d3d5a161f170e36f834144d900795bd35722  p3-util-0.4.0.crate\n";
        write(&self.checksums(), &(checksums + util));
        // Twice: `--precise` holds for a release of the major version that is locked, which is another one before this.
        self.cargo(&["fetch"]);
        self.cargo(&["update", "--precise", "0.4.0", "p3-util"]);
        self.cargo(&["fetch"]);
        self
    }

    /// Makes the patch `stacked` one for another architecture, which its diff names.
    pub fn with_stacked_foreign(self) -> Self {
        let field = format!("Needs: demo\nArchitectures: {FOREIGN}\n");
        let comment = format!("/// Twice `x`, but on {FOREIGN}.");
        let text = STACKED.replace("Needs: demo\n", &field).replace(
            " /// Twice `x`.\n",
            &format!("-/// Twice `x`.\n+{comment}\n"),
        );
        write(&self.patch("stacked"), &text);
        self
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    pub fn patch(&self, name: &str) -> PathBuf {
        self.project()
            .join("patches/0.8.0")
            .join(format!("{name}.patch"))
    }

    /// The checksums of Plonky3's packages.
    pub fn checksums(&self) -> PathBuf {
        self.project().join("patches/SHA256SUMS")
    }

    pub fn prover(&self) -> PathBuf {
        self.path().join("prover")
    }

    /// The text of the kernel that the patch `demo` names.
    pub fn kernel(&self) -> PathBuf {
        self.project().join("crates/demo/src/demo.rs")
    }

    pub fn set_manifest(&self, text: &str) {
        write(&self.prover().join("Cargo.toml"), text);
    }

    pub fn manifest(&self) -> String {
        fs::read_to_string(self.prover().join("Cargo.toml")).unwrap()
    }

    pub fn lock(&self) -> String {
        fs::read_to_string(self.prover().join("Cargo.lock")).unwrap()
    }

    /// Locks the prover to the versions that this repository is locked to, and has cargo fetch what is not cached.
    pub fn relock(&self) {
        fs::copy(
            repository().join("Cargo.lock"),
            self.prover().join("Cargo.lock"),
        )
        .unwrap();
        self.cargo(&["fetch"]);
    }

    /// Runs cargo in the prover's folder.
    #[track_caller]
    pub fn cargo(&self, args: &[&str]) {
        let mut command = assert_cmd::Command::new(env!("CARGO"));
        command
            .args(args)
            .current_dir(self.prover())
            .env("CARGO_BUILD_BUILD_DIR", BUILD_DIR)
            .assert()
            .success();
    }

    /// The tool, run in the prover's folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(TOOL);
        command
            .arg("--project")
            .arg(self.project())
            .args(args)
            .current_dir(self.prover());
        // No test may depend on the network once the prover is locked.
        command.env("CARGO_NET_OFFLINE", "true");
        // One folder for all provers would be locked by one test at a time.
        command.env_remove("CARGO_TARGET_DIR");
        command.env("CARGO_BUILD_BUILD_DIR", BUILD_DIR);
        command
    }

    /// Returns a command as [`Fixture::command`] does, in which cargo may fetch: packages that the tool builds or tests with, and the prover
    /// does not need.
    pub fn fetching(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env_remove("CARGO_NET_OFFLINE");
        command
    }

    /// The part of a run that a user sees: exit code, stdout, stderr, without what differs from run to run.
    pub fn run(&self, args: &[&str]) -> String {
        self.transcript(&self.command(args).output().unwrap())
    }

    /// A home for cargo with a copy of the registry's index and links to what is cached, but for packages whose files begin with
    /// `prefix`.
    pub fn home_without(&self, prefix: &str) -> PathBuf {
        let home = self.path().join("cargo-home");
        let (from, to) = (cargo_home().join("registry"), home.join("registry"));
        fs::create_dir_all(to.join("src")).unwrap();
        // A link to a whole folder would have cargo write there what it learns of other registries.
        for registry in fs::read_dir(from.join("src")).unwrap() {
            let registry = registry.unwrap();
            symlink(registry.path(), to.join("src").join(registry.file_name())).unwrap();
        }
        // Another cargo may write to the index, which this lock keeps it from.
        let lock = File::create(cargo_home().join(".package-cache")).unwrap();
        lock.lock().unwrap();
        for (file, contents) in files(&from.join("index")) {
            let copy = to.join("index").join(file);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, contents).unwrap();
        }
        lock.unlock().unwrap();
        for registry in fs::read_dir(from.join("cache")).unwrap() {
            let registry = registry.unwrap();
            let linked = to.join("cache").join(registry.file_name());
            fs::create_dir_all(&linked).unwrap();
            for package in fs::read_dir(registry.path()).unwrap() {
                let package = package.unwrap();
                if !package.file_name().to_string_lossy().starts_with(prefix) {
                    symlink(package.path(), linked.join(package.file_name())).unwrap();
                }
            }
        }
        home
    }

    /// Runs the tool as [`Fixture::run`] does; the run has to succeed.
    #[track_caller]
    pub fn succeed(&self, args: &[&str]) -> String {
        let run = assert_cmd::Command::from_std(self.command(args))
            .assert()
            .success();
        self.transcript(run.get_output())
    }

    /// Runs the last command that a transcript's hint names, which has to succeed, and returns what it prints.
    #[track_caller]
    #[allow(dead_code, reason = "tests of one tool use it")]
    pub fn follow_hint(&self, transcript: &str) -> String {
        let (_, hint) = transcript.split_once("\nhint: ").expect(transcript);
        let quoted = hint.split('`').skip(1).step_by(2);
        let is_command = |text: &&str| text.starts_with("cargo ") || text.starts_with("for ");
        let command = quoted.filter(is_command).last().expect(transcript);
        let dir = fs::canonicalize(self.path()).unwrap();
        let command = command.replace("[DIR]", dir.to_str().unwrap());
        if let Some(args) = command.strip_prefix("cargo p3 ") {
            return self.succeed(&args.split(' ').collect::<Vec<_>>());
        }
        let shell = format!(
            "set -e; cargo() {{ '{}' \"$@\"; }}; {command}",
            env!("CARGO")
        );
        let run = assert_cmd::Command::new("sh")
            .args(["-c", &shell])
            .current_dir(self.prover())
            .env("CARGO_BUILD_BUILD_DIR", BUILD_DIR)
            .assert()
            .success();
        self.transcript(run.get_output())
    }

    pub fn transcript(&self, output: &Output) -> String {
        let text = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output
                .status
                .code()
                .map_or("by signal".to_owned(), |code| code.to_string()),
            String::from_utf8_lossy(&output.stdout),
            without_progress(&String::from_utf8_lossy(&output.stderr))
        );
        let dir = fs::canonicalize(self.path()).unwrap();
        let text = text
            .replace(dir.to_str().unwrap(), "[DIR]")
            .replace(self.path().to_str().unwrap(), "[DIR]");
        redact_hashes(&text)
    }

    /// The tree of `package` that is on disk; there has to be one.
    pub fn tree(&self, package: &str) -> PathBuf {
        let trees = fs::canonicalize(self.prover())
            .unwrap()
            .join(".p3-patches/0.8.0");
        let mut trees = fs::read_dir(trees)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        trees
            .find(|path| {
                path.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with(package)
            })
            .unwrap()
    }

    /// Names in the prover's folder that unfinished work would leave, there or below.
    #[allow(dead_code, reason = "tests of one tool use it")]
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in [self.prover(), self.prover().join(".p3-patches")] {
            let Ok(entries) = fs::read_dir(dir) else {
                continue;
            };
            let paths = entries.map(|entry| entry.unwrap().path());
            found.extend(paths.filter(|path| {
                path.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with(".tmp")
            }));
        }
        found
    }

    /// Returns the prover's manifest and lock file.
    #[allow(dead_code, reason = "tests of one tool use it")]
    pub fn state(&self) -> (String, String) {
        (self.manifest(), self.lock())
    }

    /// Tells whether cargo can resolve the prover as it is, without writing anything.
    #[allow(dead_code, reason = "tests of one tool use it")]
    pub fn resolves(&self) -> bool {
        let args = ["metadata", "--offline", "--format-version", "1"];
        let lock = self.lock();
        let output = Command::new(env!("CARGO"))
            .args(args)
            .current_dir(self.prover())
            .output()
            .unwrap();
        write(&self.prover().join("Cargo.lock"), &lock);
        output.status.success()
    }
}

/// Checks the exit code of a run, and that it has printed a text.
#[allow(dead_code, reason = "tests of one tool use it")]
#[track_caller]
pub fn assert_ended(run: &str, code: u8, said: &str) {
    let is_as_expected = run.starts_with(&format!("exit {code}\n")) && run.contains(said);
    assert!(is_as_expected, "{code}, {said}: {run}");
}

/// The patch `demo`, or a variant of it, with the kernel's text in its diff.
pub fn in_diff(demo: &str) -> String {
    let path = "goldilocks/src/demo.rs";
    let (header, diff) = demo.split_once("diff --git ").unwrap();
    let header = header.replace(&format!("Kernels: {path}\n"), "");
    format!("{header}{}diff --git {diff}", adds(path, KERNEL))
}

/// A diff that adds a file.
pub fn adds(path: &str, text: &str) -> String {
    let lines = text.lines().map(|line| format!("+{line}\n"));
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{}",
        text.lines().count(),
        lines.collect::<String>()
    )
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs git in `dir` and returns what it prints.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=tester",
            "-c",
            "user.email=tester@localhost",
        ])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// This repository.
pub fn repository() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"))
            .canonicalize()
            .unwrap();
        let mut above = package.ancestors();
        let root = above.find(|folder| folder.join("patches/series").is_file());
        root.unwrap().to_owned()
    })
}

/// Finds the folder with the files of a package as published, such as `p3-util-0.8.0`.
pub fn published(package: &str) -> PathBuf {
    let registries = fs::read_dir(cargo_home().join("registry/src")).unwrap();
    let mut folders = registries.map(|registry| registry.unwrap().path().join(package));
    folders.find(|folder| folder.is_dir()).unwrap()
}

/// The folder in which cargo keeps its registry.
pub fn cargo_home() -> PathBuf {
    std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::home_dir().unwrap().join(".cargo"),
        PathBuf::from,
    )
}

/// The start of the note on builds for the least CPU, which hangs on the flags that the tests are run with.
pub const LEAST_CPU: &str =
    "note: these figures are of builds that use this CPU's vector instructions";

/// Stderr without the lines on steps of long work, and without [`LEAST_CPU`]: both are up to the machine.
pub fn without_progress(stderr: &str) -> String {
    let lines = stderr.split_inclusive('\n');
    let is_kept = |line: &&str| !line.starts_with("progress: ") && !line.starts_with(LEAST_CPU);
    lines.filter(is_kept).collect()
}

/// Replaces the 12 hex digits that end a tree's name; they change with the tool's version.
pub fn redact_hashes(text: &str) -> String {
    let is_hash =
        |part: &str| part.len() == 12 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut redacted = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        redacted += &if is_hash(word) {
            part.replace(word, "[HASH]")
        } else {
            part.to_owned()
        };
    }
    redacted
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

/// Tells whether a group of processes has one that runs. A zombie has come to its end, and there are inits that look for them
/// once a second.
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
