//! Finds the instructions of the workers' units, and asks the models about them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use tempfile::TempDir;

use crate::inspect::code::Architecture;
use crate::inspect::emulator::Emulator;
use crate::inspect::model::{Estimate, Models};
use crate::inspect::stepping;
use paired::error::Failure;
use paired::files::claimed::{self, Claimed};
use paired::run::pairs::check_listed;
use paired::run::protocol::{Reply, Request, UnitInfo};
use paired::run::worker::unexpected;
use paired::terminal::spinner;

/// The processor or emulator that executes the workers, and lists each instruction.
pub enum Machine {
    Emulated(Emulator),
    /// This CPU, step by step.
    Stepped,
}

/// A unit, counted in each executable.
pub struct Traced {
    pub unit: UnitInfo,
    pub counts: Vec<Count>,
}

/// One repetition of a unit.
#[derive(Debug, Serialize)]
pub struct Count {
    pub instructions: usize,
    /// By core.
    pub model_cycles: BTreeMap<String, u64>,
    /// By core, if no instruction waited for another's result.
    pub model_bounds: BTreeMap<String, f64>,
}

pub struct Tracer {
    machine: Machine,
    models: Option<Models>,
    cores: Vec<String>,
    scratch: Claimed<TempDir>,
}

/// One of the executables, with the text of its instructions where there are models to read it.
struct Side<'a> {
    name: &'static str,
    executable: &'a Path,
    texts: Option<HashMap<u64, String>>,
}

impl Machine {
    pub fn version(&self) -> &str {
        match self {
            Self::Emulated(emulator) => &emulator.version,
            Self::Stepped => "ptrace",
        }
    }

    pub fn cpu(&self) -> &str {
        match self {
            Self::Emulated(emulator) => &emulator.cpu,
            Self::Stepped => "this CPU, one at a time",
        }
    }

    pub const fn architecture(&self) -> Architecture {
        match self {
            Self::Emulated(_) => Architecture::Aarch64,
            Self::Stepped => Architecture::X86_64,
        }
    }

    fn trace(&self, worker: &Path, request: &Request) -> Result<(Reply, Vec<u64>)> {
        match self {
            Self::Emulated(emulator) => emulator.trace(worker, request),
            Self::Stepped => stepping::trace(worker, request),
        }
    }
}

impl Tracer {
    /// With the models of `cores`, if there are any.
    pub fn new(machine: Machine, models: Option<Models>, cores: Vec<String>) -> Result<Self> {
        Ok(Self {
            machine,
            models,
            cores,
            scratch: claimed::folder()?,
        })
    }

