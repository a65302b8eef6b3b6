//! Inputs of the fuzz targets that tests read too.

/// More elements than fit a tile, as a power of two.
const LOG_ELEMENTS: usize = 16;

/// A field, the shape of a matrix, and endless words for the shift and then the matrix.
///
/// An input is a head of three bytes, which are the field, the height and the width, then words in little-endian order, which
/// are repeated where more are asked for. Words are taken as they are, canonical or not.
#[derive(Clone, Debug)]
pub struct Transform<W> {
    /// BabyBear, KoalaBear or Goldilocks.
    pub field: u8,
    /// The height, as a power of two.
    pub log_h: usize,
    /// The width.
    pub width: usize,
    /// The words.
    pub words: W,
}

impl Transform<()> {
    /// Reads an input, if it has a head and a word.
    #[must_use]
    pub fn read(input: &[u8]) -> Option<Transform<impl Iterator<Item = u64> + Clone>> {
        let (&[field, log_h, width], words) = input.split_first_chunk::<3>()?;
        let (words, _) = words.as_chunks::<8>();
        if words.is_empty() {
            return None;
        }
        let width = 1 + usize::from(width) % 100;
        Some(Transform {
            field: field % 3,
            log_h: usize::from(log_h) % (LOG_ELEMENTS - width.ilog2() as usize),
            width,
            words: words.iter().cycle().map(|word| u64::from_le_bytes(*word)),
        })
    }
}
