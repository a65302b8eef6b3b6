//! The stanza: the block of text between two marker lines at the end of a prover's manifest.
//!
//! The tool writes and removes its own lines and no others, so `remove` gives back the manifest byte for byte. The tables of the
//! block are of the form `[patch.crates-io.NAME]`, which TOML allows beside every other way to write such a table but an inline
//! one.
//!
//! Cargo and formatters know nothing of the markers: a new table, such as the `[features]` of `cargo add --optional`, goes behind
//! the last one of the file, which is inside the block. [`split`] keeps every line of the block that is not the tool's.
//!
//! Where a prover has Plonky3 from git, `[patch."URL".NAME]` are the overrides. The trees' manifests ask the registry for
//! their dependencies, so `[patch.crates-io.NAME]` then points these at the tree, or at the prover's own git source: the
//! graph has to hold one copy of each.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use anyhow::Result;
use cargo_metadata::semver::Version;
use toml_edit::{Document, DocumentMut, Item, Table};

use crate::catalog::is_name;
use crate::prover::git_source::{Git, GitSource};

/// The folder of trees, beside the root manifest.
pub const TREES: &str = ".p3-patches";

/// The registry, as a manifest's `[patch]` has it.
pub(super) const REGISTRY: &str = "crates-io";

pub(super) const BEGIN: &str = "# >>> p3-patches: ";

/// The start of the names of Plonky3's packages; an entry of another package in the block is the user's.
const PLONKY3: &str = "p3-";

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
    /// The profiles that compile path packages incrementally, each with a package of which the block says that it is not. The
    /// registry's packages never are.
    pub not_incremental: BTreeSet<(String, String)>,
    /// The repository whose packages they replace, where these are not the registry's.
    pub git: Option<Git>,
}

impl Stanza {
    pub(super) fn tables(&self) -> Tables<'_> {
        tables(&self.overrides, self.git.as_ref())
    }

    /// Returns the tables that the block consists of, each with the keys that it may have.
    fn own_tables(&self) -> BTreeMap<Vec<String>, &'static [&'static str]> {
        let mut found = BTreeMap::<_, &[&str]>::new();
        for (registry, packages) in self.tables() {
            for package in packages.into_keys() {
                let path = ["patch", registry, package].map(str::to_owned);
                found.insert(path.to_vec(), &["path", "git", "branch", "tag", "rev"]);
            }
        }
        for (profile, package) in &self.not_incremental {
            let path = ["profile", profile, "package", package].map(str::to_owned);
            found.insert(path.to_vec(), &["incremental"]);
        }
        found
    }
}

/// The tables below `[patch]`: by registry or repository, where each package is taken from.
pub type Tables<'s> = BTreeMap<&'s str, BTreeMap<&'s str, Table>>;

/// Returns the tables that take each package of `overrides` from its path.
pub(super) fn tables<'s>(
    overrides: &'s BTreeMap<String, String>,
    git: Option<&'s Git>,
) -> Tables<'s> {
    let place = |path: &String| Table::from_iter([("path", path)]);
    let trees = (overrides.iter()).map(|(package, path)| (package.as_str(), place(path)));
    let Some(Git { source, needed }) = git else {
        return BTreeMap::from([(REGISTRY, trees.collect())]);
    };
    let pinned = [("git", source.url())]
        .into_iter()
        .chain(source.reference());
    let needed = needed.iter().map(|package| {
        let tree = overrides.get(package).map(place);
        let table = tree.unwrap_or_else(|| Table::from_iter(pinned.clone()));
        (package.as_str(), table)
    });
    BTreeMap::from([
        (source.url(), trees.collect()),
        (REGISTRY, needed.collect()),
    ])
}

/// Appends the stanza, with the file's own line ends.
pub(super) fn join(original: &str, stanza: &Stanza) -> String {
    let implicit = |mut table: Table| {
        table.set_implicit(true);
        table
    };
    let registries = (stanza.tables().into_iter())
        .map(|(registry, packages)| (registry, implicit(Table::from_iter(packages))));
    let mut document = DocumentMut::new();
    document["patch"] = Item::Table(implicit(Table::from_iter(registries)));
    for (profile, package) in &stanza.not_incremental {
        let mut table = &mut *document;
        for part in ["profile", profile, "package"] {
            let below = table
                .entry(part)
                .or_insert_with(|| Item::Table(implicit(Table::new())));
            table = below.as_table_mut().expect("made a table above");
        }
        table.insert(
            package,
            Item::Table(Table::from_iter([("incremental", false)])),
        );
    }
    let tables = document.to_string();
    let names = stanza.names.join(", ");
    let from = (stanza.git.as_ref()).map_or(String::new(), |git| {
        format!("{IN}{}", git.source.as_written())
    });
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

/// A manifest, taken apart.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Parts {
    /// The text without the stanza.
    pub original: String,
    pub stanza: Option<Stanza>,
    /// The headers of the user's tables inside the block, and the comments there; `original` has all of it in the block's place.
    pub moved: Vec<String>,
}

