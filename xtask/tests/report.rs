//! `report` on files of several machines: what is merged, what is refused, and the page in a browser.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Text that a page must show and never obey.
const HOSTILE: &str =
    "Evil | <img src=https://example.com/x.png onerror=console.log(1)> & \"Sons\" </style>";

struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("patches")).unwrap();
        fs::write(dir.path().join("patches/series"), "").unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, report: &Value) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, report.to_string()).unwrap();
        path
    }

    fn report(&self, files: &[&Path]) -> Command {
        let mut command = Command::cargo_bin("xtask").unwrap();
        command.arg("--project").arg(self.dir.path()).arg("report");
        command.args(files);
        command
    }

    /// The page of two machines, one of them with samples.
    fn page(&self) -> PathBuf {
        let narrow = self.write("narrow.json", &report("Narrow", &[sampled()]));
        fs::write(self.path("narrow.csv"), samples()).unwrap();
        let rows = [
            row("x86-64-v3", 1.25),
            row("x86-64-v4", 0.9),
            proof("x86-64-v4", 0.8),
        ];
        let hostile = report(HOSTILE, &rows);
        let hostile = self.write("hostile.json", &hostile);
        let page = self.path("page.html");
        let mut command = self.report(&[&narrow, &hostile]);
        command.arg("--html").arg(&page).assert().success();
        page
    }
}

fn row(isa: &str, ratio: f64) -> Value {
    let verdict = if ratio < 1.0 { "faster" } else { "slower" };
    json!({
        "workload": "merkle-commit/koala-bear-poseidon2-w16/2^16x64", "isa": isa, "unit": "ms",
        "baseline": 1234.5678, "candidate": 1234.5678 * ratio,
        "ratio": ratio, "ci95": [ratio * 0.98, ratio * 1.01],
        "aa_ratio": 1.001, "aa_ci95": [0.99, 1.02],
        "pairs": 4, "memory_ratio": 1.01, "outputs_equal": true, "verdict": verdict,
    })
}

/// A proof, six tenths of which is hashing.
fn proof(isa: &str, ratio: f64) -> Value {
    let mut proof = row(isa, ratio);
    proof["workload"] = "whir-prove/quintic".into();
    proof["hashing"] = json!({"share": 0.6, "ratio": 0.8});
    proof
}

fn report(cpu: &str, rows: &[Value]) -> Value {
    json!({
        "schema": 1, "command": "cargo p3 ab quick-sponge", "base": "0.8.0", "patches": ["quick-sponge"],
        "machine": {"cpu": cpu, "cores": 2, "rustc": "rustc 1.95.0", "rustflags": "x86-64-v3: -C three; x86-64-v4: -C four"},
        "rows": rows,
    })
}

/// The row of [`samples`].
fn sampled() -> Value {
    let mut row = row("x86-64-v3", 0.5);
    row["baseline"] = json!(0.001);
    row["candidate"] = json!(0.0005);
    row["pairs"] = 3.into();
    row
}

/// Two seeds of two rounds; the first round shared its core.
fn samples() -> String {
    let mut csv = "workload,isa,threads,seed,round,side,wall_ns,cpu_ns,peak_kib\n".to_owned();
    for round in 0..4 {
        for (side, time) in [
            ("baseline", 1000),
            ("candidate", 500),
            ("candidate", 510),
            ("control", 1010),
        ] {
            let (seed, wall) = (round / 2, if round == 0 { 2 * time } else { time });
            csv += &format!(
                "merkle-commit/koala-bear-poseidon2-w16/2^16x64,x86-64-v3,1,{seed},{round},{side},{wall},{time},\n"
            );
        }
    }
    csv
}

#[test]
fn machines_are_merged_into_one_table() {
    let fixture = Fixture::new();
    let narrow = fixture.write("narrow.json", &report("Narrow", &[row("x86-64-v3", 0.5)]));
    let rows = [
        row("x86-64-v3", 1.25),
        row("x86-64-v4", 0.9),
        proof("x86-64-v4", 0.8),
    ];
    let hostile = report(HOSTILE, &rows);
    let hostile = fixture.write("hostile.json", &hostile);
    let mut other = report("Narrow", &[row("x86-64-v3", 0.99)]);
    other["reverted"] = true.into();
    other["rows"][0]["verdict"] = "no change".into();
    let other = fixture.write("other.json", &other);
    let run = fixture
        .report(&[&narrow, &hostile, &other])
        .assert()
        .success();
    insta::assert_snapshot!(String::from_utf8_lossy(&run.get_output().stdout));
}

