//! The part of a proof's saving that follows from faster hashing, by its share of the proof, beside the saving measured.

use std::slice;

use paired::run::protocol::Kind;
use paired::run::threads;
use paired::show::machine::known_as;
use paired::show::section::{self, Line, Record, TableLine, lines};
use paired::stats::row::Hashing;

/// Workloads that prove or commit to more than one matrix, by their kind and a part of their name, and the commitment whose tree is
/// most like theirs: over the same field, by the same hash, with rows of about as many elements. The first that fits counts. A proof
/// whose name has no field is over Goldilocks. No commitment is like those of Blake3, or of Poseidon2 over BabyBear.
const PROOFS: [(Kind, &str, Option<&str>); 8] = [
    (Kind::StarkProve, "blake3", None),
    (
        Kind::StarkProve,
        "koala-bear-keccak",
        Some("merkle-commit/koala-bear-keccak/2^14x1024"),
    ),
    (
        Kind::StarkProve,
        "baby-bear-keccak",
        Some("merkle-commit/baby-bear-keccak/2^14x1024"),
    ),
    (
        Kind::StarkProve,
        "koala-bear",
        Some("merkle-commit/koala-bear-poseidon2-w16/2^16x64"),
    ),
    (Kind::StarkProve, "baby-bear", None),
    (
        Kind::StarkProve,
        "",
        Some("merkle-commit/poseidon2-w8/2^14x1024"),
    ),
    (
        Kind::FriCommit,
        "poseidon2-w8/",
        Some("merkle-commit/poseidon2-w8/2^18x8"),
    ),
    (
        Kind::WhirProve,
        "",
        Some("merkle-commit/koala-bear-poseidon2-w16/2^16x64"),
    ),
];

/// Returns the commitment whose tree is most like those of a workload, if one is.
fn commitment_like(workload: &str) -> Option<&'static str> {
    let kind = Kind::of(workload);
    let (_, what) = workload.split_once('/')?;
    let is_like = |(of, part, _): &&(Kind, &str, _)| kind == *of && what.contains(part);
    PROOFS.iter().find(is_like)?.2
}

/// An interval of a saving that has zero and is wider than this is too wide to agree with a saving.
const WIDEST: f64 = 0.05;

/// A proof and a commitment of one record.
struct Attribution<'a> {
    proof: Line<'a>,
    commit: Line<'a>,
    hashing: Hashing,
}

/// Returns each proof with the commitment like it, in the order of the rows; none where hashing was not measured.
fn attributions(record: &Record) -> Vec<Attribution<'_>> {
    let lines = lines(slice::from_ref(record));
    let pairs = lines.iter().filter_map(|proof| {
        let row = proof.row;
        // The commitments are on one thread.
        let (_, 1) = threads::split(&row.workload) else {
            return None;
        };
        let like = commitment_like(&row.workload)?;
        let is_like = |line: &&Line<'_>| (&*line.row.workload, &line.row.isa) == (like, &row.isa);
        Some(Attribution {
            proof: *proof,
            commit: *lines.iter().find(is_like)?,
            hashing: row.hashing?,
        })
    });
    pairs.collect()
}

