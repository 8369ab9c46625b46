//! The space that a swarm searches: rule parameters as a flat vector with bounds (equation 3 of the paper).
//!
//! The vector holds, action by action, the centres, widths and output of each rule and the action's α. Of mirrored
//! rules only one half is in the vector; the other half follows from it.

use fpsrl_engine::policy::{ANYWHERE, ActionRules, Condition, Derived, FuzzyPolicy, MODE_WIDTH, Quantity, Rule};

use crate::PolicySettings;
use fpsrl_data::System;
use fpsrl_data::Transitions;
use fpsrl_data::system::{Lagged, StateVariable};

/// The share of the data on either side that does not count for the bounds of centres.
const TAIL: f64 = 0.005;

/// The lowest α on a logarithmic scale, relative to the highest, where the bounds reach down to 0.
const LEAST_ALPHA: f64 = 1e-3;

/// The parameters of a fuzzy policy with their bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSpace {
    template: FuzzyPolicy,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Whether widths and α stand in the vector as their logarithms.
    logarithmic: bool,
    /// Conditions that no policy of the space has, of the rules that are in the vector.
    absent: Vec<Condition>,
    /// Which parameters of the whole space are in the vector, if some are not.
    kept: Option<Vec<usize>>,
    /// Whether the rules of an action have the same widths, which stand in the vector once.
    shared: bool,
    /// How centres stand in the vector, for each variable; none if they stand there themselves.
    slopes: Option<Vec<Slope>>,
}

/// How a rule's centre stands in the vector as a slope: the centre, counted from the middle of its bounds, divided by the
/// squared width. That is what decides between two rules of equal width, whose memberships' logarithms differ by a straight
/// line with just this slope.
///
/// A place on the scale goes from -1 to 1. Most of the scale is for slopes that rules of middling width have, in steps
/// that are finer around 0, as those of an inverse hyperbolic sine are. The steepest slopes, of narrow rules at the
/// bounds, have the ends of the scale: few policies need them, and a search that draws them often finds little.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slope {
    bounds: [f64; 2],
    /// The largest slope before the ends of the scale.
    usual: f64,
    /// The largest slope: a centre on its bound with the narrowest width.
    largest: f64,
}

/// The argument of the hyperbolic sine where the ends of the scale begin: how much finer steps are around 0 than there.
const FINENESS: f64 = 4.0;

/// Usual slopes are no steeper than so many times that of a rule on its bound whose width is in the middle of the logarithms.
const STEEP: f64 = 3.0;

/// Where the ends of the scale begin, if there are any.
const USUAL: f64 = 0.9;

impl Slope {
    fn new(bounds: [f64; 2], [narrowest, widest]: [f64; 2]) -> Self {
        let half = 0.5 * (bounds[1] - bounds[0]);
        let largest = half / (narrowest * narrowest);
        Self { bounds, usual: (STEEP * half / (narrowest * widest)).min(largest), largest }
    }

    /// Where the ends of the scale begin: where all slopes are usual, there are none.
    fn usual_until(&self) -> f64 {
        if self.usual < self.largest { USUAL } else { 1.0 }
    }

    fn middle(&self) -> f64 {
        0.5 * (self.bounds[0] + self.bounds[1])
    }

    /// The slope at a place.
    fn at(&self, place: f64) -> f64 {
        let (along, ends) = (place.abs(), self.usual_until());
        let size = match along <= ends {
            true => self.usual * (FINENESS * along / ends).sinh() / FINENESS.sinh(),
            // In equal ratios from the usual to the largest.
            false => self.usual * (self.largest / self.usual).powf((along - ends) / (1.0 - ends)),
        };
        size.copysign(place)
    }

    /// The centre of a rule of this width at a place from -1 to 1.
    fn centre(&self, place: f64, width: f64) -> f64 {
        (self.middle() + self.at(place) * width * width).max(self.bounds[0]).min(self.bounds[1])
    }

    /// The place of a centre.
    fn place(&self, centre: f64, width: f64) -> f64 {
        let slope = (centre - self.middle()) / (width * width);
        let (size, ends) = (slope.abs(), self.usual_until());
        let along = match size <= self.usual || ends == 1.0 {
            true => ends * (size / self.usual * FINENESS.sinh()).asinh() / FINENESS,
            false => ends + (1.0 - ends) * (size / self.usual).ln() / (self.largest / self.usual).ln(),
        };
        along.copysign(slope)
    }
}

