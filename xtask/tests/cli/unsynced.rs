//! The states that a power failure can leave, by the recorded calls of a run.
//!
//! The model is that of "All File Systems Are Not Created Equal" (Pillai et al., OSDI 2014), with what POSIX promises and nothing
//! else. What a call changes is pending until a sync of the file, of the folder, or of all. Of what is pending at a failure, the
//! disk has any part: a name without the data of its file, a removal without the rename before it in another folder. What stays in
//! order is changes of one entry, and writes to one file. A rename is one step.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{RngExt, SeedableRng};

use crate::disk::Disk;
use crate::history::{Effect, History, Part};

/// How many subsets of the pending steps are taken at random at each moment.
const RANDOM: usize = 3;

/// How the steps on the disk were chosen among the pending ones.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Choice {
    Nothing,
    Everything,
    /// Every entry; of files, what was synced.
    Names,
    /// Every entry; of each write half, or zeros.
    Torn,
    /// One change of entries.
    Alone,
    /// The same, with the folders above.
    Reached,
    /// All but one, and but what needs it.
    Without,
    Random,
}

impl Choice {
    /// How many there are.
    pub const ALL: usize = 8;
}

/// A choice of steps.
type Kept = BTreeMap<usize, Part>;

/// A state after a failure.
pub struct Left {
    pub disk: Disk,
    pub choice: Choice,
    /// The moment, and what of the pending steps is there and is not.
    pub how: String,
}

/// Shows every distinct state after a failure at any moment of the run.
pub fn each(history: &History, mut show: impl FnMut(Left)) {
    let mut rng = StdRng::seed_from_u64(8);
    let mut seen = HashSet::new();
    let mut durable = history.before.clone();
    let mut pending = BTreeSet::new();
    for moment in 0..=history.steps.len() {
        let last = moment.checked_sub(1).map(|last| &history.steps[last]);
        let fresh = match last.map(|step| &step.effect) {
            // More is durable than when the others were looked at.
            Some(Effect::Sync(synced)) => {
                for step in synced {
                    durable.apply(&history.steps[*step].effect, Part::Whole);
                }
                pending = &pending - synced;
                pending.clone()
            }
            Some(_) => {
                pending.insert(moment - 1);
                BTreeSet::from([moment - 1])
            }
            None => BTreeSet::new(),
        };
        for (choice, kept) in choices(history, &pending, &fresh, &mut rng) {
            let mut state = durable.clone();
            for (step, part) in &kept {
                state.apply(&history.steps[*step].effect, *part);
            }
            let disk = state.disk();
            let mut hasher = DefaultHasher::new();
            disk.hash(&mut hasher);
            if seen.insert(hasher.finish()) {
                let how = how(history, moment, &pending, &kept, choice);
                show(Left { disk, choice, how });
            }
        }
    }
}

/// Choices among the `pending` steps, of which the `fresh` ones have not been looked at alone.
fn choices(
    history: &History,
    pending: &BTreeSet<usize>,
    fresh: &BTreeSet<usize>,
    rng: &mut StdRng,
) -> Vec<(Choice, Kept)> {
    let is_entry = |step: &usize| matches!(history.steps[*step].effect, Effect::Entries(_));
    // With what they need; steps that are durable are on the disk anyway.
    let complete = |steps: BTreeSet<usize>| -> BTreeSet<usize> {
        let steps = history.with(steps, |step| step.needs.clone());
        &steps & pending
    };
    let whole = |steps: BTreeSet<usize>| -> Kept {
        steps.into_iter().map(|step| (step, Part::Whole)).collect()
    };
    let names: BTreeSet<usize> = pending.iter().copied().filter(is_entry).collect();
    let mut choices = vec![
        (Choice::Nothing, Kept::new()),
        (Choice::Everything, whole(pending.clone())),
        (Choice::Names, whole(names.clone())),
    ];
    for part in [Part::Half, Part::Zeros] {
        let torn = pending.iter().map(|step| (*step, part)).collect();
        choices.push((Choice::Torn, torn));
    }
    for step in fresh.intersection(&names) {
        choices.push((Choice::Alone, whole(complete([*step].into()))));
        let above = history.with([*step].into(), |step| {
            [&step.needs[..], &step.above].concat()
        });
        choices.push((Choice::Reached, whole(&above & pending)));
    }
    if let Some(lost) = pending.iter().choose(rng) {
        let mut without = BTreeSet::from([*lost]);
        for step in pending {
            let mut needs = history.steps[*step].needs.iter();
            if needs.any(|need| without.contains(need)) {
                without.insert(*step);
            }
        }
        choices.push((Choice::Without, whole(pending - &without)));
    }
    for _ in 0..RANDOM {
        let chosen = pending.iter().copied().filter(|_| rng.random());
        let chosen = complete(chosen.collect()).into_iter();
        let parts = [Part::Whole, Part::Whole, Part::Half, Part::Zeros];
        let kept = chosen.map(|step| (step, *parts.choose(rng).unwrap()));
        choices.push((Choice::Random, kept.collect()));
    }
    choices
}

/// A failure in words.
fn how(
    history: &History,
    moment: usize,
    pending: &BTreeSet<usize>,
    kept: &Kept,
    choice: Choice,
) -> String {
    let calls = |steps: Vec<&usize>| match steps.len() {
        0 => "nothing".to_owned(),
        1..=6 => {
            let calls = steps.iter().map(|step| &*history.steps[**step].call);
            calls.collect::<Vec<_>>().join(", ")
        }
        many => format!("{many} steps"),
    };
    let before = history.steps.get(moment);
    let before = before.map_or("the end", |step| &step.call);
    let lost = pending.iter().filter(|step| !kept.contains_key(step));
    format!(
        "{choice:?} before {before}; kept: {}; lost: {}",
        calls(kept.keys().collect()),
        calls(lost.collect())
    )
}
