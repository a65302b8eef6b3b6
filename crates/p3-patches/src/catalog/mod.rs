//! The patches: their order, and each one's header, diff and place in a file.
//!
//! In: a folder `patches`, or its copy in the executable. Out: a [`Patch`], which applies to packages.

pub mod diff;
pub mod difference;
pub mod effects;
pub mod header;
pub mod patch;
pub mod placement;
pub mod stack;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::catalog::header::Header;
use crate::catalog::patch::{Patch, split_header};
use crate::project::Patches;
use paired::error::Failure;
use paired::files::contents::sha256;
use paired::terminal::shown;

/// The list's file, beside the bases.
const SERIES: &str = "series";

/// The patches of every release, in order of application. Each file is read and parsed once.
#[derive(Clone)]
pub struct Catalog {
    /// The folder that the patches are read from.
    pub patches: Patches,
    pub entries: Vec<Entry>,
    /// The Plonky3 releases with a folder under `patches/`, oldest first.
    pub bases: Vec<Version>,
    read: Arc<Read>,
}

/// No thread panics while it has what was read.
const UNPOISONED: &str = "no thread panics with it";

/// Values by release and name of a patch.
type Cache<T> = Mutex<BTreeMap<(String, String), T>>;

/// The files that have been read.
#[derive(Default)]
struct Read {
    headers: Cache<Option<Header>>,
    patches: Cache<Patch>,
}

/// Returns the value for a release and a patch, which is made when it is first asked for. An error is not kept.
fn cached<T: Clone>(
    cache: &Cache<T>,
    release: &str,
    name: &str,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let key = (release.to_owned(), name.to_owned());
    if let Some(known) = cache.lock().expect(UNPOISONED).get(&key) {
        return Ok(known.clone());
    }
    let made = make()?;
    cache.lock().expect(UNPOISONED).insert(key, made.clone());
    Ok(made)
}

/// One line of the series.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    /// Patches that this one stacks on; each stands further up.
    pub needs: Vec<String>,
}

impl Catalog {
    /// Reads the series, and which releases there are patches for.
    pub fn load(patches: &Patches) -> Result<Self> {
        let shown = patches.shown(SERIES);
        let text = (patches.read(SERIES)?)
            .ok_or_else(|| Failure::input(format!("{shown}: no such file")))?;
        let text = str::from_utf8(&text)
            .map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
        let entries = parse(text)
            .map_err(|(line, what)| Failure::input(format!("{shown}:{line}: {what}")))?;

        Ok(Self {
            patches: patches.clone(),
            entries,
            bases: patches.releases()?,
            read: Arc::default(),
        })
    }

    /// Returns the catalog for work in a folder, as [`Patches::at_work_in`] has it.
    #[must_use]
    pub fn at_work_in(&self, folder: &Path) -> Self {
        Self {
            patches: self.patches.at_work_in(folder),
            ..self.clone()
        }
    }

    /// Returns the patch `name` for `base`.
    pub fn patch(&self, base: &str, name: &str) -> Result<Patch> {
        cached(&self.read.patches, base, name, || {
            let (shown, text) = self.text(base, name)?;
            let kernel = |place: &str| self.patches.kernel(name, place);
            Patch::parse(name, &shown, &text, kernel)
        })
    }

    /// Returns the header of the patch `name` for `base`. A fault in the rest is found where the patch is asked for.
    pub fn header(&self, base: &str, name: &str) -> Result<Header> {
        let home = self.home(base, name);
        let header = self.header_in(home.as_deref().unwrap_or(base), name)?;
        header.ok_or_else(|| self.not_ported(base, name).into())
    }

    /// Returns the path of the patch `name` for `base` as shown to the user, and its text.
    fn text(&self, base: &str, name: &str) -> Result<(String, String)> {
        let home = self.home(base, name);
        let text = self.text_in(home.as_deref().unwrap_or(base), name)?;
        text.ok_or_else(|| self.not_ported(base, name).into())
    }

    fn not_ported(&self, base: &str, name: &str) -> Failure {
        let shown = self.patches.shown(&Patch::path(base, name));
        Failure::input(format!("{shown}: no such patch"))
            .hint(format!("`{name}` has not been ported to Plonky3 {base}"))
    }