impl RuleSpace {
    /// The space of a problem's policies. Bounds that the problem leaves open come from the data: centres lie between
    /// the quantiles at ½ % and 99½ % of each variable, widths between 0.05 and 2 times that range.
    pub fn new(system: &System, settings: &PolicySettings, transitions: &Transitions) -> Self {
        let limits: Vec<([f64; 2], [f64; 2])> = system
            .policy_states()
            .iter()
            .enumerate()
            .map(|(variable, state)| {
                if !state.values().is_empty() {
                    return (MODE_PLACE, MODE_LOOK);
                }
                let centre = state.centre.unwrap_or_else(|| {
                    let range = match sum_limit(system, state) {
                        Some(limit) => [-limit, limit],
                        None => robust_range(&transitions.states[variable]),
                    };
                    let is_error = matches!(state.lag.map(|lag| lag.of), Some(Lagged::Error(_)));
                    if settings.mirrored || is_error { symmetric(range) } else { range }
                });
                let span = centre[1] - centre[0];
                (centre, state.width.unwrap_or([0.05 * span, 2.0 * span]))
            })
            .collect();
        let searched = searched_rules(settings);
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for _ in system.actions() {
            for _ in 0..searched {
                let bounds = limits.iter().map(|(centre, _)| *centre).chain(limits.iter().map(|(_, width)| *width));
                for [from, to] in bounds.chain([[-1.0, 1.0]]) {
                    low.push(from);
                    high.push(to);
                }
            }
            low.push(settings.alpha[0]);
            high.push(settings.alpha[1]);
        }
        let blank = Rule { centre: vec![0.0; limits.len()], width: vec![1.0; limits.len()], output: 0.0 };
        let template = FuzzyPolicy {
            states: system
                .policy_states()
                .iter()
                .map(|state| Quantity {
                    name: state.name.clone(),
                    unit: state.unit.clone(),
                    periodic: settings.is_periodic(state),
                    values: state.values().to_vec(),
                    derived: derived(system, state),
                })
                .collect(),
            mirrored: settings.mirrored,
            actions: system
                .actions()
                .iter()
                .map(|action| ActionRules {
                    name: action.name.clone(),
                    unit: action.unit.clone(),
                    limits: action.limits,
                    rate: action.rate,
                    reach: settings.reach,
                    alpha: 1.0,
                    rules: vec![blank.clone(); settings.rules],
                })
                .collect(),
        };
        Self { template, low, high, logarithmic: false, absent: Vec::new(), kept: None, shared: false, slopes: None }
    }

    /// The same policies with widths and α on a logarithmic scale, where equal steps change what they do equally much: at
    /// the narrow end of a linear one, a step of a hundredth of the range is the difference between two rules. The
    /// lowest α is a thousandth of the highest, where bounds allow 0 or less.
    pub fn on_a_log_scale(mut self) -> Self {
        if self.logarithmic {
            return self;
        }
        for index in 0..self.low.len() {
            if self.is_scale(self.kept.as_ref().map_or(index, |kept| kept[index])) {
                let high = self.high[index].max(f64::MIN_POSITIVE);
                let low = if self.low[index] > 0.0 { self.low[index] } else { LEAST_ALPHA * high };
                (self.low[index], self.high[index]) = (low.min(high).ln(), high.ln());
            }
        }
        self.logarithmic = true;
        self
    }

    /// The same policies with centres as slopes, besides widths and α on a logarithmic scale.
    pub fn on_slopes(self) -> Self {
        let mut space = self.on_a_log_scale();
        let states = space.template.states.len();
        if space.slopes.is_some() || space.low.is_empty() {
            return space;
        }
        let slope = |variable: usize| {
            let bounds = [space.low[variable], space.high[variable]];
            Slope::new(bounds, [space.low[states + variable].exp(), space.high[states + variable].exp()])
        };
        let slopes: Vec<Slope> = (0..states).map(slope).collect();
        for index in 0..space.low.len() {
            if space.is_centre(index) {
                (space.low[index], space.high[index]) = (-1.0, 1.0);
            }
        }
        space.slopes = Some(slopes);
        space
    }

