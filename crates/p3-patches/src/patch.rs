//! A patch file: a header that says why the change exists and where it goes, then a git diff in upstream's paths. The text of
//! the kernels that the header names stands in the optimization's crate; a loaded patch adds them as if its diff did.
//!
//! The format is documented for authors in `patches/README.md`; this module is its other half and refuses whatever
//! that text does not allow. diffy parses the hunks. Placing them is done here, because an offset has to be
//! reported, an ambiguous one refused, and a mismatch shown line by line, none of which diffy's `apply` gives.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::ops::Range;

use anyhow::Result;
use cargo_metadata::semver::Version;
use diffy::{HunkRange, Line};

use crate::error::Failure;
use crate::isa::Isa;
use crate::project::Patches;
use crate::source::{Package, sha256};

/// The line between the header and the diff, as `git format-patch` writes it.
const SEPARATOR: &str = "\n---\n";

/// The last lines of every patch file. A diff cut off between two hunks still parses; without this it is truncated.
pub const END: &str = "-- \np3-patches\n";

/// The files that a crate has below its `src/` besides kernels.
pub const CRATES_OWN: [&str; 3] = ["lib.rs", "tests.rs", "tests"];

/// One optimization, as written for a base.
#[derive(Clone, Debug)]
pub struct Patch {
    pub name: String,
    /// Where the patch is, as shown to the user.
    pub shown: String,
    pub header: Header,
    /// The files of the diff and the kernels, in the order of their paths.
    pub files: Vec<FilePatch>,
    /// Of the text with the kernels in the diff.
    pub sha256: String,
    /// The text up to and including the separator, kept as written for `refresh`.
    preamble: String,
}

/// A file that a patch adds, and that its crate has a place for.
pub struct Addition<'p> {
    /// The file in upstream's repository.
    pub path: &'p str,
    /// Its place below the crate's `src/`.
    pub place: &'p str,
    pub text: String,
    /// Whether the crate has the text, not the diff.
    pub is_kernel: bool,
}

/// The fields at the top of a patch file.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Title of the upstream commit.
    pub title: String,
    /// The crates.io packages whose files the diff touches.
    pub packages: Vec<String>,
    /// The files that the patch adds and whose text the optimization's crate has, by their paths in upstream's repository.
    pub kernels: Vec<String>,
    /// The Plonky3 releases that the patch has been ported to.
    pub bases: Vec<String>,
    pub needs: Vec<String>,
    /// The architectures, as rustc calls them, whose builds the patch changes; empty where it changes all.
    pub architectures: Vec<String>,
    /// The target features, each as `+NAME`, of the leg that upstream's CI lacks for the code that the patch adds; empty
    /// where it has one.
    pub ci_features: Vec<String>,
    /// `low`, `medium` or `high`, and of what.
    pub risk: String,
    /// The upstream pull request, or `not yet`.
    pub forwarded: String,
    /// The release that contains the change, or `no`.
    pub applied_upstream: String,
    /// Why the change exists; becomes the body of the commit.
    pub body: String,
}

/// A diff's change to one file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    Create,
    Modify,
    Delete,
}

/// The diff of one file.
#[derive(Clone, Debug)]
pub struct FilePatch {
    /// The file in upstream's repository, with `/` between its parts.
    pub path: String,
    pub change: Change,
    /// One section of the diff; parsed when it was loaded, so it parses again.
    text: String,
}

/// Which way a patch is applied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    Forward,
    Reverse,
}

/// A text with the hunks applied that have a place in it.
pub struct Placed {
    pub after: String,
    /// Each hunk, in order.
    pub spots: Vec<Result<Spot, Misfit>>,
}

/// The place of a hunk in a text.
#[derive(Debug)]
pub struct Spot {
    /// The hunk's number, counted from 1.
    pub hunk: usize,
    /// The lines whose place it takes, counted from 0.
    pub lines: Range<usize>,
    /// How far that is from where it says.
    pub offset: isize,
}

/// Why a hunk has no place in a file.
#[derive(Debug, Eq, PartialEq)]
pub enum Misfit {
    /// The file and the hunk part ways at this line (1-based).
    Differs {
        hunk: usize,
        line: usize,
        /// `None` stands for the end of the file, here and below.
        expected: Option<String>,
        found: Option<String>,
    },
    /// The hunk is not where its header says, and fits these lines (1-based) equally well.
    Ambiguous { hunk: usize, lines: Vec<usize> },
}

impl Patch {
    /// Reads the patch `name` for `base`.
    pub fn load(patches: &Patches, base: &str, name: &str) -> Result<Self> {
        let home = Self::home(patches, base, name);
        let path = Self::path(home.as_deref().unwrap_or(base), name);
        let shown = patches.shown(&path);
        let bytes = patches.read(&path)?.ok_or_else(|| {
            Failure::input(format!("{shown}: no such patch"))
                .hint(format!("`{name}` has not been ported to Plonky3 {base}"))
        })?;
        let text = str::from_utf8(&bytes)
            .map_err(|_| Failure::input(format!("{shown}: not UTF-8 text")))?;
        Self::parse(name, &shown, text, |place| patches.kernel(name, place))
    }

