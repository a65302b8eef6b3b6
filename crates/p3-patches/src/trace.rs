//! Finds the instructions of one unit of work in what whole runs executed.

/// How often the unit is repeated in the shorter of two runs. The first repetition may set something up.
pub const FEWER: usize = 2;

/// The addresses that one repetition executed, from a run and from one that repeated once more; `None` unless the longer
/// run is the shorter one plus exactly one repetition, which executes what the one before it did.
///
/// The two runs part where the shorter one leaves the loop and the longer one goes round once more.
pub fn unit<'a>(fewer: &[u64], more: &'a [u64]) -> Option<&'a [u64]> {
    let length = more.len().checked_sub(fewer.len())?;
    let common = fewer
        .iter()
        .zip(more)
        .take_while(|(fewer, more)| fewer == more)
        .count();
    let (before, rest) = more.split_at(common);
    let (unit, after) = rest.split_at_checked(length)?;
    let repeats = !unit.is_empty() && before.ends_with(unit) && after == &fewer[common..];
    repeats.then_some(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A run: a beginning, repetitions that each jump back to their first instruction, and an end.
    fn run(repetitions: &[&[u64]]) -> Vec<u64> {
        [&[1, 2, 3], &repetitions.concat()[..], &[8, 9]].concat()
    }

    #[test]
    fn a_repetition_is_found() {
        let body: &[u64] = &[4, 5, 5, 6, 7];
        assert_eq!(unit(&run(&[body; 2]), &run(&[body; 3])), Some(body));
    }

    #[test]
    fn runs_that_are_no_repetition_are_refused() {
        let (body, longer, other): (&[u64], &[u64], &[u64]) =
            (&[4, 5, 6, 7], &[4, 5, 5, 6, 7], &[4, 5, 0, 7]);
        // Every repetition longer than the last; one that takes another way of equal length; none more; one less.
        let third = [longer, &[5][..]].concat();
        assert_eq!(
            unit(&run(&[body, longer]), &run(&[body, longer, &third])),
            None
        );
        assert_eq!(unit(&run(&[body, body]), &run(&[body, body, other])), None);
        assert_eq!(unit(&run(&[body, other]), &run(&[body, other, body])), None);
        assert_eq!(unit(&run(&[body; 2]), &run(&[body; 2])), None);
        assert_eq!(unit(&run(&[body; 3]), &run(&[body; 2])), None);
        // Equal repetitions, but an end that differs.
        let mut ending = run(&[body; 3]);
        ending.push(10);
        assert_eq!(unit(&run(&[body; 2]), &ending), None);
    }

    proptest! {
        #[test]
        fn any_repetition_is_found_at_its_length(body in prop::collection::vec(4u64..8, 1..40)) {
            let body = &body[..];
            let (fewer, more) = (run(&[body; 2]), run(&[body; 3]));
            let found = unit(&fewer, &more).map(<[u64]>::len);
            prop_assert_eq!(found, Some(body.len()));
        }
    }
}
