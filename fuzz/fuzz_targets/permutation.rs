//! The kernels' permutations against those of the papers, on plain integers.
//!
//! Where `PERMUTATION_JUDGE` names the program in Go that is `crates/testing/reference/papers`, its permutation of the first state is
//! compared, too: an implementation by someone else, in a process of its own.
//!
//! An input is a head of eight bytes, then words in little-endian order, which are repeated where more are asked for: the
//! states' elements, then the round constants. Words are taken as they are, canonical or not. The number of rounds is the
//! input's too: after few of them, a word still decides what a reduction sees, which no word does after thirty.
//!
//! The kernels do not branch on data, so coverage tells libFuzzer nothing of values. The mutator below does: it puts words
//! where they count, those next to a carry and those whose S-box is.

#![no_main]

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use p3_field::{PackedValue, PrimeCharacteristicRing, PrimeField64};
use p3_goldilocks::{
    Goldilocks, MATRIX_DIAG_8_GOLDILOCKS, MATRIX_DIAG_12_GOLDILOCKS, MATRIX_DIAG_16_GOLDILOCKS,
};
use p3_patches_testing::goldilocks::{EDGES, P, Poseidon2};
use p3_poseidon2::ExternalLayerConstants;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The permutation that runs, and how much of it.
struct Head {
    kernel: u8,
    width: u8,
    states: usize,
    /// Full rounds before the inner ones, and after them.
    outer: usize,
    inner: usize,
    /// States that are interleaved.
    group: usize,
}

/// Bytes of a head, of which the last two are not used: words are where libFuzzer finds numbers of eight bytes.
const HEAD: usize = 8;

/// Internal rounds: more than two of the longest segments, which are of eight rounds, but not of 64.
const MAX_INNER: usize = 24;

impl Head {
    fn parse(bytes: &[u8; HEAD]) -> Self {
        let upto = |byte: u8, most: usize| usize::from(byte) % (most + 1);
        Self {
            kernel: bytes[0],
            width: bytes[1] % 3,
            // Every remainder of what is interleaved, after a full batch.
            states: 1 + upto(bytes[2], 6),
            outer: upto(bytes[3], 4),
            inner: upto(bytes[4], MAX_INNER),
            group: 1 + upto(bytes[5], 3),
        }
    }
}

/// The words of an input, over and over.
struct Words<'a> {
    words: &'a [[u8; 8]],
    next: usize,
}

impl Words<'_> {
    fn word(&mut self) -> u64 {
        let word = self.words[self.next % self.words.len()];
        self.next += 1;
        u64::from_le_bytes(word)
    }

    fn row<const WIDTH: usize>(&mut self) -> [u64; WIDTH] {
        std::array::from_fn(|_| self.word())
    }

    fn rows<const WIDTH: usize>(&mut self, count: usize) -> Vec<[u64; WIDTH]> {
        (0..count).map(|_| self.row()).collect()
    }
}

fn elements<const WIDTH: usize>(rows: &[[u64; WIDTH]]) -> Vec<[Goldilocks; WIDTH]> {
    (rows.iter()).map(|row| row.map(Goldilocks::new)).collect()
}

fn rows<const WIDTH: usize>(rows: &[[u64; WIDTH]]) -> Vec<Vec<u64>> {
    rows.iter().map(|row| row.to_vec()).collect()
}

/// Plain states in lanes. The last state fills up with itself.
fn pack<A: PackedValue<Value = Goldilocks>, const WIDTH: usize>(
    states: &[[u64; WIDTH]],
) -> Vec<[A; WIDTH]> {
    let pack = |states: &[[u64; WIDTH]]| {
        let lane = |lane: usize| states[lane.min(states.len() - 1)];
        std::array::from_fn(|i| A::from_fn(|l| Goldilocks::new(lane(l)[i])))
    };
    states.chunks(A::WIDTH).map(pack).collect()
}

