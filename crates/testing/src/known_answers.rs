//! Known answers of Poseidon1 and Poseidon2 over Goldilocks, BabyBear and KoalaBear.
//!
//! `reference/poseidon.py` computes them from the papers, round constants included; it shares nothing with Plonky3 but the
//! matrices that Plonky3 chose. Other implementations give the same answers, and zkhash gives those for its own matrices: the
//! programs in `reference`. `tests/known_answers.rs` ties all to the release as published, and each kernel's crate runs its kernel on
//! them: the stages `kernels/*` of `cargo p3 test`, on every instruction set. Patched crates are tied to them by the release, with whose
//! outputs the stages `outputs/*` compare theirs.

use p3_field::{PackedValue, PrimeCharacteristicRing, PrimeField64};
use p3_poseidon1::Poseidon1Constants;
use serde::Deserialize;

/// A permutation's parameters, and what it makes of some states.
#[derive(Clone, Debug)]
pub struct Instance<const WIDTH: usize> {
    /// Half of them before the partial rounds.
    pub full_rounds: usize,
    /// Rounds with one S-box.
    pub partial_rounds: usize,
    /// First row of Poseidon1's circulant matrix; of Poseidon2's internal matrix, the diagonal less one.
    pub matrix: [u64; WIDTH],
    /// Round by round: one for each S-box of Poseidon2, one for each element of Poseidon1.
    pub constants: Vec<Vec<u64>>,
    /// Representatives, of which some are not canonical.
    pub inputs: Vec<[u64; WIDTH]>,
    /// Canonical.
    pub outputs: Vec<[u64; WIDTH]>,
}

/// Poseidon1 over Goldilocks, of width 8, 12 and 16.
pub const GOLDILOCKS_POSEIDON1: &str = include_str!("../vectors/goldilocks-poseidon1.json");

/// Poseidon2 over Goldilocks, of width 8, 12 and 16.
pub const GOLDILOCKS_POSEIDON2: &str = include_str!("../vectors/goldilocks-poseidon2.json");

/// Poseidon2 over Goldilocks with the matrices of zkhash 0.2.0, of width 8, 12 and 16.
pub const GOLDILOCKS_ZKHASH: &str = include_str!("../vectors/goldilocks-zkhash.json");

/// Poseidon1 over BabyBear, of width 16 and 24.
pub const BABY_BEAR_POSEIDON1: &str = include_str!("../vectors/baby-bear-poseidon1.json");

/// Poseidon2 over BabyBear, of width 16 and 24.
pub const BABY_BEAR_POSEIDON2: &str = include_str!("../vectors/baby-bear-poseidon2.json");

/// Poseidon2 over BabyBear with the matrices of zkhash 0.2.0, of width 16 and 24.
pub const BABY_BEAR_ZKHASH: &str = include_str!("../vectors/baby-bear-zkhash.json");

/// Poseidon1 over KoalaBear, of width 16 and 24.
pub const KOALA_BEAR_POSEIDON1: &str = include_str!("../vectors/koala-bear-poseidon1.json");

/// Poseidon2 over KoalaBear, of width 16 and 24.
pub const KOALA_BEAR_POSEIDON2: &str = include_str!("../vectors/koala-bear-poseidon2.json");

/// An instance as the files have it.
#[derive(Deserialize)]
struct Untyped {
    full_rounds: usize,
    partial_rounds: usize,
    width: usize,
    matrix: Vec<Hex>,
    constants: Vec<Vec<Hex>>,
    inputs: Vec<Vec<Hex>>,
    outputs: Vec<Vec<Hex>>,
}

/// `"0x"` and digits: many readers of JSON round numbers of 64 bits.
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
    /// Returns the instance of this width in one of the files.
    ///
    /// # Panics
    ///
    /// Where the file has no such width.
    #[must_use]
    pub fn of(file: &str) -> Self {
        let instances: Vec<Untyped> = serde_json::from_str(file).expect("the file is well formed");
        let untyped = (instances.into_iter())
            .find(|instance| instance.width == WIDTH)
            .expect("the file has this width");
        let words = |row: &Vec<Hex>| row.iter().map(|x| x.0).collect::<Vec<_>>();
        let state = |row: &Vec<Hex>| words(row).try_into().expect("a row has WIDTH elements");
        assert_eq!(untyped.inputs.len(), untyped.outputs.len());
        Self {
            full_rounds: untyped.full_rounds,
            partial_rounds: untyped.partial_rounds,
            matrix: state(&untyped.matrix),
            constants: untyped.constants.iter().map(words).collect(),
            inputs: untyped.inputs.iter().map(state).collect(),
            outputs: untyped.outputs.iter().map(state).collect(),
        }
    }

    /// Returns the constants of Poseidon1 in Plonky3's type.
    #[must_use]
    pub fn poseidon1_constants<F: PrimeField64>(&self) -> Poseidon1Constants<F, WIDTH> {
        let round = |row: &Vec<u64>| std::array::from_fn(|i| F::from_u64(row[i]));
        Poseidon1Constants {
            rounds_f: self.full_rounds,
            rounds_p: self.partial_rounds,
            mds_circ_col: std::array::from_fn(|i| self.matrix[(WIDTH - i) % WIDTH] as i64),
            round_constants: self.constants.iter().map(round).collect(),
        }
    }

    /// Returns the constants of Poseidon2 as elements: of the initial rounds, of the internal ones, and of the terminal ones.
    ///
    /// # Panics
    ///
    /// Where the instance is none of Poseidon2.
    #[must_use]
    pub fn poseidon2_constants<F: PrimeField64>(
        &self,
    ) -> (Vec<[F; WIDTH]>, Vec<F>, Vec<[F; WIDTH]>) {
        let (initial, rest) = self.constants.split_at(self.full_rounds / 2);
        let (internal, terminal) = rest.split_at(self.partial_rounds);
        let external = |rounds: &[Vec<u64>]| {
            let round = |round: &Vec<u64>| std::array::from_fn(|i| F::from_u64(round[i]));
            rounds.iter().map(round).collect()
        };
        let internal = internal.iter().map(|round| {
            let [constant] = round[..] else {
                panic!("an internal round has one constant");
            };
            F::from_u64(constant)
        });
        (external(initial), internal.collect(), external(terminal))
    }

    /// Lets `permute` permute as many states as there are answers, each answer once in each lane, a different one in each
    /// lane of a state.
    ///
    /// # Panics
    ///
    /// Where a lane of a result is not the answer.
    pub fn check<A: PackedValue<Value: PrimeField64>>(
        &self,
        permute: impl FnOnce(&mut [[A; WIDTH]]),
    ) {
        let count = self.inputs.len();
        let answer = |state: usize, lane: usize| (state + lane) % count;
        let mut states: Vec<[A; WIDTH]> = (0..count)
            .map(|state| {
                std::array::from_fn(|i| {
                    A::from_fn(|lane| A::Value::from_u64(self.inputs[answer(state, lane)][i]))
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