    /// Returns every unit that the `executables`, which have names, have in common and that is `wanted`.
    pub fn all(
        &self,
        executables: &[(&'static str, &Path)],
        wanted: impl Fn(&UnitInfo) -> bool,
    ) -> Result<Vec<Traced>> {
        let sides = executables.iter();
        let sides = sides.map(|(name, executable)| self.side(name, executable));
        let sides = sides.collect::<Result<Vec<_>>>()?;
        let bar = spinner("");
        let mut units = Vec::new();
        for unit in self.listed(&sides[0])? {
            if !wanted(&unit) {
                continue;
            }
            let mut digest = None;
            let counts = sides.iter().map(|side| {
                bar.set_message(format!("{}, {}", unit.name, side.name));
                self.count(&unit.name, side, &mut digest)
            });
            let counts = counts.collect::<Result<_>>()?;
            units.push(Traced { unit, counts });
        }
        bar.finish_and_clear();
        Ok(units)
    }

    fn side<'a>(&self, name: &'static str, executable: &'a Path) -> Result<Side<'a>> {
        let architecture = self.machine.architecture();
        let disassemble = |models: &Models| models.disassemble(architecture, executable);
        Ok(Side {
            name,
            executable,
            texts: self.models.as_ref().map(disassemble).transpose()?,
        })
    }

    fn listed(&self, side: &Side<'_>) -> Result<Vec<UnitInfo>> {
        match self.machine.trace(side.executable, &Request::Units)?.0 {
            Reply::Units(units) => {
                let names = units.iter().map(|unit| &*unit.name);
                check_listed("units", names).map_err(|what| side.failure(&what))?;
                Ok(units)
            }
            other => Err(side.confused("units", &other)),
        }
    }

    /// One unit on one side. All runs of a unit have to return the same `digest`.
    fn count(&self, unit: &str, side: &Side<'_>, digest: &mut Option<String>) -> Result<Count> {
        let mut run = |times| {
            let request = Request::Repeat {
                unit: unit.to_owned(),
                times,
            };
            let (reply, executed) = self.machine.trace(side.executable, &request)?;
            let Reply::Repeated { digest: returned } = reply else {
                return Err(side.confused("repeat", &reply));
            };
            let expected = digest.get_or_insert_with(|| returned.clone());
            if *expected != returned {
                return Err(Failure::check(format!(
                    "{unit}: the {}'s outputs differ from the baseline's (digest {returned} for {expected})",
                    side.name
                ))
                .hint("nothing is counted where outputs differ")
                .into());
            }
            Ok(executed)
        };
        let (fewer, more) = (run(FEWER)?, run(FEWER + 1)?);
        let sequence = repetition(&fewer, &more).ok_or_else(|| {
            Failure::check(format!(
                "{unit}: the {}'s runs of {} and {} repetitions differ by more than one repetition ({} and {} \
                 instructions)",
                side.name,
                FEWER,
                FEWER + 1,
                fewer.len(),
                more.len()
            ))
            .hint("a unit has to execute the same instructions whenever it is repeated")
        })?;
        let mut count = Count {
            instructions: sequence.len(),
            model_cycles: BTreeMap::new(),
            model_bounds: BTreeMap::new(),
        };
        if let (Some(models), Some(texts)) = (&self.models, &side.texts) {
            self.model(unit, side, sequence, (models, texts), &mut count)?;
        }
        Ok(count)
    }

    fn model(
        &self,
        unit: &str,
        side: &Side<'_>,
        sequence: &[u64],
        (models, texts): (&Models, &HashMap<u64, String>),
        count: &mut Count,
    ) -> Result<()> {
        let path = self.scratch.path().join("unit.s");
        // Copies of memory, mostly; libraries are not disassembled.
        let own = sequence.iter().copied();
        let own: Vec<u64> = own
            .filter(|address| *address < stepping::LIBRARIES)
            .collect();
        models.write(&path, [&own[..]], texts)?;
        let architecture = self.machine.architecture();
        let estimates = models.estimates(architecture, &self.cores, &path, 1);
        for (core, estimates) in estimates {
            let estimates = estimates?;
            let Estimate {
                cycles,
                bound,
                instructions,
                ..
            } = estimates
                .sequences
                .get(&0)
                .with_context(|| format!("llvm-mca knows none of {unit} on {core}"))?;
            let left_out = sequence.len() - instructions;
            if left_out > sequence.len() / 1000 {
                let side = side.name;
                eprintln!(
                    "note: {unit}, {side}: {core}'s model knows nothing of {left_out} instructions"
                );
            }
            count.model_cycles.insert(core.to_owned(), *cycles);
            count.model_bounds.insert(core.to_owned(), *bound);
        }
        Ok(())
    }
}

impl Side<'_> {
    fn confused(&self, asked: &str, reply: &Reply) -> anyhow::Error {
        self.failure(&unexpected(asked, reply))
    }

    fn failure(&self, what: &str) -> anyhow::Error {
        Failure::check(format!("{} worker: {what}", self.name)).into()
    }
}

/// How often the unit is repeated in the shorter of two runs. The first repetition may set something up.
const FEWER: usize = 2;

/// Returns the addresses that one repetition executed, from a run and from one that repeated once more; `None` unless the longer
/// run is the shorter one plus exactly one repetition, which executes what the one before it did.
///
/// The two runs part where the shorter one leaves the loop and the longer one goes round once more.
fn repetition<'a>(fewer: &[u64], more: &'a [u64]) -> Option<&'a [u64]> {
    let length = more.len().checked_sub(fewer.len())?;
    let common = fewer
        .iter()
        .zip(more)
        .take_while(|(fewer, more)| fewer == more)
        .count();
    let (before, rest) = more.split_at(common);
    let (unit, after) = rest.split_at_checked(length)?;
    let repeats = !unit.is_empty() && before.ends_with(unit) && after == &fewer[common..];
    repeats.then_some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a run: a beginning, repetitions that each jump back to their first instruction, and an end.
    fn run(repetitions: &[&[u64]]) -> Vec<u64> {
        [&[1, 2, 3], &repetitions.concat()[..], &[8, 9]].concat()
    }

    #[test]
    fn a_repetition_is_found() {
        let body: &[u64] = &[4, 5, 5, 6, 7];
        assert_eq!(repetition(&run(&[body; 2]), &run(&[body; 3])), Some(body));
    }

    #[test]
    fn runs_that_are_no_repetition_are_refused() {
        let (body, longer, other): (&[u64], &[u64], &[u64]) =
            (&[4, 5, 6, 7], &[4, 5, 5, 6, 7], &[4, 5, 0, 7]);
        // Every repetition longer than the last; one that takes another way of equal length; none more; one less.
        let third = [longer, &[5][..]].concat();
        assert_eq!(
            repetition(&run(&[body, longer]), &run(&[body, longer, &third])),
            None
        );
        assert_eq!(
            repetition(&run(&[body, body]), &run(&[body, body, other])),
            None
        );
        assert_eq!(
            repetition(&run(&[body, other]), &run(&[body, other, body])),
            None
        );
        assert_eq!(repetition(&run(&[body; 2]), &run(&[body; 2])), None);
        assert_eq!(repetition(&run(&[body; 3]), &run(&[body; 2])), None);
        // Equal repetitions, but an end that differs.
        let mut ending = run(&[body; 3]);
        ending.push(10);
        assert_eq!(repetition(&run(&[body; 2]), &ending), None);
    }

    proptest! {
        #[test]
        fn any_repetition_is_found_at_its_length(body in prop::collection::vec(4u64..8, 1..40)) {
            let body = &body[..];
            let (fewer, more) = (run(&[body; 2]), run(&[body; 3]));
            let found = repetition(&fewer, &more).map(<[u64]>::len);
            prop_assert_eq!(found, Some(body.len()));
        }
    }
}
