//! The patches: their order, and each one's header, diff and place in a file.
//!
//! In: a folder `patches`, or its copy in the executable. Out: a [`Patch`], which applies to packages.

pub mod diff;
pub mod difference;
pub mod effects;
pub mod header;
pub mod patch;
pub mod placement;

use std::collections::BTreeSet;

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::catalog::patch::Patch;
use crate::project::Patches;
use paired::error::Failure;

/// The list's file, beside the bases.
const SERIES: &str = "series";

/// The list of patches, in order of application.
pub struct Series {
    pub entries: Vec<Entry>,
    /// The Plonky3 releases with a folder under `patches/`, oldest first.
    pub bases: Vec<Version>,
}

/// One line of the series.
pub struct Entry {
    pub name: String,
    /// Patches that this one stacks on; each stands further up.
    pub needs: Vec<String>,
}

impl Series {
    pub fn load(patches: &Patches) -> Result<Self> {
        let shown = patches.shown(SERIES);
        let text = (patches.read(SERIES)?)
            .ok_or_else(|| Failure::input(format!("{shown}: no such file")))?;
        let text = str::from_utf8(&text)
            .map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
        let entries = parse(text)
            .map_err(|(line, what)| Failure::input(format!("{shown}:{line}: {what}")))?;

        let bases = patches.releases()?;
        Ok(Self { entries, bases })
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
            Some(base) => Err(Failure::input(format!("no patches for Plonky3 {base}"))
                .hint(format!("bases that exist: {}", known.join(", ")))
                .into()),
        }
    }

    /// The patches that have been ported to `base`, in order.
    pub fn ported(&self, patches: &Patches, base: &str) -> Vec<String> {
        self.names()
            .filter(|name| Patch::exists(patches, base, name))
            .map(str::to_owned)
            .collect()
    }

    /// The packages that patches touch, whatever the release.
    pub fn packages(&self, patches: &Patches) -> Result<BTreeSet<String>> {
        let mut packages = BTreeSet::new();
        for base in self.bases.iter().map(Version::to_string) {
            for name in self.names() {
                let header = Patch::header_in(patches, &base, name)?;
                packages.extend(header.into_iter().flat_map(|header| header.packages));
            }
        }
        Ok(packages)
    }

    /// The newest release that the patch `name` has been ported to.
    pub fn newest_base_of(&self, patches: &Patches, name: &str) -> Result<String> {
        (self.bases.iter().rev().map(Version::to_string))
            .find(|base| Patch::exists(patches, base, name))
            .ok_or_else(|| Failure::input(format!("no patches/*/{name}.patch")).into())
    }

    /// As [`Self::newest_base_of`], but no preview if the patch has been ported to another release.
    pub fn default_base_of(&self, patches: &Patches, name: &str) -> Result<String> {
        let is_ported = |base: &&Version| Patch::exists(patches, &base.to_string(), name);
        match newest(self.bases.iter().filter(is_ported)) {
            Some(base) => Ok(base.to_string()),
            None => self.newest_base_of(patches, name),
        }
    }

    /// The patches to apply for `names`: these and what they need, in series order. No names select nothing.
    pub fn select(&self, names: &[String]) -> Result<Vec<String>> {
        self.select_by(names, |entry| entry.needs.clone())
    }

    /// As [`Self::select`], for the release `base`: the text of a patch for an older release may stand on less than the list
    /// says, on what has been ported there.
    fn select_for(
        &self,
        patches: &Patches,
        base: &Version,
        names: &[String],
    ) -> Result<Vec<String>> {
        let base = base.to_string();
        self.select_by(names, |entry| {
            let header = Patch::header(patches, &base, &entry.name).ok();
            let named = |need: &String| {
                header
                    .as_ref()
                    .is_none_or(|header| header.needs.contains(need))
            };
            let mut needs = entry.needs.clone();
            needs.retain(|need| Patch::exists(patches, &base, need) || named(need));
            needs
        })
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

    /// The release and the patches to apply to it for `names`, as [`Self::base`] and [`Self::select`] have them. A name
    /// whose change the release contains is refused; one that is only needed is left out, since the need is met.
    pub fn resolve(
        &self,
        patches: &Patches,
        base: Option<&str>,
        names: &[String],
    ) -> Result<(String, Vec<String>)> {
        // An unknown name is refused before an unknown release.
        self.select(names)?;
        // A release into which everything has been merged has no folder, and this says more than that.
        if let Some(base) = base.and_then(|base| Version::parse(base).ok()) {
            self.refuse_merged(patches, &base, names)?;
        }
        let base = self.base(base)?;
        let version = Version::parse(&base)?;
        self.refuse_merged(patches, &version, names)?;
        let mut needed = Vec::new();
        for name in self.select_for(patches, &version, names)? {
            if self.merged(patches, &version, &name)?.is_none() {
                needed.push(name);
            }
        }
        Ok((base, needed))
    }

    /// As [`Self::resolve`], or all that have been ported to the release where there are no names.
    pub fn chosen(
        &self,
        patches: &Patches,
        base: Option<&str>,
        names: &[String],
    ) -> Result<(String, Vec<String>)> {
        if !names.is_empty() {
            return self.resolve(patches, base, names);
        }
        let base = self.base(base)?;
        self.resolve(patches, Some(&base), &self.ported(patches, &base))
    }

    /// Refuses those of `names` whose change the release `base` contains.
    pub fn refuse_merged(&self, patches: &Patches, base: &Version, names: &[String]) -> Result<()> {
        for name in names {
            let Some(release) = self.merged(patches, base, name)? else {
                continue;
            };
            let ported = (self.bases.iter())
                .map(Version::to_string)
                .filter(|other| Patch::exists(patches, other, name));
            let (stale, older) = ported.partition::<Vec<_>, _>(|other| *other == base.to_string());
            let hint = match &stale[..] {
                [] => format!(
                    "leave it out; it is for older releases ({})",
                    older.join(", ")
                ),
                _ => format!(
                    "delete {}",
                    patches.shown(&Patch::path(&base.to_string(), name))
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

    /// The patches that `names` stack on in the release `base`, themselves apart, in series order, without those that the
    /// release contains.
    pub fn below(
        &self,
        patches: &Patches,
        base: &Version,
        names: &[String],
    ) -> Result<Vec<String>> {
        let mut below = Vec::new();
        for need in self.select_for(patches, base, names)? {
            if !names.contains(&need) && self.merged(patches, base, &need)?.is_none() {
                below.push(need);
            }
        }
        Ok(below)
    }

    /// The patches that are applied to the release `base` before `name`, in series order; a need that is not there is refused.
    pub fn needs(&self, patches: &Patches, base: &Version, name: &str) -> Result<Vec<String>> {
        let needs = self.below(patches, base, &[name.to_owned()])?;
        for need in &needs {
            if !Patch::exists(patches, &base.to_string(), need) {
                return Err(Failure::input(format!(
                    "{name} needs {need}, which has not been ported to Plonky3 {base}"
                ))
                .hint(format!("`cargo p3 refresh {need} --onto {base}` first"))
                .into());
            }
        }
        Ok(needs)
    }

    /// The release that has merged the patch `name`, where that is `base` or an older one. A patch without a file for
    /// `base` is what it was for the release before.
    pub fn merged(&self, patches: &Patches, base: &Version, name: &str) -> Result<Option<Version>> {
        let mut before = (self.bases.iter().rev())
            .filter(|release| *release <= base)
            .map(Version::to_string);
        let Some(ported) = before.find(|release| Patch::exists(patches, release, name)) else {
            return Ok(None);
        };
        let header = Patch::header(patches, &ported, name)?;
        Ok(header.merged().filter(|release| release <= base))
    }

    /// Every name, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The entry called `name`; an unknown name is refused with the nearest known one.
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
        Err(Failure::input(format!("no patch is named `{name}`"))
            .hint(hint)
            .into())
    }
}

/// The newest of `bases`, which begin with the oldest, and no preview if there is another.
fn newest<'b>(
    mut bases: impl DoubleEndedIterator<Item = &'b Version> + Clone,
) -> Option<&'b Version> {
    let last = bases.clone().next_back();
    bases.rfind(|base| base.pre.is_empty()).or(last)
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
        // A name becomes a file name, a crate and a bench.
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        {
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

    fn series(text: &str) -> Series {
        Series {
            entries: parse(text).unwrap_or_else(|e| panic!("{e:?}")),
            bases: Vec::new(),
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
        let bases = |bases: &[&str]| Series {
            entries: Vec::new(),
            bases: (bases.iter().map(|base| base.parse().unwrap())).collect(),
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
