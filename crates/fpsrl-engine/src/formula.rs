//! Formulas that a user knows: a reward or a terminal condition over named variables, as in
//! `abs(theta) < 0.5 && abs(rho) < 0.5 ? 0 : -1`.
//!
//! A state variable's name, with or without `next_`, is its value after the step; with `previous_` it is the one before. An
//! action's name is its value. There are `+ - * / ^`, comparisons, `&& || !`, `condition ? a : b`, `pi`, and the functions
//! of [`Function`].
//!
//! The text becomes a program for a stack, which runs on one row in f64, on blocks of lanes in f32, and on intervals, to know
//! the largest value that a formula can have.

use std::fmt;

/// Lanes that a program runs on at once.
const BLOCK: usize = crate::lanes::PADDING;

/// Deepest stack of a program; a formula that needs more is refused.
const DEEPEST: usize = 32;

/// The functions that formulas may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The absolute value.
    Abs,
    /// The square root.
    Sqrt,
    /// The exponential.
    Exp,
    /// The natural logarithm.
    Log,
    /// The sine, of radians.
    Sin,
    /// The cosine, of radians.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
    /// 1 above zero, -1 below, 0 at zero.
    Sign,
    /// The smaller of two numbers.
    Min,
    /// The larger of two numbers.
    Max,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Abs,
        Self::Sqrt,
        Self::Exp,
        Self::Log,
        Self::Sin,
        Self::Cos,
        Self::Tanh,
        Self::Sign,
        Self::Min,
        Self::Max,
    ];

    /// What a formula calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Abs => "abs",
            Self::Sqrt => "sqrt",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Tanh => "tanh",
            Self::Sign => "sign",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// The function of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The number of its arguments.
    pub fn arguments(self) -> usize {
        match self {
            Self::Min | Self::Max => 2,
            _ => 1,
        }
    }

    fn apply(self, one: f64, two: f64) -> f64 {
        match self {
            Self::Abs => one.abs(),
            Self::Sqrt => one.sqrt(),
            Self::Exp => one.exp(),
            Self::Log => one.ln(),
            Self::Sin => one.sin(),
            Self::Cos => one.cos(),
            Self::Tanh => one.tanh(),
            Self::Sign => f64::from(u8::from(one > 0.0)) - f64::from(u8::from(one < 0.0)),
            Self::Min => one.min(two),
            Self::Max => one.max(two),
        }
    }

    /// The least and the largest value for arguments within these ranges.
    fn range(self, [low, high]: [f64; 2], other: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Abs if low >= 0.0 => [low, high],
            Self::Abs if high <= 0.0 => [-high, -low],
            Self::Abs => [0.0, high.max(-low)],
            Self::Sqrt => [0.0, high.max(0.0).sqrt()],
            Self::Exp => [low.exp(), high.exp()],
            Self::Log => [f64::NEG_INFINITY, f64::INFINITY],
            Self::Sin | Self::Cos | Self::Sign => [-1.0, 1.0],
            Self::Tanh => [low.tanh(), high.tanh()],
            Self::Min => [low.min(other[0]), high.min(other[1])],
            Self::Max => [low.max(other[0]), high.max(other[1])],
        }
    }
}

/// The names that a formula about a step may use, in the order of [`values`]: states before the step, actions, states after
/// it, and these once more under the names that they have in a log.
///
/// ```
/// let names = fpsrl_engine::formula::names(&["x".into()], &["u".into()]);
/// assert_eq!(names, ["previous_x", "u", "x", "next_x"]);
/// ```
pub fn names(states: &[String], actions: &[String]) -> Vec<String> {
    let with = |prefix: &'static str| states.iter().map(move |name| format!("{prefix}{name}"));
    with("previous_").chain(actions.iter().cloned()).chain(with("")).chain(with("next_")).collect()
}

/// The numbers of a step in the order of [`names`].
pub fn values(state: &[f64], action: &[f64], next: &[f64]) -> Vec<f64> {
    [state, action, next, next].concat()
}

/// A checked formula.
///
/// ```
/// use fpsrl_engine::formula::{Formula, Kind};
/// let names = ["previous_theta", "force", "theta"].map(String::from);
/// let reward = Formula::parse("abs(theta) < 0.5 ? 0 : -1", &names, Kind::Number)?;
/// assert_eq!(reward.evaluate(&[0.0, 3.0, 0.4]), 0.0);
/// assert_eq!(reward.evaluate(&[0.0, 3.0, -0.6]), -1.0);
/// assert_eq!(reward.range(&[[f64::NEG_INFINITY, f64::INFINITY]; 3]), [-1.0, 0.0]);
/// let error = Formula::parse("abs(thta)", &names, Kind::Number).unwrap_err();
/// assert_eq!((error.position, error.problem.as_str()), (5, "there is no variable or function called `thta`"));
/// # Ok::<(), fpsrl_engine::formula::FormulaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    program: Vec<Operation>,
}

