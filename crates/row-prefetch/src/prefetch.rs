//! Vectors that are fetched from memory ahead of their use.
//!
//! A loop over the rows of a matrix reads a stream of memory, with dozens of instructions of
//! arithmetic for each vector. A core looks a few hundred instructions ahead: the next few loads
//! are under way while it computes, and each then waits for memory. A prefetch names memory that no
//! instruction waits for. Here each vector comes with the prefetch of the one a page later:
//!
//! ```text
//!     | used now | ..  a page: AHEAD bytes  .. | fetched now |
//! ```
//!
//! No value depends on it: a prefetch of memory that is not there is ignored. `prefetcht0`, one for
//! each vector of 32 bytes or more.

/// How far ahead, in bytes.
///
/// It is a page. A processor's own prefetchers stop at the end of one, whose successor may be
/// anywhere.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 4096;

/// Returns the vectors of a row. On x86-64, each of 32 bytes or more comes with a prefetch of what
/// is a page further, of this row or of the next ones.
///
/// A vector of field arithmetic takes dozens of instructions, so that few of the following loads
/// are under way before it is done, and all but those few wait for memory.
#[inline]
pub fn prefetched<P: Copy>(row: &[P]) -> impl Iterator<Item = P> {
    row.iter().map(|vector| {
        prefetch(vector);
        *vector
    })
}

#[inline(always)]
fn prefetch<P>(vector: &P) {
    // Smaller values would fetch a cache line many times.
    #[cfg(target_arch = "x86_64")]
    if size_of::<P>() >= 32 {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let ahead = core::ptr::from_ref(vector).cast::<i8>().wrapping_add(AHEAD);
        // SAFETY: SSE is part of x86-64. A prefetch reads no memory that the program sees, and
        // ignores an address without any.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = vector;
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::prefetched;

    /// The address ahead of the last vectors belongs to no row, or is not mapped.
    #[test]
    fn vectors_are_those_of_the_row() {
        fn check<const BYTES: usize>() {
            for len in [0, 1, 2, 100, 4096] {
                let row: Vec<[u8; BYTES]> = (0..len).map(|i| [i as u8; BYTES]).collect();
                assert!(
                    prefetched(&row).eq(row.iter().copied()),
                    "{len} of {BYTES} bytes"
                );
                assert_eq!(prefetched(&row).size_hint(), (len, Some(len)));
            }
        }
        check::<8>();
        check::<32>();
        check::<64>();
    }
}
