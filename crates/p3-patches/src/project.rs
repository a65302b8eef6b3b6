//! Where the patches are, and where this repository is: the optimizations' crates and the recorded measurements.

use std::borrow::Cow;
use std::env;
use std::ffi::OsStr;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::semver::Version;
use include_dir::Dir;

use paired::cargo::home;
use paired::error::Failure;
use paired::files::dir;
use paired::terminal::shown;

/// The name of this tool, of its package and of its executable.
pub const TOOL: &str = env!("CARGO_PKG_NAME");

/// The file with the checksums of Plonky3's packages, in the folder of patches.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// The files that the executable carries for use outside a checkout.
#[derive(Clone, Copy)]
pub struct Embedded {
    /// The folder `patches`.
    pub patches: &'static Dir<'static>,
    /// The kernels' text, in a folder for each optimization.
    pub kernels: &'static Dir<'static>,
    /// The lock file, which has the checksums of what is built here.
    pub lock: &'static str,
}

impl Embedded {
    /// The files of an executable that carries none.
    pub const NONE: Self = {
        static NONE: Dir<'_> = Dir::new("", &[]);
        Self {
            patches: &NONE,
            kernels: &NONE,
            lock: "",
        }
    };
}

/// The series, and one folder of patches per base.
#[derive(Clone)]
pub struct Patches {
    embedded: Embedded,
    /// Their folder; without one, the embedded ones are meant.
    folder: Option<PathBuf>,
    /// The root of the checkout that the tool is at work in.
    root: Option<PathBuf>,
    /// The folder that cargo is asked in for packages, and whose configuration it obeys.
    workplace: PathBuf,
    /// Tells whether cargo may be asked for packages that are not in its cache.
    asks_cargo: bool,
}

