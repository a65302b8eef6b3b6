//! Places hunks in a file, and nowhere that `git apply` would not. diffy's `apply` neither reports an offset, nor refuses an
//! ambiguous place, nor shows a mismatch line by line.

use std::ops::{Range, RangeInclusive};

use anyhow::Result;
use diffy::Line;

/// The direction in which a patch is applied.
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

impl Misfit {
    /// Writes where the hunk belongs in the first line; the next two show what is there.
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

/// Puts every hunk where its context stands, or fails with the first one that has no place.
pub(super) fn place(
    before: &str,
    patch: &diffy::Patch<'_, str>,
) -> Result<(String, Vec<(usize, isize)>), Misfit> {
    let Placed { after, spots } = place_each(before, patch);
    let spots = spots.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((after, offsets(&spots)))
}

/// Returns the offset of each hunk, counted from 1, that has one.
pub fn offsets<'s>(spots: impl IntoIterator<Item = &'s Spot>) -> Vec<(usize, isize)> {
    (spots.into_iter())
        .filter(|spot| spot.offset != 0)
        .map(|spot| (spot.hunk, spot.offset))
        .collect()
}

/// Puts every hunk that has a place where its context stands: at the line it names shifted as the hunk before it was, else
/// at the only other place after that hunk where every line matches.
pub(super) fn place_each(before: &str, patch: &diffy::Patch<'_, str>) -> Placed {
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
        // As for git, a hunk of the first line stays at the start of the file.
        let last_start = if stated == 0 { 0 } else { lines.len() };
        // Only the last line of a file may lack a line ending.
        let ends = hunk.lines().iter().any(|line| match line {
            Line::Context(text) | Line::Delete(text) | Line::Insert(text) => !text.ends_with('\n'),
        });
        let at = match find(number, &lines, &old, ends, taken..=last_start, expected) {
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

/// Returns the place of hunk `number`, whose lines are `old`, which starts in `starts`: `expected`, or the only other one. With
/// `ends`, the file has to end there.
fn find(
    number: usize,
    lines: &[&str],
    old: &[&str],
    ends: bool,
    starts: RangeInclusive<usize>,
    expected: usize,
) -> Result<usize, Misfit> {
    // Nothing goes on after a line that does not end.
    let terminated = |at: usize| at == 0 || lines[at - 1].ends_with('\n');
    let fits = |at: usize| {
        let rest = lines.get(at..).filter(|rest| rest.starts_with(old));
        let rest = rest.filter(|_| starts.contains(&at) && terminated(at));
        rest.is_some_and(|rest| !ends || rest.len() == old.len())
    };
    if fits(expected) {
        return Ok(expected);
    }
    // Without a line of context, a hunk fits everywhere and says nothing.
    let places = (starts.clone())
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
    }

    const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

    fn patched(before: &str) -> Result<(String, Vec<(usize, isize)>), Misfit> {
        let patch = diffy::create_patch(LINES, &LINES.replace("five", "FIVE")).to_string();
        place(before, &diffy::Patch::from_str(&patch).unwrap())
    }

    #[test]
    fn an_offset_is_reported() {
        let (after, offsets) = patched(&format!("zero\nzero\n{LINES}")).unwrap();
        assert!(after.contains("FIVE"));
        assert_eq!(offsets, [(1, 2)]);
    }

    #[test]
    fn a_hunk_of_the_first_line_stays_there() {
        let patch = diffy::create_patch(LINES, &LINES.replace("one", "ONE")).to_string();
        let patch = diffy::Patch::from_str(&patch).unwrap();
        assert!(place(LINES, &patch).is_ok());
        let misfit = place(&format!("zero\n{LINES}"), &patch).unwrap_err();
        let differs = Misfit::Differs {
            hunk: 1,
            line: 1,
            expected: Some("one\n".to_owned()),
            found: Some("zero\n".to_owned()),
        };
        assert_eq!(misfit, differs);
    }

    #[test]
    fn a_context_that_stands_twice_is_refused() {
        let misfit = patched(&format!("zero\n{LINES}{LINES}")).unwrap_err();
        assert_eq!(
            misfit,
            Misfit::Ambiguous {
                hunk: 1,
                lines: vec![3, 11]
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
