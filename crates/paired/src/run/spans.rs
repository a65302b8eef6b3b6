//! Reads the time in each tracing span from a program's output.
//!
//! Two forms are read: the trees of `tracing-forest`, and the lines that `tracing-subscriber` prints where a span closes.

use console::strip_ansi_codes;
use indexmap::IndexMap;

use crate::address::without_credentials;
use crate::text::one_line;

const LEVELS: [&str; 5] = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];

/// The width of the level and the spaces behind it, in characters.
const WIDTH: usize = 9;

/// The strings that draw a tree, one for each level of depth.
const INDENTS: [&str; 4] = ["   ", "│  ", "┝━ ", "┕━ "];

/// The separator between the name of a span and that of a span inside.
pub const IN: &str = " > ";

/// Spans by the path of their names, on one line and without credentials, in the order in which they are first seen, with the nanoseconds spent in each.
pub(crate) type Spans = IndexMap<String, u64>;

/// Adds the times of the spans in the lines of `output`.
pub(crate) fn read(spans: &mut Spans, output: &[u8]) {
    let mut above: Vec<String> = Vec::new();
    for line in String::from_utf8_lossy(output).lines() {
        let line = strip_ansi_codes(line);
        let (path, ns) = if let Some((depth, name, ns)) = forest(&line) {
            above.truncate(depth);
            // A line without the line above it is above no other.
            let is_known = above.len() == depth;
            above.push(name.to_owned());
            let path = above.join(IN);
            if !is_known {
                above.pop();
            }
            (path, ns)
        } else if let Some(span) = closed(&line) {
            span
        } else {
            continue;
        };
        let sum = spans.entry(one_line(&path)).or_default();
        *sum = sum.saturating_add(ns);
    }
}

/// A span that was printed, and the time in which it was open for certain, in nanoseconds before its line was printed.
#[derive(Debug, PartialEq)]
pub(crate) struct Open {
    pub(crate) path: String,
    /// The bytes of the output up to the line's end, or up to that of the outermost span of its tree.
    pub(crate) printed: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// A span of a tree, which is open from when it begins at the earliest.
struct Node {
    open: Open,
    depth: usize,
    ns: u64,
    /// The time in the spans inside of it that were read so far.
    inside: u64,
}

/// Reads the spans of `output` that were open at some time for certain.
///
/// A span that closes was open until its line was printed. The lines of a tree are printed with the outermost span, which closes then; the
/// spans inside of it follow each other, at times that leave open where the outer one is by itself.
pub(crate) fn open(output: &[u8]) -> Vec<Open> {
    let mut spans = Vec::new();
    let mut tree: Vec<Node> = Vec::new();
    // The last span of each depth, down to that of the last line.
    let mut last: Vec<usize> = Vec::new();
    let mut printed = 0;
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        printed += line.len();
        let line = String::from_utf8_lossy(line);
        let line = strip_ansi_codes(line.trim_end_matches('\n'));
        if let Some((depth, name, ns)) = forest(&line) {
            if depth == 0 {
                spans.extend(certain(&mut tree));
            }
            last.truncate(depth);
            let around = (last.len() == depth).then(|| last.last()).flatten();
            let around = around.map(|&at| &mut tree[at]);
            let (path, printed, from) = match around {
                Some(around) => {
                    let path = format!("{}{IN}{}", around.open.path, one_line(name));
                    let from = around.open.from.saturating_sub(around.inside);
                    around.inside += ns;
                    (path, around.open.printed, from)
                }
                None => (one_line(name), printed, ns),
            };
            let open = Open {
                path,
                printed,
                from,
                to: 0,
            };
            if last.len() == depth {
                last.push(tree.len());
            }
            tree.push(Node {
                open,
                depth,
                ns,
                inside: 0,
            });
        } else if let Some((path, ns)) = closed(&line) {
            spans.push(Open {
                path: one_line(&path),
                printed,
                from: ns,
                to: 0,
            });
        }
    }
    spans.extend(certain(&mut tree));
    spans
}

/// Takes the spans of a tree that were open at some time for certain.
fn certain(tree: &mut Vec<Node>) -> Vec<Open> {
    // The time that the outer spans are by themselves, by depth.
    let mut slack: Vec<u64> = Vec::new();
    let spans = tree.drain(..).filter_map(|node| {
        slack.truncate(node.depth);
        let before = slack.iter().sum::<u64>();
        slack.push(node.ns.saturating_sub(node.inside));
        let from = node.open.from.saturating_sub(before);
        let to = node.open.from.saturating_sub(node.ns);
        (from >= to).then_some(Open {
            from,
            to,
            ..node.open
        })
    });
    spans.collect()
}

