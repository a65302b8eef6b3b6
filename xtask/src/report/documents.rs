//! The documents with generated parts: written by `report`, compared by `check`.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::project::Project;
use crate::report::markdown::Links;
use crate::report::provers::PROVERS;
use crate::report::results::{Section, is_of_prover};
use crate::report::{effects, provers, summary};
use p3_patches::catalog::effects::FILE;
use paired::error::Failure;
use paired::files::dir::is_link;
use paired::files::plain;
use paired::files::replace;
use paired::show::figure;
use paired::show::section::lines;
use paired::terminal::shown;

pub(super) const BEGIN: &str = "<!-- p3:generated:begin, written by `cargo p3 report` -->\n";

const END: &str = "<!-- p3:generated:end -->";

/// All tables of the records, below the project's root.
pub const RESULTS: &str = "docs/results.md";

/// The READMEs, the results, their figures, and the patches' effects: each file's path, and its text as it
/// should be by the records.
pub struct Documents(Vec<(PathBuf, String)>);

impl Documents {
    pub fn new(project: &Project, sections: &[Section]) -> Result<Self> {
        let mut files = Vec::new();
        let mut links = Links::from("../");
        let shown = summary::shown_proofs(sections);
        let mut text = String::new();
        for section in sections {
            let mut lines = lines(&section.records);
            if section.patch.is_none() {
                lines.retain(|line| is_of_prover(line.row));
            }
            write!(text, "\n### {}\n", section.title)?;
            let up = links.up;
            if let Some((title, figure)) = section.proofs_figure() {
                write!(text, "\n![{title}]({up}{figure})\n")?;
                let mut proofs = lines.clone();
                proofs.retain(|line| shown.contains(&*line.row.workload));
                files.push((project.root.join(figure), figure::svg(&title, &proofs)));
            }
            if let Some((title, figure)) = section.curves_figure()
                && let Some(drawn) = figure::curves_svg(&title, &section.records)
            {
                write!(text, "\n![{title}]({up}{figure})\n")?;
                files.push((project.root.join(figure), drawn));
            }
            text += &section.body(&lines, &mut links)?;
        }
        let path = project.root.join(RESULTS);
        files.push((path.clone(), generated(&path, &text, &links)?));
        let path = project.root.join("README.md");
        let text = summary::markdown(project, sections)?;
        files.push((path.clone(), generated(&path, &text, &Links::default())?));
        let path = project.root.join(PROVERS);
        // A checkout of other patches has none.
        if path.is_file() || path.is_symlink() {
            let text = provers::markdown(project, sections)?;
            files.push((path.clone(), generated(&path, &text, &Links::default())?));
        }
        for name in project.catalog.names() {
            let path = project.crates_dir().join(name).join("README.md");
            // `check` names a crate without one.
            if path.is_file() || path.is_symlink() {
                let own = sections.iter().filter(|section| section.is_of(name));
                files.push((path.clone(), crate_readme(&path, own)?));
            }
        }
        files.push((project.patches_dir.join(FILE), effects::text(sections)?));
        Ok(Self(files))
    }

    /// Fails where a file is not what the records say.
    pub fn check(&self) -> Result<()> {
        for (path, expected) in &self.0 {
            if plain::read_to_string(path).ok().as_ref() != Some(expected) {
                let path = shown(path);
                return Err(Failure::check(format!(
                    "{path}: differs from the records under benches/record"
                ))
                .hint("`cargo p3 report` writes it")
                .into());
            }
        }
        Ok(())
    }

    /// Lists the files' paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(path, _)| &**path)
    }

    /// Writes the files, and names them.
    pub fn write(&self, project: &Project) -> Result<Vec<&Path>> {
        let bytes =
            |(path, expected): &(PathBuf, String)| (path.clone(), expected.as_bytes().to_vec());
        let roots = [&*project.root, &*project.patches_dir];
        replace::files_below(&roots, &self.0.iter().map(bytes).collect::<Vec<_>>())?;
        Ok(self.paths().collect())
    }
}

/// Returns the text of a crate's README: all rows of its patch.
fn crate_readme<'s>(path: &Path, sections: impl Iterator<Item = &'s Section>) -> Result<String> {
    let mut links = Links::from("../../");
    let mut text = String::new();
    for section in sections {
        write!(text, "\n### {}\n", section.title)?;
        text += &section.body(&lines(&section.records), &mut links)?;
    }
    generated(path, &text, &links)
}

/// Returns the file's text with `part` between the marker lines.
fn generated(path: &Path, part: &str, links: &Links) -> Result<String> {
    if path.is_symlink() {
        return Err(is_link(path).into());
    }
    let shown = shown(path);
    if !path.exists() {
        return Err(Failure::input(format!("{shown}: no such file"))
            .hint("restore that file from git")
            .into());
    }
    let text = plain::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    if text.contains("\r\n") {
        return Err(Failure::input(format!("{shown}: CRLF line ends"))
            .hint("set core.autocrlf to false, and check the file out again")
            .into());
    }
    let refuse = |what: String| {
        Failure::input(format!("{shown}: {what}"))
            .hint("restore that file from git, or leave one line of each kind, first the beginning")
    };
    let (before, after) = outside(&text).map_err(refuse)?;
    let mut links = links.markdown();
    if !links.is_empty() {
        links.push('\n');
    }
    let generated = format!("{before}{BEGIN}{part}\n{links}{END}{after}");
    // The next run has to find the same.
    let again = outside(&generated).map_err(refuse)?;
    ensure!(
        again == (before, after),
        "{shown}: generated text moves its marks"
    );
    Ok(generated)
}

