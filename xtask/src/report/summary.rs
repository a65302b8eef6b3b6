//! The README's tables: the range of what each patch gains, and what whole proofs gain from all patches.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::metadata::Metadata;
use crate::project::Project;
use crate::report::markdown::{changed_memory, meanings};
use crate::report::results::{Section, is_proof};
use p3_patches::catalog::Entry;
use paired::escape;
use paired::isa::Isa;
use paired::run::threads;
use paired::show::machine::known_as;
use paired::show::section::{Line, OUTDATED, lines};
use paired::stats::ratio::Verdict;

/// The instruction sets with a column in both tables.
const ISAS: [(Isa, &str); 3] = [
    (Isa::V3, "AVX2"),
    (Isa::V4, "AVX-512"),
    (Isa::V4Ifma, "AVX-512 IFMA"),
];

/// The cell of an instruction set whose builds a patch does not change.
const NO_CODE: &str = "no such code";

/// The cell of an instruction set of another architecture than the CPU's.
const OTHER_CPU: &str = "\u{2014}";

/// The cell of a patch without a record.
pub(super) const UNMEASURED: &str = "not measured";

/// Returns both tables as Markdown, in the order of the series, with times as shares of the time without.
pub fn markdown(project: &Project, sections: &[Section]) -> Result<String> {
    let isas = ISAS.map(|(_, name)| name);
    let mut text = head(
        (["patch", "what it does", "packages (p3-)"].into_iter())
            .chain(isas)
            .chain(["a whole proof", "aarch64"]),
    );
    for entry in &project.catalog.entries {
        text += &patch(project, entry, sections)?;
    }
    text += &proofs(sections);
    text += &meanings(&text);
    if let Some((title, figure)) = sections.iter().find_map(Section::proofs_figure) {
        text += &format!("\n![{title}]({figure})\n");
    }
    Ok(format!("\n{text}"))
}

pub(super) fn head<'a>(cells: impl Iterator<Item = &'a str> + Clone) -> String {
    let rule = "|---".repeat(cells.clone().count());
    format!("{}{rule}|\n", row(cells))
}

pub(super) fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the row of a patch: over what it needs, where that was measured.
fn patch(project: &Project, Entry { name, .. }: &Entry, sections: &[Section]) -> Result<String> {
    let base = project.catalog.default_base_of(name)?;
    let header = project.catalog.header(&base, name)?;
    let packages = (header.packages.iter())
        .map(|package| package.strip_prefix("p3-").unwrap_or(package))
        .collect::<Vec<_>>();
    let own: Vec<_> = (sections.iter())
        .filter(|section| section.is_of(name))
        .collect();
    let timed = own.iter().filter(|section| section.alone);
    let timed: Vec<_> = timed.map(|section| lines(&section.records)).collect();
    let metadata = Metadata::of(project, name)?;
    let has_code = |isa: Isa| metadata.has_code(&header, isa);
    let measured = ISAS.map(|(isa, _)| newest(&timed, |line| line.row.isa == isa.to_string()));
    let mut cells = vec![
        format!("[{name}](crates/{name})"),
        escape::text(header.subject()),
        packages.join(", "),
    ];
    for ((isa, _), lines) in ISAS.iter().zip(&measured) {
        cells.push(if has_code(*isa) {
            range(lines.iter().copied())
        } else {
            NO_CODE.to_owned()
        });
    }
    let proofs = measured.iter().flatten().copied();
    let proofs = proofs.filter(|line| is_proof(line.row));
    let (old, current): (Vec<_>, Vec<_>) = proofs.partition(|line| line.record.outdated);
    cells.push(if ISAS.iter().any(|(isa, _)| has_code(*isa)) {
        range(if current.is_empty() { old } else { current })
    } else {
        UNMEASURED.to_owned()
    });
    let timed = newest(&timed, |line| line.row.isa == Isa::Neon.to_string());
    cells.push(if !has_code(Isa::Neon) {
        NO_CODE.to_owned()
    } else if timed.is_empty() {
        counted(&own)
    } else {
        range(timed)
    });
    Ok(row(cells.iter().map(String::as_str)))
}

