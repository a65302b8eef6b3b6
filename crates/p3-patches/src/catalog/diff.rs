//! The diff of a patch: one section for each file, in git's format. diffy parses the hunks; whatever `patches/README.md` does not
//! allow is refused here.

use std::collections::BTreeSet;

use anyhow::Result;
use diffy::{HunkRange, Line};

use crate::catalog::placement::{Layers, Misfit, Spot};
use crate::source::package::LONGEST_PATH;

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
    pub(super) text: String,
}

impl FilePatch {
    /// Adds a file, as git would write it.
    pub(super) fn create(path: &str, contents: &str) -> Result<Self, String> {
        let text = written(path, None, contents);
        parse_section(text).map_err(|(_, what)| what)
    }

    /// Puts the hunks into a file for the patch `by`, as [`Layers::place`] does.
    pub(super) fn place(
        &self,
        file: &mut Layers,
        by: &str,
        seen: &BTreeSet<String>,
    ) -> Vec<Result<Spot, Misfit>> {
        let patch = diffy::Patch::from_str(&self.text).expect("parsed when the patch was loaded");
        file.place(&patch, by, seen)
    }

    /// Returns each hunk's place in a text.
    pub fn spots(&self, text: &str) -> Vec<Result<Spot, Misfit>> {
        self.place(&mut Layers::new(text), "", &BTreeSet::new())
    }

    /// Returns a section that turns one text into another: this one, if it does so by itself, else a new one.
    pub fn section(&self, before: &str, after: &str) -> String {
        if self.applied(before).as_deref() == Some(after) {
            return self.text.clone();
        }
        written(&self.path, Some(before), after)
    }

    /// Returns a text with all hunks, if each has a place in it.
    fn applied(&self, text: &str) -> Option<String> {
        let mut file = Layers::new(text);
        let spots = self.place(&mut file, "", &BTreeSet::new());
        spots.iter().all(Result::is_ok).then(|| file.text())
    }

    /// Returns the whole text of a file that the patch adds.
    pub(super) fn created(&self) -> Option<String> {
        (self.change == Change::Create).then(|| {
            self.applied("")
                .expect("a new file's hunk fits an empty file")
        })
    }
}

/// Returns a section that turns one text of a file into another, as git would write it; a new file has no text before.
fn written(path: &str, before: Option<&str>, after: &str) -> String {
    let (mode, original) = match before {
        Some(_) => ("", format!("a/{path}")),
        None => ("new file mode 100644\n", "/dev/null".to_owned()),
    };
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(original);
    options.set_modified_filename(format!("b/{path}"));
    let diff = options.create_patch(before.unwrap_or_default(), after);
    format!("diff --git a/{path} b/{path}\n{mode}{diff}")
}

/// Splits a diff at its `diff --git` lines and parses each part; an error carries the line's number in `diff`.
pub(super) fn parse_diff(diff: &str) -> Result<Vec<FilePatch>, (usize, String)> {
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
pub(super) fn check_path(path: &str) -> Result<(), &'static str> {
    let leaves = path.split('/').any(|part| {
        matches!(part, "" | "." | "..")
            || part.contains(['\\', ':'])
            || part.contains(char::is_control)
    });
    if leaves {
        return Err("the path leaves the tree");
    }
    if path.len() > LONGEST_PATH {
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

    proptest! {
        /// No input makes the parser panic, and what it takes is bounded by the tree.
        #[test]
        fn no_diff_panics(diff in "(diff --git a/x b/x\n)?(new file mode 100644\n)?(--- (a/|/)[a-z./]{1,9}\n)?(\\+\\+\\+ b/[a-z./]{1,9}\n)?(@@ -[0-9]{1,20},?[0-9]{0,3} \\+[0-9],?[0-9]? @@\n)?([ +\\\\-][a-z]{0,3}\n){0,4}") {
            for file in parse_diff(&diff).unwrap_or_default() {
                prop_assert_eq!(check_path(&file.path), Ok(()));
                let _ = file.spots("a\nb\n");
            }
        }
    }
}
