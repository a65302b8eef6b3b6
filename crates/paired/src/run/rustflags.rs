//! The compiler flags that cargo uses in a folder, and the command that adds to them.
//!
//! Cargo uses the first of four sources that has any flags: `CARGO_ENCODED_RUSTFLAGS`, `RUSTFLAGS`, the tables `[target]` of its
//! configuration that match, `[build]` of its configuration. The last two have a variable each, whose flags join those of the
//! files.

use std::env;
use std::path::Path;
use std::process::Command;
use std::str::FromStr as _;

use anyhow::Result;
use cargo_metadata::cargo_platform::{Cfg, Platform};
use serde_json::Value;

use crate::cargo::configuration;
use crate::interrupt;

const ENCODED: &str = "CARGO_ENCODED_RUSTFLAGS";
const PLAIN: &str = "RUSTFLAGS";

/// The compiler flags of a build, and their source.
pub struct Rustflags {
    /// The flags, as one word each.
    pub flags: Vec<String>,
    /// The variable to which a user adds flags.
    variable: String,
    /// The flags of the configuration that a variable overrides, and the variable that would add to them.
    replaced: Option<(Vec<String>, String)>,
}

impl Rustflags {
    /// Reads the flags for the triple `target` in a folder, with the values `configs` of `--config`. `rustc` is asked for the
    /// `cfg`s of the target. Fails where cargo cannot read its configuration.
    pub fn read(
        mut rustc: Command,
        folder: &Path,
        configs: &[String],
        target: &str,
    ) -> Result<Self> {
        let cfgs = interrupt::output(rustc.args(["--print", "cfg", "--target", target]))?.stdout;
        let cfgs = String::from_utf8_lossy(&cfgs);
        let cfgs = cfgs.lines().filter_map(|cfg| Cfg::from_str(cfg).ok());
        let cfgs = cfgs.collect::<Vec<_>>();
        let fits = |key: &str| {
            Platform::from_str(key).is_ok_and(|platform| platform.matches(target, &cfgs))
        };
        let tables = configuration(folder, "target", configs)?;
        let tables = tables.as_object().into_iter().flatten();
        let tables = tables.filter(|(key, _)| fits(key));
        let mut flags = tables
            .flat_map(|(_, table)| words(&table["rustflags"]))
            .collect::<Vec<_>>();
        let name = target.to_uppercase().replace(['-', '.'], "_");
        let mut variable = format!("CARGO_TARGET_{name}_RUSTFLAGS");
        flags.extend(split(&value_of(&variable)));
        if flags.is_empty() {
            flags = words(&configuration(folder, "build.rustflags", configs)?);
            variable = "CARGO_BUILD_RUSTFLAGS".to_owned();
        }
        let by = [ENCODED, PLAIN]
            .into_iter()
            .find(|by| env::var_os(by).is_some());
        let Some(by) = by else {
            if flags.is_empty() {
                variable = PLAIN.to_owned();
            }
            return Ok(Self {
                flags,
                variable,
                replaced: None,
            });
        };
        let separator = if by == ENCODED { '\x1f' } else { ' ' };
        let own = value_of(by);
        let own = own.split(separator).filter(|flag| !flag.is_empty());
        Ok(Self {
            flags: own.map(str::to_owned).collect(),
            variable: by.to_owned(),
            replaced: (!flags.is_empty()).then_some((flags, variable)),
        })
    }

    /// Tells whether a flag makes errors of lints.
    #[must_use]
    pub fn denies_lints(&self) -> bool {
        const DENY: [&str; 4] = ["-D", "--deny", "-F", "--forbid"];
        let mut flags = self.flags.iter();
        flags.any(|flag| DENY.iter().any(|deny| flag.starts_with(deny)))
    }

    /// Returns the shell command that adds `-C target-cpu=native` to the flags.
    pub fn for_this_cpu(&self) -> String {
        let variable = &self.variable;
        match (value_of(variable).is_empty(), &**variable) {
            (true, ENCODED) => format!("export {variable}=-Ctarget-cpu=native"),
            (true, _) => format!("export {variable}=\"-C target-cpu=native\""),
            (false, ENCODED) => {
                format!("export {variable}=\"${variable}$(printf '\\037')-Ctarget-cpu=native\"")
            }
            (false, _) => format!("export {variable}=\"${variable} -C target-cpu=native\""),
        }
    }

    /// Returns the advice for a build that may lack flags of the configuration, where a variable overrides them.
    pub(crate) fn missed(&self) -> Option<String> {
        let (flags, variable) = self.replaced.as_ref()?;
        let by = &self.variable;
        let moved = match &**by {
            ENCODED => String::new(),
            _ => format!("export {variable}=\"${variable} ${by}\"; "),
        };
        Some(format!(
            "{by} overrides the flags of cargo's configuration, {}; `{moved}unset {by}` restores them",
            flags.join(" ")
        ))
    }
}

fn value_of(variable: &str) -> String {
    env::var(variable).unwrap_or_default()
}

/// Returns the flags in a value of the configuration, a string or a list.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => split(text),
        _ => {
            let items = value.as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        }
    }
}

fn split(flags: &str) -> Vec<String> {
    flags.split_whitespace().map(str::to_owned).collect()
}