/// Splits off the text before and after the marker lines, of which there has to be one each; an error says where they are.
fn outside(text: &str) -> Result<(&str, &str), String> {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        if line == BEGIN {
            begins.push((number, at));
        } else if line.trim_end() == END {
            ends.push((number, at));
        }
        at += line.len();
    }
    match (&begins[..], &ends[..]) {
        ([(_, begin)], [(_, end)]) if begin < end => {
            Ok((&text[..*begin], &text[end + END.len()..]))
        }
        ([], []) => Err(format!("no lines {BEGIN}{END}")),
        _ => {
            let lines = |found: &[(usize, usize)]| match found {
                [] => "in none".to_owned(),
                found => {
                    let lines = found.iter().map(|(line, _)| format!("in line {line}"));
                    lines.collect::<Vec<_>>().join(" and ")
                }
            };
            Err(format!(
                "the generated part begins {} and ends {}",
                lines(&begins),
                lines(&ends)
            ))
        }
    }
}

/// Refuses a README in which a figure is neither generated from a record nor in a section that says when it was taken. A figure is
/// a number with two decimals or more.
pub fn check_figures(path: &Path, shown: impl Display) -> Result<()> {
    let text = plain::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let (before, after) =
        outside(&text).map_err(|what| Failure::check(format!("{shown}: {what}")))?;
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

/// Returns the numbers with one digit, a point and two digits or more. The compiler's version is none, and neither are those of
/// releases.
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
    use std::fs;

    use super::*;
    use crate::bench::record::RECORDS;
    use crate::bench::record::tests::{COUNTS, Filed};
    use crate::report::results::recorded;
    use paired::error::Kind;

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
    fn marks_that_were_moved_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = |text: &str, part: &str| {
            fs::write(file.path(), text).unwrap();
            let written = generated(file.path(), part, &Links::default());
            written.map_err(|error| error.to_string())
        };
        let whole = written(&format!("a\n{BEGIN}old\n{END}\nb\n"), "new").unwrap();
        assert_eq!(whole, format!("a\n{BEGIN}new\n{END}\nb\n"));
        // Within a line it is no mark.
        let inside = format!("see {END} and {BEGIN}{whole}");
        assert!(written(&inside, "new").unwrap() == inside);
        for (text, why) in [
            (
                format!("{END}\n{BEGIN}\n"),
                "begins in line 2 and ends in line 1",
            ),
            (
                format!("{whole}\n{END}\n"),
                "begins in line 2 and ends in line 4 and in line 7",
            ),
            (format!("{whole}{whole}"), "begins in line 2 and in line 7"),
            (format!("{BEGIN}\n"), "begins in line 1 and ends in none"),
            ("a\n".to_owned(), "no lines"),
            (whole.replace('\n', "\r\n"), "CRLF line ends"),
        ] {
            let refused = written(&text, "new").unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let refused = written(&whole, &format!("{END}\n")).unwrap_err();
        assert!(
            refused.contains("ends in line 3 and in line 5"),
            "{refused}"
        );
    }

    /// A record whose row is named like a mark, and one that is named like code.
    #[test]
    fn a_record_moves_no_mark() {
        let filed = Filed::new();
        filed.write(
            "series",
            "2026-11-02",
            "Narrow",
            0.25,
            &["base-layer", "quick-sponge"],
        );
        let record = format!("{RECORDS}/0.8.0/triple-x86-64-v3/series/2026-11-02-narrow.csv");
        let text = fs::read_to_string(filed.root().join(&record)).unwrap();
        let project = Project::at(filed.root());
        let [readme, results] = ["README.md", RESULTS].map(|path| filed.root().join(path));
        fs::create_dir(filed.root().join("docs")).unwrap();
        for path in [&readme, &results] {
            fs::write(path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        }
        let workload = "merkle-commit/x/2^4";
        assert!(text.contains(workload));
        for name in [
            END,
            "merkle-commit/`|`",
            "stark-prove/<!-- p3:generated:end -->",
        ] {
            filed.put(&record, &text.replace(workload, name));
            let written = || {
                let documents = Documents::new(&project, &recorded(&project).unwrap());
                documents.unwrap().write(&project).unwrap();
                [&readme, &results].map(|path| fs::read_to_string(path).unwrap())
            };
            let once = written();
            for text in &once {
                assert_eq!(text.matches(END).count(), 1, "{text}");
                assert!(text.ends_with(&format!("{END}\n\nRest.\n")), "{text}");
            }
            assert_eq!(written(), once);
        }
        for (from, to, why) in [
            (workload, "\"a\nb\"", "has a control character"),
            ("x86-64-v3,", "sse,", "is no instruction set"),
            ("baseline", "neither", "unknown variant"),
            (
                "baseline,10100000",
                "baseline,0",
                "seed 0, round 0 took no time",
            ),
            (
                ",candidate,",
                ",baseline,",
                "seed 0, round 0 has not each run of a round once",
            ),
            ("cores = 2", "cores = two", "TOML parse error"),
            ("cpu = \"", "cpu = \"\\u001b", "has a control character"),
        ] {
            filed.put(&record, &text.replace(from, to));
            let error = recorded(&project).err().expect(why);
            let failure = Failure::behind(&error).expect(why);
            assert_eq!(failure.kind, Kind::Input);
            assert!(
                failure.message.starts_with(&record) && failure.message.contains(why),
                "{error:#}"
            );
        }
        for (from, to, why) in [
            (
                "\"instructions\": 1000",
                "\"instructions\": 0",
                "permute/x: took no instructions",
            ),
            (
                "\"neoverse-n1\": 400",
                "\"neoverse-n1\": 0",
                "permute/x: took no instructions",
            ),
            ("-C opt", "-C\\u0007opt", "has a control character"),
            ("\"schema\": 1,", "", "EOF"),
        ] {
            filed.put(&record, &text);
            let counts = record
                .replace("series/", "quick-sponge/")
                .replace(".csv", ".json");
            let changed = COUNTS.replace(from, to);
            let end = changed.len() - usize::from(why == "EOF");
            filed.put(&counts, &changed[..end]);
            let error = recorded(&project).err().expect(why);
            let failure = Failure::behind(&error).expect(why);
            assert_eq!(failure.kind, Kind::Input);
            assert!(
                failure.message.starts_with(&counts) && failure.message.contains(why),
                "{error:#}"
            );
            fs::remove_file(filed.root().join(counts)).unwrap();
        }
        let row = |text: &str| format!("{text},c,w,0.5,faster,false\n");
        let good = row("quick-sponge,0.8.0,x86-64-v3,2026-11-01");
        for (rows, why) in [
            (good.replace("0.5", "inf"), "inf is no ratio"),
            (
                good.replace("2026-11-01", "2026-13-45"),
                "\"2026-13-45\" is no date",
            ),
            (
                good.replace("2026-11-01", "9999-01-01"),
                "\"9999-01-01\" is no date",
            ),
            (
                good.clone() + &good.replace("0.5", "0.6"),
                "two rows for 0.8.0 on x86-64-v3",
            ),
            (good.replace("quick-sponge", "nowhere"), "no such patch"),
        ] {
            let head = "patch,release,isa,date,cpu,workload,ratio,verdict,outdated\n";
            filed.put("patches/effects.csv", &(head.to_owned() + &rows));
            let refused = p3_patches::catalog::effects::Effects::load(&project.catalog);
            let refused = refused.err().expect(why);
            let failure = Failure::behind(&refused).expect(why);
            assert_eq!(failure.kind, Kind::Input);
            let message = &failure.message;
            assert!(
                message.contains("effects.csv: ") && message.ends_with(why),
                "{message}"
            );
        }
        filed.put(&record.replace("-narrow", "-[x](y)"), &text);
        let refused = format!("{:#}", recorded(&project).err().expect("a name"));
        assert!(refused.contains("is no name of a record"), "{refused}");
    }

    #[test]
    fn records_are_shown_with_their_marks() {
        let filed = Filed::new();
        filed.write(
            "quick-sponge",
            "2026-10-01",
            "Wide",
            1.25,
            &["quick-sponge"],
        );
        filed.write("quick-sponge", "2026-11-01T10:00:00Z", "Narrow", 0.75, &[]);
        filed.write(
            "series",
            "2026-11-02",
            "Narrow",
            0.25,
            &["base-layer", "quick-sponge"],
        );
        let series = filed
            .root()
            .join(RECORDS)
            .join("0.8.0/triple-x86-64-v3/series");
        for file in fs::read_dir(series).unwrap() {
            let file = file.unwrap().path();
            let of_a_tree = fs::read_to_string(&file).unwrap();
            fs::write(&file, of_a_tree.replace("merkle-commit/x", "stark-prove/x")).unwrap();
        }
        filed.write("base-layer", "2026-11-03", "Narrow", 0.5, &["base-layer"]);
        let path = "0.8.0/triple-neon/quick-sponge/2026-11-01-qemu.json";
        filed.put(&format!("{RECORDS}/{path}"), COUNTS);
        let project = Project::at(filed.root());
        let path = filed.root().join("README.md");
        let results = filed.root().join(RESULTS);
        fs::create_dir(filed.root().join("docs")).unwrap();
        for path in [&path, &results] {
            fs::write(path, format!("# Title\n\n{BEGIN}stale\n{END}\n\nRest.\n")).unwrap();
        }
        let documents = || Documents::new(&project, &recorded(&project).unwrap()).unwrap();
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
    }
}
