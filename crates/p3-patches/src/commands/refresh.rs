use anyhow::Result;

use crate::error::Failure;
use crate::project::Project;

/// Not there yet.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_: &Args, _: &Project) -> Result<()> {
    Err(Failure::environment("`refresh` is not there yet").into())
}
