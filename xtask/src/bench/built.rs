//! Workers that are built on one machine and measured on another: a folder with the executables, this tool, and what is compared.
//! The other machine needs neither cargo nor a compiler.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::{ARCH, OS};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::bench::build::{PORTABLE, TOOL};
use crate::project::Project;
use p3_patches::catalog::difference::Difference;
use p3_patches::commands::joined;
use paired::address::{argument_without_credentials, without_credentials};
use paired::cargo::Toolchain;
use paired::error::Failure;
use paired::files::dir::{Dir, cannot_write};
use paired::files::plain;
use paired::isa::Isa;
use paired::run::pairs::{Copies, Workers};
use paired::run::protocol::{LONGEST_NAME, is_control};
use paired::terminal::shown;

/// Says what is in the folder. Written last.
const FACTS: &str = "built.toml";

/// A comparison as the command line names it, and the compiler of its workers.
#[derive(Deserialize, Serialize)]
pub struct Subject {
    #[serde(flatten)]
    pub difference: Difference,
    /// The patches that the command line names; none stand for the whole series.
    pub asked: Vec<String>,
    pub toolchain: Toolchain,
}

/// The contents of [`FACTS`].
#[derive(Deserialize, Serialize)]
pub struct Built {
    /// The command, as it was typed.
    command: String,
    /// The flags of the compiler beside those of the instruction sets.
    #[serde(default)]
    pub rustflags: String,
    /// The hash of each patch's code: what else a patch says makes the same executable.
    code: BTreeMap<String, String>,
    pub subject: Subject,
    /// The SHA-256 of the executables, by instruction set and side.
    workers: BTreeMap<String, BTreeMap<String, String>>,
}

/// The comparison that a command of `ab --build-only` names.
pub struct Named {
    pub patches: Vec<String>,
    pub base: Option<String>,
    pub is_step: bool,
}

/// The folder in which workers wait for their machine.
pub struct Folder(Dir);

impl Folder {
    /// Creates the folder if need be; refuses one with anything but earlier workers.
    pub fn create(path: &Path) -> Result<Self> {
        let dir = Dir::create(path)?;
        if dir.read(FACTS)?.is_none() && !dir.entries()?.is_empty() {
            let what = format!("{}: not empty, and without {FACTS}", shown(path));
            return Err(Failure::input(what)
                .hint("name a new folder, or one that --build-only has written")
                .into());
        }
        Ok(Self(dir))
    }

    /// Puts the workers and the tool there, in place of earlier ones.
    pub fn fill(
        &self,
        command: String,
        subject: Subject,
        project: &Project,
        workers: &[(Isa, Workers)],
        tool: &Path,
    ) -> Result<()> {
        let Self(dir) = self;
        for isa in Isa::value_variants() {
            dir.remove(isa.to_string().as_ref())?;
        }
        dir.remove(TOOL.as_ref())?;
        let copy = |from: &Path, to: &Path| {
            let copied = plain::copy(from, to);
            copied.map_err(|error| cannot_write(to, &error))
        };
        copy(tool, &dir.path().join(TOOL))?;
        let mut built = Built {
            command,
            rustflags: PORTABLE.to_owned(),
            code: (project.catalog).codes(&subject.difference.base, &subject.difference.patches)?,
            subject,
            workers: BTreeMap::new(),
        };
        for (isa, workers) in workers {
            dir.create_folder(isa.to_string())?;
            let placed = placed(dir.path(), *isa);
            copy(&workers.baseline, &placed.baseline)?;
            copy(&workers.candidate, &placed.candidate)?;
            built.workers.insert(isa.to_string(), placed.sha256()?);
        }
        let facts = toml::to_string(&built)?;
        dir.place(FACTS)?.stage(dir, facts.as_bytes())?.put()
    }
}

/// Lists the files and folders that a folder of workers has.
pub fn inputs(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let isas = Isa::value_variants().iter().map(Isa::to_string);
    let names = isas.chain([FACTS, TOOL].map(str::to_owned));
    names.map(|name| dir.join(name))
}

/// Tells where the folder has the workers for an instruction set.
fn placed(dir: &Path, isa: Isa) -> Workers {
    let dir = dir.join(isa.to_string());
    Workers {
        baseline: dir.join("baseline"),
        candidate: dir.join("candidate"),
    }
}

