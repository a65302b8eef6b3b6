//! The manifests of a workspace, found by cargo's rules and without cargo.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use anyhow::Result;
use toml::{Table, Value};

use crate::prover::stanza::line_at;
use paired::cargo::home;
use paired::error::Failure;
use paired::files::plain;
use paired::terminal::shown;

/// Finds the root manifest of the workspace that the package of the manifest `member` belongs to: the one that `package.workspace`
/// names, or the nearest above that has a table `[workspace]` and does not exclude the package. A package that belongs to none is its
/// own root.
pub fn root(member: &Path) -> Result<PathBuf> {
    if let Some(root) = named_root(member, &parse(member)?)? {
        return Ok(root);
    }
    let folder = member.parent().unwrap_or(member);
    for above in folder.ancestors().skip(1) {
        let manifest = above.join("Cargo.toml");
        if !manifest.is_file() {
            continue;
        }
        let table = parse(&manifest)?;
        match named_root(&manifest, &table)? {
            Some(root) if root == manifest && excludes(&table, above, folder) => {}
            Some(root) => return Ok(root),
            None => {}
        }
    }
    Ok(member.to_owned())
}

/// Returns the root that a manifest names: itself by `[workspace]`, or another one by `package.workspace`.
fn named_root(path: &Path, manifest: &Table) -> Result<Option<PathBuf>, Failure> {
    if manifest.contains_key("workspace") {
        return Ok(Some(path.to_owned()));
    }
    let package = manifest.get("package");
    let Some(named) = package.and_then(|package| package.get("workspace")) else {
        return Ok(None);
    };
    let wrong = |what: &str| {
        Failure::input(format!("{}: `package.workspace` {what}", shown(path)))
            .hint("`package.workspace` names the folder of the workspace's root")
    };
    let named = named.as_str().ok_or_else(|| wrong("is not text"))?;
    let root = normal(&path.parent().unwrap_or(path).join(named)).join("Cargo.toml");
    match root == path {
        true => Err(wrong("names its own package, which has no `[workspace]`")),
        false => Ok(Some(root)),
    }
}

/// The tables of a package's dependencies.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn table<'t>(value: &'t Table, key: &str) -> Option<&'t Table> {
    value.get(key).and_then(Value::as_table)
}

/// Lists the entries of a manifest's tables of dependencies.
pub fn dependencies(manifest: &Table) -> impl Iterator<Item = (&String, &Value)> {
    // Up to the edition 2021, cargo takes `_` for the `-` of a name.
    let has_dependencies = |key: &str| DEPENDENCIES.contains(&&*key.replace('_', "-"));
    let targets = table(manifest, "target")
        .into_iter()
        .flat_map(Table::values);
    let targets = targets.filter_map(Value::as_table);
    let tables = targets.chain([manifest]).flatten();
    let tables = tables.filter(move |(key, _)| has_dependencies(key));
    tables
        .filter_map(|(_, dependencies)| dependencies.as_table())
        .flatten()
}

/// Lists the entries that cargo reads in the root manifest only: those of `[patch]`, `[replace]` and `[workspace.dependencies]`.
pub fn of_root(manifest: &Table) -> impl Iterator<Item = (&String, &Value)> {
    let patches = table(manifest, "patch").into_iter().flat_map(Table::values);
    let patches = patches.filter_map(Value::as_table);
    patches
        .chain(table(manifest, "replace"))
        .chain(table_of_inherited(manifest))
        .flatten()
}

/// Lists the manifests of a workspace but for that of its `root`, which has the text `own`: those of its members, of the package in
/// the folder `member`, and of the packages that a path in one of these manifests names.
pub fn others(root: &Path, own: &Table, member: &Path) -> Result<Vec<PathBuf>> {
    found(root, own, member, parse)
}

/// Refuses a pipe or a device in place of a file that cargo reads first of a workspace, as [`others`] lists them and in the folders
/// above: cargo would wait for its writer. Anything else that is wrong with the manifests is left to cargo.
pub fn assert_plain(root: &Path, own: &Table) -> Result<()> {
    let folder = root.parent().unwrap_or(root);
    assert_plain_above(folder)?;
    let read = |manifest: &Path| {
        // Cargo looks for the package's workspace in the folders above it.
        assert_plain_above(manifest.parent().unwrap_or(manifest))?;
        let text = plain::read_to_string(manifest).unwrap_or_default();
        Ok(toml::from_str(&text).unwrap_or_default())
    };
    found(root, own, folder, read).map(drop)
}

