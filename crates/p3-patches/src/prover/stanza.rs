//! The stanza: the block of text between two marker lines at the end of a prover's manifest.
//!
//! Nothing else in the file is touched, which is how `remove` gives back the manifest byte for byte. Its tables are of the form
//! `[patch.crates-io.NAME]`, which TOML allows beside every other way to write such a table but an inline one.
//!
//! Where a prover has Plonky3 from git, `[patch."URL".NAME]` are the overrides. The trees' manifests ask the registry for
//! their dependencies, so `[patch.crates-io.NAME]` then points these at the tree, or at the prover's own git source: the
//! graph has to hold one copy of each.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use cargo_metadata::semver::Version;
use toml_edit::{DocumentMut, Table};

use crate::prover::git_source::GitSource;

/// The folder of trees, beside the root manifest.
pub const TREES: &str = ".p3-patches";

/// The registry, as a manifest's `[patch]` has it.
pub(super) const REGISTRY: &str = "crates-io";

pub(super) const BEGIN: &str = "# >>> p3-patches: ";

const END: &str = "# <<< p3-patches";

/// Stands between the patches and the git source in the first line.
const IN: &str = " in ";

const NOTICE: &str = "# Written by `cargo p3 apply`, which also re-creates the folders; `cargo p3 remove` takes this out.";

/// The record of the patches applied to a workspace, in its manifest.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stanza {
    pub base: String,
    pub names: Vec<String>,
    /// Trees by package, relative to the manifest's folder, with `/` between the parts.
    pub overrides: BTreeMap<String, String>,
    /// The repository whose packages they replace, where these are not the registry's.
    pub git: Option<Git>,
}

/// The part of a stanza for Plonky3 from git.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Git {
    pub source: GitSource,
    /// The packages that the trees ask the registry for.
    pub needed: BTreeSet<String>,
}

impl Stanza {
    /// The tables below `[patch]`: by registry or repository, where each package is taken from.
    pub(super) fn tables(&self) -> BTreeMap<&str, BTreeMap<&str, Table>> {
        let place = |path: &String| Table::from_iter([("path", path)]);
        let trees = (self.overrides.iter()).map(|(package, path)| (package.as_str(), place(path)));
        let Some(Git { source, needed }) = &self.git else {
            return BTreeMap::from([(REGISTRY, trees.collect())]);
        };
        let pinned = [("git", source.url())]
            .into_iter()
            .chain(source.reference());
        let needed = needed.iter().map(|package| {
            let tree = self.overrides.get(package).map(place);
            let table = tree.unwrap_or_else(|| Table::from_iter(pinned.clone()));
            (package.as_str(), table)
        });
        BTreeMap::from([
            (source.url(), trees.collect()),
            (REGISTRY, needed.collect()),
        ])
    }
}

/// Appends the stanza, with the file's own line ends.
pub(super) fn join(original: &str, stanza: &Stanza) -> String {
    let implicit = |mut table: Table| {
        table.set_implicit(true);
        table
    };
    let registries = (stanza.tables().into_iter())
        .map(|(registry, packages)| (registry, implicit(Table::from_iter(packages))));
    let patch = implicit(Table::from_iter(registries));
    let tables = DocumentMut::from(Table::from_iter([("patch", patch)])).to_string();
    let names = stanza.names.join(", ");
    let from = (stanza.git.as_ref()).map_or(String::new(), |git| format!("{IN}{}", git.source));
    let block = format!(
        "\n{BEGIN}Plonky3 {} with {names}{from}\n{NOTICE}\n{}\n{END}\n",
        stanza.base,
        tables.trim()
    );
    let block = if original.contains("\r\n") {
        block.replace('\n', "\r\n")
    } else {
        block
    };
    format!("{original}{block}")
}

