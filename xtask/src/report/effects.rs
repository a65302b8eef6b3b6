//! The newest recorded effect of each patch: the text of `patches/effects.csv`.

use std::collections::BTreeMap;
use std::slice;

use anyhow::Result;
use clap::ValueEnum;
use p3_patches::catalog::effects::Effect;
use paired::isa::Isa;
use paired::show::machine::known_as;
use paired::show::section::{Record, lines};
use paired::stats::ratio::Verdict;
use paired::stats::row::round4;

use crate::bench::counts::Counts;
use crate::bench::record::RECORDS;
use crate::report::results::{Section, best};

/// Returns the effect of a section's patch in a record's file, below the project's root; a section of several patches has none.
fn effect(
    section: &Section,
    file: &str,
    cpu: String,
    workload: &str,
    ratio: f64,
    verdict: Option<Verdict>,
    outdated: bool,
) -> Option<Effect> {
    // RELEASE/TRIPLE-ISA/NAME/TIME-CPU
    let mut parts = file.strip_prefix(RECORDS)?.split('/').skip(2);
    let (machine, _, name) = (parts.next()?, parts.next()?, parts.next()?);
    let isa = |isa: &&Isa| machine.ends_with(&format!("-{isa}"));
    Some(Effect {
        patch: section.patch.clone()?,
        release: section.release.clone(),
        isa: Isa::value_variants().iter().find(isa)?.to_string(),
        date: name.get(..10)?.to_owned(),
        cpu,
        workload: workload.to_owned(),
        ratio,
        verdict,
        outdated,
    })
}

/// Returns the best row.
fn of_record(section: &Section, record: &Record) -> Option<Effect> {
    let row = best(lines(slice::from_ref(record)))?.row;
    let cpu = known_as(&record.machine.cpu);
    let verdict = Some(row.verdict);
    effect(
        section,
        record.files_of(row).next()?,
        cpu,
        &row.workload,
        row.ratio,
        verdict,
        record.outdated,
    )
}

/// Returns the unit that gains most.
fn of_counts(section: &Section, counts: &Counts) -> Option<Effect> {
    let (unit, ratio) = counts.best()?;
    let cpu = format!("emulated {}", counts.emulated_cpu);
    effect(
        section,
        &counts.file,
        cpu,
        unit,
        round4(ratio),
        None,
        counts.outdated,
    )
}

/// Returns the file's text by the records: the newest effect of each patch alone for each instruction set, and a count where
/// nothing was timed.
pub fn text(sections: &[Section]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for sections in sections.chunk_by(|a, b| (&a.patch, &a.release) == (&b.patch, &b.release)) {
        let mut effects = Vec::new();
        for section in sections {
            let timed = section.records.iter().filter(|_| section.alone);
            let timed = timed.filter_map(|record| of_record(section, record));
            let counted = section.counts.iter().filter(|_| section.alone);
            let counted = counted.filter_map(|counts| of_counts(section, counts));
            effects.extend(counted.chain(timed));
        }
        effects.sort_by_key(|effect| {
            (
                effect.verdict.is_some(),
                !effect.outdated,
                effect.date.clone(),
            )
        });
        // The last one stays.
        let by_isa = (effects.into_iter()).map(|effect| (effect.isa.clone(), effect));
        for effect in by_isa.collect::<BTreeMap<_, _>>().values() {
            writer.serialize(effect)?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
