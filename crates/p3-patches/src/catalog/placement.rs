//! Places hunks in a file, and nowhere that `git apply` would not. diffy's `apply` neither reports an offset, nor refuses an
//! ambiguous place, nor shows a mismatch line by line.
//!
//! A patch sees a file as it is with the patches that it needs, and with no other:
//!
//! ```text
//!     the release    with one patch    as another sees it    with both
//!     mod a;         mod a;            mod a;                mod a;
//!     mod d;         mod b;            mod d;                mod b;
//!                    mod d;                                  mod c;
//!                                                            mod d;
//! ```
//!
//! Its hunks have to fit there, line by line. What it adds stands behind what other patches have added at the same place. A line
//! that one of two such patches removes is the other's context still, and removed by one alone.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use diffy::{Hunk, Line};

/// A file as patches have changed it, each line with the patches that changed it.
#[derive(Clone, Debug)]
pub struct Layers(Vec<Layered>);

/// A line that a release or a patch has.
#[derive(Clone, Debug)]
struct Layered {
    text: String,
    /// The patch that added the line; the release has the others.
    added: Option<String>,
    /// The patch that removed the line.
    removed: Option<String>,
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
    /// The hunk removes lines that another patch, which this one does not need, has removed or added to.
    Contested {
        hunk: usize,
        line: String,
        by: String,
    },
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
            Self::Contested { hunk, line, by } => format!(
                "{path}: hunk {hunk} changes {line:?}, and so does {by}, which the patch does not need"
            ),
        }
    }
}

/// Returns the offset of each hunk, counted from 1, that has one.
pub fn offsets<'s>(spots: impl IntoIterator<Item = &'s Spot>) -> Vec<(usize, isize)> {
    (spots.into_iter())
        .filter(|spot| spot.offset != 0)
        .map(|spot| (spot.hunk, spot.offset))
        .collect()
}

impl Layers {
    /// Returns the file of a release.
    pub fn new(text: &str) -> Self {
        let lines = text.split_inclusive('\n').map(|line| Layered {
            text: line.to_owned(),
            added: None,
            removed: None,
        });
        Self(lines.collect())
    }

    /// Returns the file with all patches.
    pub fn text(&self) -> String {
        let lines = self.0.iter().filter(|line| line.removed.is_none());
        lines.map(|line| &*line.text).collect()
    }

    /// Returns the file with the patches `seen` alone.
    pub fn seen(&self, seen: &BTreeSet<String>) -> String {
        let lines = self.visible(seen);
        lines.into_iter().map(|at| &*self.0[at].text).collect()
    }

    /// Returns where the lines of the file with the patches `seen` alone are.
    fn visible(&self, seen: &BTreeSet<String>) -> Vec<usize> {
        let lines = self.0.iter().enumerate().filter(|(_, line)| {
            line.added.as_ref().is_none_or(|by| seen.contains(by))
                && line.removed.as_ref().is_none_or(|by| !seen.contains(by))
        });
        lines.map(|(at, _)| at).collect()
    }