    /// Tells whether `name` has been ported to `base`.
    pub fn has(&self, base: &str, name: &str) -> bool {
        self.home(base, name).is_some()
    }

    /// Returns the release whose folder holds the text of `name` for `base`: `base` itself, else the nearest newer one whose text
    /// says in `Bases:` that it is for `base`, too.
    pub fn home(&self, base: &str, name: &str) -> Option<String> {
        let release = Version::parse(base).ok()?;
        let from_here = self.bases.iter().filter(|other| **other >= release);
        from_here.map(ToString::to_string).find(|other| {
            let is_for =
                |header: Header| other == base || header.bases.iter().any(|named| named == base);
            // A text that cannot be read may be for this release; it is refused where it is asked for.
            self.header_in(other, name)
                .map_or(true, |header| header.is_some_and(is_for))
        })
    }

    /// Returns the header of the text of `name` in the folder of `release`, if there is one.
    fn header_in(&self, release: &str, name: &str) -> Result<Option<Header>> {
        cached(&self.read.headers, release, name, || {
            let text = self.text_in(release, name)?;
            text.map(|(shown, text)| Ok(split_header(&shown, &text)?.0))
                .transpose()
        })
    }

    /// Returns the path of the text of `name` in the folder of `release` as shown to the user, and that text, if there is one.
    fn text_in(&self, release: &str, name: &str) -> Result<Option<(String, String)>> {
        let path = Patch::path(release, name);
        let Some(bytes) = self.patches.read(&path)? else {
            return Ok(None);
        };
        let shown = self.patches.shown(&path);
        let text = String::from_utf8(bytes.into_owned())
            .map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
        Ok(Some((shown, text)))
    }

    /// Returns the patches among `names` that change no build for the `architectures`, each with the reason.
    pub fn inert(
        &self,
        base: &str,
        names: &[String],
        architectures: &[impl AsRef<str>],
    ) -> Result<BTreeMap<String, String>> {
        let mut inert = BTreeMap::new();
        for name in names {
            if let Some(reason) = self.header(base, name)?.inert(architectures) {
                inert.insert(name.clone(), reason);
            }
        }
        Ok(inert)
    }

    /// Prints the patches that change no build for the `architectures`; where no other was asked for, there is nothing to measure.
    pub fn refuse_inert(
        &self,
        base: &str,
        asked: &[String],
        architectures: &[impl AsRef<str>],
    ) -> Result<()> {
        let inert = self.inert(base, asked, architectures)?;
        let reasons = inert
            .iter()
            .map(|(name, reason)| format!("{name}: {reason}"));
        let reasons = reasons.collect::<Vec<_>>();
        if !inert.is_empty() && asked.iter().all(|name| inert.contains_key(name)) {
            return Err(Failure::input(reasons.join("; "))
                .hint("run this on a machine of that architecture")
                .into());
        }
        for reason in reasons {
            eprintln!("note: {reason}");
        }
        Ok(())
    }

    /// Returns the packages that the patches `names` for `base` touch.
    pub fn packages_of(&self, base: &str, names: &[String]) -> Result<BTreeSet<String>> {
        let mut packages = BTreeSet::new();
        for name in names {
            packages.extend(self.header(base, name)?.packages);
        }
        Ok(packages)
    }

    /// Returns the SHA-256 that stands for the patches `names` for `base`, in this order: of a line with the release, and one for
    /// each with its name and the SHA-256 of its text, kernels included.
    pub fn sha256(&self, base: &str, names: &[String]) -> Result<String> {
        let mut lines = format!("{base}\n");
        for name in names {
            lines += &format!("{name} {}\n", self.patch(base, name)?.sha256);
        }
        Ok(sha256(lines.as_bytes()))
    }

    /// Returns the hash of the code of each of the patches `names` for `base`, as [`Patch::code`] has it.
    pub fn codes(&self, base: &str, names: &[String]) -> Result<BTreeMap<String, String>> {
        self.hashes(base, names, Patch::code)
    }

    /// Returns the hashes of [`Self::codes`], each as [`Patch::former_codes`] has them.
    pub fn former_codes(
        &self,
        base: &str,
        names: &[String],
    ) -> Result<BTreeMap<String, [String; 2]>> {
        self.hashes(base, names, Patch::former_codes)
    }

