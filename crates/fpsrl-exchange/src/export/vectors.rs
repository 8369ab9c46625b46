//! Test vectors: states of every kind, and what the controller does in them.

use std::f64::consts::PI;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Format;
use super::angle;
use super::controller::{Controller, Precision, Response};
use super::sequence;
use fpsrl_base::disk;
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_engine::policy::{ActionRules, Derived, FuzzyPolicy, Quantity};

/// How many states there are.
pub const COUNT: usize = 11_000;

/// The logarithm of a membership below which plain products of Gaussians lose their digits.
const LOWEST_LOG: f64 = -600.0;

/// Where a state lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Within what the data covered, half of them near a rule.
    Inside,
    /// On the edge of it in some variables, or the next number on either side.
    Edge,
    /// Outside by up to twice its extent; of angles that rules measure around the circle, perhaps inside of another turn.
    Outside,
    /// Outside by up to a thousand times its extent.
    Far,
    /// As far as inputs can be used.
    Extreme,
    /// Not a number, infinite, or too large.
    Unusable,
}

/// Every kind, with how often it occurs among 22 states.
pub const KINDS: [(Kind, &str, usize); 6] = [
    (Kind::Inside, "inside", 12),
    (Kind::Edge, "edge", 3),
    (Kind::Outside, "outside", 3),
    (Kind::Far, "far", 2),
    (Kind::Extreme, "extreme", 1),
    (Kind::Unusable, "unusable", 1),
];

/// What a tool for rules alone does with inputs outside of their ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// It takes them as they are.
    Taken,
    /// It moves them to the nearest end of the range.
    Clamped,
    /// It refuses to go on.
    Refused,
}

impl OutOfRange {
    /// What the tool for a format does.
    pub fn of(format: Format, response: Option<Response>) -> Self {
        match (format, response) {
            (Format::Fll, Some(Response::Clamp)) => Self::Clamped,
            (Format::Fis, _) => Self::Refused,
            _ => Self::Taken,
        }
    }
}

/// A state as a tool for rules alone is given it, and as it sees it.
pub(super) struct GivenState {
    pub kind: Kind,
    pub given: Vec<f64>,
    pub seen: Vec<f64>,
}

/// The states for a tool for rules alone. Angles that rules measure around the circle stay in their range, between -π and π:
/// such a tool knows no other turns, and elsewhere its straight lines are not what the policy is.
pub(super) fn states_of_rules(controller: &Controller, outside: OutOfRange) -> impl Iterator<Item = GivenState> {
    let policy = &controller.policy;
    let ranges: Vec<[f64; 2]> = ranges(controller)
        .into_iter()
        .zip(&policy.states)
        .map(|(range, quantity)| if quantity.periodic { angle::straight(range) } else { range })
        .collect();
    // Errors and sums are inputs like any other to a tool that computes neither.
    let all: Vec<usize> = (0..policy.states.len()).collect();
    (0..COUNT).map(move |index| {
        let kind = match kind_of(index) {
            Kind::Far | Kind::Extreme | Kind::Unusable => Kind::Inside,
            kind => kind,
        };
        let mut given = state(controller, &ranges, &all, kind, index as u32);
        let within: Vec<f64> =
            given.iter().zip(&ranges).map(|(value, [low, high])| value.max(*low).min(*high)).collect();
        for ((value, within), _) in
            given.iter_mut().zip(&within).zip(&policy.states).filter(|(_, state)| state.periodic)
        {
            *value = *within;
        }
        if outside == OutOfRange::Refused {
            given.clone_from(&within);
        }
        let seen = if outside == OutOfRange::Clamped { within } else { given.clone() };
        GivenState { kind, given, seen }
    })
}

/// Whether plain products of Gaussians keep enough digits in a state for a tool not to divide 0 by 0.
pub(super) fn speaks(states: &[Quantity], action: &ActionRules, state: &[f64]) -> bool {
    action.rules.iter().any(|rule| rule.log_membership(states, state) >= LOWEST_LOG)
}

/// States with what the controller does in them, one after another from its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// Where each state lies.
    pub kinds: Vec<Kind>,
    /// Before which of them the controller is reset; only one that adds up is.
    pub resets: Vec<bool>,
    /// The states.
    pub states: Vec<Vec<f64>>,
    /// The actions.
    pub actions: Vec<Vec<f64>>,
    /// Whether the flag is set.
    pub outside: Vec<bool>,
}

