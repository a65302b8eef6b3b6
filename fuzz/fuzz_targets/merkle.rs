//! Commitments and openings of Merkle trees with the patches against Plonky3 as published.
//!
//! One program cannot hold both, so this one is built twice. The one with the patches fuzzes. It starts the one without,
//! which `MERKLE_PUBLISHED` names, and which answers on a pipe: an input's length and the input, the answer's length and the
//! answer. `cargo p3 test --only fuzz/merkle` builds both.
//!
//! An input is a head, see [`Shapes::take`], then words in little-endian order, which are the matrices' elements.

#![no_main]

use std::env;
use std::io::{self, Read, Write};
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use p3_baby_bear::{BabyBear, default_babybear_poseidon2_16, default_babybear_poseidon2_24};
use p3_commit::Mmcs;
use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::poseidon1::{default_goldilocks_poseidon1_8, default_goldilocks_poseidon1_12};
use p3_goldilocks::{
    Goldilocks, default_goldilocks_poseidon2_8, default_goldilocks_poseidon2_12,
    default_goldilocks_poseidon2_16,
};
use p3_koala_bear::{KoalaBear, default_koalabear_poseidon2_16, default_koalabear_poseidon2_24};
use p3_matrix::Matrix;
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{CryptographicPermutation, PaddingFreeSponge, TruncatedPermutation};
use serde::{Deserialize, Serialize};

/// Names the program that is built on Plonky3 as published.
const PUBLISHED: &str = "MERKLE_PUBLISHED";

/// Set for a program that is to answer, not to fuzz.
const ANSWERS: &str = "MERKLE_ANSWERS";

/// The bytes for a hash from which on trees are large.
const LARGE: u8 = 224;

/// The shape of a commitment, without the elements.
struct Shapes {
    hash: u8,
    cap_height: usize,
    /// Height and width of each matrix.
    matrices: Vec<(usize, usize)>,
}

impl Shapes {
    /// Reads the hash, the cap's height, the tallest matrix's height in two bytes, how many matrices; for each matrix how many
    /// times its height is half of that, and its width.
    fn take(data: &mut &[u8]) -> Option<Self> {
        let [hash, cap, low, high, count] = take(data)?;
        let height = usize::from(u16::from_le_bytes([low, high]));
        // One hash in eight is of so many leaves that leafless-trees drops their digests, or of one less.
        let tallest = match hash {
            LARGE.. => 4095 + height % 4,
            _ => 1 + height % 100,
        };
        let mut matrices = Vec::new();
        for i in 0..=count % 4 {
            let [halvings, width] = take(data)?;
            // Heights have to stand on this ladder, and one of them has to be the tallest.
            let halvings = if i == 0 { 0 } else { halvings % 10 };
            let height = tallest.div_ceil(1 << halvings);
            matrices.push((height, 1 + usize::from(width) % 40));
        }
        // Upstream panics where a cap falls on a layer whose length is no power of two.
        let caps = if tallest.is_power_of_two() { 5 } else { 1 };
        Some(Self {
            hash,
            cap_height: usize::from(cap) % caps,
            matrices,
        })
    }
}

fn take<const N: usize>(data: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = data.split_first_chunk()?;
    *data = rest;
    Some(*taken)
}

/// A field, and how a word becomes an element of it.
trait Element: Field<Packing: PackedValue<Value = Self>> + PrimeField64 {
    fn new(word: u64) -> Self;
}

impl Element for Goldilocks {
    /// Canonical or not.
    fn new(word: u64) -> Self {
        Self::new(word)
    }
}

macro_rules! impl_element {
    ($($field:ty),*) => {$(
        impl Element for $field {
            fn new(word: u64) -> Self {
                Self::new(word as u32)
            }
        }
    )*};
}
impl_element!(BabyBear, KoalaBear);

/// A permutation of elements and of vectors of them.
trait Permutation<F: Element, const WIDTH: usize>:
    CryptographicPermutation<[F; WIDTH]> + CryptographicPermutation<[F::Packing; WIDTH]>
{
}

impl<F: Element, P, const WIDTH: usize> Permutation<F, WIDTH> for P where
    P: CryptographicPermutation<[F; WIDTH]> + CryptographicPermutation<[F::Packing; WIDTH]>
{
}

/// The cap and some openings, each of which is verified.
fn commit<
    F: Element,
    const WIDTH: usize,
    const RATE: usize,
    const INNER_WIDTH: usize,
    const ARITY: usize,
    const DIGEST: usize,