    /// Whether a parameter of the whole space is the centre of a quantity.
    fn is_centre(&self, index: usize) -> bool {
        let states = self.template.states.len();
        let action = self.parameters() / self.template.actions.len();
        let within = index % action;
        let variable = within % (2 * states + 1);
        within != action - 1 && variable < states && self.template.states[variable].values.is_empty()
    }

    /// The same policies, of which only those whose rules have the same widths in all rules of an action: each action then changes
    /// in one direction along every input, however far a state is from what was searched on.
    pub fn with_shared_widths(mut self) -> Self {
        self.shared = true;
        self.without(&[])
    }

    /// The parameter of the whole space that a parameter takes its value from: of widths that are shared, that of the first rule.
    fn first_width(&self, index: usize) -> usize {
        let states = self.template.states.len();
        let action = self.parameters() / self.template.actions.len();
        let within = index % action;
        let place = within % (2 * states + 1);
        let is_width = within != action - 1 && (states..2 * states).contains(&place);
        match self.shared && is_width && self.template.states[place - states].values.is_empty() {
            true => index - within + place,
            false => index,
        }
    }

    /// The space of the policies whose rules look only at what a system lets them see.
    pub fn seen(self, system: &System) -> Self {
        let unseen: Vec<usize> =
            (0..self.template.states.len()).filter(|variable| !system.is_seen(*variable)).collect();
        if unseen.is_empty() {
            return self;
        }
        let mut absent = Vec::new();
        for (action, base) in self.template.actions.iter().enumerate() {
            let searched = if self.template.mirrored { base.rules.len() / 2 } else { base.rules.len() };
            for rule in 0..searched {
                absent.extend(unseen.iter().map(|&variable| Condition { action, rule, variable }));
            }
        }
        self.without(&absent)
    }

    /// The space of the policies without some conditions, whose centres and widths are not in the vector any more. Of
    /// mirrored rules, those of the first half are named.
    pub fn without(&self, absent: &[Condition]) -> Self {
        let states = self.template.states.len();
        let rule = 2 * states + 1;
        let action = self.parameters() / self.template.actions.len();
        let mut all = self.absent.clone();
        all.extend(absent.iter().filter(|one| !self.absent.contains(one)));
        let gone: Vec<usize> = all
            .iter()
            .flat_map(|one| {
                let first = one.action * action + one.rule * rule + one.variable;
                [first, first + states]
            })
            .collect();
        let kept: Vec<usize> = (0..self.parameters())
            .filter(|index| !gone.contains(index) && self.first_width(*index) == *index)
            .collect();
        let present = |index: &usize| match &self.kept {
            None => *index,
            // What is kept now was kept before.
            Some(before) => before.binary_search(index).unwrap_or(0),
        };
        Self {
            template: self.template.clone(),
            low: kept.iter().map(|index| self.low[present(index)]).collect(),
            high: kept.iter().map(|index| self.high[present(index)]).collect(),
            logarithmic: self.logarithmic,
            absent: all,
            kept: Some(kept),
            shared: self.shared,
            slopes: self.slopes.clone(),
        }
    }

    /// How many parameters the whole space has.
    fn parameters(&self) -> usize {
        let states = self.template.states.len();
        let rules = |action: &ActionRules| match self.template.mirrored {
            true => action.rules.len() / 2,
            false => action.rules.len(),
        };
        self.template.actions.iter().map(|action| (2 * states + 1) * rules(action) + 1).sum()
    }

    /// Whether a parameter of the whole space is a width or an α.
    fn is_scale(&self, index: usize) -> bool {
        let states = self.template.states.len();
        let action = self.parameters() / self.template.actions.len();
        let within = index % action;
        let place = within % (2 * states + 1);
        let of_a_quantity = |variable: usize| self.template.states[variable].values.is_empty();
        within == action - 1 || ((states..2 * states).contains(&place) && of_a_quantity(place - states))
    }

    /// How many parameters the policies of a problem have: (2 D + 1) · C + 1 for each action, of mirrored rules one half.
    pub fn parameter_count(system: &System, settings: &PolicySettings) -> usize {
        let seen = (0..system.policy_states().len()).filter(|variable| system.is_seen(*variable)).count();
        system.actions().len() * ((2 * seen + 1) * searched_rules(settings) + 1)
    }

