//! Plonky3 from git: what of a prover's graph comes from a repository, and whether that is a release.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, Package, PackageId};
use toml_edit::value;
use walkdir::WalkDir;

use crate::project::Patches;
use crate::prover::inherited;
use crate::prover::locked_dir::LockedDir;
use crate::prover::tree::Tree;
use crate::source::resolve::{CACHE_FIRST, metadata, resolve, unresolved};
use crate::source::{package, registry};
use paired::address::without_credentials;
use paired::error::Failure;
use paired::files::dir::Dir;
use paired::interrupt;
use paired::terminal::shown;

/// The digits by which git names a commit for short.
const DIGITS: usize = 7;

/// A git repository at a commit, as cargo writes it: `git+URL?rev=REV#COMMIT`, or with `tag`, `branch` or none of them.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct GitSource(String);

/// The part of a stanza for Plonky3 from git.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Git {
    pub source: GitSource,
    /// The packages that the trees ask the registry for.
    pub needed: BTreeSet<String>,
}

impl GitSource {
    pub fn parse(text: &str) -> Option<Self> {
        let complete = text.starts_with("git+") && text.contains('#') && !text.contains(' ');
        complete.then(|| Self(text.to_owned()))
    }

    fn parts(&self) -> (&str, Option<&str>, &str) {
        let text = self.0.strip_prefix("git+").unwrap_or(&self.0);
        let (pinned, commit) = text.rsplit_once('#').unwrap_or((text, ""));
        match pinned.split_once('?') {
            Some((url, reference)) => (url, Some(reference), commit),
            None => (pinned, None, commit),
        }
    }

    pub fn url(&self) -> &str {
        self.parts().0
    }

    /// Returns the branch, tag or revision that the prover pins: the key in a manifest, and its value. It may pin none.
    pub fn reference(&self) -> Option<(&str, &str)> {
        self.parts().1?.split_once('=')
    }

    pub fn commit(&self) -> &str {
        self.parts().2
    }

    /// Names the source as lock files and manifests do, with the token that it may have.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// Tells whether both are one repository, whoever asks for it.
    pub fn is_at(&self, url: &str) -> bool {
        let [own, other] = [self.url(), url].map(|url| canonical(&without_credentials(url)));
        own == other
    }

    /// Tells whether a manifest that asks for this source gets a `locked` one: whether both have one repository and pin the same.
    pub fn asks_for(&self, locked: &Self) -> bool {
        let (asked, pinned) = (self.reference(), locked.reference());
        let pins_the_same = asked == pinned
            || asked.map(encoded) == pinned.map(|(key, value)| (key.to_owned(), value.to_owned()));
        locked.is_at(self.url()) && pins_the_same
    }

    /// Tells whether both are one commit of one repository, pinned alike.
    pub fn is_locked_to(&self, locked: &Self) -> bool {
        self.asks_for(locked) && self.commit() == locked.commit()
    }

    /// Returns the source as cargo writes it to a lock file of this version: from version 4 on, it encodes a branch, tag or revision as in
    /// the query of a URL.
    pub fn in_lock(&self, version: i64) -> Self {
        let (url, _, commit) = self.parts();
        match self.reference() {
            Some(reference) if version >= 4 => {
                let (key, value) = encoded(reference);
                Self(format!("git+{url}?{key}={value}#{commit}"))
            }
            _ => self.clone(),
        }
    }

    /// Tells whether `rev` is how the prover pins it, or the commit that this comes to, by as many digits as tell commits apart.
    fn is_rev(&self, rev: &str) -> bool {
        let is_commit = rev.len() >= DIGITS && self.begins_with(rev);
        is_commit || self.reference().is_some_and(|(_, value)| value == rev)
    }

    /// Tells whether the commit begins with these digits, which may be in capitals.
    fn begins_with(&self, digits: &str) -> bool {
        self.commit().starts_with(&digits.to_ascii_lowercase())
    }

