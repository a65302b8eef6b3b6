//! The root manifest of a workspace, found by cargo's rules and without cargo.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use toml::{Table, Value};

use paired::error::Failure;
use paired::files::plain;
use paired::terminal::shown;

/// Finds the root manifest of the workspace that the package of the manifest `member` belongs to: the one that `package.workspace`
/// names, or the nearest above that has a table `[workspace]` and does not exclude the package. A package that belongs to none is its
/// own root.
pub fn root(member: &Path) -> Result<PathBuf> {
    if let Some(root) = named_root(member, &parse(member)?) {
        return Ok(root);
    }
    let folder = member.parent().unwrap_or(member);
    for above in folder.ancestors().skip(1) {
        let manifest = above.join("Cargo.toml");
        if !manifest.is_file() {
            continue;
        }
        let table = parse(&manifest)?;
        match named_root(&manifest, &table) {
            Some(root) if root == manifest && excludes(&table, above, folder) => break,
            Some(root) => return Ok(root),
            None => {}
        }
    }
    Ok(member.to_owned())
}

/// Returns the root that a manifest names: itself by `[workspace]`, or another one by `package.workspace`.
fn named_root(path: &Path, manifest: &Table) -> Option<PathBuf> {
    if manifest.contains_key("workspace") {
        return Some(path.to_owned());
    }
    let named = manifest.get("package")?.get("workspace")?.as_str()?;
    let folder = path.parent().unwrap_or(path).join(named);
    Some(normal(&folder).join("Cargo.toml"))
}

/// Tells whether the workspace in the folder `root` excludes the package in `folder`, and does not list it all the same.
fn excludes(manifest: &Table, root: &Path, folder: &Path) -> bool {
    let lists = |key: &str| {
        let workspace = manifest.get("workspace");
        let places = workspace.and_then(|workspace| workspace.get(key)?.as_array());
        let mut places = places.into_iter().flatten().filter_map(Value::as_str);
        places.any(|place| folder.starts_with(normal(&root.join(place))))
    };
    lists("exclude") && !lists("members")
}

/// Resolves the parts `.` and `..` of a path by their names, as cargo does.
fn normal(path: &Path) -> PathBuf {
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
    let refuse = |what: String| {
        Failure::input(format!("{}: {what}", shown(path)))
            .hint("--manifest-path names the Cargo.toml at the root of a workspace")
    };
    let text =
        plain::read_to_string(path).map_err(|error| refuse(format!("cannot be read: {error}")))?;
    let table = toml::from_str(&text);
    Ok(table.map_err(|error: toml::de::Error| refuse(error.message().to_owned()))?)
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

    #[test]
    fn a_root_that_is_named_wrongly_is_no_root() {
        let dir = tempfile::tempdir().unwrap();
        let package = |root: &str| format!("[package]\nname = \"x\"\nworkspace = \"{root}\"\n");
        let manifest = |place: &str, text: &str| {
            let path = dir.path().join(place).join("Cargo.toml");
            write_changed(&path, text.as_bytes()).unwrap();
            path
        };
        // Cargo refuses this one, which names itself and has no `[workspace]`.
        let own = manifest("a", &package("."));
        let below = manifest("a/b", "[package]\nname = \"y\"\n");
        assert_eq!(super::root(&below).unwrap(), own);
    }
}
