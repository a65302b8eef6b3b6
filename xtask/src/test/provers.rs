//! Provers that others have published: their own tests, and a proof of each, with the patches and without.
//!
//! A package is laid out twice, once with overrides in its manifest. Its versions are those of the lock file in its tarball, and
//! the tarball is the one whose checksum stands here. The program that makes the proof is one of `examples/provers`. It
//! becomes an example of the package, so it needs nothing that the lock file lacks.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::Metadata;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::{Need, ONE_ISA, Work};
use crate::project::Project;
use crate::test::upstream as suites;
use p3_patches::catalog::Catalog;
use p3_patches::prover::choice;
use p3_patches::prover::graph::{self, Use};
use p3_patches::prover::locked_dir::LockedDir;
use p3_patches::prover::tree::{self, Tree};
use p3_patches::source::lock::Seed;
use p3_patches::source::package::Package;
use p3_patches::source::registry;
use paired::cargo::{cargo, with_rustflags};
use paired::error::Failure;
use paired::interrupt;
use paired::isa::Isa;
use paired::terminal::shown;

/// A published package that proves with Plonky3.
pub struct PublishedProver {
    name: &'static str,
    version: &'static str,
    /// The tarball's SHA-256.
    checksum: &'static str,
    /// Its release of Plonky3.
    pub release: &'static str,
    /// The packages of Plonky3 that it is built with, without `p3-`. Its tests may have more.
    pub packages: &'static [&'static str],
    /// The features for its tests and for the program.
    features: &'static str,
    /// Its tests that fail without the patches too.
    failing: &'static [&'static str],
    /// How far it is optimized: compiling takes less time without, and tests that compute take minutes.
    opt_level: &'static str,
    /// A file in [`PROGRAMS`], which prints a proof that is the same in every run.
    program: &'static str,
}

/// Below the project's root.
pub const PROGRAMS: &str = "examples/provers";

/// The name of the program in the package.
const EXAMPLE: &str = "proof";

/// Older releases of miden-lifted-stark refuse a trace with fewer rows than a vector has elements.
const SHORT_TRACES: &[&str] = &[
    "preprocessed_much_shorter_than_max_trace",
    "preprocessed_multiple_heights_below_max",
];

pub const ALL: [PublishedProver; 5] = [
    PublishedProver {
        name: "miden-lifted-stark",
        version: "1.0.0-rc.0",
        checksum: "343b8469237c4d5fa52a155fc3604252590d7a8efb92018ede828326c9bee2d5",
        release: "0.8.0",
        packages: &[
            "air",
            "challenger",
            "dft",
            "field",
            "goldilocks",
            "keccak",
            "matrix",
            "maybe-rayon",
            "mds",
            "poseidon1",
            "poseidon2",
            "symmetric",
            "util",
        ],
        features: "testing",
        failing: &[],
        opt_level: "0",
        program: "miden-lifted-stark-1.0.0-rc.0.rs",
    },
    PublishedProver {
        name: "miden-lifted-stark",
        version: "0.33.0",
        checksum: "28826676d5b4eeb3af7d27795fb009ef2212f0be0ac8c72736f0990ab94b0f64",
        release: "0.7.0",
        packages: &[
            "air",
            "challenger",
            "dft",
            "field",
            "goldilocks",
            "matrix",
            "maybe-rayon",
            "mds",
            "poseidon1",
            "poseidon2",
            "symmetric",
            "util",
        ],
        features: "testing",
        failing: SHORT_TRACES,
        opt_level: "0",
        program: "miden-lifted-stark-0.28.1.rs",
    },
    PublishedProver {
        name: "miden-lifted-stark",
        version: "0.28.1",
        checksum: "4a24dd2d8fd4978c56dd7c3d3c76c1a6fb17fef1edfe470ed4e517e38a556bdb",
        release: "0.6.3",
        packages: &[
            "air",
            "challenger",
            "dft",
            "field",
            "goldilocks",
            "matrix",
            "maybe-rayon",
            "mds",
            "monty-31",
            "poseidon1",
            "poseidon2",
            "symmetric",
            "util",
        ],
        features: "testing",
        failing: SHORT_TRACES,
        opt_level: "0",
        program: "miden-lifted-stark-0.28.1.rs",
    },
    PublishedProver {
        name: "miden-crypto",
        version: "0.28.1",
        checksum: "10eaaf3e927c3c6a720a3ed782123be25e38d34c5a7be2ca1bfbbef10a940396",
        release: "0.6.3",
        packages: &[
            "air",
            "blake3",
            "challenger",
            "dft",
            "field",
            "goldilocks",
            "keccak",
            "matrix",
            "maybe-rayon",
            "mds",
            "monty-31",
            "poseidon1",
            "poseidon2",
            "symmetric",
            "util",
        ],
        features: "testing",
        failing: &[],
        opt_level: "1",
        program: "miden-crypto-0.28.1.rs",
    },
    PublishedProver {
        name: "openvm-stark-sdk",
        version: "2.0.1",
        checksum: "12c9f696aca69b23e5e6077c9948d1289103c3b1e0742362bb8a3ef149480320",
        release: "0.4.3",
        packages: &[
            "air",
            "baby-bear",
            "challenger",
            "dft",
            "field",
            "interpolation",
            "matrix",
            "maybe-rayon",
            "mds",
            "monty-31",
            "poseidon2",
            "symmetric",
            "util",
        ],
        features: "openvm-stark-backend/test-utils",
        failing: &[],
        opt_level: "0",
        program: "openvm-stark-sdk-2.0.1.rs",
    },
];

