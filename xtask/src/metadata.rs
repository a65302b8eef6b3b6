//! Reads a crate's table `[package.metadata.p3]`, which lists the tests that a stage runs or leaves out, and the builds without code of
//! the patch.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;

use crate::project::Project;
use p3_patches::catalog::header::Header;
use paired::error::Failure;
use paired::isa::{self, Isa};
use paired::terminal::shown;

/// The table `[package.metadata.p3]`. Tests are named by their paths.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metadata {
    /// The instruction sets on which `instructions/*` makes the kernel's instructions go wrong.
    instructions: Vec<Name>,
    /// The tests that Miri runs on each of its two instruction sets: every operation next to its carries, permutations of few
    /// rounds, every lane, width and size of a group, tiles of a few rows. Miri takes a millisecond for an instruction, and lacks
    /// assembly, of which Plonky3's scalar products over Goldilocks are made, and on AVX-512 packed products over 31-bit fields.
    miri: Vec<String>,
    /// Further tests that Miri runs on AVX2 alone.
    miri_avx2: Vec<String>,
    /// Further tests that Miri runs on AVX-512 with IFMA alone.
    miri_ifma: Vec<String>,
    /// Parts of the paths of tests that Bochs does not run.
    skipped_in_bochs: Vec<String>,
    /// The instruction sets whose builds the patch does not change, though it changes others of their architecture.
    without_code: Vec<Name>,
}

/// The name of an instruction set.
#[derive(Debug, Deserialize)]
struct Name(#[serde(deserialize_with = "isa::name")] String);

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    metadata: Tables,
}

/// The tables of all tools.
#[derive(Default, Deserialize)]
struct Tables {
    #[serde(default)]
    p3: Metadata,
}

impl Metadata {
    /// Reads a manifest; one without the table names no test.
    pub fn load(manifest: &Path) -> Result<Self> {
        let refuse = |why: String| {
            Failure::input(format!("{}: {why}", shown(manifest)))
                .hint("CONTRIBUTING.md names the fields of `[package.metadata.p3]`")
        };
        let text = fs::read_to_string(manifest).map_err(|error| refuse(error.to_string()))?;
        let manifest: Manifest =
            toml::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        Ok(manifest.package.metadata.p3)
    }

    /// Reads the manifest of one optimization; a crate that is not there names nothing.
    pub fn of(project: &Project, name: &str) -> Result<Self> {
        let manifest = project.crates_dir().join(name).join("Cargo.toml");
        match manifest.is_file() {
            true => Self::load(&manifest),
            false => Ok(Self::default()),
        }
    }

    /// Reads the manifest of each optimization; returns each with its name.
    pub fn of_kernels(project: &Project) -> Result<Vec<(String, Self)>> {
        let folder = project.root.join("crates");
        let load = |name: &str| {
            let metadata = Self::load(&folder.join(name).join("Cargo.toml"))?;
            Ok((name.to_owned(), metadata))
        };
        project.catalog.names().map(load).collect()
    }

    /// Tells whether the kernel's instructions are made to go wrong on `isa`.
    pub fn has_instructions(&self, isa: Isa) -> bool {
        let isa = isa.to_string();
        self.instructions.iter().any(|Name(name)| *name == isa)
    }

    /// Tells whether the patch with this `header` may change a build for `isa`.
    pub fn has_code(&self, header: &Header, isa: Isa) -> bool {
        let name = isa.to_string();
        header.changes(isa) && !self.without_code.iter().any(|Name(other)| *other == name)
    }

    /// Returns the tests that Miri runs on `isa`.
    pub fn miri(&self, isa: Isa) -> impl Iterator<Item = &str> {
        let more = match isa {
            Isa::V4Ifma => &self.miri_ifma,
            _ => &self.miri_avx2,
        };
        self.miri.iter().chain(more).map(String::as_str)
    }

    /// Returns the options of a test executable that leave out what Bochs does not run.
    pub fn bochs_options(&self) -> String {
        let skips = self.skipped_in_bochs.iter();
        skips.map(|part| format!(" --skip {part}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    fn project() -> Project {
        Project::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
    }

    #[test]
    fn kernels_with_tests_of_instructions_name_their_instruction_sets() {
        let project = project();
        for (name, metadata) in Metadata::of_kernels(&project).unwrap() {
            let tests = format!("crates/{name}/src/tests/instructions.rs");
            let has_tests = project.root.join(tests).is_file();
            assert_eq!(!metadata.instructions.is_empty(), has_tests, "{name}");
        }
    }

    #[test]
    fn a_build_without_code_is_of_an_architecture_that_the_patch_changes() {
        let project = project();
        let mut found = 0;
        for (name, metadata) in Metadata::of_kernels(&project).unwrap() {
            let base = project.catalog.default_base_of(&name).unwrap();
            let header = project.catalog.header(&base, &name).unwrap();
            for Name(without) in &metadata.without_code {
                let isa = Isa::from_str(without, false).unwrap();
                assert!(header.changes(isa), "{name}: {isa}");
                assert!(!metadata.has_code(&header, isa), "{name}: {isa}");
                found += 1;
            }
            let isas = Isa::value_variants();
            let has_code = |isa: &Isa| metadata.has_code(&header, *isa);
            assert!(isas.iter().any(has_code), "{name}");
        }
        assert!(found > 0);
    }

    #[test]
    fn each_list_of_tests_has_one() {
        let kernels = Metadata::of_kernels(&project()).unwrap();
        for isa in [Isa::V3, Isa::V4Ifma] {
            let tests = kernels.iter().flat_map(|(_, kernel)| kernel.miri(isa));
            assert!(tests.count() > 0, "{isa}");
        }
        assert!(
            kernels
                .iter()
                .any(|(_, kernel)| !kernel.skipped_in_bochs.is_empty())
        );
    }

    #[test]
    fn a_misspelt_field_or_instruction_set_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        for (line, why) in [
            ("skiped-in-bochs = []", "skiped-in-bochs"),
            (
                "without-code = [\"avx2\"]",
                "\"avx2\" is no instruction set",
            ),
            (
                "instructions = [\"avx2\"]",
                "\"avx2\" is no instruction set",
            ),
        ] {
            fs::write(&manifest, format!("[package.metadata.p3]\n{line}\n")).unwrap();
            let refused = Metadata::load(&manifest).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
        fs::write(&manifest, "[package]\nname = \"without-the-table\"\n").unwrap();
        assert_eq!(Metadata::load(&manifest).unwrap().bochs_options(), "");
    }
}
