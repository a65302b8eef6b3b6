use assert_cmd::Command;

/// The output of a run on both streams.
pub fn transcript(command: &mut Command) -> String {
    let output = command.output().unwrap();
    format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}
