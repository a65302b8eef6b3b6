//! `export`: what goes upstream.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::error::Failure;
use crate::files::dir::Dir;
use crate::files::replace;
use crate::interrupt;
use crate::isa::Isa;
use crate::measure::counts::{self, Counts};
use crate::measure::record::{self, Record};
use crate::project::Project;
use crate::publish::markdown;
use crate::publish::results::{self, Line};
use crate::series::Series;
use crate::series::patch::{END, Patch};

/// Write a patch for upstream: a mail for `git am`, and the text of the pull request.
///
/// DIR/NNNN-NAME.patch applies with `git am` to a checkout of Plonky3 at the release: one commit that says what, why, how it
/// is tested, what was measured with which command, and what was not. DIR/NNNN-NAME.md is the description with the same.
/// The numbers are the order of the series, so `git am DIR/*.patch` applies all. The same patch gives the same bytes.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 export batched-permute --out upstream")]
pub struct Args {
    /// Patches to export; what they need is exported too.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The folder to write to; it is created.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The commit's author, as `Name <address>` [default: git's].
    #[arg(long)]
    author: Option<String>,
    /// The Plonky3 release [default: the newest that each patch has been ported to, previews apart].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
}

/// The texts that are exported for one patch.
#[derive(Eq, PartialEq)]
pub struct Texts {
    /// The mail that `git am` takes.
    pub mail: String,
    /// The pull request's description, in Markdown.
    pub description: String,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let series = Series::load(&project.patches)?;
    let author = match &args.author {
        Some(author) => author.clone(),
        None => author(project)?,
    };
    // The patches that one stacks on go to the same release.
    let mut exported = BTreeMap::new();
    for name in series
        .select(&args.names)?
        .iter()
        .filter(|name| args.names.contains(name))
    {
        let base = match &args.base {
            Some(base) => base.clone(),
            None => series.default_base_of(&project.patches, name)?,
        };
        let asked = std::slice::from_ref(name);
        let (base, stack) = series.resolve(&project.patches, Some(&base), asked)?;
        exported.extend(stack.into_iter().map(|name| (name, base.clone())));
    }
    let mut files = Vec::new();
    let in_order = series
        .names()
        .filter_map(|name| exported.get_key_value(name));
    for ((name, base), number) in in_order.zip(1..) {
        let texts = texts(project, base, name, &author)?;
        let file = |extension| args.out.join(format!("{number:04}-{name}.{extension}"));
        files.push((file("patch"), texts.mail.into_bytes()));
        files.push((file("md"), texts.description.into_bytes()));
    }
    let out = Dir::create(&args.out)?;
    replace::files_below(&[out.path()], &files)?;
    for (path, _) in files {
        println!("{}", path.display());
    }
    Ok(())
}

/// The texts for the patch `name`, by `author`.
pub fn texts(project: &Project, base: &str, name: &str, author: &str) -> Result<Texts> {
    let patch = Patch::load(&project.patches, base, name)?;
    let series = Series::load(&project.patches)?;
    let measured = Measured {
        step: record::step_records(project, &series, base, name)?,
        stack: record::records(&project.root, &project.patches, &series, base, name)?,
        counts: counts::counts(&project.root, &project.patches, &series, base, name)?,
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

/// The patch as a mail. The date is fixed, so that the same patch gives the same text.
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

/// The pull request's text: what the commit says, and how to see it for oneself.
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

/// The sections that answer a reviewer: tests, figures, risk.
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

/// Of all rows, those of what a prover does.
fn prover_lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines = results::lines(records);
    lines.retain(Line::of_prover);
    lines
}

/// A table of the lines; below it each machine, and the command that was run there.
fn effects(records: &[Record], lines: &[Line<'_>]) -> String {
    let mut text = markdown::markdown(lines, None);
    for Record {
        machine, command, ..
    } in records
    {
        let cpu = markdown::plain(&machine.cpu);
        text += &format!(
            "\n{cpu}, {} cores, {}, `{}`:\n\n```\n{command}\n```\n",
            machine.cores, machine.rustc, machine.rustflags
        );
    }
    text.trim_end().to_owned()
}

/// How it is known that the change is right.
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

/// Where nobody has taken the time of what the patch changes, for one that stacks on others: of the step.
fn not_measured(patch: &Patch, step: &[Line<'_>], stack: &[Line<'_>]) -> String {
    let needs = patch.header.needs.join(", ");
    if !needs.is_empty() && step.is_empty() && !stack.is_empty() {
        let rest = not_measured_on(patch, stack);
        return format!("This change on top of {needs}. {rest}");
    }
    not_measured_on(patch, if needs.is_empty() { stack } else { step })
}

/// The instruction sets and the CPUs that are not among the lines.
fn not_measured_on(patch: &Patch, lines: &[Line<'_>]) -> String {
    let isas = [Isa::Generic, Isa::V3, Isa::V4, Isa::V4Ifma, Isa::Neon];
    let missing = isas
        .into_iter()
        .filter(|isa| patch.header.changes(*isa))
        .map(|isa| isa.to_string())
        .filter(|isa| lines.iter().all(|line| line.row.isa != *isa))
        .collect::<Vec<_>>();
    let cpus = (lines.iter())
        .map(|line| markdown::plain(&line.record.machine.cpu))
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

/// The author that git would name for a commit here.
fn author(project: &Project) -> Result<String> {
    let output = interrupt::output(
        Command::new("git")
            .args(["var", "GIT_AUTHOR_IDENT"])
            .current_dir(&project.root),
    )?;
    let ident = String::from_utf8_lossy(&output.stdout);
    // `Name <address> time zone`
    match ident.rfind('>') {
        Some(end) if output.status.success() => Ok(ident[..=end].to_owned()),
        _ => Err(Failure::environment("git does not know who you are")
            .hint("set user.name and user.email, or pass --author 'Name <address>'")
            .into()),
    }
}
