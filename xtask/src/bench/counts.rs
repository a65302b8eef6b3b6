//! Records of instruction counts.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use comfy_table::{Table, presets};
use serde::Deserialize;

use crate::bench::record::{
    Codes, FIRST_WITH_PATCHES, RECORDS, check_time, contents, entries, file_name, refuse,
};
use crate::project::Project;
use paired::escape;
use paired::stats::row::is_ratio;
use paired::text;

/// A recorded `count`, as far as it is shown.
#[derive(Deserialize)]
pub struct Counts {
    schema: u32,
    /// As it was typed. The records of 2026-11-21 have none.
    #[serde(default, deserialize_with = "text::line")]
    pub command: String,
    base: String,
    pub isa: String,
    patches: BTreeSet<String>,
    /// When the count was made, in UTC. Records before 2026-11-23 have none.
    #[serde(default, deserialize_with = "text::line")]
    time: String,
    /// Below the project's root.
    #[serde(skip)]
    pub file: String,
    #[serde(deserialize_with = "text::name")]
    pub emulated_cpu: String,
    #[serde(deserialize_with = "text::line")]
    pub rustflags: String,
    /// The hash of each patch's code. Records before 2026-11-23 have none.
    #[serde(default)]
    code: BTreeMap<String, String>,
    /// Tells whether the patches' code is another one by now.
    #[serde(skip)]
    pub outdated: bool,
    units: Vec<CountedUnit>,
}

#[derive(Deserialize)]
struct CountedUnit {
    #[serde(deserialize_with = "text::name")]
    unit: String,
    leaves: usize,
    baseline: Counted,
    candidate: Counted,
}

#[derive(Deserialize)]
struct Counted {
    instructions: u64,
    /// By core.
    #[serde(deserialize_with = "text::named")]
    model_cycles: BTreeMap<String, u64>,
}

/// Returns the newest counts of `name` on `base` for each TRIPLE-ISA.
pub fn counts(project: &Project, base: &str, name: &str) -> Result<Vec<Counts>> {
    let (_, names) = project.catalog.chosen(Some(base), &[name.to_owned()])?;
    let present = Codes::of(project, base, &names)?;
    let root = &project.root;
    let mut counts = Vec::new();
    let release = format!("{RECORDS}/{base}");
    for machine in entries(root, &release, true)? {
        let folder = format!("{release}/{machine}/{name}");
        let newest = entries(root, &folder, false)?.into_iter().rev();
        for file in newest.filter(|file| file.ends_with(".json")).take(1) {
            let file = format!("{folder}/{file}");
            let read = Counts::read(&contents(root, &file)?);
            let read = read.and_then(|read| {
                let is_of_folder = read.base == base
                    && machine.ends_with(&format!("-{}", read.isa))
                    && read.patches.contains(name);
                match is_of_folder {
                    true => Ok(read),
                    false => Err(format!("base, isa or patches: not those of {folder}")),
                }
            });
            let read = read.and_then(|read| {
                let name = file.rsplit('/').next().unwrap_or_default();
                read.check_name(name).map(|()| read)
            });
            let read = read.map_err(|why| refuse(&file, "inspect count --record", &why))?;
            counts.push(Counts {
                outdated: !present.are(&read.code, &read.isa),
                file,
                ..read
            });
        }
    }
    Ok(counts)
}

/// The version of the records' format.
pub const SCHEMA: u32 = 1;

impl CountedUnit {
    /// Checks that the figures are those of a unit on two sides; an error says which one is not.
    fn check(&self) -> Result<(), &'static str> {
        let [baseline, candidate] = [&self.baseline, &self.candidate];
        let is_none = |of: &Counted| {
            of.instructions == 0 || of.model_cycles.values().any(|cycles| *cycles == 0)
        };
        let cycles = (baseline.model_cycles.values()).zip(candidate.model_cycles.values());
        let mut ratios = cycles.map(|(before, now)| *now as f64 / *before as f64);
        if self.leaves == 0 {
            Err("no leaves")
        } else if is_none(baseline) || is_none(candidate) {
            Err("took no instructions, or no time")
        } else if !(baseline.model_cycles.keys()).eq(candidate.model_cycles.keys()) {
            Err("cycles of other cores on one side")
        } else if !is_ratio(self.ratio()) || !ratios.all(is_ratio) {
            Err("no ratio")
        } else {
            Ok(())
        }
    }

    /// Returns the ratio of the instructions with the patch to those without.
    fn ratio(&self) -> f64 {
        self.candidate.instructions as f64 / self.baseline.instructions as f64
    }
}

