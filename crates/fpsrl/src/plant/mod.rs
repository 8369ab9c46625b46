//! True dynamics of the benchmarks.

/// A built-in plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantKind {
    /// The hill of the paper's simulator.
    MountainCar,
    /// Sutton and Barto's mountain car.
    TextbookMountainCar,
    /// The cart-pole that must not fall.
    CartPoleBalancing,
    /// The cart-pole that hangs and must be swung up.
    CartPoleSwingUp,
}
