//! The system's lines of `problem.toml`.

use fpsrl_base::files::FORMAT;
use fpsrl_base::settings::{Lines, bounds, number, quoted, quoted_list};

use super::{InputRule, System};

impl System {
    /// The first lines of `problem.toml`, its `[[state]]`, `[[input]]`, `[[action]]` and `[[objective]]`: each with its value and what it means.
    pub fn write(&self, file: &mut Lines) {
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
        let current = || self.states.iter().filter(|state| state.lag.is_none());
        for state in current().filter(|state| state.input.is_none()) {
            file.section("[[state]]");
            file.key("name", quoted(&state.name), "also the name of its column");
            column(file, &state.columns);
            file.key("unit", quoted(&state.unit), "for people");
            match state.degrees {
                false => file.key("angle", state.angle, "radians, taken modulo 2 pi"),
                true => file.key("angle", quoted("degrees"), "in the log; everything here and after it is in radians"),
            }
            file.key("start", bounds(state.start), "where rollouts of the search and the evaluation start");
            file.key("data_start", bounds(state.data_start), "where generated episodes start");
            file.key("centre", or_data(state.centre), "bounds of a rule's centre, or \"data\" for the log's range");
            file.key(
                "width",
                or_data(state.width),
                "bounds of a rule's width, or \"data\" for 0.05 to 2 times the centre's range",
            );
            if let Some(tracking) = state.tracks {
                let name = &self.states[tracking.set_point].name;
                file.key("tracks", quoted(name), "the input that it is to follow");
                file.key("integral", tracking.integral, "rules see the running sum of the error, too");
                if let Some(limit) = tracking.limit {
                    file.key("integral_limit", number(limit), "how far that sum may go to either side");
                }
            }
            if let Some(keep) = state.keep {
                file.key("keep", bounds(keep.range), "the range that it should not leave");
                file.key("keep_price", number(keep.price), "what one unit beyond it costs in a step");
                file.key("keep_hard", keep.hard, "refuse a policy that leaves it on any member of the ensemble");
            }
            seen(file, state.seen);
        }
        for state in current() {
            let Some(input) = &state.input else { continue };
            file.section("[[input]]");
            file.key("name", quoted(&state.name), "also the name of its column");
            column(file, &state.columns);
            file.key("unit", quoted(&state.unit), "for people");
            if !input.values.is_empty() {
                file.key("values", quoted_list(&input.values), "the words of a mode");
            }
            let comment = "how it goes on in rollouts: as in the \"log\", \"hold\", drawn from a \"range\", or a file";
            file.key("rollout", quoted(&input.rollout.text()), comment);
            if let InputRule::Range { range, dwell } = input.rollout {
                file.key("range", bounds(range), "where it is drawn from");
                file.key("dwell", dwell, "steps for which a drawn value lasts");
            }
            file.key("start", bounds(state.start), "where rollouts start, without a log");
            file.key("centre", or_data(state.centre), "bounds of a rule's centre, or \"data\" for the log's range");
            file.key("width", or_data(state.width), "bounds of a rule's width, or \"data\"");
            seen(file, state.seen);
        }
        for action in &self.actions {
            file.section("[[action]]");
            let (name, limits) = match &action.set_point {
                None => (&action.name, action.limits),
                Some(set_point) => (&set_point.name, set_point.limits),
            };
            file.key("name", quoted(name), "also the name of its column");
            if action.columns != std::slice::from_ref(name) {
                column(file, &action.columns);
            }
            file.key("unit", quoted(&action.unit), "for people");
            file.key("limits", bounds(limits), "the lowest and the highest value");
            if let Some(rate) = action.rate {
                file.key("rate", number(rate), "how far it may move in a step");
            }
            if action.set_point.is_some() {
                file.key("change", true, "the policy decides how far it moves, not where to");
                file.key("change_limits", bounds(action.limits), "the lowest and the highest change in a step");
            }
            if let Some(price) = action.move_cost {
                file.key("move_cost", number(price), "what a unit of movement in a step costs");
            }
        }
        self.write_objectives(file);
    }
}

/// Whether rules may look at a variable, where the user says.
fn seen(file: &mut Lines, seen: Option<bool>) {
    if let Some(seen) = seen {
        file.key("seen", seen, "whether rules may look at it");
    }
}

/// The names of a variable's column in the log, where they differ from the variable's.
fn column(file: &mut Lines, names: &[String]) {
    match names {
        [] => {}
        [name] => file.key("column", quoted(name), "its name in the log"),
        names => file.key("column", quoted_list(names), "its names in the files of the log"),
    }
}

fn or_data(range: Option<[f64; 2]>) -> String {
    range.map_or("\"data\"".to_owned(), bounds)
}