    /// Whether `name` has been ported to `base`.
    pub fn exists(patches: &Patches, base: &str, name: &str) -> bool {
        Self::home(patches, base, name).is_some()
    }

    /// The release whose folder holds the text of `name` for `base`: `base` itself, else the nearest newer one whose text
    /// says in `Bases:` that it is for `base`, too.
    pub fn home(patches: &Patches, base: &str, name: &str) -> Option<String> {
        if patches.has(&Self::path(base, name)) {
            return Some(base.to_owned());
        }
        let release = Version::parse(base).ok()?;
        let newer = patches.releases().ok()?.into_iter();
        newer
            .filter(|other| *other > release)
            .map(|other| other.to_string())
            .find(|other| {
                let header = Self::header(patches, other, name);
                header.is_some_and(|header| header.bases.iter().any(|named| named == base))
            })
    }

    /// The header of the text of `name` in the folder of `base`. One that cannot be read is reported where the patch is
    /// loaded.
    pub fn header(patches: &Patches, base: &str, name: &str) -> Option<Header> {
        let text = patches.read(&Self::path(base, name)).ok().flatten()?;
        let (header, _) = str::from_utf8(&text).ok()?.split_once(SEPARATOR)?;
        parse_header(header).ok()
    }

    /// Where a text of `name` for `base` alone is kept, below the folder of patches.
    pub fn path(base: &str, name: &str) -> String {
        format!("{base}/{name}.patch")
    }