impl Attribution<'_> {
    /// Returns the share of the proof's time that is saved if its hashing gains what the commitment did and nothing else changes.
    fn follows(&self) -> f64 {
        self.saved(self.commit.row.ratio)
    }

    fn saved(&self, ratio: f64) -> f64 {
        self.hashing.share * (1.0 - ratio)
    }

    fn measured(&self) -> f64 {
        1.0 - self.proof.row.ratio
    }

    /// By how much more was saved than follows; nothing where the intervals of the two meet.
    fn surplus(&self) -> Option<f64> {
        let [low, high] = self.proof.row.ci95;
        let [commit_low, commit_high] = self.commit.row.ci95;
        let meet = 1.0 - high <= self.saved(commit_low) && self.saved(commit_high) <= 1.0 - low;
        (!meet).then(|| self.measured() - self.follows())
    }

    /// Tells whether the saving measured is wider than [`WIDEST`] and may be none: it would agree with almost anything.
    fn is_wide(&self) -> bool {
        let [low, high] = self.proof.row.ci95;
        high >= 1.0 && high - low > WIDEST
    }

    fn verdict(&self) -> String {
        match self.surplus() {
            None if self.is_wide() => "too wide".into(),
            None => "agrees".into(),
            Some(surplus) => {
                let than = if surplus > 0.0 { "more" } else { "less" };
                format!("{:.1} points {than} than follows", 100.0 * surplus.abs())
            }
        }
    }

    /// Returns the cells of a line: what hashing is of the proof, what it gained there and alone, what follows, what was
    /// measured.
    fn cells(&self) -> [String; 6] {
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        let [low, high] = self.proof.row.ci95;
        let [of_proof, of_commit] = [self.proof, self.commit].map(|line| line.marks());
        [
            percent(self.hashing.share),
            format!("{:.3}{of_proof}", self.hashing.ratio),
            format!("{:.3}{of_commit}", self.commit.row.ratio),
            percent(self.follows()),
            format!(
                "{}{of_proof} ({} to {})",
                percent(self.measured()),
                percent(1.0 - high),
                percent(1.0 - low)
            ),
            self.verdict(),
        ]
    }
}

/// The heads of [`Attribution::cells`].
const HEADS: [&str; 6] = [
    "hashing",
    "hashing with / without",
    "alone",
    "saving that follows",
    "saving measured",
    "",
];

/// The table's explanation for its reader.
const CAPTION: &str = "Hashing is the time inside the spans in which Merkle trees are built, of the proof without the patches. \
     The saving that follows is that share of what the commitment alone gains.";

