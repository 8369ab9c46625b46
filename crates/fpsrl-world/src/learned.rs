//! The learned world on lanes: a network for the difference of each state variable and one for the reward.
//!
//! Section 5 of the paper: s' = s + g̃(s, a), an angle taken modulo 2π, and r = r̃(s, a, s').

use super::absorbing::Region;
use super::actuator::Actuator;
use super::given::{Given, Saturation};
use super::kernel::{Group, WIDEST};
use super::known::KnownKernel;
use super::model::WorldModel;
use super::predictor::{Predictor, PredictorKernel};
use fearless_simd::{Select, Simd, SimdBase, SimdFloat};
use fpsrl_base::error::{Error, Result};
use fpsrl_engine::rollout::{Columns, Lanes};
use fpsrl_engine::simd::{Arithmetic, Numerics, dispatch_numerics};
use fpsrl_engine::world::World;

/// A [`WorldModel`] laid out for rollouts.
#[derive(Clone, Debug)]
pub struct NetworkWorld {
    action_count: usize,
    /// What is subtracted from state, action and next state before the networks see them.
    origin: Vec<f32>,
    variables: Vec<PredictorKernel>,
    angles: Vec<bool>,
    reward: PredictorKernel,
    reward_limits: [f32; 2],
    absorbing: Vec<Region>,
    known: KnownKernel,
    actuators: Vec<Actuator>,
    moves: Vec<Move>,
    following: Option<Following>,
    width: usize,
}

/// How a variable gets its next value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Move {
    /// Predicted; what the log's plant did beyond that stands in this column of what is given, if it does.
    Predicted(Option<usize>),
    /// It stands in this column of what is given.
    Given(usize),
    /// It stays as it is.
    Held,
    /// A variable less another, after the step.
    Error { state: usize, set_point: usize },
    /// The running sum of an error, which stops growing where a column of what is given is not 0.
    Sum { error: usize, limit: f32, saturated: usize },
}

/// What rollouts follow, laid out for lanes.
#[derive(Clone, Debug)]
struct Following {
    place: Option<usize>,
    next: Vec<u32>,
    inputs: Vec<Vec<f32>>,
    residuals: Vec<Vec<f32>>,
    saturations: Vec<Saturation>,
    columns: usize,
}

impl Following {
    /// What is given to a model, and how each of its variables moves.
    fn new(model: &WorldModel) -> (Option<Self>, Vec<Move>) {
        let mut moves = vec![Move::Predicted(None); model.variables.len()];
        if !model.has_given() {
            return (None, moves);
        }
        let place = model.variables.iter().position(|part| part.predictor == Predictor::Given(Given::Place {}));
        let single = |values: &Vec<f64>| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
        let replay = model.replay.clone().unwrap_or_default();
        let (inputs, residuals) = (&replay.tape.inputs, &replay.residuals);
        // The columns: inputs, what is added to predictions, the next place, and whether an action is at a limit.
        let (at_place, at_limit) = (inputs.len() + residuals.len(), inputs.len() + residuals.len() + 1);
        for (variable, part) in model.variables.iter().enumerate() {
            let Predictor::Given(given) = part.predictor else { continue };
            let column = inputs.iter().position(|(input, _)| *input == variable);
            moves[variable] = match given {
                Given::Input {} => column.map_or(Move::Held, Move::Given),
                Given::Place {} => Move::Given(at_place),
                Given::Error { state, set_point } => Move::Error { state, set_point },
                Given::Sum { error, limit } => Move::Sum { error, limit: limit as f32, saturated: at_limit },
            };
        }
        for (column, (variable, _)) in residuals.iter().enumerate() {
            moves[*variable] = Move::Predicted(Some(inputs.len() + column));
        }
        let following = Self {
            place,
            next: replay.tape.next.clone(),
            inputs: inputs.iter().map(|(_, values)| single(values)).collect(),
            residuals: residuals.iter().map(|(_, values)| single(values)).collect(),
            saturations: model.saturations.clone(),
            columns: at_limit + 1,
        };
        (Some(following), moves)
    }

