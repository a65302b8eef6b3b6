//! x86-64.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use super::{Class, Flow, Instruction, Place};

pub fn decode(address: u64, code: &[u8]) -> Vec<Instruction> {
    let decode = || Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let framed = decode()
        .iter()
        .any(|instruction| sets_frame_pointer(&instruction));
    let mut factory = InstructionInfoFactory::new();
    let instruction = |instruction: iced_x86::Instruction| {
        let place = place(&instruction, framed);
        let (mut reads, mut writes) = (None, None);
        // Saving registers and return addresses is no spill.
        let saves = matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
            || matches!(
                instruction.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall | FlowControl::Return
            );
        if !saves {
            for memory in factory.info(&instruction).used_memory() {
                match memory.access() {
                    OpAccess::Read | OpAccess::CondRead => reads = Some(place),
                    OpAccess::Write | OpAccess::CondWrite => writes = Some(place),
                    OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                        (reads, writes) = (Some(place), Some(place));
                    }
                    _ => {}
                }
            }
        }
        let target = instruction.near_branch_target();
        let flow = match instruction.flow_control() {
            FlowControl::ConditionalBranch => Flow::Branch(target),
            FlowControl::UnconditionalBranch => Flow::Jump(target),
            FlowControl::IndirectBranch | FlowControl::Return | FlowControl::Exception => {
                Flow::Away
            }
            _ => Flow::Next,
        };
        let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
        // From memory, these take a port for loads and none for shuffles.
        let duplicates = reads.is_some() && (name.contains("broadcast") || name == "vmovddup");
        Instruction {
            address: instruction.ip(),
            length: instruction.len() as u64,
            class: match instruction.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => Class::Call,
                FlowControl::ConditionalBranch
                | FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Return => Class::Jump,
                _ if duplicates => Class::Move,
                _ => class(&name),
            },
            reads,
            writes,
            broadcasts: duplicates || (reads.is_some() && instruction.is_broadcast()),
            flow,
        }
    };
    decode().iter().map(instruction).collect()
}

fn sets_frame_pointer(instruction: &iced_x86::Instruction) -> bool {
    let from_stack = match instruction.code() {
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 => instruction.op1_register() == Register::RSP,
        Code::Lea_r64_m => instruction.memory_base() == Register::RSP,
        _ => false,
    };
    from_stack && instruction.op0_register() == Register::RBP
}

fn place(instruction: &iced_x86::Instruction, framed: bool) -> Place {
    let base = instruction.memory_base();
    let frame = base == Register::RSP || (framed && base == Register::RBP);
    // An index walks through an array, which a register never was.
    let fixed = instruction.memory_index() == Register::None;
    let named = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    if named && frame && fixed {
        Place::Frame
    } else {
        Place::Elsewhere
    }
}