#[test]
fn two_measurements_of_one_thing_are_not_merged() {
    let fixture = Fixture::new();
    let first = fixture.write("first.json", &report("Narrow", &[row("x86-64-v3", 0.5)]));
    let second = fixture.write("second.json", &report("Narrow", &[row("x86-64-v3", 0.6)]));
    fixture
        .report(&[&first, &second])
        .assert()
        .code(3)
        .stdout("")
        .stderr(contains("second.json both have merkle-commit/"))
        .stderr(contains("on Narrow for x86-64-v3"))
        .stderr(contains("hint: "));
}

/// A patch on top of another, and both against the release, are two things, though they have rows in common.
#[test]
fn a_step_and_its_stack_are_not_merged() {
    let fixture = Fixture::new();
    let mut stack = report("Narrow", &[row("x86-64-v3", 0.5)]);
    stack["patches"] = json!(["base-layer", "quick-sponge"]);
    let mut step = report("Narrow", &[row("x86-64-v3", 0.75)]);
    step["patches"] = stack["patches"].clone();
    step["baseline_patches"] = json!(["base-layer"]);
    let files = [
        fixture.write("stack.json", &stack),
        fixture.write("step.json", &step),
    ];
    let page = fixture.path("page.html");
    let mut command = fixture.report(&files.each_ref().map(PathBuf::as_path));
    let run = command.arg("--html").arg(&page).assert().success();
    insta::assert_snapshot!(String::from_utf8_lossy(&run.get_output().stdout));
    let page = fs::read_to_string(page).unwrap();
    for title in [
        "base-layer, quick-sponge together, Plonky3 0.8.0",
        "quick-sponge on base-layer, Plonky3 0.8.0",
    ] {
        assert!(page.contains(&format!(">{title}</h2>")), "{title}");
    }
}

#[test]
fn files_that_are_no_report_are_refused_by_name() {
    let fixture = Fixture::new();
    let refuse = |path: &Path, why: &str| {
        let refused = fixture.report(&[path]).assert().code(3).stdout("");
        let name = path.file_name().unwrap().to_str().unwrap();
        refused.stderr(contains(name).and(contains(why)));
    };
    refuse(&fixture.path("missing.json"), "No such file");
    refuse(&fixture.write("other.json", &json!({"rows": 1})), "hint: ");
    let mut newer = report("Narrow", &[]);
    newer["schema"] = 2.into();
    refuse(&fixture.write("newer.json", &newer), "schema 2");
    for ratio in [0.0, -1.0, 1e300] {
        let absurd = report("Narrow", &[row("x86-64-v3", ratio)]);
        refuse(&fixture.write("absurd.json", &absurd), "no ratio");
    }
}

