//! Reads the times that a bench reports itself. A bench of criterion or libtest runs for a fixed time, so the time of its whole
//! run says nothing.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use walkdir::WalkDir;

use crate::error::Failure;
use crate::files::plain;
use crate::terminal::shown;
use crate::text::one_line;

/// The names of benchmarks, each on one line and without credentials, with the nanoseconds of one iteration.
pub(crate) type Figures = Vec<(String, f64)>;

/// Criterion's `benchmark.json`.
#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

/// Criterion's `estimates.json`.
#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    /// The estimate where criterion samples in steps; it prints this one then.
    slope: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Reads the figures of a run: those that criterion has written below `folder`, or else those of libtest in `stdout`. Fails where a
/// figure is no time, or two have one name.
pub(crate) fn read(folder: &Path, stdout: &[u8]) -> Result<Figures> {
    let figures = match criterion(folder)? {
        none if none.is_empty() => libtest(&String::from_utf8_lossy(stdout)),
        figures => figures,
    };
    let mut seen = BTreeSet::new();
    for (name, ns) in &figures {
        if !ns.is_finite() || *ns < 0.0 {
            let what = format!("{name}: the bench reports {ns} ns, which is no time");
            return Err(Failure::input(what).into());
        }
        if !seen.insert(name) {
            let what = format!("{name}: the bench reports two figures of that name");
            return Err(Failure::input(what)
                .hint("give each benchmark a name of its own")
                .into());
        }
    }
    Ok(figures)
}

/// Reads the estimates that criterion prints, from the files in which it keeps them.
fn criterion(folder: &Path) -> Result<Figures> {
    let mut figures = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry?;
        // A folder `base` beside it has the estimates of an earlier run.
        if !entry.path().ends_with("new/benchmark.json") {
            continue;
        }
        let benchmark: Benchmark = parse(entry.path())?;
        let estimates: Estimates = parse(&entry.path().with_file_name("estimates.json"))?;
        let estimate = estimates.slope.unwrap_or(estimates.mean);
        figures.push((one_line(&benchmark.full_id), estimate.point_estimate));
    }
    Ok(figures)
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let shown = shown(path);
    let json = plain::read(path).map_err(|error| {
        Failure::input(format!("cannot read criterion's {shown}: {error}"))
            .hint("a bench leaves criterion's files in the folder that CRITERION_HOME names")
    })?;
    serde_json::from_slice(&json)
        .map_err(|error| Failure::input(format!("criterion's {shown}: {error}")).into())
}

/// Reads the figures in lines `test NAME ... bench: 1,234.56 ns/iter (+/- 5)`.
fn libtest(stdout: &str) -> Figures {
    let figure = |line: &str| {
        let (name, figure) = line.strip_prefix("test ")?.split_once("... bench:")?;
        let (ns, _) = figure.split_once("ns/iter")?;
        let ns = ns.trim().replace(',', "").parse().ok()?;
        Some((one_line(name.trim()), ns))
    };
    stdout.lines().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_without_estimates_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let new = dir.path().join("prove/new");
        std::fs::create_dir_all(&new).unwrap();
        std::fs::write(new.join("benchmark.json"), r#"{"full_id":"prove"}"#).unwrap();
        let refused = read(dir.path(), b"").unwrap_err();
        assert!(
            refused.to_string().contains("estimates.json: "),
            "{refused}"
        );
        let failure = Failure::behind(&refused).unwrap();
        assert!(failure.hint.is_some());
    }

    #[test]
    fn lines_of_libtest_are_read() {
        let printed = "\nrunning 2 tests\n\
            test tests::commit ... bench:   1,234,567.89 ns/iter (+/- 5.10)\n\
            test tests::open   ... bench:          12 ns/iter (+/- 1) = 800 MB/s\n\
            test tests::reads ... ok\n\ntest result: ok.\n";
        for none in ["inf", "NaN", "-1"] {
            let printed = format!("test x ... bench: {none} ns/iter (+/- 0)");
            let refused = read(Path::new("/dev/null"), printed.as_bytes()).unwrap_err();
            assert!(refused.to_string().starts_with("x: "), "{refused}");
        }
        let printed_twice = printed.repeat(2);
        let refused = read(Path::new("/dev/null"), printed_twice.as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("two figures"), "{refused}");
        let expected = [("tests::commit", 1234567.89), ("tests::open", 12.0)];
        assert_eq!(
            libtest(printed),
            expected.map(|(name, ns)| (name.to_owned(), ns))
        );
    }
}
