//! Worlds whose rollouts follow a log: its inputs, and what the plant did beyond what is predicted.
//!
//! [`super::given`] has what is given; here it is put into a model, step by step in f64, and learned worlds get the tape of
//! their log.

use std::sync::Arc;

use rayon::prelude::*;

use super::given::{Given, Replay, Saturation, running_sum};
use super::model::WorldModel;
use super::predictor::Predictor;
use fpsrl_base::error::Result;
use fpsrl_data::tape::Tape;
use fpsrl_data::{System, Transitions};
use fpsrl_engine::angle::wrap_angle;

impl WorldModel {
    /// The same world, whose rollouts follow a tape; with `residuals`, what the plant did beyond what is predicted is added.
    pub fn following(mut self, tape: &Arc<Tape>, transitions: &Transitions, residuals: bool) -> Self {
        let residuals = match residuals {
            true => (0..transitions.own_states())
                .map(|variable| (variable, self.residuals(variable, transitions)))
                .collect(),
            false => Vec::new(),
        };
        self.replay = Some(Arc::new(Replay { tape: Arc::clone(tape), residuals }));
        self
    }

    /// Of each row, what the change of a variable was more than predicted.
    fn residuals(&self, variable: usize, transitions: &Transitions) -> Vec<f64> {
        let model = &self.variables[variable];
        let changes = transitions.difference(variable, model.angle);
        (0..transitions.len())
            .into_par_iter()
            .map(|row| {
                let inputs = transitions.states.iter().chain(&transitions.actions).map(|column| column[row]);
                let residual = changes[row] - model.predict(inputs);
                // The jump into an absorbing state is no noise; neither is what cannot be computed.
                let jumped = transitions.terminated.as_ref().is_some_and(|ended| ended[row]);
                if jumped || !residual.is_finite() { 0.0 } else { residual }
            })
            .collect()
    }

    /// Whether anything of it is given instead of predicted.
    pub fn has_given(&self) -> bool {
        self.variables.iter().any(|part| matches!(part.predictor, Predictor::Given(_)))
    }

    /// Puts into a next state what is given, the predicted changes being there already.
    pub(super) fn give(&self, state: &[f64], action: &[f64], next: &mut [f64]) {
        let place = self.variables.iter().position(|part| part.predictor == Predictor::Given(Given::Place {}));
        let at = place.map(|place| state[place] as usize);
        if let (Some(replay), Some(at)) = (&self.replay, at) {
            let Replay { tape, residuals } = &**replay;
            for (variable, values) in residuals {
                let moved = next[*variable] + values.get(at).copied().unwrap_or(0.0);
                next[*variable] = if self.variables[*variable].angle { wrap_angle(moved) } else { moved };
            }
            let after = tape.next.get(at).map_or(at, |next| *next as usize);
            for (variable, values) in &tape.inputs {
                next[*variable] = values.get(after).copied().unwrap_or(state[*variable]);
            }
            if let Some(place) = place {
                next[place] = after as f64;
            }
        }
        for (variable, part) in self.variables.iter().enumerate() {
            match part.predictor {
                Predictor::Given(Given::Error { state, set_point }) => next[variable] = next[set_point] - next[state],
                Predictor::Given(Given::Sum { error, limit }) => {
                    let saturated = self
                        .saturations
                        .iter()
                        .any(|one| one.is_reached(&|variable| state[variable], &|index| action[index]));
                    next[variable] = running_sum(state[variable], next[error], limit, saturated);
                }
                _ => {}
            }
        }
    }

    /// What is wrong with what is given, if anything is.
    pub(super) fn given_fault(&self) -> Option<String> {
        let states = self.states.len();
        for (index, part) in self.variables.iter().enumerate() {
            let fits = match part.predictor {
                Predictor::Given(Given::Error { state, set_point }) => state < index && set_point < index,
                Predictor::Given(Given::Sum { error, limit }) => error < index && limit > 0.0 && limit.is_finite(),
                _ => true,
            };
            if !fits {
                return Some(format!("`{}` follows from variables that do not come before it", part.name));
            }
        }
        let broken = |one: &Saturation| {
            one.action >= self.actions.len()
                || one.changes.is_some_and(|variable| variable >= states)
                || !one.limits.iter().all(|limit| limit.is_finite())
        };
        self.saturations.iter().any(broken).then(|| "the limits of an action are broken".into())
    }
}

