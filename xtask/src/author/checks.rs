//! The checks of a checkout: patches, crates, benches and documents agree, and every patch applies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::semver::Version;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::{export, legs};
use crate::project::Project;
use crate::report::documents::{self, Documents};
use crate::report::results;
use p3_patches::catalog::header::Header;
use p3_patches::catalog::patch::{CRATES_OWN, Patch};
use p3_patches::catalog::stack::Stack;
use p3_patches::catalog::{Catalog, Entry};
use p3_patches::project::CHECKSUMS;
use p3_patches::prover::tree;
use p3_patches::source::checksums::Checksums;
use p3_patches::source::{locked, registry};
use paired::cargo::target_features;
use paired::error::Failure;
use paired::files::plain;
use paired::interrupt;
use paired::terminal::shown;

/// The architectures for which Plonky3 has code of its own, as rustc calls them.
const ARCHITECTURES: [&str; 2] = ["aarch64", "x86_64"];

/// The crates that are no optimization.
const TOOLS: [&str; 3] = ["p3-patches", "paired", "testing"];

/// The outcome of one check.
#[derive(Serialize)]
pub struct Finding {
    pub check: String,
    /// Why it failed; absent where it did not.
    pub problem: Option<String>,
    /// The next thing to try, where one is known.
    pub hint: Option<String>,
}

#[derive(Deserialize)]
struct CrateManifest {
    package: CratePackage,
}

#[derive(Deserialize)]
struct CratePackage {
    name: String,
}

/// Checks everything; `started` hears of each check.
pub fn run(project: &Project, started: impl Fn(&str)) -> Result<Vec<Finding>> {
    let bases = project
        .catalog
        .bases
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    let mut findings = Vec::new();
    let mut record = |check: String, outcome: Result<()>| -> Result<()> {
        interrupt::check()?;
        started(&check);
        let error = outcome.err();
        let failure = error.as_ref().and_then(Failure::behind);
        findings.push(Finding {
            check,
            hint: failure.and_then(|failure| failure.hint.clone()),
            problem: error.map(|error| format!("{error:#}")),
        });
        Ok(())
    };

    record(
        "patches/series lists every crate, bench and patch".to_owned(),
        strays(project, &bases),
    )?;
    record(
        format!("patches/{CHECKSUMS} has the packages of every release"),
        checksums(project, &bases),
    )?;
    let mut unreadable = BTreeSet::new();
    for entry in &project.catalog.entries {
        let name = &entry.name;
        record(
            format!("{name}: has a crate and a bench"),
            belongings(project, name),
        )?;
        let readme = project.crates_dir().join(name).join("README.md");
        record(
            format!("{name}: its README's figures have a record or a date"),
            documents::check_figures(&readme, project.relative(&readme)),
        )?;
        let ported = bases
            .iter()
            .filter(|base| project.catalog.has(base, name))
            .collect::<Vec<_>>();
        if ported.is_empty() {
            record(
                format!("{name}: has a patch"),
                Err(anyhow::anyhow!("no patches/*/{name}.patch")),
            )?;
        }
        for base in ported {
            record(
                format!("{name}: header for {base}"),
                header(project, base, entry),
            )?;
            // The header's finding says why; the rest would repeat it.
            if project.catalog.patch(base, name).is_err() {
                unreadable.insert(base.clone());
                continue;
            }
            let alone = project
                .catalog
                .resolve(Some(base), std::slice::from_ref(name))
                .and_then(|(base, names)| applies(project, &base, &names));
            record(format!("{name}: applies to {base}"), alone)?;
            if let Some(newer) = newer_text(project, base, name) {
                record(
                    format!("{name}: {base} needs a text of its own"),
                    differs(project, base, &newer, name),
                )?;
            }
            record(
                format!("{name}: kernel files for {base}"),
                kernels(project, base, name),
            )?;
            record(
                format!("{name}: comments for {base}"),
                comments(project, base, name),
            )?;
            record(
                format!("{name}: export for {base} is reproducible"),
                reproducible(project, base, name),
            )?;
        }
    }
    for base in bases.iter().filter(|base| !unreadable.contains(*base)) {
        record(
            format!("the series applies to {base}"),
            (project.catalog.chosen(Some(base), &[]))
                .and_then(|(base, names)| applies(project, &base, &names)),
        )?;
    }
    let readme =
        results::recorded(project).and_then(|sections| Documents::new(project, &sections)?.check());
    record("the READMEs show the recorded effects".to_owned(), readme)?;
    Ok(findings)
}

