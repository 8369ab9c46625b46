//! Rules from other tools: FLL (fuzzylite), FCL (IEC 61131-7) and FIS (MATLAB, Octave), and our own JSON.
//!
//! What [`crate::export`] wrote is read back to the same policy: a comment in it holds what the formats have no place
//! for. A file of someone else's has no such comment, no α and no hyperbolic tangent. Then α is 1, and each rule's output
//! is chosen so that the rule alone gives the action that the file says; where several rules are active, the actions
//! differ a little, and [`Imported::difference`] says by how much.
//!
//! Only rules of our kind are read: Gaussians joined by products, constants as outputs. Others are refused by name.
//!
//! A file may be cut off, by a full disk or a broken copy. FCL has ends and FIS has counts, to which they are held. FLL has
//! neither: what tells is a constant that no rule uses, and a last line without a line break. In a file of ours each constant
//! has its rule, so one without is refused; in others it may be meant so, and is only told ([`Imported::notes`]).

mod fcl;
mod fis;
mod fll;

use std::collections::HashSet;
use std::path::Path;

use crate::export::ControllerFile;
use crate::export::rule_base::{Frame, FrameAction, MARK};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::files;
use fpsrl_base::random::{Purpose, Stream};
use fpsrl_base::remedy::Remedy;
use fpsrl_engine::policy::{ANYWHERE, ActionRules, FuzzyPolicy, Quantity, Rule};

/// A policy that was read from another tool's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The policy.
    pub policy: FuzzyPolicy,
    /// How far the policy's actions are from those of the file, as a share of the action's range: zero for what fpsrl
    /// exported, and the largest among random states within the inputs' ranges for others.
    pub difference: f64,
    /// What is to be said of the file: what may be missing in it, where nothing in it says that it is whole.
    pub notes: Vec<String>,
}

/// Reads rules from a file; its name's ending says which format it has.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("expert.fll");
/// std::fs::write(&path, "
/// Engine: tank
/// InputVariable: level
///   range: 0 2
///   term: low Gaussian 0.5 0.3
///   term: high Gaussian 1.5 0.3
/// OutputVariable: valve
///   range: 0 1
///   defuzzifier: WeightedAverage TakagiSugeno
///   term: closed Constant 0.1
///   term: open Constant 0.9
/// RuleBlock:
///   conjunction: AlgebraicProduct
///   rule: if level is low then valve is closed
///   rule: if level is high then valve is open
/// ")?;
/// let imported = fpsrl_exchange::import::read(&path)?;
/// assert!((imported.policy.act(&[0.2])[0] - 0.1).abs() < 1e-3);
/// assert!(imported.difference < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path) -> Result<Imported> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    if extension == "json" {
        return read_json(path);
    }
    let bytes = std::fs::read(path).map_err(|source| Error::read(path, source))?;
    understood(path, &String::from_utf8_lossy(&bytes))
}

/// Reads rules from the text of a file, whose name's ending says which format it has.
fn understood(path: &Path, text: &str) -> Result<Imported> {
    let source = Source { path, text };
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    let base = match extension.as_str() {
        "fll" => fll::parse(&source)?,
        "fcl" => fcl::parse(&source)?,
        "fis" => fis::parse(&source)?,
        _ => {
            let known = ["fll", "fcl", "fis", "json"].map(str::to_owned).to_vec();
            return Err(Error::UnknownName { kind: "format to import", name: extension, known });
        }
    };
    base.policy(&source)
}

fn read_json(path: &Path) -> Result<Imported> {
    // A controller, or a policy.
    let policy = match files::read_json::<ControllerFile>(path) {
        Ok(file) => file.policy,
        Err(_) => read_policy(path)?,
    };
    match policy.fault() {
        None => Ok(Imported { policy, difference: 0.0, notes: Vec::new() }),
        Some(problem) => Err(Source { path, text: "" }.refuse(None, problem, "export it again")),
    }
}

/// A policy from its file, `policy.json`.
pub fn read_policy(path: &Path) -> Result<FuzzyPolicy> {
    let policy: FuzzyPolicy = files::read_json(path)?;
    match policy.fault() {
        None => Ok(policy),
        Some(problem) => Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            column: None,
            problem,
            remedy: Remedy::words("use a policy.json that ")
                .stage("search", None)
                .then(" or ")
                .stage("import", None)
                .then(" wrote"),
        }),
    }
}

