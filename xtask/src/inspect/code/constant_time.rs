//! Finds the instructions of a function whose execution depends on data: x86-64.
//!
//! Vectors load data: field elements, and values computed from them. Data reaches integer registers through moves,
//! masks and memory, and from there a branch or an address. This follows it through a function, over all its paths.
//!
//! An integer register loads a pointer, a length or a constant, until a wide product of two such says that they
//! were elements: a length is multiplied to 128 bits only by a constant, to be divided by another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory, UsedRegister,
};

/// The worst origin of the value in an integer register, a flag or a byte of the frame.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
enum Origin {
    /// Arguments in registers, constants of instructions, addresses.
    #[default]
    Clean,
    /// Memory outside of the frame.
    Loaded,
    /// A vector or a mask, a wide product of two things loaded, or a byte of the frame that nothing else is seen to have
    /// stored.
    Data,
}

/// A conditional branch or a use of memory that depends on data, or a jump that is not followed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Dependence {
    pub instruction: u64,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    Branch,
    Address,
    /// A jump by a register, where some of the function is reached by such jumps alone.
    Jump,
}

/// The result for one function.
#[derive(Debug, Default)]
pub struct Examined {
    pub dependences: Vec<Dependence>,
    /// Tells whether elements are multiplied in integer registers.
    pub multiplies_scalars: bool,
}

/// Follows data through the function that begins at `address`.
pub fn examine(address: u64, code: &[u8]) -> Examined {
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let at = |address| {
        let found = instructions.binary_search_by_key(&address, Instruction::ip);
        found.ok()
    };
    let mut factory = InstructionInfoFactory::new();
    let mut states: Vec<Option<State>> = vec![None; instructions.len()];
    let mut examined = Examined::default();
    let mut found = BTreeSet::new();
    let mut pending = vec![(0, State::default())];
    while let Some((index, arriving)) = pending.pop() {
        let Some(instruction) = instructions.get(index) else {
            continue;
        };
        let first_time = states[index].is_none();
        let known = states[index].get_or_insert_with(|| arriving.clone());
        if !known.join(&arriving) && !first_time {
            continue;
        }
        let mut state = known.clone();
        let dependence = |kind| Dependence {
            instruction: instruction.ip(),
            kind,
        };
        examined.multiplies_scalars |= state.multiplies_what_was_loaded(instruction);
        found.extend((state.step(instruction, &mut factory).into_iter()).map(dependence));
        let target = at(instruction.near_branch_target());
        let next = Some(index + 1);
        let ways = match instruction.flow_control() {
            FlowControl::ConditionalBranch => [next, target],
            FlowControl::UnconditionalBranch => [target, None],
            FlowControl::IndirectBranch | FlowControl::Return | FlowControl::Exception => [None; 2],
            _ => [next, None],
        };
        pending.extend(ways.into_iter().flatten().map(|way| (way, state.clone())));
    }
    let is_code = |instruction: &Instruction| {
        ![Mnemonic::Nop, Mnemonic::Int3, Mnemonic::INVALID].contains(&instruction.mnemonic())
    };
    let mut each = instructions.iter().zip(&states);
    if each.any(|(instruction, state)| state.is_none() && is_code(instruction)) {
        let visited = instructions
            .iter()
            .zip(&states)
            .filter(|(_, state)| state.is_some());
        let jumps = visited
            .filter(|(instruction, _)| instruction.flow_control() == FlowControl::IndirectBranch);
        found.extend(jumps.map(|(instruction, _)| Dependence {
            instruction: instruction.ip(),
            kind: Kind::Jump,
        }));
    }
    examined.dependences = found.into_iter().collect();
    examined
}

/// The origins that are known before an instruction.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// The origins of integer registers, by their full names, and of their low bytes; clean ones are left out.
    registers: BTreeMap<Register, Origin>,
    /// Vectors by their full names, and masks, that were made from constants alone.
    clean: BTreeSet<Register>,
    /// The origin of each flag, by its bit; clean ones are left out.
    flags: BTreeMap<u32, Origin>,
    /// The origins of the frame's bytes, by their distance from the stack pointer; `Data` is left out.
    frame: BTreeMap<i64, Origin>,
}

