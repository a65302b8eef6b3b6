//! Graphs as cargo resolves them, and the way out where it cannot.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::sync::Once;

use anyhow::Result;
use cargo_metadata::{Metadata, MetadataCommand};
use serde_json::Value;
use toml_edit::{Item, Key, TableLike};

use crate::source::cache::assert_plain_tarballs;
use crate::source::locked::RESTORE;
use crate::source::manifests::assert_of_manifests;
use paired::address::without_credentials;
use paired::cargo::{
    REPLACED, Toolchain, cargo_in, configuration, configuration_with_origins, configured_by,
    error_of, is_offline, origin, out_of_a_wrong_configuration, rustc_in, unparsed,
};
use paired::error::Failure;
use paired::interrupt;

/// Attempts to resolve a graph, each with options of cargo's: cargo's cache has to do, or the network may be asked.
pub type Attempts = [&'static [&'static str]; 2];

/// The attempts where nothing is looked up that cargo's cache has.
pub const CACHE_FIRST: Attempts = [&["--offline"], &[]];

/// The attempts where offline would mean whatever happens to be cached.
pub const NETWORK_FIRST: Attempts = [&[], &["--offline"]];

/// The hint for a package that is not in cargo's cache.
pub const CONNECT: &str =
    "connect to the registry once, or run `cargo fetch` where it can be reached";

/// The hint of `status` for what cargo has not asked the network for.
pub const FETCH: &str = "after `cargo fetch` in that folder, `status` can";

/// Makes the attempts in their order, until one succeeds. The error is that of the attempt with the network.
pub fn resolve<T, E>(
    attempts: Attempts,
    mut attempt: impl FnMut(&[&str]) -> Result<Result<T, E>>,
) -> Result<Result<T, E>> {
    let mut told = None;
    for options in attempts {
        match attempt(options)? {
            Err(error) if options.is_empty() => told = Some(error),
            Err(_) => {}
            graph => return Ok(graph),
        }
    }
    Ok(Err(told.expect("one attempt is with the network")))
}

/// Returns the output of `cargo metadata` for the workspace in `dir`; an error is cargo's, in one line.
///
/// Offline, it is that of this machine's platform and of those that cargo's configuration builds for, where cargo's cache has no more: what
/// only other platforms need was never fetched where nothing was built for them. A note says so, once.
pub fn metadata(dir: &Path, options: &[&str]) -> Result<Result<Metadata, String>> {
    let whole = ask(dir, options)?;
    if whole.is_ok() || !options.contains(&"--offline") {
        return Ok(whole);
    }
    static NOTED: Once = Once::new();
    let mut platforms = vec![Toolchain::of(rustc_in(dir))?.host];
    platforms.extend(targets(dir)?.into_iter().filter(|target| target != HOST));
    platforms.sort();
    platforms.dedup();
    let filters = platforms
        .iter()
        .flat_map(|platform| ["--filter-platform", platform]);
    let options: Vec<_> = options.iter().copied().chain(filters).collect();
    let graph = ask(dir, &options)?;
    if graph.is_ok() {
        NOTED.call_once(|| {
            let platforms = platforms.join(" and ");
            eprintln!("note: cargo's cache lacks packages that other platforms need, and these were not looked at: only what {platforms} needs was; `cargo fetch` brings the others");
        });
    }
    Ok(graph)
}

/// Returns the architectures that builds in `dir` are for, as rustc calls them: those of the targets that cargo's configuration names,
/// and without any this machine's.
pub fn architectures(dir: &Path) -> Result<Vec<String>> {
    let targets = targets(dir)?;
    let named = targets.iter().map(|target| match &**target {
        HOST => ARCH,
        // rustc's names of targets begin with an architecture.
        triple => triple.split('-').next().unwrap_or_default(),
    });
    let named = named.map(str::to_owned).collect::<BTreeSet<_>>();
    Ok(match named.is_empty() {
        true => vec![ARCH.to_owned()],
        false => named.into_iter().collect(),
    })
}