    /// Puts the hunks of the patch `by`, which needs `seen`, where their context stands: at the line that a hunk names, shifted as
    /// the hunk before it was, else at the only other place after that hunk where every line matches. Returns each hunk's place. A
    /// hunk without one changes nothing.
    pub fn place(
        &mut self,
        patch: &diffy::Patch<'_, str>,
        by: &str,
        seen: &BTreeSet<String>,
    ) -> Vec<Result<Spot, Misfit>> {
        let visible = self.visible(seen);
        let lines: Vec<_> = visible.iter().map(|at| &*self.0[*at].text).collect();
        let spots = spots(&lines, patch);
        let hunks = patch.hunks().iter().zip(spots).map(|(hunk, spot)| {
            let spot = spot?;
            self.contested(hunk, &visible[spot.lines.clone()], &spot)?;
            Ok((hunk, spot))
        });
        let hunks: Vec<_> = hunks.collect();

        let mut old = std::mem::take(&mut self.0)
            .into_iter()
            .enumerate()
            .peekable();
        let mut new = Vec::new();
        // Takes the lines before the line `end` as they are.
        let mut keep = |new: &mut Vec<Layered>, end: usize| {
            while let Some((_, line)) = old.next_if(|(at, _)| *at < end) {
                new.push(line);
            }
        };
        for (hunk, spot) in hunks.iter().flatten() {
            let mut next = visible[spot.lines.start..].iter();
            // Lines in the place of a removed one stand next to it; others, behind what unseen patches have added there.
            let mut replaces = false;
            for line in hunk.lines() {
                match line {
                    Line::Context(_) | Line::Delete(_) => {
                        let at = *next.next().expect("the hunk fits");
                        keep(&mut new, at + 1);
                        replaces = matches!(line, Line::Delete(_));
                        if replaces {
                            new.last_mut().expect("kept").removed = Some(by.to_owned());
                        }
                    }
                    Line::Insert(text) => {
                        if !replaces {
                            keep(
                                &mut new,
                                next.as_slice().first().copied().unwrap_or(usize::MAX),
                            );
                        }
                        new.push(Layered {
                            text: (*text).to_owned(),
                            added: Some(by.to_owned()),
                            removed: None,
                        });
                    }
                }
            }
        }
        keep(&mut new, usize::MAX);
        self.0 = new;
        hunks
            .into_iter()
            .map(|hunk| hunk.map(|(_, spot)| spot))
            .collect()
    }

    /// Refuses a hunk that removes what an unseen patch has removed, or lines between which an unseen patch has added some.
    fn contested(&self, hunk: &Hunk<'_, str>, at: &[usize], spot: &Spot) -> Result<(), Misfit> {
        let contested = |line: &Layered, by: &String| Misfit::Contested {
            hunk: spot.hunk,
            line: line.text.clone(),
            by: by.clone(),
        };
        let mut before = None;
        let old = hunk
            .lines()
            .iter()
            .filter(|line| !matches!(line, Line::Insert(_)));
        for (line, at) in old.zip(at) {
            let removes = matches!(line, Line::Delete(_));
            if removes {
                let between = before.map_or(*at, |before| before + 1)..*at;
                let mut unseen = self.0[between].iter().filter(|line| line.removed.is_none());
                if let Some(line) = unseen.next()
                    && let Some(by) = &line.added
                {
                    return Err(contested(line, by));
                }
                let line = &self.0[*at];
                if let Some(by) = &line.removed {
                    return Err(contested(line, by));
                }
            }
            before = removes.then_some(*at);
        }
        Ok(())
    }

    /// Takes out what the patch `by` has added, and puts back what it has removed.
    pub fn take_back(&mut self, by: &str) {
        self.0.retain(|line| line.added.as_deref() != Some(by));
        for line in &mut self.0 {
            line.removed.take_if(|remover| remover == by);
        }
    }
}

