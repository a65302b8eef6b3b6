//! Removes user names, passwords and tokens from addresses before they are shown.

use cargo_metadata::semver::Version;

/// Copies a text with `SCHEME://HOST` in place of each `SCHEME://USER:TOKEN@HOST` in it. Of queries and fragments, it keeps what cargo
/// writes there: `?rev=`, `?branch=`, `?tag=`, a commit, and a package with its version.
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        shown += before;
        shown += "://";
        let (authority, behind) = split(after, "/?#");
        shown += authority.rsplit('@').next().unwrap_or_default();
        let (path, behind) = split(behind, "?#");
        shown += &without_credentials(path);
        let (query, behind) = match behind.strip_prefix('?') {
            Some(behind) => split(behind, "#'"),
            None => ("", behind),
        };
        let kept = query.split('&').filter(|pair| is_reference(pair));
        for (pair, mark) in kept.zip(std::iter::once('?').chain(std::iter::repeat('&'))) {
            shown.push(mark);
            shown += pair;
        }
        rest = match behind.strip_prefix('#') {
            Some(behind) => {
                let (fragment, behind) = split(behind, "'");
                if names_a_version(fragment) {
                    shown.push('#');
                    shown += fragment;
                } else {
                    shown += punctuation(fragment);
                }
                behind
            }
            None => {
                if !query.split('&').next_back().is_some_and(is_reference) {
                    shown += punctuation(query);
                }
                behind
            }
        };
    }
    shown + rest
}

/// Splits an address at the first of these `marks`, or where it ends.
fn split<'t>(text: &'t str, marks: &str) -> (&'t str, &'t str) {
    let is_end = |c: char| c.is_whitespace() || "\\\"`<>".contains(c) || marks.contains(c);
    text.split_at(text.find(is_end).unwrap_or(text.len()))
}

/// Returns what ends a sentence or a list behind an address.
fn punctuation(text: &str) -> &str {
    &text[text
        .trim_end_matches([')', ']', '}', '.', ',', ';', ':'])
        .len()..]
}

/// Tells whether a part of a query is one that names a revision to cargo.
fn is_reference(pair: &str) -> bool {
    let key = pair.split_once('=').map(|(key, _)| key);
    key.is_some_and(|key| ["rev", "branch", "tag"].contains(&key))
}

/// Tells whether a fragment is a commit, a version, or `NAME@VERSION`.
fn names_a_version(fragment: &str) -> bool {
    let fragment = fragment.trim_end_matches(punctuation(fragment));
    let is_commit = fragment.len() <= 64 && fragment.bytes().all(|byte| byte.is_ascii_hexdigit());
    let version = fragment.rsplit('@').next().unwrap_or_default();
    is_commit || Version::parse(version).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_user_and_token() {
        for (text, shown) in [
            (
                "git+https://me:ghp_1@git.example/a?rev=v1#0a is `https://x-token@b.example`.",
                "git+https://git.example/a?rev=v1#0a is `https://b.example`.",
            ),
            ("ssh://git@github.com/a/b", "ssh://github.com/a/b"),
            ("sparse+https://u:p@q@c.example", "sparse+https://c.example"),
            (
                r#"{"a":"https://u@a","b":"c@d"}"#,
                r#"{"a":"https://a","b":"c@d"}"#,
            ),
            ("'https://u:p@a/b@c' d://e@", "'https://a/b@c' d://"),
            ("https://a/b?token=s3cret.", "https://a/b."),
            ("https://a?s3cret", "https://a"),
            (
                "(git+https://a/b?token=x&rev=v1&key=y#0a), 'https://a?x=y'",
                "(git+https://a/b?rev=v1#0a), 'https://a'",
            ),
            ("https://a/b#token=s3cret:", "https://a/b:"),
            ("https://a/b?sig=x#ghp_s3cret c", "https://a/b c"),
            (r#"{"a":"https://a/?t=x#y"}"#, r#"{"a":"https://a/"}"#),
            ("https://a/?to=https://u:p@b/c?x=y", "https://a/"),
            ("https://a/https://u:p@b/c?x=y", "https://a/https://b/c"),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
        for text in [
            "",
            "a@b",
            "://",
            "https://github.com/a/b#name@1.0.0",
            "git+https://a/b?branch=main#0a1b: moved",
            "git+https://a/b?tag=v1.",
            "registry+https://a/b#name@0.9.0-rc.2, twice",
            "path+file:///a/b#0.1.0",
            "file:///home/me@work",
            "https://a.example, for b@1.0",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }
}