    /// Proves that nothing in a graph with patches in place of this source asks for a package of Plonky3 at another revision of it: of a
    /// patched one, cargo takes the tree whatever is asked for.
    pub fn assert_pinned(&self, manifest: &Path, graph: &Metadata) -> Result<(), Failure> {
        for package in &graph.packages {
            let plonky3 =
                (package.dependencies.iter()).filter(|asked| asked.name.starts_with("p3-"));
            let sources = plonky3.filter_map(|dependency| dependency.source.as_ref());
            for source in sources {
                // A branch may have that sign in its name.
                let cut = source
                    .repr
                    .rsplit_once('#')
                    .map_or(&*source.repr, |(pinned, _)| pinned);
                let readings =
                    [&*source.repr, cut].map(|pinned| Self::parse(&format!("{pinned}#")));
                let asked: Vec<_> = (readings.iter().flatten())
                    .filter(|asked| asked.is_at(self.url()))
                    .collect();
                let is_same = |asked: &&Self| asked.reference() == self.reference();
                if !asked.is_empty() && !asked.iter().any(is_same) {
                    let what = format!(
                        "{}: {} asks for {}, and the patches are in place of {}",
                        shown(manifest),
                        package.name,
                        without_credentials(&source.repr),
                        self
                    );
                    let hint = "`cargo p3 remove` takes them out, then `apply` goes by what the workspace has";
                    return Err(Failure::input(what).hint(hint));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for GitSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_credentials(&self.0))
    }
}

/// Returns a branch, tag or revision as the query of a URL has it.
fn encoded((key, value): (&str, &str)) -> (String, String) {
    let byte = |byte: u8| match byte {
        b'*' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    (key.to_owned(), value.bytes().map(byte).collect::<String>())
}

/// Cargo's rule for when two addresses are of one repository, which may be a registry's index.
pub fn canonical(url: &str) -> String {
    let url = url.strip_suffix('/').unwrap_or(url);
    let url = url.strip_suffix(".git").unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.to_lowercase();
    // GitHub serves a repository under every protocol, and in upper and lower case.
    match host.strip_suffix(":443").unwrap_or(&host) {
        "github.com" => format!("https://github.com{}", path.to_lowercase()),
        host => format!("{}://{host}{path}", scheme.to_lowercase()),
    }
}

/// Returns the graph of `packages` from a repository, at the commit that the lock file has. Their sources are in cargo's home
/// then.
pub fn graph<'n>(
    source: &GitSource,
    packages: impl IntoIterator<Item = &'n str>,
    locked: Option<&[u8]>,
    folder: &LockedDir,
) -> Result<Metadata> {
    let mut manifest = registry::fetching_manifest();
    for package in packages {
        let dependency = &mut manifest["dependencies"][package];
        dependency["git"] = value(source.url());
        if let Some((key, reference)) = source.reference() {
            dependency[key] = value(reference);
        }
    }
    let unfinished = folder.dir.temporary()?;
    let dir = unfinished.folder();
    dir.place("Cargo.toml")?
        .write_new(manifest.to_string().as_bytes())?;
    dir.place("src/lib.rs")?.write_new(b"")?;
    if let Some(lock) = locked {
        dir.place("Cargo.lock")?.write_new(lock)?;
    }
    let graph = resolve(CACHE_FIRST, |options| metadata(dir.path(), options))?;
    Ok(graph.map_err(|error| {
        let what = format!("cargo cannot resolve the packages from {source}");
        let hint = "what is not in cargo's cache takes the repository once";
        unresolved(dir.path(), &what, &error, hint)
    })?)
}

/// Plonky3's packages that a graph has from one repository, at one commit.
pub struct Checkout<'m> {
    pub source: GitSource,
    pub packages: BTreeMap<&'m str, &'m Package>,
    metadata: &'m Metadata,
}

impl<'m> Checkout<'m> {
    /// Returns the packages that the graph of the workspace with this `manifest` has from `url`, at `rev` where one is asked for.
    pub fn find(
        manifest: &Path,
        metadata: &'m Metadata,
        url: &str,
        rev: Option<&str>,
    ) -> Result<Self> {
        let of_upstream = |package: &&Package| package.name.starts_with("p3-");
        let packages = metadata.packages.iter().filter(of_upstream);
        let sources: BTreeSet<_> = packages.filter_map(source_of).collect();
        let manifest = shown(manifest);
        let (mut at, elsewhere) =
            (sources.into_iter()).partition::<Vec<_>, _>(|source| source.is_at(url));
        let Some(source) = at.pop() else {
            let others = elsewhere.iter().map(GitSource::url);
            let others = others.collect::<BTreeSet<_>>().into_iter();
            let hint = match others.collect::<Vec<_>>()[..] {
                [] => "its Plonky3 is not from git; leave out --source".to_owned(),
                ref others => format!("it takes Plonky3 from {}", others.join(" and ")),
            };
            let what = format!(
                "{manifest}: no package of Plonky3's here comes from {}",
                shown(url)
            );
            return Err(Failure::input(what).hint(hint).into());
        };
        if let Some(other) = at.first() {
            let what = format!("{manifest}: takes Plonky3 twice, from {other} and {source}");
            let hint = "`cargo tree --duplicates` shows who asks for which; pin one revision";
            return Err(Failure::input(what).hint(hint).into());
        }
        if let Some(rev) = rev.filter(|rev| !source.is_rev(rev)) {
            let named = shown(rev);
            let what = match source.begins_with(rev) {
                true => format!("--rev {named}: another commit may begin with the same digits"),
                false => format!("{manifest}: locked to {source}, not to {named}"),
            };
            let hint = format!(
                "--rev is what the manifest pins, or {DIGITS} digits or more of the commit that it is locked to"
            );
            return Err(Failure::input(what).hint(hint).into());
        }
        Self::at(source, metadata)
    }

