//! The legs of upstream's workflow, by release, and those that build the code of a patch. `legs.toml` lists them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use serde::Deserialize;

use p3_patches::catalog::header::Header;
use p3_patches::catalog::patch::Patch;

/// A leg of upstream's workflow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Leg {
    os: String,
    architecture: String,
    /// The target features that the leg adds, each as `+NAME`, separated by commas.
    #[serde(default)]
    features: String,
    /// The target features that the compiler turns on with these, without their `+`.
    #[serde(default)]
    implied: Vec<String>,
    /// The part by which the paths of upstream's files for these features are told.
    path: Option<String>,
    #[serde(default)]
    compile_only: bool,
}

/// Returns the legs of the release `base`.
pub fn legs(base: &str) -> Result<Vec<Leg>> {
    let base = Version::parse(base)?;
    let all: BTreeMap<Version, Vec<Leg>> = toml::from_str(include_str!("legs.toml"))?;
    // A release before the first one that was read has that one's legs.
    let from = all.range(..=base).next_back().or(all.first_key_value());
    let (_, legs) = from.context("legs.toml names no release")?;
    Ok(legs.clone())
}

impl Leg {
    /// Tells whether the leg adds these target features and no others.
    pub fn has_features(&self, features: &[String]) -> bool {
        let own: BTreeSet<_> = self.features().collect();
        own == features.iter().map(String::as_str).collect()
    }

    fn features(&self) -> impl Iterator<Item = &str> {
        self.features
            .split(',')
            .filter(|feature| !feature.is_empty())
    }

    /// Tells whether the leg builds for one of the patch's architectures.
    pub fn builds_for(&self, header: &Header) -> bool {
        let named = &header.architectures;
        named.is_empty() || named.contains(&self.architecture)
    }

    /// Tells whether the patch has code for the target features of this leg, by the lines and by the paths of its diff.
    fn is_named_by(&self, patch: &Patch) -> bool {
        let names = |line: &str| {
            let own = self.features().map(|feature| feature.trim_matches('+'));
            let mut features = own.chain(self.implied.iter().map(String::as_str));
            let path = line.strip_prefix("+++ ").zip(self.path.as_deref());
            path.is_some_and(|(file, path)| file.contains(path))
                || features.any(|feature| {
                    // Code for builds without the feature is another leg's.
                    let has = format!("target_feature = \"{feature}\"");
                    line.replace(&format!("not({has})"), "").contains(&has)
                })
        };
        let diff = patch.diff();
        diff.lines().filter(|line| line.starts_with('+')).any(names)
    }

    /// Returns the name of the leg: its target features, else the system that it runs on.
    fn name(&self) -> String {
        let name = match &*self.features {
            "" => &self.os,
            features => features,
        };
        let suffix = if self.compile_only {
            " (compiled only)"
        } else {
            ""
        };
        format!("`{name}`{suffix}")
    }
}

/// Says which legs of upstream's workflow build the code of the patch, and which one is missing.
pub fn markdown(patch: &Patch, base: &str) -> Result<String> {
    let legs = legs(base)?;
    let header = &patch.header;
    let list = |legs: &[&Leg]| {
        let names = legs.iter().map(|leg| leg.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let named: Vec<_> = (legs.iter()).filter(|leg| leg.is_named_by(patch)).collect();
    let mut text = match &named[..] {
        [] => {
            let built: Vec<_> = (legs.iter())
                .filter(|leg| leg.architecture != "wasm32" && leg.builds_for(header))
                .collect();
            format!(
                "These legs of `.github/workflows/ci.yml` build this: {}.",
                list(&built)
            )
        }
        named => format!(
            "These legs of `.github/workflows/ci.yml` build its code for vectors: {}.",
            list(named)
        ),
    };
    if !header.ci_features.is_empty() {
        let features = header.ci_features.join(",");
        text += &format!(
            "\nNone of these has all target features of the change. A leg in the matrix of `build_and_test` with\n\
             `features: \"{features}\"` builds the rest, and only compiles it where the runners lack them."
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::project::Project;

    #[test]
    fn a_release_has_the_legs_of_the_newest_before_it() {
        let features = |base: &str| -> Vec<String> {
            let legs = legs(base).unwrap().into_iter();
            legs.map(|leg| leg.features)
                .filter(|leg| !leg.is_empty())
                .collect()
        };
        assert_eq!(features("0.4.0"), ["+avx2"]);
        assert_eq!(features("0.5.4"), ["+avx2"]);
        for base in ["0.6.3", "0.7.0", "0.9.0-rc.2"] {
            assert_eq!(
                features(base),
                ["+avx2", "+avx512f", "+sve2", "+simd128"],
                "{base}"
            );
        }
        let v4 = legs("0.8.0").unwrap().swap_remove(2);
        assert!(v4.has_features(&["+avx512f".into()]) && v4.compile_only);
        assert!(!v4.has_features(&["+avx512f".into(), "+avx512ifma".into()]));
    }

    /// Paths and lines of this repository's patches tell the legs.
    #[test]
    fn the_legs_of_a_patch_are_those_of_its_target_features() {
        let project = Project::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        for (name, legs) in [
            (
                "neon-umull-reduce",
                "its code for vectors: `+sve2` (compiled only), `macos-latest`.",
            ),
            (
                "monty-paired-diagonal",
                "its code for vectors: `+avx2`, `+avx512f` (compiled only).",
            ),
            (
                "batched-poseidon1",
                "its code for vectors: `+avx2`, `+avx512f` (compiled only).",
            ),
            (
                "row-prefetch",
                "this: `ubuntu-latest`, `+avx2`, `+avx512f` (compiled only), `windows-latest`.",
            ),
        ] {
            let patch = project.catalog.patch("0.8.0", name).unwrap();
            let text = markdown(&patch, "0.8.0").unwrap();
            let line = format!("These legs of `.github/workflows/ci.yml` build {legs}");
            assert_eq!(text, line, "{name}");
        }
    }
}
