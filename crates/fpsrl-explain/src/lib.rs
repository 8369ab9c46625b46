//! Rules for people: in words and in pictures, with what does not matter left out and what is weak pointed at.

mod modes;
mod picture;
#[cfg(feature = "png")]
mod png;
mod profile;
mod prototype;
mod relevance;
mod steepness;
pub mod svg;
mod trajectory;
mod weakness;
mod words;

pub use fpsrl_engine::policy::Condition;
pub use modes::{may_meet, mode_of, modes_of, told_value};
pub use picture::mode_cell;
pub use picture::{
    CELL, combined_cell, condition, curve_places, histogram_path, membership_cell, minus, output_cell, rule_picture,
    shortened,
};
#[cfg(feature = "png")]
pub use png::png;
pub use profile::{BINS, DataProfile, InputProfile};
pub use prototype::{Pose, SIZE as DRAWING, drawing, pose};
pub use relevance::{Simplification, TOLERANCE, simplify};
pub use steepness::steepness;
pub use svg::escape;
pub use trajectory::{Opening, Roller, Trajectory, on_plant};
pub use weakness::{TriedStart, WeakStart, WeakStretch, Weaknesses, weaknesses};
pub use words::{
    around, condition_words, doing_nothing, noticeable, sentences, shown_inputs, unused_inputs, what_returns_are,
};

#[cfg(test)]
pub(crate) mod tests {
    use fpsrl_base::progress::Progress;
    use fpsrl_data::{DataSettings, System, Transitions};
    use fpsrl_engine::policy::{ActionRules, FuzzyPolicy, Quantity, Rule};

    /// A policy that balances the pole of the benchmark by a rule and its mirror image.
    pub(crate) fn balancer_of(rule: Rule, alpha: f64) -> FuzzyPolicy {
        FuzzyPolicy {
            states: ["theta", "theta_dot", "rho", "rho_dot"].map(|name| Quantity::new(name, "")).to_vec(),
            mirrored: true,
            actions: vec![ActionRules {
                name: "force".into(),
                unit: "N".into(),
                limits: [-10.0, 10.0],
                rate: None,
                reach: 1.0,
                alpha,
                rules: vec![rule.clone(), rule.mirror()],
            }],
        }
    }

    /// Transitions of a benchmark.
    pub(crate) fn generated(system: &System, samples: usize) -> Transitions {
        let settings = DataSettings { samples, ..DataSettings::for_plant(system.plant()) };
        fpsrl_data::generate(system, &settings, &Progress::silent()).unwrap()
    }
}