    /// The lowest value of each parameter.
    pub fn low(&self) -> &[f64] {
        &self.low
    }

    /// The highest value of each parameter.
    pub fn high(&self) -> &[f64] {
        &self.high
    }

    /// A policy of this space to be filled by [`RuleSpace::decode_into`].
    pub fn blank(&self) -> FuzzyPolicy {
        self.template.clone()
    }

    /// The policy at a position of the space.
    pub fn decode(&self, position: &[f64]) -> FuzzyPolicy {
        let mut policy = self.blank();
        self.decode_into(position, &mut policy);
        policy
    }

    /// The position of a policy, or the nearest within the bounds; none if the policy is not of this space's form. How angles
    /// are measured is the space's affair: a policy that does it otherwise is taken by its numbers.
    pub fn encode(&self, policy: &FuzzyPolicy) -> Option<Vec<f64>> {
        let same =
            |own: &ActionRules, other: &ActionRules| own.name == other.name && own.rules.len() == other.rules.len();
        let fits = policy.states.len() == self.template.states.len()
            && policy.mirrored == self.template.mirrored
            && policy.actions.len() == self.template.actions.len()
            && self.template.actions.iter().zip(&policy.actions).all(|(own, other)| same(own, other));
        if !fits {
            return None;
        }
        let mut position = Vec::with_capacity(self.low.len());
        for action in &policy.actions {
            let searched = if policy.mirrored { action.rules.len() / 2 } else { action.rules.len() };
            for rule in &action.rules[..searched] {
                let modes = self.template.states.iter().map(|state| state.values.len());
                let each = rule.centre.iter().zip(&rule.width).zip(modes).enumerate();
                for (variable, ((centre, width), modes)) in each {
                    position.push(match &self.slopes {
                        _ if modes > 0 => mode_place(*centre, *width, modes),
                        None => *centre,
                        Some(slopes) => slopes[variable].place(*centre, *width),
                    });
                }
                let looks = |(width, state): (&f64, &Quantity)| match state.values.is_empty() {
                    true => *width,
                    false if *width >= ANYWHERE => 0.75,
                    false => 0.25,
                };
                position.extend(rule.width.iter().zip(&self.template.states).map(looks));
                position.push(rule.output);
            }
            position.push(action.alpha);
        }
        if self.logarithmic {
            for (_, value) in position.iter_mut().enumerate().filter(|(index, _)| self.is_scale(*index)) {
                // A bound takes what has no logarithm.
                *value = if *value > 0.0 { value.ln() } else { f64::MIN };
            }
        }
        if let Some(kept) = &self.kept {
            position = kept.iter().map(|index| position[*index]).collect();
        }
        let bounds = self.low.iter().zip(&self.high);
        Some(position.into_iter().zip(bounds).map(|(value, (low, high))| value.max(*low).min(*high)).collect())
    }

    /// Writes the policy at a position over another policy of this space; of a whole space without allocating.
    pub fn decode_into(&self, position: &[f64], policy: &mut FuzzyPolicy) {
        let Some(kept) = &self.kept else { return self.decode_whole(position, policy) };
        let mut whole = vec![0.0; self.parameters()];
        for (index, value) in kept.iter().zip(position) {
            whole[*index] = *value;
        }
        if self.shared {
            for index in 0..whole.len() {
                whole[index] = whole[self.first_width(index)];
            }
        }
        self.decode_whole(&whole, policy);
        for one in &self.absent {
            policy.take_away(*one);
            let half = policy.actions[one.action].rules.len() / 2;
            if policy.mirrored {
                policy.take_away(Condition { rule: one.rule + half, ..*one });
            }
        }
    }

