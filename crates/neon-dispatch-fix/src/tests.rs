//! The two paths between which the patch chooses, against each other and against the paper.

use core::array;
use std::env;
use std::process::Command;

use cargo_platform::{Cfg, CfgExpr};
use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::{
    GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL, GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL,
    GOLDILOCKS_POSEIDON2_RC_8_INTERNAL, Goldilocks, MATRIX_DIAG_8_GOLDILOCKS,
    Poseidon2ExternalLayerGoldilocks, Poseidon2InternalLayerGoldilocks,
    default_goldilocks_poseidon2_8,
};
use p3_patches_testing::goldilocks::{self as plain, EDGES, representative};
use p3_poseidon2::{ExternalLayerConstants, Poseidon2};
use p3_symmetric::Permutation;
use proptest::prelude::*;

type Packed = <Goldilocks as Field>::Packing;
const LANES: usize = Packed::WIDTH;

/// The path that the patch gives to narrow cores.
type Generic = Poseidon2<
    Goldilocks,
    Poseidon2ExternalLayerGoldilocks<8>,
    Poseidon2InternalLayerGoldilocks,
    8,
    7,
>;

fn generic() -> Generic {
    Generic::new(
        ExternalLayerConstants::new(
            GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL.to_vec(),
            GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL.to_vec(),
        ),
        GOLDILOCKS_POSEIDON2_RC_8_INTERNAL.to_vec(),
    )
}

fn textbook() -> plain::Poseidon2<8> {
    let canonical = |x: Goldilocks| x.as_canonical_u64();
    plain::Poseidon2 {
        initial: GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_INITIAL
            .map(|row| row.map(canonical))
            .to_vec(),
        internal: GOLDILOCKS_POSEIDON2_RC_8_INTERNAL.map(canonical).to_vec(),
        terminal: GOLDILOCKS_POSEIDON2_RC_8_EXTERNAL_FINAL
            .map(|row| row.map(canonical))
            .to_vec(),
        diagonal: MATRIX_DIAG_8_GOLDILOCKS.map(canonical),
    }
}

fn pack(words: &[[u64; 8]; LANES]) -> [Packed; 8] {
    array::from_fn(|i| Packed::from_fn(|lane| Goldilocks::new(words[lane][i])))
}

/// Packed states of representatives, each lane its own.
fn words() -> impl Strategy<Value = [[u64; 8]; LANES]> {
    prop::array::uniform(prop::array::uniform8(representative()))
}

/// States of nothing but edges, other ones in each lane and element.
fn edges() -> impl Iterator<Item = [[u64; 8]; LANES]> {
    (0..EDGES.len()).map(|shift| {
        array::from_fn(|lane| {
            array::from_fn(|i| EDGES[(shift + i * (2 * lane + 1) + lane) % EDGES.len()])
        })
    })
}

fn check_generic_layers(words: &[[u64; 8]; LANES]) {
    let permuted = generic().permute(pack(words));
    for (lane, &state) in words.iter().enumerate() {
        let got = permuted.map(|x| x.as_slice()[lane].as_canonical_u64());
        assert_eq!(got, textbook().permute(state), "lane {lane}");
    }
}

#[test]
fn generic_layers_match_the_paper_on_edges() {
    for words in edges() {
        check_generic_layers(&words);
    }
}

#[test]
#[cfg_attr(
    not(target_arch = "aarch64"),
    ignore = "the assembly is aarch64's: cargo p3 test --only kernels/neon"
)]
fn fused_assembly_matches_generic_layers_on_edges() {
    for words in edges() {
        let (state, published) = (pack(&words), default_goldilocks_poseidon2_8());
        assert_eq!(published.permute(state), generic().permute(state));
    }
}

proptest! {
    #[test]
    fn generic_layers_match_the_paper(words in words()) {
        check_generic_layers(&words);
    }

    #[test]
    #[cfg_attr(
        not(target_arch = "aarch64"),
        ignore = "the assembly is aarch64's: cargo p3 test --only kernels/neon"
    )]
    fn fused_assembly_matches_generic_layers(words in words()) {
        let (state, published) = (pack(&words), default_goldilocks_poseidon2_8());
        prop_assert_eq!(published.permute(state), generic().permute(state));
    }
}

/// The condition under which each text of the patch takes the generic layers.
fn conditions() -> [CfgExpr; 2] {
    let texts = [
        include_str!("../../../patches/0.9.0-rc.2/neon-dispatch-fix.patch"),
        include_str!("../../../patches/0.6.3/neon-dispatch-fix.patch"),
    ];
    texts.map(|text| {
        let (_, rest) = text
            .split_once("+const PACKED_W8_IS_GENERIC: bool = cfg!(")
            .unwrap();
        let (condition, _) = rest.split_once("\n+));").unwrap();
        format!("{})", condition.replace("\n+", " "))
            .parse()
            .unwrap()
    })
}

/// The configuration that rustc prints for `target` with these flags.
fn cfgs(target: &str, flags: &[&str]) -> Vec<Cfg> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "cfg", "--target", target])
        .args(flags)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{target} {flags:?}: {stderr}");
    let lines = str::from_utf8(&output.stdout).unwrap().lines();
    lines.map(|line| line.parse().unwrap()).collect()
}

fn takes_generic_layers(target: &str, flags: &[&str]) -> bool {
    let cfgs = cfgs(target, flags);
    let [newer, older] = conditions().map(|condition| condition.matches(&cfgs));
    assert_eq!(newer, older, "{target} {flags:?}");
    newer
}

const LINUX: &str = "aarch64-unknown-linux-gnu";

#[test]
fn builds_that_name_no_core_keep_the_assembly() {
    for target in [
        LINUX,
        "aarch64-unknown-linux-musl",
        "aarch64-linux-android",
        "aarch64-pc-windows-msvc",
        "aarch64-apple-darwin",
        "aarch64-apple-ios",
        "aarch64-apple-ios-sim",   // crc and lse, without dit
        "aarch64-unknown-fuchsia", // crc
    ] {
        assert!(!takes_generic_layers(target, &[]), "{target}");
    }
    for features in ["+lse", "+crc", "+lse,+crc,+aes,+sha2"] {
        let features = format!("-Ctarget-feature={features}");
        assert!(!takes_generic_layers(LINUX, &[&features]), "{features}");
    }
}

#[test]
fn builds_for_narrow_cores_take_the_generic_layers() {
    for (core, generic) in [
        ("cortex-a55", true),
        ("cortex-a76", true),
        ("neoverse-n1", true),
        ("cortex-a72", false), // not told from a build for Fuchsia
        ("carmel", false),
        ("apple-a12", false),
        ("apple-m1", false),
        ("neoverse-v1", false),
        ("neoverse-n2", false),
        ("neoverse-v2", false),
    ] {
        let flag = format!("-Ctarget-cpu={core}");
        assert_eq!(takes_generic_layers(LINUX, &[&flag]), generic, "{core}");
        let chosen = |path| format!("p3_goldilocks_packed_w8={path:?}");
        let with = |path| takes_generic_layers(LINUX, &[&flag, "--cfg", &chosen(path)]);
        assert!(!with("fused"), "{core}");
        assert!(with("generic"), "{core}");
    }
}
