//! The complete problem as text: every setting with its value and what it means.

use std::fmt::Write;

use super::check::{EFFORTS, KINDS, MODES, OPTIMISERS, OUTLOOKS, TRAINERS};
use super::{Expression, FORMAT, Lags, Problem};
use crate::world::training::Depth;

impl Problem {
    /// The complete problem file: each default is written out, and the file reads back to this very problem.
    ///
    /// ```
    /// use fpsrl::problem::{Problem, WrittenProblem};
    /// let problem = Problem::benchmark("mountain-car")?;
    /// let text = problem.to_toml();
    /// assert!(text.contains("horizon = 200"));
    /// assert_eq!(WrittenProblem::parse(&text, "problem.toml".as_ref())?.check()?, problem);
    /// # Ok::<(), fpsrl::Error>(())
    /// ```
    pub fn to_toml(&self) -> String {
        let mut file = File(String::new());
        file.line(&format!(
            "# A problem of fpsrl {}, complete: each default is written out.",
            env!("CARGO_PKG_VERSION")
        ));
        file.key("format", FORMAT, "version of this file's layout");
        file.key("name", quoted(&self.name), "the run directory is called after it");
        if let Some(plant) = self.plant {
            file.key("plant", quoted(plant.name()), "the built-in plant that makes and judges");
        }
        file.key("seed", self.seed, "every random number comes from it");
        file.key("horizon", self.horizon, "T, steps of a rollout");
        file.key("discount_q", number(self.discount_q), "weight of the last reward: gamma = q^(1/(T-1))");
        file.key("success", self.success.map_or("\"none\"".into(), number), "the return that solves it, or \"none\"");

        let starts = "where rollouts start: \"ranges\" of the states, \"data\", \"episodes\", or a file";
        file.key("start", quoted(&self.start.text()), starts);

        // What is remembered follows from the history and the actions.
        for state in self.states.iter().filter(|state| state.memory.is_none()) {
            file.section("[[state]]");
            file.key("name", quoted(&state.name), "also the name of its column");
            file.column(&state.columns);
            file.key("unit", quoted(&state.unit), "for people");
            file.key("angle", state.angle, "radians, taken modulo 2 pi");
            file.key("start", range(state.start), "where rollouts of the search and the evaluation start");
            file.key("data_start", range(state.data_start), "where generated episodes start");
            file.key("centre", or_data(state.centre), "bounds of a rule's centre, or \"data\" for the log's range");
            file.key(
                "width",
                or_data(state.width),
                "bounds of a rule's width, or \"data\" for 0.05 to 2 times the centre's range",
            );
        }
        for action in &self.actions {
            file.section("[[action]]");
            let (name, limits) = match &action.set_point {
                None => (&action.name, action.limits),
                Some(set_point) => (&set_point.name, set_point.limits),
            };
            file.key("name", quoted(name), "also the name of its column");
            if action.columns != std::slice::from_ref(name) {
                file.column(&action.columns);
            }
            file.key("unit", quoted(&action.unit), "for people");
            file.key("limits", range(limits), "the lowest and the highest value");
            if let Some(rate) = action.rate {
                file.key("rate", number(rate), "how far it may move in a step");
            }
            if action.set_point.is_some() {
                file.key("change", true, "the policy decides how far it moves, not where to");
                file.key("change_limits", range(action.limits), "the lowest and the highest change in a step");
            }
        }

        file.section("[data]");
        match &self.data.log {
            None => {
                file.key("samples", self.data.samples, "transitions to generate");
                file.key("episode_length", self.data.episode_length, "steps of an episode");
            }
            Some(log) => {
                file.key("samples", self.data.samples, "transitions that are kept of the log, at most");
                log.lines().into_iter().for_each(|(key, value, comment)| file.key(key, value, comment));
            }
        }

        file.section("[world]");
        let kind = KINDS.iter().find(|(_, kind)| *kind == self.world.kind);
        let known = KINDS.map(|(name, _)| quoted(name)).join(", ");
        file.key("kind", quoted(kind.map_or("", |(name, _)| name)), &format!("one of {known}"));
        file.key("members", self.world.members, "of the ensemble, each learned from its own draw of the rows");
        file.key("judge", number(self.world.judge), "share of the episodes kept from the search, for its judge");
        file.key("mirror", self.world.mirror, "learn from each row's mirror image too, for symmetric plants");
        let layers = match self.world.layers {
            Depth::Auto => "\"auto\"".to_owned(),
            Depth::Layers(count) => count.to_string(),
        };
        file.key("layers", layers, "hidden layers: 1, 2, 3, or \"auto\" for the best of them for each variable");
        file.key("neurons", self.world.neurons, "in each hidden layer");
        let trainer = TRAINERS.iter().find(|(_, trainer)| *trainer == self.world.trainer);
        let known = TRAINERS.map(|(name, _)| quoted(name)).join(", ");
        file.key("trainer", quoted(trainer.map_or("", |(name, _)| name)), &format!("one of {known}"));
        file.key("epochs", self.world.epochs, "iterations of the trainer, at most");
        file.key("restarts", self.world.restarts, "networks tried for each variable and depth");
        file.key("absorbing", self.world.absorbing, "learn apart where the plant stops for good: goals, broken limits");

        if let Some(process) = &self.world.process {
            let words: Vec<String> = process.iter().map(|word| quoted(word)).collect();
            file.key("process", format!("[{}]", words.join(", ")), "a simulator that is the world; nothing is learned");
        }

        let formula = |known: &Option<Expression>| quoted(known.as_ref().map_or("learn", Expression::text));
        let comment = "a formula such as \"abs(x) < 0.5 ? 0 : -1\", x after the step; or \"learn\"";
        file.key("reward", formula(&self.world.reward), comment);
        let comment = "a formula such as \"abs(x) > 2\" for where the plant stops for good; or \"learn\"";
        file.key("terminal", formula(&self.world.terminal), comment);

        file.section("[policy]");
        let rules = if self.policy.grow { quoted("auto") } else { self.policy.rules.to_string() };
        file.key("rules", rules, "for each action, mirrored ones counted; \"auto\" adds them while they pay");
        file.key("front", self.policy.front, "search simpler policies too, down to one rule: `front/`");
        file.key("most_rules", self.policy.most_rules, "that \"auto\" tries");
        let tolerance = "what a rule must bring under \"auto\": a share of the way from doing nothing to the ceiling";
        file.key("rules_tolerance", number(self.policy.rules_tolerance), tolerance);
        file.key("mirrored", self.policy.mirrored, "half of the rules mirror the others, for symmetric plants");
        let periodic = "rules measure angles around the circle; the paper's do not";
        file.key("periodic", self.policy.periodic, periodic);
        file.key("alpha", range(self.policy.alpha), "bounds of the slope before the hyperbolic tangent");

        let lags = match &self.policy.lags {
            Lags::Steps(steps) => steps.to_string(),
            Lags::Names(names) => format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
        };
        file.key("lags", lags, "past steps of every state and action that the rules see, or names of such values");

        file.section("[search]");
        let search = &self.search;
        let optimiser = OPTIMISERS.iter().find(|(_, kind)| *kind == search.optimiser).map_or("", |(name, _)| name);
        let known = "\"auto\" races many tries; \"swarm\" is the paper's; or \"shade\", \"cma-es\"";
        file.key("optimiser", quoted(optimiser), known);
        let effort = EFFORTS.iter().find(|(_, effort)| *effort == search.effort).map_or("", |(name, _)| name);
        file.key("effort", quoted(effort), "of \"auto\": \"quick\", \"normal\" or \"thorough\"");
        let budget = search.budget.map_or("none".to_owned(), |budget| budget.to_string());
        file.key("budget", quoted(&budget), "of \"auto\", instead of an effort: \"5m\", \"6000 Msteps\"; or \"none\"");
        file.key("particles", search.particles, "of the swarm");
        file.key("iterations", search.iterations, "of the swarm");
        file.key("ring", search.ring, "neighbours on each side of a particle");
        file.key("inertia", number(search.inertia), "w, how much of its velocity a particle keeps");
        file.key("cognitive", number(search.cognitive), "c1, the pull of a particle's own best");
        file.key("social", number(search.social), "c2, the pull of its neighbourhood's best");
        file.key("velocity_limit", number(search.velocity_limit), "as a fraction of each parameter's range");
        file.key("start_states", search.start_states, "that a policy is scored from, dealt out to the members");
        let patience = search.patience.map_or("\"none\"".into(), |patience| patience.to_string());
        file.key("patience", patience, "iterations without improvement that end the search, or \"none\"");
        let numerics = MODES.iter().find(|(_, mode)| *mode == search.numerics);
        let known = "\"fast\", or \"reproducible\" for the same bits on every machine";
        file.key("numerics", quoted(numerics.map_or("", |(name, _)| name)), known);

        file.key("caution", number(search.caution), "0 trusts the model, 1 stays where the data is");
        let outlook = OUTLOOKS.iter().find(|(_, outlook)| *outlook == search.outlook);
        let known = "of the members: \"spread\", the mean less a part of their spread, or \"worst\"";
        file.key("outlook", quoted(outlook.map_or("", |(name, _)| name)), known);
        let limit = search.outside_limit.map_or("\"none\"".into(), number);
        file.key("outside_limit", limit, "share of steps outside the log's ranges that a policy may take, or \"none\"");

        file.section("[evaluation]");
        file.key("start_states", self.evaluation.start_states, "that the policy is tested from, never seen before");
        file.0
    }
}