/// cargo's name for this machine's target.
const HOST: &str = "host-tuple";

/// Returns the targets that cargo's configuration builds for, but for those that a file describes, which has a name of its own.
fn targets(dir: &Path) -> Result<Vec<String>> {
    let configured = configuration(dir, "build.target", &[])?;
    let targets = match configured {
        Value::Array(targets) => targets,
        target => vec![target],
    };
    let named = targets.iter().filter_map(Value::as_str);
    let named = named.filter(|target| !target.ends_with(".json"));
    Ok(named.map(str::to_owned).collect())
}

fn ask(dir: &Path, options: &[&str]) -> Result<Result<Metadata, String>> {
    assert_plain_tarballs()?;
    let options = options.iter().copied().map(str::to_owned);
    let mut command = cargo_in(dir);
    command
        .args(["metadata", "--format-version", "1"])
        .args(options);
    let output = interrupt::output(&mut command)?;
    if !output.status.success() {
        return Ok(Err(error_of(&output)?));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| unparsed("metadata", &error))?;
    let metadata = MetadataCommand::parse(text).map_err(|error| unparsed("metadata", &error))?;
    assert_of_manifests(dir, &metadata)?;
    Ok(Ok(metadata))
}

/// Returns the folders of the local registries that cargo's configuration has in place of others.
pub(super) fn local_registries(folder: &Path) -> Result<Vec<PathBuf>> {
    let configured = configuration_with_origins(folder, "source", &[])?;
    let sources = configured.get("source").and_then(Item::as_table_like);
    let sources = sources.into_iter().flat_map(TableLike::iter);
    let places = sources.filter_map(|(_, source)| source.get("local-registry")?.as_value());
    let places = places.filter_map(|place| {
        // A relative path starts where the folder `.cargo` of its file is.
        let file = Path::new(origin(place)?);
        Some(file.parent()?.parent()?.join(place.as_str()?))
    });
    Ok(places.collect())
}

/// Describes the sources that replace crates.io for a folder, and the files of cargo's configuration that set them, in a phrase:
/// `crates.io is replaced by ..`. `None` means that nothing does. Fails where cargo cannot read its configuration.
pub fn replacement(folder: &Path) -> Result<Option<String>> {
    let mut sources = vec!["crates-io".to_owned()];
    let mut steps = Vec::new();
    while let Some(replaced) = sources.last() {
        let key = format!("source.{}", Key::new(replaced));
        let configured = configuration_with_origins(folder, &key, &[])?;
        let source = (configured.get("source")).and_then(|source| source.get(replaced));
        let set = |key: &str| {
            let value = source?.get(key)?.as_value()?;
            let from = origin(value).unwrap_or("cargo's configuration");
            Some((value.as_str()?.to_owned(), from))
        };
        let Some((by, from)) = set("replace-with") else {
            // The table of crates.io may name a place itself.
            let kinds = ["registry", "local-registry", "directory", "git"].into_iter();
            let kinds = kinds.filter(|_| sources.len() == 1);
            let named = kinds.filter_map(|kind| Some((kind, set(kind)?)));
            steps.extend(named.map(|(kind, (place, from))| {
                let place = without_credentials(&place);
                format!("by the {kind} {place:?}, in {from}")
            }));
            break;
        };
        steps.push(format!("by {by:?}, in {from}"));
        if sources.contains(&by) {
            break;
        }
        sources.push(by);
    }
    let replacement = format!("crates.io is replaced {}", steps.join(", and that "));
    Ok(Some(without_credentials(&replacement)).filter(|_| !steps.is_empty()))
}

/// The hint for a package that is not the published one, where cargo's configuration replaces nothing.
pub const ANOTHER_REGISTRY: &str = "a published package never changes, so another registry has answered in place of crates.io, here or where the lock file was written; write the lock file again where crates.io answers";