>(
    shapes: &Shapes,
    words: &[[u8; 8]],
    leaves: impl Permutation<F, WIDTH>,
    inner: impl Permutation<F, INNER_WIDTH>,
) -> Vec<u8>
where
    [F; DIGEST]: Serialize + for<'de> Deserialize<'de>,
{
    let mmcs = MerkleTreeMmcs::<F::Packing, F::Packing, _, _, ARITY, DIGEST>::new(
        PaddingFreeSponge::<_, WIDTH, RATE, DIGEST>::new(leaves),
        TruncatedPermutation::<_, ARITY, DIGEST, INNER_WIDTH>::new(inner),
        shapes.cap_height,
    );
    let mut taken = 0;
    let mut element = || {
        // The words as they are, then others that differ from row to row.
        let (pass, at) = (taken / words.len(), taken % words.len());
        taken += 1;
        let word = u64::from_le_bytes(words[at]);
        F::new(word.wrapping_add((pass as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    };
    let matrices = (shapes.matrices.iter())
        .map(|&(height, width)| {
            let values = (0..height * width).map(|_| element()).collect();
            RowMajorMatrix::new(values, width)
        })
        .collect::<Vec<RowMajorMatrix<F>>>();
    let dimensions = matrices.iter().map(Matrix::dimensions).collect::<Vec<_>>();
    let height = matrices[0].height();
    let (cap, tree) = mmcs.commit(matrices);

    let mut answer = Vec::new();
    let mut put = |elements: &[F]| {
        let canonical = elements.iter().map(|x| x.as_canonical_u64());
        answer.extend(canonical.flat_map(u64::to_le_bytes));
    };
    put(cap.roots().as_flattened());
    for index in (0..height).step_by(height / 6 + 1).chain([height - 1]) {
        let opening = mmcs.open_batch(index, &tree);
        mmcs.verify_batch(&cap, &dimensions, index, (&opening).into())
            .expect("an opening of the tree's own");
        opening.opened_values.iter().for_each(|row| put(row));
        put(opening.opening_proof.as_flattened());
    }
    answer
}

/// The commitment to an input's matrices. Empty for an input that is too short.
fn answer(mut input: &[u8]) -> Vec<u8> {
    let Some(shapes) = Shapes::take(&mut input) else {
        return Vec::new();
    };
    let (words, _) = input.as_chunks();
    if words.is_empty() {
        return Vec::new();
    }
    macro_rules! commit {
        ($field:ty, $leaves:expr, $inner:expr, $($parameters:literal),*) => {
            commit::<$field, $($parameters),*>(&shapes, words, $leaves(), $inner())
        };
    }
    use {
        default_babybear_poseidon2_16 as baby_16, default_babybear_poseidon2_24 as baby_24,
        default_goldilocks_poseidon1_8 as one_8, default_goldilocks_poseidon1_12 as one_12,
        default_goldilocks_poseidon2_8 as two_8, default_goldilocks_poseidon2_12 as two_12,
        default_goldilocks_poseidon2_16 as two_16, default_koalabear_poseidon2_16 as koala_16,
        default_koalabear_poseidon2_24 as koala_24,
    };
    // Widths and rates of leaves, widths of inner nodes, arities, elements of a digest.
    match shapes.hash % 7 {
        0 => commit!(Goldilocks, two_8, two_8, 8, 4, 8, 2, 4),
        1 => commit!(Goldilocks, two_12, two_12, 12, 8, 12, 2, 4),
        2 => commit!(Goldilocks, two_16, two_16, 16, 12, 16, 4, 4),
        3 => commit!(Goldilocks, one_8, one_8, 8, 4, 8, 2, 4),
        4 => commit!(Goldilocks, one_12, one_12, 12, 8, 12, 2, 4),
        5 => commit!(KoalaBear, koala_24, koala_16, 24, 16, 16, 2, 8),
        _ => commit!(BabyBear, baby_24, baby_16, 24, 16, 16, 2, 8),
    }
}

/// The pipes to the program without patches.
struct Published {
    _process: Child,
    questions: ChildStdin,
    answers: ChildStdout,
}

impl Published {
    fn start() -> Self {
        let program = env::var_os(PUBLISHED).expect(
            "MERKLE_PUBLISHED names no program: `cargo p3 test --only fuzz/merkle` builds one",
        );
        let mut process = Command::new(program)
            .env(ANSWERS, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("MERKLE_PUBLISHED does not start");
        Self {
            questions: process.stdin.take().expect("piped"),
            answers: process.stdout.take().expect("piped"),
            _process: process,
        }
    }

    fn answer(&mut self, input: &[u8]) -> io::Result<Vec<u8>> {
        send(&mut self.questions, input)?;
        receive(&mut self.answers)
    }
}

fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

fn receive(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Answers until nobody asks any more.
fn serve() -> ! {
    let (mut questions, mut answers) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(input) = receive(&mut questions) {
        if send(&mut answers, &answer(&input)).is_err() {
            break;
        }
    }
    process::exit(0)
}

static WITHOUT_PATCHES: LazyLock<Mutex<Published>> =
    LazyLock::new(|| Mutex::new(Published::start()));

fuzz_target!(
    init: {
        if env::var_os(ANSWERS).is_some() {
            serve();
        }
    },
    |data: &[u8]| {
        let found = answer(data);
        let mut published = WITHOUT_PATCHES.lock().expect("one thread");
        let expected = published.answer(data).expect("an answer from MERKLE_PUBLISHED");
        assert!(found == expected, "a commitment or an opening differs");
    }
);