/// Each of these is a figure or a name that `ab` never writes.
#[test]
fn figures_that_contradict_themselves_are_refused_by_name() {
    let fixture = Fixture::new();
    let workload = "merkle-commit/koala-bear-poseidon2-w16/2^16x64";
    let whole = row("x86-64-v3", 0.9);
    let refuse = |key: &str, value: Value, why: &str| {
        let mut row = whole.clone();
        row[key] = value;
        let file = fixture.write("wrong.json", &report("Narrow", &[row]));
        let refused = fixture.report(&[&file]).assert().code(3).stdout("");
        let path = format!("{}: ", file.display());
        refused.stderr(contains(path).and(contains(why)));
    };
    let of_row = |key: &str, value: Value, why: &str| {
        refuse(key, value, &format!("{workload}: {why}"));
    };
    of_row("outputs_equal", false.into(), "the outputs differ");
    of_row(
        "ci95",
        json!([0.95, 0.85]),
        "a ratio outside of its interval",
    );
    of_row(
        "ci95",
        json!([0.95, 0.99]),
        "a ratio outside of its interval",
    );
    of_row(
        "aa_ci95",
        json!([1.1, 0.9]),
        "a ratio outside of its interval",
    );
    of_row("aa_ratio", json!(2.0), "a ratio outside of its interval");
    of_row(
        "verdict",
        "slower".into(),
        "the verdict is not that of the figures",
    );
    of_row(
        "verdict",
        "no change".into(),
        "the verdict is not that of the figures",
    );
    of_row(
        "ci95",
        json!([0.85, 0.9999]),
        "the verdict is not that of the figures",
    );
    of_row("pairs", 0.into(), "no pairs");
    of_row("pairs", u64::MAX.into(), "no pairs");
    of_row("baseline", json!(1e300), "no time");
    refuse("workload", " ".into(), "\" \" is no name");
    of_row("baseline", json!(-1.0), "no time");
    of_row("memory_ratio", json!(-1.0), "no ratio");
    of_row(
        "hashing",
        json!({"share": 1.1, "ratio": 1.0}),
        "more hashing than it took",
    );
    of_row(
        "hashing",
        json!({"share": 0.9, "ratio": 2.0}),
        "more hashing than it took",
    );
    for baseline in [100.0, 1e5] {
        of_row(
            "baseline",
            json!(baseline),
            "the medians contradict the ratio",
        );
    }
    for side in ["baseline", "candidate"] {
        of_row(side, json!(0.0), "the medians contradict the ratio");
    }
    of_row("unit", "s".into(), "not the unit in which it is measured");
    refuse("baseline", json!("inf"), "invalid type");
    refuse("verdict", "better".into(), "unknown variant");
    refuse(
        "isa",
        "x86-64-v9".into(),
        "\"x86-64-v9\" is no instruction set",
    );
    for (name, shown) in [("a\nb", "\"a\\nb\""), ("a\u{1b}[2J", "\"a\\u{1b}[2J\"")] {
        refuse(
            "workload",
            name.into(),
            &format!("{shown} has a control character"),
        );
    }
    let mut named = report("Narrow", &[]);
    named["patches"] = json!(["quick\u{202e}"]);
    for report in [report("a\nb", &[]), named] {
        let refused = fixture
            .report(&[&fixture.write("name.json", &report)])
            .assert()
            .code(3);
        refused.stderr(contains("has a control character"));
    }
    let mut span = whole.clone();
    span["workload"] = "span/prove".into();
    span["baseline"] = json!(1e6);
    span["candidate"] = json!(1e6);
    let mut run = whole.clone();
    run["workload"] = "run/wall".into();
    let refuse_rows = |rows: &[Value], why: &str| {
        let file = fixture.write("rows.json", &report("Narrow", rows));
        let refused = fixture.report(&[&file]).assert().code(3);
        refused.stderr(contains(why).and(contains("hint: ")));
    };
    refuse_rows(
        &[run.clone(), span.clone()],
        "span/prove: takes longer than the run",
    );
    let mut cpu = span.clone();
    cpu["workload"] = "run/CPU".into();
    cpu["baseline"] = json!(1e9);
    cpu["candidate"] = json!(1e9);
    refuse_rows(&[run.clone(), cpu], "run/CPU: more than the run has");
    span["unit"] = "ns".into();
    refuse_rows(&[run.clone(), span.clone()], "span/prove: not the unit");
    let mut none = whole.clone();
    for figure in ["baseline", "candidate"] {
        none[figure] = json!(0.0);
    }
    refuse_rows(&[none], &format!("{workload}: took no time"));
    refuse_rows(
        &[whole.clone(), run.clone(), whole.clone()],
        &format!("rows.json: {workload}: two rows for x86-64-v3"),
    );
    // So short that its time is rounded to none.
    for figure in ["baseline", "candidate"] {
        span[figure] = json!(0.0);
    }
    span["unit"] = "ms".into();
    let file = fixture.write("short.json", &report("Narrow", &[run, span]));
    fixture.report(&[&file]).assert().success();
    refuse_rows(&[], "no rows");
    let mut idle = report("Narrow", &[]);
    idle["machine"]["cores"] = 0.into();
    let idle = fixture.write("idle.json", &idle);
    let refused = fixture.report(&[&idle]).assert().code(3);
    refused.stderr(contains("cores: none"));
    let mut vast = report("Narrow", &[]);
    vast["machine"]["cores"] = u64::MAX.into();
    let vast = fixture.write("vast.json", &vast);
    let refused = fixture.report(&[&vast]).assert().code(3);
    refused.stderr(contains("more than any machine has"));
    // Rounded figures may be on either side.
    let mut row = whole;
    row["ci95"] = json!([0.85, 0.9804]);
    for verdict in ["faster", "no change"] {
        row["verdict"] = verdict.into();
        let file = fixture.write("rounded.json", &report("Narrow", &[row.clone()]));
        fixture.report(&[&file]).assert().success();
    }
}