struct File(String);

impl File {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// The names of a variable's column in the log, where they differ from the variable's.
    fn column(&mut self, names: &[String]) {
        match names {
            [] => {}
            [name] => self.key("column", quoted(name), "its name in the log"),
            names => {
                let list = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
                self.key("column", format!("[{list}]"), "its names in the files of the log");
            }
        }
    }

    fn section(&mut self, header: &str) {
        self.0.push('\n');
        self.line(header);
    }

    fn key(&mut self, key: &str, value: impl std::fmt::Display, comment: &str) {
        let setting = format!("{key} = {value}");
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{setting:<36} # {comment}");
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The shortest digits that read back to the same number.
fn number(value: f64) -> String {
    format!("{value:?}")
}

fn range([low, high]: [f64; 2]) -> String {
    format!("[{low:?}, {high:?}]")
}

fn or_data(bounds: Option<[f64; 2]>) -> String {
    bounds.map_or("\"data\"".to_owned(), range)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use crate::problem::{
        ActionVariable, LogSettings, Problem, Row, StartRule, StateVariable, WrittenProblem, benchmark_names,
    };
    use crate::simd::Mode;
    use crate::world::training::{Depth, Trainer};

    fn read_back(problem: &Problem) -> Problem {
        let text = problem.to_toml();
        WrittenProblem::parse(&text, "problem.toml".as_ref()).and_then(WrittenProblem::check).unwrap_or_else(|error| {
            panic!("{error}\n{text}");
        })
    }

    #[test]
    fn every_benchmark_reads_back_to_itself() {
        for name in benchmark_names() {
            let problem = Problem::benchmark(&name).unwrap();
            assert_eq!(read_back(&problem), problem);
        }
    }

    #[test]
    fn each_key_is_written_with_a_comment() {
        for line in Problem::benchmark("cart-pole-swing-up").unwrap().to_toml().lines() {
            assert!(line.is_empty() || line.starts_with(['[', '#']) || line.contains(" # "), "{line}");
        }
    }

    prop_compose! {
        fn bounds()(low in -1e6..1e6f64, extent in 1e-3..1e6f64) -> [f64; 2] { [low, low + extent] }
    }

    prop_compose! {
        fn any_log()(
            files in vec("[a-z/]{1,9}", 1..3),
            separator in proptest::sample::select(vec![None, Some(';'), Some('\t')]),
            decimal in proptest::sample::select(vec![None, Some('.'), Some(',')]),
            missing in vec("\\PC{1,5}", 0..3),
            (time, episode, reward) in (vec("\\PC{1,5}", 1..3), vec("\\PC{1,5}", 0..3), vec("\\PC{1,5}", 0..3)),
            (terminal, truncated) in (vec("\\PC{1,5}", 0..2), vec("\\PC{1,5}", 0..2)),
            next in proptest::option::of("\\PC{1,5}"),
            (leads, belongs, resample) in (any::<bool>(), any::<bool>(), any::<bool>()),
            (interval, gap, history) in (proptest::option::of(1e-6..1e6f64), 1.001..1e3f64, 0usize..1),
        ) -> LogSettings {
            let row = |this| if this { Row::This } else { Row::Next };
            LogSettings {
                files: files.into_iter().map(Into::into).collect(),
                separator, decimal, missing, time, episode, reward, terminal, truncated,
                action_leads_to: row(leads), reward_belongs_to: row(belongs),
                interval, gap, resample: resample && next.is_none(), next,
                history: crate::problem::History::Steps(history),
            }
        }
    }

    prop_compose! {
        fn own_problem()(
            name in "[a-zA-Z0-9_-]{1,12}",
            (seed, horizon, discount_q, success) in
                (0..=i64::MAX as u64, 2usize..100_000, 1e-9..=1.0f64, proptest::option::of(-1e9..1e9f64)),
            states in proptest::collection::vec(
                ("[a-z][a-z0-9 _'\\\\°#=\\[\\]]{0,8}[a-z]", "\\PC{0,6}", any::<bool>(), bounds(), bounds(),
                 proptest::option::of(bounds()), proptest::option::of((1e-6..1.0f64, 1.0..50.0f64))), 1..4),
            limits in bounds(),
            (columns, starts) in (vec("\\PC{1,9}", 2), 0usize..4),
            log in proptest::option::of(any_log()),
            (samples, length, layers, trainer) in (1_000usize..1_000_000, 1usize..1_000, 0usize..4, 0usize..3),
            (rules, alpha, particles, iterations) in (1usize..20, bounds(), 2usize..1_000, 1usize..5_000),
            (inertia, cognitive, social, limit) in (0.0..1.0f64, 0.0..3.0f64, 0.0..3.0f64, 1e-6..=1.0f64),
            (start_states, patience, tests) in (1usize..1_000, proptest::option::of(1usize..100), 1usize..2_000),
        ) -> Problem {
            let mut problem = Problem::benchmark("mountain-car").unwrap();
            problem.name = name;
            problem.plant = None;
            (problem.seed, problem.horizon, problem.discount_q, problem.success) = (seed, horizon, discount_q, success);
            problem.states = states.into_iter().enumerate().map(
                |(index, (name, unit, angle, start, data_start, centre, width))| StateVariable {
                    name: format!("{name}{index}"), unit, columns: columns[..index.min(2)].to_vec(), angle, start, data_start, centre,
                    width: width.map(|(low, high)| [low, high]), memory: None,
                }).collect();
            problem.actions = vec![ActionVariable { name: "A".into(), unit: "\"%\"".into(), columns, limits, rate: None, set_point: None }];
            problem.data.samples = samples;
            problem.data.episode_length = if log.is_some() { 100 } else { length };
            problem.data.log = log;
            problem.start =
                [StartRule::Ranges, StartRule::Data, StartRule::Episodes, StartRule::File("s.csv".into())][starts].clone();
            problem.world.layers = if layers == 0 { Depth::Auto } else { Depth::Layers(layers) };
            problem.world.trainer = [Trainer::LevenbergMarquardt, Trainer::VarioEta, Trainer::Adam][trainer];
            problem.world.kind = super::KINDS[rules % 5].1;
            problem.world.members = 1 + rules;
            problem.world.judge = limit / 2.0;
            problem.world.mirror = rules % 3 == 0;
            problem.search.caution = limit;
            problem.search.outlook = super::OUTLOOKS[rules % 2].1;
            problem.search.outside_limit = (rules % 3 == 1).then_some(limit);
            problem.policy.grow = rules % 4 == 0;
            problem.world.absorbing = rules % 2 == 0;
            problem.policy.rules = if problem.policy.grow { 1 } else { rules };
            problem.policy.front = rules % 2 == 1;
            problem.policy.most_rules = 1 + rules;
            problem.policy.rules_tolerance = limit / 2.0;
            problem.policy.periodic = rules % 5 == 0;
            problem.policy.alpha = alpha;
            problem.search.optimiser = super::OPTIMISERS[rules % 4].1;
            problem.search.effort = super::EFFORTS[rules % 3].1;
            let budgets = [super::super::Budget::Steps(seed % 1_000_000 + 1), super::super::Budget::Seconds(limit)];
            // Only a race has a budget.
            problem.search.budget = (rules % 4 == 0).then_some(budgets[rules % 3 % 2]);
            problem.search.particles = particles;
            problem.search.iterations = iterations;
            problem.search.inertia = inertia;
            problem.search.cognitive = cognitive;
            problem.search.social = social;
            problem.search.velocity_limit = limit;
            problem.search.start_states = start_states;
            problem.search.patience = patience;
            problem.search.numerics = if tests % 2 == 0 { Mode::Fast } else { Mode::Reproducible };
            problem.evaluation.start_states = tests;
            problem
        }
    }

    proptest! {
        #[test]
        fn every_problem_reads_back_to_itself(problem in own_problem()) {
            prop_assert_eq!(read_back(&problem), problem);
        }
    }
}
