//! Openings of matrices of several heights, at points that they share.

use p3_challenger::{CanObserve, DuplexChallenger, FieldChallenger};
use p3_commit::{ExtensionMmcs, Pcs as CommitmentScheme};
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
type Perm = Poseidon2Goldilocks<8>;
type Sponge = PaddingFreeSponge<Perm, 8, 4, 4>;
type Compression = TruncatedPermutation<Perm, 2, 4, 8>;
type Mmcs = MerkleTreeMmcs<Packed, Packed, Sponge, Compression, 2, 4>;
type Challenge = BinomialExtensionField<Goldilocks, 2>;
type Challenger = DuplexChallenger<Goldilocks, Perm, 8, 4>;
type Dft = Radix2DitParallel<Goldilocks>;
type Pcs = TwoAdicFriPcs<Goldilocks, Dft, Mmcs, ExtensionMmcs<Goldilocks, Challenge, Mmcs>>;

fn pcs() -> Pcs {
    let permutation = default_goldilocks_poseidon2_8();
    let mmcs = Mmcs::new(
        Sponge::new(permutation.clone()),
        Compression::new(permutation),
        0,
    );
    let parameters = FriParameters::new_testing(ExtensionMmcs::new(mmcs.clone()), 0);
    Pcs::new(Dft::default(), mmcs, parameters)
}

/// Commits to groups of matrices, given by the logarithm of each one's height, its width and how many points it is opened at, and opens all
/// at once. The first point of each matrix is the same, so that the largest one's denominators serve all.
fn opens(groups: &[&[(usize, usize, usize)]]) {
    let pcs = pcs();
    let mut rng = SmallRng::seed_from_u64(1);
    let mut prover = Challenger::new(default_goldilocks_poseidon2_8());
    let committed: Vec<_> = (groups.iter())
        .map(|group| {
            let matrices = group.iter().map(|&(log_height, width, _)| {
                let domain = domain(&pcs, log_height);
                (
                    domain,
                    RowMajorMatrix::rand(&mut rng, 1 << log_height, width),
                )
            });
            CommitmentScheme::<Challenge, Challenger>::commit(&pcs, matrices.collect::<Vec<_>>())
                .unwrap()
        })
        .collect();
    for (commitment, _) in &committed {
        prover.observe(commitment.clone());
    }
    let mut verifier = prover.clone();
    let points: Vec<Challenge> = (0..3).map(|_| prover.sample_algebra_element()).collect();
    let points_of = |group: &[(usize, usize, usize)]| -> Vec<Vec<Challenge>> {
        group
            .iter()
            .map(|&(_, _, count)| points[..count].to_vec())
            .collect()
    };
    let requests = committed.iter().zip(groups);
    let requests = requests.map(|((_, data), group)| (data, points_of(group)).into());
    let (opened, proof) = pcs.open(requests.collect(), &mut prover).unwrap();

    for _ in &points {
        let _: Challenge = verifier.sample_algebra_element();
    }
    let claims = committed.iter().zip(groups).zip(&opened);
    let claims = claims.map(|(((commitment, _), group), values)| {
        let matrices = group.iter().zip(points_of(group)).zip(values);
        let matrices = matrices.map(|((&(log_height, ..), points), values)| {
            (
                domain(&pcs, log_height),
                points.into_iter().zip(values.clone()).collect(),
            )
        });
        (commitment.clone(), matrices.collect::<Vec<_>>()).into()
    });
    pcs.verify(claims.collect(), &proof, &mut verifier).unwrap();
}

type Domain = <Pcs as CommitmentScheme<Challenge, Challenger>>::Domain;

fn domain(pcs: &Pcs, log_height: usize) -> Domain {
    CommitmentScheme::<Challenge, Challenger>::natural_domain_for_degree(pcs, 1 << log_height)
}

#[test]
fn openings_of_several_heights_verify() {
    opens(&[&[(6, 3, 2)]]);
    opens(&[&[(6, 3, 2), (4, 1, 1)], &[(5, 2, 1)]]);
    opens(&[&[(3, 9, 1)], &[(7, 1, 3), (6, 2, 2), (3, 2, 1)]]);
}