    /// Parses a patch file's text; `shown` is the path that errors name, and `kernel` reads a file below the crate's `src/`.
    pub fn parse<'k>(
        name: &str,
        shown: &str,
        text: &str,
        kernel: impl Fn(&str) -> Result<Option<Cow<'k, [u8]>>>,
    ) -> Result<Self> {
        let refuse = |line: usize, what: &str| Failure::input(format!("{shown}:{line}: {what}"));
        if text.contains("\r\n---\r\n") {
            return Err(refuse(1, "CRLF line ends; a patch has LF")
                .hint("set core.autocrlf to false")
                .into());
        }
        let Some((header, diff)) = text.split_once(SEPARATOR) else {
            return Err(refuse(
                text.lines().count(),
                "no `---` line between the header and the diff",
            )
            .hint("the file is truncated, or no patch; patches/README.md has the format")
            .into());
        };
        let preamble = &text[..header.len() + SEPARATOR.len()];
        let header = parse_header(header).map_err(|(line, what)| {
            refuse(line, &what).hint("patches/README.md lists the fields of the header")
        })?;
        let Some(diff) = diff.strip_suffix(END) else {
            return Err(refuse(
                text.lines().count(),
                "truncated: the last two lines are not `-- ` and `p3-patches`",
            )
            .hint("restore the file from git, or write it again with `refresh`")
            .into());
        };
        let mut files = parse_diff(diff).map_err(|(line, what)| {
            refuse(preamble.lines().count() + line, &what)
                .hint("patches/README.md says what a patch may be; `refresh` writes one that is")
        })?;
        let mut field = preamble.lines();
        let field = 1 + field
            .position(|line| line.starts_with("Kernels:"))
            .unwrap_or(0);
        let mut places = BTreeMap::new();
        for path in &header.kernels {
            check_path(path).map_err(|what| refuse(field, &format!("{path:?}: {what}")))?;
            let Some(place) = place_of(path) else {
                let what = format!("{path} has no place in a crate of kernels");
                return Err(refuse(field, &what)
                    .hint(format!(
                        "a kernel is below a package's `src/`, and there none of {}, which crates have for themselves; \
                         add this file by the diff",
                        CRATES_OWN.join(", ")
                    ))
                    .into());
            };
            if let Some(other) = places.insert(place, path) {
                let what = format!("{other} and {path} would both be crates/{name}/src/{place}");
                return Err(refuse(field, &what).hint("rename one of the two").into());
            }
            if files.iter().any(|file| file.path == *path) {
                let what = format!("`Kernels:` names {path}, which the diff has too");
                return Err(refuse(field, &what)
                    .hint("take it out of the field, or out of the diff")
                    .into());
            }
            let Some(contents) = kernel(place)? else {
                let what =
                    format!("`Kernels:` names {path}, but there is no crates/{name}/src/{place}");
                return Err(refuse(field, &what)
                    .hint("restore that file from git, or take it out of the field")
                    .into());
            };
            let contents = str::from_utf8(&contents).map_err(|_| {
                refuse(
                    field,
                    &format!("crates/{name}/src/{place} is not UTF-8 text"),
                )
            })?;
            if contents.is_empty() {
                return Err(refuse(field, &format!("crates/{name}/src/{place} is empty")).into());
            }
            let file = FilePatch::create(path, contents)
                .map_err(|what| refuse(field, &format!("crates/{name}/src/{place}: {what}")))?;
            files.push(file);
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let mut patch = Self {
            name: name.to_owned(),
            shown: shown.to_owned(),
            header,
            files,
            sha256: String::new(),
            preamble: preamble.to_owned(),
        };
        patch.sha256 = sha256([preamble, &patch.diff(), END].concat().as_bytes());
        Ok(patch)
    }

    /// Applies the patch to `packages`, exactly or not at all, and returns a note for each hunk that was found
    /// at an offset from the line it names.
    pub fn apply(&self, packages: &mut [Package], direction: Direction) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for file in &self.files {
            let (package, path) = self.owner(file, packages)?;
            let name = &file.path;
            let refuse = |what: String| {
                Failure::input(format!(
                    "{}: does not apply to {} {}: {what}",
                    self.shown, package.name, package.version
                ))
                .hint(
                    "port the patch with `edit` and `refresh`, or pick the base it was written for",
                )
            };
            let before = package.files.get(path);
            let creates = match direction {
                Direction::Forward => Change::Create,
                Direction::Reverse => Change::Delete,
            };
            if (file.change == creates) == before.is_some() {
                let state = if before.is_some() {
                    "exists already"
                } else {
                    "does not exist"
                };
                return Err(refuse(format!("{name} {state}")).into());
            }
            if file.change == creates
                && let Some(other) = in_the_way(path, &package.files)
            {
                let what = format!("{name} cannot stand beside {other}: one is the other's folder");
                return Err(refuse(what).into());
            }
            let before = str::from_utf8(before.map_or(&[][..], Vec::as_slice))
                .map_err(|_| refuse(format!("{name} is not UTF-8 text")))?;
            let (after, offsets) = file
                .place(before, direction)
                .map_err(|misfit| refuse(misfit.describe(name)))?;
            notes.extend(offsets.into_iter().map(|(hunk, offset)| {
                format!(
                    "{}: {name}: hunk {hunk} applies at an offset of {offset:+} lines",
                    self.shown
                )
            }));
            let removes = file.change != Change::Modify && file.change != creates;
            if removes && after.is_empty() {
                package.files.remove(path);
            } else if removes {
                return Err(refuse(format!("{name} has more lines than the patch deletes")).into());
            } else {
                package.files.insert(path.to_owned(), after.into_bytes());
            }
        }
        Ok(notes)
    }

    /// The diff of every file, kernels included.
    pub fn diff(&self) -> String {
        self.files.iter().map(|file| file.text.as_str()).collect()
    }

    /// The SHA-256 of the code that the patch adds and removes in each file. Blank lines, lines of comments, indentation and
    /// context are left out: patches that differ in these alone make the same program.
    pub fn code(&self) -> String {
        let mut code = String::new();
        for file in &self.files {
            code += &format!("{}\n", file.path);
            let hunks = file.text.lines().skip_while(|line| !line.starts_with("@@"));
            for line in hunks {
                let changed = line.strip_prefix(['+', '-']).map(str::trim);
                let is_code = |text: &&str| !text.is_empty() && !text.starts_with("//");
                if let Some(text) = changed.filter(is_code) {
                    code += &format!("{}{text}\n", &line[..1]);
                }
            }
        }
        sha256(code.as_bytes())
    }

    /// The patch as a file that names `base` among its releases and leaves these files' text to the crate.
    pub fn text(&self, base: &str, kernels: &[String]) -> String {
        let own = (self.files.iter()).filter(|file| !kernels.contains(&file.path));
        let diff = own.map(|file| file.text.as_str()).collect::<String>();
        self.preamble_for(base, kernels) + &diff + END
    }

    /// The text up to and including the separator, with `base` among the releases that it names, newest first, and these
    /// kernels.
    pub fn preamble_for(&self, base: &str, kernels: &[String]) -> String {
        let kernels = match kernels {
            [] => String::new(),
            kernels => format!("Kernels: {}\n", kernels.join(", ")),
        };
        let (fields, rest) = (self.preamble.split_once("\n\n")).expect("the body is required");
        let mut preamble = String::new();
        for line in fields.lines() {
            let field = line.split_once(':').map(|(field, _)| field);
            match field.expect("parsed when the patch was loaded") {
                "Bases" if !self.header.bases.iter().any(|named| named == base) => {
                    let mut bases = [&self.header.bases[..], &[base.to_owned()]].concat();
                    bases.sort_by_key(|named| Reverse(Version::parse(named).ok()));
                    preamble += &format!("Bases: {}\n", bases.join(", "));
                }
                "Packages" => preamble += &format!("{line}\n{kernels}"),
                "Kernels" => {}
                _ => preamble += &format!("{line}\n"),
            }
        }
        format!("{preamble}\n{rest}")
    }

    /// The files that the patch adds, by its diff or as kernels, and that the optimization's crate has a place for.
    pub fn additions(&self) -> impl Iterator<Item = Addition<'_>> {
        self.files.iter().filter_map(|file| {
            Some(Addition {
                path: &file.path,
                place: place_of(&file.path)?,
                text: file.created()?,
                is_kernel: self.header.kernels.contains(&file.path),
            })
        })
    }

    /// The package that `file` belongs to, among those that the header names, and the file's path inside it.
    pub fn owner<'p, 'f>(
        &self,
        file: &'f FilePatch,
        packages: &'p mut [Package],
    ) -> Result<(&'p mut Package, &'f str)> {
        let named = packages
            .iter_mut()
            .filter(|package| self.header.packages.contains(&package.name));
        let mut folders = Vec::new();
        for package in named {
            if let Some(path) = package.inside(&file.path) {
                return Ok((package, path));
            }
            folders.push(format!("{}/", package.folder));
        }
        Err(Failure::input(format!(
            "{}: {} is in none of the packages that the header names ({})",
            self.shown,
            file.path,
            folders.join(", ")
        ))
        .hint("add the package to the field `Packages:`")
        .into())
    }
}

