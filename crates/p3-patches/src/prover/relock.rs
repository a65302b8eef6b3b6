//! Edits of a prover's `Cargo.lock`: packages from the registry become packages from trees, and back.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use toml_edit::{ArrayOfTables, DocumentMut, Item, value};

use crate::source::locked::{Locked, document};

/// Restores the registry as the source of the packages in `replaced`, which trees have stood in for. Without that, cargo would
/// lock the newest releases that the prover's requirements allow, and what those need in turn.
///
/// Cargo keeps the entries of trees that no package has used; those of the names and versions that `is_tree` tells go too.
pub(super) fn relock(
    lock: &str,
    replaced: &[Locked],
    is_tree: impl Fn(&str, &str) -> bool,
) -> Result<String> {
    let mut edited = document(lock)?;
    drop_unused(&mut edited, is_tree);
    let packages = edited
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    for package in packages.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let field = |name| package.get(name).and_then(Item::as_str).unwrap_or_default();
        let same =
            |locked: &&Locked| locked.name == field("name") && locked.version == field("version");
        let locked = replaced.iter().find(same);
        if let Some(locked) = locked.filter(|_| field("source").is_empty()) {
            package["source"] = value(&locked.source);
            if !locked.checksum.is_empty() {
                package["checksum"] = value(&locked.checksum);
            }
            // Where cargo has them: what is in another order, it writes again, and in place.
            if let Some((key, dependencies)) = package.remove_entry("dependencies") {
                package.insert_formatted(&key, dependencies);
            }
        }
    }
    Ok(printed(&edited, lock))
}

/// Returns the text of an edited lock file, with the line ends of the text before.
fn printed(edited: &DocumentMut, before: &str) -> String {
    let text = edited.to_string();
    // `toml_edit` prints lines that it knows nothing else of with LF, and comments as they stood.
    if before.contains("\r\n") {
        text.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        text
    }
}

/// Removes the entries `[[patch.unused]]` of trees, and the table of such entries where none is left.
fn drop_unused(lock: &mut DocumentMut, is_tree: impl Fn(&str, &str) -> bool) {
    let patch = lock.get_mut("patch").and_then(Item::as_table_like_mut);
    let Some(patch) = patch else {
        return;
    };
    let unused = patch
        .get_mut("unused")
        .and_then(Item::as_array_of_tables_mut);
    let Some(unused) = unused else {
        return;
    };
    unused.retain(|entry| {
        let field = |name| entry.get(name).and_then(Item::as_str).unwrap_or_default();
        // A tree, as each package from a path, has no source.
        !(field("source").is_empty() && is_tree(field("name"), field("version")))
    });
    if unused.is_empty() {
        patch.remove("unused");
    }
    if patch.is_empty() {
        lock.remove("patch");
    }
}

/// Removes the sources of these packages of a release from the lock file's text, as cargo does for packages that come from trees.
/// Cargo would do it, too, but it writes the file in place, which a full disk or the end of the process cuts short.
pub(super) fn lock_to_trees(
    lock: &str,
    packages: &BTreeSet<&str>,
    release: &str,
) -> Result<String> {
    let mut edited = document(lock)?;
    let entries = edited
        .get_mut("package")
        .and_then(Item::as_array_of_tables_mut);
    let mut patched = BTreeMap::<_, Vec<_>>::new();
    for entry in entries.into_iter().flat_map(ArrayOfTables::iter_mut) {
        let field = |name| entry.get(name).and_then(Item::as_str).unwrap_or_default();
        let name = field("name").to_owned();
        if packages.contains(&*name) && field("version") == release {
            patched.entry(name).or_default().push(entry);
        }
    }
    for copies in patched.into_values() {
        // Cargo alone knows which one of two copies a tree stands in for.
        if let Ok([package]) = <[_; 1]>::try_from(copies) {
            package.remove("source");
            package.remove("checksum");
        }
    }
    Ok(printed(&edited, lock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_entries_of_trees_go_and_others_stay() {
        let is_tree = |name: &str, version: &str| name.starts_with("p3-") && version == "0.8.0";
        let package =
            "# By cargo.\nversion = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
        let unused = |name: &str, version: &str, source: &str| {
            format!("\n[[patch.unused]]\nname = \"{name}\"\nversion = \"{version}\"\n{source}")
        };
        let [first, last] = ["p3-air", "p3-util"].map(|name| unused(name, "0.8.0", ""));
        let others = [
            unused("p3-dft", "0.8.1", ""),
            unused("p3-dft", "0.8.0", "source = \"git+https://h/r#0a\"\n"),
            unused("rand", "0.8.0", ""),
        ]
        .concat();
        for kept in ["", &*others] {
            let lock = [package, &first, kept, &last].concat();
            let relocked = relock(&lock, &[], is_tree).unwrap();
            assert_eq!(relocked, [package, kept].concat());
        }
    }

    #[test]
    fn line_ends_stay_as_they_were() {
        let source = "registry+https://github.com/rust-lang/crates.io-index";
        let lock = format!(
            "# By cargo.\nversion = 4\n\n[[package]]\nname = \"p3-util\"\nversion = \"0.8.0\"\nsource = \"{source}\"\n\
             checksum = \"0a\"\ndependencies = [\n \"rand\",\n \"serde\",\n]\n"
        );
        let locked = Locked {
            name: "p3-util".into(),
            version: "0.8.0".into(),
            source: source.into(),
            checksum: "0a".into(),
        };
        for lock in [lock.replace('\n', "\r\n"), lock] {
            let of_tree = lock_to_trees(&lock, &BTreeSet::from(["p3-util"]), "0.8.0").unwrap();
            let lines = |text: &str| text.matches('\n').count();
            let crlf = |text: &str| text.matches("\r\n").count();
            assert_eq!(lines(&of_tree), lines(&lock) - 2);
            assert_eq!(crlf(&of_tree) > 0, crlf(&lock) > 0);
            let back = relock(&of_tree, std::slice::from_ref(&locked), |_, _| false).unwrap();
            assert_eq!(back, lock);
        }
    }
}
