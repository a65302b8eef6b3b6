//! Prints the proofs of a sparse Merkle tree of miden-crypto, with Poseidon2.

use miden_crypto::Word;
use miden_crypto::hash::poseidon2::Poseidon2;
use miden_crypto::merkle::smt::Smt;

fn main() {
    let word = |n: u32| -> Word { Poseidon2::hash(&n.to_le_bytes()) };
    let entries = (0..2000).map(|n| (word(2 * n), word(2 * n + 1)));
    let tree = Smt::with_entries(entries).unwrap();
    for n in (0..2000).step_by(100) {
        let key = word(2 * n);
        let proof = tree.open(&key);
        let value = word(2 * n + 1);
        proof.verify_presence(&key, &value, &tree.root()).unwrap();
        println!("{proof:?}");
    }
}