/// Takes a manifest apart into the stanza and the text of the user, part of which may stand inside the block.
pub(super) fn split(text: &str) -> Result<Parts, String> {
    let mut at = 0;
    let mut begin = None;
    let mut end = None;
    for line in text.split_inclusive('\n') {
        // Formatters indent comments.
        if line.trim_start().starts_with(BEGIN) {
            begin = Some(at);
        } else if line.trim() == END && end.replace(at + line.len()).is_some() {
            return Err("two ends of a p3-patches block".to_owned());
        }
        at += line.len();
    }
    let (begin, end) = match (begin, end) {
        (None, None) => {
            return Ok(Parts {
                original: text.to_owned(),
                stanza: None,
                moved: Vec::new(),
            });
        }
        (Some(begin), Some(end)) if begin < end => (begin, end),
        _ => return Err("the p3-patches block has lost its first or its last line".to_owned()),
    };
    let stanza = read(&text[begin..end])?;
    let block = Block::separate(&text[..end], begin, &stanza)?;
    let after = &text[end..];
    if block.ends_with_own
        && let Some(offset) = continuation(after)
    {
        let line = line_at(text, end + offset);
        return Err(format!(
            "line {line} continues the last table of the p3-patches block"
        ));
    }

    // The block brought one line break before itself: an empty line, or the end of an unterminated line.
    let above = &text[..begin];
    let line_break = if above.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let before = above.strip_suffix(line_break).unwrap_or(above);
    let users = block.users + after;
    let is_glued = !before.is_empty() && !before.ends_with('\n') && !users.is_empty();
    let line_break = match is_glued && !users.starts_with(['\r', '\n']) {
        true => line_break,
        false => "",
    };
    Ok(Parts {
        original: format!("{before}{line_break}{users}"),
        stanza: Some(stanza),
        moved: block.moved,
    })
}

