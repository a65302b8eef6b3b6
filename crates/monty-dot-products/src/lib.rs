//! Dot products over packed KoalaBear and BabyBear elements, on AVX2 and AVX-512, that are reduced once in 4096 terms.
//!
//! The kernel is [`dot_product`], which the patch of the same name adds to p3-monty-31 with a file of each instruction set; its
//! documentation has the mechanism and the bounds. The passes over rows are those of lazy-dot-products. The words under it are
//! monty-poseidon1's, whose `vector` files are compiled here once more, as they are in p3-monty-31. This crate root stands in
//! for p3-monty-31's, so that the same bytes compile in both places.
//!
//! ```
//! # #[cfg(target_feature = "avx2")] {
//! use monty_dot_products::dot_product::coeffwise_dot_product;
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_koala_bear::{KoalaBear, KoalaBearParameters};
//!
//! type Packing = <KoalaBear as Field>::Packing;
//! let (row, weights) = ([Packing::TWO; 100], [[Packing::ONE; 4]; 100]);
//!
//! let pairs = weights.iter().map(|weight| &weight[..]).zip(row);
//! let [sum, ..] = coeffwise_dot_product::<KoalaBearParameters>(4, pairs);
//! assert_eq!(sum, Packing::from(KoalaBear::new(200)));
//! # }
//! ```

#![no_std]
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

#[cfg(test)]
extern crate alloc;
#[cfg(test)]
extern crate std;
// With the instructions that Miri lacks, or wrong ones.
#[cfg(all(test, any(miri, mutated)))]
extern crate p3_patches_testing as core;

#[cfg(test)]
use lazy_dot_products::unreduced_columnwise_dot_product;
use lazy_dot_products::{COLUMNWISE_ROWS, UnreducedSum};
use p3_monty_31::{FieldParameters, MontyField31};
// For the kernel's own tests.
#[cfg(all(test, not(target_feature = "avx512f")))]
use p3_monty_31::MontyParametersAVX2;
#[cfg(all(test, target_feature = "avx512f"))]
use p3_monty_31::MontyParametersAVX512;
#[cfg(test)]
use p3_monty_31::{MontyParameters, PackedMontyParameters};

// Documented in upstream's manner: the modules are private there.
#[allow(missing_docs)]
pub mod dot_product;
#[allow(missing_docs)]
#[path = "../../monty-poseidon1/src/vector/mod.rs"]
mod vector;

#[cfg(test)]
mod tests;