impl Vectors {
    /// None as yet.
    fn empty() -> Self {
        Self { kinds: Vec::new(), resets: Vec::new(), states: Vec::new(), actions: Vec::new(), outside: Vec::new() }
    }

    /// The vectors of a controller; the same for the same controller.
    pub fn new(controller: &Controller) -> Self {
        let mut vectors = Self::empty();
        let ranges = ranges(controller);
        let states = controller.policy.states.iter().enumerate();
        let measured: Vec<usize> = states.filter(|(_, one)| one.derived.is_none()).map(|(index, _)| index).collect();
        let adds_up = controller.running_sums().next().is_some();
        let mut memory = controller.begin();
        for index in 0..COUNT {
            let kind = if adds_up { sequence::kind(index, kind_of(index)) } else { kind_of(index) };
            let reset = adds_up && sequence::is_reset(controller, index, vectors.kinds.last().copied());
            if reset {
                memory = controller.begin();
            }
            let mut draw = 0;
            let (state, after, outside) = loop {
                let mut inputs = state(controller, &ranges, &measured, kind, (index + draw * COUNT) as u32);
                if adds_up {
                    let mut all = controller.spread(&inputs);
                    sequence::slow_down(controller, &ranges, index, &mut all);
                    inputs = measured.iter().map(|input| all[*input]).collect();
                }
                let mut after = memory.clone();
                let outside = controller.step(&mut after, &inputs);
                draw += 1;
                if !adds_up || draw == sequence::DRAWS || sequence::is_plain(controller, &after) {
                    break (inputs, after, outside);
                }
            };
            memory = after;
            vectors.outside.push(outside);
            vectors.actions.push(memory.last.clone());
            vectors.states.push(state);
            vectors.resets.push(reset);
            vectors.kinds.push(kind);
        }
        vectors
    }

    /// The vectors of rules alone, as a fuzzy tool runs them: no guard, no memory, and no unusable inputs. Where the tool
    /// would divide 0 by 0, the action is NaN. `outside` says what the tool does with inputs outside of their ranges.
    pub fn of_rules(controller: &Controller, outside: OutOfRange) -> Self {
        let mut vectors = Self::empty();
        let quantities = &controller.policy.states;
        for GivenState { kind, given, seen } in states_of_rules(controller, outside) {
            let act = |action: &ActionRules| match speaks(quantities, action, &seen) {
                true => action.act(quantities, &seen),
                false => f64::NAN,
            };
            vectors.actions.push(controller.policy.actions.iter().map(act).collect());
            vectors.outside.push(false);
            vectors.resets.push(false);
            vectors.states.push(given);
            vectors.kinds.push(kind);
        }
        vectors
    }

    /// Keeps the first of them.
    pub fn truncate(&mut self, count: usize) {
        self.kinds.truncate(count);
        self.resets.truncate(count);
        self.states.truncate(count);
        self.actions.truncate(count);
        self.outside.truncate(count);
    }

