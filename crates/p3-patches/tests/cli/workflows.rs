//! The workflows of this repository: whose code they run, and which of it may write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{git, write};

/// The workflows of this repository, by their paths.
fn workflows() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.github/workflows");
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let workflows: Vec<_> = paths
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    assert!(!workflows.is_empty());
    workflows
}

/// The part of a line behind `key: `, where the line has that key, in a list or not.
fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    line.trim_start()
        .trim_start_matches("- ")
        .strip_prefix(key)?
        .strip_prefix(": ")
}

#[test]
fn workflows_take_actions_of_others_by_their_commits() {
    for (path, text) in workflows() {
        for action in text
            .lines()
            .filter_map(|line| value(line, "uses"))
            .filter(|action| *action != "./")
        {
            let (_, commit) = action.split_once('@').unwrap_or_default();
            let (commit, version) = commit.split_once(" # v").unwrap_or_default();
            let is_commit =
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(
                is_commit && !version.is_empty(),
                "{}: {action}",
                path.display()
            );
        }
    }
}

#[test]
fn a_job_that_may_write_builds_nothing() {
    for (path, text) in workflows() {
        let (_, jobs) = text.split_once("\njobs:\n").unwrap();
        // A job's name is indented by two spaces.
        let mut list: Vec<String> = Vec::new();
        for line in jobs.lines() {
            if line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':') {
                list.push(String::new());
            }
            if let Some(job) = list.last_mut() {
                *job += line;
                *job += "\n";
            }
        }
        assert!(!list.is_empty(), "{}", path.display());
        for job in list {
            let name = format!("{}: {}", path.display(), job.lines().next().unwrap());
            let may_write = job.contains(": write\n");
            let checkouts = job.matches("uses: actions/checkout@").count();
            let without = job.matches("persist-credentials: false").count();
            let runs: Vec<_> = job.lines().filter_map(|line| value(line, "run")).collect();
            if may_write {
                let builds = |run: &&str| ["cargo", "rustup"].iter().any(|tool| run.contains(tool));
                assert!(!runs.iter().any(builds), "{name}");
            } else {
                assert_eq!(checkouts, without, "{name}");
            }
        }
        assert!(
            text.contains("\npermissions:\n  contents: read\n"),
            "{}",
            path.display()
        );
    }
    let publish = include_str!("../../../../ci/publish.sh");
    // A package as published has that file.
    let publish = publish.replace(".cargo_vcs_info.json", "");
    assert!(!publish.contains("cargo"));
}

#[test]
fn workflows_pass_values_to_scripts_through_the_environment() {
    for (path, text) in workflows() {
        // The column of the key whose script the lines below belong to.
        let mut script = None;
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let run = value(line, "run").and_then(|_| line.find("run: "));
            script = run.or(script.filter(|column| indent > *column || line.is_empty()));
            assert!(
                script.is_none() || !line.contains("${{"),
                "{}: {line}",
                path.display()
            );
        }
    }
}

/// The job that builds makes the folder, and may be anybody's.
#[test]
fn only_plain_overlays_of_releases_are_published() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    git(folder.path(), &["init", "--quiet", "--bare", "remote"]);
    // A checkout of its own, in which the script commits.
    fs::create_dir_all(place("own/ci")).unwrap();
    fs::create_dir_all(place("own/patches/0.8.0")).unwrap();
    fs::copy(checkout.join("ci/publish.sh"), place("own/ci/publish.sh")).unwrap();
    write(&place("own/patches/0.8.0/a.patch"), "");
    git(&place("own"), &["init", "--quiet"]);
    git(&place("own"), &["add", "--all"]);
    git(&place("own"), &["commit", "--quiet", "--message", "own"]);
    let publish = || {
        let script = place("own/ci/publish.sh");
        let published = Command::new(script)
            .args([place("remote"), place("overlays")])
            .output()
            .unwrap();
        (
            published.status.success(),
            String::from_utf8_lossy(&published.stderr).into_owned(),
        )
    };
    let pushed = || git(&place("remote"), &["for-each-ref"]);

    let library = place("overlays/0.8.0/p3-x/lib.rs");
    write(&library, "");
    fs::set_permissions(&library, Permissions::from_mode(0o755)).unwrap();
    let provenance = place("overlays/0.8.0/provenance.json");
    let no_overlay = "publish.sh: 0.8.0: no overlay, which has a provenance.json\n";
    let make: [&dyn Fn(); 4] = [
        &|| {},
        &|| write(&provenance, ""),
        &|| write(&provenance, "{ \n"),
        &|| {
            fs::remove_file(&provenance).unwrap();
            write(&provenance.join("x"), "}\n");
        },
    ];
    for make in make {
        make();
        let (succeeded, why) = publish();
        assert!(!succeeded && why == no_overlay, "{why}");
    }
    fs::remove_dir_all(&provenance).unwrap();
    write(&provenance, "{}\n");
    write(&place("overlays/0.8.0/p3-x/.cargo_vcs_info.json"), "");
    let folder_at = |path: &Path| fs::create_dir(path).unwrap();
    let link_at = |path: &Path| symlink("0.8.0", path).unwrap();
    let text_at = |path: &Path| write(path, "* text=auto\n");
    for (name, make) in [
        ("0.8.0/link", &link_at as &dyn Fn(&Path)),
        ("0.9.9", &link_at),
        ("0.8.0/p3-x/.git", &folder_at),
        ("0.8.0/.gitattributes", &text_at),
        // File systems that read these as git's own are those of macOS and Windows.
        ("0.8.0/p3-x/.g\u{200c}it", &folder_at),
        ("0.8.0/.gitmodules\u{200d}", &text_at),
        // Git would read the folder as a repository with a configuration of its own.
        ("0.8.0/p3-x/HEAD", &text_at),
        // A forge would run or obey these.
        ("0.8.0/CODEOWNERS", &text_at),
        ("0.8.0/.github", &folder_at),
        ("0.8.0/.gitlab-ci.yml", &text_at),
        ("0.8.0/p3-x/.git.", &folder_at),
        ("0.8.0/p3-x/git~1", &folder_at),
        ("0.8.0/p3-x/\u{1b}[31m\n::error::x", &text_at),
        ("-d", &folder_at),
        ("0.8.0\n", &folder_at),
    ] {
        let path = place("overlays").join(name);
        make(&path);
        let (succeeded, why) = publish();
        assert!(
            !succeeded && why.starts_with("publish.sh: ") && why.lines().count() == 1,
            "{name}: {why}"
        );
        assert_eq!(pushed(), "", "{name}");
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            fs::remove_dir(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    let (succeeded, why) = publish();
    assert!(succeeded, "{why}");
    assert!(pushed().contains("refs/heads/plonky3-0.8.0"));
    let pushed = git(&place("remote"), &["ls-tree", "-r", "plonky3-0.8.0"]);
    assert!(
        pushed.lines().all(|file| file.starts_with("100644 ")),
        "{pushed}"
    );
}
