use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

/// A checkout with a release that no patch is for.
pub fn checkout() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir_all(dir.path().join("patches/0.8.0")).unwrap();
    fs::write(dir.path().join("patches/series"), "").unwrap();
    dir
}

/// Writes a script that can be run.
pub fn executable(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
