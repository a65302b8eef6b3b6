//! Things that a stage needs and a machine may lack.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use paired::isa::Isa;

/// Something that `--require` takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Need {
    Isa(Isa),
    Z3,
    Fuzz,
    Sandbox,
    Browser,
    Miri,
    Advisories,
}

impl ValueEnum for Need {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Isa(Isa::Generic),
            Self::Isa(Isa::V3),
            Self::Isa(Isa::V4),
            Self::Isa(Isa::V4Ifma),
            Self::Isa(Isa::Native),
            Self::Isa(Isa::Neon),
            Self::Z3,
            Self::Fuzz,
            Self::Sandbox,
            Self::Browser,
            Self::Miri,
            Self::Advisories,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let thing = |name, help| Some(PossibleValue::new(name).help(help));
        match self {
            Self::Isa(isa) => isa.to_possible_value(),
            Self::Z3 => thing("z3", "The solver of the proofs"),
            Self::Fuzz => thing("fuzz", "cargo-fuzz and a C++ compiler"),
            Self::Sandbox => thing("sandbox", "User namespaces"),
            Self::Browser => thing("browser", "Chromium"),
            Self::Miri => thing(
                "miri",
                "The compiler that crates/testing/miri pins, with Miri",
            ),
            Self::Advisories => thing(
                "advisories",
                "cargo-deny, and the database of advisories as it is today",
            ),
        }
    }
}
