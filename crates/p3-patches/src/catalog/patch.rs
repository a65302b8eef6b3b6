//! A patch file: a header that says why the change exists and where it goes, then a git diff in upstream's paths. The text of
//! the kernels that the header names stands in the optimization's crate; a loaded patch adds them as if its diff did.
//!
//! The format is documented for authors in `patches/README.md`; this module is its other half and refuses whatever
//! that text does not allow.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Result;
use cargo_metadata::semver::Version;

use crate::catalog::diff::{Change, FilePatch, check_path, parse_diff};
use crate::catalog::header::{Header, parse_header};
use crate::source::package::is_bench;
use paired::error::Failure;
use paired::files::contents::sha256;

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
    /// The SHA-256 of the text, with the kernels in the diff.
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
    /// Tells whether the crate has the text, not the diff.
    pub is_kernel: bool,
}

impl Patch {
    /// Tells where a text of `name` for `base` alone is kept, below the folder of patches.
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
        let (header, diff) = split_header(shown, text)?;
        let preamble = &text[..text.len() - diff.len()];
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

    /// Returns the diff of every file, kernels included.
    pub fn diff(&self) -> String {
        self.files.iter().map(|file| file.text.as_str()).collect()
    }

    /// Returns the SHA-256 of the code that the patch adds and removes in each file. The lines of a file that it changes are sorted: one
    /// change has several diffs, where equal lines follow each other. Blank lines, lines of comments, indentation and context are left
    /// out, and so are benches: patches that differ in these alone make the same program.
    pub fn code(&self) -> String {
        self.code_of(true, false)
    }

    /// Returns the hashes that records of 2026-11-30 and before have: of the lines as the diff has them, of benches, too, in the second.
    pub fn former_codes(&self) -> [String; 2] {
        [false, true].map(|with_benches| self.code_of(false, with_benches))
    }

    fn code_of(&self, is_sorted: bool, with_benches: bool) -> String {
        let mut code = String::new();
        let files = self.files.iter();
        for file in files.filter(|file| with_benches || !is_bench(&file.path)) {
            code += &format!("{}\n", file.path);
            let hunks = file.text.lines().skip_while(|line| !line.starts_with("@@"));
            let changed = hunks.filter_map(|line| {
                let text = line.strip_prefix(['+', '-'])?.trim();
                let is_code = !text.is_empty() && !text.starts_with("//");
                is_code.then(|| format!("{}{text}\n", &line[..1]))
            });
            let mut changed: Vec<_> = changed.collect();
            if is_sorted && file.change == Change::Modify {
                changed.sort();
            }
            code += &changed.concat();
        }
        sha256(code.as_bytes())
    }

    /// Returns the patch as a file that names `base` among its releases and leaves these files' text to the crate.
    pub fn text(&self, base: &str, kernels: &[String]) -> String {
        let own = (self.files.iter()).filter(|file| !kernels.contains(&file.path));
        let diff = own.map(|file| file.text.as_str()).collect::<String>();
        self.preamble_for(base, kernels) + &diff + END
    }

    /// Returns the text up to and including the separator, with `base` among the releases that it names, newest first, and these
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

    /// Returns the files that the patch adds, by its diff or as kernels, and that the optimization's crate has a place for.
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
}

/// Returns the header of a patch file's text, and the diff below it.
pub(super) fn split_header<'t>(shown: &str, text: &'t str) -> Result<(Header, &'t str)> {
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
    let header = parse_header(header).map_err(|(line, what)| {
        refuse(line, &what).hint("patches/README.md lists the fields of the header")
    })?;
    Ok((header, diff))
}

/// Tells where the crate of an optimization has the file that upstream has at `path`: the path below its `src/`.
fn place_of(path: &str) -> Option<&str> {
    let (_, place) = path.split_once("/src/")?;
    let first = place.split('/').next();
    (!CRATES_OWN.iter().any(|own| first == Some(own))).then_some(place)
}