/// Returns the wanted rows of the first section that has some of the present text, else of the first that has any.
fn newest<'a>(sections: &[Vec<Line<'a>>], is_wanted: impl Fn(&Line<'a>) -> bool) -> Vec<Line<'a>> {
    let of_text = |outdated| {
        let mut each = sections.iter().map(|lines| {
            let lines = lines.iter().copied();
            let kept = |line: &Line<'a>| is_wanted(line) && line.record.outdated == outdated;
            lines.filter(kept).collect::<Vec<_>>()
        });
        each.find(|lines| !lines.is_empty())
    };
    of_text(false).or_else(|| of_text(true)).unwrap_or_default()
}

/// Returns the least and the greatest ratio of the rows; bold is a gain.
fn range<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> String {
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by(|a, b| a.row.ratio.total_cmp(&b.row.ratio));
    let time = match &*lines {
        [] => UNMEASURED.to_owned(),
        [only] => ratio(only),
        [least, .., greatest] => format!("{} to {}", ratio(least), ratio(greatest)),
    };
    time + &memory(&lines)
}

/// Returns the least and the greatest ratio of the memory of the rows that change it, after the ratios of times.
fn memory(lines: &[Line<'_>]) -> String {
    let mut ratios: Vec<_> = lines.iter().filter_map(changed_memory).collect();
    ratios.sort_by(f64::total_cmp);
    match &*ratios {
        [] => String::new(),
        [only] => format!(", memory {only:.2}"),
        [least, .., greatest] => format!(", memory {least:.2} to {greatest:.2}"),
    }
}

/// Returns the least and the greatest ratio of the instructions that were counted on aarch64.
pub(super) fn counted(own: &[&Section]) -> String {
    let neon = Isa::Neon.to_string();
    let mut counts = own.iter().flat_map(|section| {
        let counts = section.counts.iter();
        counts.map(|counts| (section.alone, counts))
    });
    let Some((alone, counts)) = counts.find(|(_, counts)| counts.isa == neon) else {
        return UNMEASURED.to_owned();
    };
    let of = match alone {
        true => "of the instructions",
        false => "of the instructions, with what it needs",
    };
    let mark = if counts.outdated { OUTDATED } else { "" };
    let mut ratios: Vec<_> = counts.ratios().collect();
    ratios.sort_by(f64::total_cmp);
    match &*ratios {
        [] => UNMEASURED.to_owned(),
        [only] => format!("{only:.2}{mark} {of}"),
        [least, .., greatest] => format!("{least:.2}{mark} to {greatest:.2}{mark} {of}"),
    }
}

/// Returns the names of whole proofs with all patches: of each program on one thread, without a size where there is such a row, else
/// of the first size.
pub(super) fn shown_proofs(sections: &[Section]) -> BTreeSet<&str> {
    let mut of_programs: BTreeMap<&str, &str> = BTreeMap::new();
    let series = sections.iter().filter(|section| section.patch.is_none());
    let records = series.flat_map(|section| &section.records);
    for row in records.flat_map(|record| &record.rows) {
        let name = &*row.workload;
        let program = name.split_once("/2^").map_or(name, |(program, _)| program);
        if is_proof(row) && threads::split(name).1 == 1 {
            let shown = of_programs.entry(program).or_insert(name);
            if name == program {
                *shown = name;
            }
        }
    }
    of_programs.into_values().collect()
}

/// Returns the rows of whole proofs with all patches, a line for each CPU: of the newest release with a record of the present
/// text, else of the newest with any. Lines of the present text stand first.
fn proofs(sections: &[Section]) -> String {
    let shown = shown_proofs(sections);
    let series = sections.iter().filter(|section| section.patch.is_none());
    let series: Vec<_> = series
        .map(|section| (section, lines(&section.records)))
        .collect();
    let mut found: Vec<(&Section, Vec<Line<'_>>)> = Vec::new();
    let is_alike = |a: &Line<'_>, b: &Line<'_>| {
        a.row.workload == b.row.workload && a.record.machine.cpu == b.record.machine.cpu
    };
    for outdated in [false, true] {
        for (section, lines) in &series {
            let of_text = |line: &&Line<'_>| {
                shown.contains(&*line.row.workload) && line.record.outdated == outdated
            };
            for line in lines.iter().filter(of_text) {
                if !found.iter().any(|(_, known)| is_alike(&known[0], line)) {
                    let alike = lines.iter().filter(|other| is_alike(other, line));
                    found.push((section, alike.copied().collect()));
                }
            }
        }
    }
    if found.is_empty() {
        return String::new();
    }
    let mut isas = ISAS.to_vec();
    let is_neon = |line: &Line<'_>| line.row.isa == Isa::Neon.to_string();
    if found.iter().any(|(_, lines)| lines.iter().any(is_neon)) {
        isas.push((Isa::Neon, "aarch64"));
    }
    let heads = ["all patches", "Plonky3", "CPU"].into_iter();
    let heads = heads.chain(isas.iter().map(|(_, name)| *name));
    let mut text = format!("\n{}", head(heads.collect::<Vec<_>>().into_iter()));
    for (section, lines) in &found {
        let first = &lines[0];
        let mut cells = vec![
            escape::code(&first.row.workload),
            escape::text(&section.release),
            escape::text(&known_as(&first.record.machine.cpu)),
        ];
        let is_arm = lines.iter().any(is_neon);
        cells.extend(isas.iter().map(|(isa, _)| {
            let of_isa = lines.iter().find(|line| line.row.isa == isa.to_string());
            match of_isa {
                Some(line) => ratio(line) + &memory(&[*line]),
                None if is_arm == (*isa == Isa::Neon) => UNMEASURED.to_owned(),
                None => OTHER_CPU.to_owned(),
            }
        }));
        text += &row(cells.iter().map(String::as_str));
    }
    text
}

/// Returns the least and the greatest ratio of a proof with all patches.
pub(super) fn range_of_proof(sections: &[Section], proof: &str) -> String {
    let series = sections.iter().filter(|section| section.patch.is_none());
    let series: Vec<_> = series.map(|section| lines(&section.records)).collect();
    range(newest(&series, |line| line.row.workload == proof))
}

/// Returns a row's ratio; bold is a gain.
fn ratio(line: &Line<'_>) -> String {
    let mark = line.marks();
    match line.row.verdict {
        Verdict::Faster => format!("**{:.2}**{mark}", line.row.ratio),
        Verdict::Slower => format!("{:.2}{mark}, slower", line.row.ratio),
        Verdict::NoChange => format!("{:.2}{mark}", line.row.ratio),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use crate::report::results;
    use paired::stats::row::Row;
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

    const HEAD: &str = "\n| all patches | Plonky3 | CPU | AVX2 | AVX-512 | AVX-512 IFMA |\n\
                        |---|---|---|---|---|---|\n";

    #[test]
    fn proofs_are_a_line_for_each_cpu_and_those_of_the_present_text_first() {
        let mut old = section("Old", "2026-11-03", 0.25);
        old.records
            .iter_mut()
            .for_each(|record| record.outdated = true);
        let new = section("AMD EPYC (family 26, model 2)", "2026-11-01", 1.25);
        let mut all = [old, new];
        assert_eq!(
            proofs(&all),
            format!(
                "{HEAD}\
                 | `stark-prove/x` | 0.8.0 | AMD Zen 5 (family 26, model 2) | 1.25, slower | **0.90** | not measured |\n\
                 | `stark-prove/x` | 0.8.0 | Old | **0.25**† | **0.90**† | not measured |\n"
            )
        );

        // A CPU's line is of the present text, though a newer release has a record of an earlier one.
        all[0].release = "0.9.0-rc.2".into();
        for record in &mut all[0].records {
            record.machine.cpu = "AMD EPYC (family 26, model 2)".into();
        }
        let line = "| `stark-prove/x` | 0.8.0 | AMD Zen 5 (family 26, model 2) | 1.25, slower | **0.90** | not measured |\n";
        assert_eq!(proofs(&all), format!("{HEAD}{line}"));

        // Its column is there where something was timed.
        let mut neon = section("Arm", "2026-11-04", 0.75);
        for record in &mut neon.records {
            record
                .rows
                .iter_mut()
                .for_each(|row| row.isa = "neon".into());
        }
        let table = proofs(&[neon, section("Old", "2026-11-03", 0.25)]);
        assert_eq!(
            table,
            HEAD.replace("IFMA |\n", "IFMA | aarch64 |\n")
                .replace("|\n|---", "|\n|---|---")
                + "| `stark-prove/x` | 0.8.0 | Arm | \u{2014} | \u{2014} | \u{2014} | **0.75** |\n\
                   | `stark-prove/x` | 0.8.0 | Old | **0.25** | **0.90** | not measured | \u{2014} |\n"
        );

        // The record of one patch is not one of all.
        all[1].patch = Some("a".into());
        all[0].patch = all[1].patch.clone();
        assert_eq!(proofs(&all), "");
    }

    /// A README with each size of each program would be as long as docs/results.md.
    #[test]
    fn a_program_is_shown_once() {
        let mut sections = [section("Old", "2026-11-03", 0.25)];
        let names = [
            "stark-prove/a/2^10",
            "stark-prove/a",
            "stark-prove/b/2^14x2",
            "stark-prove/b/2^14x4",
            "stark-prove/a/2-threads",
            "lde/c/2^16x64",
        ];
        let record = &mut sections[0].records[0];
        let row = record.rows[0].clone();
        record.rows = Vec::from(names.map(|name| Row {
            workload: name.into(),
            ..row.clone()
        }));
        sections[0].records.truncate(1);
        let shown = shown_proofs(&sections);
        assert_eq!(
            Vec::from_iter(shown),
            ["stark-prove/a", "stark-prove/b/2^14x2"]
        );
        assert_eq!(proofs(&sections).lines().count(), 3 + 2);
    }

    #[test]
    fn a_range_has_the_least_and_the_greatest_row_of_the_present_text() {
        let mut old = section("Old", "2026-11-03", 0.125);
        old.records
            .iter_mut()
            .for_each(|record| record.outdated = true);
        let new = section("New", "2026-11-01", 1.25);
        let each = [lines(&old.records), lines(&new.records)];
        let range_of = |each: &[Vec<Line<'_>>], isa: Isa| {
            range(newest(each, |line| line.row.isa == isa.to_string()))
        };
        assert_eq!(range_of(&each, Isa::V3), "**0.50** to 1.25, slower");
        assert_eq!(range_of(&each, Isa::V4), "**0.90**");
        assert_eq!(range_of(&each, Isa::V4Ifma), "not measured");
        assert_eq!(range_of(&each[..1], Isa::V4), "**0.90**†");
    }
}
