//! The multiplications of 32-bit halves in the compiled code, counted by stepping through it, against the algorithm's.
//!
//! `popfq` sets the trap flag, and from then on the CPU raises SIGTRAP after each instruction of this thread. The handler
//! decodes the one that comes next. Loops and calls are counted as they are executed; no debugger is needed. The workspace
//! optimizes this package and p3-goldilocks in its test builds too, with the checks for overflow that these have.

use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::{mem, ptr, slice};

use iced_x86::{Decoder, DecoderOptions, Mnemonic};

use super::*;

static MULTIPLICATIONS: AtomicUsize = AtomicUsize::new(0);
static INSTRUCTIONS: AtomicUsize = AtomicUsize::new(0);

fn mnemonic(code: &[u8]) -> Mnemonic {
    Decoder::new(64, code, DecoderOptions::NONE)
        .decode()
        .mnemonic()
}

/// The length of the longest instruction.
const LONGEST: usize = 15;
const PAGE: usize = 4096;

extern "C" fn on_trap(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a `ucontext_t`.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let next = context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const u8;
    // SAFETY: code is about to run there, and the bytes are on one page.
    let on_page = unsafe { slice::from_raw_parts(next, LONGEST.min(PAGE - next as usize % PAGE)) };
    let mnemonic = match mnemonic(on_page) {
        // SAFETY: an instruction that ends on the next page.
        Mnemonic::INVALID => mnemonic(unsafe { slice::from_raw_parts(next, LONGEST) }),
        whole => whole,
    };
    INSTRUCTIONS.fetch_add(1, Ordering::Relaxed);
    // Where a build has IFMA, LLVM takes its instruction for a product below 2^52 that something is added to.
    if matches!(mnemonic, Mnemonic::Vpmuludq | Mnemonic::Vpmadd52luq) {
        MULTIPLICATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

/// How many multiplications of 32-bit halves, and instructions in all, a permutation of one packed state executes.
#[inline(never)]
fn count<const WIDTH: usize>(permutation: &impl Permutation<[Packing; WIDTH]>) -> (usize, usize) {
    let mut state = states::<WIDTH>()[0];
    permutation.permute_mut(&mut state);
    // SAFETY: pushes and pops in balance; the flag's only effect is the signal.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    permutation.permute_mut(&mut state);
    // SAFETY: as above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
    std::hint::black_box(state);
    (
        MULTIPLICATIONS.swap(0, Ordering::Relaxed),
        INSTRUCTIONS.swap(0, Ordering::Relaxed),
    )
}

const SQUARE: usize = 3;
const PRODUCT: usize = 4;
/// A word's upper half by `2^32 - 1`. Of 0.8.0's reductions, the compiler makes shifts.
const REDUCTION: usize = 1;

const FULL_ROUNDS: usize = 8;
const PARTIAL_ROUNDS: usize = 22;

/// `x^7` is two squares and two products.
const S_BOX: usize = 2 * SQUARE + 2 * PRODUCT;

const fn s_boxes(width: usize) -> usize {
    FULL_ROUNDS * width + PARTIAL_ROUNDS
}

/// Each S-box begins with a reduction, and makes three of its own. Initial, partial and terminal rounds end with one per
/// element.
const fn ours(width: usize) -> usize {
    s_boxes(width) * (S_BOX + 4 * REDUCTION) + 3 * width * REDUCTION
}

/// In 0.8.0: a matrix in each full round, a dense one before the partial rounds, a row and a column in each of these.
const fn published(width: usize, matrix: usize) -> usize {
    let sparse = width * width + PARTIAL_ROUNDS * (2 * width - 1);
    s_boxes(width) * S_BOX + FULL_ROUNDS * matrix + sparse * PRODUCT
}

/// Karatsuba of 0.8.0: cyclic 4 (8 products) and negacyclic 4 (16); cyclic 3 and three times negacyclic 3 (9 each), and
/// one more of these; cyclic 8 and three times negacyclic 4. The cyclic convolution of length 3 has coefficients that the
/// compiler sees to be below `2^32`: it leaves two multiplications of each product out.
const KARATSUBA_8: usize = (8 + 16) * PRODUCT;
const KARATSUBA_12: usize = (4 * 9) * PRODUCT + 9 * (PRODUCT - 2);
const KARATSUBA_16: usize = (8 + 16 + 3 * 16) * PRODUCT;

#[track_caller]
fn check<const WIDTH: usize>(
    name: &str,
    permutation: &impl Permutation<[Packing; WIDTH]>,
    multiplications: usize,
) {
    let (counted, instructions) = count(permutation);
    std::println!("{name}: {counted} multiplications, {instructions} instructions");
    assert_eq!(counted, multiplications, "{name}");
}

#[test]
fn multiplications_in_the_compiled_code() {
    // Decoding allocates here, and not later.
    assert_eq!(mnemonic(&[0xc5, 0xfd, 0xf4, 0xc1]), Mnemonic::Vpmuludq);
    // SAFETY: the handler does what a handler may: it reads memory and adds to atomics. Nothing else here uses the signal.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
    }
    let (w16, published_w16) = from_rng::<16>(PARTIAL_ROUNDS, &MdsMatrixGoldilocks);
    check("w8", &default_8(), ours(8));
    check("w12", &default_12(), ours(12));
    check("w16", &w16, ours(16));
    check(
        "w8 of 0.8.0",
        &default_goldilocks_poseidon1_8(),
        published(8, KARATSUBA_8),
    );
    check(
        "w12 of 0.8.0",
        &default_goldilocks_poseidon1_12(),
        published(12, KARATSUBA_12),
    );
    check("w16 of 0.8.0", &published_w16, published(16, KARATSUBA_16));
    check::<8>("matrix w8", &PackedMdsMatrix, 8 * REDUCTION);
    check::<12>("matrix w12", &PackedMdsMatrix, 12 * REDUCTION);
    check::<16>("matrix w16", &PackedMdsMatrix, 16 * REDUCTION);
    check::<24>("matrix w24", &PackedMdsMatrix, 24 * REDUCTION);
    check::<8>("matrix w8 of 0.8.0", &MdsMatrixGoldilocks, KARATSUBA_8);
    check::<12>("matrix w12 of 0.8.0", &MdsMatrixGoldilocks, KARATSUBA_12);
    check::<16>("matrix w16 of 0.8.0", &MdsMatrixGoldilocks, KARATSUBA_16);
    check::<24>(
        "matrix w24 of 0.8.0",
        &MdsMatrixGoldilocks,
        24 * 24 * PRODUCT,
    );
}
