//! Rows on several threads: the same work, under a name for each number of threads.

use crate::run::protocol::RowInfo;

/// The end of the name of a row on several threads, behind their number.
const THREADS: &str = "-threads";

/// Returns the name of a row on so many threads, such as `lde/goldilocks/2^16x64/4-threads`. On one thread, the row has its own name.
#[must_use]
pub fn name(row: &str, threads: usize) -> String {
    match threads {
        1 => row.to_owned(),
        _ => format!("{row}/{threads}{THREADS}"),
    }
}

/// Splits the name of a row on several threads into the row's own name and the number of threads. Any other name is that of a row on
/// one thread.
#[must_use]
pub fn split(name: &str) -> (&str, usize) {
    let several = name.rsplit_once('/').and_then(|(row, last)| {
        let threads = last.strip_suffix(THREADS)?.parse().ok()?;
        // No other text is one: `parse` takes a sign and zeros, too.
        (threads > 1 && self::name(row, threads) == name).then_some((row, threads))
    });
    several.unwrap_or((name, 1))
}

/// Returns each row on each number of threads, and once on one thread if it is not parallel. Both lists keep their order.
#[must_use]
pub fn on(rows: &[RowInfo], threads: &[usize]) -> Vec<RowInfo> {
    let on = |row: &RowInfo, threads| RowInfo {
        name: name(&row.name, threads),
        threads,
        ..row.clone()
    };
    let each = |row: &RowInfo| -> Vec<RowInfo> {
        let threads = if row.parallel { threads } else { &[1] };
        threads.iter().map(|&threads| on(row, threads)).collect()
    };
    rows.iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::protocol::Kind;

    #[test]
    fn parallel_rows_are_there_once_for_each_number_of_threads() {
        let row = |name: &str, parallel| RowInfo {
            name: name.into(),
            kind: Kind::Other,
            threads: 1,
            parallel,
            quick: false,
        };
        let rows = on(&[row("dft/x", true), row("permute/x", false)], &[2, 4]);
        let rows: Vec<_> = (rows.iter().map(|row| (&*row.name, row.threads))).collect();
        let expected = [
            ("dft/x/2-threads", 2),
            ("dft/x/4-threads", 4),
            ("permute/x", 1),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_name_tells_the_row_and_the_threads() {
        for threads in [1, 2, 16] {
            assert_eq!(split(&name("lde/x/2^4", threads)), ("lde/x/2^4", threads));
        }
        assert_eq!(name("lde/x/2^4", 1), "lde/x/2^4");
        for other in [
            "lde/x/1-threads",
            "lde/x/+2-threads",
            "lde/x/-threads",
            "2-threads",
            "lde/x/2",
        ] {
            assert_eq!(split(other), (other, 1));
        }
    }
}
