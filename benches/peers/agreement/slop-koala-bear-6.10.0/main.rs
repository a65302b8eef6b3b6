//! Prints what SP1's slop-koala-bear 6.10.0 computes.

use p3_symmetric::{CryptographicHasher, CryptographicPermutation, PaddingFreeSponge, Permutation};
use slop_algebra::{AbstractField, PrimeField32};
use slop_challenger::IopCtx;
use slop_koala_bear::{KoalaBear, KoalaBearDegree4Duplex, my_kb_16_perm};
use slop_symmetric::{CryptographicHasher as _, Permutation as _};

#[derive(Clone)]
struct Permuted;

impl Permutation<[KoalaBear; 16]> for Permuted {
    fn permute_mut(&self, state: &mut [KoalaBear; 16]) {
        my_kb_16_perm().permute_mut(state);
    }
}

impl CryptographicPermutation<[KoalaBear; 16]> for Permuted {}

fn main() {
    let state: [KoalaBear; 16] = std::array::from_fn(|i| KoalaBear::from_canonical_usize(i));
    let state = my_kb_16_perm().permute(state);
    let words = state.map(|x| x.as_canonical_u32().to_string());
    println!("koala-bear poseidon2-16\t{}", words.join(" "));
    let sponge = PaddingFreeSponge::<_, 16, 8, 8>::new(Permuted);
    let (hasher, _) = KoalaBearDegree4Duplex::default_hasher_and_compressor();
    let elements: Vec<_> = (0..17).map(KoalaBear::from_canonical_usize).collect();
    for length in [0, 7, 16, 17] {
        let elements = &elements[..length];
        let is_it = sponge.hash_iter(elements.iter().copied())
            == hasher.hash_iter(elements.iter().copied());
        let is = if is_it { "is" } else { "is not" };
        println!(
            "PaddingFreeSponge of {length} elements\t{is} the library's sponge over its own permutation"
        );
    }
}
