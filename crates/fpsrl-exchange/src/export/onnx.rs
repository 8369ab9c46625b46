//! ONNX: the whole controller as a graph, for a batch of states at once.
//!
//! Inputs are `state` (batch × measured states) and, if the controller remembers, `last` (batch × actions); outputs are `action`
//! (batch × actions) and `outside` (batch). Running sums come in as `sums` and go out as `next_sums` (batch × sums); sums that are
//! NaN have not begun. Distances are summed variable by variable in the policy's order, so that
//! they are its distances to the last bit. In single precision the graph takes and gives f32 and computes in f64.

use super::controller::{Controller, Precision};
use super::identifier;
use super::protobuf::Message;
use super::provenance::Provenance;
use super::view::head;
use super::writer::Writer;
use super::{Dialect, Generated, GeneratedFile, Names, Target, angle};
use fpsrl_base::error::Result;
use fpsrl_engine::policy::Derived;

/// The version of the operators: the oldest that has all of them, so that older runtimes read it too.
const OPERATORS: u64 = 17;
/// The version of the file format that goes with it.
const FILE_FORMAT: u64 = 8;

/// Element types.
const FLOAT: u64 = 1;
const INT64: u64 = 7;
const BOOL: u64 = 9;
const DOUBLE: u64 = 11;

/// ONNX.
pub(super) struct Onnx;

impl Writer for Onnx {
    fn name(&self) -> &'static str {
        "onnx"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "onnx"
    }

    fn knows_single(&self) -> bool {
        true
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        _: &Target,
        _: &str,
    ) -> Result<Generated> {
        generate(controller, provenance)
    }
}

fn generate(controller: &Controller, provenance: Option<&Provenance>) -> Result<Generated> {
    let policy = &controller.policy;
    let element = if controller.precision == Precision::Single { FLOAT } else { DOUBLE };
    let mut graph = Graph::default();
    let mut seen = graph.see(controller);
    let last = graph.remember(controller);
    graph.derive(controller, &mut seen, &last, element);
    let actions: Vec<String> = graph.act(controller, seen, &last);
    let all = graph.node("Concat", &refs(&actions), &[("axis", 1)]);
    graph.cast_to("action", &all, element);

    let texts = |names: Vec<&str>| names.join(", ");
    let measured: Vec<&str> = controller.measured().map(|state| state.name.as_str()).collect();
    let count = measured.len();
    let states = texts(measured);
    let action_names = texts(policy.actions.iter().map(|action| action.name.as_str()).collect());
    let mut body = graph.message;
    body = body.bytes(2, identifier::identifier(&controller.name));
    body = body.message(11, &value("state", element, &[None, Some(count)], &states));
    if controller.remembers() {
        body = body.message(11, &value("last", element, &[None, Some(policy.actions.len())], &action_names));
    }
    let sums: Vec<&str> = controller.running_sums().map(|sum| policy.states[sum.input].name.as_str()).collect();
    let sums = (!sums.is_empty()).then(|| (sums.len(), sums.join(", ")));
    if let Some((count, names)) = &sums {
        let about = format!("{names}; NaN before the first step, then next_sums of the step before");
        body = body.message(11, &value("sums", element, &[None, Some(*count)], &about));
    }
    body = body.message(12, &value("action", element, &[None, Some(policy.actions.len())], &action_names));
    body = body.message(12, &value("outside", BOOL, &[None], "outside of what the data covered, or unusable"));
    if let Some((count, names)) = &sums {
        body = body.message(12, &value("next_sums", element, &[None, Some(*count)], names));
    }

    let entry = |key: &str, value: &str| Message::default().bytes(1, key).bytes(2, value);
    let file = Message::default()
        .number(1, FILE_FORMAT)
        .bytes(2, "fpsrl")
        .bytes(3, env!("CARGO_PKG_VERSION"))
        .bytes(6, head(controller, provenance).join("\n"))
        .message(7, &body)
        .message(8, &Message::default().bytes(1, "").number(2, OPERATORS))
        .message(14, &entry("states", &states))
        .message(14, &entry("actions", &action_names));
    let names = Names {
        controller: controller.name.clone(),
        states: controller.measured().map(|state| state.name.clone()).collect(),
        actions: policy.actions.iter().map(|action| action.name.clone()).collect(),
    };
    Ok(Generated { files: vec![GeneratedFile { extension: "onnx", content: file.0 }], names, notes: Vec::new() })
}

/// What the graph knows about the state after looking at it.
struct Seen {
    /// A column of each variable, clamped if the guard clamps.
    columns: Vec<String>,
    /// A column that says where an input is unusable.
    unusable: String,
    /// A column that says where the flag is set.
    outside: String,
}

