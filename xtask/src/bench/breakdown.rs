//! One permutation taken apart: its external and internal rounds, and how batches and commitments compare.

use anyhow::{Context, Result};

use paired::error::Failure;
use paired::run::protocol::{Kind, RowInfo};
use paired::run::sample::Run;
use paired::show::report;
use paired::stats::ratio::Ratio;
use paired::stats::row::{Row, round4};

/// The end of the name of a [`Kind::Phase`], `phase/PERMUTATION/external`.
const EXTERNAL: &str = "/external";

/// The rows that a permutation is measured in.
pub struct Rows {
    permutation: String,
    /// The permutation without internal rounds, in a loop.
    external: RowInfo,
    /// The permutation in a loop, each time on its own result.
    whole: RowInfo,
    /// The permutation on independent states, through the interface that hashers use.
    batch: RowInfo,
    /// A Merkle tree over it, where there is one.
    commit: Option<RowInfo>,
}

impl Rows {
    /// Returns every permutation that the worker has phases of.
    pub fn all(rows: &[RowInfo]) -> Result<Vec<Self>> {
        let find = |name: String| {
            let row = rows.iter().find(|row| row.name == name).cloned();
            row.ok_or_else(|| Failure::check(format!("the worker has no row {name}")))
        };
        let mut all = Vec::new();
        for external in rows.iter().filter(|row| row.kind == Kind::Phase) {
            let what = external.name.split_once('/').map(|(_, what)| what);
            let Some(permutation) = what.and_then(|what| what.strip_suffix(EXTERNAL)) else {
                continue;
            };
            let tree = format!("merkle-commit/{permutation}/");
            let commits = || rows.iter().filter(|row| row.name.starts_with(&tree));
            all.push(Self {
                permutation: permutation.to_owned(),
                external: external.clone(),
                whole: find(format!("permute-chain/{permutation}"))?,
                batch: find(format!("permute-many/{permutation}"))?,
                commit: commits()
                    .find(|row| row.quick)
                    .or_else(|| commits().next())
                    .cloned(),
            });
        }
        if all.is_empty() {
            return Err(Failure::check("the worker has no phases").into());
        }
        Ok(all)
    }

    pub fn iter(&self) -> impl Iterator<Item = &RowInfo> {
        [&self.external, &self.whole, &self.batch]
            .into_iter()
            .chain(&self.commit)
    }
}

/// The time of the internal rounds: the whole permutation's less that of the external rounds.
struct Internal {
    /// Milliseconds.
    baseline: f64,
    candidate: f64,
    ratio: f64,
}

/// A permutation on one instruction set, measured.
pub struct Breakdown {
    permutation: String,
    isa: String,
    external: Row,
    internal: Internal,
    whole: Row,
    batch: Row,
    commit: Option<Row>,
    /// The step at which a commitment's ratio departs from the permutation's; none where their intervals agree.
    pub remark: Option<String>,
}

impl Breakdown {
    /// Evaluates the samples of one instruction set.
    pub fn new(rows: &Rows, runs: &[Run]) -> Result<Self> {
        let of = |row: &RowInfo| -> Result<Vec<Run>> {
            let runs = runs.iter().filter(|run| run.workload == row.name);
            let runs: Vec<Run> = runs.cloned().collect();
            (!runs.is_empty())
                .then_some(runs)
                .with_context(|| format!("{} was not measured", row.name))
        };
        let evaluate = |row| Row::new(&of(row)?);
        let (external, whole): (Row, Row) = (evaluate(&rows.external)?, evaluate(&rows.whole)?);
        let baseline = whole.baseline - external.baseline;
        let candidate = whole.candidate - external.candidate;
        let mut breakdown = Self {
            permutation: rows.permutation.clone(),
            isa: whole.isa.clone(),
            internal: Internal {
                baseline: round4(baseline),
                candidate: round4(candidate),
                ratio: round4(candidate / baseline),
            },
            external,
            whole,
            batch: evaluate(&rows.batch)?,
            commit: rows.commit.as_ref().map(evaluate).transpose()?,
            remark: None,
        };
        breakdown.remark = breakdown.explain();
        Ok(breakdown)
    }

    fn explain(&self) -> Option<String> {
        let Self { whole, batch, .. } = self;
        let disagree = |a: &Row, b: &Row| {
            a.effect()
                .disagrees(&b.effect(), &[a.control(), b.control()])
        };
        let commit = self.commit.as_ref()?;
        if !disagree(commit, whole) {
            return None;
        }
        let batched = shown(&batch.effect());
        let why = if disagree(commit, batch) {
            format!("Nor is it the batch's {batched}: the time around the permutations counts.")
        } else {
            format!("It is the batch's, {batched}: taking states together makes the difference.")
        };
        Some(format!(
            "The commitment's {} is not the single permutation's {}. {why}",
            shown(&commit.effect()),
            shown(&whole.effect()),
        ))
    }