/// What is wrong with a formula, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// The character, counted from 1.
    pub position: usize,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "character {}: {}", self.position, self.problem)
    }
}

impl std::error::Error for FormulaError {}

/// What a formula, or a part of one, gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// Whether something holds.
    Truth,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Constant(f64),
    Variable(usize),
    Negate,
    Not,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    And,
    Or,
    /// Of condition, a and b: a where the condition holds, else b.
    Choose,
    /// A function of the values before it.
    Function(Function),
}

impl Formula {
    /// Understands a formula over `names`; a formula of the wrong kind is refused.
    pub fn parse(text: &str, names: &[String], kind: Kind) -> Result<Self, FormulaError> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, end: text.chars().count() + 1, names, program: Vec::new() };
        let found = parser.choice(0)?;
        if let Some(token) = tokens.get(parser.at) {
            return Err(token.fault(format!("`{}` is not expected here", token.text)));
        }
        let wanted = |what: &str| FormulaError { position: 1, problem: format!("the formula must give {what}") };
        match (found, kind) {
            (Kind::Number, Kind::Truth) => return Err(wanted("a truth, such as `abs(x) > 1`")),
            (Kind::Truth, Kind::Number) => return Err(wanted("a number, such as `x < 1 ? 0 : -1`")),
            _ => {}
        }
        if depth(&parser.program) > DEEPEST {
            return Err(FormulaError { position: 1, problem: "the formula is nested too deeply".into() });
        }
        Ok(Self { text: text.to_owned(), program: parser.program })
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for one row; a truth is 1 or 0.
    pub fn evaluate(&self, variables: &[f64]) -> f64 {
        let mut stack = Vec::with_capacity(DEEPEST);
        for &operation in &self.program {
            match operation {
                Operation::Constant(value) => stack.push(value),
                Operation::Variable(index) => stack.push(variables[index]),
                _ => {
                    let rest = stack.len().saturating_sub(operation.takes());
                    let value = operation.apply(&stack[rest..]);
                    stack.truncate(rest);
                    stack.push(value);
                }
            }
        }
        stack.pop().unwrap_or(0.0)
    }

    /// The values for lanes: `column` gives the numbers of a variable, padded to whole blocks; `each` gets every value.
    pub fn evaluate_lanes<'a>(
        &self,
        live: usize,
        column: impl Fn(usize) -> &'a [f32],
        mut each: impl FnMut(usize, f32),
    ) {
        let mut stack = [[0.0f32; BLOCK]; DEEPEST];
        for first in (0..live).step_by(BLOCK) {
            let mut height = 0;
            for &operation in &self.program {
                match operation {
                    Operation::Constant(value) => stack[height].fill(value as f32),
                    Operation::Variable(index) => stack[height].copy_from_slice(&column(index)[first..first + BLOCK]),
                    _ => {
                        height -= operation.takes();
                        let [one, two, three] = [0, 1, 2].map(|place| stack[(height + place).min(DEEPEST - 1)]);
                        operation.apply_lanes(&one, &two, &three, &mut stack[height]);
                    }
                }
                height += 1;
            }
            for (lane, &value) in stack[0].iter().enumerate().take(live - first) {
                each(first + lane, value);
            }
        }
    }

    /// The least and the largest value for variables within these ranges; infinite where no limit can be told.
    pub fn range(&self, ranges: &[[f64; 2]]) -> [f64; 2] {
        let mut stack: Vec<[f64; 2]> = Vec::with_capacity(DEEPEST);
        for &operation in &self.program {
            let rest = stack.len().saturating_sub(operation.takes());
            let value = match operation {
                Operation::Constant(value) => [value, value],
                Operation::Variable(index) => ranges[index],
                _ => operation.range(&stack[rest..]),
            };
            stack.truncate(rest);
            stack.push(value);
        }
        stack.pop().unwrap_or([0.0, 0.0])
    }
}

impl Operation {
    /// How many values it takes from the stack.
    fn takes(self) -> usize {
        match self {
            Self::Constant(_) | Self::Variable(_) => 0,
            Self::Negate | Self::Not => 1,
            Self::Choose => 3,
            Self::Function(function) => function.arguments(),
            _ => 2,
        }
    }

