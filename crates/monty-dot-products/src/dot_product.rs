//! Dot products of packed elements, reduced once in [`TERMS`] terms.
//!
//! The product of two elements has 62 bits, so that a word of 64 takes a group of four. Their sum
//! is not reduced: its upper half is added to a second sum, which grows by 32 bits only. The groups
//! themselves are added up modulo `2^64`. That loses nothing, as the lower halves have a sum below
//! `2^64`: it is the sum of the groups, modulo `2^64`, less the upper halves.
//!
//! Arrays are written element by element. The standard library calls the closures of `array::map`
//! and `array::from_fn` by a function that is not inlined in every program; vectors then pass
//! through memory.

use core::marker::PhantomData;
use core::mem::transmute;

use p3_field::{Field, PrimeCharacteristicRing};

use crate::vector::{Register, Words};
use crate::{COLUMNWISE_ROWS, FieldParameters, MontyField31, UnreducedSum};

#[cfg(not(target_feature = "avx512f"))]
mod avx2;
#[cfg(target_feature = "avx512f")]
mod avx512;

/// Terms after which sums are reduced.
pub const TERMS: usize = 4096;

/// Products whose sum fits a word.
const GROUP: usize = 4;

// BOUNDS
//
// Constants: P < 2^31
//            B = 2^32
//            μ = P^-1 mod B
//            G = TERMS / GROUP
// Input: elements in [0, P)
// Output: an element in [0, P)
//   1. a group, in [0, 4 (P - 1)^2 + 1), where 4 (P - 1)^2 < B^2
//   2. H := the sum of the groups' upper halves, and L := that of the lower ones, both in
//      [0, G B). L + B H is the dot product, and L is what is left of it modulo B^2, less B H.
//   3. H' := H / B modulo P, in [1, 2P). For that, H < P B.
//   4. L + (B^2 mod P) H', in [0, G B + 2P^2), where G B + 2P^2 < P B. Modulo P, it is L + B H.
//   5. R := that, divided by B as in step 3, in [1, 2P), less P if it is not below P. Montgomery
//      forms are multiples of B, and their products of B^2.
//
// In steps 3 and 5, x in [0, P B) becomes x + P B - Q P, with Q = μ x mod B in [0, B). That is a
// multiple of B in (0, 2 P B).

/// The operations that sums of groups take beside those of [`Words`].
pub trait GroupWords: Words {
    /// Subtracts each word. `vpsubq`.
    fn wrapping_sub(self, rhs: Self) -> Self;

    /// Moves the upper halves to the lower ones, below zeros. `vpsrlq`.
    fn shr_half(self) -> Self;
}

type Packing<FP> = <MontyField31<FP> as Field>::Packing;

#[inline(always)]
fn to_register<FP: FieldParameters>(x: Packing<FP>) -> Register {
    // SAFETY: a packing is a transparent array of as many transparent `u32` as the register has,
    // and any bits are one.
    unsafe { transmute(x) }
}

/// The sum of groups of products.
#[derive(Clone, Copy)]
pub struct Groups<V> {
    /// Modulo `2^64`.
    sum: V,
    /// That of the upper halves.
    high: V,
}

impl<V: GroupWords> Groups<V> {
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = V::splat(0);
        Self {
            sum: zero,
            high: zero,
        }
    }

    /// Adds the products of lower halves.
    #[inline(always)]
    pub fn add_group(&mut self, x: [V; GROUP], y: [V; GROUP]) {
        let [a, b, c, d] = x;
        let ab = a.mul_low(y[0]).wrapping_add(b.mul_low(y[1]));
        let cd = c.mul_low(y[2]).wrapping_add(d.mul_low(y[3]));
        let group = ab.wrapping_add(cd);
        self.sum = self.sum.wrapping_add(group);
        self.high = self.high.wrapping_add(group.shr_half());
    }

    /// The sum divided by `2^32`, modulo `P`, in the upper halves, which are in `[1, 2P)`.
    #[inline(always)]
    pub fn reduce<FP: FieldParameters>(self) -> V {
        let low = self.sum.wrapping_sub(self.high.shl_half());
        let high = montgomery::<FP, V>(self.high).shr_half();
        let square = ((1u128 << 64) % FP::PRIME as u128) as u64;
        montgomery::<FP, V>(low.wrapping_add(high.mul_low(V::splat(square))))
    }
}

/// Returns `x / 2^32` modulo `P` in the upper halves. `vpmuludq`, `vpaddq`, `vpmuludq`, `vpsubq`.
///
/// # Preconditions
///
/// `x` is in `[0, 2^32 P)`.
///
/// # Postconditions
///
/// The upper halves are in `[1, 2P)`, and the lower halves are zero.
#[inline(always)]
fn montgomery<FP: FieldParameters, V: GroupWords>(x: V) -> V {
    let p = u64::from(FP::PRIME);
    let q = x.mul_low(V::splat(FP::MONTY_MU.into()));
    let x = x.wrapping_add(V::splat(p << 32));
    x.wrapping_sub(q.mul_low(V::splat(p)))
}

