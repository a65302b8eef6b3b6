//! The memory of workloads with all patches and without: `benches/memory.csv`, with which `ab --outputs-only` compares what it counts.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::bench::record::{contents, refuse};
use crate::project::Project;
use paired::error::Failure;
use paired::files::replace;

/// The file, below the checkout's root.
const FILE: &str = "benches/memory.csv";

/// The part by which a ratio may be another one: instruction sets and threads differ in their buffers.
const TOLERANCE: f64 = 0.03;

/// Bytes of a baseline below which a workload is not compared, since buffers are most of it.
const LEAST: u64 = 1 << 20;

/// The most bytes that a workload has allocated at a time, without patches and with all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Live {
    pub baseline: u64,
    pub candidate: u64,
}

impl Live {
    fn ratio(self) -> f64 {
        self.candidate as f64 / self.baseline as f64
    }

    fn is_compared(self) -> bool {
        self.baseline >= LEAST
    }

    fn is_changed(self) -> bool {
        self.is_compared() && (self.ratio() - 1.0).abs() > TOLERANCE
    }
}

/// A line of the file: a workload whose memory the patches change.
#[derive(Deserialize, Serialize)]
struct Line {
    release: String,
    workload: String,
    baseline: u64,
    candidate: u64,
}

/// Fails where a workload's ratio is not the one in the file, or 1 where the file lacks it. Releases that the file lacks are not compared.
pub fn check(project: &Project, release: &str, counted: &BTreeMap<String, Live>) -> Result<()> {
    let recorded = read(project)?;
    if !recorded.keys().any(|(known, _)| known == release) {
        return Ok(());
    }
    let compared = counted.iter().filter(|(_, live)| live.is_compared());
    let others = compared.filter_map(|(workload, live)| {
        let key = (release.to_owned(), workload.clone());
        let expected = recorded.get(&key).map_or(1.0, |live| live.ratio());
        let ratio = live.ratio();
        let is_other = (ratio - expected).abs() > TOLERANCE;
        is_other.then(|| format!("{workload} {ratio:.3} and not {expected:.3}"))
    });
    let others = others.collect::<Vec<_>>().join(", ");
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::check(format!(
        "{FILE}: the candidate's live bytes by the baseline's are others: {others}"
    ))
    .hint("where that is meant, `cargo p3 ab --outputs-only --isa x86-64-v3 --record` writes the file")
    .into())
}

/// Writes what was counted to the file, in place of what it has of these workloads.
pub fn record(project: &Project, release: &str, counted: &BTreeMap<String, Live>) -> Result<()> {
    let mut recorded = read(project)?;
    for (workload, live) in counted {
        let key = (release.to_owned(), workload.clone());
        match live.is_changed() {
            true => recorded.insert(key, *live),
            false => recorded.remove(&key),
        };
    }
    let mut file = csv::Writer::from_writer(Vec::new());
    for ((release, workload), live) in recorded {
        file.serialize(Line {
            release,
            workload,
            baseline: live.baseline,
            candidate: live.candidate,
        })?;
    }
    replace::files_below(
        &[&project.root],
        &[(project.root.join(FILE), file.into_inner()?)],
    )
}

/// Reads the file, by release and workload.
fn read(project: &Project) -> Result<BTreeMap<(String, String), Live>> {
    const RECORDER: &str = "ab --outputs-only --isa x86-64-v3 --record";

    let text = contents(&project.root, FILE)?;
    let mut recorded = BTreeMap::new();
    for line in csv::Reader::from_reader(&*text).into_deserialize::<Line>() {
        let line = line.map_err(|error| refuse(FILE, RECORDER, &error.to_string()))?;
        let live = Live {
            baseline: line.baseline,
            candidate: line.candidate,
        };
        if live.baseline == 0 || live.candidate == 0 {
            let why = format!("{}: no memory", line.workload);
            return Err(refuse(FILE, RECORDER, &why).into());
        }
        let key = (line.release, line.workload);
        let workload = key.1.clone();
        if recorded.insert(key, live).is_some() {
            let why = format!("{workload}: there twice");
            return Err(refuse(FILE, RECORDER, &why).into());
        }
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record::tests::Filed;

    fn counted(lines: &[(&str, u64, u64)]) -> BTreeMap<String, Live> {
        let of = |&(workload, baseline, candidate): &(&str, u64, u64)| {
            let live = Live {
                baseline: baseline * LEAST,
                candidate: candidate * LEAST,
            };
            (workload.to_owned(), live)
        };
        lines.iter().map(of).collect()
    }

    #[test]
    fn what_is_counted_is_compared_with_the_file() {
        let filed = Filed::new();
        let project = Project::at(filed.root());
        let head = "release,workload,baseline,candidate\n";
        filed.put(FILE, &format!("{head}0.7.0,a,10,5\n0.8.0,gone,10,5\n"));
        let all = counted(&[("a", 1000, 600), ("b", 1000, 1029), ("gone", 100, 100)]);
        record(&project, "0.8.0", &all).unwrap();
        let text = std::fs::read_to_string(filed.root().join(FILE)).unwrap();
        assert_eq!(
            text,
            format!("{head}0.7.0,a,10,5\n0.8.0,a,1048576000,629145600\n")
        );
        check(&project, "0.8.0", &all).unwrap();
        // More on both sides is the same ratio.
        check(&project, "0.8.0", &counted(&[("a", 2000, 1210)])).unwrap();
        for (workload, candidate, said) in [
            ("a", 640, "a 0.640 and not 0.600"),
            ("a", 560, "a 0.560 and not 0.600"),
            ("b", 1040, "b 1.040 and not 1.000"),
        ] {
            let others = check(&project, "0.8.0", &counted(&[(workload, 1000, candidate)]));
            let others = others.unwrap_err().to_string();
            assert!(others.ends_with(said), "{others}");
        }
        check(&project, "0.6.0", &counted(&[("a", 1000, 1)])).unwrap();
        let few = Live {
            baseline: LEAST - 1,
            candidate: LEAST,
        };
        check(&project, "0.8.0", &[("a".to_owned(), few)].into()).unwrap();
        for (line, why) in [
            ("0.8.0,a,0,5\n", "a: no memory"),
            ("0.8.0,a,5,0\n", "a: no memory"),
            ("0.8.0,a,5,4\n0.8.0,a,5,3\n", "a: there twice"),
        ] {
            filed.put(FILE, &format!("{head}{line}"));
            let refused = check(&project, "0.8.0", &all).unwrap_err();
            assert_eq!(refused.to_string(), format!("{FILE}: {why}"));
        }
    }
}
