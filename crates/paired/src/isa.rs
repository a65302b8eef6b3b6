//! Instruction sets that a program can be built for.

use std::collections::BTreeSet;
use std::fmt;

use clap::ValueEnum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::Failure;

/// An instruction set that the compiler may use. Its `Display` is its name on the command line, such as `x86-64-v3`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Isa {
    /// The baseline of an architecture: x86-64-v2 on x86-64, and no more than the target's default elsewhere.
    Generic,
    /// AVX2.
    #[value(name = "x86-64-v3")]
    V3,
    /// AVX-512 without IFMA.
    #[value(name = "x86-64-v4")]
    V4,
    /// AVX-512 with IFMA.
    #[value(name = "x86-64-v4+ifma")]
    V4Ifma,
    /// Every feature of this machine's CPU.
    Native,
    /// aarch64 with NEON.
    Neon,
}

/// Deserializes the name of an instruction set, and refuses any other text.
pub fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let name = String::deserialize(text)?;
    match Isa::from_str(&name, false) {
        Ok(_) => Ok(name),
        Err(_) => Err(D::Error::custom(format_args!(
            "{name:?} is no instruction set"
        ))),
    }
}

impl Isa {
    /// Returns the flags for `rustc`, with spaces between them; `""` for none.
    pub fn rustflags(self) -> &'static str {
        match self {
            Self::Generic if cfg!(target_arch = "x86_64") => "-C target-cpu=x86-64-v2",
            Self::Generic => "",
            Self::V3 => "-C target-cpu=x86-64-v3",
            Self::V4 => "-C target-cpu=x86-64-v4",
            Self::V4Ifma => "-C target-cpu=x86-64-v4 -C target-feature=+avx512ifma",
            Self::Native => "-C target-cpu=native",
            Self::Neon => "-C target-feature=+neon",
        }
    }

    /// Returns the largest instruction set that this CPU can run, other than [`Self::Native`].
    ///
    /// # Panics
    ///
    /// Panics on an x86 CPU without x86-64-v2.
    pub fn best() -> Self {
        let named = Self::value_variants().iter().copied();
        let mut usable = named.filter(|isa| *isa != Self::Native && isa.missing().is_empty());
        usable.next_back().expect("every CPU runs `generic`")
    }

    /// Returns the largest instruction set whose features are all among these target features of a build.
    pub fn with_features(on: &BTreeSet<String>) -> Self {
        let all = |needed: &[&str]| needed.iter().all(|feature| on.contains(*feature));
        let v4 = all(&["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]);
        if v4 && all(&["avx512ifma"]) {
            Self::V4Ifma
        } else if v4 {
            Self::V4
        } else if all(&["avx2"]) {
            Self::V3
        } else if all(&["neon"]) {
            Self::Neon
        } else {
            Self::Generic
        }
    }

    /// Tells whether this is NEON on a machine that is not aarch64. Its workers are built and run under an emulator.
    pub fn is_foreign(self) -> bool {
        self == Self::Neon && !cfg!(target_arch = "aarch64")
    }

    /// Tells whether the instruction set is one of this machine's architecture.
    fn is_own(self) -> bool {
        match self {
            Self::Generic | Self::Native => true,
            Self::V3 | Self::V4 | Self::V4Ifma => cfg!(target_arch = "x86_64"),
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// Refuses an instruction set of another architecture: no program can be built for it here. This CPU need not support it.
    pub fn check_architecture(self) -> Result<(), Failure> {
        self.refuse_unless(Self::is_own, "belongs to another architecture")
    }

    /// Refuses an instruction set of another architecture, and `native`, which differs between machines.
    pub fn check_portable(self) -> Result<(), Failure> {
        let why = match self {
            Self::Native => "stands for a different CPU on each machine",
            _ => "belongs to another architecture",
        };
        self.refuse_unless(|isa| isa.is_own() && isa != Self::Native, why)
    }

    fn refuse_unless(self, is_right: impl Fn(Self) -> bool, why: &str) -> Result<(), Failure> {
        if is_right(self) {
            return Ok(());
        }
        let right = Self::value_variants().iter().copied();
        let right = right.filter(|isa| is_right(*isa));
        let right: Vec<String> = right.map(|isa| isa.to_string()).collect();
        Err(Failure::input(format!("{self}: {why}"))
            .hint(format!("give --isa one of {}", right.join(", "))))
    }

    /// Refuses an instruction set that this CPU cannot run; the message names the features that the CPU lacks.
    pub fn check(self) -> Result<(), Failure> {
        let why = format!("this CPU lacks {}", self.missing().join(", "));
        self.refuse_unless(|isa| isa.missing().is_empty(), &why)
    }

    /// Returns the features that the instruction set needs and this CPU lacks.
    #[cfg(target_arch = "x86_64")]
    fn missing(self) -> Vec<&'static str> {
        macro_rules! lacking {
            ($($feature:tt),*) => {
                [$(($feature, std::is_x86_feature_detected!($feature))),*]
                    .into_iter()
                    .filter_map(|(feature, detected)| (!detected).then_some(feature))
                    .collect::<Vec<_>>()
            };
        }
        let v2 = lacking!("cmpxchg16b", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3");
        let v3 = lacking!(
            "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe"
        );
        let v4 = lacking!("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl");
        let ifma = lacking!("avx512ifma");
        match self {
            Self::Generic => v2,
            Self::V3 => [v2, v3].concat(),
            Self::V4 => [v2, v3, v4].concat(),
            Self::V4Ifma => [v2, v3, v4, ifma].concat(),
            Self::Native => Vec::new(),
            Self::Neon => vec!["neon"],
        }
    }

    /// Returns the features that the instruction set needs and this CPU lacks.
    #[cfg(not(target_arch = "x86_64"))]
    fn missing(self) -> Vec<&'static str> {
        match self {
            Self::Generic | Self::Native => Vec::new(),
            // Each aarch64 target with a standard library has NEON.
            Self::Neon if cfg!(target_arch = "aarch64") => Vec::new(),
            Self::Neon => vec!["neon"],
            Self::V3 => vec!["avx2"],
            Self::V4 | Self::V4Ifma => vec!["avx512f"],
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("no variant is skipped");
        f.write_str(value.get_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_architecture_is_refused_by_name() {
        let foreign = if cfg!(target_arch = "x86_64") {
            Isa::Neon
        } else {
            Isa::V3
        };
        let refused = foreign.check().unwrap_err();
        assert!(
            refused
                .message
                .starts_with(&format!("{foreign}: this CPU lacks ")),
            "{refused}"
        );
        assert!(refused.hint.unwrap().contains("native"));
    }

    #[test]
    fn what_is_only_built_need_not_run() {
        let (own, foreign) = if cfg!(target_arch = "x86_64") {
            (Isa::V4Ifma, Isa::Neon)
        } else {
            (Isa::Neon, Isa::V4Ifma)
        };
        own.check_architecture().unwrap();
        own.check_portable().unwrap();
        Isa::Native.check_architecture().unwrap();
        for isa in [foreign, Isa::Native] {
            let refused = isa.check_portable().unwrap_err();
            let hint = refused.hint.unwrap();
            assert!(hint.contains(&own.to_string()), "{hint}");
            assert!(
                !hint.contains(&foreign.to_string()) && !hint.contains("native"),
                "{hint}"
            );
        }
        assert!(foreign.check_architecture().is_err());
    }

    #[test]
    fn target_features_are_an_instruction_set() {
        let with = |features: &[&str]| {
            Isa::with_features(
                &features
                    .iter()
                    .map(|feature| (*feature).to_owned())
                    .collect(),
            )
        };
        let v4 = [
            "avx2", "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl",
        ];
        assert_eq!(with(&["sse2"]), Isa::Generic);
        assert_eq!(with(&["avx", "avx2"]), Isa::V3);
        assert_eq!(with(&["avx2", "avx512f", "avx512ifma"]), Isa::V3);
        assert_eq!(with(&v4), Isa::V4);
        assert_eq!(with(&[&v4[..], &["avx512ifma"]].concat()), Isa::V4Ifma);
        assert_eq!(with(&["aes", "neon"]), Isa::Neon);
    }

    #[test]
    fn what_this_cpu_is_can_always_run() {
        Isa::Native.check().unwrap();
        Isa::Generic.check().unwrap();
        let best = Isa::best();
        best.check().unwrap();
        assert_ne!(best, Isa::Native);
    }
}