    fn decode_whole(&self, position: &[f64], policy: &mut FuzzyPolicy) {
        let states = policy.states.len();
        let mirrored = policy.mirrored;
        let mut rest = position;
        for action in &mut policy.actions {
            let searched = if mirrored { action.rules.len() / 2 } else { action.rules.len() };
            let (first, second) = action.rules.split_at_mut(searched);
            for (index, rule) in first.iter_mut().enumerate() {
                let (numbers, after) = rest.split_at(2 * states + 1);
                rest = after;
                rule.centre.copy_from_slice(&numbers[..states]);
                rule.width.copy_from_slice(&numbers[states..2 * states]);
                rule.output = numbers[2 * states];
                for (variable, state) in policy.states.iter().enumerate() {
                    let (centre, width) = (&mut rule.centre[variable], &mut rule.width[variable]);
                    if !state.values.is_empty() {
                        (*centre, *width) = mode(*centre, *width, state.values.len());
                        continue;
                    }
                    if self.logarithmic {
                        *width = width.exp();
                    }
                    if let Some(slopes) = &self.slopes {
                        *centre = slopes[variable].centre(*centre, *width);
                    }
                }
                if let Some(mirror) = second.get_mut(index) {
                    for (to, from) in mirror.centre.iter_mut().zip(&rule.centre) {
                        *to = -from;
                    }
                    mirror.width.copy_from_slice(&rule.width);
                    mirror.output = -rule.output;
                }
            }
            action.alpha = if self.logarithmic { rest[0].exp() } else { rest[0] };
            rest = &rest[1..];
        }
    }
}

/// Where the mode of a rule stands in the vector, and whether the rule looks at it: in the lower half it does.
const MODE_PLACE: [f64; 2] = [-1.0, 1.0];
const MODE_LOOK: [f64; 2] = [0.0, 1.0];

/// The mode at a place, as centre and width.
fn mode(place: f64, look: f64, modes: usize) -> (f64, f64) {
    if look > 0.5 {
        return (0.0, ANYWHERE);
    }
    let number = (0.5 * (place + 1.0) * modes as f64).floor();
    (number.clamp(0.0, modes as f64 - 1.0), MODE_WIDTH)
}

/// The place of a mode.
fn mode_place(centre: f64, width: f64, modes: usize) -> f64 {
    if width >= ANYWHERE { 0.0 } else { 2.0 * (centre + 0.5) / modes as f64 - 1.0 }
}

/// How far the running sum may go that a variable is, if it is one.
fn sum_limit(system: &System, state: &StateVariable) -> Option<f64> {
    match state.lag?.of {
        Lagged::Sum(of) => system.states()[of].tracks?.limit,
        _ => None,
    }
}

/// What a controller computes a variable from, if it does.
fn derived(system: &System, state: &StateVariable) -> Option<Derived> {
    match state.lag?.from {
        fpsrl_data::system::Carried::Error { state, set_point } => Some(Derived::Error { state, set_point }),
        fpsrl_data::system::Carried::Sum { error } => Some(Derived::Sum { error, limit: sum_limit(system, state)? }),
        _ => None,
    }
}

/// Rules of an action that are in the vector.
fn searched_rules(settings: &PolicySettings) -> usize {
    if settings.mirrored { settings.rules / 2 } else { settings.rules }
}

