//! Assembly of x86-64.

/// Where a kernel's assembly is an instruction that has an intrinsic, that one, which is mutated. Other assembly stays.
#[macro_export]
macro_rules! asm {
    (
        "vpmuldq {product}, {x}, {y}",
        product = lateout(ymm_reg) $product:ident,
        x = in(ymm_reg) $x:expr,
        y = in(ymm_reg) $y:expr,
        $($options:tt)*
    ) => {
        $product = $crate::arch::x86_64::_mm256_mul_epi32($x, $y)
    };
    (
        "vpmuldq {product}, {x}, {y}",
        product = lateout(zmm_reg) $product:ident,
        x = in(zmm_reg) $x:expr,
        y = in(zmm_reg) $y:expr,
        $($options:tt)*
    ) => {
        $product = $crate::arch::x86_64::_mm512_mul_epi32($x, $y)
    };
    ($($assembly:tt)*) => {
        $crate::arch::assembly!($($assembly)*)
    };
}