    fn apply(self, values: &[f64]) -> f64 {
        let truth = |holds: bool| f64::from(u8::from(holds));
        let (one, two) = (values[0], values.get(1).copied().unwrap_or(0.0));
        match self {
            Self::Constant(value) => value,
            Self::Variable(_) => 0.0,
            Self::Negate => -one,
            Self::Not => truth(one == 0.0),
            Self::Add => one + two,
            Self::Subtract => one - two,
            Self::Multiply => one * two,
            Self::Divide => one / two,
            Self::Power => one.powf(two),
            Self::Less => truth(one < two),
            Self::LessOrEqual => truth(one <= two),
            Self::Greater => truth(one > two),
            Self::GreaterOrEqual => truth(one >= two),
            Self::Equal => truth(one == two),
            Self::And => truth(one != 0.0 && two != 0.0),
            Self::Or => truth(one != 0.0 || two != 0.0),
            Self::Choose => {
                if one != 0.0 {
                    two
                } else {
                    values[2]
                }
            }
            Self::Function(function) => function.apply(one, two),
        }
    }

    /// The same on a block of lanes. What rewards consist of is written out, so that it becomes vector code.
    fn apply_lanes(self, one: &[f32; BLOCK], two: &[f32; BLOCK], three: &[f32; BLOCK], to: &mut [f32; BLOCK]) {
        macro_rules! each {
            ($lane:ident => $value:expr) => {
                for $lane in 0..BLOCK {
                    to[$lane] = $value;
                }
            };
        }
        let truth = |holds: bool| if holds { 1.0f32 } else { 0.0 };
        match self {
            Self::Negate => each!(lane => -one[lane]),
            Self::Not => each!(lane => truth(one[lane] == 0.0)),
            Self::Add => each!(lane => one[lane] + two[lane]),
            Self::Subtract => each!(lane => one[lane] - two[lane]),
            Self::Multiply => each!(lane => one[lane] * two[lane]),
            Self::Divide => each!(lane => one[lane] / two[lane]),
            Self::Less => each!(lane => truth(one[lane] < two[lane])),
            Self::LessOrEqual => each!(lane => truth(one[lane] <= two[lane])),
            Self::Greater => each!(lane => truth(one[lane] > two[lane])),
            Self::GreaterOrEqual => each!(lane => truth(one[lane] >= two[lane])),
            Self::Equal => each!(lane => truth(one[lane] == two[lane])),
            Self::And => each!(lane => truth(one[lane] != 0.0 && two[lane] != 0.0)),
            Self::Or => each!(lane => truth(one[lane] != 0.0 || two[lane] != 0.0)),
            Self::Choose => each!(lane => if one[lane] != 0.0 { two[lane] } else { three[lane] }),
            Self::Function(Function::Abs) => each!(lane => one[lane].abs()),
            _ => each!(lane => {
                let values = [one[lane], two[lane], three[lane]].map(f64::from);
                self.apply(&values[..self.takes().max(1)]) as f32
            }),
        }
    }

    fn range(self, values: &[[f64; 2]]) -> [f64; 2] {
        let everything = [f64::NEG_INFINITY, f64::INFINITY];
        let [low, high] = values[0];
        let other = values.get(1).copied().unwrap_or([0.0, 0.0]);
        // Corners decide wherever a function rises or falls throughout; NaN could be anything.
        let corners = |of: fn(f64, f64) -> f64| {
            let all = [of(low, other[0]), of(low, other[1]), of(high, other[0]), of(high, other[1])];
            match all.iter().any(|corner| corner.is_nan()) {
                true => everything,
                false => [
                    all.iter().copied().fold(f64::INFINITY, f64::min),
                    all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ],
            }
        };
        match self {
            Self::Constant(value) => [value, value],
            Self::Negate => [-high, -low],
            Self::Add => corners(|a, b| a + b),
            Self::Subtract => corners(|a, b| a - b),
            Self::Multiply => corners(|a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
            Self::Divide if other[0] > 0.0 || other[1] < 0.0 => corners(|a, b| a / b),
            // An even whole power is not below zero; of the others nothing is told.
            Self::Power if other[0] == other[1] && other[0] > 0.0 && other[0] % 2.0 == 0.0 => {
                let largest = low.abs().max(high.abs());
                [0.0, largest.powf(other[0])]
            }
            Self::Not
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::Equal
            | Self::And
            | Self::Or => [0.0, 1.0],
            Self::Choose => [other[0].min(values[2][0]), other[1].max(values[2][1])],
            Self::Function(function) => function.range(values[0], other),
            _ => everything,
        }
    }
}

/// The deepest that the stack of a program becomes.
fn depth(program: &[Operation]) -> usize {
    let mut height = 0;
    program.iter().fold(0, |deepest, operation| {
        height = height - operation.takes() + 1;
        deepest.max(height)
    })
}

struct Token {
    position: usize,
    text: String,
    number: Option<f64>,
}

impl Token {
    fn fault(&self, problem: String) -> FormulaError {
        FormulaError { position: self.position, problem }
    }

