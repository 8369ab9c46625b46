//! The arguments of the command.

pub mod export;
mod operators;
mod report;
mod sweep;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use fpsrl::baseline::nfq::NfqSettings;
use fpsrl::problem::{OrAuto, OrWord, Problem, WrittenProblem};
use fpsrl::reproduce::{Scale, Settings};
use fpsrl::search::SearchOptions;

use crate::own_log;
pub use operators::{PiArguments, TradeArguments, UpdateArguments};
pub use report::{ExplainArguments, ReportArguments};
pub use sweep::SweepArguments;

/// Readable fuzzy controllers from logged behaviour.
///
/// fpsrl learns a world model from a log of transitions, searches a few fuzzy rules that do well on it, and scores them on
/// the true plant where there is one.
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
  fpsrl init log.csv                           a log of your own: drafts problem.toml
  fpsrl check problem.toml                     the state of its data
  fpsrl run problem.toml --json > result.json  a problem file of your own, figures as JSON
  fpsrl generate mountain-car --out runs/a     one stage after another
  fpsrl fit runs/a
  fpsrl search runs/a --effort quick
  fpsrl evaluate runs/a
  fpsrl report runs/a                          the run as a page to look at: runs/a/report.html
  fpsrl explain runs/a --svg                   the rules in words and as a picture
  fpsrl export runs/a --to c                   the controller as C, with a certificate
  fpsrl nfq runs/a                             a yardstick, on the same log
  fpsrl pi runs/tank                           the PI controller that does best where a state tracks a set-point
  fpsrl update runs/tank --log march.csv       more data later: the rules scored again, and searched on if that pays
  fpsrl trade runs/tank valve                  less movement of the valve, or less error: what each costs the other
  fpsrl sweep sweep.toml                       many runs: which settings matter, which rules come back every time";

const RUN_EXAMPLES: &str = "\
Examples:
  fpsrl run mountain-car
  fpsrl run cart-pole-balancing --samples 100000 --seed 2
  fpsrl run mountain-car --rules auto --ceiling
  fpsrl run problem.toml --out runs/mine --force
  fpsrl run --resume runs/mine                 after an interruption of any kind";

const GENERATE_EXAMPLES: &str = "\
Examples:
  fpsrl generate mountain-car --samples 1000
  fpsrl generate problem.toml --out runs/mine";

const FIT_EXAMPLES: &str = "\
A log of your own: put it as transitions.csv into a directory, beside a problem.toml without `plant`.

Examples:
  fpsrl fit runs/mountain-car-seed1
  fpsrl fit runs/mountain-car-seed1 --ray";

const SEARCH_EXAMPLES: &str = "\
Examples:
  fpsrl search runs/mountain-car-seed1
  fpsrl search runs/mountain-car-seed1 --effort thorough
  fpsrl search runs/mountain-car-seed1 --budget 5m --front
  fpsrl search runs/mountain-car-seed1 --optimiser swarm --rules 3 --iterations 500
  fpsrl search runs/mountain-car-seed1 --ray 10.0.0.5:6379";

const NFQ_EXAMPLES: &str = "\
Neural fitted Q iteration learns a policy that nobody can read, from the same log; it is the paper's yardstick. It tries
the lowest, the middle and the highest value of each action. After an interruption, the same command goes on.

Examples:
  fpsrl nfq runs/mountain-car-seed1
  fpsrl nfq runs/mountain-car-seed1 --iterations 1000 --seed 2";

const REPRODUCE_EXAMPLES: &str = "\
Benchmarks of the paper: mountain-car, cart-pole-balancing, cart-pole-swing-up

Each cell of the tables is made once: after an interruption, or to extend a reproduction, give the same command again.

Examples:
  fpsrl reproduce mountain-car
  fpsrl reproduce cart-pole-balancing --sizes 1000,10000 --runs 5
  fpsrl reproduce mountain-car --scale paper --out reproductions/mountain-car";

const EVALUATE_EXAMPLES: &str = "\
Examples:
  fpsrl evaluate runs/mountain-car-seed1 --json
  fpsrl evaluate runs/mountain-car-seed1 --ceiling";