impl Header {
    /// The title without its `perf(PACKAGE): `.
    pub fn subject(&self) -> &str {
        let parts = self.title.split_once(": ");
        parts.map_or(&self.title, |(_, subject)| subject)
    }

    /// The release that contains the change.
    pub fn merged(&self) -> Option<Version> {
        Version::parse(&self.applied_upstream).ok()
    }

    /// Whether the patch may change builds for `isa`.
    pub fn changes(&self, isa: Isa) -> bool {
        let architecture = match isa {
            Isa::Neon => "aarch64",
            Isa::V3 | Isa::V4 | Isa::V4Ifma => "x86_64",
            Isa::Generic | Isa::Native => return self.architectures.is_empty(),
        };
        let named = &self.architectures;
        named.is_empty() || named.iter().any(|named| named == architecture)
    }

    /// Why the patch changes no build for this machine's architecture; `None` where it may.
    pub fn inert(&self) -> Option<String> {
        let named = &self.architectures;
        (!named.is_empty() && named.iter().all(|name| name != ARCH))
            .then(|| format!("{} only, inert on {ARCH} builds", named.join(" and ")))
    }
}

impl FilePatch {
    /// Adds a file, as git would write it.
    fn create(path: &str, contents: &str) -> Result<Self, String> {
        let mut options = diffy::DiffOptions::new();
        options.set_original_filename("/dev/null");
        options.set_modified_filename(format!("b/{path}"));
        let diff = options.create_patch("", contents);
        let text = format!("diff --git a/{path} b/{path}\nnew file mode 100644\n{diff}");
        parse_section(text).map_err(|(_, what)| what)
    }

    /// The file's text once the patch is applied, and the offset of each hunk that has one.
    fn place(
        &self,
        before: &str,
        direction: Direction,
    ) -> Result<(String, Vec<(usize, isize)>), Misfit> {
        let patch = diffy::Patch::from_str(&self.text).expect("parsed when the patch was loaded");
        match direction {
            Direction::Forward => place(before, &patch),
            Direction::Reverse => place(before, &patch.reverse()),
        }
    }

    /// As far as the patch can be applied.
    pub fn place_each(&self, before: &str) -> Placed {
        let patch = diffy::Patch::from_str(&self.text).expect("parsed when the patch was loaded");
        place_each(before, &patch)
    }

    /// The whole text of a file that the patch adds.
    fn created(&self) -> Option<String> {
        (self.change == Change::Create).then(|| {
            let (text, _) = self
                .place("", Direction::Forward)
                .expect("a new file's hunk fits an empty file");
            text
        })
    }
}

impl Misfit {
    /// The first line says where; the next two show what is there.
    pub fn describe(&self, path: &str) -> String {
        match self {
            Self::Differs {
                hunk,
                line,
                expected,
                found,
            } => {
                let shown = |line: &Option<String>| match line {
                    Some(line) => format!("{line:?}"),
                    None => "the end of the file".to_owned(),
                };
                let (expected, found) = (shown(expected), shown(found));
                format!(
                    "{path}: hunk {hunk} differs at line {line}\n  expected: {expected}\n  found:    {found}"
                )
            }
            Self::Ambiguous { hunk, lines } => {
                let lines = lines
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", ");
                format!(
                    "{path}: hunk {hunk} is not where it says and fits equally well at lines {lines}"
                )
            }
        }
    }
}

/// The patches among `names` that change no build for this machine's architecture, each with the reason.
pub fn inert(patches: &Patches, base: &str, names: &[String]) -> Result<BTreeMap<String, String>> {
    let mut inert = BTreeMap::new();
    for name in names {
        if let Some(reason) = Patch::load(patches, base, name)?.header.inert() {
            inert.insert(name.clone(), reason);
        }
    }
    Ok(inert)
}