    /// Writes what is given to each lane behind what stands in the scratch already.
    fn lay_out(&self, columns: &mut Columns<'_>) {
        let Columns { live, stride, states, actions, scratch, .. } = columns;
        let (live, stride, begin) = (*live, *stride, scratch.len());
        scratch.resize(begin + self.columns * stride, 0.0);
        let given = &mut scratch[begin..];
        let last = self.next.len().saturating_sub(1);
        for lane in 0..live {
            let at = self.place.map_or(0.0, |place| states[place * stride + lane]);
            let at = (at.max(0.0) as usize).min(last);
            let after = self.next.get(at).map_or(at, |next| *next as usize);
            for (column, values) in self.inputs.iter().enumerate() {
                given[column * stride + lane] = values[after];
            }
            for (column, values) in self.residuals.iter().enumerate() {
                given[(self.inputs.len() + column) * stride + lane] = values[at];
            }
            given[(self.columns - 2) * stride + lane] = after as f32;
        }
        let saturated = &mut given[(self.columns - 1) * stride..];
        for one in &self.saturations {
            let [low, high] = one.inner().map(|limit| limit as f32);
            for lane in 0..live {
                let last = one.changes.map_or(0.0, |variable| states[variable * stride + lane]);
                let value = actions[one.action * stride + lane] + last;
                saturated[lane] = if value > low && value < high { saturated[lane] } else { 1.0 };
            }
        }
    }
}

impl NetworkWorld {
    /// Lays a model out. Fails for networks wider than the kernel can hold.
    pub fn new(model: &WorldModel) -> Result<Self> {
        // The reward depends on everything, so that its scales have a centre for every input.
        let origin: Vec<f32> = model.reward.inputs.iter().map(|scale| scale.centre as f32).collect();
        let exact_origin: Vec<f64> = origin.iter().map(|&centre| f64::from(centre)).collect();
        let kernel = |part: &super::model::VariableModel| {
            PredictorKernel::new(&part.predictor, &part.inputs, &part.output, &exact_origin)
        };
        let variables: Vec<PredictorKernel> = model.variables.iter().map(kernel).collect();
        let reward = kernel(&model.reward);
        let width = variables.iter().chain([&reward]).map(PredictorKernel::width).max().unwrap_or(0);
        if width > WIDEST {
            return Err(Error::setting(
                "world.neurons",
                width,
                format!("a layer of a world model has at most {WIDEST} inputs or neurons"),
                "take fewer neurons or fewer variables",
            ));
        }
        let (following, moves) = Following::new(model);
        Ok(Self {
            moves,
            following,
            action_count: model.actions.len(),
            origin,
            angles: model.variables.iter().map(|variable| variable.angle).collect(),
            variables,
            reward,
            reward_limits: model.reward_limits.map(|limit| limit as f32),
            absorbing: model.absorbing.as_ref().map_or_else(Vec::new, |absorbing| absorbing.regions.clone()),
            known: model.known_kernel().map(|known| known.cloned().unwrap_or_default()).map_err(|error| {
                Error::setting("world", "a formula", format!("in it, {error}"), "correct the formula, then fit again")
            })?,
            actuators: model.actuators.clone(),
            width,
        })
    }

    #[inline(always)]
    fn advance_all<S: Simd, A: Arithmetic, const CAPACITY: usize>(
        &self,
        simd: S,
        mut columns: Columns<'_>,
        given: &[f32],
    ) {
        let width = S::f32s::LEN;
        let live = columns.live;
        // Groups of two vectors, unless one does for what is left at the end.
        let rest = live % (2 * width);
        let paired = if rest > width { live } else { live - rest };
        self.advance_groups::<S, A, CAPACITY, 2>(simd, &mut columns, given, 0, paired);
        self.advance_groups::<S, A, CAPACITY, 1>(simd, &mut columns, given, paired, live);
    }

