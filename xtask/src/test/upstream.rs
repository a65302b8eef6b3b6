//! Upstream's own test suites, on patched packages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use toml_edit::{Array, DocumentMut, InlineTable, Item, TableLike, Value, value};

use crate::project::Project;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::graph;
use p3_patches::prover::locked_dir::LockedDir;
use p3_patches::prover::tree::{self, Tree};
use p3_patches::source::lock::Seed;
use p3_patches::source::package::Package;
use p3_patches::source::registry;
use paired::files::changed::write_changed;
use paired::terminal::shown;

/// A suite that reads the files of another package, whether or not a patch touches that: p3-goldilocks's checks its
/// constants with the generator of p3-poseidon1.
const READS: (&str, &str) = ("p3-goldilocks", "p3-poseidon1");

/// The packages that depend on those that patches touch, and are tested for it: they commit, prove and verify.
const DEPENDENTS: [&str; 9] = [
    "p3-challenger",
    "p3-commit",
    "p3-dft",
    "p3-fri",
    "p3-lookup",
    "p3-uni-stark",
    "p3-batch-stark",
    "p3-sumcheck",
    "p3-whir",
];

/// A test in that file of p3-sumcheck names a type as Rust 1.95 does not take it, and as it does.
const NAMED: [&str; 3] = [
    "src/jagged/ingest.rs",
    "ColumnSource::<F>::Bits {",
    "ColumnSource::Bits::<F> {",
];

/// A workspace in which patched packages build and test each other, as they do in upstream's repository.
pub struct Suites {
    pub root: PathBuf,
    /// The packages of the workspace that are as published, and tested for what they depend on.
    pub dependents: Vec<&'static str>,
    /// The packages' features called `parallel`, as cargo's `--features` takes them.
    pub parallel: Vec<String>,
    /// The workspace's graph.
    pub graph: Metadata,
}

impl Suites {
    /// Writes the packages that the patches `names` (in series order) touch to `target/p3/upstream/BASE`.
    pub fn lay_out(project: &Project, base: &str, names: &[String]) -> Result<Self> {
        let root = project.root.join("target/p3/upstream").join(base);
        Self::write(project, root, base, &patched(project, base, names)?)
    }

    /// Writes them to another folder, with the packages that depend on them.
    pub fn lay_out_dependents(project: &Project, base: &str, names: &[String]) -> Result<Self> {
        let mut packages = patched(project, base, names)?;
        let touched = |name: &str| packages.iter().any(|package| package.name == name);
        let dependents: Vec<_> = (DEPENDENTS.into_iter())
            .filter(|name| !touched(name))
            .collect();
        for name in &dependents {
            packages.push(registry::package(project.patches(), name, base)?);
        }
        let folder = format!("target/p3/upstream/{base}-dependents");
        let suites = Self::write(project, project.root.join(folder), base, &packages)?;
        Ok(Self {
            dependents,
            ..suites
        })
    }

    /// Writes packages of the release `base`, patched or not, to `root`, and proves that the suites' graph uses them. What is
    /// as it should be stays untouched: cargo goes by the time of the last change.
    pub fn write(
        project: &Project,
        root: PathBuf,
        base: &str,
        packages: &[Package],
    ) -> Result<Self> {
        let _lock = LockedDir::lock(&root)?;
        let mut seed = Seed::new(project.patches(), base)?;
        let mut parallel = Vec::new();
        let mut trees = Vec::new();
        for package in packages {
            let name = &package.name;
            let files = compiling(package)?;
            let read = |file: &str| -> Result<DocumentMut> {
                let text = files
                    .get(file)
                    .with_context(|| format!("{name}: no {file}"))?;
                Ok(std::str::from_utf8(text)?.parse()?)
            };
            let mut manifest = read("Cargo.toml")?;
            let tested_with = complete(&mut manifest, &read("Cargo.toml.orig")?, base);
            seed.add(package)?;
            seed.add_published(project.patches(), tested_with.iter().map(String::as_str))?;
            let has_parallel = |features: &Item| features.get("parallel").is_some();
            if manifest.get("features").is_some_and(has_parallel) {
                parallel.push(format!("{name}/parallel"));
            }
            let path = root.join(&package.folder);
            write(&path, &files, manifest.to_string().as_bytes())?;
            trees.push(Tree {
                package: name.clone(),
                version: base.to_owned(),
                path,
            });
        }
        let touched = |name: &str| packages.iter().any(|package| package.name == name);
        let (suite, read) = READS;
        if touched(suite) && !touched(read) {
            let package = registry::package(project.patches(), read, base)?;
            seed.add(&package)?;
            let manifest = &package.files["Cargo.toml"];
            write(&root.join(&package.folder), &package.files, manifest)?;
        }
        let workspace = workspace(packages).to_string();
        write_changed(&root.join("Cargo.toml"), workspace.as_bytes())?;
        let graph = seed.resolve(&root, &[])?;
        graph::assert_overrides_used(&graph, &trees)?;
        Ok(Self {
            root,
            dependents: Vec::new(),
            parallel,
            graph,
        })
    }
}

