//! A run directory: a store of the artefacts of one run. It saves, loads and invalidates them by the graph in `graph.rs`.
//!
//! | file              | written by | holds                                                     |
//! |-------------------|------------|-----------------------------------------------------------|
//! | `problem.toml`    | generate   | the complete problem, each default written out            |
//! | `transitions.csv` | generate   | the log                                                   |
//! | `data.json`       | generate   | of a log of the user's own: what was found in it, what it covers |
//! | `starts.csv`      | fit        | where rollouts start, unless ranges say so                |
//! | `world.json`      | fit        | the learned worlds, the verdict on them, and the digest of the log they came from |
//! | `policy.json`     | search     | the rules                                                 |
//! | `search.csv`      | search     | how the swarm went on, a row an iteration                 |
//! | `checkpoint.json`, `checkpoint.csv` | search | while it is under way: where it stands, for [`RunDirectory::resume`] |
//! | `start.json`      | import, pi, update | a policy from elsewhere that searches begin with  |
//! | `front/`          | search     | with `--front` or `--rules auto`: the policies of which none is both simpler and better |
//! | `growth.json`     | search     | while rules are being added: the searches that are finished |
//! | `nfq.json`, `nfq.csv` | nfq    | the policy of NFQ with its figures, and a row an iteration |
//! | `pi.json`         | pi         | P and PI controllers, tuned or given, with their figures  |
//! | `update.json`     | update     | what more data have changed                               |
//! | `trade.json`, `trade/` | trade | the policies of which none is both better without one cost and cheaper |
//! | `report.html`     | report     | everything for people, in one page                        |
//! | `policy.simple.json` | report  | the rules without the conditions that do not matter       |
//! | `summary.json`    | each stage | the figures so far; `evaluate` adds the last of them      |
//!
//! Each file is written whole or not at all. A stage that runs again removes what later stages made from its old
//! result. A file that was made from something else than what is there is refused, with both names and the verb to run again.
//!
//! A log of the user's own takes part as well: `problem.toml` and `transitions.csv` in a directory are enough for
//! [`RunDirectory::fit`] and the stages after it.

mod adopt;
mod checkpoint;
mod directory;
mod graph;
mod load;
mod lock;
mod nfq;
mod origins;
mod pi;
mod save;
mod stages;
mod starts;
mod trade;
mod update;

pub use crate::figures::{
    Behaviour, Ceiling, Figures, Front, FrontEntry, GrowthStep, NfqResult, RuleGrowth, SimpleFigures, Summary,
};
pub use crate::stage::{DataReport, ReportOptions};
pub use directory::RunDirectory;
pub use graph::REPORT;
pub(crate) use graph::SWEEP;
pub use lock::Lock;
pub(crate) use lock::sweep as remove_leftovers;
pub use pi::{PiComparison, PiOptions};
pub use save::{save, save_worlds};
pub(crate) use stages::save_planned;
pub use stages::{generate, save_log};
pub use trade::{FACTORS, TradeOptions};
pub use update::{Dated, RuleChange, SearchedOn, Standing, Update, UpdateOptions};
