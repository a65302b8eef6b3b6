//! The documents with generated parts: written by `report`, compared by `check`.

use std::fmt::{Display, Write as _};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::files::replace;
use crate::project::Project;
use crate::publish::markdown::Links;
use crate::publish::results::{Line, Section, lines};
use crate::publish::{effects, figure, summary};
use crate::series::Series;

pub(super) const BEGIN: &str = "<!-- p3:generated:begin, written by `cargo p3 report` -->\n";

const END: &str = "<!-- p3:generated:end -->";

/// All tables of the records, below the project's root.
pub const RESULTS: &str = "docs/results.md";

/// The help of every command, below the project's root.
pub const MANUAL: &str = "docs/tool.md";

/// The READMEs, the results, their figures, the patches' effects and the tool's manual: each file's path, and its text as it
/// should be by the records and the tool's help.
pub struct Documents(Vec<(PathBuf, String)>);

impl Documents {
    pub fn new(project: &Project, sections: &[Section], manual: &str) -> Result<Self> {
        let mut files = Vec::new();
        let mut links = Links {
            up: "../",
            files: Vec::new(),
        };
        let mut text = String::new();
        for section in sections {
            let mut lines = lines(&section.records);
            lines.retain(Line::of_prover);
            write!(text, "\n### {}\n", section.title)?;
            if let Some(figure) = &section.figure {
                let title = &section.title;
                let up = links.up;
                write!(
                    text,
                    "\n![{title}: the table below as a figure]({up}{figure})\n"
                )?;
                files.push((project.root.join(figure), figure::svg(title, &lines)));
            }
            text += &section.body(&lines, &mut links)?;
        }
        let path = project.root.join(RESULTS);
        files.push((path.clone(), generated(&path, &text, &links)?));
        let path = project.root.join(MANUAL);
        files.push((path.clone(), generated(&path, manual, &Links::default())?));
        let series = Series::load(&project.patches)?;
        let path = project.root.join("README.md");
        let text = summary::markdown(project, &series, sections)?;
        files.push((path.clone(), generated(&path, &text, &Links::default())?));
        for name in series.names() {
            let path = project.crates_dir().join(name).join("README.md");
            // `check` names a crate without one.
            if path.is_file() {
                let own = sections.iter().filter(|section| section.is_of(name));
                files.push((path.clone(), crate_readme(&path, own)?));
            }
        }
        files.push((
            project.patches_dir.join(effects::FILE),
            effects::text(sections)?,
        ));
        Ok(Self(files))
    }

    /// Fails where a file is not what the records, or the tool's help, say.
    pub fn check(&self) -> Result<()> {
        for (path, expected) in &self.0 {
            if fs::read_to_string(path).ok().as_ref() != Some(expected) {
                let path = path.display();
                return Err(Failure::check(format!(
                    "{path}: not what benches/record or the tool's help says"
                ))
                .hint("`cargo p3 report` writes it")
                .into());
            }
        }
        Ok(())
    }

    /// Writes the files, and names them.
    pub fn write(&self, project: &Project) -> Result<Vec<&Path>> {
        let bytes =
            |(path, expected): &(PathBuf, String)| (path.clone(), expected.as_bytes().to_vec());
        let roots = [&*project.root, &*project.patches_dir];
        replace::files_below(&roots, &self.0.iter().map(bytes).collect::<Vec<_>>())?;
        Ok(self.0.iter().map(|(path, _)| &**path).collect())
    }
}

/// The text of a crate's README: all rows of its patch.
fn crate_readme<'s>(path: &Path, sections: impl Iterator<Item = &'s Section>) -> Result<String> {
    let mut links = Links {
        up: "../../",
        files: Vec::new(),
    };
    let mut text = String::new();
    for section in sections {
        write!(text, "\n### {}\n", section.title)?;
        text += &section.body(&lines(&section.records), &mut links)?;
    }
    generated(path, &text, &links)
}

/// The file's text with `part` between the marker lines.
fn generated(path: &Path, part: &str, links: &Links) -> Result<String> {
    let shown = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let (before, after) =
        outside(&text).ok_or_else(|| Failure::input(format!("{shown}: no lines {BEGIN}{END}")))?;
    let mut links = links.markdown();
    if !links.is_empty() {
        links.push('\n');
    }
    Ok(format!("{before}{BEGIN}{part}\n{links}{END}{after}"))
}

/// The text before and after the marker lines.
fn outside(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some((before, after))
}

/// Refuses a README in which a figure is neither generated from a record nor in a section that says when it was taken. A figure is
/// a number with two decimals or more.
pub fn check_figures(path: &Path, shown: impl Display) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let (before, after) =
        outside(&text).ok_or_else(|| Failure::check(format!("{shown}: no lines {BEGIN}{END}")))?;
    // The text after the marker begins with the end of its line.
    let first_after = text[..text.len() - after.len()].lines().count() - 1;
    for (first, part) in [(0, before), (first_after, after)] {
        let mut figure = None;
        let mut dated = false;
        for (number, line) in part.lines().chain(["#"]).enumerate() {
            if line.starts_with('#') {
                if let Some((number, figure)) = figure.take().filter(|_| !dated) {
                    return Err(Failure::check(format!(
                        "{shown}:{number}: {figure} is from no record, and its section does not say when it was taken"
                    ))
                    .hint("write `exploratory, YEAR-MONTH-DAY` beside it, or leave it out")
                    .into());
                }
                dated = false;
            }
            let found = figures(line).next();
            figure = figure.or(found.map(|figure| (first + number + 1, figure)));
            dated |= line
                .to_lowercase()
                .split("exploratory, 20")
                .skip(1)
                .any(|date| date.len() >= 8 && date.as_bytes()[2] == b'-');
        }
    }
    Ok(())
}