    /// Finds the packages that the graph has from `source`. There may be none left beside trees.
    pub fn at(source: GitSource, metadata: &'m Metadata) -> Result<Self> {
        let mut packages = BTreeMap::new();
        for package in &metadata.packages {
            let is_from = source_of(package).is_some_and(|from| from == source);
            if !is_from || !package.name.starts_with("p3-") {
                continue;
            }
            if packages.insert(package.name.as_str(), package).is_some() {
                let what = format!("{source}: has {} in two versions", package.name);
                let hint = "a commit is of one release; take the other version from its own";
                return Err(Failure::input(what).hint(hint).into());
            }
        }
        Ok(Self {
            source,
            packages,
            metadata,
        })
    }

    /// Checks that each package is the one that was published as the release `base`: the files that a build reads, and the fields
    /// that the package inherits from the repository's root manifest.
    pub fn assert_release(&self, patches: &Patches, base: &str) -> Result<()> {
        for (name, package) in &self.packages {
            interrupt::check()?;
            let folder = package.manifest_path.as_std_path();
            let folder = folder.parent().context("a manifest lies in a folder")?;
            // Cargo has rewritten the manifest there, and its list has no checksum that a registry could confirm.
            if package::is_vendored(folder) {
                let folder = shown(folder);
                let what = format!(
                    "{folder}: vendored from {}, so it cannot be compared with Plonky3 {base}",
                    self.source
                );
                let hint = "apply where cargo's configuration does not replace the repository, then run `cargo vendor` again";
                return Err(Failure::input(what).hint(hint).into());
            }
            let published = registry::package(patches, name, base)?;
            refuse_linked_manifests(folder)?;
            let what = match difference(&published.files, folder)? {
                None => inherited::difference(package, &published)?,
                found => found,
            };
            if let Some(what) = what {
                let commit = published.commit;
                return Err(Failure::input(format!(
                    "{name} at {} is not that of Plonky3 {base}: {what}",
                    self.source
                ))
                .hint(format!(
                    "the patches are for sources that equal a release's; {base} was published from commit {commit}"
                ))
                .into());
            }
        }
        Ok(())
    }

    /// Returns the part of a stanza by which `trees` replace these packages.
    pub fn replaced_by(&self, trees: &[Tree]) -> Git {
        Git {
            source: self.source.clone(),
            needed: self.needed_by(trees),
        }
    }

    /// Returns the packages that `trees` depend on. Their manifests, as published, ask the registry for them.
    fn needed_by(&self, trees: &[Tree]) -> BTreeSet<String> {
        let by_id = |id: &PackageId| {
            (self.packages.values())
                .find(|package| package.id == *id)
                .map(|package| package.name.to_string())
        };
        let nodes = self
            .metadata
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes);
        let patched = nodes.filter(|node| {
            by_id(&node.id).is_some_and(|name| trees.iter().any(|tree| tree.package == name))
        });
        let built = patched.flat_map(|node| &node.deps).filter(|dependency| {
            let mut kinds = dependency.dep_kinds.iter();
            kinds.any(|kind| kind.kind != DependencyKind::Development)
        });
        built
            .filter_map(|dependency| by_id(&dependency.pkg))
            .collect()
    }
}