/// Reads the record in the text of a block.
fn read(block: &str) -> Result<Stanza, String> {
    let changed = "the first line of the p3-patches block has been changed";
    let (base, names) = (block.lines().next())
        .and_then(|line| {
            line.trim_start()
                .strip_prefix(BEGIN)?
                .strip_prefix("Plonky3 ")
        })
        .and_then(|rest| rest.split_once(" with "))
        .ok_or(changed)?;
    // The last one: a patch may have that name, and no source has a space.
    let (names, source) = match names.rsplit_once(IN) {
        None => (names, None),
        Some((names, source)) => (
            names,
            Some(GitSource::parse(source.trim_end()).ok_or(changed)?),
        ),
    };
    let names: Vec<_> = names.split(", ").collect();
    if !names.iter().all(|name| is_name(name)) {
        return Err(changed.to_owned());
    }
    let document: DocumentMut = block
        .parse()
        .map_err(|_| "the p3-patches block does not parse")?;
    let below = |registry: &str| document.get("patch")?.get(registry)?.as_table_like();
    let registry = source.as_ref().map_or(REGISTRY, GitSource::url);
    let mut overrides = BTreeMap::new();
    for (package, item) in below(registry).into_iter().flat_map(|table| table.iter()) {
        if let Some(place) = place_of_tree(item) {
            overrides.insert(package.to_owned(), place.to_owned());
        } else if package.starts_with(PLONKY3) {
            return Err(format!(
                "the p3-patches block names a tree of {package} that is not below {TREES}"
            ));
        }
    }
    if overrides.is_empty() {
        return Err("the p3-patches block patches nothing".to_owned());
    }
    // The block says the release twice, so an edit of one of them shows.
    let is_place = |(package, place): (&String, &String)| {
        let hash = place.strip_prefix(&format!("{TREES}/{base}/{package}-"));
        hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    if Version::parse(base).is_err() || !overrides.iter().all(is_place) {
        return Err("the p3-patches block names a tree of another release".to_owned());
    }
    let is_needed = |item: &Item| {
        let url = item.get("git").and_then(Item::as_str);
        place_of_tree(item).is_some() || url.is_some() && url == source.as_ref().map(GitSource::url)
    };
    let needed = (below(REGISTRY).into_iter())
        .flat_map(|table| table.iter())
        .filter(|(_, item)| is_needed(item))
        .map(|(package, _)| package.to_owned())
        .collect();
    let profiles = document.get("profile").and_then(Item::as_table_like);
    let not_incremental = profiles
        .into_iter()
        .flat_map(|profiles| profiles.iter())
        .flat_map(|(profile, item)| {
            let packages = item.get("package").and_then(Item::as_table_like);
            let packages = packages.into_iter().flat_map(|packages| packages.iter());
            packages.map(move |(package, _)| (profile.to_owned(), package.to_owned()))
        })
        .filter(|(_, package)| overrides.contains_key(package))
        .collect();
    Ok(Stanza {
        base: base.to_owned(),
        names: names.into_iter().map(str::to_owned).collect(),
        overrides,
        not_incremental,
        git: source.map(|source| Git { source, needed }),
    })
}

/// Returns the tree that an entry of `[patch]` points at, if it is one of the tool's.
pub(super) fn place_of_tree(entry: &Item) -> Option<&str> {
    let place = entry.get("path")?.as_str()?;
    place.starts_with(&format!("{TREES}/")).then_some(place)
}

/// The text between the markers, without the lines of the tool.
struct Block {
    users: String,
    /// The headers and the comments that were found among the lines of the tool.
    moved: Vec<String>,
    /// The last table of the block is one of the tool's.
    ends_with_own: bool,
}

impl Block {
    /// Separates the lines of the block, which reaches from `begin` to the end of `text`.
    fn separate(text: &str, begin: usize, stanza: &Stanza) -> Result<Self, String> {
        let block = &text[begin..];
        let headers = headers(block)?;
        let own = stanza.own_tables();
        let mut found = Self {
            users: String::new(),
            moved: Vec::new(),
            ends_with_own: true,
        };
        // Empty lines and comments, whose side is settled by the table behind them.
        let mut pending = String::new();
        let mut keys: &[&str] = &[];
        let mut at = 0;
        for line in block.split_inclusive('\n') {
            let start = at + line.len() - line.trim_start_matches([' ', '\t']).len();
            let number = line_at(text, begin + at);
            let bare = line.trim();
            let header = headers.get(&start);
            let behind = header.map_or("", |(end, _)| block[*end..at + line.len()].trim());
            at += line.len();
            if bare.starts_with(BEGIN.trim_end()) || bare == NOTICE || bare == END {
                continue;
            }
            if let Some((_, path)) = header {
                let own = own.get(path);
                found.ends_with_own = own.is_some();
                keys = own.copied().unwrap_or_default();
                let pending = mem::take(&mut pending);
                if own.is_none() {
                    found.users += &pending;
                    found.moved.push(bare.to_owned());
                } else {
                    found.keep_comments(&pending);
                    found.keep_comments(behind);
                    continue;
                }
            }
            if !found.ends_with_own {
                found.users += line;
            } else if bare.is_empty() || bare.starts_with('#') {
                pending += line;
            } else if let Some(comment) = comment_behind(bare, keys) {
                found.keep_comments(&comment);
            } else {
                return Err(format!(
                    "line {number} stands in a table of the p3-patches block: `{bare}`"
                ));
            }
        }
        found.keep_comments(&pending);
        Ok(found)
    }

    /// Keeps the lines of `text`, which are empty or comments, if one of them says anything.
    fn keep_comments(&mut self, text: &str) {
        let comments = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let moved = self.moved.len();
        self.moved.extend(comments.map(str::to_owned));
        if self.moved.len() > moved {
            self.users += text;
            if !text.ends_with('\n') {
                self.users.push('\n');
            }
        }
    }
}

/// Returns the comment behind a pair with one of the `keys`, which may be empty; nothing for any other line.
fn comment_behind(line: &str, keys: &[&str]) -> Option<String> {
    let document: DocumentMut = line.parse().ok()?;
    let (key, item) = document.iter().next()?;
    let suffix = item.as_value()?.decor().suffix();
    let suffix = suffix.and_then(|suffix| suffix.as_str());
    let is_own = keys.contains(&key);
    is_own.then(|| suffix.unwrap_or_default().trim().to_owned())
}

/// Returns the tables with a header in `block`, by where the header begins, each with where it ends.
fn headers(block: &str) -> Result<BTreeMap<usize, (usize, Vec<String>)>, String> {
    fn collect(table: &Table, path: &[String], found: &mut BTreeMap<usize, (usize, Vec<String>)>) {
        if !path.is_empty() && !table.is_implicit() && !table.is_dotted() {
            let span = table.span();
            found.extend(span.map(|span| (span.start, (span.end, path.to_vec()))));
        }
        for (key, item) in table {
            let path = [path, &[key.to_owned()]].concat();
            match item {
                Item::Table(table) => collect(table, &path, found),
                Item::ArrayOfTables(tables) => {
                    for table in tables {
                        collect(table, &path, found);
                    }
                }
                Item::None | Item::Value(_) => {}
            }
        }
    }
    let document =
        Document::parse(block).map_err(|_| "the p3-patches block does not parse".to_owned())?;
    let mut found = BTreeMap::new();
    collect(document.as_table(), &[], &mut found);
    Ok(found)
}

/// Tells where the first line of `text` that says anything begins, if that is a key and so part of the table before it.
fn continuation(text: &str) -> Option<usize> {
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        match line.trim_start().bytes().next() {
            None | Some(b'#') => offset += line.len(),
            Some(b'[') => return None,
            Some(_) => return Some(offset),
        }
    }
    None
}

