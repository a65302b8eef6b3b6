//! AVX-512 on a CPU that lacks it: Bochs emulates a PC that has it, whose Linux starts, runs executables one after another,
//! and ends. qemu has no AVX-512.
//!
//! One start serves all executables, since it takes about as long as the tests of three of them. There is no BIOS, no disk
//! and no boot loader: Bochs reads an image into memory, and a ROM made here jumps into the kernel.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cargo_metadata::Message;

use crate::emulation::runs_with;
use paired::cargo::with_rustflags;
use paired::error::Failure;
use paired::interrupt::{self, Group};
use paired::terminal::shown;

const EMULATOR: &str = "bochs-bin";
/// The plug-in that draws the screen. Nobody looks at it, but Debian's Bochs has no display that does nothing.
const DISPLAY: &str = "/usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so";
const VGA: &str = "/usr/share/vgabios/vgabios.bin";
/// Where `ci/isa.sh` unpacks Linux and what its shell script needs.
const FOLDER: &str = "target/bochs";
const HINT: &str = "ci/isa.sh installs what is needed, on Debian's x86-64";

/// A run takes a few minutes; many more where others have most of the machine.
const LIMIT: Duration = Duration::from_secs(60 * 60);

const MEMORY: u32 = 512 << 20;
/// Where the image is read to. It begins with Linux's parameters.
const IMAGE: u32 = 0x10_0000;
const COMMAND_LINE: u32 = 0x10_1000;
/// Where the kernel wants to be.
const KERNEL: u32 = 0x100_0000;
const INITRD: u32 = 0x800_0000;

/// Nothing that the tests do not need, and an end by a triple fault, which ends Bochs.
///
/// The arguments of the Linux kernel. They hide four features of the emulated CPU. Bochs 2.7 reports contradictory sizes of the
/// state that `pku`, `xsaves` and `xsavec` save, and Linux then does without AVX. It has `fsrm`, fast copies of a few bytes, without
/// fast copies of many, and Linux 6.1 then copies fewer than 32 bytes as if there were more.
const KERNEL_ARGUMENTS: &str = "console=ttyS0,115200 quiet nokaslr nosmp acpi=off pci=off noapic \
    nolapic mitigations=off apparmor=0 tsc=reliable clearcpuid=pku,xsaves,xsavec,fsrm reboot=t \
    panic=-1";

/// Configures a CPU that has AVX-512 with IFMA. Time goes by instructions, so that nothing waits for the clock.
fn configuration(folder: &Path) -> String {
    let folder = shown(folder);
    format!(
        "cpu: model=corei7_icelake_u, ips=50000000, reset_on_triple_fault=0
memory: guest={0}, host={0}
romimage: file=\"{folder}/rom\"
vgaromimage: file={VGA}
optramimage1: file=\"{folder}/image\", address={IMAGE:#x}
pci: enabled=0
ata0: enabled=0
ata1: enabled=0
clock: sync=none
com1: enabled=1, mode=file, dev=\"{folder}/serial\"
log: \"{folder}/log\"
panic: action=fatal
display_library: term
config_interface: textconfig
",
        MEMORY >> 20,
    )
}

/// Names a thing that this machine lacks to run anything in Bochs.
pub fn missing(root: &Path) -> Option<String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Some("no Bochs for this machine".to_owned());
    }
    // Bochs has no `--version`.
    if !runs_with(EMULATOR, &["-help", "cpu"]) {
        return Some(format!("no {EMULATOR}"));
    }
    let unpacked = ["vmlinuz", "busybox"].map(|name| root.join(FOLDER).join(name));
    let mut files = unpacked.iter().map(PathBuf::as_path);
    let lacking = files.find(|path| !path.is_file()).or_else(|| {
        [DISPLAY, VGA]
            .map(Path::new)
            .into_iter()
            .find(|path| !path.is_file())
    });
    lacking.map(|path| format!("no {}", shown(path)))
}