/// Returns the hint for a package whose checksum is not that of the published one. Another download would give the same bytes
/// where another registry answers, so the hint names the source that replaces crates.io.
pub fn out_of_a_changed_package(folder: &Path) -> String {
    match replacement(folder) {
        Ok(Some(replacement)) => format!(
            "{replacement}; remove that replacement and write the lock file again, then cargo takes the published package"
        ),
        _ => ANOTHER_REGISTRY.to_owned(),
    }
}

/// Returns the failure for cargo's error while it resolves the dependencies of a folder: `what: error`, with `hint`. An error
/// about cargo's configuration, or about the lock file, is one about an input, and has a hint of its own.
pub fn unresolved(folder: &Path, what: &str, error: &str, hint: &str) -> Failure {
    let message = format!("{what}: {error}");
    let hint = out_of_a_missing_program(error).unwrap_or(hint);
    let wrong_input = out_of_a_wrong_configuration(folder, error)
        .or_else(|| out_of_a_wrong_lock_file(folder, error));
    match wrong_input {
        Some(hint) => Failure::input(message).hint(hint),
        None => Failure::environment(message).hint(hint),
    }
}

/// Returns the failure for cargo's error as [`unresolved`] does, where the manifests are not this tool's: an error about one of them
/// is one about an input, too.
pub fn unresolved_manifest(folder: &Path, what: &str, error: &str, hint: &str) -> Failure {
    let Some(mended) = out_of_a_wrong_manifest(error) else {
        return unresolved(folder, what, error, hint);
    };
    let wrong = Failure::input(format!("{what}: {error}"));
    // The versions are those that a source in the registry's place has.
    let is_of_versions = error.contains("failed to select a version for ");
    match replacement(folder).ok().flatten() {
        Some(replacement) if is_of_versions => wrong.hint(format!(
            "{mended}; {replacement}, which may serve other versions"
        )),
        _ => wrong.hint(mended),
    }
}

/// Returns the hint for an error of cargo's about a program that it cannot run, or that fails.
pub fn out_of_a_missing_program(error: &str) -> Option<&'static str> {
    const ABOUT_PROGRAMS: [&str; 3] = [
        "could not execute process `",
        "process didn't exit successfully: `",
        "didn't have a line for `host:`",
    ];
    let is_about = ABOUT_PROGRAMS.iter().any(|about| error.contains(about));
    is_about.then_some(
        "cargo's configuration or the environment names that program or its flags, as `build.rustc-wrapper`, `RUSTC`, `build.rustflags` and `RUSTFLAGS` do",
    )
}

/// Returns the hint for an error of cargo's about a checksum in the lock file or about its syntax; `None` for other errors.
pub fn out_of_a_wrong_lock_file(folder: &Path, error: &str) -> Option<String> {
    let changed = [
        "changed between lock files",
        "failed to verify the checksum of",
    ];
    if changed.iter().any(|changed| error.contains(changed)) {
        return Some(out_of_a_changed_package(folder));
    }
    let is_unparsed = error.contains("failed to parse lock file");
    is_unparsed.then(|| RESTORE.to_owned())
}