/// Lets `permute` permute the states, and compares.
fn check<A: PackedValue<Value = Goldilocks>, const WIDTH: usize>(
    states: &[[u64; WIDTH]],
    expected: impl Fn([u64; WIDTH]) -> [u64; WIDTH],
    permute: impl FnOnce(&mut [[A; WIDTH]]),
) {
    let mut packed = pack::<A, WIDTH>(states);
    permute(&mut packed);
    for (i, &state) in states.iter().enumerate() {
        let found = packed[i / A::WIDTH].map(|x| x.as_slice()[i % A::WIDTH].as_canonical_u64());
        assert_eq!(found, expected(state), "state {i}: {state:x?}");
    }
}

/// The pipes to the program in Go.
struct Judge {
    _process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

static JUDGE: LazyLock<Option<Mutex<Judge>>> = LazyLock::new(|| {
    env::var_os("PERMUTATION_JUDGE").map(|program| Mutex::new(Judge::start(program)))
});

impl Judge {
    fn start(program: OsString) -> Self {
        let mut process = Command::new(program)
            .arg("-serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("PERMUTATION_JUDGE does not start");
        Self {
            questions: process.stdin.take().expect("piped"),
            answers: BufReader::new(process.stdout.take().expect("piped")),
            _process: process,
        }
    }

    fn answer(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").expect("PERMUTATION_JUDGE reads");
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .expect("PERMUTATION_JUDGE answers");
        answer
    }

    /// Compares the permutation of a state. The constants are those of the rounds in order, of which so many are full ones at either end.
    fn compare<const WIDTH: usize>(
        &mut self,
        permutation: &str,
        matrix: [u64; WIDTH],
        outer: usize,
        constants: &[Vec<u64>],
        state: [u64; WIDTH],
        expected: [u64; WIDTH],
    ) {
        let row = |row: &[u64]| {
            let words = row.iter().map(|word| format!("\"{word:#x}\""));
            format!("[{}]", words.collect::<Vec<_>>().join(","))
        };
        let rows: Vec<_> = constants.iter().map(|round| row(round)).collect();
        let question = format!(
            r#"{{"permutation":"{permutation}","order":"{P:#x}","degree":7,"full_rounds":{},"partial_rounds":{},"width":{WIDTH},"matrix":{},"constants":[{}],"inputs":[{}]}}"#,
            2 * outer,
            constants.len() - 2 * outer,
            row(&matrix),
            rows.join(","),
            row(&state),
        );
        let answer = self.answer(&question);
        let answer: Vec<_> = answer.split_whitespace().map(str::parse).collect();
        assert_eq!(answer, expected.map(Ok), "{state:x?}, by the judge");
    }
}

/// Returns the judge, if there is one.
fn judge() -> Option<MutexGuard<'static, Judge>> {
    Some(JUDGE.as_ref()?.lock().expect("one thread"))
}

/// Poseidon2's parameters as the paper's permutation has them, and as Plonky3 has them.
struct Parameters<const WIDTH: usize> {
    plain: Poseidon2<WIDTH>,
    external: ExternalLayerConstants<Goldilocks, WIDTH>,
    internal: Vec<Goldilocks>,
}

impl<const WIDTH: usize> Parameters<WIDTH> {
    fn take(head: &Head, words: &mut Words<'_>, diagonal: [Goldilocks; WIDTH]) -> Self {
        let plain = Poseidon2 {
            initial: words.rows(head.outer),
            internal: (0..head.inner).map(|_| words.word()).collect(),
            terminal: words.rows(head.outer),
            diagonal: diagonal.map(|x| x.as_canonical_u64()),
        };
        Self {
            external: ExternalLayerConstants::new(
                elements(&plain.initial),
                elements(&plain.terminal),
            ),
            internal: (plain.internal.iter().copied())
                .map(Goldilocks::new)
                .collect(),
            plain,
        }
    }
}

/// A kernel of Poseidon2, which permutes groups of states, and the paper's permutation.
macro_rules! poseidon2 {
    ($name:ident, $kernel:path) => {
        pub(crate) fn $name(head: &Head, words: &mut Words<'_>) {
            use $kernel as Kernel;

            fn permute<const WIDTH: usize, const B: usize>(
                kernel: &Kernel<WIDTH>,
                states: &mut [[Packed; WIDTH]],
            ) {
                let (groups, rest) = states.as_chunks_mut::<B>();
                for group in groups {
                    kernel.permute(group);
                }
                for state in rest.as_chunks_mut::<1>().0 {
                    kernel.permute(state);
                }
            }
            fn run<const WIDTH: usize>(
                head: &Head,
                words: &mut Words<'_>,
                diagonal: [Goldilocks; WIDTH],
            ) {
                let states = words.rows::<WIDTH>(head.states * Packed::WIDTH);
                let parameters = Parameters::take(head, words, diagonal);
                let kernel = Kernel::<WIDTH>::new(&parameters.external, &parameters.internal);
                check::<Packed, WIDTH>(
                    &states,
                    |state| parameters.plain.permute(state),
                    |states| match head.group {
                        1 => permute::<WIDTH, 1>(&kernel, states),
                        2 => permute::<WIDTH, 2>(&kernel, states),
                        3 => permute::<WIDTH, 3>(&kernel, states),
                        _ => permute::<WIDTH, 4>(&kernel, states),
                    },
                );
                let Some(mut judge) = judge() else {
                    return;
                };
                let plain = &parameters.plain;
                let internal: Vec<_> = plain
                    .internal
                    .iter()
                    .map(|&constant| vec![constant])
                    .collect();
                let constants = [rows(&plain.initial), internal, rows(&plain.terminal)].concat();
                let expected = plain.permute(states[0]);
                judge.compare(
                    "poseidon2",
                    plain.diagonal,
                    head.outer,
                    &constants,
                    states[0],
                    expected,
                );
            }
            match head.width {
                0 => run(head, words, MATRIX_DIAG_8_GOLDILOCKS),
                1 => run(head, words, MATRIX_DIAG_12_GOLDILOCKS),
                _ => run(head, words, MATRIX_DIAG_16_GOLDILOCKS),
            }
        }
    };
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
compile_error!("the kernels take AVX2: choose a CPU that has it, by FUZZ_CPU");

/// A kernel, on states and constants of an input.
type Kernel = fn(&Head, &mut Words<'_>);

/// The kernels that this build has.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
const KERNELS: &[Kernel] = &[
    vectors::halves,
    #[cfg(target_feature = "avx512ifma")]
    vectors::limbs,
    vectors::poseidon1,
    vectors::batched_poseidon1,
];

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod vectors {
    use p3_field::Field;
    use p3_goldilocks::MdsMatrixGoldilocks;
    use p3_patches_testing::goldilocks::Poseidon1;
    use p3_poseidon1::Poseidon1Constants;
    use p3_symmetric::Permutation;

    use super::*;

    type Packed = <Goldilocks as Field>::Packing;

    poseidon2!(halves, batched_permute::Interleaved);
    #[cfg(target_feature = "avx512ifma")]
    poseidon2!(limbs, ifma_permute::IfmaPoseidon2);

    /// Poseidon1's parameters, as for [`Parameters`].
    fn parameters<const WIDTH: usize>(
        head: &Head,
        least_outer: usize,
        words: &mut Words<'_>,
    ) -> (Poseidon1<WIDTH>, Poseidon1Constants<Goldilocks, WIDTH>)
    where
        MdsMatrixGoldilocks: Permutation<[Goldilocks; WIDTH]>,
    {
        let unit = std::array::from_fn(|i| Goldilocks::new((i == 0).into()));
        let column = (MdsMatrixGoldilocks.permute(unit)).map(|x| x.as_canonical_u64());
        // Plonky3 cannot prepare less than one partial round, and inverts a matrix for each: more than two segments, which
        // are of three rounds at most.
        let outer = head.outer.max(least_outer);
        let plain = Poseidon1 {
            initial: words.rows(outer),
            partial: words.rows(1 + head.inner % 7),
            terminal: words.rows(outer),
            row: std::array::from_fn(|i| column[(WIDTH - i) % WIDTH]),
        };
        let rounds = [&plain.initial[..], &plain.partial, &plain.terminal].concat();
        let constants = Poseidon1Constants {
            rounds_f: 2 * outer,
            rounds_p: plain.partial.len(),
            mds_circ_col: column.map(|x| x as i64),
            round_constants: elements(&rounds),
        };
        (plain, constants)
    }

    /// A kernel of Poseidon1, which insists on so many outer rounds.
    macro_rules! poseidon1 {
        ($name:ident, $kernel:path, $least_outer:literal, |$made:ident, $states:ident| $permute:expr) => {
            pub(crate) fn $name(head: &Head, words: &mut Words<'_>) {
                macro_rules! run {
                    ($width:literal) => {{
                        let states = words.rows::<$width>(head.states * Packed::WIDTH);
                        let (plain, constants) = parameters::<$width>(head, $least_outer, words);
                        use $kernel as Kernel;
                        let $made = Kernel::<$width>::new(&constants);
                        check::<Packed, $width>(
                            &states,
                            |state| plain.permute(state),
                            |$states| $permute,
                        );
                        let Some(mut judge) = judge() else {
                            return;
                        };
                        let rounds = [&plain.initial[..], &plain.partial, &plain.terminal].concat();
                        let outer = plain.initial.len();
                        let expected = plain.permute(states[0]);
                        judge.compare(
                            "poseidon1",
                            plain.row,
                            outer,
                            &rows(&rounds),
                            states[0],
                            expected,
                        );
                    }};
                }
                match head.width {
                    0 => run!(8),
                    1 => run!(12),
                    _ => run!(16),
                }
            }
        };
    }

    poseidon1!(
        poseidon1,
        packed_mds_karatsuba::PackedPoseidon1,
        3,
        |made, states| states.iter_mut().for_each(|state| made.permute_mut(state))
    );
    poseidon1!(
        batched_poseidon1,
        ::batched_poseidon1::BatchedPoseidon1,
        0,
        |made, states| made.permute_many(states)
    );
}

fuzz_target!(|data: &[u8]| {
    let Some((head, words)) = data.split_first_chunk() else {
        return;
    };
    let (words, _) = words.as_chunks();
    if words.is_empty() {
        return;
    }
    let head = Head::parse(head);
    let kernel = KERNELS[usize::from(head.kernel) % KERNELS.len()];
    kernel(&head, &mut Words { words, next: 0 });
});

/// `1 / 7` modulo `P - 1`.
const SEVENTH: u64 = {
    // The first multiple of 7 among k (P - 1) + 1.
    let mut k = 1;
    while (k * (P as u128 - 1) + 1) % 7 != 0 {
        k += 1;
    }
    ((k * (P as u128 - 1) + 1) / 7) as u64
};

/// A word that a reduction may be wrong about.
fn notable(rng: &mut SmallRng) -> u64 {
    let edge = EDGES[rng.random_range(0..EDGES.len())];
    let near = edge.wrapping_add_signed(rng.random_range(-2..=2));
    match rng.random_range(0..8) {
        0 => rng.random(),
        // Values of which the S-box makes an edge.
        1 => Goldilocks::new(near).exp_u64(SEVENTH).as_canonical_u64(),
        // One edge in each half.
        2 => (near & 0xffff_ffff) | (edge << 32),
        3 => 1 << rng.random_range(0..64),
        _ => near,
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut rng = SmallRng::seed_from_u64(seed.into());
    let size = match rng.random_range(0..4) {
        0 => return fuzzer_mutate(data, size, max_size),
        // Few words make a state of one word, or of a pattern.
        1 => HEAD + 8 * rng.random_range(1..=64),
        _ => size,
    };
    let size = size.clamp(HEAD + 8, max_size.max(HEAD + 8)).min(data.len());
    let Some((head, words)) = data[..size].split_first_chunk_mut::<HEAD>() else {
        return size;
    };
    if rng.random() {
        head[rng.random_range(0..HEAD)] = rng.random();
    }
    let (words, _) = words.as_chunks_mut::<8>();
    if words.is_empty() {
        return size;
    }
    let all = rng.random();
    let count = if all {
        words.len()
    } else {
        rng.random_range(1..=4)
    };
    for i in 0..count {
        let at = if all {
            i
        } else {
            rng.random_range(0..words.len())
        };
        words[at] = notable(&mut rng).to_le_bytes();
    }
    size
});
