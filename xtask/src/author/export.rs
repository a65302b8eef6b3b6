//! The texts of a patch for upstream: the mail for `git am`, and the description of the pull request.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::counts::{self, Counts};
use crate::bench::record;
use crate::project::Project;
use crate::report::markdown;
use crate::report::results::is_of_prover;
use p3_patches::catalog::patch::{END, Patch};
use paired::escape;
use paired::isa::Isa;
use paired::show::section::{Line, Record, lines};

/// The texts that are exported for one patch.
#[derive(Eq, PartialEq)]
pub struct Texts {
    /// The mail that `git am` takes.
    pub mail: String,
    /// The pull request's description, in Markdown.
    pub description: String,
}

/// Returns the texts for the patch `name`, by `author`.
pub fn texts(project: &Project, base: &str, name: &str, author: &str) -> Result<Texts> {
    let patch = project.catalog.patch(base, name)?;
    let measured = Measured {
        step: record::step_records(project, base, name)?,
        stack: record::records(project, base, name)?,
        counts: counts::counts(project, base, name)?,
    };
    let sections = sections(&patch, base, &measured);
    Ok(Texts {
        mail: mail(&patch, &sections, author),
        description: description(&patch, base, &sections),
    })
}

/// The records of a patch in `benches/record`.
struct Measured {
    /// On top of what it stacks on.
    step: Vec<Record>,
    /// With what it stacks on, against the release.
    stack: Vec<Record>,
    counts: Vec<Counts>,
}

/// A heading, and what stands below it.
type Section = (&'static str, String);

/// Returns the patch as a mail. The date is fixed, so that the same patch gives the same text.
fn mail(patch: &Patch, sections: &[Section], author: &str) -> String {
    // No `#`, which git takes for a comment where a message is edited.
    let sections = (sections.iter()).map(|(heading, text)| format!("\n\n{heading}:\n\n{text}"));
    format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n\
         From: {author}\n\
         Date: Thu, 1 Jan 1970 00:00:00 +0000\n\
         Subject: [PATCH] {}\n\
         MIME-Version: 1.0\n\
         Content-Type: text/plain; charset=UTF-8\n\
         Content-Transfer-Encoding: 8bit\n\n\
         {}{}\n---\n\n{}{END}",
        patch.header.title,
        patch.header.body,
        sections.collect::<String>(),
        patch.diff()
    )
}

/// Returns the pull request's text: what the commit says, and how to see it for oneself.
fn description(patch: &Patch, base: &str, sections: &[Section]) -> String {
    let name = &patch.name;
    let mut text = format!("# {}\n\n{}\n", patch.header.title, patch.header.body);
    for (heading, section) in sections {
        text += &format!("\n## {heading}\n\n{section}\n");
    }
    text += "\n## Reproduce\n\nIn a checkout of the patches' repository";
    let needs = patch.header.needs.join(", ");
    if !needs.is_empty() {
        text += &format!(
            ", with {needs} on both sides:\n\n```\ncargo p3 ab {name} --step --base {base}\n```\n\nAgain"
        );
    }
    text += &format!(
        ", against Plonky3 {base} as published:\n\n```\ncargo p3 ab {name} --base {base}\n```\n"
    );
    text
}

/// Returns the sections that answer a reviewer: tests, figures, risk.
fn sections(patch: &Patch, base: &str, measured: &Measured) -> Vec<Section> {
    let mut sections = Vec::new();
    let needs = patch.header.needs.join(", ");
    if !needs.is_empty() {
        sections.push(("Stacks on", format!("{needs}.")));
    }
    sections.push((
        "Risk",
        format!("{}.", patch.header.risk.trim_end_matches('.')),
    ));
    sections.push(("Tested", tested(patch, base)));
    if !patch.header.ci_features.is_empty() {
        let features = patch.header.ci_features.join(",");
        sections.push((
            "CI leg",
            format!(
                "No leg of `.github/workflows/ci.yml` builds all of this. It wants one in the matrix of `build_and_test` with\n\
                 `features: \"{features}\"`, only compiled where the runners lack them."
            ),
        ));
    }
    let step = prover_lines(&measured.step);
    let stack = prover_lines(&measured.stack);
    let on_needs = format!(
        "The time with this change on top of {needs}, divided by the time with {needs} alone, and the\n\
         95 % interval of that ratio. Bold is a gain beyond what that baseline measured against itself shows."
    );
    let with = if needs.is_empty() {
        ""
    } else {
        " and what it stacks on"
    };
    let on_release = format!(
        "The time with this change{with}, divided by that of Plonky3 {base} as published, and the\n\
         95 % interval of that ratio. Bold is a gain beyond what the release measured against itself shows."
    );
    for (heading, ratio, records, lines) in [
        ("Measured as a step", on_needs, &measured.step, &step),
        ("Measured", on_release, &measured.stack, &stack),
    ] {
        if !lines.is_empty() {
            let effects = effects(records, lines);
            sections.push((heading, format!("{ratio}\n\n{effects}")));
        }
    }
    for counts in &measured.counts {
        sections.push(("Counted", counts.markdown().trim_end().to_owned()));
    }
    sections.push(("Not measured", not_measured(patch, &step, &stack)));
    sections
}