fn source_of(package: &Package) -> Option<GitSource> {
    GitSource::parse(&package.source.as_ref()?.repr)
}

/// Finds the root of cargo's checkout of a repository, which a package's folder is in. Cargo marks it by a file, and so may a folder of
/// the repository itself be marked: the outermost one is cargo's.
fn root_of(folder: &Path) -> &Path {
    let is_root = |above: &&Path| above.join(".cargo-ok").exists();
    folder.ancestors().filter(is_root).last().unwrap_or(folder)
}

/// Opens a package's folder in cargo's checkout of a repository. No part of the way there from the checkout's root may be a link.
fn open(folder: &Path) -> Result<Dir> {
    let root = root_of(folder);
    let opened = Dir::open(root)?.folder(folder.strip_prefix(root)?)?;
    opened.with_context(|| format!("{}: not there", shown(folder)))
}

/// Refuses a link in place of a manifest above a package, from which the package may inherit: the link leads to what is of no
/// commit.
fn refuse_linked_manifests(folder: &Path) -> Result<()> {
    let root = root_of(folder);
    let dir = Dir::open(root)?;
    let above = folder.strip_prefix(root)?.ancestors().skip(1);
    for above in above {
        dir.read(above.join("Cargo.toml"))?;
    }
    Ok(())
}