    fn is_name(&self) -> bool {
        self.number.is_none() && self.text.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, FormulaError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        let first = characters[at];
        let begin = at;
        if first.is_whitespace() {
            at += 1;
            continue;
        }
        let next = characters.get(at + 1).copied();
        let fault = |problem: String| FormulaError { position: begin + 1, problem };
        let mut number = None;
        if first.is_ascii_digit() || (first == '.' && next.is_some_and(|next| next.is_ascii_digit())) {
            while at < characters.len() {
                let (character, before) = (characters[at], characters[at.max(1) - 1]);
                let is_sign = matches!(character, '+' | '-') && at > begin && matches!(before, 'e' | 'E');
                if !(character.is_ascii_digit() || matches!(character, '.' | 'e' | 'E') || is_sign) {
                    break;
                }
                at += 1;
            }
            let digits: String = characters[begin..at].iter().collect();
            match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => number = Some(value),
                _ => return Err(fault(format!("`{digits}` is not a number"))),
            }
        } else if first.is_alphabetic() || first == '_' {
            while at < characters.len() && (characters[at].is_alphanumeric() || matches!(characters[at], '_' | '.')) {
                at += 1;
            }
        } else if let (_, Some('=')) | ('&', Some('&')) | ('|', Some('|')) = (first, next)
            && "<>=!&|".contains(first)
        {
            at += 2;
        } else if "+-*/^<>!?:(),".contains(first) {
            at += 1;
        } else {
            return Err(fault(format!("`{first}` means nothing in a formula")));
        }
        tokens.push(Token { position: begin + 1, text: characters[begin..at].iter().collect(), number });
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    end: usize,
    names: &'a [String],
    program: Vec<Operation>,
}

/// Operators of two values, the loosest first: text, operation, what they take, what they give.
const BINARY: [&[(&str, Operation, Kind, Kind)]; 5] = [
    &[("||", Operation::Or, Kind::Truth, Kind::Truth)],
    &[("&&", Operation::And, Kind::Truth, Kind::Truth)],
    &[
        ("<", Operation::Less, Kind::Number, Kind::Truth),
        ("<=", Operation::LessOrEqual, Kind::Number, Kind::Truth),
        (">", Operation::Greater, Kind::Number, Kind::Truth),
        (">=", Operation::GreaterOrEqual, Kind::Number, Kind::Truth),
        ("==", Operation::Equal, Kind::Number, Kind::Truth),
        ("!=", Operation::Equal, Kind::Number, Kind::Truth),
    ],
    &[("+", Operation::Add, Kind::Number, Kind::Number), ("-", Operation::Subtract, Kind::Number, Kind::Number)],
    &[("*", Operation::Multiply, Kind::Number, Kind::Number), ("/", Operation::Divide, Kind::Number, Kind::Number)],
];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    fn takes(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), FormulaError> {
        if self.takes(text) {
            return Ok(());
        }
        Err(self.fault_here(format!("`{text}` is missing here")))
    }

    fn fault_here(&self, problem: String) -> FormulaError {
        FormulaError { position: self.peek().map_or(self.end, |token| token.position), problem }
    }

    /// condition ? a : b
    fn choice(&mut self, nesting: usize) -> Result<Kind, FormulaError> {
        if nesting > 100 {
            return Err(self.fault_here("the formula is nested too deeply".into()));
        }
        let begin = self.at;
        let kind = self.binary(0, nesting)?;
        if !self.takes("?") {
            return Ok(kind);
        }
        self.want(kind, Kind::Truth, begin, "before `?`")?;
        let first = self.choice(nesting + 1)?;
        self.expect(":")?;
        let place = self.at;
        let second = self.choice(nesting + 1)?;
        self.want(second, first, place, "after `:`, as before it")?;
        self.program.push(Operation::Choose);
        Ok(first)
    }