impl WorldModel {
    /// Whether rollouts get back what the plant did beyond what is predicted.
    pub fn replays_noise(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| !replay.residuals.is_empty())
    }
}

impl super::LearnedWorlds {
    /// The same worlds, whose rollouts follow the inputs of the log but not its noise: for whoever tests what they predict.
    pub fn without_noise(mut self) -> Self {
        let strip = |model: &mut WorldModel| {
            if let Some(replay) = &model.replay {
                model.replay = Some(Arc::new(Replay { tape: Arc::clone(&replay.tape), residuals: Vec::new() }));
            }
        };
        strip(&mut self.world);
        self.members.iter_mut().chain(&mut self.judges).for_each(strip);
        self
    }

    /// The same worlds, whose rollouts follow the inputs and the noise of the log; as they are if there are no inputs.
    pub fn following(mut self, system: &System, transitions: &Transitions, residuals: bool) -> Result<Self> {
        let Some(tape) = Tape::of(system, transitions)? else { return Ok(self) };
        let tape = Arc::new(tape);
        let follow = |model: WorldModel| model.following(&tape, transitions, residuals);
        self.members = self.members.into_iter().map(follow).collect();
        self.judges = self.judges.into_iter().map(follow).collect();
        self.world = follow(self.world);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LearnedWorlds, NetworkWorld, WorldSettings};
    use fpsrl_base::progress::Progress;
    use fpsrl_base::random::{Purpose, Stream};
    use fpsrl_data::system::{History, Surroundings, WrittenSystem};
    use fpsrl_engine::rollout::Lanes;
    use fpsrl_engine::simd::{Mode, Numerics};
    use fpsrl_engine::world::World;

    /// A tank whose level follows a set-point, under a mode; noise moves it too.
    fn tank() -> (System, Transitions) {
        let text = "name = 'tank'\nhorizon = 10\n[[state]]\nname = 'level'\ntracks = 'SP'\nintegral = true\n\
                    integral_limit = 3.0\n[[input]]\nname = 'SP'\n[[input]]\nname = 'Mode'\nvalues = ['A', 'B']\n\
                    [[action]]\nname = 'valve'\nlimits = [-1.0, 1.0]\n";
        let around = Surroundings { history: Some(History::Steps(0)), ..Surroundings::default() };
        let system = toml::from_str::<WrittenSystem>(text).unwrap().check(&around).unwrap();
        let stream = Stream::new(3, Purpose::LogStart);
        let mut log = Transitions::new(system.states().len(), 1);
        (log.inputs, log.carried) = (2, 3);
        let mut level = 0.0;
        for row in 0..400u32 {
            let (wanted, mode) = (f64::from(row / 40 % 3), f64::from(row / 70 % 2));
            let valve = stream.within(-1.0, 1.0, 0, row, 0);
            let next = 0.9 * level + 0.2 * valve + 0.1 * mode + 0.05 * stream.normal(1, row, 0);
            for (to, value) in log.states.iter_mut().zip([level, wanted, mode, 0.0, 0.0, 0.0]) {
                to.push(value);
            }
            let (after, later) = (f64::from((row + 1) / 40 % 3), f64::from((row + 1) / 70 % 2));
            for (to, value) in log.next_states.iter_mut().zip([next, after, later, 0.0, 0.0, 0.0]) {
                to.push(value);
            }
            log.actions[0].push(valve);
            log.rewards.push(-(next - after).abs());
            log.episode.push(u64::from(row / 200));
            log.step.push(u64::from(row % 200));
            level = if row == 199 { 0.0 } else { next };
        }
        fpsrl_data::history::derive(&system, &mut log);
        (system, log)
    }

    fn worlds(noise: bool) -> (System, Transitions, LearnedWorlds) {
        let (system, log) = tank();
        let settings = WorldSettings { members: 1, epochs: 10, judge: 0.0, ..WorldSettings::default() };
        let worlds = LearnedWorlds::learn(&system, &settings, &log, &Progress::silent()).unwrap();
        (system.clone(), log.clone(), worlds.following(&system, &log, noise).unwrap())
    }

    fn row_of(columns: &[Vec<f64>], row: usize) -> Vec<f64> {
        columns.iter().map(|column| column[row]).collect()
    }

