//! Known answers of Poseidon1 and Poseidon2 over Goldilocks.
//!
//! `reference/poseidon.py` computes them from the papers, round constants included; it shares nothing with Plonky3 but the
//! matrices that Plonky3 chose. `tests/known_answers.rs` ties them to the release as published, and each kernel's crate runs
//! its kernel on them: the stages `kernels/*` of `cargo p3 test`, on every instruction set. Patched crates are tied to them
//! by the release, with whose outputs the stages `outputs/*` compare theirs.

use p3_field::{PackedValue, PrimeField64};
use p3_goldilocks::Goldilocks;
use p3_poseidon1::Poseidon1Constants;
use serde::Deserialize;

/// A permutation's parameters, and what it makes of some states.
#[derive(Clone, Debug)]
pub struct Instance<const WIDTH: usize> {
    /// First row of Poseidon1's circulant matrix; of Poseidon2's internal matrix, the diagonal less one.
    pub matrix: [u64; WIDTH],
    /// Round by round: one for each S-box of Poseidon2, one for each element of Poseidon1.
    pub constants: Vec<Vec<u64>>,
    /// Representatives, of which some are not canonical.
    pub inputs: Vec<[u64; WIDTH]>,
    /// Canonical.
    pub outputs: Vec<[u64; WIDTH]>,
}

/// Poseidon1 of width 8, 12 or 16.
#[must_use]
pub fn poseidon1<const WIDTH: usize>() -> Instance<WIDTH> {
    Instance::parse(include_str!("../vectors/poseidon1.json"))
}

/// Poseidon2 of width 8, 12 or 16.
#[must_use]
pub fn poseidon2<const WIDTH: usize>() -> Instance<WIDTH> {
    Instance::parse(include_str!("../vectors/poseidon2.json"))
}

/// An instance as the files have it.
#[derive(Deserialize)]
struct Untyped {
    width: usize,
    matrix: Vec<Hex>,
    constants: Vec<Vec<Hex>>,
    inputs: Vec<Vec<Hex>>,
    outputs: Vec<Vec<Hex>>,
}

/// `"0x"` and 16 digits: many readers of JSON round numbers of 64 bits.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "&str")]
struct Hex(u64);

impl TryFrom<&str> for Hex {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("0x");
        let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        value
            .map(Self)
            .ok_or_else(|| format!("{text:?} is no word"))
    }
}

impl<const WIDTH: usize> Instance<WIDTH> {
    fn parse(file: &str) -> Self {
        let instances: Vec<Untyped> = serde_json::from_str(file).expect("the file is well formed");
        let untyped = (instances.into_iter())
            .find(|instance| instance.width == WIDTH)
            .expect("the file has this width");
        let words = |row: &Vec<Hex>| row.iter().map(|x| x.0).collect::<Vec<_>>();
        let state = |row: &Vec<Hex>| words(row).try_into().expect("a row has WIDTH elements");
        assert_eq!(untyped.inputs.len(), untyped.outputs.len());
        Self {
            matrix: state(&untyped.matrix),
            constants: untyped.constants.iter().map(words).collect(),
            inputs: untyped.inputs.iter().map(state).collect(),
            outputs: untyped.outputs.iter().map(state).collect(),
        }
    }

    /// Plonky3's constants of Poseidon1, which has default ones for widths 8 and 12.
    #[must_use]
    pub fn poseidon1_constants(&self) -> Poseidon1Constants<Goldilocks, WIDTH> {
        let round = |row: &Vec<u64>| std::array::from_fn(|i| Goldilocks::new(row[i]));
        Poseidon1Constants {
            rounds_f: 8,
            rounds_p: 22,
            mds_circ_col: std::array::from_fn(|i| self.matrix[(WIDTH - i) % WIDTH] as i64),
            round_constants: self.constants.iter().map(round).collect(),
        }
    }

    /// Lets `permute` permute as many states as there are answers, each answer once in each lane, a different one in each
    /// lane of a state.
    ///
    /// # Panics
    ///
    /// Where a lane of a result is not the answer.
    pub fn check<A: PackedValue<Value = Goldilocks>>(
        &self,
        permute: impl FnOnce(&mut [[A; WIDTH]]),
    ) {
        let count = self.inputs.len();
        let answer = |state: usize, lane: usize| (state + lane) % count;
        let mut states: Vec<[A; WIDTH]> = (0..count)
            .map(|state| {
                std::array::from_fn(|i| {
                    A::from_fn(|lane| Goldilocks::new(self.inputs[answer(state, lane)][i]))
                })
            })
            .collect();
        permute(&mut states);
        for (number, state) in states.iter().enumerate() {
            for lane in 0..A::WIDTH {
                let known = answer(number, lane);
                assert_eq!(
                    state.map(|x| x.as_slice()[lane].as_canonical_u64()),
                    self.outputs[known],
                    "answer {known}, in lane {lane} of state {number}: {:x?}",
                    self.inputs[known],
                );
            }
        }
    }
}
