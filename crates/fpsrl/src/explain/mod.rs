//! Rules for people: in words and in pictures, with what does not matter left out and what is weak pointed at.

mod picture;
#[cfg(feature = "png")]
mod png;
mod profile;
mod prototype;
mod relevance;
pub(crate) mod svg;
mod trajectory;
mod weakness;
mod words;

pub use crate::policy::Condition;
pub use picture::rule_picture;
pub(crate) use picture::{
    CELL, combined_cell, condition, curve_places, histogram_path, membership_cell, minus, output_cell, shortened,
};
#[cfg(feature = "png")]
pub use png::png;
pub use profile::{BINS, DataProfile, InputProfile};
pub use prototype::{Pose, pose};
pub(crate) use prototype::{SIZE as DRAWING, drawing};
pub use relevance::{Simplification, TOLERANCE, simplify};
pub use svg::escape;
pub use trajectory::{Opening, Roller, Trajectory, on_plant};
pub use weakness::{TriedStart, WeakStart, WeakStretch, Weaknesses, weaknesses};
pub(crate) use words::{around, noticeable, with_unit};
pub use words::{count, number, sentences, unused_inputs};