impl Patches {
    /// Returns the patches of the checkout at `root`, else those that are `embedded`; those in `folder`, where that is given. A
    /// folder that merely looks like a checkout is not asked: its patches would go into a prover unseen.
    pub fn locate(
        embedded: Embedded,
        root: Option<PathBuf>,
        folder: Option<PathBuf>,
    ) -> Result<Self> {
        if let Some(root) = root.as_ref().filter(|root| !is_project(root)) {
            let series = root.join("patches/series");
            if series.exists() {
                let what = format!("{}: not a plain file", shown(&series));
                return Err(Failure::input(what)
                    .hint("restore it from version control")
                    .into());
            }
            let what = format!("{}: no patches/series in this folder", shown(root));
            return Err(Failure::input(what)
                .hint("--project names a checkout of this tool's repository")
                .into());
        }
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            let what = if folder.exists() {
                "not a folder"
            } else {
                "no such folder"
            };
            return Err(Failure::input(format!("{}: {what}", shown(folder)))
                .hint("--patches names a folder with a series and its patches")
                .into());
        }
        let resolve = |path: PathBuf| {
            path.canonicalize()
                .with_context(|| format!("cannot resolve {}", shown(&path)))
        };
        let root = root.map(resolve).transpose()?;
        let own = || root.as_ref().map(|root| root.join("patches"));
        let folder = folder.map(resolve).transpose()?.or_else(own);
        Ok(Self {
            embedded,
            folder,
            workplace: root.clone().unwrap_or_else(|| ".".into()),
            root,
            asks_cargo: true,
        })
    }

    /// Returns these patches for work in a folder: where the configuration of cargo there replaces the registry, as for vendored
    /// sources, packages are taken from the replacement.
    pub fn at_work_in(&self, folder: &Path) -> Self {
        Self {
            workplace: folder.to_owned(),
            ..self.clone()
        }
    }

    /// Returns these patches for work apart from any prover's configuration of cargo: in the checkout or, without one, in cargo's
    /// home folder, which need not be there.
    pub fn apart(&self) -> Result<Self> {
        Ok(match &self.root {
            Some(root) => self.at_work_in(root),
            None => self.at_work_in(&home()?),
        })
    }

    /// Returns these patches for work beside folders that are not trusted: cargo, which reads the configuration of its home, too, is
    /// not asked where one of the two is part of the outermost repository of such a folder.
    pub fn trusting_nothing_in<'f>(
        self,
        folders: impl IntoIterator<Item = &'f Path>,
    ) -> Result<Self> {
        let home = home()?;
        let mut read = Vec::new();
        for folder in [&self.workplace, &home] {
            // A link may be part of the repository, or lead there.
            let written = path::absolute(folder).context("cannot tell the current folder")?;
            read.extend([written, resolved(folder)?]);
        }
        let mut not_trusted = Vec::new();
        for folder in folders {
            let folder = resolved(folder)?;
            let is_repository = |above: &&Path| {
                let kinds = [".git", ".hg", ".jj"];
                kinds
                    .iter()
                    .any(|kind| above.join(kind).symlink_metadata().is_ok())
            };
            // A repository may be part of another one.
            let repository = folder.ancestors().filter(is_repository).last();
            not_trusted.push(repository.unwrap_or(&folder).to_owned());
        }
        let is_part = |place: &PathBuf| not_trusted.iter().any(|folder| place.starts_with(folder));
        Ok(Self {
            asks_cargo: !read.iter().any(is_part),
            ..self
        })
    }

    /// Tells whether cargo may be asked for packages that are not in its cache.
    pub fn may_ask_cargo(&self) -> bool {
        self.asks_cargo
    }

    /// Returns the folder that cargo is to be asked in for packages: the prover's, or the checkout's. In a temporary folder of
    /// the system, cargo would obey what another user has put there.
    pub fn workplace(&self) -> &Path {
        &self.workplace
    }

    /// Returns the patches that were compiled into the tool.
    pub fn built_in(&self) -> Self {
        Self {
            folder: None,
            root: None,
            ..self.clone()
        }
    }

    /// Returns the folder of the patches; none where the executable has them.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the checkout's root, in a checkout.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Lists the files and folders of a checkout that commands read, and the folder of patches.
    pub fn inputs(&self) -> Vec<PathBuf> {
        const OF_A_CHECKOUT: [&str; 5] =
            ["Cargo.lock", "Cargo.toml", "benches", "crates", "patches"];
        let root = self.root.iter();
        let of_checkout = root.flat_map(|root| OF_A_CHECKOUT.map(|place| root.join(place)));
        of_checkout.chain(self.folder.clone()).collect()
    }

    /// Returns the contents of the file `path`, which is below the folder of patches and has `/` between its parts.
    pub fn read(&self, path: &str) -> Result<Option<Cow<'static, [u8]>>> {
        let Some(folder) = &self.folder else {
            let file = self.embedded.patches.get_file(path);
            return Ok(file.map(|file| file.contents().into()));
        };
        self.read_file(&folder.join(path))
    }

    /// Returns the contents of the file `place` below the `src/` of the optimization `name`.
    pub fn kernel(&self, name: &str, place: &str) -> Result<Option<Cow<'static, [u8]>>> {
        let Some(crates) = self.crates() else {
            let file = self.embedded.kernels.get_file(format!("{name}/{place}"));
            return Ok(file.map(|file| file.contents().into()));
        };
        self.read_file(&crates.join(name).join("src").join(place))
    }

    /// Returns the folder of the optimizations' crates, which is beside that of the patches. A folder of variants has none there:
    /// its patches hold all that they add.
    pub fn crates(&self) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.parent().unwrap_or(folder).join("crates"))
    }

    fn read_file(&self, path: &Path) -> Result<Option<Cow<'static, [u8]>>> {
        let (above, place) = self.below(path)?;
        Ok(above.read(place)?.map(Cow::Owned))
    }

    /// Opens the folder below which no link is followed on the way to `path`: the checkout's, or that above the patches. Also
    /// returns the rest of the way.
    fn below<'p>(&self, path: &'p Path) -> Result<(dir::Dir, &'p Path)> {
        let above_patches = self.folder.as_deref().and_then(Path::parent);
        let mut folders = self.root.as_deref().into_iter().chain(above_patches);
        let above = folders.find(|above| path.starts_with(above));
        let above = above.unwrap_or(Path::new("/"));
        Ok((dir::Dir::open(above)?, relative(above, path)))
    }

    /// Tells whether there is something at `path`. Where that is no plain file, it is refused when it is read.
    pub fn has(&self, path: &str) -> bool {
        !matches!(self.read(path), Ok(None))
    }

    /// Returns the Plonky3 releases with a folder of their own, oldest first.
    pub fn releases(&self) -> Result<Vec<Version>> {
        let release = |name: &OsStr| Version::parse(name.to_str()?).ok();
        let mut releases = Vec::new();
        if let Some(folder) = &self.folder {
            let (above, place) = self.below(folder)?;
            if let Some(folder) = above.folder(place)? {
                for (name, _) in folder.entries()? {
                    if let Some(found) = release(&name) {
                        // Refuses a link, below which no patch would be found.
                        folder.folder(&name)?;
                        releases.push(found);
                    }
                }
            }
        } else {
            let entries = self.embedded.patches.entries().iter();
            releases.extend(entries.filter_map(|entry| release(entry.path().as_os_str())));
        }
        releases.sort();
        Ok(releases)
    }

    /// `path` as a reader of the checkout would write it.
    pub fn shown(&self, path: &str) -> String {
        match (&self.folder, &self.root) {
            (Some(folder), Some(root)) => shown(relative(root, &folder.join(path))),
            (Some(folder), None) => shown(folder.join(path)),
            (None, _) => format!("patches/{path}"),
        }
    }

    /// Returns the text of [`CHECKSUMS`], from the checkout or the executable. A folder of variants has the same checksums.
    pub fn checksums(&self) -> Result<Option<Cow<'static, [u8]>>> {
        let folder = self.root.as_ref().map(|root| root.join("patches"));
        let of_checkout = Self {
            folder,
            ..self.clone()
        };
        of_checkout.read(CHECKSUMS)
    }

    /// Returns the lock file that has the checksums of what is built here; a checkout of other patches need not have one.
    pub fn lock(&self) -> Result<Option<Cow<'static, str>>> {
        let Some(root) = &self.root else {
            return Ok(Some(self.embedded.lock.into()));
        };
        let path = root.join("Cargo.lock");
        let Some(lock) = self.read_file(&path)? else {
            return Ok(None);
        };
        let refuse = |_| Failure::input(format!("{}: not UTF-8 text", shown(&path)));
        let lock = String::from_utf8(lock.into_owned()).map_err(refuse)?;
        Ok(Some(lock.into()))
    }
}

