//! Addresses as they are shown: without the user, and the password or token, that one may hold.

/// Copies a text with `SCHEME://HOST` in place of each `SCHEME://USER:TOKEN@HOST` in it.
pub fn without_credentials(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let is_end = |c: char| c.is_whitespace() || "/?#\\\"`<>".contains(c);
        let authority = &after[..after.find(is_end).unwrap_or(after.len())];
        let host = authority.rfind('@').map_or(0, |at| at + 1);
        shown += before;
        shown += "://";
        rest = &after[host..];
    }
    shown + rest
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
        ] {
            assert_eq!(without_credentials(text), shown);
        }
        for text in [
            "",
            "a@b",
            "://",
            "https://github.com/a/b#name@1.0.0",
            "file:///home/me@work",
            "https://a.example, for b@1.0",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }
}