/// Returns the elements that the upper halves of `even` and `odd` stand for, by
/// [`Words::join_high`].
///
/// # Preconditions
///
/// The upper halves are in `[0, 2P)`.
///
/// # Postconditions
///
/// The elements are in `[0, P)`.
#[inline(always)]
fn join_reduced<FP: FieldParameters, V: Words>(even: V, odd: V) -> V {
    let x = V::join_high(even, odd);
    // Below `P`, the difference wraps, and is not below `x`.
    x.min_halves(x.sub_halves(V::repeat(FP::PRIME)))
}

/// The sums of the even elements, and of the odd ones.
#[derive(Clone, Copy)]
pub struct Sums<FP>([Groups<Register>; 2], PhantomData<FP>);

impl<FP: FieldParameters> Sums<FP> {
    #[inline(always)]
    fn add_products(&mut self, x: [[Register; GROUP]; 2], y: [[Register; GROUP]; 2]) {
        for ((sum, x), y) in self.0.iter_mut().zip(x).zip(y) {
            sum.add_group(x, y);
        }
    }
}

/// The even elements and the odd ones, as [`Words::mul_low`] reads them.
#[inline(always)]
fn halves(x: [Register; GROUP]) -> [[Register; GROUP]; 2] {
    let [a, b, c, d] = x;
    [x, [a.high(), b.high(), c.high(), d.high()]]
}

impl<FP: FieldParameters> UnreducedSum<MontyField31<FP>> for Sums<FP> {
    /// A Montgomery form.
    type Weight = u32;
    const TERMS: usize = TERMS;

    #[inline(always)]
    fn zero() -> Self {
        const {
            let (p, groups) = (FP::PRIME as u128, (TERMS / GROUP) as u128);
            assert!(FP::MONTY_BITS == 32 && p < 1 << 31);
            // Steps 1, 3 and 4.
            assert!(GROUP as u128 * (p - 1) * (p - 1) < 1 << 64);
            assert!(groups <= p);
            assert!((groups << 32) + 2 * p * p < p << 32);
        }
        Self([Groups::zero(); 2], PhantomData)
    }

    #[inline(always)]
    fn weight(x: MontyField31<FP>) -> u32 {
        // SAFETY: an element is a transparent `u32`.
        unsafe { transmute(x) }
    }

    #[inline(always)]
    fn add_products(
        sums: &mut [Self],
        column: &[Packing<FP>; COLUMNWISE_ROWS],
        weights: &[[u32; COLUMNWISE_ROWS]],
    ) {
        let mut groups = [[[Register::splat(0); GROUP]; 2]; COLUMNWISE_ROWS / GROUP];
        let (column, _) = column.as_chunks::<GROUP>();
        for (group, &[a, b, c, d]) in groups.iter_mut().zip(column) {
            *group = halves([
                to_register::<FP>(a),
                to_register::<FP>(b),
                to_register::<FP>(c),
                to_register::<FP>(d),
            ]);
        }
        for (sum, weights) in sums.iter_mut().zip(weights) {
            let (weights, _) = weights.as_chunks::<GROUP>();
            for (&x, &[a, b, c, d]) in groups.iter().zip(weights) {
                let w = [
                    Register::repeat(a),
                    Register::repeat(b),
                    Register::repeat(c),
                    Register::repeat(d),
                ];
                sum.add_products(x, [w, w]);
            }
        }
    }

    #[inline(always)]
    fn reduce(self) -> Packing<FP> {
        let [even, odd] = self.0.map(Groups::reduce::<FP>);
        // SAFETY: the packing is that of `to_register`, and its words are in `[0, P)`.
        unsafe { transmute(join_reduced::<FP, _>(even, odd)) }
    }
}

/// Pairs from which on the reductions of a dot product take less time than is saved. AVX2 has half
/// the registers.
pub const LEAST_TERMS: usize = if cfg!(target_feature = "avx512f") {
    8
} else {
    12
};

/// The accumulators of `d` dot products, as `PackedField::coeffwise_dot_product` has them.
#[inline]
pub fn coeffwise_dot_product<'a, FP: FieldParameters>(
    d: usize,
    pairs: impl Iterator<Item = (&'a [Packing<FP>], Packing<FP>)>,
) -> [Packing<FP>; 8] {
    let few = pairs.size_hint().1.is_some_and(|pairs| pairs < LEAST_TERMS);
    match d {
        4 if !few => coeffwise::<FP, 4>(pairs),
        5 if !few => coeffwise::<FP, 5>(pairs),
        _ => {
            let mut acc = [Packing::<FP>::ZERO; 8];
            for (coeffs, base) in pairs {
                add_product(&mut acc[..d], coeffs, base);
            }
            acc
        }
    }
}

