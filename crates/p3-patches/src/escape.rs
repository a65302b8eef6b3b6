//! Text of others in Markdown: it stays text, on its line, whatever it holds.

use crate::measure::protocol::is_control;

/// Writes `text` as Markdown that is only text, in a table as well.
pub fn text(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '|' | '\\' | '`' | '*' | '[' | ']' | '~' => escaped.extend(['\\', c]),
            c if is_control(c) => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Writes a name as code in Markdown, in a table as well; as text, where it has what code cannot hold.
pub fn code(name: &str) -> String {
    let escaped = text(name);
    match escaped == name && !name.trim().is_empty() {
        true => format!("`{name}`"),
        false => escaped,
    }
}

/// Writes a command as a block of code, on one line that does not end the block.
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
            ("a|b", "a\\|b"),
            ("`a`", "\\`a\\`"),
            ("![x](y)", "!\\[x\\](y)"),
            ("<!-- p3 -->", "&lt;!-- p3 -->"),
            ("a\nb\u{202e}", "a b "),
            ("", ""),
        ] {
            assert_eq!(code(name), escaped);
        }
        assert_eq!(block("a"), "```\na\n```\n");
        assert_eq!(block("a\n````\n---"), "`````\na ```` ---\n`````\n");
    }
}
