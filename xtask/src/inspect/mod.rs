//! Looking into executables without a clock: disassembly, instruction counts, models of cores.
//!
//! In: workers. Out: functions, instruction sequences, cycles by llvm-mca.

pub mod code;
pub mod emulator;
pub mod kernels;
pub mod model;
pub mod stepping;
pub mod tracer;