/// Returns the table of the savings, where there are any.
pub fn table(records: &[Record]) -> Option<section::Table> {
    let lines = records.iter().flat_map(attributions);
    let lines = lines.map(|saving| {
        let Line { record, row, .. } = saving.proof;
        let (commit, cpu) = (&saving.commit.row.workload, known_as(&record.machine.cpu));
        TableLine {
            code: row.workload.clone(),
            beside: row.isa.clone(),
            below: format!("{commit}, {cpu}"),
            cells: saving.cells().into(),
        }
    });
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then_some(section::Table {
        title: "What a prover saves",
        caption: CAPTION,
        names: ["proof", "commitment, CPU"],
        heads: &HEADS,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::record::tests::report;
    use paired::testing::runs;

    /// Returns a record of a proof, 80 % of which is hashing, and of a commitment.
    fn record(proof: f64, hashing: f64, commit: f64) -> Record {
        let mut runs = [runs(proof), runs(commit)].concat();
        let (proofs, commits) = runs.split_at_mut(40);
        for run in proofs {
            run.workload = "stark-prove/x".into();
            let ratio = if run.side == paired::run::sample::Side::Candidate {
                hashing / proof
            } else {
                1.0
            };
            run.hashing_ns = Some((run.wall_ns as f64 * 0.8 * ratio) as u64);
        }
        for run in commits {
            run.workload = "merkle-commit/poseidon2-w8/2^14x1024".into();
        }
        let section = report("Narrow", &runs).records(&runs, &BTreeMap::new());
        section.into_iter().next().unwrap()
    }

    #[test]
    fn what_follows_is_hashings_share_of_its_gain() {
        let record = record(0.6, 0.5, 0.5);
        let savings = attributions(&record);
        let [saving] = &savings[..] else {
            panic!("one proof, one commitment")
        };
        let cells = saving.cells();
        assert_eq!(
            cells.each_ref().map(String::as_str),
            [
                "80.0 %",
                "0.500",
                "0.500",
                "40.0 %",
                "40.0 % (40.0 % to 40.0 %)",
                "agrees"
            ]
        );
    }

    #[test]
    fn a_disagreement_is_said() {
        for (proof, verdict) in [
            (0.7, "10.0 points less than follows"),
            (0.55, "5.0 points more than follows"),
        ] {
            let record = record(proof, 0.5, 0.5);
            assert_eq!(attributions(&record)[0].cells()[5], verdict);
        }
        let mut other = record(0.7, 0.5, 0.5);
        other.machine.cpu = "Wide".into();
        other.outdated = true;
        other.loaded.insert(other.rows[0].workload.clone(), 1.3);
        let table = table(&[record(0.7, 0.5, 0.5), other]).unwrap();
        let [narrow, wide] = &table.lines[..] else {
            panic!("a line for each CPU")
        };
        assert!(narrow.below.ends_with(", Narrow") && wide.below.ends_with(", Wide"));
        assert!(narrow.cells[4].starts_with("30.0 % ("));
        assert!(wide.cells[4].starts_with("30.0 %\u{2020}\u{2021} ("));
    }

    #[test]
    fn an_interval_that_agrees_with_anything_is_too_wide() {
        let mut record = record(0.6, 0.5, 0.5);
        for (ci95, verdict) in [
            ([0.35, 1.46], "too wide"),
            ([0.35, 0.99], "agrees"),
            ([0.96, 1.0], "36.0 points less than follows"),
        ] {
            record.rows[0].ci95 = ci95;
            record.rows[0].ratio = 0.96;
            assert_eq!(attributions(&record)[0].cells()[5], verdict);
        }
        record.rows[1].ratio = 0.99;
        record.rows[1].ci95 = [0.98, 1.0];
        record.rows[0].ci95 = [0.97, 1.01];
        assert_eq!(attributions(&record)[0].cells()[5], "agrees");
    }

    #[test]
    fn a_commitment_is_of_the_proofs_field_and_hash() {
        const GOLDILOCKS: Option<&str> = Some("merkle-commit/poseidon2-w8/2^14x1024");
        const KOALA_BEAR: Option<&str> = Some("merkle-commit/koala-bear-poseidon2-w16/2^16x64");
        for (proof, commitment) in [
            ("stark-prove/keccak-air", GOLDILOCKS),
            ("stark-prove/keccak-air/2^10", GOLDILOCKS),
            ("stark-prove/poseidon2-air", GOLDILOCKS),
            ("stark-prove/bits/2^14x2", GOLDILOCKS),
            ("stark-prove/keccak-air-koala-bear", KOALA_BEAR),
            ("stark-prove/poseidon2-air-koala-bear", KOALA_BEAR),
            ("stark-prove/bits-koala-bear/2^14x8", KOALA_BEAR),
            ("whir-prove/quintic", KOALA_BEAR),
            (
                "stark-prove/poseidon2-air-koala-bear-keccak",
                Some("merkle-commit/koala-bear-keccak/2^14x1024"),
            ),
            (
                "stark-prove/poseidon2-air-baby-bear-keccak",
                Some("merkle-commit/baby-bear-keccak/2^14x1024"),
            ),
            ("stark-prove/keccak-air-baby-bear", None),
            ("stark-prove/poseidon2-air-baby-bear", None),
            ("stark-prove/keccak-air-blake3", None),
            ("merkle-commit/poseidon2-w8/2^14x1024", None),
        ] {
            assert_eq!(commitment_like(proof), commitment, "{proof}");
        }
    }

    #[test]
    fn nothing_follows_for_other_trees() {
        for proof in [
            "stark-prove/keccak-air-blake3",
            "stark-prove/keccak-air-baby-bear",
        ] {
            let mut record = record(0.6, 0.5, 0.5);
            record.rows[0].workload = proof.into();
            assert!(attributions(&record).is_empty(), "{proof}");
        }
    }

    #[test]
    fn a_record_without_spans_has_no_savings() {
        let mut record = record(0.6, 0.5, 0.5);
        record.rows[0].hashing = None;
        assert!(attributions(&record).is_empty());
        assert!(table(&[record]).is_none());
    }
}
