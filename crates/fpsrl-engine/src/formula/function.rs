//! The functions that formulas may call.

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
    /// The first number to the power of the second; `^` and `**` are it too.
    Pow,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 11] = [
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
        Self::Pow,
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
            Self::Pow => "pow",
        }
    }

    /// The function of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The number of its arguments.
    pub fn arguments(self) -> usize {
        match self {
            Self::Min | Self::Max | Self::Pow => 2,
            _ => 1,
        }
    }

    /// Its value; those of one argument do not look at the second.
    pub(super) fn apply(self, one: f64, two: f64) -> f64 {
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
            Self::Pow => one.powf(two),
        }
    }
}
