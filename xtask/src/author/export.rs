//! The texts of a patch for upstream: the mail for `git am`, and the description of the pull request.

use anyhow::Result;

use crate::author::figures::Figures;
use crate::author::{evidence, legs};
use crate::project::Project;
use p3_patches::catalog::patch::{END, Patch};
use p3_patches::catalog::stack::Stack;

/// The texts that are exported for one patch.
#[derive(Eq, PartialEq)]
pub struct Texts {
    /// The mail that `git am` takes.
    pub mail: String,
    /// The pull request's description, in Markdown.
    pub description: String,
}

/// The sender of the texts.
pub struct Sender {
    /// The commit's author, as `Name <address>`.
    pub author: String,
    /// The address of this repository; `None` where nobody else can reach it.
    pub repository: Option<String>,
}

/// Returns the texts for a patch, and applies it to the patches of the mails before.
pub fn texts(
    project: &Project,
    base: &str,
    patch: &Patch,
    stack: &mut Stack,
    sender: &Sender,
) -> Result<Texts> {
    let figures = Figures::of(project, base, &patch.name)?;
    let sections = sections(project, patch, base, &figures)?;
    let diff = stack.apply_as_diff(patch)?;
    Ok(Texts {
        mail: mail(patch, &diff, &sections, &sender.author),
        description: description(patch, base, &figures.headline(), &sections, sender),
    })
}

/// A heading, and what stands below it.
type Section = (String, String);

/// Returns the patch as a mail. The date is fixed, so that the same patch gives the same text. The sections stand behind the line that
/// ends the commit's message.
fn mail(patch: &Patch, diff: &str, sections: &[Section], author: &str) -> String {
    let sections = (sections.iter()).map(|(heading, text)| format!("\n{heading}:\n\n{text}\n"));
    format!(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n\
         From: {author}\n\
         Date: Thu, 1 Jan 1970 00:00:00 +0000\n\
         Subject: [PATCH] {}\n\
         MIME-Version: 1.0\n\
         Content-Type: text/plain; charset=UTF-8\n\
         Content-Transfer-Encoding: 8bit\n\n\
         {}\n---\n{}\n{}{END}",
        patch.header.title,
        patch.header.body,
        sections.collect::<String>(),
        diff
    )
}

/// Returns the pull request's text: what was gained, what the commit says, and how to see it for oneself.
fn description(
    patch: &Patch,
    base: &str,
    headline: &str,
    sections: &[Section],
    sender: &Sender,
) -> String {
    let name = &patch.name;
    let mut text = format!("{headline}\n\n{}\n", patch.header.body);
    for (heading, section) in sections {
        text += &format!("\n## {heading}\n\n{section}\n");
    }
    text += "\n## Reproduce\n\nThe commands above run in a checkout of the patches' repository.\n\n```\n";
    if let Some(address) = &sender.repository {
        text += &format!("git clone {address} p3-patches && cd p3-patches\n");
    }
    if !patch.header.needs.is_empty() {
        text += &format!(
            "cargo p3 ab {name} --step --base {base}   # both sides have what it stacks on\n"
        );
    }
    text +=
        &format!("cargo p3 ab {name} --base {base}   # against Plonky3 {base} as published\n```\n");
    unwrapped(&text)
}

/// Writes each paragraph and each item of a list on one line: in a pull request, each line break is one.
fn unwrapped(text: &str) -> String {
    let mut unwrapped = String::new();
    let (mut in_code, mut is_joined) = (false, false);
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        let is_plain = !in_code && !is_fence && !line.is_empty() && !line.starts_with(['#', '|']);
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let begins =
            line.starts_with("- ") || number.len() < line.len() && number.starts_with(". ");
        if is_joined && is_plain && !begins {
            unwrapped.push(' ');
            unwrapped += line.trim_start();
        } else {
            if !unwrapped.is_empty() {
                unwrapped.push('\n');
            }
            unwrapped += line;
        }
        is_joined = is_plain;
    }
    unwrapped + "\n"
}

/// Returns the sections that answer a reviewer: threads, figures, tests, risk.
fn sections(
    project: &Project,
    patch: &Patch,
    base: &str,
    figures: &Figures,
) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    let mut push = |heading: &str, text: String| sections.push((heading.to_owned(), text));
    let header = &patch.header;
    if !header.related.is_empty() {
        push("Related", list(&header.related));
    }
    if !header.needs.is_empty() {
        let title = |need: &String| {
            Ok(format!(
                "{need}: {}",
                project.catalog.patch(base, need)?.header.title
            ))
        };
        let titles = header.needs.iter().map(title).collect::<Result<Vec<_>>>()?;
        push("Stacks on", list(&titles));
    }
    for (heading, text) in figures.sections() {
        push(heading, text);
    }
    push("Not measured", list(&figures.missing()));
    push("Tested", evidence::markdown(project, patch, base)?);
    push("CI", legs::markdown(patch, base)?);
    push("Risk", format!("{}.", header.risk.trim_end_matches('.')));
    Ok(sections)
}

/// Returns a list in Markdown.
fn list(items: &[String]) -> String {
    let items = items.iter().map(|item| format!("- {item}"));
    items.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_paragraph_is_one_line_and_code_stays() {
        let text = "One\ntwo 2\n3.5 three.\n\n- a\n  b\n- c\n1. d\n   e\n\n| x |\n| y |\n\n```\na\nb\n```\n# h\nf\n";
        let unwrapped = "One two 2 3.5 three.\n\n- a b\n- c\n1. d e\n\n| x |\n| y |\n\n```\na\nb\n```\n# h\nf\n";
        assert_eq!(super::unwrapped(text), unwrapped);
    }
}