impl State {
    /// Keeps what holds on the way to `other` too; says whether anything was lost.
    fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (&register, &origin) in &other.registers {
            raise(&mut self.registers, register, origin);
        }
        self.clean.retain(|register| other.clean.contains(register));
        for (&flag, &origin) in &other.flags {
            raise(&mut self.flags, flag, origin);
        }
        self.frame.retain(|byte, origin| {
            let theirs = other.frame.get(byte);
            *origin = theirs.map_or(*origin, |theirs| *theirs.max(origin));
            theirs.is_some()
        });
        *self != before
    }

    /// Takes a step; says what in it depends on data.
    fn step(
        &mut self,
        instruction: &Instruction,
        factory: &mut InstructionInfoFactory,
    ) -> Vec<Kind> {
        let mut found = Vec::new();
        let info = factory.info(instruction);
        let mut origin = Origin::Clean;
        for used in info.used_registers() {
            if reads(used.access()) {
                origin = origin.max(self.register(used.register()));
            }
        }
        let mut address = Origin::Clean;
        for memory in info.used_memory() {
            for register in [memory.base(), memory.index()] {
                address = address.max(self.register(register));
            }
            if reads(memory.access()) {
                origin = origin.max(self.memory(memory));
            }
        }
        for flag in bits(instruction.rflags_read()) {
            origin = origin.max(self.flags.get(&flag).copied().unwrap_or_default());
        }
        if origin == Origin::Loaded && self.multiplies_what_was_loaded(instruction) {
            origin = Origin::Data;
        }
        let chooses = matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::IndirectCall
        );
        if chooses && origin > Origin::Loaded {
            found.push(Kind::Branch);
        }
        if address > Origin::Loaded {
            found.push(Kind::Address);
        }

        for memory in info.used_memory() {
            if !writes(memory.access()) {
                continue;
            }
            let kept = match memory.access() {
                OpAccess::CondWrite | OpAccess::ReadCondWrite => self.memory(memory),
                _ => Origin::Clean,
            };
            for byte in frame(memory).into_iter().flatten() {
                set(&mut self.frame, byte, origin.max(kept), Origin::Data);
            }
        }
        for used in info.used_registers() {
            if writes(used.access()) {
                self.write(used, origin);
            }
        }
        self.copy_low_byte(instruction);
        for flag in bits(instruction.rflags_modified()) {
            set(&mut self.flags, flag, origin, Origin::Clean);
        }
        if matches!(
            instruction.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        ) {
            for register in [Register::RAX, Register::RDX] {
                self.registers.insert(register, Origin::Data);
            }
        }
        found
    }

    fn register(&self, register: Register) -> Origin {
        if register.is_vector_register() || register.is_k() {
            return if self.clean.contains(&register.full_register()) {
                Origin::Clean
            } else {
                Origin::Data
            };
        }
        let known = |register| self.registers.get(&register).copied().unwrap_or_default();
        match low_byte(register) {
            Some(low) if low == register => known(low),
            Some(low) => known(low).max(known(register.full_register())),
            None => Origin::Clean,
        }
    }

    fn write(&mut self, used: &UsedRegister, origin: Origin) {
        let register = used.register();
        let certain = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite);
        let Some(low) = low_byte(register) else {
            if certain && origin == Origin::Clean {
                self.clean.insert(register.full_register());
            } else {
                self.clean.remove(&register.full_register());
            }
            return;
        };
        let kept = if certain && (register.size() >= 4 || register == low) {
            Origin::Clean
        } else {
            self.register(register)
        };
        let origin = origin.max(kept);
        set(&mut self.registers, low, origin, Origin::Clean);
        // A byte leaves the others as they were, a doubleword clears those above.
        if register != low {
            let full = register.full_register();
            set(&mut self.registers, full, origin, Origin::Clean);
        }
    }

    /// A copy of a register keeps the low byte apart from the others: a counter may be that byte alone.
    fn copy_low_byte(&mut self, instruction: &Instruction) {
        let registers = [0, 1].map(|operand| instruction.op_register(operand));
        if instruction.mnemonic() == Mnemonic::Mov
            && registers.iter().all(|register| register.size() >= 4)
            && let [Some(to), Some(from)] = registers.map(low_byte)
        {
            let origin = self.registers.get(&from).copied().unwrap_or_default();
            set(&mut self.registers, to, origin, Origin::Clean);
        }
    }

    /// Tells whether it is a wide product of two things that were loaded, or computed from such.
    fn multiplies_what_was_loaded(&self, instruction: &Instruction) -> bool {
        let implied = match instruction.mnemonic() {
            Mnemonic::Mul => Register::RAX,
            Mnemonic::Mulx => Register::RDX,
            _ => return false,
        };
        let last = instruction.op_count() - 1;
        let named = match instruction.op_kind(last) {
            OpKind::Register => self.register(instruction.op_register(last)),
            _ => Origin::Loaded,
        };
        self.register(implied).min(named) >= Origin::Loaded
    }

    fn memory(&self, memory: &UsedMemory) -> Origin {
        let Some(bytes) = frame(memory) else {
            return match memory.base() {
                // An index walks through the frame.
                Register::RSP => Origin::Data,
                // Constants lie beside the code.
                Register::RIP | Register::None => Origin::Clean,
                _ => Origin::Loaded,
            };
        };
        let known = bytes.map(|byte| self.frame.get(&byte).copied());
        let origins = known.map(|origin| origin.unwrap_or(Origin::Data));
        origins.max().unwrap_or_default()
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Returns the bytes of the frame that an operand names.
fn frame(memory: &UsedMemory) -> Option<Range<i64>> {
    let fixed = memory.base() == Register::RSP && memory.index() == Register::None;
    let first = memory.displacement() as i64;
    fixed.then(|| first..first + memory.memory_size().size() as i64)
}

/// Returns the name of the lowest byte of an integer register, but for the stack pointer's.
fn low_byte(register: Register) -> Option<Register> {
    use Register::*;
    const LOW: [Register; 16] = [
        AL,
        CL,
        DL,
        BL,
        Register::None,
        BPL,
        SIL,
        DIL,
        R8L,
        R9L,
        R10L,
        R11L,
        R12L,
        R13L,
        R14L,
        R15L,
    ];
    let full = register.full_register();
    let low = full.is_gpr64().then(|| LOW[full.number()]);
    low.filter(|low| *low != Register::None)
}

fn bits(flags: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS)
        .map(|bit| 1 << bit)
        .filter(move |flag| flags & flag != 0)
}

