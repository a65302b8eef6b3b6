//! The kernel on intervals: no column wraps, and a sum needs one correction at most, for any factors.

use p3_patches_testing::mutation::panics;

use super::lanes::Range;
use crate::limb_product::{columns, mul, reduce, square};
use crate::vector::Word;

#[test]
fn products_stay_within_their_bounds() {
    mul(Range::any(), Range::any());
    square(Range::any());
}

/// `w2` larger by one, which `c` takes `2^8` times.
#[test]
fn bounds_have_no_slack() {
    let [w0, w1, w2] = columns(Range::any(), Range::any());
    let larger = w2.wrapping_add(Range::new(1, 1));
    assert!(
        panics(|| {
            reduce([w0, w1, larger]);
        })
        .is_some()
    );
}