/// Finds crates, benches and patches that the series does not list.
fn strays(project: &Project, bases: &[String]) -> Result<()> {
    let known = project.catalog.names().collect::<BTreeSet<_>>();
    let mut strays = Vec::new();
    let mut look = |dir: &Path, extension: Option<&str>| -> Result<()> {
        for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", shown(dir)))? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let candidate = match extension {
                Some(extension) => path.extension().is_some_and(|found| found == extension),
                None => path.is_dir() && !TOOLS.contains(&&*name),
            };
            if candidate && !known.contains(&*name) {
                strays.push(project.relative(&path).to_string());
            }
        }
        Ok(())
    };
    look(&project.crates_dir(), None)?;
    look(&project.root.join("benches"), Some("rs"))?;
    for base in bases {
        look(&project.patches_dir.join(base), Some("patch"))?;
    }
    strays.sort();
    ensure!(strays.is_empty(), "not listed: {}", strays.join(", "));
    Ok(())
}

/// Finds packages that are patched, or built with, or that these need, and that have no checksum or another one than the lock file.
///
/// A package's needs are known where its tarball is cached, which that of a patched one is.
fn checksums(project: &Project, bases: &[String]) -> Result<()> {
    let patches = project.patches();
    let lock = patches.lock()?.unwrap_or_default();
    let mut used = BTreeSet::new();
    for base in bases {
        for name in project.catalog.ported(base) {
            let header = project.catalog.header(base, &name)?;
            used.extend(
                header
                    .packages
                    .into_iter()
                    .map(|package| (package, base.clone())),
            );
        }
    }
    let locked = locked::published(&lock)?.into_iter();
    let of_upstream = locked.filter(|package| package.name.starts_with("p3-"));
    used.extend(of_upstream.map(|package| (package.name, package.version)));
    let known = Checksums::load(patches)?;
    if let Some(name) = known.names().find(|name| !name.starts_with("p3-")) {
        let what = format!("{name} is no package of Plonky3's");
        let hint = format!("delete its line from patches/{CHECKSUMS}");
        return Err(Failure::input(what).hint(hint).into());
    }
    let mut todo: Vec<_> = used.iter().cloned().collect();
    while let Some((name, release)) = todo.pop() {
        interrupt::check()?;
        let Some(package) = registry::cached(patches, &name, &release)? else {
            continue;
        };
        for need in package
            .needs()?
            .into_iter()
            .filter(|need| need.starts_with("p3-"))
        {
            let need = (need, release.clone());
            if used.insert(need.clone()) {
                todo.push(need);
            }
        }
    }
    used.retain(|(package, release)| known.get(package, release).is_none());
    if !used.is_empty() {
        let missing = used
            .iter()
            .map(|(package, release)| format!("{package} {release}"));
        let missing = missing.collect::<Vec<_>>().join(", ");
        return Err(Failure::input(format!("no checksum of {missing}"))
            .hint("`cargo p3 refresh --checksums` adds what is missing")
            .into());
    }
    let differences = registry::compare_locks(patches, &lock)?.differences;
    ensure!(
        differences.is_empty(),
        "Cargo.lock: {}",
        differences.join("; ")
    );
    Ok(())
}

