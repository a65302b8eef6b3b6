//! A folder in memory, as it is or as a power failure leaves it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;

/// A file without its name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct File {
    pub bytes: Vec<u8>,
    pub mode: u32,
}

/// The number of a file's contents and mode: equal ones have the same.
pub type Content = usize;

/// Every content that there was.
#[derive(Default)]
pub struct Contents {
    numbers: BTreeMap<Rc<File>, Content>,
    files: Vec<Rc<File>>,
}

impl Contents {
    pub fn number(&mut self, bytes: Vec<u8>, mode: u32) -> Content {
        let file = Rc::new(File { bytes, mode });
        *self.numbers.entry(file).or_insert_with_key(|file| {
            self.files.push(Rc::clone(file));
            self.files.len() - 1
        })
    }

    pub fn file(&self, number: Content) -> &File {
        &self.files[number]
    }
}

/// Files and folders below a folder, by path. Folders have no content.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Disk(pub BTreeMap<String, Option<Content>>);

impl Disk {
    /// The files and folders below `folder`.
    pub fn read(folder: &Path, contents: &mut Contents) -> Self {
        let mut disk = Self::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(inner) = folders.pop() {
            for entry in fs::read_dir(inner).unwrap() {
                let entry = entry.unwrap();
                let path = entry.path();
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                let metadata = entry.metadata().unwrap();
                let content = metadata.is_file().then(|| {
                    contents.number(fs::read(&path).unwrap(), metadata.permissions().mode())
                });
                disk.0.insert(name.to_owned(), content);
                if metadata.is_dir() {
                    folders.push(path);
                }
            }
        }
        disk
    }

    /// Makes `folder` hold this and nothing else.
    pub fn write(&self, folder: &Path, contents: &Contents) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => fs::remove_dir_all(entry.path()).unwrap(),
                false => fs::remove_file(entry.path()).unwrap(),
            }
        }
        for (name, content) in &self.0 {
            let path = folder.join(name);
            match content {
                None => fs::create_dir(path).unwrap(),
                Some(content) => {
                    let File { bytes, mode } = contents.file(*content);
                    fs::write(&path, bytes).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
                }
            }
        }
    }

    /// The content of a file, if it is there.
    pub fn file(&self, path: &str) -> Option<Content> {
        self.0.get(path).copied().flatten()
    }

    /// The entries at `place` and below it.
    pub fn at<'a>(&'a self, place: &str) -> Vec<(&'a str, Option<Content>)> {
        // After `/` comes `0`.
        let below = self.0.range(format!("{place}/")..format!("{place}0"));
        let all = self.0.get_key_value(place).into_iter().chain(below);
        all.map(|(path, content)| (&**path, *content)).collect()
    }

    /// The entries whose paths are `kept`.
    pub fn part(&self, kept: impl Fn(&str) -> bool) -> Self {
        let mut part = self.clone();
        part.0.retain(|path, _| kept(path));
        part
    }

    /// By which paths another one differs.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let paths = self.0.keys().chain(other.0.keys());
        let mut paths: Vec<_> = paths
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .cloned()
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}