    fn want(&self, found: Kind, wanted: Kind, token: usize, place: &str) -> Result<(), FormulaError> {
        if found == wanted {
            return Ok(());
        }
        let what = if wanted == Kind::Truth { "a truth, such as `x < 1`," } else { "a number" };
        let position = self.tokens.get(token).map_or(self.end, |token| token.position);
        Err(FormulaError { position, problem: format!("{what} must stand {place}") })
    }

    fn binary(&mut self, level: usize, nesting: usize) -> Result<Kind, FormulaError> {
        let Some(operators) = BINARY.get(level) else { return self.sign(nesting) };
        let begin = self.at;
        let mut kind = self.binary(level + 1, nesting)?;
        while let Some(token) = self.peek()
            && let Some(&(text, operation, takes, gives)) = operators.iter().find(|operator| operator.0 == token.text)
        {
            self.want(kind, takes, begin, &format!("before `{text}`"))?;
            self.at += 1;
            let place = self.at;
            let second = self.binary(level + 1, nesting)?;
            self.want(second, takes, place, &format!("after `{text}`"))?;
            self.program.push(operation);
            if text == "!=" {
                self.program.push(Operation::Not);
            }
            kind = gives;
        }
        Ok(kind)
    }

    /// - a, ! a, a ^ b
    fn sign(&mut self, nesting: usize) -> Result<Kind, FormulaError> {
        if nesting > 100 {
            return Err(self.fault_here("the formula is nested too deeply".into()));
        }
        for (text, operation, kind) in [("-", Operation::Negate, Kind::Number), ("!", Operation::Not, Kind::Truth)] {
            if self.takes(text) {
                let place = self.at;
                let found = self.sign(nesting + 1)?;
                self.want(found, kind, place, &format!("after `{text}`"))?;
                self.program.push(operation);
                return Ok(kind);
            }
        }
        let begin = self.at;
        let kind = self.value(nesting)?;
        if !self.takes("^") {
            return Ok(kind);
        }
        self.want(kind, Kind::Number, begin, "before `^`")?;
        let place = self.at;
        let power = self.sign(nesting + 1)?;
        self.want(power, Kind::Number, place, "after `^`")?;
        self.program.push(Operation::Power);
        Ok(Kind::Number)
    }

