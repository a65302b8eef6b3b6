//! Products in KoalaBear's quintic extension, one element per lane, against 0.8.0: by the matrix that the patch brings,
//! through 0.8.0's own `dot_product::<5>`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

mod extension_products;

use criterion::{Criterion, criterion_group, criterion_main};
use extension_products::bench;
use p3_field::extension::QuinticTrinomialExtensionField;
use p3_field::{BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;

type Packing = <KoalaBear as Field>::Packing;
type Packed =
    <QuinticTrinomialExtensionField<KoalaBear> as ExtensionField<KoalaBear>>::ExtensionPacking;

/// The product of the patch, with the operations of 0.8.0.
fn by_matrix(a: Packed, b: Packed) -> Packed {
    let a: &[Packing; 5] = a.as_basis_coefficients_slice().try_into().unwrap();
    let &[b0, b1, b2, b3, b4] = b.as_basis_coefficients_slice() else {
        unreachable!("an element has five coefficients")
    };
    let (e, f, g) = (b1 - b4, b0 - b3, b4 - b2);
    let h = b3 - e;
    Packed::new([
        Packing::dot_product(a, &[b0, b4, b3, b2, e]),
        Packing::dot_product(a, &[b1, b0, b4, b3, b2]),
        Packing::dot_product(a, &[b2, e, f, g, h]),
        Packing::dot_product(a, &[b3, b2, e, f, g]),
        Packing::dot_product(a, &[b4, b3, b2, e, f]),
    ])
}

fn quintic(criterion: &mut Criterion) {
    bench::<Packed>(criterion, "quintic", "0.8.0", |x, y| x * y);
    bench::<Packed>(criterion, "quintic", "matrix", by_matrix);
}

criterion_group!(benches, quintic);
criterion_main!(benches);