#[test]
fn samples_that_are_none_are_refused_by_name() {
    let fixture = Fixture::new();
    let file = fixture.write("x.json", &report("Narrow", &[sampled()]));
    let whole = samples();
    let (first, _) = whole.split_once(",x86").unwrap();
    for (from, to, why) in [
        (
            "x86-64-v3,1,0,",
            "x86-64-v3,1,",
            "found record with 8 fields",
        ),
        ("baseline", "neither", "unknown variant `neither`"),
        (",2000,1000,", ",-1,1000,", "invalid digit"),
        (",2000,1000,", ",0,1000,", "seed 0, round 0 took no time"),
        (
            ",2000,1000,",
            ",1,13000000,",
            "seed 0, round 0 has more CPU time than its threads had",
        ),
        (
            ",x86-64-v3,1,",
            ",x86-64-v3,18446744073709551615,",
            "seed 0, round 0 had more threads than any machine",
        ),
        (
            ",x86-64-v3,1,",
            ",x86-64-v3,0,",
            "seed 0, round 0 had no threads",
        ),
        (
            ",0,0,control",
            ",0,0,baseline",
            "seed 0, round 0 has not each",
        ),
        (
            ",2000,1000,",
            ",2000,1000,18446744073709551615",
            "had more memory than any machine",
        ),
        (",x86-64-v3,", ",sse,", "\"sse\" is no instruction set"),
        ("merkle-commit", "\u{7}merkle", "has a control character"),
    ] {
        assert!(whole.contains(from) && first.contains("merkle"), "{from}");
        fs::write(fixture.path("x.csv"), whole.replacen(from, to, 1)).unwrap();
        let refused = fixture.report(&[&file]).assert().code(3).stdout("");
        refused.stderr(contains("x.csv: ").and(contains(why)));
    }
    let hashing = whole.replacen("peak_kib\n", "peak_kib,hashing_ns\n", 1);
    let hashing = hashing.replace(",\n", ",,1000000\n");
    for (text, why) in [
        (hashing.into_bytes(), "more hashing than it took"),
        (vec![0xff], "invalid utf-8"),
        (
            whole.replace("2^16x64", "2^16x65").into_bytes(),
            "2^16x65, x86-64-v3: no row of the report",
        ),
        (
            whole.replace("x86-64-v3", "x86-64-v4").into_bytes(),
            "2^16x64, x86-64-v4: no row of the report",
        ),
        (
            whole.replace(",500,500,", ",1500,1500,").into_bytes(),
            "0.001 and 0.001 ms in 3 pairs, but the report has 0.001 and 0.0005 ms in 3 pairs",
        ),
    ] {
        fs::write(fixture.path("x.csv"), text).unwrap();
        let refused = fixture.report(&[&file]).assert().code(3);
        refused.stderr(contains("x.csv: ").and(contains(why)));
    }
}

#[test]
fn names_are_text_in_markdown() {
    let fixture = Fixture::new();
    let hostile = [
        ("<!-- p3:generated:end -->", "&lt;!-- p3:generated:end -->"),
        ("a | b", "a \\| b"),
        ("`x` ![y](z)", "\\`x\\` !\\[y\\](z)"),
        ("prove > open", "`prove > open`"),
    ];
    let rows = hostile.map(|(name, _)| {
        let mut row = row("x86-64-v3", 0.5);
        row["workload"] = name.into();
        row
    });
    let mut report = report("[CPU](x)", &rows);
    report["patches"] = json!(["<b>"]);
    let file = fixture.write("x.json", &report);
    let printed = fixture.report(&[&file]).assert().success();
    let printed = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
    assert!(
        printed.starts_with("### &lt;b>, Plonky3 0.8.0\n\n"),
        "{printed}"
    );
    for (_, escaped) in hostile {
        assert!(printed.contains(&format!("| {escaped} ")), "{printed}");
    }
    assert!(printed.contains(" \\[CPU\\](x) "), "{printed}");
}