/// A file's text, and where it stands.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn refuse(&self, line: Option<usize>, problem: impl Into<String>, hint: impl Into<Remedy>) -> Error {
        Error::Malformed {
            path: self.path.to_owned(),
            line: line.map(|line| line as u64),
            column: None,
            problem: problem.into(),
            remedy: hint.into(),
        }
    }

    fn twice(&self, line: usize, what: &str, name: &str) -> Error {
        let problem = format!("the {what} `{name}` stands there twice, has no name, or is one of too many");
        let hint = format!(
            "give each its own name; {MOST_VARIABLES} variables are possible at most, and {MOST_TERMS} terms of each"
        );
        self.refuse(Some(line), problem, hint)
    }

    /// What our own exports say in a comment.
    fn frame(&self) -> Result<Option<Frame>> {
        for (index, line) in self.text.lines().enumerate() {
            if let Some((_, json)) = line.split_once(MARK) {
                let frame = serde_json::from_str(json.trim());
                let refuse = |_| {
                    self.refuse(
                        Some(index + 1),
                        "the comment of fpsrl is not whole",
                        "export again, or remove the comment",
                    )
                };
                return frame.map(Some).map_err(refuse);
            }
        }
        Ok(None)
    }

    fn number(&self, line: usize, text: &str) -> Result<f64> {
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.refuse(Some(line), format!("`{}` is not a number", text.trim()), "mend the file")),
        }
    }

    /// A Gaussian's mean and deviation.
    fn gaussian(&self, line: usize, mean: f64, deviation: f64) -> Result<[f64; 2]> {
        if deviation > 0.0 {
            return Ok([mean, deviation]);
        }
        Err(self.refuse(Some(line), "the deviation of a Gaussian is not above zero", "mend the file"))
    }
}

const GAUSSIANS: &str = "fpsrl's rules are made of Gaussians; replace it by one that covers the same states";
const PRODUCT: &str = "fpsrl joins conditions by their product; set it in the tool that made the file";
const WHOLE: &str = "check that the file is whole: copy or export it again";
const CONSTANT: &str =
    "fpsrl's rules have constants as outputs (Takagi-Sugeno of order zero); replace it by a constant";

/// Inputs, and outputs, that a file may have, and terms of each: more are a mistake, and would take long to tell apart.
const MOST_VARIABLES: usize = 256;
const MOST_TERMS: usize = 10_000;

/// A rule base as any of the formats says it.
#[derive(Debug, Default)]
struct RuleBase {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    rules: Vec<ReadRule>,
    /// What is to be said of the file.
    notes: Vec<String>,
}

#[derive(Debug)]
struct Input {
    name: String,
    range: Option<[f64; 2]>,
    /// Name, mean and deviation.
    terms: Vec<(String, [f64; 2])>,
}

#[derive(Debug)]
struct Output {
    name: String,
    range: Option<[f64; 2]>,
    terms: Vec<(String, f64)>,
}

#[derive(Debug)]
struct ReadRule {
    /// The term of each input that it speaks of.
    conditions: Vec<Option<usize>>,
    output: usize,
    term: usize,
}

impl RuleBase {
    fn input(&self, name: &str) -> Option<usize> {
        self.inputs.iter().position(|input| input.name == name)
    }

    fn output(&self, name: &str) -> Option<usize> {
        self.outputs.iter().position(|output| output.name == name)
    }

    fn add_input(&mut self, source: &Source, line: usize, name: &str) -> Result<()> {
        self.inputs.push(Input { name: name.to_owned(), range: None, terms: Vec::new() });
        self.check_names(source).map_err(|_| source.twice(line, "variable", name))
    }

    fn add_output(&mut self, source: &Source, line: usize, name: &str) -> Result<()> {
        self.outputs.push(Output { name: name.to_owned(), range: None, terms: Vec::new() });
        self.check_names(source).map_err(|_| source.twice(line, "variable", name))
    }

