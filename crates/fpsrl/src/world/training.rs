//! Training of networks.

/// How many hidden layers a network has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// A given number, 1 to 3.
    Layers(usize),
    /// All three are trained, and the best on the validation set is kept for each variable.
    Auto,
}

/// The training algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trainer {
    /// Second order.
    LevenbergMarquardt,
    /// The paper's.
    VarioEta,
    /// First order with moments.
    Adam,
}