/// The crate and the bench that go with a patch.
fn belongings(project: &Project, name: &str) -> Result<()> {
    let manifest = project.crates_dir().join(name).join("Cargo.toml");
    let text = plain::read_to_string(&manifest)
        .with_context(|| format!("cannot read {}", project.relative(&manifest)))?;
    let CrateManifest { package } = toml::from_str(&text)?;
    ensure!(
        package.name == name,
        "{}: the package is called {}",
        project.relative(&manifest),
        package.name
    );
    let bench = project.root.join("benches").join(format!("{name}.rs"));
    ensure!(bench.is_file(), "no benches/{name}.rs");
    Ok(())
}

/// Tells whether the header is true of the diff, the series and the folders.
fn header(project: &Project, base: &str, entry: &Entry) -> Result<()> {
    let patch = project.catalog.patch(base, &entry.name)?;
    let header = &patch.header;
    let is_title = |title: &str| {
        let (scope, what) = title.split_once("): ")?;
        let (kind, scope) = scope.split_once('(')?;
        (!kind.is_empty() && !scope.is_empty() && !what.is_empty()).then_some(())
    };
    ensure!(
        is_title(&header.title).is_some(),
        "`Title: {}` is not of the form `perf(goldilocks): ...`",
        header.title
    );
    for named in &header.bases {
        let has_folder = project
            .catalog
            .bases
            .iter()
            .any(|base| base.to_string() == *named);
        ensure!(
            has_folder && project.catalog.has(named, &entry.name),
            "`Bases:` names {named}, but there is no {}",
            project.patches().shown(&Patch::path(named, &entry.name))
        );
    }
    for other in project.catalog.bases.iter().map(ToString::to_string) {
        ensure!(
            header.bases.contains(&other) || !project.catalog.has(&other, &entry.name),
            "`Bases:` does not name {other}, but there is {}",
            project.patches().shown(&Patch::path(&other, &entry.name))
        );
    }
    // A text for an older release stands on what has been ported to it.
    let needs: Vec<String> = (entry.needs.iter())
        .filter(|need| project.catalog.has(base, need))
        .cloned()
        .collect();
    ensure!(
        header.needs == needs,
        "`Needs:` says `{}`, patches/series says `{}`",
        header.needs.join(", "),
        needs.join(", ")
    );
    let level = header.risk.split_once(": ").map(|(level, _)| level);
    ensure!(
        matches!(level, Some("low" | "medium" | "high")),
        "`Risk:` says neither low, medium nor high, and then of what"
    );
    ensure!(
        header.forwarded == "not yet" || header.forwarded.starts_with("https://"),
        "`Forwarded:` is neither an address nor `not yet`"
    );
    ensure!(
        header.applied_upstream == "no" || header.merged().is_some(),
        "`Applied-Upstream:` is neither a release nor `no`"
    );
    for named in &header.architectures {
        ensure!(
            ARCHITECTURES.contains(&named.as_str()),
            "`Architectures:` names {named}; known are {}",
            ARCHITECTURES.join(", ")
        );
        // In a path, or in a `cfg`.
        ensure!(
            patch.diff().contains(named),
            "`Architectures:` names {named}, of which the diff says nothing"
        );
    }
    ci_features(header, base)?;
    let states = ["open", "closed", "merged"];
    let is_thread = |thread: &String| {
        let (number, rest) = thread.strip_prefix('#')?.split_once(' ')?;
        let (state, why) = rest.split_once(" (").unwrap_or((rest, "why)"));
        let is_whole = why.ends_with(')') && why.len() > 1;
        (number.parse::<u32>().is_ok() && states.contains(&state) && is_whole).then_some(())
    };
    if let Some(other) = header
        .related
        .iter()
        .find(|thread| is_thread(thread).is_none())
    {
        bail!(
            "`Related:` names `{other}`, which is not of the form `#1667 closed` or `#1667 closed (why)`; states are {}",
            states.join(", ")
        );
    }
    let asked = std::slice::from_ref(&entry.name);
    let (_, names) = project.catalog.resolve(Some(base), asked)?;
    let patches = names
        .iter()
        .map(|name| project.catalog.patch(base, name))
        .collect::<Result<Vec<_>>>()?;
    for package in tree::baseline(project.patches(), base, &patches)? {
        let touched = patch
            .files
            .iter()
            .any(|file| package.inside(&file.path).is_some());
        let named = header.packages.contains(&package.name);
        ensure!(
            touched || !named,
            "`Packages:` names {}, which the diff does not touch",
            package.name
        );
    }
    Ok(())
}

