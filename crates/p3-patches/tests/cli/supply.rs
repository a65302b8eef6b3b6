//! The supply chain of this repository: no build script of its own, and a tool that cannot open a connection.

use std::process::Command;

use crate::fixture::{Fixture, repository, write};

/// A configuration above a temporary folder of the system, where another user may put one, is not obeyed.
#[test]
fn cargo_obeys_no_configuration_beside_temporary_folders() {
    let fixture = Fixture::new().with_crates().with_older_base();
    let temporary = fixture.path().join("shared/tmp");
    std::fs::create_dir_all(&temporary).unwrap();
    write(&temporary.join("../.cargo/config.toml"), "no configuration");
    for args in [
        &["edit", "demo", "--base", "0.4.0"][..],
        &["check"],
        &["overlay", "--base", "0.4.0", "--out", "overlay"],
    ] {
        let mut command = fixture.command(args);
        let output = command.env("TMPDIR", &temporary).output().unwrap();
        let transcript = fixture.transcript(&output);
        assert!(transcript.starts_with("exit 0\n"), "{args:?}: {transcript}");
    }
}

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

/// Whatever makes the call, in libc or not: a filter of the kernel ends a process, also one that the tool starts, that asks for
/// a socket.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[test]
fn no_run_asks_for_a_socket() {
    use std::collections::BTreeMap;
    use std::io;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

    // As <asm/unistd.h> has it; without a socket there is nothing to connect.
    let socket = if cfg!(target_arch = "x86_64") {
        41
    } else {
        198
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(socket, Vec::new())]),
        SeccompAction::Allow,
        SeccompAction::KillProcess,
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    let filtered = |mut command: Command| {
        let filter = filter.clone();
        // SAFETY: between fork and exec nothing is allocated, and no lock is taken: it is two system calls.
        unsafe {
            command
                .pre_exec(move || apply_filter(&filter).map_err(|_| io::ErrorKind::Other.into()));
        }
        command.output().unwrap()
    };
    // The filter works.
    let mut asks = Command::new("bash");
    asks.args(["-c", "exec 3<>/dev/tcp/127.0.0.1/1"]);
    assert_eq!(filtered(asks).status.signal(), Some(31), "no SIGSYS");

    let fixture = Fixture::new().with_crates();
    for args in [
        &["list"][..],
        &["apply", "demo"],
        &["status", "--verify"],
        &["apply", "stacked"],
        &["status"],
        &["overlay", "--out", "overlay"],
        &["remove"],
        &["edit", "demo"],
        &["refresh", "demo"],
        &["check"],
        &["export", "demo", "--author", "A <a@b>", "--out", "export"],
    ] {
        let output = filtered(fixture.command(args));
        let transcript = fixture.transcript(&output);
        assert!(transcript.starts_with("exit 0\n"), "{args:?}: {transcript}");
    }
}

/// Calls of the system without libc are rustix's, which is built without those for a network.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn system_calls_without_libc_are_rustixs() {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};
    use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

    let bytes = std::fs::read(env!("CARGO_BIN_EXE_p3-patches")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file.section_by_name(".text").unwrap();
    let code = text.data().unwrap();
    let mut calls = 0;
    for symbol in file.symbols() {
        if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
            continue;
        }
        let Some(at) = symbol.address().checked_sub(text.address()) else {
            continue;
        };
        let function = code.get(at as usize..(at + symbol.size()) as usize);
        let mut decoder = Decoder::new(64, function.unwrap_or_default(), DecoderOptions::NONE);
        while decoder.can_decode() {
            if [Mnemonic::Syscall, Mnemonic::Sysenter].contains(&decoder.decode().mnemonic()) {
                let name = symbol.name().unwrap();
                assert!(name.contains("6rustix"), "{name} calls the system");
                calls += 1;
            }
        }
    }
    assert!(calls > 0, "these are not the functions");

    let manifest = repository().join("crates/p3-patches/Cargo.toml");
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--edges",
            "normal,features",
            "--invert",
            "rustix",
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap();
    let features = String::from_utf8(tree.stdout).unwrap();
    assert!(features.contains("rustix feature \"fs\""), "{features}");
    assert!(!features.contains("rustix feature \"net\""), "{features}");
}
