//! The operations of sums of groups on AVX2.

use core::arch::x86_64::{__m256i, _mm256_srli_epi64, _mm256_sub_epi64};

use super::GroupWords;

impl GroupWords for __m256i {
    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: AVX2 is enabled wherever this module is compiled.
        unsafe { _mm256_sub_epi64(self, rhs) }
    }

    #[inline(always)]
    fn shr_half(self) -> Self {
        // SAFETY: AVX2, as above.
        unsafe { _mm256_srli_epi64::<32>(self) }
    }
}
