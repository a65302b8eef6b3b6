//! aarch64.

use yaxpeax_arch::{Decoder as _, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Opcode, Operand};

use super::{Class, Flow, Instruction, Place};

const LENGTH: u64 = 4;
const STACK_POINTER: u16 = 31;
const FRAME_POINTER: u16 = 29;

pub fn decode(address: u64, code: &[u8]) -> Vec<Instruction> {
    let decoder = InstDecoder::default();
    let words = code.chunks_exact(LENGTH as usize);
    let addresses = (address..).step_by(LENGTH as usize);
    let decoded = words.map(|word| decoder.decode(&mut U8Reader::new(word)).ok());
    let decoded: Vec<_> = decoded.collect();
    let framed = decoded.iter().flatten().any(|instruction| {
        instruction.opcode == Opcode::ADD
            && is_register(&instruction.operands[0], FRAME_POINTER)
            && is_register(&instruction.operands[1], STACK_POINTER)
    });
    let instruction = |(address, decoded): (u64, Option<yaxpeax_arm::armv8::a64::Instruction>)| {
        let mut found = Instruction {
            address,
            length: LENGTH,
            class: Class::Other,
            reads: None,
            writes: None,
            broadcasts: false,
            flow: Flow::Next,
        };
        if let Some(decoded) = decoded {
            fill(&mut found, &decoded, framed);
        }
        found
    };
    addresses.zip(decoded).map(instruction).collect()
}

fn fill(found: &mut Instruction, decoded: &yaxpeax_arm::armv8::a64::Instruction, framed: bool) {
    let name = format!("{:?}", decoded.opcode);
    let offset = decoded.operands.iter().find_map(|operand| match operand {
        Operand::PCOffset(offset) => Some(*offset),
        _ => None,
    });
    let target = offset.map(|offset| found.address.wrapping_add_signed(offset));
    (found.class, found.flow) = match (decoded.opcode, target) {
        (Opcode::BL | Opcode::BLR, _) => (Class::Call, Flow::Next),
        (Opcode::B, Some(target)) => (Class::Jump, Flow::Jump(target)),
        (
            Opcode::Bcc(_) | Opcode::CBZ | Opcode::CBNZ | Opcode::TBZ | Opcode::TBNZ,
            Some(target),
        ) => (Class::Jump, Flow::Branch(target)),
        (Opcode::BR | Opcode::RET, _) => (Class::Jump, Flow::Away),
        (Opcode::BRK | Opcode::UDF, _) => (Class::Other, Flow::Away),
        // Aliases: comparisons are subtractions, and moves are disjunctions, with the register that is
        // always zero, or of a register with itself.
        (Opcode::ADDS | Opcode::SUBS | Opcode::ANDS, _) if is_zero(&decoded.operands[0]) => {
            (Class::Compare, Flow::Next)
        }
        (Opcode::ORR, _)
            if is_zero(&decoded.operands[1]) || decoded.operands[1] == decoded.operands[2] =>
        {
            (Class::Move, Flow::Next)
        }
        _ => (class(&name), Flow::Next),
    };
    // Pairs are saved and restored for the caller with the stack pointer moving along, which is no spill.
    let place = decoded.operands.iter().find_map(|operand| match *operand {
        Operand::RegPreIndex(base, _, false) => Some(
            if base == STACK_POINTER || (framed && base == FRAME_POINTER) {
                Place::Frame
            } else {
                Place::Elsewhere
            },
        ),
        Operand::RegPreIndex(base, _, true) | Operand::RegPostIndex(base, _) => {
            (base != STACK_POINTER).then_some(Place::Elsewhere)
        }
        Operand::RegRegOffset(..) | Operand::RegPostIndexReg(..) | Operand::PCOffset(_) => {
            Some(Place::Elsewhere)
        }
        _ => None,
    });
    if name.starts_with("LD") {
        found.reads = place;
        found.broadcasts =
            name.ends_with('R') && name.starts_with("LD") && name.as_bytes()[2].is_ascii_digit();
    } else if name.starts_with("ST") {
        found.writes = place;
    }
}

fn is_register(operand: &Operand, number: u16) -> bool {
    matches!(*operand, Operand::RegisterOrSP(_, register) if register == number)
}

fn is_zero(operand: &Operand) -> bool {
    matches!(operand, Operand::Register(_, 31))
}

