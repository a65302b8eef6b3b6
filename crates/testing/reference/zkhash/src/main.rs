//! Known answers of Poseidon2 by zkhash, which has Plonky3's round constants and matrices of its own.
//!
//! usage: `cargo run -- [--check] FOLDER`
//!
//! The folder is `../../vectors`. For `goldilocks` and `baby-bear`, it writes what zkhash makes of the inputs in `FIELD-poseidon2.json` to
//! `FIELD-zkhash.json`, or fails unless that is there.

use std::path::Path;
use std::process::exit;
use std::sync::Arc;
use std::{env, fs};

use serde_json::Value;
use zkhash::ark_ff::PrimeField;
use zkhash::poseidon2::poseidon2::Poseidon2;
use zkhash::poseidon2::poseidon2_instance_babybear as baby_bear;
use zkhash::poseidon2::poseidon2_instance_goldilocks as goldilocks;
use zkhash::poseidon2::poseidon2_params::Poseidon2Params;

/// An instance of zkhash's: the width, the diagonal, the constants and the parameters.
type Instance<'a, F> = (usize, &'a [F], &'a [Vec<F>], &'a Arc<Poseidon2Params<F>>);

fn main() {
    let args: Vec<_> = env::args().skip(1).collect();
    let (is_check, folder) = match &args[..] {
        [folder] => (false, folder),
        [check, folder] if check == "--check" => (true, folder),
        _ => {
            eprintln!("usage: zkhash-judge [--check] FOLDER");
            exit(2)
        }
    };
    let instances: &[Instance<_>] = &[
        (
            8,
            &goldilocks::MAT_DIAG8_M_1,
            &goldilocks::RC8,
            &goldilocks::POSEIDON2_GOLDILOCKS_8_PARAMS,
        ),
        (
            12,
            &goldilocks::MAT_DIAG12_M_1,
            &goldilocks::RC12,
            &goldilocks::POSEIDON2_GOLDILOCKS_12_PARAMS,
        ),
        (
            16,
            &goldilocks::MAT_DIAG16_M_1,
            &goldilocks::RC16,
            &goldilocks::POSEIDON2_GOLDILOCKS_16_PARAMS,
        ),
    ];
    answer(Path::new(folder), "goldilocks", 16, is_check, instances);
    let instances: &[Instance<_>] = &[
        (
            16,
            &baby_bear::MAT_DIAG16_M_1,
            &baby_bear::RC16,
            &baby_bear::POSEIDON2_BABYBEAR_16_PARAMS,
        ),
        (
            24,
            &baby_bear::MAT_DIAG24_M_1,
            &baby_bear::RC24,
            &baby_bear::POSEIDON2_BABYBEAR_24_PARAMS,
        ),
    ];
    answer(Path::new(folder), "baby-bear", 8, is_check, instances);
}

/// Writes the answers for a field whose words have so many digits, or compares them.
fn answer<F: PrimeField>(
    folder: &Path,
    field: &str,
    digits: usize,
    is_check: bool,
    instances: &[Instance<F>],
) {
    let asked = folder.join(format!("{field}-poseidon2.json"));
    let asked: Value = serde_json::from_str(&fs::read_to_string(asked).unwrap()).unwrap();
    let answered = instances.iter().map(|instance| {
        let width = instance.0;
        let mut all = asked.as_array().unwrap().iter();
        let asked = all.find(|asked| asked["width"] == width).unwrap();
        of_instance(asked, digits, instance)
    });
    let text = format!("[\n{}\n]\n", answered.collect::<Vec<_>>().join(",\n"));
    let path = folder.join(format!("{field}-zkhash.json"));
    if !is_check {
        fs::write(path, text).unwrap();
    } else if fs::read_to_string(&path).unwrap() != text {
        eprintln!("{}: differs from what zkhash computes", path.display());
        exit(1)
    }
    println!("{field}: {} widths by zkhash", instances.len());
}

/// Returns the JSON of an instance, in the form of the other files.
fn of_instance<F: PrimeField>(
    asked: &Value,
    digits: usize,
    (width, diagonal, constants, parameters): &Instance<F>,
) -> String {
    let element = |text: &Value| {
        let digits = text.as_str().unwrap().trim_start_matches("0x");
        F::from(u64::from_str_radix(digits, 16).unwrap())
    };
    let row = |elements: &[F]| {
        let words = elements.iter().map(|x| x.into_bigint().as_ref()[0]);
        let words = words.map(|word| format!("\"{word:#0width$x}\"", width = digits + 2));
        format!("[{}]", words.collect::<Vec<_>>().join(", "))
    };
    let block = |rows: &[String]| format!("[\n      {}\n    ]", rows.join(",\n      "));
    let partial_rounds = asked["partial_rounds"].as_u64().unwrap() as usize;
    let rounds = constants.iter().enumerate().map(|(round, constants)| {
        // zkhash has zeros for the other elements of a partial round.
        let is_partial = (4..4 + partial_rounds).contains(&round);
        let (used, unused) = constants.split_at(if is_partial { 1 } else { *width });
        assert!(unused.iter().all(|x| *x == F::ZERO));
        row(used)
    });
    let inputs = asked["inputs"].as_array().unwrap().iter();
    let inputs: Vec<Vec<_>> = inputs
        .map(|input| input.as_array().unwrap().iter().map(element).collect())
        .collect();
    let permutation = Poseidon2::new(parameters);
    let outputs = inputs
        .iter()
        .map(|input| row(&permutation.permutation(input)));
    format!(
        "  {{\n    \"order\": {},\n    \"degree\": {},\n    \"full_rounds\": {},\n    \"partial_rounds\": {partial_rounds},\n    \"width\": {width},\n    \"matrix\": {},\n    \"constants\": {},\n    \"inputs\": {},\n    \"outputs\": {}\n  }}",
        asked["order"],
        asked["degree"],
        asked["full_rounds"],
        row(diagonal),
        block(&rounds.collect::<Vec<_>>()),
        block(&inputs.iter().map(|input| row(input)).collect::<Vec<_>>()),
        block(&outputs.collect::<Vec<_>>()),
    )
}