/// Tells whether `CI-Features:` is what rustc takes for one of the patch's architectures, and no leg that upstream has.
fn ci_features(header: &Header, base: &str) -> Result<()> {
    let named = &header.ci_features;
    if named.is_empty() {
        return Ok(());
    }
    let is_there = |leg: &legs::Leg| leg.builds_for(header) && leg.has_features(named);
    if legs::legs(base)?.iter().any(is_there) {
        let named = named.join(",");
        return Err(Failure::input(format!(
            "`CI-Features: {named}`: upstream's workflow has this leg in {base}"
        ))
        .hint("delete the field; `export` names the legs that build the patch's code")
        .into());
    }
    let architectures = match &header.architectures[..] {
        [] => ARCHITECTURES.to_vec(),
        named => named.iter().map(String::as_str).collect(),
    };
    for architecture in &architectures {
        let known = target_features(architecture)?;
        let is_known = |feature: &String| {
            (feature.strip_prefix('+')).is_some_and(|feature| known.contains(feature))
        };
        if named.iter().all(is_known) {
            return Ok(());
        }
    }
    bail!(
        "`CI-Features: {}`: rustc has no such target features on {}; the field is like `+avx512f,+avx512ifma`",
        named.join(","),
        architectures.join(" or ")
    )
}

/// Tells whether the patches apply, one on top of the other, where each hunk says.
fn applies(project: &Project, base: &str, names: &[String]) -> Result<()> {
    let plan = tree::plan(&project.catalog, base, names, false, |_| true)?.complete()?;
    plan.print_notes();
    Ok(())
}

/// Returns the nearest newer release with a text of the patch, where `base` has one, too.
fn newer_text(project: &Project, base: &str, name: &str) -> Option<String> {
    let has_text = |base: &String| project.patches().has(&Patch::path(base, name));
    let mut texts = (project.catalog.bases.iter().map(ToString::to_string)).filter(has_text);
    texts.find(|other| other == base)?;
    texts.next()
}

/// Refuses a text of `name` for `base` that does what the one for `newer` does.
fn differs(project: &Project, base: &str, newer: &str, name: &str) -> Result<()> {
    let shown = |base: &str| project.patches().shown(&Patch::path(base, name));
    ensure!(
        !does_the_same(&project.catalog, base, newer, name)?,
        "{} does the same; delete {}",
        shown(newer),
        shown(base)
    );
    Ok(())
}

/// Tells whether the text of `name` for `newer` does to `base` what the text for `base` does.
pub fn does_the_same(catalog: &Catalog, base: &str, newer: &str, name: &str) -> Result<bool> {
    let (_, names) = catalog.resolve(Some(base), &[name.to_owned()])?;
    let (_, needs) = names.split_last().expect("a selection of one patch");
    let load = |base: &str, name: &str| catalog.patch(base, name);
    let needed = (needs.iter().map(|name| load(base, name))).collect::<Result<Vec<_>>>()?;
    let files = |patch: &Patch| -> Result<Vec<_>> {
        let patches = [needed.as_slice(), std::slice::from_ref(patch)].concat();
        let packages = tree::baseline(&catalog.patches, base, &patches)?;
        let packages = Stack::of(packages, &patches)?.packages.into_iter();
        let files = packages.map(|package| (package.name, package.files));
        Ok(files.collect())
    };
    let expected = files(&load(base, name)?)?;
    Ok(files(&load(newer, name)?).is_ok_and(|files| files == expected))
}