/// Returns the shortest end of a path that is the end of no other path of `paths`, in whole names of spans, such as
/// `open > hash` of `prove > open > hash`.
pub fn name<'p>(path: &'p str, paths: &[String]) -> &'p str {
    let starts = path.rmatch_indices(IN).map(|(at, inner)| at + inner.len());
    let mut ends = starts.map(|start| &path[start..]);
    let is_end = |end: &str, other: &str| {
        let above = other.strip_suffix(end);
        above.is_some_and(|above| above.is_empty() || above.ends_with(IN))
    };
    let unique = |end: &&str| paths.iter().filter(|other| is_end(end, other)).count() == 1;
    ends.find(unique).unwrap_or(path)
}

/// Reads the depth, the name and the nanoseconds of a line of a tree: `INFO     │  ┝━ NAME [ 1.23ms | 4.56% / 7.89% ] fields`.
fn forest(line: &str) -> Option<(usize, &str, u64)> {
    let (level, rest) = after_level(line)?;
    let mut rest = rest.strip_prefix(&" ".repeat(WIDTH - level.len()))?;
    let mut depth = 0;
    while let Some(inner) = INDENTS.iter().find_map(|indent| rest.strip_prefix(indent)) {
        rest = inner;
        depth += 1;
    }
    let mut brackets = rest.match_indices(" [ ");
    brackets.find_map(|(at, bracket)| {
        let (time, shares) = rest[at + bracket.len()..].split_once(" | ")?;
        let (shares, _) = shares.split_once(" ]")?;
        shares.ends_with('%').then_some(())?;
        Some((depth, &rest[..at], nanoseconds(time)?))
    })
}

/// Reads the path and the nanoseconds of a span that closes:
/// `2026-01-01T00:00:00Z  INFO outer{n=1}:inner: target: close time.busy=1.23ms time.idle=4.56µs`.
fn closed(line: &str) -> Option<(String, u64)> {
    let (scope, times) = line.split_once(" close time.busy=")?;
    let busy = nanoseconds(times.split_whitespace().next()?)?;
    let (_, scope) = after_level(scope)?;
    // A value with a brace of its own may end the fields early, so that others stand among the names.
    let names = without_fields(&without_credentials(scope.trim_start()));
    let (names, _target) = names.split_once(": ")?;
    Some((names.replace(':', IN), busy))
}

/// Returns a text without what stands in braces, where braces in strings and characters of Rust's count for nothing.
fn without_fields(text: &str) -> String {
    let mut names = String::new();
    let mut depth = 0_usize;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if depth == 0 => names.push(c),
            // A string to its end; one without an end is none.
            '"' => {
                let mut string = chars.clone();
                while let Some(inner) = string.next() {
                    match inner {
                        '\\' => drop(string.next()),
                        '"' => {
                            chars = string;
                            break;
                        }
                        _ => {}
                    }
                }
            }
            '\'' if chars.clone().nth(1) == Some('\'') => drop(chars.nth(1)),
            _ => {}
        }
    }
    names
}

/// Returns the level of a line, and the text behind it.
fn after_level(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        if LEVELS.contains(&word) {
            return Some((word, behind));
        }
        rest = behind.trim_start();
    }
    None
}