impl Built {
    /// Reads what a folder has; refuses it where the patches of the checkout are other ones than it was built from. `parse` reads the words of the
    /// command that has built it, if that can be one.
    pub fn read(
        dir: &Path,
        project: &Project,
        parse: impl FnOnce(&[String]) -> Option<Named>,
    ) -> Result<Self> {
        let path = dir.join(FACTS);
        let refused = |why: String| Failure::input(format!("{}: {why}", shown(&path)));
        let unreadable =
            |why: String| refused(why).hint("`cargo p3 ab --build-only DIR` writes such a folder");
        let dir = dir.is_dir().then(|| Dir::open(dir)).transpose()?;
        let facts = dir.map(|dir| dir.read(FACTS)).transpose()?.flatten();
        let facts = facts.ok_or_else(|| unreadable("no such file".to_owned()))?;
        let mut built: Self =
            toml::from_slice(&facts).map_err(|error| unreadable(error.to_string()))?;
        let command = built.assert_names().map_err(unreadable)?;
        let version = &mut built.subject.toolchain.version;
        *version = without_credentials(version);
        let named = parse(&command).ok_or_else(|| {
            unreadable("command: not one of `cargo p3 ab --build-only`".to_owned())
        })?;
        let Subject {
            difference, asked, ..
        } = &built.subject;
        let Difference {
            base,
            baseline_patches: below,
            patches: names,
            ..
        } = difference;
        let (_, chosen) = project
            .catalog
            .chosen(Some(base), asked)
            .with_context(|| shown(&path))?;
        let stacked_on = project.catalog.below(&Version::parse(base)?, asked)?;
        if *names != chosen || !below.is_empty() && *below != stacked_on {
            let asked = match &asked[..] {
                [] => "the whole series".to_owned(),
                asked => asked.join(" "),
            };
            return Err(refused(format!(
                "not the patches that {asked} stands for in this checkout"
            ))
            .hint("check out the commit that they were built from, or build them again")
            .into());
        }
        let of_command = match named.base {
            Some(base) => base,
            None => project.catalog.chosen(None, asked)?.0,
        };
        if of_command != *base {
            let why = format!("command: for Plonky3 {of_command}, and not for {base}");
            return Err(unreadable(why).into());
        }
        if named.patches != *asked || named.is_step == below.is_empty() {
            let why = "command: not that of these patches".to_owned();
            return Err(unreadable(why).into());
        }
        let here = project.catalog.codes(base, names)?;
        let known = here.keys().chain(built.code.keys());
        let differ = known.filter(|name| here.get(*name) != built.code.get(*name));
        let differ: BTreeSet<&str> = differ.map(String::as_str).collect();
        if !differ.is_empty() {
            let differ = differ.into_iter().collect::<Vec<_>>().join(", ");
            return Err(refused(format!(
                "built from other code than this checkout has: {differ}"
            ))
            .hint("check out the commit that they were built from, or build them again")
            .into());
        }
        Ok(built)
    }

    /// Checks the names that become parts of a path, a command or a table; returns the words of the command.
    fn assert_names(&self) -> Result<Vec<String>, String> {
        const LONGEST_COMMAND: usize = 1 << 16;
        let Subject {
            difference,
            asked,
            toolchain,
        } = &self.subject;
        Version::parse(&difference.base).map_err(|error| format!("base: {error}"))?;
        if difference.reverted {
            return Err("reverted: --build-only builds no reversed patches".to_owned());
        }
        if !is_like_this_one(&toolchain.host) {
            return Err(format!(
                "host: no platform of {ARCH} and {OS}, as this machine has"
            ));
        }
        let mut seen = BTreeSet::new();
        if let Some(name) = asked.iter().find(|name| !seen.insert(*name)) {
            return Err(format!("asked: {name:?} is there twice"));
        }
        if !["", PORTABLE].contains(&&*self.rustflags) {
            return Err(format!(
                "rustflags: {:?} is none of --build-only",
                self.rustflags
            ));
        }
        if toolchain.version.trim().is_empty() {
            return Err("version: is empty".to_owned());
        }
        for (field, text, longest) in [
            ("command", &self.command, LONGEST_COMMAND),
            ("version", &toolchain.version, LONGEST_NAME),
        ] {
            if text.contains(is_control) {
                return Err(format!("{field}: has control characters"));
            }
            if text.len() > longest {
                return Err(format!("{field}: longer than {longest} bytes"));
            }
        }
        let words = shlex::split(&self.command)
            .ok_or_else(|| "command: has a quote without its end".to_owned())?;
        if self.workers.is_empty() {
            return Err("no workers".to_owned());
        }
        let known = |name: &&String| {
            Isa::value_variants()
                .iter()
                .any(|isa| isa.to_string() == **name)
        };
        match self.workers.keys().find(|name| !known(name)) {
            Some(name) => Err(format!("workers: {name:?} is no instruction set")),
            None => Ok(words),
        }
    }