    fn value(&mut self, nesting: usize) -> Result<Kind, FormulaError> {
        let Some(token) = self.peek() else {
            return Err(self.fault_here("the formula ends too early".into()));
        };
        self.at += 1;
        if let Some(number) = token.number {
            self.program.push(Operation::Constant(number));
            return Ok(Kind::Number);
        }
        if token.text == "(" {
            let kind = self.choice(nesting + 1)?;
            self.expect(")")?;
            return Ok(kind);
        }
        if !token.is_name() {
            return Err(token.fault(format!("a value is missing before `{}`", token.text)));
        }
        if let Some(function) = Function::from_name(&token.text)
            && self.takes("(")
        {
            let count = function.arguments();
            for argument in 0..count {
                if argument > 0 {
                    self.expect(",")?;
                }
                let place = self.at;
                let kind = self.choice(nesting + 1)?;
                self.want(kind, Kind::Number, place, &format!("in `{}(…)`", token.text))?;
            }
            self.expect(")")?;
            self.program.push(Operation::Function(function));
            return Ok(Kind::Number);
        }
        if let Some(variable) = self.names.iter().position(|name| *name == token.text) {
            self.program.push(Operation::Variable(variable));
            return Ok(Kind::Number);
        }
        if token.text == "pi" {
            self.program.push(Operation::Constant(std::f64::consts::PI));
            return Ok(Kind::Number);
        }
        Err(token.fault(format!("there is no variable or function called `{}`", token.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names() -> Vec<String> {
        ["x", "y"].map(String::from).to_vec()
    }

    fn value(text: &str, x: f64, y: f64) -> f64 {
        let truth = Formula::parse(text, &names(), Kind::Truth);
        truth.or_else(|_| Formula::parse(text, &names(), Kind::Number)).unwrap().evaluate(&[x, y])
    }

    #[test]
    fn formulas_mean_what_they_mean_in_mathematics() {
        assert_eq!(value("1 + 2 * 3 - 4 / 2", 0.0, 0.0), 5.0);
        assert_eq!(value("-x ^ 2", 3.0, 0.0), -9.0);
        assert_eq!(value("2 ^ -1 ^ 2", 0.0, 0.0), 0.5);
        assert_eq!(value("(x + y) * (x - y)", 3.0, 2.0), 5.0);
        assert_eq!(value("x > 1 && !(y > 1) || x == y", 2.0, 0.0), 1.0);
        assert_eq!(value("x >= 1", 1.0, 0.0), 1.0);
        assert_eq!(value("x != 1", 1.0, 0.0), 0.0);
        assert_eq!(value("x < 0 ? -1 : x < 1 ? 0 : 1", 0.5, 0.0), 0.0);
        assert_eq!(value("max(abs(x), min(y, 2.5e0))", -1.0, 7.0), 2.5);
        assert!(
            (value("sqrt(x) + exp(y) + log(1) + sin(pi) + cos(0) + tanh(0) + sign(-3)", 4.0, 0.0) - 3.0).abs() < 1e-12
        );
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let fault = |text: &str| {
            let error = Formula::parse(text, &names(), Kind::Number).unwrap_err();
            (error.position, error.problem)
        };
        assert_eq!(fault("x + z").0, 5);
        assert_eq!(fault("x + "), (5, "the formula ends too early".into()));
        assert_eq!(fault("(x + 1"), (7, "`)` is missing here".into()));
        assert_eq!(fault("x 1"), (3, "`1` is not expected here".into()));
        assert_eq!(fault("x # 1").0, 3);
        assert_eq!(fault("1.2.3 + x").0, 1);
        assert_eq!(fault("x ? 1 : 2").0, 1);
        assert_eq!(fault("x < 1 ? 1 : x < 2").0, 13);
        assert_eq!(fault("abs(x < 1)").0, 5);
        assert_eq!(fault("min(x)").0, 6);
        assert_eq!(fault("x < 1").1, "the formula must give a number, such as `x < 1 ? 0 : -1`");
        assert_eq!(fault("").1, "the formula ends too early");
        assert_eq!(fault("* x").0, 1);
        assert!(Formula::parse("x", &names(), Kind::Truth).is_err());
        assert!(Formula::parse(&"(".repeat(5_000), &names(), Kind::Number).is_err());
        assert!(Formula::parse(&"-".repeat(5_000), &names(), Kind::Number).is_err());
        let deep = (0..40).map(|_| "(x + ").collect::<String>() + "1" + &")".repeat(40);
        assert!(Formula::parse(&deep, &names(), Kind::Number).unwrap_err().problem.contains("deeply"));
    }

    const FORMULAS: [&str; 6] = [
        "abs(x) < 0.5 && abs(y) < 0.5 ? 0 : -1",
        "-(x ^ 2) - 0.1 * abs(y)",
        "max(min(x, y), -x) / 2.0",
        "x > y || x <= -1 ? tanh(x) : cos(y) - 1",
        "!(x != y) ? 1 : sign(x) * 3",
        "sqrt(abs(x * y)) + exp(-abs(x))",
    ];

    proptest! {
        #[test]
        fn lanes_and_ranges_agree_with_single_rows(rows in prop::collection::vec((-3.0..3.0f32, -3.0..3.0f32), 1..90)) {
            let padded = rows.len().next_multiple_of(BLOCK);
            let column = |of: fn(&(f32, f32)) -> f32| {
                let mut column: Vec<f32> = rows.iter().map(of).collect();
                column.resize(padded, 0.0);
                column
            };
            let columns = [column(|row| row.0), column(|row| row.1)];
            for text in FORMULAS {
                let formula = Formula::parse(text, &names(), Kind::Number).unwrap();
                let [low, high] = formula.range(&[[-3.0, 3.0]; 2]);
                let mut seen = 0;
                formula.evaluate_lanes(rows.len(), |index| &columns[index], |lane, value| {
                    let (x, y) = rows[lane];
                    let exact = formula.evaluate(&[f64::from(x), f64::from(y)]);
                    assert!((f64::from(value) - exact).abs() < 1e-4 * (1.0 + exact.abs()), "{text}: {value} {exact}");
                    assert!(low <= exact && exact <= high, "{text}: {exact} is not within [{low}, {high}]");
                    seen += 1;
                });
                prop_assert_eq!(seen, rows.len());
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[-+*/^<>=!&|?:(),. xy0-9a-z]{0,40}") {
            if let Ok(formula) = Formula::parse(&text, &names(), Kind::Number) {
                formula.evaluate(&[1.0, 2.0]);
                formula.range(&[[-1.0, 1.0]; 2]);
            }
        }
    }
}