/// The SHA-256 that stands for the patches `names` for `base`, in this order: of a line with the release, and one for each with its
/// name and the SHA-256 of its text, kernels included.
pub fn sha256_of_all(patches: &Patches, base: &str, names: &[String]) -> Result<String> {
    let mut lines = format!("{base}\n");
    for name in names {
        let patch = Patch::load(patches, base, name)?;
        lines += &format!("{name} {}\n", patch.sha256);
    }
    Ok(sha256(lines.as_bytes()))
}

/// The hash of the code of each of the patches `names` for `base`, as [`Patch::code`] has it.
pub fn codes(patches: &Patches, base: &str, names: &[String]) -> Result<BTreeMap<String, String>> {
    let code = |name: &String| Ok((name.clone(), Patch::load(patches, base, name)?.code()));
    names.iter().map(code).collect()
}

/// Where the crate of an optimization has the file that upstream has at `path`: the path below its `src/`.
fn place_of(path: &str) -> Option<&str> {
    let (_, place) = path.split_once("/src/")?;
    let first = place.split('/').next();
    (!CRATES_OWN.iter().any(|own| first == Some(own))).then_some(place)
}

/// A file that a new one at `path` needs as a folder, or that needs `path` as one.
fn in_the_way<'p>(path: &'p str, files: &'p BTreeMap<String, Vec<u8>>) -> Option<&'p str> {
    let folder = format!("{path}/");
    let inside = files.range(folder.clone()..).next();
    let inside = inside.filter(|(other, _)| other.starts_with(&folder));
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    (inside.map(|(other, _)| other.as_str()))
        .or_else(|| above.find(|folder| files.contains_key(*folder)))
}

/// Puts every hunk where its context stands, or fails with the first one that has no place.
fn place(
    before: &str,
    patch: &diffy::Patch<'_, str>,
) -> Result<(String, Vec<(usize, isize)>), Misfit> {
    let Placed { after, spots } = place_each(before, patch);
    let spots = spots.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((after, offsets(&spots)))
}

/// The offset of each hunk, counted from 1, that has one.
pub fn offsets<'s>(spots: impl IntoIterator<Item = &'s Spot>) -> Vec<(usize, isize)> {
    (spots.into_iter())
        .filter(|spot| spot.offset != 0)
        .map(|spot| (spot.hunk, spot.offset))
        .collect()
}

/// Puts every hunk that has a place where its context stands: at the line it names shifted as the hunk before it was, else
/// at the only other place after that hunk where every line matches.
fn place_each(before: &str, patch: &diffy::Patch<'_, str>) -> Placed {
    let lines = before.split_inclusive('\n').collect::<Vec<_>>();
    let mut after = String::with_capacity(before.len());
    let mut spots = Vec::new();
    let mut taken = 0;
    let mut drift = 0;
    for (hunk, number) in patch.hunks().iter().zip(1..) {
        let old = (hunk.lines().iter())
            .filter_map(|line| match line {
                Line::Context(text) | Line::Delete(text) => Some(*text),
                Line::Insert(_) => None,
            })
            .collect::<Vec<_>>();
        // An empty range names the line before it.
        let stated =
            hunk.old_range().start() - usize::from(!old.is_empty() && hunk.old_range().start() > 0);
        let expected = stated.saturating_add_signed(drift);
        // What has no line end is the last line of its file.
        let ends = hunk.lines().iter().any(|line| match line {
            Line::Context(text) | Line::Delete(text) | Line::Insert(text) => !text.ends_with('\n'),
        });
        let at = match find(number, &lines, &old, ends, taken, expected) {
            Ok(at) => at,
            Err(misfit) => {
                spots.push(Err(misfit));
                continue;
            }
        };
        drift = at as isize - stated as isize;
        after.extend(lines[taken..at].iter().copied());
        after.extend(hunk.lines().iter().filter_map(|line| match line {
            Line::Context(text) | Line::Insert(text) => Some(*text),
            Line::Delete(_) => None,
        }));
        taken = at + old.len();
        spots.push(Ok(Spot {
            hunk: number,
            lines: at..taken,
            offset: drift,
        }));
    }
    after.extend(lines[taken..].iter().copied());
    Placed { after, spots }
}