    /// Adds a term to the last input.
    fn add_input_term(&mut self, source: &Source, line: usize, name: &str, term: [f64; 2]) -> Result<()> {
        let input = self.inputs.last().map(|input| input.name.clone()).unwrap_or_default();
        self.add_term_to_input(source, line, &input, name, term)
    }

    /// Adds a term to the last output.
    fn add_output_term(&mut self, source: &Source, line: usize, name: &str, value: f64) -> Result<()> {
        let output = self.outputs.last().map(|output| output.name.clone()).unwrap_or_default();
        self.add_term_to_output(source, line, &output, name, value)
    }

    fn add_term_to_input(&mut self, source: &Source, line: usize, to: &str, name: &str, term: [f64; 2]) -> Result<()> {
        let Some(input) = self.inputs.iter_mut().find(|input| input.name == to) else { return Ok(()) };
        if input.terms.len() >= MOST_TERMS || input.terms.iter().any(|(known, _)| known == name) {
            return Err(source.twice(line, "term", name));
        }
        input.terms.push((name.to_owned(), term));
        Ok(())
    }

    fn add_term_to_output(&mut self, source: &Source, line: usize, to: &str, name: &str, value: f64) -> Result<()> {
        let Some(output) = self.outputs.iter_mut().find(|output| output.name == to) else { return Ok(()) };
        if output.terms.len() >= MOST_TERMS || output.terms.iter().any(|(known, _)| known == name) {
            return Err(source.twice(line, "term", name));
        }
        output.terms.push((name.to_owned(), value));
        Ok(())
    }

    /// Refuses inputs, or outputs, of one name or of none.
    fn check_names(&self, source: &Source) -> Result<()> {
        let inputs: Vec<&String> = self.inputs.iter().map(|input| &input.name).collect();
        let outputs: Vec<&String> = self.outputs.iter().map(|output| &output.name).collect();
        for names in [inputs, outputs] {
            let mut seen = HashSet::new();
            for name in names {
                if name.is_empty() || !seen.insert(name) || seen.len() > MOST_VARIABLES {
                    let problem =
                        format!("the variable `{name}` stands there twice, has no name, or is one of too many");
                    let hint = format!("give each variable its own name; at most {MOST_VARIABLES} are possible");
                    return Err(source.refuse(None, problem, hint));
                }
            }
        }
        Ok(())
    }

    /// Constants that no rule uses: the rules may be missing. Those of a file of ours have one each.
    fn check_that_all_is_used(&mut self, source: &Source, own: bool) -> Result<()> {
        for (index, output) in self.outputs.iter().enumerate() {
            let used: HashSet<usize> =
                self.rules.iter().filter(|rule| rule.output == index).map(|rule| rule.term).collect();
            let unused: Vec<String> = (0..output.terms.len())
                .filter(|term| !used.contains(term))
                .map(|term| format!("`{}`", output.terms[term].0))
                .collect();
            if unused.is_empty() {
                continue;
            }
            let problem = format!("no rule uses {} of `{}`", unused.join(", "), output.name);
            if own {
                let hint = "the file seems to be cut off: export it again; or remove what is not used";
                return Err(source.refuse(None, problem, hint));
            }
            self.notes.push(format!("{problem}: check that the file is whole"));
        }
        Ok(())
    }