    /// The states, each with whether the controller is reset before it.
    pub fn steps(&self) -> impl Iterator<Item = (bool, &Vec<f64>)> {
        self.resets.iter().copied().zip(&self.states)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Writes them as CSV: `kind`, the states, the actions, `outside`; of a controller that adds up, `reset` after `kind`.
    pub fn prepare(&self, path: &Path, controller: &Controller) -> Result<files::Prepared> {
        files::prepare(path, |file| {
            let mut writer = csv::Writer::from_writer(file);
            let policy = &controller.policy;
            // Rules alone are given what the controller would compute.
            let all = self.states.first().is_some_and(|state| state.len() == policy.states.len());
            let given = policy.states.iter().filter(|state| all || state.derived.is_none());
            let names = given.map(|s| s.name.as_str()).chain(policy.actions.iter().map(|a| a.name.as_str()));
            let resets = self.resets.contains(&true);
            let first = ["kind"].into_iter().chain(resets.then_some("reset"));
            writer.write_record(first.chain(names).chain(["outside"]))?;
            for row in 0..self.len() {
                let kind = KINDS.iter().find(|(kind, ..)| *kind == self.kinds[row]).map_or("", |(_, name, _)| name);
                let numbers = self.states[row].iter().chain(&self.actions[row]).map(|number| format!("{number:?}"));
                let flag = |set: bool| u8::from(set).to_string();
                let first = [kind.to_owned()].into_iter().chain(resets.then(|| flag(self.resets[row])));
                writer.write_record(first.chain(numbers).chain([flag(self.outside[row])]))?;
            }
            writer.flush()
        })
    }

    /// Reads what [`Vectors::prepare`] wrote.
    pub fn read(path: &Path, states: usize, actions: usize) -> Result<Self> {
        let bytes = disk::read(path).map_err(|source| Error::read(path, source))?;
        let mut vectors = Self::empty();
        let refuse = |line: u64, problem: &str| Error::Malformed {
            path: path.to_owned(),
            line: Some(line),
            column: None,
            problem: problem.to_owned(),
            remedy: "export again".into(),
        };
        for (index, record) in csv::Reader::from_reader(bytes.as_slice()).records().enumerate() {
            let line = index as u64 + 2;
            let record = record.map_err(|_| refuse(line, "the row does not have as many fields as the header"))?;
            // With a column of resets there is one field more.
            let first = record.len().wrapping_sub(states + actions + 1);
            if !(1..=2).contains(&first) {
                return Err(refuse(line, "the row is for another number of states or actions"));
            }
            let numbers: Option<Vec<f64>> =
                record.iter().skip(first).take(states + actions).map(|field| field.parse().ok()).collect();
            let mut numbers = numbers.ok_or_else(|| refuse(line, "a field is not a number"))?;
            let kind = KINDS.iter().find(|(_, name, _)| *name == &record[0]).map(|(kind, ..)| *kind);
            vectors.kinds.push(kind.ok_or_else(|| refuse(line, "there is no such kind of state"))?);
            vectors.actions.push(numbers.split_off(states));
            vectors.states.push(numbers);
            vectors.resets.push(first == 2 && &record[1] == "1");
            vectors.outside.push(&record[first + states + actions] == "1");
        }
        Ok(vectors)
    }
}

/// Kinds alternate, so that what a controller remembers goes through every change from one to another.
fn kind_of(index: usize) -> Kind {
    // A step of 7 visits all 22 places.
    let mut place = index * 7 % 22;
    for (kind, _, count) in KINDS {
        if place < count {
            return kind;
        }
        place -= count;
    }
    Kind::Inside
}

/// What counts as inside: what the data covered, or what the rules speak of.
fn ranges(controller: &Controller) -> Vec<[f64; 2]> {
    if let Some(guard) = &controller.guard {
        return guard.ranges.clone();
    }
    let policy = &controller.policy;
    let mut ranges: Vec<[f64; 2]> = (0..policy.states.len())
        .map(|variable| match policy.states[variable].periodic {
            true => [-PI, PI],
            false => spoken_of(policy, variable, 1.0),
        })
        .collect();
    make_room_for_errors(policy, &mut ranges);
    let largest = controller.precision.largest_input();
    let end = |end: f64| controller.precision.round(end.clamp(-largest, largest));
    ranges.into_iter().map(|range| range.map(end)).collect()
}

/// Errors are as large as the rules speak of, though they may not look at what errors follow from.
pub(super) fn make_room_for_errors(policy: &FuzzyPolicy, ranges: &mut [[f64; 2]]) {
    let ignored = |input: usize| policy.actions.iter().flat_map(|action| &action.rules).all(|rule| rule.ignores(input));
    for (error, quantity) in policy.states.iter().enumerate() {
        let Some(Derived::Error { state, set_point }) = quantity.derived else { continue };
        let [low, high] = ranges[error];
        if ignored(state) {
            let half = 0.5 * (high - low);
            ranges[state] = [-half, half];
        }
        if ignored(set_point) {
            let middle = 0.5 * (ranges[state][0] + ranges[state][1]);
            ranges[set_point] = [middle + low, middle + high];
        }
    }
}

/// What the rules speak of: so many widths around their centres. If no rule looks at the variable, any range will do. Of a mode, it
/// is each of them.
pub(super) fn spoken_of(policy: &FuzzyPolicy, variable: usize, widths: f64) -> [f64; 2] {
    if let modes @ 1.. = policy.states[variable].values.len() {
        return [0.0, modes as f64 - 1.0];
    }
    let rules = policy.actions.iter().flat_map(|action| &action.rules).filter(|rule| !rule.ignores(variable));
    let ends = rules.map(|rule| {
        let reach = widths * rule.width[variable];
        [rule.centre[variable] - reach, rule.centre[variable] + reach]
    });
    ends.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)]).unwrap_or([-1.0, 1.0])
}

