//! The README's tables: what each patch gains where it gains most, and what whole proofs gain from all patches.

use std::path::Path;

use anyhow::Result;

use crate::project::Project;
use crate::report::markdown::OUTDATED;
use crate::report::results::{Section, best};
use p3_patches::catalog::Entry;
use paired::escape;
use paired::isa::Isa;
use paired::run::protocol::Kind;
use paired::show::section::{Line, lines};
use paired::stats::ratio::Verdict;

/// A table has a column for each of these.
const ISAS: [(Isa, &str); 3] = [
    (Isa::V3, "AVX2"),
    (Isa::V4, "AVX-512"),
    (Isa::V4Ifma, "AVX-512 IFMA"),
];

/// Returns both tables as Markdown, in the order of the series, with times as shares of the time without.
pub fn markdown(project: &Project, sections: &[Section]) -> Result<String> {
    let isas = ISAS.map(|(_, name)| name);
    let mut text = head(
        (["patch", "what it does", "packages (p3-)", "best workload"].into_iter())
            .chain(isas)
            .chain(["aarch64, instructions"]),
    );
    for entry in &project.catalog.entries {
        text += &patch(project, entry, sections)?;
    }
    text += &proofs(sections);
    if text.contains(OUTDATED) {
        text += &format!("\n{OUTDATED} Of an earlier text of the patches.\n");
    }
    Ok(format!("\n{text}"))
}

fn head<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> String {
    let rule = "|---".repeat(cells.clone().count());
    format!("{}{rule}|\n", row(cells))
}

fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the row of a patch: over what it needs, where that was measured.
fn patch(project: &Project, Entry { name, needs }: &Entry, sections: &[Section]) -> Result<String> {
    let base = project.catalog.default_base_of(name)?;
    let header = project.catalog.header(&base, name)?;
    let packages = (header.packages.iter())
        .map(|package| package.strip_prefix("p3-").unwrap_or(package))
        .collect::<Vec<_>>();
    let own: Vec<_> = (sections.iter())
        .filter(|section| section.is_of(name))
        .collect();
    // A stack's record is one of what the patch needs, too.
    let timed =
        |section: &&&Section| (section.step || needs.is_empty()) && !section.records.is_empty();
    let current = |section: &&&Section| section.records.iter().any(|record| !record.outdated);
    let section = (own.iter().filter(timed).find(current)).or(own.iter().find(timed));
    let lines = section.map_or_else(Vec::new, |section| lines(&section.records));
    let best = best(lines.iter().copied());
    let counted = (own.iter().flat_map(|section| &section.counts))
        .filter_map(|counts| Some((counts.best()?, counts.outdated)))
        .min_by(|(a, _), (b, _)| a.1.total_cmp(&b.1));
    let workload = match (&best, &counted) {
        (Some(best), _) => escape::code(&best.row.workload),
        (None, Some(((unit, _), _))) => escape::code(unit),
        (None, None) => "not measured by itself".to_owned(),
    };
    let mut cells = vec![
        format!("[{name}](crates/{name})"),
        escape::text(header.subject()),
        packages.join(", "),
        workload,
    ];
    cells.extend(
        ISAS.map(|(isa, _)| best.map_or_else(String::new, |best| cell(&lines, &best, isa))),
    );
    cells.push(counted.map_or_else(String::new, |((_, ratio), outdated)| {
        format!("{ratio:.2}{}", mark(outdated))
    }));
    Ok(row(cells.iter().map(String::as_str)))
}