/// Returns the rows of what a prover does.
fn prover_lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines = lines(records);
    lines.retain(|line| is_of_prover(line.row));
    lines
}

/// Returns a table of the lines; below it each machine, and the command that was run there.
fn effects(records: &[Record], lines: &[Line<'_>]) -> String {
    let mut text = markdown::markdown(lines, None);
    for Record {
        machine, command, ..
    } in records
    {
        let [cpu, rustc] = [&machine.cpu, &machine.rustc].map(|text| escape::text(text));
        let (flags, command) = (escape::code(&machine.rustflags), escape::block(command));
        text += &format!(
            "\n{cpu}, {} cores, {rustc}, {flags}:\n\n{command}",
            machine.cores
        );
    }
    text.trim_end().to_owned()
}

/// Tells how it is known that the change is right.
fn tested(patch: &Patch, base: &str) -> String {
    let name = &patch.name;
    let own = (patch.diff().lines())
        .filter(|line| {
            line.strip_prefix('+')
                .is_some_and(|line| line.trim() == "#[test]")
        })
        .count();
    let own = match own {
        0 => String::new(),
        1 => "One test comes with the change.\n".to_owned(),
        own => format!("{own} tests come with the change.\n"),
    };
    format!(
        "{own}In the patches' repository, `cargo p3 test` runs the tests of `crates/{name}` and upstream's suites on the\n\
         patched packages, with and without the feature `parallel`, and compares all outputs with those of Plonky3 {base},\n\
         bit for bit; `cargo p3 check --upstream-lints {name}` runs upstream's formatting, its lints and a build\n\
         without `std`."
    )
}

/// Names the instruction sets on which nobody has timed the patch or, where the patch stacks on others, its step.
fn not_measured(patch: &Patch, step: &[Line<'_>], stack: &[Line<'_>]) -> String {
    let needs = patch.header.needs.join(", ");
    if !needs.is_empty() && step.is_empty() && !stack.is_empty() {
        let rest = not_measured_on(patch, stack);
        return format!("This change on top of {needs}. {rest}");
    }
    not_measured_on(patch, if needs.is_empty() { stack } else { step })
}

/// Returns the instruction sets and the CPUs that are not among the lines.
fn not_measured_on(patch: &Patch, lines: &[Line<'_>]) -> String {
    let isas = [Isa::Generic, Isa::V3, Isa::V4, Isa::V4Ifma, Isa::Neon];
    let missing = isas
        .into_iter()
        .filter(|isa| patch.header.changes(*isa))
        .map(|isa| isa.to_string())
        .filter(|isa| lines.iter().all(|line| line.row.isa != *isa))
        .collect::<Vec<_>>();
    let cpus = (lines.iter())
        .map(|line| escape::text(&line.record.machine.cpu))
        .collect::<BTreeSet<_>>();
    let cpus = cpus.into_iter().collect::<Vec<_>>().join(", ");
    match (&missing[..], &*cpus) {
        (_, "") => "Nothing was timed.".to_owned(),
        ([], cpus) => format!("Any CPU other than {cpus}."),
        (missing, cpus) => {
            format!(
                "Builds for {}. Any CPU other than {cpus}.",
                missing.join(", ")
            )
        }
    }
}
