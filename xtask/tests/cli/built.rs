//! Workers that are built in one place and measured in another, where there is no cargo.

use std::env::consts::ARCH;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::fixture::files;
use crate::fixture::{DEMO, Fixture, write};
use crate::killed::{host, with_workers};
use crate::killer::Killer;

/// Instruction sets, of which this CPU may lack all but the first.
const ISAS: [&str; 2] = if cfg!(target_arch = "x86_64") {
    ["generic", "x86-64-v4+ifma"]
} else {
    ["generic", "neon"]
};

/// An instruction set of another architecture.
const FOREIGN: &str = if cfg!(target_arch = "x86_64") {
    "neon"
} else {
    "x86-64-v3"
};

/// The flags of workers that need no library.
const PORTABLE: &str = if cfg!(target_os = "linux") {
    "-C target-feature=+crt-static"
} else {
    ""
};

/// A plan that is as fast as it gets.
const ONCE: [&str; 4] = ["--seeds", "2", "--reps", "1"];

/// The project, with workers that leave the file `ran`, and a folder for programs that has `cat` alone.
fn project() -> Killer {
    let killer = Killer::new(with_workers(Fixture::new().with_crates()));
    let path = |name: &str| killer.fixture.path().join(name);
    write(&path("pace"), "8");
    for side in ["baseline", "candidate"] {
        let text = fs::read_to_string(path(side)).unwrap();
        let ran = format!("#!/bin/sh\n: >{}\n", path("ran").display());
        write(&path(side), &text.replace("#!/bin/sh\n", &ran));
    }
    fs::create_dir(path("bin")).unwrap();
    symlink("/bin/cat", path("bin/cat")).unwrap();
    killer
}

/// Builds into `built` beside the prover.
fn build(killer: &Killer, args: &[&str], isas: &[&str]) -> String {
    let mut args = [&["ab"], args].concat();
    args.extend(isas.iter().flat_map(|isa| ["--isa", isa]));
    let mut command = killer.command(&args);
    command.args(["--build-only", "../built"]);
    killer.fixture.transcript(&command.output().unwrap())
}

/// Builds, which has to succeed, and takes the folder elsewhere.
#[track_caller]
fn built(killer: &Killer, args: &[&str], isas: &[&str]) -> PathBuf {
    let transcript = build(killer, args, isas);
    assert!(transcript.starts_with("exit 0\n"), "{transcript}");
    let copied = killer.fixture.path().join("copied");
    fs::rename(killer.fixture.path().join("built"), &copied).unwrap();
    copied
}

/// Measures in the checkout, without cargo, without a compiler, and without their variables.
fn measure(killer: &Killer, built: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(built.join("xtask"));
    command
        .args(["--checkout", "ab", "--built"])
        .arg(built)
        .args(args)
        .current_dir(killer.fixture.project())
        .env_clear()
        .env("PATH", killer.fixture.path().join("bin"));
    command
}

/// A record's text by its name, without the time.
fn records(killer: &Killer) -> Vec<(String, String)> {
    let records = files(&killer.fixture.project().join("benches/record"));
    let records = records.into_iter().map(|(name, text)| {
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("# time"));
        let folder = name.rsplit_once('/').unwrap().0.to_owned();
        (folder, lines.collect::<Vec<_>>().join("\n"))
    });
    records.collect()
}