/// Adds [`GROUP`] pairs at a time.
///
/// It reads the coefficients where they are. Gathered in an array, they would be copied once more.
#[inline(always)]
fn coeffwise<'a, FP: FieldParameters, const D: usize>(
    pairs: impl Iterator<Item = (&'a [Packing<FP>], Packing<FP>)>,
) -> [Packing<FP>; 8] {
    let zeros = [Packing::<FP>::ZERO; D];
    let mut pairs = pairs.fuse();
    let mut acc = [Packing::<FP>::ZERO; 8];
    loop {
        let mut sums = [Sums::<FP>::zero(); D];
        let mut groups = 0;
        while groups < TERMS / GROUP {
            let mut coeffs = [&zeros; GROUP];
            let mut bases = [Register::splat(0); GROUP];
            let mut is_empty = true;
            for (coeffs, base) in coeffs.iter_mut().zip(&mut bases) {
                let Some((slice, x)) = pairs.next() else {
                    break;
                };
                is_empty = false;
                match slice.first_chunk() {
                    Some(whole) => (*coeffs, *base) = (whole, to_register::<FP>(x)),
                    None => add_product(&mut acc, slice, x),
                }
            }
            if is_empty {
                break;
            }
            let bases = halves(bases);
            for (k, sum) in sums.iter_mut().enumerate() {
                let mut factors = [Register::splat(0); GROUP];
                for (factor, coeffs) in factors.iter_mut().zip(coeffs) {
                    *factor = to_register::<FP>(coeffs[k]);
                }
                sum.add_products(halves(factors), bases);
            }
            groups += 1;
        }
        for (acc, sum) in acc.iter_mut().zip(sums) {
            *acc += sum.reduce();
        }
        if groups < TERMS / GROUP {
            return acc;
        }
    }
}