/// Returns the patches of the checkout at `root`, whatever is there.
#[cfg(test)]
pub fn at(root: &Path) -> Patches {
    Patches {
        embedded: Embedded::NONE,
        folder: Some(root.join("patches")),
        root: Some(root.to_owned()),
        workplace: root.to_owned(),
        asks_cargo: true,
    }
}

/// Returns the root of the checkout that the current folder is in.
pub fn checkout() -> Result<PathBuf> {
    let here = env::current_dir().context("cannot tell the current folder")?;
    let root = here.ancestors().find(|dir| is_project(dir));
    let root = root.ok_or_else(|| {
        Failure::environment("--checkout: no patches/series at or above the current folder")
    })?;
    Ok(root.to_owned())
}

/// Resolves the links in a path, the last parts of which need not be there.
fn resolved(path: &Path) -> Result<PathBuf> {
    let path = path::absolute(path).context("cannot tell the current folder")?;
    for above in path.ancestors() {
        if let Ok(found) = above.canonicalize() {
            return Ok(found.join(relative(above, &path)));
        }
    }
    Ok(path)
}

/// Returns the way to `path` from `root`, or the whole of it.
pub fn relative<'a>(root: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

fn is_project(dir: &Path) -> bool {
    dir.join("patches/series").is_file()
}