/// Returns the rows of whole proofs with all patches, on the CPU with records for most instruction sets, and of these the one of
/// the newest record.
fn proofs(sections: &[Section]) -> String {
    for section in sections.iter().filter(|section| section.patch.is_none()) {
        let lines = lines(&section.records);
        let taken = |line: &&Line<'_>| {
            let file = line.record.file.as_deref().unwrap_or_default();
            Path::new(file).file_name().map(ToOwned::to_owned)
        };
        let of_proof = |line: &&Line<'_>| Kind::of(&line.row.workload) == Kind::StarkProve;
        let columns = |line: &&Line<'_>| {
            let cells = ISAS.map(|(isa, _)| cell(&lines, line, isa));
            cells.iter().filter(|cell| !cell.is_empty()).count()
        };
        let proofs = lines.iter().filter(of_proof);
        let Some(chosen) = proofs.max_by_key(|line| (columns(line), taken(line))) else {
            continue;
        };
        let cpu = &chosen.record.machine.cpu;
        let mut text = format!(
            "\n{}, {}:\n\n",
            escape::text(&section.title),
            escape::text(cpu)
        );
        text += &head(["proof"].into_iter().chain(ISAS.map(|(_, name)| name)));
        let mut seen = Vec::new();
        for line in lines.iter().filter(of_proof) {
            let workload = &*line.row.workload;
            if line.record.machine.cpu == *cpu && !seen.contains(&workload) {
                seen.push(workload);
                let mut cells = vec![escape::code(workload)];
                cells.extend(ISAS.map(|(isa, _)| cell(&lines, line, isa)));
                text += &row(cells.iter().map(String::as_str));
            }
        }
        return text;
    }
    String::new()
}

/// Returns the ratio of `like`'s workload on its CPU, for another instruction set; bold is a gain.
fn cell(lines: &[Line<'_>], like: &Line<'_>, isa: Isa) -> String {
    let isa = isa.to_string();
    let found = lines.iter().find(|line| {
        let key = |line: &Line<'_>| (line.row.workload.clone(), line.record.machine.cpu.clone());
        key(line) == key(like) && line.row.isa == isa
    });
    found.map_or_else(String::new, |line| {
        let mark = mark(line.record.outdated);
        match line.row.verdict {
            Verdict::Faster => format!("**{:.2}**{mark}", line.row.ratio),
            Verdict::Slower => format!("{:.2}{mark}, slower", line.row.ratio),
            Verdict::NoChange => format!("{:.2}{mark}", line.row.ratio),
        }
    })
}

fn mark(outdated: bool) -> &'static str {
    if outdated { OUTDATED } else { "" }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use crate::report::results;
    use paired::testing::runs;

    /// Returns all patches: a proof on AVX2 and, in 0.9 of the time, on AVX-512, and a commitment.
    fn section(cpu: &str, day: &str, avx2: f64) -> Section {
        let mut samples = [runs(avx2), runs(0.9), runs(0.5)].concat();
        for run in &mut samples[..80] {
            run.workload = "stark-prove/x".into();
        }
        for run in &mut samples[40..80] {
            run.isa = "x86-64-v4".into();
        }
        let file = |isa: &str| (isa.to_owned(), format!("benches/record/{isa}/{day}.csv"));
        let files = BTreeMap::from(["x86-64-v3", "x86-64-v4"].map(file));
        results::section(&report(cpu, &samples), &samples, &files)
    }

    #[test]
    fn proofs_are_those_of_the_newest_record_of_most_instruction_sets() {
        let mut all = section("Old", "2026-11-01", 0.25);
        all.records
            .extend(section("New", "2026-11-02", 1.25).records);
        let table = "\na, b together, Plonky3 0.8.0, New:\n\n\
                     | proof | AVX2 | AVX-512 | AVX-512 IFMA |\n|---|---|---|---|\n\
                     | `stark-prove/x` | 1.25, slower | **0.90** |  |\n";
        assert_eq!(proofs(std::slice::from_ref(&all)), table);

        // A newer record of one instruction set does not take the place of one of two.
        let mut few = section("Few", "2026-11-03", 0.5);
        few.records.truncate(1);
        all.records.extend(few.records);
        assert_eq!(proofs(&[all]), table);

        // The record of one patch is not one of all.
        let mut one = section("New", "2026-11-02", 0.5);
        one.patch = Some(("a".into(), "0.8.0".into()));
        assert_eq!(proofs(&[one]), "");
    }
}
