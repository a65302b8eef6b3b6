//! `export`: what goes upstream.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::author::export::{Sender, texts};
use crate::author::git;
use crate::project::Project;
use p3_patches::catalog::stack::Stack;
use p3_patches::prover::tree;
use paired::address::address_without_credentials;
use paired::error::Failure;
use paired::files::dir::Dir;
use paired::files::replace;
use paired::interrupt;
use paired::run::protocol::is_control;

/// Write a patch for upstream: a mail for `git am`, and the text of the pull request.
///
/// DIR/NNNN-NAME.patch applies with `git am` to a checkout of Plonky3 at the release: one commit that says what and why. Behind the line
/// that ends the commit's message stand what was measured with which command, what was not, and how it is tested. DIR/NNNN-NAME.md is the
/// description with the same, what was gained first. It tells reviewers how to get this repository, by the address of git's remote
/// `origin`. The numbers are the order of the series, so `git am DIR/*.patch` applies all. The same patch and address give the same
/// bytes.
#[derive(clap::Args)]
#[command(after_help = "Example: cargo p3 export batched-permute --out upstream")]
pub struct Args {
    /// Patches to export; what they need is exported too.
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The folder to write to; it is created.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The commit's author, as `Name <address>` [default: git's].
    #[arg(long, value_parser = known_author)]
    author: Option<String>,
    /// The Plonky3 release [default: the newest that each patch has been ported to, previews included].
    #[arg(long, value_name = "VERSION")]
    base: Option<String>,
}

pub fn run(args: &Args, project: &Project) -> Result<()> {
    let sender = Sender {
        author: match &args.author {
            Some(author) => author.clone(),
            None => author(project)?,
        },
        repository: repository(project)?,
    };
    // The patches that one stacks on go to the same release.
    let mut exported = BTreeMap::new();
    for name in project
        .catalog
        .select(&args.names)?
        .iter()
        .filter(|name| args.names.contains(name))
    {
        let base = match &args.base {
            Some(base) => base.clone(),
            None => project.catalog.newest_base_of(name)?,
        };
        let asked = std::slice::from_ref(name);
        let (base, stack) = project.catalog.resolve(Some(&base), asked)?;
        exported.extend(stack.into_iter().map(|name| (name, base.clone())));
    }
    let mut files = Vec::new();
    let in_order = project
        .catalog
        .names()
        .filter_map(|name| exported.get_key_value(name));
    let mut stacks = BTreeMap::<_, Stack>::new();
    for ((name, base), number) in in_order.zip(1..) {
        let stack = match stacks.entry(base) {
            Entry::Occupied(stack) => stack.into_mut(),
            Entry::Vacant(stack) => {
                let names = exported.iter().filter(|(_, other)| *other == base);
                let patches = names.map(|(name, _)| project.catalog.patch(base, name));
                let patches = patches.collect::<Result<Vec<_>>>()?;
                let published = tree::baseline(project.patches(), base, &patches)?;
                stack.insert(Stack::new(published))
            }
        };
        let patch = project.catalog.patch(base, name)?;
        let texts = texts(project, base, &patch, stack, &sender)?;
        let file = |extension| args.out.join(format!("{number:04}-{name}.{extension}"));
        files.push((file("patch"), texts.mail.into_bytes()));
        files.push((file("md"), texts.description.into_bytes()));
    }
    let out = Dir::create(&args.out)?;
    replace::files_below(&[out.path()], &files)?;
    for (path, _) in files {
        println!("{}", path.to_string_lossy());
    }
    Ok(())
}

/// Reads an author that a mail's header can name.
fn known_author(author: &str) -> Result<String, String> {
    let parts = (author.strip_suffix('>')).and_then(|author| author.split_once(" <"));
    let is_part = |part: &str| {
        !part.trim().is_empty() && !part.contains(|c: char| is_control(c) || "<>".contains(c))
    };
    match parts {
        Some((name, address)) if is_part(name) && is_part(address) => Ok(author.to_owned()),
        _ => Err("not of the form `Name <address>`".to_owned()),
    }
}

/// Returns the author that git would name for a commit here.
fn author(project: &Project) -> Result<String> {
    let output = interrupt::output(
        Command::new("git")
            .args(["var", "GIT_AUTHOR_IDENT"])
            .current_dir(&project.root),
    )?;
    let ident = String::from_utf8_lossy(&output.stdout);
    // `Name <address> time zone`
    let author = ident.rfind('>').map(|end| known_author(&ident[..=end]));
    match author {
        Some(Ok(author)) if output.status.success() => Ok(author),
        _ => Err(Failure::environment(
            "git does not know who you are, in the form `Name <address>`",
        )
        .hint("set user.name and user.email, or pass --author 'Name <address>'")
        .into()),
    }
}

/// Returns the address of this repository: that of git's remote `origin`, where others can reach it.
fn repository(project: &Project) -> Result<Option<String>> {
    let mut git = git::command(&project.root);
    let output = interrupt::output(git.args(["remote", "get-url", "origin"]));
    interrupt::check()?;
    let stdout = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    let address = String::from_utf8_lossy(&stdout);
    let address = address_without_credentials(address.trim());
    // The address stands in a command for a shell, in Markdown.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/@%+".contains(c);
    Ok(Some(address)
        .filter(|address| address.starts_with("https://") && address.chars().all(is_plain)))
}
