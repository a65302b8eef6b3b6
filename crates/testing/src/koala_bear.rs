//! The KoalaBear field, `p = 2^31 - 2^24 + 1`, and its extension by `X^5 + X^2 - 1`, on plain integers.

use proptest::prelude::*;

/// The order of the field.
pub const P: u32 = 0x7f00_0001;

/// Montgomery forms, those that field arithmetic sees, next to where it corrects by `p`.
pub const EDGES: [u32; 10] = [
    0, // its negation is not p less it
    1,
    2,
    0xffff,
    1 << 24,   // 2^31 - p + 1
    P / 2,     // doubles to p - 1
    P / 2 + 1, // doubles to p + 1
    1 << 30,
    P - 2,
    P - 1, // five products of it: the largest sum of a coefficient
];

/// An element of the extension, coefficients from the constant one up.
pub type Quintic = [u32; 5];

/// A residue; one in two has an edge for its Montgomery form.
pub fn residue() -> impl Strategy<Value = u32> {
    prop_oneof![0..P, prop::sample::select(&EDGES).prop_map(residue_of)]
}

/// An element of the extension with edges among its coefficients.
pub fn quintic() -> impl Strategy<Value = Quintic> {
    prop::array::uniform5(residue())
}

/// The residue whose Montgomery form, its product with 2^32, is `form`.
#[must_use]
pub fn residue_of(form: u32) -> u32 {
    let halve = |x: u32| {
        if x.is_multiple_of(2) {
            x / 2
        } else {
            x / 2 + P / 2 + 1
        }
    };
    (0..32).fold(form, |x, _| halve(x))
}

/// The product by the textbook: all 25 products of coefficients, then long division by `X^5 + X^2 - 1`.
#[must_use]
pub fn product(a: Quintic, b: Quintic) -> Quintic {
    let p = u128::from(P);
    let mut c = [0u128; 9];
    for i in 0..5 {
        for j in 0..5 {
            c[i + j] += u128::from(a[i]) * u128::from(b[j]);
        }
    }
    for degree in (5..9).rev() {
        let leading = std::mem::take(&mut c[degree]) % p;
        c[degree - 3] += p - leading;
        c[degree - 5] += leading;
    }
    std::array::from_fn(|i| (c[i] % p) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn montgomery_forms_are_those_of_the_residues() {
        for form in EDGES {
            assert_eq!(
                (u64::from(residue_of(form)) << 32) % u64::from(P),
                u64::from(form)
            );
        }
    }

    #[test]
    fn powers_of_x_reduce_as_the_modulus_says() {
        let x = |degree: usize| std::array::from_fn(|i| u32::from(i == degree));
        assert_eq!(product(x(2), x(2)), x(4));
        assert_eq!(product(x(1), x(4)), [1, 0, P - 1, 0, 0]);
        // X^8 = X^3 - X^5 = X^3 - 1 + X^2.
        assert_eq!(product(x(4), x(4)), [P - 1, 0, 1, 1, 0]);
    }
}