/// Nor are users and tokens in addresses shown, wherever a file has some.
#[test]
fn texts_are_shown_without_tokens() {
    let fixture = Fixture::new();
    let token = "https://me:s3cr3t@h/?key=s3cr3t";
    let mut row = sampled();
    row["workload"] = token.into();
    let mut report = report(&format!("CPU {token}"), &[row]);
    report["command"] = format!("cargo p3 ab {token}\u{202e}").into();
    report["patches"] = json!([token]);
    report["baseline_patches"] = json!([format!("{token} ")]);
    for text in ["rustc", "rustflags"] {
        report["machine"][text] = token.into();
    }
    let file = fixture.write("x.json", &report);
    let page = fixture.path("page.html");
    let samples = samples().replace("merkle-commit/koala-bear-poseidon2-w16/2^16x64", token);
    fs::write(fixture.path("x.csv"), samples).unwrap();
    let mut command = fixture.report(&[&file]);
    let printed = command.arg("--html").arg(&page).assert().success();
    let printed = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
    let page = fs::read_to_string(page).unwrap();
    for shown in [printed, page] {
        assert!(shown.contains("h/"), "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
    }
}

const MANY: usize = 10_000;

/// The report of many rows, with samples beside it, which takes seconds to draw.
fn many(fixture: &Fixture) -> PathBuf {
    let whole = sampled();
    let name = |at: usize| format!("stark-prove/{at}");
    let rows = (0..MANY).map(|at| {
        let mut row = whole.clone();
        row["workload"] = name(at).into();
        row
    });
    let file = fixture.write("many.json", &report("Narrow", &rows.collect::<Vec<_>>()));
    let whole = samples();
    let (head, whole) = whole.split_once('\n').unwrap();
    let mut csv = format!("{head}\n");
    for at in 0..MANY {
        csv += &whole.replace("merkle-commit/koala-bear-poseidon2-w16/2^16x64", &name(at));
    }
    fs::write(fixture.path("many.csv"), csv).unwrap();
    file
}

/// A table drawn in a step for each pair of rows would take minutes here, and be noticed.
#[test]
fn thousands_of_rows_are_no_burden() {
    let fixture = Fixture::new();
    let file = many(&fixture);
    let page = fixture.path("page.html");
    let mut command = fixture.report(&[&file]);
    let printed = command.arg("--html").arg(&page).assert().success();
    let printed = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
    assert_eq!(printed.matches("`stark-prove/").count(), MANY);
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(
        page.matches("<small>4 of 16 disturbed</small>").count(),
        MANY
    );
}

/// Drawing looks at no flag, so a second signal has to be the end.
#[test]
fn a_second_signal_ends_what_is_busy() {
    let fixture = Fixture::new();
    let file = many(&fixture);
    let page = fixture.path("page.html");
    let mut tool = process::Command::new(env!("CARGO_BIN_EXE_xtask"));
    tool.arg("--project").arg(fixture.path(".")).arg("report");
    tool.arg(&file).arg("--html").arg(&page);
    let mut tool = tool.stdout(Stdio::null()).spawn().unwrap();
    let ended = loop {
        thread::sleep(Duration::from_millis(200));
        match tool.try_wait().unwrap() {
            Some(ended) => break ended,
            None => {
                let pid = Pid::from_child(&tool);
                kill_process(pid, Signal::TERM).unwrap();
            }
        }
    };
    // The first one may have come before the tool was ready for it.
    assert!(
        ended.code() == Some(130) || ended.signal().is_some(),
        "{ended}"
    );
    assert!(!page.exists());
}

/// A folder is no file of figures or samples, and no document.
#[test]
fn a_folder_in_place_of_a_file() {
    let fixture = Fixture::new();
    let rows = fixture.write("rows.json", &report("Narrow", &[row("x86-64-v3", 0.5)]));
    let folder = fixture.path("folder.json");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(fixture.path("rows.csv")).unwrap();
    for (files, complaint) in [
        (&[&*folder][..], "folder.json: not a plain file"),
        (&[&*rows], "rows.csv: not a plain file"),
    ] {
        let refused = fixture.report(files).assert().code(3);
        refused.stderr(contains(complaint));
    }
}

/// The page would take the place of what it is made from.
#[test]
fn a_page_is_a_file_of_its_own() {
    let fixture = Fixture::new();
    let file = fixture.write("x.json", &report("Narrow", &[row("x86-64-v3", 0.5)]));
    fs::write(fixture.path("x.csv"), samples()).unwrap();
    std::os::unix::fs::symlink("x.csv", fixture.path("linked.html")).unwrap();
    fs::create_dir(fixture.path("folder")).unwrap();
    for (page, why) in [
        ("x.json", "x.json are the same file"),
        ("patches/../x.csv", "x.csv are the same file"),
        ("patches/series", "patches, which this command works with"),
        ("linked.html", "linked.html are the same file"),
        ("folder", "folder: a folder"),
    ] {
        let mut command = fixture.report(&[&file]);
        let refused = command
            .arg("--html")
            .arg(fixture.path(page))
            .assert()
            .code(3);
        refused.stderr(contains(why));
    }
    assert_eq!(
        fs::read_to_string(fixture.path("x.csv")).unwrap(),
        samples()
    );
}

#[test]
fn the_page_shows_what_it_is_given_and_obeys_none_of_it() {
    let fixture = Fixture::new();
    let page = fs::read_to_string(fixture.page()).unwrap();
    let shown = "Evil | &lt;img src=https://example.com/x.png onerror=console.log(1)&gt; &amp; &quot;Sons&quot; &lt;/style&gt;";
    assert!(page.contains(shown));
    for markup in [
        "<img",
        "<script",
        "<link",
        "src=\"",
        "url(",
        "@import",
        "href=\"http",
    ] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
    for fact in [
        "<h2 id=\"s0\">quick-sponge, Plonky3 0.8.0</h2>",
        "<b>0.500</b> 0.490 to 0.505",
        "A/A 1.001 0.990 to 1.020",
        "<code>-C three</code>",
        "<code>-C four</code>",
        "cargo p3 ab quick-sponge",
        "<small>4 of 16 disturbed</small>",
        "<td data-head=\"saving that follows\">6.0 %</td>",
        "14.0 points more than follows",
        "<a href=\"benches/METHODOLOGY.md\">",
    ] {
        assert!(page.contains(fact), "{fact}");
    }
}

/// A browser, which `cargo p3 test` finds and names.
struct Browser {
    dir: TempDir,
}

/// A page as the browser shows it.
struct Visit {
    dom: String,
    /// The requests that the page had the browser make; the browser itself makes more.
    requests: Vec<String>,
    console: Vec<String>,
}

impl Browser {
    fn new() -> Self {
        // Not in /tmp, which a confined browser does not share.
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { dir }
    }

    fn visit(&self, text: &str, extension: &str) -> Visit {
        let program = std::env::var_os("CHROMIUM").expect("CHROMIUM names a browser");
        let path = |name: &str| self.dir.path().join(name);
        let page = path("page").with_extension(extension);
        fs::write(&page, text).unwrap();
        // A dialogue would keep it waiting.
        let output = Command::new(program)
            .timeout(Duration::from_secs(60))
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--disable-background-networking", "--disable-extensions"])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--window-size=1600,900",
            ])
            .args(["--enable-logging=stderr", "--v=0", "--dump-dom"])
            .arg(format!("--user-data-dir={}", path("profile").display()))
            .arg(format!("--log-net-log={}", path("net.json").display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let log: Value = serde_json::from_slice(&fs::read(path("net.json")).unwrap()).unwrap();
        let events = log["events"].as_array().unwrap().iter();
        let asked = events.filter_map(|event| {
            let initiator = event["params"]["initiator"].as_str()?;
            let url = event["params"]["url"].as_str()?;
            (initiator != "not an origin").then(|| url.to_owned())
        });
        let messages = String::from_utf8_lossy(&output.stderr);
        let console = messages.lines().filter(|line| line.contains(":CONSOLE"));
        Visit {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            requests: asked.collect(),
            console: console.map(str::to_owned).collect(),
        }
    }
}

#[test]
#[ignore = "needs Chromium; `cargo p3 test` runs it where there is one"]
fn a_browser_shows_the_page_and_asks_for_nothing() {
    let fixture = Fixture::new();
    let page = fs::read_to_string(fixture.page()).unwrap();
    let browser = Browser::new();
    let visit = browser.visit(&page, "html");
    assert_eq!((visit.console, visit.requests), (vec![], vec![]));
    assert!(visit.dom.contains("<h1>Plonky3 with patches</h1>"));
    assert!(visit.dom.contains("Evil | &lt;img"));

    // The browser refuses a request that the page forbids, and says so; without that, it would have been seen.
    let loading = page.replace("<main>", "<main><img src=\"https://example.com/x.png\">");
    let visit = browser.visit(&loading, "html");
    assert_eq!(visit.requests, [""; 0]);
    assert!(visit.console[0].contains("Content Security Policy"));
    let unguarded = loading.replace("Content-Security-Policy", "none");
    let visit = browser.visit(&unguarded, "html");
    assert_eq!(visit.requests, ["https://example.com/x.png"]);
}

/// Says in the attribute `data-seen` of a page what is seen of another one, in a frame of a phone's width and in a wide one.
const LOOK: &str = r#"onload = () => {
    document.body.dataset.seen = JSON.stringify([...document.querySelectorAll("iframe")].map(frame => {
        const page = frame.contentDocument, root = page.documentElement;
        const box = part => part.getBoundingClientRect();
        const dots = [...page.querySelectorAll("td svg circle")];
        const inside = dot => {
            const inner = box(dot), outer = box(dot.ownerSVGElement);
            return inner.width > 3 && inner.left >= outer.left - 3 && inner.right <= outer.right + 3
                && inner.top >= outer.top - 3 && inner.bottom <= outer.bottom + 3;
        };
        const effect = page.querySelector(".plot .faster circle");
        const plot = box(effect.ownerSVGElement), dot = box(effect);
        const style = frame.contentWindow.getComputedStyle(page.body);
        return {
            client: root.clientWidth, scroll: root.scrollWidth, dots: dots.length,
            astray: dots.filter(dot => !inside(dot)).length,
            place: 100 * ((dot.left + dot.right) / 2 - plot.left) / plot.width + "",
            asked: effect.getAttribute("cx"), round: Math.abs(dot.width - dot.height) < 0.1,
            paper: style.backgroundColor, ink: style.color,
            smallest: Math.min(...[...page.querySelectorAll("main *")]
                .map(part => parseFloat(frame.contentWindow.getComputedStyle(part).fontSize))),
        };
    }));
}"#;

