//! Arguments of `pi`, `update` and `trade`, the verbs of those who run a plant.

use std::path::PathBuf;

use clap::Args;
use fpsrl::baseline::pi_given::GivenPi;
use fpsrl::run::{FACTORS, PiOptions, TradeOptions, UpdateOptions};

use super::export::named_value;
use super::{Existing, Manner};
use crate::own_log::memory;

pub const PI_EXAMPLES: &str = "\
Where a state tracks a set-point (`tracks` below [[state]]), each action is bias + gain * error + gain / reset * sum of the errors,
within its limits. Reset times are in steps of the log. What is found is in pi.json.

Examples:
  fpsrl pi runs/motor                          tunes a P and a PI controller on the run's worlds
  fpsrl pi runs/motor --gain voltage=1.2 --reset voltage=4.6 --bias voltage=20
                                               scores the controller that you have
  fpsrl pi runs/motor --into                   the next `fpsrl search runs/motor` begins with it, as fuzzy rules";

pub const UPDATE_EXAMPLES: &str = "\
Makes a new run directory: imports the old log and the new one, learns worlds from both, scores the present rules on them, and
searches on from these. New rules are taken only if they promise more than the present ones on the new worlds, by 1 % of the way
from what the plant earns today to what the present rules earn. What changed is in update.json.

Examples:
  fpsrl update runs/tank --log march.csv       into runs/tank-updated
  fpsrl update runs/tank --log march.csv --log april.csv --out runs/spring --effort normal
  fpsrl update runs/tank --log march.csv --no-search";

pub const TRADE_EXAMPLES: &str = "\
NAME is an action with `move_cost`, a state with `keep`, or an `[[objective]]`. Its weight is multiplied by each factor, and rules are
searched again on the run's worlds; nothing is learned again. All results and the run's own rules are scored from the same start
states: by the return without this cost, and by the cost of a step. Those of which none is both better and cheaper are in
trade.json and trade/. The run's own rules stay.

Examples:
  fpsrl trade runs/motor voltage               what less movement of the voltage costs, and what more of it buys
  fpsrl trade runs/hall energy --factors 0.5,2,8 --effort quick
  fpsrl import runs/motor/trade/policy-2.json --into runs/motor
                                               takes one over; then fpsrl evaluate runs/motor";

/// A run directory whose worlds controllers are tuned on.
#[derive(Debug, Args)]
pub struct PiArguments {
    #[command(flatten)]
    pub existing: Existing,
    /// What a unit of the error adds to an action: nothing is tuned, this controller is scored
    #[arg(long, value_name = "ACTION=NUMBER", value_parser = named_value, allow_hyphen_values = true)]
    pub gain: Vec<(String, f64)>,
    /// The reset time of an action, in steps; without it, the action is that of a P controller
    #[arg(long, value_name = "ACTION=STEPS", value_parser = named_value)]
    pub reset: Vec<(String, f64)>,
    /// An action without error [default: the middle of its limits]
    #[arg(long, value_name = "ACTION=NUMBER", value_parser = named_value, allow_hyphen_values = true)]
    pub bias: Vec<(String, f64)>,
    /// The state that an action brings to its set-point, where several track one
    #[arg(long, value_name = "ACTION=STATE", value_parser = names)]
    pub follows: Vec<(String, String)>,
    /// Make it, as fuzzy rules, what the run's next search begins with (start.json); one in pi.json is not tuned again
    #[arg(long)]
    pub into: bool,
}

/// A run and the data that came after it.
#[derive(Debug, Args)]
pub struct UpdateArguments {
    /// The run directory of the log so far
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// A new file of the log, with the columns of the old ones
    #[arg(long, value_name = "FILE", required = true)]
    pub log: Vec<PathBuf>,
    /// The run directory to make [default: RUN-updated]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the files of a run that is there already
    #[arg(long)]
    pub force: bool,
    /// Memory that reading a file may take [default: that of the run's problem; else 175 MB, and 19 times the file's size]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub memory: Option<u64>,
    /// Only score the present rules on the new worlds
    #[arg(long, conflicts_with_all = ["effort", "budget"])]
    pub no_search: bool,
    /// How many tries the search makes at most: quick, normal or thorough [default: quick]
    #[arg(long, value_name = "EFFORT", conflicts_with = "budget")]
    pub effort: Option<String>,
    /// How long the search may take instead: a time such as 90s or 5m, or 6000Msteps
    #[arg(long, value_name = "TIME|STEPS")]
    pub budget: Option<String>,
    #[command(flatten)]
    pub manner: Manner,
}

/// A run, and the cost that is weighed differently.
#[derive(Debug, Args)]
pub struct TradeArguments {
    /// The run directory
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The cost: an action with `move_cost`, a state with `keep`, or an `[[objective]]`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// What its weight is multiplied by, a search each [default: 0.25,0.5,2,4]
    #[arg(long, value_name = "NUMBER,NUMBER...", value_delimiter = ',', allow_hyphen_values = true)]
    pub factors: Option<Vec<f64>>,
    /// How many tries each search makes at most: quick, normal or thorough [default: as in the run]
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<String>,
    #[command(flatten)]
    pub manner: Manner,
}

/// `valve=level`.
fn names(text: &str) -> Result<(String, String), String> {
    let (action, state) = text.split_once('=').ok_or("write it as ACTION=STATE")?;
    Ok((action.trim().to_owned(), state.trim().to_owned()))
}

impl PiArguments {
    /// Which controller is asked for.
    pub fn options(&self) -> PiOptions {
        let given = GivenPi {
            gains: self.gain.clone(),
            resets: self.reset.clone(),
            biases: self.bias.clone(),
            follows: self.follows.clone(),
        };
        PiOptions { given: (!given.is_empty()).then_some(given), into: self.into }
    }
}

impl TradeArguments {
    /// Which cost is traded, and how.
    pub fn options(&self) -> TradeOptions {
        let factors = self.factors.clone().unwrap_or_else(|| FACTORS.to_vec());
        TradeOptions { name: self.name.clone(), factors, effort: self.effort.clone() }
    }
}

impl UpdateArguments {
    /// What is to be done with the new data.
    pub fn options(&self) -> UpdateOptions {
        UpdateOptions {
            logs: self.log.clone(),
            out: self.out.clone(),
            force: self.force,
            memory: self.memory,
            no_search: self.no_search,
            effort: self.effort.clone(),
            budget: self.budget.clone(),
        }
    }
}