    fn hashes<H>(
        &self,
        base: &str,
        names: &[String],
        hash: impl Fn(&Patch) -> H,
    ) -> Result<BTreeMap<String, H>> {
        let hashed = |name: &String| Ok((name.clone(), hash(&self.patch(base, name)?)));
        names.iter().map(hashed).collect()
    }

    /// `base` if patches exist for it; without one, the newest release that has any, and no preview if there is another.
    pub fn base(&self, base: Option<&str>) -> Result<String> {
        let known = self
            .bases
            .iter()
            .map(Version::to_string)
            .collect::<Vec<_>>();
        let Some(newest) = newest(self.bases.iter()) else {
            return Err(Failure::input("patches/: no folder of a Plonky3 release").into());
        };
        match base {
            None => Ok(newest.to_string()),
            Some(base) if known.iter().any(|known| known == base) => Ok(base.to_owned()),
            Some(base) => Err(
                Failure::input(format!("no patches for Plonky3 {}", shown(base)))
                    .hint(format!("bases that exist: {}", known.join(", ")))
                    .into(),
            ),
        }
    }

    /// Returns the patches that have been ported to `base`, in order.
    pub fn ported(&self, base: &str) -> Vec<String> {
        self.names()
            .filter(|name| self.has(base, name))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the packages that patches touch, whatever the release.
    pub fn packages(&self) -> Result<BTreeSet<String>> {
        let mut packages = BTreeSet::new();
        for base in self.bases.iter().map(Version::to_string) {
            for name in self.names() {
                let header = self.header_in(&base, name)?;
                packages.extend(header.into_iter().flat_map(|header| header.packages));
            }
        }
        Ok(packages)
    }

    /// Returns the newest release that the patch `name` has been ported to.
    pub fn newest_base_of(&self, name: &str) -> Result<String> {
        self.newest_base_of_all(&[name])
            .ok_or_else(|| Failure::input(format!("no patches/*/{name}.patch")).into())
    }

    /// Returns the newest release that each of the patches `names` has been ported to; no names select the newest.
    pub fn newest_base_of_all(&self, names: &[impl AsRef<str>]) -> Option<String> {
        let mut bases = self.bases.iter().rev().map(Version::to_string);
        bases.find(|base| names.iter().all(|name| self.has(base, name.as_ref())))
    }

    /// Returns the newest release that the patch `name` has been ported to; a preview only if there is no other.
    pub fn default_base_of(&self, name: &str) -> Result<String> {
        let is_ported = |base: &&Version| self.has(&base.to_string(), name);
        match newest(self.bases.iter().filter(is_ported)) {
            Some(base) => Ok(base.to_string()),
            None => self.newest_base_of(name),
        }
    }

    /// Returns the patches to apply for `names`: these and what they need, in series order. No names select nothing.
    pub fn select(&self, names: &[String]) -> Result<Vec<String>> {
        self.select_by(names, |entry| entry.needs.clone())
    }

    /// Selects patches as [`Self::select`] does, for a release, without those that it contains: the text of a patch for an older
    /// release may need fewer patches than the series says, those that have been ported there.
    fn select_for(&self, version: &Version, names: &[String]) -> Result<Vec<String>> {
        let base = version.to_string();
        let selected = self.select_by(names, |entry| {
            let header = self.header(&base, &entry.name).ok();
            let named = |need: &String| {
                header
                    .as_ref()
                    .is_none_or(|header| header.needs.contains(need))
            };
            let mut needs = entry.needs.clone();
            needs.retain(|need| self.has(&base, need) || named(need));
            needs
        })?;
        let mut kept = Vec::new();
        for name in selected {
            if self.merged(version, &name)?.is_none() {
                kept.push(name);
            }
        }
        Ok(kept)
    }

    fn select_by(
        &self,
        names: &[String],
        needs: impl Fn(&Entry) -> Vec<String>,
    ) -> Result<Vec<String>> {
        let mut wanted = BTreeSet::new();
        for name in names {
            wanted.insert(self.entry(name)?.name.clone());
        }
        // An entry needs only entries above it, so one walk from the bottom reaches everything.
        for entry in self.entries.iter().rev() {
            if wanted.contains(&entry.name) {
                wanted.extend(needs(entry));
            }
        }
        Ok(self
            .names()
            .filter(|name| wanted.contains(*name))
            .map(str::to_owned)
            .collect())
    }

    /// Returns the release and the patches to apply to it for `names`, as [`Self::base`] and [`Self::select`] have them. A name
    /// whose change the release contains is refused; one that is only needed is left out, since the need is met.
    pub fn resolve(&self, base: Option<&str>, names: &[String]) -> Result<(String, Vec<String>)> {
        // An unknown name is refused before an unknown release.
        self.select(names)?;
        // A release into which everything has been merged has no folder, and this says more than that.
        if let Some(base) = base.and_then(|base| Version::parse(base).ok()) {
            self.refuse_merged(&base, names)?;
        }
        let base = self.base(base)?;
        let version = Version::parse(&base)?;
        self.refuse_merged(&version, names)?;
        Ok((base, self.select_for(&version, names)?))
    }

    /// Resolves `names` as [`Self::resolve`] does; no names stand for all patches that have been ported to the release.
    pub fn chosen(&self, base: Option<&str>, names: &[String]) -> Result<(String, Vec<String>)> {
        if !names.is_empty() {
            return self.resolve(base, names);
        }
        let base = self.base(base)?;
        self.resolve(Some(&base), &self.ported(&base))
    }

    /// Refuses those of `names` whose change the release `base` contains.
    pub fn refuse_merged(&self, base: &Version, names: &[String]) -> Result<()> {
        for name in names {
            let Some(release) = self.merged(base, name)? else {
                continue;
            };
            let ported = (self.bases.iter())
                .map(Version::to_string)
                .filter(|other| self.has(other, name));
            let (stale, older) = ported.partition::<Vec<_>, _>(|other| *other == base.to_string());
            let hint = match &stale[..] {
                [] => format!(
                    "leave it out; it is for older releases ({})",
                    older.join(", ")
                ),
                _ => format!(
                    "delete {}",
                    self.patches.shown(&Patch::path(&base.to_string(), name))
                ),
            };
            return Err(Failure::input(format!(
                "{name}: Plonky3 {base} contains this change, which was merged in {release}"
            ))
            .hint(hint)
            .into());
        }
        Ok(())
    }

    /// Returns the patches that `names` stack on in the release `base`, themselves apart, in series order, without those that the
    /// release contains.
    pub fn below(&self, base: &Version, names: &[String]) -> Result<Vec<String>> {
        let mut below = self.select_for(base, names)?;
        below.retain(|need| !names.contains(need));
        Ok(below)
    }

    /// Returns the patches that are applied to the release `base` before `name`, in series order; a need that is not there is
    /// refused.
    pub fn needs(&self, base: &Version, name: &str) -> Result<Vec<String>> {
        let needs = self.below(base, &[name.to_owned()])?;
        for need in &needs {
            if !self.has(&base.to_string(), need) {
                return Err(Failure::input(format!(
                    "{name} needs {need}, which has not been ported to Plonky3 {base}"
                ))
                .hint(format!("`cargo p3 refresh {need} --onto {base}` first"))
                .into());
            }
        }
        Ok(needs)
    }

    /// Returns the release that has merged the patch `name`, where that is `base` or an older one. A patch without a file for
    /// `base` is what it was for the release before.
    pub fn merged(&self, base: &Version, name: &str) -> Result<Option<Version>> {
        let mut before = (self.bases.iter().rev())
            .filter(|release| *release <= base)
            .map(Version::to_string);
        let Some(ported) = before.find(|release| self.has(release, name)) else {
            return Ok(None);
        };
        let header = self.header(&ported, name)?;
        Ok(header.merged().filter(|release| release <= base))
    }

    /// Returns every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Refuses names in the block of a manifest that are none of these patches: it was written with others.
    pub fn assert_recorded(&self, recorded: &[String]) -> Result<(), Failure> {
        let is_unknown = |name: &&String| self.entries.iter().all(|entry| entry.name != **name);
        match recorded.iter().find(is_unknown) {
            Some(name) => Err(Failure::input(format!(
                "the p3-patches block names `{name}`, and no patch here is called that"
            ))
            .hint("name the folder that the block was written with by --patches or --project, or take the block out: `cargo p3 remove`")),
            None => Ok(()),
        }
    }

    /// Returns the entry called `name`; an unknown name is refused with the nearest known one.
    pub fn entry(&self, name: &str) -> Result<&Entry> {
        if let Some(entry) = self.entries.iter().find(|entry| entry.name == name) {
            return Ok(entry);
        }
        let nearest = self
            .names()
            .map(|known| (strsim::normalized_damerau_levenshtein(name, known), known))
            .filter(|(likeness, _)| *likeness > 0.4)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let hint = match nearest {
            Some((_, nearest)) => format!("did you mean `{nearest}`?"),
            None => format!(
                "known names: {}",
                self.names().collect::<Vec<_>>().join(", ")
            ),
        };
        Err(
            Failure::input(format!("no patch is named `{}`", shown(name)))
                .hint(hint)
                .into(),
        )
    }
}

/// Returns the newest of `bases`, which begin with the oldest, and no preview if there is another.
fn newest<'b>(
    mut bases: impl DoubleEndedIterator<Item = &'b Version> + Clone,
) -> Option<&'b Version> {
    let last = bases.clone().next_back();
    bases.rfind(|base| base.pre.is_empty()).or(last)
}