#[test]
#[ignore = "needs Chromium; `cargo p3 test` runs it where there is one"]
fn the_page_fits_a_phone_and_the_dark() {
    let fixture = Fixture::new();
    let page = fs::read_to_string(fixture.page()).unwrap();
    let page = page.replace("<details", "<details open");
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = |width, scheme: &str| {
        format!(
            "<iframe style=\"width: {width}px; height: 800px; border: 0; color-scheme: {scheme}\" srcdoc=\"{page}\"></iframe>"
        )
    };
    let frames = [frame(360, "light"), frame(1400, "dark")].concat();
    let visit = Browser::new().visit(
        &format!("<!DOCTYPE html><meta charset=utf-8><body>{frames}<script>{LOOK}</script>"),
        "html",
    );
    assert_eq!(visit.console, [""; 0]);
    let (_, seen) = visit
        .dom
        .split_once("data-seen=\"")
        .expect("the script ran");
    let (seen, _) = seen.split_once('"').unwrap();
    let seen: Vec<Value> = serde_json::from_str(&seen.replace("&quot;", "\"")).unwrap();
    let colours = |seen: &Value| [seen["paper"].clone(), seen["ink"].clone()];
    for seen in &seen {
        assert!(seen["scroll"].as_u64() <= seen["client"].as_u64(), "{seen}");
        // Two of each of four rows, and sixteen samples of one.
        assert_eq!(
            (&seen["dots"], &seen["astray"]),
            (&json!(24), &json!(0)),
            "{seen}"
        );
        let number = |name: &str| -> f64 {
            seen[name]
                .as_str()
                .unwrap()
                .trim_end_matches('%')
                .parse()
                .unwrap()
        };
        assert!((number("place") - number("asked")).abs() < 0.2, "{seen}");
        assert_eq!(seen["round"], true, "{seen}");
        assert!(seen["smallest"].as_f64().unwrap() >= 10.0, "{seen}");
    }
    assert_eq!(colours(&seen[0]), ["rgb(255, 255, 255)", "rgb(31, 35, 40)"]);
    assert_eq!(colours(&seen[1]), ["rgb(13, 17, 23)", "rgb(230, 237, 243)"]);
}

#[test]
#[ignore = "needs Chromium; `cargo p3 test` runs it where there is one"]
fn a_browser_reads_the_readmes_figures() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/record");
    let mut figures = 0;
    for base in fs::read_dir(records).unwrap() {
        let Ok(figure) = fs::read_to_string(base.unwrap().path().join("series.svg")) else {
            continue;
        };
        let visit = Browser::new().visit(&figure, "svg");
        assert_eq!((visit.console, visit.requests), (vec![], vec![]));
        assert!(!visit.dom.contains("parsererror"), "{}", visit.dom);
        assert!(visit.dom.contains("<circle "));
        figures += 1;
    }
    assert!(figures > 0);
}