/// Returns the number of the line that a byte stands in.
pub(super) fn line_at(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toml_edit::value;

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
        let profile = prop::option::of("[a-z]{1,8}-p");
        let parts = (packages, names, profile, prop::option::of(git()));
        parts.prop_map(|(hashes, names, profile, git)| Stanza {
            base: "0.8.0".to_owned(),
            names,
            not_incremental: (profile.into_iter())
                .flat_map(|profile| {
                    hashes
                        .keys()
                        .map(move |package| (profile.clone(), package.clone()))
                })
                .collect(),
            overrides: hashes.into_iter().map(tree).collect(),
            git,
        })
    }

    /// Returns a package, and the place of its tree.
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
            text: original.to_owned(),
            original: original.to_owned(),
            stanza: None,
            moved: Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn what_is_joined_splits_byte_for_byte(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap();
            let parts = split(&text).unwrap();
            prop_assert_eq!(parts, Parts { original, stanza: Some(stanza), moved: Vec::new() });
        }

        /// Text that a user adds below the block stays too, on lines of its own.
        #[test]
        fn text_after_the_stanza_survives(original in manifest(), stanza in stanza()) {
            let text = loaded(&original).with(&stanza).unwrap() + "[workspace]\n";
            let line_break = match original.is_empty() || original.ends_with('\n') {
                true => "",
                false if original.contains("\r\n") => "\r\n",
                false => "\n",
            };
            prop_assert_eq!(split(&text).unwrap().original, original + line_break + "[workspace]\n");
        }

        /// Edits as cargo makes them leave the same text whether or not a block was there meanwhile.
        #[test]
        fn edits_leave_what_they_leave_without_us(steps in prop::collection::vec(step(), 1..12)) {
            const ORIGINAL: &str = "[package] # a comment\nname = \"x\"\n\n[dependencies]\np3-field = \"0.8\"\n";
            let mut text = ORIGINAL.to_owned();
            let mut alone = ORIGINAL.to_owned();
            for step in &steps {
                text = match step {
                    Step::Apply(stanza) => join(&split(&text).unwrap().original, stanza),
                    Step::Remove => split(&text).unwrap().original,
                    Step::Edit(edit) => {
                        alone = edit.made(&alone);
                        edit.made(&text)
                    }
                };
            }
            let Parts { original, .. } = split(&text).unwrap();
            prop_assert_eq!(original, alone);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Apply(Stanza),
        Remove,
        Edit(Edit),
    }

    fn step() -> impl Strategy<Value = Step> {
        const TABLES: [&str; 4] = [
            "dependencies",
            "features",
            "dev-dependencies",
            "build-dependencies",
        ];
        let edit = (
            prop::sample::select(TABLES.as_slice()),
            "[a-c]",
            any::<bool>(),
        );
        let edit = edit.prop_map(|(table, key, add)| Edit { table, key, add });
        prop_oneof![
            2 => stanza().prop_map(Step::Apply),
            1 => Just(Step::Remove),
            4 => edit.prop_map(Step::Edit),
        ]
    }

    /// A key that cargo adds to a table or removes from it.
    #[derive(Clone, Debug)]
    struct Edit {
        table: &'static str,
        key: String,
        add: bool,
    }

    impl Edit {
        /// Returns the manifest after the edit, which cargo makes by the same library.
        fn made(&self, manifest: &str) -> String {
            let mut document: DocumentMut = manifest.parse().unwrap();
            if self.add {
                let table = document
                    .entry(self.table)
                    .or_insert_with(|| Table::new().into());
                table[&self.key] = value("1");
            } else if let Some(table) = document.get_mut(self.table) {
                let table = table.as_table_mut().unwrap();
                table.remove(&self.key);
                if table.is_empty() {
                    document.remove(self.table);
                }
            }
            document.to_string()
        }
    }

    /// Returns a block with two trees.
    fn block() -> (Stanza, String) {
        let packages =
            ["p3-dft", "p3-field"].map(|name| tree((name.into(), "0123456789ab".into())));
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: vec!["a".to_owned()],
            overrides: packages.into(),
            not_incremental: [("release".to_owned(), "p3-dft".to_owned())].into(),
            git: None,
        };
        let text = join("[package]\n", &stanza);
        (stanza, text)
    }

    #[test]
    fn lines_of_the_user_in_the_block_are_kept() {
        let (stanza, text) = block();
        let kept = |text: &str, kept: &str, moved: &[&str]| {
            let parts = split(text).unwrap();
            assert_eq!(parts.original, format!("[package]\n{kept}"), "{text}");
            assert_eq!(parts.stanza.as_ref(), Some(&stanza), "{text}");
            assert_eq!(parts.moved, moved, "{text}");
        };
        kept(&text, "", &[]);
        let before_end = |added: &str| text.replace(END, &format!("{added}{END}"));
        let features = "\n# of the user\n[features]\nx = [\n  \"a\",\n\n]\n\n";
        kept(&before_end(features), features, &["[features]"]);
        let patch = "[patch.crates-io.serde]\npath = \"../serde\"\n";
        kept(&before_end(patch), patch, &["[patch.crates-io.serde]"]);
        let profile = "[profile.release.package.serde]\nincremental = false\n";
        kept(
            &before_end(profile),
            profile,
            &["[profile.release.package.serde]"],
        );
        kept(&before_end("\n# a note\n"), "\n# a note\n", &["# a note"]);
        // Between two tables of the tool's.
        let second = "[patch.crates-io.p3-field]";
        let between = text.replace(second, &format!("[features]\nx = []\n\n{second} # why"));
        kept(
            &between,
            "\n[features]\nx = []\n\n# why\n",
            &["[features]", "# why"],
        );
        // Formatters align, indent and set empty lines.
        let formatted = (text
            .replace("path = ", "  path   =  ")
            .replace("[patch", "\n\n  [patch"))
        .replace("ab\"\n", "ab\" # why\n");
        kept(&formatted, "# why\n# why\n", &["# why", "# why"]);
        let windows = before_end(features).replace('\n', "\r\n");
        let parts = split(&windows).unwrap();
        assert_eq!(
            parts.original,
            format!("[package]\n{features}").replace('\n', "\r\n")
        );
        assert_eq!(parts.stanza, Some(stanza.clone()));
    }

    #[test]
    fn keys_of_the_user_in_a_table_of_the_tool_are_refused() {
        let (_, text) = block();
        let refused = |text: &str| split(text).unwrap_err();
        let key = text.replace("path = ", "package = \"x\"\npath = ");
        insta::assert_snapshot!(refused(&key), @r#"line 6 stands in a table of the p3-patches block: `package = "x"`"#);
        let key = text.replace("incremental = ", "opt-level = 3\nincremental = ");
        insta::assert_snapshot!(refused(&key), @"line 12 stands in a table of the p3-patches block: `opt-level = 3`");
        insta::assert_snapshot!(refused(&format!("{text}\n# c\nopt-level = 3\n")), @"line 16 continues the last table of the p3-patches block");
    }

    #[test]
    fn patches_may_be_called_as_the_words_between_them() {
        let source = "git+https://a/A#00aaa00a";
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: ["with", "in", "a"].map(str::to_owned).to_vec(),
            overrides: BTreeMap::from([tree(("p3-field".into(), "0123456789ab".into()))]),
            not_incremental: BTreeSet::new(),
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
                let parts = split(&join("", &stanza)).unwrap();
                assert_eq!(parts.stanza, Some(stanza));
            }
        }
    }

    #[test]
    fn a_damaged_stanza_is_refused() {
        let stanza = Stanza {
            base: "0.8.0".to_owned(),
            names: vec!["a".to_owned()],
            overrides: BTreeMap::from([tree(("p3-field".into(), "0123456789ab".into()))]),
            not_incremental: BTreeSet::new(),
            git: None,
        };
        let text = join("", &stanza);
        let damages = [
            text.replace(END, "#"),
            text.replace(BEGIN, "#"),
            text.replace("Plonky3 ", ""),
            text.replace("with a", "with "),
            text.replace("with a", "with a, https://u:s3cr3t@h/"),
            text.replace("with a", "with a\u{9b}31m"),
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