/// Returns the first file by which the package in `folder` is not the one with these `files`, as published. The registry's own
/// files, and what no build reads, may differ. Links are refused: what they lead to is of no commit.
fn difference(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<Option<String>> {
    // The manifest as written; the one beside it is what the registry made of that.
    const WRITTEN: &str = "Cargo.toml.orig";
    let other = [
        "Cargo.toml",
        "Cargo.lock",
        ".cargo_vcs_info.json",
        "CHANGELOG.md",
    ];
    let aside = ["benches/", "examples/", "tests/"];
    let dir = open(folder)?;
    for (file, published) in files {
        if other.contains(&file.as_str()) || aside.iter().any(|aside| file.starts_with(aside)) {
            continue;
        }
        let file = match file.as_str() {
            WRITTEN => "Cargo.toml",
            file => file,
        };
        match dir.read(file)? {
            Some(found) if found == *published => {}
            Some(_) => return Ok(Some(format!("{file} differs"))),
            None => return Ok(Some(format!("{file} is not there"))),
        }
    }
    let sources = [folder.join("build.rs"), folder.join("src")];
    let sources = sources
        .iter()
        .filter(|path| path.symlink_metadata().is_ok());
    let walk = |path| WalkDir::new(path).follow_root_links(false);
    for entry in sources.flat_map(walk) {
        let entry = entry?;
        if entry.file_type().is_dir() {
            continue;
        }
        let parts = entry
            .path()
            .strip_prefix(folder)
            .expect("found below")
            .iter();
        let parts = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>();
        let file = parts.join("/");
        if !files.contains_key(&file) {
            return Ok(Some(format!("{} is new", shown(file))));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_manifest_asks_for_what_is_locked() {
        let source = |text: &str| GitSource::parse(&format!("git+https://{text}#")).unwrap();
        let asks = |asked: &str, locked: &str| source(asked).asks_for(&source(locked));
        for (asked, locked, expected) in [
            ("a.b/c", "A.b/c.git", true),
            ("a.b/c", "a.b/d", false),
            ("a.b/c?branch=x", "a.b/c?branch=x", true),
            ("a.b/c?branch=x", "a.b/c?branch=y", false),
            ("a.b/c?branch=x", "a.b/c?tag=x", false),
            ("a.b/c?branch=x", "a.b/c", false),
            ("a.b/c", "a.b/c?branch=x", false),
            ("a.b/c?branch=x/y-1", "a.b/c?branch=x/y-1", true),
            ("a.b/c?branch=x/y-1", "a.b/c?branch=x%2Fy-1", true),
        ] {
            assert_eq!(asks(asked, locked), expected, "{asked} {locked}");
        }
    }

    #[test]
    fn a_source_is_taken_apart() {
        let source = |text: &str| GitSource::parse(text).unwrap();
        let pinned = source("git+https://github.com/Plonky3/Plonky3?rev=abc#abcdef0123");
        assert_eq!(pinned.url(), "https://github.com/Plonky3/Plonky3");
        assert_eq!(pinned.reference(), Some(("rev", "abc")));
        assert_eq!(pinned.commit(), "abcdef0123");
        assert!(pinned.is_at("https://github.com/plonky3/plonky3.git/"));
        assert!(!pinned.is_at("https://github.com/Plonky3/another"));
        for (rev, is) in [
            ("abc", true),
            ("abcd", false),
            ("", false),
            ("abcdef", false),
            ("abcdef0", true),
            ("ABCDEF0", true),
            ("abcdef1", false),
        ] {
            assert_eq!(pinned.is_rev(rev), is, "{rev}");
        }
        let tagged = source("git+file:///x?tag=v0.8.0#abcdef");
        assert!(tagged.is_rev("v0.8.0") && !tagged.is_rev("v0.8"));
        let secret = source("git+https://me:token@git.example/a?rev=abc#abcdef");
        assert_eq!(
            secret.to_string(),
            "git+https://git.example/a?rev=abc#abcdef"
        );
        assert_eq!(secret.url(), "https://me:token@git.example/a");
        assert!(
            secret.is_at("https://git.example/a") && secret.is_at("https://it@git.example/a.git")
        );
        let head = source("git+file:///x#abcdef");
        assert_eq!((head.url(), head.reference()), ("file:///x", None));
        for text in ["registry+https://x#y", "git+https://x", "git+https://x #y"] {
            assert_eq!(GitSource::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_repository_has_several_addresses() {
        let index = canonical("https://github.com/rust-lang/crates.io-index");
        for same in [
            "https://github.com/rust-lang/crates.io-index/",
            "https://github.com/rust-lang/crates.io-index.git",
            "https://github.com/rust-lang/crates.io-index.git/",
            "https://github.com/Rust-Lang/Crates.io-Index",
            "HTTPS://GitHub.com:443/rust-lang/crates.io-index",
            "http://github.com/rust-lang/crates.io-index",
            "git+https://github.com/rust-lang/crates.io-index",
            "registry+https://github.com/rust-lang/crates.io-index",
        ] {
            assert_eq!(canonical(same), index, "{same}");
        }
        for other in [
            "https://github.com/rust-lang/crates.io-index//",
            "sparse+https://index.crates.io/",
            "https://index.crates.io/",
        ] {
            assert_ne!(canonical(other), index, "{other}");
        }
        assert_eq!(
            canonical("https://Git.example/A.git"),
            "https://git.example/A"
        );
        assert_ne!(
            canonical("https://git.example/a"),
            canonical("https://git.example/A")
        );
        assert_eq!(canonical("file:///A/b.git"), "file:///A/b");
    }

    #[test]
    fn a_difference_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("Cargo.toml", "as the registry has it"),
            ("Cargo.toml.orig", "as written"),
            ("README.md", "about"),
            ("src/lib.rs", "mod deep;"),
            ("src/deep/mod.rs", ""),
            ("tests/it.rs", ""),
        ];
        let files = BTreeMap::from(files.map(|(file, text)| (file.to_owned(), text.into())));
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let difference = || difference(&files, dir.path()).unwrap();
        write("Cargo.toml", "as written");
        write("README.md", "about");
        write("src/lib.rs", "mod deep;");
        assert_eq!(difference().unwrap(), "src/deep/mod.rs is not there");
        write("src/deep/mod.rs", "");
        write("tests/it.rs", "another test");
        write("tests/new.rs", "");
        assert_eq!(difference(), None);
        write("src/deep/new.rs", "");
        assert_eq!(difference().unwrap(), "src/deep/new.rs is new");
        fs::remove_file(dir.path().join("src/deep/new.rs")).unwrap();
        write("build.rs", "");
        assert_eq!(difference().unwrap(), "build.rs is new");
        fs::remove_file(dir.path().join("build.rs")).unwrap();
        write("src/lib.rs", "mod deep; ");
        assert_eq!(difference().unwrap(), "src/lib.rs differs");
        write("src/lib.rs", "mod deep;");
        write("Cargo.toml", "as the registry has it");
        assert_eq!(difference().unwrap(), "Cargo.toml differs");
    }
}