/// Tells whether a patch may have this name, which becomes a file name, a crate and a bench, and is printed.
pub fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_part)
}

/// Parses the list; an error carries the line's number.
fn parse(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut entries: Vec<Entry> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (name, needs) = match line.split_once(char::is_whitespace) {
            None => (line, Vec::new()),
            Some((name, rest)) => {
                let needs = rest.trim().strip_prefix("needs:").ok_or_else(|| {
                    (
                        number,
                        format!("expected `NAME` or `NAME needs: OTHER..`, found `{line}`"),
                    )
                })?;
                (name, needs.split_whitespace().map(str::to_owned).collect())
            }
        };
        if !is_name(name) {
            return Err((
                number,
                format!("`{name}`: a name consists of a-z, 0-9 and `-`"),
            ));
        }
        if entries.iter().any(|entry| entry.name == name) {
            return Err((number, format!("`{name}` is listed twice")));
        }
        if let Some(missing) = needs
            .iter()
            .find(|need| entries.iter().all(|entry| entry.name != **need))
        {
            return Err((
                number,
                format!("`{name}` needs `{missing}`, which is not listed above it"),
            ));
        }
        entries.push(Entry {
            name: name.to_owned(),
            needs,
        });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    fn series(text: &str) -> Catalog {
        Catalog {
            patches: project::at(Path::new("/")),
            entries: parse(text).unwrap_or_else(|e| panic!("{e:?}")),
            bases: Vec::new(),
            read: Arc::default(),
        }
    }

    #[test]
    fn a_selection_takes_what_it_needs_in_series_order() {
        let series = series("# order matters\na\nb needs: a\nc # alone\nd needs: b c\n");
        let select = |name: &str| series.select(&[name.to_owned()]).unwrap();
        assert_eq!(select("b"), ["a", "b"]);
        assert_eq!(select("c"), ["c"]);
        assert_eq!(select("d"), ["a", "b", "c", "d"]);
        assert!(series.select(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_preview_is_chosen_by_name() {
        let bases = |bases: &[&str]| Catalog {
            bases: (bases.iter().map(|base| base.parse().unwrap())).collect(),
            ..series("")
        };
        let series = bases(&["0.6.3", "0.8.0", "0.9.0-rc.2"]);
        assert_eq!(series.base(None).unwrap(), "0.8.0");
        assert_eq!(series.base(Some("0.9.0-rc.2")).unwrap(), "0.9.0-rc.2");
        assert_eq!(bases(&["0.9.0-rc.2"]).base(None).unwrap(), "0.9.0-rc.2");
    }

    #[test]
    fn a_bad_line_is_named() {
        for (text, line) in [
            ("a\na\n", 2),
            ("a needs: b\nb\n", 1),
            ("\n../a\n", 2),
            ("a b\n", 1),
        ] {
            assert_eq!(
                parse(text).err().map(|(line, _)| line),
                Some(line),
                "{text:?}"
            );
        }
    }
}