/// Returns the hint for an error of cargo's about a manifest: about its syntax, or about a dependency in a place, a version or with a
/// feature that there is not, or in a cycle. No download mends that.
pub fn out_of_a_wrong_manifest(error: &str) -> Option<&'static str> {
    const ABOUT_MANIFESTS: [&str; 9] = [
        "cyclic package dependency: ",
        "failed to parse manifest at `",
        " version mismatch",
        "Cargo.toml`: No such file or directory",
        " cannot be used as dependencies",
        " multiple times with different names",
        "package collision in the lockfile",
        "found a virtual manifest at `",
        "is listed in default-members but is not a member",
    ];
    const ABOUT_PATCHES: [&str; 3] = [
        "does not contain packages matching",
        "several `[patch]` entries resolving to same version",
        "resolved to more than one candidate",
    ];
    if let Some(hint) = without_sources(error) {
        return Some(hint);
    }
    if ABOUT_PATCHES.iter().any(|about| error.contains(about)) {
        return Some(
            "correct that `[patch]`, which stands in the manifest or in cargo's configuration; `cargo metadata` in that folder shows the whole message",
        );
    }
    if error.contains("failed to load source for dependency `")
        && error.contains("Cargo.toml`: No such file")
    {
        return Some(
            "correct that path, which stands in the manifest or in a `[patch]` of cargo's configuration; `cargo metadata` in that folder shows the whole message",
        );
    }
    let is_lacking =
        error.contains("failed to select a version for ") || error.contains("no matching package ");
    // A source that replaces the registry may lack what the registry has.
    let is_known = is_known_offline(error) && !error.contains(REPLACED);
    // A commit, a branch or a tag that a repository has not.
    let is_lacking = is_lacking || error.contains("class=Reference (4); code=NotFound");
    let is_wrong = is_lacking && (is_known || !is_offline(error)) && !error.contains(REPLACED);
    let is_syntax = (error.split_once("Cargo.toml:"))
        .is_some_and(|(_, line)| line.starts_with(|digit: char| digit.is_ascii_digit()));
    let is_about = || ABOUT_MANIFESTS.iter().any(|about| error.contains(about));
    (is_wrong || is_syntax || is_about()).then_some(
        "correct that in the manifest; `cargo metadata` in that folder shows the whole message",
    )
}

/// Returns the hint for an error of cargo's about a package that is missing in a source that replaces another one.
pub fn out_of_a_replacement(folder: &Path, error: &str) -> Option<String> {
    if !error.contains(REPLACED) {
        return None;
    }
    if let Some(hint) = out_of_vendored_sources(error) {
        return Some(hint.to_owned());
    }
    let replacement = replacement(folder).ok().flatten();
    let replacement = replacement.unwrap_or_else(|| configured_by(folder));
    Some(format!(
        "{replacement}; add the package there, or run this where cargo's configuration does not replace the registry"
    ))
}

/// Returns the hint for an error of cargo's about packages that it has not downloaded, or that a source in the registry's place lacks.
pub fn out_of_missing_packages(folder: &Path, error: &str) -> Option<String> {
    match out_of_vendored_sources(error) {
        Some(hint) => Some(hint.to_owned()),
        // A source that was not asked may have the package.
        None if is_unfetched(error) && !is_known_offline(error) => Some(FETCH.to_owned()),
        None => out_of_a_replacement(folder, error),
    }
}

/// Returns the hint for an error of cargo's about a package that vendored sources lack, which no download can mend.
fn out_of_vendored_sources(error: &str) -> Option<&'static str> {
    let is_vendored = error.contains(REPLACED) && error.contains("directory source `");
    is_vendored.then_some(
        "`cargo vendor` leaves out packages that are patched: vendor before `apply`, or run this where cargo's configuration does not replace the registry",
    )
}

/// Returns the hint for an error of cargo's about a manifest without sources, as in a container image that copies manifests
/// first.
fn without_sources(error: &str) -> Option<&'static str> {
    const MISSING: [&str; 2] = ["no targets specified in the manifest", "can't find "];
    let is_missing = MISSING.iter().any(|missing| error.contains(missing));
    is_missing.then_some(
        "the sources are not there: cargo reads a manifest only beside the files that it names, such as src/lib.rs or src/main.rs; create them, empty ones are enough",
    )
}

/// Tells whether cargo has searched a folder for the package that its error is about, which it does offline, too.
fn is_known_offline(error: &str) -> bool {
    let searched = error.split_once("location searched: ");
    searched.is_some_and(|(_, place)| Path::new(place.trim_start_matches('`')).is_absolute())
}