fn raise<K: Ord>(origins: &mut BTreeMap<K, Origin>, key: K, origin: Origin) {
    let known = origins.entry(key).or_default();
    *known = origin.max(*known);
}

/// Where `absent` is what a map does not have.
fn set<K: Ord>(origins: &mut BTreeMap<K, Origin>, key: K, origin: Origin, absent: Origin) {
    if origin == absent {
        origins.remove(&key);
    } else {
        origins.insert(key, origin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells where in a function, loaded at zero, control or addresses depend on data.
    fn kinds(code: &[&[u8]], kind: Kind) -> Vec<u64> {
        let dependences = examine(0, &code.concat()).dependences.into_iter();
        let of_kind = dependences.filter(|dependence| dependence.kind == kind);
        of_kind.map(|dependence| dependence.instruction).collect()
    }

    #[test]
    fn a_branch_on_a_lane() {
        let code: &[&[u8]] = &[
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc0], // vmovq %xmm0,%rax
            &[0x48, 0x85, 0xc0],             // test %rax,%rax
            &[0x75, 0x01],                   // jne b
            &[0x90],                         // nop
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0x8]);
    }

    #[test]
    fn a_jump_by_a_table_is_told() {
        let code: &[&[u8]] = &[
            &[0xff, 0xe0], // jmp *%rax
            &[0x90],       // nop
        ];
        assert_eq!(kinds(code, Kind::Jump), [] as [u64; 0]);
        let code = [code, &[&[0xc3]]].concat(); // ret
        assert_eq!(kinds(&code, Kind::Jump), [0]);
    }

    #[test]
    fn a_counted_loop_over_vectors_is_none() {
        let code: &[&[u8]] = &[
            &[0x31, 0xc0],             // xor %eax,%eax
            &[0xc5, 0xfd, 0xd4, 0x07], // vpaddq (%rdi),%ymm0,%ymm0
            &[0xc5, 0xfe, 0x7f, 0x07], // vmovdqu %ymm0,(%rdi)
            &[0x48, 0x83, 0xc7, 0x20], // add $0x20,%rdi
            &[0x48, 0xff, 0xc0],       // inc %rax
            &[0x48, 0x39, 0xf0],       // cmp %rsi,%rax
            &[0x72, 0xec],             // jb e
            &[0xc3],                   // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [] as [u64; 0]);
    }

    #[test]
    fn what_an_integer_register_spilled_is_clean_and_what_a_vector_did_is_not() {
        let code: &[&[u8]] = &[
            &[0x48, 0x89, 0x7c, 0x24, 0x08],       // mov %rdi,0x8(%rsp)
            &[0xc5, 0xfe, 0x7f, 0x44, 0x24, 0x10], // vmovdqu %ymm0,0x10(%rsp)
            &[0x48, 0x8b, 0x44, 0x24, 0x08],       // mov 0x8(%rsp),%rax
            &[0x48, 0x39, 0xc6],                   // cmp %rax,%rsi
            &[0x74, 0x0b],                         // je 43
            &[0x48, 0x8b, 0x44, 0x24, 0x10],       // mov 0x10(%rsp),%rax
            &[0x48, 0x39, 0xc6],                   // cmp %rax,%rsi
            &[0x74, 0x01],                         // je 43
            &[0x90],                               // nop
            &[0xc3],                               // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0x1d]);
    }

    #[test]
    fn a_branch_on_a_mask() {
        let code: &[&[u8]] = &[
            &[0x62, 0xf2, 0xf5, 0x48, 0x37, 0xc8], // vpcmpgtq %zmm0,%zmm1,%k1
            &[0xc5, 0xf9, 0x98, 0xc9],             // kortestb %k1,%k1
            &[0x74, 0x01],                         // je 51
            &[0x90],                               // nop
            &[0xc3],                               // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0xa]);
    }

    #[test]
    fn a_lookup_by_a_lane() {
        let code: &[&[u8]] = &[
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc0], // vmovq %xmm0,%rax
            &[0x83, 0xe0, 0x0f],             // and $0xf,%eax
            &[0x48, 0x8b, 0x0c, 0xc7],       // mov (%rdi,%rax,8),%rcx
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Address), [0x8]);
    }

    #[test]
    fn a_length_that_is_divided_is_no_element() {
        let code: &[&[u8]] = &[
            &[0x48, 0x8b, 0x17],                                           // mov (%rdi),%rdx
            &[0x48, 0xb8, 0xab, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa], // movabs $0xaaaaaaaaaaaaaaab,%rax
            &[0xc4, 0xe2, 0xfb, 0xf6, 0xc8],                               // mulx %rax,%rax,%rcx
            &[0x48, 0x39, 0xce],                                           // cmp %rcx,%rsi
            &[0x72, 0x01],                                                 // jb 77
            &[0x90],                                                       // nop
            &[0xc3],                                                       // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [] as [u64; 0]);
    }

    #[test]
    fn a_borrow_of_a_product() {
        let code: &[&[u8]] = &[
            &[0x48, 0x8b, 0x17],                   // mov (%rdi),%rdx
            &[0xc4, 0xe2, 0xfb, 0xf6, 0x4f, 0x08], // mulx 0x8(%rdi),%rax,%rcx
            &[0x48, 0x29, 0xc8],                   // sub %rcx,%rax
            &[0x73, 0x01],                         // jae 87
            &[0x90],                               // nop
            &[0xc3],                               // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0xc]);
    }

    #[test]
    fn a_byte_leaves_the_others_as_they_were() {
        let code: &[&[u8]] = &[
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc2], // vmovq %xmm0,%rdx
            &[0xb2, 0x01],                   // mov $0x1,%dl
            &[0xf6, 0xc2, 0x01],             // test $0x1,%dl
            &[0x74, 0x05],                   // je 99
            &[0x84, 0xf6],                   // test %dh,%dh
            &[0x74, 0x01],                   // je 99
            &[0x90],                         // nop
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0xe]);
    }

    #[test]
    fn a_copy_keeps_the_low_byte_apart() {
        let code: &[&[u8]] = &[
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc2], // vmovq %xmm0,%rdx
            &[0xb2, 0x01],                   // mov $0x1,%dl
            &[0x89, 0xd6],                   // mov %edx,%esi
            &[0x40, 0xf6, 0xc6, 0x01],       // test $0x1,%sil
            &[0x75, 0x04],                   // jne 13
            &[0x85, 0xf6],                   // test %esi,%esi
            &[0x74, 0x01],                   // je 14
            &[0x90],                         // nop
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0x11]);
    }

    #[test]
    fn data_on_one_of_two_ways_is_enough() {
        let code: &[&[u8]] = &[
            &[0x48, 0x85, 0xf6],             // test %rsi,%rsi
            &[0x74, 0x05],                   // je a4
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc1], // vmovq %xmm0,%rcx
            &[0x48, 0x85, 0xc9],             // test %rcx,%rcx
            &[0x74, 0x01],                   // je aa
            &[0x90],                         // nop
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0xd]);
    }

    #[test]
    fn each_flag_has_an_origin_of_its_own() {
        let code: &[&[u8]] = &[
            &[0xc4, 0xe1, 0xf9, 0x7e, 0xc0], // vmovq %xmm0,%rax
            &[0x48, 0x01, 0xc0],             // add %rax,%rax
            &[0x48, 0xff, 0xce],             // dec %rsi
            &[0x75, 0x03],                   // jne bb
            &[0x72, 0x01],                   // jb bb
            &[0x90],                         // nop
            &[0xc3],                         // ret
        ];
        assert_eq!(kinds(code, Kind::Branch), [0xd]);
    }
}
