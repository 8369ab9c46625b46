//! Rules from other tools: FLL (fuzzylite), FCL (IEC 61131-7) and FIS (MATLAB, Octave), and our own JSON.
//!
//! What [`crate::export`] wrote is read back to the same policy: a comment in it holds what the formats have no place
//! for. A file of someone else's has no such comment, no α and no hyperbolic tangent. Then α is 1, and each rule's output
//! is chosen so that the rule alone gives the action that the file says; where several rules are active, the actions
//! differ a little, and [`Imported::difference`] says by how much.
//!
//! Only rules of our kind are read: Gaussians joined by products, constants as outputs. Others are refused by name.

mod fcl;
mod fis;
mod fll;

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
    let text = String::from_utf8_lossy(&bytes);
    let source = Source { path, text: &text };
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
        None => Ok(Imported { policy, difference: 0.0 }),
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
const CONSTANT: &str =
    "fpsrl's rules have constants as outputs (Takagi-Sugeno of order zero); replace it by a constant";

/// A rule base as any of the formats says it.
#[derive(Debug, Default)]
struct RuleBase {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    rules: Vec<ReadRule>,
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

    fn policy(self, source: &Source) -> Result<Imported> {
        if self.inputs.is_empty() || self.outputs.is_empty() || self.rules.is_empty() {
            return Err(source.refuse(None, "it holds no rules", "check that it is the file that was meant"));
        }
        let frame = source.frame()?;
        let own = frame.is_some();
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
        Ok(Imported { policy, difference })
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
        let actions = policy.actions.len();
        let fallback = policy.actions.iter().map(|action| action.limits[0]).collect();
        // Rules of an angle are only written for tools that know no circle if they do not reach around it.
        let guard = Guard { response: Response::Clamp, ranges: vec![[-0.1, 0.1]; policy.states.len()] };
        let controller =
            Controller::new("any", policy.clone(), Precision::Double, Some(guard), fallback, vec![None; actions])
                .unwrap();
        let generated = Target::new(format).generate(&controller, None, "any").unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(format!("any.{}", generated.files[0].extension));
        std::fs::write(&path, &generated.files[0].content).unwrap();
        let imported = read(&path).unwrap();
        assert_eq!(imported.difference, 0.0);
        imported.policy
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