/// The numbers with one digit, a point and two digits or more. The compiler's version is none, and neither are those of releases.
fn figures(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_ascii_digit() && c != '.' && !c.is_alphabetic());
    let before = ["rustc", "Rust"];
    let mut last = "";
    words
        .filter(|word| !word.is_empty())
        .filter_map(move |word| {
            let version = before.contains(&last);
            last = word;
            let number = word.trim_end_matches('.');
            let (whole, decimals) = number.split_once('.')?;
            let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let figure =
                whole.len() == 1 && digits(whole) && decimals.len() >= 2 && digits(decimals);
            (figure && !version).then_some(number)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::record::RECORDS;
    use crate::measure::record::tests::{COUNTS, Filed};
    use crate::publish::results::recorded;

    #[test]
    fn a_figure_has_a_record_or_a_date() {
        let readme = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), format!("# x\n\n{BEGIN}0.123\n{END}\n{text}")).unwrap();
            check_figures(file.path(), "README.md").map_err(|error| error.to_string())
        };
        readme("Plonky3 0.8.0 and 0.9.0-rc.2, rustc 1.95, Rust 1.95: 3.5 cycles, 10.25 ms.")
            .unwrap();
        readme("## Probe\n\nExploratory, 2026-11-21: 0.58.\n\n## Rest\n").unwrap();
        for text in [
            "It takes 0.58 of the time.",
            "0.58",
            "| a | 0.58-0.60 |",
            "## Probe\n\n0.58\n\n## Other\n\nExploratory, 2026-11-21.\n",
            "Exploratory: 0.58.",
        ] {
            let refused = readme(text).unwrap_err();
            assert!(refused.contains(": 0.58 is from no record"), "{refused}");
        }
        let refused = readme("a\n\n1.02").unwrap_err();
        assert!(refused.contains(":8: 1.02 is"), "{refused}");
    }

    #[test]
    fn records_are_shown_with_their_marks() {
        let filed = Filed::new();
        filed.write(
            "quick-sponge",
            "2026-10-01-wide",
            "Wide",
            1.25,
            &["quick-sponge"],
        );
        filed.write(
            "quick-sponge",
            "2026-11-01T10-00-00Z-narrow",
            "Narrow",
            0.75,
            &[],
        );
        filed.write(
            "series",
            "2026-11-02-narrow",
            "Narrow",
            0.25,
            &["base-layer", "quick-sponge"],
        );
        filed.write(
            "base-layer",
            "2026-11-03-narrow",
            "Narrow",
            0.5,
            &["base-layer"],
        );
        let path = "0.8.0/triple-neon/quick-sponge/2026-11-01-qemu.json";
        filed.put(&format!("{RECORDS}/{path}"), COUNTS);
        let project = Project::at(filed.root());
        let path = filed.root().join("README.md");
        let [results, manual] = [RESULTS, MANUAL].map(|path| filed.root().join(path));
        fs::create_dir(filed.root().join("docs")).unwrap();
        for path in [&path, &results, &manual] {
            fs::write(path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        }
        let documents = || Documents::new(&project, &recorded(&project).unwrap(), "help").unwrap();
        assert!(documents().check().is_err());
        documents().write(&project).unwrap();
        documents().check().unwrap();
        let figure = project.root.join(RECORDS).join("0.8.0/series.svg");
        let drawn = fs::read_to_string(&figure).unwrap();
        fs::write(&figure, drawn.replace("0.250", "0.251")).unwrap();
        let stale = format!("{:#}", documents().check().unwrap_err());
        assert!(stale.contains("series.svg"), "{stale}");
        let effects = filed.root().join("patches/effects.csv");
        insta::assert_snapshot!("effects", fs::read_to_string(&effects).unwrap());
        fs::write(&figure, drawn).unwrap();
        fs::write(&effects, "").unwrap();
        let stale = format!("{:#}", documents().check().unwrap_err());
        assert!(stale.contains("effects.csv"), "{stale}");
        documents().write(&project).unwrap();
        insta::assert_snapshot!(fs::read_to_string(&results).unwrap());
        insta::assert_snapshot!("summary", fs::read_to_string(&path).unwrap());
        assert!(fs::read_to_string(&manual).unwrap().contains("help\n"));
        fs::write(&manual, format!("# Title\n\n{BEGIN}stale\n{END}")).unwrap();
        let stale = format!("{:#}", documents().check().unwrap_err());
        assert!(stale.contains(MANUAL), "{stale}");
    }
}