/// A kernel's text stands in the crate, and nowhere else. The crate's sources are the kernels of the patch's texts, and the
/// crate's own. A text for an older release adds what differs there by its diff.
fn kernels(project: &Project, base: &str, name: &str) -> Result<()> {
    let patch = project.catalog.patch(base, name)?;
    let is_newest = base == project.catalog.newest_base_of(name)?;
    let src = project.crates_dir().join(name).join("src");
    for added in patch.additions().filter(|added| !added.is_kernel) {
        let own = src.join(added.place);
        if is_newest || plain::read(&own).is_ok_and(|own| own == added.text.as_bytes()) {
            let what = format!("{}: the diff adds {}, a kernel", patch.shown, added.path);
            let own = project.relative(&own);
            return Err(Failure::input(what)
                .hint(format!(
                    "name it under `Kernels:`, with its text in {own}; `edit` and `refresh` do"
                ))
                .into());
        }
    }
    if !is_newest {
        return Ok(());
    }
    let mut known = BTreeSet::from(CRATES_OWN.map(|own| src.join(own)));
    for base in project.catalog.bases.iter().map(ToString::to_string) {
        if project.catalog.has(&base, name) {
            let patch = project.catalog.patch(&base, name)?;
            let kernels = patch.additions().filter(|added| added.is_kernel);
            known.extend(kernels.map(|kernel| src.join(kernel.place)));
        }
    }
    let entries = WalkDir::new(src).into_iter();
    for entry in entries.filter_entry(|entry| !known.contains(entry.path())) {
        let entry = entry?;
        if !entry.file_type().is_dir() {
            let file = project.relative(entry.path());
            return Err(
                Failure::input(format!("{file}: no patch names this kernel"))
                    .hint(format!(
                        "name it under `Kernels:` in {}, or delete it",
                        patch.shown
                    ))
                    .into(),
            );
        }
    }
    Ok(())
}

/// A comment that the patch adds has at most as many columns as upstream's have.
fn comments(project: &Project, base: &str, name: &str) -> Result<()> {
    const COLUMNS: usize = 100;
    let patch = project.catalog.patch(base, name)?;
    let diff = patch.diff();
    let added = diff.lines().filter_map(|line| line.strip_prefix('+'));
    let mut comments = added.filter(|line| line.trim_start().starts_with("//"));
    let Some(long) = comments.find(|line| line.chars().count() > COLUMNS) else {
        return Ok(());
    };
    let what = format!(
        "{}: a comment of {} columns",
        patch.shown,
        long.chars().count()
    );
    let start: String = long.trim_start().chars().take(60).collect();
    Err(Failure::input(what)
        .hint(format!(
            "wrap it at {COLUMNS}, as upstream's are: `{}`",
            shown(start)
        ))
        .into())
}

/// Two exports of the same patch are the same bytes.
fn reproducible(project: &Project, base: &str, name: &str) -> Result<()> {
    let sender = export::Sender {
        author: "p3-patches <p3-patches@localhost>".to_owned(),
        repository: None,
    };
    let needs = project.catalog.needs(&Version::parse(base)?, name)?;
    let load = |name: &String| project.catalog.patch(base, name);
    let needs = needs.iter().map(load).collect::<Result<Vec<_>>>()?;
    let patch = project.catalog.patch(base, name)?;
    let all = [&needs[..], std::slice::from_ref(&patch)].concat();
    let stack = Stack::of(tree::baseline(project.patches(), base, &all)?, &needs)?;
    let export = || export::texts(project, base, &patch, &mut stack.clone(), &sender);
    ensure!(export()? == export()?, "two exports differ");
    Ok(())
}
