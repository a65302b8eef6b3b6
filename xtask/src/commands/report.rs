//! `report`: what was measured, to look at and to pass on.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::project::Project;
use crate::report::documents::Documents;
use crate::report::markdown;
use crate::report::results::{self, Section};
use p3_patches::catalog::difference::Difference;
use paired::error::Failure;
use paired::escape;
use paired::interrupt;
use paired::run::sample::Run;
use paired::show::page;
use paired::show::report::{self, Report, read_csv, samples_of};
use paired::show::section::{self, lines};
use paired::stats::row::Row;
use paired::terminal::shown;

/// Show what was measured: as a page, in the documents, for a pull request.
///
/// Without FILE, rebuilds everything from benches/record: the tables and figures of the READMEs and of docs/results.md, and
/// the page. With files that `ab --json` wrote, on one machine or on several, prints their effects as one Markdown table for
/// each set of patches. The samples that `ab` wrote beside a file are shown on the page. The page is one file and loads nothing.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo p3 report
  cargo p3 report intel.json amd.json --html both.html")]
pub struct Args {
    /// Files of `ab --json`.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write the page [default: target/p3/report.html; with files, no page is written].
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
}

/// The title of a page.
pub const TITLE: &str = "Plonky3 with patches";

pub fn run(args: &Args, project: &Project) -> Result<()> {
    if let Some(page) = &args.html {
        let mut inputs = project.patches().inputs();
        let files = args.files.iter();
        inputs.extend(files.flat_map(|file| [file.clone(), samples_of(file)]));
        report::check_outputs(None, false, Some(page), &inputs)?;
    }
    if !args.files.is_empty() {
        let sections = merged(&args.files)?;
        if let Some(path) = &args.html {
            page::write(Some(&project.root), path, TITLE, &on_page(&sections))?;
        }
        for section in &sections {
            let table = markdown::markdown(&lines(&section.records), None);
            println!("### {}\n\n{table}", escape::text(&section.title));
            for table in results::tables(&section.records) {
                println!("{}", markdown::section_table(&table));
            }
        }
        return Ok(());
    }
    let sections = results::recorded(project)?;
    let documents = Documents::new(project, &sections)?;
    let page = args.html.iter().map(PathBuf::as_path);
    report::assert_distinct(documents.paths().chain(page))?;
    interrupt::check()?;
    let mut written = documents.write(project)?;
    let path = match &args.html {
        Some(path) => path.clone(),
        None => {
            let folder = project.root.join("target/p3");
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", shown(&folder)))?;
            folder.join("report.html")
        }
    };
    page::write(Some(&project.root), &path, TITLE, &on_page(&sections))?;
    written.push(&path);
    for path in written {
        println!("{}", project.relative(path));
    }
    Ok(())
}

/// Checks that the samples beside a report are those of its rows; an error names a row that the report has not, or has with other
/// figures.
fn assert_of_rows(runs: &[Run], rows: &[Row]) -> Result<(), String> {
    let reported = rows.iter().map(|row| ((&row.workload, &row.isa), row));
    let reported: BTreeMap<_, _> = reported.collect();
    for sampled in Row::read(runs)? {
        let Row { workload, isa, .. } = &sampled;
        let Some(row) = reported.get(&(workload, isa)) else {
            return Err(format!("{workload}, {isa}: no row of the report"));
        };
        let figures = |row: &Row| {
            let Row {
                baseline,
                candidate,
                unit,
                pairs,
                ..
            } = row;
            format!("{baseline} and {candidate} {unit} in {pairs} pairs")
        };
        let [by_samples, reported] = [&sampled, row].map(figures);
        if by_samples != reported {
            return Err(format!(
                "{workload}, {isa}: {by_samples}, but the report has {reported}"
            ));
        }
    }
    Ok(())
}

/// Returns sections as a page shows them.
fn on_page(sections: &[Section]) -> Vec<section::Section<'_>> {
    sections.iter().map(Section::shown).collect()
}

/// Returns a section for each set of patches and release that the files are about.
fn merged(files: &[PathBuf]) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    let mut seen = BTreeMap::new();
    for path in files {
        let report = Report::<Difference>::read(path)?;
        let (title, cpu) = (report.subject.title(), &report.machine.cpu);
        for row in &report.rows {
            let measured = (
                title.clone(),
                cpu.clone(),
                row.workload.clone(),
                row.isa.clone(),
            );
            if let Some(other) = seen.insert(measured, path) {
                return Err(Failure::input(format!(
                    "{} and {} both have {} on {} for {}",
                    shown(other),
                    shown(path),
                    row.workload,
                    cpu,
                    row.isa
                ))
                .hint("two records of one comparison cannot be merged: choose one of them")
                .into());
            }
        }
        let samples = samples_of(path);
        let runs = if samples.exists() {
            let runs = read_csv(&samples)?;
            assert_of_rows(&runs, &report.rows).map_err(|why| {
                Failure::input(format!("{}: {why}", shown(&samples)))
                    .hint("keep the samples that `ab` wrote beside this report")
            })?;
            runs
        } else {
            Vec::new()
        };
        let section = results::section(&report, &runs, &BTreeMap::new());
        match sections
            .iter_mut()
            .find(|known| known.title == section.title)
        {
            Some(known) => known.records.extend(section.records),
            None => sections.push(section),
        }
    }
    Ok(sections)
}