/// A stage's name after its kind.
impl fmt::Display for PublishedProver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.name, self.version)
    }
}

/// Its tests and its proof, on one instruction set.
impl Work for &'static PublishedProver {
    fn need(&self) -> Option<Need> {
        Some(Need::Isa(ONE_ISA))
    }

    fn missing(&self, _: &Project) -> Option<String> {
        ONE_ISA.check().err().map(|refused| refused.message)
    }

    fn run(&self, project: &Project) -> Result<()> {
        self.test(ONE_ISA, project)
    }
}

impl PublishedProver {
    /// Runs its tests and the program without the patches and with them, and compares what the program prints.
    fn test(&self, isa: Isa, project: &Project) -> Result<()> {
        let root = project.root.join("target/p3/provers");
        let root = root.join(self.name).join(self.version);
        let _lock = LockedDir::lock(&root)?;
        let package = self.package(project)?;

        let published = root.join("published");
        let graph = self.lay_out(&published, &package, &[])?;
        self.assert_packages(&graph)?;
        let proof = self.prove(isa, &published)?;

        let patched = root.join("patched");
        let folder = LockedDir::lock(&root.join("trees"))?;
        let trees = self.trees(project, &published, &graph, &folder)?;
        self.lay_out(&patched, &package, &trees)?;
        let patched_proof = self.prove(isa, &patched)?;
        let kept: Vec<PathBuf> = trees.into_iter().map(|tree| tree.path).collect();
        tree::keep_only(folder, &kept)?;

        if proof != patched_proof {
            return Err(Failure::check(format!(
                "{self}: the proof with the patches differs from the one without"
            ))
            .into());
        }
        Ok(())
    }

    /// Fails unless the graph has every package that `packages` names, in the release.
    fn assert_packages(&self, graph: &Metadata) -> Result<()> {
        let is_there = |name: &&&str| {
            let mut found = graph.packages.iter();
            found.any(|package| {
                package.name.strip_prefix("p3-") == Some(**name)
                    && package.version.to_string() == self.release
            })
        };
        match self.packages.iter().find(|name| !is_there(name)) {
            None => Ok(()),
            Some(name) => Err(Failure::check(format!(
                "{self}: not built with p3-{name} {}",
                self.release
            ))
            .hint("correct `packages` of that prover, and run `cargo p3 report`")
            .into()),
        }
    }

    /// Returns the package as published, with the program.
    fn package(&self, project: &Project) -> Result<Package> {
        let mut package = registry::package(project.patches(), self.name, self.version)?;
        if package.checksum != self.checksum {
            return Err(Failure::input(format!(
                "{self}: the tarball has the checksum {}, and the reviewed one {}",
                package.checksum, self.checksum
            ))
            .into());
        }
        let program = project.root.join(PROGRAMS).join(self.program);
        let text =
            fs::read(&program).with_context(|| format!("cannot read {}", shown(&program)))?;
        package.files.insert(format!("examples/{EXAMPLE}.rs"), text);
        Ok(package)
    }

    /// Returns the trees of all patches that touch the `graph` of the published package.
    fn trees(
        &self,
        project: &Project,
        published: &Path,
        graph: &Metadata,
        folder: &LockedDir,
    ) -> Result<Vec<Tree>> {
        let patches = project.patches();
        let catalog = Catalog::load(patches)?;
        let manifest = published.join("Cargo.toml");
        let (base, choice) = choice::chosen(&catalog, &manifest, graph, Some(self.release), &[])?;
        let mut trees = tree::materialize(&project.catalog, &base, &choice.names, false, folder)?;
        trees.retain(|tree| graph::usage(graph, tree) != Use::Absent);
        Ok(trees)
    }

    /// Writes the package to `path`, with `trees` in place of the registry's packages, and proves that its graph uses them.
    fn lay_out(&self, path: &Path, package: &Package, trees: &[Tree]) -> Result<Metadata> {
        let text = (package.files.get("Cargo.toml")).context("no Cargo.toml in the tarball")?;
        let manifest = completed(str::from_utf8(text)?, trees)?;
        suites::write(path, &package.files, manifest.as_bytes())?;
        let seed = Seed::published(package)?;
        let graph = seed.resolve(path, &["--features", self.features])?;
        graph::assert_overrides_used(&graph, trees)?;
        Ok(graph)
    }

