//! What a run directory holds: every file, the verb that writes it, and what it is made from.
//!
//! This table is the only place that says so. What has to go when a file changes follows from it, and so does the verb that a
//! refusal names. Where a file holds the digests of what it was made from is said in [`origins`](super::origins).

/// The complete problem, each default written out.
pub(super) const PROBLEM: &str = "problem.toml";
/// The log.
pub(super) const TRANSITIONS: &str = "transitions.csv";
/// What was found in a log of the user's own.
pub(super) const DATA: &str = "data.json";
/// Where rollouts start, unless ranges say so.
pub(super) const STARTS: &str = "starts.csv";
/// The worlds.
pub(super) const WORLD: &str = "world.json";
/// A policy from elsewhere that searches begin with.
pub(super) const START: &str = "start.json";
/// The rules.
pub(super) const POLICY: &str = "policy.json";
/// How the search went.
pub(super) const SEARCH: &str = "search.csv";
/// A directory: the front's table and its policies.
pub(super) const FRONT: &str = "front";
/// The front's table, in its directory.
pub(super) const FRONT_TABLE: &str = "front.json";
/// The figures.
pub(super) const SUMMARY: &str = "summary.json";
/// The policy without the conditions that do not matter.
pub(super) const SIMPLE: &str = "policy.simple.json";
/// The page.
pub const REPORT: &str = "report.html";
/// Where a search stands.
pub(super) const CHECKPOINT: &str = "checkpoint.json";
/// What it has recorded.
pub(super) const CHECKPOINT_ROWS: &str = "checkpoint.csv";
/// The searches of growing rules that are finished.
pub(super) const GROWTH: &str = "growth.json";
/// The policy of NFQ with its figures.
pub(super) const NFQ: &str = "nfq.json";
/// How NFQ went.
pub(super) const NFQ_ROWS: &str = "nfq.csv";
/// Where NFQ stands.
pub(super) const NFQ_CHECKPOINT: &str = "nfq.checkpoint.json";

/// P and PI controllers with their figures.
pub(super) const PI: &str = "pi.json";
/// What more data have changed.
pub(super) const UPDATE: &str = "update.json";
/// The table of what one cost buys.
pub(super) const TRADE: &str = "trade.json";
/// A directory: the policies of that table.
pub(super) const TRADE_POLICIES: &str = "trade";

/// The plan of a sweep, in a directory whose run directories several processes make at a time.
pub(crate) const SWEEP: &str = "sweep.json";

/// A file of a run.
pub(super) struct Entry {
    /// Its name.
    pub(super) name: &'static str,
    /// The verb that writes it.
    pub(super) verb: &'static str,
    /// The files that it is made from.
    from: &'static [&'static str],
}

const fn made(name: &'static str, verb: &'static str, from: &'static [&'static str]) -> Entry {
    Entry { name, verb, from }
}

/// Every file that fpsrl writes into a run directory. Each stands after those that it is made from.
pub(super) const GRAPH: [Entry; 22] = [
    made(PROBLEM, "generate", &[]),
    made(TRANSITIONS, "generate", &[PROBLEM]),
    made(DATA, "generate", &[TRANSITIONS]),
    made(START, "import", &[PROBLEM]),
    made(STARTS, "fit", &[PROBLEM, TRANSITIONS]),
    made(WORLD, "fit", &[PROBLEM, TRANSITIONS, STARTS]),
    made(NFQ_CHECKPOINT, "nfq", &[WORLD]),
    made(NFQ_ROWS, "nfq", &[WORLD]),
    made(NFQ, "nfq", &[WORLD]),
    made(PI, "pi", &[WORLD]),
    made(GROWTH, "search", &[WORLD]),
    made(CHECKPOINT_ROWS, "search", &[WORLD]),
    made(CHECKPOINT, "search", &[WORLD]),
    made(POLICY, "search", &[WORLD]),
    made(SEARCH, "search", &[POLICY]),
    made(FRONT, "search", &[WORLD, POLICY]),
    made(TRADE_POLICIES, "trade", &[WORLD, POLICY]),
    made(TRADE, "trade", &[WORLD, POLICY, TRADE_POLICIES]),
    made(SUMMARY, "evaluate", &[PROBLEM, TRANSITIONS, WORLD, POLICY]),
    made(SIMPLE, "report", &[POLICY, SUMMARY]),
    made(REPORT, "report", &[POLICY, SUMMARY, SEARCH, FRONT, NFQ, TRADE]),
    made(UPDATE, "update", &[WORLD, POLICY]),
];

/// The verb that writes a file.
pub(super) fn verb(name: &str) -> &'static str {
    GRAPH.iter().find(|entry| entry.name == name).map_or("run", |entry| entry.verb)
}

/// The files that are made from a file, and those that are made from these in turn; the last ones first, so that an
/// interruption of their removal never leaves a result without what it was made from.
pub(super) fn after(name: &str) -> Vec<&'static str> {
    let mut later: Vec<&'static str> = Vec::new();
    for entry in &GRAPH {
        if entry.from.iter().any(|from| *from == name || later.contains(from)) {
            later.push(entry.name);
        }
    }
    later.reverse();
    later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_stands_after_what_it_is_made_from() {
        for (index, entry) in GRAPH.iter().enumerate() {
            for from in entry.from {
                assert!(GRAPH[..index].iter().any(|earlier| earlier.name == *from), "{from} before {}", entry.name);
            }
        }
    }

    #[test]
    fn what_follows_from_a_file_is_removed_from_its_end() {
        assert_eq!(after(POLICY), [UPDATE, REPORT, SIMPLE, SUMMARY, TRADE, TRADE_POLICIES, FRONT, SEARCH]);
        assert!(after(WORLD).contains(&PI) && !after(POLICY).contains(&PI));
        assert!(after(TRANSITIONS).contains(&WORLD) && !after(WORLD).contains(&START));
        assert_eq!(after(TRADE), [REPORT]);
        assert_eq!(after(REPORT), Vec::<&str>::new());
    }
}
