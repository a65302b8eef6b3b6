//! Seeds of the fuzz target `dft`, on every machine and in the emulator.

use p3_field::Field;
use p3_goldilocks::Goldilocks;
use p3_patches_testing::fuzzing::Transform;

use super::tile::Plain;
use super::transforms::agree_with_published;
use crate::LazyButterflies;

macro_rules! seeds {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../../../../fuzz/corpus/dft/", $name)) as &[u8])),*]
    };
}

/// The seeds of Goldilocks. The emulator has no folder to read them from.
const SEEDS: [(&str, &[u8]); 6] = seeds! {
    "goldilocks-one-column.seed"
    "goldilocks-one-row.seed"
    "goldilocks-three-columns.seed"
    "goldilocks-two-layers.seed"
    "goldilocks-two-passes.seed"
    "goldilocks-words-of-48-bits.seed"
};

fn check(lazy: impl LazyButterflies<<Goldilocks as Field>::Packing>) {
    for (name, seed) in SEEDS {
        let Transform {
            field,
            log_h,
            width,
            words,
        } = Transform::read(seed).expect(name);
        assert_eq!(field, 2, "{name} is of another field");
        agree_with_published(lazy, log_h, width, words.map(Goldilocks::new));
    }
}

#[test]
fn plain_tiles_agree_on_the_seeds() {
    check(Plain);
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx512ifma"))]
#[test]
fn tiles_agree_on_the_seeds() {
    check(crate::Gaussian);
}

// Where it runs, there is a folder.
#[cfg(not(target_feature = "avx512f"))]
#[test]
fn no_seed_is_left_out() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/dft");
    let names = std::fs::read_dir(folder).expect("the corpus").map(|entry| {
        let name = entry.expect("a file").file_name();
        name.into_string().expect("UTF-8")
    });
    let mut names: std::vec::Vec<_> = names
        .filter(|name| name.starts_with("goldilocks"))
        .collect();
    names.sort();
    assert_eq!(names, SEEDS.map(|(name, _)| name));
}