/// What a run that goes on has already.
const SETTINGS: [&str; 17] = [
    "problem",
    "seed",
    "samples",
    "memory",
    "world",
    "rules",
    "front",
    "optimiser",
    "effort",
    "budget",
    "particles",
    "iterations",
    "start_states",
    "patience",
    "caution",
    "out",
    "force",
];

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Draft a problem file from a log of your own
    #[command(after_help = own_log::INIT_EXAMPLES)]
    Init(own_log::InitArguments),
    /// Show the state of a problem's log: what was found in it, what it covers
    #[command(after_help = own_log::CHECK_EXAMPLES)]
    Check(own_log::CheckArguments),
    /// Run every stage: generate or read the log, fit, search, evaluate, ceiling, report
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Draw random-action trajectories from a plant, into a new run directory
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(New),
    /// Learn the world model of a run directory
    #[command(after_help = FIT_EXAMPLES)]
    Fit(FitArguments),
    /// Search rules on the world model of a run directory
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArguments),
    /// Score the rules of a run directory on its world model and on the plant
    #[command(after_help = EVALUATE_EXAMPLES)]
    Evaluate(EvaluateArguments),
    /// Write a run's report: verdict, rules, weak starts and evidence in one page, `report.html`
    #[command(after_help = report::REPORT_EXAMPLES)]
    Report(ReportArguments),
    /// Say the rules of a run in words, or draw them
    #[command(after_help = report::EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Export a controller: code and files for the machine that it runs on, with a certificate
    #[command(after_help = export::EXPORT_EXAMPLES)]
    Export(export::ExportArguments),
    /// Run an exported controller over its test vectors again, with the target's own tool
    #[command(after_help = export::VERIFY_EXAMPLES)]
    Verify(export::VerifyArguments),
    /// Read rules of another tool, or of an export, as a policy
    #[command(after_help = export::IMPORT_EXAMPLES)]
    Import(export::ImportArguments),
    /// Learn a policy by neural fitted Q iteration from the log of a run directory, for comparison
    #[command(after_help = NFQ_EXAMPLES)]
    Nfq(NfqArguments),
    /// Tune P and PI controllers on the world model of a run directory, or score one that you have, beside the rules
    #[command(after_help = operators::PI_EXAMPLES)]
    Pi(PiArguments),
    /// Take in more data: a new run of the old log and the new one, its rules scored again and searched on from
    #[command(after_help = operators::UPDATE_EXAMPLES)]
    Update(UpdateArguments),
    /// Weigh one cost more and less: the rules for each weight, of which none is both better and cheaper
    #[command(after_help = operators::TRADE_EXAMPLES)]
    Trade(TradeArguments),
    /// Make many runs: over settings, seeds, logs and draws of the log; what matters, and which rules come back every time
    #[command(after_help = sweep::SWEEP_EXAMPLES)]
    Sweep(SweepArguments),
    /// Reproduce the paper's table of a benchmark, beside the paper's figures
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArguments),
}

/// A whole run, or the rest of one.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Go on with a run that was interrupted: the stages that it lacks, its search from the last checkpoint
    #[arg(long, value_name = "DIR", conflicts_with_all = SETTINGS)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub new: New,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub machines: Machines,
    /// Search the best plans too: how much any policy could reach on the world model
    #[arg(long)]
    pub ceiling: bool,
}

/// Other machines than this one; the result is the same.
#[derive(Debug, Args)]
pub struct Machines {
    /// Train and score on the machines of a Ray cluster: the one at ADDRESS (host:port, or auto), or one that is started here.
    /// Needs the `fpsrl` that pip installs, with Ray. Write it behind the directory
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    pub ray: Option<Option<String>>,
    /// Workers of the Ray cluster to use, one for each CPU, at most
    #[arg(long, value_name = "COUNT", requires = "ray", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,
}

/// A run directory to learn worlds in.
#[derive(Debug, Args)]
pub struct FitArguments {
    #[command(flatten)]
    pub existing: Existing,
    #[command(flatten)]
    pub machines: Machines,
}

/// A run directory to evaluate.
#[derive(Debug, Args)]
pub struct EvaluateArguments {
    #[command(flatten)]
    pub existing: Existing,
    /// Search the best plans too: how much any policy could reach on the world model
    #[arg(long)]
    pub ceiling: bool,
}

