//! The loops of a function. petgraph, which has dominators, brings a second hashbrown, which `deny.toml` refuses.

use std::collections::{BTreeMap, BTreeSet};

use super::{Flow, Instruction};

/// Returns the innermost loops, each as the indices of its instructions, in the order of their first ones.
///
/// A loop is what can reach a jump back to an instruction that every way to the jump has passed. A jump to a lower address
/// is not enough: compilers put rare cases at a function's end, and these jump back too.
pub fn innermost_loops(instructions: &[Instruction]) -> Vec<BTreeSet<usize>> {
    let blocks = Blocks::new(instructions);
    let dominators = blocks.dominators();
    // Several jumps back to one place are one loop.
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (from, successors) in blocks.successors.iter().enumerate() {
        for &head in successors {
            if dominators[from].contains(&head) {
                let members = loops.entry(head).or_insert_with(|| BTreeSet::from([head]));
                blocks.add_all_that_reach(from, members);
            }
        }
    }
    let heads: Vec<usize> = loops.keys().copied().collect();
    loops.retain(|head, members| {
        !heads
            .iter()
            .any(|other| other != head && members.contains(other))
    });
    let instructions = |members: BTreeSet<usize>| {
        let ranges = members.into_iter().map(|block| blocks.range(block));
        ranges.flatten().collect()
    };
    loops.into_values().map(instructions).collect()
}

/// Runs of instructions that are entered at the first one only, and left at the last one only.
struct Blocks {
    /// The index of each one's first instruction, and of the end.
    starts: Vec<usize>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
}

impl Blocks {
    fn new(instructions: &[Instruction]) -> Self {
        let at = |address| {
            instructions
                .binary_search_by_key(&address, |instruction| instruction.address)
                .ok()
        };
        let mut starts = BTreeSet::from([0, instructions.len()]);
        for (index, instruction) in instructions.iter().enumerate() {
            if instruction.flow != Flow::Next {
                starts.insert(index + 1);
            }
            if let Flow::Branch(target) | Flow::Jump(target) = instruction.flow {
                starts.extend(at(target));
            }
        }
        let starts: Vec<usize> = starts.into_iter().collect();
        let count = starts.len() - 1;
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (block, range) in starts.windows(2).enumerate() {
            let flow = instructions[range[1] - 1].flow;
            let next = (block + 1 < count && matches!(flow, Flow::Next | Flow::Branch(_)))
                .then_some(block + 1);
            let target = match flow {
                Flow::Branch(target) | Flow::Jump(target) => at(target)
                    .map(|index| starts.binary_search(&index).expect("targets start blocks")),
                Flow::Next | Flow::Away => None,
            };
            for successor in next.into_iter().chain(target) {
                successors[block].push(successor);
                predecessors[successor].push(block);
            }
        }
        Self {
            starts,
            successors,
            predecessors,
        }
    }

    fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.starts[block]..self.starts[block + 1]
    }

    /// For each block, those that every way to it passes. A block that nothing leads to may be entered from a table of
    /// jumps.
    fn dominators(&self) -> Vec<BTreeSet<usize>> {
        let all: BTreeSet<usize> = (0..self.predecessors.len()).collect();
        let mut dominators: Vec<BTreeSet<usize>> = (0..all.len())
            .map(|block| {
                if block == 0 || self.predecessors[block].is_empty() {
                    BTreeSet::from([block])
                } else {
                    all.clone()
                }
            })
            .collect();
        loop {
            let mut changed = false;
            for block in 1..all.len() {
                let mut ways = self.predecessors[block]
                    .iter()
                    .map(|&from| &dominators[from]);
                let Some(first) = ways.next() else { continue };
                let mut passed = ways.fold(first.clone(), |common, way| &common & way);
                passed.insert(block);
                if passed != dominators[block] {
                    dominators[block] = passed;
                    changed = true;
                }
            }
            if !changed {
                return dominators;
            }
        }
    }

    fn add_all_that_reach(&self, block: usize, members: &mut BTreeSet<usize>) {
        let mut pending = vec![block];
        while let Some(block) = pending.pop() {
            if members.insert(block) {
                pending.extend(&self.predecessors[block]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::code::Class;

    /// Returns the loops of a function whose instructions, one byte each, go where `flows` says.
    fn loops(flows: &[Flow]) -> Vec<Vec<usize>> {
        let instruction = |(address, flow): (usize, &Flow)| Instruction {
            address: address as u64,
            length: 1,
            class: Class::Other,
            reads: None,
            writes: None,
            broadcasts: false,
            flow: *flow,
        };
        let instructions: Vec<_> = flows.iter().enumerate().map(instruction).collect();
        let loops = innermost_loops(&instructions).into_iter();
        loops.map(|members| members.into_iter().collect()).collect()
    }

    use Flow::{Away, Branch, Jump, Next};

    #[test]
    fn innermost_loops_are_found() {
        // Two loops, one of a single instruction, within a third.
        assert_eq!(
            loops(&[
                Next,
                Next,
                Branch(2),
                Next,
                Next,
                Branch(3),
                Branch(1),
                Away
            ]),
            [vec![2], vec![3, 4, 5]]
        );
        assert_eq!(loops(&[Next, Branch(0), Away]), [[0, 1]]);
        assert!(loops(&[Next, Branch(3), Next, Away]).is_empty());
        assert!(loops(&[]).is_empty());
    }

    #[test]
    fn a_rare_case_at_the_end_is_no_loop_but_may_be_in_one() {
        assert!(loops(&[Next, Branch(4), Next, Away, Next, Jump(2)]).is_empty());
        assert_eq!(
            loops(&[Next, Branch(5), Next, Branch(1), Away, Next, Jump(2)]),
            [[1, 2, 3, 5, 6]]
        );
    }

    #[test]
    fn two_ways_back_are_one_loop() {
        assert_eq!(
            loops(&[Next, Branch(4), Next, Jump(0), Next, Branch(0), Away]),
            [[0, 1, 2, 3, 4, 5]]
        );
    }

    #[test]
    fn targets_elsewhere_are_no_loops() {
        assert!(loops(&[Next, Branch(77), Next, Jump(99)]).is_empty());
        // Nothing that is seen leads to the loop; a table of jumps may.
        assert_eq!(loops(&[Away, Next, Branch(1), Away]), [[1, 2]]);
    }
}
