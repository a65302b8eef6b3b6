//! The tables of `docs/prover.md`: the patches for published provers, and for readers who know their field, hash or machine.

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::project::Project;
use crate::report::markdown::meanings;
use crate::report::results::Section;
use crate::report::summary::{UNMEASURED, counted, head, range_of_proof, row};
use crate::test::provers;
use p3_patches::catalog::Catalog;
use paired::escape;

/// Below the project's root.
pub const PROVERS: &str = "docs/prover.md";

/// A kind of prover, by what its developers know of it.
struct Audience {
    /// The kind.
    who: &'static str,
    /// The patches whose code it may run beside those of [`EVERYWHERE`].
    patches: &'static [&'static str],
    /// The proof that is most like its proofs, where one is measured.
    proof: Option<&'static str>,
    /// The parts that no record has.
    unmeasured: &'static str,
}

/// The patches whose code every prover runs.
const EVERYWHERE: [&str; 5] = [
    "tiled-dft",
    "narrow-row-reversal",
    "leafless-trees",
    "freed-openings",
    "freed-constraints",
];

const AUDIENCES: [Audience; 5] = [
    Audience {
        who: "Goldilocks, hashing with Poseidon2 or Poseidon1",
        patches: &[
            "packed-poseidon2",
            "ifma-permute",
            "batched-hashing",
            "batched-permute",
            "packed-mds-karatsuba",
            "batched-poseidon1",
            "scalar-width12",
            "inline-array-maps",
            "prepared-twiddles",
            "ifma-butterflies",
            "lazy-dot-products",
            "row-prefetch",
            "packed-product",
        ],
        proof: Some("stark-prove/keccak-air"),
        unmeasured: "proofs that hash with Poseidon1",
    },
    Audience {
        who: "Goldilocks, hashing bytes (Blake3, Keccak, SHA-256)",
        patches: &[
            "inline-array-maps",
            "prepared-twiddles",
            "ifma-butterflies",
            "lazy-dot-products",
            "row-prefetch",
            "packed-product",
            "keccak-planes",
        ],
        proof: Some("stark-prove/keccak-air-blake3"),
        unmeasured: "proofs that hash with Keccak or SHA-256",
    },
    Audience {
        who: "KoalaBear or BabyBear, hashing with Poseidon2 or Poseidon1",
        patches: &[
            "quintic-inline",
            "quintic-lazy-reduction",
            "quartic-lazy-reduction",
            "quintic-single-product",
            "monty-paired-diagonal",
            "inline-array-maps",
            "monty-poseidon1",
            "monty-dot-products",
            "row-prefetch",
            "row-tiles",
            "packed-rows",
        ],
        proof: Some("stark-prove/keccak-air-koala-bear"),
        unmeasured: "proofs that hash with Poseidon1",
    },
    Audience {
        who: "KoalaBear or BabyBear, hashing with Keccak",
        patches: &[
            "quartic-lazy-reduction",
            "inline-array-maps",
            "monty-dot-products",
            "row-prefetch",
            "row-tiles",
            "packed-rows",
            "keccak-planes",
        ],
        proof: Some("stark-prove/keccak-air-koala-bear-keccak"),
        unmeasured: "proofs that hash with SHA-256",
    },
    Audience {
        who: "aarch64 (Apple silicon, Graviton)",
        patches: &[
            "batched-hashing",
            "neon-dispatch-fix",
            "neon-umull-reduce",
            "neon-batched-permute",
        ],
        proof: None,
        unmeasured: "any time: instructions were counted on an emulated core",
    },
];