    /// Advances the lanes from `begin` up to `end`, in groups of so many vectors.
    #[inline(always)]
    fn advance_groups<S: Simd, A: Arithmetic, const CAPACITY: usize, const VECTORS: usize>(
        &self,
        simd: S,
        columns: &mut Columns<'_>,
        given: &[f32],
        begin: usize,
        end: usize,
    ) {
        if begin >= end {
            return;
        }
        let stride = columns.stride;
        let zero = [S::f32s::splat(simd, 0.0); VECTORS];
        let mut buffers = [[zero; CAPACITY]; 2];
        // State, action, next state, all relative to the origin: what the reward depends on; its beginning is what the
        // state depends on.
        let mut inputs = [zero; CAPACITY];
        let states = &mut columns.states[..self.variables.len() * stride];
        let actions = &columns.actions[..self.action_count * stride];
        let known = self.variables.len() + self.action_count;
        for lane in (begin..end).step_by(VECTORS * S::f32s::LEN) {
            let known_columns = states.chunks_exact(stride).chain(actions.chunks_exact(stride));
            for ((input, column), &origin) in inputs.iter_mut().zip(known_columns).zip(&self.origin) {
                *input = relative::<S, VECTORS>(load::<S, VECTORS>(simd, column, lane), origin);
            }
            for (variable, (kernel, column)) in self.variables.iter().zip(states.chunks_exact_mut(stride)).enumerate() {
                let mut next = load::<S, VECTORS>(simd, column, lane);
                match self.moves[variable] {
                    Move::Predicted(beyond) => {
                        let change = kernel.evaluate::<S, A, CAPACITY, VECTORS>(simd, &inputs[..known], &mut buffers);
                        let mut more = zero;
                        if let Some(column) = beyond {
                            more = load::<S, VECTORS>(simd, &given[column * stride..], lane);
                        }
                        for ((next, change), more) in next.iter_mut().zip(change).zip(more) {
                            *next += change;
                            if beyond.is_some() {
                                *next += more;
                            }
                            if self.angles[variable] {
                                *next = wrap::<S, A>(simd, *next);
                            }
                        }
                    }
                    Move::Given(column) => next = load::<S, VECTORS>(simd, &given[column * stride..], lane),
                    Move::Held => {}
                    Move::Error { state, set_point } => {
                        let wanted = relative::<S, VECTORS>(inputs[known + set_point], -self.origin[known + set_point]);
                        let is = relative::<S, VECTORS>(inputs[known + state], -self.origin[known + state]);
                        for ((next, wanted), is) in next.iter_mut().zip(wanted).zip(is) {
                            *next = wanted - is;
                        }
                    }
                    Move::Sum { error, limit, saturated } => {
                        let error = relative::<S, VECTORS>(inputs[known + error], -self.origin[known + error]);
                        let stops = load::<S, VECTORS>(simd, &given[saturated * stride..], lane);
                        let limit = S::f32s::splat(simd, limit);
                        for ((next, error), stops) in next.iter_mut().zip(error).zip(stops) {
                            let wanted = (*next + error).max(-limit).min(limit);
                            let grows = wanted.abs().simd_gt(next.abs()).select(stops, S::f32s::splat(simd, 0.0));
                            *next = grows.simd_gt(S::f32s::splat(simd, 0.0)).select(*next, wanted);
                        }
                    }
                }
                store::<S, VECTORS>(column, lane, next);
                inputs[known + variable] = relative::<S, VECTORS>(next, self.origin[known + variable]);
            }
            if self.known.reward.is_some() {
                continue;
            }
            let all = &inputs[..known + self.variables.len()];
            let mut reward = self.reward.evaluate::<S, A, CAPACITY, VECTORS>(simd, all, &mut buffers);
            for reward in &mut reward {
                *reward = self.limit::<S>(simd, *reward);
            }
            store::<S, VECTORS>(columns.rewards, lane, reward);
        }
    }

    /// Marks the lanes whose next state is absorbing. A few comparisons a lane, next to a thousand operations before.
    fn absorb(&self, lanes: &mut Lanes) {
        let Columns { live, stride, states, rewards, absorbed, later_rewards, .. } = lanes.columns();
        absorbed[..live].fill(0.0);
        // The first region counts, so it is written last.
        for Region { bounds, reward, later_reward } in self.absorbing.iter().rev() {
            for lane in 0..live {
                if bounds.iter().all(|bound| bound.holds(f64::from(states[bound.variable * stride + lane]))) {
                    absorbed[lane] = 1.0;
                    rewards[lane] = *reward as f32;
                    later_rewards[lane] = *later_reward as f32;
                }
            }
        }
    }