/// A state of a kind: a value for each of the inputs with these numbers.
fn state(controller: &Controller, ranges: &[[f64; 2]], inputs: &[usize], kind: Kind, index: u32) -> Vec<f64> {
    let stream = Stream::new(1, Purpose::ExportVector);
    let precision = controller.precision;
    let whole = ranges.len() as u32;
    // What concerns the state as a whole comes after what concerns its variables.
    let rules: Vec<_> = controller.policy.actions.iter().flat_map(|action| &action.rules).collect();
    let near = rules[(stream.uniform(0, index, whole) * rules.len() as f64) as usize % rules.len()];
    let is_near = index.is_multiple_of(2);
    let chosen = (stream.uniform(1, index, whole) * inputs.len() as f64) as usize % inputs.len().max(1);
    inputs
        .iter()
        .enumerate()
        .map(|(place, &variable)| {
            let [low, high] = ranges[variable];
            let [first, second] = stream.uniform_pair(2, index, variable as u32);
            let third = stream.uniform(3, index, variable as u32);
            let extent = if high > low { high - low } else { low.abs().max(1.0) };
            let side = if second < 0.5 { -1.0 } else { 1.0 };
            let [lowest, largest] = controller.usable(variable);
            let is_mode = !controller.policy.states[variable].values.is_empty();
            // Where a rule does not look at a variable, no value is nearer to it than another.
            let within = if is_near && !near.ignores(variable) {
                let near = near.centre[variable] + 1.5 * near.width[variable] * (2.0 * first - 1.0);
                let periodic = controller.policy.states[variable].periodic;
                // What reaches across ±π is inside as well.
                let near = if periodic { angle::place(near, [low, high]) } else { near };
                near.max(low).min(high)
            } else {
                low + (high - low) * first
            };
            let within = if is_mode { within.round().max(low).min(high) } else { within };
            // Some variables stay inside, but never all of them.
            let leaves = place == chosen || third < 0.5;
            let beyond = |distance: f64| if side < 0.0 { low - distance * extent } else { high + distance * extent };
            let value = match kind {
                Kind::Inside => within,
                Kind::Edge if leaves => {
                    let edge = if side < 0.0 { low } else { high };
                    match (third * 10.0) as usize % 3 {
                        0 => edge,
                        1 => next(edge, precision, true),
                        _ => next(edge, precision, false),
                    }
                }
                Kind::Outside if leaves => beyond(2.0 * first),
                Kind::Far if leaves => beyond(1e3f64.powf(first)),
                Kind::Extreme if leaves => {
                    let from = (1e3 * extent).max(1.0).min(largest);
                    (side * from * (largest / from).powf(first)).clamp(-largest, largest)
                }
                Kind::Unusable if leaves => {
                    let most = if precision == Precision::Single { f64::from(f32::MAX) } else { f64::MAX };
                    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5 * largest, -1.5 * largest, most, -most]
                        [(first * 7.0) as usize % 7]
                }
                _ => within,
            };
            let value = precision.round(value);
            if kind == Kind::Unusable { value } else { value.clamp(lowest, largest) }
        })
        .collect()
}

/// The next number above or below in a precision.
fn next(value: f64, precision: Precision, up: bool) -> f64 {
    match (precision, up) {
        (Precision::Double, true) => value.next_up(),
        (Precision::Double, false) => value.next_down(),
        (Precision::Single, true) => f64::from((value as f32).next_up()),
        (Precision::Single, false) => f64::from((value as f32).next_down()),
    }
}

