//! The executable: the library, and the patches and kernels that it carries. They are compiled in here and nowhere else, so an
//! edited patch costs a link, not another build of the tool. The folder `embedded` has symbolic links to them, which
//! `cargo package` follows.

use std::process::ExitCode;

use include_dir::{Dir, include_dir};
use p3_patches::Embedded;

static PATCHES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/patches");
static KERNELS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/kernels");

fn main() -> ExitCode {
    p3_patches::main(Embedded {
        patches: &PATCHES,
        kernels: &KERNELS,
        lock: include_str!("../embedded/Cargo.lock"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    use include_dir::Dir;

    use super::{KERNELS, PATCHES};

    fn embedded(dir: &Dir<'_>, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        let files = (dir.files()).map(|file| (file.path().to_owned(), file.contents().to_owned()));
        found.extend(files);
        for dir in dir.dirs() {
            embedded(dir, found);
        }
    }

    fn on_disk(root: &Path, dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                on_disk(root, &path, found);
            } else {
                let below = path.strip_prefix(root).unwrap().to_owned();
                found.insert(below, fs::read(&path).unwrap());
            }
        }
    }

    /// Cargo builds again where an embedded file has changed. A new patch is noticed by its line in the series, a port by
    /// the field `Bases:` of the patch that it was made from.
    #[test]
    fn the_patches_of_the_checkout_are_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patches");
        let (mut here, mut there) = (BTreeMap::new(), BTreeMap::new());
        embedded(&PATCHES, &mut here);
        on_disk(&root, &root, &mut there);
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(&here),
            names(&there),
            "touch src/main.rs if a file is new that no other names"
        );
        for (path, contents) in &there {
            assert!(here[path] == *contents, "{}", path.display());
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut kernels = 0;
        let is_patch = |path: &PathBuf| path.extension().is_some_and(|found| found == "patch");
        for (path, contents) in there.iter().filter(|(path, _)| is_patch(path)) {
            let text = str::from_utf8(contents).unwrap();
            let field = text.lines().find_map(|line| line.strip_prefix("Kernels: "));
            for kernel in field.into_iter().flat_map(|field| field.split(", ")) {
                let (_, place) = kernel.split_once("/src/").unwrap();
                let name = path.file_stem().unwrap();
                let embedded = KERNELS.get_file(Path::new(name).join(place));
                let embedded =
                    embedded.expect("`embedded/kernels` has a link for each crate with kernels");
                let path = crates.join(name).join("src").join(place);
                let on_disk = fs::read(&path).unwrap();
                assert!(embedded.contents() == on_disk, "{}", path.display());
                kernels += 1;
            }
        }
        assert!(kernels > 0);
    }
}