/// By the beginning of a mnemonic, the first that fits; vectors' names are those of SSE after a `v`.
fn class(name: &str) -> Class {
    const BY_PREFIX: &[(&[&str], Class)] = &[
        (
            &[
                "pmul", "pmadd", "mul", "imul", "pclmul", "fmadd", "fnmadd", "fmsub", "fnmsub",
            ],
            Class::Multiply,
        ),
        (
            &[
                "blendv", "pblendv", "pblendm", "blendm", "pcmp", "pmin", "pmax", "cmp", "test",
                "ptest", "set", "cmov", "pmovm2", "pmovb2m", "pmovw2m", "pmovd2m", "pmovq2m",
                "movmsk", "pmovmsk",
            ],
            Class::Compare,
        ),
        (
            &[
                "psll", "psrl", "psra", "prol", "pror", "pshld", "pshrd", "shl", "shr", "sar",
                "rol", "ror", "rcl", "rcr",
            ],
            Class::Shift,
        ),
        (
            &[
                "pshuf",
                "shuf",
                "perm",
                "punpck",
                "unpck",
                "palign",
                "align",
                "pinsr",
                "pextr",
                "insert",
                "extract",
                "movshdup",
                "movsldup",
                "movddup",
                "movhlps",
                "movlhps",
                "pblend",
                "blend",
                "pack",
                "pmov",
                "pcompress",
                "pexpand",
                "broadcast",
                "pbroadcast",
            ],
            Class::Shuffle,
        ),
        (
            &[
                "padd", "psub", "add", "adc", "sub", "sbb", "inc", "dec", "neg", "lea",
            ],
            Class::Add,
        ),
        (
            &[
                "pand", "por", "pxor", "ptern", "and", "or", "xor", "not", "bls", "bextr", "bzhi",
            ],
            Class::Logic,
        ),
        (&["mov"], Class::Move),
    ];
    // Masks have registers of their own, k0 to k7.
    if name.starts_with('k') {
        return Class::Compare;
    }
    let name = name.strip_prefix('v').unwrap_or(name);
    Class::by_prefix(name, BY_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::code::Counts;

    #[test]
    fn instructions_have_classes() {
        let table: &[(&[u8], Class, &str)] = &[
            (
                &[0x62, 0xf1, 0xed, 0x48, 0xf4, 0xd9],
                Class::Multiply,
                "vpmuludq %zmm1, %zmm2, %zmm3",
            ),
            (
                &[0x62, 0xf2, 0xed, 0x48, 0xb4, 0xd9],
                Class::Multiply,
                "vpmadd52luq %zmm1, %zmm2, %zmm3",
            ),
            (
                &[0xc4, 0xe2, 0xfb, 0xf6, 0xd1],
                Class::Multiply,
                "mulxq %rcx, %rax, %rdx",
            ),
            (
                &[0xc5, 0xed, 0xd4, 0xd9],
                Class::Add,
                "vpaddq %ymm1, %ymm2, %ymm3",
            ),
            (
                &[0x62, 0xf1, 0xed, 0x49, 0xfb, 0xd9],
                Class::Add,
                "vpsubq %zmm1, %zmm2, %zmm3{%k1}",
            ),
            (
                &[0x48, 0x8d, 0x14, 0x08],
                Class::Add,
                "leaq (%rax,%rcx), %rdx",
            ),
            (&[0x19, 0xc0], Class::Add, "sbbl %eax, %eax"),
            (
                &[0x62, 0xf3, 0xed, 0x48, 0x1e, 0xc9, 0x01],
                Class::Compare,
                "vpcmpltuq %zmm1, %zmm2, %k1",
            ),
            (
                &[0xc4, 0xe2, 0x6d, 0x37, 0xd9],
                Class::Compare,
                "vpcmpgtq %ymm1, %ymm2, %ymm3",
            ),
            (
                &[0x62, 0xf2, 0xed, 0x48, 0x3b, 0xd9],
                Class::Compare,
                "vpminuq %zmm1, %zmm2, %zmm3",
            ),
            (&[0xc5, 0xf8, 0x93, 0xc1], Class::Compare, "kmovw %k1, %eax"),
            (
                &[0x62, 0xf2, 0xed, 0x49, 0x64, 0xd9],
                Class::Compare,
                "vpblendmq %zmm1, %zmm2, %zmm3{%k1}",
            ),
            (
                &[0x48, 0x0f, 0x42, 0xc8],
                Class::Compare,
                "cmovbq %rax, %rcx",
            ),
            (
                &[0x62, 0xf1, 0x7e, 0x48, 0x16, 0xd1],
                Class::Shuffle,
                "vmovshdup %zmm1, %zmm2",
            ),
            (
                &[0xc5, 0xfd, 0x70, 0xd1, 0xf5],
                Class::Shuffle,
                "vpshufd $0xf5, %ymm1, %ymm2",
            ),
            (
                &[0x62, 0xf2, 0xed, 0x48, 0x7e, 0xd9],
                Class::Shuffle,
                "vpermt2q %zmm1, %zmm2, %zmm3",
            ),
            (
                &[0xc4, 0xe3, 0x6d, 0x02, 0xd9, 0xaa],
                Class::Shuffle,
                "vpblendd $0xaa, %ymm1, %ymm2, %ymm3",
            ),
            (
                &[0x62, 0xf2, 0xfd, 0x48, 0x7c, 0xc8],
                Class::Shuffle,
                "vpbroadcastq %rax, %zmm1",
            ),
            (
                &[0x62, 0xf1, 0xed, 0x48, 0x73, 0xd1, 0x20],
                Class::Shift,
                "vpsrlq $32, %zmm1, %zmm2",
            ),
            (
                &[0xc4, 0xe2, 0xfb, 0xf7, 0xd1],
                Class::Shift,
                "shrxq %rax, %rcx, %rdx",
            ),
            (
                &[0x48, 0x0f, 0xa4, 0xc1, 0x08],
                Class::Shift,
                "shldq $8, %rax, %rcx",
            ),
            (
                &[0x62, 0xf3, 0xed, 0x48, 0x25, 0xd9, 0x96],
                Class::Logic,
                "vpternlogq $0x96, %zmm1, %zmm2, %zmm3",
            ),
            (
                &[0xc5, 0xf9, 0xef, 0xc0],
                Class::Logic,
                "vpxor %xmm0, %xmm0, %xmm0",
            ),
            (
                &[0x62, 0xf1, 0xfd, 0x48, 0x6f, 0xd1],
                Class::Move,
                "vmovdqa64 %zmm1, %zmm2",
            ),
            (
                &[0xc4, 0xe1, 0xf9, 0x6e, 0xc8],
                Class::Move,
                "vmovq %rax, %xmm1",
            ),
            (
                &[0xc4, 0xe2, 0x7d, 0x59, 0x4c, 0x24, 0x08],
                Class::Move,
                "vpbroadcastq 8(%rsp), %ymm1",
            ),
            (&[0xff, 0xd0], Class::Call, "callq *%rax"),
            (&[0xc3], Class::Jump, "retq"),
            (&[0x90], Class::Other, "nop"),
        ];
        for (code, class, text) in table {
            let decoded = decode(0x1000, code);
            assert_eq!(decoded.len(), 1, "{text}");
            assert_eq!(decoded[0].class, *class, "{text}");
        }
    }

    #[test]
    fn a_spill_is_told_from_a_store_and_a_reload_from_a_load() {
        let table: &[(&[u8], &str, &str)] = &[
            (
                &[0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x0f],
                "loads",
                "vmovdqu64 (%rdi), %zmm1",
            ),
            (
                &[0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x4c, 0x24, 0x01],
                "reloads",
                "vmovdqu64 64(%rsp), %zmm1",
            ),
            (
                &[0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x0f],
                "stores",
                "vmovdqu64 %zmm1, (%rdi)",
            ),
            (
                &[0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x4c, 0x24, 0x01],
                "spills",
                "vmovdqu64 %zmm1, 64(%rsp)",
            ),
            (
                &[0xc5, 0xf5, 0xd4, 0x54, 0x24, 0x20],
                "reloads",
                "vpaddq 32(%rsp), %ymm1, %ymm2",
            ),
            (
                &[0x62, 0xf1, 0xf5, 0x58, 0xd4, 0x56, 0x01],
                "broadcasts",
                "vpaddq 8(%rsi){1to8}, %zmm1, %zmm2",
            ),
            (
                &[0xc4, 0xe2, 0x7d, 0x59, 0x4c, 0x24, 0x08],
                "broadcasts",
                "vpbroadcastq 8(%rsp), %ymm1",
            ),
            (
                &[0x48, 0x8b, 0x04, 0xcc],
                "loads",
                "movq (%rsp,%rcx,8), %rax",
            ),
            (
                &[0x48, 0x01, 0x44, 0x24, 0x08],
                "reloads spills",
                "addq %rax, 8(%rsp)",
            ),
            (&[0x48, 0x8d, 0x44, 0x24, 0x08], "", "leaq 8(%rsp), %rax"),
            (&[0x53], "", "pushq %rbx"),
            (&[0x5b], "", "popq %rbx"),
            (&[0xc3], "", "retq"),
            (&[0xff, 0x54, 0x24, 0x08], "", "callq *8(%rsp)"),
        ];
        for (code, memory, text) in table {
            assert_eq!(
                Counts::of(&decode(0x1000, code)).memory(),
                *memory,
                "{text}"
            );
        }
    }

    #[test]
    fn rbp_is_a_frame_where_the_function_makes_it_one() {
        let reload = [0x48, 0x8b, 0x45, 0xf8]; // movq -8(%rbp), %rax
        let from_rsp: [&[u8]; 2] = [
            &[0x48, 0x89, 0xe5],                               // movq %rsp, %rbp
            &[0x48, 0x8d, 0xac, 0x24, 0x80, 0x00, 0x00, 0x00], // leaq 128(%rsp), %rbp
        ];
        assert_eq!(Counts::of(&decode(0, &reload)).memory(), "loads");
        for frame in from_rsp {
            let code = [frame, &reload].concat();
            assert_eq!(Counts::of(&decode(0, &code)).memory(), "reloads");
        }
    }
}
