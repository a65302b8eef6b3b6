//! Builds the worker from one source, on Plonky3 as published and on trees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use cargo_metadata::{Message, Metadata, MetadataCommand};
use toml_edit::{Array, DocumentMut};

use crate::error::Failure;
use crate::interrupt;
use crate::isa::Isa;
use crate::manifest;
use crate::pairs::Workers;
use crate::project::Project;
use crate::source::{cargo, cargo_error, sha256};
use crate::tree::{self, Folder, Tree};

/// Whether the candidate has the patches, or has had them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Candidate {
    Patched,
    /// Patched and then reversed: what is left of the gain is an artefact of the measurement.
    Reverted,
}

/// Where workers are built: `target/p3`, locked against a second run.
pub struct Builder<'a> {
    project: &'a Project,
    dir: PathBuf,
    trees: Vec<Tree>,
    candidate: Candidate,
    _lock: Folder,
}

impl<'a> Builder<'a> {
    /// Writes the trees of the patches `names` and a copy of the worker's package to build from.
    ///
    /// The package is copied because cargo would record the overrides in this repository's own lock file.
    pub fn new(
        project: &'a Project,
        base: &str,
        names: &[String],
        candidate: Candidate,
    ) -> Result<Self> {
        let dir = project.root.join("target/p3");
        let lock = Folder::lock(&dir)?;
        let trees = match candidate {
            Candidate::Patched => tree::materialize(project, base, names, &lock)?,
            Candidate::Reverted => tree::materialize_reverted(project, base, names, &lock)?,
        };
        let builder = Self {
            project,
            dir,
            trees,
            candidate,
            _lock: lock,
        };
        builder.copy_package(base)?;
        Ok(builder)
    }

    /// Builds both workers for `isa`.
    pub fn build(&self, isa: Isa) -> Result<Workers> {
        // Names of equal length: the paths that end up in the executables move nothing in them.
        let baseline = self.worker(isa, "base", &[])?;
        let folder = match self.candidate {
            Candidate::Patched => "cand",
            Candidate::Reverted => "undo",
        };
        let candidate = self.worker(isa, folder, &self.trees)?;
        let hash = |path: &Path| -> Result<String> {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok(sha256(&bytes))
        };
        if hash(&baseline)? == hash(&candidate)? {
            return Err(Failure::check(format!(
                "{isa}: baseline and candidate are the same executable"
            ))
            .hint("does the patch touch code that a workload of benches/ runs on this ISA?")
            .into());
        }
        Ok(Workers {
            baseline,
            candidate,
        })
    }

    fn package(&self) -> PathBuf {
        self.dir.join("worker")
    }

    /// Writes `benches/` as a workspace of its own, without the micro-benches and what only they need, and with the
    /// worker's Plonky3 pinned to `base`.
    fn copy_package(&self, base: &str) -> Result<()> {
        let package = self.package();
        let root = &self.project.root;

        let mut workspace = read_manifest(&root.join("Cargo.toml"))?;
        workspace["workspace"]["members"] = Array::from_iter(["benches"]).into();
        if let Some(pins) = workspace["workspace"]["dependencies"].as_table_like_mut() {
            for (name, pin) in pins.iter_mut() {
                if name.starts_with("p3-") {
                    *pin = format!("={base}").into();
                }
            }
        }
        write_changed(
            &package.join("Cargo.toml"),
            workspace.to_string().as_bytes(),
        )?;

        let mut manifest = read_manifest(&root.join("benches/Cargo.toml"))?;
        manifest.remove("dev-dependencies");
        manifest.remove("bench");
        write_changed(
            &package.join("benches/Cargo.toml"),
            manifest.to_string().as_bytes(),
        )?;

        let sources = root.join("benches/src");
        let unreadable = || format!("cannot read {}", sources.display());
        for entry in fs::read_dir(&sources).with_context(unreadable)? {
            let source = entry.with_context(unreadable)?.path();
            let name = source.file_name().expect("an entry of a folder");
            let contents =
                fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
            write_changed(&package.join("benches/src").join(name), &contents)?;
        }
        Ok(())
    }