    fn policy(mut self, source: &Source) -> Result<Imported> {
        if self.inputs.is_empty() || self.outputs.is_empty() || self.rules.is_empty() {
            return Err(source.refuse(None, "it holds no rules", "check that it is the file that was meant"));
        }
        let frame = source.frame()?;
        let own = frame.is_some();
        self.check_that_all_is_used(source, own)?;
        let frame = match frame {
            Some(frame) => frame,
            None => self.foreign_frame(source)?,
        };
        if frame.states.len() != self.inputs.len() || frame.actions.len() != self.outputs.len() {
            let hint = "export again, or remove the comment";
            return Err(source.refuse(None, "the comment of fpsrl is for other variables than the rules", hint));
        }
        let actions = frame.actions.into_iter().enumerate().map(|(output, frame)| {
            let [low, high] = frame.limits;
            let rules = self.rules.iter().filter(|rule| rule.output == output).map(|rule| {
                let terms: Vec<[f64; 2]> =
                    self.inputs.iter().zip(&rule.conditions).map(|(input, term)| input.gaussian(*term)).collect();
                let value = self.outputs[output].terms[rule.term].1;
                let unit = (2.0 * value - (low + high)) / (high - low);
                Rule {
                    centre: terms.iter().map(|term| term[0]).collect(),
                    width: terms.iter().map(|term| term[1]).collect(),
                    output: if own { value } else { unit.clamp(-0.999, 0.999).atanh() },
                }
            });
            let rules = rules.collect();
            ActionRules {
                name: frame.name,
                unit: frame.unit,
                limits: frame.limits,
                rate: None,
                reach: frame.reach,
                alpha: frame.alpha,
                rules,
            }
        });
        let policy = FuzzyPolicy { states: frame.states, mirrored: frame.mirrored, actions: actions.collect() };
        if let Some(problem) = policy.fault() {
            return Err(source.refuse(None, problem, "mend the file"));
        }
        let difference = if own { 0.0 } else { self.difference(&policy) };
        Ok(Imported { policy, difference, notes: self.notes })
    }

    /// What a file that is not ours leaves open: the limits are the outputs' ranges.
    fn foreign_frame(&self, source: &Source) -> Result<Frame> {
        let states = self.inputs.iter().map(|input| Quantity::new(&input.name, "")).collect();
        let actions = self.outputs.iter().map(|output| match output.range {
            Some([low, high]) if low < high && low.is_finite() && high.is_finite() => Ok(FrameAction {
                name: output.name.clone(),
                unit: String::new(),
                limits: [low, high],
                reach: 1.0,
                alpha: 1.0,
            }),
            _ => {
                let problem = format!("the output `{}` has no range of finite numbers", output.name);
                Err(source.refuse(None, problem, "give it the limits of the action as its range"))
            }
        });
        Ok(Frame { states, mirrored: false, actions: actions.collect::<Result<_>>()? })
    }

    /// The largest difference between the file's weighted means and the policy's actions, as a share of the range.
    fn difference(&self, policy: &FuzzyPolicy) -> f64 {
        let stream = Stream::new(1, Purpose::ExportVector);
        let mut largest = 0.0f64;
        for index in 0..2_000 {
            let value = |(variable, input): (usize, &Input)| {
                let [low, high] = input.reach();
                low + (high - low) * stream.uniform(9, index, variable as u32)
            };
            let state: Vec<f64> = self.inputs.iter().enumerate().map(value).collect();
            for (output, action) in policy.actions.iter().enumerate() {
                let logs: Vec<f64> =
                    action.rules.iter().map(|rule| rule.log_membership(&policy.states, &state)).collect();
                let nearest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let (mut weighted, mut total) = (0.0, 0.0);
                let rules = self.rules.iter().filter(|rule| rule.output == output);
                for (log, rule) in logs.iter().zip(rules) {
                    let membership = (log - nearest).exp();
                    weighted += membership * self.outputs[output].terms[rule.term].1;
                    total += membership;
                }
                let range = action.limits[1] - action.limits[0];
                largest = largest.max((weighted / total - action.act(&policy.states, &state)).abs() / range);
            }
        }
        largest
    }
}

