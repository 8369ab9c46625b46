//! Arguments of `sweep`.

use std::path::PathBuf;

use clap::Args;

pub const SWEEP_EXAMPLES: &str = "\
A sweep is a file:

  problem = \"problem.toml\"     # or a built-in name
  seeds = 10                   # or a list: [1, 2, 7]
  bootstrap = 20               # draws of the log, whole episodes with replacement; leave it out for the log as it is
  logs = [\"a.csv\", \"b.csv\"]    # the same problem on several logs
  [grid]                       # every combination of these
  horizon = [50, 100]
  policy.rules = [2, 3]
  [[run]]                      # a point by itself
  name = \"wide\"
  policy.rules = 5

What is finished is not made again: after an interruption, or to add seeds, give the same command.

Examples:
  fpsrl sweep sweep.toml --dry-run
  fpsrl sweep sweep.toml --workers 4
  fpsrl sweep sweep.toml --retry
  fpsrl sweep sweep.toml --collect --table results.parquet
  fpsrl sweep sweep.toml --ray 10.0.0.5:6379
  fpsrl sweep sweep.toml --slurm > job.sh && sbatch job.sh
  fpsrl sweep sweep.toml --kubernetes > job.json";

/// A sweep to be made.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// The sweep: a file that says what is varied
    #[arg(value_name = "SWEEP.TOML")]
    pub file: PathBuf,
    /// Runs at a time [default: as the file says, or as many as there are threads]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub workers: Option<u16>,
    /// Threads of all runs together [default: all cores]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// Make the runs on the machines of a Ray cluster: the one at ADDRESS (host:port, or auto), or one that is started here.
    /// Needs the `fpsrl` that pip installs, with Ray
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, conflicts_with_all = ["collect", "slurm", "kubernetes", "dry_run", "threads"])]
    pub ray: Option<Option<String>>,
    /// With --ray: every machine sees the directory of the runs at the same path, and works in it; else runs are sent to them
    #[arg(long, requires = "ray")]
    pub shared: bool,
    /// List the runs and how each stands; nothing is made
    #[arg(long, conflicts_with_all = ["collect", "slurm", "kubernetes", "retry", "table"])]
    pub dry_run: bool,
    /// Try runs that have failed again
    #[arg(long, conflicts_with = "collect")]
    pub retry: bool,
    /// Gather what is finished, say while a cluster is at work; nothing is made
    #[arg(long)]
    pub collect: bool,
    /// Prepare the runs, and print a script for `sbatch` that makes them; afterwards the sweep gathers them
    #[arg(long, conflicts_with_all = ["collect", "kubernetes", "table", "json"])]
    pub slurm: bool,
    /// Prepare the runs, and print an indexed Job for `kubectl apply -f -` that makes them
    #[arg(long, conflicts_with_all = ["collect", "table", "json"])]
    pub kubernetes: bool,
    /// Write the table of all runs here too: as CSV or Parquet, by the ending
    #[arg(long, value_name = "FILE.csv|FILE.parquet")]
    pub table: Option<PathBuf>,
    /// Print the figures as JSON (sweep.json) instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor table, only errors
    #[arg(short, long)]
    pub quiet: bool,
    /// Start the program that the problem names as its world (`process`), here or wherever the runs are made. It may do whatever you
    /// may: see what it is before you allow it in a file of someone else's
    #[arg(long)]
    pub allow_process: bool,
}