/// Tells whether an error of cargo's says that it needs a package that it has not downloaded, and may not download.
pub fn is_unfetched(error: &str) -> bool {
    error.contains("but --offline was specified") || is_offline(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paired::files::changed::write_changed;

    /// The table `[source.crates-io]` may name a place itself.
    #[test]
    fn a_place_of_crates_io_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".cargo/config.toml");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        for (key, place) in [
            ("registry", "https://user:secret@mirror.invalid/index"),
            ("local-registry", "mirror"),
            ("directory", "vendor"),
            ("git", "file:///mirror"),
        ] {
            std::fs::write(&file, format!("[source.crates-io]\n{key} = \"{place}\"\n")).unwrap();
            let named = replacement(dir.path()).unwrap().unwrap();
            let place = place.replace("user:secret@", "");
            let expected = format!("crates.io is replaced by the {key} \"{place}\", in ");
            assert!(named.starts_with(&expected), "{named}");
        }
        // A replacement comes before that, and its own place is no replacement.
        let text = "[source.crates-io]\nregistry = \"r\"\nreplace-with = \"m\"\n[source.m]\nregistry = \"n\"\n";
        std::fs::write(&file, text).unwrap();
        let named = replacement(dir.path()).unwrap().unwrap();
        assert!(
            named.starts_with("crates.io is replaced by \"m\", in ") && !named.contains(", and"),
            "{named}"
        );
        std::fs::write(&file, "[source.other]\nregistry = \"r\"\n").unwrap();
        assert_eq!(replacement(dir.path()).unwrap(), None);
    }

    /// Cargo's errors as the tool shortens them.
    #[test]
    fn only_a_manifest_mends_a_dependency_that_is_not_there() {
        let lacking = "no matching package named `a` found, location searched: crates.io index";
        let version = "failed to select a version for the requirement `a = \"^99\"`";
        let folder = "no matching package named `a` found, location searched: /z, offline";
        let mirror = "no matching package named `a` found, location searched: `m` index (which is replacing registry `crates-io`)";
        let offline = |error: &str| format!("{error}, offline");
        let feature = "failed to select a version for `a`, package `x` depends on `a` with feature `f` but `a` does not have that feature.";
        let reached =
            "failed to get `a` as a dependency of package `x v0.1.0 (/p)`: Could not resolve host";
        for (error, is_wrong) in [
            (lacking, true),
            (version, true),
            (folder, true),
            (
                "no matching package found, location searched: /z, offline",
                true,
            ),
            (feature, true),
            (&*offline(lacking), false),
            (&*offline(version), false),
            (mirror, false),
            (reached, false),
        ] {
            let hint = out_of_a_wrong_manifest(error);
            assert_eq!(hint.is_some(), is_wrong, "{error}");
        }
    }

    /// The network may bring what a source in the registry's place was not asked for.
    #[test]
    fn a_source_that_was_not_asked_may_have_the_package() {
        let dir = tempfile::tempdir().unwrap();
        let hint = |error: &str| out_of_missing_packages(dir.path(), error);
        let lacks = "no matching package named `p` found, location searched: `m` index (which is replacing registry `crates-io`)";
        let fetch = "after `cargo fetch` in that folder, ";
        assert!(
            hint(&format!("{lacks}, offline"))
                .unwrap()
                .starts_with(fetch)
        );
        assert!(!hint(lacks).unwrap().starts_with(fetch));
        let vendored = lacks.replace("`m` index", "directory source `v`");
        let told = hint(&format!("{vendored}, offline")).unwrap();
        assert!(told.starts_with("`cargo vendor` leaves out "));
        assert_eq!(hint("no"), None);
    }

    #[test]
    fn a_source_that_lacks_a_package_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let hint = |error| out_of_a_replacement(dir.path(), error);
        assert_eq!(hint("no"), None);
        let vendored =
            "no, location searched: directory source `v` (which is replacing registry `crates-io`)";
        assert!(
            hint(vendored)
                .unwrap()
                .starts_with("`cargo vendor` leaves out ")
        );
        let text = "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nlocal-registry = \"r\"\n";
        write_changed(&dir.path().join(".cargo/config.toml"), text.as_bytes()).unwrap();
        let mirrored = "no, location searched: `r` index (which is replacing registry `crates-io`)";
        assert!(
            hint(mirrored)
                .unwrap()
                .starts_with("crates.io is replaced by \"m\", in ")
        );
    }
}