/// Makes cargo build tests that [`run`] can run, and print where they are.
pub fn build_for(cargo: &mut Command, flags: &str) {
    // Bochs 2.7 refuses gathers and scatters with an index in registers 16 to 31. The kernels have none, but loops do which the
    // compiler makes into vectors.
    const FEATURES: &str = "+crt-static,+prefer-no-gather,+prefer-no-scatter";

    cargo.args(["--no-run", "--message-format", "json-render-diagnostics"]);
    with_rustflags(cargo, &format!("{flags} -C target-feature={FEATURES}"));
}

/// Reads the test executables from cargo's `messages`, except those of the optimizations for NEON, whose tests start a compiler.
/// Each comes with its `arguments`, which may depend on its package's manifest.
pub fn executables(
    messages: &[u8],
    arguments: impl Fn(&Path) -> Result<String>,
) -> Result<Vec<(PathBuf, String)>> {
    let mut executables = Vec::new();
    for message in Message::parse_stream(messages) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(executable) = artifact.executable
            && !artifact.target.name.starts_with("neon_")
        {
            let arguments = arguments(artifact.manifest_path.as_std_path())?;
            executables.push((executable.into(), arguments));
        }
    }
    if executables.is_empty() {
        return Err(Failure::check("cargo built no tests").into());
    }
    Ok(executables)
}

/// Runs each of `executables`, which have to be linked statically, with its arguments. They find `sources`, which are below `root`,
/// where they are on this machine. What they wrote is an error unless every one of them ended well.
pub fn run(root: &Path, executables: &[(PathBuf, String)], sources: &[PathBuf]) -> Result<()> {
    let unpacked = root.join(FOLDER);
    let folder = tempfile::tempdir_in(&unpacked)
        .with_context(|| format!("cannot write to {}", shown(&unpacked)))?;
    let path = |name: &str| folder.path().join(name);
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", shown(path)));

    let mut files = vec![
        ("busybox".to_owned(), read(&unpacked.join("busybox"))?),
        ("init".to_owned(), Vec::new()),
    ];
    let mut runs = Vec::new();
    for (executable, arguments) in executables {
        let name = executable.file_name().context("an executable has a name")?;
        let name = name.to_string_lossy().into_owned();
        files.push((name.clone(), read(executable)?));
        runs.push((name, arguments.as_str()));
    }
    // Cargo has told the compiler so.
    let here = root.canonicalize().context("cannot tell where this is")?;
    files[1].1 = init(&runs, &here).into_bytes();
    for source in sources {
        let below = source.strip_prefix(root).context("a source is elsewhere")?;
        let there = here.join(below);
        let name = there.to_str().context("a path is no UTF-8")?;
        files.push((name.trim_start_matches('/').to_owned(), read(source)?));
    }

    fs::write(path("rom"), rom())?;
    write_image(
        &path("image"),
        &read(&unpacked.join("vmlinuz"))?,
        &initrd(&files),
    )?;
    fs::write(path("bochsrc"), configuration(folder.path()))?;
    // Debian's has a debugger, which wants to be told to start.
    fs::write(path("debugger"), "continue\n")?;

    let output = File::create(path("output"))?;
    let mut bochs = Group::start(
        Command::new(EMULATOR)
            .args(["-q", "-f", "bochsrc", "-rc", "debugger"])
            .current_dir(folder.path())
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output),
    )?;
    let started = Instant::now();
    let ended = loop {
        if bochs.0.try_wait()?.is_some() {
            break true;
        }
        if started.elapsed() > LIMIT {
            break false;
        }
        interrupt::check()?;
        thread::sleep(Duration::from_millis(10));
    };
    drop(bochs);

    // There is none if it ended before Linux wrote a line.
    let serial = fs::read(path("serial")).unwrap_or_default();
    let serial = String::from_utf8_lossy(&serial).replace('\r', "");
    let why = if !ended {
        format!(
            "{EMULATOR} still ran after {} minutes",
            LIMIT.as_secs() / 60
        )
    } else if let Some((name, _)) = runs.iter().find(|(name, _)| !passed(&serial, name)) {
        format!("{name} did not pass under {EMULATOR}")
    } else {
        return Ok(());
    };
    // Bochs logs its end, always as a panic, and the instructions that it could not run.
    let log = fs::read(path("log")).or_else(|_| fs::read(path("output")));
    let log = String::from_utf8_lossy(&log.unwrap_or_default()).into_owned();
    let complaints = log.lines().filter(|line| line.contains("PANIC"));
    let complaints: Vec<&str> = complaints.collect();
    Err(Failure::check(format!("{serial}\n{}\n{why}", complaints.join("\n"))).into())
}

