//! An opening of a committed matrix of 2^16 rows and four columns at two points, FRI included.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use p3_challenger::{DuplexChallenger, FieldChallenger};
use p3_commit::{ExtensionMmcs, Pcs};
use p3_dft::Radix2DitParallel;
use p3_field::Field;
use p3_field::extension::BinomialExtensionField;
use p3_fri::{FriParameters, TwoAdicFriPcs};
use p3_goldilocks::{Goldilocks, Poseidon2Goldilocks, default_goldilocks_poseidon2_8};
use p3_matrix::dense::RowMajorMatrix;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};
use rand::SeedableRng;
use rand::rngs::SmallRng;

type Packed = <Goldilocks as Field>::Packing;
type Challenge = BinomialExtensionField<Goldilocks, 2>;
type Challenger = DuplexChallenger<Goldilocks, Poseidon2Goldilocks<8>, 8, 4>;

fn opening(criterion: &mut Criterion) {
    let permutation = default_goldilocks_poseidon2_8();
    let sponge = PaddingFreeSponge::<_, 8, 4, 4>::new(permutation.clone());
    let compression = TruncatedPermutation::<_, 2, 4, 8>::new(permutation.clone());
    let mmcs = MerkleTreeMmcs::<Packed, Packed, _, _, 2, 4>::new(sponge, compression, 0);
    let parameters = FriParameters::new_benchmark(ExtensionMmcs::new(mmcs.clone()));
    let dft = Radix2DitParallel::default();
    let pcs = TwoAdicFriPcs::<Goldilocks, _, _, _>::new(dft, mmcs, parameters);
    let mut challenger = Challenger::new(permutation);
    let matrix = RowMajorMatrix::rand(&mut SmallRng::seed_from_u64(1), 1 << 16, 4);
    let domain = Pcs::<Challenge, Challenger>::natural_domain_for_degree(&pcs, 1 << 16);
    let committed = Pcs::<Challenge, Challenger>::commit(&pcs, [(domain, matrix)]);
    let (_, data) = committed.expect("the matrix has a commitment");
    let points: [Challenge; 2] = [(); 2].map(|()| challenger.sample_algebra_element());
    criterion.bench_function("open/goldilocks/2^16x4", |bencher| {
        bencher.iter_batched(
            || {
                (
                    vec![(&data, vec![points.to_vec()]).into()],
                    challenger.clone(),
                )
            },
            |(requests, mut challenger)| pcs.open(requests, &mut challenger),
            BatchSize::PerIteration,
        );
    });
}

criterion_group!(benches, opening);
criterion_main!(benches);