    /// Runs the tests of the package at `path`, then the program, and returns what that prints.
    fn prove(&self, isa: Isa, path: &Path) -> Result<Vec<u8>> {
        let failing = self.failing.iter().flat_map(|test| ["--skip", test]);
        let failing: Vec<_> = failing.collect();
        self.cargo(isa, path, &["test", "--lib", "--tests"], &failing)?;
        let proof = self.cargo(isa, path, &["run", "--example", EXAMPLE], &[])?;
        if proof.is_empty() {
            let what = format!("{self}: {} prints no proof", self.program);
            return Err(Failure::check(what).into());
        }
        Ok(proof)
    }

    /// Runs cargo in the package at `path`, with the arguments `passed` for what it runs.
    fn cargo(&self, isa: Isa, path: &Path, args: &[&str], passed: &[&str]) -> Result<Vec<u8>> {
        let mut command = cargo();
        command
            .current_dir(path)
            .args(args)
            // A package may ask for a compiler that it does not need.
            .args(["--quiet", "--locked", "--ignore-rust-version"])
            .args(["--features", self.features])
            .arg("--target-dir")
            .arg(path.with_file_name("build"))
            .arg("--")
            .args(passed)
            // Nobody runs a debugger on these, and nothing is compiled twice.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", self.opt_level)
            .env("CARGO_INCREMENTAL", "0")
            // The first of several threads to find a proof of work wins.
            .env("RAYON_NUM_THREADS", "1");
        with_rustflags(&mut command, isa.rustflags());
        let output = interrupt::output(&mut command)?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let text = [output.stdout, output.stderr].concat();
        Err(Failure::check(format!(
            "{}: `cargo {}` fails\n{}",
            shown(path),
            args.join(" "),
            String::from_utf8_lossy(&text)
        ))
        .into())
    }
}

/// Returns a published manifest as the root of a workspace, with the program and with `trees` as overrides.
fn completed(published: &str, trees: &[Tree]) -> Result<String> {
    let mut manifest: DocumentMut = published.parse().context("cannot parse Cargo.toml")?;
    manifest["workspace"] = Item::Table(Table::new());
    // Nothing is measured, and what measures takes a fifth of the time to compile.
    manifest.remove("bench");
    if let Some(dependencies) = manifest.get_mut("dev-dependencies") {
        let dependencies = dependencies.as_table_like_mut();
        dependencies.map(|dependencies| dependencies.remove("criterion"));
    }
    let mut example = Table::new();
    example["name"] = value(EXAMPLE);
    example["path"] = value(format!("examples/{EXAMPLE}.rs"));
    manifest
        .entry("example")
        .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
        .as_array_of_tables_mut()
        .context("Cargo.toml: `example` is no list")?
        .push(example);
    if !trees.is_empty() {
        let overrides = trees.iter().map(|tree| {
            let path = tree.path.to_string_lossy().into_owned();
            let path = InlineTable::from_iter([("path", path)]);
            (tree.package.as_str(), Value::from(path))
        });
        manifest["patch"]["crates-io"] = value(InlineTable::from_iter(overrides));
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_program_has_a_prover_and_every_release_patches() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let programs = fs::read_dir(root.join(PROGRAMS)).unwrap();
        let programs = programs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let named = ALL.iter().map(|prover| prover.program.to_owned());
        assert_eq!(
            programs.collect::<BTreeSet<_>>(),
            named.collect::<BTreeSet<_>>()
        );

        let project = Project::at(&root);
        for prover in &ALL {
            project.catalog.base(Some(prover.release)).unwrap();
        }
    }

    #[test]
    fn a_published_manifest_gets_the_program_and_the_overrides() {
        let published = "[package]\nname = \"x\"\n\n[[bench]]\nname = \"b\"\n\n\
            [dev-dependencies.criterion]\nversion = \"0.8\"\n\n[dev-dependencies.rand]\nversion = \"0.10\"\n";
        let tree = Tree {
            package: "p3-field".to_owned(),
            version: "0.8.0".to_owned(),
            path: "trees/p3-field".into(),
        };
        let manifest: toml::Table =
            toml::from_str(&completed(published, &[tree]).unwrap()).unwrap();
        let expected = toml::toml! {
            [package]
            name = "x"
            [dev-dependencies]
            rand = { version = "0.10" }
            [workspace]
            [[example]]
            name = "proof"
            path = "examples/proof.rs"
            [patch.crates-io]
            p3-field = { path = "trees/p3-field" }
        };
        assert_eq!(manifest, expected);
    }
}
