//! The newest recorded effect of each patch: `patches/effects.csv`, which `report` writes from `benches/record`. The
//! installed tool carries it with the patches.

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fmt;

use anyhow::Result;
use cargo_metadata::semver::Version;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use paired::error::Failure;
use paired::isa::{self, Isa};
use paired::show::report::verdict_name;
use paired::show::section::OUTDATED;
use paired::stats::ratio::Verdict;
use paired::stats::row::is_ratio;
use paired::text;

/// The file, beside the series.
pub const FILE: &str = "effects.csv";

/// The row of a prover that gains most, or where there is none the best of the others, in a patch's newest record for one release
/// and one instruction set, of the patch over what it needs.
#[derive(Deserialize, Serialize)]
pub struct Effect {
    #[serde(deserialize_with = "text::name")]
    pub patch: String,
    #[serde(deserialize_with = "text::name")]
    pub release: String,
    #[serde(deserialize_with = "isa::name")]
    pub isa: String,
    #[serde(deserialize_with = "text::name")]
    pub date: String,
    #[serde(deserialize_with = "text::name")]
    pub cpu: String,
    #[serde(deserialize_with = "text::name")]
    pub workload: String,
    /// With the patch to without.
    pub ratio: f64,
    /// The verdict on the times; absent where an emulated CPU counted instructions.
    pub verdict: Option<Verdict>,
    /// Tells whether the patch has other code by now.
    pub outdated: bool,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.2}", self.workload, self.ratio)?;
        match self.verdict {
            Some(Verdict::Faster) => {}
            Some(verdict) => write!(f, ", {}", verdict_name(verdict))?,
            None => f.write_str(" of the instructions")?,
        }
        let (release, isa, cpu, date) = (&self.release, &self.isa, &self.cpu, &self.date);
        let outdated = if self.outdated {
            ", an earlier text of the patch"
        } else {
            ""
        };
        write!(f, " (Plonky3 {release}, {isa}, {cpu}, {date}{outdated})")
    }
}

impl Effect {
    /// The patch and the ratio, with what keeps them from being those of this patch on `release`.
    fn short(&self, release: &str) -> String {
        let Self { patch, ratio, .. } = self;
        let mut but = Vec::new();
        match self.verdict {
            Some(Verdict::Faster) => {}
            Some(verdict) => but.push(verdict_name(verdict).to_owned()),
            None => but.push("instructions".to_owned()),
        }
        if self.release != release {
            but.push(format!("Plonky3 {}", self.release));
        }
        let mark = if self.outdated { OUTDATED } else { "" };
        match &*but {
            [] => format!("{patch} {ratio:.2}{mark}"),
            but => format!("{patch} {ratio:.2}{mark} ({})", but.join(", ")),
        }
    }
}

/// Says that no patch was measured on `isa`.
fn unrecorded(isa: Isa) -> String {
    if isa == Isa::best() {
        "no record on this CPU's instruction set".to_owned()
    } else {
        format!("no record on {isa}")
    }
}

/// Returns the instruction set whose effects are shown for builds of these architectures: this CPU's best one, or for another
/// architecture the one that most of its CPUs have.
pub fn isa(architectures: &[String]) -> Isa {
    let builds_for = |name: &str| architectures.iter().any(|other| other == name);
    if builds_for(ARCH) {
        Isa::best()
    } else if builds_for("aarch64") {
        Isa::Neon
    } else if builds_for("x86_64") {
        Isa::V3
    } else {
        Isa::Generic
    }
}

/// The effects that are recorded; none where the folder of patches has no such file.
pub struct Effects(Vec<Effect>);

