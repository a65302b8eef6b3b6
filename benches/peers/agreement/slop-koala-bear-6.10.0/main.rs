//! Prints what SP1's slop-koala-bear 6.10.0 computes.

use slop_algebra::{AbstractField, PrimeField32};
use slop_koala_bear::{KoalaBear, my_kb_16_perm};
use slop_symmetric::Permutation;

fn main() {
    let state: [KoalaBear; 16] = std::array::from_fn(|i| KoalaBear::from_canonical_usize(i));
    let state = my_kb_16_perm().permute(state);
    let words = state.map(|x| x.as_canonical_u32().to_string());
    println!("koala-bear poseidon2-16\t{}", words.join(" "));
}
