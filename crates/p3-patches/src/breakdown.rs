//! One permutation taken apart: what its phases predict for the whole, and how batches and commitments compare.

use anyhow::{Context, Result};
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::error::Failure;
use crate::pairs::{RowInfo, Run};
use crate::report::{Row, candidate_logs, round4};
use crate::stats::Ratio;

/// Rows that are one phase each, `phase/PERMUTATION/PHASE`.
pub const PHASE: &str = "phase/";
const PHASES: [&str; 3] = ["initial", "internal", "terminal"];

/// The rows that a permutation is measured in.
pub struct Rows {
    permutation: String,
    phases: [RowInfo; 3],
    /// The permutation in a loop, each time on its own result.
    whole: RowInfo,
    /// The permutation on independent states, through the interface that hashers use.
    batch: RowInfo,
    /// A Merkle tree over it, where there is one.
    commit: Option<RowInfo>,
}

impl Rows {
    /// Every permutation that the worker has phases of.
    pub fn all(rows: &[RowInfo]) -> Result<Vec<Self>> {
        let find = |name: String| {
            let row = rows.iter().find(|row| row.name == name).cloned();
            row.ok_or_else(|| Failure::check(format!("the worker has no row {name}")))
        };
        let named = rows.iter().filter_map(|row| {
            let (permutation, phase) = row.name.strip_prefix(PHASE)?.rsplit_once('/')?;
            (phase == PHASES[0]).then_some(permutation)
        });
        let mut all = Vec::new();
        for permutation in named {
            let [initial, internal, terminal] =
                PHASES.map(|phase| find(format!("{PHASE}{permutation}/{phase}")));
            let tree = format!("merkle-commit/{permutation}/");
            let commits = || rows.iter().filter(|row| row.name.starts_with(&tree));
            all.push(Self {
                permutation: permutation.to_owned(),
                phases: [initial?, internal?, terminal?],
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
        let rest = [&self.whole, &self.batch].into_iter().chain(&self.commit);
        self.phases.iter().chain(rest)
    }
}

/// A permutation on one instruction set, measured.
#[derive(Serialize)]
pub struct Breakdown {
    pub permutation: String,
    pub isa: String,
    /// Initial, internal, terminal.
    pub phases: [Row; 3],
    /// The ratio of the phases' sums.
    pub predicted: f64,
    pub predicted_ci95: [f64; 2],
    pub whole: Row,
    pub batch: Row,
    pub commit: Option<Row>,
    /// Why what should be equal is not; nothing where the intervals do not disagree.
    pub remarks: Vec<String>,
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
        let [initial, internal, terminal] = rows.phases.each_ref().map(evaluate);
        let phases = [initial?, internal?, terminal?];
        let [initial, internal, terminal] =
            rows.phases.each_ref().map(|row| candidate_logs(&of(row)?));
        let logs = [initial?, internal?, terminal?];
        let terms: Vec<_> = phases
            .iter()
            .map(|row| row.baseline)
            .zip(logs.iter().map(Vec::as_slice))
            .collect();
        let predicted = Ratio::of_sum(&terms);
        let whole = evaluate(&rows.whole)?;
        let mut breakdown = Self {
            permutation: rows.permutation.clone(),
            isa: whole.isa.clone(),
            phases,
            predicted: round4(predicted.value),
            predicted_ci95: [round4(predicted.low), round4(predicted.high)],
            whole,
            batch: evaluate(&rows.batch)?,
            commit: rows.commit.as_ref().map(evaluate).transpose()?,
            remarks: Vec::new(),
        };
        breakdown.remarks = breakdown.explain();
        Ok(breakdown)
    }

    fn explain(&self) -> Vec<String> {
        let Self { whole, batch, .. } = self;
        let predicted = self.prediction();
        let mut remarks = Vec::new();
        let mut controls: Vec<Ratio> = self.phases.iter().map(Row::control).collect();
        controls.push(whole.control());
        if predicted.disagrees(&whole.effect(), &controls) {
            let [baseline, candidate] = self.sums();
            let gains = if whole.ratio < predicted.value {
                "candidate"
            } else {
                "baseline"
            };
            remarks.push(format!(
                "The whole is not its phases: they predict {}, it takes {}. It takes {:.3} of their sum in the \
                 baseline and {:.3} in the candidate, so the {gains} gains more from what no phase shows alone: \
                 its end beside the beginning of the next, and code compiled as one.",
                shown(&predicted),
                shown(&whole.effect()),
                whole.baseline / baseline,
                whole.candidate / candidate,
            ));
        }
        let disagree = |a: &Row, b: &Row| {
            a.effect()
                .disagrees(&b.effect(), &[a.control(), b.control()])
        };
        if let Some(commit) = self
            .commit
            .as_ref()
            .filter(|commit| disagree(commit, whole))
        {
            let why = if disagree(commit, batch) {
                format!(
                    "Nor is it the batch's {}: what lies around the permutations counts.",
                    shown(&batch.effect())
                )
            } else {
                format!(
                    "It is that of the batch, {}: what is won or lost lies in taking states together, which no phase of \
                     one state shows.",
                    shown(&batch.effect())
                )
            };
            remarks.push(format!(
                "The commitment's {} is not the single permutation's {}. {why}",
                shown(&commit.effect()),
                shown(&whole.effect()),
            ));
        }
        remarks
    }

    /// The phases' times added up, baseline and candidate.
    fn sums(&self) -> [f64; 2] {
        let sum = |time: fn(&Row) -> f64| self.phases.iter().map(time).sum();
        [sum(|row| row.baseline), sum(|row| row.candidate)]
    }

    /// Both implementations and their ratio, a column for each phase and for what they make up.
    pub fn table(&self, terminal: bool) -> String {
        let mut table = crate::report::empty_table(terminal);
        let columns = ["sum", "whole", "whole/sum", "batch", "commit"];
        let title = format!("{}, {}", self.permutation, self.isa);
        table.set_header([title.as_str()].into_iter().chain(PHASES).chain(columns));
        let commit = self.commit.as_ref();
        let [baseline, candidate] = self.sums();
        for (name, time, sum) in [
            (
                "baseline ms",
                (|row| row.baseline) as fn(&Row) -> f64,
                baseline,
            ),
            ("candidate ms", |row| row.candidate, candidate),
        ] {
            let cell = |row: &Row| format!("{:.3}", time(row));
            let mut cells = vec![name.to_owned()];
            cells.extend(self.phases.iter().map(cell));
            cells.push(format!("{sum:.3}"));
            cells.push(cell(&self.whole));
            cells.push(format!("{:.3}", time(&self.whole) / sum));
            cells.push(cell(&self.batch));
            cells.push(commit.map_or_else(String::new, cell));
            table.add_row(cells);
        }
        for (name, figure) in [
            (
                "ratio",
                (|ratio| format!("{:.3}", ratio.value)) as fn(&Ratio) -> String,
            ),
            ("95 %", |ratio| {
                format!("{:.3} {:.3}", ratio.low, ratio.high)
            }),
        ] {
            let cell = |row: &Row| figure(&row.effect());
            let mut cells = vec![name.to_owned()];
            cells.extend(self.phases.iter().map(cell));
            cells.push(figure(&self.prediction()));
            cells.push(cell(&self.whole));
            cells.push(String::new());
            cells.push(cell(&self.batch));
            cells.push(commit.map_or_else(String::new, cell));
            table.add_row(cells);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table.trim_fmt()
    }

    /// Predicted against observed, and why they differ.
    pub fn summary(&self) -> String {
        let mut summary = format!(
            "predicted from the phases {}, observed {}",
            shown(&self.prediction()),
            shown(&self.whole.effect())
        );
        if let Some(commit) = &self.commit {
            summary += &format!("; {} {}", commit.workload, shown(&commit.effect()));
        }
        for remark in &self.remarks {
            summary += "\n";
            summary += remark;
        }
        summary
    }

    fn prediction(&self) -> Ratio {
        let [low, high] = self.predicted_ci95;
        Ratio {
            value: self.predicted,
            low,
            high,
        }
    }
}

fn shown(ratio: &Ratio) -> String {
    format!("{:.3} ({:.3} to {:.3})", ratio.value, ratio.low, ratio.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::Side;

    fn info(name: &str, quick: bool) -> RowInfo {
        RowInfo {
            name: name.into(),
            threads: 1,
            quick,
        }
    }

    /// What a worker with one permutation lists.
    fn listed() -> Vec<RowInfo> {
        [
            ("permute-chain/p", false),
            ("permute-many/p", false),
            ("merkle-commit/p/2^9", false),
            ("merkle-commit/p/2^4", true),
            ("merkle-commit/p/2^5", true),
            ("phase/p/initial", false),
            ("phase/p/internal", false),
            ("phase/p/terminal", false),
        ]
        .map(|(name, quick)| info(name, quick))
        .into()
    }

    /// A few pairs of a row whose baseline takes so many milliseconds.
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
                    hashing_ns: None,
                });
            }
        }
        runs
    }

    /// A permutation whose phases take 2, 5 and 3 ms, 0.8 of that in the candidate; the rest as given.
    fn breakdown(whole: [f64; 2], batch: [f64; 2], commit: [f64; 2]) -> Breakdown {
        let rows = Rows::all(&listed()).unwrap();
        let mut runs = Vec::new();
        for (phase, time) in PHASES.into_iter().zip([2.0, 5.0, 3.0]) {
            runs.extend(samples(&format!("phase/p/{phase}"), time, 0.8 * time));
        }
        for (name, [baseline, candidate]) in [
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
            "phase/p/initial",
            "phase/p/internal",
            "phase/p/terminal",
            "permute-chain/p",
            "permute-many/p",
            "merkle-commit/p/2^4",
        ];
        assert_eq!((rows.len(), names), (1, expected.to_vec()));

        let mut lacking = listed();
        lacking.retain(|row| row.name != "phase/p/terminal");
        let error = Rows::all(&lacking).err().unwrap();
        assert!(error.to_string().contains("no row phase/p/terminal"));
    }

    #[test]
    fn what_agrees_needs_no_remark() {
        let breakdown = breakdown([10.1, 8.08], [9.0, 7.2], [20.0, 16.0]);
        assert!((breakdown.predicted - 0.8).abs() < 1e-3);
        assert_eq!(breakdown.remarks, Vec::<String>::new());
        insta::assert_snapshot!(format!(
            "{}\n{}",
            breakdown.table(false),
            breakdown.summary()
        ));
    }

    #[test]
    fn a_whole_that_is_not_its_phases_is_explained() {
        let breakdown = breakdown([10.0, 7.0], [9.0, 6.3], [20.0, 14.0]);
        assert_eq!(breakdown.remarks.len(), 1);
        insta::assert_snapshot!(breakdown.summary());
        let other = super::tests::breakdown([9.0, 8.0], [9.0, 8.0], [18.0, 16.0]);
        assert!(other.remarks[0].contains("so the baseline gains more"));
    }

    #[test]
    fn a_commitment_that_is_not_the_permutation_is_explained() {
        let batched = breakdown([10.0, 8.0], [9.0, 5.4], [20.0, 12.0]);
        let neither = breakdown([10.0, 8.0], [9.0, 5.4], [20.0, 19.0]);
        insta::assert_snapshot!(format!("{}\n{}", batched.summary(), neither.summary()));
    }
}