/// What is to be reproduced.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// A benchmark of the paper
    #[arg(value_name = "NAME")]
    pub benchmark: String,
    /// `quick`: three trainings with the command's defaults; `paper`: ten with the paper's settings
    #[arg(long, default_value = "quick", value_parser = ["quick", "paper"])]
    pub scale: String,
    /// Batch sizes [default: 1000,10000,100000]
    #[arg(long, value_name = "COUNT,COUNT...", value_delimiter = ',')]
    pub sizes: Vec<usize>,
    /// Trainings of the paper's kind, from seed 1 on; 0 leaves them out
    #[arg(long, value_name = "COUNT")]
    pub runs: Option<usize>,
    /// Particles of the swarm
    #[arg(long, value_name = "COUNT")]
    pub particles: Option<usize>,
    /// Iterations of the swarm
    #[arg(long, value_name = "COUNT")]
    pub iterations: Option<usize>,
    /// Start states that each candidate is scored from
    #[arg(long, value_name = "COUNT")]
    pub start_states: Option<usize>,
    /// Iterations of NFQ; 0 leaves it out
    #[arg(long, value_name = "COUNT")]
    pub nfq_iterations: Option<usize>,
    /// Logs that are drawn anew for runs with the command's own defaults; 0 leaves them out
    #[arg(long, value_name = "COUNT")]
    pub trusted: Option<usize>,
    /// Use the paper's plain world: absorbing states are not learned apart from what moves
    #[arg(long)]
    pub plain: bool,
    /// The directory that holds the reproduction [default: runs/NAME-SCALE]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub manner: Manner,
}

/// A run directory to run NFQ in.
#[derive(Debug, Args)]
pub struct NfqArguments {
    #[command(flatten)]
    pub existing: Existing,
    /// Iterations of Q [default: 200]
    #[arg(long, value_name = "COUNT")]
    pub iterations: Option<usize>,
    /// Epochs of Rprop in each iteration [default: 300]
    #[arg(long, value_name = "COUNT")]
    pub epochs: Option<usize>,
    /// Neurons of each hidden layer [default: 20,20; for the swing-up 20,20,20]
    #[arg(long, value_name = "COUNT,COUNT...", value_delimiter = ',')]
    pub hidden: Vec<usize>,
    /// Where the first weights come from [default: the run's seed]
    #[arg(long)]
    pub seed: Option<u64>,
}

/// How the search goes about it; the result is the same.
#[derive(Debug, Args)]
pub struct Pace {
    /// Seconds between two checkpoints of the search; 0 is after each iteration
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = seconds)]
    pub checkpoint_every: f64,
    /// Score every candidate in full, even where it cannot improve its particle any more; for comparison
    #[arg(long)]
    pub no_prune: bool,
}

/// A run to be made.
#[derive(Debug, Args)]
pub struct New {
    /// A built-in problem's name, or the path of a problem file
    #[arg(value_name = "NAME|PROBLEM.TOML")]
    pub problem: Option<String>,
    /// Where every random number comes from
    #[arg(long)]
    pub seed: Option<u64>,
    /// Transitions to generate
    #[arg(long, value_name = "COUNT")]
    pub samples: Option<usize>,
    /// Memory that reading a file of the log may take [default: that of the problem file; else 175 MB, and 19 times the
    /// file's size]
    #[arg(long, value_name = "SIZE", value_parser = own_log::memory)]
    pub memory: Option<u64>,
    /// What the world model is made of: mlp, ensemble, gp, forest, or auto
    #[arg(long, value_name = "KIND")]
    pub world: Option<String>,
    #[command(flatten)]
    pub swarm: Swarm,
    /// The run directory to make [default: runs/NAME-seedSEED]
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
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub machines: Machines,
}

/// Settings of the search.
#[derive(Debug, Args)]
pub struct Swarm {
    /// Rules for each action; `auto` adds rules while they pay, and takes the simplest policy that earns nearly the best
    #[arg(long, value_name = "COUNT|auto")]
    pub rules: Option<OrAuto>,
    /// Search simpler policies too, from one rule up: those of which none is both simpler and better, in `front/`
    #[arg(long)]
    pub front: bool,
    /// What searches: auto, a race of many tries; swarm, the paper's; shade; or cma-es [default: auto]
    #[arg(long, value_name = "NAME")]
    pub optimiser: Option<String>,
    /// How many tries `auto` makes at most: quick, normal or thorough [default: normal]
    #[arg(long, value_name = "EFFORT", conflicts_with = "budget")]
    pub effort: Option<String>,
    /// How long `auto` may take instead: a time such as 90s or 5m, translated into model steps once; or 6000Msteps
    #[arg(long, value_name = "TIME|STEPS")]
    pub budget: Option<String>,
    /// Particles of the swarm, and the population of shade; chooses the swarm if no optimiser is named
    #[arg(long, value_name = "COUNT")]
    pub particles: Option<usize>,
    /// Iterations of the swarm; shade and cma-es make as many evaluations
    #[arg(long, value_name = "COUNT")]
    pub iterations: Option<usize>,
    /// Start states that each candidate is scored from, in the end
    #[arg(long, value_name = "COUNT")]
    pub start_states: Option<usize>,
    /// End the search after so many iterations without improvement
    #[arg(long, value_name = "COUNT")]
    pub patience: Option<usize>,
    /// How far to stay where the data is: 0 trusts the model, 1 does not leave the log's ranges [default: 0.5]
    #[arg(long, value_name = "0...1")]
    pub caution: Option<f64>,
    /// As fast as this machine can, or the same bits on every machine
    #[arg(long, value_name = "MODE", value_parser = ["fast", "reproducible"])]
    pub numerics: Option<String>,
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
    /// Start the program that the problem names as its world (`process`). It may do whatever you may: see what it is before you
    /// allow it in a file of someone else's
    #[arg(long)]
    pub allow_process: bool,
}