/// A graph under construction: its nodes and constants.
#[derive(Default)]
struct Graph {
    message: Message,
    count: usize,
}

impl Graph {
    /// Adds a node; returns what its output is called.
    fn node(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, i64)]) -> String {
        self.count += 1;
        let output = format!("v{}", self.count);
        self.named_node(operator, inputs, attributes, &output);
        output
    }

    fn named_node(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, i64)], output: &str) {
        let mut node = Message::default();
        for input in inputs {
            node = node.bytes(1, input);
        }
        node = node.bytes(2, output).bytes(3, format!("{operator}_{output}")).bytes(4, operator);
        for (name, value) in attributes {
            // A list of one number is a list all the same.
            let (field, kind) = if *name == "axes" { (8, 7) } else { (3, 2) };
            let attribute = Message::default().bytes(1, name).number(field, *value as u64).number(20, kind);
            node = node.message(5, &attribute);
        }
        self.message = std::mem::take(&mut self.message).message(1, &node);
    }

    fn cast_to(&mut self, output: &str, input: &str, element: u64) {
        self.named_node("Cast", &[input], &[("to", element as i64)], output);
    }

    /// Adds a constant row; returns what it is called.
    fn row(&mut self, values: &[f64]) -> String {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&[1, values.len()], DOUBLE, &data)
    }

    fn whole(&mut self, values: &[i64]) -> String {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(&[values.len()], INT64, &data)
    }

    fn constant(&mut self, dimensions: &[usize], element: u64, data: &[u8]) -> String {
        self.count += 1;
        let name = format!("c{}", self.count);
        let mut tensor = Message::default();
        for dimension in dimensions {
            tensor = tensor.number(1, *dimension as u64);
        }
        let tensor = tensor.number(2, element).bytes(8, &name).bytes(9, data);
        self.message = std::mem::take(&mut self.message).message(5, &tensor);
        name
    }

    fn column(&mut self, of: &str, index: usize) -> String {
        let index = self.whole(&[index as i64]);
        self.node("Gather", &[of, &index], &[("axis", 1)])
    }

    fn limit(&mut self, value: &str, low: &str, high: &str) -> String {
        let raised = self.node("Max", &[value, low], &[]);
        self.node("Min", &[&raised, high], &[])
    }

    /// A value less as many whole turns as an angle has, to the nearest.
    fn less_turns(&mut self, value: &str, angle: &str) -> String {
        let turn = self.row(&[std::f64::consts::TAU]);
        let turns = self.node("Div", &[angle, &turn], &[]);
        let whole = self.node("Round", &[&turns], &[]);
        let taken = self.node("Mul", &[&turn, &whole], &[]);
        self.node("Sub", &[value, &taken], &[])
    }

    fn any(&mut self, columns: &[String]) -> String {
        let mut all = columns[0].clone();
        for column in &columns[1..] {
            all = self.node("Or", &[&all, column], &[]);
        }
        all
    }

    fn see(&mut self, controller: &Controller) -> Seen {
        let state = self.node("Cast", &["state"], &[("to", DOUBLE as i64)]);
        let limits = |graph: &mut Self, largest: f64| [graph.row(&[-largest]), graph.row(&[largest])];
        let of_inputs = limits(self, controller.precision.largest_input());
        let of_angles = controller.is_periodic().then(|| limits(self, controller.precision.largest_angle()));
        let (mut columns, mut bad, mut out) = (Vec::new(), Vec::new(), Vec::new());
        let mut place = 0;
        for (variable, quantity) in controller.policy.states.iter().enumerate() {
            if quantity.derived.is_some() {
                columns.push(String::new());
                continue;
            }
            let mut column = self.column(&state, place);
            place += 1;
            let of_modes =
                (!quantity.values.is_empty()).then(|| controller.usable(variable).map(|end| self.row(&[end])));
            let of_plain = of_angles.as_ref().filter(|_| quantity.periodic).unwrap_or(&of_inputs);
            let [lowest, largest] = of_modes.as_ref().unwrap_or(of_plain);
            let above = self.node("GreaterOrEqual", &[&column, lowest], &[]);
            let below = self.node("LessOrEqual", &[&column, largest], &[]);
            let usable = self.node("And", &[&above, &below], &[]);
            bad.push(self.node("Not", &[&usable], &[]));
            let range = controller.guard.as_ref().map(|guard| (guard.ranges[variable], guard.response));
            if let Some((range, response)) = range.filter(|(range, _)| !(quantity.periodic && angle::is_whole(*range)))
            {
                let [low, high] = range;
                let (low, high) = (self.row(&[low]), self.row(&[high]));
                let place = if quantity.periodic {
                    let middle = self.row(&[0.5 * (range[0] + range[1])]);
                    let from_middle = self.node("Sub", &[&column, &middle], &[]);
                    self.less_turns(&column, &from_middle)
                } else {
                    column.clone()
                };
                let below = self.node("Less", &[&place, &low], &[]);
                let above = self.node("Greater", &[&place, &high], &[]);
                if response == super::Response::Clamp {
                    let limited = self.limit(&place, &low, &high);
                    // An angle inside keeps its turns: errors are taken on the straight line.
                    column = match quantity.periodic {
                        false => limited,
                        true => {
                            let leaves = self.node("Or", &[&below, &above], &[]);
                            self.node("Where", &[&leaves, &limited, &column], &[])
                        }
                    };
                }
                out.extend([below, above]);
            }
            columns.push(column);
        }
        let unusable = self.any(&bad);
        out.push(unusable.clone());
        let outside = self.any(&out);
        let shape = self.whole(&[-1]);
        self.named_node("Reshape", &[&outside, &shape], &[], "outside");
        Seen { columns, unusable, outside }
    }

    /// A column in the target's precision; the graph itself computes in double.
    fn rounded(&mut self, column: &str, element: u64) -> String {
        if element == DOUBLE {
            return column.to_owned();
        }
        let less = self.node("Cast", &[column], &[("to", element as i64)]);
        self.node("Cast", &[&less], &[("to", DOUBLE as i64)])
    }

    /// A column of each last action, put right where it cannot be used; none without a memory.
    fn remember(&mut self, controller: &Controller) -> Vec<String> {
        if !controller.remembers() {
            return Vec::new();
        }
        let last = self.node("Cast", &["last"], &[("to", DOUBLE as i64)]);
        let column = |(action, fallback): (usize, &f64)| {
            let given = self.column(&last, action);
            let fallback = self.row(&[*fallback]);
            self.usable(&given, &fallback, controller.precision)
        };
        controller.fallback.iter().enumerate().map(column).collect()
    }

    /// A value, or another one where it is NaN, infinite or too large for an input.
    fn usable(&mut self, value: &str, otherwise: &str, precision: Precision) -> String {
        let largest = precision.largest_input();
        let (low, high) = (self.row(&[-largest]), self.row(&[largest]));
        let above = self.node("GreaterOrEqual", &[value, &low], &[]);
        let below = self.node("LessOrEqual", &[value, &high], &[]);
        let usable = self.node("And", &[&above, &below], &[]);
        self.node("Where", &[&usable, value, otherwise], &[])
    }

    /// Columns of what is computed from other inputs.
    fn derive(&mut self, controller: &Controller, seen: &mut Seen, last: &[String], element: u64) {
        for (input, quantity) in controller.policy.states.iter().enumerate() {
            if let Some(Derived::Error { state, set_point }) = quantity.derived {
                let error = self.node("Sub", &[&seen.columns[set_point], &seen.columns[state]], &[]);
                seen.columns[input] = self.rounded(&error, element);
            }
        }
        let sums: Vec<_> = controller.running_sums().collect();
        if sums.is_empty() {
            return;
        }
        let mut reached = Vec::new();
        for (action, value) in last.iter().enumerate() {
            let [low, high] = controller.inner(action).map(|end| self.row(&[end]));
            reached.push(self.node("LessOrEqual", &[value, &low], &[]));
            reached.push(self.node("GreaterOrEqual", &[value, &high], &[]));
        }
        let stopped = self.any(&reached);
        let kept = self.node("Cast", &["sums"], &[("to", DOUBLE as i64)]);
        let zero = self.row(&[0.0]);
        let mut next = Vec::new();
        for (number, sum) in sums.iter().enumerate() {
            let given = self.column(&kept, number);
            let fresh = self.node("IsNaN", &[&given], &[]);
            let (low, high) = (self.row(&[-sum.limit]), self.row(&[sum.limit]));
            let before = self.usable(&given, &zero, controller.precision);
            let before = self.limit(&before, &low, &high);
            let total = self.node("Add", &[&before, &seen.columns[sum.error]], &[]);
            let total = self.rounded(&total, element);
            let wanted = self.limit(&total, &low, &high);
            let (from, to) = (self.node("Abs", &[&before], &[]), self.node("Abs", &[&wanted], &[]));
            let grows = self.node("Greater", &[&to, &from], &[]);
            let stays = self.node("And", &[&stopped, &grows], &[]);
            let added = self.node("Where", &[&stays, &before, &wanted], &[]);
            let column = self.node("Where", &[&fresh, &zero, &added], &[]);
            // Unusable inputs leave the sum as it is; one that has not begun does not begin with them.
            let left = self.node("Where", &[&fresh, &given, &before], &[]);
            next.push(self.node("Where", &[&seen.unusable, &left, &column], &[]));
            seen.columns[sum.input] = column;
        }
        let all = self.node("Concat", &refs(&next), &[("axis", 1)]);
        self.cast_to("next_sums", &all, element);
    }

    /// A column of each action.
    fn act(&mut self, controller: &Controller, seen: Seen, last: &[String]) -> Vec<String> {
        let policy = &controller.policy;
        let rules: Vec<_> = policy.actions.iter().flat_map(|action| &action.rules).collect();
        let mut squares: Option<String> = None;
        for (variable, column) in seen.columns.iter().enumerate() {
            let centres = self.row(&rules.iter().map(|rule| rule.centre[variable]).collect::<Vec<_>>());
            let widths = self.row(&rules.iter().map(|rule| rule.width[variable]).collect::<Vec<_>>());
            let mut difference = self.node("Sub", &[&centres, column], &[]);
            if policy.states[variable].periodic {
                difference = self.less_turns(&difference, &difference);
            }
            let ratio = self.node("Div", &[&difference, &widths], &[]);
            let square = self.node("Mul", &[&ratio, &ratio], &[]);
            squares = Some(match squares {
                None => square,
                Some(sum) => self.node("Add", &[&sum, &square], &[]),
            });
        }
        let half = self.row(&[0.5]);
        let distances = self.node("Mul", &[&squares.unwrap_or_default(), &half], &[]);
        let steps_in = match controller.guard.as_ref().map(|guard| guard.response) {
            Some(super::Response::Hold | super::Response::Fallback) => &seen.outside,
            _ => &seen.unusable,
        };
        let axis = self.whole(&[1]);
        let mut from = 0;
        let mut actions = Vec::new();
        for (index, action) in policy.actions.iter().enumerate() {
            let to = from + action.rules.len();
            let (start, end) = (self.whole(&[from as i64]), self.whole(&[to as i64]));
            let own = self.node("Slice", &[&distances, &start, &end, &axis], &[]);
            from = to;
            let nearest = self.node("ReduceMin", &[&own], &[("axes", 1), ("keepdims", 1)]);
            let exponent = self.node("Sub", &[&nearest, &own], &[]);
            let membership = self.node("Exp", &[&exponent], &[]);
            let outputs = self.row(&action.rules.iter().map(|rule| rule.output).collect::<Vec<_>>());
            let votes = self.node("Mul", &[&membership, &outputs], &[]);
            let weighted = self.node("ReduceSum", &[&votes, &axis], &[("keepdims", 1)]);
            let total = self.node("ReduceSum", &[&membership, &axis], &[("keepdims", 1)]);
            let alpha = self.row(&[action.alpha]);
            let sharpened = self.node("Mul", &[&alpha, &weighted], &[]);
            let mean = self.node("Div", &[&sharpened, &total], &[]);
            let unit = self.node("Tanh", &[&mean], &[]);
            let [low, high] = action.limits;
            let (middle, half_range) =
                (self.row(&[0.5 * (low + high)]), self.row(&[0.5 * (high - low) * action.reach]));
            let scaled = self.node("Mul", &[&half_range, &unit], &[]);
            let ruled = self.node("Add", &[&middle, &scaled], &[]);
            let last = last.get(index);
            let instead = match last {
                Some(last) if controller.holds() => last.clone(),
                _ => self.row(&[controller.fallback[index]]),
            };
            let mut wanted = self.node("Where", &[steps_in, &instead, &ruled], &[]);
            if let (Some(rate), Some(last)) = (controller.rate_limits[index], last) {
                let rate = self.row(&[rate]);
                let lowest = self.node("Sub", &[last, &rate], &[]);
                let highest = self.node("Add", &[last, &rate], &[]);
                wanted = self.limit(&wanted, &lowest, &highest);
            }
            let (low, high) = (self.row(&[low]), self.row(&[high]));
            actions.push(self.limit(&wanted, &low, &high));
        }
        actions
    }
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The type of an input or an output; `None` is the batch.
fn value(name: &str, element: u64, dimensions: &[Option<usize>], about: &str) -> Message {
    let mut shape = Message::default();
    for dimension in dimensions {
        let one = match dimension {
            Some(size) => Message::default().number(1, *size as u64),
            None => Message::default().bytes(2, "batch"),
        };
        shape = shape.message(1, &one);
    }
    let tensor = Message::default().number(1, element).message(2, &shape);
    Message::default().bytes(1, name).message(2, &Message::default().message(1, &tensor)).bytes(3, about)
}