/// Takes a manifest apart into the text around the stanza and the stanza.
pub(super) fn split(text: &str) -> Result<(String, Option<Stanza>), &'static str> {
    let mut at = 0;
    let mut begin = None;
    let mut end = None;
    for line in text.split_inclusive('\n') {
        if line.starts_with(BEGIN) {
            if begin.replace(at).is_some() {
                return Err("two p3-patches blocks");
            }
        } else if line.trim_end() == END && end.replace(at + line.len()).is_some() {
            return Err("two ends of a p3-patches block");
        }
        at += line.len();
    }
    let (begin, end) = match (begin, end) {
        (None, None) => return Ok((text.to_owned(), None)),
        (Some(begin), Some(end)) if begin < end => (begin, end),
        _ => return Err("the p3-patches block has lost its first or its last line"),
    };
    let block = &text[begin..end];
    let (base, names) = (block.lines().next())
        .and_then(|line| line.strip_prefix(BEGIN)?.strip_prefix("Plonky3 "))
        .and_then(|rest| rest.split_once(" with "))
        .ok_or("the first line of the p3-patches block has been changed")?;
    // The last one: a patch may have that name, and no source has a space.
    let (names, source) = match names.rsplit_once(IN) {
        None => (names, None),
        Some((names, source)) => {
            let source = GitSource::parse(source.trim_end());
            let source = source.ok_or("the first line of the p3-patches block has been changed")?;
            (names, Some(source))
        }
    };
    let document: DocumentMut = block
        .parse()
        .map_err(|_| "the p3-patches block does not parse")?;
    let below = |registry: &str| document.get("patch")?.get(registry)?.as_table_like();
    let overrides = below(source.as_ref().map_or(REGISTRY, GitSource::url))
        .ok_or("the p3-patches block patches nothing")?;
    let overrides = overrides
        .iter()
        .map(|(package, item)| Some((package.to_owned(), item.get("path")?.as_str()?.to_owned())))
        .collect::<Option<BTreeMap<_, _>>>()
        .ok_or("an entry of the p3-patches block has no path")?;
    // Whoever changes one of them has changed what the block says.
    let is_place = |(package, place): (&String, &String)| {
        let hash = place.strip_prefix(&format!("{TREES}/{base}/{package}-"));
        hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    if Version::parse(base).is_err() || !overrides.iter().all(is_place) {
        return Err("the p3-patches block names a tree that is none of the release that it names");
    }
    let needed = below(REGISTRY).into_iter().flat_map(|table| table.iter());
    let needed = needed.map(|(package, _)| package.to_owned()).collect();
    let stanza = Stanza {
        base: base.to_owned(),
        names: names.split(", ").map(str::to_owned).collect(),
        overrides,
        git: source.map(|source| Git { source, needed }),
    };

    // The block brought one line break before itself: an empty line, or the end of an unterminated line.
    let before = text[..begin].strip_suffix('\n').unwrap_or(&text[..begin]);
    let before = before.strip_suffix('\r').unwrap_or(before);
    Ok((format!("{before}{}", &text[end..]), Some(stanza)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::prover::manifest::Manifest;

    /// Every way to write a `[patch]`, and what surrounds one. Each part can follow the ones before it.
    const PARTS: [&str; 5] = [
        "[package] # a comment\nname = \"x\"\n",
        "\n\n# spaced   out\n[dependencies]\np3-field = { version = \"0.8\" }   # trailing\n",
        "[[bin]]\nname = \"b\"\n\n[profile.release]\nlto = \"fat\"\n",
        "  [features]\n  default = [\n    \"a\",\n  ]\n\n\n",
        "# only a comment",
    ];
    const PATCHES: [&str; 7] = [
        "",
        "[patch.crates-io]\nserde = { path = \"../serde\" }\n",
        "[patch.crates-io]\n",
        "[patch.crates-io.serde]\npath = \"../serde\"\n",
        "[patch]\ncrates-io.serde.path = \"../serde\"\n",
        "[patch]\ncrates-io.serde = { path = \"../serde\" }\n[patch.other]\n",
        "[patch.\"https://example.org/index\"]\nserde = { path = \"../serde\" }\n",
    ];

    fn stanza() -> impl Strategy<Value = Stanza> {
        let packages = prop::collection::btree_map("p3-[a-z]{1,8}", "[0-9a-f]{12}", 1..4);
        let names = prop::collection::vec("[a-z0-9-]{1,8}", 1..4);
        (packages, names, prop::option::of(git())).prop_map(|(hashes, names, git)| Stanza {
            base: "0.8.0".to_owned(),
            names,
            overrides: hashes.into_iter().map(tree).collect(),
            git,
        })
    }

    /// A package, and the place of its tree.
    fn tree((package, hash): (String, String)) -> (String, String) {
        let place = format!(".p3-patches/0.8.0/{package}-{hash}");
        (package, place)
    }

    fn git() -> impl Strategy<Value = Git> {
        let source = "git\\+https://[a-z.]{1,8}/[A-Za-z3]{1,8}(\\?(rev|tag|branch)=[a-z0-9.'é-]{1,9})?#[0-9a-f]{8}";
        let needed = prop::collection::btree_set("p3-[a-z]{1,8}", 0..4);
        (source, needed).prop_map(|(source, needed)| Git {
            source: GitSource::parse(&source).expect("a git source"),
            needed,
        })
    }

    fn manifest() -> impl Strategy<Value = String> {
        let parts = prop::sample::subsequence(PARTS.as_slice(), 0..=PARTS.len());
        let patch = prop::sample::select(PATCHES.as_slice());
        (patch, parts, any::<bool>(), any::<bool>()).prop_map(|(patch, parts, crlf, terminated)| {
            let text = format!("{}\n{patch}", parts.join("\n"));
            let text = if terminated {
                text
            } else {
                text.trim_end_matches('\n').to_owned()
            };
            if crlf {
                text.replace('\n', "\r\n")
            } else {
                text
            }
        })
    }

    fn loaded(original: &str) -> Manifest {
        Manifest {
            path: "Cargo.toml".into(),
            original: original.to_owned(),
            stanza: None,
        }
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_byte_for_byte(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap();
            let (split_original, split_stanza) = split(&text).unwrap();
            prop_assert_eq!(split_original, original);
            prop_assert_eq!(split_stanza, Some(stanza));
        }

        /// Text that a user adds below the block stays too.
        #[test]
        fn text_after_the_stanza_survives(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap() + "[workspace]\n";
            let (split_original, _) = split(&text).unwrap();
            prop_assert_eq!(split_original, original + "[workspace]\n");
        }
    }

    #[test]
    fn patches_may_be_called_as_the_words_between_them() {
        let source = "git+https://a/A#00aaa00a";
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: ["with", "in", "a"].map(str::to_owned).to_vec(),
            overrides: BTreeMap::from([tree(("p3-field".into(), "0123456789ab".into()))]),
            git: Some(Git {
                source: GitSource::parse(source).unwrap(),
                needed: BTreeSet::new(),
            }),
        };
        for git in [stanza.git.clone(), None] {
            for end in 1..=stanza.names.len() {
                let stanza = Stanza {
                    names: stanza.names[..end].to_vec(),
                    git: git.clone(),
                    ..stanza.clone()
                };
                let (_, split) = split(&join("", &stanza)).unwrap();
                assert_eq!(split, Some(stanza));
            }
        }
    }

    #[test]
    fn a_damaged_stanza_is_refused() {
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: vec!["a".to_owned()],
            overrides: BTreeMap::from([tree(("p3-field".into(), "0123456789ab".into()))]),
            git: None,
        };
        let text = join("", &stanza);
        let damages = [
            text.replace(END, "#"),
            text.replace(BEGIN, "#"),
            text.replace("Plonky3 ", ""),
            text.replace("Plonky3 0.8.0", "Plonky3 0.9.9"),
            text.replace("0.8.0", "x"),
            text.replace(".p3-patches", "../.p3-patches"),
            text.replace("p3-field-", "p3-other-"),
            text.replace("path = ", "git = "),
            format!("{text}{text}"),
        ];
        for damage in damages {
            assert!(split(&damage).is_err(), "{damage}");
        }
    }
}
