//! The arguments of the command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use fpsrl::problem::WrittenProblem;

/// Readable fuzzy controllers from logged behaviour.
///
/// fpsrl learns a world model from a log of transitions, searches a few fuzzy rules that do well on it with a particle
/// swarm, and scores them on the true plant where there is one.
#[derive(Debug, Parser)]
#[command(name = "fpsrl", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Built-in problems: mountain-car, mountain-car-textbook, cart-pole-balancing, cart-pole-swing-up

Examples:
  fpsrl run mountain-car                       every stage, into runs/mountain-car-seed1
  fpsrl run cart-pole-swing-up --seed 3        the same on another problem, from another seed
  fpsrl run problem.toml --json > result.json  a problem file of your own, figures as JSON
  fpsrl generate mountain-car --out runs/a     one stage after another
  fpsrl fit runs/a
  fpsrl search runs/a --particles 200
  fpsrl evaluate runs/a";

const RUN_EXAMPLES: &str = "\
Examples:
  fpsrl run mountain-car
  fpsrl run cart-pole-balancing --samples 100000 --seed 2
  fpsrl run problem.toml --out runs/mine --force";

const GENERATE_EXAMPLES: &str = "\
Examples:
  fpsrl generate mountain-car --samples 1000
  fpsrl generate problem.toml --out runs/mine";

const FIT_EXAMPLES: &str = "\
A log of your own: put it as transitions.csv into a directory, beside a problem.toml without `plant`.

Examples:
  fpsrl fit runs/mountain-car-seed1";

const SEARCH_EXAMPLES: &str = "\
Examples:
  fpsrl search runs/mountain-car-seed1
  fpsrl search runs/mountain-car-seed1 --rules 3 --iterations 500";

const EVALUATE_EXAMPLES: &str = "\
Examples:
  fpsrl evaluate runs/mountain-car-seed1 --json";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run every stage: generate, fit, search, evaluate
    #[command(after_help = RUN_EXAMPLES)]
    Run(New),
    /// Draw random-action trajectories from a plant, into a new run directory
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(New),
    /// Learn the world model of a run directory
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Existing),
    /// Search rules on the world model of a run directory
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArguments),
    /// Score the rules of a run directory on its world model and on the plant
    #[command(after_help = EVALUATE_EXAMPLES)]
    Evaluate(Existing),
}

/// A run to be made.
#[derive(Debug, Args)]
pub struct New {
    /// A built-in problem's name, or the path of a problem file
    #[arg(value_name = "NAME|PROBLEM.TOML")]
    pub problem: String,
    /// Where every random number comes from
    #[arg(long)]
    pub seed: Option<u64>,
    /// Transitions to generate
    #[arg(long, value_name = "COUNT")]
    pub samples: Option<usize>,
    #[command(flatten)]
    pub swarm: Swarm,
    /// The run directory to make [default: runs/<name>-seed<seed>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the files of a run that is there already
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub manner: Manner,
}

/// A run directory to go on with.
#[derive(Debug, Args)]
pub struct Existing {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    #[command(flatten)]
    pub manner: Manner,
}

/// A run directory to search in.
#[derive(Debug, Args)]
pub struct SearchArguments {
    #[command(flatten)]
    pub existing: Existing,
    #[command(flatten)]
    pub swarm: Swarm,
}

/// Settings of the search.
#[derive(Debug, Args)]
pub struct Swarm {
    /// Rules for each action
    #[arg(long, value_name = "COUNT")]
    pub rules: Option<usize>,
    /// Particles of the swarm
    #[arg(long, value_name = "COUNT")]
    pub particles: Option<usize>,
    /// Iterations of the swarm
    #[arg(long, value_name = "COUNT")]
    pub iterations: Option<usize>,
}

/// How the command goes about it; nothing here changes a result.
#[derive(Debug, Args)]
pub struct Manner {
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub threads: Option<u16>,
    /// Print the figures as JSON (the run's summary.json) instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor table, only errors
    #[arg(short, long)]
    pub quiet: bool,
}

impl Swarm {
    /// Changes a problem's settings.
    pub fn apply(&self, written: &mut WrittenProblem) {
        written.policy.rules = self.rules.or(written.policy.rules);
        written.search.particles = self.particles.or(written.search.particles);
        written.search.iterations = self.iterations.or(written.search.iterations);
    }
}

impl New {
    /// Changes a problem's settings.
    pub fn apply(&self, written: &mut WrittenProblem) {
        written.seed = self.seed.or(written.seed);
        written.data.samples = self.samples.or(written.data.samples);
        self.swarm.apply(written);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_built_in_problem() {
        for name in fpsrl::problem::benchmark_names() {
            assert!(super::EXAMPLES.contains(&name), "{name}");
        }
    }
}