/// Reads a time as both forms print it, three digits and a unit, in nanoseconds.
fn nanoseconds(time: &str) -> Option<u64> {
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let mut parts = units
        .iter()
        .map(|(name, unit)| (time.strip_suffix(name), unit));
    let (number, unit) = parts.find_map(|(number, unit)| Some((number?, unit)))?;
    let ns = number.parse::<f64>().ok()? * unit;
    (0.0..u64::MAX as f64)
        .contains(&ns)
        .then(|| ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Vec<(String, u64)> {
        let mut spans = Spans::default();
        super::read(&mut spans, output.as_bytes());
        spans.into_iter().collect()
    }

    fn expected(spans: &[(&str, u64)]) -> Vec<(String, u64)> {
        let owned = spans.iter().map(|(path, ns)| ((*path).to_owned(), *ns));
        owned.collect()
    }

    /// Fields that have braces in their values, and addresses with a user and a token.
    #[test]
    fn fields_are_no_names() {
        for (scope, name) in [
            (
                r#"fetch{sep='}' url="https://me:s3cr3t@h.example/p?token=s3cr3t"}"#,
                "fetch",
            ),
            (r#"outer{a="}\"}"}:inner{b='{'}"#, "outer > inner"),
            (r"outer{n=1}:inner{it's=2}", "outer > inner"),
            (r#"prove{file=5" disk.bin}:commit"#, "prove > commit"),
            (
                r"fetch{sep=} url=https://me:s3cr3t@h.example/p?token=s3cr3t}",
                "fetch url=https > //h.example/p",
            ),
        ] {
            let line = format!(
                "2026-01-01T00:00:00Z  INFO {scope}: prover: close time.busy=1.00ms time.idle=1.00ms\n"
            );
            assert_eq!(read(&line), expected(&[(name, 1_000_000)]), "{scope}");
        }
    }

    /// Output of tracing-forest 0.3.1, with events, fields, a second root and the program's own lines between.
    const FOREST: &str = "\
proving
INFO     prove [ 1.25s | 0.45% / 100.00% ]
INFO     ┝━ commit [ to trace ] [ 250ms | 10.00% / 20.00% ] dims: 4x2 [ 1.00s | 3% ]
DEBUG    │  ┝━ 🐛 [debug]: a message | n: 1
INFO     │  ┕━ hash [ 20.5ms | 1.64% ]
INFO     ┕━ open [ 900µs | 0.07% ]
INFO        ┕━ hash [ 12ns | 0.00% ]
F(1) = 1
ERROR    hash [ 5.00µs | 100.00% ]
INFO     prove [ 1.00s | 100.00% ]
";

    #[test]
    fn trees_are_added_up_by_path() {
        let found = read(FOREST);
        let expected = expected(&[
            ("prove", 2_250_000_000),
            ("prove > commit [ to trace ]", 250_000_000),
            ("prove > commit [ to trace ] > hash", 20_500_000),
            ("prove > open", 900_000),
            ("prove > open > hash", 12),
            ("hash", 5_000),
        ]);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_without_the_line_above_it_is_above_no_other() {
        let tree = "\
INFO     ┝━ commit [ 1.00ms | 3.00% ]
INFO     │  ┕━ hash [ 1.00ms | 3.00% ]
INFO     ┕━ open [ 1.00ms | 3.00% ]
";
        let paths = ["commit", "hash", "open"];
        assert_eq!(read(tree), expected(&paths.map(|path| (path, 1_000_000))));
        let opened = open(tree.as_bytes());
        let opened: Vec<_> = opened.iter().map(|open| &*open.path).collect();
        assert_eq!(opened, paths);
    }

    #[test]
    fn a_level_is_a_word_of_its_own() {
        let line = "INFOBOX: INFO prove: x: close time.busy=1ms time.idle=1ns";
        assert_eq!(read(line), expected(&[("prove", 1_000_000)]));
    }

    #[test]
    fn colours_and_clocks_change_nothing() {
        let line = "2026-11-23T10:00:00+00:00 \u{1b}[1;32mINFO    \u{1b}[0m ┕━ \u{1b}[2mopen\u{1b}[0m [ 1.00ms | 3.00% ]\n";
        assert_eq!(read(line), expected(&[("open", 1_000_000)]));
    }

    /// Output of tracing-subscriber 0.3.23 with `FmtSpan::CLOSE`.
    const CLOSED: &str = "\
2026-11-23T10:00:00.000001Z  INFO prove{n=3 log=\"a: {b}\"}:open: p3_fri::prover: close time.busy=12.3ms time.idle=4.50µs
2026-11-23T10:00:00.000002Z  INFO prove{n=3}: prover: close time.busy=1.50s time.idle=1.00ms
2026-11-23T10:00:00.000003Z  INFO prove{n=3}:open: p3_fri::prover: close time.busy=700µs time.idle=4.50µs
2026-11-23T10:00:00.000004Z DEBUG prove{n=3}: prover: a message
close time.busy=1.00s
";

    #[test]
    fn closes_are_added_up_by_path() {
        let expected = expected(&[("prove > open", 13_000_000), ("prove", 1_500_000_000)]);
        assert_eq!(read(CLOSED), expected);
    }

    #[test]
    fn times_that_are_no_number_together_are_the_most_there_is() {
        let output = "INFO     prove [ 18446744073.00s | 100.00% ]\n".repeat(2);
        assert_eq!(read(&output), expected(&[("prove", u64::MAX)]));
    }

    #[test]
    fn names_that_are_shown_alike_are_one_span() {
        let output = "INFO     a\u{200b}https://me:s3cr3t@h [ 1.00s | 9.00% ]\n\
                      INFO     a\u{200c}https://you:s3cr3t@h [ 1.00s | 9.00% ]\n";
        assert_eq!(read(output), expected(&[("a https://h", 2_000_000_000)]));
    }

    #[test]
    fn names_are_as_long_as_they_must_be() {
        let paths = [
            "prove",
            "prove > open",
            "prove > open > hash",
            "prove > hash",
            "rehash",
        ];
        let paths = paths.map(str::to_owned);
        let names = paths.each_ref().map(|path| name(path, &paths));
        let expected = ["prove", "open", "open > hash", "prove > hash", "rehash"];
        assert_eq!(names, expected);
    }

    #[test]
    fn other_lines_are_no_spans() {
        for line in [
            "INFO     prove [ 1.25s ]",
            "INFO prove [ 1.25s | 3.00% ]",
            "INFO     prove [ fast | 3.00% ]",
            "prove [ 1.25s | 3.00% ]",
            "2026 INFO prove: target: close time.busy=soon time.idle=1ns",
            "INFO     prove [ 3.00% | 1.25s ]",
            "INFO     prove [ infs | 3.00% ]",
            "INFO     prove [ NaNs | 3.00% ]",
            "INFO     prove [ -1s | 3.00% ]",
            "INFO     prove [ 1e12s | 3.00% ]",
        ] {
            assert_eq!(read(line), [], "{line}");
        }
    }
}
