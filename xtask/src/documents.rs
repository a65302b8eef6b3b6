//! Tests of the documents of this repository: their links lead somewhere, and the commands that they name are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use walkdir::{DirEntry, WalkDir};

use crate::Cli;

/// Finds the documents.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    // Folders of other names hold build outputs, and the files of git and of editors.
    let is_ours = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() == 0 || name == ".github" || name != "target" && !name.starts_with('.')
    };
    let all = WalkDir::new(root).into_iter().filter_entry(is_ours);
    let all = all.map(|entry| entry.unwrap().into_path());
    let documents: Vec<_> = all
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(
        documents
            .iter()
            .any(|path| path.ends_with("docs/prover.md"))
    );
    documents
}

/// The parts of a document that the tests look at.
#[derive(Default)]
struct Document {
    links: Vec<String>,
    /// The anchors of the headings, as hosts of repositories make them up.
    anchors: BTreeSet<String>,
    /// The text of each span of code.
    spans: Vec<String>,
    /// The text of each block of code.
    blocks: Vec<String>,
}

impl Document {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut document = Self::default();
        let (mut heading, mut block) = (None::<String>, None::<String>);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    document
                        .anchors
                        .extend(heading.take().map(|heading| anchor(&heading)));
                }
                Event::Start(Tag::CodeBlock(
                    CodeBlockKind::Fenced(_) | CodeBlockKind::Indented,
                )) => {
                    block = Some(String::new());
                }
                Event::End(TagEnd::CodeBlock) => document.blocks.extend(block.take()),
                Event::Code(code) => {
                    heading.iter_mut().for_each(|heading| *heading += &code);
                    document.spans.push(code.into_string());
                }
                Event::Text(text) => {
                    for part in heading.iter_mut().chain(&mut block) {
                        *part += &text;
                    }
                }
                _ => {}
            }
        }
        document
    }
}

fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || [' ', '-', '_'].contains(c);
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn links_lead_somewhere() {
    let mut dead = Vec::new();
    for path in documents() {
        for link in Document::read(&path).links {
            if link.contains("://") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let to = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            let is_there = match anchor {
                "" => to.exists(),
                anchor => {
                    // A host shows a folder with its README.
                    let shown = if to.is_dir() {
                        to.join("README.md")
                    } else {
                        to
                    };
                    shown.is_file() && Document::read(&shown).anchors.contains(anchor)
                }
            };
            if !is_there {
                dead.push(format!("{path:?}: {link}"));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

/// Returns the words behind each `cargo p3` of a text of code, up to the end of that command.
fn commands(code: &str) -> Vec<Vec<String>> {
    let code = code.replace("\\\n", " ");
    let lines = code
        .lines()
        .flat_map(|line| line.split("cargo p3 ").skip(1));
    let is_end = |word: &String| ["|", ">", "2>", "&&", ";", "||"].contains(&&**word);
    let words = lines.filter_map(shlex::split);
    let words = words.map(|words| words.into_iter().take_while(|word| !is_end(word)).collect());
    words.filter(|words: &Vec<_>| !words.is_empty()).collect()
}

/// Returns what is wrong with a command. A `whole` one has all that it needs.
fn fault(words: &[String], whole: bool) -> Option<String> {
    let mut cli = Cli::command();
    cli.build();
    let mut command: &Command = &cli;
    for word in words {
        match command.find_subcommand(word) {
            Some(found) => command = found,
            None => break,
        }
    }
    if command.get_name() == cli.get_name() {
        return Some("no such command".to_owned());
    }
    let options = words.iter().take_while(|word| *word != "--");
    for option in options.filter_map(|word| word.strip_prefix("--")) {
        let name = option.split('=').next();
        let mut arguments = command.get_arguments();
        if !arguments.any(|argument| argument.get_long() == name) {
            return Some(format!("{} has no --{option}", command.get_name()));
        }
    }
    // Placeholders are in capitals, and two dots stand for what is left out.
    let is_placeholder = |word: &String| {
        word == ".." || word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    if words.len() == 1 || words.iter().any(is_placeholder) {
        return None;
    }
    let words = ["xtask"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let error = cli.try_get_matches_from(words).err()?;
    let is_fault = match whole {
        true => error.use_stderr(),
        false => error.kind() == ErrorKind::ArgumentConflict,
    };
    is_fault.then(|| error.to_string())
}

#[test]
fn commands_in_documents_are_there() {
    let mut faults = Vec::new();
    let mut note = |place: &str, code: &str, whole: bool| {
        for words in commands(code) {
            let fault = fault(&words, whole);
            faults.extend(fault.map(|fault| format!("{place}: {}: {fault}", words.join(" "))));
        }
    };
    for path in documents() {
        let Document { spans, blocks, .. } = Document::read(&path);
        let place = format!("{path:?}");
        spans.iter().for_each(|span| note(&place, span, false));
        blocks.iter().for_each(|block| note(&place, block, true));
    }
    for command in Cli::command().get_subcommands() {
        let modes = command.get_subcommands().chain([command]);
        for help in modes.filter_map(Command::get_after_help) {
            note(command.get_name(), &help.to_string(), true);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn faults_of_commands_are_found() {
    for (code, expected) in [
        (
            "$ cargo p3 ab batched-permute --quick # a first look\n",
            None,
        ),
        ("cargo p3 ab batched-permute --quick | tee log", None),
        ("cargo p3 inspect count NAME --isa ..", None),
        ("cargo p3 measure", Some("no such command")),
        ("cargo p3 refresh x --to 0.9.0", Some("refresh has no --to")),
        (
            "cargo p3 ab x --revert --record",
            Some("cannot be used with"),
        ),
        (
            "cargo p3 inspect count x \\\n  --isas neon",
            Some("count has no --isas"),
        ),
    ] {
        let found: Vec<_> = commands(code)
            .iter()
            .filter_map(|words| fault(words, true))
            .collect();
        assert_eq!(found.len(), expected.iter().len(), "{code}: {found:?}");
        assert!(
            found.iter().all(|found| found.contains(expected.unwrap())),
            "{code}: {found:?}"
        );
    }
}