/// Returns both tables as Markdown.
pub fn markdown(project: &Project, sections: &[Section]) -> Result<String> {
    let heads = [
        "published prover",
        "Plonky3",
        "its packages of Plonky3 (p3-)",
        "patches that touch them",
        "on aarch64 besides",
    ];
    let mut text = head(heads.into_iter());
    for prover in &provers::ALL {
        let [everywhere, neon] = reaching(&project.catalog, prover.release, prover.packages)?;
        text += &row([
            &*escape::text(&prover.to_string().replace('/', " ")),
            prover.release,
            &prover.packages.join(", "),
            &everywhere.join(", "),
            &neon.join(", "),
        ]);
    }
    text += "\n";
    let heads = [
        "prover",
        "patches to take",
        "what they gain",
        "what is not measured",
    ];
    text += &head(heads.into_iter());
    for Audience {
        who,
        patches,
        proof,
        unmeasured,
    } in &AUDIENCES
    {
        let patches = [*patches, &EVERYWHERE].concat();
        let links: Vec<_> = (patches.iter())
            .map(|name| format!("[{name}](../crates/{name})"))
            .collect();
        let gain = match proof {
            Some(proof) => {
                let range = range_of_proof(sections, proof);
                format!("{}, all patches: {range}", escape::code(proof))
            }
            None => instructions(sections, &patches),
        };
        text += &row([*who, &links.join(", "), &gain, unmeasured]);
    }
    text += &meanings(&text);
    Ok(format!("\n{text}"))
}

/// Returns the patches for `release` that touch one of these packages, with what they need: those that change builds on x86-64, then
/// those that change builds on aarch64 only.
fn reaching(catalog: &Catalog, release: &str, packages: &[&str]) -> Result<[Vec<String>; 2]> {
    let version = Version::parse(release)?;
    let mut names = Vec::new();
    for name in catalog.names() {
        if catalog.merged(&version, name)?.is_some() || !catalog.has(release, name) {
            continue;
        }
        let touched = catalog.header(release, name)?.packages;
        let mut touched = touched.iter().filter_map(|name| name.strip_prefix("p3-"));
        if touched.any(|package| packages.contains(&package)) {
            names.push(name.to_owned());
        }
    }
    let (_, names) = catalog.resolve(Some(release), &names)?;
    let mut both = [Vec::new(), Vec::new()];
    for name in names {
        let only = catalog.header(release, &name)?.architectures == ["aarch64"];
        both[usize::from(only)].push(name);
    }
    Ok(both)
}

/// Returns the instructions that were counted with each patch that has a count.
fn instructions(sections: &[Section], patches: &[&str]) -> String {
    let counts = patches.iter().filter_map(|name| {
        let own: Vec<_> = (sections.iter())
            .filter(|section| section.is_of(name))
            .collect();
        let range = counted(&own);
        (range != UNMEASURED).then(|| format!("{name} {range}"))
    });
    let counts: Vec<_> = counts.collect();
    match counts.is_empty() {
        true => UNMEASURED.to_owned(),
        false => counts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_patch_of_a_kind_of_prover_changes_its_builds() {
        let project = Project::at(concat!(env!("CARGO_MANIFEST_DIR"), "/..").as_ref());
        for Audience { who, patches, .. } in &AUDIENCES {
            let patches = [*patches, &EVERYWHERE].concat();
            let base = project.catalog.newest_base_of_all(&patches).unwrap();
            let architecture = if who.starts_with("aarch64") {
                "aarch64"
            } else {
                "x86_64"
            };
            for name in &patches {
                let only = project.catalog.header(&base, name).unwrap().architectures;
                let is_changed = only.is_empty() || only.iter().any(|one| one == architecture);
                assert!(is_changed, "{who}: {name} is for {only:?} only");
            }
        }
    }

    #[test]
    fn a_patch_reaches_a_prover_by_its_packages() {
        let filed = crate::bench::record::tests::Filed::new();
        let catalog = Project::at(filed.root()).catalog;
        let reaching = |packages| reaching(&catalog, "0.8.0", packages).unwrap();
        let both = ["base-layer".to_owned(), "quick-sponge".to_owned()];
        assert_eq!(reaching(&["a", "x"]), [both.to_vec(), Vec::new()]);
        assert_eq!(reaching(&["a"]), [Vec::<String>::new(), Vec::new()]);
    }
}