/// Returns the packages that the patches `names` touch, with them.
fn patched(project: &Project, base: &str, names: &[String]) -> Result<Vec<Package>> {
    let patches = names
        .iter()
        .map(|name| project.catalog.patch(base, name))
        .collect::<Result<Vec<_>>>()?;
    let packages = tree::baseline(project.patches(), base, &patches)?;
    Ok(Stack::of(packages, &patches)?.packages)
}

/// Returns the files of a package, as this compiler takes them.
fn compiling(package: &Package) -> Result<Cow<'_, BTreeMap<String, Vec<u8>>>> {
    let [file, published, understood] = NAMED;
    let mut files = Cow::Borrowed(&package.files);
    if package.name == "p3-sumcheck" && files.contains_key(file) {
        let text = files.to_mut().get_mut(file).expect("it is there");
        *text = String::from_utf8(mem::take(text))?
            .replace(published, understood)
            .into_bytes();
    }
    Ok(files)
}

/// Writes a package with this manifest in place of its own, and removes what another patch has added.
pub fn write(path: &Path, files: &BTreeMap<String, Vec<u8>>, manifest: &[u8]) -> Result<()> {
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let entry = entry?;
            let file = entry.path();
            let parts = file.strip_prefix(path)?.iter();
            let name = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>();
            if entry.file_type()?.is_dir() {
                folders.push(file);
            } else if !files.contains_key(&name.join("/")) {
                fs::remove_file(&file)
                    .with_context(|| format!("cannot remove {}", shown(&file)))?;
            }
        }
    }
    for (file, contents) in files {
        let contents = match file.as_str() {
            "Cargo.toml" => manifest,
            _ => contents,
        };
        write_changed(&path.join(file), contents)?;
    }
    Ok(())
}

/// Gives a published manifest what its suite needs: publishing drops development dependencies that have only a path,
/// which `written`, the manifest as upstream wrote it, still names. Returns these.
fn complete(manifest: &mut DocumentMut, written: &DocumentMut, base: &str) -> Vec<String> {
    let mut completed = Vec::new();
    let dependencies = written
        .get("dev-dependencies")
        .and_then(Item::as_table_like);
    for (name, dependency) in dependencies.into_iter().flat_map(TableLike::iter) {
        let Some(mut dependency) = dependency.as_inline_table().cloned() else {
            continue;
        };
        if dependency.remove("path").is_some() {
            dependency.insert("version", format!("={base}").into());
            manifest["dev-dependencies"][name] = value(dependency);
            completed.push(name.to_owned());
        }
    }
    completed
}

/// Returns the manifest above the packages. Where they, or what they test with, depend on one of them, they get the patched one.
fn workspace(packages: &[Package]) -> DocumentMut {
    let folders = packages.iter().map(|package| package.folder.as_str());
    let overrides = packages.iter().map(|package| {
        let path = InlineTable::from_iter([("path", package.folder.as_str())]);
        (package.name.as_str(), Value::from(path))
    });
    let mut manifest = DocumentMut::new();
    manifest["workspace"]["resolver"] = value("2");
    manifest["workspace"]["members"] = value(Array::from_iter(folders));
    manifest["patch"]["crates-io"] = value(InlineTable::from_iter(overrides));
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_manifest_gets_its_suite_back() {
        let mut manifest =
            "[package]\nname = \"p3-x\"\n\n[dev-dependencies.proptest]\nversion = \"1\"\n"
                .parse()
                .unwrap();
        let written = "[dev-dependencies]\np3-y = { path = \"../y\", features = [\"z\"] }\nproptest.workspace = true\n"
            .parse()
            .unwrap();
        let completed = complete(&mut manifest, &written, "0.8.0");
        assert_eq!(completed, ["p3-y"]);
        let manifest: toml::Table = toml::from_str(&manifest.to_string()).unwrap();
        let expected = toml::toml! {
            [package]
            name = "p3-x"
            [dev-dependencies]
            proptest = { version = "1" }
            p3-y = { version = "=0.8.0", features = ["z"] }
        };
        assert_eq!(manifest, expected);
    }
}
