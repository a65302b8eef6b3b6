//! Prints what winter-math 0.13.1 computes.

use winter_math::fields::QuadExtension;
use winter_math::fields::f64::BaseElement;
use winter_math::{FieldElement, StarkField};

fn print(subject: &str, element: BaseElement) {
    println!("{subject}\t{}", element.as_int());
}

fn main() {
    print("goldilocks generator", BaseElement::GENERATOR);
    print(
        "goldilocks root of order 2^32",
        BaseElement::get_root_of_unity(32),
    );
    let x = QuadExtension::new(BaseElement::ZERO, BaseElement::ONE);
    let [constant, linear] = (x * x).to_base_elements();
    println!(
        "goldilocks x^2\t{} + {} x",
        constant.as_int(),
        linear.as_int()
    );
}