/// Whether a difference in a state of this kind is held to the tolerance: in single precision, rules that are more than
/// a thousand million widths away are all the same to a controller without a guard that steps in.
pub(super) fn is_compared(kind: Kind, precision: Precision, response: Option<Response>) -> bool {
    let unguarded = matches!(response, None | Some(Response::Flag));
    !(precision == Precision::Single && kind == Kind::Extreme && unguarded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::controller::tests::{small, swinging};

    #[test]
    fn every_kind_occurs_as_often_as_it_should_and_lies_where_it_should() {
        for precision in [Precision::Double, Precision::Single] {
            let controller = small(precision, Some(Response::Clamp), None);
            let vectors = Vectors::new(&controller);
            assert!(vectors.len() >= 10_000);
            let ranges = &controller.guard.as_ref().unwrap().ranges;
            for (kind, _, share) in KINDS {
                let rows: Vec<usize> = (0..vectors.len()).filter(|row| vectors.kinds[*row] == kind).collect();
                assert_eq!(rows.len(), COUNT / 22 * share);
                let flagged = rows.iter().filter(|row| vectors.outside[**row]).count();
                match kind {
                    Kind::Inside => assert_eq!(flagged, 0),
                    Kind::Edge => assert!(flagged > rows.len() / 5 && flagged < rows.len()),
                    _ => assert_eq!(flagged, rows.len()),
                }
                let finite = rows
                    .iter()
                    .all(|row| vectors.states[*row].iter().all(|value| value.abs() <= precision.largest_input()));
                assert_eq!(finite, kind != Kind::Unusable);
            }
            assert!(
                vectors.states.iter().flatten().any(|value| *value == ranges[0][1].next_up())
                    || precision == Precision::Single
            );
            assert!(vectors.actions.iter().flatten().all(|action| (-1.0..=2.0).contains(action)));
            assert!(vectors.states.iter().flatten().all(|value| value.is_nan() || precision.round(*value) == *value));
        }
    }

    #[test]
    fn angles_lie_on_both_sides_of_half_a_turn_and_turns_away() {
        for (precision, response) in [(Precision::Double, None), (Precision::Single, Some(Response::Clamp))] {
            let vectors = Vectors::new(&swinging(precision, response, [-PI, PI]));
            let holds = |low: f64, high: f64| vectors.states.iter().any(|state| (low..high).contains(&state[0]));
            for [low, high] in [[3.0, PI], [-PI, -3.0], [3.2, 3.5], [-8.0, -6.0], [1e3, 1e4]] {
                assert!(holds(low, high), "{low} to {high}");
            }
            let usable = vectors.kinds.iter().zip(&vectors.states).filter(|(kind, _)| **kind != Kind::Unusable);
            assert!(usable.clone().all(|(_, state)| state[0].abs() <= precision.largest_angle()));
        }
        // A tool for rules alone knows no other turns.
        let rules = Vectors::of_rules(&swinging(Precision::Double, None, [0.0; 2]), OutOfRange::Taken);
        assert!(rules.states.iter().all(|state| state[0].abs() <= PI));
    }

    #[test]
    fn conditions_that_are_not_there_move_no_state_away() {
        for (precision, response) in [(Precision::Double, None), (Precision::Single, Some(Response::Clamp))] {
            let mut controller = small(precision, response, None);
            let rules = &mut controller.policy.actions[0].rules;
            rules[0].ignore(0);
            rules.iter_mut().for_each(|rule| rule.ignore(1));
            let ranges = ranges(&controller);
            let vectors = Vectors::new(&controller);
            let inside = vectors.kinds.iter().zip(&vectors.states).filter(|(kind, _)| **kind == Kind::Inside);
            let mut near_the_middle = [0; 2];
            for (variable, value) in inside.flat_map(|(_, state)| state.iter().enumerate()) {
                let [low, high] = ranges[variable];
                assert!(high - low < 3.0 && (low..=high).contains(value), "{variable}: {value}");
                near_the_middle[variable] += usize::from((value - 0.5 * (low + high)).abs() < 0.25 * (high - low));
            }
            assert!(near_the_middle.iter().all(|count| *count > 2_000), "{near_the_middle:?}");
            if response.is_none() {
                assert_eq!(ranges[1], [-1.0, 1.0]);
            }
        }
    }

    #[test]
    fn the_file_reads_back_to_the_same_bits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("v.csv");
        let controller = small(Precision::Single, None, Some(0.1));
        let vectors = Vectors::new(&controller);
        vectors.prepare(&path, &controller).unwrap().commit().unwrap();
        let back = Vectors::read(&path, 2, 1).unwrap();
        assert_eq!(format!("{back:?}"), format!("{vectors:?}"));
        assert!(Vectors::read(&path, 3, 1).is_err());
    }
}