impl Counts {
    /// Reads the text of a record; an error says what is wrong.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if read.schema != SCHEMA {
            return Err(format!("schema {}, and not {SCHEMA}", read.schema));
        }
        if read.units.is_empty() {
            return Err("no units".to_owned());
        }
        let mut seen = BTreeSet::new();
        for unit in &read.units {
            unit.check()
                .map_err(|what| format!("{}: {what}", unit.unit))?;
            if !seen.insert(&unit.unit) {
                return Err(format!("{}: there twice", unit.unit));
            }
        }
        Ok(read)
    }

    /// Checks the name of the record's file, which says when the count was made, and on what; an error says what it is.
    fn check_name(&self, name: &str) -> Result<(), String> {
        let day = name.get(..10).unwrap_or(name);
        if self.time.is_empty() {
            check_time(day)?;
            if day < FIRST_WITH_PATCHES {
                return Ok(());
            }
        }
        let own = file_name(&self.time, &self.emulated_cpu) + ".json";
        if name != own {
            return Err(format!("named {name}, and not {own}"));
        }
        check_time(&self.time)
    }

    /// Returns the unit that gains most.
    pub fn best(&self) -> Option<(&str, f64)> {
        let units = self.units.iter().map(|unit| (&*unit.unit, unit.ratio()));
        units.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// Returns the ratios of the units.
    pub fn ratios(&self) -> impl Iterator<Item = f64> {
        self.units.iter().map(CountedUnit::ratio)
    }

    /// Returns the instructions of each unit, without the patches and with them.
    pub fn instructions(&self) -> impl Iterator<Item = (&str, [u64; 2])> {
        let counted =
            |unit: &CountedUnit| [unit.baseline.instructions, unit.candidate.instructions];
        (self.units.iter()).map(move |unit| (&*unit.unit, counted(unit)))
    }

    /// Returns ratios as Markdown: a line per unit, a column for instructions and for each core's model.
    pub fn markdown(&self) -> String {
        let cores: BTreeSet<&str> = (self.units.iter())
            .flat_map(|unit| unit.baseline.model_cycles.keys().map(String::as_str))
            .collect();
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        let models = cores
            .iter()
            .map(|core| format!("cycles, {} model", escape::text(core)));
        let head = ["with / without".to_owned(), "instructions".to_owned()];
        table.set_header(head.into_iter().chain(models));
        for unit in &self.units {
            let (candidate, baseline) = (&unit.candidate, &unit.baseline);
            let cycles = cores.iter().map(|core| {
                let cycles = |counted: &Counted| counted.model_cycles.get(*core).copied();
                let both = cycles(candidate).zip(cycles(baseline));
                both.map_or_else(String::new, |(candidate, baseline)| {
                    format!("{:.3}", candidate as f64 / baseline as f64)
                })
            });
            let head = [escape::code(&unit.unit), format!("{:.3}", unit.ratio())];
            table.add_row(head.into_iter().chain(cycles));
        }
        let earlier = if self.outdated {
            " The patches had an earlier text."
        } else {
            ""
        };
        format!(
            "Executed by an emulated {}, {}; cycles are llvm-mca's models, nothing was timed.{earlier}\n\n{table}\n",
            escape::text(&self.emulated_cpu),
            escape::code(&self.rustflags)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::bench::record::tests::{COUNTS, Filed};
    use crate::project::Project;
    use paired::error::Failure;

    #[test]
    fn counts_that_no_run_gives_are_refused() {
        Counts::read(COUNTS.as_bytes()).unwrap();
        let (_, unit) = COUNTS.split_once("units\": [").unwrap();
        let (unit, _) = unit.rsplit_once("]}").unwrap();
        let twice = format!("{unit}, {unit}");
        for (from, to, why) in [
            ("\"schema\": 1", "\"schema\": 2", "schema 2, and not 1"),
            ("\"leaves\": 1", "\"leaves\": 0", "permute/x: no leaves"),
            (unit, "", "no units"),
            (unit, &*twice, "permute/x: there twice"),
            ("1000", "0", "permute/x: took no instructions, or no time"),
            ("500", "0", "permute/x: took no instructions, or no time"),
            ("900", "18446744073709551615", "permute/x: no ratio"),
            ("400", "18446744073709551615", "permute/x: no ratio"),
            (
                "n1\": 400",
                "n2\": 400",
                "permute/x: cycles of other cores on one side",
            ),
        ] {
            assert!(COUNTS.contains(from), "{from}");
            let refused = Counts::read(COUNTS.replace(from, to).as_bytes()).err();
            assert_eq!(refused.as_deref(), Some(why));
        }
    }

    #[test]
    fn texts_of_a_record_are_read_without_tokens() {
        let mut text = COUNTS.to_owned();
        for shown in ["cortex-a76", "-C opt", "permute/x", "neoverse-n1"] {
            text = text.replace(shown, "https://me:s3cr3t@h");
        }
        let shown = Counts::read(text.as_bytes()).unwrap().markdown();
        assert_eq!(shown.matches("https:").count(), 4, "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn counts_are_refused_with_the_command_that_makes_others_and_no_link_is_followed() {
        let filed = Filed::new();
        let file = format!("{RECORDS}/0.8.0/triple-neon/quick-sponge/2026-11-01-qemu.json");
        let project = Project::at(filed.root());
        let read = || counts(&project, "0.8.0", "quick-sponge");
        filed.put(&file, COUNTS);
        assert_eq!(read().unwrap().len(), 1);
        for (from, to) in [
            ("\"0.8.0\"", "\"0.7.0\""),
            ("\"neon\"", "\"x86-64-v3\""),
            ("\"quick-sponge\"", "\"demo\""),
        ] {
            assert!(COUNTS.contains(from), "{from}");
            filed.put(&file, &COUNTS.replace(from, to));
            let refused = read().err().unwrap().to_string();
            assert!(
                refused.contains("base, isa or patches: not those of "),
                "{refused}"
            );
        }
        // The name says when the count was made.
        for (name, time, said) in [
            ("2026-13-45-qemu.json", "", "time: \"2026-13-45\" is none"),
            (
                "2026-11-24-qemu.json",
                "",
                "named 2026-11-24-qemu.json, and not ",
            ),
            (
                "2026-11-01-qemu.json",
                "2026-11-02",
                "named 2026-11-01-qemu.json, and not 2026-11-02-cortex-a76.json",
            ),
        ] {
            let other = file.replace("2026-11-01-qemu.json", name);
            let _ = fs::remove_file(filed.root().join(&file));
            filed.put(
                &other,
                &COUNTS.replace("\"base\"", &format!("\"time\": {time:?}, \"base\"")),
            );
            let refused = read().err().unwrap().to_string();
            assert!(refused.contains(said), "{refused}");
            fs::remove_file(filed.root().join(other)).unwrap();
        }
        filed.put(&file, "{}");
        let refused = read().err().unwrap();
        let hint = Failure::behind(&refused).unwrap().hint.as_ref().unwrap();
        assert!(hint.contains("`cargo p3 inspect count --record`"), "{hint}");

        let path = filed.root().join(&file);
        fs::remove_file(&path).unwrap();
        filed.put("elsewhere.json", COUNTS);
        symlink(filed.root().join("elsewhere.json"), &path).unwrap();
        let refused = read().err().unwrap().to_string();
        let expected = format!("{}: a symbolic link, ", path.display());
        assert!(refused.starts_with(&expected), "{refused}");
    }
}