/// The place of hunk `number`, whose lines are `old`, not before `taken`: `expected`, or the only other one. With `ends`, the
/// file has to end there.
fn find(
    number: usize,
    lines: &[&str],
    old: &[&str],
    ends: bool,
    taken: usize,
    expected: usize,
) -> Result<usize, Misfit> {
    // Nothing goes on after a line that does not end.
    let terminated = |at: usize| at == 0 || lines[at - 1].ends_with('\n');
    let fits = |at: usize| {
        let rest = lines.get(at..).filter(|rest| rest.starts_with(old));
        let rest = rest.filter(|_| at >= taken && terminated(at));
        rest.is_some_and(|rest| !ends || rest.len() == old.len())
    };
    if fits(expected) {
        return Ok(expected);
    }
    // Without a line of context, a hunk fits everywhere and says nothing.
    let places = (taken..lines.len())
        .filter(|at| !old.is_empty() && fits(*at))
        .collect::<Vec<_>>();
    match places[..] {
        [at] => Ok(at),
        [] => {
            let same = old
                .iter()
                .zip(lines.iter().skip(expected))
                .take_while(|(old, line)| old == line);
            let same = same.count();
            if expected == lines.len() && !terminated(expected) {
                let last = lines[expected - 1];
                return Err(Misfit::Differs {
                    hunk: number,
                    line: expected,
                    expected: Some(format!("{last}\n")),
                    found: Some(last.to_owned()),
                });
            }
            Err(Misfit::Differs {
                hunk: number,
                line: expected + same + 1,
                expected: old.get(same).map(ToString::to_string),
                found: lines.get(expected + same).map(ToString::to_string),
            })
        }
        _ => Err(Misfit::Ambiguous {
            hunk: number,
            lines: places.into_iter().map(|at| at + 1).collect(),
        }),
    }
}

