//! From the text of a formula to its program.

use super::{DEEPEST, Formula, FormulaError, Function, Kind, Operation};

impl Formula {
    /// Understands a formula over `names`; a formula of the wrong kind is refused.
    pub fn parse(text: &str, names: &[String], kind: Kind) -> Result<Self, FormulaError> {
        if text.len() > LONGEST {
            return Err(FormulaError::new(LONGEST + 1, format!("a formula has at most {LONGEST} characters")));
        }
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, end: text.chars().count() + 1, names, program: Vec::new() };
        let found = parser.choice(0)?;
        if let Some(token) = tokens.get(parser.at) {
            return Err(token.fault(format!("`{}` is not expected here", token.text)));
        }
        let wanted = |what: &str| FormulaError::new(1, format!("the formula must give {what}"));
        match (found, kind) {
            (Kind::Number, Kind::Truth) => return Err(wanted("a truth, such as `abs(x) > 1`")),
            (Kind::Truth, Kind::Number) => return Err(wanted("a number, such as `x < 1 ? 0 : -1`")),
            _ => {}
        }
        if depth(&parser.program) > DEEPEST {
            return Err(FormulaError::new(1, TOO_DEEP));
        }
        Ok(Self { text: text.to_owned(), program: parser.program })
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
        FormulaError::new(self.position, problem)
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
        let fault = |problem: String| FormulaError::new(begin + 1, problem);
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
        } else if let ('<' | '>' | '=' | '!', Some('=')) | ('&', Some('&')) | ('|', Some('|')) | ('*', Some('*')) =
            (first, next)
        {
            at += 2;
        } else if "+-*/^<>!?:(),".contains(first) {
            at += 1;
        } else {
            let meant = match first {
                '=' => "; equal is `==`",
                '&' => "; both hold is `and`",
                '|' => "; one of both holds is `or`",
                _ => "",
            };
            return Err(fault(format!("`{first}` means nothing in a formula{meant}")));
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

/// An operator of two values: its texts, what it does, what it takes, what it gives.
type Binary = (&'static [&'static str], Operation, Kind, Kind);

/// Operators of two values, the loosest first.
const BINARY: [&[Binary]; 5] = [
    &[(&["||", "or"], Operation::Or, Kind::Truth, Kind::Truth)],
    &[(&["&&", "and"], Operation::And, Kind::Truth, Kind::Truth)],
    &[
        (&["<"], Operation::Less, Kind::Number, Kind::Truth),
        (&["<="], Operation::LessOrEqual, Kind::Number, Kind::Truth),
        (&[">"], Operation::Greater, Kind::Number, Kind::Truth),
        (&[">="], Operation::GreaterOrEqual, Kind::Number, Kind::Truth),
        (&["=="], Operation::Equal, Kind::Number, Kind::Truth),
        (&["!="], Operation::Equal, Kind::Number, Kind::Truth),
    ],
    &[(&["+"], Operation::Add, Kind::Number, Kind::Number), (&["-"], Operation::Subtract, Kind::Number, Kind::Number)],
    &[
        (&["*"], Operation::Multiply, Kind::Number, Kind::Number),
        (&["/"], Operation::Divide, Kind::Number, Kind::Number),
    ],
];

/// The level of the comparisons, before which `not` stands: `not x < 1` is `not (x < 1)`, as in Python.
const COMPARISONS: usize = 2;

/// Parentheses and signs within each other, at most: a text must not use up the stack of its reader.
const DEEPEST_NESTING: usize = 100;

/// The longest formula, in bytes: reading one takes a hundred times its length, and every step of every rollout computes it.
const LONGEST: usize = 100_000;

const TOO_DEEP: &str = "the formula is nested too deeply";

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
        FormulaError::new(self.peek().map_or(self.end, |token| token.position), problem)
    }

    fn check(&self, nesting: usize) -> Result<(), FormulaError> {
        if nesting > DEEPEST_NESTING { Err(self.fault_here(TOO_DEEP.into())) } else { Ok(()) }
    }

    /// Whether a word is one of a variable, and not of an operator.
    fn is_variable(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// condition ? a : b
    fn choice(&mut self, nesting: usize) -> Result<Kind, FormulaError> {
        self.check(nesting)?;
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
        Err(FormulaError::new(position, format!("{what} must stand {place}")))
    }

    fn binary(&mut self, level: usize, nesting: usize) -> Result<Kind, FormulaError> {
        let Some(operators) = BINARY.get(level) else { return self.sign(nesting) };
        if level == COMPARISONS && !self.is_variable("not") && self.takes("not") {
            self.check(nesting)?;
            let place = self.at;
            let found = self.binary(level, nesting + 1)?;
            self.want(found, Kind::Truth, place, "after `not`")?;
            self.program.push(Operation::Not);
            return Ok(Kind::Truth);
        }
        let begin = self.at;
        let mut kind = self.binary(level + 1, nesting)?;
        while let Some(token) = self.peek()
            && let Some(&(_, operation, takes, gives)) =
                operators.iter().find(|(texts, ..)| texts.contains(&token.text.as_str()))
        {
            let text = &token.text;
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
        self.check(nesting)?;
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
        let Some(text) = ["^", "**"].into_iter().find(|text| self.takes(text)) else { return Ok(kind) };
        self.want(kind, Kind::Number, begin, &format!("before `{text}`"))?;
        let place = self.at;
        // What follows may be another power: 2 ^ 3 ^ 2 is 2 ^ 9.
        let power = self.sign(nesting + 1)?;
        self.want(power, Kind::Number, place, &format!("after `{text}`"))?;
        self.program.push(Operation::Function(Function::Pow));
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
        let is_operator = ["and", "or", "not"].contains(&token.text.as_str()) && !self.is_variable(&token.text);
        if is_operator && token.text == "not" {
            return Err(token.fault("`not` needs parentheses around it here".into()));
        }
        if is_operator || !token.is_name() {
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
        let problem = format!("there is no variable or function called `{}`", token.text);
        Err(FormulaError { unknown: Some(token.text.clone()), ..token.fault(problem) })
    }
}
