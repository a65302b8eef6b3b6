//! The names of upstream's benches.

use std::str::FromStr;

/// A bench of upstream's.
#[derive(Clone)]
pub struct Bench {
    pub package: String,
    pub name: String,
    /// Criterion's filter on the names in it.
    pub filter: Option<String>,
}

impl FromStr for Bench {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, '/').map(str::to_owned);
        let mut part = || {
            parts
                .next()
                .filter(|part| !part.is_empty() && !part.starts_with('-'))
        };
        let (Some(package), Some(name)) = (part(), part()) else {
            return Err(
                "expected PACKAGE/BENCH or PACKAGE/BENCH/FILTER, as in p3-dft/fft/coset_lde",
            );
        };
        Ok(Self {
            package,
            name,
            filter: part(),
        })
    }
}
