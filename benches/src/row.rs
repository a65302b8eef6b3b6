//! Rows, and the parts that rows of all workloads share.

use p3_field::{Field, PackedValue, PrimeField64};
use p3_goldilocks::Goldilocks;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::protocol::{Kind, MOST_LOG_SIZE, RowInfo, SIZE};
use crate::timing::Timing;

/// The vector type that provers on this target hash with.
pub type Packed = <Goldilocks as Field>::Packing;

/// The same for MDS matrices of Poseidon1 wider than 12, which NEON has for scalars only.
#[cfg(not(target_arch = "aarch64"))]
pub type PackedWide = Packed;
#[cfg(target_arch = "aarch64")]
pub type PackedWide = Goldilocks;

/// A named unit of work.
pub struct Row {
    pub name: &'static str,
    quick: bool,
    pub prepare: fn(u64) -> Prepared,
}

type Verify = dyn Fn(&[u8]) -> Result<(), String>;
type Settled = dyn Fn(&[u8]) -> Vec<u8>;

/// A row with its inputs made.
pub struct Prepared {
    /// Runs once; returns the outputs, encoded so that equal field elements are equal bytes.
    pub run: Box<dyn FnMut() -> (Timing, Vec<u8>)>,
    /// Checks outputs of another worker, where they are a proof.
    pub verify: Option<Box<Verify>>,
    /// Returns the part of the outputs that is the same on any number of threads, where that is not all.
    settled: Option<Box<Settled>>,
}

impl Prepared {
    pub fn new(run: impl FnMut() -> (Timing, Vec<u8>) + 'static) -> Self {
        Self {
            run: Box::new(run),
            verify: None,
            settled: None,
        }
    }

    pub fn verified_by(mut self, verify: impl Fn(&[u8]) -> Result<(), String> + 'static) -> Self {
        self.verify = Some(Box::new(verify));
        self
    }

    /// Names the part of the outputs that comes before a proof of work: threads search for its witness, the first to find one wins, and
    /// what follows depends on it.
    pub fn settled_as(mut self, settled: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Self {
        self.settled = Some(Box::new(settled));
        self
    }

    /// Returns the digest of what outputs of all workers have in common that run on so many threads.
    pub fn digest(&self, outputs: &[u8], threads: usize) -> String {
        match &self.settled {
            Some(settled) if threads > 1 => digest(&settled(outputs)),
            _ => digest(outputs),
        }
    }
}

pub const fn row(name: &'static str, prepare: fn(u64) -> Prepared) -> Row {
    Row {
        name,
        quick: false,
        prepare,
    }
}

impl Row {
    pub const fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// Returns the row as a worker lists it.
    pub fn info(&self, parallel: bool) -> RowInfo {
        info(self.name, parallel, self.quick)
    }
}

/// Describes a row or a family for a list, on one thread.
fn info(name: &str, parallel: bool, quick: bool) -> RowInfo {
    RowInfo {
        name: name.into(),
        kind: Kind::of(name),
        threads: 1,
        parallel,
        quick,
    }
}

/// Rows of all sizes, whose names have [`SIZE`] in the place of the size.
pub struct Family {
    pub name: &'static str,
    /// Makes the inputs of a seed, of 2 to the power of the second argument rows.
    pub prepare: fn(u64, usize) -> Prepared,
}

/// The rows of a family.
pub const fn family(name: &'static str, prepare: fn(u64, usize) -> Prepared) -> Family {
    Family { name, prepare }
}

impl Family {
    /// Returns the family as a worker lists it.
    pub fn info(&self) -> RowInfo {
        info(self.name, true, false)
    }

    /// Returns the logarithm of the size, if the family has a row of this name.
    pub fn log_size_of(&self, row: &str) -> Option<usize> {
        let (before, after) = self.name.split_once(SIZE)?;
        let log_size = row.strip_prefix(before)?.strip_suffix(after)?;
        let log_size = log_size.strip_prefix("2^")?.parse().ok()?;
        // No other text is one: `parse` takes a sign and zeros, too.
        let is_one = row == format!("{before}2^{log_size}{after}");
        (is_one && log_size <= MOST_LOG_SIZE as usize).then_some(log_size)
    }
}

/// Encodes outputs that are a proof or a part of one.
pub fn to_bytes(output: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(output).expect("proofs are plain data")
}

/// Decodes what [`to_bytes`] has encoded.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    postcard::from_bytes(bytes).map_err(|error| format!("proof: {error}"))
}

/// Canonical little-endian words: two representations of one field element are one output.
pub fn encode<P: PackedValue<Value: PrimeField64>>(values: &[P]) -> Vec<u8> {
    let elements = values.iter().flat_map(|packed| packed.as_slice());
    elements
        .flat_map(|element| element.as_canonical_u64().to_le_bytes())
        .collect()
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of what [`encode`] gives, for outputs of which a second copy would show in the peak of memory.
pub fn hashed<P: PackedValue<Value: PrimeField64>>(values: &[P]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in values.chunks(1 << 12) {
        hash.update(encode(part));
    }
    hash.finalize().to_vec()
}