/// By the beginning of a mnemonic, the first that fits.
fn class(name: &str) -> Class {
    const BY_PREFIX: &[(&[&str], Class)] = &[
        (
            &[
                "UMUL", "SMUL", "UMADD", "SMADD", "UMSUB", "SMSUB", "MUL", "MADD", "MSUB", "UMLAL",
                "SMLAL", "UMLSL", "SMLSL", "MLA", "MLS", "SQDMUL", "SQRDMUL", "SQDML", "SQRDML",
                "PMUL", "UDOT", "SDOT", "FMUL", "FMLA", "FMLS", "FMADD", "FMSUB",
            ],
            Class::Multiply,
        ),
        (
            &[
                "CM", "CSEL", "CSINC", "CSINV", "CSNEG", "CCM", "UMAX", "UMIN", "SMAX", "SMIN",
                "BSL", "BIT", "BIF", "FCM",
            ],
            Class::Compare,
        ),
        (
            // An `extr` of one register twice is a rotation, and LLVM has no other use for it.
            &[
                "SHL", "SHR", "SSHL", "USHL", "SSHR", "USHR", "SRSH", "URSH", "SLI", "SRI", "SSRA",
                "USRA", "LSL", "LSR", "ASR", "ROR", "SHLL", "UBFM", "SBFM", "BFM", "RSHR", "EXTR",
            ],
            Class::Shift,
        ),
        (
            &[
                "ZIP", "UZP", "TRN", "EXT", "TB", "DUP", "INS", "UMOV", "SMOV", "XTN", "SQXTN",
                "UQXTN", "REV",
            ],
            Class::Shuffle,
        ),
        (
            &[
                "ADD", "ADC", "SUB", "SBC", "RADDHN", "RSUBHN", "UADD", "SADD", "USUB", "SSUB",
                "UQADD", "SQADD", "UQSUB", "SQSUB", "UHADD", "SHADD", "UHSUB", "SHSUB", "NEG",
                "ADR", "UABD", "SABD",
            ],
            Class::Add,
        ),
        (
            &["AND", "ORR", "ORN", "EOR", "EON", "BIC", "NOT", "BCAX"],
            Class::Logic,
        ),
        (&["MOV", "MVNI", "FMOV", "LD", "ST"], Class::Move),
    ];
    Class::by_prefix(name, BY_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::code::Counts;

    fn decoded(words: &[u32]) -> Vec<Instruction> {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        decode(0x1000, &code)
    }

    #[test]
    fn instructions_have_classes() {
        for (word, class, text) in [
            (0x2ea2c020, Class::Multiply, "umull v0.2d, v1.2s, v2.2s"),
            (0x9bc27c20, Class::Multiply, "umulh x0, x1, x2"),
            (0x9b027c20, Class::Multiply, "mul x0, x1, x2"),
            (0x6ea28020, Class::Multiply, "umlal2 v0.2d, v1.4s, v2.4s"),
            (0x4ee28420, Class::Add, "add v0.2d, v1.2d, v2.2d"),
            (0xcb020020, Class::Add, "sub x0, x1, x2"),
            (0x2ea21020, Class::Add, "uaddw v0.2d, v1.2d, v2.2s"),
            (0x6ee23420, Class::Compare, "cmhi v0.2d, v1.2d, v2.2d"),
            (0xeb01001f, Class::Compare, "cmp x0, x1"),
            (0x9a823020, Class::Compare, "csel x0, x1, x2, lo"),
            (0x6e621c20, Class::Compare, "bsl v0.16b, v1.16b, v2.16b"),
            (0x4e821820, Class::Shuffle, "uzp1 v0.4s, v1.4s, v2.4s"),
            (0x6e024020, Class::Shuffle, "ext v0.16b, v1.16b, v2.16b, #8"),
            (0x0ea12820, Class::Shuffle, "xtn v0.2s, v1.2d"),
            (0x4f605420, Class::Shift, "shl v0.2d, v1.2d, #32"),
            (0x6f601420, Class::Shift, "usra v0.2d, v1.2d, #32"),
            (0xd360fc20, Class::Shift, "lsr x0, x1, #32"),
            (0x93c22020, Class::Shift, "extr x0, x1, x2, #8"),
            (0x6e221c20, Class::Logic, "eor v0.16b, v1.16b, v2.16b"),
            (0x92407c20, Class::Logic, "and x0, x1, #0xffffffff"),
            (0xaa0103e0, Class::Move, "mov x0, x1"),
            (0x4ea11c20, Class::Move, "mov v0.16b, v1.16b"),
            (0x6f00e400, Class::Move, "movi v0.2d, #0"),
            (0xd63f0000, Class::Call, "blr x0"),
            (0xd65f03c0, Class::Jump, "ret"),
            (0xd503201f, Class::Other, "nop"),
        ] {
            assert_eq!(decoded(&[word])[0].class, class, "{text}");
        }
    }

    #[test]
    fn a_spill_is_told_from_a_store_and_a_reload_from_a_load() {
        for (word, memory, text) in [
            (0x3dc00400, "loads", "ldr q0, [x0, #16]"),
            (0x3dc007e0, "reloads", "ldr q0, [sp, #16]"),
            (0x3d8007e0, "spills", "str q0, [sp, #16]"),
            (0x3d800400, "stores", "str q0, [x0, #16]"),
            (0xad400420, "loads", "ldp q0, q1, [x1]"),
            (0xad4107e0, "reloads", "ldp q0, q1, [sp, #32]"),
            (0xf8227820, "stores", "str x0, [x1, x2, lsl #3]"),
            (0x4d40cc00, "broadcasts", "ld1r {v0.2d}, [x0]"),
            (0xa9bf7bfd, "", "stp x29, x30, [sp, #-16]!"),
            (0xa8c17bfd, "", "ldp x29, x30, [sp], #16"),
            (0x3cc10420, "loads", "ldr q0, [x1], #16"),
            (0x910043e0, "", "add x0, sp, #16"),
        ] {
            assert_eq!(Counts::of(&decoded(&[word])).memory(), memory, "{text}");
        }
    }

    #[test]
    fn x29_is_a_frame_where_the_function_makes_it_one() {
        let reload = 0xf9400fa0; // ldr x0, [x29, #24]
        let frame = 0x910003fd; // mov x29, sp
        assert_eq!(Counts::of(&decoded(&[reload])).memory(), "loads");
        assert_eq!(Counts::of(&decoded(&[frame, reload])).memory(), "reloads");
    }

    #[test]
    fn branches_lead_where_they_say() {
        for (word, flow, text) in [
            (0x1400_0002, Flow::Jump(0x1008), "b .+8"),
            (0x54ff_ffc3, Flow::Branch(0xff8), "b.lo .-8"),
            (0xb400_0040, Flow::Branch(0x1008), "cbz x0, .+8"),
            (0x9400_0002, Flow::Next, "bl .+8"),
            (0xd65f_03c0, Flow::Away, "ret"),
        ] {
            assert_eq!(decoded(&[word])[0].flow, flow, "{text}");
        }
    }
}
