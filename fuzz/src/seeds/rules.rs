//! Rules, formulas, and what a simulator says.

use fpsrl::Result;
use fpsrl::export::{Controller, Dialect, Format, Guard, Precision, Response, Target};
use fpsrl::files;
use fpsrl::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};

use crate::input::Input;

/// Rules of another tool, in FLL.
const FLL: &str = "\
Engine: tank
InputVariable: level
  enabled: true
  range: 0 2
  term: low Gaussian 0.5 0.3
  term: high Gaussian 1.5 0.3
InputVariable: speed
  range: -1 1
  term: any Gaussian 0 1
OutputVariable: valve
  range: 0 1
  defuzzifier: WeightedAverage TakagiSugeno
  default: nan
  term: closed Constant 0.1
  term: open Constant 0.9
RuleBlock:
  conjunction: AlgebraicProduct
  rule: if level is low and speed is any then valve is closed
  rule: if level is high then valve is open
";

/// A policy of two inputs and two actions.
pub fn policy() -> FuzzyPolicy {
    let rule = |centre: [f64; 2], output: f64| Rule { centre: centre.to_vec(), width: vec![0.4, 0.7], output };
    let action = |name: &str, limits: [f64; 2]| ActionRules {
        name: name.into(),
        unit: "%".into(),
        limits,
        rate: None,
        reach: 1.0,
        alpha: 2.0,
        rules: vec![rule([0.2, -0.5], 0.5), rule([0.8, 0.25], -0.75), rule([0.5, 0.0], 0.1)],
    };
    FuzzyPolicy {
        states: vec![Quantity::new("level", "m"), Quantity::new("speed", "m/s")],
        mirrored: false,
        actions: vec![action("valve", [0.0, 1.0]), action("pump", [-10.0, 10.0])],
    }
}

/// The controller of that policy.
pub fn controller() -> Result<Controller> {
    let guard = Guard { response: Response::Clamp, ranges: vec![[0.0, 1.0], [-1.0, 1.0]] };
    Controller::new("tank", policy(), Precision::Double, Some(guard), vec![0.0, 0.0], vec![None, Some(1.0)])
}

/// Rules in a format of other tools, as we write them.
pub fn exported(format: Format) -> Vec<Input> {
    let mut found = Vec::new();
    for dialect in [Dialect::Codesys, Dialect::Fuzzylite] {
        let target = Target { dialect, ..Target::new(format) };
        let generated = controller().and_then(|controller| target.generate(&controller, None, "tank"));
        let files = generated.map_or_else(|_| Vec::new(), |generated| generated.files);
        let name = format!("tank{}.{}", found.len(), target.extension());
        found.extend(files.into_iter().take(1).map(|file| Input::new(name.clone(), file.content)));
    }
    found
}

/// Rules in FLL: ours, and somebody else's.
pub fn fll() -> Vec<Input> {
    let mut all = exported(Format::Fll);
    all.push(Input::new("expert.fll", FLL));
    all
}

/// Without the comment that says it is ours, a file is somebody else's.
fn foreign(mut all: Vec<Input>) -> Vec<Input> {
    for index in 0..all.len() {
        let text = String::from_utf8_lossy(&all[index].bytes).into_owned();
        let lines = text.split_inclusive('\n').filter(|line| !line.contains("fpsrl"));
        let name = format!("foreign-{}", all[index].name);
        all.push(Input::new(name, lines.collect::<String>()));
    }
    all
}

/// Rules in FCL.
pub fn fcl() -> Vec<Input> {
    foreign(exported(Format::Fcl))
}

/// Rules in FIS.
pub fn fis() -> Vec<Input> {
    foreign(exported(Format::Fis))
}

/// Policies and controllers of our own.
pub fn json() -> Vec<Input> {
    let mut all = exported(Format::Json);
    all.truncate(1);
    all.extend(files::to_json(&policy()).map(|text| Input::new("policy.json", text)));
    all
}

/// A policy, and states to act in: the first line is the one, the others are the other.
pub fn acting() -> Vec<Input> {
    let policy = serde_json::to_string(&policy()).unwrap_or_default();
    vec![Input::new("acting", format!("{policy}\n0.5 0.1\n-3 1e30\nnan 0\ninf -inf\n1e308 -1e308\n5e-324 -0.0\n"))]
}

/// Formulas.
pub fn formulas() -> Vec<Input> {
    let texts = [
        "abs(level) < 0.5 and abs(speed) < 0.5 ? 0 : -1",
        "-abs(next_level - wanted)^2 - 0.1 * valve ** 2",
        "not (level > 2.5 or speed <= -1) && !(valve == 0)",
        "exp(-level^2 / (2 * 0.3^2)) * cos(pi * speed)",
        "min(max(level, previous_level), 1e3) + sqrt(abs(speed)) + tanh(level)",
        "level - previous_level > 1e-3 ? speed : (valve == 1 ? -1 : 1)",
        "log(abs(level) + 1) / -speed + sign(level) * pow(level, 2)",
    ];
    texts.iter().enumerate().map(|(index, text)| Input::new(format!("{index}.formula"), *text)).collect()
}

/// What a simulator says.
pub fn answers() -> Vec<Input> {
    let long = "{\"largest_reward\": 0}\n{\"next_states\":[[1.5,0.1],[0.25,2]],\"rewards\":[-1,-2.5],\"terminated\":[false,true],\
                \"later_rewards\":[0,-3]}\n{\"next_states\":[[1,2],[3,4]],\"rewards\":[0,0]}\n\
                {\"next_states\":[[1e300,-1e300],[0,0]],\"rewards\":[-1e300,0],\"terminated\":[true,true]}\n";
    vec![
        Input::new("answers", long),
        Input::new("greeting", "{\"largest_reward\": 1e300}\n{\"next_states\":[[0,0],[0,0]],\"rewards\":[1,1]}\n"),
    ]
}