/// Refuses a pipe or a device in place of a file that cargo and rustup look for in a folder and in those above.
pub fn assert_plain_above(folder: &Path) -> Result<()> {
    const READ: [&str; 5] = [
        "Cargo.toml",
        ".cargo/config",
        ".cargo/config.toml",
        "rust-toolchain",
        "rust-toolchain.toml",
    ];
    let files = (folder.ancestors()).flat_map(|folder| READ.map(|file| folder.join(file)));
    let at_home = home().ok().into_iter();
    let at_home = at_home.flat_map(|home| ["config", "config.toml"].map(|file| home.join(file)));
    Ok(files
        .chain(at_home)
        .try_for_each(|file| assert_no_pipe(&file))?)
}

fn assert_no_pipe(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let what = format!("{}: not a plain file", shown(path));
            Err(Failure::input(what)
                .hint("cargo would wait for the other end of a pipe; put a file in its place"))
        }
        _ => Ok(()),
    }
}

/// The hint for a package that is none of the workspace above it.
pub const ADD: &str = "add the package to the `members` or to the `exclude` of that workspace, or give it an empty `[workspace]`";

/// Refuses the manifest `member` of a package that is none of the packages of the workspace with the manifest `root` and the text `own`,
/// as cargo does.
pub fn assert_member(root: &Path, own: &Table, member: &Path) -> Result<()> {
    let folder = root.parent().unwrap_or(root);
    let is_root = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == *root);
    let read = |manifest: &Path| Ok(parse(manifest).unwrap_or_default());
    if is_root(member) || !own.contains_key("workspace") {
        return Ok(());
    }
    let member = fs::canonicalize(member)?;
    // A member may be named by a link to its folder.
    let is_it = |found: &PathBuf| fs::canonicalize(found).is_ok_and(|found| found == member);
    if found(root, own, folder, read)?.iter().any(is_it) {
        return Ok(());
    }
    let what = format!("none of the packages of the workspace of {}", shown(root));
    Err(Failure::input(format!("{}: {what}", shown(&member)))
        .hint(ADD)
        .into())
}

/// Lists the entries that the package of a manifest inherits from a workspace of its own, which is not that of `root`. A path in them
/// starts at the package's folder.
pub fn inherited(manifest: &Path, table: &Table, root: &Path) -> Result<Vec<(String, Value)>> {
    let inherits = |entry: &Value| entry.get("workspace").and_then(Value::as_bool) == Some(true);
    let names = dependencies(table).filter(|(_, entry)| inherits(entry));
    let names: Vec<_> = names.map(|(name, _)| name).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let own_root = self::root(manifest)?;
    if own_root == *root {
        return Ok(Vec::new());
    }
    let own = parse(&own_root)?;
    let folder = own_root.parent().unwrap_or(&own_root);
    let inherited = table_of_inherited(&own).into_iter().flatten();
    let inherited = inherited.filter(|(name, _)| names.contains(name));
    Ok(inherited
        .map(|(name, entry)| {
            let mut entry = entry.clone();
            if let Some(Value::String(path)) = entry.get_mut("path") {
                *path = normal(&folder.join(&*path)).to_string_lossy().into_owned();
            }
            (name.clone(), entry)
        })
        .collect())
}

/// Returns the dependencies that the packages of a workspace may inherit.
fn table_of_inherited(root: &Table) -> Option<&Table> {
    table(table(root, "workspace")?, "dependencies")
}

