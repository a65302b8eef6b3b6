//! Texts of patches that nobody means well: an error is an answer, a panic is not, nor is a file outside the tree.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = p3_patches::fuzz_harness::run(data);
});
