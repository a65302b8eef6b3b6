//! Products of single elements in KoalaBear's quintic extension against 0.8.0, in builds with AVX2: with
//! `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like. In those with AVX-512 the crate's kernel takes a way through memory
//! that the patch's does not.

mod extension_products;

use criterion::{Criterion, criterion_group, criterion_main};
use extension_products::bench;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use p3_field::BasedVectorSpace;
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_koala_bear::KoalaBear;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
use quintic_single_product::quintic_mul;

type Element = QuinticTrinomialExtensionField<KoalaBear>;

fn quintic(criterion: &mut Criterion) {
    bench::<Element>(criterion, "quintic", "0.8.0", |x, y| x * y);
    #[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
    bench::<Element>(criterion, "quintic", "kernel", |x, y| {
        let coefficients = |x: &Element| x.as_basis_coefficients_slice().try_into().unwrap();
        Element::new(quintic_mul(&coefficients(&x), &coefficients(&y)))
    });
}

criterion_group!(benches, quintic);
criterion_main!(benches);
