//! A formula on numbers: on one row in f64, and on blocks of lanes in f32.

use super::{DEEPEST, Formula, Function, Operation};

/// Lanes that a program runs on at once.
pub(super) const BLOCK: usize = crate::lanes::PADDING;

impl Formula {
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
}

impl Operation {
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
            // Squares are what rewards have most of their powers for; rounded once, as in f64 and back.
            Self::Function(Function::Pow) if *two == [2.0; BLOCK] => each!(lane => one[lane] * one[lane]),
            _ => each!(lane => {
                let values = [one[lane], two[lane], three[lane]].map(f64::from);
                self.apply(&values[..self.takes().max(1)]) as f32
            }),
        }
    }
}