/// Lists manifests as [`others`] does, each read by `read`.
fn found(
    root: &Path,
    own: &Table,
    member: &Path,
    read: impl Fn(&Path) -> Result<Table>,
) -> Result<Vec<PathBuf>> {
    fn named<'t>(
        folder: &Path,
        entries: impl Iterator<Item = (&'t String, &'t Value)>,
    ) -> Vec<PathBuf> {
        let paths = entries.filter_map(|(_, entry)| entry.get("path")?.as_str());
        paths.map(|path| normal(&folder.join(path))).collect()
    }
    let folder = root.parent().unwrap_or(root);
    let mut folders = members(folder, own)?;
    folders.push(member.to_owned());
    folders.extend(named(folder, dependencies(own).chain(of_root(own))));
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        let manifest = folder.join("Cargo.toml");
        let is_there = manifest.symlink_metadata().is_ok() && manifest != root;
        if is_there && found.insert(manifest.clone()) {
            let table = read(&manifest)?;
            // Cargo says it where the workspace of such a package is wrong.
            let inherited = inherited(&manifest, &table, root).unwrap_or_default();
            let inherited = inherited.iter().map(|(name, entry)| (name, entry));
            folders.extend(named(&folder, dependencies(&table).chain(inherited)));
        }
    }
    Ok(found.into_iter().collect())
}

/// Lists the folders that the `members` of the workspace in the folder `root` name, as patterns too. They need not be there.
fn members(root: &Path, own: &Table) -> Result<Vec<PathBuf>> {
    let manifest = root.join("Cargo.toml");
    let escaped = (root.to_str().map(glob::Pattern::escape))
        .ok_or_else(|| refuse(&manifest, "its folder's name is not UTF-8 text"))?;
    let mut found = Vec::new();
    for member in strings(own, "members") {
        let pattern = normal(&Path::new(&escaped).join(member));
        let folders = glob::glob(&pattern.to_string_lossy())
            .map_err(|error| refuse(&manifest, &format!("`members`: {error}")))?;
        // A folder that cannot be read has no manifest that cargo reads.
        let folders = (folders.flatten()).filter(|folder| !excludes(own, root, folder));
        found.extend(folders.chain([normal(&root.join(member))]));
    }
    Ok(found)
}

/// Lists the strings of a list in a manifest's `[workspace]`.
fn strings<'t>(manifest: &'t Table, key: &str) -> impl Iterator<Item = &'t str> {
    let workspace = manifest.get("workspace");
    let strings = workspace.and_then(|workspace| workspace.get(key)?.as_array());
    strings.into_iter().flatten().filter_map(Value::as_str)
}

/// Tells whether the workspace in the folder `root` excludes the package in `folder`, and does not list it all the same.
fn excludes(manifest: &Table, root: &Path, folder: &Path) -> bool {
    let is_below = |place| folder.starts_with(normal(&root.join(place)));
    let lists = |key: &str| strings(manifest, key).any(is_below);
    lists("exclude") && !lists("members")
}

/// Resolves the parts `.` and `..` of a path by their names, as cargo does.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

fn parse(path: &Path) -> Result<Table> {
    let text = plain::read_to_string(path).map_err(|error| unread(path, &error))?;
    let table = toml::from_str(&text);
    Ok(table.map_err(|error: toml::de::Error| {
        let line = line_at(&text, error.span().map_or(0, |span| span.start));
        Failure::input(format!("{}:{line}: {}", shown(path), error.message()))
            .hint("the manifest is not valid TOML")
    })?)
}

/// Returns the failure for a manifest that cannot be read.
pub(super) fn unread(path: &Path, error: &io::Error) -> Failure {
    let (what, hint) = if path.is_dir() {
        (
            "a folder".to_owned(),
            "--manifest-path names a file: the Cargo.toml in that folder",
        )
    } else if path.is_symlink() && !path.exists() {
        (
            "a symbolic link to nothing".to_owned(),
            "put a manifest in its place, or name another one by --manifest-path",
        )
    } else if error.kind() == io::ErrorKind::InvalidInput {
        (
            format!("cannot be read: {error}"),
            "a manifest is a file; put one in the place of the pipe or device, or name another one by --manifest-path",
        )
    } else {
        (
            format!("cannot be read: {error}"),
            "--manifest-path names a prover's Cargo.toml",
        )
    };
    Failure::input(format!("{}: {what}", shown(path))).hint(hint)
}

fn refuse(path: &Path, what: &str) -> Failure {
    Failure::input(format!("{}: {what}", shown(path)))
        .hint("--manifest-path names the Cargo.toml at the root of a workspace")
}

#[cfg(test)]
mod tests {
    use paired::cargo::cargo;
    use paired::files::changed::write_changed;
    use paired::interrupt;