/// Parses `Field: value` lines, an empty line, and the body; an error carries the line's number.
fn parse_header(text: &str) -> Result<Header, (usize, String)> {
    let (fields, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let list = |value: &str| {
        value
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    };
    let mut header = Header {
        body: body.trim().to_owned(),
        ..Header::default()
    };
    let mut seen = Vec::new();
    for (line, number) in fields.lines().zip(1..) {
        let Some((field, value)) = line.split_once(':') else {
            return Err((number, format!("expected `Field: value`, found `{line}`")));
        };
        if seen.contains(&field) {
            return Err((number, format!("the field `{field}:` stands here twice")));
        }
        seen.push(field);
        let value = value.trim();
        match field {
            "Title" => header.title = value.to_owned(),
            "Packages" => header.packages = list(value),
            "Kernels" => header.kernels = list(value),
            "Bases" => header.bases = list(value),
            "Needs" => header.needs = list(value),
            "Architectures" => header.architectures = list(value),
            "CI-Features" => header.ci_features = list(value),
            "Risk" => header.risk = value.to_owned(),
            "Forwarded" => header.forwarded = value.to_owned(),
            "Applied-Upstream" => header.applied_upstream = value.to_owned(),
            _ => return Err((number, format!("unknown field `{field}:`"))),
        }
        if value.is_empty() {
            return Err((number, format!("the field `{field}:` is empty")));
        }
        // They become paths, and keys of manifests.
        let is_name = |package: &&String| {
            let mut bytes = package.bytes();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if let Some(package) = header.packages.iter().find(|package| !is_name(package)) {
            return Err((number, format!("`{package}` is no name of a package")));
        }
    }
    let required = [
        "Title",
        "Packages",
        "Bases",
        "Risk",
        "Forwarded",
        "Applied-Upstream",
    ];
    if let Some(missing) = required.into_iter().find(|field| !seen.contains(field)) {
        return Err((
            fields.lines().count(),
            format!("the field `{missing}:` is missing"),
        ));
    }
    if header.body.is_empty() {
        return Err((
            fields.lines().count() + 1,
            "the paragraphs that say why are missing".to_owned(),
        ));
    }
    Ok(header)
}

/// Splits a diff at its `diff --git` lines and parses each part; an error carries the line's number in `diff`.
fn parse_diff(diff: &str) -> Result<Vec<FilePatch>, (usize, String)> {
    let mut sections: Vec<(usize, String)> = Vec::new();
    for (line, number) in diff.split_inclusive('\n').zip(1..) {
        if line.starts_with("diff --git ") {
            sections.push((number, String::new()));
        }
        match sections.last_mut() {
            Some((_, section)) => section.push_str(line),
            None => return Err((number, format!("expected `diff --git`, found {line:?}"))),
        }
    }
    let mut files: Vec<FilePatch> = Vec::new();
    for (start, text) in sections {
        let file = parse_section(text).map_err(|(line, what)| (start + line, what))?;
        if files.iter().any(|other| other.path == file.path) {
            return Err((start, format!("{} is patched twice", file.path)));
        }
        files.push(file);
    }
    Ok(files)
}

/// Parses the diff of one file; an error carries the line's number, counted from 0.
fn parse_section(text: String) -> Result<FilePatch, (usize, String)> {
    let mut change = Change::Modify;
    let mut header_lines = 0;
    for line in text.lines().take_while(|line| !line.starts_with("@@ ")) {
        let mode = |mode: &str| match mode {
            "100644" => Ok(()),
            "120000" => Err((
                header_lines,
                "a link; a patch holds plain files only".to_owned(),
            )),
            _ => Err((
                header_lines,
                format!("file mode {mode}; a patch holds plain files of mode 100644 only"),
            )),
        };
        if let Some(new) = line.strip_prefix("new file mode ") {
            mode(new)?;
            change = Change::Create;
        } else if let Some(old) = line.strip_prefix("deleted file mode ") {
            mode(old)?;
            change = Change::Delete;
        } else if let Some(ids) = line.strip_prefix("index ") {
            ids.split_once(' ').map_or(Ok(()), |(_, kept)| mode(kept))?;
        } else if !["diff --git ", "--- ", "+++ "]
            .iter()
            .any(|known| line.starts_with(known))
        {
            let what = "a patch has no renames, mode changes or binary files";
            return Err((header_lines, format!("unexpected `{line}`: {what}")));
        }
        header_lines += 1;
    }

    let patch = diffy::Patch::from_str(&text).map_err(|error| (0, error.to_string()))?;
    if patch.hunks().is_empty() {
        return Err((header_lines, "no hunks".to_owned()));
    }
    check_hunks(&patch, change).map_err(|what| (header_lines, what))?;
    let side = |name: Option<&str>, prefix: &str, absent: bool| match name {
        Some("/dev/null") if absent => Ok(None),
        Some(name) if !absent => name
            .strip_prefix(prefix)
            .map(|path| Some(path.to_owned()))
            .ok_or_else(|| {
                (
                    0,
                    format!("{name:?}: expected a path that begins with `{prefix}`"),
                )
            }),
        name => Err((
            0,
            format!("{name:?} does not go with a file that is {change:?}d"),
        )),
    };
    let old = side(patch.original(), "a/", change == Change::Create)?;
    let new = side(patch.modified(), "b/", change == Change::Delete)?;
    let path = match (old, new) {
        (Some(old), Some(new)) if old != new => {
            return Err((0, format!("a rename of {old:?} to {new:?}")));
        }
        (old, new) => old.or(new).expect("one side at least has a path"),
    };
    check_path(&path).map_err(|what| (0, format!("{path:?}: {what}")))?;

    // diffy leaves out what follows the last hunk; nothing may.
    let hunk_lines = patch
        .hunks()
        .iter()
        .map(|hunk| 1 + hunk.lines().len())
        .sum::<usize>();
    let marks = text.lines().filter(|line| line.starts_with('\\')).count();
    let parsed = header_lines + hunk_lines + marks;
    if let Some(rest) = text.lines().nth(parsed) {
        return Err((
            parsed,
            format!("expected a hunk or `diff --git`, found {rest:?}"),
        ));
    }
    Ok(FilePatch { path, change, text })
}

/// Refuses hunks whose numbers contradict each other or the kind of change, and lines without an end that are not the last.
fn check_hunks(patch: &diffy::Patch<'_, str>, change: Change) -> Result<(), String> {
    // How far the new file's lines are ahead of the old one's.
    let mut ahead = 0;
    let mut ended = false;
    for (hunk, number) in patch.hunks().iter().zip(1..) {
        let (old, new) = (hunk.old_range(), hunk.new_range());
        // An empty range names the line before it.
        let first = |range: HunkRange| {
            let first = range.start().checked_sub(usize::from(!range.is_empty()));
            first.and_then(|first| i64::try_from(first).ok())
        };
        let consistent = match (first(old), first(new)) {
            (Some(old), Some(new)) => new.checked_sub(old) == Some(ahead),
            _ => false,
        };
        if !consistent {
            return Err(format!(
                "hunk {number} is at line {} of the old file and {} of the new one, which cannot be",
                old.start(),
                new.start()
            ));
        }
        ahead += new.len() as i64 - old.len() as i64;
        let absent = match change {
            Change::Create => Some(old),
            Change::Delete => Some(new),
            Change::Modify => None,
        };
        if absent.is_some_and(|range| (range.start(), range.len()) != (0, 0)) {
            return Err(format!(
                "hunk {number} has lines of a file that is not there"
            ));
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in hunk.lines() {
            match line {
                Line::Context(text) => {
                    old.push(text);
                    new.push(text);
                }
                Line::Delete(text) => old.push(text),
                Line::Insert(text) => new.push(text),
            }
        }
        let unterminated = [old, new].map(|side| {
            let end = side.iter().position(|text| !text.ends_with('\n'));
            end.map(|end| end + 1 == side.len())
        });
        if ended || unterminated.contains(&Some(false)) {
            return Err(format!("hunk {number} goes on after the end of a file"));
        }
        ended = unterminated.iter().any(Option::is_some);
    }
    Ok(())
}

/// Refuses a path that could leave the tree on any platform, and manifests.
fn check_path(path: &str) -> Result<(), &'static str> {
    let leaves = path.split('/').any(|part| {
        matches!(part, "" | "." | "..")
            || part.contains(['\\', ':'])
            || part.contains(char::is_control)
    });
    if leaves {
        return Err("the path leaves the tree");
    }
    // What all file systems have room for.
    if path.len() > 255 {
        return Err("the path is too long");
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    // Some file systems take names that differ in case for one.
    if file.to_ascii_lowercase().starts_with("cargo.") {
        return Err(
            "manifests are never patched: the registry normalises them, and a new dependency is refused",
        );
    }
    // `.cargo_vcs_info.json`, the stamp, `.git`: not upstream's, and read by tools.
    if path.split('/').any(|part| part.starts_with('.')) {
        return Err("hidden files are not patched");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> impl Strategy<Value = String> {
        // Few distinct lines, so that contexts repeat; with and without a newline at the end.
        let lines =
            prop::collection::vec(prop::sample::select(vec!["", "a", "b", "c", " a"]), 0..30);
        (lines, any::<bool>()).prop_map(|(lines, terminated)| {
            let text = lines.join("\n");
            if terminated && !text.is_empty() {
                text + "\n"
            } else {
                text
            }
        })
    }

    proptest! {
        /// A patch made from two texts turns one into the other, both ways, with no offset, as diffy's `apply` does.
        #[test]
        fn a_hunk_at_its_line_applies(before in file(), after in file()) {
            let patch = diffy::create_patch(&before, &after);
            let forward = place(&before, &patch).unwrap();
            prop_assert_eq!(&forward, &(after.clone(), Vec::new()));
            prop_assert_eq!(diffy::apply(&before, &patch).unwrap(), after.clone());
            prop_assert_eq!(place(&after, &patch.reverse()).unwrap(), (before, Vec::new()));
        }

        /// No input makes the parser panic, and what it takes is bounded by the tree.
        #[test]
        fn no_diff_panics(diff in "(diff --git a/x b/x\n)?(new file mode 100644\n)?(--- (a/|/)[a-z./]{1,9}\n)?(\\+\\+\\+ b/[a-z./]{1,9}\n)?(@@ -[0-9]{1,20},?[0-9]{0,3} \\+[0-9],?[0-9]? @@\n)?([ +\\\\-][a-z]{0,3}\n){0,4}") {
            for file in parse_diff(&diff).unwrap_or_default() {
                prop_assert_eq!(check_path(&file.path), Ok(()));
                let _ = file.place("a\nb\n", Direction::Forward);
            }
        }
    }

    const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

    fn patched(before: &str) -> Result<(String, Vec<(usize, isize)>), Misfit> {
        let patch = diffy::create_patch(LINES, &LINES.replace("four", "FOUR")).to_string();
        place(before, &diffy::Patch::from_str(&patch).unwrap())
    }

    #[test]
    fn an_offset_is_reported() {
        let (after, offsets) = patched(&format!("zero\nzero\n{LINES}")).unwrap();
        assert!(after.contains("FOUR"));
        assert_eq!(offsets, [(1, 2)]);
    }

    #[test]
    fn a_context_that_stands_twice_is_refused() {
        let misfit = patched(&format!("zero\n{LINES}{LINES}")).unwrap_err();
        assert_eq!(
            misfit,
            Misfit::Ambiguous {
                hunk: 1,
                lines: vec![2, 9]
            }
        );
    }

    #[test]
    fn white_space_counts() {
        let misfit = patched(&LINES.replace("two", "two ")).unwrap_err();
        let differs = Misfit::Differs {
            hunk: 1,
            line: 2,
            expected: Some("two\n".to_owned()),
            found: Some("two \n".to_owned()),
        };
        assert_eq!(misfit, differs);
        assert!(patched(&LINES.replace('\n', "\r\n")).is_err());
    }

    #[test]
    fn a_file_that_ends_too_early_is_shown() {
        let misfit = patched("one\ntwo\n").unwrap_err();
        assert!(
            matches!(
                &misfit,
                Misfit::Differs {
                    line: 3,
                    found: None,
                    ..
                }
            ),
            "{misfit:?}"
        );
        assert!(
            misfit
                .describe("x.rs")
                .contains("found:    the end of the file")
        );
    }

    /// The second hunk's lines stand before the first one's place too; they are not taken there.
    #[test]
    fn hunks_keep_their_order() {
        let patch = "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-a\n+A\n@@ -4 +4 @@\n-b\n+B\n";
        let patch = diffy::Patch::from_str(patch).unwrap();
        assert_eq!(place("b\na\nc\nb\n", &patch).unwrap().0, "b\nA\nc\nB\n");
        assert!(place("b\na\nc\nc\n", &patch).is_err());
        // One hunk adds below a line that the next one changes.
        let patch = "--- a/x\n+++ b/x\n@@ -3,0 +4 @@\n+x\n@@ -3 +5 @@\n-c\n+C\n";
        let patch = diffy::Patch::from_str(patch).unwrap();
        assert!(place("a\nb\nc\n", &patch).is_err());
    }
}