    /// Returns the instruction sets that are `asked` for, or else all; refuses one that nothing was built for.
    pub fn isas(&self, asked: &[Isa]) -> Result<Vec<Isa>> {
        let all = Isa::value_variants().iter().copied();
        let all = all.filter(|isa| self.workers.contains_key(&isa.to_string()));
        let all: Vec<Isa> = all.collect();
        if let Some(missing) = asked.iter().find(|isa| !all.contains(isa)) {
            let all: Vec<String> = all.iter().map(Isa::to_string).collect();
            return Err(
                Failure::input(format!("{missing}: no workers were built for it"))
                    .hint(format!("there are some for {}", all.join(", ")))
                    .into(),
            );
        }
        Ok(if asked.is_empty() {
            all
        } else {
            asked.to_vec()
        })
    }

    /// Copies the workers in the folder; refuses executables that are not those that were built.
    pub fn copies(&self, dir: &Path, isas: &[Isa]) -> Result<Vec<(Isa, Copies)>> {
        let checked = |&isa: &Isa| {
            let workers = placed(dir, isa);
            let folder = dir.join(isa.to_string());
            if !folder.is_dir() {
                let what = format!("{}: no folder of workers", shown(&folder));
                return Err(Failure::input(what)
                    .hint("copy that folder again, or name the instruction sets that there are with --isa")
                    .into());
            }
            assert_executable(&workers.baseline)?;
            assert_executable(&workers.candidate)?;
            let copies = workers.copy()?;
            // The copies run, whatever becomes of the folder.
            let found = copies.workers().sha256()?;
            if self.workers.get(&isa.to_string()) != Some(&found) {
                let what = format!("{}: not the executables of {FACTS}", shown(&folder));
                return Err(Failure::input(what).hint("copy the folder again").into());
            }
            Ok((isa, copies))
        };
        isas.iter().map(checked).collect()
    }

    /// Returns the command that builds and measures this in one go: that of the build, with the options of the one that measures,
    /// which is `typed`.
    pub fn command(&self, typed: &str, isas: &[Isa]) -> String {
        let mut words = without(&self.command, &["--build-only", "--isa"]);
        for isa in isas {
            words.extend(["--isa".to_owned(), isa.to_string()]);
        }
        let options = without(typed, &["--built", "--isa"]).into_iter();
        words.extend(options.skip_while(|word| word != "ab").skip(1));
        let words: Vec<String> = (words.iter())
            .map(|word| argument_without_credentials(word))
            .collect();
        joined(&words)
    }
}

/// Refuses a file that its owner may not execute; one that is not there is refused where it is copied.
fn assert_executable(path: &Path) -> Result<(), Failure> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o100 == 0 => {
            let what = format!("{}: not executable", shown(path));
            Err(Failure::input(what)
                .hint("`chmod +x` the two workers there: the archive of a workflow's artifact drops that bit"))
        }
        _ => Ok(()),
    }
}

/// Tells whether a platform has this machine's architecture and system, from whatever vendor and with whatever C library.
fn is_like_this_one(host: &str) -> bool {
    let system = if OS == "macos" { "darwin" } else { OS };
    let is_vendor = |part: &str| part.len() < 32 && part.bytes().all(|c| c.is_ascii_lowercase());
    match host.split('-').collect::<Vec<_>>()[..] {
        [arch, vendor, of] => arch == ARCH && of == system && is_vendor(vendor),
        [arch, vendor, of, library] => {
            arch == ARCH && of == system && is_vendor(vendor) && ["gnu", "musl"].contains(&library)
        }
        _ => false,
    }
}

/// Returns the words of a command without these options and their values.
pub fn without(command: &str, options: &[&str]) -> Vec<String> {
    let mut words = shlex::split(command).unwrap_or_default().into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let option = word.split('=').next().unwrap_or_default();
        if !options.contains(&option) {
            kept.push(word);
        } else if option == word {
            words.next();
        }
    }
    kept
}
