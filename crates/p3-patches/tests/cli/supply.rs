//! What this repository is made of: no build script of its own, and a tool that cannot open a connection.

use std::process::Command;

use crate::fixture::repository;

#[test]
fn no_package_has_a_build_script() {
    for manifest in ["Cargo.toml", "examples/prover/Cargo.toml"] {
        let metadata = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--no-deps",
                "--offline",
                "--format-version",
                "1",
            ])
            .arg("--manifest-path")
            .arg(repository().join(manifest))
            .output()
            .unwrap();
        let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        assert!(!packages.is_empty());
        for package in packages {
            for target in package["targets"].as_array().unwrap() {
                assert_ne!(target["kind"][0], "custom-build", "{}", package["name"]);
            }
        }
    }
}

/// The executable imports what its code calls. `socketpair` is the standard library's way to hear of a process that it starts.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_tool_cannot_open_a_connection() {
    use object::Object as _;
    use object::read::NameOrOrdinal;

    let bytes = std::fs::read(env!("CARGO_BIN_EXE_p3-patches")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let imports = file.imports().unwrap().map(Result::unwrap);
    let names = imports.filter_map(|import| match import.name() {
        NameOrOrdinal::Name(name) => Some(str::from_utf8(name).unwrap()),
        NameOrOrdinal::Ordinal(_) => None,
    });
    let names = names.collect::<Vec<_>>();
    assert!(names.contains(&"waitpid"), "these are not the imports");
    for call in [
        "socket",
        "connect",
        "bind",
        "listen",
        "accept",
        "accept4",
        "sendto",
        "getaddrinfo",
    ] {
        assert!(!names.contains(&call), "the tool calls {call}");
    }
}