    /// Keeps a reward within what the data showed; a state that is NaN earns the worst.
    #[inline(always)]
    fn limit<S: Simd>(&self, simd: S, reward: S::f32s) -> S::f32s {
        let [low, high] = self.reward_limits;
        let (low, high) = (S::f32s::splat(simd, low), S::f32s::splat(simd, high));
        let reward = reward.simd_gt(low).select(reward, low);
        reward.simd_lt(high).select(reward, high)
    }
}

/// A group of lanes less a number. (A loop, because the standard library's `map` would not inline into a kernel.)
#[inline(always)]
fn relative<S: Simd, const VECTORS: usize>(mut group: Group<S, VECTORS>, origin: f32) -> Group<S, VECTORS> {
    for vector in &mut group {
        *vector -= origin;
    }
    group
}

/// A group of lanes of a column.
#[inline(always)]
fn load<S: Simd, const VECTORS: usize>(simd: S, column: &[f32], lane: usize) -> Group<S, VECTORS> {
    let numbers = &column[lane..lane + VECTORS * S::f32s::LEN];
    let mut group = [S::f32s::splat(simd, 0.0); VECTORS];
    for (vector, numbers) in group.iter_mut().zip(numbers.chunks_exact(S::f32s::LEN)) {
        *vector = S::f32s::from_slice(simd, numbers);
    }
    group
}

/// Writes a group of lanes into a column.
#[inline(always)]
fn store<S: Simd, const VECTORS: usize>(column: &mut [f32], lane: usize, group: Group<S, VECTORS>) {
    let numbers = &mut column[lane..lane + VECTORS * S::f32s::LEN];
    for (numbers, vector) in numbers.chunks_exact_mut(S::f32s::LEN).zip(group) {
        vector.store_slice(numbers);
    }
}

/// An angle, moved by whole turns into [-π, π].
#[inline(always)]
fn wrap<S: Simd, A: Arithmetic>(simd: S, angle: S::f32s) -> S::f32s {
    let turns = (angle * (1.0 / std::f32::consts::TAU)).round_ties_even();
    A::mul_add::<S>(turns, S::f32s::splat(simd, -std::f32::consts::TAU), angle)
}

impl World for NetworkWorld {
    fn state_count(&self) -> usize {
        self.variables.len()
    }

    fn action_count(&self) -> usize {
        self.action_count
    }

    fn advance(&self, lanes: &mut Lanes, numerics: Numerics) {
        let mut columns = lanes.columns();
        self.actuators.iter().for_each(|actuator| actuator.apply_to(&mut columns));
        columns.scratch.clear();
        if !self.known.is_empty() {
            columns.scratch.extend_from_slice(columns.states);
        }
        let known = columns.scratch.len();
        if let Some(following) = &self.following {
            following.lay_out(&mut columns);
        }
        let scratch = std::mem::take(columns.scratch);
        let given = &scratch[known..];
        // The buffers of the usual ten neurons are cleared in no time; larger ones only where they are needed.
        if self.width <= 16 {
            dispatch_numerics!(numerics, simd, Chosen => self.advance_all::<_, Chosen, 16>(simd, columns, given));
        } else {
            dispatch_numerics!(numerics, simd, Chosen => self.advance_all::<_, Chosen, WIDEST>(simd, columns, given));
        }
        if !self.absorbing.is_empty() {
            self.absorb(lanes);
        }
        if !self.known.is_empty() {
            self.known.apply(&mut lanes.columns(), &scratch, self.reward_limits);
        }
        // Room that is allocated serves the next step too.
        *lanes.columns().scratch = scratch;
    }