/// The range between two outer quantiles; never empty.
fn robust_range(values: &[f64]) -> [f64; 2] {
    if values.is_empty() {
        return [-1.0, 1.0];
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let [low, high] = [at(TAIL), at(1.0 - TAIL)];
    if high > low {
        [low, high]
    } else {
        // A variable that never moves: any centre does.
        let margin = low.abs().max(1.0);
        [low - margin, high + margin]
    }
}

/// The smallest range around 0 that holds a range.
fn symmetric([low, high]: [f64; 2]) -> [f64; 2] {
    let largest = low.abs().max(high.abs());
    [-largest, largest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_have_as_many_parameters_as_the_paper_says() {
        for (name, count) in [("mountain-car", 11), ("cart-pole-balancing", 10), ("cart-pole-swing-up", 19)] {
            let system = System::benchmark(name).unwrap();
            let settings = PolicySettings::for_plant(system.plant());
            assert_eq!(RuleSpace::parameter_count(&system, &settings), count);
            let transitions = Transitions {
                states: vec![vec![-1.0, 1.0]; system.states().len()],
                ..Transitions::new(system.states().len(), 1)
            };
            assert_eq!(RuleSpace::new(&system, &settings, &transitions).low().len(), count);
        }
    }

    #[test]
    fn mirrored_rules_act_oppositely_in_opposite_states() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let settings = PolicySettings::for_plant(system.plant());
        let space = RuleSpace::new(&system, &settings, &Transitions::new(4, 1));
        let stream = fpsrl_base::random::Stream::new(1, fpsrl_base::random::Purpose::SwarmStart);
        let position: Vec<f64> =
            (0..19).map(|index| stream.within(space.low()[index], space.high()[index], 0, 0, index as u32)).collect();
        let policy = space.decode(&position);
        assert_eq!(policy.actions[0].rules[2], policy.actions[0].rules[0].mirror());
        assert_eq!(space.encode(&policy), Some(position));
        let state = [0.3, -2.0, 1.0, 0.5];
        let there = policy.act(&state)[0];
        let back = policy.act(&state.map(|value| -value))[0];
        assert!((there + back).abs() < 1e-9 && there != 0.0, "{there} {back}");
    }

    #[test]
    fn on_a_log_scale_the_same_policies_are_reached_and_read_back() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let settings = PolicySettings::for_plant(system.plant());
        let linear = RuleSpace::new(&system, &settings, &Transitions::new(4, 1));
        let space = linear.clone().on_a_log_scale();
        let middle = |space: &RuleSpace| -> Vec<f64> {
            space.low().iter().zip(space.high()).map(|(low, high)| 0.5 * (low + high)).collect()
        };
        let policy = space.decode(&middle(&space));
        let rule = &policy.actions[0].rules[0];
        // Widths of the angle lie between 0.2 and 4: in the middle of the logarithms is the geometric mean.
        assert!((rule.width[0] - (0.2f64 * 4.0).sqrt()).abs() < 1e-12 && rule.centre[0] == 0.0);
        let there = linear.encode(&policy).unwrap();
        assert_eq!(linear.decode(&there), policy);
        let back = space.encode(&policy).unwrap();
        assert!(back.iter().zip(middle(&space)).all(|(a, b)| (a - b).abs() < 1e-12));
        let lowest = space.decode(space.low());
        assert!((lowest.actions[0].alpha - 0.02).abs() < 1e-12 && lowest.fault().is_none());
    }

    #[test]
    fn every_centre_within_its_bounds_has_a_place_among_the_slopes_and_places_stand_in_order() {
        for widths in [[0.2, 10.0], [1.0, 2.0], [0.5, 0.5]] {
            let slope = Slope::new([-3.0, 7.0], widths);
            for share in 0..=20 {
                let width = widths[0] * (widths[1] / widths[0]).powf(f64::from(share) / 20.0);
                for step in 0..=100 {
                    let centre = -3.0 + f64::from(step) / 10.0;
                    let place = slope.place(centre, width);
                    assert!(place.abs() <= 1.0 + 1e-12, "{centre} {width} {place}");
                    assert!((slope.centre(place, width) - centre).abs() < 1e-9, "{centre} {width} {place}");
                }
            }
            let slopes: Vec<f64> = (-100..=100).map(|place| slope.at(f64::from(place) / 100.0)).collect();
            assert!(slopes.windows(2).all(|pair| pair[1] > pair[0]), "{widths:?}");
            assert!((slopes[200] - slope.largest).abs() < 1e-9 * slope.largest && slopes[100] == 0.0);
        }
    }

    #[test]
    fn a_space_without_some_conditions_has_fewer_parameters_and_only_policies_without_them() {
        let system = System::benchmark("cart-pole-swing-up").unwrap();
        let settings = PolicySettings::for_plant(system.plant());
        let whole = RuleSpace::new(&system, &settings, &Transitions::new(4, 1)).on_a_log_scale();
        let condition = |rule, variable| Condition { action: 0, rule, variable };
        let space = whole.without(&[condition(0, 2)]).without(&[condition(1, 0), condition(1, 3)]);
        assert_eq!(space.low().len(), whole.low().len() - 6);
        let position: Vec<f64> =
            space.low().iter().zip(space.high()).map(|(low, high)| 0.3 * low + 0.7 * high).collect();
        let policy = space.decode(&position);
        let rules = &policy.actions[0].rules;
        for (rule, variable) in [(0, 2), (2, 2), (1, 0), (3, 0), (1, 3), (3, 3)] {
            assert!(rules[rule].ignores(variable), "{rule} {variable}");
        }
        assert_eq!((policy.conditions().len(), policy.fault()), (10, None));
        let back = space.encode(&policy).unwrap();
        assert!(back.iter().zip(&position).all(|(a, b)| (a - b).abs() < 1e-12));
        // What is there is what the whole space has at the same place.
        let same: Vec<f64> = whole.low().iter().zip(whole.high()).map(|(low, high)| 0.3 * low + 0.7 * high).collect();
        let all = whole.decode(&same);
        assert_eq!(rules[0].width[0], all.actions[0].rules[0].width[0]);
        assert_eq!(policy.actions[0].alpha, all.actions[0].alpha);
    }

    #[test]
    fn outliers_do_not_move_the_bounds() {
        let mut values: Vec<f64> = (0..1_000).map(|index| f64::from(index) / 999.0).collect();
        values[0] = -1e9;
        values[999] = 1e9;
        let [low, high] = robust_range(&values);
        assert!((0.0..0.01).contains(&low) && (0.99..1.0).contains(&high));
    }

    #[test]
    fn a_constant_variable_still_has_a_range() {
        assert_eq!(robust_range(&[5.0; 10]), [0.0, 10.0]);
        assert_eq!(robust_range(&[0.0; 10]), [-1.0, 1.0]);
    }

    /// A level under a set-point and a mode.
    fn tracking() -> (System, Transitions) {
        let text = "name = 'tank'\nhorizon = 40\n[[state]]\nname = 'level'\ntracks = 'SP'\nintegral = true\n\
                    integral_limit = 9.0\n[[input]]\nname = 'SP'\n[[input]]\nname = 'Mode'\nvalues = ['A', 'B', 'C']\n\
                    [[action]]\nname = 'valve'\nlimits = [0.0, 1.0]\n";
        let around = fpsrl_data::system::Surroundings {
            history: Some(fpsrl_data::system::History::Steps(0)),
            ..Default::default()
        };
        let written = toml::from_str::<fpsrl_data::system::WrittenSystem>(text).unwrap();
        let system = written.check(&around).unwrap();
        let mut log = Transitions::new(6, 1);
        (log.inputs, log.carried) = (2, 3);
        for row in 0..100u32 {
            let values = [f64::from(row % 10), f64::from(row / 20), f64::from(row / 40), 0.0, 0.0, 0.0];
            for columns in [&mut log.states, &mut log.next_states] {
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
            log.actions[0].push(0.0);
            log.rewards.push(0.0);
            log.episode.push(0);
            log.step.push(u64::from(row));
        }
        fpsrl_data::history::derive(&system, &mut log);
        (system, log)
    }

    #[test]
    fn rules_that_track_look_at_errors_and_modes_and_share_their_widths() {
        let (system, log) = tracking();
        let settings = PolicySettings { rules: 2, grow: false, ..PolicySettings::default() };
        for space in [
            RuleSpace::new(&system, &settings, &log).with_shared_widths().seen(&system),
            RuleSpace::new(&system, &settings, &log).on_slopes().with_shared_widths().seen(&system),
        ] {
            // For each rule a mode (two numbers), a set-point, an error, a sum and an output; three widths and one slope for both.
            assert_eq!(space.low().len(), 2 * 6 + 3 + 1);
            for share in [0.1, 0.4, 0.8] {
                let position: Vec<f64> =
                    space.low().iter().zip(space.high()).map(|(low, high)| low + share * (high - low)).collect();
                let policy = space.decode(&position);
                let [one, other] = &policy.actions[0].rules[..] else { panic!("there are two rules") };
                assert_eq!(one.width[3..], other.width[3..], "widths are shared");
                assert!(one.ignores(0) && !one.ignores(1), "what is tracked is seen as its error");
                let looks = share < 0.5;
                assert_eq!(one.ignores(2), !looks);
                assert!(!looks || (one.width[2] == MODE_WIDTH && [0.0, 1.0, 2.0].contains(&one.centre[2])), "{one:?}");
                let again = space.decode(&space.encode(&policy).unwrap());
                assert!(
                    again
                        .act(&[1.0, 3.0, 1.0, 2.0, 0.5])
                        .iter()
                        .zip(policy.act(&[1.0, 3.0, 1.0, 2.0, 0.5]))
                        .all(|(a, b)| (a - b).abs() < 1e-9)
                );
                assert_eq!(policy.states[3].derived, Some(Derived::Error { state: 0, set_point: 1 }));
                assert_eq!(policy.states[4].derived, Some(Derived::Sum { error: 3, limit: 9.0 }));
            }
        }
    }
}