    /// Builds one worker with the `trees` in place of the registry's packages, and proves that it has them.
    fn worker(&self, isa: Isa, folder: &str, trees: &[Tree]) -> Result<PathBuf> {
        let package = self.package();
        // Each resolution starts from the repository's versions, not from what the last one has left.
        fs::copy(
            self.project.root.join("Cargo.lock"),
            package.join("Cargo.lock"),
        )
        .context("cannot copy Cargo.lock")?;
        let overrides = manifest::overrides(trees);
        let configs: Vec<&str> = overrides
            .iter()
            .flat_map(|value| ["--config", value])
            .collect();
        manifest::assert_overrides_used(&resolve(&package, &configs)?, trees)?;

        let mut build = cargo();
        build
            .args(["build", "--release", "--locked", "--offline"])
            .args(["--package", "p3-bench", "--bin", "worker"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(configs)
            // From here, so that no configuration of the folder the user is in applies.
            .current_dir(&package)
            .arg("--target-dir")
            .arg(self.dir.join(isa.to_string()).join(folder))
            // Packages that no patch reaches are compiled once.
            .env("CARGO_BUILD_BUILD_DIR", self.dir.join("build"));
        let built = interrupt::output(with_rustflags(&mut build, isa))?;
        if !built.status.success() {
            let stderr = String::from_utf8_lossy(&built.stderr);
            eprint!("{stderr}");
            let what = if trees.is_empty() {
                "baseline"
            } else {
                "candidate"
            };
            return Err(Failure::check(format!(
                "{isa}: the {what} does not compile: {}",
                cargo_error(&stderr)
            ))
            .into());
        }
        linked_executable(&built.stdout, trees)
    }
}

/// The graph of the workspace in `dir`, from the network only where the cache does not do. Writes its lock file.
pub fn resolve(dir: &Path, configs: &[&str]) -> Result<Metadata> {
    let metadata = |offline: &[&str]| {
        let options = configs.iter().chain(offline).copied().map(str::to_owned);
        let mut command = MetadataCommand::new();
        command
            .current_dir(dir)
            .other_options(options.collect::<Vec<_>>());
        interrupt::output(&mut command.cargo_command())
    };
    let mut output = metadata(&["--offline"])?;
    if !output.status.success() {
        output = metadata(&[])?;
    }
    if !output.status.success() {
        let error = cargo_error(&String::from_utf8_lossy(&output.stderr));
        return Err(Failure::environment(format!(
            "{}: the dependencies cannot be resolved: {error}",
            dir.display()
        ))
        .hint("connect to the registry once, or run `cargo fetch` where it can be reached")
        .into());
    }
    let text = String::from_utf8(output.stdout).context("cargo metadata printed no UTF-8")?;
    MetadataCommand::parse(text).context("cannot parse what cargo metadata printed")
}

/// The executable that cargo reports, once every tree is among the packages that went into it.
fn linked_executable(messages: &[u8], trees: &[Tree]) -> Result<PathBuf> {
    let mut executable = None;
    let mut manifests = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerArtifact(artifact) = message? {
            manifests.push(artifact.manifest_path.into_std_path_buf());
            executable = artifact.executable.or(executable);
        }
    }
    for tree in trees {
        if !manifests.contains(&tree.path.join("Cargo.toml")) {
            return Err(Failure::check(format!(
                "{}: the candidate was built without this tree",
                tree.path.display()
            ))
            .into());
        }
    }
    let executable = executable.context("cargo built no worker")?;
    Ok(executable.into_std_path_buf())
}

/// Makes `isa` the only thing that decides the compiler's flags: `RUSTFLAGS` outranks every configuration file, and
/// its encoded twin would outrank it.
pub fn with_rustflags(command: &mut Command, isa: Isa) -> &mut Command {
    command
        .env("RUSTFLAGS", isa.rustflags())
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
}

fn read_manifest(path: &Path) -> Result<DocumentMut> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse()
        .with_context(|| format!("cannot parse {}", path.display()))
}

/// Leaves a file that is right alone: cargo goes by the time of the last change.
pub fn write_changed(path: &Path, contents: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().expect("a file in a folder"))
        .and_then(|()| fs::write(path, contents))
        .map_err(|error| {
            Failure::environment(format!("cannot write {}: {error}", path.display()))
        })?;
    Ok(())
}
