#!/usr/bin/env bash
# usage: findings/stored-field-elements.sh
# One would guess that field elements of Plonky3, as serde writes them, are either read back or refused by another release, and
# that `default_koalabear_poseidon2_16()` is one permutation for good. Neither holds, as of 0.9.0-rc.2:
# - Goldilocks has three formats. Up to 0.5.4 it is a struct of the internal word, which gives an element two encodings; from
#   0.6.0 it is the canonical number (upstream's #1765); from 0.7.0 that number's eight bytes in binary formats (#1988). The
#   31-bit fields have two: their Montgomery form as a number, and from 0.7.0 as four bytes in binary formats.
# - postcard writes numbers in as many bytes as they need. Across 0.7.0 it reads back other elements, mostly without an error.
#   bincode 1 writes numbers at full length: its bytes of reduced elements are the same in every release.
# - In 0.5.0 KoalaBear's default Poseidon2 changed (its round constants: with zeros in their place it is the same), and so did
#   Goldilocks's internal diagonal (with zeros it differs). BabyBear's default is the same in every release.
# Prints each fact with the releases that share it; exits with 1 where that differs from the table at the end of this file.
# Run by hand: it fetches and builds six releases in a temporary folder, which takes minutes.
set -euo pipefail

releases=(0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"

{
  printf '[package]\nname = "stored"\nedition = "2024"\n[dependencies]\n'
  printf 'bincode = "=1.3.3"\npostcard = { version = "=1.1.3", features = ["use-std"] }\nserde_json = "=1.0.149"\n'
  for release in "${releases[@]}"; do
    for name in baby-bear field goldilocks koala-bear poseidon2 symmetric; do
      echo "${name//-/_}_${release//[.-]/} = { package = \"p3-$name\", version = \"=$release\" }"
    done
  done
} >"$work/Cargo.toml"

cat >"$work/src/main.rs" <<'RUST'
#![allow(dead_code)]
use serde_json::{from_str, to_string as json};
use std::fmt::{Debug, Display};

/// Writes the elements of some numbers with postcard, and reads their numbers back.
type Format = (fn(&[u64]) -> Vec<u8>, fn(&[u8]) -> String);

fn said<T: Debug, E: Display>(read: Result<T, E>) -> String {
    read.map_or_else(|error| format!("error: {error}"), |value| format!("{value:?}"))
}

macro_rules! release {
    ($module:ident $baby:ident $field:ident $gold:ident $koala:ident $poseidon2:ident $symmetric:ident $($default:ident $width:literal)*) => {
        mod $module {
            use super::*;
            use $baby::*;
            use $field::extension::BinomialExtensionField as Extension;
            use $field::{BasedVectorSpace, PrimeCharacteristicRing, PrimeField64};
            use $gold::*;
            use $koala::*;
            use $poseidon2::ExternalLayerConstants;
            use $symmetric::Permutation;

            pub const GOLDILOCKS: Format = (write::<Goldilocks>, read::<Goldilocks>);
            pub const KOALABEAR: Format = (write::<KoalaBear>, read::<KoalaBear>);
            /// An element that is 5, in a word that is not.
            pub const UNREDUCED: Goldilocks = Goldilocks::new(5 + Goldilocks::ORDER_U64);

            fn write<F: PrimeField64>(numbers: &[u64]) -> Vec<u8> {
                postcard::to_stdvec(&numbers.iter().map(|number| F::from_u64(*number)).collect::<Vec<_>>()).unwrap()
            }
            fn read<F: PrimeField64>(bytes: &[u8]) -> String {
                let read = postcard::from_bytes::<Vec<F>>(bytes);
                said(read.map(|elements| elements.iter().map(F::as_canonical_u64).collect::<Vec<_>>()))
            }
            fn first<F: PrimeField64, const N: usize>(permutation: impl Permutation<[F; N]>) -> String {
                permutation.permute(core::array::from_fn(F::from_usize))[0].to_string()
            }
            fn zeros<F: PrimeField64, const N: usize>() -> ExternalLayerConstants<F, N> {
                ExternalLayerConstants::new(vec![[F::ZERO; N]; 4], vec![[F::ZERO; N]; 4])
            }

            pub fn facts() -> Vec<(String, String)> {
                let mut facts = Vec::new();
                let mut fact = |name: &str, value: String| facts.push((name.to_string(), value));
                macro_rules! formats {
                    ($name:literal, $value:expr) => {
                        fact(concat!($name, ", JSON"), json(&$value).unwrap());
                        fact(concat!($name, ", postcard"), format!("{:02x?}", postcard::to_stdvec(&$value).unwrap()));
                        fact(concat!($name, ", bincode"), format!("{:02x?}", bincode::serialize(&$value).unwrap()));
                    };
                }
                formats!("Goldilocks 300", Goldilocks::from_u64(300));
                formats!("Goldilocks 5 unreduced", UNREDUCED);
                formats!("Goldilocks x", Extension::<_, 2>::from_basis_coefficients_fn(Goldilocks::from_usize));
                formats!("BabyBear 1", BabyBear::ONE);
                formats!("KoalaBear 1", KoalaBear::ONE);
                let (g, k) = (vec![Goldilocks::ZERO; 22], vec![KoalaBear::ZERO; 20]);
                fact("BabyBear Poseidon2 16", first::<BabyBear, 16>(default_babybear_poseidon2_16()));
                fact("BabyBear Poseidon2 24", first::<BabyBear, 24>(default_babybear_poseidon2_24()));
                fact("KoalaBear Poseidon2 16", first::<KoalaBear, 16>(default_koalabear_poseidon2_16()));
                fact("KoalaBear Poseidon2 16 of zeros", first::<KoalaBear, 16>(Poseidon2KoalaBear::new(zeros(), k)));
                fact("KoalaBear Poseidon2 24", first::<KoalaBear, 24>(default_koalabear_poseidon2_24()));
                fact("Goldilocks Poseidon2 8 of zeros", first::<Goldilocks, 8>(Poseidon2Goldilocks::new(zeros(), g.clone())));
                fact("Goldilocks Poseidon2 12 of zeros", first::<Goldilocks, 12>(Poseidon2Goldilocks::new(zeros(), g)));
                $(fact(concat!("Goldilocks Poseidon2 ", $width), first::<Goldilocks, $width>($default()));)*
                facts
            }
        }
    };
}

fn main() {
    let mut shared: Vec<((String, String), Vec<&str>)> = Vec::new();
    for (release, facts) in releases() {
        for fact in facts {
            match shared.iter_mut().find(|(known, _)| *known == fact) {
                Some((_, names)) => names.push(release),
                None => shared.push((fact, vec![release])),
            }
        }
    }
    shared.sort();
    for ((name, value), names) in shared {
        println!("{name}: {value} ({})", names.join(" "));
    }
    for (field, numbers, old, new) in [
        ("Goldilocks", vec![1, 300], v063::GOLDILOCKS, v070::GOLDILOCKS),
        ("Goldilocks", vec![1 << 63, 3 << 62], v063::GOLDILOCKS, v070::GOLDILOCKS),
        ("KoalaBear", vec![1, 2], v063::KOALABEAR, v070::KOALABEAR),
    ] {
        println!("{field} {numbers:?}, postcard of 0.6.3 read by 0.7.0: {}", new.1(&old.0(&numbers)));
        println!("{field} {numbers:?}, postcard of 0.7.0 read by 0.6.3: {}", old.1(&new.0(&numbers)));
    }
    let (text, bytes) = (json(&v054::UNREDUCED).unwrap(), postcard::to_stdvec(&v054::UNREDUCED).unwrap());
    println!("Goldilocks 5 unreduced, JSON of 0.5.4 read by 0.6.3: {}", said(from_str::<goldilocks_063::Goldilocks>(&text)));
    println!("Goldilocks 5 unreduced, postcard of 0.5.4 read by 0.6.3: {}", said(postcard::from_bytes::<goldilocks_063::Goldilocks>(&bytes)));
}
RUST

{
  facts=
  for release in "${releases[@]}"; do
    v=${release//[.-]/}
    defaults="default_goldilocks_poseidon2_8 8 default_goldilocks_poseidon2_12 12"
    # The first release with defaults for Goldilocks is 0.5.0.
    if [[ $release == 0.4.3 ]]; then defaults=; fi
    echo "release!(v$v baby_bear_$v field_$v goldilocks_$v koala_bear_$v poseidon2_$v symmetric_$v $defaults);"
    facts+="(\"$release\", v$v::facts()), "
  done
  echo "fn releases() -> Vec<(&'static str, Vec<(String, String)>)> { vec![$facts] }"
} >>"$work/src/main.rs"

rustc --version
cargo run --quiet --manifest-path "$work/Cargo.toml" | tee "$work/found"
if ! diff <(sed '1,/^# expected:$/d; s/^# //' "$0") "$work/found"; then
  echo "stored-field-elements.sh: found other facts (>) than expected (<)" >&2
  exit 1
fi
exit

# expected:
# BabyBear 1, JSON: 268435454 (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# BabyBear 1, bincode: [fe, ff, ff, 0f] (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# BabyBear 1, postcard: [fe, ff, ff, 0f] (0.7.0 0.8.0 0.9.0-rc.2)
# BabyBear 1, postcard: [fe, ff, ff, 7f] (0.4.3 0.5.4 0.6.3)
# BabyBear Poseidon2 16: 1906786279 (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# BabyBear Poseidon2 24: 57973606 (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 300, JSON: 300 (0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 300, JSON: {"value":300} (0.4.3 0.5.4)
# Goldilocks 300, bincode: [2c, 01, 00, 00, 00, 00, 00, 00] (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 300, postcard: [2c, 01, 00, 00, 00, 00, 00, 00] (0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 300, postcard: [ac, 02] (0.4.3 0.5.4 0.6.3)
# Goldilocks 5 unreduced, JSON: 5 (0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 5 unreduced, JSON: {"value":18446744069414584326} (0.4.3 0.5.4)
# Goldilocks 5 unreduced, bincode: [05, 00, 00, 00, 00, 00, 00, 00] (0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 5 unreduced, bincode: [06, 00, 00, 00, ff, ff, ff, ff] (0.4.3 0.5.4)
# Goldilocks 5 unreduced, postcard: [05, 00, 00, 00, 00, 00, 00, 00] (0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks 5 unreduced, postcard: [05] (0.6.3)
# Goldilocks 5 unreduced, postcard: [86, 80, 80, 80, f0, ff, ff, ff, ff, 01] (0.4.3 0.5.4)
# Goldilocks Poseidon2 12: 17479221565885336323 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks Poseidon2 12 of zeros: 2691215462611222569 (0.4.3)
# Goldilocks Poseidon2 12 of zeros: 9334058555969921945 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks Poseidon2 8: 147757088869797140 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks Poseidon2 8 of zeros: 12455615819190497033 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks Poseidon2 8 of zeros: 17498997865124259335 (0.4.3)
# Goldilocks x, JSON: {"value":[0,1],"_phantom":null} (0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks x, JSON: {"value":[{"value":0},{"value":1}],"_phantom":null} (0.4.3 0.5.4)
# Goldilocks x, bincode: [00, 00, 00, 00, 00, 00, 00, 00, 01, 00, 00, 00, 00, 00, 00, 00] (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks x, postcard: [00, 00, 00, 00, 00, 00, 00, 00, 01, 00, 00, 00, 00, 00, 00, 00] (0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks x, postcard: [00, 01] (0.4.3 0.5.4 0.6.3)
# KoalaBear 1, JSON: 33554430 (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# KoalaBear 1, bincode: [fe, ff, ff, 01] (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# KoalaBear 1, postcard: [fe, ff, ff, 01] (0.7.0 0.8.0 0.9.0-rc.2)
# KoalaBear 1, postcard: [fe, ff, ff, 0f] (0.4.3 0.5.4 0.6.3)
# KoalaBear Poseidon2 16: 1259554834 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# KoalaBear Poseidon2 16: 2089692522 (0.4.3)
# KoalaBear Poseidon2 16 of zeros: 375753921 (0.4.3 0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# KoalaBear Poseidon2 24: 1066957349 (0.4.3)
# KoalaBear Poseidon2 24: 723511737 (0.5.4 0.6.3 0.7.0 0.8.0 0.9.0-rc.2)
# Goldilocks [1, 300], postcard of 0.6.3 read by 0.7.0: error: Hit the end of buffer, expected more data
# Goldilocks [1, 300], postcard of 0.7.0 read by 0.6.3: [1, 0]
# Goldilocks [9223372036854775808, 13835058055282163712], postcard of 0.6.3 read by 0.7.0: [9259542123273814144, 9259542123273781632]
# Goldilocks [9223372036854775808, 13835058055282163712], postcard of 0.7.0 read by 0.6.3: [0, 0]
# KoalaBear [1, 2], postcard of 0.6.3 read by 0.7.0: [2014183426, 1897660419]
# KoalaBear [1, 2], postcard of 0.7.0 read by 0.6.3: [14565377, 29130754]
# Goldilocks 5 unreduced, JSON of 0.5.4 read by 0.6.3: error: invalid type: map, expected u64 at line 1 column 0
# Goldilocks 5 unreduced, postcard of 0.5.4 read by 0.6.3: error: Serde Deserialization Error