/// A time that a pause can last.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok(seconds),
        _ => Err("not a number from 0 to 1000000".into()),
    }
}

impl Pace {
    /// The options of a problem's search.
    pub fn options(&self, problem: &Problem) -> SearchOptions {
        let checkpoint_every = Duration::from_secs_f64(self.checkpoint_every);
        SearchOptions { checkpoint_every, ..SearchOptions::of(&problem.search, !self.no_prune) }
    }
}

impl ReproduceArguments {
    /// The settings, checked as far as they can be before the work begins.
    pub fn settings(&self) -> fpsrl::Result<Settings> {
        let scale = if self.scale == "paper" { Scale::Paper } else { Scale::Quick };
        let default = Settings::new(&self.benchmark, scale)?;
        Ok(Settings {
            samples: if self.sizes.is_empty() { default.samples } else { self.sizes.clone() },
            runs: self.runs.unwrap_or(default.runs),
            particles: self.particles.unwrap_or(default.particles),
            iterations: self.iterations.unwrap_or(default.iterations),
            start_states: self.start_states.unwrap_or(default.start_states),
            nfq_iterations: self.nfq_iterations.unwrap_or(default.nfq_iterations),
            plain: self.plain,
            trusted: self.trusted.unwrap_or(default.trusted),
            ..default
        })
    }
}

impl NfqArguments {
    /// The settings for a problem.
    pub fn settings(&self, problem: &Problem) -> NfqSettings {
        let default = NfqSettings::of(&problem.system, problem.policy.mirrored);
        NfqSettings {
            iterations: self.iterations.unwrap_or(default.iterations),
            epochs: self.epochs.unwrap_or(default.epochs),
            hidden: if self.hidden.is_empty() { default.hidden } else { self.hidden.clone() },
            seed: self.seed.unwrap_or(default.seed),
            ..default
        }
    }
}

impl Swarm {
    /// Changes a problem's settings.
    pub fn apply(&self, written: &mut WrittenProblem) {
        written.policy.rules = self.rules.or(written.policy.rules);
        if self.front {
            written.policy.front = Some(true);
        }
        let word = |given: &Option<String>, to: &mut Option<String>| {
            if given.is_some() {
                to.clone_from(given);
            }
        };
        if self.optimiser.is_none()
            && (self.particles.is_some() || self.iterations.is_some() || self.patience.is_some())
        {
            // These are settings of a swarm.
            written.search.optimiser = Some("swarm".into());
        }
        word(&self.optimiser, &mut written.search.optimiser);
        word(&self.effort, &mut written.search.effort);
        word(&self.budget, &mut written.search.budget);
        if self.effort.is_some() {
            // An effort that is asked for now outdoes a budget of the file.
            written.search.budget = Some("none".into());
        }
        written.search.particles = self.particles.or(written.search.particles);
        written.search.iterations = self.iterations.or(written.search.iterations);
        written.search.start_states = self.start_states.or(written.search.start_states);
        if let Some(patience) = self.patience {
            written.search.patience = Some(OrWord::Value(patience));
        }
        written.search.caution = self.caution.or(written.search.caution);
        if self.numerics.is_some() {
            written.search.numerics.clone_from(&self.numerics);
        }
    }
}

impl New {
    /// Changes a problem's settings.
    pub fn apply(&self, written: &mut WrittenProblem) {
        written.system.seed = self.seed.or(written.system.seed);
        written.data.samples = self.samples.or(written.data.samples);
        written.data.allow(self.memory);
        written.world.kind = self.world.clone().or(written.world.kind.take());
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
