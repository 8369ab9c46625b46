//! A formula on intervals: the least and the largest value that it can have, which is what pruning needs.

use super::{DEEPEST, Formula, Function, Operation};

/// Where no limit can be told.
const EVERYTHING: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

impl Formula {
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
    fn range(self, values: &[[f64; 2]]) -> [f64; 2] {
        let one = values[0];
        let other = values.get(1).copied().unwrap_or([0.0, 0.0]);
        match self {
            Self::Constant(value) => [value, value],
            Self::Negate => [-one[1], -one[0]],
            Self::Add => corners(one, other, |a, b| a + b),
            Self::Subtract => corners(one, other, |a, b| a - b),
            Self::Multiply => corners(one, other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
            Self::Divide if other[0] > 0.0 || other[1] < 0.0 => corners(one, other, |a, b| a / b),
            Self::Not
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::Equal
            | Self::And
            | Self::Or => [0.0, 1.0],
            Self::Choose => [other[0].min(values[2][0]), other[1].max(values[2][1])],
            Self::Function(function) => function.range(one, other),
            Self::Divide | Self::Variable(_) => EVERYTHING,
        }
    }
}

impl Function {
    /// The least and the largest value for arguments within these ranges; arguments of which it makes no number are left
    /// out.
    fn range(self, [low, high]: [f64; 2], other: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Abs if low >= 0.0 => [low, high],
            Self::Abs if high <= 0.0 => [-high, -low],
            Self::Abs => [0.0, high.max(-low)],
            Self::Sqrt => [0.0, high.max(0.0).sqrt()],
            Self::Exp => [low.exp(), high.exp()],
            Self::Log => EVERYTHING,
            Self::Sin | Self::Cos | Self::Sign => [-1.0, 1.0],
            Self::Tanh => [low.tanh(), high.tanh()],
            Self::Min => [low.min(other[0]), high.min(other[1])],
            Self::Max => [low.max(other[0]), high.max(other[1])],
            Self::Pow => power([low, high], other),
        }
    }
}

/// Corners decide wherever a function rises or falls throughout; NaN could be anything.
fn corners([low, high]: [f64; 2], other: [f64; 2], of: fn(f64, f64) -> f64) -> [f64; 2] {
    let all = [of(low, other[0]), of(low, other[1]), of(high, other[0]), of(high, other[1])];
    match all.iter().any(|corner| corner.is_nan()) {
        true => EVERYTHING,
        false => {
            [all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
        }
    }
}

/// The least and the largest power of a base by an exponent. As for a square root, negative bases that have none are left
/// out.
fn power([low, high]: [f64; 2], exponent: [f64; 2]) -> [f64; 2] {
    let [by, most] = exponent;
    // Of a base that is not negative, a power rises or falls throughout, with the base and with the exponent.
    if low >= 0.0 {
        return corners([low, high], exponent, f64::powf);
    }
    if by != most {
        return EVERYTHING;
    }
    if by.fract() != 0.0 || by.is_infinite() {
        return corners([0.0, high.max(0.0)], exponent, f64::powf);
    }
    let [least, largest] = match by % 2.0 == 0.0 {
        true if high <= 0.0 => [high.powf(by.abs()), low.powf(by.abs())],
        true => [0.0, high.max(-low).powf(by.abs())],
        false => [low.powf(by), high.powf(by)],
    };
    match by % 2.0 == 0.0 {
        true if by < 0.0 => [largest.recip(), least.recip()],
        // Across zero, an odd negative power jumps from one end of all numbers to the other.
        false if by < 0.0 && high >= 0.0 => EVERYTHING,
        false if by < 0.0 => [largest, least],
        _ => [least, largest],
    }
}