/// Its record is that of a run that builds and measures, the command included.
#[test]
fn what_is_measured_elsewhere_is_what_one_run_measures() {
    let killer = project();
    let step = ["stacked", "--step"];
    let transcript = build(&killer, &step, &ISAS);
    let expected = "exit 0\n--- stdout\nworkers in ../built; copy that folder and a checkout of these patches to the machine, and \
                    there, in the checkout:\n  ../built/xtask --checkout ab --built ../built\n--- stderr\n";
    assert_eq!(transcript, expected);
    // The folder is on another machine, which can run them.
    assert!(!killer.fixture.path().join("ran").exists());
    let built = killer.fixture.path().join("built");
    for isa in ISAS {
        for side in ["baseline", "candidate"] {
            let placed = built.join(isa).join(side);
            let mode = fs::metadata(&placed).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755);
            let original = killer.fixture.path().join(side);
            assert_eq!(fs::read(placed).unwrap(), fs::read(original).unwrap());
        }
    }
    let copied = killer.fixture.path().join("copied");
    fs::rename(built, &copied).unwrap();
    let options = [&ONCE[..], &["--record"]].concat();
    let mut elsewhere = measure(&killer, &copied, &options);
    let output = elsewhere.args(["--isa", "generic"]).output().unwrap();
    let transcript = killer.fixture.transcript(&output);
    assert!(
        transcript.contains("\nbase 0.8.0 with demo, patches stacked, 2 seeds x 1 pairs"),
        "{transcript}"
    );
    assert!(output.status.success(), "{transcript}");
    assert!(killer.fixture.path().join("ran").exists());
    let elsewhere = records(&killer);
    fs::remove_dir_all(killer.fixture.project().join("benches/record")).unwrap();

    let here = [&["ab"], &step[..], &["--isa", "generic"], &options].concat();
    let output = killer.command(&here).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        killer.fixture.transcript(&output)
    );
    let [(folder, text)] = &elsewhere[..] else {
        panic!("{elsewhere:?}");
    };
    // The flags of the record's executables are its own.
    let flags = [" ", PORTABLE].concat();
    let flags = format!("{}\"\n", flags.trim_end());
    assert!(text.contains(&flags), "{text}");
    let text_here = text.replace(&flags, "\"\n");
    assert_eq!(records(&killer), [(folder.clone(), text_here)]);
    assert_eq!(*folder, format!("0.8.0/{}-generic/stacked.on.demo", host()));
    assert!(text.contains("\n# rustc = \"rustc 0.0.0\"\n"), "{text}");
}