    /// Returns both implementations and their ratio, a column for each part and for what contains it.
    pub fn table(&self, terminal: bool) -> String {
        let mut table = report::empty_table(terminal);
        let columns = ["external", "internal", "whole", "batch", "commit"];
        let title = format!("{}, {}", self.permutation, self.isa);
        table.set_header([title.as_str()].into_iter().chain(columns));
        let mut add = |name: &str, internal: String, cell: &dyn Fn(&Row) -> String| {
            let commit = self.commit.as_ref().map_or_else(String::new, cell);
            let [external, whole, batch] = [&self.external, &self.whole, &self.batch].map(cell);
            table.add_row([name.to_owned(), external, internal, whole, batch, commit]);
        };
        let Internal {
            baseline,
            candidate,
            ratio,
        } = self.internal;
        let figure = |figure: f64| format!("{figure:.3}");
        add("baseline ms", figure(baseline), &|row| figure(row.baseline));
        add("candidate ms", figure(candidate), &|row| {
            figure(row.candidate)
        });
        add("ratio", figure(ratio), &|row| figure(row.ratio));
        // Two rows were measured one after the other: their difference has no interval.
        add("95 %", String::new(), &|row| {
            let Ratio { low, high, .. } = row.effect();
            format!("{low:.3} {high:.3}")
        });
        report::formatted(table, 1..)
    }
}

fn shown(ratio: &Ratio) -> String {
    format!("{:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paired::run::sample::Side;

    fn info(name: &str, quick: bool) -> RowInfo {
        RowInfo {
            name: name.into(),
            kind: Kind::of(name),
            threads: 1,
            parallel: false,
            quick,
        }
    }

    /// Returns the rows of a worker with one permutation.
    fn listed() -> Vec<RowInfo> {
        [
            ("permute-chain/p", false),
            ("permute-many/p", false),
            ("merkle-commit/p/2^9", false),
            ("merkle-commit/p/2^4", true),
            ("merkle-commit/p/2^5", true),
            ("phase/p/external", false),
        ]
        .map(|(name, quick)| info(name, quick))
        .into()
    }

    /// Returns a few pairs of a row whose baseline takes so many milliseconds.
    fn samples(workload: &str, baseline: f64, candidate: f64) -> Vec<Run> {
        let mut runs = Vec::new();
        for round in 0..9 {
            for (side, time) in [
                (Side::Baseline, baseline),
                (Side::Candidate, candidate),
                (Side::Control, baseline),
            ] {
                // A little noise, so that intervals have a width.
                let ns = (time * 1e6 * (1.0 + 0.001 * f64::from(round % 3))) as u64;
                runs.push(Run {
                    workload: workload.into(),
                    isa: "native".into(),
                    threads: 1,
                    seed: u64::from(round as u32) / 3,
                    round: round as usize,
                    side,
                    wall_ns: ns,
                    cpu_ns: ns,
                    peak_kib: None,
                    live_bytes: None,
                    hashing_ns: None,
                });
            }
        }
        runs
    }

    /// Returns a permutation whose external rounds take 5 ms, 0.8 of that in the candidate; the rest as given.
    fn breakdown(whole: [f64; 2], batch: [f64; 2], commit: [f64; 2]) -> Breakdown {
        let rows = Rows::all(&listed()).unwrap();
        let mut runs = Vec::new();
        for (name, [baseline, candidate]) in [
            ("phase/p/external", [5.0, 4.0]),
            ("permute-chain/p", whole),
            ("permute-many/p", batch),
            ("merkle-commit/p/2^4", commit),
        ] {
            runs.extend(samples(name, baseline, candidate));
        }
        Breakdown::new(&rows[0], &runs).unwrap()
    }

    #[test]
    fn rows_are_found_by_the_permutations_name() {
        let rows = Rows::all(&listed()).unwrap();
        let names: Vec<&str> = rows[0].iter().map(|row| row.name.as_str()).collect();
        let expected = [
            "phase/p/external",
            "permute-chain/p",
            "permute-many/p",
            "merkle-commit/p/2^4",
        ];
        assert_eq!((rows.len(), names), (1, expected.to_vec()));

        let mut lacking = listed();
        lacking.retain(|row| row.name != "permute-many/p");
        let error = Rows::all(&lacking).err().unwrap();
        assert!(error.to_string().contains("no row permute-many/p"));
    }

    #[test]
    fn agreement_needs_no_remark() {
        let breakdown = breakdown([10.0, 7.0], [9.0, 6.3], [20.0, 14.0]);
        assert!((breakdown.internal.ratio - 0.6).abs() < 1e-2);
        assert_eq!(breakdown.remark, None);
        insta::assert_snapshot!(breakdown.table(false));
    }

    #[test]
    fn a_commitment_that_is_not_the_permutation_is_explained() {
        let batched = breakdown([10.0, 8.0], [9.0, 5.4], [20.0, 12.0]);
        let neither = breakdown([10.0, 8.0], [9.0, 5.4], [20.0, 19.0]);
        insta::assert_snapshot!(format!(
            "{}\n{}",
            batched.remark.unwrap(),
            neither.remark.unwrap()
        ));
    }
}
