//! Rows of all sizes: one row of a family for each number of rows that its inputs have.

use crate::run::protocol::{RowInfo, SIZE};

/// Returns a row of each family for each logarithm of its size. Both lists keep their order.
#[must_use]
pub fn on(families: &[RowInfo], log_sizes: &[u32]) -> Vec<RowInfo> {
    let of_size = |family: &RowInfo, log_size| RowInfo {
        name: family.name.replacen(SIZE, &format!("2^{log_size}"), 1),
        ..family.clone()
    };
    let each = |family| {
        log_sizes
            .iter()
            .map(move |log_size| of_size(family, log_size))
    };
    families.iter().flat_map(each).collect()
}

/// Splits the name of a row into that of its family and the logarithm of its size: `lde/goldilocks/2^16x8` into
/// `lde/goldilocks/2^Nx8` and 16; `None` for a name without a size.
#[must_use]
pub fn split(row: &str) -> Option<(String, u32)> {
    let (before, rest) = row.split_once("/2^")?;
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let log_size = rest.strip_suffix(after)?.parse().ok()?;
    Some((format!("{before}/{SIZE}{after}"), log_size))
}

/// Returns the number of columns in the name of a row or a family, as it stands behind its size; 1 where there is none.
#[must_use]
pub fn width(row: &str) -> usize {
    let size = row.split_once("/2^").map_or("", |(_, size)| size);
    let size = size.split('/').next().unwrap_or_default();
    let width = size
        .split_once('x')
        .and_then(|(_, width)| width.parse().ok());
    width.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::protocol::Kind;

    #[test]
    fn a_family_has_a_row_of_each_size() {
        let family = |name: &str| RowInfo {
            name: name.into(),
            kind: Kind::of(name),
            threads: 1,
            parallel: true,
            quick: false,
        };
        let rows = on(&[family("lde/x/2^Nx8"), family("open/x/2^N")], &[14, 22]);
        let names: Vec<_> = rows.iter().map(|row| &*row.name).collect();
        let expected = ["lde/x/2^14x8", "lde/x/2^22x8", "open/x/2^14", "open/x/2^22"];
        assert_eq!(names, expected);
        let families = names.iter().map(|name| split(name).unwrap());
        let expected = [
            ("lde/x/2^Nx8".to_owned(), 14),
            ("lde/x/2^Nx8".to_owned(), 22),
            ("open/x/2^N".to_owned(), 14),
            ("open/x/2^N".to_owned(), 22),
        ];
        assert!(families.eq(expected));
    }

    #[test]
    fn a_name_tells_its_size_and_its_columns() {
        let of_threads = "lde/x/2^16x64/2-threads";
        assert_eq!(
            split(of_threads),
            Some(("lde/x/2^Nx64/2-threads".into(), 16))
        );
        assert_eq!(
            [of_threads, "lde/x/2^Nx9", "open/x/2^5"].map(width),
            [64, 9, 1]
        );
        for other in [
            "stark-prove/keccak-air",
            "lde/x/2^x8",
            "2^4",
            "lde/x/2^99999999999x8",
        ] {
            assert_eq!(split(other), None, "{other}");
            assert_eq!(width("stark-prove/keccak-air"), 1);
        }
    }
}