/// A command and a compiler's name may have one.
#[test]
fn no_token_gets_from_a_folder_of_workers_into_a_record() {
    let killer = project();
    let copied = built(&killer, &["demo"], &["generic"]);
    let facts = copied.join("built.toml");
    let mut text = fs::read_to_string(&facts).unwrap();
    for (from, to) in [
        ("\"cargo p3 ", "\"cargo p3 --patches=URL "),
        ("rustc 0.0.0", "rustc URL"),
    ] {
        assert!(text.contains(from), "{text}");
        text = text.replacen(from, &to.replace("URL", "https://me:s3cr3t@h/x"), 1);
    }
    write(&facts, &text);
    let options = [&ONCE[..], &["--record"]].concat();
    let output = measure(&killer, &copied, &options).output().unwrap();
    let transcript = killer.fixture.transcript(&output);
    assert!(output.status.success(), "{transcript}");
    let [(_, record)] = &records(&killer)[..] else {
        panic!("{transcript}");
    };
    for shown in [&transcript, record] {
        assert!(shown.contains("https://h/x"), "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }
}

/// Before anything runs.
#[test]
fn other_code_and_other_executables_are_refused() {
    let killer = project();
    let copied = built(&killer, &["demo"], &ISAS);
    let refused = |args: &[&str], complaint: &str| {
        let output = measure(&killer, &copied, args).output().unwrap();
        let transcript = killer.fixture.transcript(&output);
        let start = format!("exit 3\n--- stdout\n--- stderr\nerror: {complaint}");
        assert!(transcript.starts_with(&start), "{transcript}");
        assert!(transcript.contains("\nhint: "), "{transcript}");
    };
    refused(
        &["--isa", "x86-64-v4"],
        "x86-64-v4: no workers were built for it\nhint: there are some for generic, ",
    );

    let patch = killer.fixture.patch("demo");
    write(&patch, &DEMO.replace("+mod demo;", "+pub mod demo;"));
    refused(
        &[],
        "[DIR]/copied/built.toml: built from other code than this checkout has: demo\n",
    );
    // The same code: it is the executables that the next line complains of.
    write(&patch, &DEMO.replace("Risk: ", "Risk: no "));

    let candidate = copied.join("generic/candidate");
    let original = fs::read_to_string(&candidate).unwrap();
    write(&candidate, &format!("{original}\n"));
    refused(
        &["--isa", "generic"],
        "[DIR]/copied/generic: not the executables of built.toml\n",
    );
    write(&candidate, &original);

    let mode = |mode| fs::set_permissions(&candidate, Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    refused(
        &["--isa", "generic"],
        "[DIR]/copied/generic/candidate: not executable\nhint: `chmod +x` ",
    );
    mode(0o755);

    fs::remove_file(&candidate).unwrap();
    let unreadable = "cannot copy [DIR]/copied/generic/candidate to [DIR]/copied/generic: ";
    refused(&["--isa", "generic"], unreadable);
    fs::create_dir(&candidate).unwrap();
    refused(&["--isa", "generic"], unreadable);
    fs::remove_dir(&candidate).unwrap();
    let pipe = Command::new("mkfifo").arg(&candidate).status().unwrap();
    assert!(pipe.success());
    refused(&["--isa", "generic"], unreadable);
    fs::remove_file(&candidate).unwrap();
    let (folder, aside) = (copied.join("generic"), copied.join("aside"));
    fs::rename(&folder, &aside).unwrap();
    refused(
        &[],
        "[DIR]/copied/generic: no folder of workers\nhint: copy ",
    );
    fs::rename(&aside, &folder).unwrap();
    write(&candidate, &original);

    let facts = copied.join("built.toml");
    let text = fs::read_to_string(&facts).unwrap();
    let renamed = text.replace("[workers.generic]", &format!("[workers.{FOREIGN}]"));
    write(&facts, &renamed);
    refused(&["--isa", FOREIGN], &format!("{FOREIGN}: this CPU lacks "));
    write(&facts, "nothing");
    refused(&[], "[DIR]/copied/built.toml: ");
    fs::remove_file(&facts).unwrap();
    refused(&[], "[DIR]/copied/built.toml: no such file\n");
    assert!(!killer.fixture.path().join("ran").exists());
}

/// The machines of a cluster differ: each measures what its CPU can run.
#[test]
fn instruction_sets_that_the_cpu_lacks_are_left_out() {
    let killer = project();
    let copied = built(&killer, &["demo"], &["generic"]);
    let facts = copied.join("built.toml");
    let text = fs::read_to_string(&facts).unwrap();
    let (_, hashes) = text.split_once("[workers.generic]").unwrap();
    let both = format!("{text}\n[workers.{FOREIGN}]{hashes}");
    for (text, code, said) in [
        (both, 0, "note: not measured: "),
        (
            text.replace("generic]", &format!("{FOREIGN}]")),
            3,
            "error: ",
        ),
    ] {
        write(&facts, &text);
        let output = measure(&killer, &copied, &ONCE).output().unwrap();
        let run = killer.fixture.transcript(&output);
        assert_eq!(output.status.code(), Some(code), "{run}");
        let said = format!("\n{said}{FOREIGN}: this CPU lacks ");
        assert!(run.contains(&said), "{run}");
    }
}

/// The folder may come from anybody: its text is checked before it becomes a path, a name or a comparison.
#[test]
fn facts_that_no_build_writes_are_refused() {
    let killer = project();
    let copied = built(&killer, &["demo"], &["generic"]);
    let facts = copied.join("built.toml");
    let original = fs::read_to_string(&facts).unwrap();
    let (head, _) = original.split_once("[workers.generic]").unwrap();
    let command = original.lines().next().unwrap();
    let (here, host) = (host(), format!("host = \"{}\"", host()));
    let rustflags = format!("rustflags = \"{PORTABLE}\"");
    let [vendor, library, arch, system] = [
        here.replacen('-', &format!("-{}-", "m".repeat(65)), 1),
        format!("{here}-made-up"),
        here.replacen(ARCH, "wasm32", 1),
        format!("{ARCH}-unknown-none"),
    ]
    .map(|host| format!("host = \"{host}\""));
    let [endless, flag] = [
        format!("version = \"{}\"", "r".repeat(2 << 20)),
        command.replace("--build-only", "--record=x --build-only"),
    ];
    let refused = |text: &str, complaint: &str| {
        write(&facts, text);
        let output = measure(&killer, &copied, &["--record"]).output().unwrap();
        let transcript = killer.fixture.transcript(&output);
        let start = "exit 3\n--- stdout\n--- stderr\nerror: [DIR]/copied/built.toml: ";
        assert!(
            transcript.starts_with(&format!("{start}{complaint}")),
            "{transcript}"
        );
        assert!(transcript.contains("\nhint: "), "{transcript}");
    };
    for (from, to, complaint) in [
        ("base = \"0.8.0\"", "base = \"../0.8.0\"", "base: "),
        (
            "base = \"0.8.0\"",
            "base = \"0.8.1\"",
            "no patches for Plonky3 0.8.1\n",
        ),
        (&host, "host = \"../machine\"", "host: no platform of "),
        (&host, "host = \"\"", "host: no platform of "),
        (
            "asked = [\"demo\"]",
            "asked = [\"stacked\"]",
            "not the patches that stacked stands for in this checkout\n",
        ),
        (
            "asked = [\"demo\"]",
            "asked = []",
            "not the patches that the whole series stands for in this checkout\n",
        ),
        (
            "asked = [\"demo\"]",
            "asked = [\"../demo\"]",
            "no patch is named `../demo`\n",
        ),
        (
            "reverted = false",
            "reverted = false\nbaseline_patches = [\"stacked\"]",
            "not the patches that demo stands for in this checkout\n",
        ),
        (
            "reverted = false",
            "reverted = true",
            "reverted: --build-only builds no reversed patches\n",
        ),
        (
            "[code]\n",
            "[code]\n\"../demo\" = \"\"\n",
            "built from other code than this checkout has: ../demo\n",
        ),
        (
            "version = \"rustc 0.0.0\"",
            "version = \"rustc\\u001B[2J\"",
            "version: has control characters\n",
        ),
        (
            "version = \"rustc 0.0.0\"",
            "version = \"rustc \u{202e}0\"",
            "version: has control characters\n",
        ),
        (
            "version = \"rustc 0.0.0\"",
            "version = \" \"",
            "version: is empty\n",
        ),
        (&host, "host = \"..\"", "host: no platform of "),
        (&host, "host = \".\"", "host: no platform of "),
        (&host, "host = \"made-up\"", "host: no platform of "),
        (&host, &vendor, "host: no platform of "),
        (&host, &library, "host: no platform of "),
        (&host, &arch, "host: no platform of "),
        (&host, &system, "host: no platform of "),
        (
            "version = \"rustc 0.0.0\"",
            &endless,
            "version: longer than 4096 bytes\n",
        ),
        (
            command,
            &flag,
            "command: not one of `cargo p3 ab --build-only`\n",
        ),
        (
            command,
            "command = \"cargo p3 ab demo --isa generic --build-only built --record\"",
            "command: not one of `cargo p3 ab --build-only`\n",
        ),
        (
            &rustflags,
            "rustflags = \"-C opt-level=1\"",
            "rustflags: \"-C opt-level=1\" is none of --build-only\n",
        ),
        (
            "asked = [\"demo\"]",
            "asked = [\"demo\", \"demo\"]",
            "asked: \"demo\" is there twice\n",
        ),
        (
            command,
            "command = \"\"",
            "command: not one of `cargo p3 ab --build-only`\n",
        ),
        (
            command,
            "command = \"cargo p3 ab demo\"",
            "command: not one of `cargo p3 ab --build-only`\n",
        ),
        (
            command,
            "command = \"cargo p3 try demo --build-only=built\"",
            "command: not one of `cargo p3 ab --build-only`\n",
        ),
        (
            command,
            "command = \"cargo p3 ab demo --base=0.7.0 --isa generic --build-only built\"",
            "command: for Plonky3 0.7.0, and not for 0.8.0\n",
        ),
        (
            command,
            "command = \"cargo p3 ab demo --isa generic --build-only built --base 0.7.0\"",
            "command: for Plonky3 0.7.0, and not for 0.8.0\n",
        ),
        (
            command,
            "command = \"cargo p3 ab stacked --isa generic --build-only built\"",
            "command: not that of these patches\n",
        ),
        (
            command,
            "command = \"cargo p3 ab demo --step --isa generic --build-only built\"",
            "command: not that of these patches\n",
        ),
        (
            command,
            "command = \"ab\\u0000\"",
            "command: has control characters\n",
        ),
        (
            command,
            "command = \"ab 'demo\"",
            "command: has a quote without its end\n",
        ),
        (
            "[workers.generic]",
            "[workers.\"../generic\"]",
            "workers: \"../generic\" is no instruction set\n",
        ),
    ] {
        assert!(original.contains(from), "{from}: {original}");
        refused(&original.replace(from, to), complaint);
    }
    refused(&format!("{head}[workers]\n"), "no workers\n");

    fs::remove_file(&facts).unwrap();
    let pipe = Command::new("mkfifo").arg(&facts).status().unwrap();
    assert!(pipe.success());
    let output = measure(&killer, &copied, &[]).output().unwrap();
    let transcript = killer.fixture.transcript(&output);
    let expected =
        "exit 3\n--- stdout\n--- stderr\nerror: [DIR]/copied/built.toml: not a plain file\nhint: ";
    assert!(transcript.starts_with(expected), "{transcript}");
    fs::remove_file(&facts).unwrap();
    fs::create_dir(&facts).unwrap();
    let output = measure(&killer, &copied, &[]).output().unwrap();
    let transcript = killer.fixture.transcript(&output);
    assert!(transcript.starts_with(expected), "{transcript}");

    assert!(!killer.fixture.path().join("ran").exists());
    assert_eq!(records(&killer), []);
}

/// The workers are gone for good where a page takes their place: the machine that built them is elsewhere.
#[test]
fn no_file_takes_the_place_of_built_workers() {
    let killer = project();
    let copied = built(&killer, &["demo"], &["generic"]);
    let before = files(&copied);
    for file in ["built.toml", "xtask", "generic/baseline", "generic/new"] {
        for option in ["--json", "--html"] {
            let file = copied.join(file);
            let output = measure(&killer, &copied, &[option, file.to_str().unwrap()]).output();
            let transcript = killer.fixture.transcript(&output.unwrap());
            let refused = "exit 3\n--- stdout\n--- stderr\nerror: [DIR]/copied/";
            assert!(transcript.starts_with(refused), "{transcript}");
        }
    }
    assert!(files(&copied) == before);
    assert!(!killer.fixture.path().join("ran").exists());
}

#[test]
fn a_folder_of_earlier_workers_is_filled_again_and_no_other_one() {
    let killer = project();
    let folder = killer.fixture.path().join("built");
    write(&folder.join("mine"), "");
    let refused =
        "exit 3\n--- stdout\n--- stderr\nerror: ../built: not empty, and without built.toml\n";
    let transcript = build(&killer, &["demo"], &ISAS);
    assert!(transcript.starts_with(refused), "{transcript}");
    assert!(!killer.fixture.path().join("builds").exists());
    fs::remove_file(folder.join("mine")).unwrap();
    for isas in [&ISAS[..], &ISAS[..1]] {
        let transcript = build(&killer, &["demo"], isas);
        assert!(transcript.starts_with("exit 0\n"), "{transcript}");
        write(&folder.join("mine"), "");
    }
    let names = files(&folder).into_keys().collect::<Vec<_>>();
    let expected = [
        "built.toml",
        "generic/baseline",
        "generic/candidate",
        "mine",
        "xtask",
    ];
    assert_eq!(names, expected);

    for isa in [
        "native",
        if cfg!(target_arch = "x86_64") {
            "neon"
        } else {
            "x86-64-v3"
        },
    ] {
        let transcript = build(&killer, &["demo"], &[isa]);
        let refused = format!("exit 3\n--- stdout\n--- stderr\nerror: {isa}: ");
        assert!(transcript.starts_with(&refused), "{transcript}");
        assert!(
            transcript.contains("\nhint: give --isa one of generic, "),
            "{transcript}"
        );
    }
    for options in [
        &["--record"][..],
        &["--seeds", "2"],
        &["--workload", "*"],
        &["--quick"],
    ] {
        let args = [&["demo"], options].concat();
        let transcript = build(&killer, &args, &ISAS);
        assert!(transcript.starts_with("exit 2\n"), "{transcript}");
    }
    for args in [&["demo"][..], &["--base", "0.8.0"], &["--revert"]] {
        let output = measure(&killer, &folder, args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
    }
}

/// For an instruction set each, on cores of its own; both wait for whoever holds the lock when they file.
#[test]
fn two_runs_file_in_one_checkout() {
    let killer = project();
    let copied = built(&killer, &["demo"], &["generic"]);
    // Every CPU runs these two, but `native` is not built for another machine.
    fs::create_dir(copied.join("native")).unwrap();
    for side in ["baseline", "candidate"] {
        let to = copied.join("native").join(side);
        fs::copy(copied.join("generic").join(side), to).unwrap();
    }
    let facts = copied.join("built.toml");
    let text = fs::read_to_string(&facts).unwrap();
    let (_, hashes) = text.split_once("[workers.generic]").unwrap();
    write(&facts, &format!("{text}\n[workers.native]{hashes}"));
    let folder = killer.fixture.project().join("target/p3");
    let lock = fs::File::options()
        .write(true)
        .open(folder.join(".lock"))
        .unwrap();
    lock.lock().unwrap();
    let options = [&ONCE[..], &["--record"]].concat();
    let start = |isa| {
        let mut command = measure(&killer, &copied, &options);
        command.args(["--isa", isa]).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut runs = [start("generic"), start("native")];
    for run in &mut runs {
        let lines = BufReader::new(run.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with("base 0.8.0")));
    }
    thread::sleep(Duration::from_millis(300));
    let ended = |run: &mut Child| run.try_wait().unwrap();
    assert_eq!(runs.each_mut().map(ended), [None, None]);
    assert_eq!(records(&killer), []);
    drop(lock);
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    let folders = records(&killer).into_iter().map(|(folder, _)| folder);
    let expected = ["generic", "native"].map(|isa| format!("0.8.0/{}-{isa}/demo", host()));
    assert_eq!(folders.collect::<Vec<_>>(), expected);
}

#[test]
fn workers_are_plain_files_and_not_programs_of_the_path() {
    let killer = project();
    let prover = killer.fixture.prover();
    for (side, name) in [("baseline", "sort"), ("candidate", "b")] {
        fs::copy(killer.fixture.path().join(side), prover.join(name)).unwrap();
    }
    let ab = |workers: [&str; 2]| {
        let args = [&["ab", "demo", "--workers"], &workers[..], &ONCE].concat();
        killer
            .fixture
            .transcript(&killer.command(&args).output().unwrap())
    };
    let found = ab(["sort", "b"]);
    assert!(found.starts_with("exit 0\n"), "{found}");

    let pipe = prover.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // A tool that waits for a writer gets one, and is found out.
    thread::spawn(move || fs::write(pipe, "#!/bin/sh\n"));
    for workers in [["sort", "pipe"], ["./sort", "./pipe"]] {
        let refused = ab(workers);
        let cause = "error: cannot copy ./pipe to .: not a plain file\nhint: put the executable there again";
        assert!(refused.starts_with("exit 3\n"), "{refused}");
        assert!(refused.contains(cause), "{refused}");
    }
}

#[test]
fn either_all_workers_say_that_an_output_is_a_proof_or_none() {
    let killer = project();
    let of = |side: &str| killer.fixture.path().join(side);
    let candidate = fs::read_to_string(of("candidate")).unwrap();
    let proof = candidate.replace("\"proof\":false", "\"proof\":true");
    assert_ne!(candidate, proof);
    write(&of("candidate"), &proof);
    let args = ["ab", "demo", "--workers", "../baseline", "../candidate"];
    let output = killer.command(&[&args, &ONCE[..]].concat()).output();
    let refused = killer.fixture.transcript(&output.unwrap());
    assert!(refused.starts_with("exit 1\n"), "{refused}");
    let cause = "error: candidate worker: says that its output is a proof, unlike the baseline";
    assert!(refused.contains(cause), "{refused}");
}
