//! Replaces files in one step: a reader sees the old bytes or the new ones, however this process ends.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::error::Failure;
use crate::files::dir::{Dir, Staged, cannot_write};
use crate::terminal::shown;

/// Refuses a folder, a link to nothing, a file in a folder that is not there, and a named pipe, which would block without a reader.
/// A pipe without a name is a shell's, which has its reader. A `-` is refused, which elsewhere stands for the standard output.
pub fn check(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(Failure::usage("-: not a name of a file").hint("name a file, such as ./-"));
    }
    let name = path.file_name().unwrap_or_default();
    if name.as_encoded_bytes().ends_with(UNFINISHED.as_bytes()) {
        let what = format!("{}: the name of an unfinished file", shown(path));
        return Err(Failure::input(what).hint("name another file; the next run would remove it"));
    }
    let Ok(present) = fs::metadata(path) else {
        // Its file would be another name of a file that is written, too, and the two are not told apart before.
        if path.is_symlink() {
            let what = format!("{}: a symbolic link to nothing", shown(path));
            return Err(Failure::input(what).hint("name a file, or a link to one that is there"));
        }
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            if let Some(file) = folder.ancestors().find(|path| path.is_file()) {
                let what = format!("{}: not a folder", shown(file));
                return Err(Failure::input(what).hint("name a file elsewhere"));
            }
            let what = format!("{}: no such folder", shown(folder));
            return Err(Failure::environment(what).hint("create it, or name a file elsewhere"));
        }
        return Ok(());
    };
    let is_named_pipe = present.file_type().is_fifo() && path.canonicalize().is_ok();
    if present.is_dir() || is_named_pipe {
        let what = if is_named_pipe { "a pipe" } else { "a folder" };
        return Err(Failure::input(format!("{}: {what}", shown(path))).hint("name a file"));
    }
    Ok(())
}

/// Writes files that belong together, by paths of the user's. No file is replaced before all have been written beside their
/// places. Symbolic links are followed. A device or a shell's pipe is written to directly.
pub fn files(files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let stage = |(path, contents): &(PathBuf, Vec<u8>)| {
        check(path)?;
        let present = fs::metadata(path).ok();
        if present.as_ref().is_some_and(|present| !present.is_file()) {
            fs::write(path, contents).map_err(|error| cannot_write(path, &error))?;
            return Ok(None);
        }
        // The file that a link names, not the link.
        let path = match present {
            Some(_) => path.canonicalize()?,
            None => std::path::absolute(path)?,
        };
        let parent = path.parent().context("a file in a folder")?;
        let name = path.file_name().context("a file with a name")?;
        stage(&Dir::open(parent)?, Path::new(name), contents).map(Some)
    };
    let staged = files.iter().map(stage).collect::<Result<Vec<_>>>()?;
    staged.into_iter().flatten().try_for_each(Staged::put)
}

/// Writes files that belong together, each below one of the folders `roots`, and refuses symbolic links below these. No file is
/// replaced before all have been written beside their places. Fails for a path outside the folders.
pub fn files_below(roots: &[&Path], files: &[(PathBuf, Vec<u8>)]) -> Result<()> {
    let written = |(path, contents): &(PathBuf, Vec<u8>)| {
        let mut below = roots.iter().map(|root| (root, path.strip_prefix(root)));
        let below = below.find_map(|(root, path)| Some((root, path.ok()?)));
        let (root, path) = below.context("a file in one of the folders")?;
        stage(&Dir::open(root)?, path, contents)
    };
    let staged = files.iter().map(written).collect::<Result<Vec<_>>>()?;
    staged.into_iter().try_for_each(Staged::put)
}

/// The end of the name of a file that is written beside its place.
const UNFINISHED: &str = ".p3-unfinished";

/// Writes a file beside the place that it takes later. A file that a killed run left there is overwritten.
fn stage(root: &Dir, path: &Path, contents: &[u8]) -> Result<Staged> {
    let folder = root.create_folder(path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().unwrap_or_default();
    let mut part = OsString::from(".");
    part.push(name);
    part.push(UNFINISHED);
    folder.place(name)?.stage_as(&folder, part, contents)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::error::Kind;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>();
        names.sort();
        names
    }

    #[test]
    fn files_take_their_place_with_links_and_permissions_kept() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new, link] = ["old", "new", "link"].map(|name| dir.path().join(name));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("old", &link).unwrap();
        // Left by a run that was killed.
        fs::write(dir.path().join(".new.p3-unfinished"), "half").unwrap();
        files(&[(link.clone(), b"a".to_vec()), (new.clone(), b"b".to_vec())]).unwrap();
        assert_eq!(fs::read(&old).unwrap(), b"a");
        assert_eq!(fs::read(&new).unwrap(), b"b");
        assert!(link.is_symlink());
        let mode = fs::metadata(&old).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["link", "new", "old"]);
    }

    #[test]
    fn nothing_is_touched_where_one_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "old").unwrap();
        let nowhere = dir.path().join("nowhere/file");
        let error = files(&[(file.clone(), b"a".to_vec()), (nowhere, b"b".to_vec())]).unwrap_err();
        let expected = format!("{}: no such folder", dir.path().join("nowhere").display());
        assert_eq!(error.to_string(), expected);
        let below = file.join("new");
        let error = files(&[(file.clone(), b"a".to_vec()), (below, b"b".to_vec())]).unwrap_err();
        let expected = format!("{}: not a folder", file.display());
        assert_eq!(error.to_string(), expected);
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["file"]);
    }

    /// Two runs with one output: the second one writes nothing while the first has not put its file in place.
    #[test]
    fn a_file_that_another_run_writes_is_left_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let root = Dir::open(dir.path()).unwrap();
        let first = stage(&root, Path::new("file"), b"first").unwrap();
        let refused = files(&[(file.clone(), b"second".to_vec())]).unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with("file: another run is at work here"),
            "{refused}"
        );
        first.put().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"first");
        files(&[(file.clone(), b"second".to_vec())]).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"second");
        assert_eq!(names(dir.path()), ["file"]);
    }

    /// A folder or a link is none that a killed run left.
    #[test]
    fn what_is_no_unfinished_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [file, part] = ["file", ".file.p3-unfinished"].map(|name| dir.path().join(name));
        let mut contents = [(file.clone(), b"new".to_vec())];
        fs::create_dir(&part).unwrap();
        fs::write(part.join("inner"), "kept").unwrap();
        let refused = files(&contents).unwrap_err();
        assert!(
            refused.to_string().ends_with("not a plain file"),
            "{refused}"
        );
        assert_eq!(fs::read(part.join("inner")).unwrap(), b"kept");
        fs::remove_dir_all(&part).unwrap();
        symlink("elsewhere", &part).unwrap();
        let refused = files(&contents).unwrap_err();
        assert!(refused.to_string().contains("a symbolic link"), "{refused}");
        // A name of that kind is no output.
        contents[0].0 = part;
        let refused = files(&contents).unwrap_err();
        assert!(refused.to_string().contains("unfinished"), "{refused}");
        assert_eq!(names(dir.path()), [".file.p3-unfinished"]);
    }

    #[test]
    fn a_dash_alone_is_no_file() {
        let refused = check(Path::new("-")).unwrap_err();
        assert_eq!(refused.kind, Kind::Usage);
        check(Path::new("./-")).unwrap();
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        files(&[("/dev/null".into(), b"a".to_vec())]).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