    fn largest_reward(&self) -> f64 {
        f64::from(self.reward_limits[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::absorbing::{AbsorbingModel, Bound};
    use crate::known::{KnownParts, KnownTerminal};
    use crate::model::VariableModel;
    use crate::network::{Layer, Network};
    use crate::predictor::Predictor;
    use fpsrl_base::random::{Purpose, Stream};
    use fpsrl_data::scaling::Scale;
    use fpsrl_engine::simd::Mode;

    /// A world of an angle and a position with random weights; `neurons` decides which kernel it takes.
    fn world(neurons: usize) -> WorldModel {
        let stream = Stream::new(4, Purpose::Weights);
        let part = |index: u32, inputs: usize, angle: bool| VariableModel {
            name: format!("v{index}"),
            angle,
            inputs: (0..inputs).map(|input| Scale { centre: 0.1 * input as f64, spread: 2.0 }).collect(),
            output: Scale { centre: 0.0, spread: 0.8 },
            validation_error: 0.0,
            generalisation_error: 0.0,
            depths: Vec::new(),
            predictor: Predictor::Network(Network {
                layers: [(inputs, neurons), (neurons, neurons), (neurons, 1)]
                    .iter()
                    .enumerate()
                    .map(|(layer, &(inputs, outputs))| {
                        let number = |place: usize, kind| stream.normal(8 * index + layer as u32, place as u32, kind);
                        Layer {
                            inputs,
                            outputs,
                            weights: (0..inputs * outputs).map(|w| number(w, 0) / (inputs as f64).sqrt()).collect(),
                            biases: (0..outputs).map(|bias| number(bias, 1)).collect(),
                        }
                    })
                    .collect(),
            }),
        };
        WorldModel {
            format: 1,
            states: vec!["theta".into(), "rho".into()],
            actions: vec!["force".into()],
            variables: vec![part(0, 3, true), part(1, 3, false)],
            reward: part(2, 5, false),
            reward_limits: [-0.2, 0.1],
            absorbing: None,
            known: None,
            actuators: Vec::new(),
            saturations: Vec::new(),
            replay: None,
        }
    }

    #[test]
    fn lanes_step_like_the_model_in_f64_at_every_level() {
        let stream = Stream::new(5, Purpose::LogStart);
        let mut limited = 0;
        for neurons in [10, 30] {
            let model = world(neurons);
            let lanes_world = NetworkWorld::new(&model).unwrap();
            for numerics in [Mode::Fast, Mode::Reproducible].into_iter().flat_map(Numerics::every) {
                // Forty-five lanes leave the last group of every width half empty.
                let mut lanes = Lanes::new(2, 1, 45);
                lanes.set_live(45);
                for lane in 0..45 {
                    // Angles up to ±π, so that steps cross the seam.
                    lanes.state_mut(0)[lane] = stream.within(-3.1, 3.1, 0, lane as u32, 0) as f32;
                    lanes.state_mut(1)[lane] = stream.within(-4.0, 4.0, 0, lane as u32, 1) as f32;
                    lanes.action_mut(0)[lane] = stream.within(-2.0, 2.0, 0, lane as u32, 2) as f32;
                }
                let before = lanes.clone();
                lanes_world.advance(&mut lanes, numerics);
                for lane in 0..45 {
                    let state = [0, 1].map(|variable| f64::from(before.state(variable)[lane]));
                    let (next, reward) = model.step(&state, &[f64::from(before.action(0)[lane])]);
                    let turn = fpsrl_engine::angle::wrap_angle(f64::from(lanes.state(0)[lane]) - next[0]);
                    assert!(
                        turn.abs() < 1e-4 && lanes.state(0)[lane].abs() <= std::f32::consts::PI + 1e-6,
                        "{numerics}: {turn}"
                    );
                    assert!((f64::from(lanes.state(1)[lane]) - next[1]).abs() < 1e-4);
                    assert!((f64::from(lanes.rewards()[lane]) - reward).abs() < 1e-4);
                    limited += usize::from(reward == -0.2 || reward == 0.1);
                }
            }
        }
        assert!(limited > 0, "the limits of the reward were not put to the test");
    }

    #[test]
    fn known_parts_hold_on_lanes_as_in_f64() {
        let mut model = world(10);
        model.reward_limits = [-9.0, 9.0];
        model.known = KnownParts::new(
            Some("next_rho - 2 * previous_rho + 0.1 * force - abs(theta)".into()),
            Some(KnownTerminal { condition: "rho > 1.5".into(), reward: 5.0, later_reward: -0.25 }),
            None,
        );
        (model.variables[0].name, model.variables[1].name) = ("theta".into(), "rho".into());
        assert_eq!(model.validate(), Ok(()));
        let lanes_world = NetworkWorld::new(&model).unwrap();
        let mut lanes = Lanes::new(2, 1, 40);
        lanes.set_live(40);
        for lane in 0..40 {
            lanes.state_mut(0)[lane] = 0.05 * lane as f32 - 1.0;
            lanes.state_mut(1)[lane] = 0.1 * lane as f32 - 1.0;
            lanes.action_mut(0)[lane] = 2.0 - 0.1 * lane as f32;
        }
        let before = lanes.clone();
        lanes_world.advance(&mut lanes, Numerics::detect(Mode::Fast));
        let mut absorbed = 0;
        for lane in 0..40 {
            let state = [0, 1].map(|variable| f64::from(before.state(variable)[lane]));
            let action = [f64::from(before.action(0)[lane])];
            let (next, reward) = model.step(&state, &action);
            assert!((f64::from(lanes.rewards()[lane]) - reward).abs() < 1e-4, "{} {reward}", lanes.rewards()[lane]);
            let ends = model.absorbed(&state, &action, &next);
            assert_eq!(lanes.absorbed()[lane] != 0.0, ends.is_some());
            absorbed += usize::from(ends.is_some());
            if ends.is_some() {
                assert_eq!(lanes.later_rewards()[lane], -0.25);
            }
        }
        assert!((3..37).contains(&absorbed), "{absorbed}");
        model.known = KnownParts::new(Some("rho +".into()), None, None);
        assert!(model.validate().unwrap_err().contains("character 6"));
    }

    #[test]
    fn lanes_are_absorbed_where_the_model_says() {
        let mut model = world(10);
        let bound = |above: bool, at: f64| Bound { variable: 1, above, at };
        let region = |bounds: Vec<Bound>, reward: f64| Region { bounds, reward, later_reward: 0.5 * reward };
        model.absorbing = Some(AbsorbingModel {
            regions: vec![region(vec![bound(true, 2.0)], -0.1), region(vec![bound(true, 1.0)], 0.05)],
            generalisation_error: 0.0,
        });
        let lanes_world = NetworkWorld::new(&model).unwrap();
        let mut lanes = Lanes::new(2, 1, 40);
        lanes.set_live(40);
        (0..40).for_each(|lane| lanes.state_mut(1)[lane] = 0.1 * lane as f32);
        lanes_world.advance(&mut lanes, Numerics::detect(Mode::Fast));
        let mut kinds = [0; 3];
        for lane in 0..40 {
            let next = [f64::from(lanes.state(0)[lane]), f64::from(lanes.state(1)[lane])];
            let region = model.region(&next);
            assert_eq!(lanes.absorbed()[lane] != 0.0, region.is_some());
            if let Some(region) = region {
                assert_eq!(lanes.rewards()[lane], region.reward as f32);
                assert_eq!(lanes.later_rewards()[lane], region.later_reward as f32);
            }
            kinds[region.map_or(0, |region| if region.reward < 0.0 { 1 } else { 2 })] += 1;
        }
        assert!(kinds.iter().all(|count| *count > 3), "{kinds:?}");
    }

    #[test]
    fn a_state_that_is_no_number_earns_the_worst_reward() {
        let lanes_world = NetworkWorld::new(&world(10)).unwrap();
        for numerics in Numerics::every(Mode::Fast) {
            let mut lanes = Lanes::new(2, 1, 1);
            lanes.set_live(1);
            lanes.state_mut(1)[0] = f32::NAN;
            lanes_world.advance(&mut lanes, numerics);
            assert_eq!(lanes.rewards(), [-0.2]);
        }
    }

    #[test]
    fn a_network_too_wide_for_the_kernel_is_refused() {
        let error = NetworkWorld::new(&world(WIDEST + 1)).unwrap_err();
        assert!(error.to_string().contains("world.neurons"), "{error}");
    }
}