    #[test]
    fn the_logs_own_actions_lead_where_they_led() {
        let (_, log, worlds) = worlds(true);
        let mut state = row_of(&log.states, 10);
        for row in 10..150 {
            state = worlds.world.respond(&state, &row_of(&log.actions, row)).0;
            let truth = row_of(&log.next_states, row);
            for variable in [0, 1, 2, 3, 5] {
                assert!((state[variable] - truth[variable]).abs() < 1e-9, "row {row}: {state:?} {truth:?}");
            }
        }
        // Without the noise, the inputs are followed all the same.
        let quiet = worlds.without_noise();
        let next = quiet.world.respond(&row_of(&log.states, 10), &row_of(&log.actions, 10)).0;
        assert!(next[0] != log.next_states[0][10] && next[1] == log.next_states[1][10]);
    }

    #[test]
    fn an_episodes_end_holds_the_inputs() {
        let (_, log, worlds) = worlds(true);
        let next = worlds.world.respond(&row_of(&log.states, 199), &[0.0]).0;
        assert_eq!((next[1], next[5]), (log.states[1][199], 199.0));
    }

    #[test]
    fn lanes_are_given_what_the_model_is_given() {
        let (_, log, worlds) = worlds(true);
        let world = NetworkWorld::new(&worlds.world).unwrap();
        for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
            let rows: Vec<usize> = (0..45).map(|index| index * 4).collect();
            let mut lanes = Lanes::new(6, 1, rows.len());
            lanes.set_live(rows.len());
            let mut states: Vec<Vec<f64>> = rows.iter().map(|&row| row_of(&log.states, row)).collect();
            for (lane, state) in states.iter().enumerate() {
                state.iter().enumerate().for_each(|(variable, value)| lanes.state_mut(variable)[lane] = *value as f32);
            }
            for step in 0..12 {
                for (lane, state) in states.iter_mut().enumerate() {
                    // At its limits now and then, where the sum may not grow.
                    let action = [1.0, 0.3, -1.0, -0.2][(step + lane) % 4];
                    lanes.action_mut(0)[lane] = action as f32;
                    *state = worlds.world.step(state, &[action]).0;
                }
                world.advance(&mut lanes, numerics);
                for (lane, state) in states.iter().enumerate() {
                    for (variable, value) in state.iter().enumerate() {
                        let on_lane = f64::from(lanes.state(variable)[lane]);
                        assert!(
                            (on_lane - value).abs() < 2e-4,
                            "{numerics}, step {step}, {variable}: {on_lane} {value}"
                        );
                    }
                }
            }
            assert!(states.iter().any(|state| state[4].abs() == 3.0), "no sum has come to its limit");
        }
    }

    #[test]
    fn worlds_with_given_variables_survive_their_file() {
        let (_, _, worlds) = worlds(true);
        let text = serde_json::to_string(&worlds).unwrap();
        assert!(text.contains("\"given\":{\"sum\":{\"error\":3,\"limit\":3.0}}"), "{text}");
        let back: LearnedWorlds = serde_json::from_str(&text).unwrap();
        assert_eq!(back.validate(), Ok(()));
        assert!(back.world.replay.is_none(), "what is replayed comes from the log");
        let broken = text.replace("\"error\":3", "\"error\":9");
        assert!(serde_json::from_str::<LearnedWorlds>(&broken).unwrap().validate().is_err());
    }

    #[test]
    fn an_action_that_moves_nothing_is_noticed() {
        use crate::quality::{Verdict, Word};
        let (system, log) = tank();
        let settings = WorldSettings { members: 2, epochs: 10, judge: 0.0, ..WorldSettings::default() };
        let settings = crate::WrittenWorld { reward: Some("-abs(level - SP)".into()), ..Default::default() }
            .check(&system, system.history(), false)
            .map(|written| WorldSettings { reward: written.reward, ..settings })
            .unwrap();
        let judged = |log: &Transitions| {
            let worlds = LearnedWorlds::learn(&system, &settings, log, &Progress::silent()).unwrap();
            let worlds = worlds.following(&system, log, true).unwrap();
            Verdict::of(&system, &settings, log, &worlds, &system.evaluation_starts(10))
        };
        let seen = judged(&log);
        assert!(seen.no_effect.is_none() && seen.effects[0].is_seen(), "{seen:?}");
        let mut shuffled = log.clone();
        let order = Stream::new(1, Purpose::Shuffle).permutation(log.len(), 0);
        shuffled.actions[0] = order.iter().map(|&row| log.actions[0][row]).collect();
        let unseen = judged(&shuffled);
        assert_eq!(unseen.word, Word::NoGo, "{unseen:?}");
        assert!(unseen.reason.contains("does not show that valve moves anything"), "{}", unseen.reason);
    }
}
