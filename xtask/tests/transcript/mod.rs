use assert_cmd::Command;

/// The output of a run on both streams.
pub fn transcript(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The machine decides which steps are long.
    let lines = stderr.split_inclusive('\n');
    let stderr: String = lines
        .filter(|line| !line.starts_with("progress: "))
        .collect();
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout),
        stderr
    )
}