/// Adds the products of one pair, whose slice may be shorter than the accumulators.
#[inline]
fn add_product<FP: FieldParameters>(
    acc: &mut [Packing<FP>],
    coeffs: &[Packing<FP>],
    base: Packing<FP>,
) {
    for (acc, &coeff) in acc.iter_mut().zip(coeffs) {
        *acc += coeff * base;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    #[cfg(not(target_feature = "avx512f"))]
    use core::arch::x86_64::__m256i as Vector;
    #[cfg(target_feature = "avx512f")]
    use core::arch::x86_64::__m512i as Vector;
    use core::array;

    use p3_field::PackedValue;

    use super::*;
    #[cfg(not(target_feature = "avx512f"))]
    use crate::MontyParametersAVX2 as VectorParameters;
    #[cfg(target_feature = "avx512f")]
    use crate::MontyParametersAVX512 as VectorParameters;
    use crate::unreduced_columnwise_dot_product;
    use crate::{MontyParameters, PackedMontyParameters};

    const LANES: usize = size_of::<Vector>() / 4;

    macro_rules! field {
        ($name:ident, $p:literal, $mu:literal) => {
            #[derive(Copy, Clone, Default, Debug, Eq, Hash, PartialEq)]
            struct $name;
            impl MontyParameters for $name {
                const PRIME: u32 = $p;
                const MONTY_BITS: u32 = 32;
                const MONTY_MU: u32 = $mu;
            }
            impl VectorParameters for $name {
                // SAFETY: an array of words of the vector's size.
                const PACKED_P: Vector = unsafe { transmute([$p; LANES]) };
                // SAFETY: an array of words of the vector's size.
                const PACKED_MU: Vector = unsafe { transmute([$mu; LANES]) };
            }
            impl PackedMontyParameters for $name {}
            impl FieldParameters for $name {
                const MONTY_GEN: MontyField31<Self> = MontyField31::new(31);
            }
        };
    }
    field!(KB, 0x7f00_0001_u32, 0x8100_0001_u32);
    field!(BB, 0x7800_0001_u32, 0x8800_0001_u32);

    /// Counts of terms next to the thresholds, to a group, to a pass over rows, and to a reduction.
    const COUNTS: [usize; 13] = [
        0,
        1,
        LEAST_TERMS - 1,
        LEAST_TERMS,
        LEAST_TERMS + 1,
        15,
        16,
        17,
        100,
        TERMS - 1,
        TERMS,
        TERMS + 1,
        2 * TERMS + 9,
    ];

    /// The element with this Montgomery form.
    fn with_form<FP: FieldParameters>(form: u32) -> MontyField31<FP> {
        MontyField31::from_u32(form).div_2exp_u64(32)
    }

    /// Edges, and multiples of a word without a pattern.
    fn mixed<FP: FieldParameters>(count: usize) -> Vec<MontyField31<FP>> {
        let p = FP::PRIME;
        let edges = [0, 1, p / 2, p / 2 + 1, p - 2, p - 1].map(with_form::<FP>);
        let word = |i: usize| {
            (i as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(32)
        };
        let element = |i: usize| match edges.get(word(i) as usize % (2 * edges.len())) {
            Some(&edge) => edge,
            None => MontyField31::from_u64(word(i)),
        };
        (0..count).map(element).collect()
    }

    /// The largest forms, which take the sums to their bounds.
    fn full<FP: FieldParameters>(count: usize) -> Vec<MontyField31<FP>> {
        vec![with_form(FP::PRIME - 1); count]
    }

    fn dot<F: Field>(x: impl Iterator<Item = F>, y: impl Iterator<Item = F>) -> F {
        x.zip(y).fold(F::ZERO, |sum, (x, y)| sum + x * y)
    }

    fn lane<FP: FieldParameters>(
        values: &[Packing<FP>],
        lane: usize,
    ) -> impl Iterator<Item = MontyField31<FP>> {
        values.iter().map(move |x| x.as_slice()[lane])
    }

    fn check_columns<FP: FieldParameters, const N: usize>(
        height: usize,
        vectors: usize,
        elements: fn(usize) -> Vec<MontyField31<FP>>,
    ) {
        let matrix = elements(height * vectors * LANES);
        let matrix = Packing::<FP>::pack_slice(&matrix);
        let weights = elements(height * N);
        let items = (0..height).map(|r| {
            let row = matrix[r * vectors..][..vectors].iter().copied();
            (row, array::from_fn(|j| weights[r * N + j]))
        });
        // The products are added to the ones.
        let mut acc = vec![Packing::<FP>::ONE; vectors * N];
        unreduced_columnwise_dot_product::<Sums<FP>, _, MontyField31<FP>, _, _, N>(&mut acc, items);
        for (i, acc) in acc.iter().enumerate() {
            let (c, j) = (i / N, i % N);
            for (l, &sum) in acc.as_slice().iter().enumerate() {
                let column = lane::<FP>(matrix, l).skip(c).step_by(vectors);
                let weights = weights.iter().skip(j).step_by(N).copied();
                let expected = MontyField31::ONE + dot(column, weights);
                assert_eq!(sum, expected, "{height} rows");
            }
        }
    }

    fn check_all_columns<FP: FieldParameters>() {
        for height in COUNTS {
            for elements in [mixed, full] {
                check_columns::<FP, 1>(height, 1, elements);
                check_columns::<FP, 4>(height, 2, elements);
            }
        }
        // Rows of up to 16 vectors are copied.
        for vectors in [15, 16, 17] {
            check_columns::<FP, 5>(67, vectors, mixed);
        }
    }

    #[test]
    fn test_columns() {
        check_all_columns::<KB>();
        check_all_columns::<BB>();
    }

    fn check_coefficients<FP: FieldParameters>() {
        for (count, d) in (COUNTS.into_iter()).flat_map(|n| [1, 4, 5, 8].map(|d| (n, d))) {
            for elements in [mixed::<FP>, full::<FP>] {
                let (values, weights) = (elements(count * LANES), elements(d * count * LANES));
                let values = Packing::<FP>::pack_slice(&values);
                let weights = Packing::<FP>::pack_slice(&weights);
                let pairs = weights.chunks_exact(d).zip(values.iter().copied());
                let acc = coeffwise_dot_product::<FP>(d, pairs);
                for (k, l) in (0..8).flat_map(|k| (0..LANES).map(move |l| (k, l))) {
                    let expected = if k < d {
                        let weights = lane::<FP>(weights, l).skip(k).step_by(d);
                        dot(lane::<FP>(values, l), weights)
                    } else {
                        MontyField31::ZERO
                    };
                    let sum = acc[k].as_slice()[l];
                    assert_eq!(sum, expected, "{count} terms of degree {d}");
                }
            }
        }
    }

    #[test]
    fn test_coefficients() {
        check_coefficients::<KB>();
        check_coefficients::<BB>();
    }

    /// The hook takes slices that are shorter than the degree, and iterators that do not know their
    /// length.
    #[test]
    fn test_short_coefficients() {
        let values = [Packing::<KB>::TWO; 40];
        let full = [Packing::<KB>::ONE; 4];
        let pairs = (values.iter().enumerate()).map(|(i, &value)| (&full[..i % 5], value));
        let acc = coeffwise_dot_product::<KB>(4, pairs.filter(|_| true));
        for (k, acc) in acc.into_iter().enumerate() {
            // Of five slices, `4 - k` have a coefficient k.
            let expected = 2 * 8 * 4usize.saturating_sub(k);
            assert_eq!(acc, Packing::<KB>::from_usize(expected));
        }
    }
}