impl Input {
    /// Where the input lies: its range, or what its terms speak of.
    fn reach(&self) -> [f64; 2] {
        self.range.filter(|[low, high]| low < high && (high - low).is_finite()).unwrap_or_else(|| {
            let terms = self.terms.iter().filter(|(_, [_, deviation])| *deviation < ANYWHERE);
            let ends = terms.map(|(_, [mean, deviation])| [mean - 2.0 * deviation, mean + 2.0 * deviation]);
            // Where no rule looks at the input, any range will do.
            ends.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)]).unwrap_or([-1.0, 1.0])
        })
    }

    /// Mean and deviation of a term; a condition that a rule leaves out is none.
    fn gaussian(&self, term: Option<usize>) -> [f64; 2] {
        term.map_or([0.0, ANYWHERE], |term| self.terms[term].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::{Controller, Format, Guard, Precision, Response, Target};
    use proptest::prelude::*;

    /// Policies of any shape, as the tests of `fpsrl-engine` draw them.
    fn any_policy() -> impl Strategy<Value = FuzzyPolicy> {
        (1usize..6, 1usize..4, 1usize..9, any::<[bool; 6]>()).prop_flat_map(|(states, actions, rules, periodic)| {
            let rule =
                (prop::collection::vec(-3.0..3.0f64, states), prop::collection::vec(0.1..4.0f64, states), -1.0..1.0f64)
                    .prop_map(|(centre, width, output)| Rule { centre, width, output });
            let base = (-5.0..0.0f64, 0.1..5.0f64, 0.0..30.0f64, prop::collection::vec(rule, rules)).prop_map(
                |(low, span, alpha, rules)| ActionRules {
                    name: "a".into(),
                    unit: String::new(),
                    limits: [low, low + span],
                    rate: None,
                    reach: 1.0,
                    alpha,
                    rules,
                },
            );
            prop::collection::vec(base, actions).prop_map(move |actions| FuzzyPolicy {
                states: (0..states).map(|s| Quantity { periodic: periodic[s], ..Quantity::new("s", "") }).collect(),
                mirrored: false,
                actions,
            })
        })
    }

    fn back(policy: &FuzzyPolicy, format: Format) -> FuzzyPolicy {
        let directory = tempfile::tempdir().unwrap();
        let (name, content) = exported(policy, format);
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        let imported = read(&path).unwrap();
        assert_eq!((imported.difference, imported.notes), (0.0, Vec::new()));
        imported.policy
    }

    fn exported(policy: &FuzzyPolicy, format: Format) -> (String, Vec<u8>) {
        let actions = policy.actions.len();
        let fallback = policy.actions.iter().map(|action| action.limits[0]).collect();
        // Rules of an angle are only written for tools that know no circle if they do not reach around it.
        let guard = Guard { response: Response::Clamp, ranges: vec![[-0.1, 0.1]; policy.states.len()] };
        let controller =
            Controller::new("any", policy.clone(), Precision::Double, Some(guard), fallback, vec![None; actions])
                .unwrap();
        let generated = Target::new(format).generate(&controller, None, "any").unwrap();
        (format!("any.{}", generated.files[0].extension), generated.files[0].content.clone())
    }

    /// What a text says in a format, told by its ending.
    fn parsed(name: &str, text: &str) -> Result<Imported> {
        understood(Path::new(name), text)
    }

    /// Policies with many rules of one output, several outputs, conditions that are not there, and modes.
    fn several_policies() -> Vec<FuzzyPolicy> {
        let rule = |number: usize, states: usize| Rule {
            centre: (0..states).map(|state| number as f64 + 0.25 * state as f64).collect(),
            width: vec![0.75; states],
            output: 0.125 * number as f64 - 0.5,
        };
        let action = |name: &str, rules: usize, states: usize| ActionRules {
            name: name.into(),
            unit: "V".into(),
            limits: [-1.0, 1.0],
            rate: None,
            reach: 1.0,
            alpha: 2.0,
            rules: (0..rules).map(|number| rule(number, states)).collect(),
        };
        let states = |names: &[&str]| names.iter().map(|name| Quantity::new(*name, "m")).collect();
        let mut sparse = FuzzyPolicy {
            states: states(&["x", "y"]),
            mirrored: false,
            actions: vec![action("u", 3, 2), action("v", 2, 2)],
        };
        sparse.actions[0].rules[1].ignore(0);
        sparse.actions[1].rules[1].ignore(0);
        sparse.actions[1].rules[1].ignore(1);
        vec![
            FuzzyPolicy { states: states(&["level"]), mirrored: false, actions: vec![action("valve", 2, 1)] },
            // The name of the last term begins with that of the first one.
            FuzzyPolicy { states: states(&["x"]), mirrored: false, actions: vec![action("u", 11, 1)] },
            sparse,
            crate::export::memory::tests::tracking_policy(),
        ]
    }

    #[test]
    fn a_file_of_ours_that_was_cut_off_is_refused_wherever_that_was() {
        for policy in several_policies() {
            for format in [Format::Fll, Format::Fcl, Format::Fis] {
                let (name, content) = exported(&policy, format);
                let text = String::from_utf8(content).unwrap();
                assert_eq!(parsed(&name, &text).unwrap().policy, policy);
                for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
                    match parsed(&name, &text[..end]) {
                        Err(error) => assert!(error.is_users() && error.hint().is_some(), "{error}"),
                        Ok(imported) => {
                            assert_eq!(imported.policy, policy, "{format:?}, cut at byte {end} of {}", text.len());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_rule_of_ours_that_is_missing_is_missed() {
        for policy in several_policies() {
            for format in [Format::Fll, Format::Fcl, Format::Fis] {
                let (name, content) = exported(&policy, format);
                let text = String::from_utf8(content).unwrap();
                let is_rule = |line: &str| match format {
                    Format::Fis => line.contains(") : "),
                    _ => !line.trim_start().starts_with(['#', '/']) && line.contains(" then "),
                };
                let lines: Vec<&str> = text.lines().collect();
                for (index, _) in lines.iter().enumerate().filter(|(_, line)| is_rule(line)) {
                    let without: String = lines
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| *at != index)
                        .map(|(_, line)| format!("{line}\n"))
                        .collect();
                    let imported = parsed(&name, &without);
                    assert!(imported.is_err(), "{format:?}, without line {}: {:?}", index + 1, lines[index]);
                }
            }
        }
    }

    const FLL: &str = "Engine: e\nInputVariable: a\n  enabled: true\n  term: low Gaussian 0 1\n  term: high Gaussian 2 1\n\
                       OutputVariable: c\n  range: -1 1\n  term: d Constant 0.5\n  term: d2 Constant -0.5\n\
                       RuleBlock:\n  conjunction: AlgebraicProduct\n  rule: if a is low then c is d\n  \
                       rule: if a is high then c is d2\n";
    const FCL: &str = "FUNCTION_BLOCK f\nVAR_INPUT\n a : REAL;\nEND_VAR\nVAR_OUTPUT\n c : REAL;\nEND_VAR\n\
                       FUZZIFY a\n TERM low := GAUSS 0 1;\n TERM high := GAUSS 2 1;\nEND_FUZZIFY\n\
                       DEFUZZIFY c\n TERM d := 0.5;\n TERM e := -0.5;\n METHOD : COGS;\n RANGE := (-1 .. 1);\n\
                       END_DEFUZZIFY\nRULEBLOCK r\n AND : PROD;\n RULE 1 : if a is low then c is d;\n\
                       RULE 2 : if a is high then c is e;\nEND_RULEBLOCK\nEND_FUNCTION_BLOCK\n";
    const FIS: &str = "[System]\nType='sugeno'\nNumInputs=1\nNumOutputs=1\nNumRules=2\nAndMethod='prod'\n\
                       [Input1]\nName='a'\nNumMFs=2\nMF1='low':'gaussmf',[1 0]\nMF2='high':'gaussmf',[1 2]\n\
                       [Output1]\nName='c'\nRange=[-1 1]\nNumMFs=2\nMF1='d':'constant',[0.5]\n\
                       MF2='e':'constant',[-0.5]\n[Rules]\n1, 1 (1) : 1\n2, 2 (1) : 1\n";

    #[test]
    fn files_of_others_that_were_cut_off_are_refused_or_told() {
        for (name, text) in [("a.fll", FLL), ("a.fcl", FCL), ("a.fis", FIS)] {
            let whole = parsed(name, text).unwrap();
            assert!(whole.notes.is_empty(), "{:?}", whole.notes);
            for end in 0..text.len() {
                match parsed(name, &text[..end]) {
                    Err(error) => assert!(error.is_users() && error.hint().is_some(), "{error}"),
                    Ok(imported) if imported.policy == whole.policy => {}
                    Ok(imported) => {
                        // Only FLL leaves it open, and then the missing rule is told.
                        let notes = imported.notes.join("; ");
                        assert!(name == "a.fll" && notes.contains("`d2` of `c`"), "{name}, byte {end}: {notes}");
                        assert!(imported.policy.actions[0].rules.len() == 1);
                    }
                }
            }
        }
        // In the middle of a name that begins like another one.
        let error = parsed("a.fll", FLL.trim_end().strip_suffix('2').unwrap()).unwrap_err();
        assert!(error.to_string().contains("in the middle of `d2`"), "{error}");
    }

    #[test]
    fn what_stands_there_twice_or_is_not_known_is_refused() {
        for (name, text, from, to, said) in [
            ("a.fcl", FCL, "END_RULEBLOCK\n", "", "RULEBLOCK r of line 18 is not ended: END_RULEBLOCK is missing"),
            ("a.fcl", FCL, "END_FUZZIFY\n", "", "FUZZIFY a of line 8 is not ended"),
            ("a.fcl", FCL, "END_FUNCTION_BLOCK", "", "FUNCTION_BLOCK f of line 1 is not ended"),
            ("a.fcl", FCL, "FUNCTION_BLOCK f\n", "", "VAR_INPUT stands in no function block"),
            ("a.fcl", FCL, "END_FUNCTION_BLOCK\n", "END_FUNCTION_BLOCK\nFUNCTION_BLOCK g\n", "second function block"),
            ("a.fcl", FCL, "END_FUNCTION_BLOCK\n", "END_FUNCTION_BLOCK\nRUL", "`RUL` has no semicolon"),
            ("a.fcl", FCL, " AND : PROD;", " AND : PROD; (* so", "a comment is not ended"),
            ("a.fcl", FCL, "DEFUZZIFY c", "DEFUZZIFY c END_DEFUZZIFY DEFUZZIFY c", "stands there twice"),
            ("a.fcl", FCL, " TERM high :=", " TERM low :=", "the term `low` stands there twice"),
            ("a.fcl", FCL, "METHOD : COGS;", "METOD : COGS;", "is nothing that fpsrl knows in DEFUZZIFY"),
            ("a.fcl", FCL, "a is high then c is e", "a is high then c is f", "`c` has no term `f`"),
            ("a.fcl", FCL, "c is e;", "c is e with 0.5;", "has a weight"),
            ("a.fis", FIS, "2, 2 (1) : 1\n", "", "it should have 2 rules by line 5, and has 1"),
            ("a.fis", FIS, "NumInputs=1", "NumInputs=2", "it should have 2 inputs"),
            ("a.fis", FIS, "NumOutputs=1", "NumOutputs=2", "it should have 2 outputs"),
            ("a.fis", FIS, "NumMFs=2", "NumMFs=3", "it should have 3 membership functions of `a`"),
            ("a.fis", FIS, "MF2='e'", "MF3='e'", "`mf3` stands where `mf2` is meant"),
            ("a.fis", FIS, "[Rules]", "[Rulez]", "there is no section called [Rulez]"),
            ("a.fis", FIS, "[Output1]", "[Output2]", "[Output2] stands where [output1] is meant"),
            ("a.fis", FIS, "2, 2 (1)", "[Rules]\n2, 2 (1)", "stands there twice"),
            ("a.fis", FIS, "2, 2 (1) : 1", "2, 3 (1) : 1", "names a term that is not there"),
            ("a.fis", FIS, "2, 2 (1) : 1", "2, 2 (0.5) : 1", "has a weight"),
            ("a.fis", FIS, "2, 2 (1) : 1", "2, 2 (1) : ", "not whole"),
            ("a.fll", FLL, "RuleBlock:", "Engine: two\nRuleBlock:", "a second engine begins"),
            ("a.fll", FLL, "RuleBlock:", "RuleBlok:", "`RuleBlok` is nothing that OutputVariable has"),
            ("a.fll", FLL, "term: high", "term: low", "the term `low` stands there twice"),
            ("a.fll", FLL, "OutputVariable: c", "InputVariable: a", "the variable `a` stands there twice"),
            ("a.fll", FLL, "enabled: true", "enabled: fal", "not enabled"),
            ("a.fll", FLL, "c is d2", "c is d3", "`c` has no term `d3`"),
            ("a.fll", FLL, "c is d2", "c is d2 with 0.3", "has a weight"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = parsed(name, &text.replacen(from, to, 1)).map(|imported| imported.policy).unwrap_err();
            assert!(error.to_string().contains(said), "{from} -> {to}: {error}");
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn names_that_act_are_refused_and_shown() {
        let text = FLL.replace("Variable: a", "Variable: a\u{1b}[2J").replace(" a is", " a\u{1b}[2J is");
        let error = parsed("a.fll", &text).map(|imported| imported.policy).unwrap_err();
        assert!(error.to_string().contains(r"a\u{1b}[2J"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn what_we_export_we_read_back_to_the_same_bits(policy in any_policy()) {
            for format in [Format::Fll, Format::Fcl, Format::Fis, Format::Json] {
                prop_assert_eq!(&back(&policy, format), &policy, "{:?}", format);
            }
        }

        #[test]
        fn conditions_that_are_not_there_stay_away(policy in any_policy(), absent in any::<[u8; 7]>()) {
            let mut policy = policy;
            let mut count = 0;
            for rule in policy.actions.iter_mut().flat_map(|action| &mut action.rules) {
                for variable in 0..rule.width.len() {
                    count += 1;
                    // About half of them, and all of some rules.
                    if absent[count % 7] < 128 {
                        rule.ignore(variable);
                    }
                }
            }
            for format in [Format::Fll, Format::Fcl, Format::Fis, Format::Json] {
                prop_assert_eq!(&back(&policy, format), &policy, "{:?}", format);
            }
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in "(?s).{0,300}", words in prop::collection::vec(
            prop::sample::select(vec![
                "[System]", "Type='sugeno'", "NumRules=1", "[Rules]", "1 1, 1 (1) : 1", "[Input1]", "MF1='a':'gaussmf',[1 2]",
                "RULE 1 : IF a IS b THEN c IS d;", "FUZZIFY a", "TERM b := GAUSS 1 2;", "END_FUZZIFY", "(*", "DEFUZZIFY c",
                "InputVariable: a", "  term: b Gaussian 1 2", "OutputVariable: c", "  term: d Constant 1", "RuleBlock: e",
                "  rule: if a is b then c is d", "@fpsrl {", "[Output1]", "Range=[0 1]", "  range: 0 1", "with", ":=", "'",
            ]), 0..20)
        ) {
            let text = format!("{text}\n{}", words.join("\n"));
            let source = Source { path: Path::new("x"), text: &text };
            let _ = fll::parse(&source).and_then(|base| base.policy(&source));
            let _ = fcl::parse(&source).and_then(|base| base.policy(&source));
            let _ = fis::parse(&source).and_then(|base| base.policy(&source));
        }
    }

    #[test]
    fn errors_sums_and_modes_come_back() {
        let policy = crate::export::memory::tests::tracking_policy();
        for format in [Format::Fll, Format::Fcl, Format::Fis, Format::Json] {
            assert_eq!(back(&policy, format), policy, "{format:?}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.json");
        files::write_json(&path, &policy).unwrap();
        assert_eq!(read(&path).unwrap().policy, policy);
    }

    #[test]
    fn what_other_files_leave_out_is_no_condition() {
        let fll = "InputVariable: a\n  term: low Gaussian 0 1\nInputVariable: b\nOutputVariable: c\n  range: -1 1\n  \
                   term: d Constant 0.5\n  term: e Constant -0.5\nRuleBlock:\n  conjunction: AlgebraicProduct\n  \
                   rule: if a is low then c is d\n  rule: if b is any then c is e\n";
        let fis = "[System]\nType='sugeno'\nAndMethod='prod'\n[Input1]\nName='a'\nMF1='low':'gaussmf',[1 0]\n[Input2]\n\
                   Name='b'\n[Output1]\nName='c'\nRange=[-1 1]\nMF1='d':'constant',[0.5]\nMF2='e':'constant',[-0.5]\n\
                   [Rules]\n1 0, 1 (1) : 1\n0 0, 2 (1) : 1\n";
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [("other.fll", fll), ("other.fis", fis)] {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            let imported = read(&path).unwrap();
            let ignored: Vec<bool> =
                imported.policy.actions[0].rules.iter().flat_map(|rule| [rule.ignores(0), rule.ignores(1)]).collect();
            assert_eq!(ignored, [false, true, true, true], "{name}");
            assert!(imported.difference < 0.2, "{}", imported.difference);
        }
    }
}