impl Effects {
    /// Reads the effects of the catalog's patches. Refuses a row of another patch, and two rows for one release and instruction set.
    pub fn load(catalog: &Catalog) -> Result<Self> {
        let patches = &catalog.patches;
        let text = patches.read(FILE)?.unwrap_or_default();
        let rows = csv::Reader::from_reader(&*text).into_deserialize();
        let effects = rows.collect::<Result<Vec<Effect>, csv::Error>>();
        let refuse = |why: String| Failure::input(format!("{}: {why}", patches.shown(FILE)));
        let effects = effects.map_err(|error| refuse(error.to_string()))?;
        let mut seen = BTreeSet::new();
        for effect in &effects {
            let (patch, ratio) = (&effect.patch, effect.ratio);
            let (release, isa, date) = (&effect.release, &effect.isa, &effect.date);
            if !catalog.names().any(|name| name == patch) {
                return Err(refuse(format!("{patch}: no such patch")).into());
            }
            if !text::is_time(date) {
                return Err(refuse(format!("{patch}: {date:?} is no date")).into());
            }
            if !seen.insert((patch, release, isa)) {
                let why = format!("{patch}: two rows for {release} on {isa}");
                return Err(refuse(why).into());
            }
            let contradicts = match effect.verdict {
                Some(Verdict::Faster) => ratio > 1.0,
                Some(Verdict::Slower) => ratio < 1.0,
                Some(Verdict::NoChange) | None => false,
            };
            if !is_ratio(ratio) {
                return Err(refuse(format!("{patch}: {ratio} is no ratio")).into());
            }
            if contradicts {
                let why = format!("{patch}: the verdict is not that of the ratio {ratio}");
                return Err(refuse(why).into());
            }
        }
        Ok(Self(effects))
    }

    /// Returns the effect of `patch` on `isa`: for `release` if that is recorded, else for the newest recorded one, since older
    /// releases have the same kernels.
    fn on(&self, isa: &str, patch: &str, release: &str) -> Option<&Effect> {
        let recorded = (self.0.iter()).filter(|effect| effect.patch == patch && effect.isa == isa);
        recorded.max_by_key(|effect| {
            let newest = Version::parse(&effect.release).ok();
            (effect.release == release, newest, &effect.date)
        })
    }

    /// Returns the effects of `patch` on the newest release that each ISA is recorded for.
    pub fn newest(&self, patch: &str) -> Vec<&Effect> {
        let of_patch = self.0.iter().filter(|effect| effect.patch == patch);
        let isas: BTreeSet<_> = of_patch.map(|effect| &*effect.isa).collect();
        let newest = isas.into_iter().filter_map(|isa| self.on(isa, patch, ""));
        newest.collect()
    }

    /// Puts the effect of `patch` on `isa` in a phrase.
    pub fn phrase(&self, patch: &str, release: &str, isa: Isa) -> String {
        let effect = self.on(&isa.to_string(), patch, release);
        effect.map_or_else(|| unrecorded(isa), Effect::to_string)
    }

    /// Returns the effects of `patches` on `isa`, a line for each kind of workload; those without one come last.
    pub fn summary(&self, patches: &[String], release: &str, isa: Isa) -> Vec<String> {
        let mut groups: IndexMap<&str, Vec<String>> = IndexMap::new();
        let name = isa.to_string();
        let (mut changeless, mut without) = (Vec::new(), Vec::new());
        for patch in patches {
            let Some(effect) = self.on(&name, patch, release) else {
                without.push(patch.as_str());
                continue;
            };
            if effect.verdict == Some(Verdict::NoChange) {
                changeless.push(patch.as_str());
                continue;
            }
            let shown = effect.short(release);
            let kind = effect.workload.split('/').next().unwrap_or_default();
            groups.entry(kind).or_default().push(shown);
        }
        let mut lines = Vec::new();
        if !groups.is_empty() {
            lines.push(format!(
                "time with each patch to time without, in the part of a prover that gains most, on {isa}:"
            ));
        }
        let groups = groups.into_iter();
        lines.extend(groups.map(|(kind, effects)| format!("  {kind}: {}", effects.join(", "))));
        if lines.iter().any(|line| line.contains(OUTDATED)) {
            lines.push(format!("  {OUTDATED} of an earlier text of the patch"));
        }
        for (what, patches) in [
            (
                "no change shown by the newest record".to_owned(),
                changeless,
            ),
            (unrecorded(isa), without),
        ] {
            if !patches.is_empty() {
                lines.push(format!("{what}: {}", patches.join(", ")));
            }
        }
        lines
    }
}
