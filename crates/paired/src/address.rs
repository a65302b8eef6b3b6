//! Removes user names, passwords and tokens from addresses before they are shown.

use cargo_metadata::semver::Version;

/// Schemes after which an address may have any number of slashes, or none.
const WITHOUT_SLASHES: [&str; 3] = ["http", "https", "ftp"];

/// Copies a text with `SCHEME://HOST` in place of each `SCHEME://USER:TOKEN@HOST` in it. Of queries and fragments, it keeps what cargo
/// writes there: `?rev=`, `?branch=`, `?tag=`, a commit, and a package with its version.
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest
        .match_indices(':')
        .find_map(|(colon, _)| start(rest, colon))
    {
        shown += &rest[..start];
        let (address, behind) = reduced(&rest[start..], false);
        shown += &address;
        rest = behind;
    }
    shown + rest
}

/// Copies a text that is one address to its end, as [`without_credentials`] does, whatever characters its password has. The address may
/// be one that ssh takes, `USER@HOST:PATH`.
pub fn address_without_credentials(address: &str) -> String {
    match address.find(':').map(|colon| start(address, colon)) {
        Some(Some(start)) => address[..start].to_owned() + &reduced(&address[start..], true).0,
        None | Some(None) if address.starts_with(['/', '.']) => address.to_owned(),
        None | Some(None) => address.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

/// Copies an argument of a command: a text, or an address, which may follow `--OPTION=`.
pub fn argument_without_credentials(argument: &str) -> String {
    let is_option = argument.starts_with('-');
    let value = argument.find('=').filter(|_| is_option);
    let (option, value) = argument.split_at(value.map_or(0, |equals| equals + 1));
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let colon = value.find(|c| !is_of_scheme(c));
    match colon.and_then(|colon| start(value, colon)) {
        Some(_) => option.to_owned() + &address_without_credentials(value),
        None => without_credentials(argument),
    }
}

/// Finds where the user or the host starts, if the colon at `colon` is behind the scheme of an address.
fn start(text: &str, colon: usize) -> Option<usize> {
    let (before, behind) = (&text[..colon], text[colon..].strip_prefix(':')?);
    let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
    let scheme = scheme.unwrap_or_default().to_lowercase();
    let slashes = match WITHOUT_SLASHES.contains(&&*scheme) {
        true => behind.len() - behind.trim_start_matches(['/', '\\']).len(),
        false => behind.starts_with("//").then_some(2)?,
    };
    Some(colon + 1 + slashes)
}

/// Copies the address that `text` starts with, behind its scheme, and returns the text behind the address: none where the `whole` text is
/// the address.
fn reduced(text: &str, whole: bool) -> (String, &str) {
    let is_end = |c: char| !whole && (c.is_whitespace() || "\\\"`<>".contains(c));
    fn split<'t>(text: &'t str, marks: &str, is_end: impl Fn(char) -> bool) -> (&'t str, &'t str) {
        let end = text.find(|c| marks.contains(c) || is_end(c));
        text.split_at(end.unwrap_or(text.len()))
    }
    let quote = if whole { "" } else { "'" };
    const AUTHORITY: &str = "/?#\\";

    let (authority, _) = split(text, AUTHORITY, is_end);
    let user = match authority.rfind('@') {
        // The mark is one of the password's.
        None if !has_port_or_none(authority) => split(text, "", is_end).0.rfind('@'),
        user => user,
    };
    let (host, behind) = split(&text[user.map_or(0, |at| at + 1)..], AUTHORITY, is_end);
    let mut shown = host.to_owned();
    // The caller goes on with an address in the path. It may hold another one in its own path, and so on.
    let is_inner = |(at, c): (usize, char)| c == ':' && start(behind, at).is_some();
    let ends = |(_, c)| "?#".contains(c) || is_end(c);
    let mut ahead = behind
        .char_indices()
        .skip_while(|&c| !ends(c) && !is_inner(c));
    if !whole && ahead.next().is_some_and(is_inner) {
        return (shown, behind);
    }
    let (path, behind) = split(behind, "?#", is_end);
    shown += &without_credentials(path);
    let (query, behind) = match behind.strip_prefix('?') {
        Some(behind) => split(behind, &format!("#{quote}"), is_end),
        None => ("", behind),
    };
    let kept = query.split('&').filter(|pair| is_reference(pair));
    for (pair, mark) in kept.zip(std::iter::once('?').chain(std::iter::repeat('&'))) {
        shown.push(mark);
        shown += &without_credentials(pair);
    }
    match behind.strip_prefix('#') {
        Some(behind) => {
            let (fragment, behind) = split(behind, quote, is_end);
            if names_a_version(fragment) {
                shown.push('#');
                shown += fragment;
            } else {
                shown += punctuation(fragment);
            }
            (shown, behind)
        }
        None => {
            if !query.split('&').next_back().is_some_and(is_reference) {
                shown += punctuation(query);
            }
            (shown, behind)
        }
    }
}

/// Tells whether a host has no port, or one that is a number.
fn has_port_or_none(host: &str) -> bool {
    let port = host.rsplit_once(':').map(|(_, port)| port);
    host.starts_with('[') || port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
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
    fn addresses_in_addresses_take_no_stack() {
        let nested = "https://u:s3cr3t@h/".repeat(10_000);
        assert_eq!(without_credentials(&nested), "https://h/".repeat(10_000));
    }

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
            (
                "https://a/?rev=https://u:p@b/c",
                "https://a/?rev=https://b/c",
            ),
            ("https://a/https://u:p@b/c?x=y", "https://a/https://b/c"),
            ("https://u:s3/cr3t@a/b, c@d", "https://a/b, c@d"),
            ("https://u:s3?cr3t@a/b", "https://a/b"),
            ("https://u:s3#cr3t@a/b#0a", "https://a/b#0a"),
            ("`git+HTTPS:u:s3cr3t@a/b` c@d", "`git+HTTPS:a/b` c@d"),
            ("https:///u:s3cr3t@a/b", "https:///a/b"),
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
            "https://a:80/b@c, https://[::1]/b@c, https://a: b@c",
            "https: a@b",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }

    #[test]
    fn a_text_that_is_an_address_is_reduced_as_a_whole() {
        for address in [
            "https://bob:s3cr3t x@h/a",
            "https://bob:s3cr3t\"x@h/a",
            "https:bob:s3cr3t@h/a",
            "https:\\\\bob:s3cr3t@h/a",
            "HTTPS:/bob:s3cr3t<@h/a",
            "ssh://bob:s3cr3t`x@h/a",
            "https://bob:s3cr3t/x@h/a",
            "https://bob:s3cr3t?x@h/a",
            "https://bob:s3cr3t#x@h/a",
            "https://bob:s3cr3t\\x@h/a",
            "https://h/a?rev=x'y&token=s3cr3t",
            "https://h/a?rev=x y#s3cr3t'z",
        ] {
            let shown = address_without_credentials(address);
            assert!(
                !shown.contains("s3cr3t") && !shown.contains("bob"),
                "{shown}"
            );
            assert!(shown.contains("h/a"), "{shown}");
            assert_eq!(argument_without_credentials(address), shown);
            let option = format!("--index={address}");
            assert_eq!(
                argument_without_credentials(&option),
                format!("--index={shown}")
            );
        }
        for (address, shown) in [
            ("bob:s3cr3t@h:a", "h:a"),
            ("git@github.com:a/b", "github.com:a/b"),
            ("ssh:bob:s3cr3t@h/a", "h/a"),
            ("https://u@h:80/a@b", "https://h:80/a@b"),
            ("", ""),
            ("/a@b", "/a@b"),
            ("../a@b", "../a@b"),
            ("file:///home/me@work", "file:///home/me@work"),
        ] {
            assert_eq!(address_without_credentials(address), shown);
        }
        for text in [
            "--json=a@b",
            "a@b",
            "x=https://a b@c",
            "-Zx=y",
            "name:1@2",
            "curl https://a b@c",
        ] {
            assert_eq!(argument_without_credentials(text), text);
        }
    }
}