/// Returns the line that says how an executable ended.
fn ended(name: &str, status: &str) -> String {
    format!("p3-patches: {name} ended with {status}")
}

fn passed(serial: &str, name: &str) -> bool {
    serial.lines().any(|line| line == ended(name, "0"))
}

/// Returns the script that Linux starts: each executable by its name, with its arguments.
fn init(runs: &[(String, &str)], root: &Path) -> String {
    // A sixteenth of the cases: all of those of the paired diagonal alone take two minutes. There is no cargo to say where the
    // snapshots are.
    let mut script = format!(
        "#!/busybox sh\nexport PROPTEST_CASES=16 NO_COLOR=1 INSTA_WORKSPACE_ROOT='{}'\n",
        root.to_string_lossy()
    );
    for (name, arguments) in runs {
        // On a line of its own, whatever the executable wrote last.
        let ended = ended(name, "$?");
        script += &format!("/{name} {arguments}\n/busybox printf '\\n%s\\n' \"{ended}\"\n");
    }
    // A second of the emulated clock, in which the serial port sends the last lines.
    script + "/busybox sleep 1\n/busybox reboot -f\n"
}

/// Returns an archive in the format of cpio that Linux unpacks into its root.
fn initrd(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    const DEVICE: u32 = 0o020_666;
    const FOLDER: u32 = 0o040_755;
    const EXECUTABLE: u32 = 0o100_755;

    let mut archive = Vec::new();
    let mut inode = 0;
    let mut add = |name: &str, mode: u32, [major, minor]: [u32; 2], contents: &[u8]| {
        inode += 1;
        let length = |bytes: usize| u32::try_from(bytes).expect("an executable is small");
        let fields = [
            inode,
            mode,
            0,
            0,
            1,
            0,
            length(contents.len()),
            0,
            0,
            major,
            minor,
            length(name.len() + 1),
            0,
        ];
        archive.extend(b"070701");
        for field in fields {
            archive.extend(format!("{field:08x}").bytes());
        }
        archive.extend(name.bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(contents);
        archive.resize(archive.len().next_multiple_of(4), 0);
    };
    add("dev", FOLDER, [0, 0], &[]);
    add("dev/console", DEVICE, [5, 1], &[]);
    add("dev/null", DEVICE, [1, 3], &[]);
    // A program that is linked statically does not find `getrandom`, and reads these.
    add("dev/random", DEVICE, [1, 8], &[]);
    add("dev/urandom", DEVICE, [1, 9], &[]);
    let mut folders = BTreeSet::new();
    for (name, contents) in files {
        for (end, _) in name.match_indices('/') {
            if folders.insert(&name[..end]) {
                add(&name[..end], FOLDER, [0, 0], &[]);
            }
        }
        add(name, EXECUTABLE, [0, 0], contents);
    }
    add("TRAILER!!!", 0, [0, 0], &[]);
    archive
}

/// Writes the memory that the machine starts with: parameters, command line, kernel, archive; see Linux's `x86/boot.rst`.
fn write_image(path: &Path, kernel: &[u8], initrd: &[u8]) -> Result<()> {
    let refused =
        || Failure::environment(format!("{FOLDER}/vmlinuz: no Linux for x86-64")).hint(HINT);
    let field = |at: usize| {
        let bytes = kernel.get(at..at + 4).ok_or_else(refused)?;
        Ok::<_, Failure>(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    };
    let wanted = u64::from(field(0x258)?) | u64::from(field(0x25c)?) << 32;
    let has_64_bit_entry = field(0x236)? & 1 == 1;
    let magic = field(0x202)?.to_le_bytes() == *b"HdrS";
    if !magic || !has_64_bit_entry || wanted != u64::from(KERNEL) || KERNEL + field(0x260)? > INITRD
    {
        return Err(refused().into());
    }
    let length = u32::try_from(initrd.len()).context("the executables are too large")?;

    let mut parameters = vec![0; 0x1000];
    let end_of_header = 0x202 + usize::from(kernel[0x201]);
    parameters[0x1f1..end_of_header].copy_from_slice(&kernel[0x1f1..end_of_header]);
    let mut put = |at: usize, bytes: &[u8]| parameters[at..][..bytes.len()].copy_from_slice(bytes);
    // A boot loader without a number.
    put(0x210, &[0xff]);
    put(0x218, &INITRD.to_le_bytes());
    put(0x21c, &length.to_le_bytes());
    put(0x228, &COMMAND_LINE.to_le_bytes());
    // Memory: below the screen's, and from the first MiB.
    let memory = [(0, 0x9_f000), (IMAGE, MEMORY - IMAGE)];
    put(0x1e8, &[2]);
    for (at, (start, length)) in [0x2d0, 0x2e4].into_iter().zip(memory) {
        put(at, &u64::from(start).to_le_bytes());
        put(at + 8, &u64::from(length).to_le_bytes());
        put(at + 16, &1u32.to_le_bytes());
    }

    // Its 16-bit part comes before the address, and is not used.
    let setup = 512 * (1 + u32::from(kernel[0x1f1]));
    let mut image = File::create(path)?;
    for (address, bytes) in [
        (IMAGE, &parameters[..]),
        (COMMAND_LINE, KERNEL_ARGUMENTS.as_bytes()),
        (KERNEL - setup, kernel),
        (INITRD, initrd),
    ] {
        image.seek(SeekFrom::Start(u64::from(address - IMAGE)))?;
        image.write_all(bytes)?;
    }
    Ok(())
}

/// In place of a BIOS: from the reset vector to Linux's 64-bit entry, with 4 GiB of addresses mapped to themselves. It is the
/// last 64 KiB below 4 GiB.
fn rom() -> Vec<u8> {
    // hlt
    let mut rom = vec![0xf4; 0x1_0000];
    let mut put = |at: usize, bytes: &[u8]| rom[at..][..bytes.len()].copy_from_slice(bytes);
    // The reset vector, in real mode: jmp 0x0
    put(0xfff0, &[0xe9, 0x0d, 0x00]);
    put(
        0x0,
        &[
            &[0xfa][..],                                       // cli
            &[0x2e, 0x66, 0x0f, 0x01, 0x16, 0x80, 0x01],       // lgdt cs:[0x180]
            &[0x66, 0xb8, 0x00, 0xf0, 0xff, 0xff],             // mov eax, 0xfffff000
            &[0x0f, 0x22, 0xd8],                               // mov cr3, eax
            &[0x66, 0xb8, 0x20, 0x00, 0x00, 0x00],             // mov eax, PAE
            &[0x0f, 0x22, 0xe0],                               // mov cr4, eax
            &[0x66, 0xb9, 0x80, 0x00, 0x00, 0xc0],             // mov ecx, EFER
            &[0x66, 0xb8, 0x00, 0x01, 0x00, 0x00],             // mov eax, LME
            &[0x66, 0x31, 0xd2],                               // xor edx, edx
            &[0x0f, 0x30],                                     // wrmsr
            &[0x66, 0xb8, 0x11, 0x00, 0x00, 0x80],             // mov eax, PG | ET | PE
            &[0x0f, 0x22, 0xc0],                               // mov cr0, eax
            &[0x66, 0xea, 0x00, 0x01, 0xff, 0xff, 0x10, 0x00], // jmp 0x10:0xffff0100
        ]
        .concat(),
    );
    // In long mode. Bochs has a block of memory follow those that were touched before, and reads an image into the first of its
    // blocks and what follows: so they are touched in order, before any other.
    put(
        0x100,
        &[
            &[0xb8, 0x18, 0x00, 0x00, 0x00][..], // mov eax, 0x18
            &[0x8e, 0xd8],                       // mov ds, eax
            &[0x8e, 0xc0],                       // mov es, eax
            &[0x8e, 0xd0],                       // mov ss, eax
            &[0xbe],                             // mov esi, IMAGE
            &IMAGE.to_le_bytes(),
            &[0x89, 0xf3],                         // mov ebx, esi
            &[0x8a, 0x03],                         // mov al, [rbx]
            &[0x81, 0xc3, 0x00, 0x10, 0x00, 0x00], // add ebx, 0x1000
            &[0x81, 0xfb],                         // cmp ebx, MEMORY
            &MEMORY.to_le_bytes(),
            &[0x72, 0xf0], // jb back to mov al, [rbx]
            &[0xb8],       // mov eax, KERNEL + 0x200
            &(KERNEL + 0x200).to_le_bytes(),
            &[0xff, 0xe0], // jmp rax
        ]
        .concat(),
    );
    let quads = |quads: &[u64]| {
        quads
            .iter()
            .flat_map(|quad| quad.to_le_bytes())
            .collect::<Vec<_>>()
    };
    // The descriptor table's limit and address; Linux wants code in 0x10 and data in 0x18.
    put(0x180, &[0x1f, 0x00, 0x90, 0x01, 0xff, 0xff]);
    put(
        0x190,
        &quads(&[0, 0, 0x00af_9b00_0000_ffff, 0x00cf_9300_0000_ffff]),
    );
    // Page tables: four pages of 1 GiB, and what points to them. They are marked as used, since a ROM cannot be written.
    put(
        0xe000,
        &quads(&[0xe3, 0x4000_00e3, 0x8000_00e3, 0xc000_00e3]),
    );
    put(0xf000, &quads(&[0xffff_e063]));
    rom
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_of_its_own_says_that_an_executable_passed() {
        assert!(passed(
            "running\np3-patches: kernel-1 ended with 0\n",
            "kernel-1"
        ));
        for serial in [
            "",
            "p3-patches: kernel-1 ended with 101\n",
            "p3-patches: kernel-12 ended with 0\n",
            "test p3-patches: kernel-1 ended with 0\n",
            "Kernel panic - not syncing\n",
        ] {
            assert!(!passed(serial, "kernel-1"), "{serial}");
        }
    }

    #[test]
    fn each_executable_gets_its_own_arguments() {
        let runs = [
            ("kernel-1".to_owned(), "--skip portable"),
            ("kernel-2".to_owned(), ""),
        ];
        let script = init(&runs, Path::new("/here"));
        assert!(script.contains("\n/kernel-1 --skip portable\n"), "{script}");
        assert!(script.contains("\n/kernel-2 \n"), "{script}");
    }

    #[test]
    fn an_archive_is_aligned_and_ends_with_its_trailer() {
        let archive = initrd(&[
            ("kernel-1".to_owned(), vec![7; 5]),
            ("a/b/c".to_owned(), Vec::new()),
            ("a/b/d".to_owned(), Vec::new()),
        ]);
        assert!(archive.len().is_multiple_of(4));
        let text = String::from_utf8_lossy(&archive);
        let entries: Vec<_> = text.split("070701").skip(1).collect();
        assert_eq!(entries.len(), 11);
        // Length of the contents, of the name with its zero; 110 bytes and the name, aligned.
        assert!(entries[5].contains("00000005"), "{}", entries[5]);
        assert!(entries[5].ends_with("kernel-1\0\0\u{7}\u{7}\u{7}\u{7}\u{7}\0\0\0"));
        // Each folder once, and before what it holds.
        let ends = ["a\0", "a/b\0", "a/b/c\0", "a/b/d\0", "TRAILER!!!\0"];
        for (entry, end) in entries[6..].iter().zip(ends) {
            assert!(
                entry
                    .trim_end_matches('\0')
                    .ends_with(end.trim_end_matches('\0')),
                "{entry}"
            );
        }
    }

    #[test]
    fn what_is_no_linux_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for kernel in [&b"MZ"[..], &[0; 0x300]] {
            let refused = write_image(&folder.path().join("image"), kernel, &[]).unwrap_err();
            assert!(refused.to_string().contains("no Linux"), "{refused}");
        }
    }
}
