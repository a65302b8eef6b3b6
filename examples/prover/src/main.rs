//! Proves and verifies Fibonacci numbers modulo p = 2^64 - 2^32 + 1.
//!
//! Exit codes: 0 proved or verified, 1 no valid proof, 2 usage, 3 a file cannot be read or written.

mod fibonacci;
mod stark;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{fs, io};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Parser;
use p3_field::{PrimeField64, integers::QuotientMap};
use p3_goldilocks::Goldilocks;
use p3_uni_stark::{Proof, prove, verify};
use serde::{Deserialize, Serialize};
use tracing_forest::ForestLayer;
use tracing_forest::printer::PrettyPrinter;
use tracing_forest::tag::NoTag;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use fibonacci::Fibonacci;
use stark::{Config, config};

/// Prove and verify Fibonacci numbers modulo p = 2^64 - 2^32 + 1.
#[derive(Parser)]
#[command(version)]
enum Cli {
    /// Compute the Nth Fibonacci number and prove it.
    Prove {
        /// Its index; the trace has the next power of two rows.
        #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..1 << 24))]
        n: u32,
        /// The file for the proof.
        #[arg(long, value_name = "FILE", default_value = "fibonacci.proof")]
        out: PathBuf,
    },
    /// Verify a proof.
    Verify {
        /// The file with the proof.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// The content of a file: a claim, and its proof.
#[derive(Serialize, Deserialize)]
struct Proven {
    n: u32,
    value: u64,
    proof: Proof<Config>,
}

/// A failure, and the exit code that goes with it.
struct Failed(u8, anyhow::Error);

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Plonky3's spans, as a tree with times.
    let printer = PrettyPrinter::new().writer(io::stderr);
    tracing_subscriber::registry()
        .with(LevelFilter::INFO)
        .with(ForestLayer::new(printer, NoTag))
        .init();
    let done = match cli {
        Cli::Prove { n, out } => proven(n)
            .map_err(|error| Failed(1, error))
            .and_then(|bytes| {
                let written = fs::write(&out, bytes);
                let written = written.with_context(|| format!("cannot write {}", out.display()));
                written.map_err(|error| Failed(3, error))
            }),
        Cli::Verify { file } => fs::read(&file)
            .with_context(|| format!("cannot read {}", file.display()))
            .map_err(|error| Failed(3, error))
            .and_then(|bytes| {
                let verified = verified(&bytes).with_context(|| file.display().to_string());
                verified.map_err(|error| Failed(1, error))
            }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed(code, error)) => {
            eprintln!("error: {error:#}");
            ExitCode::from(code)
        }
    }
}

/// The proof of the `n`-th number, as a file has it.
fn proven(n: u32) -> Result<Vec<u8>> {
    let start = Instant::now();
    let (trace, value) = fibonacci::trace(n);
    let claim = [Goldilocks::from_int(n), value];
    let proof = prove(&config(), &Fibonacci, trace, &claim);
    let proof = proof.map_err(|error| anyhow!("cannot prove: {error:?}"))?;
    eprintln!("proved in {:.3} s", start.elapsed().as_secs_f64());
    let value = value.as_canonical_u64();
    println!("F({n}) = {value} mod p");
    Ok(postcard::to_allocvec(&Proven { n, value, proof })?)
}

/// Verifies what a file has, and prints what it proves.
fn verified(bytes: &[u8]) -> Result<()> {
    let (Proven { n, value, proof }, rest) =
        postcard::take_from_bytes::<Proven>(bytes).map_err(|error| anyhow!("no proof: {error}"))?;
    ensure!(rest.is_empty(), "no proof: bytes after it");
    ensure!(
        value < Goldilocks::ORDER_U64,
        "no proof: {value} is not below p"
    );
    let claim = [Goldilocks::from_int(n), Goldilocks::from_int(value)];
    verify(&config(), &Fibonacci, &proof, &claim).map_err(|error| anyhow!("refused: {error:?}"))?;
    println!("F({n}) = {value} mod p");
    Ok(())
}