/// Returns each hunk's place in the lines.
fn spots(lines: &[&str], patch: &diffy::Patch<'_, str>) -> Vec<Result<Spot, Misfit>> {
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
        // A hunk of the first line stays, as for git, at the start of the file.
        let last_start = if stated == 0 { 0 } else { lines.len() };
        // Only the last line of a file may lack a line ending.
        let ends = hunk.lines().iter().any(|line| match line {
            Line::Context(text) | Line::Delete(text) | Line::Insert(text) => !text.ends_with('\n'),
        });
        let at = match find(number, lines, &old, ends, taken..=last_start, expected) {
            Ok(at) => at,
            Err(misfit) => {
                spots.push(Err(misfit));
                continue;
            }
        };
        drift = at as isize - stated as isize;
        taken = at + old.len();
        spots.push(Ok(Spot {
            hunk: number,
            lines: at..taken,
            offset: drift,
        }));
    }
    spots
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

    fn none() -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// A patch on a file that has no other.
    fn place(
        before: &str,
        patch: &diffy::Patch<'_, str>,
    ) -> Result<(String, Vec<(usize, isize)>), Misfit> {
        let mut file = Layers::new(before);
        let spots = file.place(patch, "this", &none());
        let spots = spots.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok((file.text(), offsets(&spots)))
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

        /// The second of two patches that do not need each other fits as it does alone, or is refused because of the first. Each
        /// can be taken back from below the other.
        #[test]
        fn patches_do_not_see_each_other(before in file(), one in file(), two in file()) {
            let [first, second] = [&one, &two].map(|after| diffy::create_patch(&before, after));
            let mut both = Layers::new(&before);
            prop_assert!(both.place(&first, "first", &none()).iter().all(Result::is_ok));
            let spots = both.place(&second, "second", &none());
            let seen = |name: &str| both.seen(&BTreeSet::from([name.to_owned()]));
            prop_assert_eq!(seen("first"), one.clone());
            if spots.iter().all(Result::is_ok) {
                prop_assert_eq!(seen("second"), two.clone());
                let mut second_alone = both.clone();
                second_alone.take_back("first");
                prop_assert_eq!(second_alone.text(), two);
            } else {
                let is_contested = |spot: &Result<_, _>| matches!(spot, Ok(_) | Err(Misfit::Contested { .. }));
                prop_assert!(spots.iter().all(is_contested));
            }
            both.take_back("second");
            prop_assert_eq!(both.text(), one);
        }
    }

    /// Returns the texts with one patch, and with both, of a file that each patch changes into one of the texts.
    fn stacked(before: &str, one: &str, two: &str) -> (String, Result<String, Misfit>) {
        let mut file = Layers::new(before);
        let [first, second] = [one, two].map(|after| diffy::create_patch(before, after));
        for spot in file.place(&first, "first", &none()) {
            spot.unwrap();
        }
        let alone = file.text();
        let spots = file.place(&second, "second", &none()).into_iter();
        (
            alone,
            spots.collect::<Result<Vec<_>, _>>().map(|_| file.text()),
        )
    }

    #[test]
    fn what_two_patches_add_at_one_place_stands_in_their_order() {
        let (_, both) = stacked("a\nd\n", "a\nb\nd\n", "a\nc\nd\n");
        assert_eq!(both.unwrap(), "a\nb\nc\nd\n");
        let (_, both) = stacked("a\n", "a\nb\n", "a\nc\n");
        assert_eq!(both.unwrap(), "a\nb\nc\n");
        let (_, both) = stacked("a\n", "b\na\n", "c\na\n");
        assert_eq!(both.unwrap(), "b\nc\na\n");
    }

    #[test]
    fn a_line_that_another_patch_changes_is_context_still() {
        let (_, both) = stacked("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n");
        assert_eq!(both.unwrap(), "A\nb\nC\n");
        // The new text of a line stands in its place, not behind what the other patch adds there.
        let (_, both) = stacked("a\nb\n", "a\nx\nb\n", "A\nb\n");
        assert_eq!(both.unwrap(), "A\nx\nb\n");
    }

    #[test]
    fn a_line_that_both_change_is_refused() {
        let contested = |line: &str| Misfit::Contested {
            hunk: 1,
            line: format!("{line}\n"),
            by: "first".to_owned(),
        };
        let (one, both) = stacked("a\nb\n", "A\nb\n", "B\nb\n");
        assert_eq!((&*one, both), ("A\nb\n", Err(contested("a"))));
        // The lines in between would be lost.
        let (_, both) = stacked("a\nb\n", "a\nx\nb\n", "c\n");
        assert_eq!(both, Err(contested("x")));
    }

    #[test]
    fn a_patch_sees_what_it_needs() {
        let mut file = Layers::new("a\nb\n");
        let place = |file: &mut Layers, name: &str, before: &str, after: &str, seen: &[&str]| {
            let seen = seen.iter().map(|name| (*name).to_owned()).collect();
            let patch = diffy::create_patch(before, after).to_string();
            let spots = file.place(&diffy::Patch::from_str(&patch).unwrap(), name, &seen);
            spots.into_iter().collect::<Result<Vec<_>, _>>().map(drop)
        };
        place(&mut file, "first", "a\nb\n", "a\nx\nb\n", &[]).unwrap();
        place(&mut file, "other", "a\nb\n", "a\ny\nb\n", &[]).unwrap();
        let (before, after) = ("a\nx\nb\n", "a\nX\nb\n");
        assert!(place(&mut file.clone(), "second", before, after, &[]).is_err());
        assert!(place(&mut file.clone(), "second", before, after, &["other"]).is_err());
        place(&mut file, "second", before, after, &["first"]).unwrap();
        assert_eq!(file.text(), "a\nX\ny\nb\n");
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