    /// The root of each layout, by the name of the folder that has it, is the one that cargo finds.
    #[test]
    fn the_root_is_cargos() {
        let package = "[package]\nname = \"x\"\n";
        let at = |root: &str| format!("[package]\nname = \"y\"\nworkspace = \"{root}\"\n");
        for (root, manifests) in [
            ("a/b", vec![("a/b", package.to_owned())]),
            (
                "",
                vec![
                    ("", "[workspace]\nmembers = [\"a/b\"]\n".to_owned()),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "a",
                vec![
                    ("", "[workspace]\nmembers = [\"a/b\"]\n".to_owned()),
                    ("a", "[workspace]\nmembers = [\"b\"]\n".to_owned()),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "",
                vec![
                    ("", "[workspace]\nmembers = [\"a\", \"a/b\"]\n".to_owned()),
                    ("a", package.to_owned()),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "a/b",
                vec![
                    ("", "[workspace]\nexclude = [\"a\"]\n".to_owned()),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "",
                vec![
                    ("", "[workspace]\nmembers = [\"a/b\"]\n".to_owned()),
                    ("a", "[workspace]\nexclude = [\"b\"]\n".to_owned()),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "",
                vec![
                    (
                        "",
                        "[workspace]\nmembers = [\"a/b\"]\nexclude = [\"a\"]\n".to_owned(),
                    ),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "c",
                vec![
                    ("c", "[workspace]\nmembers = [\"../a/b\"]\n".to_owned()),
                    ("a/b", at("../../c")),
                ],
            ),
            (
                "c",
                vec![
                    (
                        "c",
                        "[workspace]\nmembers = [\"../a\", \"../a/b\"]\n".to_owned(),
                    ),
                    ("a", at("../c")),
                    ("a/b", package.to_owned()),
                ],
            ),
            (
                "a/b",
                vec![
                    ("", "[workspace]\nmembers = [\"a/b\"]\n".to_owned()),
                    ("a/b", format!("{package}[workspace]\n")),
                ],
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            for (folder, text) in &manifests {
                let folder = top.join(folder);
                write_changed(&folder.join("Cargo.toml"), text.as_bytes()).unwrap();
                write_changed(&folder.join("src/lib.rs"), b"").unwrap();
            }
            let member = top.join("a/b/Cargo.toml");
            let expected = top.join(root).join("Cargo.toml");
            assert_eq!(super::root(&member).unwrap(), expected, "{manifests:?}");
            let mut cargo = cargo();
            cargo.args(["locate-project", "--workspace"]);
            cargo.arg("--manifest-path").arg(&member);
            let located = interrupt::output(&mut cargo).unwrap();
            let stderr = String::from_utf8_lossy(&located.stderr);
            let located = serde_json::from_slice::<serde_json::Value>(&located.stdout).unwrap();
            assert_eq!(
                located["root"].as_str(),
                expected.to_str(),
                "{manifests:?}: {stderr}"
            );
        }
    }

    /// The manifests of a workspace's members, by lists, patterns and paths, are those that cargo finds.
    #[test]
    fn the_members_are_cargos() {
        let package = |name: &str| format!("[package]\nname = \"{name}\"\n");
        let dependency = |table: &str, to: &str| {
            format!("[{table}]\ny = {{ package = \"{to}\", path = \"../{to}\" }}\n")
        };
        for (members, places) in [
            (r#"members = ["a"]"#, &["a", "b"][..]),
            (
                r#"members = ["./a/../b", "c*", "?d"]"#,
                &["b", "cc", "da/x", "xd", "a"],
            ),
            (r#"members = ["x/[ab]*"]"#, &["x/a", "x/bb", "x/c", "a"]),
            (r#"members = ["x/**/z"]"#, &["x/z", "x/y", "x/y/z", "z"]),
            (
                "members = [\"[!s]\", \"c/d\"]\nexclude = [\"b\", \"c\"]",
                &["a", "b", "c/d", "c/e", "de"],
            ),
            (r#"members = ["../beside/*"]"#, &["../beside/a", "a"]),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap().join("top");
            let write = |folder: &str, text: &str| {
                let folder = super::normal(&top.join(folder));
                write_changed(&folder.join("Cargo.toml"), text.as_bytes()).unwrap();
                write_changed(&folder.join("src/lib.rs"), b"").unwrap();
                folder
            };
            for (at, place) in places.iter().enumerate() {
                let own = match place.starts_with("..") {
                    true => "workspace = \"../../top\"\n",
                    false => "",
                };
                write(place, &format!("{}{own}", package(&format!("p{at}"))));
            }
            for (from, table, to) in [
                ("one", "dev_dependencies", "two"),
                ("two", "target.x.build-dependencies", "three"),
            ] {
                write(from, &(package(from) + &dependency(table, to)));
            }
            write("three", &package("three"));
            let first = dependency("dependencies", "one").replace("../", "");
            let root = write(
                "",
                &format!("{}{first}[workspace]\n{members}\n", package("root")),
            )
            .join("Cargo.toml");
            let mut cargo = cargo();
            cargo.args([
                "metadata",
                "--no-deps",
                "--offline",
                "--format-version",
                "1",
            ]);
            cargo.arg("--manifest-path").arg(&root);
            let printed = interrupt::output(&mut cargo).unwrap();
            let stderr = String::from_utf8_lossy(&printed.stderr);
            assert!(printed.status.success(), "{members}: {stderr}");
            let metadata = serde_json::from_slice::<serde_json::Value>(&printed.stdout).unwrap();
            let packages = metadata["packages"].as_array().unwrap().iter();
            let manifests = packages.map(|package| package["manifest_path"].as_str().unwrap());
            let mut expected: Vec<_> = manifests.map(std::path::PathBuf::from).collect();
            expected.retain(|manifest| *manifest != root);
            expected.sort();
            let own = super::parse(&root).unwrap();
            let found = super::others(&root, &own, root.parent().unwrap()).unwrap();
            assert_eq!(found, expected, "{members}");
        }
    }

    /// Members by a list, by a link and by a path of a member belong to the workspace, and no other package does.
    #[test]
    fn a_package_is_a_member_or_none() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let manifest = |place: &str, text: &str| {
            let path = top.join(place).join("Cargo.toml");
            write_changed(&path, text.as_bytes()).unwrap();
            path
        };
        let package = |name: &str| format!("[package]\nname = \"{name}\"\n");
        let text = "[workspace]\nmembers = [\"listed\", \"link\", \"broken\"]\n";
        let root = manifest("w", text);
        let depends = format!(
            "{}[dependencies]\nb = {{ path = \"../below\" }}\n",
            package("a")
        );
        let listed = manifest("w/listed", &depends);
        let below = manifest("w/below", &package("b"));
        manifest("elsewhere", &package("c"));
        std::os::unix::fs::symlink(top.join("elsewhere"), top.join("w/link")).unwrap();
        let linked = top.join("w/link/Cargo.toml");
        let broken = manifest("w/broken", "[package");
        let stray = manifest("w/stray", &package("d"));
        let own = super::parse(&root).unwrap();
        for member in [&root, &listed, &below, &linked, &broken] {
            super::assert_member(&root, &own, member).unwrap();
        }
        let refused = super::assert_member(&root, &own, &stray).unwrap_err();
        assert!(
            refused.to_string().contains("none of the packages of"),
            "{refused}"
        );
    }

    #[test]
    fn a_root_that_is_named_wrongly_is_no_root() {
        let dir = tempfile::tempdir().unwrap();
        let package = |root: &str| format!("[package]\nname = \"x\"\nworkspace = \"{root}\"\n");
        let manifest = |place: &str, text: &str| {
            let path = dir.path().join(place).join("Cargo.toml");
            write_changed(&path, text.as_bytes()).unwrap();
            path
        };
        // Cargo refuses these, too.
        let below = manifest("a/b", "[package]\nname = \"y\"\n");
        for (text, why) in [
            (package("."), "names its own package"),
            (package(""), "names its own package"),
            (package("../a"), "names its own package"),
            (package("x").replace("\"x\"\n", "1\n"), "is not text"),
        ] {
            let own = manifest("a", &text);
            for member in [&own, &below] {
                let refused = super::root(member).unwrap_err().to_string();
                let said = format!("{}: `package.workspace` {why}", own.to_str().unwrap());
                assert!(refused.starts_with(&said), "{refused}");
            }
        }
    }
}
