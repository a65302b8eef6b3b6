//! Products in KoalaBear's extension of degree 4, one element per lane, against 0.8.0: by one dot product per coefficient, as the
//! patch has it, through 0.8.0's own `dot_product::<4>`. `RUSTFLAGS="-C target-cpu=x86-64-v3"` and the like choose the packing.

mod extension_products;

use criterion::{Criterion, criterion_group, criterion_main};
use extension_products::bench;
use p3_field::extension::BinomialExtensionField;
use p3_field::{BasedVectorSpace, ExtensionField, Field, PrimeCharacteristicRing};
use p3_koala_bear::KoalaBear;

type Packing = <KoalaBear as Field>::Packing;
type Packed = <BinomialExtensionField<KoalaBear, 4> as ExtensionField<KoalaBear>>::ExtensionPacking;

/// The product of the patch, with the operations of 0.8.0.
fn by_rows(a: Packed, b: Packed) -> Packed {
    let a: &[Packing; 4] = a.as_basis_coefficients_slice().try_into().unwrap();
    let &[b0, b1, b2, b3] = b.as_basis_coefficients_slice() else {
        unreachable!("an element has four coefficients")
    };
    let [w_b1, w_b2, w_b3] = [b1, b2, b3].map(|x: Packing| x.double() + x);
    Packed::new([
        Packing::dot_product(a, &[b0, w_b3, w_b2, w_b1]),
        Packing::dot_product(a, &[b1, b0, w_b3, w_b2]),
        Packing::dot_product(a, &[b2, b1, b0, w_b3]),
        Packing::dot_product(a, &[b3, b2, b1, b0]),
    ])
}

fn quartic(criterion: &mut Criterion) {
    bench::<Packed>(criterion, "quartic", "0.8.0", |x, y| x * y);
    bench::<Packed>(criterion, "quartic", "rows", by_rows);
}

criterion_group!(benches, quartic);
criterion_main!(benches);
