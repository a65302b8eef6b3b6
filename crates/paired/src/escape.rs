//! Escapes text of other programs for Markdown, so that it stays text on one line, whatever it holds.

use crate::run::protocol::is_control;

/// Escapes `text` so that Markdown shows it as it is, in a table as well: no markup, no link, no mention of a user.
pub fn text(text: &str) -> String {
    let mut escaped = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            _ if is_markup(c) => escaped.extend(['\\', c]),
            // GitHub makes links of bare addresses, and notifies a user whose name stands after an `@`.
            ':' if next == Some('/') => escaped += ":\\",
            '.' if next.is_some() && escaped.ends_with("www") => escaped += "\\.",
            '@' if next.is_some_and(char::is_alphanumeric) => escaped += "@<!-- -->",
            c if is_control(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

fn is_markup(c: char) -> bool {
    "|\\`*[]~_".contains(c)
}

/// Writes a name as inline code of Markdown, in a table as well, or as [`text`] where it has a character that code cannot hold.
pub fn code(name: &str) -> String {
    let is_held = |c: char| "_*[]~".contains(c) || !(is_markup(c) || is_control(c) || c == '&');
    // A comment could be taken for the end of a generated part.
    let is_code = name.chars().all(is_held) && !name.contains("<!");
    match is_code && !name.trim().is_empty() {
        true => format!("`{name}`"),
        false => text(name),
    }
}

/// Writes a command as a fenced block of code of one line, with a fence that is longer than any in the command.
pub fn block(command: &str) -> String {
    let line = command.replace(is_control, " ");
    let mut fence = "```".to_owned();
    while line.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{line}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_named_stays_text() {
        for (name, escaped) in [
            ("lde/x/2^4 > a_b", "`lde/x/2^4 > a_b`"),
            ("fft/Dit<F>/2^4", "`fft/Dit<F>/2^4`"),
            ("a|b", "a\\|b"),
            ("`a`", "\\`a\\`"),
            ("![x](y)", "`![x](y)`"),
            ("![x](y)|", "!\\[x\\](y)\\|"),
            ("<!-- p3 -->", "&lt;!-- p3 -->"),
            ("a\nb\u{202e}", "a b "),
            ("__a__|", "\\_\\_a\\_\\_\\|"),
            ("|http://a www.b", "\\|http:\\//a www\\.b"),
            ("|CPU @ 2 GHz, @me", "\\|CPU @ 2 GHz, @<!-- -->me"),
            ("", ""),
        ] {
            assert_eq!(code(name), escaped);
        }
        assert_eq!(block("a"), "```\na\n```\n");
        assert_eq!(block("a\n````\n---"), "`````\na ```` ---\n`````\n");
    }
}
