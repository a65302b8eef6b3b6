//! The machine of a comparison, with its compiler.

use std::process::Command;
use std::{fs, thread};

use serde::{Deserialize, Serialize};

use crate::cargo::Toolchain;
use crate::interrupt;
use crate::isa::Isa;
use crate::run::protocol::{MOST_THREADS, check_line};
use crate::text;

/// The microarchitectures of CPUs: a part of the system's name, the family, the model, and what the vendor calls it.
const NAMES: [(&str, u32, u32, &str); 16] = [
    ("AMD", 23, 1, "AMD Zen"),
    ("AMD", 23, 49, "AMD Zen 2"),
    ("AMD", 25, 1, "AMD Zen 3"),
    ("AMD", 25, 17, "AMD Zen 4"),
    ("AMD", 25, 33, "AMD Zen 3"),
    ("AMD", 25, 97, "AMD Zen 4"),
    ("AMD", 25, 160, "AMD Zen 4c"),
    ("AMD", 26, 2, "AMD Zen 5"),
    ("AMD", 26, 17, "AMD Zen 5c"),
    ("AMD", 26, 68, "AMD Zen 5"),
    ("Intel", 6, 85, "Intel Skylake or Cascade Lake"),
    ("Intel", 6, 106, "Intel Ice Lake"),
    ("Intel", 6, 143, "Intel Sapphire Rapids"),
    ("Intel", 6, 167, "Intel Rocket Lake"),
    ("Intel", 6, 173, "Intel Granite Rapids"),
    ("Intel", 6, 207, "Intel Emerald Rapids"),
];

/// Returns a CPU's name for a reader: the microarchitecture with family and model, where the table of names has it, else the name as
/// [`cpu`] returned it.
#[must_use]
pub fn known_as(cpu: &str) -> String {
    let known = NAMES.iter().find_map(|(vendor, family, model, name)| {
        let numbers = format!("(family {family}, model {model})");
        let is_this = cpu.starts_with(vendor) && cpu.ends_with(&numbers);
        is_this.then(|| format!("{name} {numbers}"))
    });
    known.unwrap_or_else(|| cpu.to_owned())
}

/// The machine and the build of a comparison.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Machine {
    /// The name of the CPU, as [`cpu`] returns it.
    #[serde(deserialize_with = "text::name")]
    pub cpu: String,
    /// The number of cores that the process may use, 1 or more.
    pub cores: usize,
    /// The first line of `rustc -vV`.
    #[serde(deserialize_with = "text::name")]
    pub rustc: String,
    /// The compiler flags; with several instruction sets, `ISA: FLAGS` of each, with `; ` between them.
    #[serde(deserialize_with = "text::line")]
    pub rustflags: String,
}

impl Machine {
    /// Checks that the machine has a core, and texts that can be read again; an error says which one it is.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            cpu,
            cores,
            rustc,
            rustflags,
        } = self;
        for (field, text) in [("cpu", cpu), ("rustc", rustc), ("rustflags", rustflags)] {
            check_line(text).map_err(|why| format!("{field}: {why}"))?;
        }
        match cores {
            0 => Err("cores: none".to_owned()),
            1..=MOST_THREADS => Ok(()),
            cores => Err(format!("cores: {cores}, more than any machine has")),
        }
    }

    /// Describes this machine, with builds of this compiler for `isas` that have `more` flags.
    pub fn here(toolchain: &Toolchain, isas: &[Isa], more: &str) -> Self {
        Self {
            cpu: cpu(),
            cores: thread::available_parallelism().map_or(1, usize::from),
            rustc: toolchain.version.clone(),
            rustflags: rustflags(isas, more),
        }
    }

    /// Returns the machine with the flags of one instruction set only, where it has those of several.
    #[must_use]
    pub fn with_isa(&self, isa: &str) -> Self {
        let mut each = self.rustflags.split("; ");
        let own = each.find_map(|flags| flags.strip_prefix(isa)?.strip_prefix(": "));
        let rustflags = own.unwrap_or(&self.rustflags);
        Self {
            rustflags: rustflags.to_owned(),
            ..self.clone()
        }
    }
}

/// Joins the flags of each instruction set and `more`, with its name before them where there are several.
fn rustflags(isas: &[Isa], more: &str) -> String {
    let flags = |isa: &Isa| [isa.rustflags(), more].join(" ").trim().to_owned();
    match isas {
        [isa] => flags(isa),
        isas => {
            let each = isas.iter().map(|isa| format!("{isa}: {}", flags(isa)));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

/// Returns the CPU's name as the system gives it, on x86 Linux with its family and model, since many CPUs share a name in virtual
/// machines.
pub fn cpu() -> String {
    let named = if cfg!(target_os = "macos") {
        let mut sysctl = Command::new("sysctl");
        let output = interrupt::output(sysctl.args(["-n", "machdep.cpu.brand_string"]));
        output
            .ok()
            .and_then(|output| String::from_utf8(output.stdout).ok())
    } else {
        fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let field = |name: &str| {
                let mut lines = text.lines().filter_map(|line| line.split_once(':'));
                let (_, value) = lines.find(|(field, _)| field.trim_end() == name)?;
                Some(value.trim())
            };
            let (name, family, model) = (field("model name")?, field("cpu family"), field("model"));
            Some(match family.zip(model) {
                Some((family, model)) => format!("{name} (family {family}, model {model})"),
                None => name.to_owned(),
            })
        })
    };
    // On aarch64 Linux the kernel gives numbers only.
    named.map_or_else(
        || format!("unnamed {} CPU", std::env::consts::ARCH),
        |name| name.trim().to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_known_by_vendor_family_and_model() {
        for (cpu, name) in [
            (
                "AMD EPYC (family 25, model 1)",
                "AMD Zen 3 (family 25, model 1)",
            ),
            (
                "Intel(R) Xeon(R) Processor (family 6, model 207)",
                "Intel Emerald Rapids (family 6, model 207)",
            ),
            // Neither a longer number nor another vendor's.
            (
                "AMD EPYC (family 25, model 11)",
                "AMD EPYC (family 25, model 11)",
            ),
            ("VIA (family 6, model 207)", "VIA (family 6, model 207)"),
            ("Apple M2", "Apple M2"),
        ] {
            assert_eq!(known_as(cpu), name);
        }
    }
}
