//! The operations of sums of groups on AVX-512.

use core::arch::x86_64::{__m512i, _mm512_srli_epi64, _mm512_sub_epi64};

use super::GroupWords;

impl GroupWords for __m512i {
    #[inline(always)]
    fn wrapping_sub(self, rhs: Self) -> Self {
        // SAFETY: AVX-512 is enabled wherever this module is compiled.
        unsafe { _mm512_sub_epi64(self, rhs) }
    }

    #[inline(always)]
    fn shr_half(self) -> Self {
        // SAFETY: AVX-512, as above.
        unsafe { _mm512_srli_epi64::<32>(self) }
    }
}
