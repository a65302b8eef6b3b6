//! A power failure keeps what was synced. The system calls of a run show that whatever a rename brings in reached the disk
//! before it, and the rename before what relies on it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, MANIFEST};
use crate::recorder::{Call, record};

/// Tells whether one of `calls` is a sync of `path`, by itself or with all.
fn syncs(calls: &[Call], path: &Path) -> bool {
    let syncs = |call: &Call| matches!(call, Call::SyncAll) || *call == Call::Sync(path.to_owned());
    calls.iter().any(syncs)
}

/// Asserts that what every rename among `calls` brings in was synced since it was written, and that the folder is synced after a
/// rename onto one of `files`, before the next rename or removal.
#[track_caller]
fn assert_synced(calls: &[Call], files: &[PathBuf]) -> usize {
    let mut renamed = 0;
    for (at, call) in calls.iter().enumerate() {
        let Call::Rename(from, to) = call else {
            continue;
        };
        if !files.contains(to) {
            continue;
        }
        renamed += 1;
        let writes = |call: &Call| matches!(call, Call::Write { path, .. } if path == from);
        let written = calls[..at].iter().rposition(writes);
        let written = written.unwrap_or_else(|| panic!("{call:?}: nothing was written"));
        assert!(syncs(&calls[written..at], from), "{call:?}: not synced");
        let relies = |call: &Call| matches!(call, Call::Rename(..) | Call::Remove(_));
        let after = &calls[at + 1..];
        let end = after.iter().position(relies).unwrap_or(after.len());
        let folder = to.parent().unwrap();
        assert!(
            syncs(&after[..end], folder),
            "{call:?}: the folder is not synced"
        );
    }
    renamed
}

#[test]
fn renames_and_what_they_bring_reach_the_disk_in_order() {
    let fixture = Fixture::new();
    let prover = fs::canonicalize(fixture.prover()).unwrap();
    let [manifest, lock] = ["Cargo.toml", "Cargo.lock"].map(|name| prover.join(name));
    let files = [manifest.clone(), lock];
    for args in [&["apply", "demo"][..], &["apply", "stacked"]] {
        let calls = record(fixture.command(args), &prover);
        assert!(assert_synced(&calls, &files) >= 1, "{args:?}: {calls:?}");
        // The trees are on the disk before the manifest names them, and that is before the old ones go.
        let names = |call: &Call| matches!(call, Call::Rename(_, to) if *to == manifest);
        let named = calls.iter().position(names).unwrap();
        let of_tree = |path: &Path| path.starts_with(prover.join(".p3-patches/0.8.0"));
        let placed = |call: &Call| matches!(call, Call::Rename(_, to) if of_tree(to));
        let placed = calls[..named].iter().rposition(placed).unwrap();
        assert!(calls[placed..named].contains(&Call::SyncAll), "{args:?}");
        let goes = |call: &Call| matches!(call, Call::Rename(from, _) if of_tree(from));
        let gone = calls.iter().position(goes);
        assert!(gone.is_none_or(|gone| gone > named), "{args:?}");
    }
    let calls = record(fixture.command(&["remove"]), &prover);
    assert!(assert_synced(&calls, &files) >= 2, "{calls:?}");
    assert_eq!(fixture.manifest(), MANIFEST);
}
