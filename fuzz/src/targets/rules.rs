//! Rules of other tools, and our own controllers.

use fpsrl::Result;
use fpsrl::import;

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::Place;
use crate::seeds::rules;

const fn rules_in(
    name: &'static str,
    reads: &'static str,
    share: f64,
    seeds: fn(&mut Place) -> Result<Vec<Input>>,
) -> Target {
    Target { name, reads, share, short: 250, seeds, run: read }
}

/// fuzzylite's language.
pub(super) const FLL: Target = rules_in("fll", "rules in FLL", 6.0, |_| Ok(rules::fll()));
/// IEC 61131-7.
pub(super) const FCL: Target = rules_in("fcl", "rules in FCL", 3.0, |_| Ok(rules::fcl()));
/// MATLAB and Octave.
pub(super) const FIS: Target = rules_in("fis", "rules in FIS", 4.0, |_| Ok(rules::fis()));
/// Our own.
pub(super) const JSON: Target = rules_in("controller", "a controller or policy as JSON", 4.0, |_| Ok(rules::json()));

fn read(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    let path = place.write(&input.name, &input.bytes)?;
    let imported = import::read(&path)?;
    match imported.policy.fault() {
        Some(fault) => Err(Trouble::Wrong(format!("a policy was imported that is none: {fault}"))),
        None => Ok(()),
    }
}
